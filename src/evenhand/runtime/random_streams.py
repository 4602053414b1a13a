"""Named random streams: a seed and a name give the same numbers, whatever was drawn elsewhere."""

from __future__ import annotations

import hashlib
import json
import operator

import numpy as np

from evenhand.runtime.errors import UsageError


def stream(seed: int, *name: str | int) -> np.random.Generator:
    """Return the generator of a named stream.

    >>> stream(0, "draw", 3).bytes(8) == stream(0, "draw", 3).bytes(8)
    True
    """
    try:
        number = -1 if isinstance(seed, bool) else operator.index(seed)
    except TypeError:
        number = -1
    if number < 0:
        raise UsageError(f"seed = {seed!r} must be a whole number of 0 or more")
    parts: list[str | int] = [number]
    for part in name:
        parts.append(str(part) if isinstance(part, str) else operator.index(part))
    # As JSON, since two names must never become the same text: ("a", "b") is not ("ab",).
    digest = hashlib.sha256(json.dumps(parts).encode()).digest()
    words = np.frombuffer(digest, dtype="<u4")
    sequence = np.random.SeedSequence(words.tolist())
    return np.random.Generator(np.random.SFC64(sequence))
