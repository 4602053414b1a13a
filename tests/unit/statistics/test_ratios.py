from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import gammaln, xlog1py, xlogy
from scipy.stats import beta, norm

from evenhand.runtime.errors import UsageError
from evenhand.statistics import intervals, ratios
from tests.support.helpers import examples

GRID = np.array([0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.97, 1.0])


def hits_of(n):
    """Draw a possible number of hits among `n`, together with `n`."""
    return st.tuples(st.integers(0, n), st.just(n))


counts = st.integers(1, 5000).flatmap(hits_of)
small_counts = st.integers(0, 300).flatmap(hits_of)
groups = st.lists(small_counts, min_size=2, max_size=6)


def binomial(n, p):
    k = np.arange(n + 1)
    misses = n - k
    log_choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(misses + 1)
    log_powers = xlogy(k, p) + xlog1py(misses, -p)
    return np.exp(log_choose + log_powers)


Count = tuple[float, float]
"""Hits, and among how many."""


def above(count1: Count, count2: Count, tail: float) -> float:
    """The lower limit of the ratio of two rates, one pair at a time."""
    k1, n1 = np.array(count1, dtype=float)[:, None]
    k2, n2 = np.array(count2, dtype=float)[:, None]
    (limit,) = ratios.ratio_above(k1, n1, k2, n2, tail)
    return float(limit)


@pytest.mark.parametrize(
    "sample",
    [
        (12, 40, 30, 40),
        (1, 5, 0, 5),
        (5, 5, 3, 20),
        (20, 20, 20, 20),
        (3, 2000, 70, 90),
        (70, 90, 3, 2000),
    ],
)
@pytest.mark.parametrize("tail", [0.025, 0.0005])
def test_the_limit_is_the_quantile_of_the_melded_ratio(sample, tail):
    k1, n1, k2, n2 = sample
    limit = above((k1, n1), (k2, n2), tail)
    # Of the two confidence distributions that are melded.
    lower1 = beta(k1, n1 - k1 + 1)
    upper2 = beta(k2 + 1, n2 - k2) if k2 < n2 else None

    def density_below_limit(z):
        upper = 1.0
        if upper2 is not None:
            upper = upper2.ppf(norm.cdf(z))
        largest_rate = min(1.0, limit * upper)
        return lower1.cdf(largest_rate) * norm.pdf(z)

    probability, _ = quad(density_below_limit, -9, 9, limit=400, epsabs=1e-13)
    assert probability == pytest.approx(tail, rel=2e-3)


def missed(n1, n2, tail, lower):
    """The largest P(lower limit > p1 / p2) over the grid, by enumeration."""
    hits1 = np.arange(n1 + 1.0)
    hits2 = np.arange(n2 + 1.0)
    k1, k2 = np.meshgrid(hits1, hits2, indexing="ij")
    size1 = np.full_like(k1, n1)
    size2 = np.full_like(k2, n2)
    low = lower(k1, size1, k2, size2, tail)
    probabilities = []
    for p1, p2 in itertools.product(GRID, GRID[1:]):
        misses = low > p1 / p2 * (1 + 1e-9)
        probability = binomial(n1, p1) @ misses @ binomial(n2, p2)
        probabilities.append(float(probability))
    return max(probabilities)


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("n1", "n2"), [(1, 1), (5, 5), (4, 20), (20, 4), (15, 15), (30, 1)]
)
def test_the_ratio_holds_its_level_by_enumeration(n1, n2, level):
    tail = (1 - level) / 2
    assert missed(n1, n2, tail, ratios.ratio_above) <= tail


def plug_in(k1: Any, n1: Any, k2: Any, n2: Any, tail: float) -> Any:
    """Katz's formula, with half a hit added so that it is finite."""
    k1 = k1 + 0.5
    n1 = n1 + 0.5
    k2 = k2 + 0.5
    n2 = n2 + 0.5
    ratio = k1 / n1 / (k2 / n2)
    variance1 = 1 / k1 - 1 / n1
    variance2 = 1 / k2 - 1 / n2
    standard_error = np.sqrt(variance1 + variance2)
    return ratio * np.exp(norm.ppf(tail) * standard_error)


def test_the_plug_in_does_not_hold_its_level():
    assert missed(20, 5, 0.025, plug_in) > 2 * 0.025


@pytest.mark.parametrize(("k1", "k2"), [(12, 30), (60, 90), (5, 80)])
def test_honesty_is_not_absurdly_wide(k1, k2):
    low, high = ratios.ratio(k1, 100, k2, 100, 0.95)
    plug_in_low = plug_in(k1, 100, k2, 100, 0.025)
    # The upper limit of a ratio is one over the lower limit of its inverse.
    plug_in_high = 1 / plug_in(k2, 100, k1, 100, 0.025)
    plug_in_width = math.log(plug_in_high / plug_in_low)
    assert math.log(high / low) < 1.25 * plug_in_width


@settings(deadline=None, max_examples=examples(25))
@given(counts, counts, st.floats(0.5, 0.9999))
def test_the_ratio_inverts_and_holds_its_value(count1, count2, level):
    k1, n1 = count1
    k2, n2 = count2
    low, high = ratios.ratio(k1, n1, k2, n2, level)
    _, inverse_high = ratios.ratio(k2, n2, k1, n1, level)
    inverted = 0.0 if inverse_high == math.inf else 1 / inverse_high
    assert low == pytest.approx(inverted)
    assert (low == 0) == (k1 == 0)
    assert (high == math.inf) == (k2 == 0)
    if k2:
        value = k1 / n1 / (k2 / n2)
        assert low <= value * (1 + 1e-5)
        assert high >= value * (1 - 1e-5)


@settings(deadline=None, max_examples=8)
@given(groups)
def test_leaving_out_hopeless_pairs_changes_nothing(found):
    """Every pair by itself, without brackets."""
    k, n = np.array(found, dtype=float).T
    m = len(k)
    alpha = 0.05

    pairs = list(itertools.permutations(found, 2))
    low, high = ratios.impact_ratio(k, n, 1 - alpha)
    high_tail, low_tail = intervals.spread_tails(m, alpha)
    least = min(above(*pair, low_tail) for pair in pairs)
    most = max(above(*pair, high_tail) for pair in pairs)
    # No group has a higher rate than the best.
    expected_low = min(1.0, least)
    expected_high = 1 / max(1.0, most)
    assert low == pytest.approx(expected_low, rel=1e-5)
    assert high == pytest.approx(expected_high, rel=1e-5)

    lows, highs = ratios.ratios_to_best(k, n, 1 - alpha)
    low_tail = alpha / 2 / (m - 1)
    high_tail = alpha / 2 / (m - 1) ** 2
    for g, own in enumerate(found):
        others = found[:g] + found[g + 1 :]
        least = min(above(own, other, low_tail) for other in others)
        most = max(above(other, own, high_tail) for other in others)
        expected_low = min(1.0, least)
        expected_high = 1 / max(1.0, most)
        assert lows[g] == pytest.approx(expected_low, rel=1e-5)
        assert highs[g] == pytest.approx(expected_high, rel=1e-5)


def outcomes(sizes):
    """Every combination of hits that groups of these sizes can have."""
    possible_hits = [range(n + 1) for n in sizes]
    return np.array(list(itertools.product(*possible_hits)), dtype=float)


def joint_distribution(sizes, rates):
    """The probability of each row of `outcomes(sizes)`."""
    distribution = np.ones(())
    for n, p in zip(sizes, rates, strict=True):
        distribution = np.multiply.outer(distribution, binomial(n, p))
    return distribution.ravel()


def worst_miss(sizes, wrong):
    """The largest P(wrong) over rates on a grid.

    `wrong` returns for given rates which outcomes mislead.
    """
    worst = 0.0
    for rates in itertools.product([0.0, 0.02, 0.1, 0.5, 0.9, 1.0], repeat=len(sizes)):
        if max(rates) > 0:
            probability = joint_distribution(sizes, rates) @ wrong(np.array(rates))
            worst = max(worst, float(probability))
    return worst


@pytest.mark.parametrize(
    ("sizes", "level"),
    [
        ((12, 4), 0.8),
        ((12, 4), 0.95),
        ((4, 5, 6), 0.8),
        ((4, 5, 6), 0.95),
        ((3, 2, 2, 2), 0.8),
    ],
)
def test_groups_hold_their_level_by_enumeration(sizes, level):
    k = outcomes(sizes)
    n = np.array(sizes)
    low, high = ratios.impact_ratio(k, n, level)
    lows, highs = ratios.ratios_to_best(k, n, level)

    def misses(rates):
        value = rates.min() / rates.max()
        too_high = low > value + 1e-9
        too_low = high < value - 1e-9
        return too_high | too_low

    def misses_one(rates):
        values = rates / rates.max()
        too_high = lows > values + 1e-9
        too_low = highs < values - 1e-9
        return (too_high | too_low).any(axis=-1)

    assert worst_miss(sizes, misses) <= 1 - level
    assert worst_miss(sizes, misses_one) <= 1 - level


@pytest.mark.parametrize("rates", [[0.3] * 4, [0.05, 0.05, 0.04, 0.01]])
def test_groups_hold_their_level_in_simulation(rates):
    runs = 120
    size = np.array([400, 300, 100, 50])
    values = np.array(rates) / max(rates)
    smallest = values.min()
    rng = np.random.default_rng(3)
    k = rng.binomial(size, rates, (runs, 4))
    low, high = ratios.impact_ratio(k, size, 0.9)
    lows, highs = ratios.ratios_to_best(k, size, 0.9)
    missed_smallest = (low > smallest) | (high < smallest)
    missed_groups = (lows > values) | (highs < values)
    # Three standard errors above the mean number of misses.
    standard_error = math.sqrt(0.09 * runs)
    allowed = 0.1 * runs + 3 * standard_error
    assert missed_smallest.sum() <= allowed
    assert missed_groups.any(axis=-1).sum() <= allowed


def test_comparing_with_the_seen_best_alone_misleads():
    """Five equal groups, each against whichever looked best, as if it had been fixed before."""
    runs = 100
    size = 200
    rng = np.random.default_rng(4)
    k = rng.binomial(size, 0.3, (runs, 5)).astype(float)
    n = np.full(runs, float(size))
    most = k.max(axis=1)
    fewest = k.min(axis=1)
    naive_high = 1 / ratios.ratio_above(most, n, fewest, n, 0.025)
    _, high = ratios.impact_ratio(k, size, 0.95)
    assert (naive_high < 1).mean() > 3 * 0.025
    assert (high < 1).mean() <= 0.05


def test_of_two_groups_the_three_agree():
    low, high = ratios.ratio(12, 40, 30, 40, 0.95)
    impact_low, impact_high = ratios.impact_ratio([12, 30], 40, 0.95)
    assert impact_low == pytest.approx(low)
    assert impact_high == pytest.approx(high)
    lows, highs = ratios.ratios_to_best([12, 30], 40, 0.95)
    assert lows[0] == pytest.approx(low)
    assert highs[0] == pytest.approx(high)
    assert lows[1] == 1.0
    assert highs[1] == 1.0


@pytest.mark.parametrize(
    ("hits", "sizes"),
    [
        ([0, 0, 0], [50, 50, 50]),
        ([30, 0], [40, 0]),
    ],
)
def test_nothing_seen_never_reads_as_fair(hits, sizes):
    low, high = ratios.impact_ratio(hits, sizes, 0.95)
    assert low == 0.0
    assert high == 1.0


def test_an_empty_group_leaves_the_ratio_open_below():
    hits = [30, 5, 0]
    sizes = [40, 40, 0]
    low, high = ratios.impact_ratio(hits, sizes, 0.95)
    assert low == 0
    assert high < 0.6
    lows, highs = ratios.ratios_to_best(hits, sizes, 0.95)
    # Whoever is in the empty group might always be favoured.
    assert 0.5 < lows[0] < 0.75
    assert lows[2] == 0.0
    assert highs[2] == 1.0
    assert highs[1] < 0.6


def test_limits_have_the_shape_of_the_counts():
    same_hits = np.full((4, 3), 5)
    low, high = ratios.impact_ratio(same_hits, 10, 0.9)
    assert low.shape == (4,)
    assert high.shape == (4,)
    lows, highs = ratios.ratios_to_best(same_hits, 10, 0.9)
    assert lows.shape == (4, 3)
    assert highs.shape == (4, 3)
    alone, _ = ratios.ratio(3, 10, 4, 12, 0.9)
    broadcast, _ = ratios.ratio([[3]], 10, [4, 5], 12, 0.9)
    assert alone == pytest.approx(broadcast[0, 0])


@pytest.mark.parametrize("call", [ratios.impact_ratio, ratios.ratios_to_best])
def test_wrong_counts_are_refused(call):
    with pytest.raises(UsageError, match="two groups"):
        call([3], [10], 0.95)
    with pytest.raises(UsageError):
        call([3, 11], [10, 10], 0.95)


def test_a_contrast_shares_its_error_and_leaves_the_unknown_open():
    hits = np.array([30.0, 12.0, 0.0, 0.0])
    size = np.array([40.0, 40.0, 0.0, 0.0])
    contrast = ratios.Contrast(hits, size, 0.95, among=4)
    lowest_spread, _ = intervals.spread([30, 12, 0], [40, 40, 0], 0.9875)
    assert contrast.difference().low == pytest.approx(lowest_spread)
    assert contrast.difference().high == 1.0
    assert contrast.ratio().low == 0.0
    assert [estimate.n for estimate in contrast.rates()] == [40, 40, 0, 0]
    to_best = contrast.to_best()
    assert math.isnan(to_best[3].value)
    assert to_best[1].value == pytest.approx(0.4)


def test_a_contrast_of_one_group_is_unknown():
    hits = np.array([30.0])
    size = np.array([40.0])
    alone = ratios.Contrast(hits, size, 0.95)
    difference = alone.difference()
    assert difference.low == 0.0
    assert difference.high == 1.0
    assert difference.n == 0


def test_groups_without_hits_differ_by_nothing_at_an_unknown_ratio():
    no_hits = np.zeros(2)
    size = np.full(2, 40.0)
    never = ratios.Contrast(no_hits, size, 0.95)
    assert never.difference().value == 0
    ratio = never.ratio()
    assert ratio.low == 0.0
    assert ratio.high == 1.0
    assert ratio.n == 0
