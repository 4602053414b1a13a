"""Exact scores: every input of the part of a space that matters, asked once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SpaceError
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import case_of, farthest
from evenhand.space.feature import integer
from evenhand.space.row_keys import classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.results.evidence import Case
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

SMALL, SMALL_EXPENSIVE = 10_000, 256
"""Spaces of up to this many inputs are enumerated rather than sampled; fewer where an answer is
expensive.
"""


def part(space: Space, names: Sequence[str], most: int) -> Points | None:
    """Return every input of the part that matters, or None where there are more than `most`.

    Features that the software does not take, are not at issue and that no constraint speaks of are
    held still.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), category("diary", list("abcdef"), passed=False)])
    >>> len(part(space, ["sex"], 100))
    2
    """
    try:
        return whole(space, names, most)
    except SpaceError:
        return None


def whole(space: Space, names: Sequence[str], most: int) -> Points:
    """Return every input of the part that matters, or refuse with the numbers where there are more
    than `most`.
    """
    bound = {
        column
        for block in space.blocks(space.features)
        if block.predicates
        for column in block.columns
    }
    features = [
        feature if feature.passed or feature.name in names or column in bound else _still(feature)
        for column, feature in enumerate(space.features)
    ]
    return space.enumerate(most, features=features)


def _still(feature: Feature) -> Feature:
    """Return a feature with one value only, encoded as the first of the feature's own."""
    if feature.kind == "category":
        return integer(feature.name, 0, 0)
    low = feature.low if math.isinf(feature.size) else feature.values()[0]
    return type(feature)(feature.name, "real", low=float(low), high=float(low))


def causal(
    view: View, points: Points, outcomes: NDArray[Any], names: tuple[str, ...]
) -> tuple[NDArray[Any], NDArray[np.intp], list[Case]]:
    """Return for each point how far its farthest twin among the points is, their classes, and some
    cases.

    All twins must be among the points, as they are where the points are a whole space, or a
    population of its own.
    """
    space = view.subject.space
    ids = classes(points, space, names)
    hits = farthest(view, outcomes, ids)
    cases = []
    for row in np.flatnonzero(hits)[:CASES].tolist():
        mates = np.flatnonzero(ids == ids[row])
        apart = view.distance(outcomes[mates], np.broadcast_to(outcomes[row], len(mates)))
        changes = (points[mates] != points[row]).sum(axis=1)
        best = min(
            np.flatnonzero(apart).tolist(), key=lambda at: (changes[at], -float(apart[at]), at)
        )
        cases.append(
            case_of(space, points[row], points[mates[best]], (outcomes[row], outcomes[mates[best]]))
        )
    return hits, ids, cases
