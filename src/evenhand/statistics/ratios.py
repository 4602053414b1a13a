"""Ratios of proportions: confidence intervals for one, for those of several groups, and what a
contrast says of them.

All functions are pure and vectorised over their counts, and hold their level for samples whose
sizes do not depend on what was seen. A rate of 0 in every group leaves the ratio undefined; the
interval is then 0 to 1, never a fair 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import (
    TINY,
    by_group,
    check_level,
    checked,
    lower_limit,
    ordered_pairs,
    share_of,
    spread,
    spread_tails,
    upper_limit,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike

    from evenhand.statistics.intervals import Floats, Limits

_CHORDS = 8


def ratio(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, level: float) -> Limits:
    """Return the melded exact interval for p1 / p2 of two independent samples (Fay, Proschan and
    Brittain, 2015).

    The upper limit is infinite where the second sample has no hits.

    >>> low, high = ratio(12, 40, 30, 40, 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.215 0.672'
    """
    first, second = checked(k1, n1), checked(k2, n2)
    tail = (1 - check_level(level)) / 2
    back = ratio_above(*second, *first, tail)
    high = np.divide(1.0, back, out=np.full(back.shape, np.inf), where=back > 0)
    return ratio_above(*first, *second, tail)[()], high[()]


def ratio_above(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Floats:
    """Return the one-sided melded lower limit of p1 / p2, which misses with probability at most
    `tail`.

    >>> one = np.array(1.0)
    >>> f"{ratio_above(30 * one, 40 * one, 12 * one, 40 * one, 0.025):.3f}"
    '1.489'
    """
    from scipy.special import ndtri

    k1, n1, k2, n2 = np.broadcast_arrays(k1, n1, k2, n2)
    meld, target = _melded_ratio(k1, n1, k2, n2), float(ndtri(tail))

    def score(power: Floats) -> Floats:
        return np.asarray(np.clip(ndtri(meld(np.exp(power))) - target, -38.0, 38.0))

    far, near = _brackets(k1, n1, k2, n2, tail)
    below, above, before = (
        np.minimum(score(far), 0.0),
        np.maximum(score(near), 0.0),
        np.zeros(far.shape, dtype=int),
    )
    for _ in range(_CHORDS):
        # The probit of the melded probability is nearly linear in log r, which the Illinois rule
        # turns into few steps.
        chord = far - below * (near - far) / np.maximum(above - below, 1e-12)
        middle = np.clip(chord, far, near)
        found = score(middle)
        out = found <= 0
        far, near = np.where(out, middle, far), np.where(out, near, middle)
        below = np.where(out, found, np.where(before == -1, below / 2, below))
        above = np.where(out, np.where(before == 1, above / 2, above), found)
        before = np.where(out, 1, -1)
    return np.where(k1 > 0, np.exp(far), 0.0)


def _brackets(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Limits:
    """Return logarithms between which the melded lower limit lies: L/U is below the first with
    probability `tail` at most, since one of the two must be out, and below the second with at least
    that, since both may be.
    """

    def apart(rate: float) -> Floats:
        return np.asarray(
            np.log(np.maximum(lower_limit(k1, n1, rate), TINY) / upper_limit(k2, n2, rate))
        )

    return apart(tail / 2), apart(tail**0.5)


def _melded_ratio(k1: Floats, n1: Floats, k2: Floats, n2: Floats) -> Callable[[Floats], Floats]:
    """Return r -> P(L / U <= r), with L and U the confidence variables of p1's lower and p2's upper
    limit.
    """
    from scipy.special import betainc, betaincinv, ndtr

    # The nodes must carry the variable that is narrower for its size, or the integrand is a step
    # between two of them.
    swap = (n1 - k1 + 1) * (k2 + 1) * (n2 + 2) < (n2 - k2) * np.maximum(k1, TINY) * (n1 + 2)
    nodes = np.arange(-8.5, 8.51, 0.125)
    weights = np.exp(-(nodes**2) / 2) / np.exp(-(nodes**2) / 2).sum()
    # Pairs of groups share their samples, and inverting is by far the dearest step: once for each
    # distinct sample.
    shapes, index = np.unique(
        np.where(swap, k1 + 1j * (n1 - k1 + 1), k2 + 1 + 1j * (n2 - k2)), return_inverse=True
    )
    misses = shapes.imag[:, None]
    quantiles = betaincinv(
        np.maximum(shapes.real, TINY)[:, None], np.where(misses > 0, misses, 1.0), ndtr(nodes)
    )
    inner = np.where(misses > 0, quantiles, 1.0)[index.reshape(k2.shape)]
    swap = swap[..., None]
    outer_a = np.where(swap, (n2 - k2)[..., None], np.maximum(k1, TINY)[..., None])
    outer_b = np.where(swap, (k2 + 1)[..., None], (n1 - k1 + 1)[..., None])

    def probability(r: Floats) -> Floats:
        at = r[..., None]
        # P(L <= r U) over U, or P(1 - U <= 1 - L / r) over L.
        inside = np.where(swap, 1 - inner / at, inner * at)
        return np.asarray(betainc(outer_a, outer_b, np.clip(inside, 0.0, 1.0)) @ weights)

    return probability


def impact_ratio(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return an interval for min p / max p over the groups on the last axis, simultaneous over
    which pair is extreme.

    The ratio is the smallest of p_i / p_j over all ordered pairs, so the rates of `spread_tails`
    apply with the sides changed: the lower limit can miss only through the pair that is truly
    extreme. An empty group could have any rate, so the lower limit is then 0.

    >>> low, high = impact_ratio([30, 20, 12], [40, 40, 40], 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.215 0.764'
    """
    hits, size = checked(k, n)
    pairs = ordered_pairs(hits, size)
    high_tail, low_tail = spread_tails(hits.shape[-1], 1 - check_level(level))
    # Over ordered pairs, the smallest upper limit of p_i / p_j is one over the largest lower limit
    # of p_j / p_i.
    return _smallest(*pairs, low_tail)[()], 1 / _largest(*pairs, high_tail)[()]


def ratios_to_best(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return intervals for p_g / max p of each group on the last axis, which hold together with
    probability `level`.

    The highest rate is the true one, whichever group has it. Lower limits can miss only through the
    m - 1 pairs with the truly best group. Upper limits can miss through any pair but those with
    that group in front, which are part of the same events; that leaves (m - 1)².

    >>> low, high = ratios_to_best([30, 20, 12], [40, 40, 40], 0.95)
    >>> f"{low[2]:.3f} {high[2]:.3f}"
    '0.195 0.752'
    >>> f"{low[0]:.3f} {high[0]:.3f}"
    '0.974 1.000'
    """
    hits, size = checked(k, n)
    groups, alpha = hits.shape[-1], 1 - check_level(level)
    k1, n1, k2, n2 = (x.reshape(*hits.shape, groups - 1) for x in ordered_pairs(hits, size))
    low = _smallest(k1, n1, k2, n2, alpha / 2 / (groups - 1))
    return low, 1 / _largest(k2, n2, k1, n1, alpha / 2 / (groups - 1) ** 2)


def _smallest(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Floats:
    """Return the smallest melded lower limit over the pairs on the last axis, 1 where all are
    higher.
    """
    far, near = _brackets(k1, n1, k2, n2, tail)
    # Most pairs cannot be the extreme one, which their brackets tell without an integral.
    maybe = far <= np.minimum(near.min(axis=-1, keepdims=True), 0.0)
    found = np.ones(far.shape)
    found[maybe] = ratio_above(k1[maybe], n1[maybe], k2[maybe], n2[maybe], tail)
    return np.asarray(np.minimum(found.min(axis=-1), 1.0))


def _largest(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Floats:
    """Return the largest melded lower limit over the pairs on the last axis, 1 where all are lower."""
    far, near = _brackets(k1, n1, k2, n2, tail)
    maybe = near >= np.maximum(far.max(axis=-1, keepdims=True), 0.0)
    found = np.ones(far.shape)
    found[maybe] = ratio_above(k1[maybe], n1[maybe], k2[maybe], n2[maybe], tail)
    return np.asarray(np.maximum(found.max(axis=-1), 1.0))


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

    @property
    def shares(self) -> Floats:
        """The rate of each group, NaN where nobody is in it."""
        return share_of(self.hits, self.size, math.nan)

    @property
    def comparable(self) -> bool:
        """Tell whether there are two groups with somebody in them."""
        return int((self.size > 0).sum()) > 1

    def difference(self) -> Estimate:
        """Return the highest rate minus the lowest, unknown where fewer than two groups have
        anybody.
        """
        if not self.comparable:
            return self._estimate(math.nan, 0.0, 1.0, 0.0, "melded")
        value = float(np.nanmax(self.shares) - np.nanmin(self.shares))
        low, high = spread(*self._counts(), self._inner)
        return self._estimate(value, float(low), float(high), self.size.sum(), "melded")

    def ratio(self) -> Estimate:
        """Return the lowest rate divided by the highest, unknown where that is 0 or fewer than two
        have anybody.
        """
        if not self.comparable or not self.hits.any():
            return self._estimate(math.nan, 0.0, 1.0, 0.0, "melded")
        value = float(np.nanmin(self.shares) / np.nanmax(self.shares))
        low, high = impact_ratio(*self._counts(), self._inner)
        return self._estimate(value, float(low), float(high), self.size.sum(), "melded")

    def to_best(self) -> list[Estimate]:
        """Return the rate of each group divided by the highest of all, which need not be the
        highest that was seen.
        """
        low, high, seen = np.zeros(len(self.size)), np.ones(len(self.size)), self.size > 0
        if not self.comparable or not self.hits.any():
            return self._each(np.full(len(self.size), math.nan), low, high, "melded")
        limits = ratios_to_best(*self._counts(), self._inner)
        low[seen], high[seen] = (limit[: seen.sum()] for limit in limits)
        return self._each(self.shares / np.nanmax(self.shares), low, high, "melded")

    def rates(self) -> list[Estimate]:
        """Return the rate of each group by itself."""
        low, high, seen = np.zeros(len(self.size)), np.ones(len(self.size)), self.size > 0
        low[seen], high[seen] = by_group(self.hits[seen], self.size[seen], self._inner)
        return self._each(self.shares, low, high, "exact")

    @property
    def _inner(self) -> float:
        return 1 - (1 - check_level(self.level)) / self.among

    def _counts(self) -> Limits:
        """Return hits and sizes, with one group without anybody for all of them, as nothing is
        known of any.
        """
        taken = np.append(np.flatnonzero(self.size > 0), np.flatnonzero(self.size == 0)[:1])
        return self.hits[taken], self.size[taken]

    def _each(self, values: Floats, low: Floats, high: Floats, method: str) -> list[Estimate]:
        return [
            self._estimate(*one, method) for one in zip(values, low, high, self.size, strict=True)
        ]

    def _estimate(self, value: float, low: float, high: float, n: float, method: str) -> Estimate:
        together = f"{(self.size > 0).sum()} groups" + (
            f" and {self.among} findings" if self.among > 1 else ""
        )
        said = f"{method}, simultaneous over {self.together or together}"
        if math.isnan(value):
            return Estimate(math.nan, 0.0, 1.0, 0, self.level, said, self.population)
        # Limits are found to a few parts in a million, which must not put them on the wrong side of
        # the value.
        ends = min(float(low), float(value)), max(float(high), float(value))
        return Estimate(float(value), *ends, int(n), self.level, said, self.population)
