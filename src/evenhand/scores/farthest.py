"""How far each point's outcome is from that of its farthest twin, where all twins are asked."""

from __future__ import annotations

from numbers import Real
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
    all_able = able is None or bool(able.all())
    if all_able and isinstance(view.differs, Real):
        return _farther_than(float(view.differs), outcomes, ids)
    values, codes = np.unique(outcomes, return_inverse=True)
    if all_able and view.differs is None:
        return in_mixed_classes(ids, codes)
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


def in_mixed_classes(ids: NDArray[np.intp], codes: NDArray[Any]) -> Flags:
    """Return which points are in a class whose points have not all the same code.

    >>> ids, codes = np.array([0, 0, 1, 1]), np.array([5, 6, 6, 6])
    >>> in_mixed_classes(ids, codes).tolist()
    [True, True, False, False]
    """
    classes = int(ids.max(initial=-1)) + 1
    code_of_one = np.zeros(classes, dtype=codes.dtype)
    code_of_one[ids] = codes
    differs = codes != code_of_one[ids]
    is_mixed = np.zeros(classes, dtype=np.bool_)
    is_mixed[ids[differs]] = True
    return is_mixed[ids]


def _farther_than(gap: float, outcomes: NDArray[Any], ids: NDArray[np.intp]) -> Flags:
    """Return which numbers differ by more than a gap from another one of their class."""
    numbers = outcomes.astype(np.float64)
    classes = int(ids.max(initial=-1)) + 1
    lowest = np.full(classes, np.inf)
    highest = np.full(classes, -np.inf)
    np.minimum.at(lowest, ids, numbers)
    np.maximum.at(highest, ids, numbers)
    down = numbers - lowest[ids]
    up = highest[ids] - numbers
    return np.asarray(np.maximum(down, up) > gap)
