"""Every input there is, where the budget reaches that far: then nothing is left open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.base import Proposal, Strategy
from evenhand.runtime.random_streams import stream
from evenhand.space.row_keys import mixed
from evenhand.space.space import MOST_ASSIGNMENTS

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
        """Return the strategy where so many queries, and the memory at hand, suffice to try every
        input, else None.

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
        if not probe.free and not probe.space.constraints:
            every = probe.space.draw(1, stream(0, "everything"))  # all inputs are one class
        elif probe.space.size > min(queries, MOST_ASSIGNMENTS):
            return None
        else:
            every = probe.space.enumerate()
        every = probe.canonical(every)
        # What the software does not take may still decide which members constraints leave to
        # compare.
        keys = mixed(every.T, len(every)) if probe.space.constraints else probe.keys(every)
        points = every[np.sort(np.unique(keys, return_index=True)[1])]
        return cls(points) if len(points) * len(probe.table) <= queries else None

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
