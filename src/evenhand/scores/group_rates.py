"""Rates: how often each group gets the favourable outcome, and how far apart they are (Themis Def.
3.5 and 3.6).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.samplers import Draws, Within
from evenhand.results.evidence import Group
from evenhand.runtime.errors import UsageError
from evenhand.scores.sampling_loop import CASES, Counted
from evenhand.scores.twins import ROWS, case_of
from evenhand.statistics import confidence_sequences, intervals
from evenhand.statistics.estimate import Estimate

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
        draws = [
            Draws(Within(sampler, groups, group), groups.space, seed, *name, group, block=block)
            for group in members
        ]
        return cls(view, groups, tuple(members), tuple(draws))

    @property
    def subject(self) -> Subject:
        """The software under test."""
        return self.view.subject

    @property
    def cost(self) -> int:
        """Inputs asked per draw: one from each group."""
        return len(self.draws)

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        """Return for each draw and group whether the outcome is favourable, or how favourable."""
        before = self.subject.asked, self.subject.executed
        rows = max(1, ROWS // self.cost)
        parts = []
        for start in range(bounds[0], bounds[1], rows):
            stop = min(start + rows, bounds[1])
            points = np.concatenate([draws.take(start, stop) for draws in self.draws])
            amounts = (
                self.view.amount(self.view.decide(np.asfortranarray(points)))
                .reshape(self.cost, -1)
                .T
            )
            parts.append(amounts if self.cost > 1 else amounts[:, 0])
        spent = self.subject.asked - before[0], self.subject.executed - before[1]
        return Counted(np.concatenate(parts), [], *spent)

    def cases(self, rates: Floats) -> tuple[list[Case], int]:
        """Move some of the group with the highest rate to the one with the lowest, and show whose
        outcome changes.
        """
        best, worst = int(np.argmax(rates)), int(np.argmin(rates))
        if not self.view.counts or rates[best] == rates[worst]:
            return [], 0
        return moved(self.view, self.groups, self.draws[best].take(0, TRIED), self.members[worst])


def moved(view: View, groups: Groups, points: Points, group: int) -> tuple[list[Case], int]:
    """Return a few cases in which a favourable outcome is lost by moving to a group, and how many
    inputs that took.
    """
    others = groups.move(points, group)
    valid = groups.space.valid(others)
    points, others = points[valid], others[valid]
    if not len(points):
        return [], 0
    before, after = view.decide(np.asfortranarray(points)), view.decide(np.asfortranarray(others))
    lost = np.flatnonzero(view.favourable(before) & ~view.favourable(after))[:CASES].tolist()
    cases = [
        case_of(groups.space, points[row], others[row], (before[row], after[row])) for row in lost
    ]
    return cases, 2 * len(points)


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
        sizes = np.bincount(ids[inside], weights=weight[inside], minlength=len(groups))
        hits = np.bincount(ids[inside], weights=(amounts * weight)[inside], minlength=len(groups))
        rows = np.bincount(ids[inside & (weight > 0)], minlength=len(groups))
        members = np.flatnonzero(sizes > 0)
        counted = (np.asarray(part[members], dtype=np.float64) for part in (hits, sizes, rows))
        return cls(groups, tuple(members.tolist()), *counted)

    @property
    def rates(self) -> Floats:
        """The rate of each group."""
        return self.hits / self.sizes

    @property
    def spread(self) -> float:
        """The largest difference of rates, rounded once: a score that equals a limit must not slip
        under it.
        """
        best, worst = (
            Fraction(float(self.hits[at])) / Fraction(float(self.sizes[at]))
            for at in (int(np.argmax(self.rates)), int(np.argmin(self.rates)))
        )
        return max(float(best - worst), 0.0)

    def exact(self, population: str, total: int) -> Estimate:
        """Return the spread where the tally is of the whole population."""
        self.need_two()
        value = self.spread
        return Estimate(value, value, value, total, 1.0, "enumerated", population)

    def sampled(self, level: float, population: str, *, graded: bool, empty: int = 0) -> Estimate:
        """Return the spread where the tally is of a sample whose size does not depend on what was
        seen.
        """
        self.need_two()
        find = confidence_sequences.mixture_spread if graded else intervals.spread
        low, high = (float(end) for end in find(self.hits, self.sizes, level))
        value = float(np.ptp(self.rates))
        method = "anytime" if graded else "exact"
        # Somebody of a group that nobody was seen of may be treated in any way.
        ends = min(low, value), 1.0 if empty else max(high, value)
        return Estimate(value, *ends, int(self.sizes.sum()), level, method, population)

    def wald(self, level: float, population: str) -> Estimate:
        """Return the spread with the formula of the papers, which does not hold its level."""
        rates, value = self.rates, float(np.ptp(self.rates))
        ends = [int(np.argmax(rates)), int(np.argmin(rates))]
        half = intervals.z_score(level) * float(
            np.sqrt((rates * (1 - rates) / self.sizes)[ends].sum())
        )
        low, high = max(value - half, 0.0), min(value + half, 1.0)
        return Estimate(value, low, high, int(self.sizes.sum()), level, "wald", population)

    def need_two(self) -> None:
        """Refuse to compare a group with nobody."""
        if len(self.members) < 2:
            names = " and ".join(self.groups.names)
            raise UsageError(
                f"{names}: this population has {len(self.members)} group, so there is nothing to"
                " compare; choose features with at least two values in it"
            )

    def listed(self, level: float, population: str, *, method: str) -> tuple[Group, ...]:
        """Return each group with its rate: "enumerated", or an "exact" or "anytime" interval, all
        holding together.
        """
        low, high = self._limits(level, method)
        said = (
            method
            if method in ("enumerated", "wald")
            else f"{method}, simultaneous over {len(self.members)} groups"
        )
        level = 1.0 if method == "enumerated" else level
        found = []
        for at, member in enumerate(self.members):
            rate, size = (
                float(self.rates[at]),
                int((self.sizes if self.rows is None else self.rows)[at]),
            )
            ends = min(float(low[at]), rate), max(float(high[at]), rate)
            estimate = Estimate(rate, *ends, size, level, said, population)
            found.append(Group(self.groups.label(member), estimate))
        return tuple(found)

    def _limits(self, level: float, method: str) -> tuple[Any, Any]:
        if method == "enumerated":
            return self.rates, self.rates
        if method == "wald":
            return intervals.wald(self.hits, self.sizes, level)
        if method == "exact":
            return intervals.by_group(self.hits, self.sizes, level)
        return confidence_sequences.mixture(
            self.hits, self.sizes, 1 - (1 - level) / len(self.members)
        )


def inhabited(groups: Groups, empty: NDArray[np.bool_]) -> tuple[int, ...]:
    """Return the groups that have somebody, or say that there are too few to compare."""
    members = tuple(np.flatnonzero(~empty).tolist())
    if len(members) < 2:
        Tally(groups, members, np.zeros(len(members)), np.ones(len(members))).need_two()
    return members
