"""The handle of a process that runs software: it is started, asked, and ended."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
import weakref
from typing import TYPE_CHECKING, Any

from evenhand.subject.adapters.isolated.messages import HEADER, request_parts
from evenhand.subject.adapters.isolated.nursery import Nursery
from evenhand.subject.adapters.process import KEPT_ERRORS, ending, last_words

if TYPE_CHECKING:
    from evenhand.subject.adapters.isolated.limits import Isolation

_CHUNK = 1 << 20


class OutOfTime(Exception):
    """No answer came in the time allowed."""


class ModelProcess:
    """One process, with pipes to and from it."""

    def __init__(self, limits: Isolation) -> None:
        self._errors = bytearray()
        nursery = Nursery.own()
        asks, self._to = os.pipe()
        self._back, answers = os.pipe()
        self._stderr, prints = os.pipe()
        ours = (self._to, self._back, self._stderr)
        theirs = (asks, answers, prints)
        try:
            number = nursery.fork(limits.memory, theirs)
        except BaseException:
            _close(ours)
            raise
        finally:
            _close(theirs)
        _widen(self._to)
        for descriptor in ours:
            os.set_blocking(descriptor, False)
        self._ended = _Ended(nursery, number)
        self.close = weakref.finalize(self, _end, self._ended, ours, os.getpid())

    def send(self, request: Any, deadline: float | None) -> None:
        """Send one request; raises EOFError where the process is gone."""
        for left in request_parts(request):
            while left:
                self._wait(self._to, select.POLLOUT, deadline)
                try:
                    left = left[os.write(self._to, left[:_CHUNK]) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    raise EOFError from None

    def receive(self, deadline: float | None) -> bytearray:
        """Return one reply; raises EOFError where the process is gone."""
        (size,) = HEADER.unpack(self._read(HEADER.size, deadline))
        return self._read(size, deadline)

    def _read(self, size: int, deadline: float | None) -> bytearray:
        content = bytearray()
        while len(content) < size:
            self._wait(self._back, select.POLLIN, deadline)
            try:
                part = os.read(self._back, min(size - len(content), _CHUNK))
            except BlockingIOError:
                continue
            if not part:
                raise EOFError
            content += part
        return content

    def _wait(self, descriptor: int, event: int, deadline: float | None) -> None:
        """Wait until a pipe is ready, and keep the end of what is printed meanwhile."""
        watched = select.poll()
        watched.register(descriptor, event)
        watched.register(self._stderr, select.POLLIN)
        while True:
            left = None
            if deadline is not None:
                left = max(0.0, deadline - time.monotonic()) * 1000
            ready = dict(watched.poll(left))
            if not ready:
                raise OutOfTime
            if ready.pop(self._stderr, 0) and not self._keep_errors():
                watched.unregister(self._stderr)
            if ready:
                return

    def _keep_errors(self) -> bool:
        """Read what was printed; return whether there may be more."""
        try:
            part = os.read(self._stderr, _CHUNK)
        except BlockingIOError:
            return False
        self._errors += part
        del self._errors[:-KEPT_ERRORS]
        return bool(part)

    def last_seen(self) -> tuple[str, str]:
        """Return how the process ended that closed its pipes, and the last that it printed."""
        code = self._ended.code()
        while self._keep_errors():
            pass
        return ending(code), last_words(bytes(self._errors))


class _Ended:
    """The end of a process, which is waited for once."""

    def __init__(self, nursery: Nursery, number: int) -> None:
        self._nursery = nursery
        self._number = number
        self._code: int | None = None

    def code(self) -> int:
        """Wait for the end, and return the exit code."""
        if self._code is None:
            self._code = self._nursery.wait(self._number)
        return self._code

    def kill(self) -> None:
        """End the process and what it started; its number is its own until it is waited for."""
        if self._code is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._number, signal.SIGKILL)
            self.code()


def _widen(pipe: int) -> None:
    """Let a pipe hold a megabyte, where the system knows how and allows it."""
    import fcntl

    size = getattr(fcntl, "F_SETPIPE_SZ", None)
    if size is not None:
        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe, size, _CHUNK)


def _close(descriptors: tuple[int, ...]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def _end(ended: _Ended, descriptors: tuple[int, ...], owner: int) -> None:
    _close(descriptors)
    if os.getpid() == owner:
        with contextlib.suppress(
            Exception
        ):  # the nursery may be gone, and its children with it
            ended.kill()
