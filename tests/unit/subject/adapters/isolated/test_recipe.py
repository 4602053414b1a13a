"""How software is built, here or in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.subject.adapters import ADAPTERS
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.adapters.isolated.adapter import IsolatedAdapter, isolated
from evenhand.subject.adapters.isolated.limits import Isolation
from evenhand.subject.adapters.isolated.recipe import (
    Later,
    build,
    is_model_file,
    made,
    title_of,
)
from tests.support.helpers import SPACE, people, refused


def ages(frame: Any) -> Any:
    return frame["age"]


class CalledForAges:
    """An object that is called."""

    def __call__(self, frame: Any) -> Any:
        return frame["age"]


@pytest.mark.parametrize(
    ("kind", "value", "is_file"),
    [
        ("estimator", "model.skops", True),
        ("estimator", Path("model.skops"), True),
        ("estimator", object(), False),
        ("onnx", "model.onnx", True),
        ("function", "package:name", False),
        ("command", "model.skops", False),
        ("http", "http://127.0.0.1/", False),
    ],
)
def test_only_a_file_that_is_loaded_here_is_a_model_file(kind, value, is_file):
    assert is_model_file(ADAPTERS[kind], value) is is_file


def test_software_in_a_few_words():
    assert title_of("a/b.skops") == "the model 'a/b.skops'"
    assert title_of(Path("b.skops")) == "the model 'b.skops'"
    assert title_of(ages) == "ages"
    assert title_of(CalledForAges()) == "CalledForAges"
    assert title_of(Later("the function 'a:b'", dict)) == "the function 'a:b'"
    long = type("x" * 61, (), {})
    assert title_of(long) == "x" * 59 + "…"
    assert title_of(type("x" * 60, (), {})) == "x" * 60


def test_what_is_made_later_is_made_where_it_is_wanted():
    assert made(Later("three", lambda: 3)) == 3
    assert made(ages) is ages


def test_software_is_built_here_where_it_is_no_file():
    for isolate in (None, False):
        adapter = build("function", ages, {"identity": "mine"}, isolate=isolate)
        assert isinstance(adapter, FunctionAdapter)
        assert adapter.identity == "mine"
    adapter = build("function", Later("ages", lambda: ages), {})
    assert isinstance(adapter, FunctionAdapter)
    assert adapter.function is ages


def test_the_favourable_outcome_is_passed_on():
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    adapter: Any = build("estimator", tree, {"threshold": 0.5}, positive="no")
    assert (adapter.positive, adapter.threshold) == ("no", 0.5)


@pytest.mark.parametrize("isolate", [True, {"timeout": 30}])
def test_what_runs_elsewhere_needs_no_process_of_ours(isolate):
    words = "a command runs elsewhere already, so leave isolate out"
    refused(
        UsageError, lambda: build("command", ["cat", "{*}"], {}, isolate=isolate), words
    )
    adapter = build("command", ["cat", "{*}"], {})
    assert adapter.kind == "command"
    refused(UsageError, lambda: isolated(adapter, isolate), words)
    assert isolated(adapter, False) is adapter


def test_software_is_built_in_a_process_of_its_own():
    adapter = build("function", lambda frame: [os.getpid()] * len(frame), {}, isolate=True)
    try:
        assert isinstance(adapter, IsolatedAdapter)
        assert isolated(adapter, True) is adapter
        assert adapter._limits == Isolation()
        ((rows, outcomes),) = adapter.run(people(1, 2, 3), SPACE)
        assert rows.tolist() == [0, 1, 2]
        assert outcomes[0] != os.getpid()
        assert np.unique(outcomes).size == 1
    finally:
        adapter.close()
