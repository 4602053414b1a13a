"""The change of a score: each way to know it, and that its limits hold the change itself."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.results.score_change import (
    ScoreChange,
    apart,
    check_tolerance,
    independent,
    paired,
    sampled,
    unchanged,
)
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Amount, Estimate
from tests.support.helpers import examples, refused


def test_inputs_that_both_versions_treat_alike_say_nothing_of_a_change():
    old = np.arange(2000) % 10 == 0
    new = old.copy()
    new[:20] = True
    many = paired(np.tile(new, 2), np.tile(old, 2), level=0.95)
    half = paired(new, old, level=0.95)
    assert half.value == pytest.approx(18 / 2000)
    assert 0 < half.low < half.value < half.high
    assert half.high - half.low > many.high - many.low
    opposite = paired(old, new, level=0.95)
    assert (opposite.low, opposite.high) == pytest.approx((-half.high, -half.low))


def test_a_pair_tells_more_than_two_samples_and_those_more_than_two_intervals():
    rng = np.random.default_rng(0)
    old = rng.random(2000) < 0.1
    new = old | (rng.random(2000) < 0.02)
    changes = [
        paired(new, old, level=0.95),
        independent(new, old, level=0.95),
        apart(sampled(new, level=0.95), sampled(old, level=0.95)),
    ]
    widths = [change.high - change.low for change in changes]
    assert widths == sorted(widths)
    assert [change.paired for change in changes] == [True, False, False]
    values = {round(change.value, 9) for change in changes}
    assert len(values) == 1


def test_more_findings_take_wider_limits():
    old = np.arange(1000) % 4 == 0
    alone = paired(~old, old, level=0.95)
    together = paired(~old, old, level=0.95, among=10)
    assert together.low < alone.low
    assert together.high > alone.high
    assert together.level == alone.level


def test_groups_that_move_alike_are_no_further_apart():
    rng = np.random.default_rng(1)
    draws = rng.random((4000, 3))
    old = draws < [0.5, 0.4, 0.3]
    same = paired(old, old, level=0.95)
    assert same.low < 0 < same.high < 0.005
    further = paired(draws < [0.7, 0.4, 0.3], old, level=0.95)
    assert further.value == pytest.approx(0.2, abs=0.02)
    assert further.low > 0.1
    assert further.high < 0.3


def test_grades_have_limits_too():
    rng = np.random.default_rng(2)
    old = rng.random(1000) / 2
    change = paired(old + 0.2, old, level=0.95)
    assert change.low <= 0.2 <= change.high
    assert change.low > 0.1
    groups = np.stack([old, old + 0.3], axis=1)
    assert paired(groups, groups, level=0.95).value == 0
    alone = sampled(old, level=0.95)
    assert alone.low < 0.25 < alone.high


def test_ends_that_nothing_bounds_read_back():
    new = Amount(4.0, 1.0, math.inf, 90, 0.95, "welch")
    old = Amount(3.0, -math.inf, 3.5, 90, 0.95, "welch")
    change = apart(new, old)
    assert change.high == math.inf
    table = json.loads(json.dumps(change.to_dict(), allow_nan=False))
    assert table["high"] is None
    assert ScoreChange.from_dict(table) == change


@pytest.mark.parametrize("tolerance", [-0.01, 1.01, "all", None])
def test_a_tolerance_is_a_share(tolerance):
    refused(UsageError, lambda: check_tolerance(tolerance), "tolerance")


shares = st.floats(0, 1)
columns = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=5, max_size=60)


@given(pairs=columns, level=st.floats(0.5, 0.99))
@settings(max_examples=examples(100), deadline=None)
def test_limits_hold_the_change_that_was_seen_and_read_back(pairs, level):
    new, old = np.array(pairs).T
    for way in (paired, independent):
        change = way(new, old, level=level)
        assert -1 <= change.low <= change.value <= change.high <= 1
        assert change.value == pytest.approx(new.mean() - old.mean())
        assert ScoreChange.from_dict(json.loads(json.dumps(change.to_dict()))) == change


@given(new=shares, old=shares)
@settings(max_examples=examples(60), deadline=None)
def test_exact_scores_have_an_exact_change(new, old):
    change = apart(
        Estimate(new, new, new, 40, 1.0, "enumerated"),
        Estimate(old, old, old, 40, 1.0, "enumerated"),
    )
    assert change.low == change.high == change.value == new - old
    assert change.level == 1


def test_the_same_rows_leave_a_score_as_it_was():
    change = unchanged(Estimate(0.1, 0.08, 0.12, 900, 0.95, "exact"))
    assert (change.value, change.low, change.high) == (0, 0, 0)
    assert change.level == 1
    assert change.n == 900


def test_two_intervals_allow_what_their_far_ends_do():
    new = Estimate(0.3, 0.25, 0.36, 900, 0.95, "exact")
    old = Estimate(0.1, 0.08, 0.13, 800, 0.9, "exact")
    change = apart(new, old)
    assert (change.value, change.low, change.high) == pytest.approx((0.2, 0.12, 0.28))
    assert change.level == 0.9
    assert change.n == 900
