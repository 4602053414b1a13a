"""Sheets: tables of a page that can be sorted, filtered and paged, and that are still there without scripts.

A short sheet is all in the page. Of a long one the page has the first rows, and a block of data has all of them, column
by column: numbers as they are, texts as places in a list of the different ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.feature import plain
from evenhand.report.page import boxed, data_block, scrolled, text

if TYPE_CHECKING:
    from collections.abc import Sequence

WRITTEN = 50
"""The most rows that are written out in the page."""
MOST_ROWS = 50_000
"""The most rows of a sheet; the files that a result is written to have all of them."""
MOST_BYTES = 3_000_000
"""The most bytes that the data of one sheet takes."""
_HINT = "words that a row must have, or column=value, column&gt;5"


@dataclass(frozen=True)
class Cell:
    """A cell of a short sheet: its HTML, and the number that it is sorted by, where it is one."""

    html: str
    value: float | None = None
    number: bool = False


@dataclass(frozen=True)
class Column:
    """A column of a long sheet: its values, and whether it is a feature of the people in it."""

    name: str
    values: Sequence[Any]
    feature: bool = False


def short_sheet(name: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]]) -> str:
    """Return a sheet with all rows in the page."""
    lines = []
    for row in rows:
        cells = []
        for cell in row:
            key = "" if cell.value is None or math.isnan(cell.value) else f"{cell.value:.6g}"
            shape = f' class="number" data-value="{key}"' if cell.number else ""
            cells.append(f"<td{shape}>{cell.html}</td>")
        lines.append(f"<tr>{''.join(cells)}</tr>")
    return _sheet(name, caption, _heads(headings), lines)


def long_sheet(name: str, caption: str, columns: Sequence[Column], *, cases: bool = False) -> str:
    """Return a sheet whose rows are data; with `cases`, each can be opened as two people side by side."""
    every = len(columns[0].values) if columns else 0
    kept = min(every, MOST_ROWS)
    packed = [_packed(column, kept) for column in columns]
    while kept > WRITTEN and sum(_size(one) for one in packed) > MOST_BYTES:
        kept = max(WRITTEN, kept * 3 // 4)
        packed = [_packed(column, kept) for column in columns]
    told = caption
    if kept < every:
        told += f" The first {kept:,} of {every:,} are shown; the file of the result has all of them."
    if kept > WRITTEN:
        told += f" Without scripts, the page shows the first {WRITTEN}."
    lines = []
    for row in range(min(kept, WRITTEN)):
        cells = "".join(_written(column, one, row) for column, one in zip(columns, packed, strict=True))
        lines.append(f"<tr>{cells}</tr>")
    data = data_block(f"{name}-data", {"rows": kept, "columns": packed})
    heads = _heads([column.name for column in columns], [one["kind"] == "number" for one in packed])
    before = '<th scope="col" class="js-cell">case</th>' if cases else ""
    return _sheet(name, told, before + heads, lines, packed=True, cases=cases) + data


def _heads(headings: Sequence[str], numbers: Sequence[bool] = ()) -> str:
    flags = list(numbers) or [False] * len(headings)
    return "".join(
        f'<th scope="col" data-column{" class=" + chr(34) + "number" + chr(34) if number else ""}>{text(one)}</th>'
        for one, number in zip(headings, flags, strict=True)
    )


def _sheet(
    name: str, caption: str, heads: str, lines: Sequence[str], *, packed: bool = False, cases: bool = False
) -> str:
    told = f'<caption id="{name}-caption">{text(caption)}</caption>'
    inside = "\n".join([told, f"<thead><tr>{heads}</tr></thead>", "<tbody>", *lines, "</tbody>"])
    tools = (
        f'<div class="tools"><span class="js-only"><label for="{name}-filter">Filter</label>'
        f'<input id="{name}-filter" type="search" placeholder="{_HINT}" autocomplete="off">'
        '<button type="button" class="back">Back</button><button type="button" class="forth">Next</button>'
        '<span role="status"></span></span></div>'
    )
    kind = "".join(f' data-{key}="true"' for key, on in (("packed", packed), ("cases", cases)) if on)
    body = scrolled(f"{name}-caption", f"<table>\n{inside}\n</table>")
    return f'<div id="{name}" data-sheet{kind}>\n{tools}\n{body}\n</div>'


def _packed(column: Column, kept: int) -> dict[str, Any]:
    """Return a column as a block of data has it."""
    values = [plain(value) for value in column.values[:kept]]
    table: dict[str, Any] = {"name": column.name, "feature": column.feature}
    if all(value is None or (isinstance(value, int | float) and not isinstance(value, bool)) for value in values):
        known = [None if value is None or not math.isfinite(value) else value for value in values]
        return {**table, "kind": "number", "values": known}
    texts = ["" if value is None else text_of(value) for value in values]
    levels = {level: place for place, level in enumerate(dict.fromkeys(texts))}
    return {**table, "kind": "text", "levels": list(levels), "values": [levels[value] for value in texts]}


def text_of(value: Any) -> str:
    """Return a value as it is shown: with nothing in it that a reader's eyes would take for something else."""
    from evenhand.report.lines import printable

    return printable(str(value))


def _written(column: Column, packed: dict[str, Any], row: int) -> str:
    value = packed["values"][row]
    if packed["kind"] == "number":
        return f'<td class="number">{"" if value is None else text(value)}</td>'
    return f"<td>{boxed(packed['levels'][value])}</td>"


def _size(packed: dict[str, Any]) -> int:
    levels = sum(len(level) for level in packed.get("levels", ()))
    return levels + sum(len(str(value)) + 1 for value in packed["values"])
