"""Group scores of many sets: how far apart the groups of each set are, on the same draws where that
is sound.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets.evaluator import Evaluator
from evenhand.methods.subsets.lattice import TESTED, State, Tested
from evenhand.population.samplers import Uniform
from evenhand.scores.group_rates import TRIED, GroupCount, Tally, moved
from evenhand.scores.groups import Groups
from evenhand.scores.twins import ROWS
from evenhand.statistics.confidence_sequences import mixture
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
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
CAUSAL = "group score cannot exceed the causal score"


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
        names: tuple[str, ...],
        judge: Judge,
        *,
        most: int,
    ) -> None:
        varieties = [float(len(Groups(view.subject.space, (name,)))) for name in names]
        super().__init__(view, names, judge, varieties=varieties, most=most)
        self.sampler = sampler
        self.draws = draws

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Look at more and more draws until the set's score is known to be on one side of the
        limit.
        """
        names = self.members(mask)
        whole = self.enumerable(mask)
        people: _Shared | _Apart
        if self._separate(names):
            people = _Shared(self, names, self._table(names, whole=whole), whole)
            if people.groups < 2 and whole:
                return Tested(State.BELOW, self.judge.nothing())
        elif whole:
            groups = Groups(self.space, names)
            members = np.flatnonzero(~self.sampler.empty(groups)).tolist()
            if len(members) < 2:
                return Tested(State.BELOW, self.judge.nothing())
            people = _Apart(
                GroupCount.of(self.view, groups, members, self.sampler, self.draws.seed)
            )
        else:
            return Tested(
                State.NOT_SHOWN, Estimate(math.nan, 0.0, 1.0, 0, self.judge.level, "not tested")
            )
        hits, flipped, have = np.zeros(people.groups), 0, 0
        for n in self.judge.anytime_looks():
            cost = (n - have) * people.groups
            if cost > meter.left:
                return None
            more, changed = people.ask(have, n)
            hits, flipped, have = hits + more, flipped + changed, n
            meter.queries += cost
            ceiling = (
                flipped if whole and self.view.counts and isinstance(people, _Shared) else None
            )
            found = self._judged(hits, ceiling, n, whole=whole)
            if found is not None:
                return replace(found, shown=self._shown(names, people.members, hits, n, meter))
            if meter.late:
                return None
        raise AssertionError("looks never end")

    def _separate(self, names: tuple[str, ...]) -> bool:
        """Whether every group may be asked about the same people."""
        return all(
            self.space.feature(name).bins is None for name in names
        ) and self.sampler.separate(self.space, names)

    def _table(self, names: tuple[str, ...], *, whole: bool) -> Points:
        """Return the values of every group, or of those that some draws belong to."""
        if whole:
            table = self.space.assignments(names)
            if not isinstance(self.sampler, Uniform):
                return table[~self.sampler.empty(Groups(self.space, names))]
            # Constraints among these features alone make some groups impossible, whoever the people
            # are.
            return table[self.space.valid(self.space.under(self.draws.take(0, 1), names, table))]
        return np.unique(self.draws.take(0, SAMPLED)[:, list(self.space.sets(names))], axis=0)

    def _shown(
        self,
        names: tuple[str, ...],
        members: tuple[int, ...] | None,
        hits: Floats,
        n: int,
        meter: Meter,
    ) -> tuple[tuple[Group, ...], tuple[Case, ...]]:
        """Return the groups with the highest and the lowest rate, and whose outcome changes between
        them.
        """
        best, worst = int(np.argmax(hits)), int(np.argmin(hits))
        if members is None or best == worst:
            return (), ()
        groups = Groups(self.space, names)
        tally = Tally(groups, members, hits, np.full(len(members), float(n)))
        listed = tally.listed(self.judge.level, self.judge.population, method="anytime")
        cases: list[Case] = []
        if self.view.counts and meter.left >= 2 * TRIED:
            people = groups.move(self.draws.take(0, TRIED), members[best])
            valid = self.space.valid(people)
            cases, asked = moved(self.view, groups, people[valid], members[worst])
            meter.queries += asked
        return (listed[best], listed[worst]), tuple(cases)

    def _judged(self, hits: Floats, flipped: int | None, n: int, *, whole: bool) -> Tested | None:
        error = self.judge.error / (1 if flipped is None else 2)
        value = float(np.ptp(hits) / n)
        lowest, highest = _spread(hits, n, error)
        because = TESTED
        if flipped is not None:
            ceiling = float(_limits(np.array([float(flipped)]), n, 1 - error)[1][0])
            if ceiling < self.judge.limit <= highest:
                because = CAUSAL
            highest = max(min(highest, ceiling), value)
        alone = _spread(hits, n, 1 - self.judge.level)
        return self.judge.interval(
            value, lowest, highest, n, alone=alone, whole=whole, because=because
        )


@lru_cache(256)
def _listed(n: int, level: float) -> tuple[Floats, Floats]:
    low, high = mixture(np.arange(n + 1.0), n, level)
    return np.asarray(low), np.asarray(high)


def _limits(hits: Floats, n: int, level: float) -> tuple[Floats, Floats]:
    """Return `mixture`, looked up where hits are counts: sets with as many groups ask for the same
    limits again.
    """
    counts = hits.astype(np.intp)
    if n > MOST_LISTED or not np.array_equal(counts, hits):
        low, high = mixture(hits, n, level)
        return np.asarray(low), np.asarray(high)
    low, high = _listed(n, level)
    return low[counts], high[counts]


def _spread(hits: Floats, n: int, error: float) -> tuple[float, float]:
    """Return limits for the largest difference of rates, from an interval for each that holds
    together with all.
    """
    low, high = _limits(hits, n, 1 - error / len(hits))
    return max(float(low.max() - high.min()), 0.0), float(high.max() - low.min())


@dataclass(frozen=True)
class _Shared:
    """Every group is asked about the same people."""

    sets: GroupSets
    names: tuple[str, ...]
    table: Points
    whole: bool

    @property
    def groups(self) -> int:
        return len(self.table)

    def ask(self, start: int, stop: int) -> tuple[Floats, int]:
        """Return the favourable outcomes of each group, and how many people's outcome depends on
        the group.
        """
        view, hits, flipped = self.sets.view, np.zeros(self.groups), 0
        rows = max(1, ROWS // self.groups)
        for at in range(start, stop, rows):
            points = self.sets.draws.take(at, min(at + rows, stop))
            variants = self.sets.space.under(points, self.names, self.table)
            amounts = view.amount(view.decide(variants)).reshape(-1, len(points))
            hits = hits + amounts.sum(axis=1)
            flipped += int((np.ptp(amounts, axis=0) > 0).sum())
        return hits, flipped

    @property
    def members(self) -> tuple[int, ...] | None:
        """The groups by number; None where they are only some of many."""
        if not self.whole:
            return None
        points = self.sets.space.under(self.sets.draws.take(0, 1), self.names, self.table)
        return tuple(Groups(self.sets.space, self.names).of(points).tolist())


@dataclass(frozen=True)
class _Apart:
    """Every group has its own people, since who they are depends on the group."""

    count: GroupCount

    @property
    def groups(self) -> int:
        return len(self.count.members)

    def ask(self, start: int, stop: int) -> tuple[Floats, int]:
        """Return the favourable outcomes of each group."""
        return np.asarray(self.count((start, stop)).hits, dtype=float).sum(axis=0), 0

    @property
    def members(self) -> tuple[int, ...]:
        """The groups by number."""
        return self.count.members
