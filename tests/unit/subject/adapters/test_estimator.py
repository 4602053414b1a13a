"""Fitted models: labels, scores and margins, in the form that a model was trained on."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, UsageError
from evenhand.space.feature import Feature, category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.estimator import EstimatorAdapter
from tests.support.helpers import refused

NUMBERS = Space([integer("age", 0, 9), integer("income", 0, 9)])
POINTS = np.array([[1.0, 2.0], [8.0, 3.0], [5.0, 9.0]])
TABLE = np.array([[0, 5], [1, 5], [2, 5], [7, 5], [8, 5], [9, 5]], dtype=float)
LABELS = np.array(["no", "no", "no", "yes", "yes", "yes"])
TREE = DecisionTreeClassifier(random_state=0).fit(TABLE, LABELS)
LOGISTIC = LogisticRegression().fit(TABLE, LABELS)
SVC = LinearSVC().fit(TABLE, LABELS)


class ModelOfRule:
    """A model that is not of scikit-learn."""

    classes_ = np.array(["no", "yes"])

    def __init__(self, answer: Any) -> None:
        self.answer = answer

    def predict(self, inputs: Any) -> Any:
        return self.answer(inputs)


class FixedChances(ModelOfRule):
    """A model with these chances of its first and second class, whatever it is asked."""

    def __init__(self, *chances: float) -> None:
        self.chances = np.array(chances)

    def predict_proba(self, inputs: Any) -> Any:
        assert len(inputs) == len(self.chances)
        return np.column_stack([1 - self.chances, self.chances])


def asked(model: Any, points: Any = POINTS, space: Space = NUMBERS, **options: Any) -> Any:
    """Return the outcomes of a model."""
    ((rows, outcomes),) = EstimatorAdapter(model, **options).run(points, space)
    assert rows.tolist() == list(range(len(points)))
    return outcomes


# Labels and scores


def test_labels_are_what_it_predicts():
    assert asked(TREE).tolist() == ["no", "yes", "yes"]


def test_a_column_of_labels_is_a_list_of_them():
    answer = np.array([["a"], ["b"], ["a"]])
    assert asked(ModelOfRule(lambda _: answer)).tolist() == ["a", "b", "a"]
    wide = np.array([[1, 2], [3, 4], [5, 6]])
    assert asked(ModelOfRule(lambda _: wide)).tolist() == wide.tolist()
    assert asked(ModelOfRule(lambda _: answer[:, 0])).tolist() == ["a", "b", "a"]
    flat = np.array([["a"], ["b"], ["a"]])[:, :, None]
    assert asked(ModelOfRule(lambda _: flat)).shape == (3, 1, 1)


def test_masked_labels_are_no_answers():
    masked = np.ma.array(["a", "b", "a"], mask=[False, True, False])
    refused(BadOutcome, lambda: asked(ModelOfRule(lambda _: masked)), "1 of 3 inputs")


def test_a_column_of_one_output_is_a_record_of_it():
    adapter: Any = EstimatorAdapter(ModelOfRule(lambda inputs: inputs[:, :1]))
    adapter.outputs = ("age",)
    ((_, outcomes),) = adapter.run(POINTS, NUMBERS)
    assert outcomes["age"].tolist() == [1.0, 8.0, 5.0]


def test_what_it_raises_is_one_sentence():
    def fail(_: Any) -> Any:
        raise ValueError("no")

    refused(
        SubjectCrashed,
        lambda: asked(ModelOfRule(fail)),
        "ModelOfRule raised ValueError on 3 inputs: no",
    )


def test_a_score_is_that_of_the_positive_class_or_of_the_last():
    model = FixedChances(0.25, 0.5, 0.75)
    assert asked(model, output="score").tolist() == [0.25, 0.5, 0.75]
    assert asked(model, output="score", positive="yes").tolist() == [0.25, 0.5, 0.75]
    assert asked(model, output="score", positive="no").tolist() == [0.75, 0.5, 0.25]


def test_a_score_at_the_threshold_is_positive():
    model = FixedChances(0.25, 0.5, 0.75)
    assert asked(model, threshold=0.5).tolist() == ["no", "yes", "yes"]
    assert asked(model, threshold=0.75).tolist() == ["no", "no", "yes"]
    assert asked(model, threshold=0.75, positive="no").tolist() == ["no", "yes", "yes"]


def test_a_decision_function_is_of_the_last_class():
    values = SVC.decision_function(POINTS)
    assert asked(SVC, output="score").tolist() == values.tolist()
    assert asked(SVC, output="score", positive="no").tolist() == (-values).tolist()


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (SVC, {"threshold": 0.5}, "LinearSVC has no predict_proba"),
        (ModelOfRule(len), {"output": "score"}, "ModelOfRule has no predict_proba"),
        (TREE, {"output": "number"}, "output = 'number'"),
        (TREE, {"threshold": 1.5}, "between 0 and 1"),
        (TREE, {"threshold": 0.5, "positive": ["yes"]}, "must be one class"),
        (DecisionTreeClassifier(), {}, "DecisionTreeClassifier is not fitted"),
        (
            DecisionTreeClassifier().fit(TABLE, [0, 1, 2, 0, 1, 2]),
            {"threshold": 0.5},
            "has 3 classes; a threshold or output='score' needs two",
        ),
    ],
)
def test_models_that_cannot_be_asked_so(model, options, words):
    refused(UsageError, lambda: EstimatorAdapter(model, **options), words)


def test_the_favourable_outcome_of_labels_is_no_matter_of_the_model():
    assert EstimatorAdapter(TREE, positive=["yes"]).positive is None
    assert EstimatorAdapter(TREE, positive="no", threshold=0.5).positive == "no"


# Margins


@pytest.mark.parametrize(
    ("model", "options", "scorers"),
    [
        (LOGISTIC, {}, ("predict_proba", "decision_function")),
        (LOGISTIC, {"threshold": 0.5}, ("predict_proba",)),
        (LOGISTIC, {"output": "score"}, ()),
        (TREE, {}, ("predict_proba",)),
        (SVC, {}, ("decision_function",)),
        (ModelOfRule(len), {}, ()),
        (DecisionTreeClassifier().fit(TABLE, [0, 1, 2, 0, 1, 2]), {}, ()),
        (LinearRegression().fit(TABLE, TABLE[:, 0]), {}, ()),
    ],
)
def test_the_methods_that_give_margins(model, options, scorers):
    assert EstimatorAdapter(model, **options).scorers == scorers


def test_several_outputs_have_no_margins():
    adapter = EstimatorAdapter(LOGISTIC)
    adapter.outputs = ("decision",)
    assert adapter.scorers == ()


def test_a_margin_is_what_the_score_is_above_the_middle():
    adapter = EstimatorAdapter(FixedChances(0.25, 0.5, 0.75))
    labels, margins = adapter.margins(POINTS, NUMBERS, "predict_proba")
    assert margins.tolist() == [-0.25, 0.0, 0.25]
    # Of two chances that are equal, the first class is taken.
    assert labels.tolist() == ["no", "no", "yes"]


def test_a_margin_is_what_the_score_is_above_the_threshold():
    adapter = EstimatorAdapter(FixedChances(0.25, 0.5, 0.75), threshold=0.5)
    labels, margins = adapter.margins(POINTS, NUMBERS, "predict_proba")
    assert margins.tolist() == [-0.25, 0.0, 0.25]
    assert labels.tolist() == ["no", "yes", "yes"]


def test_a_decision_function_is_a_margin_as_it_is():
    labels, margins = EstimatorAdapter(SVC).margins(POINTS, NUMBERS, "decision_function")
    assert margins.tolist() == SVC.decision_function(POINTS).tolist()
    assert labels.tolist() == SVC.predict(POINTS).tolist()


# What it says of itself


def test_the_classes_of_a_model():
    adapter = EstimatorAdapter(TREE)
    assert adapter.classes == ["no", "yes"]
    adapter.outputs = ("decision",)
    assert adapter.classes == [["no", "yes"]]
    adapter.outputs = ("decision", "rate")
    assert adapter.classes is None
    several = DecisionTreeClassifier().fit(
        TABLE, [[0, 1], [1, 0], [0, 1], [1, 0], [0, 2], [1, 2]]
    )
    adapter = EstimatorAdapter(several)
    assert adapter.classes is None
    adapter.outputs = ("a", "b")
    assert adapter.classes == [[0, 1], [0, 1, 2]]
    empty = ModelOfRule(len)
    empty.classes_ = np.array([])
    assert EstimatorAdapter(empty).classes is None


def test_regressors_give_numbers():
    assert EstimatorAdapter(DecisionTreeRegressor().fit(TABLE, TABLE[:, 0])).numbers is True
    assert EstimatorAdapter(TREE).numbers is False
    assert EstimatorAdapter(ModelOfRule(len)).numbers is False


def test_several_outputs_are_named_by_as_many_and_have_no_score():
    several = DecisionTreeClassifier().fit(
        TABLE, [[0, 1], [1, 0], [0, 1], [1, 0], [0, 2], [1, 2]]
    )
    adapter = EstimatorAdapter(several)
    refused(UsageError, lambda: adapter.check(NUMBERS), "gives 2 outputs for each input")
    adapter.outputs = ("a", "b")
    adapter.check(NUMBERS)
    for options in ({"threshold": 0.5}, {"output": "score"}):
        scored = EstimatorAdapter(LOGISTIC, **options)
        scored.outputs = ("a",)
        refused(UsageError, lambda: scored.check(NUMBERS), "leave out threshold")  # noqa: B023
    plain = EstimatorAdapter(LOGISTIC)
    plain.outputs = ("a",)
    plain.check(NUMBERS)


def test_the_columns_that_a_tree_does_not_split_on_are_not_read():
    assert EstimatorAdapter(TREE).unread(NUMBERS) == frozenset({"income"})
    assert EstimatorAdapter(ModelOfRule(len)).unread(NUMBERS) == frozenset()
    three = Space([*NUMBERS.features, integer("gain", 0, 9)])
    assert EstimatorAdapter(TREE).unread(three) == frozenset()
    # Positions are those of the features that are passed.
    hidden = Feature("race", "category", ("x", "y"), passed=False)
    assert EstimatorAdapter(TREE).unread(Space([hidden, *NUMBERS.features])) == {"income"}


def test_the_identity_tells_models_and_their_questions_apart():
    named = EstimatorAdapter(TREE, identity="mine")
    assert named.identity == "mine:label:"
    assert EstimatorAdapter(TREE, identity="mine", threshold=0.5).identity == (
        "mine:label:'yes':0.5"
    )
    scored = EstimatorAdapter(TREE, identity="mine", output="score", positive="no")
    assert scored.identity == "mine:score:'no':None"
    found = EstimatorAdapter(TREE).identity
    assert found.startswith("estimator:DecisionTreeClassifier:")
    assert found.endswith(":label:")
    assert found == EstimatorAdapter(TREE).identity
    assert found != EstimatorAdapter(LOGISTIC).identity


def test_a_model_without_a_pickle_needs_a_name():
    adapter = EstimatorAdapter(ModelOfRule(lambda _: None))
    refused(
        UsageError, lambda: adapter.identity, "ModelOfRule cannot be pickled", "identity="
    )


# The form of its inputs


class NotingModel(ModelOfRule):
    """A model that keeps what it was asked."""

    def __init__(self) -> None:
        self.inputs: Any = None

    def predict(self, inputs: Any) -> Any:
        self.inputs = inputs
        return np.zeros(len(inputs))


def test_numbers_are_given_as_a_matrix_of_their_own():
    model = NotingModel()
    asked(model)
    assert type(model.inputs) is np.ndarray
    assert model.inputs.tolist() == POINTS.tolist()
    assert not np.shares_memory(model.inputs, POINTS)


def test_texts_and_gaps_are_given_as_they_are():
    model = NotingModel()
    space = Space([category("sex", ["F", "M"]), integer("age", 0, 9)])
    asked(model, np.array([[1.0, 2.0]]), space)
    assert model.inputs.tolist() == [["M", 2]]
    age = Feature("age", "integer", low=0, high=9, missing=True)
    gap = np.array([[age.missing_code, 2.0]])
    asked(model, gap, Space([age, integer("income", 0, 9)]))
    assert np.isnan(float(model.inputs[0][0]))


def test_what_is_not_passed_is_not_given():
    model = NotingModel()
    hidden = Feature("race", "integer", low=0, high=9, passed=False)
    asked(model, np.array([[7.0, 2.0]]), Space([hidden, integer("age", 0, 9)]))
    assert model.inputs.tolist() == [[2]]


def test_a_model_of_another_number_of_columns_is_refused():
    three = Space([*NUMBERS.features, integer("gain", 0, 9)])
    adapter = EstimatorAdapter(TREE)
    refused(
        UsageError,
        lambda: adapter.check(three),
        "DecisionTreeClassifier was trained with 2 columns, and the space passes 3",
    )


def test_a_model_trained_on_names_takes_its_columns_in_its_order():
    frame = pd.DataFrame(TABLE[:, ::-1], columns=["income", "age"])
    tree = DecisionTreeClassifier(random_state=0).fit(frame, LABELS)
    assert asked(tree).tolist() == ["no", "yes", "yes"]
    forest = RandomForestClassifier(3, random_state=0).fit(frame, LABELS)
    own = pd.DataFrame(POINTS[:, ::-1], columns=["income", "age"])
    assert asked(forest).tolist() == forest.predict(own).tolist()


# What it is made of


def test_what_predicts_is_accepted():
    assert EstimatorAdapter.accepts(ModelOfRule(len)) is True
    assert EstimatorAdapter.accepts(DecisionTreeClassifier()) is True
    assert EstimatorAdapter.accepts(ModelOfRule) is False
    assert EstimatorAdapter.accepts(len) is False


def test_only_boosters_of_these_libraries_have_an_adapter_of_their_own():
    kind = type("Booster", (ModelOfRule,), {})
    assert EstimatorAdapter.accepts(kind(len)) is True
    kind.__module__ = "xgboost.core"
    assert EstimatorAdapter.accepts(kind(len)) is False
    other = type("Other", (ModelOfRule,), {"__module__": "xgboost.core"})
    assert EstimatorAdapter.accepts(other(len)) is True


def test_options_that_it_does_not_have_are_refused():
    refused(
        UsageError,
        lambda: EstimatorAdapter.of(TREE, treshold=0.5),
        "adapter 'estimator' has no option 'treshold'",
        "'threshold'",
    )
    adapter = EstimatorAdapter.of(TREE, positive="no", threshold=0.5, identity="mine")
    assert adapter.identity == "mine:label:'no':0.5"
    assert EstimatorAdapter.loaded(TREE) == (TREE, None)
