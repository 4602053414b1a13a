"""Tests of a mean against a limit that may be looked at after every draw.

A gambler starts with a capital of 1 and stakes a share of it on every draw: on a low one where the
mean is to be shown to lie below the limit, on a high one where it is to be shown to lie above. If
the mean does not lie there, no bet is favourable, and by Ville's inequality the capital ever
reaches 1/error with at most the probability `error`. The capital is spread over a grid of stakes,
so that no knowledge of the mean is needed. For draws that are 0 or 1 this is a likelihood ratio
with a prior that is cut at the limit, and each test may use the whole error: whatever the mean is,
only one of the two verdicts is wrong.

Draws are +1 (`ups`), -1 (`downs`) or 0, so that the same tests serve a rate (no downs) and the
difference of two rates over the same people. Draws between those values may be counted in parts:
by the inequality of arithmetic and geometric means the capital is then smaller than it could be,
never larger.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.sequential.finite import log_likelihood

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evenhand.statistics.intervals import Floats

    Grid = tuple[Floats, Floats]

RATIO = 2**0.25
"""How much larger a stake or a distance is than the next."""
STAKES = 48
"""How many stakes there are, from the whole capital to 2^-12 of it."""
LARGE_STAKES = 0.72
"""How the weight falls from a stake to the next smaller one.

For a rate, large stakes are best: those of rates up to 0.6 of the limit are among the first six.
"""
PEAK = 0.7
"""Rates that are over the limit by this share of it have the largest weight."""
FALL_NEAR, FALL_FAR = 0.3, 0.7
"""How the weight falls where that distance is halved, and where it is doubled."""
PAIRED_RATIO, PAIRED_STAKES, PAIRED_FALL = 2**0.5, 20, 0.8
"""The same for differences, whose best stakes may be small: two rates may vary much while their
difference is small.
"""
NEAREST = 0.01
"""The smallest distance to the limit in the grid, as a share of the limit."""
_ALMOST_ALL = 1 - 1e-12
"""A stake of everything would lose it all with one draw."""


def log_e_below(
    ups: ArrayLike,
    n: ArrayLike,
    limit: float,
    *,
    downs: ArrayLike | None = None,
    size: int | None = None,
) -> Floats:
    """Return the log of the evidence that a mean lies below the limit.

    Parameters
    ----------
    ups, downs
        How many draws were +1, and how many -1; without `downs` none can be.
    n
        How many draws there were.
    size
        How many there are in all, where they are drawn without replacement; only for rates.

    >>> bool(log_e_below(0, 87, 0.05) > np.log(1 / 0.03))
    True
    """
    gains, size_drawn, losses = _checked(ups, n, downs)
    stakes, weights = _stakes(paired=downs is not None)
    if size is not None:
        rates = np.maximum(limit * (1 - stakes), 0.0)
        return _finite_below(gains, size_drawn, (rates, weights), limit, size)
    stake = stakes * _ALMOST_ALL / (1 - limit)
    log_up = np.log1p(stake * (limit - 1))
    log_zero = np.log1p(stake * limit)
    down = stake * (limit + 1)
    counts = gains, size_drawn, losses
    return _log_capital(counts, (log_up, log_zero, down), weights)


def log_e_above(
    ups: ArrayLike,
    n: ArrayLike,
    limit: float,
    *,
    downs: ArrayLike | None = None,
    size: int | None = None,
) -> Floats:
    """Return the log of the evidence that a mean lies above the limit.

    The parameters are those of `log_e_below`.

    >>> bool(log_e_above(8, 10, 0.05) > np.log(1 / 0.03))
    True
    """
    gains, size_drawn, losses = _checked(ups, n, downs)
    if downs is not None:
        stakes, weights = _stakes(paired=True)
        stake = stakes * _ALMOST_ALL / (1 + limit)
        log_up = np.log1p(stake * (1 - limit))
        log_zero = np.log1p(-stake * limit)
        down = -stake * (1 + limit)
        counts = gains, size_drawn, losses
        return _log_capital(counts, (log_up, log_zero, down), weights)
    rates, weights = _rates_above(limit)
    if size is not None:
        return _finite_above(gains, size_drawn, (rates, weights), limit, size)
    log_up = np.log(rates / limit)
    log_zero = np.log((1 - rates) / (1 - limit))
    return _log_capital(
        (gains, size_drawn, losses), (log_up, log_zero, np.zeros_like(rates)), weights
    )


def first_over(limit: float, size: int) -> int:
    """Return the smallest number among `size` whose share is at or over the limit.

    >>> first_over(0.05, 40), first_over(0.05, 41)
    (2, 3)
    """
    number = math.ceil(limit * size)
    # Rounding may have gone up where the product is a whole number.
    while number > 0 and (number - 1) / size >= limit:
        number -= 1
    while number / size < limit:
        number += 1
    return number


def _checked(
    ups: ArrayLike, n: ArrayLike, downs: ArrayLike | None
) -> tuple[Floats, Floats, Floats]:
    gains = np.asarray(ups, dtype=float)
    losses = np.zeros(1) if downs is None else np.asarray(downs, dtype=float)
    gains, size, losses = np.broadcast_arrays(gains, np.asarray(n, dtype=float), losses)
    if downs is None and np.ndim(ups) == 0 and np.ndim(n) == 0:
        return gains[0], size[0], losses[0]
    return gains, size, losses


def _log_capital(
    counts: tuple[Floats, Floats, Floats],
    factors: tuple[Floats, Floats, Floats],
    weights: Floats,
) -> Floats:
    """Return the log of the capital after some draws, averaged over the stakes."""
    ups, n, downs = (count[..., None] for count in counts)
    log_up, log_zero, down = factors
    zeros = n - ups - downs
    logs = ups * log_up
    logs = logs + zeros * log_zero
    logs = logs + np.log(weights)
    if np.any(counts[2]):
        logs = logs + downs * np.log1p(down)
    return _log_sum(logs)


def _log_sum(logs: Floats) -> Floats:
    """Return the log of the sum of exponentials on the last axis."""
    largest = logs.max(axis=-1)
    is_finite = np.isfinite(largest)
    finite = np.where(is_finite, largest, 0.0)
    shares = np.exp(logs - finite[..., None])
    with np.errstate(divide="ignore"):
        log_of_shares = np.log(shares.sum(axis=-1))
    return np.asarray(finite + log_of_shares)


def _finite_below(hits: Floats, n: Floats, grid: Grid, limit: float, size: int) -> Floats:
    """Return the evidence against all numbers of hits in the population at or over the limit."""
    bar = first_over(limit, size)
    rates, weights = grid
    numbers = np.minimum(np.round(rates * size), bar - 1)
    return _finite(hits, n, (numbers, weights), bar, size)


def _finite_above(hits: Floats, n: Floats, grid: Grid, limit: float, size: int) -> Floats:
    """Return the evidence against all numbers of hits in the population under the limit."""
    bar = first_over(limit, size)
    rates, weights = grid
    numbers = np.clip(np.round(rates * size), bar, size)
    return _finite(hits, n, (numbers, weights), bar - 1, size)


def _finite(hits: Floats, n: Floats, grid: Grid, null: int, size: int) -> Floats:
    numbers, weights = grid
    drawn, hit = n[..., None], hits[..., None]
    likely = log_likelihood(hit, drawn, numbers, size) + np.log(weights)
    evidence = _log_sum(likely)
    under_null = log_likelihood(hits, n, np.asarray(float(null)), size)
    # What cannot be under either hypothesis is no evidence for one of them.
    impossible = np.isneginf(evidence)
    with np.errstate(invalid="ignore"):
        return np.where(impossible, -np.inf, evidence - under_null)


@lru_cache(maxsize=2)
def _stakes(*, paired: bool) -> Grid:
    """Return shares of the largest stake, and their weights."""
    ratio, count, fall = RATIO, STAKES, LARGE_STAKES
    if paired:
        ratio, count, fall = PAIRED_RATIO, PAIRED_STAKES, PAIRED_FALL
    places = np.arange(count)
    stakes = np.power(ratio, -places, dtype=np.float64)
    weights = np.power(fall, places, dtype=np.float64)
    return stakes, weights / weights.sum()


@lru_cache(maxsize=64)
def _rates_above(limit: float) -> Grid:
    """Return rates over the limit, and their weights."""
    reach = 1 - limit
    nearest = min(NEAREST * limit, reach / RATIO)
    places = np.arange(math.ceil(math.log(reach / nearest) / math.log(RATIO)) + 1)
    distances = reach * _ALMOST_ALL * RATIO**-places
    doublings = np.log2(distances / (PEAK * limit))
    weights = np.where(doublings > 0, FALL_FAR**doublings, FALL_NEAR**-doublings)
    rates = np.asarray(limit + distances, dtype=np.float64)
    shares = np.asarray(weights / weights.sum(), dtype=np.float64)
    return rates, shares
