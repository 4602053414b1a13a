"""What is found among many, with few false discoveries; p-values and e-values against a limit.

Of many tests, the false discovery rate is the expected share of those wrongly found among all that
are found. Two procedures hold it however the tests depend on each other: that of Benjamini and
Yekutieli (2001) for p-values, and e-BH for e-values (Wang and Ramdas 2022). Intervals of what was
selected so have a false coverage rate: the expected share of intervals that miss, among those of
all that are selected (Benjamini and Yekutieli 2005).

An e-value is a bet against a hypothesis at fair odds: its mean is 1 at most where the hypothesis is
true, whenever the bet ends. Its reciprocal is a p-value that holds at any time (Ville).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.intervals import TINY, check_level, melded, ordered_pairs
from evenhand.statistics.sequential import confidence_sequences as always
from evenhand.statistics.sequential.limit_tests import log_e_above, log_e_below

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evenhand.statistics.intervals import Floats

    Flags = NDArray[np.bool_]

MOST_GROUPS = 64
"""The most groups of different sizes all of whose pairs are compared."""
MOST_LOG = 690.0
"""The log of the largest e-value that is told, about 1e299."""


@dataclass(frozen=True, slots=True)
class AgainstLimit:
    """How strongly a score that was seen on one side of a limit speaks against the other side.

    Parameters
    ----------
    p_value
        The least error at which the limit is excluded, corrected as the interval beside it is.
    e_value
        The same as a bet, of this score by itself; None where the size of the sample was fixed.
    """

    p_value: float
    e_value: float | None = None

    @classmethod
    def of_bet(cls, log_e: float, *, among: int = 1) -> AgainstLimit:
        """Return the evidence of a bet on one of so many scores, given its logarithm.

        >>> AgainstLimit.of_bet(math.log(40.0), among=2).p_value
        0.05
        """
        bounded = min(float(log_e), MOST_LOG)
        p_value = 0.0 if math.isinf(log_e) and log_e > 0 else math.exp(-bounded)
        # Rounded, since a logarithm and its inverse miss the last digits.
        return cls(_rounded(min(1.0, among * p_value)), _rounded(math.exp(bounded)))

    @classmethod
    def of_error(cls, error: float, *, among: int = 1) -> AgainstLimit:
        """Return the evidence of a test of fixed size, given its error, on one of so many scores.

        >>> AgainstLimit.of_error(0.01, among=3).p_value
        0.03
        """
        return cls(_rounded(min(1.0, among * float(error))))


def _rounded(number: float) -> float:
    """Return a number with twelve significant figures."""
    return float(f"{number:.12g}")


def rate_against(
    hits: float, n: int, limit: float, *, among: int = 1, size: int | None = None
) -> AgainstLimit | None:
    """Return what n draws say of a rate against a limit, whenever the drawing ended.

    `size` is how many there are in all, where they are drawn without replacement.

    >>> rate_against(30, 60, 0.1).p_value < 1e-9
    True
    """
    if not n:
        return None
    if limit == 0:
        # One hit is proof, and nothing shows that there is none.
        return AgainstLimit(0.0 if hits > 0 else 1.0)
    if limit == 1:
        return AgainstLimit(0.0 if hits < n else 1.0)
    test = log_e_above if hits >= limit * n else log_e_below
    log_e = test(np.array([float(hits)]), np.array([float(n)]), limit, size=size)
    return AgainstLimit.of_bet(float(log_e[0]), among=among)


def exact_rate_against(
    hits: float, n: int, limit: float, *, among: int = 1
) -> AgainstLimit | None:
    """Return the same for a sample of fixed size, by the interval of Clopper and Pearson.

    >>> round(exact_rate_against(3, 40, 0.0157).p_value, 3)
    0.05
    """
    from scipy.special import betainc, betaincc

    if not n:
        return None
    misses = n - hits
    if hits >= limit * n:
        tail = betainc(max(hits, TINY), misses + 1, limit)
    else:
        tail = betaincc(hits + 1, max(misses, TINY), limit)
    return AgainstLimit.of_error(2 * float(tail), among=among)


def spread_against(
    hits: ArrayLike, sizes: ArrayLike, limit: float, *, among: int = 1
) -> AgainstLimit | None:
    """Return what independent groups say of max p - min p against a limit, whenever that ended.

    That the spread is over the limit is a bet on all pairs alike, of which only the most different
    one is counted. That it is below the limit is the weakest bet of all pairs, since the pair that
    truly is furthest apart is one of them.

    >>> spread_against([40, 10], [50, 50], 0.1).p_value < 0.001
    True
    """
    k = np.asarray(hits, dtype=float)
    n = np.asarray(sizes, dtype=float)
    groups = len(k)
    if not (n > 0).all():
        return None
    if np.ptp(n) == 0:
        # Of samples of equal size, the groups with the most and the fewest hits say the most.
        k = np.array([k.max(), k.min()])
        n = n[:2]
    elif groups > MOST_GROUPS:
        return None
    pairs = ordered_pairs(k, n)
    k1, n1, k2, n2 = pairs
    log_bets = always.log_mixture_difference(*pairs, limit)
    apart = k1 / n1 - k2 / n2
    is_over = apart >= limit
    if is_over.any():
        most = float(log_bets[is_over].max())
        return AgainstLimit.of_bet(most - math.log(math.comb(groups, 2)), among=among)
    return AgainstLimit.of_bet(float(log_bets.min()), among=among)


def exact_spread_against(
    hits: ArrayLike, sizes: ArrayLike, limit: float, *, among: int = 1
) -> AgainstLimit | None:
    """Return the same for samples of fixed size, by the melded interval of each pair.

    >>> round(exact_spread_against([30, 12], [40, 40], 0.212).p_value, 2)
    0.05
    """
    k = np.asarray(hits, dtype=float)
    n = np.asarray(sizes, dtype=float)
    if not (n > 0).all() or len(k) > MOST_GROUPS:
        return None
    k1, n1, k2, n2 = ordered_pairs(k, n)
    if (k1 / n1 - k2 / n2).max() >= limit:
        others = len(k1) - 1
        error = 2 * others * melded_tail(k1, n1, k2, n2, limit).min()
    else:
        # The upper limit of one pair is minus the lower one of the reversed pair.
        error = 2 * melded_tail(k2, n2, k1, n1, -limit).max()
    return AgainstLimit.of_error(float(error), among=among)


def melded_tail(k1: Floats, n1: Floats, k2: Floats, n2: Floats, limit: float) -> Floats:
    """Return the least error at which the melded lower limit of p1 - p2 reaches a limit.

    >>> one = np.array([1.0])
    >>> melded_tail(30 * one, 40 * one, 12 * one, 40 * one, 0.2124).round(3).tolist()
    [0.025]
    """
    probability = melded(k1, n1, k2, n2)
    return np.clip(probability(np.full(np.shape(k1), float(limit))), 0.0, 1.0)


def harmonic(n: float) -> float:
    """Return 1 + 1/2 + … + 1/n.

    >>> round(harmonic(4), 6)
    2.083333
    """
    from scipy.special import digamma

    return float(digamma(n + 1) + np.euler_gamma)


def discovered(p_values: ArrayLike, level: float, *, among: int | None = None) -> int:
    """Return how many tests are discoveries: those with the smallest p-values.

    The procedure is that of Benjamini and Yekutieli (2001), whose false discovery rate is at most
    1 - level however the tests depend on each other.

    Parameters
    ----------
    p_values
        Those of all tests, or of those that may be discoveries; any may be replaced by a larger
        one.
    level
        One minus the false discovery rate.
    among
        The number of all tests, where not all have their p-values here.

    >>> discovered([0.0001, 0.0002, 0.3, 0.9], 0.95)
    2
    """
    ordered = np.sort(np.asarray(p_values, dtype=float).ravel())
    tests = among or len(ordered)
    if not len(ordered):
        return 0
    ranks = np.arange(1, len(ordered) + 1)
    found = np.flatnonzero(
        ordered <= (1 - check_level(level)) * ranks / share_of_one(tests)
    )
    return int(found[-1]) + 1 if len(found) else 0


def share_of_one(tests: int, found: int = 1) -> float:
    """Return among how many tests the error is shared, as it were, where so many are found.

    The procedure of Benjamini and Yekutieli, and the intervals of what it selects, leave to each
    test the error divided by this number.

    >>> round(share_of_one(100), 1), round(share_of_one(100, 50), 1)
    (518.7, 10.4)
    """
    return tests * harmonic(tests) / max(found, 1)


def adjusted(p_values: ArrayLike, *, among: int | None = None) -> Floats:
    """Return for each test the least false discovery rate at which it is a discovery.

    >>> adjusted([0.001, 0.02, 0.9]).round(4).tolist()
    [0.0055, 0.055, 1.0]
    """
    given = np.asarray(p_values, dtype=float).ravel()
    order = np.argsort(given, kind="stable")
    ranks = np.arange(1, len(given) + 1)
    rates = given[order] * share_of_one(among or max(len(given), 1)) / ranks
    # A test with a smaller p-value is a discovery wherever this one is.
    least = np.minimum.accumulate(rates[::-1])[::-1]
    found = np.empty(len(given))
    found[order] = np.minimum(least, 1.0)
    return found


def e_discovered(e_values: ArrayLike, level: float) -> Flags:
    """Return which tests are discoveries by their e-values (e-BH).

    The false discovery rate is at most 1 - level, however the tests depend on each other and
    whenever each of them ended.

    >>> e_discovered([100.0, 45.0, 3.0], 0.95).tolist()
    [True, True, False]
    """
    given = np.asarray(e_values, dtype=float).ravel()
    tests = len(given)
    ranks = np.arange(1, tests + 1)
    ordered = np.sort(given)[::-1]
    found = np.flatnonzero(ordered * ranks >= tests / (1 - check_level(level)))
    if not len(found):
        return np.zeros(tests, dtype=np.bool_)
    return np.asarray(given >= ordered[found[-1]])
