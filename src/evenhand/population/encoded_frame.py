"""Sources: a frame that is turned into arrays once for each space it is used with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evenhand.runtime.errors import DataError, UsageError
from evenhand.space.dataframes import eager

if TYPE_CHECKING:
    from evenhand.space.space import Space

Made = TypeVar("Made")


class Source(Generic[Made]):
    """A frame, or a list of dictionaries, and what was made of it for each space; only the latter
    goes to workers.

    >>> Source([{"sex": "F"}]).rows
    1
    """

    def __init__(self, frame: Any) -> None:
        # Collected once, where the frame is lazy.
        known = frame is None or isinstance(frame, list)
        self.frame: Any = frame if known else eager(frame).to_native()
        self.rows = len(self.frame or ()) if known else len(self.frame)
        if frame is not None and not self.rows:
            raise DataError("the frame has no rows; a population needs at least one")
        self._made: dict[str, Made] = {}
        self._sent = False

    def lacks(self, space: Space) -> bool:
        """Tell whether nothing was made of the frame for a space so far; without a frame, nothing
        can be.
        """
        if space.digest in self._made:
            return False
        if self._sent:
            raise UsageError(
                "this population was copied without its frame, for another space; make it anew"
            )
        return True

    def keep(self, space: Space, made: Made) -> Made:
        """Keep what was made of the frame for a space."""
        self._made[space.digest] = made
        return made

    def made(self, space: Space) -> Made:
        """Return what was made of the frame for a space."""
        return self._made[space.digest]

    def __getstate__(self) -> dict[str, Any]:
        # The frame of any engine may be large, or not picklable at all; once encoded, it is not
        # needed again.
        if self.frame is None or not self._made:
            return vars(self)
        return {**vars(self), "frame": None, "_sent": True}
