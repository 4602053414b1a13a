"""The excess of a person and a twin: how much more often they differ than each differs from itself.

The twin is chosen by first answers, and the excess rests on others. So it is no larger for having
been chosen: where chance alone makes answers differ, its expectation is 0, however many twins
there are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.random_streams import stream
from evenhand.scores.sampling_loop import CASES, Counted, RunningSums
from evenhand.scores.twins import ROWS, case_of
from evenhand.statistics.sequential.excess import Grid
from evenhand.subject.answers_seen import first_answers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.population.samplers import Draws
    from evenhand.results.evidence import Case
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

CONFIRMED = 4
"""Of several twins whose first answer differs, so many are asked again before one is chosen."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The twin that was chosen for each person, and how many inputs were asked for it."""

    twins: Points
    asked: NDArray[np.int64]


@dataclass(frozen=True)
class ExcessCount:
    """Finds by how much each draw differs from a twin more often than from itself.

    Parameters
    ----------
    repeats
        How often the person and the chosen twin are asked.
    """

    view: View
    draws: Draws
    names: tuple[str, ...]
    repeats: int
    seed: int

    @property
    def subject(self) -> Subject:
        """The software under test."""
        return self.view.subject

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.subject.space

    def totals(self) -> RunningSums:
        """Return what adds up the counts."""
        return RunningSums()

    def after(self, hits: Any) -> ExcessCount:
        """Return what counts among the draws to come: the same."""
        return self

    @cached_property
    def grid(self) -> Grid:
        """Where an excess is counted."""
        return Grid.of_answers(self.repeats, equal=self.view.differs is None)

    @cached_property
    def cost(self) -> int:
        """The most inputs asked per draw: to choose the twin, and to compare with it."""
        twins = len(self.space.assignments(self.names))
        if not self._may_be_beside:
            twins -= 1
        compared = 2 * self.repeats
        if twins < 2:
            return compared
        confirmed = (self.repeats - 1) * (1 + min(CONFIRMED, twins))
        return 1 + twins + confirmed + compared

    @property
    def _may_be_beside(self) -> bool:
        """Whether a person may have a value that is not among those of its twins."""
        features = [self.space.feature(name) for name in self.names]
        for feature in features:
            is_lacked = feature.missing and not feature.twins_missing
            if is_lacked or math.isinf(feature.size):
                return True
        return False

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        """Return the excess of each draw on the grid, with its A/A rate, and the first cases."""
        first, last = bounds
        asked_before = self.subject.asked
        executed_before = self.subject.executed
        rows = max(1, ROWS // self.cost)
        parts = []
        for start in range(first, last, rows):
            points = self.draws.take(start, min(start + rows, last))
            parts.append(self.count(points, start))
        hits = [part.hits for part in parts]
        costs = [part.costs for part in parts if part.costs is not None]
        witnesses: list[tuple[int, Case]] = []
        answers: list[tuple[int, Any]] = []
        for part in parts:
            witnesses += part.witnesses
            answers += part.answers
        return Counted(
            np.concatenate(hits),
            witnesses[:CASES],
            self.subject.asked - asked_before,
            self.subject.executed - executed_before,
            costs=np.concatenate(costs),
            answers=answers,
        )

    def count(self, points: Points, start: int = 0) -> Counted:
        """Return the excess of each point; `start` is the number of the first as a draw."""
        rng = stream(self.seed, "order", *self.names, start)
        choice = self._choose(points, start, rng)
        sides = [points] * self.repeats + [choice.twins] * self.repeats
        asked = self._ask(np.concatenate(sides), rng)
        answers = asked.reshape(len(sides), len(points))
        own = answers[: self.repeats]
        other = answers[self.repeats :]
        between = self._between(own, other)
        within_own = self._within(own)
        within_other = self._within(other)
        within = (within_own + within_other) / 2
        # Of these, every answer of one differs from every answer of the other.
        clear = (between == 1) & (within == 0)
        rows = np.flatnonzero(clear)[:CASES]
        witnesses = []
        for row in rows.tolist():
            outcomes = (own[0, row], other[0, row])
            case = case_of(self.space, points[row], choice.twins[row], outcomes)
            witnesses.append((start + row, case))
        numbered = []
        for place, answer in first_answers(answers.T.ravel()):
            numbered.append((start + place // len(sides), answer))
        counts = self.grid.counted(between - within)
        hits = np.concatenate([counts, within[:, None]], axis=1)
        costs = choice.asked + len(sides)
        return Counted(hits, witnesses, 0, 0, costs=costs, answers=numbered)

    def _between(self, own: NDArray[Any], other: NDArray[Any]) -> Floats:
        """Return how far the answers to a person and to its twin are apart, on average."""
        apart = np.zeros(own.shape[1])
        for mine in own:
            for theirs in other:
                apart += self.view.distance(mine, theirs)
        return np.asarray(apart / self.repeats**2)

    def _within(self, answers: NDArray[Any]) -> Floats:
        """Return how far two answers to the same input are apart, on average."""
        apart = np.zeros(answers.shape[1])
        for one, another in combinations(answers, 2):
            apart += self.view.distance(one, another)
        return np.asarray(apart / math.comb(self.repeats, 2))

    def _ask(self, points: Points, rng: np.random.Generator) -> NDArray[Any]:
        """Ask in random order, so that a fault with a rhythm does not keep time with the twins."""
        order = rng.permutation(len(points))
        outcomes = self.view.decide(np.asfortranarray(points[order]))
        unordered = np.empty_like(outcomes)
        unordered[order] = outcomes
        return unordered

    def _choose(self, points: Points, start: int, rng: np.random.Generator) -> Choice:
        """Choose a twin for each point.

        It is the only one; or that whose answers differ most from those to the point; or, where
        none does, any one. Of many twins, those whose first answer does not differ are left out.
        """
        n = len(points)
        variants = self.space.variants(points, self.names)
        table = variants.reshape(-1, n, points.shape[1])
        valid = self.space.valid(variants).reshape(-1, n)
        twin = valid & (table != points).any(axis=2)
        number_of_twins = twin.sum(axis=0)
        draw = np.arange(start, start + n)
        any_one = draw % np.maximum(number_of_twins, 1)
        chosen = _ranked(twin, any_one)
        asked = np.zeros(n, dtype=np.int64)
        several = number_of_twins > 1
        if several.any():
            compared = twin & several
            apart = self._apart(points, table, compared, rng)
            asked += _cost(compared)
            doubtful = _thinned(apart > 0)
            doubtful &= doubtful.sum(axis=0) > 1
            if self.repeats > 2:
                # So much noise hides a difference as often as it makes one.
                doubtful |= compared & (number_of_twins <= CONFIRMED)
            for _ in range(self.repeats - 1):
                apart += self._apart(points, table, doubtful, rng)
                asked += _cost(doubtful)
            farthest = apart.argmax(axis=0)
            chosen = np.where(apart.any(axis=0), farthest, chosen)
        twins = table[chosen, np.arange(n)]
        alone = number_of_twins == 0
        twins[alone] = points[alone]
        return Choice(twins, asked)

    def _apart(
        self,
        points: Points,
        table: NDArray[np.float64],
        wanted: NDArray[np.bool_],
        rng: np.random.Generator,
    ) -> Floats:
        """Return how far one answer to each wanted variant is from one to its point."""
        apart = np.zeros(wanted.shape)
        people = np.flatnonzero(wanted.any(axis=0))
        if not len(people):
            return apart
        variant, person = np.nonzero(wanted)
        inputs = np.concatenate([points[people], table[variant, person]])
        answers = self._ask(inputs, rng)
        of_people = answers[: len(people)]
        of_variants = answers[len(people) :]
        own = of_people[np.searchsorted(people, person)]
        apart[variant, person] = self.view.distance(of_variants, own)
        return apart


def _ranked(wanted: NDArray[np.bool_], rank: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return of each column the row of the wanted one with this rank, 0 where none is wanted.

    >>> _ranked(np.array([[True, False], [False, False], [True, False]]), np.array([1, 0])).tolist()
    [2, 0]
    """
    ranks = wanted.cumsum(axis=0) - 1
    has_rank = wanted & (ranks == rank)
    return np.asarray(has_rank.argmax(axis=0))


def _thinned(wanted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return at most CONFIRMED wanted ones of each column, evenly from all of them.

    >>> np.flatnonzero(_thinned(np.ones((8, 1), dtype=bool))).tolist()
    [0, 2, 4, 6]
    """
    ranks = wanted.cumsum(axis=0) - 1
    number = np.maximum(wanted.sum(axis=0), CONFIRMED)
    part = ranks * CONFIRMED // number
    part_before = (ranks - 1) * CONFIRMED // number
    begins = (part != part_before) | (ranks == 0)
    return np.asarray(wanted & begins)


def _cost(wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return how many inputs are asked for each column: the wanted ones, and the point itself."""
    variants = wanted.sum(axis=0)
    return np.asarray(variants + (variants > 0))
