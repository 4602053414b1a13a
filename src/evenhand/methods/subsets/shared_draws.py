"""The draws that all sets of a search share, and which of them may lend their values to others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.scores.twins import Donated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenhand.population.samplers import Draws
    from evenhand.runtime.budget import Meter
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.view import View

POOL = 256
"""Draws among which others look for values that may flip them."""


class Pool:
    """Draws with their own outcomes, asked once."""

    def __init__(self, view: View, draws: Draws) -> None:
        self.view = view
        self.draws = draws
        self.points: Points = np.empty((0, len(self.space.features)))
        self.outcomes: NDArray[Any] = np.empty(0)

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    def extend(self, n: int, meter: Meter) -> bool:
        """Have at least n draws, or say that there is no budget for that."""
        have = len(self.points)
        if n - have > meter.left:
            return False
        if n > have:
            points = self.draws.take(have, n)
            outcomes = self.view.decide(points)
            meter.queries += n - have
            self.points = np.asfortranarray(np.concatenate([self.points, points]))
            self.outcomes = outcomes if not have else np.concatenate([self.outcomes, outcomes])
        return True

    def donors(
        self, rows: NDArray[np.intp], flipped: Iterable[NDArray[np.bool_]]
    ) -> NDArray[np.intp]:
        """Return for each row (column) draws of another outcome, those first that sets flip least
        themselves.
        """
        size = min(len(self.points), POOL)
        often = np.zeros(size)
        for mine in flipped:
            often[: len(mine)] += mine[:size]
        ranks = np.empty(size)
        ranks[np.argsort(often, kind="stable")] = np.arange(size)
        ours, theirs = (
            np.repeat(self.outcomes[:size], len(rows)),
            np.tile(self.outcomes[rows], size),
        )
        apart = np.asarray(self.view.distance(ours, theirs) > 0).reshape(size, len(rows))
        order = np.argsort(ranks[:, None] + size * ~apart, axis=0, kind="stable")
        return order[: int(apart.sum(axis=0).max(initial=0))]

    def donated(self, names: tuple[str, ...], points: Points, donors: NDArray[np.intp]) -> Donated:
        """Return some points with the values of their donors."""
        return Donated(self.space, names, points, self.points, donors)
