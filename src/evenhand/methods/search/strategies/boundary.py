"""The boundary between outcomes: found by bisection, then walked along, since hits lie where the
outcome changes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search.strategies.bandit import Arms
from evenhand.methods.search.strategies.start_points import Source

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.moves import Moves
    from evenhand.space.feature import Points

ENDS = 512
"""How many inputs of each outcome are kept as ends to bisect between."""
MOST_OUTCOMES = 32
"""With more outcomes than that they are numbers, between which no boundary runs."""
EDGES = 1024
"""How many edges are kept."""


class Bisection(Source):
    """Halves the way between inputs of different outcomes, many ways in lock step, until a hit or
    an edge is met.

    Hits lie where the outcome changes: on one side of the boundary for one group, on the other side
    for another.
    """

    def __init__(self, moves: Moves, edges: Edges) -> None:
        super().__init__(moves)
        self._edges = edges
        self._ends: dict[Any, Points] = {}
        self._from, self._to = moves.nothing, moves.nothing
        self._sides = np.empty((2, 0), dtype=object)
        self._middle = moves.nothing

    def witness(self, tried: Tried) -> None:
        """Keep inputs whose members share an outcome as ends."""
        if len(self._ends) > MOST_OUTCOMES:
            return
        rows = np.flatnonzero(~tried.hits & (tried.asked > 0))
        sides = tried.side[rows]
        for name in np.unique(sides).tolist():
            mine = tried.points[rows[sides == name][-ENDS:]]
            kept = self._ends.get(name)
            self._ends[name] = mine if kept is None else np.concatenate([kept, mine])[-ENDS:]

    @property
    def ready(self) -> bool:
        """Whether there are ends to bisect between."""
        return bool(self.moves.features) and 2 <= len(self._ends) <= MOST_OUTCOMES

    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return the middle of each way."""
        self._settle()
        if len(self._from) < n:
            self._begin(n - len(self._from), rng)
        self._from, self._to, self._sides = self._from[:n], self._to[:n], self._sides[:, :n]
        self._middle = self._between(rng)
        return np.asfortranarray(self._middle)

    def _begin(self, n: int, rng: np.random.Generator) -> None:
        """Start ways between ends of different outcomes."""
        names = sorted(self._ends, key=repr)
        one = rng.integers(0, len(names), n)
        other = (one + rng.integers(1, len(names), n)) % len(names)
        picks = rng.random((2, n))
        sides = np.empty((2, n), dtype=object)
        starts = np.empty((2, n, len(self.probe.space.features)))
        for place, which in enumerate((one, other)):
            for number, name in enumerate(names):
                rows = np.flatnonzero(which == number)
                ends = self._ends[name]
                starts[place, rows] = ends[np.floor(picks[place, rows] * len(ends)).astype(np.intp)]
                sides[place, rows] = name
        self._from, self._to = (
            np.concatenate([self._from, starts[0]]),
            np.concatenate([self._to, starts[1]]),
        )
        self._sides = np.concatenate([self._sides, sides], axis=1)

    def _between(self, rng: np.random.Generator) -> Points:
        """Return an input between both ends: some of the features that differ switched, or the only
        one halved.
        """
        moves = self.moves
        near, far = self._from[:, moves.positions], self._to[:, moves.positions]
        differ = near != far
        many = differ.sum(axis=1)
        order = np.where(differ, rng.random(differ.shape), 2.0).argsort(axis=1).argsort(axis=1)
        middle = np.where(order < (many // 2)[:, None], far, near)
        rows = np.flatnonzero(many == 1)
        which = differ[rows].argmax(axis=1)
        steps = (far - near)[rows, which] / moves.size[which]
        # At least one step, or a way of less than two, as continuous features have, would never
        # end.
        middle[rows, which] += (
            np.sign(steps) * np.maximum(np.trunc(np.abs(steps) / 2), 1) * moves.size[which]
        )
        found = self._from.copy()
        found[:, moves.positions] = middle
        return moves.snapped(found)

    def _settle(self) -> None:
        """End the ways whose ends are one step apart: they are edges."""
        moves = self.moves
        differ = self._from[:, moves.positions] != self._to[:, moves.positions]
        which = differ.argmax(axis=1)
        rows = np.arange(len(self._from))
        column = moves.positions[which]
        apart = np.abs(self._from[rows, column] - self._to[rows, column])
        nominal = np.array([feature.kind == "category" for feature in moves.features])
        done = (differ.sum(axis=1) <= 1) & (nominal[which] | (apart < 1.5 * moves.size[which]))
        done &= differ.any(axis=1)
        self._edges.keep(self._from[done], self._to[done], which[done])
        self._drop(~done & differ.any(axis=1))

    def _drop(self, kept: NDArray[np.bool_]) -> None:
        self._from, self._to, self._sides = self._from[kept], self._to[kept], self._sides[:, kept]

    def learn(self, tried: Tried) -> None:
        """Go on in the half of each way in which the outcome changes; a way that met a hit has
        ended.
        """
        n = len(tried)
        sides = tried.side
        middle = self._middle[:n]
        same = sides == self._sides[0, :n]
        unasked = tried.asked == 0
        self._from[:n][same & ~unasked] = middle[same & ~unasked]
        self._to[:n][~same & ~unasked] = middle[~same & ~unasked]
        self._sides[1, :n][~same & ~unasked] = sides[~same & ~unasked]
        self._drop(
            np.concatenate([~tried.hits & ~unasked, np.zeros(len(self._from) - n, dtype=np.bool_)])
        )


class Edges(Source):
    """Walks along the boundary: pairs of inputs that differ in one step and in outcome, moved in
    other features.

    Moves that keep the two on different sides are learnt as a bandit, apart from those of the
    flood: a feature that does not matter for the decision may matter for whom it discriminates
    against.
    """

    def __init__(self, moves: Moves) -> None:
        super().__init__(moves)
        self._arms = Arms(moves)
        self._from, self._to = moves.nothing, moves.nothing
        self._which: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        self._asked = (self._from, self._to, self._which)
        self._chosen = np.empty((1, 0), dtype=np.intp)

    @property
    def ready(self) -> bool:
        """Whether there are edges."""
        return len(self._from) > 0

    def keep(self, one: Points, other: Points, which: NDArray[np.intp]) -> None:
        """Keep edges, the newest of them, with the free feature in which their two inputs differ."""
        self._from = np.concatenate([self._from, one])[-EDGES:]
        self._to = np.concatenate([self._to, other])[-EDGES:]
        self._which = np.concatenate([self._which, which])[-EDGES:]

    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return both inputs of moved edges, first the one of all, then the other."""
        rows = rng.integers(0, len(self._from), n // 2)
        which = self._which[rows]
        column, place = self.moves.positions[which], np.arange(len(rows))
        self._chosen = self._arms.choose(len(rows), rng)
        one = self._arms.apply(self._from[rows], self._chosen, rng)
        one[place, column] = self._from[rows, column]
        other = one.copy()
        other[place, column] = self._to[rows, column]
        self._asked = (one, other, which)
        return np.concatenate([one, other])

    def learn(self, tried: Tried) -> None:
        """Keep the edges that are still edges."""
        one, other, which = self._asked
        if len(tried) < 2 * len(one):  # the budget ended within the wave
            return
        sides = tried.side.reshape(2, -1)
        held = (sides[0] != sides[1]) & (tried.asked.reshape(2, -1) > 0).all(axis=0)
        hit = tried.hits.reshape(2, -1).any(axis=0)
        self._arms.learn(self._chosen, held | hit)
        kept = held & ~hit
        self.keep(one[kept], other[kept], which[kept])
