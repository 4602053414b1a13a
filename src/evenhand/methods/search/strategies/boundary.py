"""The boundary between outcomes: found by bisection, then walked along.

Hits lie where the outcome changes: on one side of the boundary for one group, on the other side for
another.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search.strategies.bandit import Arms
from evenhand.methods.search.strategies.start_points import SeedSource

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Generator, Indices
    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.moves import FeatureMoves
    from evenhand.space.feature import Points

ENDS = 512
"""How many inputs of each outcome are kept as ends to bisect between."""
MOST_OUTCOMES = 32
"""With more outcomes than that they are numbers, between which no boundary runs."""
EDGES = 1024
"""How many edges are kept."""
ONE_STEP = 1.5
"""Values less than so many steps apart are one step apart, whatever rounding did to them."""


class Bisection(SeedSource):
    """Halves the way between inputs of different outcomes until a hit or an edge is met.

    Many ways are halved in lock step, so that a round costs one call of the software.
    """

    def __init__(self, moves: FeatureMoves, edges: Edges) -> None:
        super().__init__(moves)
        self._edges = edges
        self._ends: dict[Any, Points] = {}
        self._from = moves.nothing
        self._to = moves.nothing
        self._sides = np.empty((2, 0), dtype=object)
        """The outcomes at both ends of each way."""
        self._middle = moves.nothing

    def witness(self, tried: Tried) -> None:
        """Keep inputs whose members share an outcome as ends."""
        if len(self._ends) > MOST_OUTCOMES:
            return
        was_asked = tried.asked > 0
        rows = np.flatnonzero(~tried.hits & was_asked)
        sides = tried.side[rows]
        for outcome in np.unique(sides).tolist():
            newest = rows[sides == outcome][-ENDS:]
            ends = tried.points[newest]
            kept = self._ends.get(outcome)
            if kept is not None:
                ends = np.concatenate([kept, ends])[-ENDS:]
            self._ends[outcome] = ends

    @property
    def ready(self) -> bool:
        """Whether there are ends to bisect between."""
        has_features = bool(self.moves.features)
        return has_features and 2 <= len(self._ends) <= MOST_OUTCOMES

    def propose(self, n: int, rng: Generator) -> Points:
        """Return the middle of each way."""
        self._settle()
        if len(self._from) < n:
            self._begin(n - len(self._from), rng)
        self._from = self._from[:n]
        self._to = self._to[:n]
        self._sides = self._sides[:, :n]
        self._middle = self._between(rng)
        return np.asfortranarray(self._middle)

    def _begin(self, n: int, rng: Generator) -> None:
        """Start ways between ends of different outcomes."""
        # Outcomes of mixed types do not compare; their texts do, and give the same order each time.
        outcomes = sorted(self._ends, key=repr)
        near = rng.integers(0, len(outcomes), n)
        further = rng.integers(1, len(outcomes), n)
        far = (near + further) % len(outcomes)
        picks = rng.random((2, n))
        sides = np.empty((2, n), dtype=object)
        width = len(self.probe.space.features)
        starts = np.empty((2, n, width))
        for end, which in enumerate((near, far)):
            for number, outcome in enumerate(outcomes):
                rows = np.flatnonzero(which == number)
                known = self._ends[outcome]
                shares = picks[end, rows]
                picked = np.floor(shares * len(known)).astype(np.intp)
                starts[end, rows] = known[picked]
                sides[end, rows] = outcome
        self._from = np.concatenate([self._from, starts[0]])
        self._to = np.concatenate([self._to, starts[1]])
        self._sides = np.concatenate([self._sides, sides], axis=1)

    def _between(self, rng: Generator) -> Points:
        """Return an input between both ends of each way.

        Half of the features that differ are switched; where only one differs, it is halved.
        """
        moves = self.moves
        near = self._from[:, moves.positions]
        far = self._to[:, moves.positions]
        differ = near != far
        differing = differ.sum(axis=1)
        # Random ranks of the features that differ; all others rank behind them.
        draws = np.where(differ, rng.random(differ.shape), 2.0)
        rank = draws.argsort(axis=1).argsort(axis=1)
        switched = rank < (differing // 2)[:, None]
        middle = np.where(switched, far, near)
        rows = np.flatnonzero(differing == 1)
        which = differ[rows].argmax(axis=1)
        size = moves.size[which]
        steps = (far - near)[rows, which] / size
        # At least one step, or a way of less than two, as continuous features have, would never
        # end.
        half = np.trunc(np.abs(steps) / 2)
        half = np.maximum(half, 1)
        middle[rows, which] += np.sign(steps) * half * size
        found = self._from.copy()
        found[:, moves.positions] = middle
        return moves.snapped(found)

    def _settle(self) -> None:
        """End the ways whose ends are one step apart: they are edges."""
        moves = self.moves
        near = self._from[:, moves.positions]
        far = self._to[:, moves.positions]
        differ = near != far
        apart = differ.any(axis=1)
        which = differ.argmax(axis=1)
        rows = np.arange(len(self._from))
        distance = np.abs(near[rows, which] - far[rows, which])
        is_category = moves.is_category
        # Any two levels of a category are neighbours: there is nothing between them to try.
        is_one_step = distance < ONE_STEP * moves.size[which]
        neighbours = is_category[which] | is_one_step
        done = (differ.sum(axis=1) <= 1) & neighbours & apart
        self._edges.keep(
            near=self._from[done],
            far=self._to[done],
            which=which[done],
        )
        self._keep(~done & apart)

    def _keep(self, kept: Flags) -> None:
        """Forget all other ways."""
        self._from = self._from[kept]
        self._to = self._to[kept]
        self._sides = self._sides[:, kept]

    def learn(self, tried: Tried) -> None:
        """Go on in the half of each way in which the outcome changes.

        A way that met a hit has ended.
        """
        n = len(tried)
        sides = tried.side
        middle = self._middle[:n]
        asked = tried.asked > 0
        same = sides == self._sides[0, :n]
        beyond = same & asked
        before = ~same & asked
        self._from[:n][beyond] = middle[beyond]
        self._to[:n][before] = middle[before]
        self._sides[1, :n][before] = sides[before]
        unfinished = ~tried.hits & asked
        not_tried = np.zeros(len(self._from) - n, dtype=np.bool_)
        self._keep(np.concatenate([unfinished, not_tried]))


class Edges(SeedSource):
    """Walks along the boundary: moves pairs of inputs that differ in one step and in outcome.

    The pairs are moved in other features. Moves that keep the two on different sides are learnt as
    a bandit, apart from those of the flood: a feature that does not matter for the decision may
    matter for whom it discriminates against.
    """

    def __init__(self, moves: FeatureMoves) -> None:
        super().__init__(moves)
        self._arms = Arms(moves)
        self._from = moves.nothing
        self._to = moves.nothing
        self._which: Indices = np.empty(0, dtype=np.intp)
        self._asked = (self._from, self._to, self._which)
        self._chosen = np.empty((1, 0), dtype=np.intp)

    @property
    def ready(self) -> bool:
        """Whether there are edges."""
        return len(self._from) > 0

    def keep(self, near: Points, far: Points, which: Indices) -> None:
        """Keep the newest edges, with the free feature in which their two inputs differ."""
        all_near = np.concatenate([self._from, near])
        all_far = np.concatenate([self._to, far])
        all_which = np.concatenate([self._which, which])
        self._from = all_near[-EDGES:]
        self._to = all_far[-EDGES:]
        self._which = all_which[-EDGES:]

    def propose(self, n: int, rng: Generator) -> Points:
        """Return both inputs of moved edges: the first inputs of all, then the second ones."""
        rows = rng.integers(0, len(self._from), n // 2)
        which = self._which[rows]
        column = self.moves.positions[which]
        edges = np.arange(len(rows))
        self._chosen = self._arms.choose(len(rows), rng)
        starts = self._from[rows]
        near = self._arms.apply(starts, self._chosen, rng)
        # The feature that tells the two apart stays as it was, whatever moves were chosen.
        near[edges, column] = self._from[rows, column]
        far = near.copy()
        far[edges, column] = self._to[rows, column]
        self._asked = (near, far, which)
        return np.concatenate([near, far])

    def learn(self, tried: Tried) -> None:
        """Keep the edges that are still edges."""
        near, far, which = self._asked
        if len(tried) < 2 * len(near):  # the budget ended within the wave
            return
        sides = tried.side.reshape(2, -1)
        both_asked = (tried.asked.reshape(2, -1) > 0).all(axis=0)
        held = (sides[0] != sides[1]) & both_asked
        hit = tried.hits.reshape(2, -1).any(axis=0)
        self._arms.learn(self._chosen, held | hit)
        kept = held & ~hit
        self.keep(near[kept], far[kept], which[kept])
