"""The smallest and the largest limit over many pairs of groups, without the limit of every pair.

Every pair keeps its own error, also those whose limit is never computed: a pair is left out only
where its limit is known to be no smaller, or no larger, than one that was computed. Three things
tell so, the cheap ones first: the order of the groups themselves, bounds of each limit from the
quantiles of its two groups, and one evaluation of the probability whose root the limit is.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats, Limits

    Counts: TypeAlias = "tuple[Floats, Floats, Floats, Floats]"
    Places: TypeAlias = "NDArray[np.intp]"

_FAR_SHARES = (0.98, 0.02)
"""Shares of the error that the first group of a pair may have, besides a half."""
_NEAR_POWERS = (0.15, 0.85)
"""Powers of the error that the first group of a pair may have, besides the square root."""
FEW_GROUPS = 20
"""Up to so many groups, nothing is gained by looking for more pairs that can be left out."""
_AT_ONCE = 4096
"""Pairs whose probabilities are computed together, which bounds the memory that it takes."""


@dataclass(frozen=True)
class Melding:
    """How the lower limit of a pair is found, as a function of its counts k1, n1, k2, n2."""

    above: Callable[[Floats, Floats, Floats, Floats, float], Floats]
    """The limit, given the counts and the error."""
    probability: Callable[[Floats, Floats, Floats, Floats], Callable[[Floats], Floats]]
    """What rises in the limit, and is the error there."""


@dataclass(frozen=True)
class PairGrid:
    """Pairs of each of some groups with each of some others, but not with itself.

    Counts have the groups on their last axis; `first` and `second` are places on it.
    """

    hits: Floats
    size: Floats
    first: Places
    second: Places

    @property
    def is_small(self) -> bool:
        """Whether there are few groups."""
        return bool(self.hits.shape[-1] <= FEW_GROUPS)

    @property
    def counts(self) -> Counts:
        """The counts k1, n1, k2, n2 of all pairs, on two axes; they are views and cost nothing."""
        shape = (*self.hits.shape[:-1], len(self.first), len(self.second))
        k1, n1 = (counts[..., self.first, None] for counts in (self.hits, self.size))
        k2, n2 = (counts[..., None, self.second] for counts in (self.hits, self.size))
        k1, n1, k2, n2 = (np.broadcast_to(counts, shape) for counts in (k1, n1, k2, n2))
        return k1, n1, k2, n2

    def only_pairs(self, bounds: Limits, *, largest: bool) -> Limits:
        """Return bounds such that no group with itself is the extreme pair."""
        is_pair = self.first[:, None] != self.second
        never = -np.inf if largest else np.inf
        far, near = bounds
        return np.where(is_pair, far, never), np.where(is_pair, near, never)

    def bounds(
        self,
        lower: Callable[[Floats, Floats, float], Floats],
        upper: Callable[[Floats, Floats, float], Floats],
        apart: Callable[[Floats, Floats], Floats],
        tail: float,
    ) -> Limits:
        """Return what the limits of all pairs are not below, and not above.

        L of the first group and U of the second, `apart` from each other, are below the one with a
        probability of `tail` at most, since one of the two must be out, and below the other with at
        least that, since both may be. `lower` and `upper` are the quantiles of L and U.
        """
        of_first = (self.hits[..., self.first], self.size[..., self.first])
        of_second = (self.hits[..., self.second], self.size[..., self.second])

        def between(rate1: float, rate2: float) -> Floats:
            lowest = lower(*of_first, rate1)[..., :, None]
            highest = upper(*of_second, rate2)[..., None, :]
            return apart(lowest, highest)

        far = between(tail / 2, tail / 2)
        near = between(tail**0.5, tail**0.5)
        if self.is_small:
            return far, near
        for share in _FAR_SHARES:
            far = np.maximum(far, between(share * tail, (1 - share) * tail))
        for power in _NEAR_POWERS:
            near = np.minimum(near, between(tail**power, tail ** (1 - power)))
        return far, near


def grid_of_extremes(hits: Floats, size: Floats, *, largest: bool) -> PairGrid:
    """Return pairs among which that with the largest or the smallest limit is.

    >>> grid = grid_of_extremes(np.arange(30.0), np.full(30, 40.0), largest=True)
    >>> grid.first.tolist(), grid.second.tolist()
    ([28, 29], [0, 1])
    """
    highest = ends(hits, size, high=True)
    lowest = ends(hits, size, high=False)
    if largest:
        return PairGrid(hits, size, highest, lowest)
    return PairGrid(hits, size, lowest, highest)


def ends(hits: Floats, size: Floats, *, high: bool) -> Places:
    """Return the groups that may be at the high or the low end of pairs that are extreme.

    A group with no fewer hits and no more misses than another is above it for certain: the limits
    of both lie in that order at every error. A group is left out where two others are above it,
    since at most one of them is the other group of a pair. Few groups, and those of several
    samples at once, are all taken.

    >>> ends(np.arange(30.0), np.full(30, 40.0), high=True).tolist()
    [28, 29]
    """
    groups = hits.shape[-1]
    if hits.ndim > 1 or groups <= FEW_GROUPS:
        return np.arange(groups)
    misses = size - hits
    if not high:
        hits, misses = misses, hits
    no_lower = (hits >= hits[:, None]) & (misses <= misses[:, None])
    # Of groups with the same counts, the first is taken to be above the others.
    order = np.arange(groups)
    is_same = no_lower & no_lower.T & (order >= order[:, None])
    above = (no_lower & ~is_same).sum(axis=1)
    return np.flatnonzero(above <= 1)


def extreme_of_all(
    melding: Melding,
    grid: PairGrid,
    bounds: Limits,
    tail: float,
    *,
    largest: bool,
    worst: float,
    least: Callable[[], Floats] | None = None,
) -> Floats:
    """Return the largest or the smallest limit over all pairs of a grid, as `extreme` does."""
    samples = grid.hits.shape[:-1]
    pairs = math.prod(grid.counts[0].shape[len(samples) :])
    shape = (*samples, pairs)
    k1, n1, k2, n2 = (counts.reshape(shape) for counts in grid.counts)
    far, near = (bound.reshape(shape) for bound in grid.only_pairs(bounds, largest=largest))
    return extreme(
        melding,
        (k1, n1, k2, n2),
        (far, near),
        tail,
        largest=largest,
        worst=worst,
        is_small=grid.is_small,
        least=least,
    )


def extreme(
    melding: Melding,
    counts: Counts,
    bounds: Limits,
    tail: float,
    *,
    largest: bool,
    worst: float,
    is_small: bool,
    least: Callable[[], Floats] | None = None,
) -> Floats:
    """Return the largest or the smallest limit over the pairs on the last axis.

    `bounds` are what each limit is not below and not above: for what is no pair, both are infinite
    on the side that is not looked for. The extreme is `worst` at worst. `least` gives further lower
    bounds of all limits, which are asked for where many pairs remain.
    """
    pairs = bounds[0].shape[-1]
    shape = bounds[0].shape[:-1]
    far, near = (bound.reshape(-1, pairs) for bound in bounds)
    k1, n1, k2, n2 = (of_all.reshape(-1, pairs) for of_all in counts)
    table = _PairRows((k1, n1, k2, n2), melding, tail, largest)
    if largest:
        maybe = near >= np.maximum(far.max(axis=1, keepdims=True), worst)
    else:
        maybe = far <= np.minimum(near.min(axis=1, keepdims=True), worst)
    limits = np.full(far.shape, worst)
    if not is_small:
        if least is not None and not largest:
            far = np.maximum(far, least().reshape(-1, pairs))
        table.narrow(far, near, maybe, limits)
    at = np.nonzero(maybe)
    limits[at] = melding.above(*table.at(at), tail)
    return table.beyond(limits).reshape(shape)


@dataclass(frozen=True)
class _PairRows:
    """Pairs in rows, each of which has an extreme limit."""

    counts: Counts
    melding: Melding
    tail: float
    largest: bool

    def at(self, places: tuple[Places, ...]) -> Counts:
        """Return the counts of some pairs."""
        k1, n1, k2, n2 = (of_all[places] for of_all in self.counts)
        return k1, n1, k2, n2

    def beyond(self, limits: Floats) -> Floats:
        """Return the extreme of each row."""
        return np.asarray(limits.max(axis=1) if self.largest else limits.min(axis=1))

    def narrow(
        self, far: Floats, near: Floats, maybe: NDArray[np.bool_], limits: Floats
    ) -> None:
        """Compute the limit that is likely to be extreme, and drop what is not beyond it.

        Limits that are computed are written to `limits`; `maybe` keeps those to be computed.
        """
        # The near bound is close to the limit, and off by much the same for all pairs.
        likely = near.argmax(axis=1) if self.largest else near.argmin(axis=1)
        rows = np.flatnonzero(maybe[np.arange(len(maybe)), likely])
        at = (rows, likely[rows])
        limits[at] = self.melding.above(*self.at(at), self.tail)
        maybe[at] = False
        found = self.beyond(limits)
        if self.largest:
            maybe &= near > found[:, None]
        else:
            maybe &= far < found[:, None]
        left = np.nonzero(maybe)
        for start in range(0, len(left[0]), _AT_ONCE):
            part = (left[0][start : start + _AT_ONCE], left[1][start : start + _AT_ONCE])
            probability = self.melding.probability(*self.at(part))(found[part[0]])
            is_beyond = probability < self.tail if self.largest else probability > self.tail
            maybe[part] = is_beyond
