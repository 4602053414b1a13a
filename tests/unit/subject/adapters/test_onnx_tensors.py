"""ONNX models: the tensors that they are fed, and what is read from those that they answer with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest

from evenhand.runtime.errors import BadOutcome, UsageError
from evenhand.space.feature import Feature, category, date, integer, real
from evenhand.space.space import Space
from evenhand.subject.adapters.onnx import (
    OnnxAdapter,
    _column,
    _feed,
    _fixed_batch,
    _matrix,
)
from tests.support.helpers import refused

pytest.importorskip("onnxruntime")
pytest.importorskip("onnx")

from onnx import TensorProto, helper

if TYPE_CHECKING:
    from collections.abc import Sequence

FILE = Path("model.onnx")
FLOAT, INT, TEXT = TensorProto.FLOAT, TensorProto.INT64, TensorProto.STRING


class Tensor(NamedTuple):
    """What onnxruntime says of an input."""

    name: str
    type: str
    shape: list[Any]


class Session:
    """A session that has inputs and nothing else."""

    def __init__(self, *inputs: Tensor) -> None:
        self.inputs = inputs

    def get_inputs(self) -> Sequence[Tensor]:
        return self.inputs


def number(name: str, kind: str = "float", shape: Sequence[Any] = (None, 1)) -> Tensor:
    return Tensor(name, f"tensor({kind})", list(shape))


# What a model is fed

AGE = integer("age", 0, 200)
CODES = np.array([3.0, 7.0])


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [
        ("float", np.float32),
        ("double", np.float64),
        ("float16", np.float16),
        ("int64", np.int64),
        ("int32", np.int32),
        ("int16", np.int16),
        ("int8", np.int8),
    ],
)
def test_numbers_have_the_type_of_their_tensor(kind, dtype):
    column = _column(AGE, CODES, number("age", kind), FILE)
    assert column.dtype == dtype
    assert column.tolist() == [3, 7]


def test_numbers_that_do_not_fit_are_refused():
    rate = real("rate", 0, 1, step=0.25)
    codes = np.array([0.0, 0.25])
    assert _column(rate, codes, number("rate"), FILE).tolist() == [0.0, 0.25]
    words = "takes whole numbers, and feature 'rate' has others"
    refused(UsageError, lambda: _column(rate, codes, number("rate", "int64"), FILE), words)
    whole = np.array([0.0, 1.0])
    assert _column(rate, whole, number("rate", "int64"), FILE).tolist() == [0, 1]
    flags = _column(rate, whole, number("rate", "bool"), FILE)
    assert flags.tolist() == [False, True]
    with np.errstate(invalid="ignore"):
        refused(
            UsageError,
            lambda: _column(AGE, np.array([150.0]), number("age", "int8"), FILE),
            "takes whole numbers",
        )
    refused(
        UsageError,
        lambda: _column(AGE, CODES, number("age", "complex64"), FILE),
        "is a tensor(complex64), which is not supported",
    )


def test_levels_are_sent_as_their_numbers_and_gaps_as_nan():
    size = Feature("size", "category", (10, 30), missing=True)
    column = _column(size, np.array([1.0, 0.0, 2.0]), number("size"), FILE)
    assert column[:2].tolist() == [30.0, 10.0]
    assert np.isnan(column[2])
    age = Feature("age", "integer", low=5, high=9, missing=True)
    column = _column(age, np.array([5.0, age.missing_code, 9.0]), number("age"), FILE)
    assert np.isnan(column).tolist() == [False, True, False]
    assert column[[0, 2]].tolist() == [5.0, 9.0]


def test_texts_are_sent_as_they_are_and_gaps_as_nothing():
    sex = Feature("sex", "category", ("F", "M"), missing=True)
    text = Tensor("sex", "tensor(string)", [None, 1])
    assert _column(sex, np.array([1.0, 2.0, 0.0]), text, FILE).tolist() == ["M", "", "F"]
    day = date("day", "2020-01-01", "2020-12-31", missing=True)
    codes = np.array([day.low, day.missing_code, day.high], dtype=np.float64)
    found = _column(day, codes, text, FILE)
    assert found.tolist() == ["2020-01-01", "", "2020-12-31"]


@pytest.mark.parametrize(
    ("feature", "kind", "words"),
    [
        (AGE, "string", "takes text, and feature 'age' has numbers"),
        (category("x", ["a", 1]), "string", "takes text, and feature 'x' has numbers"),
        (category("x", [1, "a", "b"]), "float", "feature 'x' has the level 'a'"),
        (date("day", "2020-01-01", "2020-12-31"), "float", "feature 'day' has dates"),
    ],
)
def test_features_that_do_not_fit_a_tensor(feature, kind, words):
    tensor = number("t", kind)
    codes = np.array([1.0])
    refused(UsageError, lambda: _column(feature, codes, tensor, FILE), "input 't'", words)


TWO = Space([AGE, integer("income", 0, 9)])
HIDDEN = Space([Feature("race", "integer", low=0, high=9, passed=False), *TWO.features])
POINTS = np.array([[3.0, 1.0], [7.0, 2.0]])


def test_the_only_tensor_has_a_column_for_each_feature_that_is_passed():
    feed = _feed([number("X", shape=(None, 2))], POINTS, TWO, FILE)
    assert list(feed) == ["X"]
    assert feed["X"].tolist() == POINTS.tolist()
    wide = np.column_stack([[9.0, 8.0], POINTS])
    assert _feed([number("X", shape=(None, 2))], wide, HIDDEN, FILE)["X"].tolist() == (
        POINTS.tolist()
    )


@pytest.mark.parametrize(
    "shape", [(None, 2), (None, None), (None, "n"), (2,), (None, 3, 4)]
)
def test_widths_that_say_nothing_else_are_taken(shape):
    tensor = number("X", shape=shape)
    assert _matrix(tensor, POINTS, TWO, FILE).shape == (2, 2)


def test_another_width_is_refused():
    for width in (1, 3):
        refused(
            UsageError,
            lambda: _matrix(number("X", shape=(None, width)), POINTS, TWO, FILE),  # noqa: B023
            f"takes {width} columns and the space passes 2 features",
        )


def test_a_tensor_for_each_feature_has_its_values():
    flat = [number("income", shape=(None,)), number("age")]
    feed = _feed(flat, POINTS, TWO, FILE)
    assert feed["income"].tolist() == [1.0, 2.0]
    assert feed["age"].tolist() == [[3.0], [7.0]]
    wide = np.column_stack([[9.0, 8.0], POINTS])
    assert _feed(flat, wide, HIDDEN, FILE)["age"].tolist() == [[3.0], [7.0]]


def test_an_only_tensor_that_has_the_name_of_a_feature_is_that_feature():
    one = Space([AGE])
    points = POINTS[:, :1]
    assert _feed([number("age")], points, one, FILE)["age"].tolist() == [[3.0], [7.0]]
    flat = _feed([number("age", shape=(None,))], points, one, FILE)
    assert flat["age"].tolist() == [3.0, 7.0]
    # One of several columns is a matrix, whatever it is called.
    matrix = _feed([number("age", shape=(None, 2))], POINTS, TWO, FILE)
    assert matrix["age"].tolist() == POINTS.tolist()


def test_tensors_and_features_must_have_the_same_names():
    words = "input 'agee' of the ONNX model 'model.onnx' is not a feature"
    tensors = [number("agee"), number("income")]
    refused(UsageError, lambda: _feed(tensors, POINTS, TWO, FILE), words, "'age'")
    words = "feature 'income' has no input in the ONNX model 'model.onnx'"
    refused(UsageError, lambda: _feed([number("age")], POINTS, TWO, FILE), words)


@pytest.mark.parametrize(
    ("shape", "size"),
    [([4, 2], 4), ([1, 2], 1), ([None, 2], 0), (["N", 2], 0), ([0, 2], 0), ([], 0)],
)
def test_the_size_of_a_batch_that_is_fixed(shape, size):
    assert _fixed_batch(Session(number("X", shape=shape), number("Y"))) == size


# What it answers with


def written(path: Path, nodes: Any, inputs: Any, outputs: Any, tables: Any = ()) -> Path:
    """Write a model of these nodes, inputs and outputs."""
    described = []
    for tensors in (inputs, outputs):
        described.append([helper.make_tensor_value_info(*tensor) for tensor in tensors])
    graph = helper.make_graph(nodes, "graph", *described, list(tables))
    opset = [helper.make_opsetid("", 17)]
    model = helper.make_model(graph, opset_imports=opset, ir_version=8)
    path.write_bytes(model.SerializeToString())
    return path


def split_up(path: Path, first: str = "label") -> Path:
    """Write a model that answers with its first column as a label, and the others as scores."""
    tables = [
        helper.make_tensor("zero", INT, [1], [0]),
        helper.make_tensor("rest", INT, [2], [1, 2]),
    ]
    nodes = [
        helper.make_node("Gather", ["X", "zero"], ["column"], axis=1),
        helper.make_node("Cast", ["column"], [first], to=INT),
        helper.make_node("Gather", ["X", "rest"], ["scores"], axis=1),
    ]
    outputs = [(first, INT, [None, 1]), ("scores", FLOAT, [None, 2])]
    if first == "output_label":
        outputs.reverse()
    return written(path, nodes, [("X", FLOAT, [None, 3])], outputs, tables)


@pytest.fixture(scope="module")
def split(tmp_path_factory):
    return split_up(tmp_path_factory.mktemp("onnx") / "split.onnx")


PARTS = Space([integer("label", 0, 9), integer("no", 0, 9), integer("yes", 0, 9)])
PEOPLE = np.array([[0.0, 3.0, 1.0], [5.0, 2.0, 4.0], [0.0, 9.0, 8.0]])


def asked(adapter: OnnxAdapter, points: Any = PEOPLE, space: Space = PARTS) -> Any:
    ((rows, outcomes),) = adapter.run(points, space)
    assert rows.tolist() == list(range(len(points)))
    return outcomes


def test_the_label_is_the_first_tensor_or_that_of_this_name(split, tmp_path):
    assert asked(OnnxAdapter(split)).tolist() == [0, 5, 0]
    named = split_up(tmp_path / "named.onnx", "output_label")
    assert asked(OnnxAdapter(named)).tolist() == [0, 5, 0]
    assert asked(OnnxAdapter(named, output="score")).tolist() == [1.0, 4.0, 8.0]


def test_the_score_is_that_of_the_positive_class(split):
    assert asked(OnnxAdapter(split, output="score")).tolist() == [1.0, 4.0, 8.0]
    assert asked(OnnxAdapter(split, output="score", positive=5)).tolist() == [1.0, 4.0, 8.0]
    assert asked(OnnxAdapter(split, output="score", positive=0)).tolist() == [3.0, 2.0, 9.0]


def test_several_outputs_are_tensors_of_their_names(tmp_path):
    nodes = [
        helper.make_node("Identity", ["a"], ["first"]),
        helper.make_node("Neg", ["b"], ["second"]),
    ]
    inputs = [("a", FLOAT, [None, 1]), ("b", FLOAT, [None, 1])]
    outputs = [("first", FLOAT, [None, 1]), ("second", FLOAT, [None, 1])]
    adapter = OnnxAdapter(written(tmp_path / "two.onnx", nodes, inputs, outputs))
    adapter.outputs = ("second", "first")
    space = Space([integer("a", 0, 9), integer("b", 0, 9)])
    adapter.check(space)
    records = asked(adapter, np.array([[1.0, 2.0], [3.0, 4.0]]), space)
    assert records["first"].tolist() == [1.0, 3.0]
    assert records["second"].tolist() == [-2.0, -4.0]
    adapter.outputs = ("first", "secnd")
    refused(
        UsageError,
        lambda: adapter.check(space),
        "'secnd' is not an output of the ONNX model",
        "did you mean 'second'",
    )
    assert adapter.form().columns == ("a", "b")


def test_the_only_tensor_has_a_column_for_each_of_several_outputs(tmp_path):
    nodes = [helper.make_node("Identity", ["X"], ["Y"])]
    both = [("X", FLOAT, [None, 2])], [("Y", FLOAT, [None, 2])]
    adapter = OnnxAdapter(written(tmp_path / "one.onnx", nodes, *both))
    adapter.outputs = ("age", "income")
    adapter.check(TWO)
    records = asked(adapter, POINTS, TWO)
    assert records["age"].tolist() == [3.0, 7.0]
    assert records["income"].tolist() == [1.0, 2.0]
    assert adapter.form().columns is None
    scored = OnnxAdapter(adapter.path, output="score")
    scored.outputs = ("age", "income")
    refused(UsageError, lambda: scored.check(TWO), "leave out output = 'score'")


def test_outputs_that_are_fewer_than_the_inputs_are_refused(tmp_path):
    nodes = [helper.make_node("ReduceMax", ["X"], ["Y"], axes=[0], keepdims=1)]
    both = [("X", FLOAT, [None, 1])], [("Y", FLOAT, [1, 1])]
    adapter = OnnxAdapter(written(tmp_path / "most.onnx", nodes, *both))
    space = Space([AGE])
    assert asked(adapter, np.array([[3.0]]), space).tolist() == [3.0]
    refused(
        BadOutcome,
        lambda: asked(adapter, np.array([[3.0], [4.0]]), space),
        "gave 1 outcomes for 2 inputs",
    )


def test_the_last_batch_of_a_fixed_size_is_filled_up(tmp_path):
    nodes = [helper.make_node("Identity", ["X"], ["Y"])]
    both = [("X", FLOAT, [2, 1])], [("Y", FLOAT, [2, 1])]
    adapter = OnnxAdapter(written(tmp_path / "pairs.onnx", nodes, *both))
    points = np.arange(5.0)[:, None]
    parts = list(adapter.run(points, Space([AGE])))
    assert [rows.tolist() for rows, _ in parts] == [[0, 1], [2, 3], [4]]
    assert [outcomes.tolist() for _, outcomes in parts] == [[0, 1], [2, 3], [4]]
    assert list(adapter.run(points[:0], Space([AGE]))) == []


# Which column of scores is meant


@pytest.mark.parametrize(
    ("labels", "scores", "column"),
    [
        # Where the class is predicted, its column is the highest.
        ([0, 5], [[3, 1], [2, 4]], 1),
        ([5, 0], [[3, 1], [2, 4]], 0),
        ([[5], [0]], [[3, 1], [2, 4]], 0),
        ([0, 5, 1], [[3, 1, 0], [2, 4, 0], [0, 1, 9]], 1),
        # It is the other of two columns where it is never predicted.
        ([0, 0], [[3, 1], [4, 2]], 1),
        ([0, 0], [[1, 3], [2, 4]], 0),
        # Of two equal maxima nothing is learnt.
        ([5, 0, 5], [[3, 3], [3, 1], [2, 4]], 1),
        ([0, 0], [[3, 3], [1, 3]], 0),
        # Nor of labels that are not one for each input.
        ([[5, 5]], [[3, 1]], 1),
    ],
)
def test_the_column_of_a_class(split, labels, scores, column):
    adapter = OnnxAdapter(split, output="score", positive=5)
    assert adapter._column(np.array(labels), np.array(scores, dtype=float)) == column


@pytest.mark.parametrize(
    ("labels", "scores"),
    [
        ([0, 0], [[3, 1], [2, 4]]),
        ([5, 5], [[3, 1], [2, 4]]),
        ([5, 0], [[3, 1], [4, 2]]),
        ([0, 0], [[3, 1, 0], [4, 2, 0]]),
        ([5, 0], [[3, 3], [2, 2]]),
    ],
)
def test_a_column_that_cannot_be_known_is_refused(split, labels, scores):
    adapter = OnnxAdapter(split, output="score", positive=5)
    table = np.array(scores, dtype=float)
    refused(
        UsageError,
        lambda: adapter._column(np.array(labels), table),
        f"does not say which of its {table.shape[1]} probability columns is class 5",
    )


def test_scores_of_every_form(split):
    adapter = OnnxAdapter(split, output="score", positive="yes")
    by_name = [{"no": 0.2, "yes": 0.8}, {"no": 0.7, "yes": 0.3}]
    assert adapter._scores(None, by_name).tolist() == [0.8, 0.3]
    refused(
        UsageError, lambda: adapter._scores(None, [{"no": 1.0}]), "positive = 'yes' is not"
    )
    unnamed = OnnxAdapter(split, output="score")
    assert unnamed._scores(None, by_name).tolist() == [0.8, 0.3]
    refused(
        UsageError, lambda: unnamed._scores(None, [{"a": 1, "b": 2, "c": 3}]), "3 classes"
    )
    assert unnamed._scores(None, np.array([[0.1, 0.9], [0.6, 0.4]])).tolist() == [0.9, 0.4]
    for flat in ([0.1, 0.9], [[0.1], [0.9]]):
        assert adapter._scores(None, np.array(flat)).tolist() == [0.1, 0.9]


def test_labels_are_one_for_each_input(split):
    adapter = OnnxAdapter(split)
    assert adapter._labels(["a", "b"]).tolist() == ["a", "b"]
    assert adapter._labels([["a"], ["b"]]).tolist() == ["a", "b"]
    words = "gives 3 numbers for each input, not a label"
    refused(UsageError, lambda: adapter._labels(np.zeros((2, 3))), words)
    refused(UsageError, lambda: adapter._labels(np.zeros((2, 1, 1))), "gives 1 numbers")


# What it says of itself


def test_the_identity_is_the_file_and_the_question(split):
    plain = OnnxAdapter(split, positive=5)
    assert plain.identity.startswith("onnx:")
    assert plain.positive is None
    scored = OnnxAdapter(split, output="score", positive=5)
    assert scored.identity == f"{plain.identity}:score:5"
    assert plain.name == "the ONNX model 'split.onnx'"
    assert plain.threads == 1


def test_only_tensors_of_fractions_and_texts_hold_gaps(tmp_path):
    names = {
        "f": FLOAT,
        "i": INT,
        "b": TensorProto.BOOL,
        "t": TEXT,
        "d": TensorProto.DOUBLE,
    }
    nodes = []
    inputs, outputs = [], []
    for name, kind in names.items():
        nodes.append(helper.make_node("Identity", [name], [f"{name}2"]))
        inputs.append((name, kind, [None, 1]))
        outputs.append((f"{name}2", kind, [None, 1]))
    adapter = OnnxAdapter(written(tmp_path / "all.onnx", nodes, inputs, outputs))
    features = []
    for name, kind in names.items():
        levels = ("x", "y") if kind == TEXT else (0, 1)
        features.append(Feature(name, "category", levels, missing=True))
    assert adapter.refuses_missing(Space(features)) == ("i", "b")
    known = [Feature(one.name, "category", one.levels) for one in features]
    assert adapter.refuses_missing(Space(known)) == ()


def test_the_only_tensor_says_for_all_whether_they_may_be_missing(split, tmp_path):
    gaps = [
        Feature(name, "integer", low=0, high=9, missing=True) for name in ("a", "b", "c")
    ]
    assert OnnxAdapter(split).refuses_missing(Space(gaps)) == ()
    nodes = [helper.make_node("Identity", ["X"], ["Y"])]
    both = [("X", INT, [None, 3])], [("Y", INT, [None, 3])]
    whole = OnnxAdapter(written(tmp_path / "whole.onnx", nodes, *both))
    assert whole.refuses_missing(Space(gaps)) == ("a", "b", "c")


def test_a_model_is_loaded_once_until_it_is_closed(split):
    adapter = OnnxAdapter(split)
    first = adapter._session()
    assert adapter._session() is first
    adapter.close()
    second = adapter._session()
    assert second is not first
    # In another process it is another one.
    adapter._running = (os.getpid() + 1, second)
    assert adapter._session() is not second
