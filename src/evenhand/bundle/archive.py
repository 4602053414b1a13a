"""The archive: a zip file that has one form for its members, so that any other byte shows.

Members are stored as they are, in their order, without times, permissions, comments or extra
fields. Whoever reads an archive writes it anew from its members and compares the bytes.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.bundle import messages
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

MOST_BYTES = 2**32 - 2
"""The most bytes of an archive; more would need another format of zip files."""
_LOCAL = struct.Struct("<4s5H3I2H")
_CENTRAL = struct.Struct("<4s6H3I5H2I")
_END = struct.Struct("<4s4H2IH")
_VERSION = 20
_UTF8 = 0x0800
_FIRST_DAY = (1 << 5) | 1
"""1 January 1980, the first date that a zip file knows."""


@dataclass(frozen=True)
class BundleArchive:
    """The members that could be read, and what is wrong with the archive itself."""

    members: Mapping[str, bytes]
    damage: str = ""
    """A sentence on the structure, empty where it is sound."""


def written(members: Mapping[str, bytes]) -> bytes:
    """Return the only archive that holds these members in this order.

    >>> import io, zipfile
    >>> archive = written({"a.txt": b"hello"})
    >>> zipfile.ZipFile(io.BytesIO(archive)).read("a.txt"), read(archive).damage
    (b'hello', '')
    """
    pieces: list[bytes] = []
    directory: list[bytes] = []
    at = 0
    for name, content in members.items():
        encoded = name.encode()
        common = (0, 0, _FIRST_DAY, zlib.crc32(content), len(content), len(content))
        head = (_VERSION, _UTF8, *common, len(encoded), 0)
        directory.append(
            _CENTRAL.pack(b"PK\x01\x02", _VERSION, *head, 0, 0, 0, 0, at) + encoded
        )
        piece = _LOCAL.pack(b"PK\x03\x04", *head) + encoded + content
        pieces.append(piece)
        at += len(piece)
        if at > MOST_BYTES:
            raise UsageError(messages.TOO_LARGE.format(name=name))
    listing = b"".join(directory)
    number = len(members)
    end = _END.pack(b"PK\x05\x06", 0, 0, number, number, len(listing), at, 0)
    return b"".join([*pieces, listing, end])


def read(content: bytes) -> BundleArchive:
    """Return the members of an archive, as far as it can be read, and its damage."""
    members: dict[str, bytes] = {}
    at = 0
    place = messages.BEGINNING
    while content[at : at + 4] == b"PK\x03\x04":
        found = _member(content, at)
        if found is None:
            break
        name, body, at = found
        if name in members:
            return BundleArchive(members, messages.TWICE.format(name=name))
        members[name] = body
        place = messages.AFTER_MEMBER.format(name=name)
    if not members:
        return BundleArchive(members, messages.NOT_AN_ARCHIVE)
    again = written(members)
    if again == content:
        return BundleArchive(members)
    where = _first_difference(content, again)
    if where >= at:
        return BundleArchive(members, messages.STRUCTURE.format(at=where, place=place))
    return BundleArchive(members, _header_damage(members, where))


def _member(content: bytes, at: int) -> tuple[str, bytes, int] | None:
    """Return the name and content of a member, and where the next begins; None where broken."""
    if len(content) < at + _LOCAL.size:
        return None
    fields = _LOCAL.unpack_from(content, at)
    size, name_size, extra_size = fields[8], fields[9], fields[10]
    start = at + _LOCAL.size + name_size
    stop = start + extra_size + size
    if stop > len(content) or extra_size or not name_size:
        return None
    try:
        name = content[at + _LOCAL.size : start].decode()
    except UnicodeDecodeError:
        return None
    return name, content[start:stop], stop


def _header_damage(members: Mapping[str, bytes], where: int) -> str:
    """Return a sentence on a byte that differs in the header of a member."""
    at = 0
    for name, content in members.items():
        at += _LOCAL.size + len(name.encode()) + len(content)
        if where < at:
            return messages.HEADER.format(name=name, at=where)
    return messages.STRUCTURE.format(at=where, place=messages.BEGINNING)


def _first_difference(first: bytes, second: bytes) -> int:
    """Return the place of the first byte in which two texts differ."""
    low, high = 0, min(len(first), len(second))
    while low < high:
        middle = (low + high + 1) // 2
        if first[:middle] == second[:middle]:
            low = middle
        else:
            high = middle - 1
    return low
