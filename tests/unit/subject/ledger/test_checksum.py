"""Checksums of rows, computed once more from what a row is made of."""

from __future__ import annotations

import json
import struct
from hashlib import blake2b

import pytest

from evenhand.subject.ledger.checksum import FORMAT, Checksum


@pytest.fixture
def sums():
    return Checksum("a space", "a subject")


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
def test_a_checksum_is_of_the_key_the_type_and_the_answer(sums, value, typed):
    # A ledger that was written before must be read for ever: eight bytes, and the key's length.
    content = b"key" + typed + (3).to_bytes(8, "big")
    expected = blake2b(content, digest_size=8, key=root()).digest()
    assert sums.of(b"key", value) == expected
    assert sums.fits(b"key", value, expected)
    assert not sums.fits(b"key", value, expected[:-1] + b"\0")
    assert not sums.fits(b"kez", value, expected)


def test_the_head_has_a_checksum_of_its_own(sums):
    facts = json.dumps([2, "a space", "a subject"]).encode()
    assert FORMAT == 2
    assert sums.head == blake2b(facts, digest_size=16, key=root()).hexdigest()
    assert Checksum("a space", "another").head != sums.head
    assert Checksum("another", "a subject").head != sums.head


def test_where_a_key_ends_is_part_of_its_checksum(sums):
    assert sums.of(b"kb", b"") != sums.of(b"k", b"b")


def test_rows_have_their_checksums(sums):
    rows = sums.rows([b"a", b"b"], [1, "x"])
    assert rows == [(b"a", 1, sums.of(b"a", 1)), (b"b", "x", sums.of(b"b", "x"))]
    with pytest.raises(ValueError):
        sums.rows([b"a", b"b"], [1])


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
def test_what_damage_leaves_fits_no_checksum(sums, key, value):
    assert sums.fits(key, value, sums.of(b"a", 1)) is False
