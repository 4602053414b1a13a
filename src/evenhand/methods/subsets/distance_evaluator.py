"""Causal scores of many sets where outcomes are compared by a distance in [0, 1] (Def. 3.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.subsets.causal_evaluator import DONORS, CausalSets
from evenhand.scores.twins import twins_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.subsets.lattice import Tested
    from evenhand.runtime.budget import Meter


class GradedSets(CausalSets):
    """Tests sets for how far they move outcomes: all variants count, so there is no first to stop
    at.
    """

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return nothing: a few variants say little of how far the farthest moves an outcome."""
        return {}

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Look at more and more draws until the set's score is known to be on one side of the
        limit.
        """
        moved: NDArray[Any] = np.zeros(0)
        for n in self.judge.anytime_looks():
            more = self._moved(mask, len(moved), n, meter) if self.pool.extend(n, meter) else None
            if more is None:
                return None
            moved = np.concatenate([moved, more])
            found = self.judge.graded(float(moved.sum()), n, whole=self.enumerable(mask))
            if found is not None:
                return replace(found, shown=())
            if meter.late:
                return None
        raise AssertionError("looks never end")

    def _moved(self, mask: int, start: int, stop: int, meter: Meter) -> NDArray[Any] | None:
        """Return how far each draw's outcome can be moved; None where the budget ends."""
        rows, names = np.arange(start, stop), self.members(mask)
        points, base = self.pool.points[rows], self.pool.outcomes[rows]
        if self.enumerable(mask):
            cost = len(rows) * len(self.space.assignments(names))
            if cost > meter.left:
                return None
            meter.queries += cost
            return np.asarray(twins_of(self.view, points, names).apart.max(axis=0))
        trial = self.pool.donated(names, points, self.pool.donors(rows, ())[: 4 * DONORS])
        cost = trial.size * len(rows)
        if cost > meter.left:
            return None
        if not trial.size:
            return np.zeros(len(rows))
        meter.queries += cost
        variants = trial(np.arange(len(rows)))
        apart = self.view.distance(self.view.decide(variants), np.tile(base, trial.size))
        valid = np.where(self.space.valid(variants), apart, 0).reshape(trial.size, len(rows))
        return np.asarray(valid.max(axis=0))
