"""Populations of a known size, drawn from without replacement.

A draw takes somebody out of the population, so that nobody is asked twice, and after the last of
them everything is known. Hits then follow the hypergeometric law instead of the binomial one.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.statistics.intervals import Floats, Limits

    Outside = Callable[[Floats], NDArray[np.bool_]]


def log_likelihood(hits: Floats, n: Floats, numbers: Floats, size: int) -> Floats:
    """Return the log of the probability of a sequence of draws.

    Parameters
    ----------
    hits, n
        How many of the draws were hits, and how many draws there were.
    numbers
        How many hits there are in the population.
    size
        How many there are in the population.

    >>> float(np.exp(log_likelihood(np.array(1.0), np.array(2.0), np.array(2.0), 4)))
    0.3333333333333333
    """
    misses = n - hits
    other = size - numbers
    with np.errstate(invalid="ignore"):
        log_hits = _log_falling(numbers, hits)
        log_misses = _log_falling(other, misses)
    has_hits = numbers >= hits
    has_misses = other >= misses
    every = np.asarray(float(size))
    log_ways = _log_falling(every, n)
    total = log_hits + log_misses - log_ways
    return np.where(has_hits & has_misses, total, -np.inf)


def _log_falling(number: Floats, times: Floats) -> Floats:
    """Return the log of number · (number - 1) · … with so many factors."""
    from scipy.special import gammaln

    left = np.maximum(number - times, 0.0)
    log_of_all = gammaln(number + 1)
    log_of_left = gammaln(left + 1)
    return np.asarray(log_of_all - log_of_left)


def chance_of_more(hits: Floats, n: Floats, numbers: Floats, size: int) -> Floats:
    """Return the probability of so many hits or more among n draws.

    >>> float(chance_of_more(np.array(1.0), np.array(2.0), np.array(2.0), 4))
    0.8333333333333334
    """
    from scipy.stats import hypergeom

    numbers = np.clip(numbers, 0, size)
    return np.asarray(hypergeom.sf(hits - 1, size, numbers, n))


def chance_of_fewer(hits: Floats, n: Floats, numbers: Floats, size: int) -> Floats:
    """Return the probability of so many hits or fewer among n draws.

    >>> round(float(chance_of_fewer(np.array(0.0), np.array(2.0), np.array(2.0), 4)), 9)
    0.166666667
    """
    from scipy.stats import hypergeom

    numbers = np.clip(numbers, 0, size)
    return np.asarray(hypergeom.cdf(hits, size, numbers, n))


def exact(hits: Floats, n: Floats, level: float, size: int) -> Limits:
    """Return the exact limits of the share of hits in the population.

    They invert the two tails of the hypergeometric law, as those of Clopper and Pearson invert the
    binomial one.

    >>> low, high = exact(np.array([2.0]), np.array([20.0]), 0.95, 40)
    >>> low.tolist(), high.tolist()
    ([0.05], [0.25])
    """
    tail = (1 - level) / 2
    k = np.asarray(hits, dtype=float)
    drawn = np.broadcast_to(np.asarray(n, dtype=float), k.shape)
    fewest = k.copy()
    most = size - (drawn - k)

    def too_few(numbers: Floats) -> NDArray[np.bool_]:
        return np.asarray(chance_of_more(k, drawn, numbers, size) <= tail)

    def too_many(numbers: Floats) -> NDArray[np.bool_]:
        return np.asarray(chance_of_fewer(k, drawn, numbers, size) <= tail)

    low = _first_inside(too_few, fewest, most)
    high = _first_inside(too_many, most, fewest)
    return low / size, high / size


def _first_inside(outside: Outside, far: Floats, near: Floats) -> Floats:
    """Return the whole number nearest to `far` that is not outside, on the way to `near`."""
    away = far
    close = np.where(outside(far), near, far)
    widest = float(np.abs(near - far).max(initial=2.0))
    for _ in range(math.ceil(math.log2(widest)) + 1):
        half = (away + close) / 2
        # Rounded towards the far end, so that the last step tries what is next to it.
        middle = np.where(close > away, np.floor(half), np.ceil(half))
        is_outside = outside(middle)
        away = np.where(is_outside, middle, away)
        close = np.where(is_outside, close, middle)
    return close
