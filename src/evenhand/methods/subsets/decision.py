"""When a set's score is on one side of the limit, at a level that holds for the whole search.

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
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.lattice import TESTED, State, Tested
from evenhand.runtime import number_text
from evenhand.statistics.confidence_sequences import mixture
from evenhand.statistics.discoveries import exact_rate_against, rate_against
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import lower_limit, upper_limit, wilson, z_score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.statistics.discoveries import AgainstLimit

    Interval = tuple[float, float]

FIRST_LOOK = 10
"""The draws of the first look."""
LOOK_RATIO = 1.25
"""How many times as many draws each further look has."""


def most_at_fault(features: int, depth: int | None = None) -> int:
    """Return the most sets at which an error of a search can begin.

    These are sets of features none of which lies between two others, as many as there are of the
    two commonest sizes (Erdős 1945).

    >>> most_at_fault(3), most_at_fault(13, 2)
    (6, 91)
    """
    deepest = min(depth or features, features)
    sizes = range(1, deepest + 1)
    sets_of_size = [math.comb(features, size) for size in sizes]
    two_commonest = sorted(sets_of_size)[-2:]
    return sum(two_commonest)


@dataclass(frozen=True)
class Judge:
    """Decides sets against a limit.

    Parameters
    ----------
    limit
        The engineering threshold.
    margin
        How precisely a score is known at the last look; a set so near to the limit is undecided.
    level
        The probability that all decisions and intervals of the search hold together.
    sets
        How many sets share the level.
    at_fault
        The most of them at which an error of the search can begin.
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
        return self._half_of_error / self.sets

    @property
    def _half_of_error(self) -> float:
        """Half of the error is for the intervals, the other half for the decisions."""
        return (1 - self.level) / 2

    @property
    def _error_of_a_look(self) -> float:
        """The error left to one decision: about one set that can be at fault, at one look."""
        return self._half_of_error / self.at_fault / len(self.looks)

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """The numbers of draws at which to look.

        At the last of them a score is known to within the margin.
        """
        looks = [FIRST_LOOK]
        while True:
            # More looks leave less error to each, which takes more draws, and so perhaps a look
            # more: the number of draws is not known before that of the looks.
            tail = self.error / 2 / (len(looks) + 1)
            # Wald's formula for a score of 1/2, which takes most draws.
            z = z_score(1 - 2 * tail)
            draws = 0.25 * (z / self.margin) ** 2
            if draws <= looks[-1]:
                return tuple(looks)
            next_look = math.ceil(looks[-1] * LOOK_RATIO)
            looks.append(next_look)

    def anytime_looks(self) -> Iterator[int]:
        """Yield numbers of draws at which to look, without end."""
        n = FIRST_LOOK
        while True:
            yield n
            n = math.ceil(n * LOOK_RATIO)

    def settled(self, hits: float, n: int, *, whole: bool = True) -> Tested | None:
        """Return on which side of the limit n draws put a set, or None where on neither.

        Without `whole`, hits are a lower bound: not all variants of the draws were asked.

        >>> Judge(0.75, 0.05, 0.99, 7, 6).settled(0, 10).state.name
        'BELOW'
        """
        error = self._error_of_a_look
        count = np.asarray(hits)
        size = np.asarray(float(n))
        value = hits / n
        low, high = self._ends(hits, n)
        # The interval has another error than the decision, so it may reach over the limit; it is
        # cut there, since what is reported must not contradict what was decided.
        if float(lower_limit(count, size, error)) >= self.limit:
            low = max(low, self.limit)
            return self._tested(State.ABOVE, value, (low, high), n, whole=whole)
        if float(upper_limit(count, size, error)) < self.limit:
            state = State.BELOW if whole else State.NOT_SHOWN
            highest_below = math.nextafter(self.limit, 0.0)
            high = min(high, highest_below)
            return self._tested(state, value, (low, high), n, whole=whole)
        return None

    def side(self, estimate: Estimate) -> State | None:
        """Return on which side of the limit an interval puts a set, None where on neither."""
        if estimate.low >= self.limit:
            return State.ABOVE
        if estimate.high < self.limit:
            return State.BELOW
        return None

    def nothing(self) -> Estimate:
        """Return the score of a set with one group only: nobody is treated otherwise."""
        return Estimate(0.0, 0.0, 0.0, 0, self.level, "one group", self.population)

    def undecided(
        self,
        guess: float,
        few: tuple[int, int],
        whole: tuple[int, int],
    ) -> Tested:
        """Return a set whose score cannot be told from the limit.

        `few` are the hits and draws by a few variants of many draws, `whole` by all variants of
        some of them.
        """
        _, n = few
        _, n_whole = whole
        low, _ = self._ends(*few)
        high = 1.0
        if n_whole:
            _, high = self._ends(*whole)
        # Each end holds on its own draws; that they miss each other is part of the error.
        high = max(low, high)
        value = min(max(guess, low), high)
        has_whole = n_whole > 0
        return self._tested(State.UNDECIDED, value, (low, high), n, whole=has_whole)

    def against(self, tested: Tested) -> AgainstLimit | None:
        """Return how strongly a set speaks against the other side of the limit.

        None stands for sets that are undecided or were enumerated, and for what has no count: the
        groups of a set, and a lower bound that is below the limit.
        """
        estimate = tested.estimate
        is_over = estimate.value >= self.limit
        is_counted = tested.state in (State.ABOVE, State.BELOW) and tested.because == TESTED
        if not is_counted or estimate.level == 1 or not estimate.n:
            return None
        if tested.lower_bound and not is_over:
            return None
        hits = estimate.value * estimate.n
        bet = rate_against(hits, estimate.n, self.limit, among=2 * self.sets)
        if tested.anytime:
            return bet
        # Half of the error is for decisions, each of which is one-sided.
        decisions = self.at_fault * len(self.looks)
        exact = exact_rate_against(hits, estimate.n, self.limit, among=decisions)
        if bet is None or exact is None:
            return None
        return replace(exact, e_value=bet.e_value)

    def near(self, value: float, n: int) -> bool:
        """Return whether a score is known to within the margin, with the limit still inside.

        Leaving a set undecided claims nothing, so it needs no correction for the other sets, nor an
        exact interval.
        """
        interval = wilson(value * n, n, self.level)
        return self._is_next_to_limit(value, _floats(interval))

    def draws(self, value: float) -> float:
        """Return about how many draws it takes to tell a score from the limit."""
        z = z_score(1 - 2 * self._error_of_a_look)
        distance = max(abs(value - self.limit), 1e-9)
        rest = 1 - value
        return z**2 * value * rest / distance**2

    def _ends(self, hits: float, n: int) -> Interval:
        """Return the exact interval of a share, corrected for all sets and looks."""
        tail = self.error / 2 / len(self.looks)
        count = np.asarray(hits)
        size = np.asarray(float(n))
        low = float(lower_limit(count, size, tail))
        high = float(upper_limit(count, size, tail))
        return low, high

    def graded(self, total: float, n: int, *, whole: bool = True) -> Tested | None:
        """Return what the sum of n distances says of a set, or None where more are needed."""
        level = 1 - self.error
        low, high = _floats(mixture(total, n, level))
        alone = _floats(mixture(total, n, self.level))
        return self.interval(total / n, low, high, n, alone=alone, whole=whole)

    def interval(
        self,
        value: float,
        low: float,
        high: float,
        n: int,
        *,
        alone: Interval,
        whole: bool = True,
        because: str = TESTED,
    ) -> Tested | None:
        """Return what an interval says of a set, or None where it must get narrower.

        `alone` is the interval of this set by itself, which is enough to leave it undecided.
        """
        low = min(low, value)
        high = max(high, value)
        is_undecided = self._is_next_to_limit(value, alone)
        if low >= self.limit:
            state = State.ABOVE
        elif high < self.limit:
            state = State.BELOW if whole else State.NOT_SHOWN
        elif is_undecided or self._is_precise(value, (low, high)):
            state = State.UNDECIDED
        else:
            return None
        return self._tested(
            state,
            value,
            (low, high),
            n,
            whole=whole,
            because=because,
            method="anytime",
        )

    def _is_next_to_limit(self, value: float, interval: Interval) -> bool:
        """Return whether an interval is as narrow as the margin, and holds the limit."""
        low, high = interval
        return self._is_precise(value, interval) and low <= self.limit <= high

    def _is_precise(self, value: float, interval: Interval) -> bool:
        low, high = interval
        return max(high - value, value - low) <= self.margin

    def _tested(
        self,
        state: State,
        value: float,
        interval: Interval,
        n: int,
        *,
        whole: bool = True,
        because: str = TESTED,
        method: str = "exact",
    ) -> Tested:
        low, high = interval
        if not whole:
            # Variants that were not asked may flip every other draw.
            high = 1.0
        estimate = Estimate(
            value,
            low=low,
            high=high,
            n=n,
            level=self.level,
            method=self._method(method, whole=whole),
            population=self.population,
        )
        anytime = method == "anytime"
        return Tested(state, estimate, because, lower_bound=not whole, anytime=anytime)

    def _method(self, method: str, *, whole: bool) -> str:
        """Return how an interval was made, in words."""
        if self.sets == 1:
            return method if whole else messages.LOWER_BOUND.format(method=method)
        sets = number_text.count(self.sets)
        if whole:
            return messages.SIMULTANEOUS.format(method=method, sets=sets)
        return messages.SIMULTANEOUS_LOWER_BOUND.format(method=method, sets=sets)


def _floats(ends: tuple[Any, Any]) -> Interval:
    low, high = ends
    return float(low), float(high)
