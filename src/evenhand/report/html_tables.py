"""Sheets: tables of a page that can be sorted, filtered and paged, and that are still there without
scripts.

A short sheet is all in the page. Of a long one the page has the first rows, and a block of data has
all of them, column by column: numbers as they are, texts as places in a list of the different ones.
A short sheet of very many rows becomes a long one, which has the same words in it but no links.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any

from evenhand.report.html_page import boxed, data_block, scrolled, text
from evenhand.report.lines import printable
from evenhand.runtime.errors import clip
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

WRITTEN = 50
"""The most rows that are written out in the page."""
MOST_ROWS = 50_000
"""The most rows of a sheet; the files that a result is written to have all of them."""
MOST_BYTES = 3_000_000
"""The most bytes that the data of one sheet takes."""
ALL_BYTES = 6_000_000
"""The most bytes that the data of all sheets of a page takes: with everything else, it stays under
ten million.
"""
MOST_LETTERS = 1_000
"""The most letters of one value in a sheet."""
MOST_WHOLE = 500
"""The most rows of a short sheet; of more the first ones are written out, and all are data."""
FEW = 5
"""The most rows that nobody needs to filter."""
_EXACT = 2**53
"""Whole numbers beyond this are rounded by scripts, and are texts there."""
_CUT = "…"
_HINT = "words, or column=value, column&gt;5"


@dataclass(frozen=True)
class Cell:
    """A cell of a short sheet: its HTML, and the number that it is sorted by, where it is one."""

    html: str
    value: float | None = None
    number: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a long sheet: its values, and whether it is a feature of the people in it.

    With `keys`, values are what is read, and keys the numbers that they are sorted and filtered by.
    """

    name: str
    values: Sequence[Any]
    feature: bool = False
    keys: Sequence[float | None] | None = None


def short_sheet(
    name: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> str:
    """Return a sheet with all rows in the page, unless there are very many."""
    numbers = [any(row[place].number for row in rows) for place in range(len(headings))]
    if len(rows) > MOST_WHOLE:
        columns = [
            Column(
                heading,
                [unescape(re.sub("<[^>]*>", "", row[place].html)) for row in rows],
                keys=[row[place].value for row in rows] if number else None,
            )
            for place, (heading, number) in enumerate(zip(headings, numbers, strict=True))
        ]
        return long_sheet(name, caption, columns)
    lines = []
    for row in rows:
        cells = []
        for cell in row:
            key = "" if cell.value is None or math.isnan(cell.value) else f"{cell.value:.6g}"
            shape = f' class="number" data-value="{key}"' if cell.number else ""
            cells.append(f"<td{shape}>{cell.html}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return _sheet(name, caption, _heads(headings, numbers), lines, few=len(rows) <= FEW)


def long_sheet(
    name: str,
    caption: str,
    columns: Sequence[Column],
    *,
    cases: bool = False,
    room: int = MOST_BYTES,
) -> str:
    """Return a sheet whose rows are data of at most `room` bytes; with `cases`, each opens as two
    people.
    """
    every = len(columns[0].values) if columns else 0
    kept = min(every, MOST_ROWS)
    packed, data = _block(name, columns, kept)
    while kept > 1 and (size := len(data.encode())) > room:
        kept = max(1, min(kept - 1, int(0.95 * kept * room / size)))
        packed, data = _block(name, columns, kept)
    told = caption
    if kept < every:
        told += (
            f" The first {kept:,} of {every:,} are here; the file of the result has all of them."
        )
    if kept > WRITTEN:
        told += f" On paper and without scripts, the first {WRITTEN} are shown."
    levels = (level for one in packed for level in one.get("levels", ()))
    if any(len(level) > MOST_LETTERS and level.endswith(_CUT) for level in levels):
        told += f" Values are cut after {MOST_LETTERS:,} letters."
    lines = []
    for row in range(min(kept, WRITTEN)):
        cells = "".join(_written(one, row) for one in packed)
        lines.append(f"<tr>{cells}</tr>")
    heads = _heads([column.name for column in columns], [one["kind"] == "number" for one in packed])
    before = '<th scope="col" class="js-cell">case</th>' if cases else ""
    return (
        _sheet(name, told, before + heads, lines, packed=True, cases=cases, few=kept <= FEW) + data
    )


def _block(name: str, columns: Sequence[Column], kept: int) -> tuple[list[dict[str, Any]], str]:
    packed = [_packed(column, kept) for column in columns]
    return packed, data_block(f"{name}-data", {"rows": kept, "columns": packed})


def _heads(headings: Sequence[str], numbers: Sequence[bool]) -> str:
    shapes = [' class="number"' if number else "" for number in numbers]
    return "".join(
        f'<th scope="col" data-column{shape}>{text(clip(printable(one), 60))}</th>'
        for one, shape in zip(headings, shapes, strict=True)
    )


def _sheet(
    name: str,
    caption: str,
    heads: str,
    lines: Sequence[str],
    *,
    few: bool,
    packed: bool = False,
    cases: bool = False,
) -> str:
    told = f'<caption id="{name}-caption">{text(caption)}</caption>'
    inside = "\n".join([told, f"<thead><tr>{heads}</tr></thead>", "<tbody>", *lines, "</tbody>"])
    tools = (
        f'<div class="tools"{" hidden" if few else ""}><span class="js-only"><label'
        f' for="{name}-filter">Filter</label><input id="{name}-filter" type="search"'
        f' placeholder="{_HINT}" autocomplete="off" aria-describedby="{name}-caption"><button'
        ' type="button" class="back">Back</button><button type="button"'
        ' class="forth">Next</button><span role="status"></span></span></div>'
    )
    kind = "".join(
        f' data-{key}="true"' for key, on in (("packed", packed), ("cases", cases)) if on
    )
    body = scrolled(f"{name}-caption", f"<table>\n{inside}\n</table>")
    return f'<div id="{name}" data-sheet{kind}>\n{tools}\n{body}\n</div>'


def _packed(column: Column, kept: int) -> dict[str, Any]:
    """Return a column as a block of data has it."""
    values = [plain(value) for value in column.values[:kept]]
    table: dict[str, Any] = {"name": text_of(column.name), "feature": column.feature}
    if column.keys is None and all(value is None or _number(value) for value in values):
        return {**table, "kind": "number", "values": [_finite(value) for value in values]}
    texts = ["" if value is None else text_of(value) for value in values]
    levels = {level: place for place, level in enumerate(dict.fromkeys(texts))}
    table |= {"kind": "text", "levels": list(levels), "values": [levels[value] for value in texts]}
    return (
        table
        if column.keys is None
        else {**table, "kind": "number", "keys": [*map(_finite, column.keys[:kept])]}
    )


def _number(value: Any) -> bool:
    """Tell whether a value is a number that a script can hold."""
    return isinstance(value, float) or (type(value) is int and abs(value) <= _EXACT)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


def text_of(value: Any) -> str:
    """Return a value as it is shown: with nothing in it that a reader's eyes would take for
    something else.

    >>> text_of("a\\nb"), len(text_of("a" * 9_999))
    ('a\\\\nb', 1001)
    """
    said = str(value)
    return printable(said if len(said) <= MOST_LETTERS else said[:MOST_LETTERS] + _CUT)


def _written(packed: dict[str, Any], row: int) -> str:
    value = packed["values"][row]
    if "levels" in packed:
        shape = ' class="number"' if "keys" in packed else ""
        return f"<td{shape}>{boxed(packed['levels'][value])}</td>"
    return f'<td class="number">{"" if value is None else text(value)}</td>'
