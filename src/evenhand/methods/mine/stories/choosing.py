"""Choosing stories: the strongest rule sets, each beyond what is told before it.

The rule set that is furthest from everyone else at least is told first, in its simplest form. From
then on people are compared with those who are alike in what is told: a rule set that is not shown
to differ from them is a variation, and is folded under the story that explains it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.stories.strata import Strata
from evenhand.statistics.simultaneous import absolute, quantile

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import Ranking
    from evenhand.statistics.intervals import Floats
    from evenhand.statistics.simultaneous import SimultaneousIntervals
    from evenhand.statistics.stratified import PooledDifference

    Bits = NDArray[np.uint64]
    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]

WORTH = 0.2
"""The part of the first story's difference that another must have beyond it, without a limit."""
WITHIN = 0.5
"""A simpler rule set is told instead if it is as far apart but for this part of its error."""
VARIATIONS = 5
"""Rule sets that are listed as variations of a story."""
TRIED = 16
"""Rule sets that seem to be apart, and whose limits are computed to be sure, before giving up."""
MOST_BITS = 1 << 25
"""Words of bits of candidates, for memory; of more candidates, the strongest are taken."""
_ZERO = 1e-9
"""Differences up to this are rounding."""


@dataclass(eq=False)
class ToldStory:
    """A rule set that is told: what it adds, and the variations that are folded under it."""

    number: int
    cover: Bits
    beyond: float
    """How far its people are from those who are alike in what was told before."""
    error: float
    z: float
    """The normal quantile of the limits of that."""
    variations: list[int] = field(default_factory=list)
    """The strongest of its variations."""
    folded: int = 0
    """The number of its variations."""


@dataclass(frozen=True, eq=False)
class StorySearch:
    """Chooses which of the ranked rule sets are told.

    Parameters
    ----------
    limit
        What the difference beyond other stories must come up to; None for a part of the first's.
    """

    ranking: Ranking
    intervals: SimultaneousIntervals
    limit: float | None = None

    def told(self, most: int) -> list[ToldStory]:
        """Return the stories, as many as there are and up to so many, in the order of choice."""
        numbers = self._candidates()
        if not len(numbers):
            return []
        covers = self.ranking.found.search.covers
        bits = np.empty((len(numbers), covers.words), dtype=np.uint64)
        for where, rules in self.ranking.table.by_level(numbers):
            bits[where] = covers.of_rules(rules)
        strata = Strata.of(covers, bits, self.ranking.table.sums[:, numbers])
        choice = _Choice(self, numbers, strata)
        while len(choice.told) < most and choice.tell():
            pass
        if len(choice.told) == most:
            choice.fold_last()
        return choice.told

    def _candidates(self) -> Indices:
        """Return the rule sets that seem to be apart, in order; of too many the strongest."""
        strength = self.ranking.strength
        floor = 0.0
        if self.intervals.exact:
            largest = float(strength.max(initial=0.0))
            floor = min(self.floor(largest), largest)
        seems_apart = strength >= floor if floor else strength > 0.0
        if not seems_apart.any() and np.isfinite(strength).any():
            # What is ranked by is an approximation of limits, which decide.
            seems_apart = strength == strength.max()
        numbers = np.flatnonzero(seems_apart)
        most = max(1, MOST_BITS // max(self.ranking.found.search.covers.words, 1))
        if len(numbers) > most:
            order = np.argsort(-strength[numbers], kind="stable")
            numbers = np.sort(numbers[order[:most]])
        return numbers

    def floor(self, first: float) -> float:
        """Return the least difference beyond other stories that is told, given the first's."""
        if self.limit:
            return self.limit
        return WORTH * first

    def z(self, stories: int) -> float:
        """Return the normal quantile of limits once so many stories are told.

        The error of what is beyond other stories is shared among all that may follow: the k-th has
        6/π²k² of it.
        """
        if self.intervals.exact:
            return 0.0
        if not stories:
            return self.intervals.critical
        share = 6 / (math.pi * stories) ** 2
        return quantile(self.intervals.tail_of_critical * share)

    def shown(self, number: int) -> bool:
        """Return whether the limits of a rule set's difference exclude 0."""
        if self.intervals.exact:
            return bool(self.ranking.strength[number] > _ZERO)
        sides = self.ranking.sides(self.ranking.counts([number]))
        low, high = self.intervals.difference_of(sides)
        least, _ = absolute(np.asarray(low), np.asarray(high))
        return bool(least.max() > 0)


@dataclass(eq=False)
class _Choice:
    """The candidates that are left, and the stories that are told so far."""

    search: StorySearch
    numbers: Indices
    strata: Strata
    told: list[ToldStory] = field(default_factory=list)
    refused: int = 0

    def __post_init__(self) -> None:
        ranking = self.search.ranking
        self.features = ranking.table.conditions()
        self.terms = _terms(ranking)

    def tell(self) -> bool:
        """Tell one more story; return whether there was one."""
        z = self.search.z(len(self.told))
        beyond = self.strata.beyond(z)
        strength = self._fold(beyond, beyond.strength(z))
        beyond = self.strata.beyond(z)
        while len(self.numbers):
            best = self._best(strength)
            lead = self._simplest(best, beyond, strength, z)
            number = int(self.numbers[lead])
            if self.search.shown(number):
                value = float(beyond.value[lead])
                error = float(beyond.error[lead])
                story = ToldStory(number, self.strata.bits[lead].copy(), value, error, z)
                self.told.append(story)
                self.strata = self.strata.split(story.cover)
                return True
            self.refused += 1
            if self.refused >= TRIED:
                break
            kept = np.flatnonzero(np.arange(len(self.numbers)) != best)
            beyond, strength = self._keep(kept, beyond, strength)
        return False

    def fold_last(self) -> None:
        """Fold what adds nothing under the last story, where no more are told."""
        z = self.search.z(len(self.told))
        beyond = self.strata.beyond(z)
        self._fold(beyond, beyond.strength(z))

    def _best(self, strength: Floats) -> int:
        """Return the strongest candidate; of two complements the smaller one leads."""
        people = self.search.ranking.table.sums[0, self.numbers]
        covers_most = 2 * people > self.search.ranking.total
        return int(np.argmax(np.round(strength, 12) - _ZERO * covers_most))

    def _fold(self, beyond: PooledDifference, strength: Floats) -> Floats:
        """Fold what adds nothing under the last story; return how strong the others are."""
        if not self.told:
            return strength
        ranking = self.search.ranking
        inside = ranking.inside[self.numbers]
        outside = ranking.outside[self.numbers]
        same_side = np.sign(beyond.value) == np.sign(inside - outside)
        first = self.told[0].number
        largest = abs(float(ranking.inside[first] - ranking.outside[first]))
        is_worth = np.abs(beyond.value) >= self.search.floor(largest)
        adds = (strength > _ZERO) & same_side & is_worth
        last = self.told[-1]
        folded = np.flatnonzero(~adds & (self.numbers != last.number))
        order = np.argsort(-ranking.strength[self.numbers[folded]], kind="stable")
        last.folded = len(folded)
        last.variations = self.numbers[folded[order[:VARIATIONS]]].tolist()
        kept = np.flatnonzero(adds & (self.numbers != last.number))
        _, strength = self._keep(kept, beyond, strength)
        return strength

    def _keep(
        self, kept: Indices, beyond: PooledDifference, strength: Floats
    ) -> tuple[PooledDifference, Floats]:
        """Go on with some of the candidates."""
        self.numbers = self.numbers[kept]
        self.strata = self.strata.only(kept)
        return type(beyond)(beyond.value[kept], beyond.error[kept]), strength[kept]

    def _simplest(
        self, best: int, beyond: PooledDifference, strength: Floats, z: float
    ) -> int:
        """Return the simplest rule set that tells the same: it covers all of them, and is as far.

        Conditions that add nothing beyond chance make a rule harder to read, and are mostly chance
        themselves.
        """
        while True:
            simpler = self._simpler(best, beyond, strength, z)
            if not len(simpler):
                return best
            numbers = self.numbers[simpler]
            order = np.lexsort(
                (-strength[simpler], self.terms[numbers], self.features[numbers])
            )
            best = int(simpler[order[0]])

    def _simpler(
        self, best: int, beyond: PooledDifference, strength: Floats, z: float
    ) -> Indices:
        """Return the simpler rule sets beyond which a candidate adds nothing."""
        terms = self.terms[self.numbers]
        error = beyond.error[best] if z else 0.0
        nearly_as_far = strength >= strength[best] - WITHIN * z * error - _ZERO
        same_side = np.sign(beyond.value) == np.sign(beyond.value[best])
        likely = np.flatnonzero((terms < terms[best]) & nearly_as_far & same_side)
        if not len(likely):
            return likely
        among = np.append(likely, best)
        part = self.strata.only(among)
        last = len(likely)
        shared = part.shared(last)
        covers_it = shared[:-1] >= shared[-1] * (1 - _ZERO)
        adds = part.within(last, z).strength(z)[:-1] > _ZERO
        return np.asarray(likely[covers_it & ~adds])


def _terms(ranking: Ranking) -> NDArray[np.int64]:
    """Return how many values, or ends of intervals, each rule set names."""
    named = np.concatenate([choices.terms for choices in ranking.cube.choices])
    sums = [named[level.rules].sum(axis=1) for level in ranking.table.levels]
    return np.concatenate(sums)
