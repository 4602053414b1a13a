"""Columns that a model is proven not to read by its structure, and what that saves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.linear_model import Lasso, LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.subject.forms.read_columns import _places, columns_read


def read_by(model: Any) -> list[bool]:
    """Return which columns are read, where that is known."""
    read = columns_read(model)
    assert read is not None
    return list(read.tolist())


RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "sex": RNG.choice(["F", "M"], 400),
        "age": RNG.integers(18, 91, 400),
        "constant": np.ones(400),
        "town": RNG.choice(["a", "b", "c"], 400),
    }
)
GRANTED = (PEOPLE["age"] > 40).to_numpy().astype(int)
NUMBERS = PEOPLE[["age", "constant"]]

PROVEN = [
    DecisionTreeClassifier(max_depth=3, random_state=0),
    RandomForestClassifier(5, random_state=0),
    ExtraTreesClassifier(5, random_state=0),
    GradientBoostingClassifier(n_estimators=5, random_state=0),
    HistGradientBoostingClassifier(max_iter=5, random_state=0),
    AdaBoostClassifier(n_estimators=3, random_state=0),
    make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)),
]


@pytest.mark.parametrize("model", PROVEN, ids=lambda model: type(model).__name__)
def test_a_column_that_no_split_is_about_is_not_read(model):
    model.fit(NUMBERS, GRANTED)
    assert read_by(model) == [True, False]


def test_a_coefficient_of_zero_reads_nothing():
    model = Lasso(alpha=0.01).fit(NUMBERS, GRANTED)
    assert read_by(model) == [True, False]


def test_columns_are_followed_through_a_pipeline():
    encoder = ColumnTransformer(
        [
            ("labels", OneHotEncoder(), ["sex", "town"]),
            ("numbers", StandardScaler(), ["age"]),
        ],
        remainder="drop",
    )
    model = make_pipeline(encoder, DecisionTreeClassifier(max_depth=1, random_state=0))
    model.fit(PEOPLE, GRANTED)
    assert read_by(model) == [False, True, False, False]


UNKNOWN = [
    GaussianNB(),
    KNeighborsClassifier(),
    BaggingClassifier(DecisionTreeClassifier(), max_features=1, random_state=0),
    VotingClassifier([("tree", DecisionTreeClassifier()), ("bayes", GaussianNB())]),
    make_pipeline(PolynomialFeatures(), LogisticRegression()),
]


@pytest.mark.parametrize("model", UNKNOWN, ids=lambda model: type(model).__name__)
def test_what_is_not_known_for_certain_counts_as_read(model):
    model.fit(NUMBERS, GRANTED)
    assert columns_read(model) is None


class Wilful(DecisionTreeClassifier):  # type: ignore[misc]
    """A tree that reads more than its splits say."""

    def predict(self, X: Any, check_input: bool = True) -> Any:  # noqa: N803
        return np.asarray(X)[:, 1] > 0


def test_a_class_of_somebody_else_may_do_anything():
    model = Wilful(max_depth=2).fit(NUMBERS, GRANTED)
    assert columns_read(model) is None


def test_places_in_trees_that_are_not_those_of_columns_prove_nothing():
    table = PEOPLE[["age", "town"]].assign(town=PEOPLE["town"].astype("category"))
    model = HistGradientBoostingClassifier(max_iter=5, categorical_features="from_dtype")
    assert columns_read(model.fit(table, GRANTED)) is None


def test_a_space_is_not_larger_for_what_is_not_read():
    model = DecisionTreeClassifier(max_depth=2, random_state=0).fit(
        NUMBERS.assign(sex=(PEOPLE["sex"] == "M").astype(int)), GRANTED
    )
    space = eh.Space(
        [
            eh.integer("age", 18, 90),
            eh.integer("constant", 0, 999_999),
            eh.category("sex", [0, 1]),
        ],
        protected=["sex"],
    )
    subject = eh.Subject(model, space, positive=1)
    assert "constant" in subject.unread
    found = eh.measure(subject, over="sex", limit=0.05)
    assert found.stop is eh.StopReason.ENUMERATED
    assert found.worst.estimate.n == 146
    assert found.verdict == "pass"


# One kind of model and of transformer after another


FOUR = np.array([[0.0, 5.0, 1.0], [1.0, 5.0, 1.0], [2.0, 5.0, 1.0], [3.0, 5.0, 1.0]])
HALVES = [0, 0, 1, 1]


def stump(table: Any = FOUR) -> Any:
    """Return a tree that splits once, by the first column alone."""
    return DecisionTreeClassifier(max_depth=1, random_state=0).fit(table, HALVES)


class ReadingThrough:
    """The steps of a pipeline that were fitted one by one."""

    def __init__(self, *steps: Any) -> None:
        self.steps = [(str(place), step) for place, step in enumerate(steps)]


def test_steps_that_do_nothing_hand_columns_on():
    for nothing in (None, "passthrough"):
        assert read_by(ReadingThrough(nothing, stump())) == [True, False, False]


@pytest.mark.parametrize(
    "step",
    [
        MaxAbsScaler(),
        MinMaxScaler(),
        OrdinalEncoder(),
        PowerTransformer(),
        QuantileTransformer(n_quantiles=4),
        RobustScaler(),
        StandardScaler(),
    ],
    ids=lambda step: type(step).__name__,
)
def test_a_transformer_of_single_columns_keeps_their_places(step):
    table = step.fit_transform(FOUR)
    assert read_by(ReadingThrough(step, stump(table))) == [True, False, False]


def test_a_transformer_that_was_fitted_to_other_columns_proves_nothing():
    step = StandardScaler().fit(FOUR[:, :2])
    assert columns_read(ReadingThrough(step, stump())) is None


def test_an_unknown_step_anywhere_proves_nothing():
    scaler = StandardScaler().fit(FOUR)
    mixing = PCA().fit(FOUR)
    assert columns_read(ReadingThrough(mixing, stump())) is None
    assert columns_read(ReadingThrough(mixing, scaler, stump())) is None
    assert columns_read(ReadingThrough(scaler, mixing, stump())) is None
    assert columns_read(ReadingThrough(scaler, GaussianNB().fit(FOUR, HALVES))) is None


class OwnScaler(StandardScaler):  # type: ignore[misc]
    """A scaler of somebody else."""


def test_a_transformer_of_somebody_else_may_do_anything():
    step = OwnScaler().fit(FOUR)
    assert columns_read(ReadingThrough(step, stump())) is None


def test_an_estimator_that_was_not_fitted_proves_nothing():
    assert columns_read(DecisionTreeClassifier()) is None
    assert columns_read(LogisticRegression()) is None


def test_boosting_that_begins_with_a_model_of_its_own_proves_nothing():
    begun = GradientBoostingClassifier(n_estimators=1, init=DecisionTreeClassifier())
    assert columns_read(begun.fit(FOUR, HALVES)) is None


def test_the_last_column_is_not_taken_for_the_first():
    last = FOUR[:, ::-1]
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(last, HALVES)
    assert read_by(tree) == [False, False, True]
    leaf = DecisionTreeClassifier().fit(FOUR, [1, 1, 1, 1])
    assert read_by(leaf) == [False, False, False]


def test_one_class_with_a_coefficient_is_enough():
    model = LogisticRegression().fit(FOUR, [0, 0, 1, 2])
    model.coef_ = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    assert read_by(model) == [False, True, True]


def test_coefficients_of_other_models_than_linear_ones_prove_nothing():
    network = LinearSVC().fit(FOUR, HALVES)
    assert hasattr(network, "coef_")
    assert type(network).__module__.startswith("sklearn.svm")
    assert columns_read(network) is None


WORDS = np.array([["a", "x"], ["b", "x"], ["a", "y"], ["b", "z"]], dtype=object)


def one_hot_read(read: list[int], **options: Any) -> Any:
    """Return which columns matter where these indicators are read."""
    encoder = OneHotEncoder(**options).fit(WORDS)
    model = LogisticRegression().fit(np.eye(len(read)), [0] + [1] * (len(read) - 1))
    model.coef_ = np.array([read], dtype=float)
    return columns_read(ReadingThrough(encoder, model))


@pytest.mark.parametrize(
    ("read", "expected"),
    [
        ([1, 0, 0, 0, 0], [True, False]),
        ([0, 1, 0, 0, 0], [True, False]),
        ([0, 0, 1, 0, 0], [False, True]),
        ([0, 0, 0, 0, 1], [False, True]),
        ([0, 1, 0, 1, 0], [True, True]),
        ([0, 0, 0, 0, 0], [False, False]),
    ],
)
def test_a_column_matters_where_an_indicator_of_it_is_read(read, expected):
    assert one_hot_read(read).tolist() == expected


def test_indicators_that_are_not_one_for_each_category_prove_nothing():
    assert one_hot_read([1, 0, 0, 0]) is None
    # One category of each column is dropped: two indicators less.
    assert one_hot_read([1, 0, 0], drop="first") is None
    assert one_hot_read([1, 0, 0, 0, 0], drop=["a", "x"]) is None


MIXED = pd.DataFrame({"a": [0.0, 1, 2, 3], "b": [4.0, 4, 4, 4], "c": [1.0, 1, 1, 1]})


def chosen_read(
    transformers: list[Any], read: list[int], table: Any = MIXED, **more: Any
) -> Any:
    """Return which columns matter where these outputs of a ColumnTransformer are read."""
    transformer = ColumnTransformer(transformers, **more).fit(table)
    model = LogisticRegression().fit(np.eye(len(read)), [0] + [1] * (len(read) - 1))
    model.coef_ = np.array([read], dtype=float)
    found = columns_read(ReadingThrough(transformer, model))
    return None if found is None else found.tolist()


def test_columns_are_followed_to_their_places_in_the_data():
    swapped = [("one", StandardScaler(), ["c"]), ("two", MinMaxScaler(), ["a", "b"])]
    assert chosen_read(swapped, [1, 0, 0]) == [False, False, True]
    assert chosen_read(swapped, [0, 1, 0]) == [True, False, False]
    assert chosen_read(swapped, [0, 0, 1]) == [False, True, False]
    assert chosen_read(swapped, [1, 1, 0]) == [True, False, True]


def test_columns_may_be_given_by_number_or_one_alone():
    table = MIXED.to_numpy()
    by_number = [("one", StandardScaler(), [2]), ("two", MinMaxScaler(), [0, 1])]
    assert chosen_read(by_number, [1, 0, 0], table) == [False, False, True]
    assert chosen_read(by_number, [0, 0, 1], table) == [False, True, False]


def test_a_step_that_mixes_columns_reads_all_of_its_own():
    mixing = [("one", PCA(), ["a", "b"]), ("two", StandardScaler(), ["c"])]
    assert chosen_read(mixing, [1, 0, 0]) == [True, True, False]
    assert chosen_read(mixing, [0, 0, 1]) == [False, False, True]


def test_a_column_that_several_steps_take_matters_where_one_output_is_read():
    twice = [("one", StandardScaler(), ["a", "b"]), ("two", MinMaxScaler(), ["a"])]
    assert chosen_read(twice, [0, 0, 1]) == [True, False, False]
    assert chosen_read(twice, [0, 1, 1]) == [True, True, False]
    assert chosen_read(twice, [1, 0, 0]) == [True, False, False]


def test_what_is_dropped_is_not_read_and_the_rest_may_be_passed():
    dropped = [("one", "drop", ["a"]), ("two", StandardScaler(), ["b"])]
    assert chosen_read(dropped, [1, 1], remainder="passthrough") == [False, True, True]
    assert chosen_read(dropped, [0, 1], remainder="passthrough") == [False, False, True]


def test_columns_that_are_chosen_in_another_way_prove_nothing():
    chosen = [("one", StandardScaler(), slice(0, 1)), ("two", MinMaxScaler(), ["b"])]
    assert chosen_read(chosen, [1, 0]) is None
    masked = [
        ("one", StandardScaler(), [True, False, False]),
        ("two", MinMaxScaler(), ["b"]),
    ]
    assert chosen_read(masked, [1, 0]) is None


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ("b", [1]),
        (2, [2]),
        (["c", "a"], [2, 0]),
        (np.array([1, 0]), [1, 0]),
        ([], []),
        (["d"], None),
        ([1.5], None),
        ([True], None),
        (slice(0, 1), None),
        (None, None),
    ],
)
def test_places_of_columns(columns, expected):
    assert _places(columns, ["a", "b", "c"]) == expected


def test_columns_are_followed_through_several_steps():
    scaler = StandardScaler().fit(FOUR)
    other = MinMaxScaler().fit(FOUR)
    assert read_by(ReadingThrough(scaler, other, stump())) == [True, False, False]
    assert read_by(ReadingThrough(scaler, other, None, stump())) == [True, False, False]


def test_each_of_three_columns_has_its_own_indicators():
    words = np.array([["a", "x", "k"], ["b", "y", "l"], ["c", "x", "l"]], dtype=object)
    encoder = OneHotEncoder().fit(words)
    expected = {0: 0, 2: 0, 3: 1, 4: 1, 5: 2, 6: 2}
    for place, column in expected.items():
        model = LogisticRegression().fit(np.eye(7), [0, 1, 1, 1, 1, 1, 1])
        model.coef_ = np.eye(7)[[place]]
        read = read_by(ReadingThrough(encoder, model))
        assert np.flatnonzero(read).tolist() == [column]
