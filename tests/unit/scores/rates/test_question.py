"""The group question of rates: the tests behind a score."""

from __future__ import annotations

from typing import Any

import numpy as np

import evenhand as eh
from evenhand.population.samplers import Uniform
from evenhand.scores.question import Terms
from evenhand.scores.rates.groups import GroupCount
from evenhand.scores.rates.paired import PairedCount
from evenhand.scores.rates.question import GroupQuestion
from evenhand.statistics.sequential.paired_groups import PairedPlan
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c"]), eh.integer("id", 0, 99)], protected=["race"]
)


def decide(people: Any) -> Any:
    return (people["race"] == "a") | (people["id"] < 50)


def question_of() -> GroupQuestion:
    return GroupQuestion(View(eh.Subject(decide, SPACE, positive=True)), ("race",))


def test_the_same_people_are_kept_as_members_of_each_group():
    question = question_of()
    plan = PairedPlan(limit=0.1, groups=3)
    members = (0, 1, 2)
    count = PairedCount.of(question.view, question.groups, members, plan, Uniform(), 0)
    (tests,) = question._asked_alike(count, np.array([3, 1, 2]))
    assert tests.kind == "group"
    assert tests.over == ("race",)
    assert tests.points[:, 0].tolist() == [0, 0, 0, 1, 2, 2]
    assert tests.draw.tolist() == [0, 1, 2, 0, 0, 1]
    assert tests.own.tolist() == [True] * 6
    people = count.people.take(0, 3)[:, 1]
    assert tests.points[:, 1].tolist() == people[[0, 1, 2, 0, 0, 1]].tolist()
    is_granted = (tests.points[:, 0] == 0) | (tests.points[:, 1] < 50)
    assert tests.outcomes.tolist() == is_granted.tolist()


def test_people_of_each_group_are_kept_with_their_numbers():
    question = question_of()
    count = GroupCount.of(question.view, question.groups, (0, 2), Uniform(), 0)
    assert question._drawn(count, np.array([2, 1]), keep=False) == []
    (tests,) = question._drawn(count, np.array([2, 1]), keep=True)
    assert tests.points[:, 0].tolist() == [0, 0, 2]
    assert tests.draw.tolist() == [0, 1, 0]
    assert tests.own.tolist() == [True] * 3


def test_the_fewest_inputs_are_those_of_software_that_treats_all_alike():
    """A run of software that treats all alike, counted."""
    alike = eh.Subject(lambda people: people["id"] < 50, SPACE, positive=True)
    alike.adapter.expensive = True
    question = GroupQuestion(View(alike), ("race",))
    found = eh.measure(alike, over="race", kind="group", limit=0.2, exact=False)
    assert question.fewest(Terms(Uniform(), limit=0.2)) == found.findings[0].estimate.n
