"""Archive: the hits of a search by the cell they lie in, and how well it went from each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.space.grid import GridCells

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Generator, Indices, Keys, Numbers
    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points

RECENT = 4096
"""How many of the newest hits count as recent."""
INHERITED = 6.0
"""How many tries of its parent a hit inherits at most: what went well there goes well next door."""
STALE = 1.05
"""How much an archive may grow before its cells are counted anew, which takes sorting all of it."""
DEEP = 0.5
"""How much hits are preferred that are far from being none, where margins are known."""
SHALLOW = 0.1
"""What the shallowest hits count."""


@dataclass(frozen=True, slots=True)
class HitRecords:
    """Hits: where they are, which assignments differ, and whose children they are.

    A parent or origin of -1 stands for none.
    """

    points: Points
    pairs: Indices
    parents: Indices
    origins: Indices
    """The real row that each hit comes from."""
    depths: Numbers
    """How far each is from being none, from 0 to 1; 0 for all where margins are not known."""
    middles: Numbers
    """The middle between the margins of each."""
    gaps: Numbers
    """How far apart the margins of each are."""

    @classmethod
    def empty(cls, width: int) -> HitRecords:
        """Return no hits of points with so many features."""
        nobody = np.empty(0, dtype=np.intp)
        nothing = np.empty(0)
        return cls(
            points=np.empty((0, width)),
            pairs=np.empty((0, 2), np.intp),
            parents=nobody,
            origins=nobody,
            depths=nothing,
            middles=nothing,
            gaps=nothing,
        )

    def take(self, rows: Flags) -> HitRecords:
        """Return some of these hits."""
        return HitRecords(
            points=self.points[rows],
            pairs=self.pairs[rows],
            parents=self.parents[rows],
            origins=self.origins[rows],
            depths=self.depths[rows],
            middles=self.middles[rows],
            gaps=self.gaps[rows],
        )

    def followed_by(self, new: HitRecords) -> HitRecords:
        """Return these hits, then others."""
        return HitRecords(
            points=np.concatenate([self.points, new.points]),
            pairs=np.concatenate([self.pairs, new.pairs]),
            parents=np.concatenate([self.parents, new.parents]),
            origins=np.concatenate([self.origins, new.origins]),
            depths=np.concatenate([self.depths, new.depths]),
            middles=np.concatenate([self.middles, new.middles]),
            gaps=np.concatenate([self.gaps, new.gaps]),
        )


class Archive:
    """Holds hits in the order in which they came, and finds parents for new inputs among them."""

    def __init__(self, probe: Probe) -> None:
        self._grid = GridCells(probe.space, probe.free)
        self.hits = HitRecords.empty(len(probe.space.features))
        self._wins: Numbers = np.empty(0)
        self._tries: Numbers = np.empty(0)
        self._cells = np.empty(0, dtype=np.uint64)
        # The hits sorted by cell; of each cell known, where its hits start and how many there are.
        self._order = np.empty(0, dtype=np.intp)
        self._known = np.empty(0, dtype=np.uint64)
        self._starts = np.empty(0, dtype=np.intp)
        self._counts = np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.hits.points)

    @property
    def cells(self) -> int:
        """How many cells hold a hit."""
        return len(self._known)

    def add(self, new: HitRecords) -> Flags:
        """Add hits, and return which of them lie in cells without one so far."""
        is_child = new.parents >= 0
        parents = new.parents[is_child]
        tries = np.full(len(is_child), 2.0)
        wins = np.ones(len(is_child))
        tries[is_child] = np.minimum(self._tries[parents], INHERITED)
        wins[is_child] = self.robustness(parents) * tries[is_child]
        cells = self._grid.of(new.points)
        novel: Flags = self.crowd(cells) == 0
        self.hits = self.hits.followed_by(new)
        self._wins = np.concatenate([self._wins, wins])
        self._tries = np.concatenate([self._tries, tries])
        self._cells = np.concatenate([self._cells, cells])
        if len(self) > STALE * len(self._order):
            self._count_cells()
        return novel

    def _count_cells(self) -> None:
        """Sort all hits by their cells."""
        self._order = np.argsort(self._cells, kind="stable")
        self._known, self._starts, self._counts = np.unique(
            self._cells[self._order], return_index=True, return_counts=True
        )

    def learn(self, parents: Indices, hits: Flags) -> None:
        """Learn how inputs next to these parents fared."""
        self._tries += np.bincount(parents, minlength=len(self))
        self._wins += np.bincount(parents, weights=hits, minlength=len(self))

    def robustness(self, parents: Indices) -> Numbers:
        """Return how often inputs next to these hits were hits too."""
        return self._wins[parents] / self._tries[parents]

    def promise(self, parents: Indices) -> Numbers:
        """Return the logarithm of how likely inputs next to these hits are believed to be hits."""
        depths = self.hits.depths[parents]
        by_robustness = np.log(self.robustness(parents))
        by_depth = DEEP * np.log(SHALLOW + depths)
        return by_robustness + by_depth

    def cell_of(self, points: Points) -> Keys:
        """Return the number of each point's cell."""
        return self._grid.of(points)

    def crowd(self, cells: Keys) -> Indices:
        """Return how many hits each cell holds."""
        if not len(self._known):
            return np.zeros(len(cells), dtype=np.intp)
        last = len(self._known) - 1
        place = np.minimum(np.searchsorted(self._known, cells), last)
        is_known = self._known[place] == cells
        return np.where(is_known, self._counts[place], 0)

    def parents(self, n: int, rng: Generator) -> Indices:
        """Draw parents, half of them from the cells and half from the recent hits.

        All cells are as likely, however many hits they hold.
        """
        half = n // 2
        cell = rng.integers(0, self.cells, half)
        shares = rng.random(half)
        within = np.floor(shares * self._counts[cell]).astype(np.intp)
        from_cells = self._order[self._starts[cell] + within]
        oldest_recent = max(0, len(self) - RECENT)
        recent = rng.integers(oldest_recent, len(self), n - half)
        return np.concatenate([from_cells, recent])
