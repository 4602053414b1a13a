"""When a set's score is known to be on one side of the limit, at a level that holds for all sets of
a search together.

Half of the error 1 - level is left to the decisions, half to the intervals that are reported with
them.

**Decisions about shares of draws.** All sets are looked at on the same draws, at numbers of draws
fixed in advance. On each draw a set flips whatever a set within it flips, so a set wrongly found
over the limit drags along every larger set that is below it, the largest of them included; a set
wrongly cleared drags along the smallest over the limit. Only these two families of sets can be
where an error begins. No three of them hold each other, so there are at most as many as sets of the
two commonest sizes (Erdős 1945), and each of them can err in one direction only. At each look a
one-sided exact binomial test gets an equal share.

**Intervals, and whatever else is compared**, are corrected for all sets.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.subsets.lattice import TESTED, State, Tested
from evenhand.statistics.confidence_sequences import mixture
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import lower_limit, upper_limit, wilson, z_score

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_LOOK = 10
LOOK_RATIO = 1.25


def most_at_fault(features: int, depth: int | None = None) -> int:
    """Return the most sets of features, none of which lies between two others: where an error of a
    search can begin.

    >>> most_at_fault(3), most_at_fault(13, 2)
    (6, 91)
    """
    sizes = sorted(
        math.comb(features, size) for size in range(1, min(depth or features, features) + 1)
    )
    return sum(sizes[-2:])


@dataclass(frozen=True)
class Judge:
    """Decides sets against a limit.

    Parameters
    ----------
    sets : how many share the level.
    at_fault : the most of them at which an error of the search can begin.
    """

    limit: float
    margin: float
    level: float
    sets: int
    at_fault: int
    population: str = ""

    @property
    def error(self) -> float:
        """The error left to the interval of one set."""
        return (1 - self.level) / 2 / self.sets

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """The numbers of draws at which to look; at the last a score is known to within the margin."""
        found, tail = [FIRST_LOOK], 0.0
        while True:
            tail = self.error / 2 / (len(found) + 1)
            if 0.25 * (z_score(1 - 2 * tail) / self.margin) ** 2 <= found[-1]:
                return tuple(found)
            found.append(math.ceil(found[-1] * LOOK_RATIO))

    def anytime_looks(self) -> Iterator[int]:
        """Yield numbers of draws at which to look, without end."""
        n = FIRST_LOOK
        while True:
            yield n
            n = math.ceil(n * LOOK_RATIO)

    def settled(self, hits: float, n: int, *, whole: bool = True) -> Tested | None:
        """Return on which side of the limit n draws put a set, if they do; without `whole`, hits
        are a lower bound.

        >>> Judge(0.75, 0.05, 0.99, 7, 6).settled(0, 10).state.name
        'BELOW'
        """
        share = (1 - self.level) / 2 / self.at_fault / len(self.looks)
        k, size = np.asarray(hits), np.asarray(float(n))
        low, high = self._ends(hits, n)
        if float(lower_limit(k, size, share)) >= self.limit:
            return self._tested(State.ABOVE, hits / n, max(low, self.limit), high, n, whole=whole)
        if float(upper_limit(k, size, share)) < self.limit:
            state = State.BELOW if whole else State.NOT_SHOWN
            return self._tested(
                state, hits / n, low, min(high, math.nextafter(self.limit, 0.0)), n, whole=whole
            )
        return None

    def nothing(self) -> Estimate:
        """Return the score of a set with one group only: nobody is treated otherwise."""
        return Estimate(0.0, 0.0, 0.0, 0, self.level, "one group", self.population)

    def undecided(self, guess: float, few: tuple[int, int], whole: tuple[int, int]) -> Tested:
        """Return a set whose score is not told from the limit: by a few variants of many draws, and
        all of some.
        """
        low, high = self._ends(*few)[0], self._ends(*whole)[1] if whole[1] else 1.0
        high = max(
            low, high
        )  # each holds on its own draws; that they miss each other is part of the error
        return self._tested(
            State.UNDECIDED, min(max(guess, low), high), low, high, few[1], whole=bool(whole[1])
        )

    def near(self, value: float, n: int) -> bool:
        """Tell whether a score found on n draws is known to within the margin, and not told from
        the limit even so.

        Leaving a set undecided claims nothing, so it needs no correction for the other sets, nor an
        exact interval.
        """
        low, high = _floats(wilson(value * n, n, self.level))
        return max(high - value, value - low) <= self.margin and low <= self.limit <= high

    def draws(self, value: float) -> float:
        """Return about how many draws it takes to tell a score from the limit."""
        share = (1 - self.level) / 2 / self.at_fault / len(self.looks)
        return (
            z_score(1 - 2 * share) ** 2
            * value
            * (1 - value)
            / max(abs(value - self.limit), 1e-9) ** 2
        )

    def _ends(self, hits: float, n: int) -> tuple[float, float]:
        tail = self.error / 2 / len(self.looks)
        k, size = np.asarray(hits), np.asarray(float(n))
        return float(lower_limit(k, size, tail)), float(upper_limit(k, size, tail))

    def graded(self, total: float, n: int, *, whole: bool = True) -> Tested | None:
        """Return what the sum of n distances says of a set, or None where more are needed."""
        ends, alone = (
            _floats(mixture(total, n, 1 - self.error)),
            _floats(mixture(total, n, self.level)),
        )
        return self.interval(total / n, *ends, n, alone=alone, whole=whole)

    def interval(
        self,
        value: float,
        low: float,
        high: float,
        n: int,
        *,
        alone: tuple[float, float],
        whole: bool = True,
        because: str = TESTED,
    ) -> Tested | None:
        """Return what an interval says of a set, or None where it must get narrower.

        `alone` is the interval of this set by itself, which is enough to leave it undecided.
        """
        low, high = min(low, value), max(high, value)
        if low >= self.limit:
            state = State.ABOVE
        elif high < self.limit:
            state = State.BELOW if whole else State.NOT_SHOWN
        elif self._within(value, low, high) or (
            self._within(value, *alone) and alone[0] <= self.limit <= alone[1]
        ):
            state = State.UNDECIDED
        else:
            return None
        return self._tested(
            state, value, low, high, n, whole=whole, because=because, method="anytime"
        )

    def _within(self, value: float, low: float, high: float) -> bool:
        return max(high - value, value - low) <= self.margin

    def _tested(
        self,
        state: State,
        value: float,
        low: float,
        high: float,
        n: int,
        *,
        whole: bool = True,
        because: str = TESTED,
        method: str = "exact",
    ) -> Tested:
        said = method if self.sets == 1 else f"{method}, simultaneous over {self.sets:,} sets"
        if not whole:
            said += ", lower bound"
        estimate = Estimate(
            value, low, high if whole else 1.0, n, self.level, said, self.population
        )
        return Tested(state, estimate, because, lower_bound=not whole)


def _floats(ends: tuple[Any, Any]) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])
