"""Points as the columns of a linear or learnt model.

Numbers become shares of their range, and a category becomes a column of 0 and 1 for each level.
What may be missing has one more column of 0 and 1, and a missing number is the middle of its range.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Floats, Points
    from evenhand.space.space import Space


MOST_LEVELS = 512
"""With more levels than that some share a column in models that guide a search: they are fitted
again and again, and grow with the square of the columns or worse."""


def columns(
    space: Space, points: Points, positions: tuple[int, ...], *, most: int | None = None
) -> Floats:
    """Return the features at these positions as columns; where there are none, a column of zeros.

    The levels of a category have at `most` so many columns, and share them if need be.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("job", ["a", "b"]), integer("age", 20, 60)])
    >>> columns(space, np.array([[1.0, 30.0]]), (0, 1)).tolist(), owners(space, (0, 1)).tolist()
    ([[0.0, 1.0, 0.25]], [0, 0, 1])
    """
    rows = np.arange(len(points))
    width = max(len(owners(space, positions, most=most)), 1)
    matrix = np.zeros((len(points), width))
    start = 0
    for position in positions:
        feature = space.features[position]
        values = points[:, position]
        if feature.kind == "category":
            codes = level_columns(feature, values, most)
            matrix[rows, start + codes] = 1.0
        else:
            # A range of one value has length 0, and its share is 0.
            length = float(feature.high - feature.low) or 1.0
            matrix[:, start] = (values - feature.low) / length
            if feature.missing:
                missing = feature.is_missing(values)
                matrix[missing, start] = 0.5
                matrix[missing, start + 1] = 1.0
        start += _width(feature, most)
    return matrix


def used_columns(
    space: Space, points: Points, positions: tuple[int, ...]
) -> tuple[Floats, NDArray[np.intp]]:
    """Return the columns without those of levels that no point has, and what `owners` says of them.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("job", ["a", "b"]), integer("age", 20, 60)])
    >>> matrix, owner = used_columns(space, np.array([[1.0, 30.0]]), (0, 1))
    >>> matrix.tolist(), owner.tolist()
    ([[1.0, 0.25]], [0, 1])
    """
    parts = [np.zeros((len(points), 0))]
    for position in positions:
        if space.features[position].kind == "category":
            levels, codes = np.unique(points[:, position], return_inverse=True)
            parts.append(np.eye(len(levels))[codes])
        else:
            parts.append(columns(space, points, (position,)))
    widths = [part.shape[1] for part in parts[1:]]
    return np.concatenate(parts, axis=1), np.repeat(np.arange(len(positions)), widths)


def owners(
    space: Space, positions: tuple[int, ...], *, most: int | None = None
) -> NDArray[np.intp]:
    """Return for each column which of the positions its feature is at."""
    widths = [_width(space.features[position], most) for position in positions]
    return np.repeat(np.arange(len(positions)), widths)


def level_columns(
    feature: Feature, values: Floats, most: int | None = None
) -> NDArray[np.intp]:
    """Return the column of each value of a category, counted from the first of the feature.

    >>> from evenhand.space.feature import category
    >>> level_columns(category("job", list("abc")), np.array([0.0, 1.0, 2.0]), 2).tolist()
    [0, 1, 0]
    """
    codes = values.astype(np.intp)
    if most is None or len(feature.levels) <= most:
        return codes
    # What is missing keeps a column of its own, the last.
    return np.where(feature.is_missing(values), most, codes % most)


def _width(feature: Feature, most: int | None) -> int:
    """Return how many columns a feature has."""
    levels = max(len(feature.levels), 1)
    if most is not None:
        levels = min(levels, most)
    return levels + bool(feature.missing)
