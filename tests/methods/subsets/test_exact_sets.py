"""Exact scores of sets: people in no group, weights, and numbers of classes."""

from __future__ import annotations

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.subsets.decision import Judge
from evenhand.methods.subsets.evaluators.exact import ExactSets
from evenhand.methods.subsets.lattice import State
from evenhand.runtime.budget import Meter, checked_budget
from evenhand.subject.view import View

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b"]),
        eh.integer("k", 0, 3),
    ]
)
POINTS = SPACE.enumerate()
LABELS = SPACE.decode(POINTS)
JUDGE = Judge(0.5, 0.05, 0.95, sets=3, at_fault=3)


def sets(model, kind, *, points=POINTS, weights=None, judge=JUDGE):
    view = View(eh.Subject(model, SPACE, positive=True))
    return ExactSets(view, kind, points, ("sex", "race"), judge, weights=weights)


def score(evaluator, mask):
    return evaluator.test(mask, Meter(checked_budget(None)))


def men_of_a(people):
    return (people["sex"] == "M") & (people["race"] == "a")


def test_whoever_is_in_no_cell_of_one_feature_is_in_none_of_the_groups():
    evaluator = sets(men_of_a, "group", points=POINTS[:6])
    evaluator._cells_of["sex"] = np.array([0, 1, -1, 0, 1, -1])
    evaluator._cells_of["race"] = np.array([0, 0, 0, -1, 0, -1])
    groups = evaluator._groups(("sex", "race")).tolist()
    assert [group == -1 for group in groups] == [False, False, True, True, False, True]
    assert groups[1] == groups[4] != groups[0]
    assert min(groups[:2]) >= 0
    alone = evaluator._groups(("sex",)).tolist()
    assert [group == -1 for group in alone] == [False, False, True, False, False, True]


def test_those_in_no_group_count_for_nothing():
    evaluator = sets(men_of_a, "group")
    is_favoured = men_of_a(LABELS).to_numpy()
    cells = np.where(LABELS["sex"] == "M", 1, 0)
    evaluator._cells_of["sex"] = np.where(is_favoured, -1, cells)
    found = score(evaluator, 0b01)
    assert found.estimate.value == 0
    assert found.state is State.BELOW


def test_the_spread_is_that_of_the_extreme_groups():
    def model(people):
        bar = 1 + (people["sex"] == "M") + (people["race"] == "a")
        return people["k"] < bar

    found = score(sets(model, "group"), 0b11)
    assert found.estimate.value == 0.5
    assert found.state is State.ABOVE
    extremes, cases = found.shown
    assert [group.about for group in extremes] == [
        {"sex": "M", "race": "a"},
        {"sex": "F", "race": "b"},
    ]
    assert [group.estimate.value for group in extremes] == [0.75, 0.25]
    assert [group.estimate.n for group in extremes] == [4, 4]
    assert cases
    assert found.estimate.n == len(POINTS)
    assert found.estimate.level == 1
    assert found.estimate.method == "enumerated"


def test_weights_count_and_groups_without_weight_do_not():
    weights = np.where(LABELS["sex"] == "F", 0.0, 2.0)
    found = score(sets(men_of_a, "group", weights=weights), 0b01)
    assert found.estimate.value == 0
    assert found.shown == ((), ())
    by_race = score(sets(men_of_a, "group", weights=weights), 0b10)
    assert by_race.estimate.value == 1
    uneven = np.where(LABELS["sex"] == "F", 3.0, 1.0)
    by_race = score(sets(men_of_a, "group", weights=uneven), 0b10)
    assert by_race.estimate.value == 0.25


def test_a_causal_score_weighs_those_who_have_a_twin_treated_otherwise():
    of_a = (LABELS["race"] == "a").to_numpy()
    found = score(sets(men_of_a, "causal"), 0b01)
    assert found.estimate.value == 0.5
    weights = np.where(of_a, 3.0, 1.0)
    weighted = score(sets(men_of_a, "causal", weights=weights), 0b01)
    assert weighted.estimate.value == 0.75


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_a_limit_of_0_is_passed_by_software_that_treats_all_alike(kind):
    judge = Judge(0.0, 0.05, 0.95, sets=3, at_fault=3)

    def everybody(people):
        return people["k"] >= 0

    assert score(sets(everybody, kind, judge=judge), 1).state is State.BELOW
    assert score(sets(men_of_a, kind, judge=judge), 1).state is State.ABOVE


@pytest.mark.parametrize("rows", [1, 3, 60])
def test_points_share_a_number_where_all_columns_are_alike(rows):
    rng = np.random.default_rng(rows)
    columns = rng.integers(0, 4, (6, rows))
    points = POINTS[rng.integers(0, len(POINTS), rows)]
    numbers = sets(men_of_a, "group", points=points)._numbers(columns)
    for one in range(rows):
        for other in range(rows):
            alike = (columns[:, one] == columns[:, other]).all()
            assert (numbers[one] == numbers[other]) == alike
    assert numbers.min() >= 0


def test_inputs_that_are_kept_are_one_draw_with_their_twins():
    alone = sets(men_of_a, "group").kept(1, 0)
    assert alone is not None
    group = np.asarray(alone.draw)
    assert len(set(group.tolist())) == len(POINTS)
    causal = sets(men_of_a, "causal").kept(1, 0)
    classes = np.asarray(causal.draw)
    assert len(set(classes.tolist())) == 2 * 4


def test_a_feature_of_more_values_than_are_ever_listed_can_be_sampled():
    space = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("number", 0, 10**9)])
    result = eh.subsets(
        lambda people: people["sex"] == "M",
        space,
        limit=0.5,
        exact=False,
        budget=eh.Budget(queries=20_000),
        progress=False,
    )
    (worst,) = [finding for finding in result.findings if finding.verdict == "fail"]
    assert tuple(worst.about) == ("sex",)
