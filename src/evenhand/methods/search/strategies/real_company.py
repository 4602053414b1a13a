"""Keeping a search among people who could exist: seeds and moves that stay near to real rows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.plausibility import OTHERS
from evenhand.methods.search.strategies.start_points import (
    FADING,
    NEAR,
    SeedSource,
    stirred,
)

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Generator, Indices, Numbers
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.methods.search.strategies.moves import FeatureMoves
    from evenhand.population.realism import Realism
    from evenhand.space.feature import Points
    from evenhand.space.row_keys import Seen

CHOICE = 4
"""How many changed rows are made for each that is proposed, of which the plausible ones go first.
"""
LOOKED_UP = 2048
"""Of how many classes of a wave, that are too far from their own row, another row is looked for."""
MOST_ASSIGNMENTS = 4096
"""With more assignments than this, which one a row has itself is not looked for."""
UNUSUAL_TWIN = 4.0
"""How much less welcome an input is whose twin holds values that are never seen together."""
UNREAL = 1.5
"""How much less welcome an input is that is not plausible."""


@dataclass(frozen=True)
class RealCompany:
    """Tells which inputs are plausible, by the real row that each was made of.

    To be near to that row is enough to be near to some row, and it takes no search for the nearest.
    Other inputs are asked about where there are too few plausible ones, as long as they are no more
    than half of what was found.
    """

    realism: Realism
    probe: Probe
    seen: Seen
    """The classes that were tried."""
    found: Counter[bool] = field(default_factory=Counter)
    """How many hits were plausible, and how many were not."""

    @property
    def rows(self) -> Points:
        """The rows that a search starts from, which are those that inputs are compared with."""
        return self.realism.rows

    def plausible(self, points: Points, origins: Indices) -> Flags:
        """Return which inputs are plausible as they are; those without an origin are not."""
        mask = origins >= 0
        known = np.flatnonzero(mask)
        rows = self.rows[origins[known]]
        inputs = points[known]
        near = self.realism.within_reach(inputs, rows)
        mask[known] = near & self.realism.together(inputs)
        return mask

    def real(self, points: Points, pairs: Indices, origins: Indices) -> Flags:
        """Return which classes have a plausible member among the two."""
        first = self.plausible(self.probe.member(points, pairs[:, 0]), origins)
        second = self.plausible(self.probe.member(points, pairs[:, 1]), origins)
        return np.asarray(first | second)

    def welcome(
        self,
        points: Points,
        pairs: Indices,
        origins: Indices,
        places: Indices,
    ) -> Numbers:
        """Return how welcome classes are; -inf for what is not to be asked about.

        Their origins are those at some places of `origins`, where a nearer row is written that some
        of them have.
        """
        unusual = np.zeros(len(points))
        for side in (0, 1):
            member = self.probe.member(points, pairs[:, side])
            unusual += ~self.realism.together(member)
        plausible = self.real(points, pairs, origins[places])
        strayed = np.flatnonzero(~plausible & (unusual < 2))[:LOOKED_UP]
        found = self._nearer(points[strayed], pairs[strayed])
        plausible[strayed] = found >= 0
        origins[places[strayed]] = np.where(found >= 0, found, origins[places[strayed]])
        welcome = np.where(plausible, 0.0, -UNREAL) - UNUSUAL_TWIN * unusual
        # Others are also hits, and easier to find; they must not outweigh the plausible ones.
        most = int(max(0, OTHERS * self.found[True] - self.found[False]))
        others = np.flatnonzero(~plausible)
        welcome[others[most:]] = -np.inf
        return welcome

    def _nearer(self, points: Points, pairs: Indices) -> Indices:
        """Return a row that each class has a plausible member near to, -1 where there is none."""
        found = np.full(len(points), -1, dtype=np.intp)
        for side in (0, 1):
            member = self.probe.member(points, pairs[:, side])
            rows, near = self.realism.nearest(member)
            real = near & self.realism.together(member)
            found = np.where(real, rows, found)
        return found

    def learn(self, points: Points, pairs: Indices, origins: Indices) -> Flags:
        """Count hits, and return which of them are plausible."""
        plausible = self.real(points, pairs, origins)
        self.found[True] += int(plausible.sum())
        self.found[False] += int((~plausible).sum())
        return plausible

    def best(self, points: Points, origins: Indices, n: int) -> Indices:
        """Return the places of `n` points: rather plausible ones, and those not tried before."""
        plausible = self.plausible(points, origins)
        fresh = np.zeros(len(points), dtype=np.bool_)
        fresh[self.seen.fresh(self.probe.keys(points))] = True
        rank = 2 * ~plausible + ~fresh
        return np.argsort(rank, kind="stable")[:n]

    def own_first(self, points: Points, pairs: Indices) -> Indices:
        """Return pairs of assignments that compare each point's own one with another."""
        own = self._own(points)
        size = len(self.probe.table)
        first = np.where(own < 0, pairs[:, 0], own)
        second = pairs[:, 1]
        second = np.where(second == first, (first + 1) % size, second)
        return np.stack([first, second], axis=1)

    def _own(self, points: Points) -> Indices:
        """Return which assignment each point has itself, -1 where it has none of them."""
        table = self.probe.table
        own = np.full(len(points), -1, dtype=np.intp)
        if len(table) > MOST_ASSIGNMENTS:
            return own
        values = points[:, list(self.probe.over)]
        equal = (values[:, None, :] == table).all(axis=2)
        return np.where(equal.any(axis=1), equal.argmax(axis=1), own)

    def with_own_values(self, points: Points, origins: Indices) -> Points:
        """Return points with the features at issue as the rows that they were made of have them."""
        found: Points = np.array(points, order="F")
        over = list(self.probe.over)
        found[:, over] = self.rows[origins][:, over]
        return found


class RealisticSeeds(SeedSource):
    """Real rows, each once in a random order, then plausible ones with a feature or two changed."""

    def __init__(self, moves: FeatureMoves, company: RealCompany, rng: Generator) -> None:
        super().__init__(moves)
        self._company = company
        self._order = rng.permutation(len(company.rows))
        self._next = 0

    def propose(self, n: int, rng: Generator) -> Points:
        """Return the next rows, and changed ones where they are used up."""
        rows = self._company.rows
        unused = self._order[self._next : self._next + n]
        self._next += len(unused)
        again = rng.integers(0, len(rows), CHOICE * (n - len(unused)))
        changed = stirred(self.moves, rows[again], rng)
        kept = self._company.best(changed, again, n - len(unused))
        self.origins = np.concatenate([unused, again[kept]])
        found = np.concatenate([rows[unused], changed[kept]])
        return np.asfortranarray(found)


class RealisticNearMisses(SeedSource):
    """Near misses that are plausible, a step or two changed so that they stay so."""

    def __init__(self, moves: FeatureMoves, company: RealCompany) -> None:
        super().__init__(moves)
        self._company = company
        self._points = moves.nothing
        self._known: Indices = np.empty(0, dtype=np.intp)
        self._near = np.empty(0)

    @property
    def ready(self) -> bool:
        """Whether anything came close."""
        return len(self._points) > 0

    def witness_with(self, tried: Tried, origins: Indices) -> None:
        """Keep what came close, the nearest and newest of it, each with the row it was made of."""
        missed = ~tried.hits & (tried.near > 0)
        rows = np.flatnonzero(missed & (origins >= 0))
        if not len(rows):
            return
        points = self._company.with_own_values(tried.points[rows], origins[rows])
        all_points = np.concatenate([self._points, points])
        all_origins = np.concatenate([self._known, origins[rows]])
        near = np.concatenate([self._near * FADING, tried.near[rows]])
        kept = np.sort(np.argsort(-near, kind="stable")[:NEAR])
        self._points = all_points[kept]
        self._known = all_origins[kept]
        self._near = near[kept]

    def propose(self, n: int, rng: Generator) -> Points:
        """Return near misses with one or two features changed, rather the nearer ones."""
        nearest_first = np.argsort(-self._near, kind="stable")
        shares = rng.random(CHOICE * n) ** 2
        rank = np.floor(shares * len(nearest_first)).astype(np.intp)
        chosen = nearest_first[rank]
        origins = self._known[chosen]
        changed = stirred(self.moves, self._points[chosen], rng)
        kept = self._company.best(changed, origins, n)
        self.origins = origins[kept]
        return np.asfortranarray(changed[kept])
