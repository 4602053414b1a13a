"""Which set of features to test next, to find the border between the two sides of the limit.

The next set is the one that, by the scores seen so far, is expected to settle most others for what
it takes. The paper goes from small sets to large ones instead (Themis, Algorithm 3). The order
affects only the cost: a wrong prediction costs a test more, never a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.subsets.lattice import Lattice

AT_ONCE = 64
"""Sets that are considered before scores are predicted anew."""
DRAWS = 16
"""About how many draws it takes to settle a set that scores 0."""
SOON = 8
"""About how many variants are asked until one differs, where one does."""
RECENT = 64
"""The scores of larger sets that the strength of features taken together is learnt from."""
ALMOST_CERTAIN = 0.999
"""The highest score that is predicted with: the logarithm of what is left of 1 must be finite."""


@dataclass
class Border:
    """Predicts scores from those seen so far, and chooses the sets to test.

    A set's score is predicted as if its features acted independently, 1 - prod(1 - p_j) **
    strength, within what its tested subsets and supersets scored; the strength is learnt.
    """

    lattice: Lattice
    limit: float
    margin: float
    """How near to the limit sets stay undecided.

    It is 0 where scores are exact, and every set takes the same.
    """
    varieties: Sequence[float]
    """How many values each feature has."""
    most: float
    """How many variants a set may have to be shown to be below the limit."""
    _singles: dict[int, float] = field(default_factory=dict)
    _ratios: list[float] = field(default_factory=list)
    _guesses: dict[int, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        size = len(self.lattice.states)
        self._floor = np.zeros(size)
        self._ceiling = np.ones(size)

    @cached_property
    def costs(self) -> NDArray[np.float64]:
        """How many variants each set has."""
        costs = np.ones(1)
        for variety in self.varieties:
            # Bit j doubles the sets: first all without feature j, then the same with it.
            costs = np.concatenate([costs, costs * variety])
        return costs

    def learn(self, mask: int, value: float) -> None:
        """Take a set's score into account."""
        over = self.lattice.over(mask)
        under = self.lattice.under(mask)
        # Scores never fall when features are added (Themis, Theorems 4.1 and 4.2).
        self._floor[over] = np.maximum(self._floor[over], value)
        self._ceiling[under] = np.minimum(self._ceiling[under], value)
        if mask.bit_count() == 1:
            self._singles[mask] = value
        elif 0 < value < 1:
            expected = self._weight(mask)
            if expected > 0:
                self._ratios.append(-np.log1p(-value) / expected)

    def guess(self, guesses: Mapping[int, float]) -> None:
        """Take first glances at sets into account, which say nothing of others."""
        self._guesses.update(guesses)

    def _weight(self, mask: int) -> float:
        """Return the weight of a set, -log(1 - score), were its features independent."""
        weights = []
        for bit in range(len(self.lattice.names)):
            if mask >> bit & 1:
                score = self._singles.get(1 << bit, 0.0)
                weights.append(_weight_of(score))
        return float(sum(weights))

    def predicted(self) -> NDArray[np.float64]:
        """Return the predicted score of every set."""
        weights = np.zeros(1)
        for bit in range(len(self.lattice.names)):
            score = self._singles.get(1 << bit, self.limit / 2)
            weights = np.concatenate([weights, weights + _weight_of(score)])
        strength = 1.0
        if self._ratios:
            strength = float(np.median(self._ratios[-RECENT:]))
        scores = -np.expm1(-weights * strength)
        scores[list(self._guesses)] = list(self._guesses.values())
        # Sampled scores may contradict each other a little; then the floor wins.
        ceiling = np.maximum(self._ceiling, self._floor)
        return np.asarray(np.clip(scores, self._floor, ceiling))

    def batch(self) -> list[int]:
        """Return open sets, those first that are expected to settle most for what they take.

        Single features come before all others, as the predictions rest on them.
        """
        is_open = self.lattice.open
        unseen = []
        for bit in range(len(self.lattice.names)):
            mask = 1 << bit
            if is_open[mask] and mask not in self._singles:
                unseen.append(mask)
        if unseen or not is_open.any():
            return unseen
        predicted = self.predicted()
        open_masks = np.flatnonzero(is_open)
        worth = self._settled(is_open, predicted)[open_masks]
        if self.margin:
            scores = predicted[open_masks]
            # Next to the limit a set is likely to stay undecided, and then settles nothing.
            distance = np.abs(scores - self.limit)
            chance = np.clip(distance / (2 * self.margin), 0.01, 1.0) ** 2
            worth = worth * chance / self._effort(scores, self.costs[open_masks])
        order = np.lexsort((open_masks, -worth))
        return [int(mask) for mask in open_masks[order][:AT_ONCE]]

    def _settled(
        self, is_open: NDArray[np.bool_], predicted: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return how many open sets each set would settle, on its predicted side of the limit."""
        above = predicted >= self.limit
        supersets = self._sums(is_open, over=True)
        subsets = self._sums(is_open, over=False)
        settled = np.where(above, supersets, subsets)
        # A set with too many variants cannot be cleared; it comes last, as others may settle it
        # first.
        can_be_settled = above | (self.costs <= self.most)
        return np.where(can_be_settled, settled, 1e-9)

    def _effort(
        self, predicted: NDArray[np.float64], costs: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """Return about how many inputs it takes to tell scores from the limit."""
        # As in Wald's formula, draws grow with the variance over the squared distance.
        distance = np.maximum(np.abs(predicted - self.limit), self.margin)
        draws = DRAWS + DRAWS * 2 * predicted * (1 - predicted) / distance**2
        # A draw that nothing flips takes all variants, one that something flips only a few.
        variants = (1 - predicted) * np.minimum(costs, self.most) + SOON * predicted
        return np.asarray(draws * variants)

    def _sums(self, sets: NDArray[np.bool_], *, over: bool) -> NDArray[np.float64]:
        """Return for each set how many of some sets contain it, or are contained in it.

        This is the zeta transform of the subset lattice, one feature at a time: without it, every
        pair of sets would be compared.
        """
        sums = sets.astype(np.float64)
        for bit in range(len(self.lattice.names)):
            halves = sums.reshape(-1, 2, 1 << bit)
            if over:
                halves[:, 0] += halves[:, 1]
            else:
                halves[:, 1] += halves[:, 0]
        return sums


def _weight_of(score: float) -> float:
    """Return -log(1 - score): weights of independent features add up."""
    return float(-np.log1p(-min(score, ALMOST_CERTAIN)))
