"""The other end of the pipes, served here: what it answers to each request."""

from __future__ import annotations

import io
import pickle
import resource
import warnings
from typing import Any

import cloudpickle
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from evenhand.runtime.errors import EvenhandWarning, SubjectCrashed, UsageError
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.estimator import EstimatorAdapter
from evenhand.subject.adapters.isolated.messages import HEADER, framed, request_parts
from evenhand.subject.adapters.isolated.worker import Server, _limit
from evenhand.subject.model_form import ModelForm
from tests.support.helpers import SPACE, people

READY = ("end", None)


def served(*requests: Any) -> list[Any]:
    """Return what is sent back for these requests, after the sign that all is ready."""
    asked = b""
    for request in requests:
        asked += b"".join(request_parts(request))
    sent = io.BytesIO()
    Server(io.BytesIO(asked), sent).serve()
    sent.seek(0)
    found = []
    while header := sent.read(HEADER.size):
        found.append(pickle.loads(sent.read(HEADER.unpack(header)[0])))
    assert found[0] == READY
    return found[1:]


class ServedSoftware(Adapter):
    """An adapter of a function on points, which answers row by row in this order."""

    kind = "software"
    printed = True
    expensive = True
    classes = ("no", "yes")

    def __init__(self, answer: Any, order: Any = slice(None)) -> None:
        self.answer = answer
        self.order = order

    @property
    def identity(self) -> str:
        return "software 1"

    def margins(self, points: Any, space: Any, scorer: str) -> Any:
        return points[:, 1].tolist(), space.names, scorer

    def run(self, points: Any, space: Any) -> Any:
        outcomes = np.asarray(self.answer(points))
        yield np.arange(len(points))[self.order], outcomes[self.order]


def recipe(answer: Any, order: Any = slice(None)) -> Any:
    """Return the request to build software."""
    return "build", cloudpickle.dumps(lambda: ServedSoftware(answer, order))


ANSWERS = recipe(lambda points: points[:, 1] * 2)
FACTS = {
    "name": "software 1",
    "kind": "software",
    "expensive": True,
    "own_threads_from": float("inf"),
    "printed": True,
    "takes_texts": False,
    "file": None,
}
WITH_SPACE = ("space", 0, cloudpickle.dumps(SPACE))


def shown(found: Any) -> Any:
    """Return answers as lists, in place of arrays."""
    kind, (rows, outcomes) = found
    return kind, None if rows is None else rows.tolist(), outcomes.tolist()


def test_what_is_built_says_what_it_is():
    assert served(ANSWERS) == [("part", FACTS), READY]
    assert served() == []


def test_a_request_that_is_cut_off_is_none():
    sent = io.BytesIO()
    Server(io.BytesIO(b"\x01\x00\x00"), sent).serve()
    assert len(sent.getvalue()) == len(framed(pickle.dumps(READY, protocol=5)))


def test_points_are_answered_and_rows_in_order_are_left_out():
    found = served(ANSWERS, WITH_SPACE, ("run", people(3, 4), 0))
    assert found[2] == READY
    assert shown(found[3]) == ("part", None, [6.0, 8.0])
    assert found[4] == READY
    backwards = recipe(lambda points: points[:, 1], slice(None, None, -1))
    found = served(backwards, WITH_SPACE, ("run", people(3, 4), 0))
    assert shown(found[3]) == ("part", [1, 0], [4.0, 3.0])


def test_without_a_space_the_inputs_stand_for_it():
    found = served(
        recipe(lambda texts: [len(text) for text in texts]), ("run", ["a", "bc"], None)
    )
    assert shown(found[2]) == ("part", None, [1, 2])


def test_attributes_are_sent_and_of_methods_only_that_there_are_some():
    requests = [("get", name) for name in ("classes", "margins", "gradients", "identity")]
    found = served(ANSWERS, *requests)
    assert found[2::2] == [
        ("part", (True, ("no", "yes"))),
        ("part", (True, None)),
        ("part", (False, None)),
        ("part", (True, "software 1")),
    ]


def test_methods_take_nothing_a_space_or_points_and_more():
    other = ("space", 1, cloudpickle.dumps(SPACE))
    requests = [
        ("call", "form", None),
        ("call", "unread", 0),
        ("call", "margins", 1, people(3, 4), "scorer"),
    ]
    found = served(ANSWERS, WITH_SPACE, other, *requests)
    assert found[2:4] == [READY, READY]
    assert found[4] == ("part", ModelForm())
    assert found[6] == ("part", frozenset())
    assert found[8] == ("part", ([3.0, 4.0], SPACE.names, "scorer"))


def test_outputs_are_set():
    found = served(ANSWERS, ("outputs", ("a", "b")), ("get", "outputs"))
    assert found[2:] == [READY, ("part", (True, ("a", "b"))), READY]


def failed(*requests: Any) -> tuple[type[Exception], str]:
    """Return the error that ends the answer to the last request."""
    kind, error = served(*requests)[-1]
    assert kind == "error"
    return type(error), str(error)


def test_a_failure_ends_an_answer_and_not_the_process():
    def fail(points: Any) -> Any:
        if len(points) > 1:
            raise ValueError("too\nmany")
        return points[:, 1]

    requests = [("run", people(1, 2), 0), ("run", people(7), 0)]
    found = served(recipe(fail), WITH_SPACE, *requests)
    kind, error = found[3]
    assert kind == "error"
    assert type(error) is SubjectCrashed
    assert str(error) == "the software under test raised ValueError: too many"
    assert shown(found[4]) == ("part", None, [7.0])


def test_errors_of_ours_are_passed_on_as_they_are():
    tree = DecisionTreeClassifier().fit([[0], [1]], ["no", "yes"])
    build = ("build", cloudpickle.dumps(lambda: EstimatorAdapter(tree)))
    kind, message = failed(build, WITH_SPACE, ("call", "check", 0))
    assert kind is UsageError
    assert "was trained with 1 columns" in message


def test_an_exit_is_a_failure():
    def leave() -> Any:
        raise SystemExit(3)

    assert failed(("build", cloudpickle.dumps(leave))) == (
        SubjectCrashed,
        "the software under test called sys.exit(3)",
    )


def test_what_was_not_built_cannot_be_asked():
    assert failed(("get", "classes")) == (
        SubjectCrashed,
        "the software under test was asked before it was built",
    )


def test_each_warning_is_sent_once_before_the_end():
    def warn(points: Any) -> Any:
        for _ in range(2):
            warnings.warn("careful", UserWarning, stacklevel=1)
        warnings.warn("of ours", EvenhandWarning, stacklevel=1)
        return points[:, 1]

    ask = ("run", people(1), 0)
    found = served(recipe(warn), WITH_SPACE, ask, ask)
    kinds = [kind for kind, _ in found]
    assert kinds == [
        "part",
        "end",
        "end",
        "part",
        "warning",
        "warning",
        "end",
        "part",
        "end",
    ]
    assert found[4:6] == [("warning", (False, "careful")), ("warning", (True, "of ours"))]


@pytest.mark.parametrize(
    ("most", "set_to"), [(resource.RLIM_INFINITY, 1000), (5000, 1000), (700, 700)]
)
def test_no_more_memory_is_allowed_than_was_before(monkeypatch, most, set_to):
    limits = []
    monkeypatch.setattr(resource, "getrlimit", lambda _: (most, most))
    monkeypatch.setattr(
        resource, "setrlimit", lambda kind, both: limits.append((kind, both))
    )
    _limit(1000)
    assert limits == [(resource.RLIMIT_DATA, (set_to, set_to))]
