"""Steps of a user's own: which are taken, and what is said of those that lead nowhere."""

from __future__ import annotations

import math

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.scores.neighbour_steps import checked_steps, free_features
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


@pytest.mark.parametrize(
    ("move", "steps"),
    [
        ({"rate": 1}, {"rate": 1.0}),
        ({"rate": 1e-300}, {"rate": 1e-300}),
        ({"income": 200}, {"income": 200.0}),
        ({"since": 1}, {"since": 1.0}),
        ({"income": 20 * (1 + 0.9e-9)}, {"income": 20.0}),
        ({"income": 20 * (1 - 0.9e-9)}, {"income": 20.0}),
    ],
)
def test_steps_up_to_the_whole_range_are_taken(move, steps):
    assert checked_steps(SPACE, ["sex"], move) == steps


@pytest.mark.parametrize("off", [1.1e-9, -1.1e-9])
def test_a_step_may_miss_a_whole_number_by_rounding_alone(off):
    def step() -> object:
        return checked_steps(SPACE, ["sex"], {"income": 20 * (1 + off)})

    refused(UsageError, step, "no whole number of its steps of 10")


@pytest.mark.parametrize(
    ("feature", "move", "end"),
    [
        (real("x", 0, 5), 0, "over 0, such as 0.05"),
        (real("x", 3, 3), 0, "over 0, such as 1"),
        (real("x", 0, 5, step=0.5), -1, "over 0, such as 0.5"),
        (real("x", 0, 5), math.inf, "over 0, such as 0.05"),
        (real("x", 1, 5), 6, "the nearest choice is 4"),
        (integer("x", 0, 19, step=5), 20, "the nearest choice is 15"),
        (integer("x", 0, 20, step=5), 21, "the nearest choice is 20"),
        (integer("x", 0, 19, step=5), 18, "the nearest choice is 15"),
        (integer("x", 0, 19, step=5), 2, "the nearest choice is 5"),
        (integer("x", 0, 19, step=5), 8, "the nearest choice is 10"),
        (real("x", 0, 0.3, step=0.1), 0.29, "the nearest choice is 0.3"),
    ],
)
def test_the_nearest_step_is_named_in_full(feature, move, end):
    space = Space([category("sex", ["F", "M"]), feature])
    with pytest.raises(UsageError) as error:
        checked_steps(space, ["sex"], {"x": move})
    assert str(error.value).endswith(end)


def test_what_neighbours_may_change_is_neither_at_issue_nor_protected_nor_hidden():
    assert free_features(SPACE, ["sex"]) == (2, 3, 4, 5, 6)
    assert free_features(SPACE, ["rate", "town"]) == (0, 2, 4, 6)
    hidden = Space([category("sex", ["F", "M"]), integer("a", 0, 1, passed=False)])
    assert free_features(hidden, ["sex"]) == ()
