"""Exact scores of many sets, where every input of the population has been asked once."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets.evaluators.base import Evaluator
from evenhand.methods.subsets.lattice import State, Tested
from evenhand.results.evidence import Group
from evenhand.scores.enumeration import causal
from evenhand.scores.groups import Groups
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import case_of
from evenhand.space.distribution import numbered
from evenhand.space.row_keys import classes
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.subsets.decision import Judge
    from evenhand.results.evidence import Case
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.subject.view import View


class ExactSets(Evaluator):
    """Scores sets on a whole population: a space that was enumerated, or given rows."""

    exact = True

    def __init__(
        self,
        view: View,
        kind: str,
        points: Points,
        names: tuple[str, ...],
        judge: Judge,
        *,
        weights: NDArray[np.float64] | None = None,
    ) -> None:
        # Every set takes the same: nothing more is asked.
        super().__init__(view, names, judge, varieties=[1.0] * len(names))
        self.kind = kind
        self._points = points
        self._weights = weights
        self._outcomes = view.decide(points)
        self._cells_of: dict[str, NDArray[np.intp]] = {}

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Return the set's score."""
        names = self.members(mask)
        if self.kind == "causal":
            hits, _, cases = causal(self.view, self._points, self._outcomes, names)
            value = float(np.average(hits, weights=self._weights))
            return self._tested(value, tuple(cases))
        return self._group_tested(names)

    def _group_tested(self, names: tuple[str, ...]) -> Tested:
        """Return the highest rate of favourable outcomes minus the lowest (Themis, Def. 3.6)."""
        ids = self._groups(names)
        weights = np.ones(len(ids)) if self._weights is None else self._weights
        amounts = weights * self.view.amount(self._outcomes)
        inside = (ids >= 0) & (weights > 0)
        sizes = np.bincount(ids[inside], weights[inside])
        hits = np.bincount(ids[inside], amounts[inside])
        groups = np.flatnonzero(sizes > 0)
        if len(groups) < 2:
            return self._tested(0.0, ((), ()))
        rates = hits[groups] / sizes[groups]
        best = int(groups[np.argmax(rates)])
        worst = int(groups[np.argmin(rates)])
        # Fractions, since a score at the limit must not fall below it by rounding.
        highest = Fraction(hits[best]) / Fraction(sizes[best])
        lowest = Fraction(hits[worst]) / Fraction(sizes[worst])
        extremes = (
            self._listed(names, ids, best, hits[best] / sizes[best]),
            self._listed(names, ids, worst, hits[worst] / sizes[worst]),
        )
        cases = self._cases(names, ids, best, worst)
        return self._tested(float(highest - lowest), (extremes, cases))

    def _groups(self, names: tuple[str, ...]) -> NDArray[np.intp]:
        """Return the number of each point's group, -1 for points in none.

        Only groups that have somebody get a number.
        """
        cells = [self._cells(name) for name in names]
        columns = [cells_of_name.astype(np.float64) for cells_of_name in cells]
        ids = numbered(columns, len(self._points))
        in_a_group = np.all([cells_of_name >= 0 for cells_of_name in cells], axis=0)
        return np.where(in_a_group, ids, -1)

    def _cells(self, name: str) -> NDArray[np.intp]:
        if name not in self._cells_of:
            groups = Groups(self.view.subject.space, (name,))
            self._cells_of[name] = groups.of(self._points)
        return self._cells_of[name]

    def _listed(
        self, names: tuple[str, ...], ids: NDArray[np.intp], group: int, rate: float
    ) -> Group:
        """Return a group in the user's labels, with its rate."""
        members = ids == group
        first = int(np.argmax(members))
        space = self.view.subject.space
        about = {}
        for name in names:
            cell = int(self._cells(name)[first])
            label = Groups(space, (name,)).label(cell)
            about[name] = label[name]
        n = int(members.sum())
        estimate = Estimate(rate, rate, rate, n, 1.0, "enumerated", self.judge.population)
        return Group(about, estimate)

    def _cases(
        self, names: tuple[str, ...], ids: NDArray[np.intp], best: int, worst: int
    ) -> tuple[Case, ...]:
        """Return people of the best group whose outcome is favourable, beside refused twins.

        The twins are in the worst group, and alike in all features but those at issue.
        """
        if not self.view.counts:
            return ()
        space = self.view.subject.space
        favourable = self.view.favourable(self._outcomes)
        # People with the same number differ in nothing but the features at issue.
        alike = classes(self._points, space, names)
        refused = np.flatnonzero((ids == worst) & ~favourable)
        twin_of_class = np.full(int(alike.max(initial=0)) + 1, -1)
        twin_of_class[alike[refused]] = refused
        twins = twin_of_class[alike]
        accepted = np.flatnonzero((ids == best) & favourable & (twins >= 0))
        cases = []
        for row in accepted[:CASES].tolist():
            twin = int(twins[row])
            outcomes = self._outcomes[row], self._outcomes[twin]
            cases.append(case_of(space, self._points[row], self._points[twin], outcomes))
        return tuple(cases)

    def _tested(self, value: float, shown: object) -> Tested:
        n = len(self._points)
        estimate = Estimate(value, value, value, n, 1.0, "enumerated", self.judge.population)
        limit = self.judge.limit
        # Every score is at or over 0, so there a limit of 0 would condemn software that treats all
        # alike.
        is_above = value > 0 if limit == 0 else value >= limit
        state = State.ABOVE if is_above else State.BELOW
        return Tested(state, estimate, shown=shown)
