"""Slope: how margins change with moves, learnt from the moves that were made, and how to make up
for a move.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from evenhand.space.design_matrix import columns, owners

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.strategies.moves import Moves
    from evenhand.space.feature import Points

    Numbers = NDArray[np.float64]

MEMORY = 0.98
"""How much of what was learnt a wave later still counts."""
RIDGE = 1e-4
"""What keeps the slopes of features that were hardly moved at zero, as a share of a typical move.
"""
ENOUGH = 100
"""Moves without which nothing is said."""
FLOOR = 0.02
"""What is added to a chance before its logarithm is taken: slopes may be wrong."""


class Slope:
    """A linear model of how the middle between the margins of a class moves with its features.

    Its middle at zero, a class has members on either side of the boundary: it is a hit.
    """

    def __init__(self, moves: Moves) -> None:
        self.moves = moves
        owner = owners(moves.probe.space, moves.probe.free)
        self._first = np.searchsorted(owner, np.arange(len(moves.features)))
        named = np.array([feature.kind == "category" for feature in moves.features], dtype=np.bool_)
        self._numbers, self._categories = np.flatnonzero(~named), np.flatnonzero(named)
        self._span = np.array(
            [float(feature.high - feature.low) or 1.0 for feature in moves.features]
        )
        size = max(len(owner), 1)
        self._products, self._targets = np.zeros((size, size)), np.zeros(size)
        self._weights: Numbers = np.zeros(size)
        self._seen = self._error = 0.0

    @property
    def ready(self) -> bool:
        """Whether enough moves were seen."""
        return self._seen >= ENOUGH

    def _moved(self, before: Points, after: Points) -> Numbers:
        space, free = self.moves.probe.space, self.moves.probe.free
        return columns(space, after, free) - columns(space, before, free)

    def learn(self, before: Points, after: Points, change: Numbers) -> None:
        """Take into account by how much the middle changed with moves."""
        moved = self._moved(before, after)
        if self.ready:
            wrong = change - np.einsum("ij,j->i", moved, self._weights)
            # The middle half tells of most moves; a few may jump from one region of the software to
            # another.
            spread = float(np.quantile(np.abs(wrong), 0.5)) / 0.6745
            self._error = spread if not self._error else 0.7 * self._error + 0.3 * spread
        # Not matrix products, which may add up in another order with another number of threads.
        self._products = MEMORY * self._products + np.einsum("ij,ik->jk", moved, moved)
        self._targets = MEMORY * self._targets + np.einsum("ij,i->j", moved, change)
        self._seen += len(change)
        scale = np.diag(self._products)
        ridge = RIDGE * np.maximum(scale, scale.mean()) + 1e-12
        self._weights = np.asarray(
            np.linalg.solve(self._products + np.diag(ridge), self._targets), dtype=np.float64
        )

    def change(self, before: Points, after: Points) -> Numbers:
        """Return by how much the middle is expected to change."""
        moves = self.moves
        # The same as with columns for each level, without writing them down.
        slopes = np.zeros(len(moves.features))
        slopes[self._numbers] = (self._weights[self._first] / self._span)[self._numbers]
        moved = after[:, moves.positions] - before[:, moves.positions]
        total = np.einsum("ij,j->i", moved, slopes)
        for place in self._categories.tolist():
            rows = np.flatnonzero(moved[:, place])
            position, first = moves.positions[place], self._first[place]
            new, old = (
                points[rows, position].astype(np.intp) + first for points in (after, before)
            )
            total[rows] += self._weights[new] - self._weights[old]
        return np.asarray(total)

    def mended(self, points: Points, middle: Numbers, rng: np.random.Generator) -> Points:
        """Return the points with one number each moved by as many steps as should take the middle
        to zero.
        """
        found: Points = np.array(points)
        if not len(self._numbers):
            return found
        which = self._numbers[rng.integers(0, len(self._numbers), len(points))]
        moves = self.moves
        slope = self._weights[self._first[which]] * moves.size[which] / self._span[which]
        with np.errstate(divide="ignore", invalid="ignore"):
            steps = np.nan_to_num(np.round(-middle / slope), nan=0.0, posinf=0.0, neginf=0.0)
        rows, column = np.arange(len(points)), moves.positions[which]
        reach = np.clip(steps, -moves.counts[which], moves.counts[which]) * moves.size[which]
        found[rows, column] = np.clip(
            found[rows, column] + reach, moves.low[which], moves.high[which]
        )
        return moves.snapped(found)

    def promise(self, middle: Numbers, gap: Numbers) -> Numbers:
        """Return the logarithm of how likely classes with such a middle, and such a gap between
        members, are hits.
        """
        error = max(self._error, 1e-12)
        chance = ndtr((gap / 2 - middle) / error) - ndtr((-gap / 2 - middle) / error)
        return np.asarray(np.log(chance + FLOOR))
