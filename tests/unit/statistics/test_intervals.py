from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import gammaln, xlog1py, xlogy

from evenhand.runtime.errors import UsageError
from evenhand.statistics import intervals
from evenhand.statistics.estimate import Estimate, StopReason, Verdict
from evenhand.statistics.sequential import confidence_sequences
from tests.support.helpers import examples

if TYPE_CHECKING:
    from collections.abc import Callable

    from evenhand.statistics.intervals import Floats

ONE_SAMPLE = [
    intervals.clopper_pearson,
    intervals.wilson,
    intervals.wald,
    confidence_sequences.mixture,
]


def hits_of(n: int) -> st.SearchStrategy[tuple[int, int]]:
    """Draw a possible number of hits among `n`, together with `n`."""
    return st.tuples(st.integers(0, n), st.just(n))


counts = st.integers(1, 5000).flatmap(hits_of)
levels = st.floats(0.5, 0.9999)


def binomial(n: int, p: Floats) -> Floats:
    k = np.arange(n + 1)
    misses = n - k
    p = p[:, None]
    log_choose = gammaln(n + 1) - gammaln(k + 1) - gammaln(misses + 1)
    log_powers = xlogy(k, p) + xlog1py(misses, -p)
    return np.asarray(np.exp(log_choose + log_powers))


@pytest.mark.parametrize(
    ("k", "n", "level", "low", "high"),
    [
        (0, 10, 0.95, 0.0, 0.3085),
        (1, 10, 0.95, 0.0025, 0.4450),
        (5, 50, 0.99, 0.0222, 0.2580),
        (50, 50, 0.95, 0.9289, 1.0),
    ],
)
def test_clopper_pearson_against_scipy(k, n, level, low, high):
    from scipy.stats import binomtest

    reference = binomtest(k, n).proportion_ci(level, "exact")
    found_low, found_high = intervals.clopper_pearson(k, n, level)
    assert found_low == pytest.approx(reference.low, abs=1e-10)
    assert found_high == pytest.approx(reference.high, abs=1e-10)
    assert found_low == pytest.approx(low, abs=2e-3)
    assert found_high == pytest.approx(high, abs=2e-3)


@pytest.mark.parametrize(
    ("k", "n", "level"),
    [(0, 10, 0.95), (1, 10, 0.95), (5, 50, 0.99), (50, 50, 0.95)],
)
def test_wilson_against_scipy(k, n, level):
    from scipy.stats import binomtest

    reference = binomtest(k, n).proportion_ci(level, "wilson")
    low, high = intervals.wilson(k, n, level)
    assert low == pytest.approx(reference.low, abs=1e-10)
    assert high == pytest.approx(reference.high, abs=1e-10)


def test_wald_is_the_papers_formula():
    low, high = intervals.wald(10, 100, 0.95)
    assert low == pytest.approx(0.1 - 0.0588, abs=1e-4)
    assert high == pytest.approx(0.1 + 0.0588, abs=1e-4)
    low, high = intervals.wald(0, 100, 0.95)
    assert low == 0.0
    assert high == 0.0


@settings(deadline=None, max_examples=examples(60))
@given(counts, levels)
def test_limits_hold_the_share_and_lie_in_the_unit_interval(count, level):
    k, n = count
    for interval in ONE_SAMPLE:
        low, high = interval(k, n, level)
        assert 0 <= low <= k / n + 1e-12
        assert k / n - 1e-12 <= high <= 1


@settings(deadline=None, max_examples=examples(60))
@given(counts, levels, levels)
def test_a_higher_level_is_never_narrower(count, level1, level2):
    k, n = count
    lower_level, higher_level = sorted((level1, level2))
    for interval in ONE_SAMPLE:
        low, high = interval(k, n, lower_level)
        wide_low, wide_high = interval(k, n, higher_level)
        assert wide_low <= low + 1e-12
        assert high <= wide_high + 1e-12


@settings(deadline=None, max_examples=examples(60))
@given(counts, levels)
def test_counting_misses_mirrors_the_limits(count, level):
    k, n = count
    for interval in ONE_SAMPLE:
        low, high = interval(k, n, level)
        mirrored_low, mirrored_high = interval(n - k, n, level)
        assert mirrored_low == pytest.approx(1 - high, abs=1e-9)
        assert mirrored_high == pytest.approx(1 - low, abs=1e-9)


@settings(deadline=None, max_examples=examples(60))
@given(counts, st.floats(0.5, 0.999))
def test_the_price_of_looking_at_any_time_is_width(count, level):
    k, n = count
    low, high = intervals.clopper_pearson(k, n, level)
    anytime_low, anytime_high = confidence_sequences.mixture(k, n, level)
    assert anytime_low <= low + 1e-9
    assert high <= anytime_high + 1e-9


@settings(deadline=None, max_examples=examples(60))
@given(counts, levels)
def test_mixture_limits_are_where_the_martingale_crosses(count, level):
    k, n = count
    low, high = confidence_sequences.mixture(k, n, level)
    bound = -math.log(1 - level)
    for limit, end in ((low, 0), (high, 1)):
        if limit != end:
            crossing = confidence_sequences.log_mixture(k, n, limit)
            assert crossing == pytest.approx(bound, abs=1e-5)


@pytest.mark.parametrize("interval", ONE_SAMPLE)
def test_limits_of_many_samples_have_their_shape(interval):
    hits = np.array([[0, 3], [4, 10]])
    sizes = np.array([5, 10])
    low, high = interval(hits, sizes, 0.95)
    assert low.shape == (2, 2)
    assert high.shape == (2, 2)
    alone = interval(3, 10, 0.95)
    assert alone == pytest.approx((low[0, 1], high[0, 1]))


@pytest.mark.parametrize("interval", ONE_SAMPLE)
def test_an_empty_sample_leaves_everything_open(interval):
    assert interval(0, 0, 0.95) == (0.0, 1.0)


@pytest.mark.parametrize("interval", ONE_SAMPLE)
@pytest.mark.parametrize(
    ("k", "n", "level"),
    [
        (7, 5, 0.95),
        (-1, 5, 0.95),
        (1, 5, 0.0),
        (1, 5, 1.0),
        (1, 5, math.nan),
    ],
)
def test_impossible_counts_and_levels_are_refused(interval, k, n, level):
    with pytest.raises(UsageError):
        interval(k, n, level)


def test_mixture_grades_are_no_wider_than_their_rounding():
    # A graded outcome's sum lies between whole counts, and so do its limits.
    low, high = confidence_sequences.mixture([20, 20.5, 21], 50, 0.95)
    assert np.all(np.diff(low) > 0)
    assert np.all(np.diff(high) > 0)


EVEN_GRID = np.linspace(0, 1, 51)
NEAR_ZERO = np.array([0.001, 0.005, 0.01, 0.03])
NEAR_ONE = 1 - np.array([0.001, 0.005, 0.03])
GRID = np.unique(np.concatenate([EVEN_GRID, NEAR_ZERO, NEAR_ONE]))


def missed(n1: int, n2: int, level: float, lower: Callable[..., Floats]) -> float:
    """The largest P(lower limit > p1 - p2) over the grid, by enumeration."""
    hits1 = np.arange(n1 + 1.0)
    hits2 = np.arange(n2 + 1.0)
    k1, k2 = np.meshgrid(hits1, hits2, indexing="ij")
    size1 = np.full_like(k1, n1)
    size2 = np.full_like(k2, n2)
    low = lower(k1, size1, k2, size2, (1 - level) / 2)
    distribution1 = binomial(n1, GRID)
    distribution2 = binomial(n2, GRID)
    probabilities = []
    for i, j in np.ndindex(GRID.size, GRID.size):
        misses = low > GRID[i] - GRID[j] + 1e-9
        probabilities.append(distribution1[i] @ misses @ distribution2[j])
    return float(max(probabilities))


def square_and_add(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Floats:
    """Newcombe's lower limit of a difference, of the limits of both rates."""
    rate1 = k1 / n1
    rate2 = k2 / n2
    below = rate1 - intervals.lower_limit(k1, n1, tail)
    above = intervals.upper_limit(k2, n2, tail) - rate2
    return np.asarray(rate1 - rate2 - np.hypot(below, above))


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("n1", "n2"), [(1, 1), (5, 5), (5, 20), (20, 5), (20, 20), (2, 30)]
)
def test_the_difference_holds_its_level_by_enumeration(n1, n2, level):
    tail = (1 - level) / 2
    assert missed(n1, n2, level, intervals.difference_above) <= tail


def test_square_and_add_does_not_hold_its_level():
    assert missed(5, 5, 0.99, square_and_add) > 4 * 0.005


@settings(deadline=None, max_examples=examples(30))
@given(counts, counts, levels)
def test_the_difference_is_antisymmetric_and_holds_its_value(count1, count2, level):
    k1, n1 = count1
    k2, n2 = count2
    value = k1 / n1 - k2 / n2
    low, high = intervals.difference(k1, n1, k2, n2, level)
    assert -1 <= low <= value + 1e-6
    assert value - 1e-6 <= high <= 1
    swapped_low, swapped_high = intervals.difference(k2, n2, k1, n1, level)
    assert -swapped_high == pytest.approx(low, abs=1e-9)
    assert -swapped_low == pytest.approx(high, abs=1e-9)
    low, high = confidence_sequences.mixture_difference(k1, n1, k2, n2, level)
    assert low <= value <= high


def test_the_difference_against_one_certain_sample():
    # With no hits in the second sample's upper limit's way, only the first matters.
    low, _ = intervals.difference(30, 40, 1_000_000, 1_000_000, 0.95)
    low_of_first, _ = intervals.clopper_pearson(30, 40, 0.95)
    assert low == pytest.approx(low_of_first - 1, abs=1e-6)


@settings(deadline=None, max_examples=examples(60))
@given(counts, counts, st.floats(0.6, 0.999))
def test_the_product_martingale_crosses_at_the_limits_of_the_difference(
    count1, count2, level
):
    k1, n1 = np.array(count1, dtype=float)
    k2, n2 = np.array(count2, dtype=float)
    bound = -math.log(1 - level)
    for limit in confidence_sequences.mixture_difference(k1, n1, k2, n2, level):
        if abs(limit) < 1 - 1e-6:
            crossing = confidence_sequences.log_mixture_difference(k1, n1, k2, n2, limit)
            assert crossing == pytest.approx(bound, abs=1e-3)


def test_spread_of_two_is_the_difference_folded():
    spread = intervals.spread([30, 12], 40, 0.95)
    difference = intervals.difference(30, 40, 12, 40, 0.95)
    assert spread == pytest.approx(difference, abs=1e-9)
    low, high = intervals.spread([20, 20], 40, 0.95)
    _, high_of_difference = intervals.difference(20, 40, 20, 40, 0.95)
    assert low == 0
    assert high == pytest.approx(high_of_difference, abs=1e-9)


@pytest.mark.parametrize(
    "interval", [intervals.spread, confidence_sequences.mixture_spread]
)
def test_spread_of_groups(interval):
    low, high = interval([30, 20, 12], 40, 0.95)
    assert 0 <= low <= 18 / 40 <= high <= 1
    low_of_eight, _ = interval([30, 12] + [20] * 6, 40, 0.95)
    assert low_of_eight <= low
    _, high_with_an_empty_group = interval([30, 0, 12], [40, 0, 40], 0.95)
    assert high_with_an_empty_group == 1
    assert interval([30, 0], [40, 0], 0.95) == (0.0, 1.0)
    lows, _ = interval(np.full((4, 3), 5), 10, 0.9)
    assert lows.shape == (4,)
    with pytest.raises(UsageError, match="two groups"):
        interval([3], [10], 0.95)


def test_by_group_is_simultaneous():
    low, high = intervals.by_group([3, 30], 40, 0.95)
    low_alone, high_alone = intervals.clopper_pearson([3, 30], 40, 0.95)
    assert np.all(low < low_alone)
    assert np.all(high > high_alone)


def test_by_group_of_a_single_group_is_its_own_interval():
    lows, _ = intervals.by_group([3], [40], 0.95)
    low, _ = intervals.clopper_pearson(3, 40, 0.95)
    assert lows[0] == pytest.approx(low)


@pytest.mark.parametrize(
    ("low", "high", "limit", "verdict"),
    [
        (0.1, 0.2, 0.1, Verdict.FAIL),
        (0.1, 0.2, 0.05, Verdict.FAIL),
        (0.1, 0.2, 0.2, Verdict.UNDECIDED),
        (0.1, 0.2, 0.15, Verdict.UNDECIDED),
        (0.1, 0.2, 0.3, Verdict.PASS),
        (0.0, 0.2, 0.0, Verdict.UNDECIDED),
        (1e-9, 0.2, 0.0, Verdict.FAIL),
        (0.5, 1.0, 1.0, Verdict.UNDECIDED),
        (0.5, 0.9, 1.0, Verdict.PASS),
    ],
)
def test_verdicts(low, high, limit, verdict):
    middle = (low + high) / 2
    estimate = Estimate(middle, low, high, 10, 0.95, "exact")
    assert estimate.verdict(limit) is verdict


def test_enumeration_is_certain():
    assert Estimate.exact(0, 24).verdict(0.0) is Verdict.PASS
    assert Estimate.exact(1, 24).verdict(0.0) is Verdict.FAIL
    assert Estimate.exact(12, 24).verdict(0.5) is Verdict.FAIL
    assert Estimate.exact(24, 24).verdict(1.0) is Verdict.FAIL
    assert Estimate.exact(11, 24).verdict(0.5) is Verdict.PASS
    with pytest.raises(UsageError):
        Estimate.exact(0, 0)


def test_estimates_read_well():
    sampled = Estimate(0.123, 0.101, 0.148, 2048, 0.95, "exact")
    of_rows = Estimate(0.001, 0.0005, 0.0017, 9000, 0.999, "exact", "rows")
    unknown = Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact")
    assert str(sampled) == "12.3 % (10.1 % to 14.8 %, 95 % level, n = 2,048, exact)"
    assert (
        str(of_rows)
        == "0.10 % (0.05 % to 0.17 %, 99.9 % level, n = 9,000, exact, population: rows)"
    )
    assert str(unknown).startswith("unknown (0.0 % to 100.0 %")
    assert str(Estimate.exact(0, 8)) == "0.0 % (n = 8, enumerated)"
    assert str(StopReason.MARGIN) == "the margin was reached"


@pytest.mark.parametrize(
    "estimate",
    [
        Estimate.exact(3, 8, population="all"),
        Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact"),
    ],
)
def test_estimates_survive_json(estimate):
    written = json.loads(json.dumps(estimate.to_dict(), allow_nan=False))
    read = Estimate.from_dict(written)
    assert read.to_dict() == estimate.to_dict()
    always_written = set(written) - {"population"}
    assert always_written == {"value", "low", "high", "n", "level", "method"}
    with pytest.raises(UsageError, match="methd"):
        Estimate.from_dict({**written, "methd": 1})


@pytest.mark.parametrize(
    "wrong",
    [
        {"low": 0.3},
        {"high": 0.1},
        {"value": math.nan},
        {"n": -1},
        {"level": 0.0},
        {"level": 1.5},
        {"high": 1.5},
        {"low": math.nan},
    ],
)
def test_impossible_estimates_are_refused(wrong):
    good: dict[str, Any] = {
        "value": 0.2,
        "low": 0.1,
        "high": 0.3,
        "n": 9,
        "level": 0.95,
        "method": "exact",
    }
    with pytest.raises(UsageError):
        Estimate(**{**good, **wrong})
    with pytest.raises(UsageError, match="limit"):
        Estimate(**good).verdict(1.2)


@pytest.mark.parametrize(
    ("threshold", "interval", "words"),
    [
        (9, None, "add interval='wald'"),
        (9, "wilson", "add interval='wald'"),
        (-1, "wald", "whole number of 0 or more"),
        (True, "wald", "whole number of 0 or more"),
    ],
)
def test_only_walds_formula_has_a_sampling_threshold(threshold, interval, words):
    with pytest.raises(UsageError, match=words):
        intervals.checked_threshold(threshold, interval)
