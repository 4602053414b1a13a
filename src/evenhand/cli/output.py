"""What commands share: printing evidence, writing it where asked, and the options that were given."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.report.terminal import render
from evenhand.runtime.errors import UsageError
from evenhand.runtime.values import parse_outcome

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterable

    from evenhand.results.protocol import Evidence


def given(options: Namespace, names: Iterable[str]) -> dict[str, Any]:
    """Return the options that were given, so that all others keep the defaults of the function."""
    return {
        name: getattr(options, name) for name in names if getattr(options, name, None) is not None
    }


def finish(found: Evidence, file: str | None) -> int:
    """Print evidence, write it where asked, and return its exit code."""
    render(found)
    if file is not None:
        found.to_json(file)
    return found.exit_code


def label_of(frame: Any, column: str, text: str) -> Any:
    """Return the label of a column that is written like this."""
    values = frame[column].unique().tolist() if column in frame.columns else []
    return next((value for value in values if str(value) == text), parse_outcome(text))


def numbered(file: str | None, number: int) -> str | None:
    """Return the file for the result of a run: the one that was named, then -2, -3 and so on before
    its suffix.

    >>> numbered("out.json", 1), numbered("tests.csv.gz", 2)
    ('out.json', 'tests-2.csv.gz')
    """
    if file is None or number == 1:
        return file
    path = Path(file)
    suffix = ".csv.gz" if path.name.endswith(".csv.gz") else path.suffix
    return str(path.with_name(f"{path.name.removesuffix(suffix)}-{number}{suffix}"))


def need_folder(flag: str, file: str) -> None:
    """Refuse a file that cannot be written, before hours of work and not after."""
    folder = Path(file).parent
    if not folder.is_dir():
        raise UsageError(f"{flag} {file}: there is no folder '{folder}'; make it first")
    if Path(file).is_dir():
        raise UsageError(f"{flag} {file}: this is a folder; name a file in it")
