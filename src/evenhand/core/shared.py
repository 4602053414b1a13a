"""A view that shares large questions among workers; what it answers does not depend on how many there are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.views import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.core.feature import Points
    from evenhand.core.parallel import Workers

LEAST = 8192
"""Fewer inputs than this for each worker are not worth sending."""


@dataclass(frozen=True, slots=True)
class _Ask:
    """Asks one part of the inputs in another process, and tells how many were really run."""

    view: View

    def __call__(self, points: Points) -> tuple[NDArray[Any], int]:
        before = self.view.subject.executed
        return self.view.decide(points), self.view.subject.executed - before


@dataclass(frozen=True)
class SharedView(View):
    """A view whose inputs are decided by several workers at once, where they are many and nothing is remembered."""

    workers: Workers = field(kw_only=True, compare=False, repr=False)
    ask: _Ask = field(kw_only=True, compare=False, repr=False)

    @classmethod
    def of(cls, view: View, workers: Workers) -> View:
        """Share a view among workers, where there are several and the software runs in this process."""
        if workers.width == 1 or view.subject.adapter.dear:
            return view
        return cls(view.subject, view.name, view.target, workers=workers, ask=_Ask(view))

    def decide(self, inputs: Any) -> NDArray[Any]:
        """Return this output's outcome of each input."""
        few = not isinstance(inputs, np.ndarray) or len(inputs) < LEAST * self.workers.width
        if few or self.subject.remembers:
            return super().decide(inputs)
        parts = [np.asfortranarray(part) for part in np.array_split(inputs, self.workers.width)]
        answers = self.workers.map(self.ask, parts)
        self.subject.asked += len(inputs)
        self.subject.executed += sum(executed for _, executed in answers)
        return np.concatenate([outcomes for outcomes, _ in answers])
