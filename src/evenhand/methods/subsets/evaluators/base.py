"""The interface of what scores sets of features, given as bit masks: bit j stands for feature j."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.subsets.decision import Judge
    from evenhand.methods.subsets.evaluators.arrays import Names
    from evenhand.methods.subsets.evaluators.kept import KeptInputs
    from evenhand.methods.subsets.lattice import TestedSet
    from evenhand.runtime.budget import Meter
    from evenhand.space.space import Space
    from evenhand.subject.view import View


class Evaluator(ABC):
    """Scores sets of some features.

    Parameters
    ----------
    names
        The features.
    varieties
        How many values each of them takes; a set has as many variants, or groups, as their product.
    most
        The most variants or groups that are all asked; sets that have more cannot be cleared.
    """

    exact: ClassVar[bool] = False
    """Whether every input of the population has been asked."""
    keep: bool = False
    """Whether the tests behind scores are wanted afterwards."""

    def __init__(
        self,
        view: View,
        names: Names,
        judge: Judge,
        *,
        varieties: Sequence[float],
        most: float = math.inf,
    ) -> None:
        self.view = view
        self.names = names
        self.judge = judge
        self.varieties = varieties
        self.most = most

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    def members(self, mask: int) -> Names:
        """Return the features of a set."""
        return tuple(name for bit, name in enumerate(self.names) if mask >> bit & 1)

    def variants(self, mask: int) -> float:
        """Return how many variants, or groups, a set has."""
        bits = range(len(self.names))
        return math.prod(self.varieties[bit] for bit in bits if mask >> bit & 1)

    def enumerable(self, mask: int) -> bool:
        """Return whether all variants, or groups, of a set may be asked."""
        return self.variants(mask) <= self.most

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return first guesses of the scores of sets that have none yet; here none.

        Evaluators return guesses where these cost little beside a test.
        """
        return {}

    @abstractmethod
    def test(self, mask: int, meter: Meter) -> TestedSet | None:
        """Return what is known of a set after testing it, or None where the budget ended first."""

    def so_far(self, mask: int) -> TestedSet | None:
        """Return what is known of an undecided set of which no more is asked, None for nothing."""
        return None

    @abstractmethod
    def kept(self, mask: int, n: int) -> KeptInputs | None:
        """Return the inputs behind the score of a set that was tested on n draws.

        None stands for a set of which nothing was asked.
        """
