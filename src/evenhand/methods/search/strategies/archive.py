"""Archive: the hits of a search by the cell they lie in, and how well it went from each of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.space.grid import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Points

RECENT = 4096
"""How many of the newest hits count as recent."""
HEIRLOOM = 6.0
"""How many tries of its parent a hit inherits at most: what went well there goes well next door."""

STALE = 1.05
"""How much an archive may grow before its cells are counted anew, which takes sorting all of it."""
DEEP, SHALLOW = 0.5, 0.1
"""How much hits are preferred that margins tell to be far from being none, and what the shallowest
count.
"""


@dataclass(frozen=True, slots=True)
class Kin:
    """Hits: where they are, which assignments differ, whose children they are and of which row; -1
    stands for none.
    """

    points: Points
    pairs: NDArray[np.intp]
    parents: NDArray[np.intp]
    origins: NDArray[np.intp]
    depths: NDArray[np.float64]
    """How far each is from being none, from 0 to 1, where margins tell; 0 for all where they do
    not.
    """
    middles: NDArray[np.float64]
    gaps: NDArray[np.float64]
    """The middle between the margins of each, and how far apart they are."""


class Archive:
    """Holds hits in the order in which they came, and finds parents for new inputs among them."""

    def __init__(self, probe: Probe) -> None:
        self._of = Cells(probe.space, probe.free)
        width = len(probe.space.features)
        nobody, none = np.empty(0, dtype=np.intp), np.empty(0)
        self.hits = Kin(
            np.empty((0, width)), np.empty((0, 2), np.intp), nobody, nobody, none, none, none
        )
        self._wins: NDArray[np.float64] = np.empty(0)
        self._tries: NDArray[np.float64] = np.empty(0)
        self._cells = np.empty(0, dtype=np.uint64)
        self._known, self._counts = np.empty(0, dtype=np.uint64), np.empty(0, dtype=np.intp)
        self._order, self._starts = np.empty(0, dtype=np.intp), np.empty(0, dtype=np.intp)

    def __len__(self) -> int:
        return len(self.hits.points)

    @property
    def cells(self) -> int:
        """How many cells hold a hit."""
        return len(self._known)

    def add(self, new: Kin) -> NDArray[np.bool_]:
        """Add hits, and tell which of them lie in cells without one so far."""
        came = new.parents >= 0
        wins, tries = np.ones(len(came)), np.full(len(came), 2.0)
        tries[came] = np.minimum(self._tries[new.parents[came]], HEIRLOOM)
        wins[came] = self.robustness(new.parents[came]) * tries[came]
        cells = self._of.of(new.points)
        novel: NDArray[np.bool_] = self.crowd(cells) == 0
        old = self.hits
        self.hits = Kin(
            np.concatenate([old.points, new.points]),
            np.concatenate([old.pairs, new.pairs]),
            np.concatenate([old.parents, new.parents]),
            np.concatenate([old.origins, new.origins]),
            np.concatenate([old.depths, new.depths]),
            np.concatenate([old.middles, new.middles]),
            np.concatenate([old.gaps, new.gaps]),
        )
        self._wins, self._tries = (
            np.concatenate([self._wins, wins]),
            np.concatenate([self._tries, tries]),
        )
        self._cells = np.concatenate([self._cells, cells])
        if len(self) > STALE * len(self._order):
            self._order = np.argsort(self._cells, kind="stable")
            self._known, self._starts, self._counts = np.unique(
                self._cells[self._order], return_index=True, return_counts=True
            )
        return novel

    def learn(self, parents: NDArray[np.intp], hits: NDArray[np.bool_]) -> None:
        """Take into account how inputs next to these parents fared."""
        self._tries += np.bincount(parents, minlength=len(self))
        self._wins += np.bincount(parents, weights=hits, minlength=len(self))

    def robustness(self, parents: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how often inputs next to these hits were hits too."""
        return self._wins[parents] / self._tries[parents]

    def promise(self, parents: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the logarithm of how likely inputs next to these hits are believed to be hits."""
        return np.log(self.robustness(parents)) + DEEP * np.log(SHALLOW + self.hits.depths[parents])

    def cell_of(self, points: Points) -> NDArray[np.uint64]:
        """Return the number of each point's cell."""
        return self._of.of(points)

    def crowd(self, cells: NDArray[np.uint64]) -> NDArray[np.intp]:
        """Return how many hits each cell holds."""
        if not len(self._known):
            return np.zeros(len(cells), dtype=np.intp)
        place = np.minimum(np.searchsorted(self._known, cells), len(self._known) - 1)
        return np.where(self._known[place] == cells, self._counts[place], 0)

    def parents(self, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Draw parents: half of them from any cell alike, however many hits it holds, half from the
        recent hits.
        """
        half = n // 2
        cell = rng.integers(0, self.cells, half)
        inside = np.floor(rng.random(half) * self._counts[cell]).astype(np.intp)
        recent = rng.integers(max(0, len(self) - RECENT), len(self), n - half)
        return np.concatenate([self._order[self._starts[cell] + inside], recent])
