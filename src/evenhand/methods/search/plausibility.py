"""Which of the inputs that a search found are people who could exist."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Flags, Indices
    from evenhand.methods.search.hits import Found
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.population.realism import Realism
    from evenhand.space.feature import Points

OTHERS = 0.95
"""How many inputs that are not plausible may be found for each that is."""


@dataclass(frozen=True, slots=True)
class Plausibility:
    """Of each found input, whether it is plausible, and whether its twin is."""

    individuals: Flags
    twins: Flags

    @classmethod
    def of(cls, found: Found, realism: Realism | None) -> Plausibility | None:
        """Judge what was found; None where no real rows tell who could exist."""
        if realism is None:
            return None
        return cls(
            individuals=realism.plausible(found.individuals),
            twins=realism.plausible(found.twins),
        )

    def turned(self, rows: Flags) -> Plausibility:
        """Return the same with some inputs and their twins exchanged."""
        return Plausibility(
            individuals=np.where(rows, self.twins, self.individuals),
            twins=np.where(rows, self.individuals, self.twins),
        )

    @property
    def rank(self) -> Indices:
        """How plausible each is: 0 where both are, 1 where only the individual is, then others."""
        rank = 2 * ~self.individuals + ~self.twins
        return np.asarray(rank, dtype=np.intp)

    def to_dict(self) -> dict[str, Any]:
        """Return how many are plausible, and of how many both the input and its twin are."""
        both = self.individuals & self.twins
        return {"individuals": int(self.individuals.sum()), "both": int(both.sum())}


def judged(
    found: Found, realism: Realism | None, prefer: str
) -> tuple[Found, Plausibility | None]:
    """Return what was found, and which of it is plausible.

    Who prefers realistic inputs gets the plausible one of each pair as the individual. Where both
    are as plausible, the less favoured one stays the first.
    """
    judgement = Plausibility.of(found, realism)
    if judgement is None or prefer != "realistic" or not len(found):
        return found, judgement
    other = judgement.twins & ~judgement.individuals
    return found.turned(other), judgement.turned(other)


def most_plausible_first(probe: Probe, realism: Realism, tried: Tried) -> Tried:
    """Return classes in another order: those with two plausible members, with one, and others."""
    rank = np.zeros(len(tried), dtype=np.intp)
    for assigned in (tried.first, tried.second):
        rank += ~realism.plausible(probe.member(tried.points, assigned))
    return tried.take(np.argsort(rank, kind="stable"))


def plausible_classes(
    probe: Probe,
    realism: Realism,
    points: Points,
    pairs: Indices,
) -> Flags:
    """Return which classes have a plausible member among the two that are compared."""
    first = realism.plausible(probe.member(points, pairs[:, 0]))
    second = realism.plausible(probe.member(points, pairs[:, 1]))
    return np.asarray(first | second)
