"""Group scores of many sets: how far apart the groups of each set are (Themis, Definition 3.6).

All groups are asked about the same draws where that is sound, and then compared in pairs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.evaluators.base import Evaluator
from evenhand.methods.subsets.evaluators.kept import KeptInputs
from evenhand.methods.subsets.lattice import State, TestedSet
from evenhand.population.samplers import Uniform
from evenhand.scores.groups import Groups
from evenhand.scores.rates.groups import TRIED, GroupCount, Tally, moved
from evenhand.scores.twins import ROWS
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.statistics.sequential.confidence_sequences import mixture
from evenhand.statistics.sequential.limit_tests import log_e_below
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.statistics.sequential.stopping import SLACK

if TYPE_CHECKING:
    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.evaluators.arrays import Names
    from evenhand.population.samplers import Draws, Sampler
    from evenhand.results.evidence import Case, Group
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.view import View

SAMPLED = 64
"""How many groups are looked at where there are too many for all of them."""
MOST_PAIRED = 64
"""Up to this many groups that are asked about the same people are compared in pairs."""


class GroupSets(Evaluator):
    """Tests sets for their group score.

    Where the features of a set are independent of all others in the population, every group is
    asked about the same people, and any two of them are compared by the people whom they treat
    differently. Where there are too many pairs, each group has its own interval, corrected for all
    groups; the share of people whose outcome depends on the set at all is then the causal score,
    which the group score cannot exceed (Theorem 4.3).
    """

    def __init__(
        self,
        view: View,
        sampler: Sampler,
        draws: Draws,
        names: Names,
        judge: Judge,
        *,
        most: int,
    ) -> None:
        space = view.subject.space
        groups = [Groups(space, (name,)) for name in names]
        varieties = [float(len(groups_of_name)) for groups_of_name in groups]
        super().__init__(view, names, judge, varieties=varieties, most=most)
        self.sampler = sampler
        self.draws = draws
        # Sets that stayed undecided are asked on from here.
        self._counts_of: dict[int, _SetCounts] = {}

    def test(self, mask: int, meter: Meter) -> TestedSet | None:
        """Return on which side of the limit a set's score is, from more and more draws."""
        names = self.members(mask)
        whole = self.enumerable(mask)
        if mask not in self._counts_of:
            people = self._people(names, whole=whole)
            if people is None:
                return self._unknown()
            if people.groups < 2 and whole:
                return TestedSet(State.BELOW, self.judge.nothing())
            self._counts_of[mask] = _SetCounts(people)
        counts = self._counts_of[mask]
        return self._measured(names, counts, meter, whole=whole)

    def _unknown(self) -> TestedSet:
        """Return that nothing can be said of a set."""
        unknown = Estimate(
            math.nan, low=0.0, high=1.0, n=0, level=self.judge.level, method="not tested"
        )
        return TestedSet(State.NOT_SHOWN, unknown)

    def so_far(self, mask: int) -> TestedSet | None:
        """Return what the groups of an undecided set got."""
        counts = self._counts_of[mask]
        whole = self.enumerable(mask)
        return self._judged(counts, whole=whole, last=True)

    def kept(self, mask: int, n: int) -> KeptInputs | None:
        """Return the people whom each group was asked about."""
        names = self.members(mask)
        people = self._people(names, whole=self.enumerable(mask))
        if people is None or not n:
            return None
        draw = np.tile(np.arange(n), people.groups)
        return KeptInputs.drawn(people.inputs(n), draw)

    def _people(self, names: Names, *, whole: bool) -> _SharedPeople | _OwnPeople | None:
        """Return whom the groups of a set are asked about; None where it has too many groups."""
        if self._separate(names):
            table = self._table(names, whole=whole)
            return _SharedPeople(self, names, table, whole)
        if not whole:
            return None
        groups = Groups(self.space, names)
        is_empty = self.sampler.empty(groups)
        members = np.flatnonzero(~is_empty).tolist()
        return _OwnPeople(self, groups, tuple(members))

    def _measured(
        self, names: Names, counts: _SetCounts, meter: Meter, *, whole: bool
    ) -> TestedSet | None:
        """Return what asking the groups more and more says of a set; None without budget."""
        looks = self.judge.anytime_looks(after=counts.n)
        while True:
            if counts.n:
                tested = self._judged(counts, whole=whole)
                if tested is not None:
                    shown = self._extremes(names, counts, meter)
                    return replace(tested, shown=shown)
                if meter.late:
                    return None
            n = next(looks)
            new_draws = n - counts.n
            cost = new_draws * counts.people.groups
            if cost > meter.left:
                return None
            counts.ask(n)
            meter.queries += cost

    def _separate(self, names: Names) -> bool:
        """Return whether every group may be asked about the same people."""
        features = [self.space.feature(name) for name in names]
        unbinned = all(feature.bins is None for feature in features)
        return unbinned and self.sampler.separate(self.space, names)

    def _table(self, names: Names, *, whole: bool) -> Points:
        """Return the values of every group, or of those that some draws belong to."""
        if not whole:
            columns = list(self.space.sets(names))
            values = self.draws.take(0, SAMPLED)[:, columns]
            return np.unique(values, axis=0)
        table = self.space.assignments(names)
        if not isinstance(self.sampler, Uniform):
            groups = Groups(self.space, names)
            is_empty = self.sampler.empty(groups)
            return table[~is_empty]
        # Constraints among these features alone make some groups impossible, whoever the people
        # are, so one person is enough to find them.
        person = self.draws.take(0, 1)
        person_in_each = self.space.under(person, names, table)
        return table[self.space.valid(person_in_each)]

    def _extremes(
        self,
        names: Names,
        counts: _SetCounts,
        meter: Meter,
    ) -> tuple[tuple[Group, ...], tuple[Case, ...]]:
        """Return the groups with the highest and lowest rate, and who is treated differently."""
        members = counts.people.members
        hits = counts.hits
        best = int(np.argmax(hits))
        worst = int(np.argmin(hits))
        if members is None or best == worst:
            return (), ()
        groups = Groups(self.space, names)
        sizes = np.full(len(members), float(counts.n))
        tally = Tally(groups, members, hits, sizes)
        listed = tally.listed(self.judge.level, self.judge.population, method="anytime")
        cases: list[Case] = []
        if self.view.counts and meter.left >= 2 * TRIED:
            draws = self.draws.take(0, TRIED)
            in_best = groups.move(draws, members[best])
            people = in_best[self.space.valid(in_best)]
            cases, asked = moved(self.view, groups, people, members[worst])
            meter.queries += asked
        return (listed[best], listed[worst]), tuple(cases)

    def _judged(
        self, counts: _SetCounts, *, whole: bool, last: bool = False
    ) -> TestedSet | None:
        """Return what the counts of all groups say of a set, or None where more are needed.

        With `last`, no more are to be had.
        """
        if counts.pairs is not None:
            return self._by_pairs(counts, counts.pairs, whole=whole, last=last)
        return self._by_rates(counts, whole=whole, last=last)

    def _by_pairs(
        self, counts: _SetCounts, pairs: Floats, *, whole: bool, last: bool
    ) -> TestedSet | None:
        """Return what the people say whom two groups treat differently."""
        judge = self.judge
        n = counts.n
        groups = counts.people.groups
        together = PairedPlan(
            1 - judge.whole_error, judge.margin, judge.limit, groups=groups
        )
        reason = together.reason(pairs, n)
        if reason is None and not last:
            # To leave a set undecided claims nothing, and needs no correction for other sets.
            alone = replace(together, level=judge.level)
            if alone.reason(pairs, n) is not StopReason.MARGIN:
                return None
        estimate = together.judge(pairs, n).estimate
        value = estimate.value
        state = State.UNDECIDED
        if reason is StopReason.DECIDED:
            state = self._side(value, whole=whole)
        interval = (estimate.low, estimate.high)
        return judge.spread(state, value, interval, n, whole=whole)

    def _side(self, value: float, *, whole: bool) -> State:
        """Return the side of the limit on which a set is that was decided."""
        if value >= self.judge.limit:
            return State.ABOVE
        return State.BELOW if whole else State.NOT_SHOWN

    def _by_rates(self, counts: _SetCounts, *, whole: bool, last: bool) -> TestedSet | None:
        """Return what the rates of all groups say, and the people whose outcome depends on them."""
        judge = self.judge
        n = counts.n
        # People whom all groups share show whose outcome depends on the set at all; by Theorem 4.3
        # that share is a ceiling of the group score, if all groups are among those asked.
        is_shared = whole and counts.people.shared
        has_ceiling = is_shared and self.view.counts
        # With a ceiling there are two tests that may fail, and each gets half of the error.
        error = judge.whole_error
        if has_ceiling:
            error = error / 2
        spread = np.ptp(counts.hits)
        value = float(spread / n)
        interval = _spread(counts.hits, n, error)
        lowest, highest = interval
        if lowest >= judge.limit:
            return judge.spread(State.ABOVE, value, interval, n, whole=whole)
        if highest < judge.limit:
            state = self._side(value, whole=whole)
            return judge.spread(state, value, interval, n, whole=whole)
        if has_ceiling and _is_below(counts.flipped, n, judge.limit, error):
            because = messages.GROUP_SCORE_BELOW_CAUSAL
            return judge.spread(State.BELOW, value, interval, n, because=because)
        error_alone = 1 - judge.level
        alone = _spread(counts.hits, n, error_alone)
        if last or judge.leaves_undecided(value, interval, alone):
            return judge.spread(State.UNDECIDED, value, interval, n, whole=whole)
        return None


def _is_below(hits: int, n: int, limit: float, error: float) -> bool:
    """Return whether a share is shown to be below the limit."""
    evidence = float(log_e_below(hits, n, limit))
    needed = SLACK - math.log(error)
    return evidence >= needed


def _spread(hits: Floats, n: int, error: float) -> tuple[float, float]:
    """Return limits for the largest difference of rates.

    They follow from an interval for each rate, corrected for the number of groups (Bonferroni), so
    that all of these hold together. The ends of an interval grow with the hits, so that those of
    the extremes are enough.
    """
    level = 1 - error / len(hits)
    extremes = np.array([hits.min(), hits.max()])
    low, high = mixture(extremes, n, level)
    low_of_worst, low_of_best = low.tolist()
    high_of_worst, high_of_best = high.tolist()
    at_least = low_of_best - high_of_worst
    at_most = high_of_best - low_of_worst
    return max(at_least, 0.0), at_most


@dataclass(frozen=True)
class _Got:
    """What the groups got in some draws."""

    hits: Floats
    """The favourable outcomes of each group."""
    flipped: int = 0
    """How many people's outcome depends on the group, where groups share people."""
    pairs: Floats | None = None
    """What pairs of groups got in all draws so far, where there are few."""


@dataclass
class _SetCounts:
    """What the groups of a set got so far."""

    people: _SharedPeople | _OwnPeople
    n: int = 0
    flipped: int = 0
    hits: Floats = field(init=False)
    pairs: Floats | None = None

    def __post_init__(self) -> None:
        self.hits = np.zeros(self.people.groups)

    def ask(self, n: int) -> None:
        """Ask all groups up to n draws."""
        got = self.people.ask(self.n, n, self.pairs)
        self.n = n
        self.hits = self.hits + got.hits
        self.flipped += got.flipped
        self.pairs = got.pairs


@dataclass(frozen=True)
class _SharedPeople:
    """Every group is asked about the same people."""

    sets: GroupSets
    names: Names
    table: Points
    whole: bool

    shared = True

    @property
    def groups(self) -> int:
        return len(self.table)

    def ask(self, start: int, stop: int, pairs: Floats | None) -> _Got:
        """Return what the groups got, and how many people's outcome depends on the group.

        What pairs of groups got is added to what they got before.
        """
        view = self.sets.view
        hits = np.zeros(self.groups)
        flipped = 0
        plan = None
        if 2 <= self.groups <= MOST_PAIRED:
            limit = self.sets.judge.limit
            plan = PairedPlan(limit=limit, groups=self.groups)
        rows = max(1, ROWS // self.groups)
        for first in range(start, stop, rows):
            last = min(first + rows, stop)
            points = self.sets.draws.take(first, last)
            variants = self.sets.space.under(points, self.names, self.table)
            outcomes = view.decide(variants)
            amounts = view.amount(outcomes).reshape(-1, len(points))
            hits = hits + amounts.sum(axis=1)
            depends = np.ptp(amounts, axis=0) > 0
            flipped += int(depends.sum())
            if plan is not None:
                pairs = plan.counted(amounts.T, pairs)
        return _Got(hits, flipped, pairs)

    def inputs(self, n: int) -> Points:
        """Return the first n people in each group, group by group."""
        points = self.sets.draws.take(0, n)
        return self.sets.space.under(points, self.names, self.table)

    @property
    def members(self) -> tuple[int, ...] | None:
        """The groups by number; None where they are only some of many."""
        if not self.whole:
            return None
        space = self.sets.space
        person = self.sets.draws.take(0, 1)
        person_in_each = space.under(person, self.names, self.table)
        groups = Groups(space, self.names)
        return tuple(groups.of(person_in_each).tolist())


@dataclass(frozen=True)
class _OwnPeople:
    """Every group has its own people, since who they are depends on the group."""

    sets: GroupSets
    of_set: Groups
    members: tuple[int, ...]
    """The groups by number."""

    shared = False

    @cached_property
    def count(self) -> GroupCount:
        """What asks every group about people of its own."""
        return GroupCount.of(
            self.sets.view,
            self.of_set,
            self.members,
            self.sets.sampler,
            self.sets.draws.seed,
        )

    @property
    def groups(self) -> int:
        return len(self.members)

    def inputs(self, n: int) -> Points:
        """Return the first n people of each group, group by group."""
        return np.concatenate([draws.take(0, n) for draws in self.count.draws])

    def ask(self, start: int, stop: int, pairs: Floats | None) -> _Got:
        """Return the favourable outcomes of each group; whose outcome depends on it is unknown."""
        counted = self.count((start, stop))
        hits = np.asarray(counted.hits, dtype=float)
        return _Got(hits.sum(axis=0))
