"""Intervals of means and medians: where they are known, where they are not, and how they narrow."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from evenhand.statistics import means
from evenhand.statistics.means import Moments

TAIL = 0.025


def moments(*groups: np.ndarray) -> Moments:
    """Return the moments of some groups."""
    sizes = [len(group) for group in groups]
    place = np.repeat(np.arange(len(groups)), sizes)
    return Moments.of(np.concatenate(groups), place, len(groups))


def normal(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(10, 2, n)


def test_of_symmetric_numbers_it_is_the_interval_of_student():
    half = normal(2000)
    values = np.concatenate([half, -half])
    low, high = means.mean_limits(moments(values), TAIL)
    expected = stats.t.interval(0.95, len(values) - 1, values.mean(), stats.sem(values))
    np.testing.assert_allclose([low[0], high[0]], expected, rtol=1e-3, atol=1e-3)


def test_of_two_samples_it_is_the_interval_of_welch():
    first = normal(3000)
    second = 3 * normal(1000, seed=1)
    both = moments(first, second)
    low, high = means.difference_limits(
        both.at(np.array([0])),
        both.at(np.array([1])),
        TAIL,
    )
    welch = stats.ttest_ind(first, second, equal_var=False).confidence_interval()
    np.testing.assert_allclose([low[0], high[0]], [welch.low, welch.high], rtol=0.01)


def test_skewness_widens_the_side_of_the_tail():
    skewed = np.random.default_rng(3).lognormal(0, 1, 60)
    low, high = means.mean_limits(moments(skewed), TAIL)
    student = stats.t.interval(0.95, 59, skewed.mean(), stats.sem(skewed))
    assert high[0] > student[1] * 1.05
    assert low[0] <= student[0] + 1e-9


def test_large_numbers_keep_their_digits():
    values = normal(100)
    far = moments(values + 1e9)
    near = moments(values)
    np.testing.assert_allclose(far.variance, near.variance, rtol=1e-5)
    np.testing.assert_allclose(far.mean - 1e9, near.mean, atol=1e-6)


def test_too_few_numbers_bound_nothing():
    low, high = means.mean_limits(moments(normal(4), normal(5)), TAIL)
    assert np.isinf([low[0], high[0]]).all()
    assert np.isfinite([low[1], high[1]]).all()
    first, second = means.mean_spread(moments(normal(4), normal(50)), 0.05)
    assert first == 0
    assert second == np.inf


def test_a_small_group_of_equal_numbers_is_not_known_exactly():
    low, high = means.mean_limits(moments(np.full(8, 3.0), normal(500)), TAIL)
    assert high[0] - low[0] > 0.5


def test_a_group_without_numbers_has_no_mean():
    empty = moments(normal(50), np.empty(0))
    assert np.isnan(empty.mean[1])
    assert means.mean_spread(empty, 0.05)[1] == np.inf


@pytest.mark.parametrize("n", [1, 5, 6, 10, 99, 1000])
def test_limits_of_a_median_pass_over_as_many_numbers_as_the_tail_allows(n):
    values = np.random.default_rng(n).permutation(np.arange(1.0, n + 1))
    (low,), (high,) = means.median_limits([values], TAIL)
    if np.isinf(low):
        below = 0
    else:
        below = int(low)
    # The median is below the k-th of n numbers with the chance of fewer than k heads in n throws.
    assert stats.binom.cdf(below - 1, n, 0.5) <= TAIL
    assert stats.binom.cdf(below, n, 0.5) > TAIL
    assert np.isinf(high) if np.isinf(low) else high == n + 1 - low


def test_limits_of_a_root_are_never_negative():
    errors = np.concatenate([np.zeros(48), np.full(2, 100.0)])
    low, high = means.root_limits(moments(errors), TAIL)
    assert low[0] == 0
    assert high[0] > 2


def test_more_groups_make_the_lower_limit_lower_and_leave_the_upper_one():
    groups = [normal(200), normal(200, 1) + 5]
    middle = [normal(200, seed) + 2.5 for seed in range(2, 8)]
    two = means.mean_spread(moments(*groups), 0.05)
    many = means.mean_spread(moments(*groups, *middle), 0.05)
    assert many[0] < two[0]
    assert many[1] == pytest.approx(two[1], rel=0.01)


@pytest.mark.parametrize("tail", [0.4, 0.2, 0.1, 0.025, 1e-3, 1e-6])
def test_as_many_numbers_are_passed_over_as_the_tail_allows(tail):
    for n in range(1, 260):
        # So many lie below the median with the probability of a fair coin.
        below = stats.binom.cdf(np.arange(n // 2), n, 0.5)
        assert means._passed_over(n, tail) == int((below <= tail).sum()), n
