"""Slope: how margins change with moves, learnt from the moves that were made.

With it a search predicts what a move does to a margin, and makes up for a move by another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy.special import ndtr

from evenhand.runtime.workers import one_thread
from evenhand.space.design_matrix import MOST_LEVELS, columns, level_columns, owners

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Generator, Numbers
    from evenhand.methods.search.strategies.moves import FeatureMoves
    from evenhand.space.feature import Points

MEMORY = 0.98
"""How much of what was learnt still counts one wave later."""
RIDGE = 1e-4
"""What keeps the slopes of features that were hardly moved at zero, as a share of a typical move.
"""
ENOUGH = 100
"""Moves without which nothing is predicted."""
FLOOR = 0.02
"""What is added to a chance before its logarithm is taken: slopes may be wrong."""
NORMAL_QUARTILE = 0.6745
"""The median of the absolute value of a standard normal variable."""


class Slope:
    """A linear model of how the middle between the margins of a class moves with its features.

    A class whose middle is at zero has members on either side of the boundary: it is a hit.
    """

    def __init__(self, moves: FeatureMoves) -> None:
        self.moves = moves
        owner = owners(moves.probe.space, moves.probe.free, most=MOST_LEVELS)
        self._first = np.searchsorted(owner, np.arange(len(moves.features)))
        """The first column of each feature in the design matrix."""
        self._numbers = np.flatnonzero(~moves.is_category)
        self._categories = np.flatnonzero(moves.is_category)
        spans = [float(feature.high - feature.low) or 1.0 for feature in moves.features]
        self._span = np.array(spans)
        size = max(len(owner), 1)
        self._products = np.zeros((size, size))
        self._targets = np.zeros(size)
        self._weights: Numbers = np.zeros(size)
        self._seen = 0.0
        self._error = 0.0

    @property
    def ready(self) -> bool:
        """Whether enough moves were seen."""
        return self._seen >= ENOUGH

    def _moved(self, before: Points, after: Points) -> Numbers:
        """Return the differences of the design matrix that moves make."""
        space = self.moves.probe.space
        free = self.moves.probe.free
        ends = columns(space, after, free, most=MOST_LEVELS)
        return ends - columns(space, before, free, most=MOST_LEVELS)

    def learn(self, before: Points, after: Points, change: Numbers) -> None:
        """Learn from moves by how much each changed the middle."""
        moved = self._moved(before, after)
        if self.ready:
            self._learn_error(moved, change)
        # A ridge regression whose normal equations fade from wave to wave. Not by matrix products,
        # which may add up in another order with another number of threads.
        self._products = MEMORY * self._products + np.einsum("ij,ik->jk", moved, moved)
        self._targets = MEMORY * self._targets + np.einsum("ij,i->j", moved, change)
        self._seen += len(change)
        scale = np.diag(self._products)
        ridge = RIDGE * np.maximum(scale, scale.mean()) + 1e-12
        ridged = self._products + np.diag(ridge)
        with one_thread():
            weights = np.linalg.solve(ridged, self._targets)
        self._weights = np.asarray(weights, dtype=np.float64)

    def _learn_error(self, moved: Numbers, change: Numbers) -> None:
        """Update the standard deviation of the errors of predictions."""
        wrong = change - np.einsum("ij,j->i", moved, self._weights)
        # By the median, since a few moves may jump from one region of the software to another.
        spread = float(np.quantile(np.abs(wrong), 0.5)) / NORMAL_QUARTILE
        if self._error:
            self._error = 0.7 * self._error + 0.3 * spread
        else:
            self._error = spread

    def change(self, before: Points, after: Points) -> Numbers:
        """Return by how much the middle is expected to change."""
        moves = self.moves
        # The same as the product with the design matrix, whose columns for each level would take
        # much memory.
        slopes = np.zeros(len(moves.features))
        slope_of_each = self._weights[self._first] / self._span
        slopes[self._numbers] = slope_of_each[self._numbers]
        moved = after[:, moves.positions] - before[:, moves.positions]
        total = np.einsum("ij,j->i", moved, slopes)
        for which in self._categories.tolist():
            rows = np.flatnonzero(moved[:, which])
            position = moves.positions[which]
            first = self._first[which]
            feature = moves.features[which]
            new = level_columns(feature, after[rows, position], MOST_LEVELS) + first
            old = level_columns(feature, before[rows, position], MOST_LEVELS) + first
            total[rows] += self._weights[new] - self._weights[old]
        return np.asarray(total)

    def mended(self, points: Points, middle: Numbers, rng: Generator) -> Points:
        """Return the points with one number each moved so that the middle should be zero."""
        found: Points = np.array(points)
        if not len(self._numbers):
            return found
        picked = rng.integers(0, len(self._numbers), len(points))
        which = self._numbers[picked]
        moves = self.moves
        size = moves.size[which]
        slope = self._weights[self._first[which]]
        slope_of_a_step = slope * size / self._span[which]
        with np.errstate(divide="ignore", invalid="ignore"):
            wanted = np.round(-middle / slope_of_a_step)
            steps = np.nan_to_num(wanted, nan=0.0, posinf=0.0, neginf=0.0)
        most = moves.counts[which]
        reach = np.clip(steps, -most, most) * size
        rows = np.arange(len(points))
        column = moves.positions[which]
        moved = found[rows, column] + reach
        low = moves.low[which]
        high = moves.high[which]
        found[rows, column] = np.clip(moved, low, high)
        return moves.snapped(found)

    def promise(self, middle: Numbers, gap: Numbers) -> Numbers:
        """Return the logarithm of how likely classes are hits.

        A class is a hit where its true middle, normal around what is expected, is no further from
        zero than half the gap between its members.
        """
        error = max(self._error, 1e-12)
        upper = (gap / 2 - middle) / error
        lower = (-gap / 2 - middle) / error
        chance = ndtr(upper) - ndtr(lower)
        return np.asarray(np.log(chance + FLOOR))
