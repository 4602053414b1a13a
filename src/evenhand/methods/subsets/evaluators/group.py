"""Group scores of many sets: how far apart the groups of each set are (Themis, Definition 3.6).

All groups are asked about the same draws where that is sound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.evaluators.base import Evaluator
from evenhand.methods.subsets.evaluators.kept import KeptInputs
from evenhand.methods.subsets.lattice import TESTED, State, Tested
from evenhand.population.samplers import Uniform
from evenhand.scores.groups import Groups
from evenhand.scores.rates.groups import TRIED, GroupCount, Tally, moved
from evenhand.scores.twins import ROWS
from evenhand.statistics.confidence_sequences import mixture
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from evenhand.methods.subsets.arrays import Names
    from evenhand.methods.subsets.decision import Judge
    from evenhand.population.samplers import Draws, Sampler
    from evenhand.results.evidence import Case, Group
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.view import View

SAMPLED = 64
"""How many groups are looked at where there are too many for all of them."""
MOST_LISTED = 50_000
"""Up to this many draws the limits of all counts are listed at once."""


class GroupSets(Evaluator):
    """Tests sets for their group score.

    Where the features of a set are independent of all others in the population, every group is
    asked about the same people; the share of these whose outcome depends on the set at all is then
    the causal score, which the group score cannot exceed (Theorem 4.3). Each group has its own
    interval, corrected for all groups, so it does not matter that groups share people.
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

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Return on which side of the limit a set's score is, from more and more draws."""
        names = self.members(mask)
        whole = self.enumerable(mask)
        people = self._people(names, whole=whole)
        if people is None:
            unknown = Estimate(
                math.nan,
                low=0.0,
                high=1.0,
                n=0,
                level=self.judge.level,
                method="not tested",
            )
            return Tested(State.NOT_SHOWN, unknown)
        if people.groups < 2 and whole:
            return Tested(State.BELOW, self.judge.nothing())
        return self._measured(names, people, meter, whole=whole)

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
        self,
        names: Names,
        people: _SharedPeople | _OwnPeople,
        meter: Meter,
        *,
        whole: bool,
    ) -> Tested | None:
        """Return what asking the groups more and more says of a set; None without budget."""
        # Groups that share people show whose outcome depends on the set at all; by Theorem 4.3 that
        # share is a ceiling of the group score, if all groups are among those asked.
        is_shared = isinstance(people, _SharedPeople)
        has_ceiling = whole and is_shared and self.view.counts
        hits = np.zeros(people.groups)
        flipped = 0
        have = 0
        for n in self.judge.anytime_looks():
            cost = (n - have) * people.groups
            if cost > meter.left:
                return None
            new_hits, new_flipped = people.ask(have, n)
            hits = hits + new_hits
            flipped += new_flipped
            have = n
            meter.queries += cost
            ceiling = flipped if has_ceiling else None
            tested = self._judged(hits, ceiling, n, whole=whole)
            if tested is not None:
                shown = self._extremes(names, people.members, hits, n, meter)
                return replace(tested, shown=shown)
            if meter.late:
                return None
        raise AssertionError("looks never end")

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
        members: tuple[int, ...] | None,
        hits: Floats,
        n: int,
        meter: Meter,
    ) -> tuple[tuple[Group, ...], tuple[Case, ...]]:
        """Return the groups with the highest and lowest rate, and who is treated differently."""
        best = int(np.argmax(hits))
        worst = int(np.argmin(hits))
        if members is None or best == worst:
            return (), ()
        groups = Groups(self.space, names)
        sizes = np.full(len(members), float(n))
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
        self,
        hits: Floats,
        flipped: int | None,
        n: int,
        *,
        whole: bool,
    ) -> Tested | None:
        """Return what the counts of all groups say of a set, or None where more are needed."""
        # With a ceiling there are two intervals that may fail, and each gets half of the error.
        error = self.judge.error
        if flipped is not None:
            error = error / 2
        spread = np.ptp(hits)
        value = float(spread / n)
        lowest, highest = _spread(hits, n, error)
        because = TESTED
        if flipped is not None:
            ceiling = _upper_limit(flipped, n, error)
            if ceiling < self.judge.limit <= highest:
                because = messages.GROUP_SCORE_BELOW_CAUSAL
            highest = max(min(highest, ceiling), value)
        error_alone = 1 - self.judge.level
        alone = _spread(hits, n, error_alone)
        return self.judge.interval(
            value,
            lowest,
            highest,
            n,
            alone=alone,
            whole=whole,
            because=because,
        )


@lru_cache(256)
def _listed(n: int, level: float) -> tuple[Floats, Floats]:
    """Return the limits of every count from 0 to n."""
    counts = np.arange(n + 1.0)
    low, high = mixture(counts, n, level)
    return np.asarray(low), np.asarray(high)


def _limits(hits: Floats, n: int, level: float) -> tuple[Floats, Floats]:
    """Return `mixture`, looked up where hits are counts.

    Sets with as many groups ask for the same limits again, and these take long to compute.
    """
    counts = hits.astype(np.intp)
    if n > MOST_LISTED or not np.array_equal(counts, hits):
        low, high = mixture(hits, n, level)
        return np.asarray(low), np.asarray(high)
    low, high = _listed(n, level)
    return low[counts], high[counts]


def _upper_limit(hits: int, n: int, error: float) -> float:
    count = np.array([float(hits)])
    _, high = _limits(count, n, 1 - error)
    return float(high[0])


def _spread(hits: Floats, n: int, error: float) -> tuple[float, float]:
    """Return limits for the largest difference of rates.

    They follow from an interval for each rate, corrected for the number of groups (Bonferroni), so
    that all of these hold together.
    """
    level = 1 - error / len(hits)
    low, high = _limits(hits, n, level)
    at_least = float(low.max() - high.min())
    at_most = float(high.max() - low.min())
    return max(at_least, 0.0), at_most


@dataclass(frozen=True)
class _SharedPeople:
    """Every group is asked about the same people."""

    sets: GroupSets
    names: Names
    table: Points
    whole: bool

    @property
    def groups(self) -> int:
        return len(self.table)

    def ask(self, start: int, stop: int) -> tuple[Floats, int]:
        """Return each group's favourable outcomes, and how many people's depend on the group."""
        view = self.sets.view
        hits = np.zeros(self.groups)
        flipped = 0
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
        return hits, flipped

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

    def ask(self, start: int, stop: int) -> tuple[Floats, int]:
        """Return the favourable outcomes of each group; whose outcome depends on it is unknown."""
        counted = self.count((start, stop))
        hits = np.asarray(counted.hits, dtype=float)
        return hits.sum(axis=0), 0
