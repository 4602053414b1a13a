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
counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
groups = st.lists(
    st.integers(0, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    min_size=2,
    max_size=6,
)


def binomial(n, p):
    k = np.arange(n + 1)
    choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)
    return np.exp(choose + xlogy(k, p) + xlog1py(n - k, -p))


def above(k1: float, n1: float, k2: float, n2: float, tail: float) -> float:
    one = np.ones(())
    return float(ratios.ratio_above(k1 * one, n1 * one, k2 * one, n2 * one, tail))


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
    limit = above(k1, n1, k2, n2, tail)

    def below(z):
        upper = beta.ppf(norm.cdf(z), k2 + 1, n2 - k2) if k2 < n2 else 1.0
        return beta.cdf(min(1.0, limit * upper), k1, n1 - k1 + 1) * norm.pdf(z)

    assert quad(below, -9, 9, limit=400, epsabs=1e-13)[0] == pytest.approx(tail, rel=2e-3)


def missed(n1, n2, tail, lower):
    """The largest P(lower limit > p1 / p2) over the grid, by enumeration."""
    k1, k2 = np.meshgrid(np.arange(n1 + 1.0), np.arange(n2 + 1.0), indexing="ij")
    low = lower(k1, np.full_like(k1, n1), k2, np.full_like(k2, n2), tail)
    return max(
        float(binomial(n1, p1) @ (low > p1 / p2 * (1 + 1e-9)) @ binomial(n2, p2))
        for p1, p2 in itertools.product(GRID, GRID[1:])
    )


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("n1", "n2"), [(1, 1), (5, 5), (4, 20), (20, 4), (15, 15), (30, 1)]
)
def test_the_ratio_holds_its_level_by_enumeration(n1, n2, level):
    assert missed(n1, n2, (1 - level) / 2, ratios.ratio_above) <= (1 - level) / 2


def plug_in(k1: Any, n1: Any, k2: Any, n2: Any, tail: float) -> Any:
    """Katz's formula, with half a hit added so that it is finite."""
    k1, n1, k2, n2 = k1 + 0.5, n1 + 0.5, k2 + 0.5, n2 + 0.5
    return (
        k1
        / n1
        / (k2 / n2)
        * np.exp(norm.ppf(tail) * np.sqrt(1 / k1 - 1 / n1 + 1 / k2 - 1 / n2))
    )


def test_the_plug_in_does_not_hold_its_level():
    assert missed(20, 5, 0.025, plug_in) > 2 * 0.025


@pytest.mark.parametrize(("k1", "k2"), [(12, 30), (60, 90), (5, 80)])
def test_honesty_is_not_absurdly_wide(k1, k2):
    low, high = ratios.ratio(k1, 100, k2, 100, 0.95)
    width = -math.log(plug_in(k2, 100, k1, 100, 0.025) * plug_in(k1, 100, k2, 100, 0.025))
    assert math.log(high / low) < 1.25 * width


@settings(deadline=None, max_examples=examples(25))
@given(counts, counts, st.floats(0.5, 0.9999))
def test_the_ratio_inverts_and_holds_its_value(one, two, level):
    (k1, n1), (k2, n2) = one, two
    low, high = ratios.ratio(k1, n1, k2, n2, level)
    back = ratios.ratio(k2, n2, k1, n1, level)
    assert low == pytest.approx(0.0 if back[1] == math.inf else 1 / back[1])
    assert (low == 0) == (k1 == 0)
    assert (high == math.inf) == (k2 == 0)
    if k2:
        assert low <= k1 / n1 / (k2 / n2) * (1 + 1e-5)
        assert high >= k1 / n1 / (k2 / n2) * (1 - 1e-5)


@settings(deadline=None, max_examples=8)
@given(groups)
def test_leaving_out_hopeless_pairs_changes_nothing(found):
    """Every pair by itself, without brackets."""
    k, n = np.array(found, dtype=float).T
    m, alpha = len(k), 0.05

    def limit(i, j, tail):
        return above(k[i], n[i], k[j], n[j], tail)

    pairs = list(itertools.permutations(range(m), 2))
    low, high = ratios.impact_ratio(k, n, 1 - alpha)
    high_tail, low_tail = intervals.spread_tails(m, alpha)
    assert low == pytest.approx(
        min(1.0, min(limit(*pair, low_tail) for pair in pairs)), rel=1e-5
    )
    assert high == pytest.approx(
        1 / max(1.0, max(limit(*pair, high_tail) for pair in pairs)), rel=1e-5
    )
    lows, highs = ratios.ratios_to_best(k, n, 1 - alpha)
    for g in range(m):
        others = [h for h in range(m) if h != g]
        least = min(limit(g, h, alpha / 2 / (m - 1)) for h in others)
        most = max(limit(h, g, alpha / 2 / (m - 1) ** 2) for h in others)
        assert (lows[g], highs[g]) == pytest.approx(
            (min(1.0, least), 1 / max(1.0, most)), rel=1e-5
        )


def outcomes(sizes):
    return np.array(list(itertools.product(*(range(n + 1) for n in sizes))), dtype=float)


def worst_miss(sizes, wrong):
    """The largest P(wrong) over rates on a grid; `wrong` tells for given rates which outcomes
    mislead.
    """
    worst = 0.0
    for rates in itertools.product([0.0, 0.02, 0.1, 0.5, 0.9, 1.0], repeat=len(sizes)):
        if max(rates) > 0:
            law = binomial(sizes[0], rates[0])
            for n, p in zip(sizes[1:], rates[1:], strict=True):
                law = np.multiply.outer(law, binomial(n, p))
            worst = max(worst, float(law.ravel() @ wrong(np.array(rates))))
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
    low, high = ratios.impact_ratio(k, np.array(sizes), level)
    lows, highs = ratios.ratios_to_best(k, np.array(sizes), level)

    def misses(rates):
        value = rates.min() / rates.max()
        return (low > value + 1e-9) | (high < value - 1e-9)

    def misses_one(rates):
        values = rates / rates.max()
        return ((lows > values + 1e-9) | (highs < values - 1e-9)).any(axis=-1)

    assert worst_miss(sizes, misses) <= 1 - level
    assert worst_miss(sizes, misses_one) <= 1 - level


@pytest.mark.parametrize("rates", [[0.3] * 4, [0.05, 0.05, 0.04, 0.01]])
def test_groups_hold_their_level_in_simulation(rates):
    runs, size, values = 120, np.array([400, 300, 100, 50]), np.array(rates) / max(rates)
    k = np.random.default_rng(3).binomial(size, rates, (runs, 4))
    low, high = ratios.impact_ratio(k, size, 0.9)
    lows, highs = ratios.ratios_to_best(k, size, 0.9)
    allowed = 0.1 * runs + 3 * math.sqrt(0.09 * runs)
    assert ((low > values.min()) | (high < values.min())).sum() <= allowed
    assert ((lows > values) | (highs < values)).any(axis=-1).sum() <= allowed


def test_comparing_with_the_seen_best_alone_misleads():
    """Five equal groups: each against whichever looked best, as if that had been fixed beforehand."""
    runs, size = 100, 200
    k = np.random.default_rng(4).binomial(size, 0.3, (runs, 5)).astype(float)
    n = np.full(runs, float(size))
    high = 1 / ratios.ratio_above(k.max(axis=1), n, k.min(axis=1), n, 0.025)
    assert (high < 1).mean() > 3 * 0.025
    assert (ratios.impact_ratio(k, size, 0.95)[1] < 1).mean() <= 0.05


def test_of_two_groups_the_three_agree():
    low, high = ratios.ratio(12, 40, 30, 40, 0.95)
    assert ratios.impact_ratio([12, 30], 40, 0.95) == pytest.approx((low, high))
    lows, highs = ratios.ratios_to_best([12, 30], 40, 0.95)
    assert (lows[0], highs[0]) == pytest.approx((low, high))
    assert (lows[1], highs[1]) == (1.0, 1.0)


def test_nothing_seen_never_reads_as_fair():
    for k, n in (([0, 0, 0], [50] * 3), ([30, 0], [40, 0])):
        assert ratios.impact_ratio(k, n, 0.95) == pytest.approx((0.0, 1.0), abs=0)
    low, high = ratios.impact_ratio([30, 5, 0], [40, 40, 0], 0.95)
    assert low == 0
    assert high < 0.6
    lows, highs = ratios.ratios_to_best([30, 5, 0], [40, 40, 0], 0.95)
    # Whoever is in the empty group might always be favoured.
    assert 0.5 < lows[0] < 0.75
    assert (lows[2], highs[2]) == (0.0, 1.0)
    assert highs[1] < 0.6


def test_shapes_and_wrong_input():
    low, high = ratios.impact_ratio(np.full((4, 3), 5), 10, 0.9)
    assert low.shape == high.shape == (4,)
    low, high = ratios.ratios_to_best(np.full((4, 3), 5), 10, 0.9)
    assert low.shape == high.shape == (4, 3)
    assert ratios.ratio(3, 10, 4, 12, 0.9)[0] == pytest.approx(
        ratios.ratio([[3]], 10, [4, 5], 12, 0.9)[0][0, 0]
    )
    for call in (ratios.impact_ratio, ratios.ratios_to_best):
        with pytest.raises(UsageError, match="two groups"):
            call([3], [10], 0.95)
        with pytest.raises(UsageError):
            call([3, 11], [10, 10], 0.95)


def test_a_contrast_shares_its_error_and_leaves_the_unknown_open():
    hits, size = np.array([30.0, 12.0, 0.0, 0.0]), np.array([40.0, 40.0, 0.0, 0.0])
    contrast = ratios.Contrast(hits, size, 0.95, among=4)
    assert contrast.difference().low == pytest.approx(
        intervals.spread([30, 12, 0], [40, 40, 0], 0.9875)[0]
    )
    assert (contrast.difference().high, contrast.ratio().low) == (1.0, 0.0)
    assert [estimate.n for estimate in contrast.rates()] == [40, 40, 0, 0]
    assert math.isnan(contrast.to_best()[3].value)
    assert contrast.to_best()[1].value == pytest.approx(0.4)
    alone = ratios.Contrast(hits[:1], size[:1], 0.95)
    assert (alone.difference().low, alone.difference().high, alone.difference().n) == (
        0.0,
        1.0,
        0,
    )
    never = ratios.Contrast(np.zeros(2), size[:2], 0.95)
    assert never.difference().value == 0
    assert (never.ratio().low, never.ratio().high, never.ratio().n) == (0.0, 1.0, 0)
