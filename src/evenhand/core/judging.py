"""When a set's score is known to be on one side of the limit, at a level that holds for all sets of a search together.

Every set gets the same share of the error, and an interval that holds at all numbers of draws (Ville's inequality), so
sets may share draws, and be looked at in any order and as often as one likes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.core.anytime import mixture
from evenhand.core.estimate import Estimate
from evenhand.core.intervals import clopper_pearson
from evenhand.core.lattice import State, Tested

if TYPE_CHECKING:
    from collections.abc import Iterator

FIRST_LOOK = 16
LOOK_RATIO = 1.5


@dataclass(frozen=True, slots=True)
class Judge:
    """Decides sets against a limit; `sets` is how many share the level."""

    limit: float
    margin: float
    level: float
    sets: int
    population: str = ""

    @property
    def error(self) -> float:
        """The error left to one set."""
        return (1 - self.level) / self.sets

    def looks(self) -> Iterator[int]:
        """Yield the numbers of draws at which to look.

        >>> import itertools
        >>> list(itertools.islice(Judge(0.75, 0.05, 0.99, 3).looks(), 4))
        [16, 24, 36, 54]
        """
        n = FIRST_LOOK
        while True:
            yield n
            n = math.ceil(n * LOOK_RATIO)

    def rate(self, hits: float, n: int, *, whole: bool = True, graded: bool = False) -> Tested | None:
        """Return what n draws say of a set, or None where more are needed; without `whole`, hits are a lower bound.

        >>> Judge(0.75, 0.05, 0.99, 3).rate(0, 36).state.name
        'BELOW'
        """
        low, high = _floats(mixture(hits, n, 1 - self.error))
        alone = _floats(mixture(hits, n, self.level) if graded else clopper_pearson(hits, n, self.level))
        return self.interval(hits / n, low, high, n, alone=alone, whole=whole)

    def interval(
        self,
        value: float,
        low: float,
        high: float,
        n: int,
        *,
        alone: tuple[float, float],
        whole: bool = True,
        because: str = "tested",
    ) -> Tested | None:
        """Return what an interval says of a set, or None where it must get narrower.

        `alone` is the interval of this set by itself. Leaving a set undecided claims nothing, so it needs no correction
        for the other sets: it ends where the set's own score is known to within the margin, and not told from the
        limit even so.
        """
        low, high = min(low, value), max(high, value)
        if low >= self.limit:
            state = State.ABOVE
        elif high < self.limit:
            state = State.BELOW if whole else State.NOT_SHOWN
        elif self._near(value, low, high) or (self._near(value, *alone) and alone[0] <= self.limit <= alone[1]):
            state = State.UNDECIDED
        else:
            return None
        ends = low, high if whole else 1.0
        method = "anytime" if self.sets == 1 else f"anytime, simultaneous over {self.sets:,} sets"
        if not whole:
            method += ", lower bound"
        return Tested(state, Estimate(value, *ends, n, self.level, method, self.population), because)

    def _near(self, value: float, low: float, high: float) -> bool:
        return max(high - value, value - low) <= self.margin


def _floats(ends: tuple[Any, Any]) -> tuple[float, float]:
    return float(ends[0]), float(ends[1])
