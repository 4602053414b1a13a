"""Software in a process of its own, asked through its handle."""

from __future__ import annotations

import os
import pickle
import sys
import time
import warnings
from typing import Any

import cloudpickle
import numpy as np
import pytest

from evenhand.runtime.errors import (
    BadOutcome,
    EvenhandWarning,
    SubjectCrashed,
    SubjectTimeout,
    UsageError,
)
from evenhand.space.feature import Feature, category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.adapters.isolated.adapter import (
    IsolatedAdapter,
    _RefusedThere,
    _warn,
    isolated,
)
from evenhand.subject.adapters.isolated.limits import Isolation
from tests.support.helpers import SPACE, collect, people, refused

NUMBERS = Space([integer("age", 0, 9), integer("income", 0, 9)])
POINTS = np.array([[1.0, 2.0], [8.0, 3.0]])


class LendingRule:
    """A model of two columns, which lends to those over four years."""

    n_features_in_ = 2

    def __init__(self) -> None:
        self.classes_ = np.array([0, 1])

    def predict(self, table: Any) -> Any:
        if not (table >= 0).all():
            raise ValueError("a gap")
        return (table[:, 0] > 4).astype(int)

    def predict_proba(self, table: Any) -> Any:
        chances = table[:, 0] / 10
        return np.column_stack([1 - chances, chances])

    def decision_function(self, table: Any) -> Any:
        return table[:, 0] - 4


def lending() -> EstimatorAdapter:
    return EstimatorAdapter(LendingRule(), identity="mine")


@pytest.fixture(autouse=True)
def by_value():
    """Send what is written here as it is, so that no other process imports this module."""
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture
def isolate():
    """Make adapters that run in processes of their own, and end them."""
    made: list[IsolatedAdapter] = []

    def make(
        recipe: Any, limits: Isolation | None = None, **options: Any
    ) -> IsolatedAdapter:
        made.append(IsolatedAdapter(recipe, "software", limits or Isolation(), **options))
        return made[-1]

    yield make
    for adapter in made:
        adapter.close()


def in_parts(ends: str) -> Any:
    """Return what makes software that answers in parts, and then ends in some way."""

    class InParts(Adapter):
        kind = "in parts"
        identity = "in parts"
        printed = True
        expensive = True

        def run(self, points: Any, space: Any) -> Any:
            for row in range(len(points)):
                yield np.array([row]), np.array([f"answer {row}"])
            if ends == "crash":
                raise SubjectCrashed("enough")
            if ends == "exit":
                os._exit(3)

    return InParts


def test_all_parts_of_an_answer_come(isolate):
    adapter = isolate(in_parts("well"))
    found, error = collect(adapter, people(1, 2, 3))
    assert error is None
    assert found == {0: "answer 0", 1: "answer 1", 2: "answer 2"}
    assert collect(adapter, people()) == ({}, None)
    assert (adapter.expensive, adapter.printed, adapter.takes_texts) == (True, True, False)


@pytest.mark.parametrize("ends", ["crash", "exit"])
def test_parts_before_a_failure_are_kept(isolate, ends):
    adapter = isolate(in_parts(ends))
    found, error = collect(adapter, people(1, 2))
    assert found == {0: "answer 0", 1: "answer 1"}
    assert type(error) is SubjectCrashed
    if ends == "crash":
        # An error of the adapter is no death of its process.
        assert str(error) == "enough"
        assert adapter._child is not None
    else:
        assert str(error).startswith("in parts exited with code 3 on 2 inputs (")
        assert adapter._child is None
    assert collect(adapter, people(1))[0] == {0: "answer 0"}


def test_its_name_and_identity_are_those_of_the_software(isolate):
    local = lending()
    adapter = isolate(lending)
    assert adapter.name == "LendingRule"
    assert adapter.identity == local.identity
    own = isolated(local, True)
    assert isinstance(own, IsolatedAdapter)
    own.close()
    # Where there is one here, no process is started to be asked for it.
    assert own.identity == local.identity
    assert own._child is None


def test_attributes_and_methods_are_those_that_an_adapter_may_have(isolate):
    local = lending()
    adapter: Any = isolate(lending)
    assert adapter.classes == [0, 1]
    assert adapter.output == "label"
    assert adapter.numbers is False
    assert adapter.scorers == ("predict_proba", "decision_function")
    labels, margins = adapter.margins(POINTS, NUMBERS, "predict_proba")
    expected = local.margins(POINTS, NUMBERS, "predict_proba")
    assert labels.tolist() == expected[0].tolist()
    assert margins.tolist() == expected[1].tolist()
    for name in ("gradients", "threshold", "model", "_classes"):
        with pytest.raises(AttributeError, match=name):
            getattr(adapter, name)


def test_what_is_asked_of_a_space(isolate):
    adapter = isolate(lending)
    adapter.check(NUMBERS)
    three = Space([*NUMBERS.features, integer("gain", 0, 9)])
    refused(UsageError, lambda: adapter.check(three), "was trained with 2 columns")
    assert adapter.unread(NUMBERS) == frozenset()
    gaps = Space(
        [Feature("age", "integer", low=0, high=9, missing=True), integer("x", 0, 9)]
    )
    assert adapter.refuses_missing(gaps) == ("age",)
    assert adapter.form() == lending().form()
    assert adapter.form() is adapter.form()


def test_a_space_is_sent_once(isolate):
    adapter = isolate(lambda: FunctionAdapter(lambda frame: frame["age"]))
    other = Space([category("sex", ["X", "Y"]), integer("age", 0, 99)])
    assert [adapter._number(space) for space in (SPACE, other, SPACE, other)] == [
        0,
        1,
        0,
        1,
    ]
    assert adapter._spaces == [SPACE, other]
    adapter.close()
    adapter.close()
    assert adapter._spaces == []
    assert adapter._number(other) == 0


def test_outputs_are_set_there_and_again_after_a_death(isolate):
    adapter: Any = isolate(
        lambda: FunctionAdapter(lambda f: {"a": f["age"], "b": f["sex"]})
    )
    assert adapter.outputs == ()
    adapter.outputs = ("b", "a")
    for _ in range(2):
        ((_, outcomes),) = adapter.run(people(1, 2), SPACE)
        assert outcomes.dtype.names == ("b", "a")
        assert outcomes["a"].tolist() == [1, 2]
        adapter.close()
    # Known answers are of the outputs that there were.
    of_labels: Any = isolate(lending)
    assert of_labels.classes == [0, 1]
    of_labels.outputs = ("decision",)
    assert of_labels.classes == [[0, 1]]


def test_texts_stand_for_points_and_space(isolate):
    adapter: Any = isolate(lambda: in_texts()(len))
    texts = ["a", "bcd"]
    ((rows, outcomes),) = adapter.run(texts, texts)
    assert rows.tolist() == [0, 1]
    assert outcomes.tolist() == [1, 3]


def in_texts() -> Any:
    class OfTexts(Adapter):
        kind = "of texts"
        identity = "of texts"
        takes_texts = True

        def __init__(self, measure: Any) -> None:
            self.measure = measure

        def run(self, points: Any, space: Any) -> Any:
            yield np.arange(len(points)), np.array([self.measure(text) for text in space])

    return OfTexts


def test_a_pickle_has_no_process(isolate):
    adapter = isolate(lending)
    adapter._number(NUMBERS)
    twin = pickle.loads(pickle.dumps(adapter))
    try:
        assert twin._child is None
        assert twin._spaces == []
        assert collect(twin, POINTS, NUMBERS) == collect(adapter, POINTS, NUMBERS)
    finally:
        twin.close()


# Time and failures


def test_loading_may_take_longer_than_an_answer(isolate):
    def lend(frame: Any) -> Any:
        time.sleep(0.5)
        return frame["age"]

    def slow() -> Any:
        time.sleep(0.15)
        return FunctionAdapter(lend)

    adapter = isolate(slow, Isolation(timeout=0.1))
    found, error = collect(adapter, people(1, 2))
    assert found == {}
    assert type(error) is SubjectTimeout
    assert str(error).endswith("gave no answer in 0.1 seconds on 2 inputs")
    assert adapter._child is None


def test_software_that_cannot_be_loaded(isolate):
    def leave() -> Any:
        os._exit(3)

    def fail() -> Any:
        raise ValueError("no such model")

    refused(
        SubjectCrashed,
        lambda: isolate(leave),
        "software exited with code 3 when it was loaded (nothing on standard error)",
    )
    refused(SubjectCrashed, lambda: isolate(fail), "raised ValueError: no such model")


def test_answers_that_are_no_plain_values(isolate):
    adapter = isolate(lambda: FunctionAdapter(lambda frame: [os.stat_result] * len(frame)))
    _, error = collect(adapter, people(1))
    assert type(error) is BadOutcome
    assert "answered with a os.stat_result; an outcome is" in str(error)


def test_an_error_that_is_not_ours_is_one_sentence():
    ours = UsageError("as it is")
    assert _RefusedThere(ours).error is ours
    other = _RefusedThere(["x"] * 100).error
    assert type(other) is SubjectCrashed
    assert len(str(other)) == 120


def test_warnings_keep_whether_they_are_ours():
    for is_own, kind in ((True, EvenhandWarning), (False, UserWarning)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            _warn((is_own, "careful"))
        assert [(one.category, str(one.message)) for one in caught] == [(kind, "careful")]
