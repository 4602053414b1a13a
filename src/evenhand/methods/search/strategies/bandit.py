"""Arms: which moves lead from hit to hit, learnt as a multi-armed bandit.

The arms are feature × {one step down, one step up, jump}. Arms are chosen by Thompson sampling:
each is believed to succeed with a Beta-distributed chance, and choices follow draws from that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Generator, Indices, Numbers
    from evenhand.methods.search.strategies.moves import FeatureMoves
    from evenhand.space.feature import Points

KINDS = 3
"""How many arms a feature has: one step down, one step up, and a jump to any value."""
STEP_DOWN = 0
JUMP = 2
MOST_MOVES = 4
"""The most moves that lead from a hit to its child."""
MEMORY = 0.98
"""How much of what was learnt still counts one wave later.

What can be reached changes as a search goes on.
"""
POSTERIORS = 16
"""Draws from what is believed of the arms that the candidates of a wave share."""
SHARPNESS = 2.0
"""How strongly arms that are believed to do well are preferred.

The exponent is twice as large for a second move, three times for a third, and so on.
"""
PRIOR_WINS = 1.0
PRIOR_TRIES = 2.0
"""Every arm starts with one win in two tries: the uniform distribution, Beta(1, 1)."""


class Arms:
    """Chooses moves, applies them, and learns which of them ended at hits."""

    def __init__(self, moves: FeatureMoves) -> None:
        self.moves = moves
        arms = KINDS * len(moves.features)
        self.wins = np.full(arms, PRIOR_WINS)
        self.tries = np.full(arms, PRIOR_TRIES)
        # The same for the number of moves of a child, from one to MOST_MOVES.
        self._length_wins = np.full(MOST_MOVES, PRIOR_WINS)
        self._length_tries = np.full(MOST_MOVES, PRIOR_TRIES)

    def choose(self, n: int, rng: Generator) -> Indices:
        """Return the arms of each of `n` children, one row for each move.

        An arm of -1 stands for a child that has no more moves.
        """
        lengths = self._drawn_lengths(n, rng)
        table = self._cumulative_weights(rng)
        arms = len(self.wins)
        has_move = lengths > np.arange(MOST_MOVES)[:, None]
        move, child = np.nonzero(has_move)
        # Each move of each child follows one of the shared draws from the posterior.
        posterior = rng.integers(0, POSTERIORS, len(move))
        row = move * POSTERIORS + posterior
        drawn = row + rng.random(len(row))
        position = np.searchsorted(table, drawn, side="right")
        arm = position - row * arms
        chosen = np.full((MOST_MOVES, n), -1, dtype=np.intp)
        chosen[move, child] = np.minimum(arm, arms - 1)
        return chosen

    def _drawn_lengths(self, n: int, rng: Generator) -> Indices:
        """Return how many moves each of `n` children makes, rather as many as went well."""
        success_rates = self._length_wins / self._length_tries
        weights = success_rates**2
        cumulative = np.cumsum(weights / weights.sum())
        drawn = rng.random(n)
        return 1 + np.searchsorted(cumulative[:-1], drawn, side="right")

    def _cumulative_weights(self, rng: Generator) -> Numbers:
        """Return one sorted table of cumulative arm weights, for every move and posterior draw.

        Row i fills the numbers from i to i + 1, so that a single search finds arms for all rows.
        """
        arms = len(self.wins)
        losses = self.tries - self.wins
        believed = rng.beta(self.wins, losses, (POSTERIORS, arms))
        sharpness = SHARPNESS * np.arange(1, MOST_MOVES + 1)
        weights = believed ** sharpness[:, None, None]
        shares = weights / weights.sum(axis=2, keepdims=True)
        cumulative = np.cumsum(shares, axis=2).reshape(-1, arms)
        # Rounding may leave the last sum a little below one.
        cumulative[:, -1] = 1.0
        offsets = np.arange(len(cumulative))[:, None]
        return np.asarray((cumulative + offsets).ravel())

    def apply(self, points: Points, chosen: Indices, rng: Generator) -> Points:
        """Return the points after these moves; they are changed in place."""
        moves = self.moves
        for arms in chosen:
            rows = np.flatnonzero(arms >= 0)
            which, kind = np.divmod(arms[rows], KINDS)
            column = moves.positions[which]
            low = moves.low[which]
            high = moves.high[which]
            size = moves.size[which]
            direction = np.where(kind == STEP_DOWN, -1.0, 1.0)
            stepped = points[rows, column] + direction * size
            jumped = moves.any_values(which, rng.random(len(rows)))
            stepped = np.clip(stepped, low, high)
            points[rows, column] = np.where(kind == JUMP, jumped, stepped)
        return moves.snapped(points)

    def promise(self, chosen: Indices) -> Numbers:
        """Return the logarithm of how likely these moves are believed to end at a hit."""
        log_rates = np.log(self.wins / self.tries)
        # An arm of -1 finds the last entry: no move costs nothing.
        log_rates = np.append(log_rates, 0.0)
        return np.asarray(log_rates[chosen].sum(axis=0))

    def learn(self, chosen: Indices, hits: Flags) -> None:
        """Learn from what these moves led to; several moves of one child share the credit."""
        lengths = (chosen >= 0).sum(axis=0)
        self._length_wins = _faded(self._length_wins, PRIOR_WINS)
        self._length_tries = _faded(self._length_tries, PRIOR_TRIES)
        self._length_tries += np.bincount(lengths - 1, minlength=MOST_MOVES)
        self._length_wins += np.bincount(lengths - 1, weights=hits, minlength=MOST_MOVES)
        self.wins = _faded(self.wins, PRIOR_WINS)
        self.tries = _faded(self.tries, PRIOR_TRIES)
        for arms in chosen:
            moved = arms >= 0
            used = arms[moved]
            credit = 1.0 / lengths[moved]
            won = credit * hits[moved]
            self.tries += np.bincount(used, weights=credit, minlength=len(self.tries))
            self.wins += np.bincount(used, weights=won, minlength=len(self.wins))


def _faded(counts: Numbers, prior: float) -> Numbers:
    """Return counts moved towards what they were at first, as old evidence fades."""
    return prior + (counts - prior) * MEMORY
