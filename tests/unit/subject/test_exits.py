"""Software that would end the process that tests it is told as an error of its own."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.config.file import imported
from evenhand.runtime.errors import SubjectCrashed
from evenhand.runtime.interruption import Interruption, exits_reported, signals_end_runs
from evenhand.subject.adapters.saved import load_model
from evenhand.subject.shared_asking import sharing
from evenhand.texts.text_subject import TextSubject
from tests.support.helpers import SPACE, people, refused
from tests.support.sharing import share_everything

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from evenhand.space.feature import Points


def leave(*_given: Any, **_options: Any) -> Any:
    sys.exit(0)


def interrupt(_given: Any) -> Any:
    raise KeyboardInterrupt


class Unheard(BaseException):
    """What no `except Exception` catches."""


class Model:
    """An estimator whose methods can be replaced one by one."""

    def __init__(self, **methods: Callable[..., Any]) -> None:
        self.__dict__.update(methods)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return dict(self.__dict__)

    def fit(self, rows: Any, truth: Any) -> Model:
        return self

    def predict(self, rows: Any) -> Any:
        return np.ones(len(rows), dtype=np.int64)


class Reloading(Model):
    """A model whose file ends whoever loads it."""

    def __reduce__(self) -> Any:
        return sys.exit, (0,)


class Foreign(eh.Adapter):
    """An adapter of another package, which guards nothing."""

    kind = "foreign"
    identity = "foreign"

    def run(self, points: Points, space: Any) -> Any:
        half = len(points) // 2
        yield np.arange(half), np.ones(half, dtype=np.int64)
        sys.exit(0)


SUBJECTS = {
    "function": lambda: eh.Subject(leave, SPACE),
    "estimator": lambda: eh.Subject(Model(predict=leave), SPACE),
    "adapter": lambda: eh.Subject(Foreign(), SPACE),
}


@pytest.mark.parametrize("kind", SUBJECTS)
def test_an_exit_on_inputs_is_a_crash(kind: str) -> None:
    subject = SUBJECTS[kind]()
    words = (subject.name, "called sys.exit(0) on 3 inputs")
    refused(SubjectCrashed, lambda: subject.decide(people(1, 2, 3)), *words)


@pytest.mark.parametrize("error", [GeneratorExit, Unheard])
def test_whatever_is_no_exception_is_a_crash(error: type[BaseException]) -> None:
    def lend(_people: Any) -> Any:
        raise error

    words = f"raised {error.__name__} on 1 inputs"
    refused(SubjectCrashed, lambda: eh.Subject(lend, SPACE).decide(people(1)), words)


def test_an_interrupt_of_the_software_is_not_that_of_a_person() -> None:
    subject = eh.Subject(interrupt, SPACE)
    with signals_end_runs():
        words = "raised KeyboardInterrupt on 1 inputs"
        refused(SubjectCrashed, lambda: subject.decide(people(1)), words)

    def signalled(_people: Any) -> Any:
        raise Interruption

    with signals_end_runs(), pytest.raises(Interruption):
        eh.Subject(signalled, SPACE).decide(people(1))
    with pytest.raises(KeyboardInterrupt):  # where nobody watches, both look the same
        subject.decide(people(1))


def test_an_iteration_that_ends_early_is_no_crash() -> None:
    from evenhand.subject.adapters.base import replies_of

    replies: Any = replies_of(Foreign(), people(1, 2), SPACE)
    rows, _ = next(replies)
    replies.close()
    assert len(rows) == 1


def test_texts() -> None:
    words = "leave called sys.exit(0) on 2 inputs"
    refused(SubjectCrashed, lambda: TextSubject(leave).decide(["a", "b"]), words)


def test_functions_of_the_user() -> None:
    subject = eh.Subject(lambda people: people["age"] / 1e6, SPACE, differs=leave)
    refused(SubjectCrashed, lambda: eh.measure(subject), "differs called sys.exit(0)")
    subject = eh.Subject(lambda people: people["age"] / 1e6, SPACE, positive=leave)
    words = "positive called sys.exit(0)"
    refused(SubjectCrashed, lambda: eh.measure(subject, kind="group"), words)
    words = "leave"
    bounded = eh.Space(SPACE.features, ["sex"], constraints=[leave])
    refused(SubjectCrashed, lambda: eh.measure(len, bounded), words, "called sys.exit(0)")


def test_a_saved_model_that_ends_whoever_loads_it(tmp_path: Path) -> None:
    import joblib

    file = tmp_path / "model.joblib"
    joblib.dump(Reloading(), file)
    words = (f"the model '{file}' called sys.exit(0) when it was loaded",)
    call = lambda: load_model(file, allow_pickle=True)  # noqa: E731
    refused(SubjectCrashed, call, *words)


def test_a_module_that_ends_whoever_imports_it(tmp_path: Path) -> None:
    (tmp_path / "leaves_at_import.py").write_text("import sys\nsys.exit(0)\n")
    words = "'leaves_at_import' called sys.exit(0) when it was imported"
    place = "leaves_at_import:lend"
    refused(SubjectCrashed, lambda: imported("function", place, tmp_path), words)


def test_training() -> None:
    frame = pd.DataFrame({"sex": ["F", "M"] * 50, "age": range(100)})
    truth = np.arange(100) % 2
    space = eh.Space.from_frame(frame, protected=["sex"])
    call = lambda: eh.repair(leave, frame, truth, space=space)  # noqa: E731
    refused(SubjectCrashed, call, "leave called sys.exit(0) when trained on")


def test_other_checks_of_an_audit_still_run() -> None:
    asked: list[int] = []

    def lend(people: Any) -> Any:
        if not asked:
            asked.append(len(people))
            sys.exit(0)
        return people["age"] > 20

    checks = [
        {"job": "measure", "limit": 0.1},
        {"job": "measure", "limit": 0.1, "kind": "group"},
    ]
    found = eh.audit(eh.Subject(lend, SPACE, positive=True), checks=checks)
    first, second = found.checks
    assert first.code == 4
    assert "called sys.exit(0)" in first.error
    assert second.found is not None
    assert found.exit_code == 4


def test_what_ends_a_worker_process_ends_no_more(monkeypatch: Any) -> None:
    share_everything(monkeypatch)
    parent = os.getpid()

    def lend(people: Any) -> Any:
        if os.getpid() != parent:
            os._exit(0)
        return people["age"] > 20

    subject = eh.Subject(lend, SPACE)
    points = np.repeat(people(1, 2), 10_000, axis=0)
    with sharing(subject, 2):
        words = "a worker process exited with code 0 while it ran the software"
        refused(SubjectCrashed, lambda: subject.decide(points), words)


def test_code_without_faults_passes() -> None:
    with exits_reported("nobody"):
        pass
    with pytest.raises(ZeroDivisionError), exits_reported("nobody"):
        _ = 1 / 0
