"""What a space does with the real rows that it remembers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from evenhand.runtime.errors import SpaceError
from evenhand.space.known_rows.memory import RowMemory

if TYPE_CHECKING:
    from typing import Self

    from evenhand.space.known_rows.learnt import Learnt
    from evenhand.space.space import Space


class WithRows:
    """A space, as far as its rows are concerned."""

    memory: RowMemory | None

    def remembering(self, frame: Any, name: str = "", *, learn: bool = True) -> Self:
        """Return the same space with other real rows, or with none.

        Parameters
        ----------
        frame
            Any dataframe with the features as columns; None forgets the rows.
        name
            The file that they are from, for people.
        learn
            Whether joint constraints are learnt from them.

        Returns
        -------
        Space
            A space that is equal to this one.

        See Also
        --------
        See docs/how-to/populations.md.
        """
        return self._with(RowMemory.of(frame, name, learn=learn))

    @property
    def rows(self) -> Any:
        """The real rows that the space was inferred from, as a frame; None where it has none."""
        if self.memory is None:
            return None
        return self.memory.frame

    @property
    def learnt(self) -> tuple[Learnt, ...]:
        """The joint constraints that were learnt from the rows: they mark who could not exist."""
        if self.memory is None:
            return ()
        return self.memory.learnt(cast("Space", self))

    def dropping(self, *constraints: str) -> Self:
        """Return the same space without some learnt constraints, named by their text.

        Parameters
        ----------
        constraints
            The constraints as ``print(space)`` shows them.

        Returns
        -------
        Space
            A space that is equal to this one.

        Raises
        ------
        SpaceError
            If no such constraint was learnt.

        See Also
        --------
        See docs/how-to/spaces.md.
        """
        if self.memory is None:
            raise SpaceError("the space remembers no rows, so nothing was learnt from any")
        return self._with(self.memory.dropping(constraints, cast("Space", self)))

    def __getstate__(self) -> dict[str, Any]:
        # Rows may be many, and workers get what they need of them with the population.
        return {**vars(self), "memory": None}

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def _with(self, memory: RowMemory | None) -> Self:
        return cast("Self", replace(cast("Space", self), memory=memory))
