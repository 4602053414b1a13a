"""Shares of conditions: how much of a rule set's difference each of its conditions carries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import Ranking
    from evenhand.statistics.intervals import Floats

MOST_CONDITIONS = 12
"""The most conditions whose shares are computed: all sets of them are looked at."""
_ROUNDING = 1e-12
"""Which part of all weight is no weight at all."""


def condition_shares(ranking: Ranking, number: int) -> list[float]:
    """Return the Shapley value of each condition of a rule set, in points of its difference.

    The conditions are players of a game whose worth is the difference of the people of a set of
    them from everyone else (Shapley 1953; of subgroups, Pastor, de Alfaro, Baralis 2021). The
    shares add up to the difference of the rule set; of very many conditions none are returned.
    """
    rule = ranking.table.rule(number)
    conditions = len(rule)
    if conditions > MOST_CONDITIONS:
        return []
    worth = _worth(ranking, rule)
    shares = np.zeros(conditions)
    subsets = np.arange(len(worth))
    sizes = np.bitwise_count(subsets.astype(np.uint64)).astype(np.intp)
    # How often a set of each size comes before a condition, of all orders of the conditions.
    chances = [
        1 / (conditions * math.comb(conditions - 1, size)) for size in range(conditions)
    ]
    for condition in range(conditions):
        without = subsets[(subsets >> condition) & 1 == 0]
        gains = worth[without | 1 << condition] - worth[without]
        shares[condition] = (np.take(chances, sizes[without]) * gains).sum()
    return [float(share) for share in shares]


def _worth(ranking: Ranking, rule: NDArray[np.int32]) -> Floats:
    """Return the difference of the people of each set of conditions; of none and of all, 0.

    The bits of a position say which conditions its set has.
    """
    covers = ranking.found.search.covers
    subsets = 1 << len(rule)
    cover = np.empty((subsets, covers.words), dtype=np.uint64)
    cover[0] = covers.everybody()
    for condition, choice in enumerate(rule.tolist()):
        known = 1 << condition
        cover[known : 2 * known] = cover[:known] & covers.bits[choice]
    people, hits, *_ = covers.sums(cover)
    others = ranking.total - people
    # Sums of weights in different orders differ in their last digits: nobody is not quite zero.
    nobody = _ROUNDING * float(ranking.total)
    both = (people > nobody) & (others > nobody)
    inside = hits / np.where(both, people, 1.0)
    outside = (ranking.hits.sum() - hits) / np.where(both, others, 1.0)
    return np.where(both, inside - outside, 0.0)
