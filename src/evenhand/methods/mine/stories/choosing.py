"""Choosing stories: the strongest rule sets, each beyond what is told before it.

The rule set that is furthest from everyone else at least is told first, in its simplest form. From
then on people are compared with those who are alike in what is told: a rule set that is not shown
to differ from them is a variation, and is folded under the story that explains it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.counting.covers import AT_ONCE
from evenhand.methods.mine.stories.forms import ZERO, StoryForms
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
TRIED = 16
"""Rule sets that seem to be apart, and whose limits are computed to be sure, before giving up."""
POOL = 512
"""Candidates that are compared after each story; the others wait until they may be the next."""
MOST_BITS = 1 << 25
"""Words of bits of candidates, for memory; of more candidates, the strongest are taken."""


@dataclass(frozen=True, eq=False)
class ChosenRule:
    """A rule set that is told, and what it adds."""

    number: int
    cover: Bits
    beyond: float
    """How far its people are from those who are alike in what was told before."""
    error: float
    z: float
    """The normal quantile of the limits of that."""


@dataclass(frozen=True, eq=False)
class StoryCandidates:
    """Rule sets that may be told, and whom they cover."""

    ranking: Ranking
    numbers: Indices

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def bits(self) -> Bits:
        """Whom each of them covers; made where all are looked at."""
        return self.bits_of(np.arange(len(self.numbers)))

    def bits_of(self, places: Indices) -> Bits:
        """Return whom some of them cover."""
        covers = self.ranking.found.search.covers
        bits = np.empty((len(places), covers.words), dtype=np.uint64)
        at_once = max(1, AT_ONCE // max(covers.words, 1))
        for where, rules in self.ranking.table.by_level(self.numbers[places]):
            for start in range(0, len(where), at_once):
                some = slice(start, start + at_once)
                bits[where[some]] = covers.of_rules(rules[some])
        return bits

    def only(self, places: Indices) -> StoryCandidates:
        """Return some of them."""
        return StoryCandidates(self.ranking, self.numbers[places])


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

    def choose(self, most: int) -> list[ChosenRule]:
        """Return the stories, as many as there are and up to so many, in the order of choice."""
        if not len(self.candidates):
            return []
        choice = StoryChoice.of(self)
        while len(choice.chosen) < most and choice.tell():
            pass
        return choice.chosen

    @cached_property
    def candidates(self) -> StoryCandidates:
        """The rule sets that seem to be apart, in order; of too many the strongest."""
        return StoryCandidates(self.ranking, self._apart())

    def _apart(self) -> Indices:
        """Return the numbers of the candidates."""
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
        return quantile(self.intervals.tail * share)

    def shown(self, number: int) -> bool:
        """Return whether the limits of a rule set's difference exclude 0."""
        if self.intervals.exact:
            return bool(self.ranking.strength[number] > ZERO)
        sides = self.ranking.sides(self.ranking.counts([number]))
        low, high = self.intervals.difference_of(sides)
        least, _ = absolute(np.asarray(low), np.asarray(high))
        return bool(least.max() > 0)


@dataclass(eq=False)
class StoryChoice:
    """The candidates that are left, and the stories that are told so far.

    Only a pool of the strongest candidates is compared after each story. What is beyond the stories
    mostly shrinks as more are told: the others have their turn once the best of the pool is no
    stronger than they were.
    """

    search: StorySearch
    strata: Strata
    numbers: Indices
    """The pool: its rule sets, whose sums the strata hold."""
    waiting: Indices
    """The places of all others among the candidates."""
    strongest_waiting: float = np.inf
    chosen: list[ChosenRule] = field(default_factory=list)
    refused: int = 0

    @classmethod
    def of(cls, search: StorySearch) -> StoryChoice:
        """Return the choice before anything is told: the strongest rule sets are in the pool."""
        ranking = search.ranking
        every = search.candidates
        strength = ranking.strength[every.numbers]
        strongest = np.argsort(-strength, kind="stable")
        # In a whole population, what is beyond stories may grow as more are told.
        size = len(every) if search.intervals.exact else POOL
        pool = np.sort(strongest[:size])
        wait = np.sort(strongest[size:])
        strata = Strata.of(ranking.found.search.covers, every.bits_of(pool))
        strongest_waiting = float(strength[wait].max(initial=-np.inf))
        return cls(search, strata, every.numbers[pool], wait, strongest_waiting)

    def tell(self) -> bool:
        """Tell one more story; return whether there was one."""
        while self.refused < TRIED:
            z = self.search.z(len(self.chosen))
            beyond = self._adding(z)
            strength = beyond.strength(z)
            if strength.max(initial=-np.inf) < self.strongest_waiting and len(self.waiting):
                self._refill(z)
                continue
            if not len(self.numbers):
                return False
            best = self._best(strength)
            if self._fetch_simpler(best):
                beyond = self.strata.beyond(z)
            lead = self._forms(beyond, z).clearest(best)
            if self._choose(lead, beyond, z):
                return True
            # A form that is not shown to differ is no form: the candidate may be told in another.
            self.refused += 1
            self._keep(np.flatnonzero(np.arange(len(self.numbers)) != lead))
        return False

    def _forms(self, beyond: PooledDifference, z: float) -> StoryForms:
        """Return the pool as the forms in which a story may be told."""
        numbers = self.numbers
        ranking = self.search.ranking
        people = ranking.table.sums[0, numbers]
        conditions = ranking.table.conditions_of(numbers)
        terms = _terms(ranking, numbers)
        return StoryForms(self.strata, beyond, people, conditions, terms, z)

    def _fetch_simpler(self, best: int) -> bool:
        """Take what has some of the conditions of a candidate into the pool, where it waits.

        It is added at the end of the pool; return whether there was any.
        """
        table = self.search.ranking.table
        every = self.search.candidates.numbers
        simpler = table.generalisations(int(self.numbers[best]))
        place = np.searchsorted(every, simpler)
        place = place[place < len(every)]
        known = place[np.isin(every[place], simpler)]
        fetched = np.intersect1d(known, self.waiting)
        if not len(fetched):
            return False
        self.waiting = np.setdiff1d(self.waiting, fetched)
        self.numbers = np.concatenate([self.numbers, every[fetched]])
        self.strata = self.strata.with_more(self.search.candidates.bits_of(fetched))
        return True

    def _choose(self, lead: int, beyond: PooledDifference, z: float) -> bool:
        """Tell a candidate if its limits exclude 0; return whether they do."""
        number = int(self.numbers[lead])
        if not self.search.shown(number):
            return False
        cover = self.strata.bits[lead].copy()
        value = float(beyond.value[lead])
        self.chosen.append(ChosenRule(number, cover, value, float(beyond.error[lead]), z))
        self.strata = self.strata.split(cover)
        return True

    def _best(self, strength: Floats) -> int:
        """Return the strongest candidate; of two complements the smaller one leads."""
        people = self.search.ranking.table.sums[0, self.numbers]
        covers_most = 2 * people > self.search.ranking.total
        return int(np.argmax(np.round(strength, 12) - ZERO * covers_most))

    def _adding(self, z: float) -> PooledDifference:
        """Drop what adds nothing from the pool; return how far the others are beyond the told."""
        beyond = self.strata.beyond(z)
        kept = np.flatnonzero(self._adds(self.numbers, beyond, z))
        self._keep(kept)
        return type(beyond)(beyond.value[kept], beyond.error[kept])

    def _refill(self, z: float) -> None:
        """Take the strongest of all candidates that are left into the pool, the others wait."""
        every = self.search.candidates
        own = np.searchsorted(every.numbers, self.numbers)
        left = np.sort(np.concatenate([self.waiting, own]))
        numbers = every.numbers[left]
        sums = self.search.ranking.table.sums[:, numbers]
        strata = self.strata.of_others(every.bits, left, sums)
        beyond = strata.beyond(z)
        adds = np.flatnonzero(self._adds(numbers, beyond, z))
        strength = beyond.strength(z)[adds]
        strongest = np.argsort(-strength, kind="stable")
        pool = np.sort(adds[strongest[:POOL]])
        self.numbers = numbers[pool]
        self.strata = strata.taken(every.bits[left[pool]], pool)
        self.waiting = left[np.sort(adds[strongest[POOL:]])]
        self.strongest_waiting = -np.inf
        if len(self.waiting):
            self.strongest_waiting = float(strength[strongest[POOL]])

    def _adds(self, numbers: Indices, beyond: PooledDifference, z: float) -> Flags:
        """Return which rule sets add to what is told; before anything is, all of them do."""
        if not self.chosen:
            return np.ones(len(numbers), dtype=np.bool_)
        ranking = self.search.ranking
        inside, outside = ranking.shares(numbers)
        apart = inside - outside
        same_side = np.sign(beyond.value) == np.sign(apart)
        first = ranking.rule_set(self.chosen[0].number)
        is_worth = np.abs(beyond.value) >= self.search.floor(abs(first.difference))
        is_new = ~np.isin(numbers, [story.number for story in self.chosen])
        return np.asarray((beyond.strength(z) > ZERO) & same_side & is_worth & is_new)

    def _keep(self, kept: Indices) -> None:
        """Go on with some of the pool."""
        if len(kept) < len(self.numbers):
            self.numbers = self.numbers[kept]
            self.strata = self.strata.only(kept)


def _terms(ranking: Ranking, numbers: Indices) -> NDArray[np.int64]:
    """Return how many values, or ends of intervals, each of some rule sets names."""
    named = np.concatenate([choices.terms for choices in ranking.cube.choices])
    terms = np.empty(len(numbers), dtype=np.int64)
    for where, rules in ranking.table.by_level(numbers):
        terms[where] = named[rules].sum(axis=1)
    return terms
