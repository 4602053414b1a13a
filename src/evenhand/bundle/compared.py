"""Two audits held against each other, field by field, but for what differs from run to run."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from evenhand.runtime import json_file
from evenhand.runtime.errors import clip

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult

NEAR = 1e-9
"""How far apart numbers may be that another processor or library has computed."""
_RUN = ("spent", "versions", "digest")
"""Fields that describe the run and not what was found; digests are of versions too."""
_ABSENT = "absent"

Difference = tuple[str, str, str]


def check_table(check: CheckResult, renamed: Mapping[str, str]) -> Any:
    """Return all that a check found as JSON holds it, with other names for some files."""
    return _renamed(_without_run(check.to_dict()), renamed)


def audit_table(audit: Audit, renamed: Mapping[str, str]) -> Any:
    """Return what an audit says of itself besides its checks, likewise."""
    table = {**audit.content(), "command": audit.command, "ledger": audit.ledger}
    del table["checks"]
    return _renamed(_without_run(table), renamed)


def _renamed(table: Mapping[str, Any], renamed: Mapping[str, str]) -> Any:
    text = json_file.dump(table)
    for name, written in renamed.items():
        text = text.replace(json.dumps(name)[1:-1], json.dumps(written)[1:-1])
    return json.loads(text)


def _without_run(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if key not in _RUN}
        return {key: _without_run(item) for key, item in kept.items()}
    if isinstance(value, list | tuple):
        return [_without_run(item) for item in value]
    return value


def difference(there: Any, here: Any, place: str = "") -> Difference | None:
    """Return the first field in which two tables differ, and what it is in each.

    >>> difference({"a": [1, 2]}, {"a": [1, 3]})
    ('a[1]', '2', '3')
    >>> difference({"a": 0.1}, {"a": 0.1 + 1e-17}) is None
    True
    """
    if isinstance(there, dict) and isinstance(here, dict):
        for key in dict.fromkeys([*there, *here]):
            inner = f"{place}.{key}" if place else str(key)
            both = there.get(key, _ABSENT), here.get(key, _ABSENT)
            found = difference(*both, inner)
            if found is not None:
                return found
        return None
    if isinstance(there, list) and isinstance(here, list) and len(there) == len(here):
        for number, both in enumerate(zip(there, here, strict=True)):
            found = difference(*both, f"{place}[{number}]")
            if found is not None:
                return found
        return None
    if _same(there, here):
        return None
    return place, _shown(there), _shown(here)


def _same(there: Any, here: Any) -> bool:
    if type(there) is float and type(here) is float:
        return math.isclose(there, here, rel_tol=NEAR, abs_tol=NEAR)
    return type(there) is type(here) and bool(there == here)


def _shown(value: Any) -> str:
    return clip(json.dumps(value, ensure_ascii=False), 60)
