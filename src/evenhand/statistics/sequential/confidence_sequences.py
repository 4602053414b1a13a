"""Confidence sequences: intervals that hold at all sample sizes at once.

A run may look after every draw and stop when it likes. All functions are pure and vectorised over
their counts, and return `(low, high)`; they rest on the beta-binomial mixture martingale and
Ville's inequality.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.intervals import (
    TINY,
    check_level,
    checked,
    ordered_pairs,
    share_of,
)
from evenhand.statistics.numerics import halve
from evenhand.statistics.sequential.finite import log_likelihood

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats, Limits

PRIOR = 0.5
"""Both parameters of Jeffreys' prior, which the mixture is over.

The mixture's redundancy is then within a constant of the best possible, for every rate.
"""
_HALVINGS = 60
_ALMOST_ONE = 1 - 1e-9
"""A pull beyond it is as good as infinite: the upper limit of the difference is then 1."""


def log_mixture(
    k: ArrayLike, n: ArrayLike, p: ArrayLike, *, size: int | None = None
) -> Floats:
    """Return the log of the beta-binomial mixture martingale against the mean `p`.

    Where draws are without replacement, from `size` in all, the mixture is the same (Pólya's urn),
    and the mean has the probability of such draws.

    >>> bool(log_mixture(30, 30, 0.5) > 17)
    True
    """
    from scipy.special import betaln, xlog1py, xlogy

    hits, drawn = checked(k, n)
    misses = drawn - hits
    rate = np.asarray(p, dtype=float)
    # What the mixture over all rates makes of the hits, over what the rate p makes of them.
    log_marginal = betaln(PRIOR + hits, PRIOR + misses) - betaln(PRIOR, PRIOR)
    if size is not None:
        return np.asarray(log_marginal - log_likelihood(hits, drawn, rate * size, size))
    return np.asarray(log_marginal - xlogy(hits, rate) - xlog1py(misses, -rate))


def mixture(
    k: ArrayLike, n: ArrayLike, level: float, *, total: int | None = None
) -> Limits:
    """Return the confidence sequence of the beta-binomial mixture martingale M.

    It is {p : M_n(p) < 1/(1 - level)}. By Ville's inequality the intervals of all n hold together
    with probability `level`, so it is valid under any stopping rule. It stays valid for independent
    graded outcomes x in [0, 1] (`k` is then their sum): given a mixing value θ, each factor
    (θ/p)^x·((1-θ)/(1-p))^(1-x) is convex in x, so its mean is at most that of a yes/no outcome of
    the same mean p, which is 1. With `total`, draws are without replacement, from so many in all.

    >>> low, high = mixture(3, 40, 0.95)
    >>> f"{low:.4f} {high:.4f}"
    '0.0056 0.2742'
    """
    hits, size = checked(k, n)
    bound = -np.log(1 - check_level(level))
    share = share_of(hits, size, 0.5)

    def outside(p: Floats) -> NDArray[np.bool_]:
        return np.asarray(log_mixture(hits, size, p, size=total) >= bound)

    low = np.zeros_like(share)
    high = np.ones_like(share)
    seen = size > 0
    if bool(np.any(seen)):
        # Without a hit nothing can be ruled out below the share, and without a miss nothing above.
        # Each limit is the end that is still outside, and so errs away from the share.
        lowest, _ = halve(outside, low, share, _HALVINGS)
        highest, _ = halve(outside, high, share, _HALVINGS)
        low = np.where(hits > 0, lowest, 0.0)
        high = np.where(hits < size, highest, 1.0)
    low = np.where(seen, low, 0.0)
    high = np.where(seen, high, 1.0)
    return low[()], high[()]


def log_mixture_difference(
    k1: Floats, n1: Floats, k2: Floats, n2: Floats, d: ArrayLike
) -> Floats:
    """Return the log of the product of two mixture martingales at the best rates with p1 - p2 = d.

    >>> ten = np.array(10.0)
    >>> bool(log_mixture_difference(ten, ten, 0 * ten, ten, 0.0) > 5)
    True
    """
    shape = np.broadcast_shapes(np.shape(k1), np.shape(k2), np.shape(d))
    gap = np.broadcast_to(np.asarray(d, dtype=float), shape)
    # The second rate p lies where both p and p + d are rates.
    lowest = np.maximum(-gap, 0.0)
    highest = np.minimum(1 - gap, 1.0)
    length = highest - lowest

    def rises(p: Floats) -> NDArray[np.bool_]:
        # Both likelihoods are log-concave, so the sign of the slope brackets the one optimum.
        with np.errstate(divide="ignore", invalid="ignore"):
            q = p + gap
            up = np.nan_to_num(k1 / q) + np.nan_to_num(k2 / p)
            slope = (
                up - np.nan_to_num((n1 - k1) / (1 - q)) - np.nan_to_num((n2 - k2) / (1 - p))
            )
        return np.asarray(slope > 0)

    far, near = halve(rises, lowest, highest, _HALVINGS // 2)
    second = np.clip((far + near) / 2, lowest, lowest + length)
    first = np.clip(second + gap, 0.0, 1.0)
    return log_mixture(k1, n1, first) + log_mixture(k2, n2, second)


def mixture_difference(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, level: float
) -> Limits:
    """Return a confidence sequence for p1 - p2.

    It comes from the product of the mixture martingales of the two samples.

    >>> low, high = mixture_difference(30, 40, 12, 40, 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.037 0.762'
    """
    first = checked(k1, n1)
    second = checked(k2, n2)
    rate = 1 - check_level(level)
    # The lower limit of p1 - p2 is minus the upper one of p2 - p1.
    low = -mixture_difference_below(*second, *first, rate)
    high = mixture_difference_below(*first, *second, rate)
    return low[()], high[()]


def mixture_difference_below(
    k1: Floats, n1: Floats, k2: Floats, n2: Floats, rate: float
) -> Floats:
    """Return the upper limit of p1 - p2.

    It is over all pairs of rates at which the product martingale is below 1/rate.

    >>> forty = np.array(40.0)
    >>> f"{mixture_difference_below(forty - 10, forty, forty - 28, forty, 0.05):.3f}"
    '0.762'
    """
    shape = np.broadcast_shapes(np.shape(k1), np.shape(n1), np.shape(k2), np.shape(n2))

    # On the edge of that convex set both slopes equal one multiplier, and each rate then solves a
    # quadratic. The multiplier goes from 0 to infinity as t goes from 0 to 1.
    def rates(t: Floats) -> Limits:
        pull = (n1 + n2 + 1) * t / np.maximum(1 - t, 1e-12)
        first = _tilted(k1, n1, pull)
        second = 1 - _tilted(n2 - k2, n2, pull)
        return first, second

    def outside(t: Floats) -> NDArray[np.bool_]:
        first, second = rates(t)
        log_product = log_mixture(k1, n1, first) + log_mixture(k2, n2, second)
        return np.asarray(log_product >= -np.log(rate))

    edge, _ = halve(outside, np.ones(shape), np.zeros(shape), _HALVINGS)
    first, second = rates(np.minimum(edge, _ALMOST_ONE))
    return np.where(edge < _ALMOST_ONE, first - second, 1.0)


def _tilted(k: Floats, n: Floats, pull: Floats) -> Floats:
    """Return the p with k/p - (n - k)/(1 - p) = -pull, written so that neither branch cancels."""
    root = np.sqrt((n - pull) ** 2 + 4 * pull * k)
    up = (pull - n + root) / np.maximum(2 * pull, TINY)
    down = 2 * k / np.maximum(n - pull + root, TINY)
    return np.clip(np.where(pull > n, up, down), 0.0, 1.0)


def mixture_tails(groups: int, alpha: float) -> tuple[float, float]:
    """Return the errors for each pair's lower limit and for the upper limit of `mixture_spread`.

    >>> mixture_tails(2, 0.05), mixture_tails(3, 0.05)
    ((0.05, 0.05), (0.0125, 0.025))
    """
    others = groups * (groups - 1) // 2 - 1
    if not others:
        # One pair has one martingale, which rules out values on both sides.
        return alpha, alpha
    return alpha / 2 / others, alpha / 2


def mixture_spread(
    k: ArrayLike, n: ArrayLike, level: float, *, among: int | None = None
) -> Limits:
    """Return a confidence sequence for max p - min p over the groups on the last axis.

    The two extreme groups of `among` samples of equal size may be given alone, as for
    `intervals.spread`.

    >>> low, high = mixture_spread([30, 20, 12], [40, 40, 40], 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.000 0.773'
    """
    hits, size = checked(k, n)
    pairs = ordered_pairs(hits, size)
    groups = among or hits.shape[-1]
    low_rate, high_rate = mixture_tails(groups, 1 - check_level(level))
    # Over ordered pairs, the largest lower limit is minus the smallest upper limit of the reversed
    # pair.
    smallest = mixture_difference_below(*pairs, low_rate).min(axis=-1)
    low = np.maximum(-smallest, 0.0)
    high = mixture_difference_below(*pairs, high_rate).max(axis=-1)
    # A group of which nothing was seen could have any rate.
    has_empty = (size == 0).any(axis=-1)
    return low[()], np.where(has_empty, 1.0, high)[()]
