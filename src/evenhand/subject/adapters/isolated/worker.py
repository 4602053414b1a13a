"""The other process: it builds the adapter, and answers what is asked of it until we are gone."""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import select
import signal
import sys
import threading
import warnings
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np

from evenhand.runtime.errors import EvenhandError, EvenhandWarning, SubjectCrashed, clip
from evenhand.runtime.interruption import exits_reported
from evenhand.subject.adapters.base import replies_of
from evenhand.subject.adapters.isolated.messages import framed, plain_bytes, read_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenhand.subject.adapters.base import Adapter

_DEATH_SIGNAL = 1
"""The number of PR_SET_PDEATHSIG."""


def main(memory: int | None) -> None:
    """Serve requests from standard input, with answers on standard output."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # What the software reads and prints must not be taken for requests and replies.
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)
    _end_with_parent(requests.fileno())
    np.random.seed()  # a fork would draw what all others draw
    if memory is not None:
        _limit(memory)
    Server(requests, replies).serve()


class Server:
    """One adapter, and the spaces that it was asked about."""

    def __init__(self, requests: BinaryIO, replies: BinaryIO) -> None:
        self._requests = requests
        self._replies = replies
        self._spaces: dict[int, Any] = {}
        self._adapter: Adapter | None = None
        self._warned: set[tuple[bool, str]] = set()
        self._handlers: dict[str, Callable[..., Iterator[Any]]] = {
            "build": self._build,
            "space": self._space,
            "outputs": self._outputs,
            "get": self._get,
            "call": self._call,
            "run": self._run,
        }

    def serve(self) -> None:
        """Say that all is ready, and answer requests until there are no more."""
        self._send("end", None)
        while (request := self._next_request()) is not None:
            action, *details = request
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                end: Any = ("end", None)
                try:
                    with exits_reported("the software under test"):
                        for part in self._handlers[action](*details):
                            self._send("part", part)
                except EvenhandError as error:
                    end = ("error", error)
                except Exception as error:
                    reason = f"{type(error).__name__}: {clip(str(error))}"
                    end = (
                        "error",
                        SubjectCrashed(f"the software under test raised {reason}"),
                    )
            self._tell(caught)
            self._send(*end)

    def _next_request(self) -> Any:
        """Return a request, or None where there are no more."""
        try:
            return read_request(self._read)
        except EOFError:
            return None

    def _read(self, size: int) -> bytearray:
        content = bytearray(size)
        if self._requests.readinto(content) < size:  # type: ignore[attr-defined]
            raise EOFError
        return content

    def _send(self, kind: str, content: Any) -> None:
        self._replies.write(framed(plain_bytes((kind, content))))
        self._replies.flush()

    def _tell(self, caught: list[warnings.WarningMessage]) -> None:
        """Send warnings on, each once."""
        for warning in caught:
            is_own = issubclass(warning.category, EvenhandWarning)
            found = (is_own, str(warning.message))
            if found not in self._warned:
                self._warned.add(found)
                self._send("warning", found)

    @property
    def _built(self) -> Adapter:
        if self._adapter is None:
            raise SubjectCrashed("the software under test was asked before it was built")
        return self._adapter

    def _build(self, recipe: bytes) -> Iterator[Any]:
        self._adapter = pickle.loads(recipe)()  # noqa: S301
        yield {
            "name": self._adapter.name,
            "kind": self._adapter.kind,
            "expensive": self._adapter.expensive,
            "own_threads_from": self._adapter.own_threads_from,
            "printed": self._adapter.printed,
            "takes_texts": self._adapter.takes_texts,
            # Answers are plain values, so that nothing of the software is unpickled.
            "file": None if self._adapter.file is None else tuple(self._adapter.file),
        }

    def _space(self, number: int, content: bytes) -> Iterator[Any]:
        self._spaces[number] = pickle.loads(content)  # noqa: S301
        return iter(())

    def _outputs(self, names: tuple[str, ...]) -> Iterator[Any]:
        self._built.outputs = names
        return iter(())

    def _get(self, name: str) -> Iterator[Any]:
        """Yield whether the adapter has an attribute, and its value unless it is a method."""
        value = getattr(self._built, name, None)
        yield hasattr(self._built, name), None if callable(value) else value

    def _call(self, name: str, space: int | None, *details: Any) -> Iterator[Any]:
        """Yield the answer of a method that takes points, if any, and a space, if any."""
        method = getattr(self._built, name)
        if space is None:
            yield method()
        elif not details:
            yield method(self._spaces[space])
        else:
            points, *others = details
            yield method(points, self._spaces[space], *others)

    def _run(self, points: Any, space: int | None) -> Iterator[Any]:
        inputs = points if space is None else self._spaces[space]
        for rows, outcomes in replies_of(self._built, points, inputs):
            in_order = np.array_equal(rows, np.arange(len(points)))
            yield None if in_order else rows, outcomes


def _limit(memory: int) -> None:
    """Let the process hold so many bytes and no more."""
    import resource

    # Address space counts every library that is mapped, and is no measure of what is held.
    kind = resource.RLIMIT_DATA if sys.platform == "linux" else resource.RLIMIT_AS
    _, most = resource.getrlimit(kind)
    if most != resource.RLIM_INFINITY:
        memory = min(memory, most)
    resource.setrlimit(kind, (memory, memory))


def _end_with_parent(requests: int) -> None:
    """End this process when that which asks is gone, however that ended."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_DEATH_SIGNAL, signal.SIGKILL)

    def watch() -> None:
        watched = select.poll()
        watched.register(requests, 0)
        watched.poll()  # for the other end to be closed, and nothing else
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()
