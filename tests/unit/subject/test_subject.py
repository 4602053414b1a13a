"""Subjects in this process: functions, estimators, memo, ledger, counters, and wrong answers."""

# mypy: disable-error-code="arg-type,list-item,func-returns-value"
# Wrong arguments are what these tests are about.

from __future__ import annotations

import functools
import math
import os
import pickle
import runpy
import subprocess
import sys
import textwrap
import time
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression, RidgeClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.runtime.errors import (
    BadOutcome,
    LedgerError,
    NotDeterministic,
    SubjectCrashed,
    UsageError,
)
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.command import CommandAdapter
from evenhand.subject.adapters.http.adapter import HttpAdapter
from evenhand.subject.adapters.stream import StreamAdapter
from evenhand.subject.memo import Memo, Occasions
from evenhand.subject.recording.tape import Recording
from evenhand.subject.shared_asking import ROWS_AT_ONCE
from evenhand.subject.subject import Subject, as_subject
from tests.support.helpers import refused

SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.integer("age", 18, 90),
        eh.real("rate", 0, 1, step=0.01),
    ],
    protected=["sex"],
)
NUMBERS = eh.Space(
    [
        eh.integer("a", -5, 5),
        eh.real("b", 0, 1),
        eh.integer("c", 0, 9),
    ]
)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


DISTINCT = np.unique(SPACE.draw(300, rng()), axis=0)
POINTS = rng().permutation(DISTINCT)[:200]
AGES = POINTS[:, 1]


def decided(
    model: Any, space: eh.Space = SPACE, points: Any = POINTS, **options: Any
) -> Any:
    """Return what a model decides about these points."""
    return Subject(model, space, **options).decide(points)


def identity(model: Any, space: eh.Space = SPACE, **options: Any) -> str:
    return Subject(model, space, **options).adapter.identity


def older_men(frame: pd.DataFrame) -> Any:
    return (frame["age"] > 40) & (frame["sex"] == "M")


class CountingFunction:
    """A real function that says how often, and about what, it was called."""

    def __init__(self, answer: Any = None, seconds: float = 0.0) -> None:
        self.calls: list[int] = []
        self.answer = answer or older_men
        self.seconds = seconds

    def __call__(self, frame: pd.DataFrame) -> Any:
        self.calls.append(len(frame))
        time.sleep(self.seconds)
        return self.answer(frame)


# The frame that a function sees


def test_a_function_sees_the_users_columns_and_labels():
    seen = []

    def look(frame: pd.DataFrame) -> Any:
        seen.append(frame)
        return frame["age"]

    Subject(look, SPACE).decide([{"sex": "M", "age": 20, "rate": 0.3}])
    expected = pd.DataFrame({"sex": ["M"], "age": [20], "rate": [0.3]})
    pd.testing.assert_frame_equal(seen[0], expected)


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_function_sees_the_engine_of_the_space(engine):
    frame = engine({"sex": ["F", "M"], "age": [20, 30]})
    space = eh.Space.from_frame(frame)
    seen = []

    def look(people: Any) -> Any:
        seen.append(people)
        return [1, 2]

    Subject(look, space).decide(frame)
    assert type(seen[0]) is type(frame)


def test_a_function_does_not_see_features_that_are_not_passed():
    space = eh.Space(
        [eh.category("sex", ["F", "M"], passed=False), eh.integer("age", 18, 20)]
    )
    function = CountingFunction(lambda frame: frame["age"] * len(frame.columns))
    subject = Subject(function, space, memo=True)
    assert subject.decide(space.enumerate()).tolist() == [18, 19, 20] * 2
    assert function.calls == [3], "inputs that look the same to the software are asked once"


def test_a_function_may_write_to_its_frame():
    def meddle(frame: pd.DataFrame) -> pd.Series:
        frame["b"] *= 2
        frame.loc[:, "a"] = 0.0
        return frame["b"] > 1

    space = eh.Space([eh.real("a", 0, 1), eh.real("b", 0, 1)])
    points = space.draw(50, rng())
    before = points.copy()
    expected = before[:, 1] > 0.5
    found = Subject(meddle, space).decide(points)
    assert found.tolist() == expected.tolist()
    assert np.array_equal(points, before)


@pytest.mark.parametrize(
    "answer",
    [
        lambda frame: (frame["age"] > 40).to_numpy(),
        lambda frame: frame["age"] > 40,
        lambda frame: (frame["age"] > 40).astype("boolean"),
        lambda frame: (frame["age"] > 40).astype(object),
        lambda frame: (frame["age"] > 40).tolist(),
        lambda frame: tuple(frame["age"] > 40),
        lambda frame: pl.Series((frame["age"] > 40).to_numpy()),
        lambda frame: pa.array((frame["age"] > 40).to_numpy()),
    ],
)
def test_outcomes_may_come_in_any_vector(answer):
    expected = AGES > 40
    for memo in (False, True):
        found = decided(answer, memo=memo)
        assert found.dtype == np.bool_
        assert np.array_equal(found, expected)


def yes_or_no(frame: pd.DataFrame) -> Any:
    return np.where(frame["age"] > 40, "yes", "no")


@pytest.mark.parametrize(
    "answer",
    [
        yes_or_no,
        lambda frame: pd.Series(yes_or_no(frame)),
        lambda frame: pd.Series(yes_or_no(frame), dtype="category"),
        lambda frame: yes_or_no(frame).tolist(),
        lambda frame: pa.array(yes_or_no(frame).tolist()),
        lambda frame: yes_or_no(frame).astype(object),
    ],
)
def test_texts_may_come_in_any_vector(answer):
    subject = Subject(answer, SPACE, positive="yes")
    found = subject.decide(POINTS)
    expected = np.where(AGES > 40, "yes", "no")
    assert found.tolist() == expected.tolist()
    assert np.array_equal(subject.favourable(found), AGES > 40)


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (lambda frame: [1], ["1 outcomes for 200 inputs", "one per input"]),
        (lambda frame: [], ["0 outcomes for 200"]),
        (lambda frame: 1, ["the single value 1", "200 inputs"]),
        (lambda frame: "approve", ["the single value 'approve'"]),
        (lambda frame: None, ["the single value None"]),
        (lambda frame: (age for age in frame["age"]), ["the single value <generator"]),
        (lambda frame: frame, ["shape (200, 3)"]),
        (lambda frame: np.ones((200, 1)), ["shape (200, 1)"]),
        (lambda frame: [math.nan] + [1.0] * 199, ["answered nan to 1 of 200"]),
        (lambda frame: [None] + ["a"] * 199, ["answered None to 1 of 200"]),
        (lambda frame: ["a"] * 199 + [math.nan], ["answered nan to 1 of 200"]),
        (
            lambda frame: frame["age"].where(frame["age"] > 1000),
            ["answered nan to 200 of 200"],
        ),
        (lambda frame: pd.Series([None] * 200, dtype="Int64"), ["to 200 of 200"]),
        (lambda frame: pd.Series([pd.NaT] * 200), ["datetime64"]),
        (lambda frame: [[1]] * 200, ["answered [1]", "text, a number or a truth value"]),
        (lambda frame: [{}] * 200, ["answered {}"]),
        (lambda frame: [1, "a"] * 100, ["'a'", "beside numbers"]),
        (lambda frame: [b"a"] * 200, ["answered b'a'"]),
    ],
)
@pytest.mark.parametrize("memo", [False, True])
def test_what_is_no_outcome_is_named(answer, words, memo):
    subject = Subject(answer, SPACE, memo=memo)
    refused(BadOutcome, lambda: subject.decide(POINTS), "<lambda>", *words)


def test_a_function_that_raises():
    subject = Subject(lambda frame: frame["income"], SPACE)
    message = refused(
        SubjectCrashed,
        lambda: subject.decide(POINTS),
        "<lambda>",
        "KeyError",
        "'income'",
        "200 inputs",
    )
    assert "Traceback" not in message
    dividing = Subject(lambda frame: 1 / 0, SPACE)
    refused(SubjectCrashed, lambda: dividing.decide(POINTS), "ZeroDivisionError")

    def crash(frame: pd.DataFrame) -> None:
        raise RuntimeError("first line\nsecond line " + "x" * 500)

    crashing = Subject(crash, SPACE)
    refused(SubjectCrashed, lambda: crashing.decide(POINTS), "first line second line")


def test_labels_list_every_outcome_there_is():
    def answer(frame: pd.DataFrame) -> Any:
        return np.where(frame["age"] > 40, "yes", "noo")

    subject = Subject(answer, SPACE, labels=["yes", "no"])
    refused(BadOutcome, lambda: subject.decide(POINTS), "'noo'", "did you mean 'no'?")
    found = decided(answer, labels=["yes", "noo", "maybe"], positive="yes")
    assert found.tolist()
    refused(
        UsageError,
        lambda: Subject(answer, SPACE, labels=["yes", "no"], positive="yess"),
        "did you mean 'yes'?",
    )
    refused(
        UsageError, lambda: Subject(answer, SPACE, labels="yes"), "labels = 'yes'", "list"
    )
    refused(UsageError, lambda: Subject(answer, SPACE, labels=3), "labels = 3", "list")
    nested = [["yes"], ["no"]]
    refused(UsageError, lambda: Subject(answer, SPACE, labels=nested), "labels =", "list")


def test_the_favourable_outcome():
    plain = Subject(CountingFunction(), SPACE)
    for outcomes in ([True, False], [1, 0]):
        favourable = plain.favourable(np.array(outcomes))
        assert favourable.tolist() == [True, False]
    refused(
        UsageError, lambda: plain.favourable(np.array(["yes"])), "favourable", "positive="
    )
    refused(UsageError, lambda: plain.favourable(np.array([1, 2])), "positive=")
    second_class = Subject(CountingFunction(), SPACE, positive=2)
    assert second_class.favourable(np.array([1, 2])).tolist() == [False, True]
    wrong = Subject(CountingFunction(), SPACE, positive="yes")
    refused(UsageError, lambda: wrong.decide(POINTS), "positive = 'yes'", "text")


# Fitted estimators


def people(n: int = 300, seed: int = 1) -> tuple[pd.DataFrame, np.ndarray]:
    frame = SPACE.decode(SPACE.draw(n, rng(seed)))
    is_older_man = (frame["age"] > 50) & (frame["sex"] == "M")
    accepted = is_older_man | (frame["rate"] > 0.9)
    return frame, accepted.to_numpy().astype(int)


def named_pipeline(frame: Any, y: Any) -> Any:
    encoder = make_column_transformer(
        (OneHotEncoder(), ["sex"]), remainder=StandardScaler()
    )
    tree = DecisionTreeClassifier(max_depth=4, random_state=0)
    return make_pipeline(encoder, tree).fit(frame, y)


@pytest.mark.parametrize("dtype", ["str", object, "category", "string[python]"])
def test_a_pipeline_on_named_text_columns_works_untouched(dtype):
    frame, y = people()
    frame = frame.astype({"sex": dtype})
    model = named_pipeline(frame, y)
    space = eh.Space.from_frame(frame, protected=["sex"])
    points = space.draw(500, rng())
    expected = model.predict(space.decode(points))
    for memo in (None, False, True):
        subject = Subject(model, space, memo=memo)
        assert np.array_equal(subject.decide(points), expected)
        assert np.array_equal(subject.decide(frame), model.predict(frame))


def test_a_pipeline_trained_on_polars():
    frame, y = people()
    trained = pl.from_pandas(frame)
    model = named_pipeline(trained, y)
    space = eh.Space.from_frame(trained, protected=["sex"])
    found = decided(model, space, trained)
    assert np.array_equal(found, model.predict(trained))


def test_columns_are_given_in_the_order_of_training_and_hidden_ones_are_not():
    frame, y = people()
    model = named_pipeline(frame[["rate", "sex", "age"]], y)
    space = eh.Space([*SPACE.features, eh.category("zip", ["1", "2"], passed=False)])
    points = space.draw(100, rng())
    columns = space.decode(points)[["rate", "sex", "age"]]
    found = decided(model, space, points)
    assert np.array_equal(found, model.predict(columns))


def test_columns_that_do_not_match_the_training_are_named():
    frame, y = people()
    model = named_pipeline(frame, y)
    fewer = eh.Space(SPACE.features[:2])
    refused(
        UsageError, lambda: Subject(model, fewer), "'rate'", "does not pass", "'sex', 'age'"
    )
    more = eh.Space([*SPACE.features, eh.category("zip", ["1", "2"])])
    # What the model does not take is not passed to it, and can be grouped by all the same.
    taken = Subject(model, more).space
    assert [feature.name for feature in taken.features if not feature.passed] == ["zip"]
    renamed = eh.Space([eh.category("gender", ["F", "M"]), *SPACE.features[1:]])
    refused(UsageError, lambda: Subject(model, renamed), "'sex'")


def test_a_model_trained_on_arrays_without_names():
    x = NUMBERS.draw(300, rng(1))
    model = DecisionTreeClassifier(random_state=0).fit(x, x[:, 0] > 0)
    points = NUMBERS.draw(100, rng())
    found = decided(model, NUMBERS, points)
    assert np.array_equal(found, model.predict(points))
    wider = eh.Space([*NUMBERS.features, eh.integer("d", 0, 1)])
    refused(UsageError, lambda: Subject(model, wider), "trained with 3 columns", "passes 4")
    texts = eh.Space([eh.category("sex", ["F", "M"]), eh.category("grade", [1, 2])])
    rows = [["F", 1], ["M", 2], ["M", 1]]
    encoder = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(rows, [0, 1, 1])
    found = decided(encoder, texts, texts.enumerate())
    assert found.shape == (4,)


def test_a_model_that_works_in_place_cannot_change_the_inputs():
    x = NUMBERS.draw(300, rng(1))
    labels = x[:, 0] > 0
    frame = NUMBERS.decode(x).astype(float)
    for data, space in ((np.array(x), NUMBERS), (frame, eh.Space.from_frame(frame))):
        pipeline = make_pipeline(StandardScaler(copy=False), DecisionTreeClassifier())
        model = pipeline.fit(data.copy(), labels)
        points = np.asfortranarray(space.encode(frame))
        before = points.copy()
        found = decided(model, space, points)
        assert np.array_equal(found, labels)
        assert np.array_equal(points, before)


@pytest.mark.parametrize(
    "labels",
    [
        [0, 1],
        [False, True],
        ["no", "yes"],
        [-1, 1],
        [0, 1, 2],
        ["a", "b", "c"],
        [0.0, 1.0],
    ],
)
def test_outcomes_of_every_kind_are_kept(labels):
    frame, y = people()
    codes = (y + (frame["age"] < 30)) % len(labels)
    model = named_pipeline(frame, np.asarray(labels)[codes])
    expected = model.predict(SPACE.decode(POINTS)).tolist()
    positive = labels[-1]
    for memo in (False, True):
        subject = Subject(model, SPACE, positive=positive, memo=memo)
        found = subject.decide(POINTS)
        assert found.tolist() == expected
        favourable = [outcome == positive for outcome in expected]
        assert subject.favourable(found).tolist() == favourable
        assert set(map(type, found.tolist())) == {type(labels[0])}


def test_threshold_and_scores():
    frame, y = people()
    encoder = make_column_transformer(
        (OneHotEncoder(), ["sex"]), remainder=StandardScaler()
    )
    model = make_pipeline(encoder, LogisticRegression()).fit(
        frame, np.where(y, "yes", "no")
    )
    inputs = SPACE.decode(POINTS)
    no, yes = model.predict_proba(inputs).T
    scores_of_yes = decided(model, output="score")
    assert np.array_equal(scores_of_yes, yes)
    scores_of_no = decided(model, output="score", positive="no")
    assert np.array_equal(scores_of_no, no)
    half = decided(model, threshold=0.5)
    assert np.array_equal(half, model.predict(inputs))
    strict = decided(model, threshold=0.9, positive="yes")
    assert strict.tolist() == np.where(yes >= 0.9, "yes", "no").tolist()
    other = decided(model, threshold=0.9, positive="no")
    assert other.tolist() == np.where(no >= 0.9, "no", "yes").tolist()
    scored = Subject(model, SPACE, output="score", positive="yes")
    refused(
        UsageError, lambda: scored.favourable(scored.decide(POINTS)), "scores", "threshold"
    )
    ridge = make_pipeline(encoder, RidgeClassifier()).fit(frame, y)
    distances = ridge.decision_function(inputs)
    scores = decided(ridge, output="score")
    assert np.array_equal(scores, distances)
    scores_of_0 = decided(ridge, output="score", positive=0)
    assert np.array_equal(scores_of_0, -distances)


def test_regression():
    x = NUMBERS.draw(100, rng())
    y = x @ [1, 2, 3]
    model = LinearRegression().fit(x, y)
    found = decided(model, NUMBERS, x, differs=0.5)
    assert np.allclose(found, y)


def fitted(labels: Any = (0, 1)) -> Any:
    x = NUMBERS.draw(60, rng())
    codes = np.arange(60) % len(labels)
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    return tree.fit(x, np.asarray(labels)[codes])


class Predictor:
    """Something with predict that is no scikit-learn estimator."""

    def predict(self, x: Any) -> Any:
        return np.asarray(x)[:, 0] > 0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda: Subject(DecisionTreeClassifier(), NUMBERS),
            ["DecisionTreeClassifier", "not fitted", "fit"],
        ),
        (
            lambda: Subject(make_pipeline(StandardScaler(), LogisticRegression()), NUMBERS),
            ["Pipeline", "not fitted"],
        ),
        (
            lambda: Subject(GridSearchCV(LogisticRegression(), {}), NUMBERS),
            ["GridSearchCV", "not fitted"],
        ),
        (
            lambda: Subject(DecisionTreeClassifier, NUMBERS),
            ["DecisionTreeClassifier is a class", "instance"],
        ),
        (lambda: Subject(dict, NUMBERS), ["dict is a class"]),
        (
            lambda: Subject("model.onnx", NUMBERS),
            ["'model.onnx'", "neither", "Subject.command"],
        ),
        (lambda: Subject(None, NUMBERS), ["None", "neither"]),
        (lambda: Subject(fitted(), "space"), ["'space'", "not a Space"]),
        (lambda: Subject(fitted(), NUMBERS.draw(3, rng())), ["not a Space"]),
        (
            lambda: Subject(fitted(), NUMBERS, positive="1"),
            ["positive = '1'", "did you mean 1?"],
        ),
        (
            lambda: Subject(fitted(("no", "yes")), NUMBERS, positive="yess"),
            ["did you mean 'yes'?"],
        ),
        (
            lambda: Subject(fitted(), NUMBERS, threshold=1.5),
            ["threshold = 1.5", "between 0 and 1"],
        ),
        (lambda: Subject(fitted(), NUMBERS, threshold="0.5"), ["threshold = '0.5'"]),
        (lambda: Subject(fitted(), NUMBERS, threshold=math.nan), ["threshold = nan"]),
        (
            lambda: Subject(fitted(), NUMBERS, output="scores"),
            ["'scores'", "did you mean 'score'?"],
        ),
        (
            lambda: Subject(fitted((0, 1, 2)), NUMBERS, threshold=0.5),
            ["3 classes", "needs two"],
        ),
        (
            lambda: Subject(
                LinearRegression().fit([[0, 0, 0]], [0]), NUMBERS, output="score"
            ),
            ["no predict_proba"],
        ),
        (
            lambda: Subject(lambda frame: 1, NUMBERS, threshold=0.5),
            ["threshold", "for estimators"],
        ),
        (
            lambda: Subject(lambda frame: 1, NUMBERS, output="score"),
            ["output", "for estimators"],
        ),
        (lambda: Subject(lambda frame: 1, NUMBERS, differs=-1), ["differs = -1"]),
        (
            lambda: Subject(lambda frame: 1, NUMBERS, postive=1),  # type: ignore[call-arg]
            ["'postive'", "did you mean 'positive'?"],
        ),
        (
            lambda: as_subject(lambda frame: 1, NUMBERS, ledgr="x"),
            ["'ledgr'", "did you mean 'ledger'?"],
        ),
        (
            lambda: Subject.stream([sys.executable], NUMBERS, timout=1),
            ["'timout'", "did you mean 'timeout'?"],
        ),
        (
            lambda: Subject.stream([sys.executable], NUMBERS, memmo=True),
            ["'memmo'", "did you mean 'memo'?"],
        ),
        (
            lambda: Subject(
                lambda frame: 1, eh.Space([eh.integer("a", 0, 1, passed=False)])
            ),
            ["no feature", "passed"],
        ),
    ],
)
def test_every_wrong_argument_is_named(make, words):
    refused(UsageError, make, *words)


def test_anything_with_predict_is_a_model():
    found = decided(Predictor(), NUMBERS, NUMBERS.draw(9, rng()))
    assert found.dtype == np.bool_


def test_a_model_that_raises():
    model = make_pipeline(FunctionTransformer(lambda x: x), fitted())
    _, transformer = model.steps[0]
    transformer.func = lambda x: 1 / 0
    subject = Subject(model, NUMBERS)
    points = NUMBERS.draw(5, rng())
    refused(SubjectCrashed, lambda: subject.decide(points), "Pipeline", "ZeroDivision")


# A Subject or a bare model


def test_as_subject():
    subject = Subject(CountingFunction(), SPACE)
    assert as_subject(subject, None) is subject
    assert as_subject(subject, eh.Space(SPACE.features, ["sex"]), positive=None) is subject
    assert as_subject(fitted(), NUMBERS, positive=1).positive == 1
    refused(UsageError, lambda: as_subject(subject, NUMBERS), "space of its own")
    refused(
        UsageError, lambda: as_subject(fitted(), None), "DecisionTreeClassifier", "space="
    )
    refused(
        UsageError, lambda: as_subject(subject, None, positive=1), "positive = 1", "Subject"
    )


@pytest.mark.parametrize("wrong", [np.zeros((2, 5)), np.zeros((2, 0))])
def test_points_of_another_space(wrong):
    subject = Subject(CountingFunction(), SPACE)
    columns = f"{wrong.shape[1]} columns"
    refused(UsageError, lambda: subject.decide(wrong), columns, "3 features")


# CountingFunction, memo and ledger


def test_asked_and_executed_without_a_memo():
    function = CountingFunction()
    subject = Subject(function, SPACE, memo=False)
    for _ in range(2):
        subject.decide(POINTS)
    assert (subject.asked, subject.executed, sum(function.calls)) == (400, 400, 400)


def test_a_memo_asks_nothing_twice():
    function = CountingFunction()
    subject = Subject(function, SPACE, memo=True)
    repeated = np.concatenate([POINTS, POINTS[::-1], POINTS[:7]])
    first = subject.decide(repeated)
    again = subject.decide(POINTS)
    assert (subject.asked, subject.executed, sum(function.calls)) == (607, 200, 200)
    assert np.array_equal(first[:200], again)
    assert np.array_equal(first[200:400], again[::-1])
    without_memo = decided(CountingFunction(), memo=False)
    assert np.array_equal(again, without_memo)


def test_negative_zero_is_zero():
    space = eh.Space([eh.real("x", -1, 1)])
    function = CountingFunction(lambda frame: frame["x"] >= 0)
    subject = Subject(function, space, memo=True)
    assert subject.decide(np.array([[0.0], [-0.0]])).tolist() == [True, True]
    assert function.calls == [1]


def test_large_batches_are_split_and_put_together_again(monkeypatch):
    monkeypatch.setattr("evenhand.subject.subject.ROWS_AT_ONCE", 64)
    for memo in (False, True):
        function = CountingFunction(lambda frame: frame["age"])
        found = decided(function, memo=memo)
        assert found.tolist() == AGES.tolist()
        assert max(function.calls) == 64
        assert len(function.calls) == 4
    assert ROWS_AT_ONCE > 10_000


def test_no_inputs_no_questions():
    function = CountingFunction()
    for memo in (False, True):
        found = decided(function, points=[], memo=memo)
        assert len(found) == 0
    assert function.calls == []


def test_the_memo_switches_itself_on_for_a_slow_function_only():
    slow = CountingFunction(seconds=0.11)
    fast = CountingFunction()
    for function, remembers in ((slow, True), (fast, False)):
        subject = Subject(function, SPACE)
        for _ in range(4):
            subject.decide(POINTS)
        assert (sum(function.calls) < 800) is remembers
        assert subject.asked == 800
    assert Subject(slow, SPACE, memo=False)._memo.on is False


def test_a_full_memo_still_answers(monkeypatch):
    monkeypatch.setattr("evenhand.subject.memo.MOST_REMEMBERED", 10)
    subject = Subject(CountingFunction(), SPACE, memo=True)
    expected = decided(CountingFunction(), memo=False)
    for _ in range(2):
        assert np.array_equal(subject.decide(POINTS), expected)
    assert len(subject._memo.answers) <= 10


class Shuffled(Adapter):
    """An adapter that answers in any order and in parts, as a pool of processes does."""

    kind = "shuffled"
    identity = "shuffled"
    expensive = True

    def __init__(self, parts: int) -> None:
        self.parts = parts

    def run(self, points: Any, space: eh.Space) -> Any:
        order = rng(3).permutation(len(points))
        for rows in np.array_split(order, self.parts):
            yield rows, points[rows, 1].astype(int)


@pytest.mark.parametrize("parts", [1, 3])
@pytest.mark.parametrize("memo", [False, True])
def test_answers_in_any_order_find_their_inputs(parts, memo):
    found = decided(Shuffled(parts), memo=memo)
    expected = AGES.astype(int)
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    "outcomes",
    [
        [True, False],
        [0, 1],
        [0.5, 1.5],
        ["no", "yes"],
        ["é\n", ""],
    ],
)
@pytest.mark.parametrize("memo", [None, False])
def test_a_second_subject_on_the_same_ledger_executes_nothing(tmp_path, outcomes, memo):
    def answer(frame: pd.DataFrame) -> Any:
        return [outcomes[age > 50] for age in frame["age"]]

    first = CountingFunction(answer)
    second = CountingFunction(answer)
    options: dict[str, Any] = {"memo": memo, "ledger": tmp_path / "a.db"}
    with Subject(CountingFunction.__call__.__get__(first), SPACE, memo=memo) as bare:
        expected = bare.decide(POINTS)
    with Subject(answer, SPACE, **options) as subject:
        assert subject.decide(POINTS).tolist() == expected.tolist()
        assert subject.executed == 200
    with Subject(answer, SPACE, **options) as subject:
        found = subject.decide(POINTS)
        assert found.tolist() == expected.tolist()
        assert found.dtype == expected.dtype
        assert (subject.asked, subject.executed) == (200, 0)
    assert second.calls == []


def test_what_was_answered_before_a_crash_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.subject.subject.ROWS_AT_ONCE", 50)
    calls: list[int] = []

    def answer(frame: pd.DataFrame) -> Any:
        calls.append(len(frame))
        if len(calls) == 3:
            raise RuntimeError("out of memory")
        return frame["age"] > 50

    subject = Subject(answer, SPACE, ledger=tmp_path / "a.db")
    refused(SubjectCrashed, lambda: subject.decide(POINTS), "out of memory")
    assert subject.executed == 100
    subject.decide(POINTS)
    assert sum(calls) == 250, "only the batch that failed was asked again"
    subject.close()


def test_a_ledger_of_another_subject_or_space_is_refused(tmp_path):
    def older(frame: pd.DataFrame) -> Any:
        return frame["age"] > 40

    def newer(frame: pd.DataFrame) -> Any:
        return frame["age"] > 41

    newer.__qualname__ = older.__qualname__
    path = tmp_path / "a.db"
    Subject(older, SPACE, ledger=path).close()
    Subject(older, SPACE, ledger=path).close()
    refused(LedgerError, lambda: Subject(newer, SPACE, ledger=path), "another subject")
    # What is protected does not change an answer.
    unprotected = eh.Space(SPACE.features)
    Subject(older, unprotected, ledger=path).close()
    recoded = eh.Space([eh.category("sex", ["M", "F"]), *SPACE.features[1:]])
    refused(LedgerError, lambda: Subject(older, recoded, ledger=path), "another space")


def enclosed(limit: Any) -> Any:
    return lambda frame: frame["age"] > limit


def with_default(frame: Any, limit: int = 3) -> Any:
    return frame["age"] > limit


class Limit:
    def __init__(self, limit: int) -> None:
        self.limit = limit

    def __call__(self, frame: Any) -> Any:
        return frame["age"] > self.limit

    def method(self, frame: Any) -> Any:
        return frame["age"] > self.limit


def test_functions_that_differ_in_anything_have_different_identities():
    functions = [
        enclosed(3),
        enclosed(4),
        enclosed("4"),
        enclosed([4]),
        with_default,
        functools.partial(with_default, limit=3),
        functools.partial(with_default, limit=4),
        Limit(3),
        Limit(4),
        Limit(3).method,
        Limit(4).method,
        lambda frame: [age > 3 for age in frame["age"]],
        lambda frame: [age > 4 for age in frame["age"]],
        lambda frame: frame["sex"].isin({"F"}),
        lambda frame: frame["sex"].isin({"M"}),
    ]
    identities = [identity(function) for function in functions]
    assert len(set(identities)) == len(functions)
    assert identities == [identity(function) for function in functions]
    assert identity(enclosed(3)) == identities[0]
    assert identity(Limit(3)) == identities[7]


def test_identities_are_the_same_in_another_process(tmp_path, monkeypatch, capsys):
    code = textwrap.dedent("""
        import sys
        import numpy as np
        import evenhand as eh
        from sklearn.tree import DecisionTreeClassifier
        space = eh.Space([eh.category("sex", ["F", "M", "X"]), eh.integer("age", 0, 9)])
        def loan(frame, allowed=frozenset({"F", "X", "Y"})):
            return frame["sex"].isin({"F", "M", "Q"}) & frame["sex"].isin(allowed)
        with eh.Subject(loan, space, ledger=sys.argv[1]) as subject:
            subject.decide(space.enumerate())
            print(subject.executed)
        model = DecisionTreeClassifier(random_state=0).fit([[0, 0], [1, 1]], ["a", "b"])
        numbers = eh.Space([eh.integer("a", 0, 1), eh.integer("b", 0, 1)])
        with eh.Subject(model, numbers, ledger=sys.argv[2]) as subject:
            subject.decide(numbers.enumerate())
            print(subject.executed)
    """)
    file = tmp_path / "run.py"
    file.write_text(code)
    argv = [str(file), str(tmp_path / "a.db"), str(tmp_path / "b.db")]
    monkeypatch.setattr(sys, "argv", argv)
    runpy.run_path(str(file), run_name="__main__")
    assert capsys.readouterr().out.split() == ["30", "4"]
    # Not the seed of hashes of this process, which is drawn where it is not given.
    seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    run = subprocess.run(
        [sys.executable, *argv],
        env={"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.split() == ["0", "0"]


def test_estimators_asked_in_other_ways_are_other_subjects():
    model = fitted()
    twin = fitted()
    ways: list[dict[str, Any]] = [
        {},
        {"threshold": 0.5},
        {"threshold": 0.6},
        {"threshold": 0.6, "positive": 0},
        {"output": "score"},
        {"output": "score", "positive": 0},
    ]
    identities = [identity(model, NUMBERS, **way) for way in ways]
    assert len(set(identities)) == len(ways)
    with_positive = identity(model, NUMBERS, positive=1)
    assert with_positive == identities[0], "positive alone changes no outcome"
    assert identity(twin, NUMBERS) == identities[0]
    x = NUMBERS.draw(60, rng())
    other = DecisionTreeClassifier(max_depth=1).fit(x, np.arange(60) % 2)
    assert identity(other, NUMBERS) not in identities


def test_a_model_that_cannot_be_pickled_cannot_have_a_ledger(tmp_path):
    model = make_pipeline(FunctionTransformer(lambda x: x), fitted())
    found = decided(model, NUMBERS, NUMBERS.draw(3, rng()))
    assert len(found) == 3
    refused(
        UsageError,
        lambda: Subject(model, NUMBERS, ledger=tmp_path / "a.db"),
        "Pipeline",
        "pickle",
        "ledger",
    )


# Determinism and travel


def test_a_function_of_chance_is_detected():
    chance = rng()
    subject = Subject(lambda frame: chance.random(len(frame)) < 0.5, SPACE)
    words = ("<lambda>", "of 200 inputs", "asked again", "'sex':", "random seed")
    message = refused(NotDeterministic, lambda: subject.need_deterministic(POINTS), *words)
    assert "True and then False" in message or "False and then True" in message
    for memo in (True, False):
        again = Subject(lambda frame: chance.random(len(frame)) < 0.5, SPACE, memo=memo)
        with pytest.raises(NotDeterministic):
            again.need_deterministic(POINTS)


def test_a_function_with_a_state_is_detected():
    state = [0]

    def drifting(frame: pd.DataFrame) -> Any:
        state[0] += len(frame)
        return frame["age"] > 18 + state[0] % 70

    with pytest.raises(NotDeterministic):
        Subject(drifting, SPACE).need_deterministic(POINTS)


def test_a_deterministic_subject_is_asked_twice_once(tmp_path):
    for _ in range(2):
        with Subject(enclosed(40), SPACE, ledger=tmp_path / "a.db") as subject:
            subject.need_deterministic(POINTS)
    assert subject.executed == 0, "the check is noted in the ledger"
    plain = Subject(CountingFunction(), SPACE)
    plain.need_deterministic(POINTS)
    assert (plain.asked, plain.executed) == (400, 400)


def test_a_subject_travels_without_its_memory(tmp_path):
    frame, y = people()
    with Subject(
        named_pipeline(frame, y), SPACE, memo=True, ledger=tmp_path / "a.db", positive=1
    ) as subject:
        expected = subject.decide(POINTS)
        with pickle.loads(pickle.dumps(subject)) as again:
            assert isinstance(again._memo, Memo)
            assert not again._memo.answers
            executed = again.executed
            assert np.array_equal(again.decide(POINTS), expected)
            assert again.executed == executed, "the ledger travels by its path"
    sent = pickle.dumps(Subject(with_default, SPACE, memo=True))
    bare = pickle.loads(sent)
    assert bare.decide(POINTS).all()
    assert bare.space == SPACE


def test_a_subject_reads_well():
    text = repr(Subject(with_default, SPACE))
    assert text.startswith("Subject(with_default, space of 3 features")
    assert Subject(fitted(), NUMBERS).name == "DecisionTreeClassifier"


def test_forests_and_searches_are_models_too():
    frame, y = people(120)
    encoder = make_column_transformer((OneHotEncoder(), ["sex"]), remainder="passthrough")
    forest = RandomForestClassifier(3, random_state=0)
    pipeline = make_pipeline(encoder, forest)
    grid = {"randomforestclassifier__max_depth": [2]}
    search = GridSearchCV(pipeline, grid, cv=2).fit(frame, y)
    expected = search.predict(SPACE.decode(POINTS))
    assert np.array_equal(decided(search), expected)


def test_a_new_run_forgets_which_answers_were_seen():
    subject = Subject(lambda people: people["age"], SPACE)
    person = {"sex": "F", "rate": 0.5}
    subject.decide([person | {"age": 20}, person | {"age": 30}])
    assert list(subject.seen[""].answers) == [20, 30]
    subject.begin()
    assert not subject.seen[""].answers
    subject.decide([person | {"age": 40}])
    assert list(subject.seen[""].answers) == [40]


def test_a_new_run_forgets_the_answers_of_each_output():
    def decide(people):
        return {"grant": people["age"] > 20, "rate": people["rate"]}

    subject = Subject(decide, SPACE, outputs=["grant", "rate"])
    person = {"sex": "F", "age": 50, "rate": 0.5}
    subject.decide([person])
    assert [subject.seen[name].answers for name in ("grant", "rate")] == [(True,), (0.5,)]
    subject.begin()
    assert [subject.seen[name].answers for name in ("grant", "rate")] == [(), ()]


# What a subject counts, notes and compares


LINE = eh.Space([eh.integer("age", 0, 99)])


def ages(*values: int) -> Any:
    return np.array(values, dtype=np.float64).reshape(-1, 1)


def test_the_kind_of_the_first_answers_is_noted_once():
    answer: list[Any] = [["a"]]
    subject = Subject(lambda people: answer[0], LINE, memo=False)
    subject.decide(ages()[:0])
    assert subject.answered == {}
    subject.decide(ages(1))
    assert subject.answered == {"": "O"}
    answer[0] = [1.5]
    subject.decide(ages(1))
    assert subject.answered == {"": "O"}
    both = Subject(
        lambda people: {"a": people["age"] > 1, "b": people["age"] / 2},
        LINE,
        outputs=["a", "b"],
    )
    both.decide(ages(1))
    assert both.answered == {"a": "b", "b": "f"}


def test_software_of_one_named_output_keeps_no_last_batch():
    function = CountingFunction(lambda people: {"a": people["age"] > 1})
    one = Subject(function, LINE, outputs=["a"], memo=False)
    one.decide(ages(1, 2))
    one.decide(ages(1, 2))
    assert (one.asked, one.executed) == (4, 4)
    two = Subject(
        lambda people: {"a": people["age"] > 1, "b": people["age"]},
        LINE,
        outputs=["a", "b"],
        memo=False,
    )
    two.decide(ages(1, 2))
    two.decide(ages(1, 2))
    assert (two.asked, two.executed) == (4, 2)


def test_every_asking_is_answered_anew_where_each_is_an_occasion():
    numbers = iter(range(100))

    def chance(people: Any) -> Any:
        return {"a": [next(numbers) for _ in range(len(people))], "b": people["age"]}

    subject = Subject(chance, LINE, outputs=["a", "b"], memo=True)
    subject.occasions = Occasions()
    assert subject.decide(ages(5, 5))["a"].tolist() == [0, 1]
    assert subject.decide(ages(5, 5))["a"].tolist() == [2, 3]
    assert (subject.asked, subject.executed) == (4, 4)


def test_a_memory_or_a_ledger_remembers(tmp_path):
    assert not Subject(CountingFunction(), SPACE).remembers
    assert not Subject(CountingFunction(), SPACE, memo=False).remembers
    assert Subject(CountingFunction(), SPACE, memo=True).remembers
    with Subject(with_default, SPACE, memo=False, ledger=tmp_path / "a.db") as subject:
        assert subject.remembers


def test_second_answers_are_fresh_and_counted():
    function = CountingFunction(lambda people: people["age"])
    subject = Subject(function, LINE, memo=True)
    subject.decide(ages(1, 2, 3))
    assert subject.again(ages(1, 2)).tolist() == [1, 2]
    assert (subject.asked, subject.executed) == (5, 5)
    assert function.calls == [3, 2]


def test_a_tape_stands_before_first_and_second_answers():
    subject = Subject(lambda people: people["age"], LINE)
    tape = Recording()
    subject.tape = tape
    assert subject.decide(ages(1, 2)).tolist() == [1, 2]
    assert subject.again(ages(3)).tolist() == [3]
    tape.end("check")
    (index,), _ = tape.packed()
    assert (index["calls"], index["answers"]) == (2, 3)


def test_equal_inputs_are_asked_about_by_the_first_of_them():
    # What is not passed tells rows apart that are one input to the software.
    space = eh.Space([eh.integer("age", 0, 9), eh.integer("row", 0, 99, passed=False)])
    seen: list[Any] = []

    class Looking(Adapter):
        kind = "looking"
        identity = "looking"

        def run(self, points: Any, space: eh.Space) -> Any:
            seen.extend(points.tolist())
            yield np.arange(len(points)), points[:, 0] > 4

    subject = Subject(Looking(), space, memo=True)
    rows = np.array([[5.0, 1.0], [2.0, 2.0], [5.0, 3.0], [2.0, 4.0]])
    assert subject.decide(rows).tolist() == [True, False, True, False]
    assert seen == [[5.0, 1.0], [2.0, 2.0]]
    assert (subject.asked, subject.executed) == (4, 2)


def test_the_first_input_that_is_answered_otherwise_is_named():
    subject = Subject(lambda people: people["age"], LINE)
    points = ages(4, 5, 6)
    before = np.array(["a", "b", "c"])
    subject.need_alike(points, before, before.copy())
    after = np.array(["a", "x", "y"])
    message = refused(NotDeterministic, lambda: subject.need_alike(points, before, after))
    assert message.startswith(
        f"{subject.name} gave 2 of 3 inputs another outcome when asked again, such as 'b' and then"
        " 'x' to {'age': 5}; fix its random seed"
    )
    named = refused(
        NotDeterministic, lambda: subject.need_same(points, before, after, "rate")
    )
    assert "inputs another 'rate' when" in named


def test_inputs_of_any_other_form_are_encoded():
    subject = Subject(lambda people: people["age"], LINE)
    assert subject.decide(pd.DataFrame({"age": [3, 4]})).tolist() == [3, 4]
    assert subject.decide([{"age": 3}]).tolist() == [3]
    points = ages(7)
    assert subject._encoded(points) is points


def test_a_batch_in_this_process_is_of_so_many_inputs():
    assert ROWS_AT_ONCE == 131_072


def test_a_name_is_clipped_to_sixty_characters():
    class Long(Adapter):
        kind = "long"
        identity = "long"
        name = "n" * 61

        def run(self, points: Any, space: eh.Space) -> Any:
            yield np.arange(len(points)), points[:, 0]

    subject = Subject(Long(), LINE)
    assert subject.name == "n" * 59 + "…"
    subject.adapter.name = "n" * 60  # type: ignore[misc]
    assert subject.name == "n" * 60


def test_a_closed_subject_closes_its_adapter_and_its_ledger(tmp_path):
    closed: list[str] = []

    class Closing(Adapter):
        kind = "closing"
        identity = "closing"

        def run(self, points: Any, space: eh.Space) -> Any:
            yield np.arange(len(points)), points[:, 0]

        def close(self) -> None:
            closed.append("adapter")

    with Subject(Closing(), LINE, ledger=tmp_path / "a.db") as subject:
        assert subject.decide(ages(1)).tolist() == [1.0]
        assert subject._ledger is not None
        assert subject._ledger.store.rows is not None
    assert closed == ["adapter"]
    assert subject._ledger.store.rows is None
    assert subject.decide(ages(1)).tolist() == [1.0]
    subject.close()


def test_answers_of_a_program_are_named_as_it_prints_them():
    words = ["printf", "%s", "{age}"]
    with Subject.command(words, LINE, positive="1", labels=["1", "2"]) as single:
        assert single.positive == 1
        assert single.meanings[""].labels == (1, 2)
    with Subject.command(words, LINE, outputs=["a"], positive={"a": "1"}) as named:
        assert named.meanings["a"].positive == "1"


def test_a_subject_without_options_of_its_own_is_taken_as_it_is():
    subject = Subject(with_default, SPACE)
    assert as_subject(subject, SPACE) is subject
    assert as_subject(subject, subject.declared) is subject
    assert as_subject(subject, None, positive=None, labels=None) is subject
    refused(
        UsageError,
        lambda: as_subject(subject, None, labels=None, memo=False),
        "memo",
    )
    function = as_subject(with_default, SPACE, memo=True)
    assert function.remembers


@pytest.mark.parametrize("kind", [np.float32, np.int8, np.bool_])
def test_answers_that_come_at_once_and_in_order_keep_their_type(kind):
    subject = Subject(lambda people: np.ones(len(people), dtype=kind), LINE, memo=False)
    found = subject.decide(ages(1, 2))
    assert found.dtype == kind
    assert found.tolist() == [1, 1]


# Constructors


def same_facts(one: Any, other: Any, *names: str) -> bool:
    return all(getattr(one, name) == getattr(other, name) for name in names)


def test_defaults_of_constructors_are_those_of_their_adapters():
    with Subject.command(["true", "{*}"], LINE) as command:
        bare = CommandAdapter(["true", "{*}"])
        assert same_facts(
            command.adapter, bare, "workers", "timeout", "missing", "identity"
        )
        assert command.adapter.timeout == 30.0  # type: ignore[attr-defined]
    with Subject.stream(["cat"], LINE) as stream:
        plain = StreamAdapter(["cat"])
        assert same_facts(
            stream.adapter,
            plain,
            "workers",
            "timeout",
            "restarts",
            "batch",
        )
    url = "http://127.0.0.1:9/decide"
    with Subject.http(url, LINE) as service:
        http = HttpAdapter(url)
        facts = ("batch", "concurrency", "timeout", "retries", "backoff", "_templates")
        assert same_facts(service.adapter, http, *facts, "identity")


def test_options_of_constructors_reach_their_adapters():
    found: Any
    with Subject.command(
        ["true", "{*}"], LINE, workers=3, timeout=7, missing="NA"
    ) as found:
        adapter = found.adapter
        assert (adapter.workers, adapter.timeout, adapter.missing) == (3, 7, "NA")
    with Subject.stream(["cat"], LINE, workers=2, timeout=7, restarts=5) as found:
        adapter = found.adapter
        assert (adapter.workers, adapter.timeout, adapter.restarts) == (2, 7, 5)
    with Subject.of("stream", ["cat"], LINE, workers=2, memo=False) as found:
        assert found.adapter.workers == 2
        assert not found.remembers
    refused(
        UsageError,
        lambda: Subject.of("stream", ["cat"], LINE, worker=2),
        "'workers'",
    )
    refused(
        UsageError,
        lambda: Subject.stream(["cat"], LINE, worker=2),
        "'workers'",
    )
