"""Every input there is, where the budget reaches that far: then nothing is left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.base import Proposal, Strategy
from evenhand.runtime.random_streams import stream
from evenhand.space.row_keys import mixed
from evenhand.space.variants import MOST_ASSIGNMENTS

if TYPE_CHECKING:
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points


class Everything(Strategy):
    """Proposes a member of every class once, in the order of the space."""

    name = "everything"

    def __init__(self, points: Points) -> None:
        self._points = points
        self._next = 0

    @classmethod
    def of(cls, probe: Probe, queries: float) -> Everything | None:
        """Return the strategy, or None where queries or memory do not suffice for every input.

        >>> from evenhand.space.feature import category, integer
        >>> from evenhand.methods.search.probe import Probe
        >>> from evenhand.space.space import Space
        >>> from evenhand.subject.subject import Subject
        >>> from evenhand.subject.view import View
        >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
        >>> probe = Probe(View(Subject(lambda people: people["age"] > 30, space)), ("sex",))
        >>> Everything.of(probe, 145) is None, len(Everything.of(probe, 146).propose(1000).points)
        (True, 73)
        """
        every = _every_input(probe, queries)
        if every is None:
            return None
        every = probe.canonical(every)
        # What the software does not take may still decide which members constraints leave to
        # compare.
        keys = mixed(every.T, len(every)) if probe.space.constrained else probe.keys(every)
        _, first = np.unique(keys, return_index=True)
        points = every[np.sort(first)]
        if len(points) * len(probe.table) > queries:
            return None
        return cls(points)

    @property
    def done(self) -> bool:
        """Whether all of them were proposed."""
        return self._next >= len(self._points)

    def propose(self, n: int) -> Proposal:
        """Return the next inputs."""
        found = self._points[self._next : self._next + n]
        self._next += len(found)
        return Proposal(np.asfortranarray(found))

    def observe(self, tried: Tried) -> int:
        """Count all of them."""
        return len(tried)


def _every_input(probe: Probe, queries: float) -> Points | None:
    """Return every input of the space, or one of each class; None where there are too many."""
    if not probe.free and not probe.space.constrained:
        # All inputs are one class, which any of them stands for.
        return probe.space.draw(1, stream(0, "everything"))
    if probe.space.size > min(queries, MOST_ASSIGNMENTS):
        return None
    return probe.space.enumerate()
