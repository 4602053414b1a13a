"""Simulated runs of a plan."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.scores.planning.runs import (
    Runs,
    _PairedGroups,
    _Rate,
    _rates,
    _SeparateGroups,
    _wins,
    group_runs,
    rate_runs,
    simulated,
)
from evenhand.statistics.sequential.group_stopping import SpreadPlan
from evenhand.statistics.sequential.paired_groups import DRAWS, WINS, PairedPlan
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


def test_how_many_runs_there_are():
    plan = Plan(limit=0.2, margin=0.2)
    assert len(rate_runs(plan, 0.3).draws) == 2_000
    # Without chance one run tells all.
    assert len(rate_runs(plan, 0.0).draws) == 1
    assert len(rate_runs(plan, 1.0).draws) == 1


@pytest.mark.parametrize(
    ("groups", "wanted", "runs"),
    [
        (2, 300, 300),
        (5, 300, 240),
        (12, 300, 100),
        (13, 300, 100),
        (20, 300, 100),
        (2, 7, 7),
    ],
)
def test_more_groups_have_fewer_runs(groups, wanted, runs):
    plan = PairedPlan(limit=0.1, groups=groups)
    rates = np.linspace(0.4, 0.6, groups)
    world = _PairedGroups(plan, rates, wanted, focuses=False)
    assert world.counts.shape == (runs, 4, groups, groups)
    assert world.inputs.tolist() == [0] * runs
    assert world.asked.all()
    alike = _PairedGroups(plan, np.full(groups, 0.5), wanted, focuses=False)
    assert len(alike.inputs) == 1


def test_runs_of_groups_with_people_of_their_own_are_few():
    plan = SpreadPlan(limit=0.3, groups=2)
    few = group_runs(
        plan,
        0.1,
        base=0.5,
        expensive=True,
        most=8,
    )
    assert len(few.draws) == 100
    assert few.draws.max() == 8
    assert (few.inputs == 2 * few.draws).all()
    seven = group_runs(
        plan,
        0.1,
        base=0.5,
        expensive=True,
        most=8,
        runs=7,
    )
    assert len(seven.draws) == 7


def test_a_small_population_has_so_many_hits_in_all():
    world = _Rate(0.3, 50, 40)
    world.ask(20)
    assert len(set(world.counts.tolist())) > 1
    assert world.inputs.tolist() == [20] * 40
    world.ask(30)
    assert world.counts.tolist() == [15.0] * 40
    assert world.inputs.tolist() == [50] * 40


def test_hits_among_endless_people_come_at_their_rate():
    world = _Rate(0.3, None, 2_000)
    world.ask(100)
    world.ask(300)
    assert world.inputs.tolist() == [400] * 2_000
    assert world.counts.mean() == pytest.approx(120, abs=1)
    going = np.arange(2_000) < 3
    before = world.counts[:3].tolist()
    world.keep(going)
    assert world.counts.tolist() == before
    assert world.inputs.tolist() == [400] * 3


def test_each_group_is_asked_about_people_of_its_own():
    world = _SeparateGroups(np.array([0.2, 0.9]), 500)
    world.ask(100)
    world.ask(50)
    assert world.inputs.tolist() == [300] * 500
    assert world.counts.mean(axis=0).tolist() == pytest.approx([30, 135], abs=1)
    world.keep(np.arange(500) < 2)
    assert world.counts.shape == (2, 2)
    assert len(world.inputs) == 2


def test_who_is_favoured_in_the_worst_group_is_favoured_in_all():
    plan = PairedPlan(limit=0.1, groups=3)
    world = _PairedGroups(plan, np.array([0.2, 0.7, 0.7]), 200, focuses=False)
    world.ask(100)
    wins = world.counts[:, WINS]
    assert (wins[:, 0, 1:] == 0).all()
    assert (wins[:, 1, 2] == 0).all()
    assert (wins[:, 1, 0] == wins[:, 1, 1] - wins[:, 0, 0]).all()
    assert (wins[:, 2, 0] == wins[:, 1, 0]).all()
    assert wins[:, 0, 0].mean() == pytest.approx(20, abs=1)
    assert wins[:, 1, 1].mean() == pytest.approx(70, abs=1)
    assert (world.counts[:, DRAWS] == 100).all()
    assert world.inputs.tolist() == [300] * 200


@pytest.mark.parametrize("focuses", [False, True])
def test_groups_that_are_not_worth_asking_are_left_out(focuses):
    plan = PairedPlan(limit=0.05, groups=3)
    world = _PairedGroups(plan, np.array([0.0, 0.5, 1.0]), 20, focuses=focuses)
    world.ask(10)
    world.keep(np.arange(20) < 5)
    assert len(world.counts) == len(world.inputs) == len(world.asked) == 5
    expected = [True, not focuses, True]
    assert world.asked.tolist() == [expected] * 5
    world.ask(10)
    draws = world.counts[:, DRAWS]
    assert (draws[:, 1, 1] == (10 if focuses else 20)).all()
    assert (draws[:, 0, 2] == 20).all()
    assert (draws[:, 0, 1] == (10 if focuses else 20)).all()
    assert world.inputs.tolist() == [50 if focuses else 60] * 5


def test_two_groups_are_both_asked_to_the_end():
    plan = PairedPlan(limit=0.05, groups=2, margin=None)
    runs = group_runs(plan, 0.3, base=0.5, expensive=True)
    assert (runs.inputs == 2 * runs.draws).all()
    assert len(runs.draws) == 300


def test_wins_are_of_the_favoured_over_others():
    found = _wins(np.array([[True, False, True], [False, False, False]]))
    assert found[0].tolist() == [[1, 1, 0], [0, 0, 0], [0, 1, 1]]
    assert not found[1].any()


def test_runs_end_with_their_population():
    plan = Plan(margin=0.001, size=40)
    runs = simulated(plan, _Rate(0.5, 40, 6))
    assert runs.draws.tolist() == [40] * 6
    assert runs.mean_draws == runs.mean_inputs == 40.0


def test_means_are_of_all_runs():
    runs = Runs(np.array([1, 2, 6]), np.array([2, 4, 15]))
    assert (runs.mean_draws, runs.mean_inputs) == (3.0, 7.0)
