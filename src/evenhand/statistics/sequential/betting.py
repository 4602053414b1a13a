"""Confidence limits for the mean of bounded variables that adapt to how much the variables vary.

A gambler bets on every variable in turn that its mean is above m. Where it is not, the capital ever
reaches 1/tail with probability at most `tail` (Ville's inequality), so the means that make the
gambler that rich can be ruled out. The stake follows the variance seen so far: the predictable
plug-in of Waudby-Smith and Ramdas (2024) for a fixed number of variables. The limits hold at every
sample size, for variables whose means given those before them are all equal.
"""

from __future__ import annotations

import math
from numbers import Real
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import UsageError
from evenhand.statistics.numerics import halve

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats, Limits

MOST_AT_STAKE = 0.75
"""The share of the capital that one variable can lose.

On the whole, limits are narrower than with 1/2 and 0.9.
"""
_BYTES_AT_ONCE = 2_000_000
"""The size of one of several arrays: what fits in a cache."""
_LOOKS = 64
"""How often the capital is looked at on the way; more looks make the limits hardly narrower."""
_MOST_MULTIPLIED = 32
"""A factor lies between 1/4 and 1 + sqrt(8 log(1/tail)), so that this many cannot overflow."""
_HALVINGS = 26


def bet(values: ArrayLike, tail: float, *, low: float = 0.0, high: float = 1.0) -> Limits:
    """Return lower and upper limits of the means on the last axis.

    Parameters
    ----------
    values
        One sample a row, from `low` to `high`, in an order that does not depend on the values:
        shuffle them first.
    tail
        The probability with which each limit may miss, at most.
    low, high
        The range that values may have.

    >>> below, above = bet([[0, 0, 1, 0, 0, 0, 0, 1, 0, 0] * 10], 0.025)
    >>> f"{below[0]:.3f} {above[0]:.3f}"
    '0.110 0.333'
    """
    if not isinstance(tail, Real) or not 0 < tail < 1:
        raise UsageError(f"tail = {tail!r} must lie between 0 and 1, for example 0.025")
    if not low < high:
        raise UsageError(f"low = {low!r} must be below high = {high!r}")
    samples = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if not bool(np.all((samples >= low) & (samples <= high))):
        raise UsageError(
            f"values must lie from low = {low!r} to high = {high!r}; say how far they can reach"
        )
    rows, size = samples.shape
    lower = np.full(rows, float(low))
    upper = np.full(rows, float(high))
    if size == 0:
        return lower, upper
    width = high - low
    at_once = max(1, _BYTES_AT_ONCE // (8 * size))
    for start in range(0, rows, at_once):
        part = slice(start, start + at_once)
        unit = np.clip((samples[part] - low) / width, 0.0, 1.0)
        stakes = _stakes(unit, tail)
        mean = np.clip(samples[part].mean(axis=1), low, high)
        lowest = low + width * _above(unit, stakes, tail)
        # The upper limit is the lower one of what is missing to the top of the range.
        highest = high - width * _above(1 - unit, stakes, tail)
        # Rounding must not push the limits past the mean itself, which they touch at the ends of
        # the range.
        lower[part] = np.clip(lowest, low, mean)
        upper[part] = np.clip(highest, mean, high)
    return lower, upper


def _stakes(values: Floats, tail: float) -> Floats:
    """Return the stake on each value, which rests on the values before it alone."""
    rows, size = values.shape
    # Both estimates begin with one made-up value: a mean of 1/2, and a variance of 1/4.
    seen = np.arange(2.0, size + 2)
    mean = (0.5 + np.cumsum(values, axis=1)) / seen
    squares = (values - mean) ** 2
    variance = (0.25 + np.cumsum(squares, axis=1)) / seen
    first = np.full((rows, 1), 0.25)
    variance_before = np.concatenate([first, variance[:, :-1]], axis=1)
    return np.asarray(np.sqrt(2 * math.log(1 / tail) / (size * variance_before)))


def _above(values: Floats, stakes: Floats, tail: float) -> Floats:
    """Return the largest mean that is ruled out for being too low, 0 where none is.

    It is at most the mean of the values.
    """

    def is_ruled_out(mean: Floats) -> NDArray[np.bool_]:
        return np.asarray(_log_capital(values, stakes, mean) >= -math.log(tail))

    near = values.mean(axis=1)
    far = np.where(is_ruled_out(near), near, 0.0)
    ruled_out, _ = halve(is_ruled_out, far, near, _HALVINGS)
    return ruled_out


def _log_capital(values: Floats, stakes: Floats, mean: Floats) -> Floats:
    """Return the log of the most that a capital of 1 has ever become, by bets on a higher mean.

    It falls in the mean.
    """
    size = values.shape[1]
    with np.errstate(divide="ignore", over="ignore"):
        most = MOST_AT_STAKE / mean[:, None]
    factors = 1 + np.minimum(stakes, most) * (values - mean[:, None])
    # A logarithm costs much more than a product: it is taken once for each run of factors.
    run = min(max(size // _LOOKS, 1), _MOST_MULTIPLIED)
    products = np.multiply.reduceat(factors, np.arange(0, size, run), axis=1)
    log_capital = np.cumsum(np.log(products), axis=1)
    return np.asarray(log_capital.max(axis=1))
