"""Which rows of a frame are inputs of a space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import EvenhandError
from evenhand.space.encoding import taken_values
from evenhand.space.frames.reading import eager, values_of

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.space.feature import Points
    from evenhand.space.space import Space


def fitting_rows(frame: Any, space: Space) -> tuple[Any, Points]:
    """Return the rows that are inputs of the space, as a frame and encoded."""
    try:
        points = space.encode(frame)
    except EvenhandError:
        # Some row is no input, or the frame lacks a feature.
        frame = fitting(eager(frame).to_pandas(), space)
        points = space.encode(frame) if len(frame) else np.empty((0, 0))
        return frame, points
    valid = space.valid(points)
    if valid.all():
        return frame, points
    rows = np.flatnonzero(valid)
    kept = eager(frame)[rows.tolist()].to_native()
    return kept, np.asfortranarray(points[rows])


def fitting(frame: pd.DataFrame, space: Space) -> pd.DataFrame:
    """Return the rows that are inputs of the space, none where they lack a feature."""
    if not set(space.names) <= set(frame.columns):
        return frame.iloc[:0]
    in_space = np.ones(len(frame), dtype=np.bool_)
    for feature in space.features:
        in_space &= taken_values(feature, values_of(eager(frame), feature))
    known = frame[in_space]
    if not len(known):
        return known
    # Constraints are checked last: they are only defined for inputs of the space.
    keeps_constraints = space.valid(space.encode(known))
    return known[keeps_constraints]
