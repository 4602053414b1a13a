"""What is added to training rows: twins, found inputs, their variants, members of a subgroup, and
how much of them.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.repair.methods import additions
from evenhand.methods.repair.methods.labelling import Labeller, labeller
from evenhand.runtime.errors import UsageError
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

PEOPLE = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
        category("race", ["a", "b", "c", "d", "e"]),
        category("town", ["p", "q", "r"]),
    ],
    protected=["sex", "race"],
    constraints=["not (sex == 'F' and race == 'e')"],
)
ALONE = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])


def draws(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def rule(space: Space, function: Any, names: tuple[str, ...]) -> Labeller:
    """A function of the user that labels inputs with yes and no."""
    rows = space.draw(2, draws())
    view = View(Subject(lambda frame: ["yes"] * len(frame), space))
    truth = np.array(["no", "yes"])
    return labeller(
        function, view=view, names=names, points=rows, truth=truth, regression=False, seed=0
    )


def assigned(space: Space, point: Any, names: tuple[str, ...]) -> set[tuple[float, ...]]:
    """Every other valid variant of a point, one at a time."""
    at = list(space.sets(names))
    own = [{*space.features[position].values().tolist(), point[position]} for position in at]
    found = np.tile(point, (int(np.prod([len(values) for values in own])), 1))
    found[:, at] = list(itertools.product(*own))
    return {tuple(other) for other in found[space.valid(found)].tolist()} - {tuple(point.tolist())}


@settings(max_examples=examples(60), deadline=None)
@given(spaces(constrained=True), st.data())
def test_others_are_all_other_valid_variants_or_some_of_them(space: Space, data: Any) -> None:
    names = tuple(
        data.draw(st.lists(st.sampled_from(space.names), min_size=1, max_size=3, unique=True))
    )
    most, seed = data.draw(st.integers(1, 12)), data.draw(st.integers(0, 99))
    points = space.draw(7, draws(seed))
    found, rows = additions.others(space, points, names, most, draws(seed))
    assert space.valid(found).all()
    assert (np.diff(rows) >= 0).all()
    for row, point in enumerate(points):
        mine = [tuple(other) for other in found[rows == row].tolist()]
        expected = assigned(space, point, names)
        assert len(set(mine)) == len(mine) == min(most, len(expected))
        assert set(mine) <= expected
    again = additions.others(space, points, names, most, draws(seed))
    assert (found == again[0]).all()
    assert (rows == again[1]).all()


def test_of_too_many_assignments_some_are_tried_for_each_input() -> None:
    space = Space(
        [*PEOPLE.features, real("rate", 0, 1, bins=3)], ["sex", "race"], PEOPLE.constraints
    )
    names = ("age", "sex", "race", "rate")  # 2,920 assignments
    points = space.draw(200, draws())
    found, rows = additions.others(space, points, names, 8, draws())
    assert np.bincount(rows).tolist() == [8] * 200
    assert len(np.unique(np.column_stack([rows, found]), axis=0)) == len(found)
    assert space.valid(found).all()
    assert (found != points[rows]).any(axis=1).all()
    assert (found[:, 3] == points[rows, 3]).all()
    assert len(np.unique(found[:, 1])) > 60  # not the same few for all


def test_a_value_in_the_middle_of_its_bin_is_no_variant_twice() -> None:
    space = Space([category("sex", ["F", "M"]), real("rate", 0, 1, bins=2)])
    found, rows = additions.others(
        space, np.array([[0.0, 0.25], [0.0, 0.4]]), ("sex", "rate"), 8, draws()
    )
    assert sorted(found[rows == 0].tolist()) == [[0.0, 0.75], [1.0, 0.25], [1.0, 0.75]]
    assert sorted(found[rows == 1].tolist()) == [
        [0, 0.25],
        [0, 0.75],
        [1, 0.25],
        [1, 0.4],
        [1, 0.75],
    ]


def test_which_variants_are_taken_of_many_is_chance() -> None:
    points = np.tile([1.0, 30.0, 0.0, 0.0], (4000, 1))
    found, _ = additions.others(PEOPLE, points, ("sex", "race"), 2, draws())
    counts = np.unique(found, axis=0, return_counts=True)[1]
    assert len(counts) == 8  # nine valid combinations, its own left out
    assert (np.abs(counts - 1000) < 150).all()


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 40), st.floats(0.001, 1), st.integers(1, 9), st.integers(0, 99))
def test_twins_have_the_labels_of_their_rows(size: int, share: float, most: int, seed: int) -> None:
    rows = PEOPLE.draw(size, draws(seed))
    truth = np.array([f"label {row}" for row in range(size)])
    found, labels, origin = additions.twins(
        PEOPLE, rows, truth, ("sex", "race"), share, draws(seed), most
    )
    assert labels.tolist() == truth[origin].tolist()
    taken = np.unique(origin)
    assert len(taken) == max(1, round(share * size))
    assert (np.diff(origin) >= 0).all()
    assert np.bincount(origin)[taken].tolist() == [min(most, 8)] * len(taken)
    assert PEOPLE.valid(found).all()
    assert (found[:, [1, 3]] == rows[origin][:, [1, 3]]).all()
    assert (found != rows[origin]).any(axis=1).all()


def test_a_share_of_one_takes_every_row_and_others_differ_by_seed() -> None:
    rows = ALONE.draw(50, draws())
    truth = rows[:, 1] > 50
    found, labels, origin = additions.twins(ALONE, rows, truth, ("sex",), 1.0, draws())
    assert origin.tolist() == list(range(50))
    assert (found[:, 0] == 1 - rows[:, 0]).all()
    assert labels.dtype == np.bool_
    some = [
        additions.twins(ALONE, rows, truth, ("sex",), 0.2, draws(seed))[2].tolist()
        for seed in (0, 0, 1)
    ]
    assert some[0] == some[1] != some[2]
    assert additions.twins(ALONE, rows[:0], truth[:0], ("sex",), 0.5, draws())[0].shape == (0, 2)
    for share in (0.0, 1.5, float("nan")):
        refused(
            UsageError,
            partial(additions.twins, ALONE, rows, truth, ("sex",), share, draws()),
            "share",
        )


@pytest.mark.parametrize(("n", "times"), [(0, 0), (7, 1), (20, 1), (33, 2), (60, 3)])
def test_found_inputs_are_each_taken_before_one_is_taken_again(n: int, times: int) -> None:
    points = np.column_stack([np.zeros(20), np.arange(20.0, 40.0)])
    old = rule(ALONE, lambda frame: np.where(frame["age"] > 30, "yes", "no"), ("sex",))
    found, labels = additions.found(points, old, n, draws())
    assert labels.tolist() == np.where(found[:, 1] > 30, "yes", "no").tolist()
    counts = np.bincount(found[:, 1].astype(int) - 20, minlength=20)
    assert (counts.sum(), counts.max(initial=0)) == (n, times)
    assert counts.min() >= max(times - 1, 0)
    assert additions.found(points[:0], old, n, draws())[0].shape == (0, 2)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 60), st.integers(0, 200), st.integers(1, 9), st.integers(0, 99))
def test_pairs_are_closed_under_variants_with_one_label(
    size: int, n: int, most: int, seed: int
) -> None:
    names = ("sex", "race")
    points = PEOPLE.draw(size, draws(seed))
    women = rule(PEOPLE, lambda frame: np.where(frame["sex"] == "F", "yes", "no"), names)
    found, labels = additions.pairs(PEOPLE, points, women, names, n, draws(seed), most)
    assert PEOPLE.valid(found).all()
    together = min(most, 8) + 1
    assert (
        len(found) == len(labels) == -(-n // together) * together
    )  # whole classes, the fewest that reach n
    classes = np.unique(found[:, [1, 3]], axis=0, return_inverse=True)[1].ravel()
    kept = {tuple(point) for point in points[:, [1, 3]].tolist()}
    assert {tuple(point) for point in found[:, [1, 3]].tolist()} <= kept
    times = [
        *(np.bincount(classes) // together).tolist(),
        *[0] * (len(kept) - len(np.unique(classes))),
    ]
    assert max(times) - min(times) <= 1
    for number in np.unique(classes):
        mine = found[classes == number]
        assert len(set(labels[classes == number].tolist())) == 1
        if most >= 8:
            assert {tuple(point) for point in mine.tolist()} == {
                tuple(mine[0].tolist()),
                *assigned(PEOPLE, mine[0], names),
            }


def test_inputs_of_one_class_are_one_pair() -> None:
    points = np.array([[0.0, 30.0], [1.0, 30.0], [1.0, 50.0]])
    women = rule(ALONE, lambda frame: np.where(frame["sex"] == "F", "yes", "no"), ("sex",))
    found, labels = additions.pairs(ALONE, points, women, ("sex",), 4, draws())
    assert sorted(zip(found.tolist(), labels.tolist(), strict=True)) == [
        ([0.0, 30.0], "yes"), ([0.0, 50.0], "no"), ([1.0, 30.0], "yes"), ([1.0, 50.0], "no")
    ]  # fmt: skip
    assert additions.pairs(ALONE, points[:0], women, ("sex",), 4, draws())[0].shape == (0, 2)


@given(st.integers(0, 10_000))
def test_each_step_adds_about_twice_as_much_as_the_last(seed: int) -> None:
    steps = list(additions.schedule(seed, last=False))
    assert 6 <= len(steps) <= 7
    for number, percent in enumerate(steps, start=2):
        assert 2 ** (number - 2) <= percent < 2 ** (number - 1)
    assert steps[-1] <= 100
    assert [*steps, 100.0] == list(additions.schedule(seed, last=True))


def test_steps_are_spread_over_their_whole_range() -> None:
    steps = np.array([list(additions.schedule(seed, last=False))[:6] for seed in range(400)])
    shares = steps / 2.0 ** np.arange(6) - 1
    np.testing.assert_allclose(shares.mean(axis=0), 0.5, atol=0.06)
    seventh = [len(list(additions.schedule(seed, last=False))) == 7 for seed in range(400)]
    assert abs(np.mean(seventh) - 36 / 64) < 0.1  # the share of (64, 128) that is no more than 100


def test_members_are_neighbours_inside_the_rule_with_the_opposite_outcome() -> None:
    view = View(
        Subject(lambda frame: np.where(frame["age"] > 60, "yes", "no"), PEOPLE, positive="yes")
    )
    rows = PEOPLE.draw(500, draws())
    inside = (rows[:, 0] == 1) & (rows[:, 2] == 4)
    for up in (True, False):
        found = additions.members(view, rows, inside, up=up, n=300, rng=draws(1))
        assert len(found) == 300
        assert (view.favourable(view.decide(found)) == up).all()
        assert (found[:, [0, 2]] == [1, 4]).all()
        apart = (found[:, None, :] != rows[inside]).sum(axis=2).min(axis=1)
        assert set(apart.tolist()) <= {0, 1}
        assert (found == additions.members(view, rows, inside, up=up, n=300, rng=draws(1))).all()
    kept = additions.members(view, rows, inside, up=True, n=50, rng=draws(), over=["age", "town"])
    assert {tuple(row) for row in kept.tolist()} <= {tuple(row) for row in rows[inside].tolist()}


def test_members_that_do_not_exist_end_the_search() -> None:
    subject = Subject(lambda frame: frame["age"] > 60, ALONE)
    young, inside = np.array([[0.0, 20.0], [1.0, 80.0]]), np.array([True, False])
    assert additions.members(View(subject), young, inside, up=True, n=10, rng=draws()).shape == (
        0,
        2,
    )
    assert subject.asked == 10 * additions.DRAWS
    nobody = np.zeros(2, dtype=np.bool_)
    assert additions.members(View(subject), young, nobody, up=True, n=10, rng=draws()).shape == (
        0,
        2,
    )
    assert len(additions.members(View(subject), young, inside, up=False, n=0, rng=draws())) == 0


def test_rare_members_are_found_all_the_same() -> None:
    view = View(Subject(lambda frame: frame["age"] > 60, ALONE))
    rows = np.array([[0.0, 60.0], *[[0.0, 30.0]] * 24])  # one neighbour of fifty
    found = additions.members(view, rows, np.ones(25, dtype=np.bool_), up=True, n=100, rng=draws())
    assert found.tolist() == [[0.0, 61.0]] * 100


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("boundary", [50, 70])
def test_borderline_are_neighbours_of_those_nearly_decided_otherwise(
    up: bool, both: bool, boundary: int
) -> None:
    view = View(Subject(lambda frame: frame["age"] > boundary, ALONE))
    rows = ALONE.draw(2000, draws())
    inside = rows[:, 0] == 1
    n = 31
    found, favoured = additions.borderline(
        view, rows, inside, rows[:, 1] / 100, up=up, n=n, rng=draws(), both=both
    )
    group = found[:, 0] == 1
    assert group.sum() == (n - n // 2 if both else n)
    assert len(found) == len(favoured) == n
    assert (favoured == (group == up)).all()
    for mine, rise in ((inside, up), (~inside, not up)):
        theirs = found[(found[:, 0] == 1) == (mine is inside), 1]
        size = len(theirs)
        ages = rows[mine & ((rows[:, 1] > boundary) != rise), 1]
        near = np.sort(np.abs(ages - boundary - 0.5))[:size].max(initial=0.0)
        assert (np.abs(theirs - boundary - 0.5) <= near + 1).all()  # a neighbour is a year away
    again = additions.borderline(
        view, rows, inside, rows[:, 1] / 100, up=up, n=n, rng=draws(), both=both
    )
    assert (found == again[0]).all()


def test_nobody_with_the_outcome_given_too_often_is_nothing_to_add() -> None:
    view = View(Subject(lambda frame: frame["age"] > 60, ALONE))
    rows = np.array([[0.0, 70.0], [1.0, 80.0]])
    scores = np.array([0.7, 0.8])
    found, favoured = additions.borderline(
        view, rows, rows[:, 0] == 0, scores, up=True, n=10, rng=draws()
    )
    assert found.shape == (0, 2)
    assert favoured.shape == (0,)
    found, favoured = additions.borderline(
        view, rows, rows[:, 0] == 0, scores, up=True, n=10, rng=draws(), both=True
    )
    assert found[:, 0].tolist() == [1.0] * 5
    assert not favoured.any()
