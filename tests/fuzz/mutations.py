"""Changes of valid files: of their bytes, of their words, and of the values in their tables."""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

MOST_BYTES = 1 << 18
"""The largest file that is tried: larger ones take their time and show nothing new."""
MOST_PLACES = 5000
"""A document with more values grows no further: lists that are doubled again and again fill any
memory."""

ODD_VALUES: tuple[Any, ...] = (
    None,
    True,
    False,
    0,
    -1,
    1,
    2**31,
    2**63,
    2**64,
    -(2**63) - 1,
    10**30,
    0.0,
    -0.0,
    0.5,
    5.5,
    1e-308,
    1e308,
    -1e308,
    "",
    " ",
    "\x00",
    "\x1b[31m",
    "nan",
    "inf",
    "1e999",
    "\ud800",
    "‮",
    "=1+1",
    "{}",
    "a" * 5000,
    "../../x",
    [],
    {},
    [[]],
    [None],
    {"": None},
    [1, "a", None, {}],
)
"""Values that have broken programs before, for any place in a table."""

ODD_WORDS: tuple[bytes, ...] = (
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"-1e999",
    b"9" * 400,
    b"1" + b"0" * 5000,
    b"-0",
    b"0x10",
    b"1_000",
    b"true",
    b"null",
    b'""',
    b"''",
    b"[]",
    b"{}",
    b"[[[[",
    b"((((",
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xed\xa0\x80",
    b"\r",
    b"\n\n",
    b"\\u0000",
    b"\\ud800",
    b"2020-02-30",
    b"not ",
    b" and ",
    b" in ",
    b"==",
    b"<",
    b"**",
    b"lambda:0",
    b"__import__",
    b"%s%n",
    b"{0}",
    b"${x}",
    b",",
    b";",
    b'"',
    b"=",
)
"""Words that mean something to one parser or another."""


def changed(seeds: Sequence[bytes], rng: Random, form: str) -> bytes:
    """Return a seed after one to four changes.

    Parameters
    ----------
    seeds
        Valid files.
    rng
        Where chance comes from.
    form
        "json" where values of tables are changed as well; anything else is text or bytes.
    """
    data = rng.choice(seeds)
    if form == "json" and rng.random() < 0.7:
        return _changed_json(data, seeds, rng)
    for _ in range(rng.randint(1, 4)):
        change = rng.choice(BYTE_CHANGES)
        data = change(data, seeds, rng)
    return data[:MOST_BYTES]


def mutated(data: bytes, seeds: Sequence[bytes], rng: Random, form: str) -> bytes:
    """Return a file after one change, as a coverage-guided engine asks for it."""
    if form == "json" and rng.random() < 0.6:
        return _changed_json(data, seeds, rng)
    return rng.choice(BYTE_CHANGES)(data, seeds, rng)[:MOST_BYTES]


def _place(data: bytes, rng: Random) -> int:
    return rng.randint(0, len(data))


def _span(data: bytes, rng: Random) -> tuple[int, int]:
    """Return where a short stretch begins and ends; long ones are rare."""
    start = _place(data, rng)
    longest = rng.choice((1, 4, 16, 64, 1024))
    return start, min(len(data), start + rng.randint(1, longest))


def _flip(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    if not data:
        return b"\x01"
    place = rng.randrange(len(data))
    flipped = data[place] ^ (1 << rng.randrange(8))
    return data[:place] + bytes([flipped]) + data[place + 1 :]


def _delete(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _span(data, rng)
    return data[:start] + data[stop:]


def _insert_word(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    place = _place(data, rng)
    return data[:place] + rng.choice(ODD_WORDS) + data[place:]


def _replace_word(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    """Put a word in the place of one that stands between separators."""
    start = _place(data, rng)
    separators = b" \n\t,:=[]{}()<>\"'"
    while start > 0 and data[start - 1] not in separators:
        start -= 1
    stop = start
    while stop < len(data) and data[stop] not in separators:
        stop += 1
    return data[:start] + rng.choice(ODD_WORDS) + data[stop:]


def _repeat(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    start, stop = _span(data, rng)
    times = rng.choice((1, 2, 10, 200, 3000))
    return data[:stop] + data[start:stop] * times + data[stop:]


def _splice(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    other = rng.choice(seeds)
    return data[: _place(data, rng)] + other[_place(other, rng) :]


def _swap_lines(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    lines = data.split(b"\n")
    first = rng.randrange(len(lines))
    second = rng.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return b"\n".join(lines)


def _cut(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    return data[: _place(data, rng)]


BYTE_CHANGES: tuple[Callable[[bytes, Sequence[bytes], Random], bytes], ...] = (
    _flip,
    _delete,
    _insert_word,
    _replace_word,
    _replace_word,
    _repeat,
    _splice,
    _swap_lines,
    _cut,
)


def _changed_json(data: bytes, seeds: Sequence[bytes], rng: Random) -> bytes:
    """Return a document some of whose values are odd, missing, doubled, or of other documents."""
    try:
        document = json.loads(data)
    except (ValueError, RecursionError):
        return _flip(data, seeds, rng)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        places = _places(document)
        if not 0 < len(places) < MOST_PLACES:
            break
        holder, key = rng.choice(places)
        _change_value(holder, key, places, rng)
    _drop_digests(document)
    return json.dumps(document).encode("utf-8", "replace")[:MOST_BYTES]


def _drop_digests(document: Any) -> None:
    """Drop all digests, by which nearly every change would be noticed before it does any harm."""
    for holder, key in _places(document):
        if key == "digest":
            # A table that stands in two places is found twice.
            holder.pop(key, None)


def _change_value(
    holder: Any, key: Any, places: list[tuple[Any, Any]], rng: Random
) -> None:
    action = rng.randrange(10)
    if action < 5:
        # A copy: a list that stands in a document is changed with it, and may come to hold itself.
        holder[key] = copy.deepcopy(rng.choice(ODD_VALUES))
    elif action == 5:
        del holder[key]
    elif action == 6 and isinstance(holder, dict):
        holder[rng.choice(("", "x", "value", "n", "low", "job"))] = holder[key]
    elif action == 7 and isinstance(holder, list):
        holder.extend(holder[:50] * rng.choice((1, 5)))
    elif action == 8:
        holder[key] = [holder[key]]
    else:
        other, name = rng.choice(places)
        # A copy, so that no table becomes part of itself.
        holder[key] = json.loads(json.dumps(other[name]))


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Return every place of a value in a document: what holds it, and its key there."""
    places: list[tuple[Any, Any]] = []
    holders = [document]
    while holders and len(places) < MOST_PLACES:
        holder = holders.pop()
        if isinstance(holder, dict):
            keys: list[Any] = list(holder)
        elif isinstance(holder, list):
            keys = list(range(len(holder)))
        else:
            continue
        for key in keys:
            places.append((holder, key))
            holders.append(holder[key])
    return places
