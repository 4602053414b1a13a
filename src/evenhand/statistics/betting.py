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

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from evenhand.statistics.intervals import Floats, Limits

MOST_AT_STAKE = 0.75
"""The share of the capital that one variable can lose; on the whole, limits are narrower than with
1/2 and 0.9.
"""
_BYTES_AT_ONCE = 2_000_000  # of one of several arrays: what fits in a cache
_LOOKS = 64  # at the capital on the way: more of them make the limits hardly narrower
_MOST_MULTIPLIED = (
    32  # a factor lies between 1/4 and 1 + sqrt(8 log(1/tail)), so that so many cannot overflow
)
_HALVINGS = 26


def bet(values: ArrayLike, tail: float, *, low: float = 0.0, high: float = 1.0) -> Limits:
    """Return lower and upper limits of the means on the last axis, each missing with probability
    `tail` at most.

    Parameters
    ----------
    values
        One sample a row, from `low` to `high`, in an order that does not depend on the values:
        shuffle them first.
    tail
        The probability with which each limit may miss.

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
    lower, upper = np.full(rows, float(low)), np.full(rows, float(high))
    if size == 0:
        return lower, upper
    at_once = max(1, _BYTES_AT_ONCE // (8 * size))
    for start in range(0, rows, at_once):
        part = slice(start, start + at_once)
        unit = np.clip((samples[part] - low) / (high - low), 0.0, 1.0)
        stakes = _stakes(unit, tail)
        mean = np.clip(samples[part].mean(axis=1), low, high)
        # Rounding must not push the limits past the mean itself, which they touch at the ends of
        # the range.
        lower[part] = np.clip(low + (high - low) * _above(unit, stakes, tail), low, mean)
        upper[part] = np.clip(high - (high - low) * _above(1 - unit, stakes, tail), mean, high)
    return lower, upper


def _stakes(values: Floats, tail: float) -> Floats:
    """Return the stake on each value, which rests on the values before it alone."""
    size = values.shape[1]
    seen = np.arange(2.0, size + 2)
    mean = (0.5 + np.cumsum(values, axis=1)) / seen
    variance = (0.25 + np.cumsum((values - mean) ** 2, axis=1)) / seen
    before = np.concatenate([np.full((len(values), 1), 0.25), variance[:, :-1]], axis=1)
    return np.asarray(np.sqrt(2 * math.log(1 / tail) / (size * before)))


def _above(values: Floats, stakes: Floats, tail: float) -> Floats:
    """Return the largest mean that is ruled out for being too low, up to that of the values; 0
    where none is.
    """
    near = values.mean(axis=1)
    far = np.where(_log_capital(values, stakes, near) >= -math.log(tail), near, 0.0)
    for _ in range(_HALVINGS):
        middle = (far + near) / 2
        out = _log_capital(values, stakes, middle) >= -math.log(tail)
        far, near = np.where(out, middle, far), np.where(out, near, middle)
    return far


def _log_capital(values: Floats, stakes: Floats, m: Floats) -> Floats:
    """Return the log of the most that bets on a mean above `m` have ever made of a capital of 1; it
    falls in m.
    """
    with np.errstate(divide="ignore", over="ignore"):
        most = MOST_AT_STAKE / m[:, None]
    factors = 1 + np.minimum(stakes, most) * (values - m[:, None])
    starts = np.arange(0, values.shape[1], min(max(values.shape[1] // _LOOKS, 1), _MOST_MULTIPLIED))
    gains = np.log(np.multiply.reduceat(factors, starts, axis=1))
    return np.asarray(np.cumsum(gains, axis=1).max(axis=1))
