"""The gate of a repair on accuracy, computed exactly: it errs no more than its level says."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from evenhand.methods.compare.regression import r2_change
from evenhand.methods.repair.steps import RepairCheck, tolerated
from evenhand.statistics.estimate import Verdict
from tests.support.simulation import covers, holds, slow

LEVEL = 0.95
TOLERANCE = 0.01
TAIL = (1 - LEVEL) / 2
"""Each end of the interval may miss so often, and either end makes one kind of error."""
BEYOND = 1e-7
"""The probability of numbers of changed rows that are left out at either end."""


def gate(rows: int, lost: int, won: int) -> Verdict:
    """Return the verdict where so many rows were right before alone, and after alone."""
    truth = np.ones(rows)
    before = np.ones(rows)
    after = np.ones(rows)
    after[:lost] = 0
    before[lost : lost + won] = 0
    check = RepairCheck.right([before, after], truth, level=LEVEL, population="")
    return tolerated(check.change, TOLERANCE)


def first(rows: int, changed: int, wanted: set[Verdict]) -> int:
    """Return from how many rows on that are lost a verdict is one of these, by halving."""
    low = 0
    high = changed + 1
    while low < high:
        middle = (low + high) // 2
        if gate(rows, middle, changed - middle) in wanted:
            high = middle
        else:
            low = middle + 1
    return low


def chances(rows: int, changed: float, change: float) -> tuple[float, float]:
    """Return the probabilities of a pass and of a failure.

    `changed` is the share of people whose answers are right under one model alone, and `change` is
    by how much accuracy changes.
    """
    lost_share = (changed - change) / 2 / changed
    least = int(binom.ppf(BEYOND, rows, changed))
    most = int(binom.ppf(1 - BEYOND, rows, changed))
    passed = 0.0
    failed = 0.0
    for number in range(least, most + 1):
        chance = binom.pmf(number, rows, changed)
        no_pass = first(rows, number, {Verdict.UNDECIDED, Verdict.FAIL})
        fails = first(rows, number, {Verdict.FAIL})
        passed += chance * binom.cdf(no_pass - 1, number, lost_share)
        failed += chance * binom.sf(fails - 1, number, lost_share)
    return passed, failed


@pytest.mark.parametrize(
    ("rows", "changed"),
    [
        (150, 0.05),
        (500, 0.02),
        slow(500, 0.011),
        slow(1500, 0.05),
        slow(1500, 0.2),
        slow(7500, 0.02),
    ],
)
def test_at_the_tolerance_neither_a_pass_nor_a_failure_is_given_too_often(rows, changed):
    passed, failed = chances(rows, changed, -TOLERANCE)
    assert passed <= TAIL
    assert failed <= TAIL


@pytest.mark.parametrize("rows", [500])
def test_a_larger_loss_passes_even_less_and_a_gain_never_fails(rows):
    at_tolerance, _ = chances(rows, 0.03, -TOLERANCE)
    passed, _ = chances(rows, 0.03, -2 * TOLERANCE)
    assert passed < at_tolerance
    _, failed = chances(rows, 0.03, 0.01)
    assert failed < 1e-4


def test_a_point_value_within_the_tolerance_is_no_pass():
    """What decided before: nine rows of a thousand are lost, and perhaps two in a hundred."""
    assert gate(1000, 9, 0) is Verdict.UNDECIDED
    assert gate(1000, 1, 0) is Verdict.PASS
    assert gate(1000, 40, 2) is Verdict.FAIL


@pytest.mark.parametrize("runs", [120, slow(2000)])
def test_the_change_of_r2_holds_its_level(runs):
    """People of two kinds: a model without the kind is less right about them, by 1/11 of R²."""
    rng = np.random.default_rng(0)
    variance = 9 + 1 + 1.0
    true_change = -1 / variance
    good = 0
    for run in range(runs):
        kind = rng.choice([-1.0, 1.0], 400)
        years = rng.normal(0, 3, 400)
        truth = years + kind + rng.normal(0, 1, 400)
        change = r2_change(truth, years + kind, years, level=LEVEL, resamples=400, seed=run)
        assert change is not None
        good += covers(change, true_change)
    assert holds(good, runs, LEVEL)
