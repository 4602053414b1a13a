"""The rows that a space remembers as a population: those of them that are inputs of the space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.encoded_frame import EncodedFrame
from evenhand.population.rows import Rows
from evenhand.runtime.errors import EvenhandError
from evenhand.runtime.number_text import many
from evenhand.space.encoding import taken_values
from evenhand.space.frames.reading import eager, values_of

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.space.feature import Points
    from evenhand.space.row_memory import RowMemory
    from evenhand.space.space import Space


def remembered(space: Space) -> Rows | None:
    """Return the rows that a space remembers and that are inputs of it; None where there are none.

    >>> import pandas as pd
    >>> from evenhand.space.space import Space
    >>> people = pd.DataFrame({"sex": ["F", "M", "F"], "age": [20, 30, 40]})
    >>> space = Space.from_frame(people)
    >>> remembered(space).population(space)
    'the 3 remembered rows'
    >>> remembered(space.remembering(None)) is None
    True
    """
    memory = space.memory
    if memory is None:
        return None
    key = ("rows", space.digest)
    if key not in memory.made:
        memory.made[key] = _rows(space, memory)
    found: Rows | None = memory.made[key]
    return found


def remembered_frame(space: Space) -> Any:
    """Return the frame of these rows, with the columns that are no inputs; None without rows."""
    rows = remembered(space)
    return None if rows is None else rows.frame


def _rows(space: Space, memory: RowMemory) -> Rows | None:
    frame, points = _fitting_rows(memory.frame, space)
    if not len(points):
        return None
    source: EncodedFrame[Points] = EncodedFrame(frame)
    source.keep(space, points)
    words = _words(len(points), len(memory.frame), memory.name)
    return Rows("domain", None, None, "", source, words)


def _words(kept: int, known: int, name: str) -> str:
    """Return what the rows are called."""
    kind = "row" if name else "remembered row"
    origin = f" of {name}" if name else ""
    if kept == known:
        return f"the {many(kept, kind)}{origin}"
    of_all = f"the {kept:,} of {many(known, kind)}{origin}"
    return f"{of_all} that are inputs of the space"


def _fitting_rows(frame: Any, space: Space) -> tuple[Any, Points]:
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
