"""Limits of how much rarer hits became from one model to another on the same inputs.

Of n inputs, `gone` were hits before alone, `come` are hits after alone, and `both` are hits of
both. Each of these is binomial among what the others leave: the exact limits of two such shares are
melded into one limit of what follows from them (Fay, Proschan and Brittain 2015), as those of two
samples are in `intervals.difference`. Simulations and, for few inputs, enumeration show that they
hold their level (`tests/quality/test_repair_coverage.py`). Grades have limits by betting.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.statistics.betting import MOST_AT_STAKE

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.statistics.intervals import Floats

_NODES = np.arange(-8.5, 8.51, 1 / 8)
_HALVINGS = 50


def fall_above(gone: int, come: int, n: int, tail: float) -> float:
    """Return the lower limit of the share of hits before alone minus that of hits after alone.

    Those that come are binomial among all inputs, and those that go among the others.

    >>> f"{fall_above(40, 10, 1000, 0.025):.4f}"
    '0.0155'
    """

    def fall(rate: Any, share: Any) -> Any:
        return rate * (1 - share) - share

    def rate(fall: Any, share: Any) -> Any:
        return (fall + share) / (1 - share)

    return _melded((gone, n - come - gone + 1), (come + 1, n - come), fall, rate, tail)


def hits_ratio_above(gone: int, come: int, both: int, tail: float) -> float:
    """Return the lower limit of the share of hits after over that before; change `gone` and `come`
    for the inverse.

    Among inputs that are ever hits, those that come are binomial, and so are those that go among
    the others, which are the hits before. Inputs that never are hits do not matter.

    >>> f"{hits_ratio_above(80, 5, 20, 0.025):.3f} {1 / hits_ratio_above(5, 80, 20, 0.025):.3f}"
    '0.166 0.360'
    """

    def ratio(share: Any, rate: Any) -> Any:
        return share / (1 - share) + 1 - rate

    def share(ratio: Any, rate: Any) -> Any:
        odds = np.maximum(ratio - 1 + rate, 0.0)
        return odds / (1 + odds)

    return _melded((come, gone + both + 1), (gone + 1, both), ratio, share, tail)


def _melded(
    lower: tuple[int, int],
    upper: tuple[int, int],
    combined: Callable[[Any, Any], Any],
    inverse: Callable[[Any, Any], Any],
    tail: float,
) -> float:
    """Return below what `combined` lies with probability `tail`, for two beta variables that stand
    for exact limits.

    `combined` rises in the first, that of a lower limit, and falls in the second; `inverse` gives
    the first.
    """
    from scipy.optimize import brentq
    from scipy.special import betainc, betaincinv, ndtr, ndtri

    def at(rate: float) -> float:
        least = float(betaincinv(*lower, rate)) if lower[0] else 0.0
        most = 1 - float(betaincinv(*upper[::-1], rate)) if upper[1] else 1.0
        return float(combined(np.float64(least), np.float64(most)))

    with np.errstate(divide="ignore", invalid="ignore"):
        if not lower[0] or not upper[1]:  # one of the two is known, and the other alone may miss
            return at(tail)
        inner = betaincinv(*upper, ndtr(_NODES))
        weights = np.exp(-(_NODES**2) / 2)
        weights /= weights.sum()

        def score(limit: float) -> float:
            inside = np.clip(np.nan_to_num(inverse(limit, inner), nan=1.0), 0.0, 1.0)
            return float(np.clip(ndtri(betainc(*lower, inside) @ weights), -38.0, 38.0)) - float(
                ndtri(tail)
            )

        # Either must be out below the first, and both may be below the second.
        far, near = at(tail / 2), at(tail**0.5)
        if not math.isfinite(far) or score(far) >= 0:
            return far
        return near if score(near) <= 0 else float(brentq(score, far, near, xtol=1e-12, rtol=1e-9))


def ratio_above(top: Floats, bottom: Floats, tail: float) -> float:
    """Return the lower limit of the ratio of two means of the same inputs, by betting that it is
    above r.

    Inputs at which both are 0 do not matter. Stakes on top - r·bottom follow the variance seen so
    far at the ratio seen so far, whatever r is, so that the capital falls in r, and all that is
    ruled out lies below the limit.

    >>> f"{ratio_above(np.tile([0.5, 0.7], 200), np.tile([0.4, 0.2], 200), 0.025):.2f}"
    '1.87'
    """
    some = (top > 0) | (bottom > 0)
    top, bottom = top[some], bottom[some]
    if not len(top):
        return 0.0
    sums = [0.5 + np.concatenate([[0.0], np.cumsum(part)]) for part in (top, bottom)]
    away = (top - (sums[0] / sums[1])[:-1] * bottom) ** 2
    spread = (0.25 + np.concatenate([[0.0], np.cumsum(away)[:-1]])) / np.arange(1.0, len(top) + 1)
    stakes = np.sqrt(2 * math.log(1 / tail) / (len(top) * spread))

    def rich(ratio: float) -> bool:
        factors = np.minimum(stakes, MOST_AT_STAKE / ratio) * (top - ratio * bottom)
        return bool(np.cumsum(np.log1p(factors)).max() >= -math.log(tail))

    far, near = 0.0, 1.0  # of r / (1 + r), since the ratio may be infinite
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        far, near = (middle, near) if rich(middle / (1 - middle)) else (far, middle)
    return far / (1 - far)
