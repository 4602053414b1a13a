"""Power: the smallest difference between groups that a check is very likely to see.

A check is a gate: given how many of a group got the favourable outcome, it fires or not. Its own
gate is asked, with whatever it corrects for, and not a formula in its place.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    Gate = Callable[[int], bool]
    """Returns whether a check fires where so many of the group are favoured, and others as ever."""

POWER = 0.8
"""The probability with which a difference of that size is seen."""
_HALVINGS = 40


def smallest_seen(gate: Gate, n: int, rest: int, base: float) -> float | None:
    """Return the rate of a group nearest to that of all others at which a gate very likely fires.

    The group is treated worse where others are favoured half of the time or more, and better
    otherwise, so that there is room for a difference.

    Parameters
    ----------
    gate
        Whether the check fires.
    n, rest
        How many people there are in the group, and elsewhere.
    base
        The rate of everybody else.

    >>> rate = smallest_seen(lambda hits: hits <= 60, 100, 10_000, 0.8)
    >>> f"{rate:.2f}"
    '0.56'
    """
    sign = -1 if base >= 0.5 else 1
    hits = _first_to_fire(gate, n, base, sign)
    if hits is None:
        return None
    critical = abs(base - hits / n)
    room = base if sign < 0 else 1 - base
    low, high = critical, room
    if not _is_seen(high, critical, n, rest, base, sign):
        return None
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        if _is_seen(middle, critical, n, rest, base, sign):
            high = middle
        else:
            low = middle
    return base + sign * high


def _first_to_fire(gate: Gate, n: int, base: float, sign: int) -> int | None:
    """Return the number of favoured people nearest to the base rate at which the gate fires."""
    quiet = round(base * n)
    fires = 0 if sign < 0 else n
    if not gate(fires):
        return None
    while abs(fires - quiet) > 1:
        middle = (fires + quiet) // 2
        if gate(middle):
            fires = middle
        else:
            quiet = middle
    return fires


def _is_seen(
    difference: float, critical: float, n: int, rest: int, base: float, sign: int
) -> bool:
    """Return whether a true difference is observed beyond the critical one often enough."""
    from scipy.special import ndtri

    rate = base + sign * difference
    variance = rate * (1 - rate) / n + base * (1 - base) / rest
    return difference - float(ndtri(POWER)) * math.sqrt(variance) >= critical
