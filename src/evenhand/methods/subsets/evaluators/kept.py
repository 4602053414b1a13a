"""The tests behind the score of a set, as a suite keeps them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.scores.test_suite import Tests

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.subsets.evaluators.arrays import Flags, Names, Rows
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View


@dataclass(frozen=True, eq=False)
class KeptInputs:
    """Inputs, the draw that each belongs to, and which of them were drawn themselves."""

    points: Points
    draw: NDArray[np.int64]
    own: Flags

    @classmethod
    def drawn(cls, points: Points, draw: Rows) -> KeptInputs:
        """Return draws themselves."""
        return cls(points, draw.astype(np.int64), np.ones(len(points), dtype=np.bool_))

    @classmethod
    def twins(cls, points: Points, draw: Rows) -> KeptInputs:
        """Return variants of draws."""
        return cls(points, draw.astype(np.int64), np.zeros(len(points), dtype=np.bool_))

    @classmethod
    def variants(cls, space: Space, names: Names, points: Points, draw: Rows) -> KeptInputs:
        """Return every valid variant of some draws but the draws themselves."""
        if not len(points):
            return cls.twins(points, draw)
        every = space.variants(points, names)
        copies = len(every) // len(points)
        own = np.tile(points, (copies, 1))
        wanted = space.valid(every) & (every != own).any(axis=1)
        return cls.twins(every[wanted], np.tile(draw, copies)[wanted])

    def __add__(self, other: KeptInputs) -> KeptInputs:
        return KeptInputs(
            np.concatenate([self.points, other.points]),
            np.concatenate([self.draw, other.draw]),
            np.concatenate([self.own, other.own]),
        )

    def tests(self, view: View, kind: str, names: Names) -> Tests:
        """Return the inputs with their outcomes; only what is not remembered is asked again."""
        points = np.asfortranarray(self.points)
        outcomes = view.subject.decide(points)
        return Tests(kind, names, points, outcomes, self.draw, self.own)
