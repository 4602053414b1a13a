"""When to stop estimating an excess: the mean of differences that may be negative.

A difference lies between `low` and 1. Gamblers bet on each in turn that the mean is above m, or
that it is below. Each stakes a share of what it can lose and never changes it, so the capital of
all of them together is a martingale where the mean is m. It ever reaches 1/tail with a probability
of at most `tail` (Ville's inequality): means that make them that rich are ruled out, and the limits
hold at every number of differences, whatever ended the sampling. Where most differences are 0, as
with software that seldom changes its mind, the limits are hardly wider than those of a rate.

Only how often each difference occurred matters, and not in which order. Differences are counted on
a grid; one between two of its points counts for both in part. The logarithm is concave, so that
this can only lower the capital, and the limits hold for any differences.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.numerics import halve
from evenhand.statistics.sequential import confidence_sequences
from evenhand.statistics.sequential.stopping import (
    CHEAP_LOOK_RATIO,
    FIRST_CHEAP_LOOK,
    SLACK,
    Judgement,
    look_sizes,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats

MOST_STEPS = 64
"""The most points of a grid between 0 and 1."""
_GAMBLERS = np.arange(24)
_STAKES = 0.99 * 0.5 ** (_GAMBLERS / 2)
"""The share of what it can lose that each gambler stakes, from nearly all to next to nothing."""
_WEIGHTS = 1 / (3 + _GAMBLERS)
_CAPITAL = _WEIGHTS / _WEIGHTS.sum()
"""What each begins with. The bold, who decide small samples, have more."""
_HALVINGS = 50
_LOOKS_AT_ONCE = 16


@dataclass(frozen=True)
class Grid:
    """The differences that are counted: from `low` to 1, so many `steps` to a unit.

    >>> Grid.of_answers(2).points.tolist()
    [-0.5, -0.25, 0.0, 0.25, 0.5, 0.75, 1.0]
    """

    low: float
    steps: int

    @classmethod
    def of_answers(cls, repeats: int, *, equal: bool = True) -> Grid:
        """Return the grid of an excess of differing, from so many answers to each of two inputs.

        Where answers differ if they are not equal, no excess is below -1/repeats: the share of
        pairs that differ is 1 less what they share, and the rest is rounding of the A/A rate.
        """
        exact_steps = repeats**2 * (repeats - 1)
        steps = min(exact_steps, MOST_STEPS)
        if not equal:
            return cls(-1.0, steps)
        below = math.ceil(steps / repeats)
        return cls(-below / steps, steps)

    @cached_property
    def points(self) -> Floats:
        """The differences that have a place of their own."""
        first = round(self.low * self.steps)
        return np.arange(first, self.steps + 1) / self.steps

    def counted(self, differences: Floats) -> Floats:
        """Return a row for each difference: how much it counts at each point of the grid.

        >>> Grid(-0.5, 2).counted(np.array([0.0, 0.75])).tolist()
        [[0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 0.5, 0.5]]
        """
        last = len(self.points) - 1
        # Rounding must not move a difference off its point.
        distance = differences - self.points[0]
        place = np.round(distance * self.steps, 9)
        below = np.floor(place)
        lower = np.clip(below, 0, last - 1).astype(np.intp)
        above = np.clip(place - lower, 0.0, 1.0)
        rows = np.arange(len(differences))
        counts = np.zeros((len(differences), last + 1))
        counts[rows, lower] = 1 - above
        counts[rows, lower + 1] = above
        return counts


@dataclass(frozen=True)
class ExcessPlan:
    """When to stop estimating an excess; the limits hold throughout at the level.

    The counts of a draw are those of its difference on the grid, and then the rate of differing
    with oneself that it was corrected for.

    Parameters
    ----------
    level, margin, limit, population, precise, finest
        As for `Plan`.
    grid
        Where differences are counted.

    >>> plan = ExcessPlan(0.95, 0.05, None, Grid.of_answers(2))
    >>> none_differ = np.append(plan.grid.counted(np.zeros(200)).sum(axis=0), 0.0)
    >>> judged = plan.judge(none_differ, 200)
    >>> print(judged.estimate, "-", judged.stop)
    0.0 % (-1.4 % to 2.7 %, 95 % level, n = 200, betting) - the margin was reached
    """

    level: float
    margin: float | None
    limit: float | None
    grid: Grid
    population: str = ""
    precise: bool = False
    finest: float | None = None

    size: ClassVar[None] = None
    """Answers are drawn anew, so that there is no last of them."""

    @property
    def _bound(self) -> float:
        """The logarithm of the capital that rules out a mean: each side has half of the error."""
        tail = (1 - intervals.check_level(self.level)) / 2
        return -math.log(tail)

    def looks(self, max_n: int | None = None) -> Iterator[int]:
        """Yield the sizes at which to look; the last is `max_n`, the budget."""
        if max_n is None and self.margin is None:
            raise UsageError("nothing ends this sampling; give a margin or a budget")
        if self.precise:
            return look_sizes(max_n, FIRST_CHEAP_LOOK, CHEAP_LOOK_RATIO)
        return look_sizes(max_n)

    def first_stop(self, cum_hits: ArrayLike, looks: ArrayLike) -> int:
        """Return the index of the first look that stops, and their number where none does."""
        counts = self._counts(cum_hits)
        sizes = np.asarray(looks, dtype=float)
        for start in range(0, len(sizes), _LOOKS_AT_ONCE):
            block = slice(start, start + _LOOKS_AT_ONCE)
            stops = self._stops(counts[block], sizes[block])
            if stops.any():
                return start + int(stops.argmax())
        return len(sizes)

    def judge(self, hits: ArrayLike, n: int, *, last: bool = False) -> Judgement:
        """Return the estimate after n draws, and why to stop there."""
        counts = self._counts(hits)
        value = self.value(hits, n)
        low, high = self.limits(counts, value)
        estimate = Estimate(value, low, high, n, self.level, "betting", self.population)
        reason = self.reason(hits, n)
        if reason is None and last:
            reason = StopReason.QUERIES
        return Judgement(estimate, reason)

    def reason(self, hits: ArrayLike, n: int) -> StopReason | None:
        """Return why to stop after n draws, None to go on."""
        counts = self._counts(hits)
        if not bool(self._stops(counts, np.asarray(float(n)))):
            return None
        if bool(self._excluded(counts)):
            return StopReason.DECIDED
        return StopReason.TOO_CLOSE if self._goes_on else StopReason.MARGIN

    def value(self, hits: ArrayLike, n: int) -> float:
        """Return the mean of the differences."""
        return float(self._counts(hits) @ self.grid.points) / n

    @property
    def _goes_on(self) -> bool:
        """Whether neither the limit nor the margin alone ends a run."""
        return self.precise and self.limit is not None

    def _stops(self, counts: Floats, sizes: Floats) -> NDArray[np.bool_]:
        """Return where a run ends."""
        excluded = self._excluded(counts)
        reached = self._reached(counts, sizes, self.margin)
        if not self._goes_on:
            return np.asarray(excluded | reached)
        gives_up = self._reached(counts, sizes, self.finest)
        return np.asarray((excluded & reached) | gives_up)

    def noise(self, hits: ArrayLike, n: int, level: float) -> Estimate:
        """Return how often answers to the same input differ."""
        counts = np.asarray(hits, dtype=float)
        total = float(counts[-1])
        low, high = confidence_sequences.mixture(total, n, level)
        value = total / n
        lowest = min(float(low), value)
        highest = max(float(high), value)
        return Estimate(value, lowest, highest, n, level, "anytime", self.population)

    def limits(self, counts: Floats, value: float) -> tuple[float, float]:
        """Return the limits of the mean of counted differences."""
        near = np.asarray(value)

        def too_low(mean: Floats) -> NDArray[np.bool_]:
            capital = self._log_capital_above(counts, mean)
            return np.asarray(capital >= self._bound)

        def too_high(mean: Floats) -> NDArray[np.bool_]:
            capital = self._log_capital_below(counts, mean)
            return np.asarray(capital >= self._bound)

        # Each limit is the end that is still ruled out, and so errs away from the value.
        bottom = np.asarray(self.grid.points[0])
        top = np.asarray(1.0)
        lowest, _ = halve(too_low, bottom, near, _HALVINGS)
        highest, _ = halve(too_high, top, near, _HALVINGS)
        low = min(float(lowest), value)
        high = max(float(highest), value)
        return low, high

    def _counts(self, hits: ArrayLike) -> Floats:
        return np.asarray(hits, dtype=float)[..., :-1]

    def _excluded(self, counts: Floats) -> NDArray[np.bool_]:
        """Return where the limit is ruled out."""
        if self.limit is None:
            return np.zeros(counts.shape[:-1], dtype=np.bool_)
        limit = np.asarray(self.limit)
        bound = self._bound + SLACK
        above = self._log_capital_above(counts, limit) >= bound
        if self.limit == 0:
            # No sample shows that there is no excess at all.
            return np.asarray(above)
        below = self._log_capital_below(counts, limit) >= bound
        return np.asarray(above | below)

    def _reached(
        self, counts: Floats, sizes: Floats, margin: float | None
    ) -> NDArray[np.bool_]:
        """Return where both ends of a margin are ruled out."""
        if margin is None:
            return np.zeros(counts.shape[:-1], dtype=np.bool_)
        total = counts @ self.grid.points
        value = total / sizes
        under = value - margin
        over = value + margin
        above = self._log_capital_above(counts, under) >= self._bound
        below = self._log_capital_below(counts, over) >= self._bound
        low_ok = above | (under <= self.grid.points[0])
        high_ok = below | (over >= 1)
        return np.asarray(low_ok & high_ok)

    def _log_capital_above(self, counts: Floats, mean: Floats) -> Floats:
        """Return the log of the capital of those who bet that the mean is above this one."""
        low = self.grid.points[0]
        return _log_capital(counts, self.grid.points - low, mean - low)

    def _log_capital_below(self, counts: Floats, mean: Floats) -> Floats:
        """Return the log of the capital of those who bet that the mean is below this one."""
        return _log_capital(counts, 1 - self.grid.points, 1 - mean)


def _log_capital(counts: Floats, gains: Floats, mean: Floats) -> Floats:
    """Return the log of the capital of all gamblers: `gains` of 0 or more, of this mean if fair."""
    means = np.maximum(np.asarray(mean), 1e-12)
    # A row for each gain, a column for each gambler.
    relative = gains[:, None] / means[..., None, None]
    factors = 1 + _STAKES * (relative - 1)
    times = counts[..., None, :]
    log_capitals = (times @ np.log(factors))[..., 0, :]
    most = log_capitals.max(axis=-1, keepdims=True)
    capital = np.exp(log_capitals - most) @ _CAPITAL
    log_most = most[..., 0]
    return np.asarray(np.log(capital) + log_most)
