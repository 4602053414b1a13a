"""ONNX models with a fault in them, and one without, made of operators alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    Parts = tuple[list[Any], list[Any], int]
    """Nodes, constants, and the type of the answer."""

ROUNDS_OF_HANG = 10**12
ROUNDS_OF_SLOW = 20_000
STRUCK_AGE = 47
PERSON_INPUTS = ("sex", "age", "owns")


def model_bytes(fault: str, *, biased: bool) -> bytes:
    """Return a model that takes sex, age and owns, with a fault by its name."""
    from onnx import TensorProto, helper

    types = (TensorProto.STRING, TensorProto.INT64, TensorProto.STRING)
    inputs = []
    for name, tensor_type in zip(PERSON_INPUTS, types, strict=True):
        inputs.append(helper.make_tensor_value_info(name, tensor_type, [None, 1]))
    rule_nodes, rule_constants, _ = _rule(biased=biased)
    nodes, constants, kind = GRAPHS[fault]()
    output = helper.make_tensor_value_info("decision", kind, None)
    graph = helper.make_graph(
        [*rule_nodes, *nodes],
        "rule",
        inputs,
        [output],
        [*rule_constants, *constants],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 2)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    content: bytes = model.SerializeToString()
    return content


def _rule(*, biased: bool) -> Parts:
    """Return what ends in `approved`: 1 or 0 for each person."""
    from onnx import TensorProto, helper

    later = 10 if biased else 0
    nodes = [
        _encoder("sex", "years", keys_strings=["F", "M"], values_int64s=[later, 0]),
        helper.make_node("Add", ["years", "oldest"], ["bound"]),
        helper.make_node("Greater", ["age", "bound"], ["older"]),
        helper.make_node("Cast", ["older"], ["approved"], to=TensorProto.INT64),
    ]
    return nodes, [_whole("oldest", [35])], TensorProto.INT64


def _encoder(source: str, target: str, **tables: Any) -> Any:
    from onnx import helper

    return helper.make_node(
        "LabelEncoder", [source], [target], domain="ai.onnx.ml", **tables
    )


def _whole(name: str, values: list[int], shape: list[int] | None = None) -> Any:
    from onnx import TensorProto, helper

    return helper.make_tensor(
        name, TensorProto.INT64, [len(values)] if shape is None else shape, values
    )


def _saying(deny: str, approve: str, source: str = "approved") -> Parts:
    """Answer with two texts."""
    from onnx import TensorProto

    node = _encoder(source, "decision", keys_int64s=[0, 1], values_strings=[deny, approve])
    return [node], [], TensorProto.STRING


def _usual(source: str = "approved") -> Parts:
    return _saying("deny", "approve", source)


def _looked_up(entries: int) -> Parts:
    """Look an age up in a table that may be too short for it."""
    from onnx import helper

    nodes = [
        helper.make_node("Gather", ["table", "age"], ["nothing"]),
        helper.make_node("Add", ["approved", "nothing"], ["sum"]),
    ]
    more, _, kind = _usual("sum")
    return [*nodes, *more], [_whole("table", [0] * entries)], kind


def _divided(numerator: float) -> Parts:
    """Answer a number divided by nought."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Cast", ["approved"], ["number"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["number", "nought"], ["noughts"]),
        helper.make_node("Div", ["numerator", "noughts"], ["decision"]),
    ]
    constants = [
        helper.make_tensor("nought", TensorProto.FLOAT, [1], [0.0]),
        helper.make_tensor("numerator", TensorProto.FLOAT, [1], [numerator]),
    ]
    return nodes, constants, TensorProto.FLOAT


def _fewer() -> Parts:
    from onnx import helper

    node = helper.make_node("Slice", ["approved", "first", "last"], ["fewer"])
    more, _, kind = _usual("fewer")
    return [node, *more], [_whole("first", [0]), _whole("last", [-1])], kind


def _more() -> Parts:
    from onnx import helper

    node = helper.make_node("Concat", ["approved", "approved"], ["twice"], axis=0)
    more, _, kind = _usual("twice")
    return [node, *more], [], kind


def _looping(rounds: int) -> Parts:
    """Add nought to the answer very often."""
    from onnx import TensorProto, helper

    body = helper.make_graph(
        [
            helper.make_node("Identity", ["go"], ["go on"]),
            helper.make_node("Add", ["before", "nothing"], ["after"]),
        ],
        "round",
        [
            helper.make_tensor_value_info("round", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
            helper.make_tensor_value_info("before", TensorProto.INT64, None),
        ],
        [
            helper.make_tensor_value_info("go on", TensorProto.BOOL, []),
            helper.make_tensor_value_info("after", TensorProto.INT64, None),
        ],
        [_whole("nothing", [0])],
    )
    node = helper.make_node("Loop", ["rounds", "", "approved"], ["same"], body=body)
    more, _, kind = _usual("same")
    return [node, *more], [_whole("rounds", [rounds], [])], kind


def _hog() -> Parts:
    """Ask for more memory than there is."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("ConstantOfShape", ["shape"], ["zeros"]),
        helper.make_node("ReduceSum", ["zeros"], ["sum"], keepdims=0),
        helper.make_node("Cast", ["sum"], ["whole sum"], to=TensorProto.INT64),
        helper.make_node("Add", ["approved", "whole sum"], ["same"]),
    ]
    more, _, kind = _usual("same")
    return [*nodes, *more], [_whole("shape", [1 << 22, 1 << 22])], kind


GRAPHS: dict[str, Callable[[], Parts]] = {
    "": _usual,
    "crash": lambda: _looked_up(3),
    "crash at some": lambda: _looked_up(STRUCK_AGE),
    "hang": lambda: _looping(ROUNDS_OF_HANG),
    "slow": lambda: _looping(ROUNDS_OF_SLOW),
    "hog": _hog,
    "nan": lambda: _divided(0.0),
    "infinity": lambda: _divided(1.0),
    "error text": lambda: _saying("database connection lost", "database connection lost"),
    "escapes": lambda: _saying("\x1b[2Jdeny", "\x1b]0;owned\x07approve"),
    "too few": _fewer,
    "too many": _more,
}
"""What ends in `decision`, by the name of its fault."""
