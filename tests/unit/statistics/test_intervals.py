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
from evenhand.statistics import confidence_sequences, intervals
from evenhand.statistics.estimate import Estimate, StopReason, Verdict
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
counts = st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))
levels = st.floats(0.5, 0.9999)


def binomial(n: int, p: Floats) -> Floats:
    k = np.arange(n + 1)
    p = p[:, None]
    return np.asarray(
        np.exp(
            gammaln(n + 1)
            - gammaln(k + 1)
            - gammaln(n - k + 1)
            + xlogy(k, p)
            + xlog1py(n - k, -p)
        )
    )


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
    found = intervals.clopper_pearson(k, n, level)
    assert found == pytest.approx((reference.low, reference.high), abs=1e-10)
    assert found == pytest.approx((low, high), abs=2e-3)
    reference = binomtest(k, n).proportion_ci(level, "wilson")
    assert intervals.wilson(k, n, level) == pytest.approx(
        (reference.low, reference.high), abs=1e-10
    )


def test_wald_is_the_papers_formula():
    assert intervals.wald(10, 100, 0.95) == pytest.approx(
        (0.1 - 0.0588, 0.1 + 0.0588), abs=1e-4
    )
    assert intervals.wald(0, 100, 0.95) == pytest.approx((0.0, 0.0), abs=0)


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
def test_a_higher_level_is_never_narrower(count, one, other):
    (k, n), (less, more) = count, sorted((one, other))
    for interval in ONE_SAMPLE:
        inner, outer = interval(k, n, less), interval(k, n, more)
        assert outer[0] <= inner[0] + 1e-12
        assert inner[1] <= outer[1] + 1e-12


@settings(deadline=None, max_examples=examples(60))
@given(counts, levels)
def test_counting_misses_mirrors_the_limits(count, level):
    k, n = count
    for interval in ONE_SAMPLE:
        low, high = interval(k, n, level)
        assert interval(n - k, n, level) == pytest.approx((1 - high, 1 - low), abs=1e-9)


@settings(deadline=None, max_examples=examples(60))
@given(counts, st.floats(0.5, 0.999))
def test_the_price_of_looking_at_any_time_is_width(count, level):
    k, n = count
    exact, always = (
        intervals.clopper_pearson(k, n, level),
        confidence_sequences.mixture(k, n, level),
    )
    assert always[0] <= exact[0] + 1e-9
    assert exact[1] <= always[1] + 1e-9


@settings(deadline=None, max_examples=examples(60))
@given(counts, levels)
def test_mixture_limits_are_where_the_martingale_crosses(count, level):
    k, n = count
    low, high = confidence_sequences.mixture(k, n, level)
    bound = -math.log(1 - level)
    for limit, end in ((low, 0), (high, 1)):
        if limit != end:
            assert confidence_sequences.log_mixture(k, n, limit) == pytest.approx(
                bound, abs=1e-5
            )


@pytest.mark.parametrize("interval", ONE_SAMPLE)
def test_shapes_empty_samples_and_wrong_input(interval):
    low, high = interval(np.array([[0, 3], [4, 10]]), np.array([5, 10]), 0.95)
    assert low.shape == high.shape == (2, 2)
    assert interval(3, 10, 0.95) == pytest.approx((low[0, 1], high[0, 1]))
    assert interval(0, 0, 0.95) == (0.0, 1.0)
    for k, n, level in (
        (7, 5, 0.95),
        (-1, 5, 0.95),
        (1, 5, 0.0),
        (1, 5, 1.0),
        (1, 5, math.nan),
    ):
        with pytest.raises(UsageError):
            interval(k, n, level)


def test_mixture_grades_are_no_wider_than_their_rounding():
    # A graded outcome's sum lies between whole counts, and so do its limits.
    low, high = confidence_sequences.mixture([20, 20.5, 21], 50, 0.95)
    assert np.all(np.diff(low) > 0)
    assert np.all(np.diff(high) > 0)


GRID = np.unique(
    np.concatenate(
        [
            np.linspace(0, 1, 51),
            [0.001, 0.005, 0.01, 0.03],
            1 - np.array([0.001, 0.005, 0.03]),
        ]
    )
)


def missed(n1: int, n2: int, level: float, lower: Callable[..., Floats]) -> float:
    """The largest P(lower limit > p1 - p2) over the grid, by enumeration."""
    k1, k2 = np.meshgrid(np.arange(n1 + 1.0), np.arange(n2 + 1.0), indexing="ij")
    low = lower(k1, np.full_like(k1, n1), k2, np.full_like(k2, n2), (1 - level) / 2)
    one, two = binomial(n1, GRID), binomial(n2, GRID)
    return max(
        float(np.einsum("i,ij,j", one[i], low > GRID[i] - GRID[j] + 1e-9, two[j]))
        for i in range(GRID.size)
        for j in range(GRID.size)
    )


def square_and_add(k1: Floats, n1: Floats, k2: Floats, n2: Floats, tail: float) -> Floats:
    low1, high2 = intervals.lower_limit(k1, n1, tail), intervals.upper_limit(k2, n2, tail)
    return np.asarray(k1 / n1 - k2 / n2 - np.hypot(k1 / n1 - low1, high2 - k2 / n2))


@pytest.mark.parametrize("level", [0.9, 0.95, 0.999])
@pytest.mark.parametrize(
    ("n1", "n2"), [(1, 1), (5, 5), (5, 20), (20, 5), (20, 20), (2, 30)]
)
def test_the_difference_holds_its_level_by_enumeration(n1, n2, level):
    assert missed(n1, n2, level, intervals.difference_above) <= (1 - level) / 2


def test_square_and_add_does_not_hold_its_level():
    assert missed(5, 5, 0.99, square_and_add) > 4 * 0.005


@settings(deadline=None, max_examples=examples(30))
@given(counts, counts, levels)
def test_the_difference_is_antisymmetric_and_holds_its_value(one, two, level):
    (k1, n1), (k2, n2) = one, two
    low, high = intervals.difference(k1, n1, k2, n2, level)
    back = intervals.difference(k2, n2, k1, n1, level)
    assert (-back[1], -back[0]) == pytest.approx((low, high), abs=1e-9)
    value = k1 / n1 - k2 / n2
    assert -1 <= low <= value + 1e-6
    assert value - 1e-6 <= high <= 1
    wide = confidence_sequences.mixture_difference(k1, n1, k2, n2, level)
    assert wide[0] <= value <= wide[1]


def test_the_difference_against_one_certain_sample():
    # With no hits in the second sample's upper limit's way, only the first matters.
    low, _ = intervals.difference(30, 40, 1_000_000, 1_000_000, 0.95)
    assert low == pytest.approx(intervals.clopper_pearson(30, 40, 0.95)[0] - 1, abs=1e-6)


@settings(deadline=None, max_examples=examples(60))
@given(counts, counts, st.floats(0.6, 0.999))
def test_the_product_martingale_crosses_at_the_limits_of_the_difference(one, two, level):
    k1, n1, k2, n2 = (np.array(float(x)) for x in (*one, *two))
    for limit in confidence_sequences.mixture_difference(k1, n1, k2, n2, level):
        if abs(limit) < 1 - 1e-6:
            crossing = confidence_sequences.log_mixture_difference(k1, n1, k2, n2, limit)
            assert crossing == pytest.approx(-math.log(1 - level), abs=1e-3)


def test_spread_of_two_is_the_difference_folded():
    low, high = intervals.spread([30, 12], 40, 0.95)
    assert (low, high) == pytest.approx(
        intervals.difference(30, 40, 12, 40, 0.95), abs=1e-9
    )
    low, high = intervals.spread([20, 20], 40, 0.95)
    assert low == 0
    assert high == pytest.approx(intervals.difference(20, 40, 20, 40, 0.95)[1], abs=1e-9)


@pytest.mark.parametrize(
    "interval", [intervals.spread, confidence_sequences.mixture_spread]
)
def test_spread_of_groups(interval):
    three, many = interval([30, 20, 12], 40, 0.95), interval([30, 12] + [20] * 6, 40, 0.95)
    assert 0 <= three[0] <= 18 / 40 <= three[1] <= 1
    assert many[0] <= three[0]
    assert interval([30, 0, 12], [40, 0, 40], 0.95)[1] == 1
    assert interval([30, 0], [40, 0], 0.95) == (0.0, 1.0)
    assert interval(np.full((4, 3), 5), 10, 0.9)[0].shape == (4,)
    with pytest.raises(UsageError, match="two groups"):
        interval([3], [10], 0.95)


def test_by_group_is_simultaneous():
    low, high = intervals.by_group([3, 30], 40, 0.95)
    alone = intervals.clopper_pearson([3, 30], 40, 0.95)
    assert np.all(low < alone[0])
    assert np.all(high > alone[1])
    assert intervals.by_group([3], [40], 0.95)[0][0] == pytest.approx(
        intervals.clopper_pearson(3, 40, 0.95)[0]
    )


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
    assert (
        Estimate((low + high) / 2, low, high, 10, 0.95, "exact").verdict(limit) is verdict
    )


def test_enumeration_is_certain():
    assert Estimate.exact(0, 24).verdict(0.0) is Verdict.PASS
    assert Estimate.exact(1, 24).verdict(0.0) is Verdict.FAIL
    assert Estimate.exact(12, 24).verdict(0.5) is Verdict.FAIL
    assert Estimate.exact(24, 24).verdict(1.0) is Verdict.FAIL
    assert Estimate.exact(11, 24).verdict(0.5) is Verdict.PASS
    with pytest.raises(UsageError):
        Estimate.exact(0, 0)


def test_estimates_read_well():
    assert (
        str(Estimate(0.123, 0.101, 0.148, 2048, 0.95, "exact"))
        == "12.3 % (10.1 % to 14.8 %, 95 % level, n = 2,048, exact)"
    )
    assert (
        str(Estimate(0.001, 0.0005, 0.0017, 9000, 0.999, "exact", "rows"))
        == "0.10 % (0.05 % to 0.17 %, 99.9 % level, n = 9,000, exact, population: rows)"
    )
    assert str(Estimate(math.nan, 0.0, 1.0, 0, 0.95, "exact")).startswith(
        "unknown (0.0 % to 100.0 %"
    )
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
    assert Estimate.from_dict(written).to_dict() == estimate.to_dict()
    assert set(written) - {"population"} == {"value", "low", "high", "n", "level", "method"}
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
