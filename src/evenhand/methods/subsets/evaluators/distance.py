"""Causal scores of many sets with outcomes compared by a distance in [0, 1] (Themis, Def. 3.3)."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.subsets.evaluators.causal import DONORS, CausalSets
from evenhand.methods.subsets.evaluators.kept import KeptInputs
from evenhand.scores.twins import twins_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.subsets.evaluators.arrays import Names, Rows
    from evenhand.methods.subsets.lattice import TestedSet
    from evenhand.runtime.budget import Meter
    from evenhand.scores.twins import Donated
    from evenhand.space.feature import Points


class GradedSets(CausalSets):
    """Tests sets for how far they move outcomes.

    All variants count, so there is no first flip to stop at.
    """

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return nothing: a few variants say little of how far the farthest moves an outcome."""
        return {}

    def test(self, mask: int, meter: Meter) -> TestedSet | None:
        """Return on which side of the limit a set's score is, from more and more draws."""
        known = self._distances_of.get(mask, np.zeros(0))
        looks = self.judge.anytime_looks(after=len(known))
        while True:
            if len(known):
                tested = self._graded(mask)
                if tested is not None:
                    return tested
                if meter.late:
                    return None
            n = next(looks)
            if not self.pool.extend(n, meter):
                return None
            new_distances = self._distances(mask, len(known), n, meter)
            if new_distances is None:
                return None
            known = np.concatenate([known, new_distances])
            self._distances_of[mask] = known

    def so_far(self, mask: int) -> TestedSet | None:
        """Return how far the draws asked so far are moved."""
        return self._graded(mask, last=True)

    def _graded(self, mask: int, *, last: bool = False) -> TestedSet | None:
        """Return what the distances say of a set, or None where more are needed."""
        distances = self._distances_of[mask]
        total = float(distances.sum())
        whole = self.enumerable(mask)
        tested = self.judge.graded(total, len(distances), whole=whole, last=last)
        if tested is None:
            return None
        return replace(tested, shown=())

    @cached_property
    def _distances_of(self) -> dict[int, NDArray[Any]]:
        """How far each draw's outcome is moved by each set, as far as it was asked."""
        return {}

    def kept(self, mask: int, n: int) -> KeptInputs | None:
        """Return draws with all their variants, or with those that donors gave."""
        names = self.members(mask)
        rows = np.arange(n)
        points = self.pool.points[rows]
        drawn = KeptInputs.drawn(points, rows)
        if self.enumerable(mask):
            return drawn + KeptInputs.variants(self.space, names, points, rows)
        trial = self._donated(names, rows)
        if not trial.size:
            return drawn
        variants = trial(rows)
        draw = np.tile(rows, trial.size)
        valid = self.space.valid(variants)
        return drawn + KeptInputs.twins(variants[valid], draw[valid])

    def _distances(
        self,
        mask: int,
        start: int,
        stop: int,
        meter: Meter,
    ) -> NDArray[Any] | None:
        """Return how far each draw's outcome can be moved; None where the budget ends."""
        names = self.members(mask)
        rows = np.arange(start, stop)
        if not self.enumerable(mask):
            return self._donated_distances(names, rows, meter)
        variants = self.space.assignments(names)
        cost = len(rows) * len(variants)
        if cost > meter.left:
            return None
        meter.queries += cost
        points = self.pool.points[rows]
        twins = twins_of(self.view, points, names)
        return np.asarray(twins.apart.max(axis=0))

    def _donated_distances(
        self,
        names: Names,
        rows: Rows,
        meter: Meter,
    ) -> NDArray[Any] | None:
        """Return how far the values of a few donors move each draw's outcome, a lower bound."""
        trial = self._donated(names, rows)
        cost = trial.size * len(rows)
        if cost > meter.left:
            return None
        if not trial.size:
            return np.zeros(len(rows))
        meter.queries += cost
        variants = trial(np.arange(len(rows)))
        distances = self._distances_to_own(variants, rows, trial.size)
        return np.asarray(distances.max(axis=0))

    def _donated(self, names: Names, rows: Rows) -> Donated:
        """Return draws with the values of a few donors."""
        points = self.pool.points[rows]
        donors = self.pool.donors(rows, ())
        return self.pool.donated(names, points, donors[: 4 * DONORS])

    def _distances_to_own(self, variants: Points, rows: Rows, copies: int) -> NDArray[Any]:
        """Return the distance of each variant (row) of each draw (column) to the draw itself."""
        own_outcomes = self.pool.outcomes[rows]
        own_outcomes = np.tile(own_outcomes, copies)
        outcomes = self.view.decide(variants)
        distances = self.view.distance(outcomes, own_outcomes)
        # Variants that break a constraint are nobody, so how they are treated counts for nothing.
        is_valid = self.space.valid(variants)
        distances = np.where(is_valid, distances, 0)
        return distances.reshape(copies, len(rows))
