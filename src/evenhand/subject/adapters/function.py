"""A function that takes a frame of inputs and returns one outcome each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import BadOutcome, EvenhandError, SubjectCrashed, clip
from evenhand.runtime.fingerprint import fingerprint
from evenhand.subject.adapters.base import as_outcomes
from evenhand.subject.outputs import records_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space


class FunctionAdapter:
    """Calls a vectorised function: frame in, outcomes out."""

    dear = False
    outputs: tuple[str, ...] = ()

    def __init__(self, function: Callable[[Any], Any], *, identity: str | None = None) -> None:
        self.function = function
        self._identity = identity

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    @property
    def identity(self) -> str:
        """Name the function by its module, its name and what it does."""
        module = getattr(self.function, "__module__", "?")
        return self._identity or f"function:{module}:{self.name}:{fingerprint(self.function)}"

    def check(self, space: Space) -> None:
        """Any space fits: the function sees a frame of it."""

    def close(self) -> None:
        """Nothing to release."""

    def run(self, points: Points, space: Space) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Answer all points in one call."""
        try:
            answer = self.function(space.native(points))
        except EvenhandError:
            raise
        except Exception as error:
            raise SubjectCrashed(
                f"{self.name} raised {type(error).__name__} on {len(points):,} inputs: {clip(str(error))}"
            ) from error
        if self.outputs:
            yield np.arange(len(points)), records_of(answer, self.outputs, len(points), self.name)
            return
        # numpy would turn a list of texts and missing values into texts.
        outcomes = as_outcomes(answer) if isinstance(answer, list | tuple) else np.asarray(answer)
        if outcomes.shape[:1] != (len(points),):
            raise BadOutcome(
                f"{self.name} returned {_size(outcomes)} for {len(points):,} inputs; it must return one per input"
            )
        yield np.arange(len(points)), outcomes


def _size(outcomes: NDArray[Any]) -> str:
    return f"{outcomes.shape[0]:,} outcomes" if outcomes.ndim else f"the single value {clip(repr(outcomes.item()))}"
