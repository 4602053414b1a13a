"""Exact scores of many sets, where every input of the population has been asked once."""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.subsets.evaluator import Evaluator
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
        self._known: dict[str, NDArray[np.intp]] = {}

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Return the set's score."""
        names = self.members(mask)
        if self.kind == "causal":
            hits, _, cases = causal(self.view, self._points, self._outcomes, names)
            value = float(np.average(hits, weights=self._weights))
            return self._tested(value, tuple(cases))
        ids = self._groups(names)
        weight = np.ones(len(ids)) if self._weights is None else self._weights
        inside = (ids >= 0) & (weight > 0)
        sizes = np.bincount(ids[inside], weight[inside])
        hits = np.bincount(ids[inside], (weight * self.view.amount(self._outcomes))[inside])
        found = np.flatnonzero(sizes > 0)
        if len(found) < 2:
            return self._tested(0.0, ((), ()))
        rates = hits[found] / sizes[found]
        best, worst = (int(found[find(rates)]) for find in (np.argmax, np.argmin))
        value = float(
            Fraction(hits[best]) / Fraction(sizes[best])
            - Fraction(hits[worst]) / Fraction(sizes[worst])
        )
        ends = tuple(
            self._listed(names, ids, group, hits[group] / sizes[group]) for group in (best, worst)
        )
        return self._tested(value, (ends, self._moved(names, ids, best, worst)))

    def _groups(self, names: tuple[str, ...]) -> NDArray[np.intp]:
        """Return a number for each point that its group shares; only groups that have somebody get
        one.
        """
        cells = [self._cells(name) for name in names]
        ids = numbered([cell.astype(np.float64) for cell in cells], len(self._points))
        return np.where(np.all([cell >= 0 for cell in cells], axis=0), ids, -1)

    def _cells(self, name: str) -> NDArray[np.intp]:
        if name not in self._known:
            self._known[name] = Groups(self.view.subject.space, (name,)).of(self._points)
        return self._known[name]

    def _listed(
        self, names: tuple[str, ...], ids: NDArray[np.intp], group: int, rate: float
    ) -> Group:
        first = int(np.argmax(ids == group))
        space = self.view.subject.space
        about = {
            name: Groups(space, (name,)).label(int(self._cells(name)[first]))[name]
            for name in names
        }
        n = int((ids == group).sum())
        return Group(about, Estimate(rate, rate, rate, n, 1.0, "enumerated", self.judge.population))

    def _moved(
        self, names: tuple[str, ...], ids: NDArray[np.intp], best: int, worst: int
    ) -> tuple[Case, ...]:
        """Return a few of the best group who get the favourable outcome, beside twins of the worst
        who do not.
        """
        if not self.view.counts:
            return ()
        space, good = self.view.subject.space, self.view.favourable(self._outcomes)
        alike = classes(self._points, space, names)
        twin = np.full(int(alike.max(initial=0)) + 1, -1)
        theirs = np.flatnonzero((ids == worst) & ~good)
        twin[alike[theirs]] = theirs
        mine = np.flatnonzero((ids == best) & good & (twin[alike] >= 0))[:CASES].tolist()
        pairs = [(row, int(twin[alike[row]])) for row in mine]
        return tuple(
            case_of(
                space,
                self._points[one],
                self._points[other],
                (self._outcomes[one], self._outcomes[other]),
            )
            for one, other in pairs
        )

    def _tested(self, value: float, shown: object) -> Tested:
        estimate = Estimate(
            value, value, value, len(self._points), 1.0, "enumerated", self.judge.population
        )
        state = State.ABOVE if value >= self.judge.limit else State.BELOW
        if self.judge.limit == 0:
            state = State.ABOVE if value > 0 else State.BELOW
        return Tested(state, estimate, shown=shown)
