"""When a set's score is on one side of the limit, at a level that holds for the whole search.

Half of the error 1 - level is left to the decisions, half to the intervals that are reported with
them.

**Decisions about shares of draws.** All sets are looked at on the same draws. On each draw a set
flips whatever a set within it flips, and moves an outcome as far. A set wrongly found over the
limit therefore drags along every larger set that is below it, the largest of them included; a set
wrongly cleared drags along the smallest over the limit. Only these two families of sets can be
where an error begins. No three of them hold each other, so there are at most as many as sets of the
two commonest sizes (Erdős 1945), and each of them can err in one direction only. Each has one test
against the limit that holds at all numbers of draws at once (`limit_tests`): its evidence grows
with the flips, or falls with them, so that larger sets have no less of it.

**Intervals** are corrected for all sets and looks. What is reported is cut at the limit on the side
that was decided. **Spreads of groups** are corrected for all sets, decisions and intervals alike.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.lattice import TESTED, State, TestedSet
from evenhand.runtime import number_text
from evenhand.statistics.discoveries import AgainstLimit
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import lower_limit, upper_limit, wilson, z_score
from evenhand.statistics.sequential.confidence_sequences import mixture
from evenhand.statistics.sequential.limit_tests import log_e_above, log_e_below
from evenhand.statistics.sequential.stopping import SLACK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats

    Interval = tuple[float, float]

FIRST_LOOK = 10
"""The draws of the first look."""
LOOK_RATIO = 1.15
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
        How precisely a score is to be known; a set so near to the limit is undecided.
    level
        The probability that all decisions and intervals of the search hold together.
    sets
        How many sets share the level.
    at_fault
        The most of them at which an error of the search can begin.
    finest
        The finest margin of the search, where sets are looked at again with finer ones.
    """

    limit: float
    margin: float
    level: float
    sets: int
    at_fault: int
    population: str = ""
    finest: float | None = None

    @property
    def error(self) -> float:
        """The error left to the interval of one set."""
        return self._half_of_error / self.sets

    @property
    def whole_error(self) -> float:
        """The error left to a set whose decision and interval are one."""
        return (1 - self.level) / self.sets

    @property
    def _half_of_error(self) -> float:
        """Half of the error is for the intervals, the other half for the decisions."""
        return (1 - self.level) / 2

    @property
    def _error_of_a_decision(self) -> float:
        """The error left to the decision about one set that can be at fault."""
        return self._half_of_error / self.at_fault

    @cached_property
    def looks(self) -> tuple[int, ...]:
        """The numbers of draws at which to look.

        At the last of them a score is known to within the finest margin.
        """
        margin = self.finest or self.margin
        looks = [FIRST_LOOK]
        while True:
            # More looks leave less error to each, which takes more draws, and so perhaps a look
            # more: the number of draws is not known before that of the looks.
            tail = self.error / 2 / (len(looks) + 1)
            # Wald's formula for a score of 1/2, which takes most draws.
            z = z_score(1 - 2 * tail)
            draws = 0.25 * (z / margin) ** 2
            if draws <= looks[-1]:
                return tuple(looks)
            looks.append(_next_look(looks[-1]))

    def anytime_looks(self, after: int = 0) -> Iterator[int]:
        """Yield numbers of draws at which to look, those over `after`, without end."""
        n = FIRST_LOOK
        while True:
            if n > after:
                yield n
            n = _next_look(n)

    def fewest_draws(self) -> int:
        """Return how many draws it takes to clear a set that flips none of them.

        >>> Judge(0.05, 0.01, 0.95, 7, 6).fewest_draws()
        138
        """
        for n in self.looks:
            if self.side(0, n):
                return n
        return self.looks[-1]

    def settled(
        self, hits: float, n: int, *, whole: bool = True, graded: bool = False
    ) -> TestedSet | None:
        """Return on which side of the limit n draws put a set, or None where on neither.

        Without `whole`, hits are a lower bound: not all variants of the draws were asked. Where
        they are `graded`, they are a sum of distances.

        >>> Judge(0.75, 0.05, 0.99, 7, 6).settled(0, 10).state.name
        'BELOW'
        """
        value = hits / n
        side = int(self.side(hits, n))
        if not side:
            return None
        if side > 0:
            state = State.ABOVE
        else:
            state = State.BELOW if whole else State.NOT_SHOWN
        if graded:
            method = "anytime"
            ends = self._graded_ends(hits, n)
        else:
            method = "exact"
            ends = self._ends(hits, n)
        interval = self._on_one_side(state, ends)
        return self._tested(state, value, interval, n, whole=whole, method=method)

    def side(self, hits: ArrayLike, n: ArrayLike) -> NDArray[np.int8]:
        """Return 1 where draws show a score at or over the limit, -1 where below, 0 where neither.

        >>> Judge(0.5, 0.05, 0.95, 7, 6).side([0, 25, 50], 50).tolist()
        [-1, 0, 1]
        """
        counts = np.asarray(hits, dtype=float)
        sizes = np.asarray(n, dtype=float)
        needed = SLACK - math.log(self._error_of_a_decision)
        values = counts / sizes
        is_over = values >= self.limit
        for_above = self._log_e_above(counts, sizes)
        for_below = self._log_e_below(counts, sizes)
        above = is_over & (for_above >= needed)
        below = ~is_over & (for_below >= needed)
        sides = above.astype(np.int8)
        sides -= below.astype(np.int8)
        return np.asarray(sides)

    def _log_e_above(self, hits: Floats, n: Floats) -> Floats:
        return log_e_above(hits, n, self.limit)

    def _log_e_below(self, hits: Floats, n: Floats) -> Floats:
        if self.limit <= 0.5:
            return log_e_below(hits, n, self.limit)
        # Under a high limit misses are what is counted: that their share is over the rest of 1 is
        # shown by fewer draws.
        misses = n - hits
        return log_e_above(misses, n, 1 - self.limit)

    def _on_one_side(self, state: State, interval: Interval) -> Interval:
        """Return an interval that ends at the limit on the side that was decided.

        It has another error than the decision, and what is reported must not contradict that.
        """
        low, high = interval
        if state is State.ABOVE:
            return max(low, self.limit), high
        just_under = math.nextafter(self.limit, 0.0)
        return low, min(high, just_under)

    def state_of(self, estimate: Estimate) -> State | None:
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
    ) -> TestedSet:
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

    def against(self, tested: TestedSet) -> AgainstLimit | None:
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
        hits = np.asarray(estimate.value * estimate.n)
        draws = np.asarray(float(estimate.n))
        log_e = (
            self._log_e_above(hits, draws) if is_over else self._log_e_below(hits, draws)
        )
        # Half of the error is for decisions.
        decisions = 2 * self.at_fault
        return AgainstLimit.of_bet(float(log_e), among=decisions)

    def near(self, value: float, n: int) -> bool:
        """Return whether a score is known to within the margin, with the limit still inside.

        Leaving a set undecided claims nothing, so it needs no correction for the other sets, nor an
        exact interval.
        """
        interval = wilson(value * n, n, self.level)
        return self._is_next_to_limit(value, _floats(interval))

    def draws(self, value: float) -> float:
        """Return about how many draws it takes to tell a score from the limit."""
        z = z_score(1 - 2 * self._error_of_a_decision)
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

    def _graded_ends(self, total: float, n: int) -> Interval:
        """Return the interval of a mean distance, corrected for all sets."""
        level = 1 - self.error
        low, high = _floats(mixture(total, n, level))
        value = total / n
        return min(low, value), max(high, value)

    def graded(
        self, total: float, n: int, *, whole: bool = True, last: bool = False
    ) -> TestedSet | None:
        """Return what the sum of n distances says of a set, or None where more are needed.

        With `last`, no more are to be had.
        """
        tested = self.settled(total, n, whole=whole, graded=True)
        if tested is not None:
            return tested
        value = total / n
        interval = self._graded_ends(total, n)
        alone = _floats(mixture(total, n, self.level))
        if not last and not self.leaves_undecided(value, interval, alone):
            return None
        return self._tested(
            State.UNDECIDED, value, interval, n, whole=whole, method="anytime"
        )

    def spread(
        self,
        state: State,
        value: float,
        interval: Interval,
        n: int,
        *,
        whole: bool = True,
        because: str = TESTED,
    ) -> TestedSet:
        """Return a set whose groups are so far apart."""
        low, high = interval
        ends = min(low, value), max(high, value)
        if state is not State.UNDECIDED:
            ends = self._on_one_side(state, ends)
        return self._tested(
            state, value, ends, n, whole=whole, because=because, method="anytime"
        )

    def leaves_undecided(self, value: float, interval: Interval, alone: Interval) -> bool:
        """Return whether a set that is not decided is known precisely enough.

        `alone` is the interval of this set by itself, which is enough to leave it undecided.
        """
        is_next = self._is_next_to_limit(value, alone)
        return is_next or self._is_precise(value, interval)

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
    ) -> TestedSet:
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
        return TestedSet(state, estimate, because, lower_bound=not whole)

    def _method(self, method: str, *, whole: bool) -> str:
        """Return how an interval was made, in words."""
        if self.sets == 1:
            return method if whole else messages.LOWER_BOUND.format(method=method)
        sets = number_text.count(self.sets)
        if whole:
            return messages.SIMULTANEOUS.format(method=method, sets=sets)
        return messages.SIMULTANEOUS_LOWER_BOUND.format(method=method, sets=sets)


def _next_look(n: int) -> int:
    return math.ceil(n * LOOK_RATIO)


def _floats(ends: tuple[Any, Any]) -> Interval:
    low, high = ends
    return float(low), float(high)
