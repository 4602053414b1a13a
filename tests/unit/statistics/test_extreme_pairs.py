"""The extreme limits of many groups are those of all pairs, of which few are computed."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.statistics import intervals, ratios
from evenhand.statistics.pairs.extremes import (
    FEW_GROUPS,
    Melding,
    PairGrid,
    ends,
    extreme_of_all,
    grid_of_extremes,
)
from tests.support.helpers import examples

LEVEL = 0.95
TAIL = 1e-4
GROUPS = FEW_GROUPS + 2
SIZES = {
    "equal": lambda rng, m: np.full(m, 200.0),
    "very different": lambda rng, m: np.round(np.geomspace(5, 1e5, m)),
    "small": lambda rng, m: rng.integers(0, 12, m).astype(float),
    "random": lambda rng, m: np.round(rng.dirichlet(np.ones(m)) * m * 300),
}
RATES = {
    "fair": lambda rng, m: np.full(m, 0.3),
    "wide": lambda rng, m: rng.uniform(0.05, 0.95, m),
    "rare": lambda rng, m: np.full(m, 0.004),
    "sure": lambda rng, m: rng.uniform(0.97, 1.0, m),
    "some never": lambda rng, m: np.where(rng.random(m) < 0.2, 0.0, rng.random(m)),
}
SOME = [
    ("equal", "fair"),
    ("very different", "fair"),
    ("very different", "wide"),
    ("small", "some never"),
    ("random", "sure"),
]
ALL = [
    pytest.param(*case, marks=() if case in SOME else pytest.mark.slow)
    for case in itertools.product(SIZES, RATES)
]
pairs_of_counts = st.tuples(st.integers(0, 400), st.integers(0, 400)).map(
    lambda pair: (float(pair[0]), float(sum(pair)))
)


def groups_of(sizes, rates, m=GROUPS, seed=0):
    rng = np.random.default_rng([m, seed])
    size = SIZES[sizes](rng, m)
    hits = rng.binomial(size.astype(int), RATES[rates](rng, m)).astype(float)
    return hits, size


def limits_of_all(above, hits, size, tail):
    """Return the limits of all ordered pairs as a square, whose diagonal is not a number."""
    k1, n1, k2, n2 = intervals.ordered_pairs(hits, size)
    square = np.full((len(hits), len(hits)), np.nan)
    square[~np.eye(len(hits), dtype=bool)] = above(k1, n1, k2, n2, tail)
    return square


@pytest.mark.parametrize(("sizes", "rates"), ALL)
def test_the_extremes_are_those_of_all_pairs(sizes, rates):
    hits, size = groups_of(sizes, rates)
    low_tail, high_tail = intervals.spread_tails(GROUPS, 1 - LEVEL)
    close: dict[str, Any] = {"rel": 1e-5, "abs": 1e-9}

    low, high = ratios.impact_ratio(hits, size, LEVEL)
    of_all = limits_of_all(ratios.ratio_above, hits, size, high_tail)
    assert low == pytest.approx(min(np.nanmin(of_all), 1.0), **close)
    of_all = limits_of_all(ratios.ratio_above, hits, size, low_tail)
    assert high == pytest.approx(1 / max(np.nanmax(of_all), 1.0), **close)

    low, high = intervals.spread(hits, size, LEVEL)
    of_all = limits_of_all(intervals.difference_above, hits, size, low_tail)
    assert low == pytest.approx(max(np.nanmax(of_all), 0.0), **close)
    of_all = limits_of_all(intervals.difference_above, hits, size, high_tail)
    highest = 1.0 if (size == 0).any() else -np.nanmin(of_all)
    assert high == pytest.approx(highest, **close)


@pytest.mark.parametrize(("sizes", "rates"), ALL)
def test_each_ratio_to_the_best_is_that_of_all_pairs(sizes, rates):
    hits, size = groups_of(sizes, rates)
    others = GROUPS - 1
    low, high = ratios.ratios_to_best(hits, size, LEVEL)
    of_all = limits_of_all(ratios.ratio_above, hits, size, 0.025 / others)
    lowest = np.minimum(np.nanmin(of_all, axis=1), 1.0)
    np.testing.assert_allclose(low, lowest, rtol=1e-5, atol=1e-9)
    of_all = limits_of_all(ratios.ratio_above, hits, size, 0.025 / others**2)
    highest = 1 / np.maximum(np.nanmax(of_all, axis=0), 1.0)
    np.testing.assert_allclose(high, highest, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("rates", ["fair", "wide"])
def test_few_limits_of_a_thousand_groups_are_computed(largest, rates):
    computed = 0

    def counted(k1, n1, k2, n2, tail):
        nonlocal computed
        computed += len(k1)
        return ratios.ratio_above(k1, n1, k2, n2, tail)

    hits, size = groups_of("very different", rates, m=1000)
    grid = grid_of_extremes(hits, size, largest=largest)
    bounds = grid.bounds(ratios.lowest, intervals.upper_limit, np.divide, TAIL)
    melding = Melding(counted, ratios.MELDING.probability)
    terms = {"largest": largest, "worst": 1.0}
    found = extreme_of_all(melding, grid, bounds, TAIL, **terms)
    assert found > 1 if largest else found < 1
    assert 0 < computed < 20


@pytest.mark.parametrize("high", [False, True])
def test_all_groups_are_taken_where_they_are_few_or_of_several_samples(high):
    few = np.arange(float(FEW_GROUPS))
    assert len(ends(few, np.full(FEW_GROUPS, 99.0), high=high)) == FEW_GROUPS
    more = np.arange(FEW_GROUPS + 1.0)
    size = np.full(FEW_GROUPS + 1, 99.0)
    assert len(ends(more, size, high=high)) == 2
    assert len(ends(np.array([more]), np.array([size]), high=high)) == FEW_GROUPS + 1


def test_of_equal_groups_two_are_taken_so_that_each_has_another():
    same = np.full(FEW_GROUPS + 5, 7.0)
    assert ends(same, same + 9, high=True).tolist() == [0, 1]
    low, high = ratios.ratios_to_best(same, same + 9, LEVEL)
    assert low == pytest.approx(low[0], rel=1e-12)
    assert low[0] < 1
    assert np.all(high == 1)


@settings(max_examples=examples(60))
@given(pairs_of_counts, pairs_of_counts, st.sampled_from([0.025, 1e-3, 1e-6]))
def test_bounds_are_on_the_safe_side_of_the_limit(first, second, tail):
    hits, size = np.array([first, second] * FEW_GROUPS).T
    grid = PairGrid(hits, size, np.array([0]), np.array([1]))
    close = 1 + 1e-5
    limit = ratios.ratio_above(*grid.counts, tail)
    far, near = grid.bounds(ratios.lowest, intervals.upper_limit, np.divide, tail)
    assert np.all((far <= limit * close) | (first[0] == 0))
    assert np.all(limit <= near * close)
    assert np.all(ratios.least_ratios(grid, tail) <= limit * close)
    limit = intervals.difference_above(*grid.counts, tail)
    far, near = grid.bounds(intervals.lower_limit, intervals.upper_limit, np.subtract, tail)
    assert np.all(limit <= near + 1e-7)
    assert np.all(far <= limit + 1e-3)
