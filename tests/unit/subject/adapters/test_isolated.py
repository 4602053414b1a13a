"""Software in a process of its own answers as in ours, and what it does there ends nothing here."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

import joblib
import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.config.file import Config
from evenhand.runtime.errors import BadOutcome, SubjectCrashed, SubjectTimeout, UsageError
from evenhand.subject.adapters.isolated.adapter import IsolatedAdapter
from evenhand.subject.adapters.isolated.limits import Isolation
from evenhand.subject.shared_asking import sharing
from evenhand.texts.text_subject import TextSubject
from tests.support.helpers import SPACE, people, refused
from tests.support.sharing import share_everything

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

NUMBERS = eh.Space([eh.category("sex", [0, 1]), eh.integer("age", 0, 99)], ["sex"])
FATAL = 13
"""The age of whom software dies."""


def tree() -> Any:
    rows = np.array([[0, 10], [1, 20], [0, 30], [1, 40]])
    return DecisionTreeClassifier().fit(rows, ["no", "no", "yes", "yes"])


def lend(frame: Any) -> Any:
    return frame["age"] % 3 + frame["sex"] > 1


def dying(deed: Callable[[], Any]) -> Callable[[Any], Any]:
    """Return software that does this when asked about a fatal age."""

    def lends(frame: Any) -> Any:
        if (frame["age"] == FATAL).any():
            deed()
        return frame["age"] > 20

    return lends


def crash() -> None:
    print("no more", file=sys.stderr, flush=True)
    ctypes.string_at(0)


class Reducing:
    """What is an exit to whoever unpickles it."""

    def __reduce__(self) -> Any:
        return sys.exit, (0,)


class Deadly:
    """A model whose file ends the process that loads it, past all that Python could catch."""

    def __reduce__(self) -> Any:
        return os._exit, (0,)


@pytest.mark.parametrize("model", [lend, tree()], ids=["function", "estimator"])
def test_answers_and_names_are_the_same(model: Any, tmp_path: Path) -> None:
    plain = eh.Subject(model, NUMBERS)
    with eh.Subject(model, NUMBERS, isolate=True) as subject:
        points = people(*range(100))
        found = subject.decide(points)
        assert found.tolist() == plain.decide(points).tolist()
        assert found.dtype == plain.decide(points).dtype
        assert subject.adapter.identity == plain.adapter.identity
        assert subject.name == plain.name
        assert subject.unread == plain.unread
        assert subject.meanings[""].known == plain.meanings[""].known
        alone = eh.measure(plain, limit=0.3, seed=1)
        isolated = eh.measure(subject, limit=0.3, seed=1)
        assert isolated.digest == alone.digest
        budget = eh.Budget(queries=500)
        searched = eh.search(subject, seed=1, budget=budget)
        assert searched.digest == eh.search(plain, seed=1, budget=budget).digest


def test_workers_have_processes_of_their_own(monkeypatch: Any) -> None:
    share_everything(monkeypatch)
    points = np.repeat(people(*range(99)), 400, axis=0)
    with eh.Subject(lend, NUMBERS, isolate=True) as subject, sharing(subject, 2):
        found = subject.decide(points)
    assert found.tolist() == eh.Subject(lend, NUMBERS).decide(points).tolist()


DEEDS: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "exit": (lambda: os._exit(0), SubjectCrashed, "exited with code 0 on 2 inputs"),
    "fault": (
        crash,
        SubjectCrashed,
        "was killed by SIGSEGV on 2 inputs (standard error: no",
    ),
    "kill": (lambda: os.kill(os.getpid(), 9), SubjectCrashed, "was killed by SIGKILL on 2"),
    "leave": (lambda: sys.exit(0), SubjectCrashed, "called sys.exit(0) on 2 inputs"),
    "memory": (lambda: np.ones(10**9), SubjectCrashed, "raised MemoryError on 2 inputs"),
    "hang": (lambda: time.sleep(60), SubjectTimeout, "gave no answer in 5 seconds on 2"),
}


@pytest.mark.parametrize("case", DEEDS.values(), ids=DEEDS.keys())
def test_software_that_dies_is_started_again(case: Any) -> None:
    deed, kind, words = case
    limits = {"memory": "2 GB", "timeout": 5}
    with eh.Subject(dying(deed), SPACE, isolate=limits) as subject:
        assert subject.decide(people(30)).tolist() == [True]
        refused(kind, lambda: subject.decide(people(FATAL, 30)), "lends", words)
        assert subject.decide(people(10, 30)).tolist() == [False, True]


def test_answers_before_a_death_are_kept(tmp_path: Path) -> None:
    ledger = tmp_path / "kept.ledger"
    software = dying(lambda: os._exit(0))
    with eh.Subject(software, SPACE, ledger=ledger, isolate=True) as subject:
        subject.decide(people(1, 2))
        refused(SubjectCrashed, lambda: subject.decide(people(FATAL)), "exited with code 0")
        subject.decide(people(1, 2))
        assert subject.executed == 2


def test_a_model_file_is_loaded_elsewhere(tmp_path: Path) -> None:
    file = tmp_path / "model.joblib"
    joblib.dump(Deadly(), file)
    words = f"the model '{file}' exited with code 0 when it was loaded"
    call = lambda: eh.Subject.saved(file, SPACE, allow_pickle=True)  # noqa: E731
    refused(SubjectCrashed, call, words)


def test_model_files_run_elsewhere_unless_one_says_otherwise(tmp_path: Path) -> None:
    file = tmp_path / "model.joblib"
    joblib.dump(tree(), file)
    with eh.Subject.saved(file, NUMBERS, allow_pickle=True) as subject:
        assert isinstance(subject.adapter, IsolatedAdapter)
        identity = subject.adapter.identity
        answers = subject.decide(people(10, 40)).tolist()
    with eh.Subject.saved(file, NUMBERS, allow_pickle=True, isolate=False) as subject:
        assert not isinstance(subject.adapter, IsolatedAdapter)
        assert subject.adapter.identity == identity
        assert subject.decide(people(10, 40)).tolist() == answers == ["no", "yes"]


def test_nothing_that_is_sent_back_runs_here() -> None:
    software = lambda frame: [Reducing()] * len(frame)  # noqa: E731
    with eh.Subject(software, SPACE, isolate=True) as subject:
        words = "answered with a sys.exit; an outcome is a text, a number or a truth value"
        refused(BadOutcome, lambda: subject.decide(people(1)), words)


def test_what_is_printed_is_no_answer(capfd: pytest.CaptureFixture[str]) -> None:
    def chatting(frame: Any) -> Any:
        print("x" * 300_000, flush=True)
        os.write(1, b"y" * 300_000)
        return frame["age"] > 20

    with eh.Subject(chatting, SPACE, isolate=True) as subject:
        assert subject.decide(people(10, 30)).tolist() == [False, True]
    assert capfd.readouterr().out == ""


def test_several_outputs() -> None:
    def loan(frame: Any) -> Any:
        return {"grant": frame["age"] > 20, "rate": frame["age"] / 2}

    with eh.Subject(loan, SPACE, outputs=["grant", "rate"], isolate=True) as subject:
        assert subject.decide(people(10, 30)).tolist() == [(False, 5.0), (True, 15.0)]


def test_texts(tmp_path: Path) -> None:
    with TextSubject(lambda texts: [len(text) for text in texts], isolate=True) as subject:
        assert subject.decide(["a", "bcd"]).tolist() == [1, 3]
    (tmp_path / "words_elsewhere.py").write_text(
        "def count(texts):\n    return [1] * len(texts)"
    )
    (tmp_path / "texts.csv").write_text("text\nhello\n")
    table = {
        "subject": {"function": "words_elsewhere:count", "isolate": True},
        "texts": {"from": "texts.csv", "column": "text"},
    }
    with Config(tmp_path / "evenhand.toml", table).software() as found:
        assert found.decide(["a"]).tolist() == [1]
    assert "words_elsewhere" not in sys.modules


def test_a_module_is_imported_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "rules_elsewhere.py").write_text(
        "import os\ndef lend(people):\n    return people['age'] > 20\n"
    )
    (tmp_path / "deadly_rules.py").write_text("import os\nos._exit(0)\n")
    table: dict[str, Any] = {
        "subject": {"function": "rules_elsewhere:lend", "isolate": {"timeout": 60}},
        "space": {"features": {"age": {"kind": "integer", "low": 0, "high": 99}}},
    }
    with Config(tmp_path / "evenhand.toml", table).subject() as subject:
        assert subject.decide([{"age": 30}]).tolist() == [True]
    assert "rules_elsewhere" not in sys.modules
    table["subject"]["function"] = "deadly_rules:lend"
    words = "the function 'deadly_rules:lend' exited with code 0 when it was loaded"
    refused(SubjectCrashed, Config(tmp_path / "evenhand.toml", table).subject, words)


def test_warnings_are_passed_on() -> None:
    def warning(frame: Any) -> Any:
        import warnings

        warnings.warn("be careful", RuntimeWarning, stacklevel=2)
        return frame["age"] > 20

    with (
        eh.Subject(warning, SPACE, isolate=True) as subject,
        pytest.warns(UserWarning, match="be careful"),
    ):
        subject.decide(people(1))


def test_no_process_is_left() -> None:
    software = lambda frame: [os.getpid()] * len(frame)  # noqa: E731
    with eh.Subject(software, SPACE, isolate=True) as subject:
        number = int(subject.decide(people(1))[0])
        assert number != os.getpid()
        os.kill(number, 0)
    with pytest.raises(ProcessLookupError):
        os.kill(number, 0)


ORPHAN = """
import os, time
import evenhand as eh

def hang(frame):
    print(os.getpid(), file=open("number", "w"), flush=True)
    time.sleep(600)

space = eh.Space([eh.integer("age", 0, 9)])
eh.Subject(hang, space, isolate=True).decide([{"age": 1}])
"""


def test_no_process_outlives_ours(tmp_path: Path) -> None:
    running = subprocess.Popen([sys.executable, "-c", ORPHAN], cwd=tmp_path)
    file = tmp_path / "number"
    wait_for(lambda: file.exists() and file.read_text().endswith("\n"))
    number = int(file.read_text())
    running.send_signal(signal.SIGKILL)
    running.wait()
    wait_for(lambda: not is_running(number))


def wait_for(condition: Callable[[], bool]) -> None:
    for _ in range(600):
        if condition():
            return
        time.sleep(0.1)
    pytest.fail("it took too long")


def is_running(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{number}/stat") as file:  # noqa: PTH123
        return file.read().rpartition(")")[2].split()[0] != "Z"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("yes", "must be true, false, or limits"),
        ({"memry": 1}, "did you mean 'memory'?"),
        ({"memory": "lots"}, "must be an amount such as '2 GB'"),
        ({"memory": 0}, "must be an amount such as '2 GB'"),
        ({"timeout": 0}, "must be a number of seconds over 0"),
        ({"timeout": True}, "must be a number of seconds over 0"),
    ],
)
def test_limits_that_are_none(given: Any, words: str) -> None:
    refused(UsageError, lambda: eh.Subject(lend, SPACE, isolate=given), words)


def test_amounts_of_memory() -> None:
    for text, number in {"1.5GB": 1_500_000_000, "20 MB": 20_000_000, "7 b": 7}.items():
        found = Isolation.of({"memory": text})
        assert found is not None
        assert found.memory == number


def test_software_that_runs_elsewhere_already_needs_none_of_it() -> None:
    call = lambda: eh.Subject.command(["cat", "{*}"], SPACE, isolate=True)  # noqa: E731
    refused(UsageError, call, "a command runs elsewhere already")


def test_software_that_cannot_be_sent() -> None:
    lock = threading.Lock()
    call = lambda: eh.Subject(lambda frame: [lock], SPACE, isolate=True)  # noqa: E731
    refused(UsageError, call, "cannot be sent to a process of its own")


def test_it_has_what_the_software_inside_has():
    """Searches ask for gradients where there are some, and see by their absence that not."""
    with eh.Subject(tree(), NUMBERS, isolate=True) as subject:
        adapter: Any = subject.adapter
        assert not hasattr(adapter, "gradients")
        assert not hasattr(adapter, "anything else")
        assert list(adapter.classes) == ["no", "yes"]
