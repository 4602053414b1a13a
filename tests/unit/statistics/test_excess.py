"""Limits of an excess, by betting on a grid."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.sequential.excess import MOST_STEPS, ExcessPlan, Grid
from tests.support.helpers import examples, refused


def counted(grid: Grid, differences: list[float], noise: float = 0.0) -> np.ndarray:
    """Return the counts of some differences, and the sum of their A/A rates."""
    counts = grid.counted(np.array(differences)).sum(axis=0)
    return np.append(counts, noise)


@settings(max_examples=examples(60))
@given(
    st.integers(2, 9),
    st.lists(st.floats(0, 1), min_size=1, max_size=20),
)
def test_counts_keep_the_number_and_the_sum(repeats, shares):
    grid = Grid.of_answers(repeats)
    low = grid.points[0]
    differences = low + (1 - low) * np.array(shares)
    counts = grid.counted(differences)
    assert counts.min() >= 0
    ones = np.ones(len(shares))
    assert counts.sum(axis=1) == pytest.approx(ones)
    sums = counts @ grid.points
    assert sums == pytest.approx(differences, abs=1e-8)


@pytest.mark.parametrize("repeats", [2, 3, 4])
def test_every_excess_of_labels_has_a_place(repeats):
    """Of all answers that two people may give, none falls between two points."""
    grid = Grid.of_answers(repeats)
    yes = np.arange(repeats + 1) / repeats
    own, other = np.meshgrid(yes, yes)
    own_no = 1 - own
    other_no = 1 - other
    between = own * other_no + other * own_no
    correction = repeats / (repeats - 1)
    within = correction * (own * own_no + other * other_no)
    excess = (between - within).ravel()
    assert excess.min() >= grid.low
    assert grid.low == -1 / repeats
    counts = grid.counted(excess)
    places = np.round(counts, 9)
    assert set(places.ravel()) == {0.0, 1.0}


def test_a_grid_has_not_too_many_points():
    assert Grid.of_answers(9).steps == MOST_STEPS
    assert Grid.of_answers(9).low <= -1 / 9
    assert Grid.of_answers(2, equal=False).low == -1


def test_a_difference_between_two_points_never_narrows_the_limits():
    fine = Grid(-0.5, 64)
    coarse = Grid(-0.5, 2)
    rng = np.random.default_rng(4)
    differences = rng.choice([-0.25, 0.0, 0.125, 1.0], 300, p=[0.1, 0.7, 0.1, 0.1])
    limits = {}
    for grid in (fine, coarse):
        plan = ExcessPlan(0.95, None, None, grid)
        counts = counted(grid, differences.tolist())
        limits[grid.steps] = plan.limits(counts[:-1], float(differences.mean()))
    low, high = limits[64]
    low_of_coarse, high_of_coarse = limits[2]
    assert low_of_coarse <= low + 1e-9
    assert high_of_coarse >= high - 1e-9


def test_why_it_stops():
    plan = ExcessPlan(0.95, 0.05, 0.2, Grid.of_answers(2))
    all_differ = counted(plan.grid, [1.0] * 40)
    judged = plan.judge(all_differ, 40)
    assert judged.stop is StopReason.DECIDED
    assert judged.estimate.low > 0.2
    few = counted(plan.grid, [0.0] * 10)
    judged = plan.judge(few, 10)
    assert judged.stop is None
    judged = plan.judge(few, 10, last=True)
    assert judged.stop is StopReason.QUERIES
    differences = [0.0] * 8000 + [1.0] * 2000
    near = counted(plan.grid, differences)
    judged = plan.judge(near, 10_000)
    assert judged.stop is StopReason.MARGIN


def test_a_precise_run_goes_on_to_the_margin_and_beyond():
    grid = Grid.of_answers(2)
    plan = ExcessPlan(0.95, 0.05, 0.2, grid, precise=True, finest=0.01)
    # The limit is excluded, but the excess is not known well.
    early = counted(grid, [1.0] * 40 + [0.0] * 10)
    assert plan.reason(early, 50) is None
    # The excess is known well, but the limit is not excluded.
    near = counted(grid, [0.0] * 8000 + [1.0] * 2000)
    assert plan.reason(near, 10_000) is None
    decided = counted(grid, [1.0] * 2000)
    assert plan.reason(decided, 2000) is StopReason.DECIDED
    at_limit = counted(grid, [0.0] * 80_000 + [1.0] * 20_000)
    assert plan.reason(at_limit, 100_000) is StopReason.TOO_CLOSE


def test_a_limit_of_nothing_is_never_shown_to_be_kept():
    plan = ExcessPlan(0.95, 0.05, 0.0, Grid.of_answers(2))
    none = counted(plan.grid, [0.0] * 5000)
    judged = plan.judge(none, 5000)
    assert judged.stop is StopReason.MARGIN
    differences = [0.0] * 50 + [1.0] * 50
    some = counted(plan.grid, differences)
    judged = plan.judge(some, 100)
    assert judged.stop is StopReason.DECIDED


def test_the_first_stop_is_found_block_by_block():
    plan = ExcessPlan(0.95, 0.05, None, Grid.of_answers(2))
    looks = list(plan.looks(400))
    counts = [counted(plan.grid, [0.0] * n) for n in looks]
    first = plan.first_stop(np.array(counts), looks)
    assert first > 32
    stopped = plan.reason(counts[first], looks[first])
    assert stopped is StopReason.MARGIN
    before = first - 1
    assert plan.reason(counts[before], looks[before]) is None
    few = np.array(counts[:5])
    assert plan.first_stop(few, looks[:5]) == 5


def test_noise_has_an_interval_of_its_own():
    plan = ExcessPlan(0.95, 0.05, None, Grid.of_answers(2))
    hits = counted(plan.grid, [0.0] * 100, noise=10.0)
    noise = plan.noise(hits, 100, 0.9)
    assert noise.value == 0.1
    assert 0 < noise.low < 0.1 < noise.high < 0.3
    assert noise.level == 0.9


def test_something_must_end_it():
    plan = ExcessPlan(0.95, None, 0.1, Grid.of_answers(2))
    refused(UsageError, plan.looks, "nothing ends this sampling")
    assert list(plan.looks(5)) == [4, 5]
