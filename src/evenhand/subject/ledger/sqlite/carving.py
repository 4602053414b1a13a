"""Rows read from the bytes of an SQLite file, page by page, where SQLite itself gives up.

The layout of pages, cells and records is that of https://www.sqlite.org/fileformat.html. What is
found is a guess: only rows whose checksum fits are rows.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.subject.ledger.stored_outcome import Stored

    Row = tuple[Stored | None, ...]

DEFAULT_PAGE = 4096
_LOG_HEADER, _FRAME_HEADER = 32, 24
_HEADERS = {2: 12, 10: 8}
"""The kinds of pages that hold rows of a table without row numbers, and how long their headers are.

Kind 2 is an inner page, whose cells begin with the number of a page; kind 10 is a leaf.
"""
_INNER = 2
_WHOLE_NUMBERS = {1: 1, 2: 2, 3: 3, 4: 4, 5: 6, 6: 8}
"""The bytes of a whole number of each type."""
_MOST_COLUMNS = 8


def carved(content: bytes, log: bytes = b"") -> Iterator[Row]:
    """Yield every row that the pages of a database, and those in its log, seem to hold."""
    size = _page_size(content)
    pages = Pages(content, size)
    for number in range(1, len(content) // size + 2):
        yield from pages.rows(number)
    for start in range(_LOG_HEADER, len(log), _FRAME_HEADER + size):
        page = log[start + _FRAME_HEADER : start + _FRAME_HEADER + size]
        yield from pages.rows_of(page, 0)


def _page_size(content: bytes) -> int:
    """Return the bytes of a page, as the header says, or as SQLite does where it says nonsense."""
    size = int.from_bytes(content[16:18], "big")
    is_power = size >= 512 and size & (size - 1) == 0
    return size if is_power else DEFAULT_PAGE


class Pages:
    """The pages of a database file."""

    def __init__(self, content: bytes, size: int) -> None:
        self._content = content
        self._size = size
        # Of a longer row only the beginning stands in the cell (section 1.6 of the format).
        self._most_local = (size - 12) * 64 // 255 - 23
        self._least_local = (size - 12) * 32 // 255 - 23

    def _page(self, number: int) -> bytes:
        return self._content[(number - 1) * self._size : number * self._size]

    def rows(self, number: int) -> Iterator[Row]:
        """Yield the rows of a page of the file, counted from 1."""
        yield from self.rows_of(self._page(number), 100 if number == 1 else 0)

    def rows_of(self, page: bytes, header: int) -> Iterator[Row]:
        """Yield what seem to be rows of a page."""
        if len(page) < header + 12 or page[header] not in _HEADERS:
            return
        kind = page[header]
        cells = int.from_bytes(page[header + 3 : header + 5], "big")
        first = header + _HEADERS[kind]
        for place in range(first, min(first + 2 * cells, len(page) - 1), 2):
            start = int.from_bytes(page[place : place + 2], "big")
            row = self._row(page, start + (4 if kind == _INNER else 0))
            if row is not None:
                yield row

    def _row(self, page: bytes, start: int) -> Row | None:
        try:
            length, start = _number(page, start)
            return _record(self._payload(page, start, length))
        except (IndexError, ValueError, struct.error):
            return None

    def _payload(self, page: bytes, start: int, length: int) -> bytes:
        if length > len(self._content) + len(page):
            raise ValueError
        if length <= self._most_local:
            return page[start : start + length]
        local = self._least_local + (length - self._least_local) % (self._size - 4)
        if local > self._most_local:
            local = self._least_local
        parts = [page[start : start + local]]
        found = local
        following = int.from_bytes(page[start + local : start + local + 4], "big")
        while found < length and following:
            more = self._page(following)
            parts.append(more[4:])
            found += max(1, len(more) - 4)
            following = int.from_bytes(more[:4], "big")
        return b"".join(parts)[:length]


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, and where it ends.

    >>> _number(bytes([0x81, 0x00]), 0)
    (128, 2)
    """
    value = 0
    for _ in range(8):
        byte = data[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | data[at], at + 1


def _record(payload: bytes) -> Row:
    """Return the columns of a record."""
    end, at = _number(payload, 0)
    kinds = []
    while at < end:
        kind, at = _number(payload, at)
        kinds.append(kind)
    if len(kinds) > _MOST_COLUMNS:
        raise ValueError
    columns = []
    for kind in kinds:
        column, at = _column(payload, kind, at)
        columns.append(column)
    return tuple(columns)


def _column(payload: bytes, kind: int, at: int) -> tuple[Stored | None, int]:
    """Return a value of some type, and where it ends."""
    if kind == 0:
        return None, at
    if kind in (8, 9):
        return kind - 8, at
    if kind == 7:
        return struct.unpack_from(">d", payload, at)[0], at + 8
    if kind in _WHOLE_NUMBERS:
        end = at + _WHOLE_NUMBERS[kind]
        return int.from_bytes(payload[at:end], "big", signed=True), end
    end = at + (kind - 12) // 2
    if kind < 12 or end > len(payload):
        raise ValueError
    text = payload[at:end]
    if kind % 2 == 0:
        return text, end
    return text.decode(), end
