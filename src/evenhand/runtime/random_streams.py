"""Named random streams: the same seed and name give the same numbers, whatever was drawn before or
elsewhere.
"""

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
    text = json.dumps(
        [number, *(str(part) if isinstance(part, str) else operator.index(part) for part in name)]
    )
    words = np.frombuffer(hashlib.sha256(text.encode()).digest(), dtype="<u4")
    return np.random.Generator(np.random.SFC64(np.random.SeedSequence(words.tolist())))
