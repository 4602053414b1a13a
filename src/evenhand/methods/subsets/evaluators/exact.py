"""Exact scores of many sets, where every input of the population has been asked once."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets.evaluators.base import Evaluator
from evenhand.methods.subsets.evaluators.kept import KeptInputs
from evenhand.methods.subsets.lattice import State, TestedSet
from evenhand.results.evidence import Group
from evenhand.runtime.label_text import labelled
from evenhand.scores.enumeration import cases_among
from evenhand.scores.farthest import farthest, in_mixed_classes, may_be_twins
from evenhand.scores.groups import Groups
from evenhand.scores.rates.groups import paired
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from numpy.typing import NDArray

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.evaluators.arrays import Names, Rows
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.view import View


SPARSE = 4
"""Numbers of classes may be this many times as large as there are points."""


class ExactSets(Evaluator):
    """Scores sets on a whole population: a space that was enumerated, or given rows."""

    exact = True

    def __init__(
        self,
        view: View,
        kind: str,
        points: Points,
        names: Names,
        judge: Judge,
        *,
        weights: Floats | None = None,
    ) -> None:
        # Every set takes the same: nothing more is asked.
        varieties = [1.0] * len(names)
        super().__init__(view, names, judge, varieties=varieties)
        self.kind = kind
        self._points = points
        self._weights = weights
        self._outcomes = view.decide(points)
        self._cells_of: dict[str, Rows] = {}
        self._codes_of: dict[int, NDArray[np.int32]] = {}

    def test(self, mask: int, meter: Meter) -> TestedSet | None:
        """Return the set's score."""
        names = self.members(mask)
        if self.kind == "causal":
            return self._causal_tested(names)
        return self._group_tested(names)

    def kept(self, mask: int, n: int) -> KeptInputs | None:
        """Return every input; of a causal score, those that are each other's twins as one draw."""
        draw = np.arange(len(self._points))
        if self.kind == "causal":
            draw = self._alike(self.members(mask))
        return KeptInputs.drawn(self._points, draw)

    def _causal_tested(self, names: Names) -> TestedSet:
        """Return the share of inputs, or how far they are moved (Themis, Definition 3.7)."""
        view = self.view
        points = self._points
        ids = self._alike(names)
        able = may_be_twins(self.space, points, names)
        if view.differs is None and able.all():
            hits: NDArray[Any] = in_mixed_classes(ids, self._outcome_codes)
        else:
            hits = farthest(view, self._outcomes, ids, able)
        average = np.average(hits, weights=self._weights)
        cases = cases_among(view, points, self._outcomes, ids, hits, able)
        return self._tested(float(average), tuple(cases))

    @cached_property
    def _outcome_codes(self) -> Rows:
        """The number of each point's outcome among the different ones."""
        _, codes = np.unique(self._outcomes, return_inverse=True)
        return np.asarray(codes)

    def _alike(self, names: Names) -> Rows:
        """Return a number for each point, shared by those that differ only in these features.

        What follows from these differs with them.
        """
        at_issue = self.space.sets(names)
        named = self.space.derivations.following(at_issue)
        every_column = range(len(self.space.features))
        others = [column for column in every_column if column not in named]
        codes = [self._codes(column) for column in others]
        return self._numbers(codes)

    def _codes(self, column: int) -> NDArray[np.int32]:
        """Return the number of each point's value of a feature among the different ones."""
        if column not in self._codes_of:
            values = self._points[:, column]
            _, codes = np.unique(values, return_inverse=True)
            # As many as there are inputs, for every feature: they take half of the memory so.
            self._codes_of[column] = codes.astype(np.int32)
        return self._codes_of[column]

    def _numbers(self, columns: Iterable[NDArray[Any]]) -> Rows:
        """Return a number for each point, which points share that are alike in all columns."""
        points = len(self._points)
        number = np.zeros(points, dtype=np.intp)
        numbers = 1
        for codes in columns:
            values = int(codes.max(initial=0)) + 1
            number = number * values + codes
            numbers *= values
            # Few of these numbers are taken where constraints leave out most combinations.
            if numbers > SPARSE * points:
                taken, number = np.unique(number, return_inverse=True)
                number = number.astype(np.intp)
                numbers = len(taken)
        return number

    def _group_tested(self, names: Names) -> TestedSet:
        """Return the highest rate of favourable outcomes minus the lowest (Themis, Def. 3.6)."""
        ids = self._groups(names)
        weights = self._weights
        if weights is None:
            weights = np.ones(len(ids))
        amounts = weights * self.view.amount(self._outcomes)
        inside = (ids >= 0) & (weights > 0)
        ids_inside = ids[inside]
        sizes = np.bincount(ids_inside, weights[inside])
        hits = np.bincount(ids_inside, amounts[inside])
        groups = np.flatnonzero(sizes > 0)
        if len(groups) < 2:
            return self._tested(0.0, ((), ()))
        rates = hits[groups] / sizes[groups]
        at_best = np.argmax(rates)
        at_worst = np.argmin(rates)
        best = int(groups[at_best])
        worst = int(groups[at_worst])
        # Fractions, since a score at the limit must not fall below it by rounding.
        highest = Fraction(hits[best]) / Fraction(sizes[best])
        lowest = Fraction(hits[worst]) / Fraction(sizes[worst])
        extremes = (
            self._listed(names, ids, best, rates[at_best]),
            self._listed(names, ids, worst, rates[at_worst]),
        )
        cases = self._cases(names, ids, best, worst)
        return self._tested(float(highest - lowest), (extremes, cases))

    def _groups(self, names: Names) -> Rows:
        """Return the number of each point's group, -1 for points in none."""
        cells = [self._cells(name) for name in names]
        # Points in no cell have the number -1.
        numbers = [cells_of_name + 1 for cells_of_name in cells]
        ids = self._numbers(numbers)
        in_a_cell = [cells_of_name >= 0 for cells_of_name in cells]
        in_a_group = np.all(in_a_cell, axis=0)
        return np.where(in_a_group, ids, -1)

    def _cells(self, name: str) -> Rows:
        if name not in self._cells_of:
            groups = Groups(self.view.subject.space, (name,))
            self._cells_of[name] = groups.of(self._points)
        return self._cells_of[name]

    def _listed(self, names: Names, ids: Rows, group: int, rate: float) -> Group:
        """Return a group in the user's labels, with its rate."""
        members = ids == group
        first = int(np.argmax(members))
        space = self.view.subject.space
        about = {}
        for name in names:
            cells = self._cells(name)
            groups = Groups(space, (name,))
            label = groups.label(int(cells[first]))
            about[name] = label[name]
        n = int(members.sum())
        return Group(labelled(about, space.words), self._estimate(rate, n))

    def _cases(self, names: Names, ids: Rows, best: int, worst: int) -> tuple[Case, ...]:
        """Return people of the best group whose outcome is favourable, beside refused twins.

        The twins are in the worst group, and alike in all features but those at issue.
        """
        if not self.view.counts:
            return ()
        sides = ids == best, ids == worst
        alike = self._alike(names)
        cases = paired(self.view, names, self._points, self._outcomes, sides, alike=alike)
        return tuple(cases)

    def _tested(self, value: float, shown: object) -> TestedSet:
        limit = self.judge.limit
        is_above = value >= limit
        if limit == 0:
            # Every score is at or over 0, also that of software which treats all alike.
            is_above = value > 0
        state = State.ABOVE if is_above else State.BELOW
        estimate = self._estimate(value, len(self._points))
        return TestedSet(state, estimate, shown=shown)

    def _estimate(self, value: float, n: int) -> Estimate:
        """Return a value that is known exactly."""
        return Estimate(
            value,
            low=value,
            high=value,
            n=n,
            level=1.0,
            method="enumerated",
            population=self.judge.population,
        )
