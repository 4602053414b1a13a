"""A person and a twin: who is chosen, and by how much they differ beyond chance."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.population.samplers import Draws, Uniform
from evenhand.runtime.random_streams import stream
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
    return ExcessCount(
        View(subject),
        draws,
        names,
        repeats,
        0,
    )


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


def races(levels: int) -> eh.Space:
    race = eh.category("race", [f"r{number}" for number in range(levels)])
    return eh.Space([race, eh.integer("id", 0, 99)], protected=["race"])


@pytest.mark.parametrize(
    ("levels", "repeats", "asked", "most"),
    [
        (2, 2, 4, 4),
        (2, 3, 6, 6),
        # Everybody once, and two answers to each of two.
        (3, 2, 3 + 4, 3 + 3 + 4),
        # With so much noise few twins are all asked as often.
        (3, 3, 3 * 3 + 6, 3 + 2 * 3 + 6),
        (5, 3, 3 * 5 + 6, 5 + 2 * 5 + 6),
        (6, 3, 6 + 6, 6 + 2 * 5 + 6),
    ],
)
def test_how_much_is_asked_where_nobody_differs(levels, repeats, asked, most):
    count = count_of(lambda people: people["id"] > 50, races(levels), repeats)
    found = count((0, 12))
    assert set(found.costs.tolist()) == {asked}
    assert found.asked == found.executed == 12 * asked
    assert count.cost == most
    again = count((12, 15))
    assert again.asked == again.executed == 3 * asked


def test_of_many_twins_four_are_asked_again():
    """All nine twins of the first race differ from it."""
    count = count_of(lambda people: people["race"] == "r0", races(10))
    found = count((0, 60))
    is_first = count.draws.take(0, 60)[:, 0] == 0
    assert 0 < is_first.sum() < 60
    assert set(found.costs[is_first].tolist()) == {10 + 5 + 4}
    assert set(found.costs[~is_first].tolist()) == {10 + 4}
    assert count.cost == 10 + 5 + 4


@pytest.mark.parametrize(("rows", "batches"), [(1, 6), (8, 3), (99, 1)])
def test_no_more_is_asked_at_once_than_fits(monkeypatch, rows, batches):
    monkeypatch.setattr("evenhand.scores.chance.pairs.ROWS", rows)
    sizes = []

    def noted(people: Any) -> Any:
        sizes.append(len(people))
        return people["race"] == "a"

    count_of(noted, TWO)((0, 6))
    assert sizes == [24 // batches] * batches


def test_cases_and_answers_are_numbered_as_draws():
    count = count_of(lambda people: (people["race"] == "a") & (people["id"] > 20), TWO)
    found = count((10, 40))
    points = count.draws.take(10, 40)
    clear = (10 + np.flatnonzero(points[:, 1] > 20)).tolist()
    assert [number for number, _ in found.witnesses] == clear[:3]
    for number, case in found.witnesses:
        assert case.individual["id"] == points[number - 10, 1]
        is_a = case.individual["race"] == "a"
        assert case.outcomes == (is_a, not is_a)
    numbers = {answer: number for number, answer in found.answers}
    assert numbers[True] == clear[0]
    assert numbers[False] in (10, clear[0])


def test_which_twin_is_taken_where_none_differs_follows_the_number_of_the_draw():
    count = count_of(lambda people: people["id"] > 50, races(3))
    points = np.asfortranarray([[0.0, 7.0]] * 4)
    rng = np.random.default_rng(0)
    assert count._choose(points, 0, rng).twins[:, 0].tolist() == [1, 2, 1, 2]
    assert count._choose(points, 1, rng).twins[:, 0].tolist() == [2, 1, 2, 1]
    of_last = np.asfortranarray([[2.0, 7.0]] * 2)
    assert count._choose(of_last, 0, rng).twins[:, 0].tolist() == [0, 1]


def test_who_differs_most_is_taken():
    def score(people: Any) -> Any:
        return people["race"].map({"r0": 0.0, "r1": 3.0, "r2": 9.0, "r3": 6.0})

    count = count_of(score, races(4), differs=lambda a, b: np.abs(a - b) / 10)
    points = np.asfortranarray([[0.0, 7.0], [1.0, 7.0], [2.0, 7.0]])
    choice = count._choose(points, 0, np.random.default_rng(0))
    assert choice.twins[:, 0].tolist() == [2, 2, 0]
    found = count.count(points)
    assert excess_of(count, found.hits) == pytest.approx([0.9, 0.6, 0.9])
    # No distance is whole: nobody is a clear case.
    assert found.witnesses == []


def test_distances_between_and_within_are_averages():
    count = count_of(lambda people: people["id"] > 50, TWO, repeats=3)
    own = np.array([[True], [True], [False]])
    other = np.array([[False], [False], [True]])
    # Of nine pairs five differ; of three within each, two.
    assert count._between(own, other).tolist() == pytest.approx([5 / 9])
    assert count._within(own).tolist() == pytest.approx([2 / 3])
    two = count_of(lambda people: people["id"] > 50, TWO)
    assert two._between(own[:2], other[1:]).tolist() == pytest.approx([0.5])
    assert two._within(other[1:]).tolist() == [1.0]


def test_a_twin_that_may_lie_beside_counts():
    """A continuous feature has its own value beside the middles of its bins."""
    space = eh.Space([eh.real("rate", 0, 1, bins=3), eh.integer("id", 0, 9)], ["rate"])
    count = count_of(lambda people: people["id"] > 5, space)
    assert count._may_be_beside
    twins = len(space.assignments(("rate",)))
    assert count.cost == (1 + twins) + (1 + min(4, twins)) + 4


def test_a_case_shows_the_first_answers():
    """Answers to the same input differ by less than the threshold."""

    def drifting(people: Any) -> Any:
        return 100.0 * (people["race"] == "a").to_numpy() + 0.25 * np.arange(len(people))

    count = count_of(drifting, TWO, differs=5.0)
    found = count.count(np.asfortranarray([[0.0, 7.0]]))
    ((number, case),) = found.witnesses
    # The person twice and the twin twice, asked in an order by chance.
    order = stream(0, "order", "race", 0).permutation(4).tolist()
    own, other = (0.25 * order.index(place) for place in (0, 2))
    assert number == 0
    assert case.outcomes == (100.0 + own, other)
