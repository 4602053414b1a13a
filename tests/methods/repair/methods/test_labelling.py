"""Labels for generated inputs: as plain loops make them, in the user's own type."""

# mypy: disable-error-code="arg-type"
# Wrong arguments are part of what these tests are about.

from __future__ import annotations

import itertools
from collections import Counter
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.repair.methods.labelling import (
    LABELS,
    MOST_ROWS,
    VARIANTS,
    Labeller,
    labeller,
)
from evenhand.runtime.errors import DataError, UsageError
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from evenhand.subject.subject import Subject
from evenhand.subject.view import View
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

MIXED = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
        category("town", ["a", "b", "c", "d"]),
        real("rate", 0, 1),
        integer("race", 0, 4),
        category("hidden", ["x", "y"], passed=False),
    ],
    protected=["sex", "race"],
    constraints=["not (age < 33 and sex == 'M')", "town != 'b' or race != 2"],
)
PASSED = [feature for feature in MIXED.features if feature.passed]
MODEL_LABELS = ("majority", "advantaged", "disadvantaged")
TYPES: dict[str, Any] = {
    "texts": np.array(["bad", "fair", "good"]),
    "objects": np.array(["bad", "fair", "good"], dtype=object),
    "integers": np.array([-1, 0, 7], dtype=np.int8),
    "reals": np.array([0.5, 1.0, 2.5]),
    "truth values": np.array([False, True]),
}


def hashed(space: Space, points: Any) -> Any:
    """A number from 0 to 1 for each point, which any change of a feature changes."""
    factors = 1.618 * np.arange(1, len(space.features) + 1)
    return points @ factors * 12.9898 % 1.0


def view_of(space: Space, classes: Any, **options: Any) -> View:
    """A model whose outcome depends on every feature that it takes."""

    def model(frame: Any) -> Any:
        hidden = {}
        for feature in space.features:
            if not feature.passed:
                hidden[feature.name] = feature.levels[0]
        points = space.encode(frame.assign(**hidden))
        places = hashed(space, points) * len(classes)
        return classes[places.astype(int)]

    return View(Subject(model, space, **options))


def numbers_of(space: Space, **options: Any) -> View:
    """A model whose outcome is a number that depends on every feature."""

    def model(frame: Any) -> Any:
        return 10 * hashed(space, space.encode(frame))

    return View(Subject(model, space, **options))


def made(
    labels: Any,
    view: View,
    points: Any,
    truth: Any,
    *,
    regression: bool = False,
    **options: Any,
) -> Labeller:
    names = tuple(view.subject.space.protected)
    given = {"names": names, "seed": 0, **options}
    return labeller(
        labels,
        view=view,
        points=points,
        truth=truth,
        regression=regression,
        **given,
    )


def seeded(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def variants(space: Space, point: Any, names: tuple[str, ...]) -> Any:
    """The input itself, then its other valid variants, one at a time."""
    positions = list(space.sets(names))
    choices = [space.feature(name).values().tolist() for name in names]
    made_up = []
    for values in itertools.product(*choices):
        variant = point.copy()
        variant[positions] = values
        made_up.append(variant)
    others = np.array(made_up)
    differs = (others != point).any(axis=1)
    others = others[differs & space.valid(others)]
    return np.concatenate([[point], others])


def most_common(votes: list[Any], own: list[Any], truth: Any) -> Any:
    """The most common label; ties go to the input's own, the more common in training, the first."""
    counts = Counter(votes)
    own_counts = Counter(own)
    training_counts = Counter(truth.tolist())

    def rank(label: Any) -> Any:
        return -counts[label], -own_counts[label], -training_counts[label], label

    return min(counts, key=rank)


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("labels", MODEL_LABELS)
def test_labels_follow_from_the_outcomes_of_the_variants(labels: str, kind: str) -> None:
    classes = TYPES[kind]
    view = view_of(MIXED, classes, positive=classes[1:].tolist())
    rng = seeded(1)
    points = MIXED.draw(40, rng)
    truth = rng.choice(classes, 40)
    found = made(labels, view, points, truth)
    bad = classes.tolist()[0]
    bad_wanted = labels == "disadvantaged"
    expected = []
    for point in points:
        outcomes = view.decide(variants(MIXED, point, ("sex", "race"))).tolist()
        votes = outcomes
        wanted = [label for label in outcomes if (label == bad) == bad_wanted]
        if wanted and labels != "majority":
            votes = wanted
        expected.append(most_common(votes, outcomes[:1], truth))
    single = found.single(points)
    shared = found.shared(points)
    assert single.dtype == truth.dtype
    assert shared.dtype == truth.dtype
    assert single.tolist() == expected
    assert shared.tolist() == expected
    types = set(map(type, single.tolist()))
    assert types == set(map(type, truth.tolist()))
    assert len(set(expected)) > 1


@settings(max_examples=examples(20), deadline=None)
@given(spaces(constrained=True), st.data())
def test_one_label_for_all_variants_of_an_input_in_any_space(
    space: Space, data: Any
) -> None:
    some_names = st.lists(
        st.sampled_from(space.names),
        min_size=1,
        max_size=2,
        unique=True,
    )
    names = tuple(data.draw(some_names))
    seed = data.draw(st.integers(0, 99))
    points = space.draw(6, seeded(seed))
    classes = np.array(["no", "yes"])
    truth = classes[np.arange(6) % 2]
    view = view_of(space, classes, positive="yes")
    few = len(space.assignments(names)) <= VARIANTS
    for labels, wanted in (("advantaged", "yes"), ("disadvantaged", "no")):
        found = made(labels, view, points, truth, names=names)
        shared = found.shared(points).tolist()
        for point, label in zip(points, shared, strict=True):
            own_variants = variants(space, point, names)
            outcomes = view.decide(own_variants).tolist()
            assert label in outcomes
            if few:
                assert (label == wanted) == (wanted in outcomes)
                assert found.shared(own_variants).tolist() == [label] * len(own_variants)


def test_a_regressors_labels_are_the_mean_the_largest_and_the_least_outcome() -> None:
    space = Space(PASSED, MIXED.protected, MIXED.constraints)
    view = numbers_of(space)
    points = space.draw(50, seeded())
    outcomes = []
    for point in points:
        own_variants = variants(space, point, ("sex", "race"))
        outcomes.append(view.decide(own_variants))
    merges: dict[str, Any] = {
        "majority": np.mean,
        "advantaged": np.max,
        "disadvantaged": np.min,
    }
    truth = np.arange(50.0)
    for labels, merge in merges.items():
        found = made(labels, view, points, truth, regression=True)
        expected = [merge(numbers) for numbers in outcomes]
        np.testing.assert_allclose(found.shared(points), expected)
    narrow = made("majority", view, points, truth.astype(np.float32), regression=True)
    whole = made("majority", view, points, np.arange(50), regression=True)
    assert narrow.single(points).dtype == np.float32
    assert whole.single(points).dtype == np.float64  # the mean of whole numbers is none


def test_the_least_number_is_the_advantage_where_low_numbers_are_favourable() -> None:
    space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    points = space.draw(20, seeded())
    truth = np.linspace(0, 10, 20)

    def shared(labels: str, view: View) -> Any:
        found = made(labels, view, points, truth, regression=True)
        return found.shared(points)

    rates = numbers_of(space, positive=lambda rate: rate < 5)
    least = shared("advantaged", rates)
    most = shared("disadvantaged", rates)
    plain = shared("advantaged", numbers_of(space))
    assert (least < most).all()
    assert (plain == most).all()


@pytest.mark.parametrize("kind", ["texts", "truth values"])
def test_the_vote_learns_the_truth_and_keeps_its_type(kind: str) -> None:
    classes = TYPES[kind]
    rng = seeded()
    rows = MIXED.draw(400, rng)
    fresh = MIXED.draw(200, rng)

    def by_age(points: Any) -> Any:
        place = (points[:, 1] - 18) * len(classes) // 72
        last = len(classes) - 1
        return classes[np.minimum(place, last).astype(int)]

    found = made("vote", view_of(MIXED, classes), rows, by_age(rows))
    single = found.single(fresh)
    shared = found.shared(fresh)
    truth = by_age(fresh)
    assert single.dtype == classes.dtype
    assert shared.dtype == classes.dtype
    assert np.mean(single == truth) > 0.9
    assert np.mean(shared == truth) > 0.9
    again = made("vote", view_of(MIXED, classes), rows, by_age(rows))
    assert single.tolist() == again.single(fresh).tolist()


def test_a_shared_vote_is_over_models_and_variants() -> None:
    rng = seeded(3)
    rows = MIXED.draw(300, rng)
    codes = rows[:, 0] + rng.integers(0, 2, 300)
    truth = np.array(["a", "b", "c"])[codes.astype(int)]
    found = made("vote", view_of(MIXED, TYPES["texts"]), rows, truth)
    points = MIXED.draw(40, rng)
    single = []
    shared = []
    for point in points:
        own_variants = variants(MIXED, point, ("sex", "race"))
        votes = found.classes[found._answers(own_variants)]
        assert len(votes) == 3
        own_votes = votes[:, 0].tolist()
        single.append(most_common(own_votes, [], truth))
        shared.append(most_common(votes.ravel().tolist(), own_votes, truth))
    assert found.single(points).tolist() == single
    assert found.shared(points).tolist() == shared
    assert single != shared


def test_a_regressors_vote_is_a_mean() -> None:
    rng = seeded()
    rows = MIXED.draw(500, rng)
    fresh = MIXED.draw(100, rng)

    def amounts(points: Any) -> Any:
        return 3 * points[:, 1] + 50 * points[:, 0]

    view = view_of(MIXED, TYPES["texts"])
    found = made("vote", view, rows, amounts(rows), regression=True)
    correlation = np.corrcoef(found.single(fresh), amounts(fresh))
    assert correlation[0, 1] > 0.95
    # Women and men share what is half way between them, where both are possible.
    old = fresh[fresh[:, 1] >= 40]
    half_way = 3 * old[:, 1] + 25
    errors = np.abs(found.shared(old) - half_way)
    assert errors.mean() < 10


def test_the_vote_of_rows_with_one_label_is_that_label() -> None:
    rows = MIXED.draw(30, seeded())
    truth = np.full(30, "bad")
    found = made("vote", view_of(MIXED, TYPES["texts"]), rows, truth)
    assert set(found.shared(rows)) == {"bad"}


def distance(space: Space, first: Any, second: Any, positions: list[int]) -> Any:
    """How far two points are apart, one feature at a time."""
    total = np.float32(0)
    for position in positions:
        feature = space.features[position]
        if feature.kind == "category":
            total += first[position] != second[position]
        else:
            width = feature.high - feature.low
            total += abs(first[position] - second[position]) / width
    return total


@pytest.mark.parametrize("regression", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_neighbours_are_the_nearest_rows_without_what_is_protected(
    regression: bool, weighted: bool
) -> None:
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("age", 0, 8),
            category("town", ["a", "b"]),
            integer("race", 0, 2),
        ],
        protected=["sex"],
    )
    rng = seeded()
    rows = space.draw(90, rng)
    points = space.draw(40, rng)
    if regression:
        truth = rng.random(90)
        view = numbers_of(space)
    else:
        truth = rng.choice(["no", "some", "yes"], 90, p=[0.5, 0.3, 0.2])
        view = view_of(space, TYPES["texts"])
    weights = rng.integers(0, 3, 90).astype(float) if weighted else None
    # Sex is protected, race at issue: neither counts.
    found = made(
        "neighbours",
        view,
        rows,
        truth,
        names=("race",),
        regression=regression,
        weights=weights,
    )
    counts = np.ones(90) if weights is None else weights
    expected = []
    for point in points:
        gaps = np.array([distance(space, point, row, [1, 2]) for row in rows])
        gaps[counts == 0] = np.inf
        near = gaps <= np.sort(gaps)[4] + 1e-6
        if regression:
            expected.append(np.average(truth[near], weights=counts[near]))
        else:
            expected.append(heaviest_label(truth, counts, near))
    single = found.single(points)
    if regression:
        np.testing.assert_allclose(single, expected)
    else:
        assert single.tolist() == expected
    assert (single == found.shared(points)).all()


def heaviest_label(truth: Any, counts: Any, near: Any) -> Any:
    """The label with most weight among near rows; then among all; then the first."""
    ranks = {}
    for label in set(truth.tolist()):
        has_label = truth == label
        votes = counts[near & has_label].sum()
        total = counts[has_label].sum()
        ranks[label] = (-votes, -total, label)
    return min(ranks, key=lambda label: ranks[label])


def test_rows_without_weight_do_not_vote() -> None:
    rows = MIXED.draw(450, seeded())
    old = rows[:, 1] > 50
    right = np.where(old, "old", "young")
    wrong = np.where(old, "young", "old")
    counts = np.arange(450) % 3 == 0
    truth = np.where(counts, right, wrong)
    weights = counts.astype(float)
    view = view_of(MIXED, TYPES["texts"])
    for labels in ("vote", "neighbours"):
        found = made(labels, view, rows, truth, weights=weights)
        assert np.mean(found.single(rows) == right) > 0.8, labels


def test_more_rows_than_are_looked_at_are_sampled() -> None:
    space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    rows = space.draw(MOST_ROWS + 5000, seeded())
    truth = rows[:, 1] > 50
    found = made("neighbours", view_of(space, TYPES["texts"]), rows, truth)
    points = space.draw(20, seeded(1))
    expected = points[:, 1] > 50
    assert found.single(points).tolist() == expected.tolist()
    looked_at, _, _ = found._rows
    assert len(looked_at) == MOST_ROWS


@pytest.mark.parametrize("labels", [*LABELS, lambda frame: frame["age"] > 50])
@pytest.mark.parametrize("regression", [False, True])
def test_a_label_depends_on_nothing_but_the_input(labels: Any, regression: bool) -> None:
    space = Space(PASSED, ["sex"], MIXED.constraints)
    rng = seeded()
    rows = space.draw(200, rng)
    points = space.draw(8, rng)
    truth: Any = rng.random(200)
    view = numbers_of(space)
    if not regression:
        truth = truth < 0.4
        view = view_of(space, TYPES["truth values"])
    options: dict[str, Any] = {"names": ("sex", "age"), "regression": regression}
    found = made(labels, view, rows, truth, **options)  # 146 assignments
    again = made(labels, view, rows, truth, **options)
    ways = (
        (found.single, again.single),
        (found.shared, again.shared),
    )
    for label, label_again in ways:
        together = label(points)
        assert together.tolist() == label_again(points).tolist()
        one_by_one = [label(points[row : row + 1]) for row in range(8)]
        np.testing.assert_allclose(together, np.concatenate(one_by_one), rtol=1e-12)
        none = label(points[:0])
        assert none.shape == (0,)
        assert none.dtype == truth.dtype


def test_of_many_variants_sixteen_are_asked() -> None:
    view = view_of(MIXED, TYPES["truth values"])
    points = MIXED.draw(50, seeded())
    truth = points[:, 1] > 50
    names = ("age", "race")
    found = made("majority", view, points, truth, names=names)
    before = view.subject.asked
    found.shared(points)
    asked = view.subject.asked - before
    assert 50 * 8 < asked <= 50 * VARIANTS
    other = made("majority", view, points, truth, names=names, seed=1)
    assert found._table.tolist() != other._table.tolist()


def test_binned_features_are_varied_over_their_bins() -> None:
    space = Space([real("rate", 0, 1, bins=4), integer("age", 18, 90)], protected=["rate"])
    view = View(Subject(lambda frame: frame["rate"] > 0.8, space, positive=True))
    points = space.draw(20, seeded())
    truth = points[:, 1] > 50
    advantaged = made("advantaged", view, points, truth)
    majority = made("majority", view, points, truth)
    assert advantaged.shared(points).all()
    assert not majority.shared(points).any()


def test_a_function_sees_whole_inputs_in_the_users_labels() -> None:
    seen = []

    def rule(frame: Any) -> Any:
        seen.append(list(frame.columns))
        good = (frame["hidden"] == "x") & (frame["sex"] == "F")
        return np.where(good, "good", "bad").tolist()

    points = MIXED.draw(40, seeded())
    truth = np.array(["bad", "good"] * 20)
    found = made(rule, view_of(MIXED, TYPES["texts"]), points, truth)
    hidden = points[:, 5] == 0
    women = points[:, 0] == 0
    expected = np.where(hidden & women, "good", "bad").tolist()
    assert found.single(points).tolist() == expected
    assert found.shared(points).tolist() == expected
    assert seen[0] == list(MIXED.names)


def test_labels_of_another_type_that_are_equal_become_those_of_the_truth() -> None:
    points = MIXED.draw(10, seeded())
    truth = np.arange(10) < 5
    view = view_of(MIXED, np.array([0, 1]))
    flags = made(lambda frame: [1.0] * len(frame), view, points, truth)
    assert flags.single(points).tolist() == [True] * 10
    majority = made("majority", view, points, truth)
    assert majority.single(points).dtype == np.bool_


def test_wrong_labels_are_refused_in_one_sentence() -> None:
    points = MIXED.draw(10, seeded())
    three = np.array(["bad", "fair", "good", "fair", "bad"] * 2)
    numbers = np.arange(10.0)
    view = view_of(MIXED, TYPES["texts"])

    def labelled_by(function: Any, truth: Any = three, *, regression: bool = False) -> Any:
        return lambda: made(function, view, points, truth, regression=regression).single(
            points
        )

    def raises(frame: Any) -> Any:
        raise RuntimeError("no idea")

    refused(
        UsageError,
        lambda: made("votes", view, points, three),
        "labels = 'votes'",
        "did you mean 'vote'",
    )
    refused(UsageError, lambda: made(None, view, points, three), "labels = None", "'vote'")
    for labels in ("advantaged", "disadvantaged"):
        refused(UsageError, partial(made, labels, view, points, three), "positive=")
    alone = Space([category("sex", ["F", "M"])], protected=["sex"])
    refused(
        UsageError,
        lambda: made("neighbours", view_of(alone, TYPES["texts"]), points[:, :1], three),
        "not protected",
    )
    refused(UsageError, labelled_by(raises), "raises", "RuntimeError", "no idea")
    refused(DataError, labelled_by(lambda frame: ["bad"]), "lambda", "(1,)", "10 inputs")
    refused(DataError, labelled_by(lambda frame: "bad"), "()")
    refused(
        DataError, labelled_by(lambda frame: ["god"] * 10), "'god'", "did you mean 'good'"
    )
    refused(DataError, labelled_by(lambda frame: ["bad", None] * 5), "None")
    refused(DataError, labelled_by(lambda frame: ["bad", 1] * 5), "gave 1")
    refused(
        DataError,
        labelled_by(lambda frame: np.full(10, np.nan), numbers, regression=True),
        "finite",
    )
    refused(
        DataError,
        labelled_by(lambda frame: ["much"] * 10, numbers, regression=True),
        "finite numbers",
    )
    refused(
        DataError,
        labelled_by("majority", np.array(["bad", "good"] * 5)),
        "the model gave 'fair'",
        "'good'",
    )
