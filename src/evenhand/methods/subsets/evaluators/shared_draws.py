"""The draws that all sets of a search share, and which of them may lend their values to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.scores.twins import Donated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenhand.methods.subsets.evaluators.arrays import Flags, Names, Rows
    from evenhand.population.samplers import Draws
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

POOL = 256
"""Draws among which others look for values that may flip them."""


class Pool:
    """Draws with their own outcomes, asked once."""

    def __init__(self, view: View, draws: Draws) -> None:
        self.view = view
        self.draws = draws
        features = len(self.space.features)
        self.points: Points = np.empty((0, features))
        self.outcomes: NDArray[Any] = np.empty(0)

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    def extend(self, n: int, meter: Meter) -> bool:
        """Ask the first n draws where they were not asked before; False without budget for that."""
        have = len(self.points)
        if n - have > meter.left:
            return False
        if n > have:
            new_points = self.draws.take(have, n)
            new_outcomes = self.view.decide(new_points)
            meter.queries += n - have
            points = np.concatenate([self.points, new_points])
            self.points = np.asfortranarray(points)
            if have:
                self.outcomes = np.concatenate([self.outcomes, new_outcomes])
            else:
                # The first outcomes decide the dtype, which the empty array does not know.
                self.outcomes = new_outcomes
        return True

    def donors(self, rows: Rows, flipped: Iterable[Flags]) -> Rows:
        """Return for each row (column) the draws of another outcome, the most stable ones first.

        A draw that few sets flip is far from where the software changes its mind, so its values are
        more likely to carry another draw across.
        """
        size = min(len(self.points), POOL)
        times_flipped = np.zeros(size)
        for flipped_by_set in flipped:
            in_pool = flipped_by_set[:size]
            times_flipped[: len(in_pool)] += in_pool
        most_stable_first = np.argsort(times_flipped, kind="stable")
        ranks = np.empty(size)
        ranks[most_stable_first] = np.arange(size)

        donor_outcomes = np.repeat(self.outcomes[:size], len(rows))
        row_outcomes = np.tile(self.outcomes[rows], size)
        distances = self.view.distance(donor_outcomes, row_outcomes)
        is_donor = np.asarray(distances > 0).reshape(size, len(rows))
        # Draws of the same outcome get ranks beyond all others, so that they are sorted last.
        ranks_of_row = ranks[:, None] + size * ~is_donor
        order = np.argsort(ranks_of_row, axis=0, kind="stable")
        donors_of_row = is_donor.sum(axis=0)
        most_donors = int(donors_of_row.max(initial=0))
        return order[:most_donors]

    def donated(self, names: Names, points: Points, donors: Rows) -> Donated:
        """Return some points with the values of their donors."""
        return Donated(self.space, names, points, self.points, donors)
