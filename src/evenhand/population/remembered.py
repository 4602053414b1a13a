"""The rows that a space remembers as a population: those of them that are inputs of the space."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.population.encoded_frame import EncodedFrame
from evenhand.population.rows import Rows
from evenhand.runtime.number_text import many
from evenhand.space.known_rows.fitting import fitting_rows

if TYPE_CHECKING:
    from evenhand.space.feature import Points
    from evenhand.space.known_rows.memory import RowMemory
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
    if rows is None:
        return None
    return rows.frame


def _rows(space: Space, memory: RowMemory) -> Rows | None:
    frame, points = fitting_rows(memory.frame, space)
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
