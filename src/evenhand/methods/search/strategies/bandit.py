"""Arms: which moves lead from hit to hit, learnt as a bandit over feature × {one step down, one
step up, jump}.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.strategies.moves import Moves
    from evenhand.space.feature import Points

MOST_MOVES = 4
"""The most moves that lead from a hit to its child."""
MEMORY = 0.98
"""How much of what was learnt a wave later still counts: what can be reached changes as a search
goes on.
"""
POSTERIORS = 16
"""Draws from what is believed of the arms that the candidates of a wave share (Thompson sampling).
"""
SHARPNESS = 2.0
"""How strongly arms that are believed to do well are preferred; twice as strongly for a second
move, and so on.
"""


class Arms:
    """Chooses moves, applies them, and learns which of them ended at hits."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves
        size = 3 * len(moves.features)
        self.wins, self.tries = np.ones(size), np.full(size, 2.0)
        self._many_wins, self._many_tries = np.ones(MOST_MOVES), np.full(MOST_MOVES, 2.0)

    def choose(self, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
        """Return the arms of each of `n` children, one row for each move; -1 where a child has no
        more moves.
        """
        share = (self._many_wins / self._many_tries) ** 2
        many = 1 + np.searchsorted(np.cumsum(share / share.sum())[:-1], rng.random(n), side="right")
        believed = rng.beta(self.wins, self.tries - self.wins, (POSTERIORS, len(self.wins)))
        sharpness = SHARPNESS * np.arange(1, MOST_MOVES + 1)
        weights = believed ** sharpness[:, None, None]
        totals = np.cumsum(weights / weights.sum(axis=2, keepdims=True), axis=2).reshape(
            -1, len(self.wins)
        )
        totals[:, -1] = 1.0
        # One sorted table of all draws for all moves: row i fills the numbers from i to i + 1.
        table = (totals + np.arange(len(totals))[:, None]).ravel()
        chosen = np.full((MOST_MOVES, n), -1, dtype=np.intp)
        move, child = np.nonzero(many > np.arange(MOST_MOVES)[:, None])
        row = move * POSTERIORS + rng.integers(0, POSTERIORS, len(move))
        place = np.searchsorted(table, row + rng.random(len(row)), side="right")
        chosen[move, child] = np.minimum(place - row * len(self.wins), len(self.wins) - 1)
        return chosen

    def apply(self, points: Points, chosen: NDArray[np.intp], rng: np.random.Generator) -> Points:
        """Return the points after these moves; they are changed in place."""
        moves = self.moves
        for arms in chosen:
            rows = np.flatnonzero(arms >= 0)
            which, kind = np.divmod(arms[rows], 3)
            column = moves.positions[which]
            low, high, size = moves.low[which], moves.high[which], moves.size[which]
            steps = np.where(kind == 0, -1.0, 1.0) * size
            jumps = low + np.floor(rng.random(len(rows)) * moves.counts[which]) * size
            values = np.where(kind == 2, jumps, points[rows, column] + steps)
            points[rows, column] = np.clip(values, low, high)
        return moves.snapped(points)

    def promise(self, chosen: NDArray[np.intp]) -> NDArray[np.float64]:
        """Return the logarithm of how likely these moves are believed to end at a hit."""
        rates = np.append(np.log(self.wins / self.tries), 0.0)  # -1 stands for no move
        return np.asarray(rates[chosen].sum(axis=0))

    def learn(self, chosen: NDArray[np.intp], hits: NDArray[np.bool_]) -> None:
        """Take into account what these moves led to; several moves of one child share the credit."""
        many = (chosen >= 0).sum(axis=0)
        self._many_wins, self._many_tries = (
            _faded(self._many_wins, 1.0),
            _faded(self._many_tries, 2.0),
        )
        self._many_tries += np.bincount(many - 1, minlength=MOST_MOVES)
        self._many_wins += np.bincount(many - 1, weights=hits, minlength=MOST_MOVES)
        self.wins, self.tries = _faded(self.wins, 1.0), _faded(self.tries, 2.0)
        for arms in chosen:
            used = arms >= 0
            credit = 1.0 / many[used]
            self.tries += np.bincount(arms[used], weights=credit, minlength=len(self.tries))
            self.wins += np.bincount(
                arms[used], weights=credit * hits[used], minlength=len(self.wins)
            )


def _faded(counts: NDArray[np.float64], prior: float) -> NDArray[np.float64]:
    return prior + (counts - prior) * MEMORY
