"""Confidence sequences: intervals that hold at all sample sizes at once.

A run may look after every draw and stop when it likes. All functions are pure and vectorised over
their counts, and return `(low, high)`; they rest on the beta-binomial mixture martingale and
Ville's inequality.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.intervals import TINY, check_level, checked, ordered_pairs, share_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats, Limits

# Jeffreys' prior: the mixture's redundancy is then within a constant of the best possible for every
# p.
PRIOR = 0.5
_HALVINGS = 60


def log_mixture(k: ArrayLike, n: ArrayLike, p: ArrayLike) -> Floats:
    """Return the log of the beta-binomial mixture martingale against the mean `p`.

    >>> bool(log_mixture(30, 30, 0.5) > 17)
    True
    """
    from scipy.special import betaln, xlog1py, xlogy

    hits, size = checked(k, n)
    fit = betaln(PRIOR + hits, PRIOR + size - hits) - betaln(PRIOR, PRIOR)
    at = np.asarray(p, dtype=float)
    return np.asarray(fit - xlogy(hits, at) - xlog1py(size - hits, -at))


def mixture(k: ArrayLike, n: ArrayLike, level: float) -> Limits:
    """Return the confidence sequence {p : M_n(p) < 1/(1 - level)} of the beta-binomial mixture
    martingale M.

    By Ville's inequality the intervals of all n hold together with probability `level`, so it is
    valid under any stopping rule. It stays valid for independent graded outcomes x in [0, 1] (`k`
    is then their sum): given a mixing value θ, each factor (θ/p)^x·((1-θ)/(1-p))^(1-x) is convex in
    x, so its mean is at most that of a yes/no outcome of the same mean p, which is 1.

    >>> low, high = mixture(3, 40, 0.95)
    >>> f"{low:.4f} {high:.4f}"
    '0.0056 0.2742'
    """
    hits, size = checked(k, n)
    bound = -np.log(1 - check_level(level))
    share = share_of(hits, size, 0.5)

    def outside(p: Floats) -> NDArray[np.bool_]:
        return np.asarray(log_mixture(hits, size, p) >= bound)

    low, high = np.zeros_like(share), np.ones_like(share)
    if bool(np.any(size > 0)):
        low = np.where(hits > 0, _edge(outside, low, share), 0.0)
        high = np.where(hits < size, _edge(outside, high, share), 1.0)
    return np.where(size > 0, low, 0.0)[()], np.where(size > 0, high, 1.0)[()]


def _edge(outside: Callable[[Floats], NDArray[np.bool_]], far: Floats, near: Floats) -> Floats:
    """Return where `outside` turns false on the way from `far` to `near`, erring towards `far`."""
    far, near = far.copy(), near.copy()
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        out = outside(middle)
        far, near = np.where(out, middle, far), np.where(out, near, middle)
    return far


def log_mixture_difference(k1: Floats, n1: Floats, k2: Floats, n2: Floats, d: ArrayLike) -> Floats:
    """Return the log of the product of two mixture martingales at the best rates with p1 - p2 = d.

    >>> ten = np.array(10.0)
    >>> bool(log_mixture_difference(ten, ten, 0 * ten, ten, 0.0) > 5)
    True
    """
    gap = np.broadcast_to(
        np.asarray(d, dtype=float), np.broadcast_shapes(np.shape(k1), np.shape(k2), np.shape(d))
    )
    far, near = np.maximum(-gap, 0.0), np.minimum(1 - gap, 1.0)
    start, length = far, near - far
    for _ in range(_HALVINGS // 2):
        p = (far + near) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            # Both likelihoods are log-concave, so the sign of the slope brackets the one optimum.
            q = p + gap
            slope = np.nan_to_num(k1 / q) + np.nan_to_num(k2 / p)
            slope = slope - np.nan_to_num((n1 - k1) / (1 - q)) - np.nan_to_num((n2 - k2) / (1 - p))
        far, near = np.where(slope > 0, p, far), np.where(slope > 0, near, p)
    p = np.clip((far + near) / 2, start, start + length)
    return log_mixture(k1, n1, np.clip(p + gap, 0.0, 1.0)) + log_mixture(k2, n2, p)


def mixture_difference(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, level: float
) -> Limits:
    """Return a confidence sequence for p1 - p2 from the product of the two samples' mixture
    martingales.

    >>> low, high = mixture_difference(30, 40, 12, 40, 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.037 0.762'
    """
    first, second = checked(k1, n1), checked(k2, n2)
    rate = 1 - check_level(level)
    return (
        -mixture_difference_below(*second, *first, rate)[()],
        mixture_difference_below(*first, *second, rate)[()],
    )


def mixture_difference_below(k1: Floats, n1: Floats, k2: Floats, n2: Floats, rate: float) -> Floats:
    """Return the upper limit of p1 - p2 over all pairs of rates at which the product martingale is
    below 1/rate.

    >>> forty = np.array(40.0)
    >>> f"{mixture_difference_below(forty - 10, forty, forty - 28, forty, 0.05):.3f}"
    '0.762'
    """
    shape = np.broadcast_shapes(*(np.shape(x) for x in (k1, n1, k2, n2)))

    # On the edge of that convex set both slopes equal one multiplier, and each rate then solves a
    # quadratic.
    def rates(t: Floats) -> Limits:
        pull = (n1 + n2 + 1) * t / np.maximum(1 - t, 1e-12)
        return _tilted(k1, n1, pull), 1 - _tilted(n2 - k2, n2, pull)

    def outside(t: Floats) -> NDArray[np.bool_]:
        p1, p2 = rates(t)
        return np.asarray(log_mixture(k1, n1, p1) + log_mixture(k2, n2, p2) >= -np.log(rate))

    edge = _edge(outside, np.ones(shape), np.zeros(shape))
    p1, p2 = rates(np.minimum(edge, 1 - 1e-9))
    return np.where(edge < 1 - 1e-9, p1 - p2, 1.0)


def _tilted(k: Floats, n: Floats, pull: Floats) -> Floats:
    """Return the p with k/p - (n - k)/(1 - p) = -pull, written so that neither branch cancels."""
    root = np.sqrt((n - pull) ** 2 + 4 * pull * k)
    up = (pull - n + root) / np.maximum(2 * pull, TINY)
    down = 2 * k / np.maximum(n - pull + root, TINY)
    return np.clip(np.where(pull > n, up, down), 0.0, 1.0)


def mixture_tails(groups: int, alpha: float) -> tuple[float, float]:
    """Return the rates for each pair's lower limit and for the spread's upper limit, for
    `mixture_spread`.

    >>> mixture_tails(2, 0.05), mixture_tails(3, 0.05)
    ((0.05, 0.05), (0.0125, 0.025))
    """
    others = groups * (groups - 1) // 2 - 1
    return (alpha / 2 / others, alpha / 2) if others else (alpha, alpha)


def mixture_spread(k: ArrayLike, n: ArrayLike, level: float, *, among: int | None = None) -> Limits:
    """Return a confidence sequence for max p - min p over the groups on the last axis.

    The two extreme groups of `among` samples of equal size may be given alone, as for
    `intervals.spread`.

    >>> low, high = mixture_spread([30, 20, 12], [40, 40, 40], 0.95)
    >>> f"{low:.3f} {high:.3f}"
    '0.000 0.773'
    """
    hits, size = checked(k, n)
    pairs = ordered_pairs(hits, size)
    low_rate, high_rate = mixture_tails(among or hits.shape[-1], 1 - check_level(level))
    # Over ordered pairs, the largest lower limit is minus the smallest upper limit of the reversed
    # pair.
    low = np.maximum(-mixture_difference_below(*pairs, low_rate).min(axis=-1), 0.0)
    high = mixture_difference_below(*pairs, high_rate).max(axis=-1)
    return low[()], np.where((size == 0).any(axis=-1), 1.0, high)[()]
