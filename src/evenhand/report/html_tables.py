"""Sheets: tables of a page that can be sorted, filtered and paged, and read without scripts.

A short sheet is all in the page. Of a long one the page has the first rows, and a block of data has
all of them, column by column: numbers as they are, texts as places in a list of the different ones.
A short sheet of very many rows becomes a long one, which has the same words in it but no links.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.report.html_page import TABLES, Heading, boxed, data_block, text
from evenhand.report.lines import printable
from evenhand.report.templates import piece
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    PackedColumn: TypeAlias = dict[str, Any]
    """A column as a block of data has it."""

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
ONLY_FIRST = (
    "The first {kept} of {available} are here; the file of the result has all of them."
)
FIRST_ON_PAPER = "On paper and without scripts, the first {written} are shown."
VALUES_ARE_CUT = "Values are cut after {letters} letters."
_HEADING_LETTERS = 60
_EXACT = 2**53
"""Whole numbers beyond this are rounded by scripts, and are texts there."""
_CUT = "…"
_SPARE = 0.95
"""How much of the estimated room is used: rows differ in size, and a guess that is too small ends
the search.
"""


@dataclass(frozen=True)
class Cell:
    """A cell of a short sheet: what it shows, and the number that it is sorted by, where it is one.

    What is markup is shown as it is, and any other text is escaped.
    """

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


@dataclass(frozen=True)
class WrittenCell:
    """A cell as it is written out in the page; a script sorts it by its key."""

    content: object
    number: bool
    key: str | None = None


def short_sheet(
    name: str, caption: str, headings: Sequence[str], rows: Sequence[Sequence[Cell]]
) -> Markup:
    """Return a sheet with all rows in the page, unless there are very many."""
    numbers = [_holds_numbers(rows, place) for place in range(len(headings))]
    if len(rows) > MOST_WHOLE:
        columns = []
        for place, heading in enumerate(headings):
            cells = [row[place] for row in rows]
            column = _column_of(heading, cells, number=numbers[place])
            columns.append(column)
        return long_sheet(name, caption, columns)
    written = [_written_cells(row) for row in rows]
    described = _headings(headings, numbers)
    few = len(rows) <= FEW
    return piece(TABLES, "sheet", name, caption, described, written, few=few)


def _holds_numbers(rows: Sequence[Sequence[Cell]], place: int) -> bool:
    return any(row[place].number for row in rows)


def _column_of(heading: str, cells: Sequence[Cell], *, number: bool) -> Column:
    """Return the cells of a short sheet as a column of a long one: texts without tags."""
    texts = []
    for cell in cells:
        without_tags = re.sub("<[^>]*>", "", text(cell.html))
        texts.append(unescape(without_tags))
    keys = [cell.value for cell in cells] if number else None
    return Column(heading, texts, keys=keys)


def _written_cells(row: Sequence[Cell]) -> list[WrittenCell]:
    return [_written_cell(cell) for cell in row]


def _written_cell(cell: Cell) -> WrittenCell:
    if not cell.number:
        return WrittenCell(cell.html, number=False)
    key = ""
    if cell.value is not None and not math.isnan(cell.value):
        key = f"{cell.value:.6g}"
    return WrittenCell(cell.html, number=True, key=key)


def long_sheet(
    name: str,
    caption: str,
    columns: Sequence[Column],
    *,
    cases: bool = False,
    room: int = MOST_BYTES,
) -> Markup:
    """Return a sheet whose rows are data of at most `room` bytes.

    With `cases`, each row opens as two people.
    """
    available = len(columns[0].values) if columns else 0
    kept = min(available, MOST_ROWS)
    packed, data = _block(name, columns, kept)
    size = len(data.encode())
    while kept > 1 and size > room:
        estimated = int(_SPARE * kept * room / size)
        fewer = min(kept - 1, estimated)
        kept = max(1, fewer)
        packed, data = _block(name, columns, kept)
        size = len(data.encode())
    written = range(min(kept, WRITTEN))
    rows = [_written_row(packed, number) for number in written]
    names = [column.name for column in columns]
    numbers = [column["kind"] == "number" for column in packed]
    sheet = piece(
        TABLES,
        "sheet",
        name,
        _long_caption(caption, packed, kept, available),
        _headings(names, numbers),
        rows,
        few=kept <= FEW,
        packed=True,
        cases=cases,
    )
    return sheet + data


def _block(
    name: str, columns: Sequence[Column], kept: int
) -> tuple[list[PackedColumn], Markup]:
    """Return the first rows of some columns, packed, and the block of data that holds them."""
    packed = [_packed(column, kept) for column in columns]
    table = {"rows": kept, "columns": packed}
    return packed, data_block(f"{name}-data", table)


def _long_caption(
    caption: str, packed: Sequence[PackedColumn], kept: int, available: int
) -> str:
    """Return the caption of a long sheet, which says what of the data is not in sight."""
    sentences = [caption]
    if kept < available:
        kept_text = number_text.count(kept)
        all_text = number_text.count(available)
        sentences.append(say(ONLY_FIRST, kept=kept_text, available=all_text))
    if kept > WRITTEN:
        sentences.append(say(FIRST_ON_PAPER, written=number_text.count(WRITTEN)))
    if any(_has_cut_value(column) for column in packed):
        sentences.append(say(VALUES_ARE_CUT, letters=number_text.count(MOST_LETTERS)))
    return " ".join(sentences)


def _has_cut_value(packed: PackedColumn) -> bool:
    for level in packed.get("levels", ()):
        if len(level) > MOST_LETTERS and level.endswith(_CUT):
            return True
    return False


def _headings(names: Sequence[str], numbers: Sequence[bool]) -> list[Heading]:
    headings = []
    for name, number in zip(names, numbers, strict=True):
        shown = clip(printable(name), _HEADING_LETTERS)
        headings.append(Heading(shown, number))
    return headings


def _packed(column: Column, kept: int) -> PackedColumn:
    """Return a column as a block of data has it."""
    values = [plain(value) for value in column.values[:kept]]
    packed: PackedColumn = {
        "name": text_of(column.name),
        "feature": column.feature,
    }
    if column.keys is None and all(map(_is_number_or_missing, values)):
        packed["kind"] = "number"
        packed["values"] = [_finite(value) for value in values]
        return packed
    texts = ["" if value is None else text_of(value) for value in values]
    levels = list(dict.fromkeys(texts))
    place_of = {level: place for place, level in enumerate(levels)}
    packed["kind"] = "text"
    packed["levels"] = levels
    packed["values"] = [place_of[value] for value in texts]
    if column.keys is not None:
        packed["kind"] = "number"
        keys = column.keys[:kept]
        packed["keys"] = [_finite(key) for key in keys]
    return packed


def _is_number_or_missing(value: Any) -> bool:
    """Return whether a value is a number that a script can hold, or missing."""
    if value is None or isinstance(value, float):
        return True
    # Truth values are of another type: they are shown as words.
    return type(value) is int and abs(value) <= _EXACT


def _finite(value: float | None) -> float | None:
    if value is None or not math.isfinite(value):
        return None
    return value


def text_of(value: Any) -> str:
    """Return a value as it is shown, cut where it is long, and without deceptive characters.

    >>> text_of("a\\nb"), len(text_of("a" * 9_999))
    ('a\\\\nb', 1001)
    """
    shown = str(value)
    if len(shown) > MOST_LETTERS:
        shown = shown[:MOST_LETTERS] + _CUT
    return printable(shown)


def _written_row(packed: Sequence[PackedColumn], row: int) -> list[WrittenCell]:
    return [_written_value(column, row) for column in packed]


def _written_value(packed: PackedColumn, row: int) -> WrittenCell:
    """Return one value of a packed column as a cell of the page."""
    value = packed["values"][row]
    if "levels" not in packed:
        return WrittenCell("" if value is None else value, number=True)
    level = packed["levels"][value]
    return WrittenCell(boxed(level), number="keys" in packed)
