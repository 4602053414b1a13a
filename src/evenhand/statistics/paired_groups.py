"""When to stop sampling for the spread over groups that are asked about the same people.

Every draw is one person, asked as a member of each group. The difference of two groups is then a
mean of draws that are +1, -1 or 0, most of them 0 where the groups are treated alike: far fewer
draws tell it than where each group has people of its own. The spread, max p - min p, is the largest
difference of any two groups (Themis, Definition 3.6), so that

- it is below a value if every pair of groups is; this needs no correction, since it is wrong only
  if the one pair that has the spread is wrongly said to be below;
- it is above a value if the mean of the evidence of all ordered pairs says so.

All limits hold at all sizes at once, so a run may end as it likes, and each pair may have been
asked a number of times of its own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.statistics.limit_tests import log_e_above, log_e_below
from evenhand.statistics.numerics import halve
from evenhand.statistics.stopping import DECIDE_SHARE, SLACK, Plan

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats, Limits
    from evenhand.statistics.stopping import Flags

MOST_GROUPS = 128
"""The most groups whose pairs are all looked at."""
_HALVINGS = 24
_ALMOST_ONE = 1 - 1e-9


@dataclass(frozen=True)
class PairedPlan(Plan):
    """When to stop estimating max p - min p over `groups` that are asked about the same people.

    What was counted is an array of two matrices for each look: in how many draws the group of a row
    got the favourable outcome and that of a column did not, and in how many draws both were asked.
    On the diagonals stand the favourable outcomes of a group, and its draws.

    >>> wins = [[40, 22], [2, 20]]
    >>> draws = [[100, 100], [100, 100]]
    >>> judged = PairedPlan(limit=0.1, groups=2).judge([wins, draws], 100)
    >>> judged.stop.value, round(judged.estimate.value, 2)
    ('the margin was reached', 0.2)
    """

    groups: int = 2

    # Nothing here is calibrated: both shares make up the whole error.
    _report_share: ClassVar[float] = 1 - DECIDE_SHARE
    _group_axes: ClassVar[int] = 3
    _block: ClassVar[int] = 1 << 8

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 2 <= self.groups <= MOST_GROUPS:
            raise UsageError(
                f"groups is {self.groups}; 2 to {MOST_GROUPS} groups are compared in pairs"
            )

    @property
    def method(self) -> str:
        """The name of the interval: the only one there is."""
        return "anytime"

    def _counts(self, hits: ArrayLike) -> Floats:
        counts = np.asarray(hits, dtype=float)
        wanted = (2, self.groups, self.groups)
        if counts.shape[-3:] != wanted:
            raise UsageError(f"hits has shape {counts.shape}; it must end in {wanted}")
        return counts

    def _value(self, counts: Floats, sizes: Floats) -> Floats:
        ups, downs, draws = _pairs(counts)
        seen = np.maximum(draws, 1)
        return np.asarray(np.maximum((ups - downs) / seen, 0.0).max(axis=-1))

    def _total(self, counts: Floats, n: int) -> int:
        draws = np.diagonal(counts[..., 1, :, :], axis1=-2, axis2=-1)
        return int(draws.sum())

    def _interval(self, counts: Floats, sizes: Floats, level: float, method: str) -> Limits:
        value = self._value(counts, sizes)
        # Half of the error for each end.
        tail = (1 - level) / 2

        def low_is_out(bar: Floats) -> NDArray[np.bool_]:
            return self._is_over(counts, bar, tail)

        def high_is_out(bar: Floats) -> NDArray[np.bool_]:
            return self._is_under(counts, bar, tail)

        zero = np.zeros_like(value)
        lowest, _ = halve(low_is_out, zero, value, _HALVINGS)
        highest, _ = halve(high_is_out, np.full_like(value, _ALMOST_ONE), value, _HALVINGS)
        low = np.where(low_is_out(zero), lowest, 0.0)
        high = np.where(highest < _ALMOST_ONE, highest, 1.0)
        return low, high

    def _reached(self, counts: Floats, sizes: Floats, margin: float | None) -> Flags:
        value = self._value(counts, sizes)
        if margin is None:
            return np.zeros(value.shape, dtype=bool)
        tail = self.error_margin / 2
        low = value - margin
        high = value + margin
        near_low = (low <= 0) | self._is_over(counts, np.maximum(low, 0.0), tail)
        near_high = (high >= 1) | self._is_under(
            counts, np.minimum(high, _ALMOST_ONE), tail
        )
        return np.asarray(near_low & near_high)

    def _excluded(self, counts: Floats, sizes: Floats) -> Flags:
        value = self._value(counts, sizes)
        if self.limit is None or self.error_decide == 0.0:
            return np.zeros(value.shape, dtype=bool)
        if self.limit == 0:
            return self._is_over(counts, np.zeros_like(value), self.error_decide)
        limit = np.full_like(value, min(self.limit, _ALMOST_ONE))
        over = self._is_over(counts, limit, self.error_decide) & (value >= self.limit)
        under = self._is_under(counts, limit, self.error_decide) & (value < self.limit)
        return np.asarray(over | under)

    def _is_over(self, counts: Floats, bar: Floats, error: float) -> Flags:
        """Return where the spread is shown to be over a bar."""
        ups, downs, draws = _pairs(counts)
        evidence = np.empty(ups.shape)
        for place in np.ndindex(bar.shape):
            evidence[place] = log_e_above(
                ups[place], draws[place], float(bar[place]), downs=downs[place]
            )
        largest = evidence.max(axis=-1)
        mean = np.exp(evidence - largest[..., None]).mean(axis=-1)
        return np.asarray(largest + np.log(mean) >= SLACK - math.log(error))

    def _is_under(self, counts: Floats, bar: Floats, error: float) -> Flags:
        """Return where the spread is shown to be under a bar: all pairs are."""
        ups, downs, draws = _pairs(counts)
        evidence = np.empty(ups.shape)
        for place in np.ndindex(bar.shape):
            evidence[place] = log_e_below(
                ups[place], draws[place], float(bar[place]), downs=downs[place]
            )
        return np.asarray(evidence.min(axis=-1) >= SLACK - math.log(error))

    def alike(self, counts: Floats) -> NDArray[np.bool_]:
        """Return which pairs of groups are known to differ by less than the limit.

        >>> plan = PairedPlan(limit=0.1, groups=2)
        >>> counts = np.array([[[50, 0], [0, 50]], [[100, 100], [100, 100]]])
        >>> plan.alike(counts).all()
        np.True_
        """
        below = np.ones((self.groups, self.groups), dtype=np.bool_)
        if self.limit is None or not 0 < self.limit < 1:
            return ~below
        table = self._counts(counts)
        ups, downs, draws = _pairs(table)
        evidence = log_e_below(ups, draws, self.limit, downs=downs)
        one, other = _places(self.groups)
        below[one, other] = evidence >= SLACK - math.log(self.error_decide)
        return below & below.T


def pair_counts(amounts: Floats) -> Floats:
    """Return what `PairedPlan` counts, of draws with an amount in [0, 1] for each group.

    NaN stands for a group that was not asked.

    >>> pair_counts(np.array([[1.0, 0.0], [1.0, np.nan]])).tolist()
    [[[2.0, 1.0], [0.0, 0.0]], [[2.0, 1.0], [1.0, 1.0]]]
    """
    asked = ~np.isnan(amounts)
    got = np.where(asked, amounts, 0.0)
    missed = np.where(asked, 1.0 - got, 0.0)
    wins = got.T @ missed
    np.fill_diagonal(wins, got.sum(axis=0))
    present = asked.astype(float)
    return np.stack([wins, present.T @ present])


def _places(groups: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the rows and the columns of all ordered pairs of two groups."""
    one, other = np.nonzero(~np.eye(groups, dtype=np.bool_))
    return one, other


def _pairs(counts: Floats) -> tuple[Floats, Floats, Floats]:
    """Return ups, downs and draws of all ordered pairs, on the last axis."""
    one, other = _places(counts.shape[-1])
    wins = counts[..., 0, :, :]
    draws = counts[..., 1, :, :]
    return wins[..., one, other], wins[..., other, one], draws[..., one, other]
