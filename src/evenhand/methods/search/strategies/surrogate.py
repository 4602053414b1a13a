"""The surrogate strategy, for software whose every answer is expensive.

Models learn from each answer, and screen what to ask. The strategy looks where the adaptive one
looks, and further: next to known hits, twice as far from them, and anywhere. Of many such
candidates those are asked that models of what was answered hold to be hits, and where few were
found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.adaptive import REALISM, Adaptive, Wave
from evenhand.methods.search.strategies.base import Proposal
from evenhand.methods.search.strategies.surrogate_model import (
    DOUBT,
    FLIP,
    SIGNALS,
    HitScreen,
    KnownClasses,
    SignalWeights,
)

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Indices, Numbers
    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.base import Setting
    from evenhand.space.feature import Points

FIRST = 64
"""How many classes are tried before the first models are fitted."""
GROWTH = 1.3
"""How many times as much must be known for models to be fitted anew."""
SMALLEST = 32
"""How many more classes must be known at least for models to be fitted anew."""
CANDIDATES = 20
"""Candidates for each input that is asked."""
MOST_CANDIDATES = 8192
"""Candidates in all, though never fewer than LEAST_CANDIDATES for each input that is asked."""
LEAST_CANDIDATES = 4
UNIFORM = 0.1
"""The share of uniform inputs among the candidates."""
BLIND = 0.75
"""The share of what is screened while no hit is known."""
DULL = 0.1
"""An input that is not a child promises as much as the worst tenth of children."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Inputs to choose from.

    Those that are not a child of a hit have the parent -1, and so are their moves.
    """

    points: Points
    pairs: Indices
    parents: Indices
    moves: Indices
    origins: Indices

    def take(self, rows: Indices) -> _Candidates:
        """Return some of them."""
        return _Candidates(
            points=self.points[rows],
            pairs=self.pairs[rows],
            parents=self.parents[rows],
            moves=self.moves[:, rows],
            origins=self.origins[rows],
        )


class Surrogate(Adaptive):
    """Screens candidates with models of what was answered, and asks those that are likely hits.

    >>> from evenhand.runtime.budget import Budget, Meter
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.loop import run_strategy
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.methods.search.strategies.base import Setting
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 0, 99), integer("debt", 0, 99)])
    >>> def loan(people):
    ...     return people["age"] > people["debt"] + 9 * (people["sex"] == "F")
    >>> probe = Probe(View(Subject(loan, space)), ("sex",))
    >>> surrogate = Surrogate().started(Setting(probe, seed=0))
    >>> len(run_strategy(surrogate, probe, Meter(Budget(queries=600))).found) > 100
    True
    """

    name = "surrogate"

    def begin(self, setting: Setting) -> None:
        """Start without an answer, and so without models."""
        super().begin(setting)
        self._seed = setting.seed
        self._known = KnownClasses()
        self._screen: HitScreen | None = None
        self._next_fit = FIRST
        # The promise of moves and parents is one more signal.
        self._weights = SignalWeights(SIGNALS + 1)
        self._signals: Numbers = np.empty((0, SIGNALS + 1))
        self._screened = np.empty(0, dtype=np.intp)
        """Which inputs of the last wave the signals speak of."""
        # Who prefers what is near to real rows has no use for what is far from them.
        self._wide = not REALISM[self.prefer]
        # With more than two assignments a class that was tried may still be tried with two others.
        self._classes = np.inf
        if len(self.probe.table) == 2:
            sizes = [feature.size for feature in self._moves.features]
            self._classes = float(np.prod(sizes))

    def propose(self, n: int) -> Proposal:
        """Return the best of many candidates, and seeds; nothing once every class was tried."""
        if len(self._seen) >= self._classes:
            return Proposal(self._moves.nothing)
        self._screened = self._screened[:0]
        self._signals = self._signals[:0]
        blind = not len(self._archive)
        seed_share = 1 - BLIND if blind else self._seeding()
        screened = n - max(1, round(seed_share * n))
        nowhere_to_look = not self.probe.free or (blind and not self._wide)
        if self._screen is None or nowhere_to_look or not screened:
            return super().propose(n)
        best, self._signals = self._best(screened)
        return self._with_seeds(best, n)

    def _with_seeds(self, best: _Candidates, n: int) -> Proposal:
        """Return candidates, children first, with seeds between the children and the others."""
        children = int((best.parents >= 0).sum())
        parts, numbers = self._seeds(n - len(best.points))
        # What is not a child comes last, where it is taken neither for a child nor for the seed of
        # a source.
        child_points = best.points[:children]
        other_points = best.points[children:]
        points = np.concatenate([child_points, *parts, other_points])
        seeds = len(points) - len(best.points)
        seed_pairs = self._pairs(np.concatenate(parts))
        child_pairs = best.pairs[:children]
        other_pairs = best.pairs[children:]
        pairs = np.concatenate([child_pairs, seed_pairs, other_pairs])
        self._wave = Wave(
            parents=best.parents[:children],
            moves=best.moves[:, :children],
            origins=best.origins[:children],
            mended=np.zeros(children, dtype=np.bool_),
            seeds=numbers,
        )
        others = np.arange(children + seeds, len(points))
        self._screened = np.concatenate([np.arange(children), others])
        return self._proposal(points, pairs)

    def _best(self, n: int) -> tuple[_Candidates, Numbers]:
        """Return the best of many candidates, children of hits first, and their signals."""
        assert self._screen is not None
        most = max(LEAST_CANDIDATES * n, MOST_CANDIDATES)
        found = self._candidates(min(CANDIDATES * n, most))
        found = found.take(self._fresh(found.points, found.pairs))
        predicted = self._screen.signals(found.points, found.pairs)
        signals = np.column_stack([predicted, self._promise(found)])
        if len(self._archive):
            score = self._weights.chance(signals)
        else:
            # Before the first hit nothing is known but that hits lie where outcomes change.
            score = signals[:, FLIP] + signals[:, DOUBT]
        score += self._appeal(found.points, found.origins)
        if self._company is not None:
            everyone = np.arange(len(found.points))
            score += self._company.welcome(
                found.points, found.pairs, found.origins, everyone
            )
        best = np.argsort(-score, kind="stable")[:n]
        best = best[score[best] > -np.inf]
        is_other = found.parents[best] < 0
        best = best[np.argsort(is_other, kind="stable")]
        return found.take(best), signals[best]

    def _candidates(self, n: int) -> _Candidates:
        """Return children of hits, inputs twice as far from them, and uniform ones."""
        rng = self._rng
        hits = self._archive.hits
        uniform = self._uniform_candidates(n)
        parents = np.empty(0, dtype=np.intp)
        if len(self._archive):
            parents = rng.permutation(self._archive.parents(n - uniform, rng))
        moves = self._arms.choose(len(parents), rng)
        points = self._arms.apply(hits.points[parents], moves, rng)
        # The second half is moved again, where what is far from hits is of use.
        children = len(parents) // 2 if self._wide else len(parents)
        again = np.arange(children, len(parents))
        more_moves = self._arms.choose(len(again), rng)
        points[again] = self._arms.apply(points[again], more_moves, rng)
        pairs = hits.pairs[parents]
        origins = hits.origins[parents]
        parents[again] = -1
        moves[:, again] = -1
        drawn = self.probe.space.draw(uniform, rng)
        nobody = np.full(uniform, -1, dtype=np.intp)
        no_moves = np.tile(nobody, (len(moves), 1))
        return _Candidates(
            points=np.concatenate([points, drawn]),
            pairs=np.concatenate([pairs, self._pairs(drawn)]),
            parents=np.concatenate([parents, nobody]),
            moves=np.concatenate([moves, no_moves], axis=1),
            origins=np.concatenate([origins, nobody]),
        )

    def _uniform_candidates(self, n: int) -> int:
        """Return how many of the candidates are uniform."""
        if not self._wide:
            return 0
        share = UNIFORM if len(self._archive) else 1.0
        return round(share * n)

    def _promise(self, found: _Candidates) -> Numbers:
        """Return what the moves and the parents of children promise.

        Other candidates promise as much as poor children.
        """
        children = found.parents >= 0
        promise = np.zeros(len(children))
        if children.any():
            by_moves = self._arms.promise(found.moves[:, children])
            by_parents = self._archive.promise(found.parents[children])
            of_children = by_moves + by_parents
            promise[:] = np.quantile(of_children, DULL)
            promise[children] = of_children
        return promise

    def observe(self, tried: Tried) -> int:
        """Learn from what was tried."""
        # The budget may have ended within the wave.
        rows = self._screened < len(tried)
        if len(self._archive):
            hits = tried.hits[self._screened[rows]]
            self._weights.learn(self._signals[rows], hits)
        accepted = super().observe(tried)
        self._known.add(tried)
        if len(self._known) >= self._next_fit:
            self._screen = HitScreen.fitted(self.probe, self._known, self._seed)
            growth = round(GROWTH * len(self._known))
            self._next_fit = max(len(self._known) + SMALLEST, growth)
        return accepted
