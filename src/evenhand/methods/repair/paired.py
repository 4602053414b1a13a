"""Paired comparison of two models: how much less one discriminates, with simultaneous limits.

Inputs that both models treat alike say nothing of a change, however many there are: limits of a
fall rest on those that only one of them discriminates against, and limits of what part is gone on
those that either does.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.repair import messages
from evenhand.methods.repair.change import PairedChange
from evenhand.runtime.errors import DataError
from evenhand.scores.twins import hits as hits
from evenhand.statistics.estimate import Amount, Estimate
from evenhand.statistics.intervals import check_level, clopper_pearson
from evenhand.statistics.paired_limits import (
    are_counts,
    hits_ratio_above,
    ratio_above,
    rise_limits,
    turned,
)
from evenhand.statistics.sequential.betting import bet
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats

    Ends = tuple[float, float]

_LIMITS = 8
"""Lower and upper limits of four numbers, each of which may miss with an equal share of the error.
"""
UNKNOWN: Ends = (-math.inf, 1.0)
"""Between what a relative fall lies when nothing is known of it."""


def paired(
    before: ArrayLike,
    after: ArrayLike,
    *,
    level: float,
    population: str,
    exact: bool = False,
) -> PairedChange:
    """Return how a score changed from one model to another, from the same independent inputs.

    Parameters
    ----------
    before, after
        For each input, in random order, whether either model discriminates against it, or how much,
        from 0 to 1.
    level
        The probability with which all limits hold together, for a number of inputs that was fixed
        in advance.
    exact
        Whether these are all inputs there are, so that nothing has an interval.

    >>> change = paired([1, 0, 0, 1] * 100, [0, 0, 0, 1] * 100, level=0.95, population="all inputs")
    >>> change.verdict, change.fewer.value
    ('fell', 0.5)
    >>> f"{change.fewer.low:.2f} to {change.fewer.high:.2f}"
    '0.41 to 0.59'
    """
    old, new = _columns(before, after)
    n = len(old)
    if exact:
        return _enumerated(old, new, population)
    # Bonferroni: every one of the eight limits may miss with an equal share of the error.
    tail = (1 - check_level(level)) / _LIMITS
    means = (math.nan, math.nan)
    if n:
        means = (float(old.mean()), float(new.mean()))
    if _yes_or_no(old, new):
        limits = _hit_limits(old, new, tail)
        methods = ("exact", "paired melded")
    else:
        limits = _graded_limits(old, new, tail)
        methods = ("betting", "betting")
    return _change(means, n, limits, level, population, methods)


def fall_alone(before: ArrayLike, after: ArrayLike, *, level: float) -> Amount:
    """Return how far a share of hits fell, with limits that need hold together with no others.

    They are narrower than those of `paired`, whose four intervals hold together.

    >>> fall = fall_alone([1, 0, 0, 1] * 100, [0, 0, 0, 1] * 100, level=0.95)
    >>> f"{fall.value} ({fall.low:.3f} to {fall.high:.3f})"
    '0.25 (0.205 to 0.295)'
    """
    old, new = _columns(before, after)
    n = len(old)
    tail = (1 - check_level(level)) / 2
    fall = float(old.mean() - new.mean()) if n else 0.0
    low, high = _around(fall, _fall(old, new, tail))
    return Amount(fall, low, high, n, level, "paired melded")


def gap_change(
    before: ArrayLike, after: ArrayLike, inside: ArrayLike, *, level: float, population: str
) -> PairedChange:
    """Return how the gap between a subgroup and everyone else changed, from the same rows.

    The gap is that of TestSGD, Definition 4.1. The scores are sizes of differences of means. The
    sign of a difference may turn, so limits of the fall are the least and the most that limits of
    both differences, and of how far the difference moved, allow together.

    Parameters
    ----------
    before, after
        How favourably either model treats each row, from 0 to 1; rows are independent and in random
        order.
    inside
        Which rows are of the subgroup.

    >>> inside = np.arange(1000) % 2 == 0
    >>> treated = {"before": 1.0 * inside, "after": np.ones(1000)}
    >>> change = gap_change(**treated, inside=inside, level=0.95, population="people like these")
    >>> change.verdict, change.before.value, change.after.value, round(change.fewer.low, 3)
    ('fell', 1.0, 0.0, 0.99)
    """
    old, new = _columns(before, after)
    group = np.asarray(inside, dtype=np.bool_)
    if group.shape != old.shape:
        raise DataError(messages.INSIDE_DIFFERS.format(inside=group.size, before=len(old)))
    check_level(level)
    methods = ("melded, graded", "betting")
    if _yes_or_no(old, new):
        methods = ("melded", "paired melded")
    if not group.any() or group.all():
        # A gap needs somebody on either side.
        unknown = (math.nan, math.nan)
        limits = [(0.0, 1.0), (0.0, 1.0), (-1.0, 1.0), UNKNOWN]
        return _change(unknown, 0, limits, level, population, methods)
    gap_before = _gap(old, group)
    gap_after = _gap(new, group)
    limits = _gap_limits(old, new, group, level)
    sizes = (abs(gap_before), abs(gap_after))
    return _change(sizes, len(old), limits, level, population, methods)


def _columns(before: ArrayLike, after: ArrayLike) -> tuple[Floats, Floats]:
    """Return both columns as numbers from 0 to 1, as many of each."""
    old = np.asarray(before, dtype=np.float64)
    new = np.asarray(after, dtype=np.float64)
    for name, column in (("before", old), ("after", new)):
        if column.ndim != 1 or not _all_shares(column):
            raise DataError(messages.COLUMN_NOT_SHARES.format(name=name))
    if len(old) != len(new):
        message = messages.COLUMNS_DIFFER.format(before=len(old), after=len(new))
        raise DataError(message)
    return old, new


def _all_shares(column: Floats) -> bool:
    shares = (column >= 0) & (column <= 1)
    return bool(np.all(shares))


def _yes_or_no(old: Floats, new: Floats) -> bool:
    """Return whether all values are 0 or 1, so that exact limits of counts apply."""
    return are_counts(old) and are_counts(new)


def _fewer(before: float, after: float) -> float:
    """Return what part is gone; minus infinity where there was nothing and now is something."""
    if before > 0:
        return 1 - after / before
    if after > 0:
        return -math.inf
    return 0.0


def _around(value: float, ends: Ends) -> Ends:
    """Return limits that hold the value, which rounding may have put outside."""
    if math.isnan(value):
        return ends
    return min(ends[0], value), max(ends[1], value)


def _enumerated(old: Floats, new: Floats, population: str) -> PairedChange:
    """Return the change where both models were asked about all inputs: nothing is estimated."""
    n = len(old)
    hits_before = float(old.sum())
    hits_after = float(new.sum())
    before = Estimate.exact(hits_before, n, population=population)
    after = Estimate.exact(hits_after, n, population=population)
    fall = before.value - after.value
    fewer = _fewer(before.value, after.value)
    return PairedChange(
        before=before,
        after=after,
        fall=Amount(fall, fall, fall, n, 1.0, "enumerated"),
        fewer=Amount(fewer, fewer, fewer, n, 1.0, "enumerated"),
    )


def _change(
    means: tuple[float, float],
    n: int,
    limits: list[Ends],
    level: float,
    population: str,
    methods: tuple[str, str],
) -> PairedChange:
    """Return the change with these limits, and with what they imply of each other."""
    before_ends, after_ends, fall_ends, fewer_ends = limits
    fall_low, fall_high = fall_ends
    fewer_low, fewer_high = fewer_ends
    # The fall is the score before times the part that is gone, and a rise the score after times the
    # part that is new: limits of the one are limits of the other, and neither may be of a sign that
    # the other excludes.
    if fewer_low > 0:
        fall_low = max(fall_low, fewer_low * before_ends[0])
    if fewer_high < 0:
        fall_high = min(fall_high, after_ends[0] * (1 / (1 - fewer_high) - 1))
    if fall_low <= 0:
        fewer_low = min(fewer_low, 0.0)
    else:
        least_part = fall_low / before_ends[1]
        fewer_low = max(fewer_low, least_part)
    if fall_high >= 0:
        fewer_high = max(fewer_high, 0.0)
    else:
        rise = fall_high / after_ends[1]
        fewer_high = min(fewer_high, 1 - 1 / (1 + rise))
    before, after = means
    fall = 0.0
    fewer = 0.0
    if n:
        fall = before - after
        fewer = _fewer(before, after)
    fall_ends = _around(fall, (fall_low, fall_high))
    fewer_ends = _around(fewer, (fewer_low, fewer_high))
    before_ends = _around(before, before_ends)
    after_ends = _around(after, after_ends)
    score_method, change_method = methods
    return PairedChange(
        before=Estimate(before, *before_ends, n, level, score_method, population),
        after=Estimate(after, *after_ends, n, level, score_method, population),
        fall=Amount(fall, *fall_ends, n, level, change_method),
        fewer=Amount(fewer, *fewer_ends, n, level, change_method),
    )


def _hit_limits(old: Floats, new: Floats, tail: float) -> list[Ends]:
    """Return limits of the shares before and after, of the fall and of the part gone, from hits."""
    n = len(old)
    gone, come = turned(old, new)
    both = int((old * new).sum())
    after_ratio = hits_ratio_above(gone, come, both, tail)
    before_ratio = hits_ratio_above(come, gone, both, tail)
    return [
        _share_limits(gone + both, n, tail),
        _share_limits(come + both, n, tail),
        _fall(old, new, tail),
        _part_gone(after_ratio, before_ratio),
    ]


def _share_limits(count: int, n: int, tail: float) -> Ends:
    """Return exact limits of a share, each of which misses with probability `tail` at most."""
    low, high = clopper_pearson(count, n, 1 - 2 * tail)
    return float(low), float(high)


def _fall(old: Floats, new: Floats, tail: float) -> Ends:
    """Return limits of how much the mean fell."""
    return rise_limits(new, old, tail)


def _graded_limits(old: Floats, new: Floats, tail: float) -> list[Ends]:
    """Return the same limits from values anywhere in [0, 1]."""
    after_ratio = ratio_above(new, old, tail)
    before_ratio = ratio_above(old, new, tail)
    return [
        _mean_limits(old, tail),
        _mean_limits(new, tail),
        _fall(old, new, tail),
        _part_gone(after_ratio, before_ratio),
    ]


def _mean_limits(column: Floats, tail: float) -> Ends:
    """Return betting limits of a mean of values from 0 to 1."""
    low, high = bet(column, tail)
    return float(low[0]), float(high[0])


def _part_gone(after_ratio: float, before_ratio: float) -> Ends:
    """Return limits of the part gone, from the least ratios of after to before and back."""
    low = -math.inf
    if before_ratio > 0:
        low = 1 - 1 / before_ratio
    return low, 1 - after_ratio


def _gap_limits(
    old: Floats, new: Floats, group: NDArray[np.bool_], level: float
) -> list[Ends]:
    """Return limits of the sizes of both gaps, of their fall and of the part that is gone."""
    # Two differences and the moves of either side, of two limits each: eight in all.
    counts = _yes_or_no(old, new)
    intervals = SimultaneousIntervals(level, among=_LIMITS / 2, graded=not counts)
    before_ends = _difference(intervals, column=old, group=group)
    after_ends = _difference(intervals, column=new, group=group)
    tail = (1 - level) / _LIMITS
    inside_low, inside_high = _fall(old[group], new[group], tail)
    outside_low, outside_high = _fall(old[~group], new[~group], tail)
    gap_before = _gap(old, group)
    gap_after = _gap(new, group)
    fall, fewer = _size_limits(
        (gap_before, gap_after),
        before_ends,
        after_ends,
        moved=(inside_low - outside_high, inside_high - outside_low),
    )
    return [
        _size(before_ends),
        _size(after_ends),
        fall,
        fewer,
    ]


def _difference(
    intervals: SimultaneousIntervals, column: Floats, group: NDArray[np.bool_]
) -> Ends:
    """Return limits of the mean inside a group minus that outside."""
    inside = column[group]
    outside = column[~group]
    low, high = intervals.difference(
        inside.sum(),
        len(inside),
        outside.sum(),
        len(outside),
    )
    return float(low), float(high)


def _gap(column: Floats, group: NDArray[np.bool_]) -> float:
    inside = column[group].mean()
    outside = column[~group].mean()
    return float(inside - outside)


def _size(ends: Ends) -> Ends:
    """Return limits of the size of a difference, whichever sign it has."""
    low, high = ends
    least, most = absolute(np.array(low), np.array(high))
    return float(least), float(most)


def _size_limits(
    gaps: Ends, old_ends: Ends, new_ends: Ends, moved: Ends
) -> tuple[Ends, Ends]:
    """Return limits of |x| - |y| and of 1 - |y| / |x|, from limits of x, of y and of x - y.

    Both are monotone along every straight line that crosses neither axis, so that they are least
    and most at corners of what the limits allow, and where its edges cross an axis.
    """
    x_edges = np.array([*old_ends, 0.0])
    y_edges = np.array([*new_ends, 0.0])
    apart = np.tile(np.array(moved), 3)
    # Candidates: the estimate itself, all crossings of x and y edges, and where the lines
    # x - y = moved cross an edge of x, and an edge of y.
    x_twice = np.repeat(x_edges, 2)
    y_twice = np.repeat(y_edges, 2)
    x = np.concatenate(
        [
            gaps[:1],
            np.repeat(x_edges, 3),
            x_twice,
            y_twice + apart,
        ]
    )
    y = np.concatenate(
        [
            gaps[1:],
            np.tile(y_edges, 3),
            x_twice - apart,
            y_twice,
        ]
    )
    allowed = _within(x, old_ends) & _within(y, new_ends)
    allowed &= _within(x - y, moved)
    before = np.abs(x[allowed])
    after = np.abs(y[allowed])
    fall = before - after
    fall_ends = (float(fall.min()), float(fall.max()))
    return fall_ends, _range_of_parts(before, after)


def _range_of_parts(before: Floats, after: Floats) -> Ends:
    """Return the least and the largest part that is gone, over pairs of sizes."""
    fewer = []
    for before_size, after_size in zip(before.tolist(), after.tolist(), strict=True):
        # At the origin the part that is gone is not defined.
        if before_size > 0 or after_size > 0:
            fewer.append(_fewer(before_size, after_size))
    low = min(fewer, default=0.0)
    high = max(fewer, default=0.0)
    return low, high


def _within(values: Floats, ends: Ends) -> NDArray[np.bool_]:
    """Return which values lie between the ends, but for rounding."""
    close = 1e-12
    low, high = ends
    above = values >= low - close
    below = values <= high + close
    return np.asarray(above & below)
