"""Encoded frames: a frame is turned into arrays once for each space that it is used with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from evenhand.runtime.errors import DataError, UsageError
from evenhand.space.frames.reading import eager

if TYPE_CHECKING:
    from evenhand.space.space import Space

Made = TypeVar("Made")


class EncodedFrame(Generic[Made]):
    """A frame, or a list of dictionaries, and what was made of it for each space.

    Only what was made goes to workers.

    >>> EncodedFrame([{"sex": "F"}]).rows
    1
    """

    def __init__(self, frame: Any) -> None:
        self.frame: Any = frame
        if frame is not None and not isinstance(frame, list):
            # Collected once, where the frame is lazy.
            self.frame = eager(frame).to_native()
        self.rows = 0 if self.frame is None else len(self.frame)
        if frame is not None and not self.rows:
            raise DataError("the frame has no rows; a population needs at least one")
        self._made: dict[str, Made] = {}
        self._sent = False

    def lacks(self, space: Space) -> bool:
        """Return whether nothing was made of the frame for a space so far.

        Without a frame nothing can be made any more, which is a UsageError.
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
