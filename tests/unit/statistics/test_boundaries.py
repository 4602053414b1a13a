"""What happens exactly at a limit, at nothing and at everything."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.statistics import discoveries, intervals
from evenhand.statistics.discoveries import AgainstLimit
from evenhand.statistics.estimate import Amount, Estimate, StopReason, Verdict, Witnesses
from evenhand.statistics.means import Moments, mean_limits, spread_of_limits
from evenhand.statistics.paired_limits import ratio_above
from evenhand.statistics.sequential import betting
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.statistics.sequential.stopping import Plan
from evenhand.statistics.simultaneous import SimultaneousIntervals
from evenhand.statistics.spending import Spending

PASS, FAIL, UNDECIDED = Verdict.PASS, Verdict.FAIL, Verdict.UNDECIDED


def between(low: float, high: float) -> Estimate:
    return Estimate(
        (low + high) / 2,
        low,
        high,
        10,
        0.95,
        "exact",
    )


@pytest.mark.parametrize(
    ("low", "high", "limit", "verdict"),
    [
        (0.1, 0.2, 0.1, FAIL),
        (0.1, 0.2, 0.2, UNDECIDED),
        (0.1, 0.2, 0.2 + 1e-12, PASS),
        (0.1, 0.2, 0.1 + 1e-12, UNDECIDED),
        (0.0, 0.2, 0.0, UNDECIDED),
        (1e-12, 0.2, 0.0, FAIL),
        (0.0, 0.0, 0.0, PASS),
        (0.3, 1.0, 1.0, UNDECIDED),
        (1.0, 1.0, 1.0, FAIL),
    ],
)
def test_a_score_at_its_limit_discriminates(low, high, limit, verdict):
    assert between(low, high).verdict(limit) is verdict


@pytest.mark.parametrize(
    ("low", "high", "least", "verdict"),
    [
        (0.8, 0.9, 0.8, PASS),
        (0.7, 0.8, 0.8, UNDECIDED),
        (0.7, 0.8 - 1e-12, 0.8, FAIL),
        (0.8 - 1e-12, 0.9, 0.8, UNDECIDED),
    ],
)
def test_a_ratio_at_its_least_is_enough(low, high, least, verdict):
    assert (
        between(low, high).verdict(
            least,
            least=True,
        )
        is verdict
    )


def test_only_what_is_not_exact_is_descriptive():
    assert between(0.1, 0.2).described().descriptive
    assert not Estimate.exact(1, 4).described().descriptive


@pytest.mark.parametrize(
    "hits",
    [-1, 5],
)
def test_enumeration_needs_hits_among_its_inputs(hits):
    from evenhand.runtime.errors import UsageError

    with pytest.raises(UsageError):
        Estimate.exact(hits, 4)
    assert Estimate.exact(0, 1).value == 0
    assert Estimate.exact(1, 1).value == 1


def test_witnesses_without_end_are_written_as_unknown():
    found = Witnesses(3.0, 3.0, math.inf, 10, 0.95, "search")
    assert found.to_dict()["high"] is None
    every = Witnesses(3.0, 3.0, 3.0, 10, 1.0, "search")
    assert every.to_dict()["high"] == 3


def test_an_amount_of_nothing_may_be_unknown_and_others_lie_in_their_interval():
    from evenhand.runtime.errors import UsageError

    Amount(
        math.nan,
        -math.inf,
        math.inf,
        0,
        0.95,
        "welch",
    )
    Amount(2.0, 2.0, 2.0, 3, 0.95, "welch")
    with pytest.raises(UsageError):
        Amount(math.nan, 0.0, 1.0, 1, 0.95, "welch")
    with pytest.raises(UsageError):
        Amount(3.0, 0.0, 2.0, 9, 0.95, "welch")


def test_one_score_by_itself_is_not_corrected():
    assert AgainstLimit.of_error(0.01).p_value == 0.01
    assert AgainstLimit.of_bet(math.log(20.0)).p_value == 0.05
    assert AgainstLimit.of_bet(math.log(20.0)).e_value == 20
    assert AgainstLimit.of_bet(-math.log(2.0)).p_value == 1
    assert AgainstLimit.of_bet(math.inf).p_value == 0


@pytest.mark.parametrize("groups", [64, 65])
def test_too_many_groups_of_different_sizes_are_not_compared(groups):
    sizes = 50 + np.arange(groups)
    hits = np.where(
        np.arange(groups) % 2,
        40,
        5,
    )
    found = discoveries.spread_against(hits, sizes, 0.1)
    exact = discoveries.exact_spread_against(hits, sizes, 0.1)
    assert (found is None) == (groups > discoveries.MOST_GROUPS)
    assert (exact is None) == (groups > discoveries.MOST_GROUPS)
    assert (
        discoveries.spread_against(
            hits,
            np.full(groups, 60),
            0.1,
        )
        is not None
    )


def test_among_more_groups_the_same_pair_is_weaker_evidence():
    pair = discoveries.spread_against(
        [40, 10],
        [50, 50],
        0.1,
    )
    trio = discoveries.spread_against(
        [40, 10, 20],
        [50, 50, 50],
        0.1,
    )
    assert pair is not None
    assert trio is not None
    assert trio.p_value == pytest.approx(3 * pair.p_value)
    assert (
        discoveries.spread_against(
            [40, 0],
            [50, 0],
            0.1,
        )
        is None
    )


def test_a_sampling_threshold_of_nothing_looks_from_the_first_draw_on():
    assert intervals.checked_threshold(0, "wald") == 0
    assert next(iter(Plan(interval="wald", sampling_threshold=0).looks())) == 1


@pytest.mark.parametrize(
    "margin",
    [0.0, 1.0, -0.1, "wide", None],
)
def test_margins_lie_between_nothing_and_everything(margin):
    from evenhand.runtime.errors import UsageError

    if margin is None:
        Plan(margin=None)
        return
    with pytest.raises(UsageError):
        Plan(margin=margin)
    with pytest.raises(UsageError):
        Plan(finest=margin)


def test_whoever_has_asked_everybody_knows_and_stops():
    plan = Plan(size=50, limit=0.1)
    judged = plan.judge(5, 50)
    assert judged.stop is StopReason.ENUMERATED
    assert judged.estimate.level == 1
    assert judged.estimate.value == 0.1
    assert plan.reason(5, 50) is StopReason.ENUMERATED
    assert plan.judge(5, 49).stop is not StopReason.ENUMERATED


def test_looks_go_no_further_than_the_population_and_the_budget():
    assert list(Plan(size=6).looks())[-1] == 6
    assert list(Plan(size=6).looks(5))[-1] == 5
    assert list(Plan(size=6).looks(90))[-1] == 6
    assert list(Plan().looks(1)) == [1]
    cheap = Plan(limit=0.1, precise=True)
    assert list(cheap.looks(160)) == [128, 141, 156, 160]


def test_groups_that_were_never_asked_together_say_nothing():
    plan = PairedPlan(limit=0.1, groups=2)
    assert plan.value(plan.nothing, 0) == 0
    amounts = np.array([[1.0, np.nan], [np.nan, 0.0]])
    counts = plan.counted(amounts)
    assert plan.value(counts, 2) == 0
    assert plan.against(counts) is None
    assert plan.judge(counts, 2).stop is None


def test_long_samples_are_looked_at_one_at_a_time(monkeypatch):
    rng = np.random.default_rng(0)
    samples = rng.random((3, 60))
    whole = betting.bet(samples, 0.05)
    monkeypatch.setattr(betting, "_BYTES_AT_ONCE", 8)
    assert np.array_equal(
        betting.bet(samples, 0.05),
        whole,
    )


def test_a_ratio_of_nothing_has_no_limit_above_nothing():
    nothing = np.zeros(4)
    assert ratio_above(nothing, nothing, 0.05) == 0
    assert (
        ratio_above(
            np.ones(40),
            np.zeros(40),
            0.05,
        )
        > 1
    )


def test_the_spread_of_limits_is_never_negative():
    inner = np.array([0.1, 0.4]), np.array([0.2, 0.5])
    outer = np.array([0.0, 0.3]), np.array([0.25, 0.6])
    assert spread_of_limits(inner, outer) == pytest.approx((0.05, 0.4))
    alike = np.array([0.1, 0.1]), np.array([0.2, 0.2])
    assert spread_of_limits(alike, alike)[0] == 0


@pytest.mark.parametrize(
    ("limits", "limited", "among", "describes"),
    [
        (0, False, 12, False),
        (0, True, 12, False),
        (2, True, 2, False),
        (1, False, 1, True),
    ],
)
def test_the_error_goes_to_what_has_a_limit(limits, limited, among, describes):
    spending = Spending(limits, 12)
    assert spending.among(limited=limited) == among
    assert spending.describes(limited=limited) is describes


@pytest.mark.parametrize("groups", [2, 3, 5])
@pytest.mark.parametrize("limit", [None, 0.0, 0.1, 1.0])
def test_many_runs_of_groups_at_once_are_one_after_the_other(groups, limit):
    plan = PairedPlan(limit=limit, groups=groups, margin=0.2)
    rng = np.random.default_rng(groups)
    alone = []
    for _ in range(6):
        base = rng.random((150, 1)) < 0.4
        more = rng.random((150, groups)) < rng.random() * np.linspace(0, 0.7, groups)
        amounts = (base | more).astype(float)
        counts = plan.counted(amounts[60:], plan.counted(amounts[:60]))
        alone.append(counts)
    together = np.stack(alone)
    low, high, _ = plan.report(together, np.full(6, 150.0))
    stops = plan.first_stop(together[:, None], [150])
    alike = plan.alike(together) if limit else None
    for place, counts in enumerate(alone):
        judged = plan.judge(counts, 150)
        assert judged.estimate.low == pytest.approx(float(low[place]))
        assert judged.estimate.high == pytest.approx(float(high[place]))
        assert (judged.stop is not None) == (stops[place] == 0)
        if alike is not None:
            assert np.array_equal(plan.alike(counts), alike[place])
    again = plan.added(
        np.stack([counts[:2] for counts in alone]), np.stack([plan.nothing] * 6)
    )
    assert again.shape == together.shape
    assert np.array_equal(again[:, :2], together[:, :2])


def test_the_pair_that_looks_most_apart_is_bet_on_from_the_second_draws_on():
    plan = PairedPlan(limit=0.1, groups=3)
    first = np.tile([1.0, 0.0, 1.0], (10, 1))
    counts = plan.counted(first)
    assert not counts[3].any()
    counts = plan.counted(np.tile([1.0, 0.0, 0.0], (4, 1)), counts)
    assert counts[3].ravel()[:3].tolist() == [4.0, 0.0, 4.0]
    assert counts[0, 0, 1] == 14
    assert counts[1, 0, 1] == 14
    assert counts[0, 0, 0] == 14


def test_inputs_that_were_hits_before_alone_lower_the_ratio():
    top = np.tile([0.5, 0.0], 100)
    bottom = np.full(200, 0.5)
    assert 0.3 < ratio_above(top, bottom, 0.05) < 0.5


def test_the_formula_of_wald_ends_where_rates_do():
    plan = SpreadPlan(groups=2, interval="wald")
    low, high, _ = plan.report(np.array([[19.0, 1.0], [1.0, 1.0], [0.0, 0.0]]), [20, 20, 0])
    assert high[0] == 1
    assert low[1] == 0
    assert (low[2], high[2]) == (0, 1)
    # The standard error of a difference of two rates.
    half = 1.959963984540054 * math.sqrt((0.5 * 0.5 + 0.2 * 0.8) / 100)
    low, high, _ = plan.report(np.array([[50.0, 20.0]]), [100])
    assert (low[0], high[0]) == pytest.approx((0.3 - half, 0.3 + half))


def test_a_description_says_that_it_is_one():
    assert "descriptive" in str(between(0.1, 0.2).described())
    assert "descriptive" not in str(between(0.1, 0.2))
    assert Estimate.exact(1, 4).interval_text == ""


def test_groups_without_numbers_have_no_mean():
    nothing = Moments.of(np.array([]), np.array([], dtype=int), 2)
    assert nothing.n.tolist() == [0, 0]
    assert np.isnan(nothing.mean).all()
    low, high = mean_limits(nothing, 0.025)
    assert low.tolist() == [-math.inf] * 2
    assert high.tolist() == [math.inf] * 2


def test_moments_of_large_numbers_keep_their_digits():
    values = np.array([0.0, 1.0, 3.0, 5.0, 6.0, 9.0])
    groups = np.array([0, 0, 0, 1, 1, 1])
    near = Moments.of(values, groups, 2)
    far = Moments.of(values + 2.0**40, groups, 2)
    assert far.variance.tolist() == near.variance.tolist()
    assert far.third.tolist() == near.third.tolist()


def test_two_numbers_have_the_variance_of_two_and_of_one_more_like_all():
    values = np.array([0.0, 1.0, 2.0, 3.0])
    moments = Moments.of(values, np.array([0, 0, 1, 1]), 2)
    # Two numbers that are 1 apart have the variance 1/2; all four, on the whole, 5/4.
    assert moments.variance.tolist() == [(0.5 + 1.25) / 2] * 2


def test_the_formula_of_wald_excludes_no_limit():
    plan = SpreadPlan(groups=2, interval="wald", limit=0.1, margin=0.01)
    assert plan.judge([70, 20], 100).stop is None


@pytest.mark.parametrize(("n", "stop"), [(40, None), (2000, StopReason.MARGIN)])
def test_groups_asked_about_the_same_people_end_at_the_margin(n, stop):
    plan = PairedPlan(groups=2, margin=0.1)
    amounts = np.tile([[1.0, 0.0], [1.0, 1.0]], (n // 2, 1))
    judged = plan.judge(plan.counted(amounts), n)
    assert judged.estimate.value == 0.5
    assert judged.stop is stop


def test_a_precise_run_without_a_margin_goes_on_until_it_gives_up():
    plan = Plan(limit=0.1, margin=None, precise=True, finest=0.02)
    assert plan.reason(0, 200) is None
    assert plan.reason(0, 4000) is StopReason.DECIDED


def test_more_witnesses_than_a_limit_allows_fail():
    some = Witnesses.of(3, 400, "adaptive")
    assert some.verdict(2) is FAIL
    assert some.verdict(3) is UNDECIDED
    every = Witnesses.of(3, 400, "all", complete=True)
    assert every.verdict(2) is FAIL
    assert every.verdict(3) is PASS


def test_a_rate_of_one_is_refuted_by_one_miss_and_by_nothing_else():
    refuted = discoveries.rate_against(4, 5, 1.0)
    open_still = discoveries.rate_against(5, 5, 1.0)
    assert refuted == AgainstLimit(0.0)
    assert open_still == AgainstLimit(1.0)


def test_one_pair_speaks_for_or_against_a_limit_already():
    plan = PairedPlan(limit=0.1, groups=2)
    one_pair = plan.counted(np.array([[1.0, 0.0]]))
    against = plan.against(one_pair)
    assert against is not None
    assert 0 < against.p_value <= 1


def test_the_first_look_may_be_far_beyond_the_margin():
    plan = Plan(0.95, 0.2, 0.4)
    first = 128.0
    nothing = np.array([0.0, 0.0])
    sizes = np.array([first, first + 1])
    # No hit among so many is within a fifth of the margin at both looks.
    assert plan._just_reached(nothing, sizes).tolist() == [True, False]


def test_a_group_without_people_moves_no_limit_beyond_what_is_possible():
    limits = SimultaneousIntervals(0.95)
    low, high = limits.difference(0, 0, 40, 40)
    reverse_low, reverse_high = limits.difference(40, 40, 0, 0)
    # Of the empty group nothing is known, and 40 of 40 have a rate of at least .9.
    assert -1 <= low <= -0.5
    assert -0.5 <= high < 0.15
    assert (reverse_low, reverse_high) == (-high, -low)
