"""Groups that are asked about the same people.

Where the features that make the groups are independent of all others, a person of one group is as
likely in any other. Each draw is then one person, asked as a member of every group, and groups are
compared by what differs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Draws, Within
from evenhand.scores.rates.groups import TRIED, moved
from evenhand.scores.sampling_loop import Counted
from evenhand.scores.twins import ROWS
from evenhand.statistics.sequential.paired_groups import DRAWS, counts_of_pair, most_apart
from evenhand.subject.answers_seen import first_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Case
    from evenhand.scores.groups import Groups
    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats
    from evenhand.statistics.sequential.paired_groups import PairedPlan
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

FOCUS_AFTER = 4
"""Draws of every group after which only those that seem to be treated best and worst are asked."""
FOCUS_UNTIL = 24
"""How many times as often these may be asked as the others, lest they are chosen for good."""


class PairTotals:
    """Adds up what pairs of groups got."""

    def __init__(self, plan: PairedPlan) -> None:
        self._plan = plan
        self._last: Floats | None = None

    def add(self, hits: NDArray[Any], places: list[int]) -> list[Any]:
        """Add the next draws, and return the totals after each of some numbers of them."""
        totals = []
        start = 0
        for place in places:
            self._last = self._plan.counted(hits[start:place], self._last)
            totals.append(self._last)
            start = place
        return totals


@dataclass(frozen=True)
class PairedCount:
    """Counts favourable outcomes of the same people in each of some groups."""

    view: View
    groups: Groups
    members: tuple[int, ...]
    plan: PairedPlan
    people: Draws
    within: tuple[Draws, ...]
    """Draws from each group, which lend the people their values of the features at issue."""
    asked: tuple[bool, ...]
    """Which groups are asked; the others are known well enough, or not worth asking now."""

    @classmethod
    def of(
        cls,
        view: View,
        groups: Groups,
        members: Sequence[int],
        plan: PairedPlan,
        sampler: Sampler,
        seed: int,
    ) -> PairedCount:
        """Ask all of the groups."""
        name = ("measure", "group", *groups.names)
        within = []
        for group in members:
            inside = Within(sampler, groups, group)
            within.append(Draws(inside, groups.space, seed, *name, group))
        people = Draws(sampler, groups.space, seed, *name)
        asked = (True,) * len(members)
        return cls(view, groups, tuple(members), plan, people, tuple(within), asked)

    @property
    def subject(self) -> Subject:
        """The software under test."""
        return self.view.subject

    @property
    def cost(self) -> int:
        """Inputs asked per draw, at most: one from each group."""
        return len(self.members)

    @cached_property
    def _fixed(self) -> bool:
        """Whether a group has one value of each feature, rather than a bin of them."""
        space = self.groups.space
        return all(space.feature(name).bins is None for name in self.groups.names)

    def totals(self) -> PairTotals:
        """Return what adds up the hits."""
        return PairTotals(self.plan)

    def after(self, hits: Any) -> PairedCount:
        """Return what counts among the draws to come.

        Where an answer is expensive, groups in the middle are left out early.
        """
        if not self.subject.adapter.expensive or len(self.members) == 2:
            return self
        return replace(self, asked=tuple(worth_asking(self.plan, hits).tolist()))

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        """Return for each draw and group whether the outcome is favourable, or how favourable."""
        first, last = bounds
        asked_before = self.subject.asked
        executed_before = self.subject.executed
        rows = max(1, ROWS // self.cost)
        parts = []
        answers: list[tuple[int, Any]] = []
        for start in range(first, last, rows):
            amounts, answers_here = self._amounts(start, min(start + rows, last))
            parts.append(amounts)
            answers += answers_here
        hits = np.concatenate(parts)
        return Counted(
            hits,
            [],
            self.subject.asked - asked_before,
            self.subject.executed - executed_before,
            costs=np.full(len(hits), sum(self.asked)),
            answers=answers,
        )

    def _amounts(self, start: int, stop: int) -> tuple[NDArray[Any], list[tuple[int, Any]]]:
        """Return how favourable the outcome of each draw is: a row for each, a column per group.

        With it come the different answers, each with the number of the first draw that got it.
        """
        people = self.people.take(start, stop)
        wanted = [number for number, is_asked in enumerate(self.asked) if is_asked]
        points = [self._in_group(people, number, start, stop) for number in wanted]
        outcomes = self.view.decide(np.asfortranarray(np.concatenate(points)))
        by_draw = outcomes.reshape(len(wanted), -1).T.ravel()
        answers = []
        for place, answer in first_answers(by_draw):
            answers.append((start + place // len(wanted), answer))
        amounts = np.full((stop - start, len(self.members)), np.nan)
        amounts[:, wanted] = self.view.amount(outcomes).reshape(len(wanted), -1).T
        return amounts, answers

    def _in_group(self, people: Points, number: int, start: int, stop: int) -> Points:
        """Return the same people as members of a group."""
        if self._fixed:
            return self.groups.move(people, self.members[number])
        columns = list(self.groups.columns)
        moved_there = people.copy(order="F")
        lent = self.within[number].take(start, stop)
        moved_there[:, columns] = lent[:, columns]
        return self.groups.space.settle(moved_there)

    def cases(self, best: int, worst: int) -> tuple[list[Case], int]:
        """Return cases of the best group whose outcome changes in the worst, and what that took."""
        people = self.people.take(0, TRIED)
        points = self._in_group(people, best, 0, TRIED)
        return moved(self.view, self.groups, points, self.members[worst])

    def inputs(self, number: int, draws: int) -> Points:
        """Return the first people as members of one of the groups."""
        return self._in_group(self.people.take(0, draws), number, 0, draws)


def worth_asking(plan: PairedPlan, counts: Floats) -> NDArray[np.bool_]:
    """Return which groups are worth asking about the next people, of one run or of many.

    A group is not if it is known to differ from each other one by less than the limit. While the
    extremes seem to differ by more than the limit, only they are: one such pair decides.
    """
    is_open = ~plan.alike(counts).all(axis=-1)
    if plan.limit is not None:
        better, worse = most_apart(counts)
        number = np.arange(plan.groups)
        extreme = (number == better[..., None]) | (number == worse[..., None])
        draws = counts[..., DRAWS, :, :]
        least = draws.min(axis=(-2, -1))
        most = draws.max(axis=(-2, -1))
        enough = (least >= FOCUS_AFTER) & (most < FOCUS_UNTIL * least)
        focuses = enough & _over(plan.limit, counts, better, worse)
        is_open = np.where(focuses[..., None], extreme, is_open)
    none_open = ~is_open.any(axis=-1, keepdims=True)
    return np.asarray(is_open | none_open)


def _over(
    limit: float, counts: Floats, better: NDArray[np.intp], worse: NDArray[np.intp]
) -> NDArray[np.bool_]:
    """Return whether a pair of groups seems to differ by the limit or more."""
    ups, downs, draws = counts_of_pair(counts, better, worse)
    return np.asarray(ups - downs >= limit * draws)
