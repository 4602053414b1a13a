"""A view that shares large questions among workers; its answers do not depend on their number."""

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
class _AskElsewhere:
    """A call that asks one part of the inputs in another process.

    It also returns how many inputs were really run, which the subject of this process cannot see.
    """

    view: View

    def __call__(self, points: Points) -> tuple[NDArray[Any], int]:
        subject = self.view.subject
        executed_before = subject.executed
        outcomes = self.view.decide(points)
        return outcomes, subject.executed - executed_before


@dataclass(frozen=True)
class SharedView(View):
    """A view whose inputs are decided by several workers at once.

    They are where there are many inputs and no answers are remembered.
    """

    workers: Workers = field(kw_only=True, compare=False, repr=False)
    ask: _AskElsewhere = field(kw_only=True, compare=False, repr=False)
    pace: dict[str, float] = field(
        default_factory=dict, kw_only=True, compare=False, repr=False
    )
    """Seconds for each input, as the last question went that was not shared."""

    @classmethod
    def of(cls, view: View, workers: Workers) -> View:
        """Share a view among workers, if there are several and the software runs here."""
        if workers.width == 1 or view.subject.adapter.expensive:
            return view
        ask = _AskElsewhere(view)
        return cls(view.subject, view.name, view.target, workers=workers, ask=ask)

    def worth(self, points: Points) -> bool:
        """Return whether to share a question.

        That may follow the clock, since the answers do not.
        """
        if self.subject.remembers:
            return False
        width = self.workers.width
        inputs = len(points)
        if inputs >= LEAST * width:
            return True
        expected_seconds = inputs * self.pace.get("input", 0.0)
        return expected_seconds >= LONG and inputs >= 2 * width

    def shared(
        self, ask: Callable[[Points], tuple[Any, int]], points: Points
    ) -> Sequence[Any]:
        """Return what workers answered, part by part, and count what they ran."""
        shares = np.array_split(points, self.workers.width)
        parts = [np.asfortranarray(share) for share in shares]
        replies = self.workers.map(ask, parts)
        self.subject.asked += len(points)
        answers = []
        for answer, executed in replies:
            self.subject.executed += executed
            answers.append(answer)
        return answers

    def timed(self, ask: Callable[[Points], Any], points: Points) -> Any:
        """Ask in this process, and note how long that takes."""
        began = time.perf_counter()
        answers = ask(points)
        seconds = time.perf_counter() - began
        self.pace["input"] = seconds / max(len(points), 1)
        return answers

    def decide(self, inputs: Any) -> NDArray[Any]:
        """Return this output's outcome of each input."""
        if not isinstance(inputs, np.ndarray):
            return super().decide(inputs)
        if self.worth(inputs):
            outcomes = np.concatenate(self.shared(self.ask, inputs))
            self.subject.seen[self.name].add(outcomes)
            return outcomes
        found: NDArray[Any] = self.timed(super().decide, inputs)
        return found
