from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import UsageError
from evenhand.statistics import intervals
from evenhand.statistics.estimate import StopReason, Verdict
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.stopping import Plan, calibration, look_sizes
from tests.support.helpers import examples

PLANS = [
    Plan(),
    Plan(0.99, 0.1, 0.1),
    Plan(0.9, None, 0.3),
    Plan(0.95, 0.05, 0.2, "anytime"),
    Plan(0.95, 0.1, None, "wilson"),
    Plan(0.95, 0.1, 0.1, "wald"),
]


def hits_of(n):
    """Draw a possible number of hits among `n`, together with `n`."""
    return st.tuples(st.integers(0, n), st.just(n))


counts = st.integers(1, 3000).flatmap(hits_of)


def reach(estimate):
    """The distance of the value from the limit that is farther away."""
    above = estimate.high - estimate.value
    below = estimate.value - estimate.low
    return max(above, below)


def stops_by_itself(judged):
    """Whether sampling ends for another reason than a spent budget."""
    return judged.stop in (StopReason.DECIDED, StopReason.MARGIN)


def test_looks_are_increasing_dense_and_end_at_the_budget():
    sizes = list(look_sizes(5000))
    assert sizes[0] == 4
    assert sizes[-1] == 5000
    for size, next_size in itertools.pairwise(sizes):
        assert size < next_size
        assert next_size <= max(size + 1, size * 1.05 + 1)


def test_a_budget_below_the_first_look_is_the_only_look():
    assert list(Plan().looks(3)) == [3]
    assert list(Plan(interval="wald").looks(3)) == [3]


def test_wald_looks_after_each_draw_from_31_on():
    looks = Plan(interval="wald").looks()
    assert list(itertools.islice(looks, 3)) == [31, 32, 33]
    early = Plan(interval="wald", sampling_threshold=0).looks()
    assert list(itertools.islice(early, 3)) == [1, 2, 3]
    assert list(Plan(interval="wald", sampling_threshold=99).looks(50)) == [50]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"margin": 0}, "margin is 0"),
        ({"margin": 1.0}, "margin is 1.0"),
        ({"margin": -0.1}, "margin"),
        ({"level": 1.0}, "level is 1.0"),
        ({"level": 95}, "level is 95"),
        ({"limit": 1.1}, "limit is 1.1"),
        ({"interval": "wlad"}, "did you mean 'wald'"),
    ],
)
def test_wrong_plans_are_refused_by_name(wrong, named):
    with pytest.raises(UsageError, match=named):
        Plan(**wrong)


@pytest.mark.parametrize("limit", [None, 0, 1])
def test_sampling_that_nothing_ends_is_refused(limit):
    endless = Plan(margin=None, limit=limit)
    with pytest.raises(UsageError, match="nothing ends"):
        endless.looks()
    assert list(endless.looks(6)) == [4, 5, 6]


def test_a_budget_of_nothing_is_refused():
    with pytest.raises(UsageError, match="budget"):
        Plan().looks(0)


@pytest.mark.parametrize("plan", PLANS, ids=str)
@settings(deadline=None, max_examples=examples(60))
@given(count=counts, last=st.booleans())
def test_judgements_are_coherent(plan, count, last):
    hits, n = count
    judged = plan.judge(hits, n, last=last)
    estimate = judged.estimate
    assert estimate.n == n
    assert estimate.level == plan.level
    assert estimate.low <= hits / n <= estimate.high
    if last:
        assert judged.stop is not None
    if judged.stop is StopReason.DECIDED:
        assert estimate.verdict(plan.limit) is not Verdict.UNDECIDED
    if judged.stop is StopReason.MARGIN:
        assert reach(estimate) <= plan.margin + 1e-9
    stops_at_once = int(plan.first_stop([hits], [n])) == 0
    assert stops_at_once == stops_by_itself(judged)


@settings(deadline=None)
@given(counts)
def test_the_margin_is_not_missed(count):
    plan = Plan(0.95, 0.05)
    judged = plan.judge(*count)
    distance = reach(judged.estimate)
    # So near the margin, rounding alone may decide.
    if abs(distance - 0.05) > 1e-9:
        reached = judged.stop is StopReason.MARGIN
        assert reached == (distance < 0.05)


def test_one_hit_fails_a_limit_of_zero_and_no_hit_never_passes_it():
    plan = Plan(margin=0.05, limit=0.0)
    found = plan.judge(1, 16)
    assert found.stop is StopReason.DECIDED
    assert found.estimate.verdict(0.0) is Verdict.FAIL
    none = plan.judge(0, 100_000)
    assert none.stop is StopReason.MARGIN
    assert none.estimate.verdict(0.0) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "plan",
    [*PLANS, SpreadPlan(groups=3), SpreadPlan(limit=0.1), SpreadPlan(interval="wald")],
    ids=str,
)
def test_nothing_seen_is_nothing_known(plan):
    hits = [0] * plan.groups if isinstance(plan, SpreadPlan) else 0
    judged = plan.judge(hits, 0, last=True)
    assert judged.estimate.low == 0.0
    assert judged.estimate.high == 1.0
    assert judged.estimate.n == 0
    assert judged.stop is StopReason.QUERIES
    assert judged.estimate.verdict(0.5) is Verdict.UNDECIDED


@pytest.mark.parametrize(
    "plan",
    [
        Plan(limit=0.1),
        Plan(0.99, 0.01, 0.5),
        Plan(margin=None, limit=0.1),
        Plan(),
    ],
    ids=str,
)
def test_the_error_is_shared_out_and_never_exceeded(plan):
    spent = plan.error_margin + plan.error_decide
    assert spent <= 1 - plan.level + 1e-12


def test_without_a_limit_the_margin_gets_the_whole_error():
    assert Plan().error_margin == pytest.approx(0.05 * calibration(0.05))
    assert Plan(margin=None).error_margin == pytest.approx(0.05)


def test_a_budget_alone_gives_the_textbook_interval():
    judged = Plan(margin=None).judge(3, 40, last=True)
    low, high = intervals.clopper_pearson(3, 40, 0.95)
    assert judged.estimate.low == pytest.approx(low)
    assert judged.estimate.high == pytest.approx(high)
    assert judged.estimate.method == "exact"
    assert judged.stop is StopReason.QUERIES


def test_the_budget_end_may_decide():
    plan = Plan(margin=0.01, limit=0.2)
    assert plan.judge(3, 50).stop is None
    ended = plan.judge(3, 50, last=True)
    assert ended.stop is StopReason.QUERIES
    assert ended.estimate.verdict(0.2) is Verdict.PASS


def test_wald_stops_where_the_paper_does():
    plan = Plan(0.99, 0.01, limit=0.5, interval="wald")
    nothing = plan.judge(0, 31)
    assert nothing.stop is StopReason.MARGIN
    assert nothing.estimate.high == 0
    assert Plan(interval="wald").judge(192, 384).stop is None
    assert Plan(interval="wald").judge(193, 386).stop is StopReason.MARGIN


def test_many_runs_at_once_agree_with_one_at_a_time():
    rng = np.random.default_rng(0)
    plan = Plan(0.95, 0.1, 0.2)
    looks = np.array(list(look_sizes(400)))
    draws_between_looks = np.diff(looks, prepend=0)
    new_hits = rng.binomial(draws_between_looks, 0.15, (3, 20, looks.size))
    hits = np.cumsum(new_hits, axis=-1)
    found = plan.first_stop(hits, looks)
    assert found.shape == (3, 20)
    for run, at in zip(hits.reshape(-1, looks.size), found.ravel(), strict=True):
        assert first_stop_one_at_a_time(plan, run, looks) == at


def first_stop_one_at_a_time(plan, hits, looks):
    """The number of the look at which `judge` ends sampling."""
    for number, (k, n) in enumerate(zip(hits, looks, strict=True)):
        if plan.judge(int(k), int(n)).stop is not None:
            return number
    raise AssertionError("sampling went on after the last look")


def test_a_run_that_does_not_stop_has_as_many_looks_as_there_are():
    plan = Plan(0.95, 0.1, 0.2)
    assert int(plan.first_stop([1, 2], [16, 17])) == 2


SPREADS = [
    SpreadPlan(0.95, 0.2),
    SpreadPlan(0.9, 0.2, 0.1, groups=3),
    SpreadPlan(0.95, None, 0.3),
    SpreadPlan(0.95, 0.3, 0.2, "anytime", groups=3),
    SpreadPlan(0.95, 0.1, None, "wald"),
    SpreadPlan(0.95, 0.2, 0.0),
]


@pytest.mark.parametrize("plan", SPREADS, ids=str)
@settings(deadline=None, max_examples=examples(25))
@given(data=st.data(), n=st.integers(1, 400), last=st.booleans())
def test_spread_judgements_are_coherent(plan, data, n, last):
    hits_of_each = st.lists(st.integers(0, n), min_size=plan.groups, max_size=plan.groups)
    hits = data.draw(hits_of_each)
    judged = plan.judge(hits, n, last=last)
    estimate = judged.estimate
    spread = (max(hits) - min(hits)) / n
    assert estimate.value == pytest.approx(spread)
    assert estimate.n == n * plan.groups
    if judged.stop is StopReason.DECIDED:
        assert estimate.verdict(plan.limit) is not Verdict.UNDECIDED
    if judged.stop is StopReason.MARGIN and plan.method != "wald":
        assert reach(estimate) <= plan.margin + 1e-6
    stops_at_once = int(plan.first_stop([hits], [n])) == 0
    assert stops_at_once == stops_by_itself(judged)


def test_spread_plans_decide_both_ways():
    plan = SpreadPlan(0.95, 0.05, 0.2, groups=3)
    far_apart = plan.judge([10, 50, 90], 100)
    assert far_apart.estimate.verdict(0.2) is Verdict.FAIL
    close = plan.judge([200, 205, 210], 1000)
    assert close.estimate.verdict(0.2) is Verdict.PASS
    between = plan.judge([20, 30, 45], 100)
    assert between.stop is None
    same = SpreadPlan(limit=0.0).judge([50, 50], 100_000)
    assert same.estimate.verdict(0.0) is Verdict.UNDECIDED


def test_wrong_spread_plans_are_refused():
    with pytest.raises(UsageError, match="two groups"):
        SpreadPlan(groups=1)
    with pytest.raises(UsageError, match="wilson"):
        SpreadPlan(interval="wilson")
    with pytest.raises(UsageError, match="last axis"):
        SpreadPlan(groups=3).judge([1, 2], 10)
