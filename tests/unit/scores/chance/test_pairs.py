"""A person and a twin: who is chosen, and by how much they differ beyond chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Draws, Uniform
from evenhand.scores.chance.pairs import ExcessCount
from evenhand.subject.view import View

SPACE = eh.Space(
    [eh.category("race", ["a", "b", "c", "d", "e"]), eh.integer("id", 0, 9999)],
    protected=["race"],
)

TWO = eh.Space(
    [eh.category("race", ["a", "b"]), eh.integer("id", 0, 99)],
    protected=["race"],
)


def count_of(decide: Any, space: eh.Space = SPACE, repeats: int = 2, **options: Any) -> Any:
    """Return what counts the excess of software."""
    subject = eh.Subject(decide, space, **options)
    names = tuple(space.protected)
    draws = Draws(Uniform(), space, 0, "test")
    return ExcessCount(View(subject), draws, names, repeats, 0)


def excess_of(count: Any, hits: Any) -> Any:
    """Return the excess of each draw."""
    return hits[:, :-1] @ count.grid.points


def standard_error(values: Any) -> float:
    """Return how far the mean of values is off, about."""
    deviation = float(values.std())
    return deviation / math.sqrt(len(values))


def test_without_chance_it_is_whether_some_twin_differs():
    count = count_of(lambda people: (people["race"] == "c") & (people["id"] % 2 == 0))
    found = count((0, 200))
    points = count.draws.take(0, 200)
    has_other_twin = points[:, 1] % 2 == 0
    values = excess_of(count, found.hits)
    assert values.tolist() == has_other_twin.tolist()
    assert not found.hits[:, -1].any()
    for number, case in found.witnesses:
        assert case.changed == ("race",)
        assert "c" in (case.individual["race"], case.twin["race"])
        assert points[number, 1] == case.individual["id"]


def test_what_is_asked_is_counted():
    count = count_of(lambda people: people["race"] == "c")
    found = count((0, 50))
    assert found.costs.sum() == found.asked == count.subject.executed
    assert found.costs.max() <= count.cost
    of_c = count.draws.take(0, 50)[:, 0] == 2
    # Five races, all four twins of c once more with itself, and two answers to each of two.
    assert set(found.costs[of_c]) == {5 + 5 + 4}
    # The only twin that differs needs no second look.
    assert set(found.costs[~of_c]) == {5 + 4}


def test_the_only_twin_is_not_chosen_by_its_answers():
    count = count_of(lambda people: people["race"] == "a", TWO, repeats=3)
    found = count((0, 20))
    assert count.cost == 6
    assert set(found.costs) == {6}
    assert excess_of(count, found.hits).tolist() == [1.0] * 20


def test_who_has_no_twin_does_not_differ():
    space = eh.Space(
        [eh.category("race", ["a", "b"]), eh.integer("id", 0, 99)],
        protected=["race"],
        constraints=["not (race == 'b' and id < 50)"],
    )
    count = count_of(lambda people: people["race"] == "a", space)
    found = count((0, 60))
    points = count.draws.take(0, 60)
    has_twin = points[:, 1] >= 50
    assert 0 < has_twin.sum() < 60
    assert excess_of(count, found.hits).tolist() == has_twin.tolist()


@pytest.mark.parametrize("repeats", [2, 3])
def test_chance_alone_has_no_excess_on_average(repeats):
    rng = np.random.default_rng(1)
    count = count_of(lambda people: rng.random(len(people)) < 0.3, repeats=repeats)
    found = count((0, 20_000))
    values = excess_of(count, found.hits)
    assert abs(values.mean()) < 4 * standard_error(values)
    assert -1 / repeats <= values.min() < 0


def test_another_rate_is_an_excess_though_nobody_always_differs():
    """Half the squared distance of their chances: (0.9 - 0.4)² for two labels."""
    rng = np.random.default_rng(2)

    def lottery(people):
        chance = np.where(people["race"] == "a", 0.9, 0.4)
        return rng.random(len(people)) < chance

    count = count_of(lottery, TWO)
    found = count((0, 20_000))
    values = excess_of(count, found.hits)
    assert abs(values.mean() - 0.25) < 4 * standard_error(values)


def test_a_fault_with_a_rhythm_does_not_keep_time_with_the_twins():
    """A balancer sends every other input to a server that answers no."""
    calls = 0

    def balanced(people):
        nonlocal calls
        numbers = np.arange(calls, calls + len(people))
        calls += len(people)
        return numbers % 2 == 0

    count = count_of(balanced, TWO)
    found = count((0, 5000))
    values = excess_of(count, found.hits)
    assert abs(values.mean()) < 0.03


def test_distances_are_averaged():
    def score(people):
        return people["id"] + 5.0 * (people["race"] == "e")

    def distance(a, b):
        return np.minimum(np.abs(a - b) / 10, 1)

    count = count_of(score, differs=distance)
    assert count.grid.low == -1
    found = count((0, 100))
    values = excess_of(count, found.hits)
    assert values == pytest.approx(np.full(100, 0.5))


def test_large_and_small_batches_count_alike():
    count = count_of(lambda people: (people["race"] == "c") & (people["id"] % 3 == 0))
    whole = count((0, 90))
    parts = [count((start, start + 30)) for start in (0, 30, 60)]
    hits = np.concatenate([part.hits for part in parts])
    costs = np.concatenate([part.costs for part in parts])
    assert (hits == whole.hits).all()
    assert (costs == whole.costs).all()


def test_a_draw_that_takes_more_than_fits_is_asked_alone(monkeypatch):
    count = count_of(lambda people: people["race"] == "c")
    whole = count((0, 6))
    monkeypatch.setattr("evenhand.scores.chance.pairs.ROWS", 1)
    one_by_one = count((0, 6))
    assert (one_by_one.hits == whole.hits).all()
    assert (one_by_one.costs == whole.costs).all()
    assert [number for number, _ in one_by_one.witnesses] == [0, 1, 2]


@pytest.mark.parametrize("twins_missing", [False, True])
def test_who_lacks_a_value_has_as_many_twins(twins_missing):
    """Three values and a gap: a gap that is no twin has all three of them for twins."""
    race = eh.category("race", ["a", "b", "c"], missing=True, twins_missing=twins_missing)
    space = eh.Space([race, eh.integer("id", 0, 99)], protected=["race"])
    count = count_of(lambda people: people["id"] > 50, space)
    assert count._may_be_beside == (not twins_missing)
    # Once each, once more to choose a twin, and two answers to each of two.
    assert count.cost == (1 + 3) + (1 + 3) + 4
