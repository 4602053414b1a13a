"""Which set of features to test next, to find the border between the two sides of the limit.

The next set is the one that, by the scores seen so far, is expected to settle most others for what
it takes. The paper goes from small sets to large ones instead (Themis, Algorithm 3). The order
affects only the cost: a wrong prediction costs a test more, never a wrong answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.subsets.evaluators.arrays import Flags
    from evenhand.methods.subsets.lattice import Lattice
    from evenhand.statistics.intervals import Floats

AT_ONCE = 64
"""Sets that are considered before scores are predicted anew."""
DRAWS = 16
"""About how many draws it takes to settle a set that scores 0."""
SOON = 8
"""About how many variants are asked until one differs, where one does."""
NEXT_TO_NOTHING = 1e-9
"""What a set is worth that may not be settled."""
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

    def __post_init__(self) -> None:
        self._singles: dict[int, float] = {}
        self._ratios: list[float] = []
        self._guesses: dict[int, float] = {}
        size = len(self.lattice.states)
        self._floor = np.zeros(size)
        self._ceiling = np.ones(size)

    @cached_property
    def costs(self) -> Floats:
        """How many variants each set has."""
        costs = np.ones(1)
        for variety in self.varieties:
            # Bit j doubles the sets: first all without feature j, then the same with it.
            with_feature = costs * variety
            costs = np.concatenate([costs, with_feature])
        return costs

    def learn(self, mask: int, value: float) -> None:
        """Take a set's score into account."""
        # Scores never fall when features are added (Themis, Theorems 4.1 and 4.2).
        floor = np.maximum(self._floor, value)
        ceiling = np.minimum(self._ceiling, value)
        supersets = self.lattice.over(mask)
        subsets = self.lattice.under(mask)
        np.copyto(self._floor, floor, where=supersets)
        np.copyto(self._ceiling, ceiling, where=subsets)
        if mask.bit_count() == 1:
            self._singles[mask] = value
        elif 0 < value < 1:
            weight = -np.log1p(-value)
            expected = self._weight(mask)
            if expected > 0:
                self._ratios.append(weight / expected)

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

    def predicted(self) -> Floats:
        """Return the predicted score of every set."""
        unseen = self.limit / 2
        weights = np.zeros(1)
        for bit in range(len(self.lattice.names)):
            score = self._singles.get(1 << bit, unseen)
            with_feature = weights + _weight_of(score)
            weights = np.concatenate([weights, with_feature])
        weights = weights * self._strength()
        scores = -np.expm1(-weights)
        for mask, guess in self._guesses.items():
            scores[mask] = guess
        # Sampled scores may contradict each other a little; then the floor wins.
        ceiling = np.maximum(self._ceiling, self._floor)
        scores = np.clip(scores, self._floor, ceiling)
        return np.asarray(scores)

    def _strength(self) -> float:
        """Return by how much the weights of larger sets exceed the sum of their features'."""
        if not self._ratios:
            return 1.0
        recent = self._ratios[-RECENT:]
        return float(np.median(recent))

    def batch(self) -> list[int]:
        """Return open sets, those first that are expected to settle most for what they take.

        Single features come before all others, as the predictions rest on them.
        """
        is_open = self.lattice.open
        unseen = self._unseen_singles(is_open)
        if unseen or not is_open.any():
            return unseen
        predicted = self.predicted()
        open_masks = np.flatnonzero(is_open)
        worth = self._settled(is_open, predicted)[open_masks]
        if self.margin:
            scores = predicted[open_masks]
            costs = self.costs[open_masks]
            # Next to the limit a set is likely to stay undecided, and then settles nothing.
            distance = np.abs(scores - self.limit)
            margins = distance / (2 * self.margin)
            chance = np.clip(margins, 0.01, 1.0) ** 2
            effort = self._effort(scores, costs)
            worth = worth * chance / effort
        order = np.lexsort((open_masks, -worth))
        first = order[:AT_ONCE]
        batch: list[int] = open_masks[first].tolist()
        return batch

    def _unseen_singles(self, is_open: Flags) -> list[int]:
        """Return the single features that are open and have no score yet."""
        unseen = []
        for bit in range(len(self.lattice.names)):
            mask = 1 << bit
            has_score = mask in self._singles
            if is_open[mask] and not has_score:
                unseen.append(mask)
        return unseen

    def _settled(self, is_open: Flags, predicted: Floats) -> Floats:
        """Return how many open sets each set would settle, on its predicted side of the limit."""
        above = predicted >= self.limit
        supersets = self._sums(is_open, over=True)
        subsets = self._sums(is_open, over=False)
        settled = np.where(above, supersets, subsets)
        # A set with too many variants cannot be cleared; it comes last, as others may settle it
        # first.
        can_be_cleared = self.costs <= self.most
        can_be_settled = above | can_be_cleared
        return np.where(can_be_settled, settled, NEXT_TO_NOTHING)

    def _effort(self, predicted: Floats, costs: Floats) -> Floats:
        """Return about how many inputs it takes to tell scores from the limit."""
        # As in Wald's formula, draws grow with the variance over the squared distance.
        distance = np.abs(predicted - self.limit)
        distance = np.maximum(distance, self.margin)
        rest = 1 - predicted
        twice_variance = 2 * predicted * rest
        draws = DRAWS + DRAWS * twice_variance / distance**2
        # A draw that nothing flips takes all variants, one that something flips only a few.
        all_variants = np.minimum(costs, self.most)
        variants = rest * all_variants + SOON * predicted
        return np.asarray(draws * variants)

    def _sums(self, sets: Flags, *, over: bool) -> Floats:
        """Return for each set how many of some sets contain it, or are contained in it.

        This is the zeta transform of the subset lattice, one feature at a time: without it, every
        pair of sets would be compared.
        """
        sums = sets.astype(np.float64)
        for bit in range(len(self.lattice.names)):
            halves = sums.reshape(-1, 2, 1 << bit)
            without_feature = halves[:, 0]
            with_feature = halves[:, 1]
            if over:
                without_feature += with_feature
            else:
                with_feature += without_feature
        return sums


def _weight_of(score: float) -> float:
    """Return -log(1 - score): weights of independent features add up."""
    score = min(score, ALMOST_CERTAIN)
    return float(-np.log1p(-score))
