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
        if self.margin is not None:
            _check_margin(self.margin)
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
    def error_margin(self) -> float:
        """The error of the interval that is reported at the margin or when the budget is spent."""
        alpha = 1 - self.level
        never_stops_early = self.margin is None and self.limit is None
        if self.method != "exact" or never_stops_early:
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
        if self.margin is None or self.method == "anytime":
            return alpha
        return alpha * DECIDE_SHARE

    def looks(self, max_n: int | None = None) -> Iterator[int]:
        """Yield the sizes at which to look; the last is `max_n`, the budget.

        >>> list(Plan(interval="wald").looks(33))
        [31, 32, 33]
        """
        if max_n is not None and max_n < 1:
            raise UsageError(f"the budget allows {max_n} inputs; it must allow 1 or more")
        limit_ends = self.limit is not None and 0 < self.limit < 1
        if max_n is None and self.margin is None and not limit_ends:
            raise UsageError(
                "nothing ends this sampling; give a margin, a limit between 0 and 1, or a budget"
            )
        if self.method != "wald":
            return look_sizes(max_n)
        first = min(WALD_FIRST_LOOK, max_n or WALD_FIRST_LOOK)
        last = max_n or _ENDLESS
        return iter(range(first, last + 1))

    def judge(self, hits: ArrayLike, n: int, *, last: bool = False) -> Judgement:
        """Return the estimate after n inputs, and why to stop there.

        `last` says that the budget is spent.

        >>> Plan(limit=0.1).judge(40, 80).stop.value
        'the limit was excluded'
        """
        counts = self._counts(hits)
        size = np.asarray(float(n))
        low, high, anytime = self.report(counts, size, last=last)
        method = "anytime" if bool(anytime) else self.method
        value = float(self._value(counts, size)) if n else math.nan
        estimate = Estimate(
            value,
            float(low),
            float(high),
            self._total(n),
            self.level,
            method,
            self.population,
        )
        if n and bool(self._excluded(counts, size)):
            return Judgement(estimate, StopReason.DECIDED)
        if n and bool(self._reached(counts, size)):
            return Judgement(estimate, StopReason.MARGIN)
        return Judgement(estimate, StopReason.QUERIES if last else None)

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
        anytime = np.full(runs, self.error_margin == 0.0)
        if self.error_margin > 0:
            limits = self._interval(counts, sizes, 1 - self.error_margin, self.method)
            low = np.array(limits[0])
            high = np.array(limits[1])
            excluded = self._excluded(counts, safe_sizes)
            # Both ways to end hold together, so either may be reported: the exact one where it
            # settles the matter.
            ended = self._reached(counts, safe_sizes) | last
            anytime = excluded & ~(ended & self._settled(low, high))
        if bool(anytime.any()):
            level = 1 - self.error_decide
            limits = self._interval(counts[anytime], sizes[anytime], level, "anytime")
            low[anytime], high[anytime] = limits
        # The limits are found to within rounding, and must not exclude the value itself.
        value = self._value(counts, safe_sizes)
        seen = sizes > 0
        low = np.where(seen, np.minimum(low, value), low)
        high = np.where(seen, np.maximum(high, value), high)
        return low, high, anytime

    def _settled(self, low: Floats, high: Floats) -> Flags:
        """Return where an interval lies on one side of the limit."""
        if self.limit is None:
            return np.zeros(low.shape, dtype=bool)
        if self.limit == 0:
            return np.asarray(low > 0)
        return np.asarray((low >= self.limit) | (high < self.limit))

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
            stops = self._reached(hits, sizes[block]) | self._excluded(hits, sizes[block])
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

    def _total(self, n: int) -> int:
        return n

    def _interval(self, counts: Floats, sizes: Floats, level: float, method: str) -> Limits:
        by_name = {
            "exact": intervals.clopper_pearson,
            "anytime": always.mixture,
            "wilson": intervals.wilson,
            "wald": intervals.wald,
        }
        interval = by_name[method]
        return interval(counts, sizes, level)

    def _reached(self, counts: Floats, sizes: Floats) -> Flags:
        """Return where the interval is within the margin.

        It is found without inverting, as many looks are asked at once: the ends of the margin must
        be excluded.
        """
        if self.margin is None:
            return np.zeros(np.broadcast_shapes(counts.shape, sizes.shape), dtype=bool)
        share = counts / sizes
        under = np.maximum(share - self.margin, 0.0)
        over = np.minimum(share + self.margin, 1.0)
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
        return self._excludes_both(counts, sizes, under, over)

    def _excludes_both(
        self, counts: Floats, sizes: Floats, under: Floats, over: Floats
    ) -> Flags:
        """Return where the interval of Clopper and Pearson lies between two rates."""
        from scipy.special import betainc, betaincc

        misses = sizes - counts
        half_error = self.error_margin / 2
        chance_of_more = betainc(np.maximum(counts, intervals.TINY), misses + 1, under)
        chance_of_fewer = betaincc(counts + 1, np.maximum(misses, intervals.TINY), over)
        low_ok = (under <= 0) | (chance_of_more <= half_error)
        high_ok = (over >= 1) | (chance_of_fewer <= half_error)
        return np.asarray(low_ok & high_ok)

    def _excluded(self, counts: Floats, sizes: Floats) -> Flags:
        """Return where the anytime-valid interval excludes the limit."""
        shape = np.broadcast_shapes(counts.shape, sizes.shape)
        if self.limit is None or self.error_decide == 0.0:
            return np.zeros(shape, dtype=bool)
        if self.limit == 0:
            # One hit is proof.
            return np.broadcast_to(counts > 0, shape)
        bound = -math.log(self.error_decide) + SLACK
        return np.asarray(always.log_mixture(counts, sizes, self.limit) >= bound)


def _check_margin(margin: float) -> None:
    if isinstance(margin, Real) and 0 < margin < 1:
        return
    raise UsageError(
        f"margin is {margin!r}; it must lie between 0 and 1, for example 0.05, or be"
        " None to sample until the limit is excluded or the budget is spent"
    )


def needed(
    level: float = 0.95, margin: float = 0.05, p: float = 0.5, limit: float | None = None
) -> int:
    """Return about how many inputs a plan takes when the rate is p.

    Parameters
    ----------
    level, margin, limit
        As for `measure`.
    p
        The rate; by default the one that takes most.

    Returns
    -------
    int
        The first number of inputs at which a score would be known to within the margin.

    Raises
    ------
    UsageError
        If p is not a rate, or level, margin or limit is out of its range.

    See Also
    --------
    measure : Measures a score. See docs/how-to/measure.md

    Examples
    --------
    >>> needed(0.95, 0.05), needed(0.95, 0.05, p=0.0)
    (451, 78)
    """
    if not 0 <= p <= 1:
        raise UsageError(f"p is {p!r}; a rate lies between 0 and 1")
    plan = Plan(level, margin, limit)
    return next(n for n in plan.looks() if int(plan.first_stop([p * n], [n])) == 0)
