"""A group against everyone else: how far apart their rates are, for many groups at once (TestSGD,
Definition 4.1).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

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
class Sure:
    """How sure the rates of `among` groups and of their complements are to be, all of them
    together.

    Half of the error goes to the differences, half to the rates themselves, from which ratios
    follow. With a `level` of 1 everything was enumerated, and nothing has an interval. `graded`
    says that values lie anywhere in [0, 1]: the tail of a sum of those is at most e times that of a
    binomial variable of the same mean (Bentkus 2004).

    >>> sure = Sure(0.95, among=100)
    >>> low, high = sure.difference(300, 500, 150, 500)
    >>> f"{low:.3f} {high:.3f}"
    '0.186 0.408'
    """

    level: float
    among: int = 1
    graded: bool = False

    @property
    def exact(self) -> bool:
        """Whether everything was enumerated."""
        return self.level >= 1

    @property
    def tail(self) -> float:
        """The probability with which each limit of a difference may miss."""
        return self._tail(2)

    def _tail(self, limits: int) -> float:
        return (
            (1 - self.level) / 2 / (limits * max(self.among, 1)) / (math.e if self.graded else 1.0)
        )

    def _whole(self, hits: Floats) -> tuple[Floats, Floats]:
        """Return the hits as whole numbers, rounded down and up: limits are of counts."""
        return np.floor(hits + _ROUNDING), np.ceil(hits - _ROUNDING)

    def difference(self, k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> Limits:
        """Return the limits of the rate of the first group minus that of the second."""
        first, second = checked(k1, n1), checked(k2, n2)
        if self.exact:
            apart = _share(*first) - _share(*second)
            return apart[()], apart[()]
        (less1, more1), (less2, more2) = self._whole(first[0]), self._whole(second[0])
        low = difference_above(less1, first[1], more2, second[1], self.tail)
        high = -difference_above(less2, second[1], more1, first[1], self.tail)
        apart = share_of(*first, 0.5) - share_of(*second, 0.5)
        return np.minimum(low, apart)[()], np.maximum(high, apart)[()]

    def rate(self, hits: ArrayLike, size: ArrayLike) -> Limits:
        """Return the limits of a rate."""
        k, n = checked(hits, size)
        if self.exact:
            return _share(k, n)[()], _share(k, n)[()]
        less, more = self._whole(k)
        return lower_limit(less, n, self._tail(4))[()], upper_limit(more, n, self._tail(4))[()]

    def box(self, k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> Floats:
        """Return a bound that `difference` never exceeds in absolute value, without an integral."""
        if self.exact:
            return np.abs(k1 / n1 - k2 / n2)
        tail = self.tail / 2
        (less1, more1), (less2, more2) = self._whole(k1), self._whole(k2)
        above = upper_limit(more1, n1, tail) - lower_limit(less2, n2, tail)
        below = upper_limit(more2, n2, tail) - lower_limit(less1, n1, tail)
        return np.minimum(np.maximum(above, below), 1.0)

    def ceiling(self, p1: Floats, n1: Floats, p2: Floats, n2: Floats) -> Floats:
        """Return a bound that `box` never exceeds, in closed form: Chernoff's, with a bound on its
        divergence.
        """
        if self.exact:
            return np.abs(p1 - p2)
        chance = math.log(2 / self.tail)
        above = _reach(p1, n1, chance) + _reach(1 - p2, n2, chance)
        below = _reach(p2, n2, chance) + _reach(1 - p1, n1, chance)
        # Hits are rounded to whole numbers, which moves each rate by less than one over its size.
        rounded = (1 / n1 + 1 / n2) if self.graded else 0.0
        return np.minimum(np.maximum(p1 - p2 + above, p2 - p1 + below) + rounded, 1.0)

    def strength(self, p1: Floats, n1: Floats, p2: Floats, n2: Floats) -> Floats:
        """Return about how far apart the rates are at least: what many groups are ranked by."""
        apart = np.abs(p1 - p2)
        if self.exact:
            return apart
        z = _quantile(self.tail)
        # Shares are drawn towards a half as in Wilson's interval, so that a rate of 0 in a small
        # group has some error.
        spread = _variance(p1, n1, z) / n1 + _variance(p2, n2, z) / n2
        return np.asarray(apart - z * np.sqrt(spread))


def absolute(low: Floats, high: Floats) -> Limits:
    """Return the limits of the absolute value of what lies between two limits.

    >>> low, high = absolute(np.array([0.1, -0.3, -0.2]), np.array([0.2, -0.1, 0.1]))
    >>> low.tolist(), high.tolist()
    ([0.1, 0.1, 0.0], [0.2, 0.3, 0.2])
    """
    return np.maximum(np.maximum(low, -high), 0.0), np.maximum(high, -low)


def _share(hits: Floats, size: Floats) -> Floats:
    """Return hits over sizes, which weights may make smaller than 1; NaN where there is nobody."""
    return np.asarray(np.divide(hits, size, out=np.full(size.shape, math.nan), where=size > 0))


def _reach(p: Floats, n: Floats, chance: float) -> Floats:
    """Return by how much a rate may exceed its share: KL(p, q) >= (q - p)² / 2q, 2(q - p)², and (q
    - p)² / 2(1 - p).
    """
    rate = chance / n
    small = rate + np.sqrt(rate * rate + 2 * p * rate)
    return np.minimum(np.minimum(small, np.sqrt(rate / 2)), np.sqrt(2 * (1 - p) * rate))


def _variance(p: Floats, n: Floats, z: float) -> Floats:
    drawn = (p * n + z * z / 2) / (n + z * z)
    return np.asarray(drawn * (1 - drawn))


def _quantile(tail: float) -> float:
    from scipy.special import ndtri

    return float(-ndtri(tail))
