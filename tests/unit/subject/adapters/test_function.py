"""Functions as software under test: what they return, and what they are called."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, UsageError
from evenhand.space.feature import Feature, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.function import FunctionAdapter
from tests.support.helpers import SPACE, people, refused

POINTS = people(1, 2, 3)


def ages(frame: Any) -> Any:
    return frame["age"]


class Callable:
    """An object that is called as a function is."""

    def __call__(self, frame: Any) -> Any:
        return frame["age"]


def asked(function: Any, points: Any = POINTS, outputs: tuple[str, ...] = ()) -> Any:
    """Return the outcomes of a function."""
    adapter = FunctionAdapter(function)
    adapter.outputs = outputs
    ((rows, outcomes),) = adapter.run(points, SPACE)
    assert rows.tolist() == list(range(len(points)))
    return outcomes


def test_a_function_answers_all_inputs_at_once():
    assert asked(ages).tolist() == [1, 2, 3]
    assert asked(lambda frame: [*frame["sex"]]).tolist() == ["M", "F", "M"]
    assert asked(lambda _: ("a", None, 3)).tolist() == ["a", None, 3]
    assert asked(lambda _: np.array([True, False, True])).tolist() == [True, False, True]
    table = asked(lambda frame: {"a": frame["age"], "b": [0, 0, 1]}, outputs=("b", "a"))
    assert table["b"].tolist() == [0, 0, 1]
    assert table["a"].tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([1, 2], "returned 2 outcomes for 3 inputs"),
        (np.ones(1200), "returned 1,200 outcomes for 3 inputs"),
        ("yes", "returned the single value 'yes' for 3 inputs"),
        (None, "returned the single value None for 3 inputs"),
        (
            np.ma.array([1, 2, 3], mask=[True, True, False]),
            "2 of 3 inputs, which are masked",
        ),
    ],
)
def test_answers_that_are_not_one_per_input(answer, words):
    refused(BadOutcome, lambda: asked(lambda _: answer), words)


def test_what_it_raises_is_one_sentence():
    refused(
        SubjectCrashed, lambda: asked(lambda frame: frame["sexx"]), "KeyError on 3 inputs"
    )


def test_what_can_be_called_is_a_function():
    assert FunctionAdapter.accepts(ages) is True
    assert FunctionAdapter.accepts(Callable()) is True
    assert FunctionAdapter.accepts(Callable) is False
    assert FunctionAdapter.accepts(3) is False
    assert FunctionAdapter.accepts(DecisionTreeClassifier()) is False


def test_a_model_that_is_named_as_a_function_is_asked_as_a_model():
    tree = DecisionTreeClassifier().fit([[0, 0], [1, 1]], ["no", "yes"])
    adapter = FunctionAdapter.of(tree, positive="no", threshold=0.5)
    assert isinstance(adapter, EstimatorAdapter)
    assert (adapter.positive, adapter.threshold) == ("no", 0.5)


def test_options_of_a_function():
    assert FunctionAdapter.of(ages, positive=1, identity="mine").identity == "mine"
    refused(
        UsageError,
        lambda: FunctionAdapter.of(ages, identiti="mine"),
        "adapter 'function' has no option 'identiti'",
    )
    for option in ({"threshold": 0.5}, {"output": "score"}):
        refused(
            UsageError,
            lambda: FunctionAdapter.of(ages, **option),  # noqa: B023
            "threshold and output are for estimators",
        )


def test_the_identity_is_the_place_and_what_it_does():
    adapter = FunctionAdapter(ages)
    assert adapter.name == "ages"
    assert adapter.identity.startswith(f"function:{__name__}:ages:")
    assert FunctionAdapter(Callable()).name == "Callable"
    assert FunctionAdapter(functools.partial(ages)).name == "partial"
    assert FunctionAdapter(ages, identity="").identity == adapter.identity


def test_gaps_that_a_function_fails_on_are_found():
    def strict(frame: Any) -> Any:
        if frame["age"].isna().any():
            raise ValueError("no age")
        return frame["age"]

    space = Space(
        [Feature("age", "integer", low=0, high=9, missing=True), integer("x", 0, 9)]
    )
    assert FunctionAdapter(strict).refuses_missing(space) == ("age",)
    assert FunctionAdapter(lambda frame: frame["x"]).refuses_missing(space) == ()
