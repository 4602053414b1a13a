"""The tables of an audit as CSV files, in which no spreadsheet takes a text for a formula."""

from __future__ import annotations

import csv
import re
from io import StringIO
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.audit_result import as_audit, unlike
from evenhand.methods.audit.exports.tables import tables_of
from evenhand.runtime.table_file import defused

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.methods.audit.exports.tables import Value
    from evenhand.results.protocol import Evidence

INDEX = "tables.csv"
"""The file that says what each of the others holds."""
_MOST_LETTERS = 60
_UNSAFE = re.compile(r"[^a-z0-9]+")


def to_csv(found: Evidence) -> dict[str, str]:
    """Return every table of some evidence as CSV, by the name of its file.

    The file tables.csv names the others. Texts that a spreadsheet would run as formulas begin with
    an apostrophe.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> files = to_csv(Audit((), 0, Spent(0, 0, 0.0)))
    >>> print(files["tables.csv"].splitlines()[0])
    "file","table","check","rows"
    """
    files: dict[str, str] = {}
    index: list[tuple[Value, ...]] = []
    for table in tables_of(as_audit(found)):
        file = _file_of(table.name, files)
        files[file] = _text(table.columns, table.rows)
        index.append((file, table.title, table.check, len(table.rows)))
    names = ("file", "table", "check", "rows")
    return {INDEX: _text(names, index), **files}


def _file_of(name: str, taken: Iterable[str]) -> str:
    """Return a name of a file that every system takes, and that no other table has."""
    words = _UNSAFE.sub("-", name.lower()).strip("-")
    stem = words[:_MOST_LETTERS].strip("-") or "table"
    stems = [file.removesuffix(".csv") for file in taken]
    distinct = unlike(stem, [*stems, INDEX.removesuffix(".csv")])
    return f"{_UNSAFE.sub('-', distinct).strip('-')}.csv"


def _text(columns: Iterable[str], rows: Iterable[tuple[Value, ...]]) -> str:
    sheet = StringIO()
    # Texts in quotes, so that a text of digits is not taken for a number.
    writer = csv.writer(sheet, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\n")
    writer.writerow([defused(column) for column in columns])
    for row in rows:
        writer.writerow([_cell(value) for value in row])
    return sheet.getvalue()


def _cell(value: Value) -> Any:
    """Return a value as CSV holds it: a number as it is, nothing as an empty text."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, str):
        return defused(value)
    return value
