"""Outcomes as values: one that is printed is read, and many are packed into an array."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

Scalar = str | int | float | bool
"""One outcome, as a person would write it down."""


def parse_outcome(text: str) -> Scalar:
    """Read one printed outcome: a JSON number, boolean or string, or else text as it stands.

    >>> parse_outcome(" 1"), parse_outcome("approve"), parse_outcome('"1"')
    (1, 'approve', '1')
    """
    stripped = text.strip()
    try:
        value = json.loads(stripped)
    except (ValueError, RecursionError):
        return stripped
    return value if isinstance(value, str | int | float | bool) else stripped


def is_missing(value: object) -> bool:
    """Return whether a value stands for no answer."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def as_outcomes(values: Sequence[object]) -> NDArray[np.generic]:
    """Pack outcomes into the narrowest array that keeps them apart.

    It is one of bool, int64, float64 or else object.

    >>> as_outcomes([2**70, 2**70 + 1]).tolist() == [2**70, 2**70 + 1]
    True
    >>> as_outcomes([1, 2]).dtype, as_outcomes([1, 2.5]).dtype, as_outcomes([1, "2"]).dtype
    (dtype('int64'), dtype('float64'), dtype('O'))
    """
    import numpy as np  # the command line reads outcomes before it needs arrays

    kinds = set(map(type, values))
    if kinds == {bool}:
        return np.array(values, dtype=np.bool_)
    if kinds == {int}:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            # A float64 would take numbers that large for their neighbours.
            return _as_objects(values)
    if kinds and kinds <= {int, float}:
        try:
            return np.array(values, dtype=np.float64)
        except OverflowError:
            return _as_objects(values)
    return _as_objects(values)


def _as_objects(values: Sequence[object]) -> NDArray[np.generic]:
    import numpy as np

    return np.fromiter(values, dtype=object, count=len(values))
