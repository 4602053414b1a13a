"""What is added to training rows: twins, found inputs, variants and members of a subgroup."""

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
    view = View(Subject(lambda frame: ["yes"] * len(frame), space))
    return labeller(
        function,
        view=view,
        names=names,
        points=space.draw(2, draws()),
        truth=np.array(["no", "yes"]),
        regression=False,
        seed=0,
    )


def older_than_30(frame: Any) -> Any:
    return np.where(frame["age"] > 30, "yes", "no")


def for_women(frame: Any) -> Any:
    return np.where(frame["sex"] == "F", "yes", "no")


def older_than_60(frame: Any) -> Any:
    return frame["age"] > 60


def rows_as_set(points: Any) -> set[tuple[float, ...]]:
    return {tuple(point) for point in points.tolist()}


def assigned(space: Space, point: Any, names: tuple[str, ...]) -> set[tuple[float, ...]]:
    """Every other valid variant of a point, one at a time."""
    positions = list(space.sets(names))
    choices = []
    for position in positions:
        values = space.features[position].values().tolist()
        choices.append({*values, point[position]})
    assignments = list(itertools.product(*choices))
    variants = np.tile(point, (len(assignments), 1))
    variants[:, positions] = assignments
    valid = variants[space.valid(variants)]
    return rows_as_set(valid) - {tuple(point.tolist())}


@settings(max_examples=examples(60), deadline=None)
@given(spaces(constrained=True), st.data())
def test_others_are_all_other_valid_variants_or_some_of_them(
    space: Space, data: Any
) -> None:
    some_names = st.lists(
        st.sampled_from(space.names),
        min_size=1,
        max_size=3,
        unique=True,
    )
    names = tuple(data.draw(some_names))
    most = data.draw(st.integers(1, 12))
    seed = data.draw(st.integers(0, 99))
    points = space.draw(7, draws(seed))
    found, rows = additions.others(space, points, names, most, draws(seed))
    assert space.valid(found).all()
    assert (np.diff(rows) >= 0).all()
    for row, point in enumerate(points):
        variants = found[rows == row]
        distinct = rows_as_set(variants)
        expected = assigned(space, point, names)
        assert len(distinct) == len(variants)
        assert len(distinct) == min(most, len(expected))
        assert distinct <= expected
    found_again, rows_again = additions.others(space, points, names, most, draws(seed))
    assert (found == found_again).all()
    assert (rows == rows_again).all()


def test_of_too_many_assignments_some_are_tried_for_each_input() -> None:
    features = [*PEOPLE.features, real("rate", 0, 1, bins=3)]
    space = Space(features, ["sex", "race"], PEOPLE.constraints)
    names = ("age", "sex", "race", "rate")  # 2,920 assignments
    points = space.draw(200, draws())
    found, rows = additions.others(space, points, names, 8, draws())
    assert np.bincount(rows).tolist() == [8] * 200
    numbered = np.column_stack([rows, found])
    distinct = np.unique(numbered, axis=0)
    assert len(distinct) == len(found)
    assert space.valid(found).all()
    origins = points[rows]
    assert (found != origins).any(axis=1).all()
    assert (found[:, 3] == origins[:, 3]).all()
    ages = np.unique(found[:, 1])
    assert len(ages) > 60  # not the same few for all


def test_a_value_in_the_middle_of_its_bin_is_no_variant_twice() -> None:
    space = Space([category("sex", ["F", "M"]), real("rate", 0, 1, bins=2)])
    points = np.array([[0.0, 0.25], [0.0, 0.4]])
    found, rows = additions.others(space, points, ("sex", "rate"), 8, draws())
    first = found[rows == 0].tolist()
    second = found[rows == 1].tolist()
    assert sorted(first) == [
        [0.0, 0.75],
        [1.0, 0.25],
        [1.0, 0.75],
    ]
    assert sorted(second) == [
        [0, 0.25],
        [0, 0.75],
        [1, 0.25],
        [1, 0.4],
        [1, 0.75],
    ]


def test_which_variants_are_taken_of_many_is_chance() -> None:
    points = np.tile([1.0, 30.0, 0.0, 0.0], (4000, 1))
    found, _ = additions.others(PEOPLE, points, ("sex", "race"), 2, draws())
    _, counts = np.unique(found, axis=0, return_counts=True)
    assert len(counts) == 8  # nine valid combinations, its own left out
    deviations = np.abs(counts - 1000)
    assert (deviations < 150).all()


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 40), st.floats(0.001, 1), st.integers(1, 9), st.integers(0, 99))
def test_twins_have_the_labels_of_their_rows(
    size: int, share: float, most: int, seed: int
) -> None:
    rows = PEOPLE.draw(size, draws(seed))
    truth = np.array([f"label {row}" for row in range(size)])
    found, labels, origin = additions.twins(
        PEOPLE,
        rows,
        truth,
        ("sex", "race"),
        share,
        draws(seed),
        most,
    )
    assert labels.tolist() == truth[origin].tolist()
    taken = np.unique(origin)
    assert len(taken) == max(1, round(share * size))
    assert (np.diff(origin) >= 0).all()
    twins_of_each = np.bincount(origin)[taken]
    assert twins_of_each.tolist() == [min(most, 8)] * len(taken)
    assert PEOPLE.valid(found).all()
    own = rows[origin]
    free = [1, 3]
    assert (found[:, free] == own[:, free]).all()
    assert (found != own).any(axis=1).all()


def test_a_share_of_one_takes_every_row_and_others_differ_by_seed() -> None:
    rows = ALONE.draw(50, draws())
    truth = rows[:, 1] > 50
    found, labels, origin = additions.twins(ALONE, rows, truth, ("sex",), 1.0, draws())
    assert origin.tolist() == list(range(50))
    assert (found[:, 0] == 1 - rows[:, 0]).all()
    assert labels.dtype == np.bool_

    def origins(seed: int) -> list[int]:
        _, _, origin = additions.twins(ALONE, rows, truth, ("sex",), 0.2, draws(seed))
        return list(origin.tolist())

    assert origins(0) == origins(0)
    assert origins(0) != origins(1)
    none, _, _ = additions.twins(ALONE, rows[:0], truth[:0], ("sex",), 0.5, draws())
    assert none.shape == (0, 2)
    for share in (0.0, 1.5, float("nan")):
        call = partial(additions.twins, ALONE, rows, truth, ("sex",), share, draws())
        refused(UsageError, call, "share")


@pytest.mark.parametrize(("n", "times"), [(0, 0), (7, 1), (20, 1), (33, 2), (60, 3)])
def test_found_inputs_are_each_taken_before_one_is_taken_again(n: int, times: int) -> None:
    points = np.column_stack([np.zeros(20), np.arange(20.0, 40.0)])
    old = rule(ALONE, older_than_30, ("sex",))
    found, labels = additions.found(points, old, n, draws())
    ages = found[:, 1]
    expected = np.where(ages > 30, "yes", "no")
    assert labels.tolist() == expected.tolist()
    counts = np.bincount(ages.astype(int) - 20, minlength=20)
    assert counts.sum() == n
    assert counts.max(initial=0) == times
    assert counts.min() >= max(times - 1, 0)
    none, _ = additions.found(points[:0], old, n, draws())
    assert none.shape == (0, 2)


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(1, 60), st.integers(0, 200), st.integers(1, 9), st.integers(0, 99))
def test_pairs_are_closed_under_variants_with_one_label(
    size: int, n: int, most: int, seed: int
) -> None:
    names = ("sex", "race")
    free = [1, 3]
    points = PEOPLE.draw(size, draws(seed))
    women = rule(PEOPLE, for_women, names)
    found, labels = additions.pairs(PEOPLE, points, women, names, n, draws(seed), most)
    assert PEOPLE.valid(found).all()
    together = min(most, 8) + 1
    fewest_classes = -(-n // together)  # whole classes, the fewest that reach n
    assert len(found) == fewest_classes * together
    assert len(labels) == len(found)
    _, inverse = np.unique(found[:, free], axis=0, return_inverse=True)
    classes = inverse.ravel()
    known = rows_as_set(points[:, free])
    assert rows_as_set(found[:, free]) <= known
    numbers = np.unique(classes)
    times = (np.bincount(classes) // together).tolist()
    times += [0] * (len(known) - len(numbers))
    assert max(times) - min(times) <= 1
    for number in numbers:
        members = found[classes == number]
        labels_of_class = labels[classes == number].tolist()
        assert len(set(labels_of_class)) == 1
        if most >= 8:
            first = members[0]
            others = assigned(PEOPLE, first, names)
            assert rows_as_set(members) == others | {tuple(first.tolist())}


def test_inputs_of_one_class_are_one_pair() -> None:
    points = np.array([[0.0, 30.0], [1.0, 30.0], [1.0, 50.0]])
    women = rule(ALONE, for_women, ("sex",))
    found, labels = additions.pairs(ALONE, points, women, ("sex",), 4, draws())
    labelled = zip(found.tolist(), labels.tolist(), strict=True)
    assert sorted(labelled) == [
        ([0.0, 30.0], "yes"),
        ([0.0, 50.0], "no"),
        ([1.0, 30.0], "yes"),
        ([1.0, 50.0], "no"),
    ]
    none, _ = additions.pairs(ALONE, points[:0], women, ("sex",), 4, draws())
    assert none.shape == (0, 2)


@given(st.integers(0, 10_000))
def test_each_step_adds_about_twice_as_much_as_the_last(seed: int) -> None:
    steps = list(additions.schedule(seed, last=False))
    assert 6 <= len(steps) <= 7
    for number, percent in enumerate(steps, start=2):
        assert 2 ** (number - 2) <= percent < 2 ** (number - 1)
    assert steps[-1] <= 100
    assert [*steps, 100.0] == list(additions.schedule(seed, last=True))


def test_steps_are_spread_over_their_whole_range() -> None:
    schedules = [list(additions.schedule(seed, last=False)) for seed in range(400)]
    first_six = np.array([steps[:6] for steps in schedules])
    shares = first_six / 2.0 ** np.arange(6) - 1
    np.testing.assert_allclose(shares.mean(axis=0), 0.5, atol=0.06)
    seventh = np.mean([len(steps) == 7 for steps in schedules])
    assert abs(seventh - 36 / 64) < 0.1  # the share of (64, 128) that is no more than 100


def test_members_are_neighbours_inside_the_rule_with_the_opposite_outcome() -> None:
    def granted(frame: Any) -> Any:
        return np.where(older_than_60(frame), "yes", "no")

    view = View(Subject(granted, PEOPLE, positive="yes"))
    rows = PEOPLE.draw(500, draws())
    inside = (rows[:, 0] == 1) & (rows[:, 2] == 4)
    source = rows[inside]
    for up in (True, False):
        found = additions.members(view, rows, inside, up=up, n=300, rng=draws(1))
        assert len(found) == 300
        favourable = view.favourable(view.decide(found))
        assert (favourable == up).all()
        assert (found[:, [0, 2]] == [1, 4]).all()
        features_apart = (found[:, None, :] != source).sum(axis=2)
        nearest = features_apart.min(axis=1)
        assert set(nearest.tolist()) <= {0, 1}
        again = additions.members(view, rows, inside, up=up, n=300, rng=draws(1))
        assert (found == again).all()
    kept = additions.members(
        view,
        rows,
        inside,
        up=True,
        n=50,
        rng=draws(),
        over=["age", "town"],
    )
    assert rows_as_set(kept) <= rows_as_set(source)


def test_members_that_do_not_exist_end_the_search() -> None:
    subject = Subject(older_than_60, ALONE)
    view = View(subject)
    rows = np.array([[0.0, 20.0], [1.0, 80.0]])
    young = np.array([True, False])
    found = additions.members(view, rows, young, up=True, n=10, rng=draws())
    assert found.shape == (0, 2)
    assert subject.asked == 10 * additions.DRAWS
    nobody = np.array([False, False])
    found = additions.members(view, rows, nobody, up=True, n=10, rng=draws())
    assert found.shape == (0, 2)
    found = additions.members(view, rows, young, up=False, n=0, rng=draws())
    assert len(found) == 0


def test_rare_members_are_found_all_the_same() -> None:
    view = View(Subject(older_than_60, ALONE))
    rows = np.array([[0.0, 60.0], *[[0.0, 30.0]] * 24])  # one neighbour of fifty
    everybody = np.ones(25, dtype=np.bool_)
    found = additions.members(view, rows, everybody, up=True, n=100, rng=draws())
    assert found.tolist() == [[0.0, 61.0]] * 100


@pytest.mark.parametrize("up", [True, False])
@pytest.mark.parametrize("both", [True, False])
@pytest.mark.parametrize("boundary", [50, 70])
def test_borderline_are_neighbours_of_those_nearly_decided_otherwise(
    up: bool, both: bool, boundary: int
) -> None:
    view = View(Subject(lambda frame: frame["age"] > boundary, ALONE))
    rows = ALONE.draw(2000, draws())
    ages = rows[:, 1]
    inside = rows[:, 0] == 1
    n = 31
    options: dict[str, Any] = {"up": up, "n": n, "both": both}
    found, favoured = additions.borderline(
        view, rows, inside, ages / 100, rng=draws(), **options
    )
    group = found[:, 0] == 1
    assert group.sum() == (n - n // 2 if both else n)
    assert len(found) == n
    assert len(favoured) == n
    assert (favoured == (group == up)).all()
    sides = (
        (inside, group, up),
        (~inside, ~group, not up),
    )
    for side, added, rise in sides:
        added_gaps = np.abs(found[added, 1] - boundary - 0.5)
        unlike = (ages > boundary) != rise
        gaps = np.abs(ages[side & unlike] - boundary - 0.5)
        nearest = np.sort(gaps)[: len(added_gaps)]
        farthest = nearest.max(initial=0.0)
        assert (added_gaps <= farthest + 1).all()  # a neighbour is a year away
    again, _ = additions.borderline(view, rows, inside, ages / 100, rng=draws(), **options)
    assert (found == again).all()


def test_nobody_with_the_outcome_given_too_often_is_nothing_to_add() -> None:
    view = View(Subject(older_than_60, ALONE))
    rows = np.array([[0.0, 70.0], [1.0, 80.0]])
    women = rows[:, 0] == 0
    scores = np.array([0.7, 0.8])
    found, favoured = additions.borderline(
        view,
        rows,
        women,
        scores,
        up=True,
        n=10,
        rng=draws(),
    )
    assert found.shape == (0, 2)
    assert favoured.shape == (0,)
    found, favoured = additions.borderline(
        view,
        rows,
        women,
        scores,
        up=True,
        n=10,
        rng=draws(),
        both=True,
    )
    assert found[:, 0].tolist() == [1.0] * 5
    assert not favoured.any()
