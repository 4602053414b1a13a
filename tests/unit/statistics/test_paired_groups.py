"""Groups that are asked about the same people: counts of pairs, and when to stop."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import UsageError
from evenhand.statistics.sequential.paired_groups import (
    BETS,
    DRAWS,
    WINS,
    PairedPlan,
    most_apart,
    pair_counts,
)
from tests.support.helpers import examples
from tests.support.simulation import slow


def amounts_of(seed: int, n: int, rates: list[float], shared: float) -> np.ndarray:
    """Return draws that are alike for a share of people, and by chance for the others."""
    rng = np.random.default_rng(seed)
    same = rng.random((n, 1)) < shared
    place = np.where(same, rng.random((n, 1)), rng.random((n, len(rates))))
    return (place < np.array(rates)).astype(float)


@given(st.integers(0, 100), st.integers(1, 40), st.integers(2, 5))
@settings(max_examples=examples(30), deadline=None)
def test_counts_are_those_of_a_loop(seed, n, groups):
    rng = np.random.default_rng(seed)
    amounts = rng.integers(0, 2, (n, groups)).astype(float)
    amounts[rng.random((n, groups)) < 0.2] = np.nan
    wins, draws = pair_counts(amounts)
    for one in range(groups):
        for other in range(groups):
            if one == other:
                continue
            both = ~np.isnan(amounts[:, one]) & ~np.isnan(amounts[:, other])
            better = (amounts[both, one] == 1) & (amounts[both, other] == 0)
            assert wins[one, other] == better.sum()
            assert draws[one, other] == both.sum()
        asked = amounts[:, one][~np.isnan(amounts[:, one])]
        assert wins[one, one] == asked.sum()
        assert draws[one, one] == len(asked)


def test_what_was_counted_does_not_depend_on_the_batches_but_for_bets():
    plan = PairedPlan(limit=0.1, groups=3)
    amounts = amounts_of(0, 200, [0.3, 0.5, 0.6], 0.7)
    at_once = plan.counted(amounts)
    in_parts = plan.counted(amounts[80:], plan.counted(amounts[:80]))
    for matrix in (WINS, DRAWS):
        assert np.array_equal(at_once[matrix], in_parts[matrix])
    # Nothing can be bet before anything was seen.
    assert not at_once[BETS].any()
    assert in_parts[BETS].any()


def test_the_pair_that_looks_most_apart_is_by_the_people_that_both_were_asked_about():
    plan = PairedPlan(limit=0.1, groups=3)
    amounts = np.array([[1.0, 0.0, np.nan]] * 12 + [[np.nan, np.nan, 1.0]] * 30)
    better, worse = most_apart(plan.counted(amounts))
    assert int(better) == 0
    assert int(worse) == 1


def end_of(plan: PairedPlan, amounts: np.ndarray) -> tuple[int, float, float]:
    """Return where a run ends, and the limits that it reports."""
    counts = None
    before = 0
    for n in plan.looks(len(amounts)):
        counts = plan.counted(amounts[before:n], counts)
        before = n
        reason = plan.reason(counts, n)
        if reason is not None or n == len(amounts):
            estimate = plan.judge(counts, n, last=reason is None).estimate
            return n, estimate.low, estimate.high
    raise AssertionError


FEW = {"runs": 40, "most": 10}
MANY = {"runs": 150, "most": 26}
"""More misses than that have a chance under 0.2 % where the level of 90 % holds."""
CELLS = [
    ([0.3, 0.3], 0.8, 0.1, True),
    ([0.3, 0.4], 0.9, 0.1, False),
    ([0.2, 0.25, 0.5], 0.7, 0.1, False),
    ([0.5, 0.5, 0.5, 0.5], 0.9, 0.15, True),
]


@pytest.mark.parametrize("size", [FEW, slow(MANY)], ids=["few", "many"])
@pytest.mark.parametrize(("rates", "shared", "limit", "precise"), CELLS)
def test_the_interval_holds_its_level_under_the_rule(rates, shared, limit, precise, size):
    spread = max(rates) - min(rates)
    plan = PairedPlan(
        0.9,
        0.1,
        limit,
        groups=len(rates),
        precise=precise,
        finest=0.05 if precise else None,
    )
    missed = 0
    for seed in range(size["runs"]):
        _, low, high = end_of(plan, amounts_of(seed, 3000, rates, shared))
        missed += not low <= spread + 1e-12 or not spread <= high + 1e-12
    assert missed <= size["most"]


def test_pairing_takes_a_fraction_of_the_inputs():
    plan = PairedPlan(0.95, 0.01, 0.05, groups=2)
    sizes = [end_of(plan, amounts_of(seed, 4000, [0.3, 0.3], 1.0))[0] for seed in range(20)]
    # Independent groups take 6,243 each at a base rate of 0.3.
    assert np.mean(sizes) <= 110


@pytest.mark.parametrize("groups", [1, 129])
def test_too_few_or_too_many_groups_are_refused(groups):
    with pytest.raises(UsageError, match="compared in pairs"):
        PairedPlan(groups=groups)
