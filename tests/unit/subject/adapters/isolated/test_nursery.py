"""A process that becomes that of some software: what it keeps of ours, and what it does not."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import resource
import select
import signal
import sys
import time
from pathlib import Path
from typing import Any

import cloudpickle
import numpy as np
import pytest

from evenhand.subject.adapters.function import FunctionAdapter
from evenhand.subject.adapters.isolated.messages import HEADER, request_parts
from evenhand.subject.adapters.isolated.nursery import _begin
from tests.support.helpers import SPACE, people

FORKING = multiprocessing.get_context("fork")
GIGABYTES = 8_000_000_000
PATIENCE = 15
"""Seconds after which an answer does not come any more."""
CAME_BACK = 77
"""The exit code of a process that went on after it should have ended."""


class Begun:
    """A fork of this process that became one of software, and pipes to it."""

    def __init__(self, folder: Any, **options: Any) -> None:
        asks, self.to = os.pipe()
        self.back, answers = os.pipe()
        self.errors, prints = os.pipe()
        theirs = [asks, answers, prints]
        ours = (self.to, self.back, self.errors)
        settings: dict[str, Any] = {
            "path": sys.path,
            "folder": str(folder),
            "environment": {},
            "memory": None,
        }

        def begin() -> None:
            for descriptor in ours:
                os.close(descriptor)
            try:
                _begin({**settings, **options}, theirs)
            finally:
                os._exit(CAME_BACK)

        self.process: Any = FORKING.Process(target=begin)
        self.process.start()
        for descriptor in theirs:
            os.close(descriptor)

    def wait_until_ready(self) -> None:
        assert self.received() == ("end", None)

    def received(self) -> Any:
        header = self._read(HEADER.size)
        return pickle.loads(self._read(HEADER.unpack(header)[0]))

    def _read(self, size: int) -> bytes:
        content = b""
        while len(content) < size:
            ready, _, _ = select.select([self.back], [], [], PATIENCE)
            assert ready, "it says nothing"
            part = os.read(self.back, size - len(content))
            assert part, "it is gone"
            content += part
        return content

    def asked(self, *request: Any) -> list[Any]:
        """Return the parts of an answer."""
        os.write(self.to, b"".join(request_parts(request)))
        parts = []
        while (reply := self.received()) != ("end", None):
            assert reply[0] != "error", reply
            parts.append(reply)
        return parts

    def answer(self, function: Any) -> Any:
        """Return what a function answers to one person there."""
        self.asked("build", cloudpickle.dumps(lambda: FunctionAdapter(function)))
        self.asked("space", 0, cloudpickle.dumps(SPACE))
        ((kind, content),) = self.asked("run", people(1), 0)
        assert kind == "part", content
        return content[1].tolist()[0]

    def close(self) -> None:
        self.process.kill()
        self.process.join()
        for descriptor in (self.to, self.back, self.errors):
            os.close(descriptor)


@pytest.fixture
def begin(tmp_path):
    """Begin processes of software, and end them."""
    made: list[Begun] = []

    def make(**options: Any) -> Begun:
        made.append(Begun(tmp_path, **options))
        made[-1].wait_until_ready()
        return made[-1]

    yield make
    for process in made:
        process.close()


def test_it_has_the_folder_the_environment_and_the_paths_that_were_given(begin, tmp_path):
    def tell(_: Any) -> Any:
        return [
            repr(
                (
                    str(Path.cwd()),
                    dict(os.environ),
                    sys.path[-1],
                    os.getpgrp() == os.getpid(),
                )
            )
        ]

    process = begin(environment={"A": "b"}, path=[*sys.path, "/nowhere"])
    assert process.answer(tell) == repr((str(tmp_path), {"A": "b"}, "/nowhere", True))


def test_what_software_reads_and_prints_is_no_request_and_no_reply(begin):
    def chat(_: Any) -> Any:
        os.write(1, b"printed ")
        os.write(2, b"as an error")
        return [repr(os.read(0, 10))]

    process = begin()
    assert process.answer(chat) == "b''"
    assert os.read(process.errors, 100) == b"printed as an error"


def test_it_may_be_interrupted(begin):
    assert (
        begin().answer(lambda _: [signal.getsignal(signal.SIGINT) == signal.SIG_DFL])
        is True
    )


@pytest.mark.parametrize("memory", [None, GIGABYTES])
def test_its_memory_is_limited_where_a_limit_was_given(begin, memory):
    limit = begin(memory=memory).answer(
        lambda _: [resource.getrlimit(resource.RLIMIT_DATA)[0]]
    )
    own = resource.getrlimit(resource.RLIMIT_DATA)[0]
    assert limit == (own if memory is None else memory)


def test_two_of_them_draw_different_numbers(begin):
    draws = [begin().answer(lambda _: [np.random.random()]) for _ in range(2)]
    assert draws[0] != draws[1]


def test_it_ends_with_those_who_ask(begin):
    process = begin()
    process.answer(lambda _: [1])
    os.close(process.to)
    process.to = os.dup(process.back)
    process.process.join(30)
    assert process.process.exitcode in (0, -signal.SIGKILL)


def test_it_ends_although_its_software_hangs(begin):
    process = begin()
    process.answer(lambda _: [1])
    slow = FunctionAdapter(lambda _: time.sleep(60))
    process.asked("build", cloudpickle.dumps(lambda: slow))
    os.write(process.to, b"".join(request_parts(("run", people(1), 0))))
    os.close(process.to)
    process.to = os.dup(process.back)
    process.process.join(30)
    assert process.process.exitcode == -signal.SIGKILL


def test_a_process_that_cannot_begin_exits_with_an_error(tmp_path):
    process = Begun(tmp_path / "no such folder")
    with pytest.raises(AssertionError, match="it is gone"):
        process.wait_until_ready()
    process.process.join(30)
    assert process.process.exitcode == 1
    process.close()
