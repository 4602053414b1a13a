"""Ratios of proportions: confidence intervals for one, and for those of several groups.

All functions are pure and vectorised over their counts, and hold their level for samples whose
sizes do not depend on what was seen. A rate of 0 in every group leaves the ratio undefined; the
interval is then 0 to 1, never a fair 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import (
    TINY,
    by_group,
    check_groups,
    check_level,
    checked,
    lower_limit,
    share_of,
    spread,
    spread_tails,
    upper_limit,
)
from evenhand.statistics.numerics import MOST_PROBIT, NODES, WEIGHTS, Bracket
from evenhand.statistics.pairs.extremes import (
    Melding,
    PairGrid,
    ends,
    extreme,
    extreme_of_all,
    grid_of_extremes,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from evenhand.statistics.intervals import Floats, Limits

_STEPS = 8
_POWER_STEP = 1.3
"""From one power of a moment to the next, so that the best is hardly missed."""
_SLACK = 1e-3
"""What sums of logarithms of large factorials may be off by, and more."""


def ratio(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, level: float
) -> Limits:
    """Return the melded exact interval for p1 / p2 of two independent samples.

    It is that of Fay, Proschan and Brittain (2015). The upper limit is infinite where the second
    sample has no hits.

    >>> low, high = ratio(12, 40, 30, 40, 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.215 0.672'
    """
    first = checked(k1, n1)
    second = checked(k2, n2)
    tail = (1 - check_level(level)) / 2
    low = ratio_above(*first, *second, tail)
    # The upper limit of p1 / p2 is one over the lower one of p2 / p1.
    inverse = ratio_above(*second, *first, tail)
    infinite = np.full(inverse.shape, np.inf)
    high = np.divide(1.0, inverse, out=infinite, where=inverse > 0)
    return low[()], high[()]


def ratio_above(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Floats:
    """Return the one-sided melded lower limit of p1 / p2.

    It misses with a probability of at most `tail`.

    >>> one = np.array(1.0)
    >>> f"{ratio_above(30 * one, 40 * one, 12 * one, 40 * one, 0.025):.3f}"
    '1.489'
    """
    from scipy.special import ndtri

    k1, n1, k2, n2 = np.broadcast_arrays(k1, n1, k2, n2)
    probability = _melded_ratio(k1, n1, k2, n2)
    target = float(ndtri(tail))

    def score(log_ratio: Floats) -> Floats:
        probit = ndtri(probability(np.exp(log_ratio)))
        return np.asarray(np.clip(probit - target, -MOST_PROBIT, MOST_PROBIT))

    far, near = _log_brackets(k1, n1, k2, n2, tail)
    bracket = Bracket(
        far,
        near,
        below=np.minimum(score(far), 0.0),
        above=np.maximum(score(near), 0.0),
    )
    for _ in range(_STEPS):
        # The probit of the melded probability is nearly linear in log r: chords lead there in few
        # steps.
        point = bracket.chord()
        bracket.narrow(point, score(point))
    return np.where(k1 > 0, np.exp(bracket.far), 0.0)


def _log_brackets(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Limits:
    """Return logarithms between which the melded lower limit lies.

    L/U is below the first with probability `tail` at most, since one of the two must be out, and
    below the second with at least that, since both may be.
    """

    def log_ratio(rate: float) -> Floats:
        lowest = np.maximum(lower_limit(k1, n1, rate), TINY)
        highest = upper_limit(k2, n2, rate)
        return np.asarray(np.log(lowest / highest))

    return log_ratio(tail / 2), log_ratio(tail**0.5)


def _melded_ratio(
    k1: Floats, n1: Floats, k2: Floats, n2: Floats
) -> Callable[[Floats], Floats]:
    """Return r -> P(L / U <= r).

    L and U are the confidence variables of the lower limit of p1 and the upper limit of p2, as in
    `intervals.melded`.
    """
    from scipy.special import betainc, betaincinv, ndtr

    # The nodes must carry the variable that is narrower for its size, or the integrand is a step
    # between two of them.
    relative_width1 = (n1 - k1 + 1) * (k2 + 1) * (n2 + 2)
    relative_width2 = (n2 - k2) * np.maximum(k1, TINY) * (n1 + 2)
    swap = relative_width1 < relative_width2
    # Pairs of groups share their samples, and inverting is by far the most expensive step: it is
    # done once for each distinct pair of parameters, which a complex number stands for.
    parameters_of_l = k1 + 1j * (n1 - k1 + 1)
    parameters_of_u = k2 + 1 + 1j * (n2 - k2)
    parameters, index = np.unique(
        np.where(swap, parameters_of_l, parameters_of_u), return_inverse=True
    )
    misses = parameters.imag[:, None]
    has_misses = misses > 0
    hits = np.maximum(parameters.real, TINY)[:, None]
    quantiles = betaincinv(hits, np.where(has_misses, misses, 1.0), ndtr(NODES))
    inner = np.where(has_misses, quantiles, 1.0)[index.reshape(k2.shape)]
    swap = swap[..., None]
    a = np.where(swap, (n2 - k2)[..., None], np.maximum(k1, TINY)[..., None])
    b = np.where(swap, (k2 + 1)[..., None], (n1 - k1 + 1)[..., None])

    def probability(r: Floats) -> Floats:
        ratio = r[..., None]
        # P(L <= r U) over U, or P(1 - U <= 1 - L / r) over L.
        bound = np.where(swap, 1 - inner / ratio, inner * ratio)
        return np.asarray(betainc(a, b, np.clip(bound, 0.0, 1.0)) @ WEIGHTS)

    return probability


def impact_ratio(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return an interval for min p / max p over the groups on the last axis.

    It is simultaneous over which pair is extreme. The ratio is the smallest of p_i / p_j over all
    ordered pairs, so the rates of `spread_tails` apply with the sides changed: the lower limit can
    miss only through the pair that is truly extreme. An empty group could have any rate, so the
    lower limit is then 0.

    >>> low, high = impact_ratio([30, 20, 12], [40, 40, 40], 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.215 0.764'
    """
    hits, size = checked(k, n)
    groups = check_groups(hits)
    high_tail, low_tail = spread_tails(groups, 1 - check_level(level))
    # Over ordered pairs, the smallest upper limit of p_i / p_j is one over the largest lower limit
    # of p_j / p_i.
    low = _extreme_of_all(hits, size, low_tail, largest=False)
    high = 1 / _extreme_of_all(hits, size, high_tail, largest=True)
    return low[()], high[()]


def _extreme_of_all(hits: Floats, size: Floats, tail: float, *, largest: bool) -> Floats:
    """Return the extreme melded lower limit over all pairs; 1 is between the two of them."""
    grid = grid_of_extremes(hits, size, largest=largest)
    return extreme_of_all(
        MELDING,
        grid,
        grid.bounds(lowest, upper_limit, np.divide, tail),
        tail,
        largest=largest,
        worst=1.0,
        least=lambda: least_ratios(grid, tail),
    )


def ratios_to_best(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return intervals for p_g / max p of each group on the last axis.

    They hold together with probability `level`. The highest rate is the true one, whichever group
    has it. Lower limits can miss only through the m - 1 pairs with the truly best group. Upper
    limits can miss through any pair but those with that group in front, which are part of the same
    events; that leaves (m - 1)².

    >>> low, high = ratios_to_best([30, 20, 12], [40, 40, 40], 0.95)
    >>> f"{low[2]:.3f} {high[2]:.3f}"
    '0.195 0.752'
    >>> f"{low[0]:.3f} {high[0]:.3f}"
    '0.974 1.000'
    """
    hits, size = checked(k, n)
    others = check_groups(hits) - 1
    half_error = (1 - check_level(level)) / 2
    # Only groups at the high end may be the best. Those of each group are on the last axis.
    each = np.arange(others + 1)
    best = ends(hits, size, high=True)
    below = PairGrid(hits, size, each, best)
    low_tail = half_error / others
    low = extreme(
        MELDING,
        below.counts,
        below.only_pairs(
            below.bounds(lowest, upper_limit, np.divide, low_tail), largest=False
        ),
        low_tail,
        largest=False,
        worst=1.0,
        is_small=below.is_small,
        least=lambda: least_ratios(below, low_tail),
    )
    above = PairGrid(hits, size, best, each)
    high_tail = half_error / others**2
    bounds = above.only_pairs(
        above.bounds(lowest, upper_limit, np.divide, high_tail), largest=True
    )
    inverse = extreme(
        MELDING,
        _turned(above.counts),
        _turned(bounds),
        high_tail,
        largest=True,
        worst=1.0,
        is_small=above.is_small,
    )
    return low, 1 / inverse


MELDING = Melding(ratio_above, _melded_ratio)
"""How the limit of a ratio is found."""


def lowest(hits: Floats, size: Floats, tail: float) -> Floats:
    """Return the lower limit of a rate, which is over 0 so that it has a logarithm."""
    return np.asarray(np.maximum(lower_limit(hits, size, tail), TINY))


def _turned(arrays: tuple[Floats, ...]) -> tuple[Any, ...]:
    """Return tables of pairs with the last two axes in the place of each other."""
    return tuple(np.swapaxes(array, -1, -2) for array in arrays)


def least_ratios(grid: PairGrid, tail: float) -> Floats:
    """Return what the melded lower limits of all pairs are not below, by Markov's inequality.

    P(L / U <= r) is at most r^t E(L^-t) E(U^t) for every t over 0, and the moments of beta
    variables have closed forms. The best of a few t is close to the limit.

    >>> grid = PairGrid(np.array([30.0, 12.0]), np.full(2, 40.0), np.array([0]), np.array([1]))
    >>> f"{least_ratios(grid, 0.025)[0, 0]:.2f}"
    '1.27'
    """
    first = (grid.hits[..., grid.first], grid.size[..., grid.first])
    second = (grid.hits[..., grid.second], grid.size[..., grid.second])
    log_tail = math.log(tail) - _SLACK
    most = np.full(grid.counts[0].shape, -np.inf)
    for power in _powers(grid.hits, grid.size, log_tail):
        of_first = _log_moment(first[0], first[1] - first[0] + 1, -power)
        of_second = _log_moment(second[0] + 1, second[1] - second[0], power)
        bound = log_tail - of_first[..., :, None] - of_second[..., None, :]
        np.maximum(most, bound / power, out=most)
    return np.asarray(np.exp(most))


def _powers(hits: Floats, size: Floats, log_tail: float) -> Floats:
    """Return the powers of moments among which a good one is for every pair of groups."""
    # The logarithm of a rate has about this variance; the best power is how far out the error is,
    # over the deviation of both groups together.
    variance = (size - hits + 1) / ((hits + 1) * (size + 2))
    farthest = math.sqrt(-2 * log_tail)
    lowest = farthest / math.sqrt(2 * variance.max())
    highest = farthest / math.sqrt(variance.min())
    number = math.ceil(math.log(highest / lowest) / math.log(_POWER_STEP)) + 1
    return np.geomspace(lowest, highest, max(number, 2))


def _log_moment(hits: Floats, misses: Floats, power: float) -> Floats:
    """Return log E(X^power) of beta variables; it is infinite where they are 0 or come too near."""
    from scipy.special import gammaln

    exists = hits + power > 0
    a = np.where(exists, hits, 1.0 - min(power, 0.0))
    total = a + misses
    raised = gammaln(a + power) - gammaln(a) + gammaln(total) - gammaln(total + power)
    return np.where(exists, raised, np.inf)


@dataclass(frozen=True)
class Contrast:
    """The rates of groups against each other: how far apart they are, and in what ratio.

    Where `among` contrasts are reported, they share the error 1 - level, so that all of them hold
    together. A group without anybody in it could have any rate, so that nothing is close to it for
    certain.

    >>> loans = Contrast(np.array([30.0, 12.0]), np.array([40.0, 40.0]), 0.95)
    >>> print(loans.ratio())
    40.0 % (21.5 % to 67.2 %, 95 % level, n = 80, melded, simultaneous over 2 groups)
    """

    hits: Floats
    size: Floats
    level: float
    among: int = 1
    population: str = ""
    together: str = ""
    """What the intervals hold together over, in words; by default these groups and contrasts."""
    descriptive: bool = False
    """Whether the intervals are outside of those that give verdicts."""

    @property
    def shares(self) -> Floats:
        """The rate of each group, NaN where nobody is in it."""
        return share_of(self.hits, self.size, math.nan)

    @property
    def comparable(self) -> bool:
        """Whether there are two groups with somebody in them."""
        return int((self.size > 0).sum()) > 1

    def difference(self) -> Estimate:
        """Return the highest rate minus the lowest.

        It is unknown where fewer than two groups have anybody in them.
        """
        if not self.comparable:
            return self._estimate(math.nan, 0.0, 1.0, 0.0, "melded")
        value = float(np.nanmax(self.shares) - np.nanmin(self.shares))
        low, high = spread(*self._counts(), self._inner)
        return self._estimate(value, float(low), float(high), self.size.sum(), "melded")

    def ratio(self) -> Estimate:
        """Return the lowest rate divided by the highest.

        It is unknown where the highest is 0, or fewer than two groups have anybody in them.
        """
        if not self.comparable or not self.hits.any():
            return self._estimate(math.nan, 0.0, 1.0, 0.0, "melded")
        value = float(np.nanmin(self.shares) / np.nanmax(self.shares))
        low, high = impact_ratio(*self._counts(), self._inner)
        return self._estimate(value, float(low), float(high), self.size.sum(), "melded")

    def to_best(self) -> list[Estimate]:
        """Return the rate of each group divided by the highest of all.

        The highest is the true one, which need not be the highest that was seen.
        """
        groups = len(self.size)
        low = np.zeros(groups)
        high = np.ones(groups)
        if not self.comparable or not self.hits.any():
            return self._each(np.full(groups, math.nan), low, high, "melded")
        seen = self.size > 0
        low_seen, high_seen = ratios_to_best(*self._counts(), self._inner)
        # The group without anybody, if there is one, comes last in the counts.
        low[seen] = low_seen[: seen.sum()]
        high[seen] = high_seen[: seen.sum()]
        return self._each(self.shares / np.nanmax(self.shares), low, high, "melded")

    def rates(self) -> list[Estimate]:
        """Return the rate of each group by itself."""
        low = np.zeros(len(self.size))
        high = np.ones(len(self.size))
        seen = self.size > 0
        low[seen], high[seen] = by_group(self.hits[seen], self.size[seen], self._inner)
        return self._each(self.shares, low, high, "exact")

    @property
    def _inner(self) -> float:
        """The level of this contrast, such that all of them hold together (Bonferroni)."""
        return 1 - (1 - check_level(self.level)) / self.among

    def _counts(self) -> Limits:
        """Return hits and sizes of the groups with somebody, then one of those without anybody.

        One stands for all of them, as nothing is known of any.
        """
        somebody = np.flatnonzero(self.size > 0)
        nobody = np.flatnonzero(self.size == 0)
        taken = np.append(somebody, nobody[:1])
        return self.hits[taken], self.size[taken]

    def _each(
        self, values: Floats, low: Floats, high: Floats, method: str
    ) -> list[Estimate]:
        estimates = []
        for value, least, most, n in zip(values, low, high, self.size, strict=True):
            estimates.append(self._estimate(value, least, most, n, method))
        return estimates

    def _estimate(
        self, value: float, low: float, high: float, n: float, method: str
    ) -> Estimate:
        method = f"{method}, simultaneous over {self.together or self._family()}"
        if math.isnan(value):
            low, high, n = 0.0, 1.0, 0
        else:
            # Limits are found to a few parts in a million, which must not put them on the wrong
            # side of the value.
            low = min(float(low), float(value))
            high = max(float(high), float(value))
        return Estimate(
            float(value),
            low,
            high,
            int(n),
            self.level,
            method,
            self.population,
            descriptive=self.descriptive,
        )

    def _family(self) -> str:
        """Return what the intervals hold together over, in words."""
        groups = (self.size > 0).sum()
        if self.among > 1:
            return f"{groups} groups and {self.among} findings"
        return f"{groups} groups"
