"""The draws that all sets of a search share, and variants of them that take values from draws of another outcome."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.population.samplers import Draws
    from evenhand.runtime.budget import Meter
    from evenhand.scores.twins import Trial
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

    def donors(self, rows: NDArray[np.intp], flipped: Iterable[NDArray[np.bool_]]) -> NDArray[np.intp]:
        """Return for each row (column) draws of another outcome, those first that sets flip least themselves."""
        size = min(len(self.points), POOL)
        often = np.zeros(size)
        for mine in flipped:
            often[: len(mine)] += mine[:size]
        ranks = np.empty(size)
        ranks[np.argsort(often, kind="stable")] = np.arange(size)
        ours, theirs = np.repeat(self.outcomes[:size], len(rows)), np.tile(self.outcomes[rows], size)
        apart = np.asarray(self.view.distance(ours, theirs) > 0).reshape(size, len(rows))
        order = np.argsort(ranks[:, None] + size * ~apart, axis=0, kind="stable")
        return order[: int(apart.sum(axis=0).max(initial=0))]


@dataclass(frozen=True)
class Donated:
    """Each of some points with the values of its donors."""

    pool: Pool
    names: tuple[str, ...]
    points: Points
    donors: NDArray[np.intp]

    @property
    def size(self) -> int:
        """How many variants of each point."""
        return len(self.donors)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        """Return the variants of the points with these numbers, donor by donor."""
        variants = np.asfortranarray(np.tile(self.points[rows], (self.size, 1)))
        givers = self.donors[:, rows].ravel()
        for name in self.names:
            column = self.pool.space.index(name)
            values = self.pool.points[givers, column]
            feature = self.pool.space.features[column]
            if math.isinf(feature.size):  # the variants of a binned feature are the middles of its bins
                middles = feature.values()
                values = middles[np.abs(values[:, None] - middles).argmin(axis=1)]
            variants[:, column] = values
        return variants


@dataclass(frozen=True)
class Joined:
    """The same stage of several sets, whose points follow each other; some may have fewer variants, or none."""

    parts: Sequence[Trial | None]
    lengths: Sequence[int]
    points: Points

    @property
    def size(self) -> int:
        """How many variants of each point."""
        return max((part.size for part in self.parts if part is not None), default=0)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        """Return the variants of the points with these numbers, variant by variant."""
        edges = np.concatenate([[0], np.cumsum(self.lengths)])
        made = []
        for part, start, stop in zip(self.parts, edges[:-1], edges[1:], strict=True):
            mine = rows[(rows >= start) & (rows < stop)]
            if len(mine):
                few = self.points[mine] if part is None or not part.size else part(mine - start)
                variants = few.reshape(-1, len(mine), few.shape[1])
                # A shorter stage repeats its first variants.
                made.append(variants[np.arange(self.size) % len(variants)])
        return np.asfortranarray(np.concatenate(made, axis=1).reshape(self.size * len(rows), -1))
