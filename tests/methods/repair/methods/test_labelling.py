"""Labels for generated inputs: as plain loops make them, in the user's own type, whatever else is
labelled at once.
"""

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
    return points @ (1.618 * np.arange(1, len(space.features) + 1)) * 12.9898 % 1.0


def view_of(space: Space, classes: Any, **options: Any) -> View:
    """A model whose outcome depends on every feature that it takes."""

    def model(frame: Any) -> Any:
        full = space.encode(
            frame.assign(**{f.name: f.levels[0] for f in space.features if not f.passed})
        )
        return classes[(hashed(space, full) * len(classes)).astype(int)]

    return View(Subject(model, space, **options))


def numbers_of(space: Space, **options: Any) -> View:
    return View(Subject(lambda frame: 10 * hashed(space, space.encode(frame)), space, **options))


def made(
    labels: Any, view: View, points: Any, truth: Any, *, regression: bool = False, **options: Any
) -> Labeller:
    given = {"names": tuple(view.subject.space.protected), "seed": 0, **options}
    return labeller(labels, view=view, points=points, truth=truth, regression=regression, **given)


def variants(space: Space, point: Any, names: tuple[str, ...]) -> Any:
    """The input itself, then its other valid variants, one at a time."""
    at = list(space.sets(names))
    found: Any = [point]
    for values in itertools.product(*(space.feature(name).values().tolist() for name in names)):
        found.append(point.copy())
        found[-1][at] = values
    found = np.array(found)
    return found[(found != point).any(axis=1) & space.valid(found) | (np.arange(len(found)) == 0)]


def most_common(votes: list[Any], own: list[Any], truth: Any) -> Any:
    """The most common label; then the one of the input itself, the more common in the training
    rows, the first.
    """
    counts, mine, common = Counter(votes), Counter(own), Counter(truth.tolist())
    return min(counts, key=lambda label: (-counts[label], -mine[label], -common[label], label))


@pytest.mark.parametrize("kind", TYPES)
@pytest.mark.parametrize("labels", MODEL_LABELS)
def test_labels_follow_from_the_outcomes_of_the_variants(labels: str, kind: str) -> None:
    classes = TYPES[kind]
    view = view_of(MIXED, classes, positive=classes[1:].tolist())
    rng = np.random.default_rng(1)
    points, truth = MIXED.draw(40, rng), rng.choice(classes, 40)
    found = made(labels, view, points, truth)
    bad = classes.tolist()[0]
    expected = []
    for point in points:
        outcomes = view.decide(variants(MIXED, point, ("sex", "race"))).tolist()
        wanted = [label for label in outcomes if (label == bad) == (labels == "disadvantaged")]
        votes = wanted if wanted and labels != "majority" else outcomes
        expected.append(most_common(votes, outcomes[:1], truth))
    single, shared = found.single(points), found.shared(points)
    assert single.dtype == shared.dtype == truth.dtype
    assert single.tolist() == shared.tolist() == expected
    assert set(map(type, single.tolist())) == set(map(type, truth.tolist()))
    assert len(set(expected)) > 1


@settings(max_examples=examples(20), deadline=None)
@given(spaces(constrained=True), st.data())
def test_one_label_for_all_variants_of_an_input_in_any_space(space: Space, data: Any) -> None:
    names = tuple(
        data.draw(st.lists(st.sampled_from(space.names), min_size=1, max_size=2, unique=True))
    )
    points = space.draw(6, np.random.default_rng(data.draw(st.integers(0, 99))))
    classes = np.array(["no", "yes"])
    view = view_of(space, classes, positive="yes")
    for labels, wanted in {"advantaged": "yes", "disadvantaged": "no"}.items():
        found = made(labels, view, points, classes[np.arange(6) % 2], names=names)
        few = len(space.assignments(names)) <= VARIANTS
        for point, label in zip(points, found.shared(points).tolist(), strict=True):
            mine = variants(space, point, names)
            outcomes = view.decide(mine).tolist()
            assert label in outcomes
            if few:
                assert (label == wanted) == (wanted in outcomes)
                assert found.shared(mine).tolist() == [label] * len(mine)


def test_a_regressors_labels_are_the_mean_the_largest_and_the_least_outcome() -> None:
    space = Space([f for f in MIXED.features if f.passed], MIXED.protected, MIXED.constraints)
    view = numbers_of(space)
    points = space.draw(50, np.random.default_rng(0))
    outcomes = [view.decide(variants(space, point, ("sex", "race"))) for point in points]
    merges: dict[str, Any] = {"majority": np.mean, "advantaged": np.max, "disadvantaged": np.min}
    for labels, merge in merges.items():
        found = made(labels, view, points, np.arange(50.0), regression=True).shared(points)
        np.testing.assert_allclose(found, [merge(mine) for mine in outcomes])
    narrow = made(
        "majority", view, points, np.arange(50, dtype=np.float32), regression=True
    ).single(points)
    whole = made("majority", view, points, np.arange(50), regression=True).single(points)
    assert narrow.dtype == np.float32
    assert whole.dtype == np.float64  # the mean of whole numbers is none


def test_the_least_number_is_the_advantage_where_low_numbers_are_favourable() -> None:
    space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    points = space.draw(20, np.random.default_rng(0))
    rates = numbers_of(space, positive=lambda rate: rate < 5)
    truth = np.linspace(0, 10, 20)
    least = made("advantaged", rates, points, truth, regression=True).shared(points)
    most = made("disadvantaged", rates, points, truth, regression=True).shared(points)
    plain = made("advantaged", numbers_of(space), points, truth, regression=True).shared(points)
    assert (least < most).all()
    assert (plain == most).all()


@pytest.mark.parametrize("kind", ["texts", "truth values"])
def test_the_vote_learns_the_truth_and_keeps_its_type(kind: str) -> None:
    classes = TYPES[kind]
    rng = np.random.default_rng(0)
    rows, fresh = MIXED.draw(400, rng), MIXED.draw(200, rng)

    def rule(points: Any) -> Any:
        return classes[
            np.minimum((points[:, 1] - 18) * len(classes) // 72, len(classes) - 1).astype(int)
        ]

    found = made("vote", view_of(MIXED, classes), rows, rule(rows))
    assert found.single(fresh).dtype == found.shared(fresh).dtype == classes.dtype
    assert np.mean(found.single(fresh) == rule(fresh)) > 0.9
    assert np.mean(found.shared(fresh) == rule(fresh)) > 0.9
    again = made("vote", view_of(MIXED, classes), rows, rule(rows))
    assert found.single(fresh).tolist() == again.single(fresh).tolist()


def test_a_shared_vote_is_over_models_and_variants() -> None:
    rng = np.random.default_rng(3)
    rows = MIXED.draw(300, rng)
    truth = np.array(["a", "b", "c"])[(rows[:, 0] + rng.integers(0, 2, 300)).astype(int)]
    found = made("vote", view_of(MIXED, TYPES["texts"]), rows, truth)
    points = MIXED.draw(40, rng)
    mine = [variants(MIXED, point, ("sex", "race")) for point in points]
    ends = np.cumsum([len(each) for each in mine])
    answers = np.split(found.classes[found._answers(np.concatenate(mine))], ends[:-1], axis=1)
    single = [most_common(votes[:, 0].tolist(), [], truth) for votes in answers]
    shared = [most_common(votes.ravel().tolist(), votes[:, 0].tolist(), truth) for votes in answers]
    assert {votes.shape[0] for votes in answers} == {3}
    assert found.single(points).tolist() == single
    assert found.shared(points).tolist() == shared
    assert single != shared


def test_a_regressors_vote_is_a_mean() -> None:
    rng = np.random.default_rng(0)
    rows, fresh = MIXED.draw(500, rng), MIXED.draw(100, rng)
    found = made(
        "vote",
        view_of(MIXED, TYPES["texts"]),
        rows,
        3 * rows[:, 1] + 50 * rows[:, 0],
        regression=True,
    )
    assert np.corrcoef(found.single(fresh), 3 * fresh[:, 1] + 50 * fresh[:, 0])[0, 1] > 0.95
    # Women and men share what is half way between them, where both are possible.
    old = fresh[fresh[:, 1] >= 40]
    assert np.abs(found.shared(old) - (3 * old[:, 1] + 25)).mean() < 10


def test_the_vote_of_rows_with_one_label_is_that_label() -> None:
    rows = MIXED.draw(30, np.random.default_rng(0))
    assert set(
        made("vote", view_of(MIXED, TYPES["texts"]), rows, np.full(30, "bad")).shared(rows)
    ) == {"bad"}


def distance(space: Space, one: Any, other: Any, positions: list[int]) -> Any:
    total = np.float32(0)
    for position in positions:
        feature = space.features[position]
        if feature.kind == "category":
            total += one[position] != other[position]
        else:
            total += abs(one[position] - other[position]) / (feature.high - feature.low)
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
    rng = np.random.default_rng(0)
    rows, points = space.draw(90, rng), space.draw(40, rng)
    truth = (
        rng.random(90) if regression else rng.choice(["no", "some", "yes"], 90, p=[0.5, 0.3, 0.2])
    )
    weights = rng.integers(0, 3, 90).astype(float) if weighted else None
    view = numbers_of(space) if regression else view_of(space, TYPES["texts"])
    found = made(
        "neighbours", view, rows, truth, names=("race",), regression=regression, weights=weights
    )  # sex is protected, race at issue: neither counts
    count = np.ones(90) if weights is None else weights
    totals = {label: count[truth == label].sum() for label in set(truth.tolist())}
    expected = []
    for point in points:
        gaps = np.array(
            [
                distance(space, point, row, [1, 2]) if w else np.inf
                for row, w in zip(rows, count, strict=True)
            ]
        )
        near = gaps <= np.sort(gaps)[4] + 1e-6
        if regression:
            expected.append((truth[near] * count[near]).sum() / count[near].sum())
        else:
            votes = {label: count[near & (truth == label)].sum() for label in totals}
            expected.append(min(votes, key=lambda label: (-votes[label], -totals[label], label)))
    if regression:
        np.testing.assert_allclose(found.single(points), expected)
    else:
        assert found.single(points).tolist() == expected
    assert (found.single(points) == found.shared(points)).all()


def test_rows_without_weight_do_not_vote() -> None:
    rng = np.random.default_rng(0)
    rows = MIXED.draw(450, rng)
    right = np.where(rows[:, 1] > 50, "old", "young")
    wrong = np.where(rows[:, 1] > 50, "young", "old")
    counts = np.arange(450) % 3 == 0
    truth, weights = np.where(counts, right, wrong), counts.astype(float)
    for labels in ("vote", "neighbours"):
        found = made(labels, view_of(MIXED, TYPES["texts"]), rows, truth, weights=weights)
        assert np.mean(found.single(rows) == right) > 0.8, labels


def test_more_rows_than_are_looked_at_are_sampled() -> None:
    space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    rows = space.draw(MOST_ROWS + 5000, np.random.default_rng(0))
    found = made("neighbours", view_of(space, TYPES["texts"]), rows, rows[:, 1] > 50)
    points = space.draw(20, np.random.default_rng(1))
    assert found.single(points).tolist() == (points[:, 1] > 50).tolist()
    assert len(found._rows[0]) == MOST_ROWS


@pytest.mark.parametrize("labels", [*LABELS, lambda frame: frame["age"] > 50])
@pytest.mark.parametrize("regression", [False, True])
def test_a_label_depends_on_nothing_but_the_input(labels: Any, regression: bool) -> None:
    space = Space([f for f in MIXED.features if f.passed], ["sex"], MIXED.constraints)
    rng = np.random.default_rng(0)
    rows, points = space.draw(200, rng), space.draw(8, rng)
    view = numbers_of(space) if regression else view_of(space, TYPES["truth values"])
    truth = rng.random(200) if regression else rng.random(200) < 0.4
    found = made(
        labels, view, rows, truth, names=("sex", "age"), regression=regression
    )  # 146 assignments
    again = made(labels, view, rows, truth, names=("sex", "age"), regression=regression)
    for how, other in ((found.single, again.single), (found.shared, again.shared)):
        together = how(points)
        assert together.tolist() == other(points).tolist()
        alone = np.concatenate([how(points[row : row + 1]) for row in range(8)])
        np.testing.assert_allclose(together, alone, rtol=1e-12)
        assert how(points[:0]).shape == (0,)
        assert how(points[:0]).dtype == truth.dtype


def test_of_many_variants_sixteen_are_asked() -> None:
    view = view_of(MIXED, TYPES["truth values"])
    points = MIXED.draw(50, np.random.default_rng(0))
    found = made("majority", view, points, points[:, 1] > 50, names=("age", "race"))
    before = view.subject.asked
    found.shared(points)
    assert 50 * 8 < view.subject.asked - before <= 50 * VARIANTS
    other = made("majority", view, points, points[:, 1] > 50, names=("age", "race"), seed=1)
    assert found._table.tolist() != other._table.tolist()


def test_binned_features_are_varied_over_their_bins() -> None:
    space = Space([real("rate", 0, 1, bins=4), integer("age", 18, 90)], protected=["rate"])
    view = View(Subject(lambda frame: frame["rate"] > 0.8, space, positive=True))
    points = space.draw(20, np.random.default_rng(0))
    assert made("advantaged", view, points, points[:, 1] > 50).shared(points).all()
    assert not made("majority", view, points, points[:, 1] > 50).shared(points).any()


def test_a_function_sees_whole_inputs_in_the_users_labels() -> None:
    seen = []

    def rule(frame: Any) -> Any:
        seen.append(list(frame.columns))
        return [
            "good" if row.hidden == "x" and row.sex == "F" else "bad" for row in frame.itertuples()
        ]

    points = MIXED.draw(40, np.random.default_rng(0))
    found = made(rule, view_of(MIXED, TYPES["texts"]), points, np.array(["bad", "good"] * 20))
    expected = np.where((points[:, 5] == 0) & (points[:, 0] == 0), "good", "bad")
    assert found.single(points).tolist() == found.shared(points).tolist() == expected.tolist()
    assert seen[0] == list(MIXED.names)


def test_labels_of_another_type_that_are_equal_become_those_of_the_truth() -> None:
    points = MIXED.draw(10, np.random.default_rng(0))
    view = view_of(MIXED, np.array([0, 1]))
    flags = made(lambda frame: [1.0] * len(frame), view, points, np.arange(10) < 5)
    assert flags.single(points).tolist() == [True] * 10
    assert made("majority", view, points, np.arange(10) < 5).single(points).dtype == np.bool_


def test_wrong_labels_are_refused_in_one_sentence() -> None:
    points = MIXED.draw(10, np.random.default_rng(0))
    three, numbers = np.array(["bad", "fair", "good", "fair", "bad"] * 2), np.arange(10.0)
    view = view_of(MIXED, TYPES["texts"])

    def labelled_by(function: Any, truth: Any = three, *, regression: bool = False) -> Any:
        return lambda: made(function, view, points, truth, regression=regression).single(points)

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
    refused(DataError, labelled_by(lambda frame: ["god"] * 10), "'god'", "did you mean 'good'")
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
