"""Which adapter asks what, and how outcomes of the user are read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from evenhand.runtime.errors import UsageError
from evenhand.space.feature import Feature, category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.adapters.resolve import (
    adapt,
    as_printed,
    check_space,
    in_own_form,
    kinds_in_files,
)
from tests.support.helpers import SPACE, refused

TREE = DecisionTreeClassifier().fit([[0, 0], [1, 1]], ["no", "yes"])


def ages(frame: Any) -> Any:
    return frame["age"]


def test_models_and_functions_have_their_adapters():
    assert type(adapt(TREE)) is EstimatorAdapter
    assert type(adapt(ages)) is FunctionAdapter
    adapter = FunctionAdapter(ages)
    assert adapt(adapter) is adapter


def test_options_are_passed_on_where_they_are_given():
    adapter: Any = adapt(TREE, positive="no", threshold=0.25, identity="mine")
    assert (adapter.positive, adapter.threshold, adapter.output) == ("no", 0.25, "label")
    assert adapter.identity == "mine:label:'no':0.25"
    scored: Any = adapt(TREE, output="score")
    assert scored.output == "score"
    assert adapt(ages, positive=1, identity="mine").identity == "mine"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"threshold": 0.5}, "threshold = 0.5 is for a bare model"),
        ({"output": "score"}, "output = 'score' is for a bare model"),
        ({"identity": "mine"}, "identity = 'mine' is for a bare model"),
    ],
)
def test_an_adapter_takes_no_further_options(options, words):
    refused(UsageError, lambda: adapt(FunctionAdapter(ages), **options), words)
    assert adapt(FunctionAdapter(ages), positive=1, output="label").kind == "function"


def test_what_is_neither_a_model_nor_a_function():
    refused(
        UsageError,
        lambda: adapt(DecisionTreeClassifier),
        "DecisionTreeClassifier is a class; pass a fitted instance",
    )
    refused(UsageError, lambda: adapt(3), "3 is neither a fitted estimator nor a function")


def test_kinds_that_a_configuration_can_name():
    kinds = kinds_in_files()
    assert {"command", "stream", "http", "onnx", "estimator", "function"} <= set(kinds)
    assert kinds_in_files(texts=True) == ["estimator", "function"]


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ("1", 1),
        ("yes", "yes"),
        (1, 1),
        (None, None),
        (["1", "x", 2], [1, "x", 2]),
        (("1", ["0.5"]), [1, [0.5]]),
        ({"a": "1"}, {"a": "1"}),
    ],
)
def test_outcomes_are_read_as_a_program_prints_them(given, read):
    assert as_printed(given) == read


def test_a_space_is_needed_of_which_software_sees_something():
    check_space(SPACE)
    refused(UsageError, lambda: check_space([1]), "space = [1] is not a Space")
    hidden = Feature("race", "category", ("a", "b"), passed=False)
    refused(
        UsageError,
        lambda: check_space(Space([hidden])),
        "no feature of the space is passed",
    )


def test_a_space_takes_the_form_of_software():
    found, notes = in_own_form(FunctionAdapter(ages), SPACE)
    assert found.names == SPACE.names
    assert notes == []


def test_gaps_that_software_refuses_are_left_out_and_noted():
    def strict(frame: Any) -> Any:
        return frame["age"].astype(np.int64)

    strict.__qualname__ = "s" * 60
    gaps = Space(
        [Feature("age", "integer", low=0, high=9, missing=True), integer("x", 0, 9)]
    )
    found, notes = in_own_form(FunctionAdapter(strict), gaps)
    assert [feature.missing for feature in found.features] == [False, False]
    assert len(notes) == 1
    assert "s" * 60 in notes[0]
    strict.__qualname__ = "s" * 61
    _, notes = in_own_form(FunctionAdapter(strict), gaps)
    assert "s" * 59 + "…" in notes[0]


def test_software_that_takes_gaps_keeps_them():
    gaps = Space(
        [Feature("age", "integer", low=0, high=9, missing=True), integer("x", 0, 9)]
    )
    found, notes = in_own_form(FunctionAdapter(lambda frame: frame["x"]), gaps)
    assert [bool(feature.missing) for feature in found.features] == [True, False]
    assert notes == []


def test_a_space_that_does_not_fit_is_refused():
    three = Space([category("sex", ["F", "M"]), integer("age", 0, 9), integer("x", 0, 9)])
    adapter = EstimatorAdapter(TREE)
    refused(UsageError, lambda: in_own_form(adapter, three), "was trained with 2 columns")
