"""One function for each kind of software: it plants a fault, and says how the software is named."""

from __future__ import annotations

import contextlib
import functools
import importlib.util
import os
import shutil
import socket
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.faults.planted.planted import STRUCK_SUFFIX
from tests.faults.services import PlantedService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.faults.fault import Fault

PLANTED = Path(__file__).parent / "planted"
LABELS = ("approve", "deny")
AGES = range(30, 50)


@dataclass(frozen=True)
class Planted:
    """Software with a fault: its table [subject], and the environment it runs in."""

    subject: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)
    labels: tuple[Any, Any] = LABELS
    """The favourable answer, and the other."""
    has_struck: Callable[[], bool] = lambda: True
    """Whether the fault has struck yet; a file or model that is faulty always has."""


@dataclass(frozen=True)
class Place:
    """Where software is planted, and whether it discriminates."""

    folder: Path
    biased: bool

    @property
    def log(self) -> Path:
        """Where the software notes what it was asked."""
        return self.folder / "asked.log"


def _written(fault: Fault, place: Place) -> Callable[[], bool]:
    """Return how to tell that software has noted its fault."""
    strike = place.log.with_name(place.log.name + STRUCK_SUFFIX)
    return lambda: strike.exists() or not fault.python


def _environment(fault: Fault, place: Place) -> dict[str, str]:
    return {
        "FAULT": fault.python,
        "FAULT_AT": "some" if fault.some else "every",
        "FAULT_BIAS": "1" if place.biased else "0",
        "FAULT_LOG": os.fspath(place.log),
        "FAULT_PYTHON": sys.executable,
    }


@contextlib.contextmanager
def function(fault: Fault, place: Place) -> Iterator[Planted]:
    shutil.copy(PLANTED / "planted.py", place.folder)
    yield Planted(
        {"function": "planted:decide"},
        _environment(fault, place),
        has_struck=_written(fault, place),
    )


@contextlib.contextmanager
def isolated(fault: Fault, place: Place) -> Iterator[Planted]:
    with function(fault, place) as planted:
        subject = {**planted.subject, "isolate": _limits(fault)}
        yield replace(planted, subject=subject)


def _limits(fault: Fault) -> dict[str, Any]:
    """Return what software in a process of its own may take."""
    return {"timeout": fault.timeout, "memory": "500 MB"}


@contextlib.contextmanager
def estimator(fault: Fault, place: Place) -> Iterator[Planted]:
    import joblib

    shutil.copy(PLANTED / "planted.py", place.folder)
    file = place.folder / "model.joblib"
    joblib.dump(_module().PlantedModel(), file)
    _damage(file, fault.file)
    subject = {
        "estimator": file.name,
        "allow_pickle": True,
        "isolate": _limits(fault),
    }
    yield Planted(subject, _environment(fault, place), has_struck=_written(fault, place))


@functools.cache
def _module() -> Any:
    """Return the planted module under the name that a pickle finds it by in a cell."""
    spec = importlib.util.spec_from_file_location("planted", PLANTED / "planted.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["planted"] = module
    spec.loader.exec_module(module)
    return module


def _copy_program(folder: Path) -> None:
    for name in ("planted.py", "program.py", "decide.sh"):
        shutil.copy(PLANTED / name, folder)


@contextlib.contextmanager
def command(fault: Fault, place: Place) -> Iterator[Planted]:
    _copy_program(place.folder)
    argv = ["/bin/sh", "decide.sh", "{sex}", "{age}", "{owns}"]
    subject = {"command": argv, "workers": 2, "timeout": fault.timeout}
    yield Planted(subject, _environment(fault, place), has_struck=_written(fault, place))


@contextlib.contextmanager
def stream(fault: Fault, place: Place) -> Iterator[Planted]:
    _copy_program(place.folder)
    subject = {
        "stream": [sys.executable, "-S", "-E", "program.py"],
        "workers": 2,
        "timeout": fault.timeout,
        "restarts": 1,
    }
    yield Planted(subject, _environment(fault, place), has_struck=_written(fault, place))


@contextlib.contextmanager
def http(fault: Fault, place: Place) -> Iterator[Planted]:
    options = {"timeout": fault.timeout, "retries": 2, "backoff": 0.05, "identity": "it"}
    if fault.wire == "nobody":
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        yield Planted({"http": f"http://127.0.0.1:{port}/decide", **options})
        return
    with PlantedService(fault.wire, biased=place.biased, log=place.log) as service:
        yield Planted(
            {"http": service.url, **options}, has_struck=lambda: service.requests > 0
        )


@contextlib.contextmanager
def onnx(fault: Fault, place: Place) -> Iterator[Planted]:
    from tests.faults.graphs import model_bytes

    file = place.folder / "model.onnx"
    file.write_bytes(model_bytes(fault.graph, biased=place.biased))
    _damage(file, fault.file)
    yield Planted({"onnx": file.name, "isolate": _limits(fault)})


def _rows(*, biased: bool) -> tuple[Any, Any]:
    """Return every person, often enough for boosted trees to part them, and 1 or 0 for each."""
    import pandas as pd

    people = pd.DataFrame(every_person())
    people = people.loc[people.index.repeat(20)].reset_index(drop=True)
    later = 10 * (people["sex"] == "F") if biased else 0
    approved = (people["age"] > 35 + later).astype(int)
    return people.astype({"sex": "category", "owns": "category"}), approved


@contextlib.contextmanager
def xgboost(fault: Fault, place: Place) -> Iterator[Planted]:
    import xgboost as library

    file = place.folder / "model.ubj"
    model = library.XGBClassifier(n_estimators=10, n_jobs=1, enable_categorical=True)
    model.fit(*_rows(biased=place.biased)).save_model(file)
    _damage(file, fault.file)
    yield Planted({"xgboost": file.name}, labels=(1, 0))


@contextlib.contextmanager
def lightgbm(fault: Fault, place: Place) -> Iterator[Planted]:
    import lightgbm as library

    file = place.folder / "model.txt"
    model = library.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
    model.fit(*_rows(biased=place.biased)).booster_.save_model(file)
    _damage(file, fault.file)
    yield Planted({"lightgbm": file.name}, labels=(1, 0))


def _damage(file: Path, how: str) -> None:
    """Damage the file of a model."""
    content = file.read_bytes()
    damaged = {
        "": content,
        "cut": content[: len(content) // 2],
        "empty": b"",
        "foreign": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
    }
    file.write_bytes(damaged[how])


def every_person(ages: range = AGES) -> list[dict[str, Any]]:
    """Return everybody that the software may be asked about."""
    people = []
    for age in ages:
        for sex in ("F", "M"):
            people.append({"sex": sex, "age": age, "owns": "yes"})
            people.append({"sex": sex, "age": age, "owns": "no"})
    return people


PLANTERS: dict[str, Callable[[Fault, Place], Any]] = {
    "function": function,
    "isolated": isolated,
    "estimator": estimator,
    "command": command,
    "stream": stream,
    "http": http,
    "onnx": onnx,
    "xgboost": xgboost,
    "lightgbm": lightgbm,
}
"""How software of each kind is planted with a fault."""

LIBRARIES = {"onnx": "onnxruntime", "xgboost": "xgboost", "lightgbm": "lightgbm"}
"""The library without which software of a kind cannot be planted."""
