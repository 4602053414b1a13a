"""Exact scores of many sets, where every input of the population has been asked once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.core.campaign import CASES
from evenhand.core.estimate import Estimate
from evenhand.core.exact import causal
from evenhand.core.groups import Groups
from evenhand.core.lattice import State, Tested
from evenhand.core.rates import Tally
from evenhand.core.twins import case_of, classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.core.budget import Meter
    from evenhand.core.feature import Points
    from evenhand.core.judging import Judge
    from evenhand.core.results import Case
    from evenhand.core.views import View


class ExactSets:
    """Scores sets on a whole population: a space that was enumerated, or given rows."""

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
        self.view = view
        self.kind = kind
        self.names = names
        self.judge = judge
        self.most = np.inf
        self.varieties = [1.0] * len(names)  # every set takes the same: nothing more is asked
        self._points = points
        self._weights = weights
        self._outcomes = view.decide(points)

    def members(self, mask: int) -> tuple[str, ...]:
        """Return the features of a set."""
        return tuple(name for bit, name in enumerate(self.names) if mask >> bit & 1)

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return nothing: sets are tested as they are."""
        return {}

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Return the set's score."""
        names = self.members(mask)
        if self.kind == "causal":
            hits, _, cases = causal(self.view, self._points, self._outcomes, names)
            value = float(np.average(hits, weights=self._weights))
            return self._tested(value, tuple(cases))
        groups = Groups(self.view.subject.space, names)
        tally = Tally.of(groups, self._points, self.view.amount(self._outcomes), self._weights)
        rates = tally.rates
        if len(rates) < 2:
            return self._tested(0.0, ((), ()))
        listed = tally.listed(1.0, self.judge.population, method="enumerated")
        ends = listed[int(np.argmax(rates))], listed[int(np.argmin(rates))]
        return self._tested(tally.spread, (ends, self._moved(groups, tally)))

    def _moved(self, groups: Groups, tally: Tally) -> tuple[Case, ...]:
        """Return a few of the best group who get the favourable outcome, beside twins of the worst who do not."""
        if not self.view.counts:
            return ()
        best, worst = (tally.members[int(find(tally.rates))] for find in (np.argmax, np.argmin))
        space, good, ids = groups.space, self.view.favourable(self._outcomes), groups.of(self._points)
        alike = classes(self._points, space, groups.names)
        twin = np.full(int(alike.max(initial=0)) + 1, -1)
        theirs = np.flatnonzero((ids == worst) & ~good)
        twin[alike[theirs]] = theirs
        mine = np.flatnonzero((ids == best) & good & (twin[alike] >= 0))[:CASES].tolist()
        return tuple(
            case_of(
                space,
                self._points[row],
                self._points[twin[alike[row]]],
                (self._outcomes[row], self._outcomes[twin[alike[row]]]),
            )
            for row in mine
        )

    def _tested(self, value: float, shown: object) -> Tested:
        estimate = Estimate(value, value, value, len(self._points), 1.0, "enumerated", self.judge.population)
        state = State.ABOVE if value >= self.judge.limit else State.BELOW
        if self.judge.limit == 0:
            state = State.ABOVE if value > 0 else State.BELOW
        return Tested(state, estimate, shown=shown)
