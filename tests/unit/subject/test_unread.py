"""Columns that a model is proven not to read by its structure, and what that saves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
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
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.subject.forms.read_columns import columns_read


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
