"""When to stop sampling for the spread over groups, max p - min p (the group score of Themis, Def.
3.6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.statistics import confidence_sequences as always
from evenhand.statistics import intervals
from evenhand.statistics.stopping import SLACK, Plan

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evenhand.statistics.intervals import Floats, Limits
    from evenhand.statistics.stopping import Flags


@dataclass(frozen=True)
class SpreadPlan(Plan):
    """When to stop estimating max p - min p over `groups` independent samples of n inputs each.

    The margin and the limit refer to the spread itself. Hits are given per group, on the last axis;
    the estimate's n is the total. The calibration was checked exactly for two groups and wide
    margins, by simulation up to eight groups. All groups have the same n, so the limits of every
    pair lie within those of the groups with the most and the fewest hits, and only that pair is
    looked at, at a rate corrected for all of them.

    >>> print(SpreadPlan(limit=0.1, groups=2).judge([70, 20], 100).estimate)
    50.0 % (21.1 % to 72.9 %, 95 % level, n = 200, anytime)
    """

    groups: int = 2

    _group_axes: ClassVar[int] = 1
    # Each look costs an integral, in time and in memory.
    _block: ClassVar[int] = 1 << 10

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups < 2:
            raise UsageError(f"groups is {self.groups}; a spread needs at least two groups")
        if self.method == "wilson":
            raise UsageError(
                "interval 'wilson' has no form for a spread; use 'exact', 'anytime' or 'wald'"
            )

    def _counts(self, hits: ArrayLike) -> Floats:
        counts = np.asarray(hits, dtype=float)
        if counts.ndim < 1 or counts.shape[-1] != self.groups:
            raise UsageError(
                f"hits has shape {counts.shape}; its last axis must hold the {self.groups} groups"
            )
        return counts

    def _value(self, counts: Floats, sizes: Floats) -> Floats:
        return np.asarray(np.ptp(counts, axis=-1) / sizes)

    def _total(self, n: int) -> int:
        return n * self.groups

    def _interval(self, counts: Floats, sizes: Floats, level: float, method: str) -> Limits:
        if method == "wald":
            safe = np.maximum(sizes, 1)
            value, half = (
                self._value(counts, safe),
                intervals.z_score(level) * self._deviation(counts, safe),
            )
            low, high = np.maximum(value - half, 0.0), np.minimum(value + half, 1.0)
            return np.where(sizes > 0, low, 0.0), np.where(sizes > 0, high, 1.0)
        find = intervals.spread if method == "exact" else always.mixture_spread
        return find(_extremes(counts), sizes[..., None], level, among=self.groups)

    def _deviation(self, counts: Floats, sizes: Floats) -> Floats:
        top, bottom = counts.max(axis=-1) / sizes, counts.min(axis=-1) / sizes
        return np.asarray(np.sqrt((top * (1 - top) + bottom * (1 - bottom)) / sizes))

    def _reached(self, counts: Floats, sizes: Floats) -> Flags:
        deviation = self._deviation(counts, sizes)
        if self.margin is None:
            return np.zeros(deviation.shape, dtype=bool)
        # A look too wide even for Wald's formula is not worth the integral; the rule stays a
        # function of the hits.
        near = np.asarray(intervals.z_score(1 - self.error_margin) * deviation < self.margin)
        if self.method == "wald" or not near.any():
            return near
        hits, size = counts[near], np.broadcast_to(sizes, near.shape)[near]
        value = np.ptp(hits, axis=-1) / size
        stop = near.copy()
        stop[near] = self._is_over(hits, size, value - self.margin)
        hits, size, value = hits[stop[near]], size[stop[near]], value[stop[near]]
        stop[stop] = self._is_under(hits, size, value + self.margin)
        return stop

    def _excluded(self, counts: Floats, sizes: Floats) -> Flags:
        none = np.zeros(np.broadcast_shapes(counts.shape[:-1], sizes.shape), dtype=bool)
        if self.limit is None or self.error_decide == 0.0:
            return none
        size = np.broadcast_to(sizes, none.shape)
        limit = np.full(none.shape, self.limit)
        over = self._is_over(counts, size, limit, anytime=True)
        return np.asarray(over | self._is_under(counts, size, limit, anytime=True))

    def _is_over(
        self, counts: Floats, size: Floats, bar: Floats, *, anytime: bool = False
    ) -> Flags:
        """Return where the spread's lower limit is at or over the bar."""
        ends = _extremes(counts)
        pairs = intervals.ordered_pairs(ends, np.broadcast_to(size[..., None], ends.shape))
        at = np.broadcast_to(bar[..., None], pairs[0].shape)
        if anytime or self.method == "anytime":
            rate = always.mixture_tails(self.groups, self.error_decide or 1 - self.level)[0]
            apart = (pairs[0] - pairs[2]) / pairs[1] > at
            over = apart & (
                always.log_mixture_difference(*pairs, np.clip(at, 0, 1)) >= SLACK - math.log(rate)
            )
            return np.asarray(over.any(axis=-1) | ((bar <= 0) & (not anytime)))
        tail = intervals.spread_tails(self.groups, self.error_margin)[0]
        return np.asarray((intervals.melded(*pairs)(at) <= tail).any(axis=-1) | (bar <= 0))

    def _is_under(
        self, counts: Floats, size: Floats, bar: Floats, *, anytime: bool = False
    ) -> Flags:
        """Return where the spread's upper limit is under the bar."""
        ends = _extremes(counts)
        pairs = intervals.ordered_pairs(ends, np.broadcast_to(size[..., None], ends.shape))
        at = np.broadcast_to(np.minimum(bar, 1.0)[..., None], pairs[0].shape)
        if anytime or self.method == "anytime":
            rate = always.mixture_tails(self.groups, self.error_decide or 1 - self.level)[1]
            apart = (pairs[0] - pairs[2]) / pairs[1] < at
            under = apart & (always.log_mixture_difference(*pairs, at) >= SLACK - math.log(rate))
            return np.asarray(under.all(axis=-1) | ((bar >= 1) & (not anytime)))
        tail = intervals.spread_tails(self.groups, self.error_margin)[1]
        return np.asarray((intervals.melded(*pairs)(-at) <= tail).all(axis=-1) | (bar >= 1))


def _extremes(counts: Floats) -> Floats:
    """Return the most and the fewest hits of any group."""
    return np.stack([counts.max(axis=-1), counts.min(axis=-1)], axis=-1)
