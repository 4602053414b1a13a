"""Means and medians of numbers by group, and how far apart they are, with intervals.

Numbers on a scale have no known bounds, so that no interval of a mean can be exact. That of two
means is Welch's, corrected for skewness (Hall 1992; Zhou and Dinh 2005 for two samples), and never
narrower than Welch's own: outcomes such as pay are skewed, and Welch's interval alone then misses
too often on one side. A median has an exact interval, from the order of the values alone.

All functions work on arrays with one element for each group or pair.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.intervals import spread_tails

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats, Limits

LEAST = 5
"""With fewer numbers than this, nothing is known of a mean but its value."""
_NO_SKEW = 1e-6
"""Below it, the correction for skewness is as good as none, and its formula would cancel."""


@dataclass(frozen=True, slots=True)
class Moments:
    """What intervals of means need to know of some groups.

    >>> values, groups = np.array([1.0, 2.0, 3.0, 10.0]), np.array([0, 0, 0, 1])
    >>> Moments.of(values, groups, 2).mean.tolist()
    [2.0, 10.0]
    """

    n: Floats
    mean: Floats
    variance: Floats
    """The variance of one number."""
    third: Floats
    """The third central moment of one number."""

    @classmethod
    def of(cls, values: Floats, group: NDArray[np.intp], groups: int) -> Moments:
        """Sum up numbers by their group.

        Whoever is not seen may be unlike those of a small group who are all alike, so that the
        variance counts one more number, as far off as those of all groups are on the whole.
        """
        n = np.bincount(group, minlength=groups).astype(np.float64)
        safe_n = np.maximum(n, 1.0)
        # Around a number in their midst, sums of large numbers keep their digits.
        if len(values):
            middle = float(np.median(values))
        else:
            middle = 0.0
        near = values - middle
        mean = np.bincount(group, near, minlength=groups) / safe_n
        apart = near - mean[group]
        squares = np.bincount(group, apart**2, minlength=groups)
        cubes = np.bincount(group, apart**3, minlength=groups)
        if len(near):
            on_the_whole = float(np.mean((near - near.mean()) ** 2))
        else:
            on_the_whole = 0.0
        own = squares / np.maximum(n - 1, 1.0)
        variance = np.maximum(own, (squares + on_the_whole) / safe_n)
        return cls(n, np.where(n > 0, mean + middle, np.nan), variance, cubes / safe_n)

    def at(self, places: NDArray[np.intp]) -> Moments:
        """Return some of the groups."""
        return Moments(
            self.n[places], self.mean[places], self.variance[places], self.third[places]
        )


def mean_limits(moments: Moments, tail: float) -> Limits:
    """Return limits of each mean, each of which may miss with the probability `tail`.

    >>> some = Moments.of(np.arange(40.0), np.zeros(40, dtype=int), 1)
    >>> low, high = mean_limits(some, 0.025)
    >>> f"{low[0]:.1f} {high[0]:.1f}"
    '15.8 23.2'
    """
    safe_n = np.maximum(moments.n, 1.0)
    variance = moments.variance / safe_n
    third = moments.third / safe_n**2
    freedom = np.maximum(moments.n - 1, 1.0)
    limits = _corrected(moments.mean, variance, third, freedom, tail)
    return _unknown_if(moments.n < LEAST, limits)


def difference_limits(first: Moments, second: Moments, tail: float) -> Limits:
    """Return limits of the first mean minus the second, each of which may miss with `tail`."""
    n1 = np.maximum(first.n, 1.0)
    n2 = np.maximum(second.n, 1.0)
    variance1 = first.variance / n1
    variance2 = second.variance / n2
    variance = variance1 + variance2
    third = first.third / n1**2 - second.third / n2**2
    # The degrees of freedom of Welch and Satterthwaite.
    weight1 = variance1**2 / np.maximum(n1 - 1, 1.0)
    weight2 = variance2**2 / np.maximum(n2 - 1, 1.0)
    ones = np.ones_like(variance)
    weights = weight1 + weight2
    freedom = np.divide(variance**2, weights, out=ones, where=weights > 0)
    limits = _corrected(first.mean - second.mean, variance, third, freedom, tail)
    return _unknown_if((first.n < LEAST) | (second.n < LEAST), limits)


def _corrected(
    value: Floats,
    variance: Floats,
    third: Floats,
    freedom: Floats,
    tail: float,
) -> Limits:
    """Return the limits of Student's t and those corrected for skewness, the wider of each."""
    from scipy.special import stdtrit

    error = np.sqrt(variance)
    quantile = stdtrit(np.maximum(freedom, 1.0), 1 - tail)
    cubed = error**3
    skew = np.divide(third, cubed, out=np.zeros_like(third), where=cubed > 0)
    lower = np.maximum(_untransformed(quantile, skew), quantile)
    upper = np.minimum(_untransformed(-quantile, skew), -quantile)
    return np.asarray(value - error * lower), np.asarray(value - error * upper)


def _untransformed(quantile: Floats, skew: Floats) -> Floats:
    """Return the quantile of a studentised mean whose numbers are skewed (Hall 1992)."""
    is_skewed = np.abs(skew) > _NO_SKEW
    safe = np.where(is_skewed, skew, 1.0)
    found = 3 / safe * (np.cbrt(1 + safe * (quantile - safe / 6)) - 1)
    return np.where(is_skewed, found, quantile)


def _unknown_if(unknown: NDArray[np.bool_], limits: Limits) -> Limits:
    low, high = limits
    return np.where(unknown, -np.inf, low), np.where(unknown, np.inf, high)


def median_limits(groups: Sequence[Floats], tail: float) -> Limits:
    """Return limits of the median of each group, each of which may miss with `tail`.

    They are two of its numbers, found by how many of n numbers may lie below a median: that is
    binomial, whatever their distribution.

    >>> low, high = median_limits([np.arange(1.0, 101.0)], 0.025)
    >>> low.tolist(), high.tolist()
    ([40.0], [61.0])
    """
    lows = []
    highs = []
    for values in groups:
        n = len(values)
        passed = _passed_over(n, tail)
        if not passed:
            lows.append(-math.inf)
            highs.append(math.inf)
            continue
        ordered = np.sort(values)
        lows.append(float(ordered[passed - 1]))
        highs.append(float(ordered[n - passed]))
    return np.array(lows), np.array(highs)


def _passed_over(n: int, tail: float) -> int:
    """Return how many of n numbers can be passed over at each end on the way to the median.

    Fewer than these lie below the median, or above it, with at most the probability of the tail.
    """
    from scipy.special import bdtr, ndtri

    if not n:
        return 0
    guess = (n + ndtri(tail) * math.sqrt(n)) / 2
    passed = int(np.clip(guess, 0, n // 2))
    while passed and bdtr(passed - 1, n, 0.5) > tail:
        passed -= 1
    while passed < n // 2 and bdtr(passed, n, 0.5) <= tail:
        passed += 1
    return passed


def root_limits(moments: Moments, tail: float) -> Limits:
    """Return limits of the square root of each mean, of numbers of 0 or more."""
    low, high = mean_limits(moments, tail)
    return np.sqrt(np.maximum(low, 0.0)), np.sqrt(np.maximum(high, 0.0))


def mean_spread(moments: Moments, error: float) -> tuple[float, float]:
    """Return limits of the highest mean minus the lowest, which miss with at most this error.

    >>> values = np.concatenate([np.arange(100.0), np.arange(100.0) + 50])
    >>> found = mean_spread(Moments.of(values, np.repeat([0, 1], 100), 2), 0.05)
    >>> f"{found[0]:.1f} {found[1]:.1f}"
    '41.9 58.1'
    """
    first, second = _pairs(len(moments.n))
    low_tail, high_tail = spread_tails(len(moments.n), error)
    low, _ = difference_limits(moments.at(first), moments.at(second), low_tail)
    _, high = difference_limits(moments.at(first), moments.at(second), high_tail)
    return max(float(low.max()), 0.0), max(float(high.max()), 0.0)


def spread_of_limits(inner: Limits, outer: Limits) -> tuple[float, float]:
    """Return limits of the largest value minus the smallest, from the limits of each value.

    Parameters
    ----------
    inner
        Limits for the upper end, of which those of the two extremes must hold.
    outer
        Limits for the lower end, which must all hold.
    """
    inner_low, inner_high = inner
    outer_low, outer_high = outer
    high = float(np.max(inner_high) - np.min(inner_low))
    low = float(np.max(outer_low) - np.min(outer_high))
    return max(low, 0.0), max(high, 0.0)


def spread_tails_of_limits(groups: int, error: float) -> tuple[float, float]:
    """Return the tails of the inner and of the outer limits of `spread_of_limits`.

    The upper end misses only where one of two limits does; the lower end where any of all does.

    >>> spread_tails_of_limits(2, 0.08)
    (0.02, 0.01)
    """
    return error / 4, error / (4 * groups)


def _pairs(groups: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the two groups of every ordered pair."""
    first, second = np.nonzero(~np.eye(groups, dtype=np.bool_))
    return first, second
