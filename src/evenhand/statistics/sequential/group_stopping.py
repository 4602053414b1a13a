"""When to stop sampling for the spread over groups, max p - min p.

The spread is the group score of Themis (Definition 3.6).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.statistics import intervals
from evenhand.statistics.sequential import confidence_sequences as always
from evenhand.statistics.sequential.stopping import SLACK, Plan, calibration

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evenhand.statistics.intervals import Floats, Limits
    from evenhand.statistics.sequential.stopping import Flags


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

    _decide_share: ClassVar[float] = 0.25
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

    def _total(self, counts: Floats, n: int) -> int:
        return n * self.groups

    def _interval(self, counts: Floats, sizes: Floats, level: float, method: str) -> Limits:
        if method == "wald":
            return self._wald(counts, sizes, level)
        interval = intervals.spread if method == "exact" else always.mixture_spread
        return interval(_extremes(counts), sizes[..., None], level, among=self.groups)

    def _wald(self, counts: Floats, sizes: Floats, level: float) -> Limits:
        safe = np.maximum(sizes, 1)
        value = self._value(counts, safe)
        half = intervals.z_score(level) * self._deviation(counts, safe)
        low = np.maximum(value - half, 0.0)
        high = np.minimum(value + half, 1.0)
        seen = sizes > 0
        return np.where(seen, low, 0.0), np.where(seen, high, 1.0)

    def _deviation(self, counts: Floats, sizes: Floats) -> Floats:
        """Return the standard error of the spread, as if the two extreme groups had been chosen."""
        top = counts.max(axis=-1) / sizes
        bottom = counts.min(axis=-1) / sizes
        variance = top * (1 - top) + bottom * (1 - bottom)
        return np.asarray(np.sqrt(variance / sizes))

    @property
    def method(self) -> str:
        """The name of the interval that the margin refers to.

        A precise run may end long after the margin, when the limit is excluded: only an interval
        that holds at all sizes holds then.
        """
        if self.precise and self.limit is not None and self.interval in (None, "exact"):
            return "anytime"
        return super().method

    @property
    def error_decide(self) -> float:
        """The error of the interval that excludes the limit, which is the one reported."""
        alpha = 1 - self.level
        if self.limit is None or self.method == "wald":
            return 0.0
        if self.margin is None or self.method == "anytime":
            return alpha
        return alpha * self._decide_share

    @property
    def error_report(self) -> float:
        """The error of the interval that is reported where a run ends before the margin."""
        return self.error_decide or 1 - self.level

    @property
    def error_margin(self) -> float:
        """The error of the interval that is reported at the margin or when the budget is spent."""
        if self.method != "exact" or (self.margin is None and self.limit is None):
            return 1 - self.level
        if self.margin is None:
            return 0.0
        alpha = 1 - self.level - self.error_decide
        return alpha * calibration(alpha)

    def _reached(self, counts: Floats, sizes: Floats, margin: float | None) -> Flags:
        deviation = self._deviation(counts, sizes)
        if margin is None:
            return np.zeros(deviation.shape, dtype=bool)
        # A look too wide even for Wald's formula is not worth the integral; the rule stays a
        # function of the hits.
        near = np.asarray(intervals.z_score(1 - self.error_margin) * deviation < margin)
        if self.method == "wald" or not near.any():
            return near
        hits = counts[near]
        size = np.broadcast_to(sizes, near.shape)[near]
        value = np.ptp(hits, axis=-1) / size
        low_is_near = self._is_over(hits, size, value - margin)
        stop = near.copy()
        stop[near] = low_is_near
        # Only where the lower limit is near enough is the upper one worth an integral.
        high_is_near = self._is_under(
            hits[low_is_near], size[low_is_near], value[low_is_near] + margin
        )
        stop[stop] = high_is_near
        return stop

    def _excluded(self, counts: Floats, sizes: Floats) -> Flags:
        runs = np.broadcast_shapes(counts.shape[:-1], sizes.shape)
        none = np.zeros(runs, dtype=bool)
        if self.limit is None or self.error_decide == 0.0:
            return none
        size = np.broadcast_to(sizes, none.shape)
        limit = np.full(none.shape, self.limit)
        over = self._is_over(counts, size, limit, anytime=True)
        under = self._is_under(counts, size, limit, anytime=True)
        return np.asarray(over | under)

    def _is_over(
        self, counts: Floats, size: Floats, bar: Floats, *, anytime: bool = False
    ) -> Flags:
        """Return where the spread's lower limit is at or over the bar.

        The limit is over it if that of any ordered pair is.
        """
        pairs = _pairs_of_extremes(counts, size)
        bars = np.broadcast_to(bar[..., None], pairs[0].shape)
        if anytime or self.method == "anytime":
            error, _ = always.mixture_tails(
                self.groups, self.error_decide or 1 - self.level
            )
            is_apart = _difference(pairs) > bars
            log_mixture = always.log_mixture_difference(*pairs, np.clip(bars, 0, 1))
            over = is_apart & (log_mixture >= SLACK - math.log(error))
            return np.asarray(over.any(axis=-1) | ((bar <= 0) & (not anytime)))
        tail, _ = intervals.spread_tails(self.groups, self.error_margin)
        over = intervals.melded(*pairs)(bars) <= tail
        return np.asarray(over.any(axis=-1) | (bar <= 0))

    def _is_under(
        self, counts: Floats, size: Floats, bar: Floats, *, anytime: bool = False
    ) -> Flags:
        """Return where the spread's upper limit is under the bar.

        The limit is under it if those of all ordered pairs are.
        """
        pairs = _pairs_of_extremes(counts, size)
        # A difference cannot be over 1.
        reachable = np.minimum(bar, 1.0)
        bars = np.broadcast_to(reachable[..., None], pairs[0].shape)
        if anytime or self.method == "anytime":
            _, error = always.mixture_tails(
                self.groups, self.error_decide or 1 - self.level
            )
            is_near = _difference(pairs) < bars
            log_mixture = always.log_mixture_difference(*pairs, bars)
            under = is_near & (log_mixture >= SLACK - math.log(error))
            return np.asarray(under.all(axis=-1) | ((bar >= 1) & (not anytime)))
        _, tail = intervals.spread_tails(self.groups, self.error_margin)
        under = intervals.melded(*pairs)(-bars) <= tail
        return np.asarray(under.all(axis=-1) | (bar >= 1))


def _extremes(counts: Floats) -> Floats:
    """Return the most and the fewest hits of any group."""
    most = counts.max(axis=-1)
    fewest = counts.min(axis=-1)
    return np.stack([most, fewest], axis=-1)


def _pairs_of_extremes(
    counts: Floats, size: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return k1, n1, k2, n2 of the two ordered pairs of the groups with most and fewest hits."""
    hits = _extremes(counts)
    return intervals.ordered_pairs(hits, np.broadcast_to(size[..., None], hits.shape))


def _difference(pairs: tuple[Floats, Floats, Floats, Floats]) -> Floats:
    """Return the difference of the shares of each pair, whose samples have one size."""
    k1, n, k2, _ = pairs
    return np.asarray((k1 - k2) / n)
