"""Rates: how often each group gets the favourable outcome, and how far apart they are.

The distance between the rates is the group score of Themis (Definitions 3.5 and 3.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Draws, Within
from evenhand.results.evidence import Group
from evenhand.runtime.errors import UsageError
from evenhand.scores.sampling_loop import CASES, Counted, RunningSums
from evenhand.scores.twins import ROWS, case_of
from evenhand.space.row_keys import classes
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.sequential import confidence_sequences
from evenhand.subject.answers_seen import first_answers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.population.samplers import Sampler
    from evenhand.results.evidence import Case
    from evenhand.scores.groups import Groups
    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

BLOCK = 1 << 20
"""Draws made at once, over all groups together."""
TRIED = 32
"""Inputs that are moved from the best group to the worst to show what changes."""


@dataclass(frozen=True)
class GroupCount:
    """Counts favourable outcomes in each group, from independent draws for each."""

    view: View
    groups: Groups
    members: tuple[int, ...]
    draws: tuple[Draws, ...]

    @classmethod
    def of(
        cls, view: View, groups: Groups, members: Sequence[int], sampler: Sampler, seed: int
    ) -> GroupCount:
        """Draw from the members among the groups."""
        block = int(np.clip(BLOCK // len(members), 64, 16_384))
        name = ("measure", "group", *groups.names)
        draws = []
        for group in members:
            inside = Within(sampler, groups, group)
            draws.append(Draws(inside, groups.space, seed, *name, group, block=block))
        return cls(view, groups, tuple(members), tuple(draws))

    @property
    def subject(self) -> Subject:
        """The software under test."""
        return self.view.subject

    @property
    def cost(self) -> int:
        """Inputs asked per draw: one from each group."""
        return len(self.draws)

    def totals(self) -> RunningSums:
        """Return what adds up the hits."""
        return RunningSums()

    def after(self, hits: Any) -> GroupCount:
        """Return what counts among the draws to come: the same."""
        return self

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
        asked = self.subject.asked - asked_before
        executed = self.subject.executed - executed_before
        return Counted(np.concatenate(parts), [], asked, executed, answers=answers)

    def _amounts(self, start: int, stop: int) -> tuple[NDArray[Any], list[tuple[int, Any]]]:
        """Return how favourable the outcome of each draw is: a row for each, a column per group.

        With it come the different answers, each with the number of the first draw that got it.
        """
        points = np.concatenate([draws.take(start, stop) for draws in self.draws])
        outcomes = self.view.decide(np.asfortranarray(points))
        by_draw = outcomes.reshape(self.cost, -1).T.ravel()
        answers = []
        for place, answer in first_answers(by_draw):
            answers.append((start + place // self.cost, answer))
        amounts = self.view.amount(outcomes).reshape(self.cost, -1).T
        return amounts if self.cost > 1 else amounts[:, 0], answers

    def cases(self, best: int, worst: int) -> tuple[list[Case], int]:
        """Return cases of the best group whose outcome changes in the worst, and what that took."""
        points = self.draws[best].take(0, TRIED)
        return moved(self.view, self.groups, points, self.members[worst])


def moved(view: View, groups: Groups, points: Points, group: int) -> tuple[list[Case], int]:
    """Return cases that lose a favourable outcome by moving to a group, and what that took."""
    others = groups.move(points, group)
    valid = groups.space.valid(others)
    points = points[valid]
    others = others[valid]
    if not len(points):
        return [], 0
    before = view.decide(np.asfortranarray(points))
    after = view.decide(np.asfortranarray(others))
    lost = view.favourable(before) & ~view.favourable(after)
    cases = []
    for row in np.flatnonzero(lost)[:CASES].tolist():
        outcomes = (before[row], after[row])
        cases.append(case_of(groups.space, points[row], others[row], outcomes))
    return cases, 2 * len(points)


def paired(
    view: View,
    names: tuple[str, ...],
    points: Points,
    outcomes: NDArray[Any],
    sides: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    *,
    alike: NDArray[np.intp] | None = None,
) -> list[Case]:
    """Return people of the one side who get the favourable outcome, beside twins who do not.

    The twins are on the other side, and alike in all features but those at issue. They are among
    the points, so that nothing more is asked. `alike` numbers the points so that those who differ
    in nothing else share a number, where that is known.
    """
    space = view.subject.space
    favourable = view.favourable(outcomes)
    side, other_side = sides
    if alike is None:
        alike = classes(points, space, names)
    refused = np.flatnonzero(other_side & ~favourable)
    number_of_classes = int(alike.max(initial=0)) + 1
    twin_of_class = np.full(number_of_classes, -1)
    twin_of_class[alike[refused]] = refused
    twins = twin_of_class[alike]
    accepted = np.flatnonzero(side & favourable & (twins >= 0))
    cases = []
    for row in accepted[:CASES].tolist():
        twin = int(twins[row])
        pair = (outcomes[row], outcomes[twin])
        cases.append(case_of(space, points[row], points[twin], pair))
    return cases


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each of some groups got the favourable outcome."""

    groups: Groups
    members: tuple[int, ...]
    hits: Floats
    sizes: Floats
    rows: Floats | None = None
    """How many rows each group has, where their weights make its size."""

    @classmethod
    def of(
        cls, groups: Groups, points: Points, amounts: Floats, weights: Floats | None = None
    ) -> Tally:
        """Tally points by their group; groups without any, and points in no group, are left out."""
        ids = groups.of(points)
        inside = ids >= 0
        weight = np.ones(len(points)) if weights is None else weights
        count = len(groups)
        sizes = np.bincount(ids[inside], weights=weight[inside], minlength=count)
        hits = np.bincount(ids[inside], weights=(amounts * weight)[inside], minlength=count)
        rows = np.bincount(ids[inside & (weight > 0)], minlength=count)
        members = np.flatnonzero(sizes > 0)
        return cls(
            groups,
            tuple(members.tolist()),
            hits=np.asarray(hits[members], dtype=np.float64),
            sizes=np.asarray(sizes[members], dtype=np.float64),
            rows=np.asarray(rows[members], dtype=np.float64),
        )

    @classmethod
    def joined(cls, tallies: Sequence[Tally]) -> Tally:
        """Add up tallies of different points by the same groups."""
        groups = tallies[0].groups
        hits = np.zeros(len(groups))
        sizes = np.zeros(len(groups))
        rows = np.zeros(len(groups))
        for tally in tallies:
            members = list(tally.members)
            hits[members] += tally.hits
            sizes[members] += tally.sizes
            rows[members] += tally.sizes if tally.rows is None else tally.rows
        present = np.flatnonzero(sizes > 0)
        return cls(
            groups, tuple(present.tolist()), hits[present], sizes[present], rows[present]
        )

    @property
    def rates(self) -> Floats:
        """The rate of each group."""
        return self.hits / self.sizes

    @property
    def spread(self) -> float:
        """The largest difference of rates."""
        # Fractions round once, at the end: a score that equals a limit must not slip under it.
        highest = self._fraction(int(np.argmax(self.rates)))
        lowest = self._fraction(int(np.argmin(self.rates)))
        return max(float(highest - lowest), 0.0)

    def _fraction(self, number: int) -> Fraction:
        """Return the rate of a group without rounding."""
        return Fraction(float(self.hits[number])) / Fraction(float(self.sizes[number]))

    def exact(self, population: str, total: int) -> Estimate:
        """Return the spread where the tally is of the whole population."""
        self.need_two()
        value = self.spread
        return Estimate(value, value, value, total, 1.0, "enumerated", population)

    def sampled(
        self, level: float, population: str, *, graded: bool, empty: int = 0
    ) -> Estimate:
        """Return the spread where the tally is of a sample.

        The size of the sample must not depend on what was seen. `empty` is how many groups nobody
        was seen of.
        """
        self.need_two()
        interval = confidence_sequences.mixture_spread if graded else intervals.spread
        method = "anytime" if graded else "exact"
        low, high = interval(self.hits, self.sizes, level)
        value = float(np.ptp(self.rates))
        lowest = min(float(low), value)
        # Somebody of a group that nobody was seen of may be treated in any way.
        highest = 1.0 if empty else max(float(high), value)
        n = int(self.sizes.sum())
        return Estimate(value, lowest, highest, n, level, method, population)

    def wald(self, level: float, population: str) -> Estimate:
        """Return the spread with the formula of the papers, which does not hold its level."""
        rates = self.rates
        value = float(np.ptp(rates))
        extremes = [int(np.argmax(rates)), int(np.argmin(rates))]
        variances = rates * (1 - rates) / self.sizes
        half = intervals.z_score(level) * float(np.sqrt(variances[extremes].sum()))
        low = max(value - half, 0.0)
        high = min(value + half, 1.0)
        return Estimate(value, low, high, int(self.sizes.sum()), level, "wald", population)

    def need_two(self) -> None:
        """Raise UsageError if there are fewer than two groups to compare."""
        if len(self.members) < 2:
            names = " and ".join(self.groups.names)
            raise UsageError(
                f"{names}: this population has {len(self.members)} group, so there is nothing to"
                " compare; choose features with at least two values in it"
            )

    def listed(self, level: float, population: str, *, method: str) -> tuple[Group, ...]:
        """Return each group with its rate.

        The method is "enumerated" or "wald", or "exact" or "anytime" for intervals that hold
        together with each other. They are descriptive: the score does not hold together with them.
        """
        lows, highs = self._limits(level, method)
        sizes = self.sizes if self.rows is None else self.rows
        name = method
        if method not in ("enumerated", "wald"):
            name = f"{method}, simultaneous over {len(self.members)} groups"
        if method == "enumerated":
            level = 1.0
        groups = []
        for number, member in enumerate(self.members):
            rate = float(self.rates[number])
            low = min(float(lows[number]), rate)
            high = max(float(highs[number]), rate)
            estimate = Estimate(
                rate, low, high, int(sizes[number]), level, name, population
            )
            groups.append(Group(self.groups.label(member), estimate.described()))
        return tuple(groups)

    def _limits(self, level: float, method: str) -> tuple[Any, Any]:
        if method == "enumerated":
            return self.rates, self.rates
        if method == "wald":
            return intervals.wald(self.hits, self.sizes, level)
        if method == "exact":
            return intervals.by_group(self.hits, self.sizes, level)
        level_of_each = 1 - (1 - level) / len(self.members)
        return confidence_sequences.mixture(self.hits, self.sizes, level_of_each)


def inhabited(groups: Groups, empty: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the groups that have somebody; raise UsageError if there are too few to compare."""
    members = tuple(np.flatnonzero(~empty).tolist())
    nobody = Tally(groups, members, np.zeros(len(members)), np.ones(len(members)))
    nobody.need_two()
    return members
