"""Rows read from the bytes of SQLite's files, held against what SQLite itself has written."""

from __future__ import annotations

import shutil
import sqlite3
import struct
from typing import TYPE_CHECKING, Any

import pytest

from evenhand.subject.ledger.sqlite.carving import (
    DEFAULT_PAGE,
    Pages,
    _column,
    _number,
    _page_size,
    _record,
    carved,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TABLE = "CREATE TABLE test (key BLOB PRIMARY KEY, outcome, checksum BLOB) WITHOUT ROWID"


def database(path: Path, rows: Sequence[tuple[Any, ...]], size: int) -> bytes:
    """Write rows by SQLite, and return the bytes of its file."""
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA page_size = {size}")
    connection.execute(TABLE)
    connection.executemany("INSERT INTO test VALUES (?, ?, ?)", rows)
    connection.commit()
    connection.close()
    return path.read_bytes()


@pytest.mark.parametrize("size", [512, 1024, 2048])
def test_rows_of_every_length_are_read_whole(tmp_path, size):
    # Rows on one page, with a page of their own behind them, with two and with three.
    rows = []
    for length in range(0, 3 * size, 1 if size == 512 else 3):
        rows.append((b"%05d" % length, bytes([length % 251]) * length, b"sum"))
    content = database(tmp_path / "a.db", rows, size)
    assert sorted(carved(content)) == rows


@pytest.mark.parametrize("size", [4096, 8192])
def test_rows_are_read_whole_around_the_longest_that_stand_on_their_page(tmp_path, size):
    most = (size - 12) * 64 // 255 - 23
    rows = []
    for length in [*range(most - 30, most + 10), *range(size - 60, size + 60)]:
        rows.append((b"%05d" % length, "x" * length, b"sum"))
    content = database(tmp_path / "a.db", rows, size)
    assert sorted(carved(content)) == rows


def test_rows_of_inner_pages_are_read(tmp_path):
    rows = [(b"%05d" % number, number, b"12345678") for number in range(2000)]
    content = database(tmp_path / "a.db", rows, 512)
    kinds = {content[start] for start in range(0, len(content), 512)}
    assert {2, 10} <= kinds
    assert sorted(carved(content)) == rows


VALUES: list[Any] = [
    None,
    0,
    1,
    2,
    -1,
    127,
    -128,
    2**15 - 1,
    -(2**15),
    2**23 - 1,
    -(2**23),
    2**31 - 1,
    -(2**31),
    2**47 - 1,
    -(2**47),
    2**63 - 1,
    -(2**63),
    0.5,
    -1e300,
    "",
    "text",
    "é",
    b"",
    b"bytes",
]


def test_values_of_every_type_are_read(tmp_path):
    rows = [(b"%03d" % place, value, b"s") for place, value in enumerate(VALUES)]
    content = database(tmp_path / "a.db", rows, 4096)
    found = [outcome for _, outcome, _ in sorted(carved(content), key=lambda row: row[0])]  # type: ignore[arg-type,return-value]
    assert found == VALUES
    assert list(map(type, found)) == list(map(type, VALUES))


def test_rows_of_the_log_are_read(tmp_path):
    path = tmp_path / "a.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute(TABLE)
    for number in range(3):
        row = (b"%d" % number, "yes", b"sum")
        connection.execute("INSERT INTO test VALUES (?, ?, ?)", row)
        connection.commit()
    copy = tmp_path / "copy.db"
    shutil.copy(path, copy)
    log = (tmp_path / "a.db-wal").read_bytes()
    connection.close()
    # Each of three pages in the log has the rows until then.
    found = list(carved(copy.read_bytes(), log))
    assert found.count((b"0", "yes", b"sum")) == 3
    assert found.count((b"2", "yes", b"sum")) == 1
    # The file itself may be gone.
    assert (b"2", "yes", b"sum") in carved(b"", log)
    assert list(carved(copy.read_bytes())) == []


# Pages that are made by hand


CELL = bytes([4, 2, 13 + 2 * 2, 0x68, 0x69])
"""A row of one text: its length, that of its head, its type, and the text."""


def page_with(
    cells: Sequence[bytes], *, kind: int = 10, header: int = 0, size: int = 512
) -> bytes:
    """Return a page of rows, whose cells stand behind the list of their places."""
    width = {2: 12, 10: 8}.get(kind, 8)
    begin = header + width + 2 * len(cells)
    places = []
    content = b""
    for cell in cells:
        places.append(begin + len(content))
        content += cell
    head = bytes(header) + bytes([kind, 0, 0]) + struct.pack(">H", len(cells))
    head = head.ljust(header + width, b"\0")
    listed = b"".join(struct.pack(">H", place) for place in places)
    return (head + listed + content).ljust(size, b"\0")


def rows_of(page: bytes, header: int = 0) -> list[Any]:
    return list(Pages(page, 512).rows_of(page, header))


def test_leaves_and_inner_pages_are_read_and_no_others():
    assert rows_of(page_with([CELL, CELL])) == [("hi",), ("hi",)]
    # A cell of an inner page begins with the number of another page.
    assert rows_of(page_with([b"\0\0\0\7" + CELL], kind=2)) == [("hi",)]
    for kind in (0, 5, 13):
        assert rows_of(page_with([CELL], kind=kind)) == []


def test_the_first_page_has_the_header_of_the_file():
    pages = Pages(page_with([CELL], header=100) + page_with([CELL, CELL]), 512)
    assert list(pages.rows(1)) == [("hi",)]
    assert list(pages.rows(2)) == [("hi",), ("hi",)]
    assert list(pages.rows(3)) == []


def test_a_page_that_was_cut_off_is_read_as_far_as_it_goes():
    whole = page_with([CELL])
    cut = page_with([CELL, CELL, CELL])
    # 8 bytes of a header, 6 of places, and 5 for each row: the last lacks one.
    content = whole + cut[: 8 + 6 + 14]
    assert len(list(Pages(content, 512).rows(2))) == 2
    no_rows = cut[:11]
    assert rows_of(no_rows) == []
    smallest = bytes([10, 0, 0, 0, 1, 0, 0, 0, 0, 10, 1, 1])
    assert rows_of(smallest) == [()]


def test_all_pages_of_a_file_are_read_the_last_one_in_part():
    empty = bytearray(page_with([]))
    empty[0] = 0
    empty[16:18] = struct.pack(">H", 512)
    content = bytes(empty) + page_with([CELL]) + page_with([CELL, CELL])[:60]
    assert list(carved(content)) == [("hi",)] * 3


def test_a_nonsense_number_of_rows_stays_on_the_page():
    page = bytearray(page_with([CELL]))
    page[3:5] = b"\xff\xff"
    found = rows_of(bytes(page))
    assert found[0] == ("hi",)
    assert len(found) <= 252


def test_frames_of_a_log_follow_each_other():
    head = bytearray(512)
    head[16:18] = struct.pack(">H", 512)
    frames = b"".join(bytes(24) + page_with([CELL] * number) for number in (1, 2))
    log = bytes(32) + frames
    assert list(carved(bytes(head), log)) == [("hi",)] * 3
    assert list(carved(bytes(head), log[:32])) == []


def test_a_row_longer_than_the_file_is_none():
    too_long = bytes([0x90, 0]) + CELL[1:]  # 2,048 bytes, of a file of 512
    assert rows_of(page_with([too_long, CELL])) == [("hi",)]


def test_a_row_whose_pages_are_cut_off_or_point_at_themselves_is_none():
    # A row of 600 bytes, 92 of which stand on the page: 3 of a head, and of 597 others.
    local = bytes([3, 0x89, 0x36]) + bytes(89)
    cell = bytes([0x84, 0x58]) + local + bytes([0, 0, 0, 2])
    page = page_with([cell, CELL])
    rest = bytes(4) + b"x" * 508
    whole = [(bytes(89) + b"x" * 508,), ("hi",)]
    assert list(Pages(page + rest, 512).rows_of(page, 0)) == whole
    for cut in (b"", rest[:4], rest[:-1], bytes([0, 0, 0, 2])):
        assert list(Pages(page + cut, 512).rows_of(page, 0)) == [("hi",)]


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (512, 512),
        (1024, 1024),
        (32_768, 32_768),
        (256, DEFAULT_PAGE),
        (511, DEFAULT_PAGE),
        (513, DEFAULT_PAGE),
        (1536, DEFAULT_PAGE),
        (0, DEFAULT_PAGE),
    ],
)
def test_the_size_of_a_page_is_a_power_of_two_from_512(size, expected):
    head = bytes(16) + struct.pack(">H", size) + bytes(82)
    assert _page_size(head) == expected
    assert DEFAULT_PAGE == 4096


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("00", (0, 1)),
        ("7f", (127, 1)),
        ("8100", (128, 2)),
        ("ff7f", (16_383, 2)),
        ("818000", (16_384, 3)),
        ("ffffffffffffff7f", (2**56 - 1, 8)),
        ("ffffffffffffffffff", (2**64 - 1, 9)),
        ("808080808080808005", (5, 9)),
    ],
)
def test_numbers_of_variable_length(data, expected):
    assert _number(bytes.fromhex(data), 0) == expected
    # Wherever they stand.
    value, end = expected
    assert _number(b"\xff" + bytes.fromhex(data) + b"\1", 1) == (value, end + 1)


def test_a_record_has_eight_columns_at_most():
    eight = bytes([9]) + bytes([8] * 4 + [9] * 4)
    assert _record(eight) == (0, 0, 0, 0, 1, 1, 1, 1)
    with pytest.raises(ValueError):
        _record(bytes([10]) + bytes([8] * 9))


@pytest.mark.parametrize("kind", [10, 11])
def test_types_that_sqlite_reserves_are_none(kind):
    with pytest.raises(ValueError):
        _column(bytes(20), kind, 0)


@pytest.mark.parametrize(
    ("kind", "width"),
    [(0, 0), (1, 1), (2, 2), (3, 3), (4, 4), (5, 6), (6, 8), (7, 8), (8, 0)],
)
def test_a_value_ends_where_its_type_says(kind, width):
    assert _column(bytes(20), kind, 3)[1] == 3 + width


def test_a_value_that_goes_on_behind_the_row_is_none():
    assert _column(b"abc", 12 + 2 * 3, 0) == (b"abc", 3)
    assert _column(b"abc", 13 + 2 * 2, 1) == ("bc", 3)
    with pytest.raises(ValueError):
        _column(b"abc", 12 + 2 * 4, 0)
    with pytest.raises(ValueError):
        _column(b"abc", 12 + 2 * 3, 1)
    assert _column(b"", 12, 0) == (b"", 0)
    assert _column(b"", 13, 0) == ("", 0)
