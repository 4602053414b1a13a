"""scorecard: software that is a table of points, and the sum from which on people are accepted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.options import NUMBER, TABLE, Option, Options
from evenhand.subject.adapters.base import Adapter

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


class Scorecard(Adapter):
    """Points for the values of features: a table for a category, a factor for a number."""

    kind = "scorecard"
    value = Option("scorecard", TABLE, "the points of each feature")
    options = Options.of(
        Option("pass_mark", NUMBER, "the least sum of points that is accepted")
    )

    def __init__(self, points: Mapping[str, Any], *, pass_mark: float = 100) -> None:
        self.points = points
        self.pass_mark = pass_mark

    @property
    def identity(self) -> str:
        """The whole card, which is all there is to it."""
        return f"scorecard:{sorted(self.points.items())}:{self.pass_mark}"

    def run(self, points: Any, space: Any) -> Iterator[tuple[Any, Any]]:
        """Yield whether each input reaches the sum."""
        people = space.native(points)
        total = np.zeros(len(points))
        for name, worth in self.points.items():
            column = people[name]
            each = column.map(worth) if isinstance(worth, dict) else column * worth
            total += each.to_numpy(dtype=float)
        yield np.arange(len(points)), (total >= self.pass_mark).astype(int)
