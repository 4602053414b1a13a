"""The adaptive strategy: many walkers in lock step flood outward from known hits, seeds come from
whatever pays.

Known hits are mutated with moves that a bandit has learnt lead from hit to hit; of more candidates
than can be asked, those are asked that promise most and lie where few hits were found. A share of
the effort goes to new regions: uniform inputs, real rows, the way between inputs of different
outcomes, and near misses, as much from each as it pays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.archive import Archive, Kin
from evenhand.methods.search.strategies.bandit import Arms
from evenhand.methods.search.strategies.base import Proposal, Strategy
from evenhand.methods.search.strategies.boundary import Bisection, Edges
from evenhand.methods.search.strategies.margin_slope import Slope
from evenhand.methods.search.strategies.moves import Moves
from evenhand.methods.search.strategies.start_points import Given, Near, Slopes, Source, Uniform
from evenhand.runtime.random_streams import stream
from evenhand.space.row_keys import Seen

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.base import Setting
    from evenhand.space.feature import Points

CANDIDATES = 6
"""Candidates for each input that is asked."""
FEW = 64
"""With fewer hits than this seeds are worth asking more than once for."""
AFFORDABLE = 64
"""How many queries must be left for each seed of a wave, for that to be afforded."""
LEAST_SEEDS, MOST_SEEDS = 0.04, 0.5
"""The share of the effort that goes to seeds, where flooding goes well and where it does not."""
LEAST_SHARE = 0.1
"""The share of the seeds that every source keeps, so that it can show that it pays again."""
LEAST_MENDED, MOST_MENDED, SURE, MEMORY = 0.05, 0.8, 6, 0.9
"""The shares of children that are mended, how much more what pays more, and how long that is
remembered.
"""
NOISE = 0.1
NOVELTY = {"many": 0.5, "diverse": 1.5, "realistic": 0.5}
"""How much an empty cell is preferred over a crowded one."""
REALISM = {"many": 0.0, "diverse": 0.0, "realistic": 30.0}
"""How much nearness to the real row that a hit comes from is preferred."""


@dataclass(frozen=True, slots=True)
class Wave:
    """What was proposed last: children of hits first, then the seeds of each source."""

    parents: NDArray[np.intp]
    moves: NDArray[np.intp]
    origins: NDArray[np.intp]
    mended: NDArray[np.bool_]
    seeds: tuple[tuple[int, int], ...]
    """Of each source its number, and how many seeds it proposed."""


class Adaptive(Strategy):
    """Floods from known hits, and seeks new ones where that pays."""

    name = "adaptive"
    enumerates = True
    wants_margins = True

    def begin(self, setting: Setting) -> None:
        """Know no hit, and think as well of any source as of another."""
        self.probe = setting.probe
        self.prefer = setting.prefer
        self._rng = stream(setting.seed, "search", "adaptive")
        self._moves = Moves(self.probe)
        self._arms = Arms(self._moves)
        self._archive = Archive(self.probe)
        self._seen = Seen()
        self._start = setting.start
        edges = Edges(self._moves)
        self._sources: list[Source] = [
            Uniform(self._moves),
            Bisection(self._moves, edges),
            edges,
            Near(self._moves),
        ]
        self._slope: Slope | None = None
        if self.probe.margins is not None and self.probe.margins.bounded:
            self._slope = Slope(self._moves)
            self._sources.append(Slopes(self._moves, self.probe.margins))
        if self._start is not None and len(self._start):
            given = Given(self._moves, self._start, self._rng)
            self._sources = [
                given,
                *(self._sources[1:] if self.prefer == "realistic" else self._sources),
            ]
        self._paid = np.ones(len(self._sources))
        self._cost = np.full(len(self._sources), 2.0)
        self._flooded = np.array([1.0, 1.0])
        self._mended = np.ones((2, 2))
        self._wave: Wave | None = None
        self._left = setting.queries

    def propose(self, n: int) -> Proposal:
        """Return children of known hits, and seeds."""
        seeds = max(1, round(self._seeding() * n))
        flood = self._flood(n - seeds) if seeds < n else _nobody(len(self.probe.space.features))
        parts, numbers = self._seeds(n - len(flood.points))
        points = np.concatenate([flood.points, *parts])
        pairs = np.concatenate([flood.pairs, self._pairs(len(points) - len(flood.points))])
        self._wave = Wave(flood.parents, flood.moves, flood.origins, flood.mended, numbers)
        asked = sum(source.asked for source in self._sources)
        self._left -= asked
        return Proposal(np.asfortranarray(points), pairs, asked)

    def _seeding(self) -> float:
        """Return the share of seeds: all while there is nothing to flood from, else the more the
        less that yields.
        """
        if not len(self._archive) or not self.probe.free:
            return 1.0
        yields = self._flooded[0] / self._flooded[1]
        return float(np.clip(MOST_SEEDS * (1 - 2 * yields), LEAST_SEEDS, MOST_SEEDS))

    def _flood(self, n: int) -> _Children:
        rng, archive = self._rng, self._archive
        parents = archive.parents(CANDIDATES * n, rng)
        chosen = self._arms.choose(len(parents), rng)
        points = self._arms.apply(archive.hits.points[parents], chosen, rng)
        pairs, origins = archive.hits.pairs[parents], archive.hits.origins[parents]
        score = self._arms.promise(chosen) + archive.promise(parents)
        mended = np.zeros(len(parents), dtype=np.bool_)
        if self._slope is not None and self._slope.ready:
            points, mended, promise = self._mend(self._slope, points, parents)
            score += promise
        fresh = np.flatnonzero(self._seen.fresh(self.probe.keys(points)))
        fresh = fresh[self.probe.valid(points[fresh], pairs[fresh])]
        score = score[fresh] + self._appeal(points[fresh], origins[fresh])
        best = fresh[np.argsort(-score, kind="stable")[:n]]
        return _Children(
            points[best], pairs[best], parents[best], chosen[:, best], origins[best], mended[best]
        )

    def _appeal(self, points: Points, origins: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how welcome inputs are, hits or not: the fewer in their cell and the nearer to
        real rows, the more.
        """
        appeal = NOISE * self._rng.gumbel(size=len(points))
        appeal -= NOVELTY[self.prefer] * np.log1p(
            self._archive.crowd(self._archive.cell_of(points))
        )
        if REALISM[self.prefer] and self._start is not None:
            appeal -= REALISM[self.prefer] * self._drift(points, origins)
        return np.asarray(appeal)

    def _mend(
        self, slope: Slope, points: Points, parents: NDArray[np.intp]
    ) -> tuple[Points, NDArray[np.bool_], NDArray[np.float64]]:
        """Move some children back to the middle between the outcomes, and return what slopes
        promise of all.
        """
        hits = self._archive.hits
        before, middle = hits.points[parents], hits.middles[parents]
        after = middle + slope.change(before, points)
        rates = self._mended[0] / self._mended[1]
        mended = self._rng.random(len(points)) < np.clip(
            rates[1] ** SURE / (rates**SURE).sum(), LEAST_MENDED, MOST_MENDED
        )
        points[mended] = slope.mended(points[mended], after[mended], self._rng)
        after[mended] = middle[mended] + slope.change(before[mended], points[mended])
        return points, mended, slope.promise(after, hits.gaps[parents])

    def _drift(self, points: Points, origins: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return how far each point is from the real row that it comes from, as a share of the
        ranges.
        """
        assert self._start is not None
        at, moves = self._moves.positions, self._moves
        span = np.maximum(moves.high - moves.low, moves.size)
        apart = np.abs(points[:, at] - self._start[np.maximum(origins, 0)][:, at]) / span
        return np.asarray(np.where(origins < 0, 1.0, apart.mean(axis=1)))

    def _seeds(self, n: int) -> tuple[list[Points], tuple[tuple[int, int], ...]]:
        """Return seeds of each source, as many as it pays; what one cannot give comes from the
        first.
        """
        rates = self._paid / self._cost
        shares = LEAST_SHARE + (1 - LEAST_SHARE * len(rates)) * rates / rates.sum()
        shares[~np.array([self._ready(source, n) for source in self._sources])] = 0.0
        shares /= shares.sum()
        parts: list[Points] = []
        numbers: list[tuple[int, int]] = []
        for source in self._sources:
            source.asked = 0
        left = n
        for number in reversed(range(len(self._sources))):
            wanted = left if number == 0 else min(left, round(float(shares[number]) * n))
            points = (
                self._sources[number].propose(wanted, self._rng) if wanted else self._moves.nothing
            )
            parts.append(points)
            numbers.append((number, len(points)))
            left -= len(points)
        return parts, tuple(numbers)

    def _ready(self, source: Source, n: int) -> bool:
        if isinstance(source, Slopes) and (
            len(self._archive) >= FEW or self._left < AFFORDABLE * n
        ):
            return (
                False  # it asks inputs of its own, which only pays while next to nothing is known
            )
        return source.ready

    def _pairs(self, n: int) -> NDArray[np.intp]:
        """Return two assignments to compare for each seed: half of them as hits had them, half at
        random.
        """
        size = len(self.probe.table)
        first = self._rng.integers(0, size, n)
        found = np.stack([first, (first + self._rng.integers(1, size, n)) % size], axis=1)
        if size > 2 and len(self._archive):
            known = self._archive.hits.pairs[self._rng.integers(0, len(self._archive), n // 2)]
            found[: len(known)] = known
        return found

    def observe(self, tried: Tried) -> int:
        """Learn from what was tried."""
        wave = self._wave
        assert wave is not None
        self._seen.add(tried.keys)
        self._left -= int(tried.asked.sum())
        n = min(len(wave.parents), len(tried))
        parents = np.full(len(tried), -1, dtype=np.intp)
        origins = np.full(len(tried), -1, dtype=np.intp)
        if n:
            parents[:n], origins[:n] = wave.parents[:n], wave.origins[:n]
            self._arms.learn(wave.moves[:, :n], tried.hits[:n])
            self._archive.learn(parents[:n], tried.hits[:n])
            self._flooded = self._flooded / 2 + [tried.hits[:n].sum(), n]
            self._learn_slope(tried, parents[:n], wave.mended[:n])
        owners = self._taught(tried, len(wave.parents), origins)
        for source in self._sources:
            source.witness(tried)
        hits = np.flatnonzero(tried.hits)
        if len(hits):
            pairs = np.stack([tried.first[hits], tried.second[hits]], axis=1)
            margins = tried.near[hits], tried.middle[hits], tried.gap[hits]
            novel = self._archive.add(
                Kin(tried.points[hits], pairs, parents[hits], origins[hits], *margins)
            )
            paid = owners[hits[novel]]
            self._paid += np.bincount(paid[paid >= 0], minlength=len(self._sources))
        return len(tried)

    def _learn_slope(
        self, tried: Tried, parents: NDArray[np.intp], mended: NDArray[np.bool_]
    ) -> None:
        """Learn how margins changed from parents to their children, and whether to mend pays."""
        if self._slope is None:
            return
        n, hits = len(parents), self._archive.hits
        asked = tried.asked[:n] > 0
        change = (tried.middle[:n] - hits.middles[parents])[asked]
        self._slope.learn(hits.points[parents][asked], tried.points[:n][asked], change)
        counts = [
            np.bincount(mended, weights=wins, minlength=2) for wins in (tried.hits[:n], asked)
        ]
        self._mended = 1 + (self._mended - 1) * MEMORY + np.array(counts)

    def _taught(self, tried: Tried, start: int, origins: NDArray[np.intp]) -> NDArray[np.intp]:
        """Let each source learn from its own seeds, and return whose seed each input was; -1 for
        children.
        """
        assert self._wave is not None
        owners = np.full(len(tried), -1, dtype=np.intp)
        self._paid, self._cost = 1 + (self._paid - 1) * MEMORY, 2 + (self._cost - 2) * MEMORY
        for number, many in self._wave.seeds:
            mine = slice(start, min(start + many, len(tried)))
            start += many
            source = self._sources[number]
            self._cost[number] += source.asked / 2
            if mine.start >= mine.stop:
                continue
            source.learn(tried.take(mine))
            owners[mine] = number
            self._cost[number] += mine.stop - mine.start
            if isinstance(source, Given):
                origins[mine] = source.origins[: mine.stop - mine.start]
        return owners


@dataclass(frozen=True, slots=True)
class _Children:
    """Children of hits, with how they came about."""

    points: Points
    pairs: NDArray[np.intp]
    parents: NDArray[np.intp]
    moves: NDArray[np.intp]
    origins: NDArray[np.intp]
    mended: NDArray[np.bool_]


def _nobody(width: int) -> _Children:
    none = np.empty(0, dtype=np.intp)
    nowhere, pairs = np.empty((0, width)), np.empty((0, 2), np.intp)
    return _Children(nowhere, pairs, none, np.empty((1, 0), np.intp), none, none.astype(np.bool_))
