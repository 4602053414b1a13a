"""Coarse cells of a space, four bins to a feature: they measure how widely a search has looked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.space.feature import empty_points
from evenhand.space.row_keys import mixed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Floats, Points
    from evenhand.space.space import Space

BINS = 4


@dataclass(frozen=True, slots=True)
class GridCells:
    """Which cell a point lies in: each of the features at these positions is cut into equal bins.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 0, 99)])
    >>> GridCells(space, (0, 1)).bins(np.array([[0.0, 10.0], [1.0, 99.0]])).tolist()
    [[0.0, 0.0], [1.0, 3.0]]
    """

    space: Space
    positions: tuple[int, ...]
    number: int = BINS

    def bins(self, points: Points) -> Points:
        """Return the bin of each feature of each point."""
        bins = empty_points(len(points), len(self.positions))
        for column, position in enumerate(self.positions):
            feature = self.space.features[position]
            bins[:, column] = _binned(feature, points[:, position], self.number)
        return bins

    def of(self, points: Points) -> NDArray[np.uint64]:
        """Return a number for each point that the points of its cell share."""
        return mixed(self.bins(points).T, len(points))


def _binned(feature: Feature, column: Floats, number: int) -> Floats:
    """Return the bin of each value; a feature of few values has a bin for each.

    What is missing has one more bin.
    """
    bins = _binned_known(feature, column, number)
    if feature.kind == "category" or not feature.missing:
        return bins
    extra = min(float(feature.size), float(number))
    return np.where(feature.is_missing(column), extra, bins)


def _binned_known(feature: Feature, column: Floats, number: int) -> Floats:
    if math.isinf(feature.size):
        index = column - feature.low
        size = float(feature.high - feature.low)
    else:
        index = column
        size = float(feature.size)
        if feature.kind != "category":
            step = feature.step or 1.0
            index = np.round((column - feature.low) / step)
        if size <= number:
            return index
    # The upper end of a range would be a bin of its own; it belongs to the last one.
    return np.minimum(np.floor(index * number / size), number - 1)
