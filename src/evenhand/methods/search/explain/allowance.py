"""How much of a search's budget is set aside to shrink cases, and to explain where and why."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.runtime.budget import Meter

SET_ASIDE = 0.15
"""The share of the budget that is set aside to shrink cases and to explain where and why."""
MOST_SET_ASIDE = 6000
"""The most inputs that are set aside."""
LEAST_SET_ASIDE = 200
"""The fewest inputs that are set aside, or a quarter of what is left."""


@dataclass(frozen=True, slots=True)
class Allowance:
    """How many inputs may be asked to shrink cases, and to explain where and why."""

    shrink: int
    where: int
    why: int

    @classmethod
    def of(cls, meter: Meter, *, explain: bool) -> Allowance:
        """Return what is set aside; less where nothing is to be explained."""
        # In twentieths, so that the parts are whole numbers.
        twentieth = _set_aside(meter.left) // 20
        if explain:
            return cls(shrink=5 * twentieth, where=10 * twentieth, why=5 * twentieth)
        return cls(shrink=5 * twentieth, where=0, why=0)

    @property
    def total(self) -> int:
        """All of it."""
        return self.shrink + self.where + self.why

    def within(self, queries: float) -> Allowance:
        """Return the same parts of what may be asked at most."""
        share = min(1.0, queries / max(self.total, 1))
        return Allowance(
            shrink=int(share * self.shrink),
            where=int(share * self.where),
            why=int(share * self.why),
        )


def _set_aside(left: float) -> int:
    """Return how many inputs are set aside of those that may still be asked."""
    if math.isinf(left):
        return MOST_SET_ASIDE
    least = min(LEAST_SET_ASIDE, left / 4)
    return int(min(max(SET_ASIDE * left, least), MOST_SET_ASIDE))
