"""When to stop sampling, with an interval that keeps its level under that very rule.

Looks are at sizes fixed in advance. Where an answer is expensive, a run ends at the first look
where the limit is excluded or the margin is reached, or when the budget is spent. Where it is cheap
(`precise`), a run ends where both hold, and goes on beyond the margin while the limit is not
excluded, down to the `finest` margin. The error 1 - level is split between two things that can be
wrong:

- The limit is excluded by tests that hold at all sizes at once (`limit_tests`), which get
  `DECIDE_SHARE`. What is reported is then on one side of the limit.
- The margin is reached by an exact interval whose error is scaled by `calibration`, which makes up
  for stopping when it first became narrow enough (after Frey, 2010, fixed-width sequential
  intervals). A run that ends before it, or long after, reports an interval that holds at all sizes.

An exact dynamic programme over the looks (`benchmarks/coverage.py`) shows the whole to hold at the
worst p for levels 0.9 to 0.99, margins 0.02 to 0.2, with and without a limit and a budget; finer
margins are simulated or extrapolated. A budget must not depend on the hits.

For graded outcomes, or where the end depends on the hits, use `interval="anytime"`: intervals that
hold at all sizes throughout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenhand.runtime.errors import UsageError, nearest
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate, StopReason, check_limit
from evenhand.statistics.sequential import confidence_sequences as always
from evenhand.statistics.sequential import finite
from evenhand.statistics.sequential.limit_tests import first_over, log_e_above, log_e_below

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats, Limits

    Flags = NDArray[np.bool_]

FIRST_LOOK = 4
LOOK_RATIO = 1.05
FIRST_CHEAP_LOOK = 128
CHEAP_LOOK_RATIO = 1.1
"""Cheap software is asked in large batches, and every answer is used: a look is at its end."""
DECIDE_SHARE = 0.6
"""The share of the error that goes to the tests against the limit."""
REPORT_SHARE = 0.5
"""The share that goes to the interval beside them.

Both tests together never use up theirs: at the worst rate the dynamic programme finds that 0.7 to
0.8 of the whole error is used.
"""
STALE = 1.5
"""A margin has just been reached where one that is so many times narrower has not."""
METHODS = ("exact", "anytime", "wilson", "wald")
SLACK = 1e-6
"""Excluding by a hair more than needed keeps rounding from reporting an interval that touches the
limit."""
_ENDLESS = 2**62
"""More looks than any run has."""


def calibration(alpha: float) -> float:
    """Return the factor on a fixed-width rule's error that keeps its coverage.

    >>> calibration(0.05)
    0.8
    """
    if alpha >= 0.004:
        return 0.8
    if alpha >= 1e-5:
        return 0.75
    # Errors so small cannot be simulated: a safe guess.
    return 0.5


def look_sizes(
    max_n: int | None = None, first: int = FIRST_LOOK, ratio: float = LOOK_RATIO
) -> Iterator[int]:
    """Yield the increasing sizes at which to look, the last of them `max_n`.

    >>> list(look_sizes(8))
    [4, 5, 6, 7, 8]
    """
    n = first
    while max_n is None or n < max_n:
        yield n
        n = max(n + 1, math.ceil(n * ratio))
    yield max_n


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a look found: the estimate, and why to stop."""

    estimate: Estimate
    stop: StopReason | None
    """None to go on; the estimate is then provisional."""


@dataclass(frozen=True)
class Plan:
    """When to stop estimating one rate.

    Parameters
    ----------
    level : float
        The probability with which the reported interval holds the rate.
    margin : float, optional
        Stop when the interval reaches no further than this from the value on either side; None for
        never.
    limit : float, optional
        Stop when this is excluded; None for never.
    interval : str, optional
        None or "exact"; "anytime"; or the approximations "wilson" and "wald", which stop at the
        margin only and do not hold the level. "wald" is Themis's rule: checked at every draw,
        two-sided z (its code: one-sided).
    population : str
        Which inputs the rate is about, copied to the estimate.
    size : int, optional
        How many inputs there are, where they are drawn without replacement.
    precise : bool
        Whether a run with a limit goes on to the margin after the limit is excluded, and beyond the
        margin until it is.
    finest : float, optional
        The margin at which a precise run gives up; None for never.
    sampling_threshold : int
        The number of draws above which "wald" is looked at.

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
    size: int | None = None
    precise: bool = False
    finest: float | None = None
    sampling_threshold: int = field(default=intervals.SAMPLING_THRESHOLD, kw_only=True)

    _decide_share: ClassVar[float] = DECIDE_SHARE
    _report_share: ClassVar[float] = REPORT_SHARE

    def __post_init__(self) -> None:
        intervals.check_level(self.level)
        for margin in (self.margin, self.finest):
            if margin is not None:
                intervals.check_margin(margin)
        if self.limit is not None:
            check_limit(self.limit)
        if self.interval is not None and self.interval not in METHODS:
            raise UsageError(
                f"interval is {self.interval!r}; {nearest(self.interval, METHODS)}"
            )

    @property
    def method(self) -> str:
        """The name of the interval that the margin refers to."""
        return self.interval or "exact"

    @property
    def error_decide(self) -> float:
        """The error of each test against the limit; whatever the rate is, one of them can err."""
        if self.limit is None or self.method in ("wilson", "wald"):
            return 0.0
        return (1 - self.level) * self._decide_share

    @property
    def error_report(self) -> float:
        """The error of the interval that is reported where a run ends before the margin."""
        alpha = 1 - self.level
        if not self.error_decide:
            return alpha
        if self.method == "anytime":
            return alpha - self.error_decide
        return alpha * self._report_share

    @property
    def error_margin(self) -> float:
        """The error of the interval that is reported at the margin or when the budget is spent."""
        alpha = self.error_report
        never_stops_early = self.margin is None and self.limit is None
        if self.method != "exact" or never_stops_early:
            return alpha
        if self.margin is None:
            return 0.0
        return alpha * calibration(alpha)

    def looks(self, max_n: int | None = None) -> Iterator[int]:
        """Yield the sizes at which to look; the last is `max_n`, the budget.

        >>> list(Plan(interval="wald").looks(33))
        [31, 32, 33]
        """
        if max_n is not None and max_n < 1:
            raise UsageError(f"the budget allows {max_n} inputs; it must allow 1 or more")
        limit_ends = self.limit is not None and 0 < self.limit < 1
        if self.size is not None:
            max_n = min(self.size, max_n or self.size)
        if max_n is None and self.margin is None and not limit_ends:
            raise UsageError(
                "nothing ends this sampling; give a margin, a limit between 0 and 1, or a budget"
            )
        if self.method == "wald":
            first = min(self.sampling_threshold + 1, max_n or _ENDLESS)
            return iter(range(first, (max_n or _ENDLESS) + 1))
        if self.precise:
            return look_sizes(max_n, FIRST_CHEAP_LOOK, CHEAP_LOOK_RATIO)
        return look_sizes(max_n)

    def judge(self, hits: ArrayLike, n: int, *, last: bool = False) -> Judgement:
        """Return the estimate after n inputs, and why to stop there.

        `last` says that the budget is spent.

        >>> Plan(limit=0.1).judge(40, 80).stop.value
        'the limit was excluded'
        """
        counts = self._counts(hits)
        if self.size is not None and n >= self.size:
            estimate = Estimate.exact(float(counts), n, population=self.population)
            return Judgement(estimate, StopReason.ENUMERATED)
        size = np.asarray(float(n))
        low, high, anytime = self.report(counts, size, last=last)
        method = "anytime" if bool(anytime) else self.method
        value = float(self._value(counts, size)) if n else math.nan
        estimate = Estimate(
            value,
            float(low),
            float(high),
            self._total(counts, n),
            self.level,
            method,
            self.population,
        )
        reason = self.reason(hits, n)
        if reason is None and last:
            reason = StopReason.QUERIES
        return Judgement(estimate, reason)

    def reason(self, hits: ArrayLike, n: int) -> StopReason | None:
        """Return why to stop after n inputs, None to go on.

        >>> Plan(limit=0.1).reason(2, 20) is None
        True
        """
        counts = self._counts(hits)
        size = np.asarray(float(n))
        if self.size is not None and n >= self.size:
            return StopReason.ENUMERATED
        if not n or not bool(self._stops(counts, size)):
            return None
        if bool(self._excluded(counts, size)):
            return StopReason.DECIDED
        return StopReason.TOO_CLOSE if self._goes_on else StopReason.MARGIN

    def value(self, hits: ArrayLike, n: int) -> float:
        """Return the share of hits, or the spread of those of groups.

        >>> Plan().value(3, 12)
        0.25
        """
        return float(self._value(self._counts(hits), np.asarray(float(n))))

    @property
    def _goes_on(self) -> bool:
        """Whether neither the limit nor the margin alone ends a run."""
        return self.precise and self.error_decide > 0

    def _stops(self, counts: Floats, sizes: Floats) -> Flags:
        """Return where a run ends."""
        excluded = self._excluded(counts, sizes)
        reached = self._reached(counts, sizes, self.margin)
        if not self._goes_on:
            return np.asarray(excluded | reached)
        if self.method == "exact":
            reached |= self._just_reached(counts, sizes)
        gives_up = self._reached(counts, sizes, self.finest)
        return np.asarray((excluded & reached) | gives_up)

    def report(
        self, hits: ArrayLike, n: ArrayLike, *, last: bool = False
    ) -> tuple[Floats, Floats, Flags]:
        """Return the limits to report, and whether they are the anytime-valid ones.

        All are arrays: one element for each of many runs.

        >>> low, high, anytime = Plan(limit=0.1).report([40, 0], [80, 100])
        >>> anytime.tolist()
        [True, False]
        """
        counts = self._counts(hits)
        runs = counts.shape[: counts.ndim - self._group_axes]
        sizes = np.broadcast_to(np.asarray(n, dtype=float), runs)
        safe_sizes = np.maximum(sizes, 1)
        low = np.zeros(runs)
        high = np.ones(runs)
        excluded = self._excluded(counts, safe_sizes)
        anytime = np.full(runs, self.error_margin == 0.0)
        if self.error_margin > 0:
            limits = self._interval(counts, sizes, 1 - self.error_margin, self.method)
            low = np.array(limits[0])
            high = np.array(limits[1])
            anytime = ~(self._at_margin(counts, safe_sizes, excluded) | last)
        if bool(anytime.any()):
            level = 1 - self.error_report
            limits = self._interval(counts[anytime], sizes[anytime], level, "anytime")
            low[anytime], high[anytime] = limits
        # The limits are found to within rounding, and must not exclude the value itself.
        value = self._value(counts, safe_sizes)
        seen = sizes > 0
        low = np.where(seen, np.minimum(low, value), low)
        high = np.where(seen, np.maximum(high, value), high)
        low, high = self._on_one_side(low, high, value, excluded & seen)
        return low, high, anytime

    def _at_margin(self, counts: Floats, sizes: Floats, excluded: Flags) -> Flags:
        """Return where the interval that the margin refers to is the one to report."""
        if not self._goes_on:
            return ~excluded | self._reached(counts, sizes, self.margin)
        if self.method == "anytime":
            return np.ones(excluded.shape, dtype=bool)
        return excluded & self._just_reached(counts, sizes)

    def _on_one_side(
        self, low: Floats, high: Floats, value: Floats, excluded: Flags
    ) -> Limits:
        """Return limits that do not reach beyond the limit where it is excluded."""
        if self.limit is None or self.limit == 0 or not excluded.any():
            return low, high
        under = value < self.limit
        low = np.where(excluded & ~under, np.maximum(low, self.limit), low)
        high = np.where(excluded & under, np.minimum(high, self._just_under), high)
        return low, high

    @property
    def _just_under(self) -> float:
        """The largest rate under the limit."""
        assert self.limit is not None
        if self.size is None:
            return math.nextafter(self.limit, 0.0)
        return (first_over(self.limit, self.size) - 1) / self.size

    def first_stop(self, cum_hits: ArrayLike, looks: ArrayLike) -> NDArray[np.int64]:
        """Return, for each run, the index of the first look that stops.

        Where none does, it is the number of looks. `cum_hits` holds the hits so far at each look,
        on the last axis; runs are on the axes before it.

        >>> int(Plan(limit=0.1).first_stop([0, 1, 30, 60], [20, 40, 60, 80]))
        2
        """
        sizes = np.asarray(looks, dtype=float)
        counts = self._counts(cum_hits)
        look_axis = counts.ndim - self._group_axes - 1
        shape = counts.shape[:look_axis]
        groups = counts.shape[look_axis + 1 :]
        runs = counts.reshape(-1, sizes.size, *groups)
        first = np.full(len(runs), sizes.size)
        active = np.arange(len(runs))
        start = 0
        # Looks are asked in blocks: few runs are still active at the late, expensive ones.
        while start < sizes.size and active.size:
            block = slice(start, start + max(1, self._block // active.size))
            hits = runs[active, block]
            stops = self._stops(hits, sizes[block])
            done = stops.any(axis=1)
            first[active[done]] = start + stops[done].argmax(axis=1)
            active = active[~done]
            start = block.stop
        return first.reshape(shape)

    _group_axes: ClassVar[int] = 0
    _block: ClassVar[int] = 1 << 16

    def _counts(self, hits: ArrayLike) -> Floats:
        return np.asarray(hits, dtype=float)

    def _value(self, counts: Floats, sizes: Floats) -> Floats:
        return np.asarray(counts / sizes)

    def _total(self, counts: Floats, n: int) -> int:
        return n

    def _interval(self, counts: Floats, sizes: Floats, level: float, method: str) -> Limits:
        if method == "anytime":
            return always.mixture(counts, sizes, level, total=self.size)
        if method == "exact" and self.size is not None:
            return finite.exact(counts, sizes, level, self.size)
        by_name = {
            "exact": intervals.clopper_pearson,
            "wilson": intervals.wilson,
            "wald": intervals.wald,
        }
        interval = by_name[method]
        return interval(counts, sizes, level)

    def _reached(self, counts: Floats, sizes: Floats, margin: float | None) -> Flags:
        """Return where the interval is within a margin.

        A run that goes on may end long after the margin, when the limit is excluded: only an
        interval that holds at all sizes holds then.
        """
        if margin is None:
            return np.zeros(np.broadcast_shapes(counts.shape, sizes.shape), dtype=bool)
        if self.method == "wald":
            share = counts / sizes
            half = intervals.z_score(self.level) * np.sqrt(share * (1 - share) / sizes)
            return np.asarray(half < margin)
        method = self.method
        if method == "exact" and self._goes_on:
            method = "anytime"
        return self._is_within(counts, sizes, margin, method)

    def _just_reached(self, counts: Floats, sizes: Floats) -> Flags:
        """Return where the exact interval of a run that goes on is within the margin by little.

        That is about where a run would end without the limit, so that the calibration holds. The
        first look may be beyond it.
        """
        if self.margin is None:
            return np.zeros(np.broadcast_shapes(counts.shape, sizes.shape), dtype=bool)
        is_within = self._is_within(counts, sizes, self.margin, "exact")
        is_stale = self._is_within(counts, sizes, self.margin / STALE, "exact")
        return np.asarray(is_within & (~is_stale | (sizes <= FIRST_CHEAP_LOOK)))

    def _is_within(
        self, counts: Floats, sizes: Floats, margin: float, method: str
    ) -> Flags:
        """Return where an interval reaches no further than a margin from the value.

        It is found without inverting, as many looks are asked at once: the ends of the margin must
        be excluded.
        """
        share = counts / sizes
        under = np.maximum(share - margin, 0.0)
        over = np.minimum(share + margin, 1.0)
        if method == "wilson":
            low, high = intervals.wilson(counts, sizes, self.level)
            return np.asarray((low >= under) & (high <= over))
        if method == "anytime":
            bound = -math.log(self.error_report) + SLACK
            low_ok = always.log_mixture(counts, sizes, under, size=self.size) >= bound
            high_ok = always.log_mixture(counts, sizes, over, size=self.size) >= bound
        else:
            low_ok, high_ok = self._chances(counts, sizes, under, over)
        return np.asarray((low_ok | (under <= 0)) & (high_ok | (over >= 1)))

    def _chances(
        self, counts: Floats, sizes: Floats, under: Floats, over: Floats
    ) -> tuple[Flags, Flags]:
        """Return where the exact interval excludes one rate below it, and one above."""
        half_error = self.error_margin / 2
        if self.size is not None:
            fewer = np.ceil(under * self.size) - 1
            more = np.floor(over * self.size) + 1
            of_more = finite.chance_of_more(counts, sizes, fewer, self.size)
            of_fewer = finite.chance_of_fewer(counts, sizes, more, self.size)
            return of_more <= half_error, of_fewer <= half_error
        from scipy.special import betainc, betaincc

        misses = sizes - counts
        of_more = betainc(np.maximum(counts, intervals.TINY), misses + 1, under)
        of_fewer = betaincc(counts + 1, np.maximum(misses, intervals.TINY), over)
        return np.asarray(of_more <= half_error), np.asarray(of_fewer <= half_error)

    def _excluded(self, counts: Floats, sizes: Floats) -> Flags:
        """Return where the limit is excluded on one side."""
        shape = np.broadcast_shapes(counts.shape, sizes.shape)
        if self.limit is None or self.error_decide == 0.0:
            return np.zeros(shape, dtype=bool)
        if self.limit == 0:
            # One hit is proof.
            return np.broadcast_to(counts > 0, shape)
        if self.limit == 1:
            # Every rate but 1 itself is under it, and one miss is proof.
            return np.broadcast_to(counts < sizes, shape)
        bound = -math.log(self.error_decide) + SLACK
        share = counts / sizes
        below = log_e_below(counts, sizes, self.limit, size=self.size) >= bound
        above = log_e_above(counts, sizes, self.limit, size=self.size) >= bound
        # The capital may have been larger on the way, and is looked at where it is.
        return np.asarray((below & (share < self.limit)) | (above & (share >= self.limit)))
