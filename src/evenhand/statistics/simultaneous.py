"""A group against everyone else: how far apart their rates are, for many groups at once.

The distance of the two rates is the score of TestSGD (Definition 4.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.discoveries import melded_tail
from evenhand.statistics.intervals import (
    checked,
    difference_above,
    lower_limit,
    share_of,
    upper_limit,
)

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evenhand.statistics.intervals import Floats, Limits

_ROUNDING = 1e-9
"""By how much a sum of shares may miss a whole number, for rounding."""


@dataclass(frozen=True, slots=True)
class SimultaneousIntervals:
    """Intervals for the rates of `among` groups and of their complements, which hold together.

    The limits of all differences hold together at the level, and so do those of all rates, from
    which ratios follow: they are two families. With a `level` of 1 everything was enumerated, and
    nothing has an interval. `graded` says that values lie anywhere in [0, 1]: the tail of a sum of
    those is at most e times that of a binomial variable of the same mean (Bentkus 2004).

    >>> intervals = SimultaneousIntervals(0.95, among=100)
    >>> low, high = intervals.difference(300, 500, 150, 500)
    >>> f"{low:.3f} {high:.3f}"
    '0.191 0.403'
    """

    level: float
    among: float = 1
    graded: bool = False

    @property
    def exact(self) -> bool:
        """Whether everything was enumerated."""
        return self.level >= 1

    @property
    def method(self) -> str:
        """How the intervals of differences are made."""
        return "melded"

    @property
    def correction(self) -> str:
        """How the intervals of differences are made to hold together."""
        return "bonferroni"

    @property
    def separate(self) -> float:
        """How many groups that do not overlap would cost as much, by Bonferroni's inequality."""
        return self.among

    @property
    def tail(self) -> float:
        """The probability with which each limit of a difference may miss."""
        return self._tail(2)

    @property
    def critical(self) -> float:
        """The normal quantile that limits of differences correspond to, about; 0 without error."""
        return 0.0 if self.exact else quantile(self.tail)

    def _tail(self, limits: int) -> float:
        """Return the error of each limit, where each group has so many that share all of it."""
        of_one_limit = (1 - self.level) / (limits * max(self.among, 1))
        return of_one_limit / (math.e if self.graded else 1.0)

    def _whole(self, hits: Floats) -> tuple[Floats, Floats]:
        """Return the hits as whole numbers, rounded down and up: limits are of counts."""
        fewer = np.floor(hits + _ROUNDING)
        more = np.ceil(hits - _ROUNDING)
        return fewer, more

    def difference(
        self, k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike
    ) -> Limits:
        """Return the limits of the rate of the first group minus that of the second."""
        hits1, size1 = checked(k1, n1)
        hits2, size2 = checked(k2, n2)
        if self.exact:
            value = _share(hits1, size1) - _share(hits2, size2)
            return value[()], value[()]
        fewer1, more1 = self._whole(hits1)
        fewer2, more2 = self._whole(hits2)
        low = difference_above(fewer1, size1, more2, size2, self.tail)
        high = -difference_above(fewer2, size2, more1, size1, self.tail)
        # Limits are found to within rounding, and must not exclude the value itself.
        value = share_of(hits1, size1, 0.5) - share_of(hits2, size2, 0.5)
        return np.minimum(low, value)[()], np.maximum(high, value)[()]

    def error_of(
        self, sides: tuple[Floats, ...], limit: float, *, below: bool = False
    ) -> Floats:
        """Return the least error at which two rates are shown to be apart by at least a limit.

        With `below`, it is that at which they are shown to be nearer than the limit. It is the
        error of one group by itself: where nothing else is looked at, an end of the absolute
        `difference` is then at the limit.

        >>> one = np.array([1.0])
        >>> apart = SimultaneousIntervals(0.95).error_of((60 * one, 100 * one, one, 100 * one), 0.5)
        >>> apart.round(3).tolist()
        [0.147]
        """
        return self._error_of_tail(self._tail_of(sides, limit, below=below))

    def corrected_error_of(
        self, sides: tuple[Floats, ...], limit: float, *, below: bool = False
    ) -> Floats:
        """Return `error_of` as that of all groups together.

        It is at most 1 - level exactly where the `difference` excludes the limit.
        """
        return self._corrected(self._tail_of(sides, limit, below=below))

    def _tail_of(self, sides: tuple[Floats, ...], limit: float, *, below: bool) -> Floats:
        """Return the tail at which an end of the absolute difference is at a limit."""
        k1, n1, k2, n2 = sides
        fewer1, more1 = self._whole(k1)
        fewer2, more2 = self._whole(k2)
        if below:
            # Both ends must be nearer; an upper limit is minus the lower one of the reversed pair.
            one = melded_tail(fewer2, n2, more1, n1, -limit)
            other = melded_tail(fewer1, n1, more2, n2, -limit)
            return np.maximum(one, other)
        one = melded_tail(fewer1, n1, more2, n2, limit)
        other = melded_tail(fewer2, n2, more1, n1, limit)
        return np.minimum(one, other)

    def _error_of_tail(self, tail: Floats) -> Floats:
        """Return the error of which one group's limit of a difference gets such a tail."""
        whole_error = 2 * tail * (math.e if self.graded else 1.0)
        return np.minimum(whole_error, 1.0)

    def _corrected(self, tail: Floats) -> Floats:
        """Return the least error of all groups together at which each gets such a tail."""
        return np.minimum(self._error_of_tail(tail) * max(self.among, 1), 1.0)

    def rate(self, hits: ArrayLike, size: ArrayLike) -> Limits:
        """Return the limits of a rate."""
        k, n = checked(hits, size)
        if self.exact:
            value = _share(k, n)
            return value[()], value[()]
        fewer, more = self._whole(k)
        # A group and its complement have two limits each.
        tail = self._tail(4)
        low = lower_limit(fewer, n, tail)
        high = upper_limit(more, n, tail)
        return low[()], high[()]

    def box(self, k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> Floats:
        """Return a bound that `difference` never exceeds in absolute value, without an integral."""
        if self.exact:
            return np.abs(k1 / n1 - k2 / n2)
        tail = self.tail / 2
        fewer1, more1 = self._whole(k1)
        fewer2, more2 = self._whole(k2)
        above = upper_limit(more1, n1, tail) - lower_limit(fewer2, n2, tail)
        below = upper_limit(more2, n2, tail) - lower_limit(fewer1, n1, tail)
        return np.minimum(np.maximum(above, below), 1.0)

    def ceiling(self, p1: Floats, n1: Floats, p2: Floats, n2: Floats) -> Floats:
        """Return a bound that `box` never exceeds, in closed form.

        It is Chernoff's, with a bound on its divergence.
        """
        if self.exact:
            return np.abs(p1 - p2)
        log_chance = math.log(2 / self.tail)
        above = _reach(p1, n1, log_chance) + _reach(1 - p2, n2, log_chance)
        below = _reach(p2, n2, log_chance) + _reach(1 - p1, n1, log_chance)
        # Hits are rounded to whole numbers, which moves each rate by less than one over its size.
        rounded = (1 / n1 + 1 / n2) if self.graded else 0.0
        furthest = np.maximum(p1 - p2 + above, p2 - p1 + below)
        return np.minimum(furthest + rounded, 1.0)

    def strength(self, p1: Floats, n1: Floats, p2: Floats, n2: Floats) -> Floats:
        """Return about how far apart the rates are at least: what many groups are ranked by."""
        distance = np.abs(p1 - p2)
        if self.exact:
            return distance
        z = quantile(self.tail)
        # Shares are drawn towards a half as in Wilson's interval, so that a rate of 0 in a small
        # group has some error.
        variance = _variance(p1, n1, z) / n1 + _variance(p2, n2, z) / n2
        return np.asarray(distance - z * np.sqrt(variance))

    def difference_of(self, sides: tuple[Floats, ...]) -> Limits:
        """Return `difference` of hits and sizes of both sides."""
        return self.difference(*sides)

    def sides_of(self, sides: tuple[Floats, ...]) -> tuple[Limits, Limits]:
        """Return the limits of the rates of both sides."""
        k1, n1, k2, n2 = sides
        return self.rate(k1, n1), self.rate(k2, n2)

    def box_of(self, sides: tuple[Floats, ...]) -> Floats:
        """Return `box` of hits and sizes of both sides."""
        return self.box(*sides)

    def ceiling_of(self, sides: tuple[Floats, ...]) -> Floats:
        """Return `ceiling` of hits and sizes of both sides."""
        k1, n1, k2, n2 = sides
        return self.ceiling(k1 / n1, n1, k2 / n2, n2)

    def strength_of(self, sides: tuple[Floats, ...]) -> Floats:
        """Return `strength` of hits and sizes of both sides."""
        k1, n1, k2, n2 = sides
        return self.strength(k1 / n1, n1, k2 / n2, n2)


def absolute(low: Floats, high: Floats) -> Limits:
    """Return the limits of the absolute value of what lies between two limits.

    >>> low, high = absolute(np.array([0.1, -0.3, -0.2]), np.array([0.2, -0.1, 0.1]))
    >>> low.tolist(), high.tolist()
    ([0.1, 0.1, 0.0], [0.2, 0.3, 0.2])
    """
    nearest = np.maximum(np.maximum(low, -high), 0.0)
    furthest = np.maximum(high, -low)
    return nearest, furthest


def _share(hits: Floats, size: Floats) -> Floats:
    """Return hits over sizes, which weights may make smaller than 1; NaN where there is nobody."""
    unknown = np.full(size.shape, math.nan)
    return np.asarray(np.divide(hits, size, out=unknown, where=size > 0))


def _reach(p: Floats, n: Floats, log_chance: float) -> Floats:
    """Return by how much a rate may exceed its share, by Chernoff's bound.

    The divergence KL(p, q) is at least each of (q - p)² / 2q, 2(q - p)² and (q - p)² / 2(1 - p);
    each gives a reach, and the smallest of them holds.
    """
    divergence = log_chance / n
    for_small_rates = divergence + np.sqrt(divergence * divergence + 2 * p * divergence)
    for_any_rate = np.sqrt(divergence / 2)
    for_large_rates = np.sqrt(2 * (1 - p) * divergence)
    return np.minimum(np.minimum(for_small_rates, for_any_rate), for_large_rates)


def _variance(p: Floats, n: Floats, z: float) -> Floats:
    """Return the variance of one draw at a share that is drawn towards a half."""
    drawn = (p * n + z * z / 2) / (n + z * z)
    return np.asarray(drawn * (1 - drawn))


def quantile(tail: float) -> float:
    """Return what a standard normal variable exceeds with the probability of a tail."""
    from scipy.special import ndtri

    upper_quantile = -ndtri(tail)
    return float(upper_quantile)
