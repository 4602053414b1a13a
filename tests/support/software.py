"""One small rule as software of every kind, right and crashing: what the contract of adapters is
tested with.
"""

from __future__ import annotations

import json
import os
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from evenhand.space.feature import integer
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

SPACE = Space(
    [
        integer("sex", 0, 1),
        integer("age", 20, 29),
    ],
    protected=["sex"],
)


def rule(people: Any) -> Any:
    """Decide by age, and four years earlier for one sex: what all the software below decides."""
    return (people["age"] + 4 * people["sex"] > 26).astype(int)


def broken(people: Any) -> Any:
    raise RuntimeError("it crashes")


class BrokenModel:
    """A model that predicts nothing."""

    def predict(self, people: Any) -> Any:
        return broken(people)


@dataclass(frozen=True)
class Software:
    """What an adapter is given, its options, and what names it under [subject] in a file."""

    value: Any
    options: dict[str, Any] = field(default_factory=dict)
    written: Any = None


def _tree() -> Any:
    points = SPACE.enumerate()
    return DecisionTreeClassifier(random_state=0).fit(
        points,
        rule(
            {
                "sex": points[:, 0],
                "age": points[:, 1],
            }
        ),
    )


@contextmanager
def function(folder: Path, *, crashing: bool) -> Iterator[Software]:
    name = "broken" if crashing else "rule"
    yield Software(globals()[name], {"identity": name}, f"{__name__}:{name}")


@contextmanager
def estimator(folder: Path, *, crashing: bool) -> Iterator[Software]:
    yield Software(BrokenModel() if crashing else _tree())


@contextmanager
def saved(folder: Path, *, crashing: bool) -> Iterator[Software]:
    file = folder / "model.joblib"
    joblib.dump(BrokenModel() if crashing else _tree(), file)
    yield Software(file, {"allow_pickle": True}, file.name)


@contextmanager
def command(folder: Path, *, crashing: bool) -> Iterator[Software]:
    answer = "echo it crashes >&2; exit 3" if crashing else 'echo "$(($2 + 4 * $1 > 26))"'
    argv = [_program(folder / "decide.sh", f"#!/bin/sh\n{answer}\n"), "{sex}", "{age}"]
    yield Software(argv, {"workers": 2}, argv)


@contextmanager
def stream(folder: Path, *, crashing: bool) -> Iterator[Software]:
    answer = (
        "sys.exit('it crashes')"
        if crashing
        else "print(int(one['age'] + 4 * one['sex'] > 26), flush=True)"
    )
    loop = f"import json, sys\nfor line in sys.stdin:\n    one = json.loads(line)\n    {answer}\n"
    argv = [_program(folder / "decide.py", f"#!{sys.executable}\n{loop}")]
    yield Software(argv, {"restarts": 0}, argv)


def _program(file: Path, text: str) -> str:
    file.write_text(text)
    file.chmod(0o755)
    return os.fspath(file)


class _Service(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        people = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["inputs"]
        crashing = self.path == "/crashing"
        answers = []
        for one in people:
            answers.append(int(one["age"] + 4 * one["sex"] > 26))
        if crashing:
            content = b"it crashes"
        else:
            content = json.dumps(answers).encode()
        self.send_response(500 if crashing else 200)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def http(folder: Path, *, crashing: bool) -> Iterator[Software]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/{'crashing' if crashing else 'decide'}"
    try:
        yield Software(url, {"retries": 0, "timeout": 10}, url)
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def onnx(folder: Path, *, crashing: bool) -> Iterator[Software]:
    pytest.importorskip("onnxruntime", reason="ONNX models need the extra onnx")
    file = folder / "model.onnx"
    file.write_bytes(_beyond_its_table() if crashing else _exported())
    yield Software(file, {"threads": 1}, file.name)


def _exported() -> bytes:
    skl2onnx = pytest.importorskip(
        "skl2onnx", reason="an ONNX model to test is made with skl2onnx"
    )
    types = [("X", skl2onnx.common.data_types.FloatTensorType([None, 2]))]
    content: bytes = skl2onnx.convert_sklearn(
        _tree(), initial_types=types
    ).SerializeToString()
    return content


def _beyond_its_table() -> bytes:
    """Return a model that looks ages up in a table that is too short."""
    pytest.importorskip("onnx", reason="an ONNX model that fails is made with onnx")
    from onnx import TensorProto, helper

    inputs = []
    for name in ("sex", "age"):
        inputs.append(helper.make_tensor_value_info(name, TensorProto.INT64, [None, 1]))
    looked_up = helper.make_node("Gather", ["table", "age"], ["found"])
    added = helper.make_node("Add", ["found", "sex"], ["Y"])
    output = helper.make_tensor_value_info("Y", TensorProto.INT64, [None, 1])
    table = helper.make_tensor("table", TensorProto.INT64, [3], [0, 1, 0])
    graph = helper.make_graph([looked_up, added], "rule", inputs, [output], [table])
    model = helper.make_model(
        graph,
        opset_imports=[helper.make_opsetid("", 17)],
        ir_version=8,
    )
    content: bytes = model.SerializeToString()
    return content


@contextmanager
def torch(folder: Path, *, crashing: bool) -> Iterator[Software]:
    library = pytest.importorskip("torch", reason="torch modules need the extra torch")
    if crashing:

        class Raises(library.nn.Module):  # type: ignore[misc, name-defined]
            def forward(self, people: Any) -> Any:
                return broken(people)

        yield Software(Raises())
        return
    layer = library.nn.Linear(2, 1)
    layer.weight = library.nn.Parameter(library.tensor([[4.0, 1.0]]))
    layer.bias = library.nn.Parameter(library.tensor([-26.5]))
    yield Software(layer)


def _rows() -> tuple[Any, Any]:
    """Return every person, often enough for boosted trees to part them, and what is decided."""
    people = SPACE.native(np.repeat(SPACE.enumerate(), 40, axis=0))
    return people, rule(people)


@contextmanager
def xgboost(folder: Path, *, crashing: bool) -> Iterator[Software]:
    library = pytest.importorskip("xgboost", reason="needs the extra xgboost")
    file = folder / "model.ubj"
    _refuse_crashing(crashing)
    library.XGBClassifier(n_estimators=10, n_jobs=1).fit(*_rows()).save_model(file)
    yield Software(file, {}, file.name)


@contextmanager
def lightgbm(folder: Path, *, crashing: bool) -> Iterator[Software]:
    library = pytest.importorskip("lightgbm", reason="needs the extra lightgbm")
    file = folder / "model.txt"
    _refuse_crashing(crashing)
    model = library.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1).fit(*_rows())
    model.booster_.save_model(file)
    yield Software(file, {}, file.name)


@contextmanager
def catboost(folder: Path, *, crashing: bool) -> Iterator[Software]:
    library = pytest.importorskip("catboost", reason="needs the extra catboost")
    file = folder / "model.cbm"
    _refuse_crashing(crashing)
    model = library.CatBoostClassifier(iterations=50, verbose=0, allow_writing_files=False)
    model.fit(*_rows()).save_model(str(file))
    yield Software(file, {}, file.name)


def _refuse_crashing(crashing: bool) -> None:
    if crashing:
        pytest.skip("trees in a file fail on no input that fits their columns")


SOFTWARE: dict[str, Callable[..., Any]] = {
    "function": function,
    "estimator": estimator,
    "saved": saved,
    "command": command,
    "stream": stream,
    "http": http,
    "onnx": onnx,
    "torch": torch,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
    "catboost": catboost,
}
"""Software of each kind of adapter, and an estimator in a file; unless it is `crashing`, it decides
as `rule` does.
"""
