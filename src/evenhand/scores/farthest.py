"""How far each point's outcome is from that of its farthest twin, where all twins are asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Flags, Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View


def may_be_twins(space: Space, points: Points, names: Sequence[str]) -> Flags:
    """Return which points may be twins of others: those that lack no value at issue.

    Where a feature says so, its missing values are twins as well.
    """
    able = np.ones(len(points), dtype=np.bool_)
    for name in names:
        column = space.index(name)
        feature = space.features[column]
        if feature.missing and not feature.twins_missing:
            able &= ~feature.is_missing(points[:, column])
    return able


def farthest(
    view: View,
    outcomes: NDArray[Any],
    ids: NDArray[np.intp],
    able: Flags | None = None,
) -> NDArray[Any]:
    """Return the distance of each point's outcome to the farthest one of its class.

    Where some points only are `able` to be twins, it is the farthest of those.
    """
    values, codes = np.unique(outcomes, return_inverse=True)
    # The distinct outcomes of each class, class by class.
    every_pair = ids * len(values) + codes
    pairs = np.unique(every_pair if able is None else every_pair[able])
    sizes = np.bincount(pairs // len(values), minlength=int(ids.max(initial=-1)) + 1)
    starts = np.cumsum(sizes) - sizes
    found: NDArray[Any] = np.zeros(len(ids))
    for other in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes[ids] > other)
        theirs = values[pairs[starts[ids[rows]] + other] % len(values)]
        found[rows] = np.maximum(found[rows], view.distance(theirs, outcomes[rows]))
    if view.graded:
        return found
    return found > 0
