"""JSON files that people keep: the same bytes for the same content."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, printable, reason_of
from evenhand.runtime.system.whole_file import write_whole

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

_HALVES = re.compile("[\ud800-\udfff]")
"""Halves of characters: a damaged text may hold them, and JSON has a way to write them."""


def dump(table: Mapping[str, Any]) -> str:
    """Return a table as JSON text.

    >>> dump({"n": 1})
    '{\\n  "n": 1\\n}\\n'
    """
    text = json.dumps(table, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return _HALVES.sub(lambda half: f"\\u{ord(half[0]):04x}", text)


def write(path: str | PathLike[str] | None, text: str, what: str) -> str:
    """Return the text, written to a file where one is named, whole or not at all."""
    if path is not None:
        write_bytes(path, text.encode("utf-8", "backslashreplace"), what)
    return text


def write_bytes(path: str | PathLike[str], content: bytes, what: str) -> None:
    """Write a file, whole or not at all, or say in a sentence why it cannot be written."""
    try:
        write_whole(path, content)
    except (OSError, ValueError) as error:
        reason = reason_of(error)
        raise UsageError(
            f"{printable(str(path))}: cannot write the {what}: {reason}"
        ) from None


def read(path: str | PathLike[str], what: str) -> Any:
    """Return what a JSON file holds."""
    shown = printable(str(path))
    try:
        content = Path(path).read_bytes()
    except (OSError, ValueError) as error:
        raise UsageError(f"{shown}: cannot read the {what}: {reason_of(error)}") from None
    try:
        return json.loads(content.decode("utf-8-sig"))
    except ValueError:
        raise UsageError(f"{shown}: this is not a JSON file") from None
    except RecursionError:
        raise UsageError(
            f"{shown}: lists and tables are nested too deeply to be a {what}"
        ) from None
