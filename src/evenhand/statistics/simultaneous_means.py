"""A group against everyone else: how far apart their means are, for many groups at once.

The limits are those of an empirical Bernstein inequality (Maurer and Pontil 2009), which holds for
any sample size, and for errors as small as many groups make them, where no normal approximation
does. Values lie from 0 to 1; what they are shares of is the range of the numbers that were seen.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.simultaneous import SimultaneousIntervals, quantile

if TYPE_CHECKING:
    from evenhand.statistics.intervals import Floats, Limits


@dataclass(frozen=True, slots=True)
class SimultaneousMeans(SimultaneousIntervals):
    """Intervals for the means of `among` groups and of their complements, which hold together.

    Each side has three sums: of the values, of the people, and of the squared values.

    >>> values = np.tile([0.2, 0.3, 0.4], 400)
    >>> inside = values.sum(), len(values), (values**2).sum()
    >>> outside = 0.5 * inside[0], len(values), 0.25 * inside[2]
    >>> means = SimultaneousMeans(0.95, among=100)
    >>> low, high = means.difference_of((*inside[:2], *outside[:2], inside[2], outside[2]))
    >>> f"{low:.3f} {high:.3f}"
    '0.097 0.203'
    """

    def difference_of(self, sides: tuple[Floats, ...]) -> Limits:
        """Return the limits of the mean of the first group minus that of the second."""
        first, n1, variance1, second, n2, variance2 = _means(sides)
        value = first - second
        if self.exact:
            return value, value
        reach = _reach(n1, variance1, self.tail / 2) + _reach(n2, variance2, self.tail / 2)
        low = np.maximum(value - reach, -1.0)
        high = np.minimum(value + reach, 1.0)
        return np.minimum(low, value), np.maximum(high, value)

    def _tail_of(self, sides: tuple[Floats, ...], limit: float, *, below: bool) -> Floats:
        """Return the tail at which an end of the absolute difference is at a limit."""
        first, n1, variance1, second, n2, variance2 = _means(sides)
        beyond = np.abs(first - second) - limit
        beyond = np.maximum(-beyond if below else beyond, 0.0)
        # The reach is a·x + b·x² for x² the log of the chance, and must be what is beyond.
        a = np.sqrt(2 * variance1 / n1) + np.sqrt(2 * variance2 / n2)
        b = 7 / 3 * (1 / np.maximum(n1 - 1, 1.0) + 1 / np.maximum(n2 - 1, 1.0))
        root = (np.sqrt(a * a + 4 * b * beyond) - a) / (2 * b)
        return np.asarray(4 * np.exp(-(root**2)))

    def sides_of(self, sides: tuple[Floats, ...]) -> tuple[Limits, Limits]:
        """Return the limits of both means."""
        first, n1, variance1, second, n2, variance2 = _means(sides)
        if self.exact:
            return (first, first), (second, second)
        # A group and its complement have two limits each.
        tail = self._tail(4)
        return (
            _within(first, _reach(n1, variance1, tail)),
            _within(second, _reach(n2, variance2, tail)),
        )

    def box_of(self, sides: tuple[Floats, ...]) -> Floats:
        """Return a bound that the difference never exceeds in absolute value."""
        low, high = self.difference_of(sides)
        return np.maximum(np.abs(low), np.abs(high))

    def ceiling_of(self, sides: tuple[Floats, ...]) -> Floats:
        """Return a bound that `box_of` never exceeds, which is itself: it has a closed form."""
        return self.box_of(sides)

    def strength_of(self, sides: tuple[Floats, ...]) -> Floats:
        """Return about how far apart the means are at least: what many groups are ranked by."""
        first, n1, variance1, second, n2, variance2 = _means(sides)
        distance = np.abs(first - second)
        if self.exact:
            return np.asarray(distance)
        error = np.sqrt(variance1 / n1 + variance2 / n2)
        return np.asarray(distance - quantile(self.tail) * error)


def _means(sides: tuple[Floats, ...]) -> tuple[Floats, ...]:
    """Return the mean, the size and the variance of both sides."""
    sum1, n1, sum2, n2, squares1, squares2 = map(np.asarray, sides)
    mean1 = sum1 / n1
    mean2 = sum2 / n2
    return (
        mean1,
        n1,
        _variance(mean1, n1, squares1),
        mean2,
        n2,
        _variance(mean2, n2, squares2),
    )


def _variance(mean: Floats, n: Floats, squares: Floats) -> Floats:
    """Return the variance of one value, that of a sample."""
    spread = np.maximum(squares / n - mean**2, 0.0)
    return np.asarray(spread * n / np.maximum(n - 1, 1.0))


def _reach(n: Floats, variance: Floats, tail: float) -> Floats:
    """Return by how much a mean of values from 0 to 1 may differ from that of a sample."""
    log_chance = math.log(2 / tail)
    varied = np.sqrt(2 * variance * log_chance / n)
    return np.asarray(varied + 7 * log_chance / (3 * np.maximum(n - 1, 1.0)))


def _within(mean: Floats, reach: Floats) -> Limits:
    return np.maximum(mean - reach, 0.0), np.minimum(mean + reach, 1.0)
