"""When to stop sampling for the spread over groups that are asked about the same people.

Every draw is one person, asked as a member of each group. The difference of two groups is then a
mean of draws that are +1, -1 or 0, most of them 0 where the groups are treated alike: far fewer
draws tell it than where each group has people of its own. The spread, max p - min p, is the largest
difference of any two groups (Themis, Definition 3.6), so that

- it is below a value if every pair of groups is; this needs no correction, since it is wrong only
  if the one pair that has the spread is wrongly said to be below;
- it is above a value if a gambler gets rich who puts a part of the capital on all ordered pairs,
  and the rest on the pair that looked most apart before each draw, whichever that was.

All limits hold at all sizes at once, so a run may end as it likes, each pair may have been asked a
number of times of its own, and a pair that was once shown to be below the limit stays so.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.statistics.discoveries import AgainstLimit
from evenhand.statistics.numerics import halve
from evenhand.statistics.sequential.limit_tests import log_e_above, log_e_below
from evenhand.statistics.sequential.stopping import DECIDE_SHARE, SLACK, Plan

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats, Limits
    from evenhand.statistics.sequential.stopping import Flags

    Counted3 = tuple[Floats, Floats, Floats]
    """Ups, downs and draws."""
    Positions = NDArray[np.intp]
    Test = Callable[..., Floats]

MATRICES = 4
"""How many matrices hold what was counted."""
WINS, DRAWS, CLEARED, BETS = range(MATRICES)
FEW_DRAWS = 8
"""Draws without a difference that are added to those of each pair, to choose one."""
MOST_GROUPS = 128
"""The most groups whose pairs are all looked at."""
ON_MOST_APART = 0.8
"""The share of the capital that is bet on the pair that looked most apart."""
_HALVINGS = 24
_MANY = 16
"""So many counts are worth looking for the same ones among them."""
_EXACT_BASE = 2**17
"""Three whole numbers below this are one number without rounding."""
_ALMOST_ONE = 1 - 1e-9


@dataclass(frozen=True)
class PairedPlan(Plan):
    """When to stop estimating max p - min p over `groups` that are asked about the same people.

    What was counted is an array of four matrices for each look, which `counted` returns:

    0. in how many draws the group of a row got the favourable outcome and that of a column did not;
       on the diagonal, how often a group got it;
    1. in how many draws both were asked; on the diagonal, how often a group was;
    2. the most evidence there ever was that a row is not above a column by the limit;
    3. in the first three places, the draws on which the pair that looked most apart was bet: those
       that were won, those that were lost, and all.

    >>> plan = PairedPlan(limit=0.1, groups=2)
    >>> amounts = np.tile([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], (40, 1))
    >>> judged = plan.judge(plan.counted(amounts), 120)
    >>> judged.stop.value, round(judged.estimate.value, 2)
    ('the limit was excluded', 0.33)
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
        wanted = (MATRICES, self.groups, self.groups)
        if counts.shape[-3:] != wanted:
            raise UsageError(f"hits has shape {counts.shape}; it must end in {wanted}")
        return counts

    def _value(self, counts: Floats, sizes: Floats) -> Floats:
        ups, downs, draws = _pairs(counts)
        seen = np.maximum(draws, 1)
        differences = (ups - downs) / seen
        largest = differences.max(axis=-1)
        return np.asarray(np.maximum(largest, 0.0))

    def _total(self, counts: Floats, n: int) -> int:
        draws = np.diagonal(counts[..., DRAWS, :, :], axis1=-2, axis2=-1)
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
        one = np.full_like(value, _ALMOST_ONE)
        lowest, _ = halve(low_is_out, zero, value, _HALVINGS)
        highest, _ = halve(high_is_out, one, value, _HALVINGS)
        is_above_zero = low_is_out(zero)
        is_below_one = highest < _ALMOST_ONE
        low = np.where(is_above_zero, lowest, 0.0)
        high = np.where(is_below_one, highest, 1.0)
        return low, high

    def _reached(self, counts: Floats, sizes: Floats, margin: float | None) -> Flags:
        value = self._value(counts, sizes)
        if margin is None:
            return np.zeros(value.shape, dtype=bool)
        tail = self.error_margin / 2
        low = value - margin
        high = value + margin
        lowest = np.maximum(low, 0.0)
        highest = np.minimum(high, _ALMOST_ONE)
        near_low = self._is_over(counts, lowest, tail)
        near_low |= low <= 0
        near_high = self._is_under(counts, highest, tail)
        near_high |= high >= 1
        return np.asarray(near_low & near_high)

    def _excluded(self, counts: Floats, sizes: Floats) -> Flags:
        value = self._value(counts, sizes)
        if self.limit is None or self.error_decide == 0.0:
            return np.zeros(value.shape, dtype=bool)
        if self.limit == 0:
            return self._is_over(counts, np.zeros_like(value), self.error_decide)
        reachable = min(self.limit, _ALMOST_ONE)
        limit = np.full_like(value, reachable)
        is_over = self._is_over(counts, limit, self.error_decide)
        one, other = _places(self.groups)
        evidence = counts[..., CLEARED, one, other]
        least = evidence.min(axis=-1)
        is_under = least >= SLACK - math.log(self.error_decide)
        # A verdict goes with the value that is reported beside it.
        over = is_over & (value >= self.limit)
        under = is_under & (value < self.limit)
        return np.asarray(over | under)

    def against(self, hits: ArrayLike, *, among: int = 1) -> AgainstLimit | None:
        """Return how strongly what was counted speaks against the other side of the limit.

        The p-value is of the most evidence there ever was, as the rule that decides is.

        >>> plan = PairedPlan(limit=0.1, groups=2)
        >>> amounts = np.tile([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]], (40, 1))
        >>> plan.against(plan.counted(amounts[:60], plan.counted(amounts[60:]))).p_value < 0.001
        True
        """
        counts = self._counts(hits)
        ups, downs, draws = _pairs(counts)
        if self.limit is None or not 0 < self.limit < 1 or not (draws > 0).all():
            return None
        if float(self._value(counts, draws)) >= self.limit:
            log_e = self._log_over(counts, np.asarray(self.limit))
            return AgainstLimit.of_bet(float(log_e), among=among)
        ever = AgainstLimit.of_bet(
            float(counts[CLEARED][_places(self.groups)].min()), among=among
        )
        now = log_e_below(ups, draws, self.limit, downs=downs).min()
        return replace(ever, e_value=AgainstLimit.of_bet(float(now)).e_value)

    def _is_over(self, counts: Floats, bar: Floats, error: float) -> Flags:
        """Return where the spread is shown to be over a bar."""
        return np.asarray(self._log_over(counts, bar) >= SLACK - math.log(error))

    def _log_over(self, counts: Floats, bar: Floats) -> Floats:
        """Return the log of the evidence that the spread is over a bar."""
        pairs = _evidence(log_e_above, _pairs(counts), bar)
        each = (1 - ON_MOST_APART) / pairs.shape[-1]
        of_all = np.logaddexp.reduce(pairs, axis=-1) + math.log(each)
        of_bets = _evidence(log_e_above, _bets(counts), bar)[..., 0]
        return np.asarray(np.logaddexp(of_all, of_bets + math.log(ON_MOST_APART)))

    def _is_under(self, counts: Floats, bar: Floats, error: float) -> Flags:
        """Return where the spread is shown to be under a bar: all pairs are."""
        evidence = _evidence(log_e_below, _pairs(counts), bar)
        return np.asarray(evidence.min(axis=-1) >= SLACK - math.log(error))

    def alike(self, counts: Floats) -> NDArray[np.bool_]:
        """Return which pairs of groups are known to differ by less than the limit.

        >>> plan = PairedPlan(limit=0.1, groups=2)
        >>> plan.alike(plan.counted(np.tile([[1.0, 1.0], [0.0, 0.0]], (50, 1)))).all()
        np.True_
        """
        evidence = np.asarray(counts)[..., CLEARED, :, :]
        # Without a limit nothing is tested, and no pair is known to be alike.
        error = self.error_decide
        least = SLACK - math.log(error) if error else math.inf
        cleared = evidence >= least
        cleared = cleared | np.eye(self.groups, dtype=np.bool_)
        return np.asarray(cleared & cleared.swapaxes(-1, -2))

    def counted(self, amounts: Floats, before: Floats | None = None) -> Floats:
        """Return what was counted, with the next draws added to what there was before.

        Parameters
        ----------
        amounts
            A row for each draw and a column for each group, in [0, 1]; NaN stands for a group that
            was not asked.
        before
            What was counted before.
        """
        if before is None:
            before = self.nothing
        return self.added(pair_counts(amounts), before)

    @property
    def nothing(self) -> Floats:
        """What is counted before the first draw."""
        return np.zeros((MATRICES, self.groups, self.groups))

    def added(self, new: Floats, before: Floats) -> Floats:
        """Return the same for `pair_counts` of the next draws, of one run or of many.

        >>> plan = PairedPlan(limit=0.1, groups=2)
        >>> new = np.zeros((3, 2, 2, 2))
        >>> plan.added(new, np.stack([plan.nothing] * 3)).shape
        (3, 4, 2, 2)
        """
        counts = before.copy()
        better, worse = most_apart(before)
        won, lost, _ = counts_of_pair(before, better, worse)
        # Nothing is bet before any pair looks apart.
        is_bet = won > lost
        bets = counts_of_pair(new, better, worse)
        counts[..., BETS, :, :] += _in_first_places(bets, is_bet, self.groups)
        counts[..., [WINS, DRAWS], :, :] += new
        if self.limit is not None and 0 < self.limit < 1:
            rows, columns = _places(self.groups)
            evidence = _tested(log_e_below, _pairs(counts), self.limit)
            most = np.maximum(counts[..., CLEARED, rows, columns], evidence)
            counts[..., CLEARED, rows, columns] = most
        return counts


def pair_counts(amounts: Floats) -> Floats:
    """Return how often groups got the better of each other, and how often they were asked together.

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


def _pairs(counts: Floats) -> Counted3:
    """Return ups, downs and draws of all ordered pairs, on the last axis."""
    one, other = _places(counts.shape[-1])
    wins = counts[..., WINS, :, :]
    draws = counts[..., DRAWS, :, :]
    return wins[..., one, other], wins[..., other, one], draws[..., one, other]


def _bets(counts: Floats) -> Counted3:
    """Return the draws on which the pair that looked most apart was bet, as those of one pair."""
    flat = counts[..., BETS, :, :].reshape(*counts.shape[:-3], -1)
    return flat[..., :1], flat[..., 1:2], flat[..., 2:3]


def _in_first_places(bets: Counted3, is_bet: Flags, groups: int) -> Floats:
    """Return what was bet in the first three places of a matrix, of each run."""
    matrix = np.zeros((*is_bet.shape, groups * groups))
    matrix[..., :3] = np.where(is_bet[..., None], np.stack(bets, axis=-1), 0.0)
    return matrix.reshape(*is_bet.shape, groups, groups)


def counts_of_pair(counts: Floats, one: Positions, other: Positions) -> Counted3:
    """Return ups, downs and draws of one pair of each run."""
    wins = counts[..., WINS, :, :]
    return (
        _taken(wins, one, other),
        _taken(wins, other, one),
        _taken(counts[..., DRAWS, :, :], one, other),
    )


def _taken(matrices: Floats, rows: Positions, columns: Positions) -> Floats:
    """Return one element of each matrix."""
    flat = matrices.reshape(*matrices.shape[:-2], -1)
    place = rows * matrices.shape[-1] + columns
    return np.take_along_axis(flat, place[..., None], axis=-1)[..., 0]


def most_apart(counts: Floats) -> tuple[Positions, Positions]:
    """Return the pair of groups that looks most apart, the better one first, of each run.

    Pairs that were asked together a few times only count for less, and of pairs that look alike the
    outermost is taken: the ends of a range differ most.
    """
    wins = counts[..., WINS, :, :]
    net = wins - wins.swapaxes(-1, -2)
    apart = net / (counts[..., DRAWS, :, :] + FEW_DRAWS)
    groups = apart.shape[-1]
    number = np.arange(groups)
    apart[..., number, number] = -np.inf
    distance = np.abs(number[:, None] - number[None, :])
    most = apart.max(axis=(-2, -1), keepdims=True)
    outermost = np.where(apart == most, distance, -1)
    place = outermost.reshape(*outermost.shape[:-2], -1).argmax(axis=-1)
    better, worse = np.divmod(place, groups)
    return np.asarray(better), np.asarray(worse)


def _evidence(test: Test, counts: Counted3, bar: Floats) -> Floats:
    """Return the evidence of ups, downs and draws, of runs with a bar each.

    Runs that are tested against the same bar are tested at once.
    """
    evidence = np.empty(counts[0].shape)
    for value in np.unique(bar):
        same = bar == value
        ups, downs, draws = (count[same] for count in counts)
        evidence[same] = _tested(test, (ups, downs, draws), float(value))
    return evidence


def _tested(test: Test, counts: Counted3, bar: float) -> Floats:
    """Return the evidence of ups, downs and draws; the same counts are tested once."""
    ups, downs, draws = counts
    base = float(draws.max(initial=0.0)) + 1
    is_whole = all(np.array_equal(count, np.floor(count)) for count in counts)
    if ups.size < _MANY or not is_whole or base > _EXACT_BASE:
        return test(ups, draws, bar, downs=downs)
    code = (ups * base + downs) * base + draws
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    once = test(ups.ravel()[first], draws.ravel()[first], bar, downs=downs.ravel()[first])
    return np.asarray(once[place].reshape(ups.shape))
