"""Exact scores: every input of the part of a space that matters, asked once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SpaceError
from evenhand.scores.farthest import farthest, may_be_twins
from evenhand.scores.sampling_loop import CASES
from evenhand.scores.twins import case_of, simplest
from evenhand.space.blocks import some_combinations
from evenhand.space.feature import combinations, integer
from evenhand.space.row_keys import classes

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.results.evidence import Case
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

SMALL = 10_000
"""Spaces of up to this many inputs are enumerated rather than sampled, where an answer is cheap."""
EXHAUSTIBLE = 1 << 24
"""The most inputs of cheap software that are enumerated, where drawing does not decide."""
IN_MEMORY = 1 << 21
"""The most inputs that are listed at once."""
AT_ONCE = 1 << 17
"""How many inputs are listed at once where there are more."""


def part(
    space: Space, names: Sequence[str], most: int, unread: Collection[str] = ()
) -> Points | None:
    """Return every input of the part that matters, or None where there are more than `most`.

    Features that the software does not take or read, are not at issue and that no constraint speaks
    of are held still.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> diary = category("diary", list("abcdef"), passed=False)
    >>> space = Space([category("sex", ["F", "M"]), diary])
    >>> len(part(space, ["sex"], 100))
    2
    """
    try:
        return whole(space, names, most, unread)
    except SpaceError:
        return None


def whole(
    space: Space, names: Sequence[str], most: int, unread: Collection[str] = ()
) -> Points:
    """Return every input of the part that matters.

    Where there are more than `most`, SpaceError gives the numbers.
    """
    return space.enumerate(most, features=_features(space, names, unread))


def part_size(
    space: Space, names: Sequence[str], unread: Collection[str] = ()
) -> int | float:
    """Return how many inputs the part that matters has, infinite where they cannot be listed.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> part_size(space, ["sex"]), part_size(space, ["sex"], {"age"})
    (146, 2)
    """
    try:
        blocks = space.blocks(_features(space, names, unread))
        if any(block.uncounted for block in blocks):
            return math.inf
        return combinations(block.size for block in blocks)
    except SpaceError:
        return math.inf


def parts(
    space: Space, names: Sequence[str], unread: Collection[str] = ()
) -> Iterator[Points]:
    """Yield every input of the part that matters, some at a time."""
    blocks = space.blocks(_features(space, names, unread))
    total = int(combinations(block.size for block in blocks))
    for start in range(0, total, AT_ONCE):
        yield some_combinations(
            blocks, len(space.features), start, min(start + AT_ONCE, total)
        )


def _features(space: Space, names: Sequence[str], unread: Collection[str]) -> list[Feature]:
    """Return the features of a space, those that do not matter with one value only."""
    constrained: set[int] = set()
    for block in space.blocks(space.features):
        if block.predicates:
            constrained.update(block.columns)
    features = []
    for column, feature in enumerate(space.features):
        is_read = feature.passed and feature.name not in unread
        matters = is_read or feature.name in names or column in constrained
        features.append(feature if matters else _still(feature))
    return features


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
    cases = cases_among(view, points, outcomes, ids, hits, able)
    return hits, ids, cases


def cases_among(
    view: View,
    points: Points,
    outcomes: NDArray[Any],
    ids: NDArray[np.intp],
    hits: NDArray[Any],
    able: NDArray[np.bool_],
) -> list[Case]:
    """Return the first hits with the twins of theirs that are most like them."""
    space = view.subject.space
    cases = []
    for row in np.flatnonzero(hits)[:CASES].tolist():
        mates = np.flatnonzero((ids == ids[row]) & able)
        own = np.broadcast_to(outcomes[row], len(mates))
        apart = view.distance(outcomes[mates], own)
        twin = mates[simplest(points[row], points[mates], apart)]
        pair = (outcomes[row], outcomes[twin])
        cases.append(case_of(space, points[row], points[twin], pair))
    return cases
