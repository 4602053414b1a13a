"""Decisions about sets: looks, sides and intervals against formulas written out here."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import pytest
from scipy.stats import beta, norm

from evenhand.methods.subsets.decision import Judge, most_at_fault
from evenhand.methods.subsets.lattice import State
from evenhand.methods.subsets.lattice import TestedSet as Seen
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.sequential.limit_tests import log_e_above, log_e_below
from evenhand.statistics.sequential.stopping import SLACK

JUDGE: Any = Judge(0.2, 0.1, 0.95, sets=7, at_fault=6, population="all inputs")


def looks_of(error, margin):
    """Return the looks, each of them with 15 % more draws, until Wald's formula is met."""
    looks = [10]
    while True:
        tail = error / 2 / (len(looks) + 1)
        draws = (norm.isf(tail) / margin) ** 2 / 4
        if draws <= looks[-1]:
            return tuple(looks)
        looks.append(math.ceil(1.15 * looks[-1]))


def exact_ends(hits, n, tail):
    low = beta.ppf(tail, hits, n - hits + 1) if hits else 0.0
    high = beta.isf(tail, hits + 1, n - hits) if hits < n else 1.0
    return low, high


@pytest.mark.parametrize("sets", [1, 7, 255, 8191])
@pytest.mark.parametrize("margin", [0.2, 0.1, 0.05, 0.013])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_the_last_look_is_where_a_score_of_a_half_is_known_to_within_the_margin(
    sets, margin, level
):
    judge = Judge(0.2, margin, level, sets=sets, at_fault=1)
    expected = looks_of((1 - level) / 2 / sets, margin)
    assert judge.looks == expected
    finer = replace(judge, margin=0.3, finest=margin)
    assert finer.looks == expected


def test_looks_without_end_begin_after_those_that_were_had():
    assert list(itertools.islice(JUDGE.anytime_looks(), 6)) == [10, 12, 14, 17, 20, 23]
    assert list(itertools.islice(JUDGE.anytime_looks(after=14), 3)) == [17, 20, 23]
    assert next(JUDGE.anytime_looks(after=9)) == 10
    assert next(JUDGE.anytime_looks(after=10)) == 12


def test_half_of_the_error_is_for_intervals_and_half_for_decisions():
    assert JUDGE.error == pytest.approx(0.025 / 7)
    assert JUDGE.whole_error == pytest.approx(0.05 / 7)
    assert JUDGE._error_of_a_decision == pytest.approx(0.025 / 6)


@pytest.mark.parametrize(
    ("features", "depth", "most"),
    [(1, None, 1), (2, None, 3), (4, None, 10), (5, 1, 5), (5, 3, 20), (5, 9, 20)],
)
def test_an_error_begins_at_one_of_the_sets_of_the_two_commonest_sizes(
    features, depth, most
):
    assert most_at_fault(features, depth) == most


@pytest.mark.parametrize("limit", [0.05, 0.2, 0.5, 0.8])
def test_a_side_needs_the_evidence_of_one_decision_and_a_score_on_that_side(limit):
    judge = replace(JUDGE, limit=limit)
    needed = SLACK + math.log(6 / 0.025)
    n = 60
    for hits in range(n + 1):
        if hits / n >= limit:
            above = log_e_above([hits], [n], limit)[0] >= needed
            expected = 1 if above else 0
        else:
            below = log_e_below([hits], [n], limit)[0]
            if limit > 0.5:
                below = log_e_above([n - hits], [n], 1 - limit)[0]
            expected = -1 if below >= needed else 0
        assert int(judge.side(hits, n)) == expected
    assert set(judge.side(range(n + 1), n).tolist()) >= {0}


@pytest.mark.parametrize(("hits", "n"), [(0, 50), (3, 100), (45, 100), (100, 100)])
def test_a_decided_set_has_an_exact_interval_over_all_looks_cut_at_the_limit(hits, n):
    found = JUDGE.settled(hits, n)
    tail = 0.025 / 7 / 2 / len(JUDGE.looks)
    low, high = exact_ends(hits, n, tail)
    if hits / n < 0.2:
        assert found.state is State.BELOW
        high = min(high, math.nextafter(0.2, 0))
    else:
        assert found.state is State.ABOVE
        low = max(low, 0.2)
    assert found.estimate.value == hits / n
    assert (found.estimate.low, found.estimate.high) == pytest.approx((low, high))
    assert found.estimate.n == n
    assert found.estimate.level == 0.95
    assert found.estimate.population == "all inputs"
    assert found.estimate.method == "exact, simultaneous over 7 sets"
    assert not found.lower_bound


def test_an_interval_ends_at_the_limit_on_the_side_that_was_decided():
    assert JUDGE._on_one_side(State.ABOVE, (0.1, 0.6)) == (0.2, 0.6)
    assert JUDGE._on_one_side(State.ABOVE, (0.3, 0.6)) == (0.3, 0.6)
    just_under = math.nextafter(0.2, 0)
    assert JUDGE._on_one_side(State.BELOW, (0.1, 0.6)) == (0.1, just_under)
    assert JUDGE._on_one_side(State.BELOW, (0.1, 0.15)) == (0.1, 0.15)


def test_what_was_not_all_asked_is_a_lower_bound():
    below = JUDGE.settled(0, 50, whole=False)
    assert below.state is State.NOT_SHOWN
    assert below.lower_bound
    assert below.estimate.high == 1
    assert below.estimate.method == "exact, simultaneous over 7 sets, lower bound"
    above = JUDGE.settled(45, 100, whole=False)
    assert above.state is State.ABOVE
    assert above.estimate.high == 1
    assert JUDGE.settled(20, 100, whole=False) is None
    alone = replace(JUDGE, sets=1)
    assert alone.settled(0, 50).estimate.method == "exact"
    assert alone.settled(0, 50, whole=False).estimate.method == "exact, lower bound"


def test_a_set_is_cleared_at_the_first_look_that_clears_no_flips_at_all():
    fewest = JUDGE.fewest_draws()
    at = JUDGE.looks.index(fewest)
    assert at > 0
    assert int(JUDGE.side(0, fewest)) == -1
    assert int(JUDGE.side(0, JUDGE.looks[at - 1])) == 0
    # Where no look does, all are taken.
    rare = Judge(0.001, 0.2, 0.95, sets=7, at_fault=6)
    assert rare.fewest_draws() == rare.looks[-1]


def estimate(low, high):
    return Estimate((low + high) / 2, low, high, 10, 0.95, "exact", "")


def test_an_interval_is_over_a_limit_that_it_begins_at_and_not_below_one_it_ends_at():
    assert JUDGE.state_of(estimate(0.2, 0.4)) is State.ABOVE
    assert JUDGE.state_of(estimate(0.1, 0.2)) is None
    assert JUDGE.state_of(estimate(0.1, 0.19)) is State.BELOW
    assert JUDGE.state_of(estimate(0.19, 0.3)) is None


def test_one_group_has_a_score_of_0():
    found = JUDGE.nothing()
    assert (found.value, found.low, found.high, found.n) == (0, 0, 0, 0)
    assert found.level == 0.95
    assert found.population == "all inputs"


def test_an_undecided_set_has_its_ends_from_different_draws():
    tail = 0.025 / 7 / 2 / len(JUDGE.looks)
    found = JUDGE.undecided(0.2, (15, 100), (10, 50))
    assert found.state is State.UNDECIDED
    assert found.estimate.n == 100
    assert found.estimate.value == 0.2
    assert found.estimate.low == pytest.approx(exact_ends(15, 100, tail)[0])
    assert found.estimate.high == pytest.approx(exact_ends(10, 50, tail)[1])
    assert not found.lower_bound
    # A guess outside of its interval is moved to the nearer end.
    low = JUDGE.undecided(0.0, (15, 100), (10, 50)).estimate
    assert low.value == low.low
    high = JUDGE.undecided(0.9, (15, 100), (10, 50)).estimate
    assert high.value == high.high


def test_an_undecided_set_of_which_no_draw_was_asked_in_full_is_a_lower_bound():
    found = JUDGE.undecided(0.5, (50, 100), (0, 0))
    assert found.lower_bound
    assert found.estimate.high == 1
    one_whole = JUDGE.undecided(0.5, (50, 100), (0, 1))
    assert not one_whole.lower_bound


def seen(state, value, *, n=100, level=0.95, lower_bound=False, because="tested"):
    found = Estimate(value, value, value, n, level, "exact", "")
    return Seen(state, found, because, lower_bound=lower_bound)


def test_evidence_against_the_limit_is_that_of_one_decision_of_all_that_can_err():
    above = JUDGE.against(seen(State.ABOVE, 0.45))
    log_e = float(log_e_above([45], [100], 0.2)[0])
    assert above.p_value == pytest.approx(12 * math.exp(-log_e))
    assert above.e_value == pytest.approx(math.exp(log_e))
    below = JUDGE.against(seen(State.BELOW, 0.03))
    log_e = float(log_e_below([3], [100], 0.2)[0])
    assert below.p_value == pytest.approx(12 * math.exp(-log_e))


@pytest.mark.parametrize(
    "found",
    [
        seen(State.UNDECIDED, 0.45),
        seen(State.NOT_SHOWN, 0.03),
        seen(State.ABOVE, 0.45, because="its parts"),
        seen(State.ABOVE, 0.45, level=1),
        seen(State.ABOVE, 0.45, n=0),
        seen(State.BELOW, 0.03, lower_bound=True),
    ],
)
def test_what_was_not_counted_has_no_evidence(found):
    assert JUDGE.against(found) is None


def test_a_lower_bound_over_the_limit_has_evidence_and_so_has_a_score_at_it():
    assert JUDGE.against(seen(State.ABOVE, 0.45, lower_bound=True)) is not None
    at_limit = JUDGE.against(seen(State.ABOVE, 0.2))
    assert at_limit.e_value == pytest.approx(
        math.exp(float(log_e_above([20], [100], 0.2)[0]))
    )


def test_a_score_is_near_the_limit_where_its_own_interval_is_narrow_and_holds_it():
    assert JUDGE.near(0.2, 100)
    assert not JUDGE.near(0.2, 50)
    assert not JUDGE.near(0.4, 1000)
    assert not JUDGE.near(0.05, 1000)
    assert JUDGE.near(0.22, 400)


def test_as_many_draws_are_expected_as_in_walds_formula():
    z = norm.isf(0.025 / 6)
    assert JUDGE.draws(0.1) == pytest.approx(z**2 * 0.1 * 0.9 / 0.01)
    assert JUDGE.draws(0.5) == pytest.approx(z**2 * 0.25 / 0.09)
    assert JUDGE.draws(0.2) == pytest.approx(z**2 * 0.16 / 1e-18)


def test_graded_scores_have_intervals_that_hold_at_all_draws():
    from evenhand.statistics.sequential.confidence_sequences import mixture

    low, high = mixture(20.0, 100, 1 - 0.025 / 7)
    assert JUDGE.graded(20.0, 100) is None
    last = JUDGE.graded(20.0, 100, last=True)
    assert last.state is State.UNDECIDED
    assert last.estimate.value == 0.2
    assert (last.estimate.low, last.estimate.high) == pytest.approx((low, high))
    assert last.estimate.method == "anytime, simultaneous over 7 sets"
    assert JUDGE.graded(200.0, 1000).state is State.UNDECIDED
    above = JUDGE.graded(80.0, 100)
    low, high = mixture(80.0, 100, 1 - 0.025 / 7)
    assert above.state is State.ABOVE
    assert (above.estimate.low, above.estimate.high) == pytest.approx((low, high))
    below = JUDGE.graded(0.0, 500, whole=False)
    assert below.state is State.NOT_SHOWN
    assert below.lower_bound


def test_an_undecided_set_is_known_precisely_enough_by_either_interval():
    within = (0.15, 0.25)
    wide = (0.05, 0.35)
    beside = (0.21, 0.25)
    assert JUDGE.leaves_undecided(0.2, wide, within)
    assert JUDGE.leaves_undecided(0.2, within, wide)
    assert not JUDGE.leaves_undecided(0.2, wide, wide)
    assert not JUDGE.leaves_undecided(0.22, wide, beside)
    # As wide as the margin is narrow enough, on both sides.
    exact_margin = replace(JUDGE, margin=0.125)
    assert exact_margin.leaves_undecided(0.25, (0.125, 0.375), wide)
    assert not exact_margin.leaves_undecided(0.25, (0.1, 0.375), wide)
    assert not exact_margin.leaves_undecided(0.25, (0.125, 0.4), wide)


def test_the_spread_of_groups_is_cut_at_the_limit_only_where_it_was_decided():
    above = JUDGE.spread(State.ABOVE, 0.3, (0.15, 0.4), 50)
    assert (above.estimate.low, above.estimate.high) == (0.2, 0.4)
    below = JUDGE.spread(State.BELOW, 0.1, (0.05, 0.25), 50)
    assert (below.estimate.low, below.estimate.high) == (0.05, math.nextafter(0.2, 0))
    open_ = JUDGE.spread(State.UNDECIDED, 0.3, (0.15, 0.4), 50, because="its parts")
    assert (open_.estimate.low, open_.estimate.high) == (0.15, 0.4)
    assert open_.because == "its parts"
    # The value is never outside.
    outside = JUDGE.spread(State.UNDECIDED, 0.5, (0.15, 0.4), 50, whole=False)
    assert (outside.estimate.low, outside.estimate.high) == (0.15, 1.0)
    under = JUDGE.spread(State.UNDECIDED, 0.1, (0.15, 0.4), 50)
    assert (under.estimate.low, under.estimate.high) == (0.1, 0.4)
