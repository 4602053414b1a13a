"""Simulated runs of a plan."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.scores.planning.runs import _rates, group_runs, rate_runs
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.statistics.sequential.stopping import Plan


def test_the_mean_is_that_of_an_exact_forward_recursion():
    plan = Plan(limit=0.1, margin=0.05)
    p = 0.06
    assert rate_runs(plan, p).mean_draws == pytest.approx(expected_draws(plan, p), rel=0.04)


def expected_draws(plan: Plan, p: float) -> float:
    """Return the expected number of draws by the law of the hits of runs that still go on."""
    from scipy.stats import binom

    law = np.ones(1)
    before = 0
    expected = 0.0
    for n in plan.looks():
        more = binom.pmf(np.arange(n - before + 1), n - before, p)
        law = np.convolve(law, more)
        before = n
        hits = np.arange(len(law))
        ends = plan.first_stop(hits[:, None], [n]) == 0
        expected += n * law[ends].sum()
        law = np.where(ends, 0.0, law)
        if law.sum() < 1e-9:
            return float(expected)
    raise AssertionError("runs went on after the last look")


def test_no_run_goes_on_after_the_most_draws():
    runs = rate_runs(Plan(limit=0.1, margin=0.01), 0.1, most=300)
    assert runs.draws.max() == 300
    assert (runs.inputs == runs.draws).all()


def test_a_small_population_is_asked_once_at_most():
    endless = rate_runs(Plan(margin=0.02), 0.3)
    small = rate_runs(Plan(margin=0.02, size=1_000), 0.3)
    assert small.draws.max() <= 1_000
    assert small.mean_draws < endless.mean_draws


def test_groups_in_the_middle_are_left_out_where_answers_are_expensive():
    plan = PairedPlan(limit=0.05, groups=5, margin=None)
    all_asked = group_runs(plan, 0.3, base=0.5, expensive=False)
    fewer = group_runs(plan, 0.3, base=0.5, expensive=True)
    assert (all_asked.inputs == 5 * all_asked.draws).all()
    assert fewer.mean_inputs < all_asked.mean_inputs


def test_groups_with_people_of_their_own_take_more():
    paired = group_runs(PairedPlan(limit=0.2, groups=2), 0.02, base=0.5, expensive=True)
    own = group_runs(SpreadPlan(limit=0.2, groups=2), 0.02, base=0.5, expensive=True)
    assert own.mean_inputs > paired.mean_inputs


@pytest.mark.parametrize(
    ("spread", "base", "lowest"),
    [(0.2, 0.5, 0.4), (0.4, 0.1, 0.0), (0.4, 0.9, 0.6), (1.0, 0.5, 0.0), (0.0, 1.0, 1.0)],
)
def test_one_group_lies_below_all_others_within_0_and_1(spread, base, lowest):
    others = [lowest + spread] * 2
    assert _rates(spread, base, 3).tolist() == pytest.approx([lowest, *others])
