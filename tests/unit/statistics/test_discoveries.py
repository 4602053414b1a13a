"""Discoveries and evidence against limits: by other means, exactly, and by simulation."""

# mypy: disable-error-code="union-attr,operator,arg-type,assignment,return-value"
# What is not there fails a test just as well where it is looked at.

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand.statistics import intervals
from evenhand.statistics.discoveries import (
    AgainstLimit,
    adjusted,
    discovered,
    e_discovered,
    exact_rate_against,
    exact_spread_against,
    harmonic,
    rate_against,
    share_of_one,
    spread_against,
)
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.sequential.limit_tests import log_e_above
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.statistics.sequential.stopping import DECIDE_SHARE, Plan
from tests.support.helpers import examples

P_VALUES = st.lists(st.floats(0, 1), min_size=1, max_size=60)


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_harmonic_numbers(n):
    assert harmonic(n) == pytest.approx(sum(1 / i for i in range(1, n + 1)))


@settings(max_examples=examples(100), deadline=None)
@given(P_VALUES)
def test_adjusted_p_values_are_those_of_scipy(p_values):
    expected = stats.false_discovery_control(p_values, method="by")
    np.testing.assert_allclose(adjusted(p_values), expected, atol=1e-12)


@settings(max_examples=examples(100), deadline=None)
@given(P_VALUES, st.sampled_from([0.5, 0.9, 0.95]))
def test_discoveries_are_those_whose_adjusted_p_value_is_small(p_values, level):
    rates = stats.false_discovery_control(p_values, method="by")
    assert discovered(p_values, level) == int((rates <= 1 - level).sum())


def test_large_p_values_may_be_left_out():
    p_values = [1e-6, 2e-5, 1e-4, 0.03, 0.2, 0.7, 0.9]
    few = discovered(p_values[:4], 0.95, among=7)
    assert few == discovered(p_values, 0.95) == 3
    np.testing.assert_allclose(
        adjusted(p_values[:4], among=7)[:3], adjusted(p_values)[:3], rtol=1e-12
    )
    assert discovered([], 0.95) == 0


def test_one_test_is_not_corrected():
    assert share_of_one(1) == pytest.approx(1)
    assert discovered([0.05], 0.95) == 1
    assert adjusted([0.02]).tolist() == pytest.approx([0.02])


@settings(max_examples=examples(100), deadline=None)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=40), st.sampled_from([0.5, 0.9, 0.95])
)
def test_e_bh_by_its_definition(e_values, level):
    """It finds the k largest, for the largest k with e_(k) >= m / (k · error)."""
    tests = len(e_values)
    ordered = sorted(e_values, reverse=True)
    most = 0
    for k in range(1, tests + 1):
        if ordered[k - 1] * k >= tests / (1 - level):
            most = k
    found = e_discovered(e_values, level)
    if most:
        assert found.tolist() == [e >= ordered[most - 1] for e in e_values]
    else:
        assert not found.any()


# Evidence against a limit

LIMITS = [0.05, 0.2, 0.5, 0.9]


@pytest.mark.parametrize("limit", LIMITS)
def test_the_exact_p_value_is_the_error_at_which_the_interval_ends_at_the_limit(limit):
    for n, hits in [(5, 0), (20, 1), (40, 22), (100, 9), (100, 100)]:
        p_value = exact_rate_against(hits, n, limit).p_value
        if not 1e-9 < p_value < 0.999:
            continue
        low, high = intervals.clopper_pearson(hits, n, 1 - p_value)
        end = low if hits >= limit * n else high
        assert end == pytest.approx(limit, abs=1e-7)


@pytest.mark.parametrize("limit", LIMITS)
def test_the_anytime_p_value_is_the_error_at_which_a_plan_excludes_the_limit(limit):
    for n, hits in [(20, 1), (40, 22), (100, 9), (100, 99)]:
        found = rate_against(hits, n, limit)
        assert found.e_value is not None
        assert found.p_value == pytest.approx(min(1, 1 / found.e_value))
        for error in (0.2, 0.05, 0.001):
            decided = Plan(1 - error, limit=limit).reason(hits, n) == StopReason.DECIDED
            assert decided == (found.p_value < error * DECIDE_SHARE)


def test_people_who_are_drawn_once_say_more():
    with_replacement = rate_against(0, 40, 0.1)
    without = rate_against(0, 40, 0.1, size=60)
    assert without.p_value < with_replacement.p_value


@pytest.mark.parametrize("counts", [([30, 12], [40, 40]), ([30, 25, 9], [50, 40, 40])])
@pytest.mark.parametrize("limit", [0.05, 0.15, 0.65])
def test_the_p_value_of_a_spread_is_the_error_at_which_its_interval_ends_there(
    counts, limit
):
    hits, sizes = counts
    p_value = exact_spread_against(hits, sizes, limit).p_value
    assert 1e-9 < p_value < 0.999
    low, high = intervals.spread(hits, sizes, 1 - p_value)
    assert limit == pytest.approx(low, abs=1e-6) or limit == pytest.approx(high, abs=1e-6)


def test_scores_that_share_a_level_share_the_error():
    alone = rate_against(20, 100, 0.1)
    shared = rate_against(20, 100, 0.1, among=4)
    assert shared.p_value == pytest.approx(4 * alone.p_value)
    assert shared.e_value == alone.e_value
    assert exact_rate_against(20, 100, 0.1, among=10**6).p_value == 1


@pytest.mark.parametrize(
    ("limit", "hits", "p_value"), [(0, 1, 0.0), (0, 0, 1.0), (1, 9, 0.0)]
)
def test_at_the_ends_a_single_draw_is_proof(limit, hits, p_value):
    assert rate_against(hits, 10, limit).p_value == p_value


@pytest.mark.parametrize("differing", [0, 40])
def test_the_p_value_of_people_asked_in_every_group_is_that_of_their_plan(differing):
    n = 120
    amounts = np.ones((n, 3))
    amounts[:differing, 1] = 0
    amounts = np.random.default_rng(0).permutation(amounts)
    for error in (0.2, 0.05, 1e-4, 1e-6):
        plan = PairedPlan(1 - error, limit=0.1, groups=3)
        counts = plan.counted(amounts[60:], plan.counted(amounts[:60]))
        found = plan.against(counts)
        assert found.e_value > 1
        decided = plan._excluded(counts, np.array(float(n)))
        assert bool(decided) == (found.p_value < error * DECIDE_SHARE)


def test_where_nobody_was_seen_there_is_no_evidence():
    assert rate_against(0, 0, 0.1) is None
    assert exact_rate_against(0, 0, 0.1) is None
    assert spread_against([1, 0], [2, 0], 0.1) is None
    assert exact_spread_against([1, 0], [2, 0], 0.1) is None


def test_huge_bets_stay_numbers():
    found = rate_against(100_000, 100_000, 0.01)
    assert math.isfinite(found.e_value)
    assert 0 < found.p_value < 1e-290
    assert AgainstLimit.of_bet(math.inf).p_value == 0


def binomial(n: int, p: float) -> np.ndarray:
    return np.asarray(stats.binom.pmf(np.arange(n + 1), n, p))


@pytest.mark.parametrize("limit", [0.05, 0.3])
@pytest.mark.parametrize("n", [1, 7, 60])
def test_a_bet_on_a_rate_is_fair_on_either_side_for_every_rate_beyond_the_limit(limit, n):
    """Exactly: the mean of the e-value over all counts is 1 at most under the hypothesis."""
    counts = np.arange(n + 1)
    bets = np.array([rate_against(k, n, limit).e_value for k in counts])
    is_over = counts / n >= limit
    for p in np.linspace(0, 1, 41):
        chance = binomial(n, p)
        if p <= limit:
            assert (chance * bets * is_over).sum() <= 1 + 1e-9
        if p >= limit:
            assert (chance * bets * ~is_over).sum() <= 1 + 1e-9


@pytest.mark.parametrize("limit", [0.1, 0.4])
def test_a_bet_on_a_spread_is_fair_on_either_side(limit):
    n = 12
    counts = np.arange(n + 1)
    bets = np.empty((n + 1, n + 1))
    is_over = np.empty(bets.shape, dtype=bool)
    for k1, k2 in product(counts, counts):
        bets[k1, k2] = spread_against([k1, k2], [n, n], limit).e_value
        is_over[k1, k2] = abs(k1 - k2) / n >= limit
    for p1, p2 in product(np.linspace(0, 1, 21), repeat=2):
        chance = np.outer(binomial(n, p1), binomial(n, p2))
        if abs(p1 - p2) <= limit:
            assert (chance * bets * is_over).sum() <= 1 + 1e-9
        else:
            assert (chance * bets * ~is_over).sum() <= 1 + 1e-9


def test_the_bet_holds_for_whoever_stops_at_the_best_moment():
    """Ville: the chance that the bet ever reaches 20 is a twentieth at most."""
    rng = np.random.default_rng(0)
    limit, runs, n = 0.1, 2000, 400
    hits = np.cumsum(rng.random((runs, n)) < limit, axis=1)
    sizes = np.arange(1, n + 1)
    log_bets = log_e_above(hits, sizes, limit)
    ever = (log_bets >= math.log(20)).any(axis=1)
    assert ever.mean() <= 0.05
