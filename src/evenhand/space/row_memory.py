"""The rows that a space was inferred from: whom its inputs are like."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from evenhand.space.frames.reading import eager


@dataclass(frozen=True, eq=False)
class RowMemory:
    """Real rows that a space remembers, and where they are from.

    They are no part of what an input can be, so they count neither for equality nor for the digest,
    and they do not go along to workers or into files.
    """

    frame: Any = field(repr=False)
    name: str = ""
    """The file that they are from, where it is known."""
    made: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)
    """What was made of the rows, by its kind and the digest of the space that it was made for."""

    @classmethod
    def of(cls, frame: Any, name: str = "") -> RowMemory | None:
        """Keep the rows of a frame; None where there are none."""
        if frame is None:
            return None
        table = eager(frame)
        if not len(table):
            return None
        native = table.to_native()
        if type(native).__module__.startswith("pandas"):
            # A frame of its own, which shares its values until either of them is changed.
            native = native.copy(deep=False)
        return cls(native, name)
