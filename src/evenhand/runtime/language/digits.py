"""How many digits a number is written with."""

from __future__ import annotations

import math


def decimals_for(size: float, *, figures: int = 2, least: int = 1, most: int = 6) -> int:
    """Return how many decimals show so many significant figures of a size.

    >>> decimals_for(4.7), decimals_for(0.047), decimals_for(47), decimals_for(0)
    (1, 3, 1, 1)
    """
    if not math.isfinite(size) or size <= 0:
        return least
    magnitude = math.floor(math.log10(size))
    wanted = figures - 1 - magnitude
    return min(max(least, wanted), most)


def percent_decimals(low: float, high: float, value: float = 0.0, *, most: int = 6) -> int:
    """Return how many decimals of percent show two figures of an interval's width.

    Of an interval without width, two figures of the value are shown.

    >>> percent_decimals(0.101, 0.148), percent_decimals(0.0101, 0.0103)
    (1, 3)
    >>> percent_decimals(0.25, 0.25, 0.25)
    1
    """
    size = high - low or abs(value)
    return decimals_for(100 * size, most=most)


def beside(number: float, limit: float, least: int, most: int, notation: str) -> int:
    """Return the least digits with which a number compares with a limit as it does by itself.

    Where so many digits would not tell them apart, it stays with the least.
    """
    if not math.isfinite(number):
        return least
    shown_limit = float(f"{limit:.6g}")
    side = (number > limit) - (number < limit)
    for digits in range(least, most + 1):
        shown = float(f"{number:.{digits}{notation}}")
        if (shown > shown_limit) - (shown < shown_limit) == side:
            return digits
    return least
