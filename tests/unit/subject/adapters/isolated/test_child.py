"""The handle of a process: what is sent and read, and how its end is seen."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import cloudpickle
import pytest

from evenhand.runtime.errors import SubjectCrashed
from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.adapters.isolated import nursery as nurseries
from evenhand.subject.adapters.isolated.child import ModelProcess, OutOfTime, _Ended
from evenhand.subject.adapters.isolated.limits import Isolation
from evenhand.subject.adapters.isolated.nursery import Nursery, _status, serve
from tests.support.helpers import SPACE, gone, people, refused


def received(child: ModelProcess) -> Any:
    return pickle.loads(child.receive(time.monotonic() + 30))


def asked(child: ModelProcess, *request: Any) -> list[Any]:
    """Return the parts of an answer."""
    child.send(request, time.monotonic() + 30)
    parts = []
    while (reply := received(child)) != ("end", None):
        assert reply[0] != "error", reply
        parts.append(reply)
    return parts


@pytest.fixture
def child():
    """Start a process that is ready."""
    process = ModelProcess(Isolation())
    assert received(process) == ("end", None)
    yield process
    process.close()


def built(child: ModelProcess, function: Any) -> None:
    asked(child, "build", cloudpickle.dumps(lambda: FunctionAdapter(function)))
    asked(child, "space", 0, cloudpickle.dumps(SPACE))


def test_messages_of_many_megabytes_arrive_whole(child):
    size = 3_000_001
    built(child, lambda frame: ["x" * size])
    ((kind, (rows, outcomes)),) = asked(child, "run", people(1), 0)
    assert kind == "part"
    assert rows is None
    assert outcomes.tolist() == ["x" * size]
    names = tuple("y" * 1000 + str(number) for number in range(3000))
    assert asked(child, "outputs", names) == []
    assert asked(child, "get", "outputs") == [("part", (True, names))]


def test_no_answer_in_time_is_seen(child):
    built(child, lambda frame: time.sleep(60))
    child.send(("run", people(1), 0), None)
    with pytest.raises(OutOfTime):
        child.receive(time.monotonic() + 0.05)
    with pytest.raises(OutOfTime):
        child.receive(time.monotonic() - 1)


def test_the_end_comes_with_the_last_words(child):
    def die(frame: Any) -> Any:
        os.write(2, b"z" * 100_000 + b" the end")
        os._exit(3)

    built(child, die)
    child.send(("run", people(1), 0), None)
    with pytest.raises(EOFError):
        child.receive(None)
    words = "standard error: …" + "z" * (239 - len(" the end")) + " the end"
    assert child.last_seen() == ("exited with code 3", words)
    # It is waited for once, and what it said is kept.
    assert child.last_seen() == ("exited with code 3", words)
    assert len(child._errors) == 1 << 13
    with pytest.raises(EOFError):
        child.send(bytes(1 << 20), None)


def test_a_process_that_is_closed_is_gone(child):
    built(child, lambda frame: [os.getpid()])
    ((_, (_, outcomes)),) = asked(child, "run", people(1), 0)
    number = int(outcomes[0])
    assert os.getpgid(number) == number
    child.close()
    assert gone(number)
    # It may have ended by itself when its requests did.
    assert child._ended.code() in (0, -signal.SIGKILL)


class Ending:
    """A nursery in which a process ends with this code, and which counts who waits for it."""

    def __init__(self, code: int) -> None:
        self.ended_with = code
        self.waits: list[int] = []

    def wait(self, number: int) -> int:
        self.waits.append(number)
        return self.ended_with


def test_an_end_is_waited_for_once():
    nursery: Any = Ending(3)
    ended = _Ended(nursery, 4242)
    assert ended.code() == 3
    assert ended.code() == 3
    assert nursery.waits == [4242]
    # What has ended is not killed: its number may be that of another by now.
    ended.kill()
    assert nursery.waits == [4242]


def test_a_process_that_is_gone_already_is_only_waited_for():
    process = subprocess.Popen(["true"], process_group=0)
    process.wait()
    nursery: Any = Ending(0)
    _Ended(nursery, process.pid).kill()
    assert nursery.waits == [process.pid]


# The process that forks the others


def test_there_is_one_nursery_for_a_process():
    own = Nursery.own()
    assert Nursery.own() is own
    assert own.owner == os.getpid()


def test_a_nursery_that_has_ended_is_replaced(monkeypatch):
    monkeypatch.setattr(Nursery, "_own", None)
    first = Nursery.own()
    first._process.kill()
    first._process.wait()
    refused(
        SubjectCrashed,
        lambda: first.wait(1),
        "no process of its own can be started for the software under test: ",
    )
    second = Nursery.own()
    assert second is not first
    second.close()
    assert second._process.returncode == -signal.SIGKILL
    monkeypatch.setattr(first, "owner", os.getpid() + 1)
    monkeypatch.setattr(first._process, "poll", lambda: None)
    monkeypatch.setattr(Nursery, "_own", first)
    third = Nursery.own()
    assert third is not first
    third.close()


def test_how_a_process_ended_is_looked_up():
    ended = subprocess.Popen(["sh", "-c", "exit 3"], process_group=0)
    assert os.waitstatus_to_exitcode(_status(ended.pid)) == 3
    ended.wait()


def test_a_process_that_does_not_end_is_helped(monkeypatch):
    monkeypatch.setattr(nurseries, "_PATIENCE", 2)
    endless = subprocess.Popen(["sleep", "60"], process_group=0)
    assert os.waitstatus_to_exitcode(_status(endless.pid)) == -signal.SIGKILL
    endless.wait()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_requests_are_served_until_nobody_asks(monkeypatch):
    # A process of its own leaves its socket to its end, and ignores interrupts.
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(nurseries, "_import_what_models_need", lambda: None)
    monkeypatch.setattr(os, "fork", lambda: 4242)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    ended = subprocess.Popen(["sh", "-c", "exit 3"], process_group=0)
    read, write = os.pipe()
    with ours:
        ours.send(f'["wait", {ended.pid}]'.encode())
        options = b'["fork", {"libraries": ["json", "no_such_library"]}]'
        socket.send_fds(ours, [options], [write])
        os.close(write)
        ours.shutdown(socket.SHUT_WR)
        serve(theirs.detach())
        assert ours.recv(100) == b"%d" % (3 << 8)
        assert ours.recv(100) == b"4242"
    # The pipes belong to the process that was forked alone.
    assert os.read(read, 1) == b""
    os.close(read)
    ended.wait()


def descriptors() -> int:
    """Return how many files are open."""
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_process_that_cannot_be_started_leaves_no_pipes(monkeypatch):
    class Full:
        def fork(self, *_: Any) -> int:
            raise SubjectCrashed("no process of its own can be started")

    monkeypatch.setattr(Nursery, "own", Full)
    before = descriptors()
    refused(SubjectCrashed, lambda: ModelProcess(Isolation()), "no process of its own")
    assert descriptors() == before


def test_the_pipes_of_a_process_are_closed_with_it(child):
    before = descriptors()
    other = ModelProcess(Isolation())
    assert descriptors() == before + 3
    other.close()
    assert descriptors() == before


def test_what_is_forked_learns_where_and_with_what_it_runs(monkeypatch, tmp_path):
    asked = []

    def note(_self: Any, content: bytes, pipes: Any) -> Any:
        asked.append((json.loads(content), pipes))
        return 4242

    own = Nursery.own()
    monkeypatch.setattr(Nursery, "_asked", note)
    monkeypatch.setattr(os, "environ", {"A": "b"})
    monkeypatch.chdir(tmp_path)
    for name in ("xgboost", "lightgbm", "catboost", "onnxruntime", "skops.io"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    monkeypatch.setitem(sys.modules, "lightgbm", json)
    assert own.fork(1000, (7, 8, 9)) == 4242
    assert own.wait(3) == os.waitstatus_to_exitcode(4242)
    ((action, options), pipes), (waited, _) = asked
    assert (action, pipes) == ("fork", (7, 8, 9))
    assert options == {
        "path": sys.path,
        "folder": str(tmp_path),
        "environment": {"A": "b"},
        "memory": 1000,
        "libraries": ["lightgbm"],
    }
    assert waited == ["wait", 3]


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_nursery_ignores_interrupts_and_imports_what_is_used(monkeypatch, tmp_path):
    signals = []
    begun = []
    imported = []

    def begin(details: Any, _pipes: Any) -> None:
        begun.append(details)
        raise SystemExit(0)

    monkeypatch.setattr(signal, "signal", lambda *both: signals.append(both))
    monkeypatch.setattr(
        nurseries, "_import_what_models_need", lambda: imported.append(True)
    )
    monkeypatch.setattr(os, "fork", lambda: 0)
    monkeypatch.setattr(nurseries, "_begin", begin)
    (tmp_path / "library_of_ours.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with ours:
        options = {"libraries": ["no_such_library", "library_of_ours"], "memory": 3}
        ours.send(json.dumps(["fork", options]).encode())
        # What is forked becomes the process of some software, without the socket.
        with pytest.raises(SystemExit):
            serve(theirs.detach())
        assert ours.recv(100) == b""
    assert signals == [(signal.SIGINT, signal.SIG_IGN)]
    assert imported == [True]
    assert begun == [{"memory": 3}]
    assert sys.modules.pop("library_of_ours")
