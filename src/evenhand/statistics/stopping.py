"""When to stop sampling, with an interval that keeps its level under that very rule.

Looks are at sizes fixed in advance. A run ends at the first look where the limit is excluded or the
margin is reached, or when the budget is spent. The error 1 - level is split between the two ways to
end, so their union keeps the level:

- The limit is excluded by an anytime-valid mixture interval, which is then the one reported. It
  gets `DECIDE_SHARE`.
- The margin is reached by an exact interval whose error is scaled by `calibration`, which makes up
  for stopping when it first became narrow enough (after Frey, 2010, fixed-width sequential
  intervals). An exact dynamic programme over the looks (`benchmarks/coverage.py`) shows it to hold
  at the worst p for levels 0.9 to 0.99, margins 0.02 to 0.2, with and without a limit and a budget;
  finer margins are simulated or extrapolated. A budget must not depend on the hits.

For graded outcomes, or where the end depends on the hits, use `interval="anytime"`: the mixture
throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError, nearest
from evenhand.statistics import confidence_sequences as always
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate, StopReason, check_limit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats, Limits

    Flags = NDArray[np.bool_]

FIRST_LOOK = 16
LOOK_RATIO = 1.05
# The paper's "sampling_threshold" has no stated value; checks begin above it, after every draw.
WALD_FIRST_LOOK = 31
DECIDE_SHARE = 0.25
METHODS = ("exact", "anytime", "wilson", "wald")
# Excluding by a hair more than needed keeps rounding from reporting an interval that touches the
# limit.
SLACK = 1e-6


def calibration(alpha: float) -> float:
    """Return the factor on a fixed-width rule's error that keeps its coverage; below 1e-5 it is a
    safe guess.

    >>> calibration(0.05)
    0.8
    """
    if alpha >= 0.004:
        return 0.8
    return 0.75 if alpha >= 1e-5 else 0.5


def look_sizes(max_n: int | None = None) -> Iterator[int]:
    """Yield the increasing sizes at which to look, the last of them `max_n`.

    >>> list(look_sizes(20))
    [16, 17, 18, 19, 20]
    """
    n = FIRST_LOOK
    while max_n is None or n < max_n:
        yield n
        n = max(n + 1, math.ceil(n * LOOK_RATIO))
    yield max_n


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a look found: the estimate, and why to stop (None: go on, and the estimate is
    provisional).
    """

    estimate: Estimate
    stop: StopReason | None


@dataclass(frozen=True)
class Plan:
    """When to stop estimating one rate.

    Parameters
    ----------
    level : the probability with which the reported interval holds the rate.
    margin : stop when the interval reaches no further than this from the value on either side; None
    for never. limit : stop when this is excluded; None for never. interval : None or "exact";
    "anytime"; or the approximations "wilson" and "wald", which stop at the margin only and
        do not hold the level. "wald" is Themis's rule: checked at every draw, two-sided z (its
        code: one-sided).
    population : what the rate speaks of, copied to the estimate.

    >>> plan = Plan(margin=0.05)
    >>> judged = plan.judge(0, 100)
    >>> print(judged.estimate, "-", judged.stop)
    0.0 % (0.0 % to 3.8 %, 95 % level, n = 100, exact) - the margin was reached
    """

    level: float = 0.95
    margin: float | None = 0.05
    limit: float | None = None
    interval: str | None = None
    population: str = ""

    def __post_init__(self) -> None:
        intervals.check_level(self.level)
        if self.margin is not None and not (isinstance(self.margin, Real) and 0 < self.margin < 1):
            raise UsageError(
                f"margin is {self.margin!r}; it must lie between 0 and 1, for example 0.05, or be"
                " None to sample until the limit is excluded or the budget is spent"
            )
        if self.limit is not None:
            check_limit(self.limit)
        if self.interval is not None and self.interval not in METHODS:
            raise UsageError(f"interval is {self.interval!r}; {nearest(self.interval, METHODS)}")

    @property
    def method(self) -> str:
        """The name of the interval that the margin refers to."""
        return self.interval or "exact"

    @property
    def error_margin(self) -> float:
        """The error left to the interval that is reported at the margin or at the end of the
        budget.
        """
        alpha = 1 - self.level
        if self.method != "exact" or (self.margin is None and self.limit is None):
            return alpha
        if self.margin is None:
            return 0.0
        share = 1.0 if self.limit is None else 1 - DECIDE_SHARE
        return alpha * share * calibration(alpha * share)

    @property
    def error_decide(self) -> float:
        """The error left to the anytime-valid interval that excludes the limit."""
        alpha = 1 - self.level
        if self.limit is None or self.method in ("wilson", "wald"):
            return 0.0
        return alpha if self.margin is None or self.method == "anytime" else alpha * DECIDE_SHARE

    def looks(self, max_n: int | None = None) -> Iterator[int]:
        """Yield the sizes at which to look; the last is `max_n`, the budget.

        >>> list(Plan(interval="wald").looks(33))
        [31, 32, 33]
        """
        if max_n is not None and max_n < 1:
            raise UsageError(f"the budget allows {max_n} inputs; it must allow 1 or more")
        if max_n is None and self.margin is None and (self.limit is None or not 0 < self.limit < 1):
            raise UsageError(
                "nothing ends this sampling; give a margin, a limit between 0 and 1, or a budget"
            )
        if self.method != "wald":
            return look_sizes(max_n)
        return iter(range(min(WALD_FIRST_LOOK, max_n or WALD_FIRST_LOOK), (max_n or 2**62) + 1))

    def judge(self, hits: ArrayLike, n: int, *, last: bool = False) -> Judgement:
        """Return the estimate after n inputs, and why to stop there; `last` says that the budget is
        spent.

        >>> Plan(limit=0.1).judge(40, 80).stop.value
        'the limit was excluded'
        """
        counts, size = self._counts(hits), np.asarray(float(n))
        low, high, anytime = self.report(counts, size, last=last)
        method = "anytime" if bool(anytime) else self.method
        value = float(self._value(counts, size)) if n else math.nan
        estimate = Estimate(
            value, float(low), float(high), self._total(n), self.level, method, self.population
        )
        if n and bool(self._excluded(counts, size)):
            return Judgement(estimate, StopReason.DECIDED)
        if n and bool(self._reached(counts, size)):
            return Judgement(estimate, StopReason.MARGIN)
        return Judgement(estimate, StopReason.QUERIES if last else None)

    def report(
        self, hits: ArrayLike, n: ArrayLike, *, last: bool = False
    ) -> tuple[Floats, Floats, Flags]:
        """Return, for many runs at once, the limits to report and whether they are the
        anytime-valid ones.

        >>> low, high, anytime = Plan(limit=0.1).report([40, 0], [80, 100])
        >>> anytime.tolist()
        [True, False]
        """
        counts, sizes = self._counts(hits), np.asarray(n, dtype=float)
        sizes = np.broadcast_to(sizes, counts.shape[: counts.ndim - self._group_axes])
        low, high = np.zeros(sizes.shape), np.ones(sizes.shape)
        anytime = np.full(sizes.shape, self.error_margin == 0.0)
        if self.error_margin > 0:
            low, high = (
                np.asarray(x)
                for x in self._interval(counts, sizes, 1 - self.error_margin, self.method)
            )
            excluded = self._excluded(counts, np.maximum(sizes, 1))
            # Both ways to end hold together, so either may be reported: the exact one where it
            # settles the matter.
            settled = (self._reached(counts, np.maximum(sizes, 1)) | last) & self._settled(
                low, high
            )
            anytime = excluded & ~settled
        if bool(anytime.any()):
            found = self._interval(
                counts[anytime], sizes[anytime], 1 - self.error_decide, "anytime"
            )
            low, high = low.copy(), high.copy()
            low[anytime], high[anytime] = found
        # The limits are found to within rounding, and must not exclude the value itself.
        value = self._value(counts, np.maximum(sizes, 1))
        low, high = (
            np.where(sizes > 0, np.minimum(low, value), low),
            np.where(sizes > 0, np.maximum(high, value), high),
        )
        return low, high, anytime

    def _settled(self, low: Floats, high: Floats) -> Flags:
        if self.limit is None:
            return np.zeros(low.shape, dtype=bool)
        return np.asarray(low > 0 if self.limit == 0 else (low >= self.limit) | (high < self.limit))

    def first_stop(self, cum_hits: ArrayLike, looks: ArrayLike) -> NDArray[np.int64]:
        """Return, for each run, the index of the first look that stops, or the number of looks
        where none does.

        `cum_hits` holds the hits so far at each look, on the last axis; runs are on the axes before
        it.

        >>> int(Plan(limit=0.1).first_stop([0, 1, 30, 60], [20, 40, 60, 80]))
        2
        """
        sizes = np.asarray(looks, dtype=float)
        counts = self._counts(cum_hits)
        tail = counts.shape[counts.ndim - self._group_axes :]
        shape = counts.shape[: counts.ndim - self._group_axes - 1]
        runs = counts.reshape(-1, sizes.size, *tail)
        found = np.full(len(runs), sizes.size)
        active, start = np.arange(len(runs)), 0
        while start < sizes.size and active.size:
            block = slice(start, start + max(1, self._block // active.size))
            stops = self._reached(runs[active, block], sizes[block]) | self._excluded(
                runs[active, block], sizes[block]
            )
            done = stops.any(axis=1)
            found[active[done]] = start + stops[done].argmax(axis=1)
            active, start = active[~done], block.stop
        return found.reshape(shape)

    _group_axes: ClassVar[int] = 0
    _block: ClassVar[int] = 1 << 16

    def _counts(self, hits: ArrayLike) -> Floats:
        return np.asarray(hits, dtype=float)

    def _value(self, counts: Floats, sizes: Floats) -> Floats:
        return np.asarray(counts / sizes)

    def _total(self, n: int) -> int:
        return n

    def _interval(self, counts: Floats, sizes: Floats, level: float, method: str) -> Limits:
        find = {
            "exact": intervals.clopper_pearson,
            "anytime": always.mixture,
            "wilson": intervals.wilson,
            "wald": intervals.wald,
        }[method]
        return find(counts, sizes, level)

    def _reached(self, counts: Floats, sizes: Floats) -> Flags:
        """Return where the interval is within the margin; found without inverting, as many looks
        are asked at once.
        """
        from scipy.special import betainc, betaincc

        if self.margin is None:
            return np.zeros(np.broadcast_shapes(counts.shape, sizes.shape), dtype=bool)
        share = counts / sizes
        under, over = np.maximum(share - self.margin, 0.0), np.minimum(share + self.margin, 1.0)
        if self.method == "wald":
            half = intervals.z_score(self.level) * np.sqrt(share * (1 - share) / sizes)
            return np.asarray(half < self.margin)
        if self.method == "wilson":
            low, high = intervals.wilson(counts, sizes, self.level)
            return np.asarray((low >= under) & (high <= over))
        if self.method == "anytime":
            bound = -math.log(1 - self.level) + SLACK
            low_ok = always.log_mixture(counts, sizes, under) >= bound
            high_ok = always.log_mixture(counts, sizes, over) >= bound
            return np.asarray((low_ok | (under <= 0)) & (high_ok | (over >= 1)))
        half_error = self.error_margin / 2
        low_ok = (under <= 0) | (
            betainc(np.maximum(counts, intervals.TINY), sizes - counts + 1, under) <= half_error
        )
        high_ok = (over >= 1) | (
            betaincc(counts + 1, np.maximum(sizes - counts, intervals.TINY), over) <= half_error
        )
        return np.asarray(low_ok & high_ok)

    def _excluded(self, counts: Floats, sizes: Floats) -> Flags:
        """Return where the anytime-valid interval excludes the limit."""
        if self.limit is None or self.error_decide == 0.0:
            return np.zeros(np.broadcast_shapes(counts.shape, sizes.shape), dtype=bool)
        if self.limit == 0:
            return np.broadcast_to(counts > 0, np.broadcast_shapes(counts.shape, sizes.shape))
        bound = -math.log(self.error_decide) + SLACK
        return np.asarray(always.log_mixture(counts, sizes, self.limit) >= bound)


def needed(
    level: float = 0.95, margin: float = 0.05, p: float = 0.5, limit: float | None = None
) -> int:
    """Return about how many inputs a plan takes when the rate is p; the default p is the dearest.

    >>> needed(0.95, 0.05), needed(0.95, 0.05, p=0.0)
    (451, 78)
    """
    if not 0 <= p <= 1:
        raise UsageError(f"p is {p!r}; a rate lies between 0 and 1")
    plan = Plan(level, margin, limit)
    sizes = plan.looks()
    return next(n for n in sizes if int(plan.first_stop([p * n], [n])) == 0)
