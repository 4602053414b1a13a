"""What commands share: printing and writing evidence, and the options that were given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.report.terminal import render
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from evenhand.results.protocol import Evidence


def given(options: Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options that were given, so that all others keep the defaults of the function."""
    values = {}
    for name in names:
        value = getattr(options, name, None)
        if value is not None:
            values[name] = value
    return values


def finish(found: Evidence, file: str | None) -> int:
    """Print evidence, write it where asked, and return its exit code."""
    render(found)
    if file is not None:
        found.to_json(file)
    return found.exit_code


def numbered(file: str | None, number: int) -> str | None:
    """Return the file for the result of a run: its name, then with -2, -3 and so on added.

    >>> numbered("out.json", 1), numbered("tests.csv.gz", 2)
    ('out.json', 'tests-2.csv.gz')
    """
    if file is None or number == 1:
        return file
    path = Path(file)
    suffix = ".csv.gz" if path.name.endswith(".csv.gz") else path.suffix
    stem = path.name.removesuffix(suffix)
    return str(path.with_name(f"{stem}-{number}{suffix}"))


def need_folder(flag: str, file: str) -> None:
    """Refuse a file that cannot be written, before hours of work and not after."""
    path = Path(file)
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"{flag} {file}: there is no folder '{folder}'; make it first")
    if path.is_dir():
        raise UsageError(f"{flag} {file}: this is a folder; name a file in it")
