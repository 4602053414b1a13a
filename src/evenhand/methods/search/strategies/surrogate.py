"""The surrogate strategy, for software whose every answer is expensive: models learn from each, and
screen what to ask.

It looks where the adaptive strategy looks, and further: next to known hits, twice as far from them,
and anywhere. Of many such candidates those are asked that models of what was answered hold to be
hits, and where few were found.
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
    SAID,
    Known,
    Screen,
    Weights,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.base import Setting
    from evenhand.space.feature import Points

    Numbers = NDArray[np.float64]

FIRST = 64
"""How many classes are tried before the first models are fitted."""
GROWTH, SMALLEST = 1.3, 32
"""How much more must be known for models to be fitted anew: this many times as much, and so many
classes at least.
"""
CANDIDATES, MOST_CANDIDATES = 20, 8192
"""Candidates for each input that is asked, and in all, though never fewer than four for each."""
UNIFORM = 0.1
"""The share of uniform inputs among the candidates."""
BLIND = 0.75
"""The share of what is screened while no hit is known."""
DULL = 0.1
"""An input that is no child promises as much as the worst tenth of children."""


@dataclass(frozen=True, slots=True)
class _Candidates:
    """Inputs to choose from; those that are no child of a hit have the parent -1, and so are their
    moves.
    """

    points: Points
    pairs: NDArray[np.intp]
    parents: NDArray[np.intp]
    moves: NDArray[np.intp]
    origins: NDArray[np.intp]

    def take(self, rows: NDArray[np.intp]) -> _Candidates:
        """Return some of them."""
        return _Candidates(
            self.points[rows],
            self.pairs[rows],
            self.parents[rows],
            self.moves[:, rows],
            self.origins[rows],
        )


class Surrogate(Adaptive):
    """Screens candidates with models of what was answered, and asks those that are likely hits.

    >>> from evenhand.runtime.budget import Budget, Meter
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.loop import hunt
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.methods.search.strategies.base import Setting
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 0, 99), integer("debt", 0, 99)])
    >>> loan = Subject(lambda people: people["age"] > people["debt"] + 9 * (people["sex"] == "F"), space)
    >>> probe = Probe(View(loan), ("sex",))
    >>> len(hunt(Surrogate().started(Setting(probe, seed=0)), probe, Meter(Budget(queries=600))).found) > 100
    True
    """

    name = "surrogate"

    def begin(self, setting: Setting) -> None:
        """Know no answer, and so have no models."""
        super().begin(setting)
        self._seed = setting.seed
        self._known = Known()
        self._screen: Screen | None = None
        self._next = FIRST
        self._weights = Weights(SAID + 1)
        self._said: Numbers = np.empty((0, SAID + 1))
        self._asked_of = np.empty(0, dtype=np.intp)
        # Who prefers what is near to real rows has no use for what is far from them.
        self._wide = not REALISM[self.prefer]
        sizes = [feature.size for feature in self._moves.features]
        # With more than two assignments a class that was tried may still be tried with two others.
        self._classes = float(np.prod(sizes)) if len(self.probe.table) == 2 else np.inf

    def propose(self, n: int) -> Proposal:
        """Return the best of many candidates, and seeds; nothing once every class was tried."""
        if len(self._seen) >= self._classes:
            return Proposal(self._moves.nothing)
        self._asked_of = self._asked_of[:0]
        blind = not len(self._archive)
        screened = n - max(1, round((1 - BLIND if blind else self._seeding()) * n))
        if (
            self._screen is None
            or not self.probe.free
            or not screened
            or (blind and not self._wide)
        ):
            return super().propose(n)
        best, self._said = self._best(screened)
        children = int((best.parents >= 0).sum())
        parts, numbers = self._seeds(n - len(best.points))
        points = np.concatenate([best.points[:children], *parts, best.points[children:]])
        seeds = len(points) - len(best.points)
        pairs = np.concatenate([best.pairs[:children], self._pairs(seeds), best.pairs[children:]])
        straight = np.zeros(children, dtype=np.bool_)
        self._wave = Wave(
            best.parents[:children],
            best.moves[:, :children],
            best.origins[:children],
            straight,
            numbers,
        )
        # What is no child comes last, where it is taken neither for a child nor for the seed of a
        # source.
        self._asked_of = np.concatenate(
            [np.arange(children), np.arange(children + seeds, len(points))]
        )
        asked = sum(source.asked for source in self._sources)
        self._left -= asked
        return Proposal(np.asfortranarray(points), pairs, asked)

    def _best(self, n: int) -> tuple[_Candidates, Numbers]:
        """Return the best of many candidates, children of hits first, and what is said of them."""
        assert self._screen is not None
        found = self._candidates(min(CANDIDATES * n, max(4 * n, MOST_CANDIDATES)))
        fresh = np.flatnonzero(self._seen.fresh(self.probe.keys(found.points)))
        fresh = fresh[self.probe.valid(found.points[fresh], found.pairs[fresh])]
        found = found.take(fresh)
        said = np.column_stack([self._screen.said(found.points, found.pairs), self._promise(found)])
        # Before the first hit nothing is known but that hits lie where outcomes change.
        score = self._weights.chance(said) if len(self._archive) else said[:, FLIP] + said[:, DOUBT]
        score += self._appeal(found.points, found.origins)
        best = np.argsort(-score, kind="stable")[:n]
        best = best[np.argsort(found.parents[best] < 0, kind="stable")]
        return found.take(best), said[best]

    def _candidates(self, n: int) -> _Candidates:
        """Return children of hits, inputs twice as far from them, and uniform ones."""
        rng, archive, arms = self._rng, self._archive, self._arms
        uniform = round((UNIFORM if len(archive) else 1.0) * n) if self._wide else 0
        parents = (
            rng.permutation(archive.parents(n - uniform, rng))
            if len(archive)
            else np.empty(0, dtype=np.intp)
        )
        chosen = arms.choose(len(parents), rng)
        points = arms.apply(archive.hits.points[parents], chosen, rng)
        again = np.arange(len(parents) // 2 if self._wide else len(parents), len(parents))
        points[again] = arms.apply(points[again], arms.choose(len(again), rng), rng)
        pairs, origins = archive.hits.pairs[parents], archive.hits.origins[parents]
        parents[again], chosen[:, again] = -1, -1
        nobody = np.full(uniform, -1, dtype=np.intp)
        return _Candidates(
            np.concatenate([points, self.probe.space.draw(uniform, rng)]),
            np.concatenate([pairs, self._pairs(uniform)]),
            np.concatenate([parents, nobody]),
            np.concatenate([chosen, np.tile(nobody, (len(chosen), 1))], axis=1),
            np.concatenate([origins, nobody]),
        )

    def _promise(self, found: _Candidates) -> Numbers:
        """Return what the moves and the parents of children promise, and of others as much as of
        poor children.
        """
        children = found.parents >= 0
        promise = np.zeros(len(children))
        if children.any():
            mine = self._arms.promise(found.moves[:, children]) + self._archive.promise(
                found.parents[children]
            )
            promise[:] = np.quantile(mine, DULL)
            promise[children] = mine
        return promise

    def observe(self, tried: Tried) -> int:
        """Learn from what was tried."""
        rows = self._asked_of < len(tried)
        if len(self._archive):
            self._weights.learn(self._said[rows], tried.hits[self._asked_of[rows]])
        accepted = super().observe(tried)
        self._known.add(tried)
        if len(self._known) >= self._next:
            self._screen = Screen.fitted(self.probe, self._known, self._seed)
            self._next = max(len(self._known) + SMALLEST, round(GROWTH * len(self._known)))
        return accepted
