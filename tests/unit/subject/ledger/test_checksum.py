"""Checksums of rows, computed once more from what a row is made of."""

from __future__ import annotations

import json
import struct
from hashlib import blake2b
from typing import Any

import pytest

from evenhand.subject.ledger.checksum import FORMAT, Checksum

ROWS = Checksum("a space", "a subject")


def root() -> bytes:
    facts = json.dumps([2, "a space", "a subject"]).encode()
    return blake2b(facts, digest_size=32, person=b"evenhand ledger").digest()


@pytest.mark.parametrize(
    ("value", "typed"),
    [
        (b"x", b"bx"),
        ("é", b"t\xc3\xa9"),
        (-7, b"i-7"),
        (0.5, b"f" + struct.pack("<d", 0.5)),
    ],
)
def test_a_checksum_is_of_the_key_the_type_and_the_answer(value, typed):
    # A ledger that was written before must be read for ever: eight bytes, and the key's length.
    content = b"key" + typed + (3).to_bytes(8, "big")
    expected = blake2b(content, digest_size=8, key=root()).digest()
    assert ROWS.of(b"key", value) == expected
    assert ROWS.fits(b"key", value, expected)
    assert not ROWS.fits(b"key", value, expected[:-1] + b"\0")
    assert not ROWS.fits(b"kez", value, expected)


def test_the_head_has_a_checksum_of_its_own():
    facts = json.dumps([2, "a space", "a subject"]).encode()
    assert FORMAT == 2
    assert ROWS.head == blake2b(facts, digest_size=16, key=root()).hexdigest()
    assert Checksum("a space", "another").head != ROWS.head
    assert Checksum("another", "a subject").head != ROWS.head


def test_where_a_key_ends_is_part_of_its_checksum():
    assert ROWS.of(b"kb", b"") != ROWS.of(b"k", b"b")


def test_rows_have_their_checksums():
    rows = ROWS.rows([b"a", b"b"], [1, "x"])
    assert rows == [(b"a", 1, ROWS.of(b"a", 1)), (b"b", "x", ROWS.of(b"b", "x"))]
    with pytest.raises(ValueError):
        ROWS.rows([b"a", b"b"], [1])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("a", 1),
        (None, 1),
        (1, 1),
        (b"a", None),
        (b"a", True),
        (b"a", "\udc80"),
        (b"a", [1]),
    ],
)
def test_what_damage_leaves_fits_no_checksum(key: Any, value: Any):
    assert ROWS.fits(key, value, ROWS.of(b"a", 1)) is False
