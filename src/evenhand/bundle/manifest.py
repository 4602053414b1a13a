"""The manifest: the sum of every member, the date, and a seal over the manifest itself."""

from __future__ import annotations

import datetime
import hashlib
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.bundle import messages
from evenhand.runtime import json_file
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

MANIFEST = "MANIFEST.json"
KIND = "evenhand evidence bundle"
FORMAT = 1


@dataclass(frozen=True)
class Damage:
    """What is wrong, and with which member; the member is empty for the archive itself."""

    member: str
    reason: str


def sealed(members: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the members with a manifest before them, which is the only one that has a date."""
    table: dict[str, Any] = {
        "kind": KIND,
        "format": FORMAT,
        "created": created(os.environ),
        "members": {name: _sum_of(content) for name, content in members.items()},
    }
    table["seal"] = _seal(table)
    return {MANIFEST: json_file.dump(table).encode(), **members}


def created(environment: Mapping[str, str]) -> str:
    """Return the date in UTC: that of SOURCE_DATE_EPOCH where it is set, otherwise now.

    >>> created({"SOURCE_DATE_EPOCH": "0"})
    '1970-01-01T00:00:00Z'
    """
    epoch = environment.get("SOURCE_DATE_EPOCH", "")
    now = datetime.datetime.now(datetime.UTC)
    if epoch:
        try:
            now = datetime.datetime.fromtimestamp(int(epoch), datetime.UTC)
        except (ValueError, OverflowError, OSError):
            raise UsageError(messages.BAD_EPOCH.format(epoch=epoch)) from None
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def damages(members: Mapping[str, bytes]) -> list[Damage]:
    """Return what is wrong with the members of an archive, held against their manifest."""
    content = members.get(MANIFEST)
    if content is None:
        return [Damage("", messages.NO_MANIFEST)]
    table = _read(content)
    if table is None:
        return [Damage(MANIFEST, messages.MANIFEST_BENT)]
    sums = table["members"]
    found = []
    for name, expected in sums.items():
        if name not in members:
            found.append(Damage(name, messages.MEMBER_MISSING))
        elif _sum_of(members[name]) != expected:
            found.append(Damage(name, messages.MEMBER_CHANGED))
    for name in members:
        if name != MANIFEST and name not in sums:
            found.append(Damage(name, messages.MEMBER_EXTRA))
    if not found and list(members) != [MANIFEST, *sums]:
        found.append(Damage("", messages.OTHER_ORDER))
    return found


def date_of(members: Mapping[str, bytes]) -> str:
    """Return the date that a sound manifest has."""
    table = _read(members[MANIFEST])
    return str(table["created"]) if table else ""


def _read(content: bytes) -> dict[str, Any] | None:
    """Return a manifest that is as it was written, or None."""
    try:
        table = json.loads(content)
        rest = {key: value for key, value in table.items() if key != "seal"}
        is_whole = table["seal"] == _seal(rest)
        is_known = table["kind"] == KIND and table["format"] == FORMAT
        is_same = json_file.dump(table).encode() == content
        table["members"].items()
    except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
        return None
    return table if is_whole and is_known and is_same else None


def _seal(table: Mapping[str, Any]) -> str:
    return hashlib.sha256(json_file.dump(table).encode()).hexdigest()


def _sum_of(content: bytes) -> dict[str, Any]:
    return {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
