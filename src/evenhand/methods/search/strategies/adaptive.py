"""The adaptive strategy: many walkers in lock step flood outward from known hits.

Known hits are mutated with moves that a bandit has learnt lead from hit to hit; of more candidates
than can be asked, those are asked that promise most and lie where few hits were found. A share of
the effort goes to seeds in new regions: uniform inputs, real rows, the way between inputs of
different outcomes, and near misses, as much from each as it pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.archive import Archive, HitRecords
from evenhand.methods.search.strategies.bandit import Arms
from evenhand.methods.search.strategies.base import Proposal, Strategy
from evenhand.methods.search.strategies.boundary import Bisection, Edges
from evenhand.methods.search.strategies.margin_slope import Slope
from evenhand.methods.search.strategies.moves import FeatureMoves
from evenhand.methods.search.strategies.real_company import (
    RealCompany,
    RealisticNearMisses,
    RealisticSeeds,
)
from evenhand.methods.search.strategies.start_points import (
    MarginSeeds,
    NearMissSeeds,
    RealRowSeeds,
    SeedSource,
    UniformSeeds,
)
from evenhand.runtime.random_streams import stream
from evenhand.space.row_keys import Seen

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Indices, Numbers
    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.base import Setting
    from evenhand.space.feature import Points

CANDIDATES = 6
"""Candidates for each input that is asked."""
FEW = 64
"""With fewer hits than this, seeds are worth asking more than once for."""
AFFORDABLE = 64
"""How many queries must be left for each seed of a wave, for that to be afforded."""
LEAST_SEEDS = 0.04
"""The share of the effort that goes to seeds where flooding goes well."""
MOST_SEEDS = 0.5
"""The share of the effort that goes to seeds where flooding goes badly."""
LEAST_SHARE = 0.1
"""The share of the seeds that every source keeps, so that it can show that it pays again."""
LEAST_MENDED = 0.05
MOST_MENDED = 0.8
"""The least and the largest share of children that are mended."""
MENDING_SHARPNESS = 6
"""How strongly the better one of mending and not mending is preferred."""
MEMORY = 0.9
"""How much of what was learnt about sources and mending still counts one wave later."""
NOISE = 0.1
"""How much chance decides between candidates that promise the same."""
NOVELTY = {"many": 0.5, "diverse": 1.5, "realistic": 0.5}
"""How much an empty cell is preferred over a crowded one."""
REALISM = {"many": 0.0, "diverse": 0.0, "realistic": 30.0}
"""How much nearness to the real row that a hit comes from is preferred."""


@dataclass(frozen=True, slots=True)
class Wave:
    """What was proposed last: children of hits first, then the seeds of each source."""

    parents: Indices
    moves: Indices
    origins: Indices
    mended: Flags
    seeds: tuple[tuple[int, int], ...]
    """Of each source its number, and how many seeds it proposed."""


class Adaptive(Strategy):
    """Floods from known hits, and seeks new ones where that pays."""

    name = "adaptive"
    enumerates = True
    wants_margins = True

    def begin(self, setting: Setting) -> None:
        """Start without a hit, and with the same trust in every source."""
        self.probe = setting.probe
        self.prefer = setting.prefer
        self._rng = stream(setting.seed, "search", "adaptive")
        self._archive = Archive(self.probe)
        self._seen = Seen()
        self._start = setting.start
        self._company: RealCompany | None = None
        if self.prefer == "realistic" and setting.realism is not None:
            self._company = RealCompany(setting.realism, self.probe, self._seen)
            self._start = self._company.rows
        rows = None if self._company is None else self._company.rows
        self._moves = FeatureMoves(self.probe, rows)
        self._arms = Arms(self._moves)
        self._slope: Slope | None = None
        if self.probe.margins is not None and self.probe.margins.bounded:
            self._slope = Slope(self._moves)
        self._sources = self._all_sources()
        # What each source paid, in new cells with hits, and what it cost, in classes tried.
        self._paid = np.ones(len(self._sources))
        self._cost = np.full(len(self._sources), 2.0)
        # The hits among children, and the children.
        self._flooded = np.array([1.0, 1.0])
        # The same, of children that were not mended and of those that were.
        self._mended = np.ones((2, 2))
        self._wave: Wave | None = None
        self._left = setting.queries

    def _all_sources(self) -> list[SeedSource]:
        """Return where seeds come from; the first makes up for what others cannot give."""
        if self._company is not None:
            return [
                RealisticSeeds(self._moves, self._company, self._rng),
                RealisticNearMisses(self._moves, self._company),
            ]
        edges = Edges(self._moves)
        sources: list[SeedSource] = [
            UniformSeeds(self._moves),
            Bisection(self._moves, edges),
            edges,
            NearMissSeeds(self._moves),
        ]
        if self.probe.margins is not None and self.probe.margins.bounded:
            sources.append(MarginSeeds(self._moves, self.probe.margins))
        if self._start is None or not len(self._start):
            return sources
        real_rows = RealRowSeeds(self._moves, self._start, self._rng)
        if self.prefer == "realistic":
            # Uniform inputs are far from real rows.
            return [real_rows, *sources[1:]]
        return [real_rows, *sources]

    def propose(self, n: int) -> Proposal:
        """Return children of known hits, and seeds."""
        seeds = max(1, round(self._seeding() * n))
        if seeds < n:
            flood = self._flood(n - seeds)
        else:
            flood = _no_children(len(self.probe.space.features))
        parts, numbers = self._seeds(n - len(flood.points))
        points = np.concatenate([flood.points, *parts])
        seed_pairs = self._pairs(points[len(flood.points) :])
        pairs = np.concatenate([flood.pairs, seed_pairs])
        self._wave = Wave(flood.parents, flood.moves, flood.origins, flood.mended, numbers)
        return self._proposal(points, pairs)

    def _proposal(self, points: Points, pairs: Indices) -> Proposal:
        """Return a proposal that counts what the sources have asked for it."""
        asked = sum(source.asked for source in self._sources)
        self._left -= asked
        return Proposal(np.asfortranarray(points), pairs, asked)

    def _seeding(self) -> float:
        """Return the share of seeds: the larger, the fewer children of hits are hits.

        There is nothing but seeds while no hit is known to flood from.
        """
        if not len(self._archive) or not self.probe.free:
            return 1.0
        hits, children = self._flooded
        share = MOST_SEEDS * (1 - 2 * (hits / children))
        return float(np.clip(share, LEAST_SEEDS, MOST_SEEDS))

    def _flood(self, n: int) -> _Children:
        """Return the most promising of many children of known hits."""
        rng = self._rng
        archive = self._archive
        parents = archive.parents(CANDIDATES * n, rng)
        moves = self._arms.choose(len(parents), rng)
        points = self._arms.apply(archive.hits.points[parents], moves, rng)
        score = self._arms.promise(moves) + archive.promise(parents)
        mended = np.zeros(len(parents), dtype=np.bool_)
        if self._slope is not None and self._slope.ready:
            points, mended, promise = self._mend(self._slope, points, parents)
            score += promise
        children = _Children(
            points=points,
            pairs=archive.hits.pairs[parents],
            parents=parents,
            moves=moves,
            origins=archive.hits.origins[parents],
            mended=mended,
        )
        fresh = self._fresh(points, children.pairs)
        welcome = self._appeal(points[fresh], children.origins[fresh])
        if self._company is not None:
            welcome += self._company.welcome(
                points[fresh], children.pairs[fresh], children.origins, fresh
            )
        score = score[fresh] + welcome
        best_first = np.argsort(-score, kind="stable")[:n]
        # Who could not exist is not asked about.
        best_first = best_first[score[best_first] > -np.inf]
        return children.take(fresh[best_first])

    def _fresh(self, points: Points, pairs: Indices) -> Indices:
        """Return which inputs were never tried and keep the constraints."""
        fresh = np.flatnonzero(self._seen.fresh(self.probe.keys(points)))
        return fresh[self.probe.valid(points[fresh], pairs[fresh])]

    def _appeal(self, points: Points, origins: Indices) -> Numbers:
        """Return how welcome inputs are, hits or not.

        The fewer hits are in their cell, and the nearer they are to real rows, the more.
        """
        appeal = NOISE * self._rng.gumbel(size=len(points))
        crowd = self._archive.crowd(self._archive.cell_of(points))
        appeal -= NOVELTY[self.prefer] * np.log1p(crowd)
        by_drift = self._company is None and self._start is not None
        if REALISM[self.prefer] and by_drift:
            appeal -= REALISM[self.prefer] * self._drift(points, origins)
        return np.asarray(appeal)

    def _mend(
        self, slope: Slope, points: Points, parents: Indices
    ) -> tuple[Points, Flags, Numbers]:
        """Move some children back to the middle between the outcomes.

        Returns the points, which of them were moved, and what slopes promise of all.
        """
        hits = self._archive.hits
        before = hits.points[parents]
        middle = hits.middles[parents]
        after = middle + slope.change(before, points)
        rates = self._mended[0] / self._mended[1]
        preference = rates[1] ** MENDING_SHARPNESS / (rates**MENDING_SHARPNESS).sum()
        share = np.clip(preference, LEAST_MENDED, MOST_MENDED)
        mended = self._rng.random(len(points)) < share
        moved_back = slope.mended(points[mended], after[mended], self._rng)
        change = slope.change(before[mended], moved_back)
        points[mended] = moved_back
        after[mended] = middle[mended] + change
        return points, mended, slope.promise(after, hits.gaps[parents])

    def _drift(self, points: Points, origins: Indices) -> Numbers:
        """Return how far each point is from its real row, as a share of the ranges."""
        assert self._start is not None
        moves = self._moves
        positions = moves.positions
        span = np.maximum(moves.high - moves.low, moves.size)
        rows = self._start[np.maximum(origins, 0)]
        difference = points[:, positions] - rows[:, positions]
        drift = (np.abs(difference) / span).mean(axis=1)
        has_no_row = origins < 0
        return np.asarray(np.where(has_no_row, 1.0, drift))

    def _seeds(self, n: int) -> tuple[list[Points], tuple[tuple[int, int], ...]]:
        """Return seeds of each source, as many as it pays, and the counts of them.

        What a source cannot give comes from the first, which is asked last.
        """
        shares = self._seed_shares(n)
        parts: list[Points] = []
        numbers: list[tuple[int, int]] = []
        for source in self._sources:
            source.asked = 0
        left = n
        for number in reversed(range(len(self._sources))):
            wanted = left
            if number != 0:
                wanted = min(left, round(float(shares[number]) * n))
            points = self._moves.nothing
            if wanted:
                points = self._sources[number].propose(wanted, self._rng)
            parts.append(points)
            numbers.append((number, len(points)))
            left -= len(points)
        return parts, tuple(numbers)

    def _seed_shares(self, n: int) -> Numbers:
        """Return the share of the seeds that each source proposes."""
        rates = self._paid / self._cost
        contested = 1 - LEAST_SHARE * len(rates)
        shares = LEAST_SHARE + contested * rates / rates.sum()
        ready = np.array([self._ready(source, n) for source in self._sources])
        shares[~ready] = 0.0
        shares /= shares.sum()
        return np.asarray(shares)

    def _ready(self, source: SeedSource, n: int) -> bool:
        # Margins ask inputs of their own, which only pays while next to nothing is known.
        if isinstance(source, MarginSeeds):
            enough_hits = len(self._archive) >= FEW
            too_costly = self._left < AFFORDABLE * n
            if enough_hits or too_costly:
                return False
        return source.ready

    def _pairs(self, seeds: Points) -> Indices:
        """Return two assignments to compare for each seed.

        Half of them are as hits had them, half are random. Of a real person, the own one is first.
        """
        n = len(seeds)
        size = len(self.probe.table)
        first = self._rng.integers(0, size, n)
        second = (first + self._rng.integers(1, size, n)) % size
        found = np.stack([first, second], axis=1)
        if size > 2 and len(self._archive):
            rows = self._rng.integers(0, len(self._archive), n // 2)
            known = self._archive.hits.pairs[rows]
            found[: len(known)] = known
        if self._company is not None:
            return self._company.own_first(seeds, found)
        return found

    def observe(self, tried: Tried) -> int:
        """Learn from what was tried."""
        wave = self._wave
        assert wave is not None
        is_new = self._seen.add(tried.keys)
        self._left -= int(tried.asked.sum())
        # The budget may have ended within the wave.
        children = min(len(wave.parents), len(tried))
        parents = np.full(len(tried), -1, dtype=np.intp)
        origins = np.full(len(tried), -1, dtype=np.intp)
        if children:
            parents[:children] = wave.parents[:children]
            origins[:children] = wave.origins[:children]
            self._learn_flood(tried, wave, children)
        owners = self._learn_seeds(tried, wave, origins)
        for source in self._sources:
            if isinstance(source, RealisticNearMisses):
                source.witness_with(tried, origins)
            else:
                source.witness(tried)
        if self._company is None:
            is_new[:] = True
        self._keep_hits(tried, parents, origins, owners, is_new)
        return len(tried)

    def _learn_flood(self, tried: Tried, wave: Wave, children: int) -> None:
        """Learn from what came of the children of hits, which were tried first."""
        parents = wave.parents[:children]
        hits = tried.hits[:children]
        self._arms.learn(wave.moves[:, :children], hits)
        self._archive.learn(parents, hits)
        self._flooded = self._flooded / 2 + [hits.sum(), children]
        self._learn_slope(tried, parents, wave.mended[:children])

    def _learn_slope(self, tried: Tried, parents: Indices, mended: Flags) -> None:
        """Learn how margins changed from parents to their children, and whether to mend pays."""
        if self._slope is None:
            return
        n = len(parents)
        hits = self._archive.hits
        asked = tried.asked[:n] > 0
        change = tried.middle[:n] - hits.middles[parents]
        before = hits.points[parents][asked]
        after = tried.points[:n][asked]
        self._slope.learn(before, after, change[asked])
        wins = np.bincount(mended, weights=tried.hits[:n], minlength=2)
        tries = np.bincount(mended, weights=asked, minlength=2)
        faded = 1 + (self._mended - 1) * MEMORY
        self._mended = faded + np.array([wins, tries])

    def _learn_seeds(self, tried: Tried, wave: Wave, origins: Indices) -> Indices:
        """Let each source learn from its own seeds, and return whose seed each input was.

        Children of hits belong to no source, which is -1. The origins of seeds that are real rows
        are written into `origins`.
        """
        owners = np.full(len(tried), -1, dtype=np.intp)
        self._paid = 1 + (self._paid - 1) * MEMORY
        self._cost = 2 + (self._cost - 2) * MEMORY
        start = len(wave.parents)
        for number, proposed in wave.seeds:
            stop = min(start + proposed, len(tried))
            own = slice(start, stop)
            many = stop - start
            start += proposed
            source = self._sources[number]
            # Costs are counted in classes, and a class takes two inputs.
            self._cost[number] += source.asked / 2
            if many <= 0:
                continue
            source.learn(tried.take(own))
            owners[own] = number
            self._cost[number] += many
            if source.origins is not None:
                origins[own] = source.origins[:many]
        return owners

    def _keep_hits(
        self,
        tried: Tried,
        parents: Indices,
        origins: Indices,
        owners: Indices,
        is_new: Flags,
    ) -> None:
        """Add hits to the archive; a source is paid for each that lies in a new cell."""
        hits = np.flatnonzero(tried.hits & is_new)
        if not len(hits):
            return
        records = HitRecords(
            points=tried.points[hits],
            pairs=np.stack([tried.first[hits], tried.second[hits]], axis=1),
            parents=parents[hits],
            origins=origins[hits],
            depths=tried.near[hits],
            middles=tried.middle[hits],
            gaps=tried.gap[hits],
        )
        if self._company is not None:
            # What is next to people who could not exist is further from those who could.
            real = self._company.learn(records.points, records.pairs, records.origins)
            hits = hits[real]
            records = records.take(real)
        novel = self._archive.add(records)
        paid = owners[hits[novel]]
        is_seed = paid >= 0
        self._paid += np.bincount(paid[is_seed], minlength=len(self._sources))


@dataclass(frozen=True, slots=True)
class _Children:
    """Children of hits, with how they came about."""

    points: Points
    pairs: Indices
    parents: Indices
    moves: Indices
    origins: Indices
    mended: Flags

    def take(self, rows: Indices) -> _Children:
        """Return some of them."""
        return _Children(
            points=self.points[rows],
            pairs=self.pairs[rows],
            parents=self.parents[rows],
            moves=self.moves[:, rows],
            origins=self.origins[rows],
            mended=self.mended[rows],
        )


def _no_children(width: int) -> _Children:
    """Return no children of points with so many features."""
    nobody = np.empty(0, dtype=np.intp)
    return _Children(
        points=np.empty((0, width)),
        pairs=np.empty((0, 2), np.intp),
        parents=nobody,
        moves=np.empty((1, 0), np.intp),
        origins=nobody,
        mended=np.empty(0, dtype=np.bool_),
    )
