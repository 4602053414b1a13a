"""The rows that a space was inferred from: whom its inputs are like."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import SpaceError, clip, nearest
from evenhand.space.frames.reading import eager
from evenhand.space.known_rows.fitting import fitting_rows
from evenhand.space.known_rows.learnt import learn

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.space.known_rows.learnt import Learnt
    from evenhand.space.space import Space


@dataclass(frozen=True, eq=False)
class RowMemory:
    """Real rows that a space remembers, and where they are from.

    They are no part of what an input can be, so they count neither for equality nor for the digest,
    and they do not go along to workers or into files.
    """

    frame: Any = field(repr=False)
    name: str = ""
    """The file that they are from, where it is known."""
    learn: bool = True
    """Whether joint constraints are learnt from them."""
    dropped: tuple[str, ...] = ()
    """The learnt constraints that do not count."""
    made: dict[tuple[str, str], Any] = field(default_factory=dict, repr=False)
    """What was made of the rows, by its kind and the digest of the space that it was made for."""

    @classmethod
    def of(cls, frame: Any, name: str = "", *, learn: bool = True) -> RowMemory | None:
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
        return cls(native, name, learn)

    def learnt(self, space: Space) -> tuple[Learnt, ...]:
        """Return the joint constraints that the rows keep and that were not dropped."""
        if not self.learn:
            return ()
        key = ("learnt", space.digest)
        if key not in self.made:
            _, points = fitting_rows(self.frame, space)
            if len(points):
                self.made[key] = learn(points, space)
            else:
                self.made[key] = ()
        known: tuple[Learnt, ...] = self.made[key]
        return tuple(rule for rule in known if rule.text not in self.dropped)

    def dropping(self, names: Sequence[str], space: Space) -> RowMemory:
        """Return the same rows, some of whose constraints do not count."""
        known = [rule.text for rule in self.learnt(space)]
        for name in names:
            if name not in known:
                raise SpaceError(
                    f"{clip(repr(name))} was not learnt from the rows; {nearest(name, known)}"
                )
        dropped = (*self.dropped, *names)
        return replace(self, dropped=dropped, made={})
