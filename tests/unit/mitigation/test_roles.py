"""Roles: labels, groups and the privileged ones, from any frame; and what all methods share."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from evenhand.mitigation.aif360_compat import aif360, dataset, old_strings, seeded
from evenhand.mitigation.base import NumericEncoder
from evenhand.mitigation.preprocessing import Reweighing
from evenhand.mitigation.roles import Roles
from evenhand.runtime.errors import DataError, MissingExtra, UsageError
from tests.support.helpers import examples, refused

FRAME = pd.DataFrame(
    {
        "sex": ["f", "f", "m", "m", "m"],
        "race": ["a", "b", "a", "b", "b"],
        "age": [1, 2, 3, 4, 5],
    }
)
LABELS = ["no", "yes", "no", "yes", "yes"]
NAMES = st.lists(
    st.sampled_from(["sex", "race", "child", "score"]), min_size=1, max_size=3, unique=True
)
COLUMNS = {
    "sex": st.sampled_from(["f", "m"]),
    "race": st.sampled_from(["a", "b", "c", ""]),
    "child": st.booleans(),
    "score": st.sampled_from([0.0, 0.5, -1.0]),
}
ROWS = st.lists(
    st.tuples(st.fixed_dictionaries(COLUMNS), st.sampled_from(["hired", "not"])),
    min_size=2,
    max_size=30,
)


def engine(name: str, frame: pd.DataFrame):
    columns = {column: frame[column].tolist() for column in frame}
    if name == "polars":
        return pytest.importorskip("polars").DataFrame(columns)
    if name == "pyarrow":
        return pytest.importorskip("pyarrow").table(columns)
    return frame.astype({"sex": "category"}) if name == "category" else frame


@pytest.mark.parametrize("name", ["pandas", "category", "polars", "pyarrow"])
@settings(deadline=None, max_examples=examples(50))
@given(rows=ROWS, over=NAMES)
def test_groups_and_labels_are_those_found_row_by_row(name, rows, over):
    frame = engine(name, pd.DataFrame([row for row, _ in rows]))
    labels = [label for _, label in rows]
    groups = []
    labels_of_group: dict[Any, list[bool]] = {}
    for row, label in rows:
        group = tuple(row[column] for column in over)
        groups.append(group)
        labels_of_group.setdefault(group, []).append(label == "hired")
    if len(labels_of_group) < 2 or len(set(labels)) < 2:
        refused(DataError, lambda: Roles.of(frame, labels, over=over, positive="hired"))
        return
    roles = Roles.of(frame, labels, over=over, positive="hired")
    assert roles.groups == tuple(sorted(labels_of_group, key=repr))
    assert [roles.groups[code] for code in roles.codes(frame)] == groups
    truth = roles.truth(labels)
    assert truth.tolist() == [float(label == "hired") for label in labels]
    assert roles.labels(truth).tolist() == labels
    rates = {group: np.mean(hired) for group, hired in labels_of_group.items()}
    most_often_hired = max(roles.groups, key=lambda group: rates[group])
    assert roles.privileged == (most_often_hired,)
    privileged = [group == most_often_hired for group in groups]
    assert roles.are_privileged(frame).tolist() == privileged


@pytest.mark.parametrize(
    ("labels", "positive", "classes"),
    [
        ([0, 1, 0, 1, 1], None, (0, 1)),
        ([False, True, False, True, True], None, (False, True)),
        ([0.0, 1.0, 0.0, 1.0, 1.0], 0, (1.0, 0.0)),
        (np.array(["a", "b", "a", "b", "b"]), "a", ("b", "a")),
        (pd.Series(["a", "b", "a", "b", "b"]), "b", ("a", "b")),
        (pd.Series([0, 1, 0, 1, 1], dtype="Int64"), None, (0, 1)),
        (pd.Series(["a", "b", "a", "b", "b"], dtype="category"), "b", ("a", "b")),
        (pd.DataFrame({"label": [0, 1, 0, 1, 1]}), None, (0, 1)),
    ],
)
def test_labels_of_any_type_come_back_as_they_were(labels, positive, classes):
    roles = Roles.of(FRAME, labels, over="sex", positive=positive)
    assert roles.classes == classes
    truth = roles.truth(labels)
    back = roles.labels(truth)
    given = np.asarray(labels).ravel()
    assert back.tolist() == given.tolist()
    model = LogisticRegression()
    model.fit(FRAME[["age"]], back)
    assert model.classes_.tolist() == sorted(classes)


def test_the_privileged_can_be_named():
    def privileged(over, **options):
        return Roles.of(FRAME, LABELS, over=over, positive="yes", **options).privileged

    assert privileged("sex", privileged="f") == (("f",),)
    assert privileged("age", privileged=[1, 2]) == ((1,), (2,))
    assert privileged(["sex", "race"], privileged={"sex": "m", "race": ["a", "b"]}) == (
        ("m", "a"),
        ("m", "b"),
    )
    refused(UsageError, lambda: privileged("sex", privileged="x"), "'x'", "'f', 'm'")
    refused(UsageError, lambda: privileged("sex", privileged=["f", "m"]), "nobody")
    refused(UsageError, lambda: privileged(["sex", "race"], privileged="m"), "mapping")
    refused(
        UsageError, lambda: privileged(["sex", "race"], privileged={"sex": "m"}), "race"
    )


def test_what_cannot_be_used_is_named():
    def roles(frame=FRAME, labels=LABELS, over="sex", positive="yes"):
        return Roles.of(frame, labels, over=over, positive=positive)

    refused(DataError, lambda: roles(over="sexx"), "'sexx'", "did you mean 'sex'")
    refused(UsageError, lambda: roles(over=3), "over = 3")
    refused(UsageError, lambda: roles(positive="ye"), "'ye'", "did you mean 'yes'")
    refused(UsageError, lambda: roles(positive=None), "positive=")
    refused(DataError, lambda: roles(labels=[*LABELS[:4], "maybe"]), "3 labels")
    refused(DataError, lambda: roles(labels=["yes"] * 5), "1 labels")
    refused(DataError, lambda: roles(labels=LABELS[:4]), "5 rows and 4 labels")
    refused(DataError, lambda: roles(labels=None), "one column")
    refused(DataError, lambda: roles(labels=np.array([LABELS, LABELS]).T), "shape (5, 2)")
    refused(
        DataError,
        lambda: roles(frame=FRAME[FRAME.sex == "f"], labels=LABELS[:2]),
        "sex 'f'",
        "second group",
    )
    refused(DataError, lambda: roles(frame=np.zeros((5, 2))), "ndarray")
    refused(DataError, lambda: roles().truth(["yes", "oui"]), "'oui'")
    refused(
        DataError,
        lambda: roles().codes(FRAME.replace({"sex": {"m": "x"}})),
        "sex 'x'",
        "no training row",
    )


@pytest.mark.parametrize("value", [None, float("nan"), pd.NA])
def test_missing_values_are_refused_with_the_row(value):
    frame = FRAME.assign(sex=pd.Series(["f", "f", "m", value, "m"], dtype=object))
    refused(
        DataError,
        lambda: Roles.of(frame, LABELS, over="sex", positive="yes"),
        "'sex'",
        "row 3",
    )
    labels = pd.Series(["no", "yes", value, "yes", "yes"], dtype=object)
    refused(
        DataError,
        lambda: Roles.of(FRAME, labels, over="sex", positive="yes"),
        "labels",
        "row 2",
    )
    roles = Roles.of(FRAME, LABELS, over="sex", positive="yes")
    refused(DataError, lambda: roles.codes(frame), "'sex'", "row 3")
    refused(DataError, lambda: roles.truth(labels), "labels", "row 2")


def test_values_that_cannot_be_groups_or_labels_are_refused():
    frame = FRAME.assign(sex=[["f"], ["f"], ["m"], ["m"], ["m"]])
    refused(DataError, lambda: Roles.of(frame, LABELS, over="sex", positive="yes"), "'sex'")


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_numbers_of_any_engine_are_the_same(name):
    frame = engine(name, FRAME)
    encoder = NumericEncoder(without=("sex",))
    expected = encoder.fit(FRAME)(FRAME)
    assert expected.shape == (5, 3)
    encoder.fit(frame)
    assert np.array_equal(encoder(frame), expected)
    new_level = engine(name, FRAME.assign(race="new"))
    columns_of_levels = encoder(new_level)[:, :2]
    assert columns_of_levels.sum() == 0


def test_numbers_refuse_what_is_missing():
    numbers = NumericEncoder().fit(FRAME)
    refused(DataError, lambda: numbers(FRAME.drop(columns="race")), "'race'")
    refused(
        DataError,
        lambda: numbers(FRAME.assign(age=[1.0, 2, 3, 4, np.nan])),
        "'age'",
        "row 4",
    )


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(),
        make_pipeline(StandardScaler(), GaussianNB()),
        make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), GaussianNB())),
        GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2),
        make_pipeline(
            StandardScaler(), GridSearchCV(GaussianNB(), {"var_smoothing": [1e-9]}, cv=2)
        ),
    ],
)
def test_weights_reach_the_estimator_through_what_is_around_it(estimator):
    rng = np.random.default_rng(0)
    sex = rng.integers(0, 2, 200)
    frame = pd.DataFrame({"sex": sex, "age": rng.normal(size=200)})
    labels = (rng.random(200) < 0.3 + 0.4 * sex).astype(int)
    method = Reweighing(estimator, over="sex")
    method.fit(frame, labels)
    model = method.model_
    while not isinstance(model, GaussianNB):
        if hasattr(model, "steps"):
            _, model = model.steps[-1]
        else:
            model = model.best_estimator_
    # Weighted, both labels have the same mean sex; unweighted they do not.
    assert sex[labels == 0].mean() < sex[labels == 1].mean() - 0.2
    mean_sex_of_labels = model.theta_[:, 0]
    assert mean_sex_of_labels[0] == pytest.approx(mean_sex_of_labels[1])


@pytest.mark.parametrize(
    "estimator",
    [
        KNeighborsClassifier(),
        make_pipeline(StandardScaler(), KNeighborsClassifier()),
        GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1]}),
    ],
)
def test_an_estimator_that_takes_no_weights_is_refused(estimator):
    message = refused(
        UsageError,
        lambda: Reweighing(estimator, over="sex").fit(
            FRAME[["sex", "age"]], [0, 1, 0, 1, 1]
        ),
    )
    assert "KNeighborsClassifier" in message
    assert "sample_weight" in message


def test_numpys_own_generator_is_seeded_and_put_back():
    np.random.seed(8)
    before: Any = np.random.get_state()
    with seeded(3):
        first = np.random.random(4)
    with pytest.raises(ZeroDivisionError), seeded(3):
        assert np.array_equal(np.random.random(4), first)
        raise ZeroDivisionError
    after: Any = np.random.get_state()
    assert np.array_equal(before[1], after[1])
    assert before[2:] == after[2:]
    refused(UsageError, lambda: seeded(-1).__enter__(), "random_state = -1")
    word: Any = "x"
    refused(UsageError, lambda: seeded(word).__enter__(), "random_state = 'x'")


def test_pandas_own_texts_are_put_back():
    before = pd.Series(["a"]).dtype
    with pytest.raises(ZeroDivisionError), old_strings():
        assert pd.Series(["a"]).dtype == object
        raise ZeroDivisionError
    assert pd.Series(["a"]).dtype == before


def test_the_error_of_a_missing_library_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "aif360", None)
    monkeypatch.setitem(sys.modules, "aif360.datasets", None)
    refused(
        MissingExtra,
        lambda: aif360("datasets", "EqualisedOdds"),
        "EqualisedOdds",
        "evenhand[aif360]",
    )


@pytest.mark.heavy
@pytest.mark.slow
def test_importing_the_library_leaves_no_trace():
    pytest.importorskip("aif360", reason="needs AIF360")
    script = """
import logging, os
from evenhand.mitigation.aif360_compat import aif360
aif360("metrics", "a test")
root = logging.getLogger()
print(root.handlers, root.filters, "TF_CPP_MIN_LOG_LEVEL" in os.environ)
root.warning("my own")
"""
    environment = {
        name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"
    }
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env=environment,
    )
    assert done.stdout == "[] [] False\n"
    assert "my own" in done.stderr
    assert "unavailable" not in done.stderr


@pytest.mark.heavy
def test_a_data_set_of_the_library_holds_what_it_is_given():
    pytest.importorskip("aif360", reason="needs AIF360")
    features, privileged = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([True, False])
    made = dataset(
        features,
        [1, 0],
        privileged,
        scores=np.array([0.7, 0.2]),
        weights=np.array([1.0, 2.0]),
    )
    assert np.array_equal(made.features, np.column_stack([features, privileged]))
    assert made.labels.ravel().tolist() == [1, 0]
    assert made.scores.ravel().tolist() == [0.7, 0.2]
    assert made.instance_weights.tolist() == [1, 2]
    assert made.protected_attributes.ravel().tolist() == [1, 0]
    assert made.favorable_label == 1
    assert dataset(np.empty((2, 0)), [1, 0], privileged).scores.ravel().tolist() == [1, 0]
