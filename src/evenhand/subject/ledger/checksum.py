"""Checksums of the rows of a ledger, so that a damaged answer is never taken for an answer."""

from __future__ import annotations

import contextlib
import json
import struct
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenhand.subject.ledger.stored_outcome import Stored

FORMAT = 2
"""The format of ledgers that this version writes: the first with checksums."""
_SIZE = 8
"""Bytes of a checksum: damage passes unseen once in 2**64 times."""
_HEAD = b"evenhand ledger"
_DOUBLE = struct.Struct("<d")


class Checksum:
    """The checksum of an input and its answer in the ledger of one space and one subject.

    The same row has another checksum in the ledger of another space or subject, so that rows cannot
    be copied from one to the other. Whoever wants to can compute checksums anew: they tell damage,
    not forgery.

    >>> rows = Checksum("space", "loan program")
    >>> rows.of(b"key", "yes") == rows.of(b"key", "yes")
    True
    >>> rows.of(b"key", 1) == rows.of(b"key", 1.0)
    False
    """

    def __init__(self, space: str, subject: str) -> None:
        facts = json.dumps([FORMAT, space, subject]).encode()
        root = blake2b(facts, digest_size=32, person=_HEAD).digest()
        self._begun = blake2b(digest_size=_SIZE, key=root)
        self.head = blake2b(facts, digest_size=16, key=root).hexdigest()
        """The checksum of what the file says of its format, space and subject."""

    def of(self, key: bytes, value: Stored) -> bytes:
        """Return the checksum of one row."""
        digest = self._begun.copy()
        # The length of the key tells where it ends and the answer begins.
        digest.update(key + _TYPED[type(value)](value) + len(key).to_bytes(8, "big"))
        return digest.digest()

    def rows(
        self, keys: Iterable[bytes], values: Iterable[Stored]
    ) -> list[tuple[bytes, Stored, bytes]]:
        """Return rows with their checksums."""
        copied = self._begun.copy
        # Software gives the same few labels again and again.
        endings: dict[tuple[str, int], bytes] = {}
        rows = []
        for key, value in zip(keys, values, strict=True):
            size = len(key)
            ending = endings.get((value, size)) if type(value) is str else None
            if ending is None:
                ending = _TYPED[type(value)](value) + size.to_bytes(8, "big")
                if type(value) is str:
                    endings[value, size] = ending
            digest = copied()
            digest.update(key + ending)
            rows.append((key, value, digest.digest()))
        return rows

    def sound(self, rows: Sequence[tuple[Any, Any, Any]]) -> list[tuple[bytes, Stored]]:
        """Return those of some rows that are as they were written, without their checksums."""
        answers = [(key, value) for key, value, _ in rows]
        # All at once first, as long as damage has left nothing that has no checksum at all.
        with contextlib.suppress(KeyError, TypeError, UnicodeEncodeError):
            if self.rows(*zip(*answers, strict=True)) == rows:
                return answers
        fits = self.fits
        return [(key, value) for key, value, written in rows if fits(key, value, written)]

    def fits(self, key: Any, value: Any, checksum: Any) -> bool:
        """Return whether a row is as it was written, whatever types damage has left in it."""
        if type(key) is not bytes or type(value) not in _TYPED:
            return False
        try:
            return bool(self.of(key, value) == checksum)
        except UnicodeEncodeError:
            return False


_TYPED: dict[type, Callable[[Any], bytes]] = {
    bytes: lambda value: b"b" + value,
    str: lambda value: b"t" + value.encode(),
    int: lambda value: b"i%d" % value,
    float: lambda value: b"f" + _DOUBLE.pack(value),
}
"""The bytes of an answer, behind a letter for its type."""


def packed(value: Stored) -> bytes:
    """Return an answer as bytes that tell its type, for a database whose columns have one type.

    >>> packed("yes"), packed(b"true"), packed(7)
    (b'tyes', b'btrue', b'i7')
    """
    return _TYPED[type(value)](value)


def unpacked(content: bytes) -> Stored | None:
    """Return the answer that was packed; None where damage has left none.

    >>> unpacked(b"tyes"), unpacked(b"i7"), unpacked(b"?")
    ('yes', 7, None)
    """
    kind = content[:1]
    rest = content[1:]
    try:
        if kind == b"t":
            return rest.decode()
        if kind == b"i":
            return int(rest)
        if kind == b"f":
            return float(_DOUBLE.unpack(rest)[0])
    except (ValueError, struct.error):
        return None
    return rest if kind == b"b" else None
