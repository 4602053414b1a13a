"""The protocol of a strategy: it proposes inputs and learns from what came of them, so its hits are no rate."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points


@dataclass(frozen=True, slots=True)
class Proposal:
    """Inputs to try; `pairs` holds for each the two assignments to compare, None stands for all of them."""

    points: Points
    pairs: NDArray[np.intp] | None = None
    asked: int = 0
    """Inputs that had to be asked to propose these."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a strategy has to work with: the probe, the seed, real rows to begin at, and what may be asked."""

    probe: Probe
    seed: int
    start: Points | None = None
    """Real rows, encoded, where there are any."""
    queries: float = float("inf")
    """How many inputs the whole search may ask."""
    prefer: str = "many"
    """What to find: as many inputs as possible, diverse ones, or realistic ones."""


class Strategy(Protocol):
    """Proposes inputs and observes which of them are discriminatory.

    A rate can never come from a strategy: what it proposes depends on what it has observed.
    """

    def propose(self, n: int) -> Proposal:
        """Return up to about `n` inputs to try next; none at all says that there is nothing left to try."""
        ...

    def observe(self, tried: Tried) -> int:
        """Learn from what was tried, and return how many of the inputs, from the first, count.

        What was tried is what was proposed, or its beginning where the budget ends. A strategy that proposes ahead of
        what it should have known takes back what it would not have proposed.
        """
        ...
