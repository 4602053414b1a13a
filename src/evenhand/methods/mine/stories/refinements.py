"""Refinements: the rule sets with one condition more than a story, within its people."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.stratified import StratumSums, pooled_difference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import Ranking

    Indices = NDArray[np.intp]

MOST = (8, 2)
"""The most refinements of a story, and of each of these."""
OF_FEATURE = 3
"""The most of them that add a condition on the same feature."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """A rule set within another: its rate, that of the others there, and how far they are apart."""

    number: int
    people: float
    rate: float
    other: float
    low: float
    high: float
    refinements: tuple[Refinement, ...] = ()

    @property
    def difference(self) -> float:
        """How much more often its people are favoured than the others there."""
        return self.rate - self.other

    @property
    def shown(self) -> bool:
        """Whether the limits of the difference exclude 0."""
        return self.low > 0 or self.high < 0


def refinements(
    ranking: Ranking, number: int, z: float, most: Sequence[int] = MOST
) -> tuple[Refinement, ...]:
    """Return the refinements of a rule set that are furthest from its other people, at least.

    Parameters
    ----------
    z
        The normal quantile of the limits.
    most
        The most refinements, then the most of each of them, and so on.
    """
    if not most:
        return ()
    numbers = _one_more(ranking, number)
    if not len(numbers):
        return ()
    sums = ranking.table.sums
    whole = sums[:, [number]]
    inside = sums[:, numbers]
    difference = pooled_difference([StratumSums(whole, inside)], z)
    strength = np.round(difference.strength(z), 12)
    order = np.argsort(-strength, kind="stable")
    known = order[np.isfinite(difference.error[order])]
    found = []
    for at in _by_feature(ranking, number, numbers, known, most[0]):
        people = float(inside[0, at])
        others = float(whole[0, 0]) - people
        rest = max(float(whole[1, 0] - inside[1, at]), 0.0)
        reach = z * float(difference.error[at]) if z else 0.0
        value = float(difference.value[at])
        found.append(
            Refinement(
                int(numbers[at]),
                people,
                rate=float(inside[1, at]) / people,
                other=rest / others,
                low=max(value - reach, -1.0),
                high=min(value + reach, 1.0),
                refinements=refinements(ranking, int(numbers[at]), z, most[1:]),
            )
        )
    return tuple(found)


def _by_feature(
    ranking: Ranking, number: int, numbers: Indices, order: Indices, most: int
) -> list[int]:
    """Return places of refinements in an order: a few of each feature that they add first."""
    own = ranking.table.family(number)
    taken: Counter[int] = Counter()
    few: list[int] = []
    more: list[int] = []
    for rank, at in enumerate(order.tolist()):
        family = ranking.table.family(int(numbers[at]))
        (added,) = set(family) - set(own)
        taken[added] += 1
        part = few if taken[added] <= OF_FEATURE else more
        part.append(rank)
    kept = sorted([*few, *more][:most])
    return [int(order[rank]) for rank in kept]


def _one_more(ranking: Ranking, number: int) -> Indices:
    """Return the rule sets that have all conditions of another, and one more."""
    rule = ranking.table.rule(number)
    levels = ranking.table.levels
    if len(rule) >= len(levels):
        return np.empty(0, dtype=np.intp)
    rules = levels[len(rule)].rules
    has_all = np.ones(len(rules), dtype=np.bool_)
    for choice in rule.tolist():
        has_choice = np.zeros(len(rules), dtype=np.bool_)
        for choices in rules.T:
            has_choice |= choices == choice
        has_all &= has_choice
    first = sum(len(level) for level in levels[: len(rule)])
    return np.flatnonzero(has_all) + first
