"""What asks some inputs of a run again, to see whether the software answers alike."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenhand.space.feature import Points


class Watcher(Protocol):
    """Chooses which draws are asked again, and asks them (`scores/chance/watch.py`)."""

    def draws(self, start: int, stop: int) -> NDArray[np.bool_]:
        """Return which draws are asked again, whatever came of them."""
        ...

    def hits(self, hits: NDArray[Any], start: int) -> NDArray[np.bool_]:
        """Return which draws are asked again since they are hits."""
        ...

    def look(self, points: Points, outcomes: NDArray[Any], output: str) -> None:
        """Ask inputs again that were chosen beforehand."""
        ...

    def confirm(self, points: Points, outcomes: NDArray[Any], output: str) -> None:
        """Ask inputs again that were chosen for their answers."""
        ...
