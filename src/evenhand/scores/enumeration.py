"""Exact scores: every input of the part of a space that matters, asked once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SpaceError
from evenhand.scores.farthest import farthest, may_be_twins
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import case_of, simplest
from evenhand.space.feature import integer
from evenhand.space.row_keys import classes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.results.evidence import Case
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

SMALL = 10_000
"""Spaces of up to this many inputs are enumerated rather than sampled."""
SMALL_EXPENSIVE = 256
"""The same, where an answer is expensive."""


def part(space: Space, names: Sequence[str], most: int) -> Points | None:
    """Return every input of the part that matters, or None where there are more than `most`.

    Features that the software does not take, are not at issue and that no constraint speaks of are
    held still.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> diary = category("diary", list("abcdef"), passed=False)
    >>> space = Space([category("sex", ["F", "M"]), diary])
    >>> len(part(space, ["sex"], 100))
    2
    """
    try:
        return whole(space, names, most)
    except SpaceError:
        return None


def whole(space: Space, names: Sequence[str], most: int) -> Points:
    """Return every input of the part that matters.

    Where there are more than `most`, SpaceError gives the numbers.
    """
    constrained: set[int] = set()
    for block in space.blocks(space.features):
        if block.predicates:
            constrained.update(block.columns)
    features = []
    for column, feature in enumerate(space.features):
        matters = feature.passed or feature.name in names or column in constrained
        features.append(feature if matters else _still(feature))
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
    """Return how far the farthest twin of each point is, the class of each, and some cases.

    All twins must be among the points, as they are where the points are a whole space, or a
    population of its own.
    """
    space = view.subject.space
    ids = classes(points, space, names)
    able = may_be_twins(space, points, names)
    hits = farthest(view, outcomes, ids, able)
    cases = []
    for row in np.flatnonzero(hits)[:CASES].tolist():
        mates = np.flatnonzero((ids == ids[row]) & able)
        own = np.broadcast_to(outcomes[row], len(mates))
        apart = view.distance(outcomes[mates], own)
        twin = mates[simplest(points[row], points[mates], apart)]
        pair = (outcomes[row], outcomes[twin])
        cases.append(case_of(space, points[row], points[twin], pair))
    return hits, ids, cases
