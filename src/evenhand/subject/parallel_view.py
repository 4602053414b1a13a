"""A view that shares large questions among workers; what it answers does not depend on how many
there are.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.subject.view import View

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenhand.runtime.workers import Workers
    from evenhand.space.feature import Points

LEAST = 8192
"""Fewer inputs than this for each worker are not worth sending, unless they take long."""
LONG = 0.2
"""Seconds of work that are always worth sharing."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """Asks one part of the inputs in another process, and tells how many were really run."""

    view: View

    def __call__(self, points: Points) -> tuple[NDArray[Any], int]:
        before = self.view.subject.executed
        return self.view.decide(points), self.view.subject.executed - before


@dataclass(frozen=True)
class SharedView(View):
    """A view whose inputs are decided by several workers at once, where they are many and nothing
    is remembered.
    """

    workers: Workers = field(kw_only=True, compare=False, repr=False)
    ask: _Ask = field(kw_only=True, compare=False, repr=False)
    pace: dict[str, float] = field(default_factory=dict, kw_only=True, compare=False, repr=False)
    """Seconds for each input, as the last question went that was not shared."""

    @classmethod
    def of(cls, view: View, workers: Workers) -> View:
        """Share a view among workers, where there are several and the software runs in this
        process.
        """
        if workers.width == 1 or view.subject.adapter.expensive:
            return view
        return cls(view.subject, view.name, view.target, workers=workers, ask=_Ask(view))

    def worth(self, points: Points) -> bool:
        """Tell whether to share a question; that may follow the clock, since the answers do not."""
        if self.subject.remembers:
            return False
        long = (
            len(points) * self.pace.get("input", 0.0) >= LONG
            and len(points) >= 2 * self.workers.width
        )
        return long or len(points) >= LEAST * self.workers.width

    def shared(self, ask: Callable[[Points], tuple[Any, int]], points: Points) -> Sequence[Any]:
        """Return what workers answered, part by part, and count what they ran."""
        parts = [np.asfortranarray(part) for part in np.array_split(points, self.workers.width)]
        answers = self.workers.map(ask, parts)
        self.subject.asked += len(points)
        self.subject.executed += sum(executed for _, executed in answers)
        return [answer for answer, _ in answers]

    def timed(self, ask: Callable[[Points], Any], points: Points) -> Any:
        """Ask in this process, and note how long that takes."""
        began = time.perf_counter()
        answers = ask(points)
        self.pace["input"] = (time.perf_counter() - began) / max(len(points), 1)
        return answers

    def decide(self, inputs: Any) -> NDArray[Any]:
        """Return this output's outcome of each input."""
        if not isinstance(inputs, np.ndarray):
            return super().decide(inputs)
        if self.worth(inputs):
            return np.concatenate(self.shared(self.ask, inputs))
        found: NDArray[Any] = self.timed(super().decide, inputs)
        return found
