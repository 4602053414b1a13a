"""Variants: points whose values of some features are replaced, by every assignment or by some."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import SpaceError, clip
from evenhand.space.feature import combinations, count, empty_points, product

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points

MOST_ASSIGNMENTS = 1_000_000
"""The most value assignments of a set of features that are ever listed at once."""
MOST_BYTES = 2 << 30
"""The largest matrix of variants that is ever built at once."""


def every_assignment(features: Sequence[Feature]) -> Points:
    """Return every assignment of values to features; NaN stands for a point's own value."""
    for feature in features:
        if feature.derived:
            raise SpaceError(
                f"feature {feature.name!r} follows from {feature.derived} and cannot be varied by"
                " itself; name what it follows from"
            )
    total = combinations(feature.choices for feature in features)
    if total > MOST_ASSIGNMENTS:
        raise _too_many(features, total)
    columns = []
    for feature in features:
        # A value between the middles of bins is a choice too, or a larger set would have fewer
        # variants than a smaller.
        own = [np.nan] if math.isinf(feature.size) else []
        columns.append(np.array([*own, *feature.twin_values()]))
    return product(columns)


def _too_many(features: Sequence[Feature], total: float) -> SpaceError:
    for feature in features:
        if math.isinf(feature.variety):
            return SpaceError(
                f"feature {feature.name!r} is continuous; give it a step or bins to vary it"
            )
    factors = " × ".join(f"{feature.name} {feature.choices:,}" for feature in features)
    return SpaceError(
        f"{clip(factors, 300)} = {count(total)} assignments, over the {MOST_ASSIGNMENTS:,} that are"
        " listed at once"
    )


def check_size(points: Points, table: Points) -> None:
    """Refuse variants of points that would not fit into memory."""
    width = points.shape[1]
    size = len(table) * len(points) * width * 8
    if size > MOST_BYTES:
        raise SpaceError(
            f"{len(points):,} points × {len(table):,} assignments × {width} features are over"
            f" {MOST_BYTES >> 30} GiB; vary fewer points at once"
        )


def points_under(points: Points, positions: Sequence[int], table: Points) -> Points:
    """Return every point under each assignment of a table, assignment by assignment."""
    width = points.shape[1]
    out = empty_points(len(table) * len(points), width)
    # A row of these views is an assignment, and a column is a point.
    views = [out[:, at].reshape(len(table), len(points)) for at in range(width)]
    for position, view in enumerate(views):
        view[:] = points[:, position]
    for column, position in enumerate(positions):
        values = table[:, column]
        is_given = ~np.isnan(values)
        views[position][is_given] = values[is_given, None]
    return out


def own_assignment(
    points: Points,
    features: Sequence[Feature],
    positions: Sequence[int],
) -> NDArray[np.intp]:
    """Return which of `every_assignment` each point has itself; -1 where it has none of them."""
    index = np.zeros(len(points), dtype=np.intp)
    is_listed = np.ones(len(points), dtype=np.bool_)
    for feature, position in zip(features, positions, strict=True):
        if math.isinf(feature.size):
            # The first choice of a continuous feature is a point's own value, at place 0.
            index *= int(feature.choices)
            continue
        column = points[:, position]
        values = feature.twin_values()
        place = np.searchsorted(values, column)
        place = np.minimum(place, len(values) - 1)
        is_listed &= values[place] == column
        index = index * len(values) + place
    return np.where(is_listed, index, -1)
