"""A long-lived process that answers lines: never blocks its caller, and never is blocked by it."""

from __future__ import annotations

import contextlib
import functools
import json
import os
import select
import shlex
import subprocess
import time
from collections import deque
from typing import TYPE_CHECKING

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, clip
from evenhand.subject.adapters.base import Reply
from evenhand.subject.adapters.process import (
    KEPT_ERRORS,
    MOST_OUTPUT,
    ending,
    kill_group,
    last_words,
)
from evenhand.subject.adapters.records import words
from evenhand.subject.outputs import parse_reply

if TYPE_CHECKING:
    from evenhand.subject.adapters.process import Program

GRACE = 1.0
"""Seconds left to a process for its last words, once another has failed or its input has ended."""
Task = tuple[int, bytes]
"""A row, and its line of JSON."""
Answer = tuple[int, Reply]


class Child:
    """One process, with its inputs.

    `todo` holds what it has been dealt, `sent` what it has been sent and has not answered.
    """

    def __init__(self, program: Program, outputs: tuple[str, ...] = ()) -> None:
        self.name = clip(shlex.join(program.argv))
        self.todo: deque[Task] = deque()
        self.sent: deque[Task] = deque()
        self._program = program
        self._outputs = outputs
        self._deaths = 0
        self.start()

    def start(self) -> None:
        """Start the process, for the first time or again."""
        self.process = self._program.start(
            self._program.argv, stdin=subprocess.PIPE, kind="program"
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._into = self.process.stdin.fileno()
        self.out = self.process.stdout.fileno()
        self.errors = self.process.stderr.fileno()
        for descriptor in (self._into, self.out, self.errors):
            os.set_blocking(descriptor, False)
        self.alive = True
        self.since = time.monotonic()
        self._outgoing = b""
        self._partial = b""
        self._err = b""

    @property
    def busy(self) -> bool:
        """Whether there is anything left to answer."""
        return bool(self.sent or self.todo)

    @property
    def blocked(self) -> int:
        """The descriptor to which something is still to be written, or -1."""
        return self._into if self._outgoing else -1

    def send(self, window: int) -> None:
        """Write ahead as much as the window and the pipe allow."""
        if self.todo and not self.alive:
            self.start()
        if not self.sent:
            self.since = time.monotonic()
        lines = []
        # After a death, inputs go one by one: whoever dies then has died of that input.
        most = 1 if self._deaths else window
        while self.todo and len(self.sent) < most:
            task = self.todo.popleft()
            self.sent.append(task)
            _, line = task
            lines.append(line)
        self._outgoing += b"".join(lines)
        try:
            while self._outgoing:
                written = os.write(self._into, self._outgoing)
                self._outgoing = self._outgoing[written:]
        except BlockingIOError:
            pass
        except BrokenPipeError:
            self._outgoing = (
                b""  # it no longer listens; the end of its output will tell the rest
            )

    def take(self) -> bytes | None:
        """Return what was printed: b"" at the end of the output, None where nothing is there."""
        try:
            return os.read(self.out, 1 << 16)
        except BlockingIOError:
            return None

    def read(self, answers: list[Answer]) -> bool:
        """Move answered inputs to `answers`; False where the output has ended."""
        self.last_errors()
        data = self.take()
        if data is None:
            return True
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            if not self.sent:
                raise self.surplus(line)
            row, _ = self.sent[0]
            try:
                answers.append((row, _reply(line, self._outputs)))
            except ValueError as error:
                raise BadOutcome(
                    f"the program {self.name} answered {self.question()} with {error}"
                ) from None
            self.sent.popleft()
            self._deaths = 0
        if lines:
            self.since = time.monotonic()
        if len(self._partial) > MOST_OUTPUT:
            raise BadOutcome(
                f"the program {self.name} answered {self.question()} with over {MOST_OUTPUT} bytes"
            )
        return bool(data)

    def silent(self) -> bool:
        """Return whether a process that owes no answer is alive and has nothing to say."""
        self.last_errors()
        data: bytes | None = b""
        if self.alive:
            data = self._partial or self.take()
        if data is not None:
            self.kill()
        if data:
            raise self.surplus(data)
        return data is None

    def last_output(self, seconds: float) -> bytes:
        """End its input, and return what it prints besides its answers before it exits, or b"".

        A program that does not exit is given so many seconds, in which any answer would have come.
        """
        self.end_input()
        until = time.monotonic() + seconds
        printed = self._partial
        while not printed and wait([self], until)[0][1]:
            self.last_errors()
            data = self.take()
            if data == b"":
                break
            printed = data or b""
        return printed

    def bury(self, most: int) -> None:
        """Take back what a dead process did not answer, or raise where it died of it too often."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(GRACE)
        self.kill()
        self.todo.extendleft(reversed(self.sent))
        self.sent.clear()
        self._deaths += bool(self.todo)
        if self._deaths > most:
            raise SubjectCrashed(
                f"the program {self.name} {ending(self.process.returncode)} without an answer to"
                f" {self.question()} ({self._deaths} in a row); {last_words(self._err)}"
            )

    def question(self) -> str:
        """Name the first input without an answer."""
        _, line = (self.sent or self.todo)[0]
        return words(json.loads(line))

    def surplus(self, line: bytes) -> BadOutcome:
        """Return the error for a line that nobody asked for."""
        shown = clip(line.decode("utf-8", "backslashreplace"))
        return BadOutcome(
            f"the program {self.name} printed more lines than it was given inputs, such as"
            f" '{shown}'; it must print one line per input (other messages belong on standard"
            " error), and as its answers may have been taken for those of other inputs, discard"
            " this run's ledger"
        )

    def last_errors(self) -> bytes:
        """Take what standard error holds, so that it never fills up, and return its end."""
        while self.errors >= 0:
            try:
                data = os.read(self.errors, 1 << 16)
            except BlockingIOError:
                break
            self._err = (self._err + data)[-KEPT_ERRORS:]
            if not data:
                self.errors = -1
        return self._err

    def end_input(self) -> None:
        """Close its standard input, the sign to exit."""
        if self.process.stdin is not None:
            self.process.stdin.close()
        self._outgoing = b""

    def kill(self) -> None:
        """End the process and its children at once."""
        if self.alive:
            kill_group(self.process)
            self.process.wait()
            self.process.forget()
            self.last_errors()
            self.alive = False
            self.errors = -1
            self.end_input()
            for pipe in (self.process.stdout, self.process.stderr):
                if pipe is not None:
                    pipe.close()


def _reply(line: bytes, outputs: tuple[str, ...]) -> Reply:
    """Return what one line says, or raise a ValueError that says what is wrong with it."""
    # Most programs have few different answers, all of them short.
    if len(line) < 64:
        return _parsed(line, outputs)
    return _parsed.__wrapped__(line, outputs)


@functools.lru_cache(maxsize=4096)
def _parsed(line: bytes, outputs: tuple[str, ...]) -> Reply:
    try:
        text = line.decode("utf-8").strip()
    except UnicodeDecodeError:
        raise ValueError(
            f"text that is not UTF-8: '{clip(line.decode('utf-8', 'backslashreplace'))}'"
        ) from None
    if not text:
        raise ValueError("an empty line instead of an outcome")
    return parse_reply(text, outputs)


def wait(children: list[Child], until: float) -> list[tuple[Child, bool]]:
    """Wait for a process to say something or to take more; return which has said something."""
    poller = select.poll()
    for child in children:
        poller.register(child.out, select.POLLIN)
        if child.errors >= 0:
            poller.register(child.errors, select.POLLIN)
        if child.blocked >= 0:
            poller.register(child.blocked, select.POLLOUT)
    milliseconds = max(0.0, until - time.monotonic()) * 1000
    ready = {descriptor for descriptor, _ in poller.poll(milliseconds)}
    return [(child, child.out in ready or child.errors in ready) for child in children]


def readable(descriptor: int, timeout: float) -> bool:
    """Wait until there is something to read."""
    poller = select.poll()
    poller.register(descriptor, select.POLLIN)
    return bool(poller.poll(max(0.0, timeout) * 1000))


def end(children: list[Child]) -> None:
    """End idle processes: the end of their input is their sign to exit."""
    ending_now = [children.pop() for _ in range(len(children))]
    for child in ending_now:
        child.end_input()
    for child in ending_now:
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.process.wait(GRACE)
        child.kill()
