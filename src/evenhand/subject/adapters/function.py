"""A function that takes a frame of inputs and returns one outcome each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import BadOutcome, UsageError, clip
from evenhand.runtime.fingerprint import fingerprint
from evenhand.runtime.options import PLACE, Option, Options, refuse_unknown
from evenhand.runtime.values import as_outcomes
from evenhand.subject.adapters.base import (
    Adapter,
    crashes_reported,
    is_torch_module,
    tried_missing,
)
from evenhand.subject.options import IDENTITY
from evenhand.subject.outputs import records_of, refuse_masked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space


class FunctionAdapter(Adapter):
    """Calls a vectorised function: frame in, outcomes out."""

    kind = "function"
    value = Option(
        "function",
        PLACE,
        "a function that takes a frame of inputs and returns one outcome each",
    )
    options = Options.of(IDENTITY)
    takes_texts = True

    def __init__(
        self, function: Callable[[Any], Any], *, identity: str | None = None
    ) -> None:
        self.function = function
        self._identity = identity

    @classmethod
    def accepts(cls, model: Any) -> bool:
        """Return whether a model can be called, and is not a class or a model that predicts."""
        if isinstance(model, type) or hasattr(model, "predict") or is_torch_module(model):
            return False
        return callable(model)

    @classmethod
    def of(cls, value: Any, /, *, positive: Any = None, **options: Any) -> Adapter:
        """Build the adapter of a function.

        A configuration may also name a model as a function, which is asked as a model.
        """
        if not cls.accepts(value):
            from evenhand.subject.adapters.resolve import adapt

            return adapt(value, positive=positive, **options)
        if "threshold" in options or "output" in options:
            raise UsageError(
                "threshold and output are for estimators; let the function return what you want to"
                " test"
            )
        refuse_unknown(f"adapter {cls.kind!r}", options, cls.options.python)
        return cls(value, **options)

    @property
    def name(self) -> str:
        """The function's name, for messages."""
        return getattr(self.function, "__qualname__", type(self.function).__name__)

    @property
    def identity(self) -> str:
        """The function's module, its name, and a digest of what it does."""
        if self._identity:
            return self._identity
        module = getattr(self.function, "__module__", "?")
        return f"function:{module}:{self.name}:{fingerprint(self.function)}"

    def refuses_missing(self, space: Space) -> tuple[str, ...]:
        """Try what the function does not take: many ask a model that refuses gaps."""
        return tried_missing(self, space)

    def run(
        self, points: Points, space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Answer all points in one call."""
        with crashes_reported(self.name, len(points)):
            answer = self.function(space.native(points))
        refuse_masked(answer, self.name)
        rows = np.arange(len(points))
        if self.outputs:
            yield rows, records_of(answer, self.outputs, len(points), self.name)
            return
        if isinstance(answer, list | tuple):
            # numpy would turn a list of texts and missing values into texts.
            outcomes = as_outcomes(answer)
        else:
            outcomes = np.asarray(answer)
        if outcomes.shape[:1] != (len(points),):
            raise BadOutcome(
                f"{self.name} returned {_size(outcomes)} for {len(points):,} inputs; it must return"
                " one per input"
            )
        yield rows, outcomes


def _size(outcomes: NDArray[Any]) -> str:
    if outcomes.ndim:
        return f"{outcomes.shape[0]:,} outcomes"
    return f"the single value {clip(repr(outcomes.item()))}"
