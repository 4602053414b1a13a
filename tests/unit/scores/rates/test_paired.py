"""Groups that are asked about the same people: which are worth asking next."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.scores.groups import Groups
from evenhand.scores.rates.paired import FOCUS_AFTER, FOCUS_UNTIL, PairedCount, worth_asking
from evenhand.statistics.sequential.paired_groups import DRAWS, PairedPlan
from evenhand.subject.view import View

PLAN = PairedPlan(limit=0.1, groups=3)
ALL = [True, True, True]
EXTREMES = [True, False, True]

SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("id", 0, 99)], protected=["race"]
)


def counts_of(rows: list[list[float]], plan: PairedPlan = PLAN) -> Any:
    """Return what was counted after some people, each a row with the outcome in each group."""
    return plan.counted(np.array(rows, dtype=float))


def test_the_extremes_are_asked_once_each_group_was_asked_often_enough():
    ordered = [1.0, 1.0, 0.0]
    middle = [1.0, 0.0, 0.0]
    assert FOCUS_AFTER == 4
    before = counts_of([ordered, middle, middle])
    assert worth_asking(PLAN, before).tolist() == ALL
    after = counts_of([ordered, middle, middle, ordered])
    assert worth_asking(PLAN, after).tolist() == EXTREMES


def test_the_others_are_asked_again_lest_the_extremes_are_chosen_for_good():
    start = [[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 2
    for often, expected in [(23, EXTREMES), (24, ALL)]:
        more = [[1.0, np.nan, 0.0]] * (4 * often - 4)
        counts = counts_of([*start, *more])
        assert counts[DRAWS].max() == often * counts[DRAWS].min()
        assert worth_asking(PLAN, counts).tolist() == expected
    assert FOCUS_UNTIL == 24


def test_a_pair_that_differs_by_the_limit_is_one_to_look_at():
    plan = PairedPlan(limit=0.25, groups=3)
    by_limit = [[1.0, 1.0, 0.0], *[[0.0, 0.0, 0.0]] * 3]
    assert worth_asking(plan, counts_of(by_limit, plan)).tolist() != ALL
    below = [*by_limit, [0.0, 0.0, 0.0]]
    assert worth_asking(plan, counts_of(below, plan)).tolist() == ALL


def test_a_group_that_is_like_all_others_is_not_asked():
    """Two groups are alike; the third was asked about few people."""
    asked_both = [[1.0, 1.0, np.nan]] * 200
    counts = counts_of([*[[1.0, 1.0, 1.0]] * 3, *asked_both])
    alike = PLAN.alike(counts)
    assert alike.tolist() == [
        [True, True, False],
        [True, True, False],
        [False, False, True],
    ]
    assert worth_asking(PLAN, counts).tolist() == ALL
    all_alike = counts_of([[1.0, 1.0, 1.0]] * 200)
    assert PLAN.alike(all_alike).all()
    # One has to be asked: then all are.
    assert worth_asking(PLAN, all_alike).tolist() == ALL


def test_one_group_is_known_before_others_are():
    """The first differs from nobody by the limit, and the others are not known to be alike."""
    with_first = [[1.0, 1.0, np.nan], [1.0, np.nan, 1.0]] * 200
    counts = counts_of([*[[1.0, 1.0, 1.0]] * 3, *with_first])
    assert worth_asking(PLAN, counts).tolist() == [False, True, True]


def test_without_a_limit_all_are_asked():
    plan = PairedPlan(limit=None, groups=3, margin=0.1)
    counts = counts_of([[1.0, 1.0, 0.0]] * 50, plan)
    assert worth_asking(plan, counts).tolist() == ALL


def test_expensive_software_is_measured_without_a_limit():
    count = count_of()
    count.subject.adapter.expensive = True
    found = eh.measure(
        count.subject,
        over="race",
        kind="group",
        margin=0.2,
        exact=False,
    )
    estimate = found.findings[0].estimate
    assert estimate.low <= 0.5 <= estimate.high
    assert estimate.high - estimate.low <= 0.4
    assert [group.estimate.n for group in found.findings[0].groups] == [estimate.n // 3] * 3


def test_many_runs_are_looked_at_as_each_by_itself():
    rng = np.random.default_rng(0)
    runs = []
    for size in (2, 5, 60, 200, 400):
        for chance in (0.0, 0.05, 0.5):
            amounts = np.ones((size, 3))
            amounts[:, 2] = rng.random(size) >= chance
            runs.append(PLAN.counted(amounts))
    at_once = worth_asking(PLAN, np.stack(runs)).tolist()
    assert at_once == [worth_asking(PLAN, run).tolist() for run in runs]
    assert ALL in at_once
    assert [False, False, True] not in at_once
    assert sum(row != ALL for row in at_once) > 2


def count_of(plan: PairedPlan = PLAN) -> PairedCount:
    def decide(people: Any) -> Any:
        return (people["race"] == "a") | (people["id"] < 50)

    subject = eh.Subject(decide, SPACE, positive=True)
    groups = Groups(SPACE, ("race",))
    return PairedCount.of(
        View(subject),
        groups,
        (0, 1, 2),
        plan,
        Uniform(),
        0,
    )


def test_cheap_software_is_asked_about_all_groups():
    count = count_of()
    counts = counts_of([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0]] * 2)
    assert count.after(counts) is count
    count.subject.adapter.expensive = True
    assert list(count.after(counts).asked) == EXTREMES


def test_each_draw_is_one_person_in_every_group(monkeypatch):
    count = count_of()
    found = count((0, 20))
    low = count.people.take(0, 20)[:, 1] < 50
    assert found.hits[:, 0].all()
    assert found.hits[:, 1].tolist() == low.tolist()
    assert found.hits[:, 2].tolist() == low.tolist()
    assert found.costs is not None
    assert found.costs.tolist() == [3] * 20
    assert found.asked == 60
    first_refused = int(np.flatnonzero(~low)[0])
    assert found.answers == [(0, True), (first_refused, False)]
    monkeypatch.setattr("evenhand.scores.rates.paired.ROWS", 1)
    one_by_one = count((0, 20))
    assert (one_by_one.hits == found.hits).all()
    assert one_by_one.asked == 60


def test_groups_that_are_not_asked_have_no_amount():
    found = replace(count_of(), asked=(True, False, True))((5, 9))
    assert np.isnan(found.hits[:, 1]).all()
    assert not np.isnan(found.hits[:, [0, 2]]).any()
    assert found.costs is not None
    assert found.costs.tolist() == [2] * 4
    assert found.asked == 8


@pytest.mark.parametrize("number", [0, 1, 2])
def test_the_inputs_of_a_group_are_the_same_people(number):
    count = count_of()
    points = count.inputs(number, 7)
    assert points[:, 0].tolist() == [number] * 7
    assert points[:, 1].tolist() == count.people.take(0, 7)[:, 1].tolist()


@pytest.mark.parametrize(
    ("rows", "batches"), [(1, [3] * 10), (12, [12, 12, 6]), (99, [30])]
)
def test_no_more_is_asked_at_once_than_fits(monkeypatch, rows, batches):
    monkeypatch.setattr("evenhand.scores.rates.paired.ROWS", rows)
    sizes = []

    def noted(people: Any) -> Any:
        sizes.append(len(people))
        return people["id"] < 50

    subject = eh.Subject(noted, SPACE, positive=True)
    groups = Groups(SPACE, ("race",))
    count = PairedCount.of(
        View(subject),
        groups,
        (0, 1, 2),
        PLAN,
        Uniform(),
        0,
    )
    count((0, 10))
    assert sizes == batches


def test_what_a_call_asked_is_counted_alone():
    count = count_of()
    count((0, 10))
    second = count((10, 14))
    assert (second.asked, second.executed) == (12, 12)
    assert second.witnesses == []
    low = count.people.take(10, 14)[:, 1] < 50
    assert second.hits[:, 1].tolist() == low.tolist()
    for number, answer in second.answers:
        person = number - 10
        granted = second.hits[person].tolist()
        assert float(answer) in granted


def test_two_groups_are_both_asked_however_expensive():
    plan = PairedPlan(limit=0.1, groups=2)
    groups = Groups(SPACE, ("race",))
    subject = eh.Subject(lambda people: people["id"] < 50, SPACE, positive=True)
    subject.adapter.expensive = True
    count = PairedCount.of(
        View(subject),
        groups,
        (0, 2),
        plan,
        Uniform(),
        0,
    )
    assert count.after(plan.counted(np.array([[1.0, 0.0]] * 9))) is count
    assert count.cost == 2


def test_people_are_lent_values_of_a_bin():
    """The ages of a group are drawn, and everything else is that of the person."""
    space = eh.Space([eh.integer("age", 0, 99, bins=(0, 30, 99)), eh.integer("id", 0, 99)])
    groups = Groups(space, ("age",))
    subject = eh.Subject(lambda people: people["id"] < 50, space, positive=True)
    plan = PairedPlan(limit=0.1, groups=2)
    count = PairedCount.of(
        View(subject),
        groups,
        (0, 1),
        plan,
        Uniform(),
        0,
    )
    people = count.people.take(4, 24)
    for number in (0, 1):
        moved_there = count._in_group(people, number, 4, 24)
        assert groups.of(moved_there).tolist() == [number] * 20
        assert moved_there[:, 1].tolist() == people[:, 1].tolist()
        lent = count.within[number].take(4, 24)[:, 0]
        assert moved_there[:, 0].tolist() == lent.tolist()
        assert len(set(lent.tolist())) > 5


def test_cases_are_of_the_first_people():
    count = count_of()
    cases, asked = count.cases(0, 2)
    people = count.people.take(0, 32)[:, 1]
    assert [case.individual["id"] for case in cases] == people[people >= 50][:3].tolist()
    assert {case.individual["race"] for case in cases} == {"a"}
    assert {case.twin["race"] for case in cases} == {"c"}
    assert asked == 64


def test_totals_are_those_of_the_plan():
    rows = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    first, second = count_of().totals().add(rows, [2, 3])
    assert (first == PLAN.counted(rows[:2])).all()
    assert (second == PLAN.counted(rows[2:], first)).all()
