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

from evenhand.statistics.numerics import MOST_PROBIT, NODES, WEIGHTS
from evenhand.statistics.sequential.betting import MOST_AT_STAKE, bet

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.statistics.intervals import Floats

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


def rise_limits(before: Floats, after: Floats, tail: float) -> tuple[float, float]:
    """Return limits of how much higher the mean is after than before, on the same inputs.

    Values lie from 0 to 1, and each limit misses with probability `tail` at most: of hits by their
    counts, of grades by betting, for which the inputs must be in random order.

    >>> before = np.repeat([1.0, 0.0, 0.0], [10, 40, 950])
    >>> after = np.repeat([0.0, 1.0, 0.0], [10, 40, 950])
    >>> low, high = rise_limits(before, after, 0.025)
    >>> f"{low:.4f} {high:.4f}"
    '0.0155 0.0453'
    """
    if not are_counts(before) or not are_counts(after):
        low, high = bet(after - before, tail, low=-1.0)
        return float(low[0]), float(high[0])
    n = len(before)
    gone, come = turned(before, after)
    least_rise = fall_above(come, gone, n, tail)
    least_fall = fall_above(gone, come, n, tail)
    return least_rise, -least_fall


def are_counts(values: Floats) -> bool:
    """Return whether all values are 0 or 1, so that exact limits of counts apply.

    >>> are_counts(np.array([0.0, 1.0])), are_counts(np.array([0.5]))
    (True, False)
    """
    return bool(np.all((values == 0) | (values == 1)))


def turned(before: Floats, after: Floats) -> tuple[int, int]:
    """Return how many were hits before alone, and how many are after alone.

    >>> turned(np.array([1.0, 1.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    (1, 0)
    """
    gone = int((before > after).sum())
    come = int((after > before).sum())
    return gone, come


def hits_ratio_above(gone: int, come: int, both: int, tail: float) -> float:
    """Return the lower limit of the share of hits after over that before.

    For the inverse, `gone` and `come` change places. Among inputs that are ever hits, those that
    come are binomial, and so are those that go among the others, which are the hits before. Inputs
    that never are hits do not matter.

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
    """Return what `combined` lies below with probability `tail`.

    Its arguments are two beta variables, by their parameters, that stand for exact limits. It rises
    in the first, that of a lower limit, and falls in the second; `inverse` gives the first.
    """
    from scipy.optimize import brentq
    from scipy.special import betainc, betaincinv, ndtr, ndtri

    def at(rate: float) -> float:
        """Return what is combined where each limit misses at this rate."""
        least = float(betaincinv(*lower, rate)) if lower[0] else 0.0
        most = 1 - float(betaincinv(*upper[::-1], rate)) if upper[1] else 1.0
        return float(combined(np.float64(least), np.float64(most)))

    with np.errstate(divide="ignore", invalid="ignore"):
        if not lower[0] or not upper[1]:
            # One of the two is known, and the other alone may miss.
            return at(tail)
        inner = betaincinv(*upper, ndtr(NODES))
        target = float(ndtri(tail))

        def score(limit: float) -> float:
            bound = np.nan_to_num(inverse(limit, inner), nan=1.0)
            probability = betainc(*lower, np.clip(bound, 0.0, 1.0)) @ WEIGHTS
            return float(np.clip(ndtri(probability), -MOST_PROBIT, MOST_PROBIT)) - target

        # Either must be out below the first, and both may be below the second.
        far = at(tail / 2)
        near = at(tail**0.5)
        if not math.isfinite(far) or score(far) >= 0:
            return far
        if score(near) <= 0:
            return near
        return float(brentq(score, far, near, xtol=1e-12, rtol=1e-9))


def ratio_above(top: Floats, bottom: Floats, tail: float) -> float:
    """Return the lower limit of the ratio of two means of the same inputs.

    It is found by betting that the ratio is above r. Inputs at which both are 0 do not matter.
    Stakes on top - r·bottom follow the variance seen so far at the ratio seen so far, whatever r
    is, so that the capital falls in r, and all that is ruled out lies below the limit.

    >>> f"{ratio_above(np.tile([0.5, 0.7], 200), np.tile([0.4, 0.2], 200), 0.025):.2f}"
    '1.87'
    """
    matters = (top > 0) | (bottom > 0)
    top = top[matters]
    bottom = bottom[matters]
    if not len(top):
        return 0.0
    stakes = _ratio_stakes(top, bottom, tail)

    def is_ruled_out(ratio: float) -> bool:
        at_stake = np.minimum(stakes, MOST_AT_STAKE / ratio)
        log_capital = np.cumsum(np.log1p(at_stake * (top - ratio * bottom)))
        return bool(log_capital.max() >= -math.log(tail))

    # Brackets of r / (1 + r), since the ratio may be infinite.
    far = 0.0
    near = 1.0
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        if is_ruled_out(middle / (1 - middle)):
            far = middle
        else:
            near = middle
    return far / (1 - far)


def _ratio_stakes(top: Floats, bottom: Floats, tail: float) -> Floats:
    """Return the stake on each input, which rests on the inputs before it alone."""
    size = len(top)
    top_before = 0.5 + np.concatenate([[0.0], np.cumsum(top)])
    bottom_before = 0.5 + np.concatenate([[0.0], np.cumsum(bottom)])
    ratio_before = (top_before / bottom_before)[:-1]
    squares = (top - ratio_before * bottom) ** 2
    squares_before = np.concatenate([[0.0], np.cumsum(squares)[:-1]])
    variance = (0.25 + squares_before) / np.arange(1.0, size + 1)
    return np.asarray(np.sqrt(2 * math.log(1 / tail) / (size * variance)))
