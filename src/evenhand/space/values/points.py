"""Encoded inputs: their types, and the matrices that hold them."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

Floats: TypeAlias = "NDArray[np.float64]"
Flags: TypeAlias = "NDArray[np.bool_]"
Label = str | int | float | bool | None
"""A value as the user writes it; None is a missing one."""
Points = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""Encoded inputs, one row each: codes for categories, the number itself for the rest."""


def plain(value: Any) -> Any:
    """Return a numpy scalar as the Python value it stands for, and anything else as it is.

    >>> plain(np.int8(3)), plain("a")
    (3, 'a')
    """
    if isinstance(value, np.generic):
        return value.item()
    return value


def combinations(sizes: Iterable[int | float]) -> int | float:
    """Multiply sizes; exact however large, and infinite where one of them is.

    >>> combinations([10**200, 10**200]) == 10**400, combinations([10**400, math.inf])
    (True, inf)
    """
    factors = list(sizes)
    # Infinity times 10**400 would have to turn that whole number into a float, and fail.
    if math.inf in factors:
        return math.inf
    return math.prod(factors)


def count(number: float) -> str:
    """Write a number of inputs for people: in full, or as a power of ten where that says more.

    >>> count(146), count(2.5e20), count(10**400)
    ('146', '2.5e+20', '1.0e+400')
    """
    if number == math.inf:
        return "infinitely many"
    if number < 1e9:
        return f"{int(number):,}"
    if number < 1e300:
        return f"{number:.2g}"
    return f"{Decimal(number):.1e}"


def empty_points(rows: int, width: int) -> Points:
    """Return a matrix for encoded inputs that is not filled yet.

    Each column is contiguous in memory, since features are drawn, read and encoded one at a time.
    """
    return np.empty((rows, width), dtype=np.float64, order="F")


def zero_points(rows: int, width: int) -> Points:
    """Return a matrix for encoded inputs that is filled with zeros; see `empty_points`."""
    return np.zeros((rows, width), dtype=np.float64, order="F")


def product(columns: Sequence[Floats]) -> Points:
    """Return every combination of the values of columns, the last one changing fastest.

    >>> product([np.array([0.0, 1.0]), np.array([5.0, 6.0])]).tolist()
    [[0.0, 5.0], [0.0, 6.0], [1.0, 5.0], [1.0, 6.0]]
    """
    total = math.prod(len(values) for values in columns)
    out = empty_points(total, len(columns))
    repeat = total
    for position, values in enumerate(columns):
        repeat //= len(values)
        cycles = out[:, position].reshape(-1, len(values), repeat)
        cycles[:] = values[:, None]
    return out
