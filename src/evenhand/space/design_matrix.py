"""Points as columns for a linear or learnt model: numbers as shares of their range, a column for
each level.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space


def columns(space: Space, points: Points, positions: tuple[int, ...]) -> NDArray[np.float64]:
    """Return the features at these positions as columns; where there are none, a column of zeros.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("job", ["a", "b"]), integer("age", 20, 60)])
    >>> columns(space, np.array([[1.0, 30.0]]), (0, 1)).tolist(), owners(space, (0, 1)).tolist()
    ([[0.0, 1.0, 0.25]], [0, 0, 1])
    """
    found = np.zeros((len(points), max(len(owners(space, positions)), 1)))
    at = 0
    for position in positions:
        feature, column = space.features[position], points[:, position]
        if feature.kind == "category":
            found[np.arange(len(points)), at + column.astype(np.intp)] = 1.0
            at += len(feature.levels)
        else:
            found[:, at] = (column - feature.low) / (float(feature.high - feature.low) or 1.0)
            at += 1
    return found


def owners(space: Space, positions: tuple[int, ...]) -> NDArray[np.intp]:
    """Return the place among the positions of the feature that each column is of."""
    levels = [max(len(space.features[position].levels), 1) for position in positions]
    return np.repeat(np.arange(len(positions)), levels)
