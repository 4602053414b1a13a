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
class PlantedSoftware:
    """Software with a fault: its table [subject], and the environment it runs in."""

    subject: dict[str, Any]
    environment: dict[str, str] = field(default_factory=dict)
    labels: tuple[Any, Any] = LABELS
    """The favourable answer, and the other."""
    has_struck: Callable[[], bool] = lambda: True
    """Whether the fault has struck yet; a file or model that is faulty always has."""


@dataclass(frozen=True)
class Site:
    """Where software is planted, and whether it discriminates."""

    folder: Path
    biased: bool

    @property
    def log(self) -> Path:
        """Where the software notes what it was asked."""
        return self.folder / "asked.log"


def _written(fault: Fault, site: Site) -> Callable[[], bool]:
    """Return how to tell that software has noted its fault."""
    strike = site.log.with_name(site.log.name + STRUCK_SUFFIX)
    return lambda: strike.exists() or not fault.python


def _environment(fault: Fault, site: Site) -> dict[str, str]:
    return {
        "FAULT": fault.python,
        "FAULT_AT": "some" if fault.some else "every",
        "FAULT_BIAS": "1" if site.biased else "0",
        "FAULT_LOG": os.fspath(site.log),
        "FAULT_PYTHON": sys.executable,
    }


@contextlib.contextmanager
def function(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    shutil.copy(PLANTED / "planted.py", site.folder)
    yield PlantedSoftware(
        {"function": "planted:decide"},
        _environment(fault, site),
        has_struck=_written(fault, site),
    )


@contextlib.contextmanager
def isolated(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    with function(fault, site) as planted:
        subject = {**planted.subject, "isolate": _limits(fault)}
        yield replace(planted, subject=subject)


def _limits(fault: Fault) -> dict[str, Any]:
    """Return what software in a process of its own may take."""
    return {"timeout": fault.timeout, "memory": "500 MB"}


@contextlib.contextmanager
def estimator(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    import joblib

    shutil.copy(PLANTED / "planted.py", site.folder)
    file = site.folder / "model.joblib"
    joblib.dump(_module().PlantedModel(), file)
    _damage(file, fault.file)
    subject = {
        "estimator": file.name,
        "allow_pickle": True,
        "isolate": _limits(fault),
    }
    yield PlantedSoftware(
        subject, _environment(fault, site), has_struck=_written(fault, site)
    )


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
def command(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    _copy_program(site.folder)
    argv = ["/bin/sh", "decide.sh", "{sex}", "{age}", "{owns}"]
    subject = {"command": argv, "workers": 2, "timeout": fault.timeout}
    yield PlantedSoftware(
        subject, _environment(fault, site), has_struck=_written(fault, site)
    )


@contextlib.contextmanager
def stream(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    _copy_program(site.folder)
    subject = {
        # No byte code: where files may only be small, half of it would be written.
        "stream": [sys.executable, "-S", "-E", "-B", "program.py"],
        "workers": 2,
        "timeout": fault.timeout,
        "restarts": 1,
    }
    yield PlantedSoftware(
        subject, _environment(fault, site), has_struck=_written(fault, site)
    )


@contextlib.contextmanager
def http(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    options = {"timeout": fault.timeout, "retries": 2, "backoff": 0.05, "identity": "it"}
    if fault.wire == "nobody":
        with socket.create_server(("127.0.0.1", 0)) as server:
            port = server.getsockname()[1]
        yield PlantedSoftware({"http": f"http://127.0.0.1:{port}/decide", **options})
        return
    with PlantedService(fault.wire, biased=site.biased, log=site.log) as service:
        yield PlantedSoftware(
            {"http": service.url, **options}, has_struck=lambda: service.requests > 0
        )


@contextlib.contextmanager
def onnx(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    from tests.faults.graphs import model_bytes

    file = site.folder / "model.onnx"
    file.write_bytes(model_bytes(fault.graph, biased=site.biased))
    _damage(file, fault.file)
    yield PlantedSoftware({"onnx": file.name, "isolate": _limits(fault)})


def _rows(*, biased: bool) -> tuple[Any, Any]:
    """Return every person, often enough for boosted trees to part them, and 1 or 0 for each."""
    import pandas as pd

    people = pd.DataFrame(every_person())
    people = people.loc[people.index.repeat(20)].reset_index(drop=True)
    later = 10 * (people["sex"] == "F") if biased else 0
    approved = (people["age"] > 35 + later).astype(int)
    return people.astype({"sex": "category", "owns": "category"}), approved


@contextlib.contextmanager
def xgboost(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    import xgboost as library

    file = site.folder / "model.ubj"
    model = library.XGBClassifier(n_estimators=10, n_jobs=1, enable_categorical=True)
    model.fit(*_rows(biased=site.biased)).save_model(file)
    _damage(file, fault.file)
    yield PlantedSoftware({"xgboost": file.name}, labels=(1, 0))


@contextlib.contextmanager
def lightgbm(fault: Fault, site: Site) -> Iterator[PlantedSoftware]:
    import lightgbm as library

    file = site.folder / "model.txt"
    model = library.LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)
    model.fit(*_rows(biased=site.biased)).booster_.save_model(file)
    _damage(file, fault.file)
    yield PlantedSoftware({"lightgbm": file.name}, labels=(1, 0))


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


PLANTERS: dict[str, Callable[[Fault, Site], Any]] = {
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
