"""A group against everyone else within strata: how far apart people are who are otherwise alike.

Differences within strata are pooled with the weights of Mantel and Haenszel (Greenland and Robins
1985), which give no weight to a stratum that lies wholly inside or outside of the group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.statistics.intervals import Floats

ROUNDING = 1e-9
"""The part of people below which a sum of weights is a rounding error, and stands for nobody."""


@dataclass(frozen=True, slots=True)
class StratumSums:
    """The sums of one stratum, and of the part of each group that lies in it.

    People, the sum of their values, and of numbers also that of their squares: the first of each
    row is for the stratum, the second for the groups.
    """

    whole: Floats
    groups: Floats

    def sides(self) -> tuple[Floats, Floats]:
        """Return the sums inside of each group, and of all others in the stratum."""
        whole = self.whole if self.whole.ndim > 1 else self.whole[:, None]
        return self.groups, np.maximum(whole - self.groups, 0.0)


@dataclass(frozen=True, slots=True)
class PooledDifference:
    """How far groups are from all others within strata, and the standard error of that."""

    value: Floats
    error: Floats
    """Infinite where no stratum has people of both sides."""

    def strength(self, z: float) -> Floats:
        """Return how far apart they are at least, at a normal quantile; below 0 if not shown."""
        if not z:
            return np.where(np.isfinite(self.error), np.abs(self.value), -np.inf)
        return np.asarray(np.abs(self.value) - z * self.error)


def pooled_difference(strata: Iterable[StratumSums], z: float) -> PooledDifference:
    """Return the difference of groups from everyone else, pooled over strata.

    Parameters
    ----------
    z
        The normal quantile of the limits that are wanted: shares are drawn towards a half by it, as
        in Wilson's interval, so that a rate of 0 in a small group has some error. 0 for a whole
        population, which has none.

    Examples
    --------
    >>> tall = StratumSums(np.array([100.0, 50.0]), np.array([[40.0], [10.0]]))
    >>> small = StratumSums(np.array([60.0, 50.0]), np.array([[0.0], [0.0]]))
    >>> pooled = pooled_difference([tall, small], z=1.96)
    >>> pooled.value.round(4).tolist(), pooled.error.round(3).tolist()
    ([-0.4167], [0.093])
    """
    weights: Floats | float = 0.0
    total: Floats | float = 0.0
    variance: Floats | float = 0.0
    for stratum in strata:
        inside, outside = stratum.sides()
        least = ROUNDING * (inside[0] + outside[0])
        both = (inside[0] > least) & (outside[0] > least)
        people = np.where(both, inside[0], 1.0)
        others = np.where(both, outside[0], 1.0)
        weight = np.where(both, people * others / (people + others), 0.0)
        difference = inside[1] / people - outside[1] / others
        spread = _spread(inside, people, z) + _spread(outside, others, z)
        weights = weights + weight
        total = total + weight * difference
        variance = variance + weight * weight * spread
    known = np.asarray(weights) > 0
    scale = np.where(known, weights, 1.0)
    value = np.where(known, total / scale, 0.0)
    error = np.where(known, np.sqrt(variance) / scale, np.inf)
    return PooledDifference(value, error)


def _spread(sums: Floats, people: Floats, z: float) -> Floats:
    """Return the variance of a mean: of numbers that of a sample, of rates that of a share."""
    if not z:
        return np.zeros(people.shape)
    mean = sums[1] / people
    if len(sums) > 2:
        squared = np.maximum(sums[2] / people - mean * mean, 0.0)
        return np.asarray(squared / np.maximum(people - 1, 1.0))
    # Within a group that does not hold another, parts of it have no meaning, and may be over 1.
    drawn = np.clip((sums[1] + z * z / 2) / (people + z * z), 0.0, 1.0)
    return np.asarray(drawn * (1 - drawn) / people)
