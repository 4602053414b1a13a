"""Found: the discriminatory inputs of a search, each class once, with the twin that shows it."""

from __future__ import annotations

from collections import Counter
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.plausibility import OTHERS, plausible_classes
from evenhand.methods.search.probe import Probe
from evenhand.space.grid import GridCells
from evenhand.space.row_keys import Seen

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Indices, Outcomes
    from evenhand.methods.search.probe import Tried
    from evenhand.population.realism import Realism
    from evenhand.space.feature import Points


class Found:
    """Collects the hits of a search, in the order in which they were found."""

    def __init__(self, probe: Probe, most: int | None = None) -> None:
        self.probe = probe
        self.most = most
        self._seen = Seen()
        self._cells = Seen()
        self._grid = GridCells(probe.space, probe.free)
        self._parts: list[Tried] = []

    def __len__(self) -> int:
        return len(self._seen)

    @property
    def cells(self) -> int:
        """How many coarse cells hold an input that was found."""
        return len(self._cells)

    @property
    def full(self) -> bool:
        """Whether as many were found as are wanted."""
        return self.most is not None and len(self) >= self.most

    def lacks(self, tried: Tried) -> Flags:
        """Return which classes were not found before."""
        return self._seen.fresh(tried.keys)

    def add(self, tried: Tried) -> int:
        """Add the hits that are new, as many as are wanted, and return how many there were."""
        hits = tried.take(np.flatnonzero(tried.hits))
        new = np.flatnonzero(self._seen.fresh(hits.keys))
        if self.most is not None:
            new = new[: self.most - len(self)]
        if len(new):
            kept = hits.take(new)
            self._seen.add(kept.keys)
            self._cells.add(self._grid.of(kept.points))
            self._parts.append(kept)
        return len(new)

    def turned(self, rows: Flags) -> Found:
        """Return the same with some individuals and their twins exchanged."""
        other = copy(self)
        tried = self.tried
        turned = replace(
            tried,
            first=np.where(rows, tried.second, tried.first),
            second=np.where(rows, tried.first, tried.second),
            pair=np.where(rows, tried.pair[::-1], tried.pair),
        )
        other._parts = [turned]
        return other

    @property
    def tried(self) -> Tried:
        """All of them as they were tried; at least one must have been found."""
        if len(self._parts) > 1:
            self._parts = [self._parts[0].joined(self._parts[1:])]
        return self._parts[0]

    @property
    def points(self) -> Points:
        """A member of each class, with the first assignment."""
        if not self._parts:
            width = len(self.probe.space.features)
            return np.empty((0, width), order="F")
        return np.asfortranarray(self.tried.points)

    @property
    def pairs(self) -> Indices:
        """The two assignments of each class that differ in outcome.

        The less favoured is the first where that is known.
        """
        if not self._parts:
            return np.empty((0, 2), dtype=np.intp)
        return np.stack([self.tried.first, self.tried.second], axis=1)

    @property
    def outcomes(self) -> Outcomes:
        """The outcomes of those two, one row for each of the two."""
        if not self._parts:
            return np.empty((2, 0), dtype=object)
        return self.tried.pair

    @property
    def individuals(self) -> Points:
        """The discriminatory inputs."""
        return self.probe.member(self.points, self.pairs[:, 0])

    @property
    def twins(self) -> Points:
        """The twin of each, which differs only in the features at issue."""
        return self.probe.member(self.points, self.pairs[:, 1])


@dataclass(frozen=True)
class Watched(Probe):
    """Keeps every hit that is met on the way.

    What is asked to shrink or to explain counts for what is found.
    """

    found: Found = field(kw_only=True)
    classes: Counter[str] = field(default_factory=Counter, kw_only=True)
    """How many classes were asked about."""
    balance: Counter[str] = field(default_factory=Counter, kw_only=True)
    """How many of those found are plausible, and how many are not."""
    realism: Realism | None = field(default=None, kw_only=True)
    """Where plausible inputs are wanted, hits that are not are kept as far as these outweigh them.
    """

    def ask(self, points: Points, pairs: Indices | None = None) -> Tried:
        """Ask the members of each point's class, and keep the hits."""
        tried = super().ask(points, pairs)
        kept = tried
        if self.realism is not None:
            kept = tried.take(self._welcome_hits(tried, self.realism))
        self.found.add(kept)
        self.classes["tried"] += len(tried)
        return tried

    def _welcome_hits(self, tried: Tried, realism: Realism) -> Indices:
        """Return the new hits that are plausible, and as many others as these outweigh."""
        hits = np.flatnonzero(tried.hits)
        hits = hits[self.found.lacks(tried.take(hits))]
        if not len(hits):
            return hits
        if not self.balance:
            known = self.found
            plausible = plausible_classes(self, realism, known.points, known.pairs)
            self._weigh(plausible)
        new = tried.take(hits)
        pairs = np.stack([new.first, new.second], axis=1)
        plausible = plausible_classes(self, realism, new.points, pairs)
        others = np.flatnonzero(~plausible)
        most = int(max(0, OTHERS * self.balance["plausible"] - self.balance["others"]))
        welcome = plausible.copy()
        welcome[others[:most]] = True
        self._weigh(plausible[welcome])
        return hits[welcome]

    def _weigh(self, plausible: Flags) -> None:
        real = int(plausible.sum())
        self.balance["plausible"] += real
        self.balance["others"] += len(plausible) - real
