"""Steps of a user's own: which are taken, and what is said of those that lead nowhere."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.scores.neighbour_steps import checked_steps
from evenhand.scores.neighbours import Neighbours
from evenhand.space.feature import category, date, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import refused

SPACE = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
        integer("income", 0, 203, step=10),
        real("rate", 0, 1),
        real("share", 0, 1, step=0.1),
        category("town", ["a", "b"]),
        date("since", "2020-01-01", "2021-12-31"),
    ],
    protected=["age"],
)


@pytest.mark.parametrize(
    ("move", "steps"),
    [
        (None, {}),
        ({}, {}),
        ({"income": 30}, {"income": 30.0}),
        ({"rate": 0.25, "share": 0.3}, {"rate": 0.25, "share": 0.3}),
        ({"since": np.int64(30)}, {"since": 30.0}),
    ],
)
def test_steps_by_feature(move, steps):
    assert checked_steps(SPACE, ["sex"], move) == pytest.approx(steps)


def test_one_step_is_for_every_number_that_neighbours_change():
    space = Space([category("sex", ["F", "M"]), integer("age", 18, 90), real("rate", 0, 9)])
    assert checked_steps(space, ["sex"], 2) == {"age": 2.0, "rate": 2.0}
    assert checked_steps(space, ["sex", "age"], 0.5) == {"rate": 0.5}


@pytest.mark.parametrize(
    ("move", "words"),
    [
        (
            {"incme": 5},
            ["move names 'incme', which is not a feature", "did you mean 'income'"],
        ),
        ({"town": 1}, ["move names 'town', a category"]),
        ({"age": 1}, ["move names 'age', which neighbours keep"]),
        ({"income": 0}, ["move = 0 for 'income' must be a number over 0, such as 10"]),
        ({"income": True}, ["move = True for 'income' must be a number over 0"]),
        ({"rate": "much"}, ["move = 'much' for 'rate' must be a number", "such as 0.01"]),
        ({"rate": float("nan")}, ["move = nan for 'rate' must be a number over 0"]),
        ({"income": 14}, ["no whole number of its steps of 10", "nearest choice is 10"]),
        ({"income": 3}, ["no whole number of its steps of 10", "nearest choice is 10"]),
        ({"income": 201}, ["no whole number of its steps of 10", "nearest choice is 200"]),
        ({"income": 500}, ["is more than the range of", "nearest choice is 200"]),
        ({"rate": 2}, ["is more than the range of", "nearest choice is 1"]),
        (5, ["move = 5 for 'income'", "no whole number of its steps"]),
    ],
)
def test_a_step_that_leads_nowhere_is_named_with_the_nearest_choice(move, words):
    refused(UsageError, lambda: checked_steps(SPACE, ["sex"], move), *words)


def test_a_step_needs_a_number_that_neighbours_change():
    space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    refused(
        UsageError, lambda: checked_steps(space, ["age"], 5), "move = 5, but no feature"
    )


def test_neighbours_are_as_far_away_as_the_step_says():
    subject = Subject(lambda people: people["rate"] > 0.5, SPACE, positive=True)
    steps = {"income": 30.0, "rate": 0.25}
    neighbours = Neighbours.of(View(subject), ["sex"], steps=steps)
    row = np.array([[0.0, 30.0, 100.0, 0.4, 0.5, 1.0, 18_300.0]])
    income, rate, share = (SPACE.index(name) for name in ("income", "rate", "share"))
    every = neighbours.every(row)
    assert sorted({*every[:, income].tolist()}) == [70.0, 100.0, 130.0]
    assert sorted({*every[:, rate].tolist()}) == pytest.approx([0.15, 0.4, 0.65])
    assert sorted({*every[:, share].tolist()}) == pytest.approx([0.4, 0.5, 0.6])
    # No further than the ends, which lie on the grid.
    at_the_end = row.copy()
    at_the_end[:, income] = 190
    assert neighbours.every(at_the_end)[:, income].max() == 200
    rng = np.random.default_rng(0)
    drawn = neighbours.drawn(np.repeat(row, 400, axis=0), rng)
    assert set(drawn[:, income].tolist()) == {70.0, 100.0, 130.0}
