"""The tables of an audit as an XLSX workbook: a sheet for each, the first of which lists them."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from io import BytesIO
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.exports import messages
from evenhand.methods.audit.exports.tables import AuditTable, tables_of
from evenhand.runtime.errors import MissingExtra, clip

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.audit.exports.tables import Value
    from evenhand.results.protocol import Evidence

MOST_ROWS = 1_048_575
"""The most rows of a sheet below its heading."""
MOST_LETTERS = 32_767
"""The most characters of a cell."""
_NAME_LETTERS = 31
"""The most characters of the name of a sheet."""
_FORBIDDEN = re.compile(r"[\[\]:*?/\\']")
_CREATED = datetime(1980, 1, 1, tzinfo=UTC)
"""What stands for the time of writing: the same evidence gives the same bytes."""
_WIDEST = 60
_NARROWEST = 8
_LOOKED_AT = 200
"""The rows by which the width of a column is chosen."""


def need_xlsxwriter() -> Any:
    """Return the library that writes workbooks, or refuse with the name of the extra."""
    try:
        import xlsxwriter
    except ImportError as error:
        raise MissingExtra("writing an .xlsx file", "xlsx") from error
    return xlsxwriter


def to_xlsx(found: Evidence) -> bytes:
    """Return every table of some evidence as a workbook, the same bytes for the same evidence.

    Numbers are numbers, shares are shown in per cent, and no text is read as a formula or a link.
    """
    library = need_xlsxwriter()
    content = BytesIO()
    options = {
        "in_memory": True,
        "strings_to_formulas": False,
        "strings_to_urls": False,
        "strings_to_numbers": False,
    }
    book = library.Workbook(content, options)
    book.set_properties({"created": _CREATED.replace(tzinfo=None)})
    formats = {
        "heading": book.add_format({"bold": True, "bottom": 1, "text_wrap": True}),
        "share": book.add_format({"num_format": "0.00 %"}),
        "text": book.add_format({"num_format": "@"}),
        "number": book.add_format(),
    }
    taken: list[str] = []
    for table in _with_index(tables_of(as_audit(found))):
        name = sheet_name(table.name, taken)
        taken.append(name)
        _write(book.add_worksheet(name), table, formats)
    book.close()
    return content.getvalue()


def _with_index(tables: Sequence[AuditTable]) -> list[AuditTable]:
    """Return the tables behind one that lists them."""
    rows: list[tuple[Value, ...]] = []
    taken = [sheet_name("tables", [])]
    for table in tables:
        name = sheet_name(table.name, taken)
        taken.append(name)
        rows.append((name, table.title, table.check, len(table.rows)))
    columns = ("sheet", "table", "check", "rows")
    index = AuditTable("tables", messages.TABLE_OF_TABLES, "", columns, rows)
    return [index, *tables]


def sheet_name(name: str, taken: Sequence[str]) -> str:
    """Return a name that a sheet may have, and that no other has in any case of letters.

    >>> sheet_name("a/b: [c]", []), sheet_name("A" * 40, ["a" * 31])
    ('a b c', 'AAAAAAAAAAAAAAAAAAAAAAAAAAA (2)')
    """
    words = _FORBIDDEN.sub(" ", name).split()
    base = " ".join(words) or "table"
    lower = {other.lower() for other in taken}
    distinct = base[:_NAME_LETTERS].strip()
    number = 1
    while distinct.lower() in lower:
        number += 1
        ending = f" ({number})"
        distinct = base[: _NAME_LETTERS - len(ending)].strip() + ending
    return distinct


def _write(sheet: Any, table: AuditTable, formats: dict[str, Any]) -> None:
    rows = table.rows[:MOST_ROWS]
    for place, column in enumerate(table.columns):
        sheet.write_string(0, place, _text(column), formats["heading"])
        sheet.set_column(place, place, _width(table, place))
    for number, row in enumerate(rows, start=1):
        for place, value in enumerate(row):
            if isinstance(value, bool):
                sheet.write_boolean(number, place, value)
            elif isinstance(value, str):
                sheet.write_string(number, place, _text(value), formats["text"])
            elif value is not None:
                kind = "share" if table.is_share(row, place) else "number"
                sheet.write_number(number, place, value, formats[kind])
    sheet.freeze_panes(1, 0)
    sheet.autofilter(0, 0, len(rows), len(table.columns) - 1)


def _width(table: AuditTable, place: int) -> int:
    """Return the width of a column in characters, as its first rows need it."""
    lengths = [len(table.columns[place])]
    for row in table.rows[:_LOOKED_AT]:
        value = row[place]
        shown = f"{value:.6g}" if isinstance(value, float) else str(value)
        lengths.append(len(shown))
    return min(max(*lengths, _NARROWEST) + 2, _WIDEST)


def _text(value: str) -> str:
    """Return a text that fits into a cell."""
    if len(value) <= MOST_LETTERS:
        return value
    return clip(value, MOST_LETTERS)
