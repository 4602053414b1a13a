"""Long-lived processes: one JSON object per line in, one outcome per line out."""

from __future__ import annotations

import json
import math
import os
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SubjectError, SubjectTimeout, UsageError
from evenhand.runtime.options import LIST, WHOLE, Option, Options
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.line_process import (
    GRACE,
    Answer,
    Child,
    Task,
    end,
    readable,
    wait,
)
from evenhand.subject.adapters.process import (
    CWD,
    ENV,
    TIMEOUT,
    WORKERS,
    Program,
    checked_argv,
    last_words,
)
from evenhand.subject.adapters.records import check_json, chunks, seconds, whole
from evenhand.subject.options import IDENTITY
from evenhand.subject.outputs import packed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.space import Space

FLUSH = "a program must flush its output after every line"


class StreamAdapter(Adapter):
    """Keep processes running and send them inputs as JSON lines; POSIX only.

    Each line in is an object of feature name to value, each line out is one outcome; answers come
    in the order of the inputs, and the program must flush after each. It should exit when its input
    ends. A process that dies is started again and asked what it has not answered. The first process
    is sent one input only, and then ended, to see that it prints no other line than its answer.

    Parameters
    ----------
    argv: the program and its arguments, as they are. There is no shell.
    workers: processes to share the inputs.
    timeout: seconds allowed between two answers of a process.
    restarts: how many times a process is started again without a single answer in between.
    batch: how many inputs at most a process is sent ahead of its answers.
    cwd, env, identity: as for a command.
    """

    kind = "stream"
    own_process = True
    value = Option(
        "stream",
        LIST,
        "a program that reads inputs as JSON lines and prints one outcome each",
    )
    options = Options.of(
        WORKERS,
        TIMEOUT,
        Option(
            "restarts",
            WHOLE,
            "how many times a program that dies without an answer is started again",
        ),
        CWD,
        ENV,
        IDENTITY,
        given=["batch"],
    )
    printed = True
    expensive = True
    identity: str = ""
    name: str = ""

    def __init__(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        workers: int = 1,
        timeout: float = 30.0,
        restarts: int = 3,
        batch: int = 1024,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
        identity: str | None = None,
    ) -> None:
        command = checked_argv(argv)
        self.workers = whole("workers", workers, 1)
        self.timeout = seconds("timeout", timeout)
        self.restarts = whole("restarts", restarts, 0)
        self.batch = whole("batch", batch, 1)
        self._program = Program.of(command, cwd, env)
        self.identity = identity or self._program.identity("stream")
        self.name = identity or self._program.name
        self._vetted = False
        self._open()

    def _open(self) -> None:
        self._idle: list[Child] = []
        self._owner = os.getpid()
        self._finalizer = weakref.finalize(self, end, self._idle)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        for live in ("_idle", "_owner", "_finalizer"):
            del state[live]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def close(self) -> None:
        """End the processes; the next run starts new ones."""
        if self._owner == os.getpid():
            end(self._idle)

    def check(self, space: Space) -> None:
        """Refuse a space whose inputs cannot be sent."""
        check_json(space)

    def run(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows, outcomes) until every point is answered."""
        self.check(space)
        if not len(points):
            return
        share = self._share(len(points))
        processes = min(self.workers, math.ceil(len(points) / share))
        team: list[Child] = []
        try:
            self._borrow(team, processes)
            for answers in self._drive(team, _tasks(points, space, share)):
                rows, replies = zip(*answers, strict=True)
                yield np.array(rows, dtype=np.intp), packed(replies, self.outputs)
        finally:
            for child in team:
                if child.alive and not child.busy:
                    self._idle.append(child)
                else:
                    child.kill()

    def _share(self, inputs: int) -> int:
        """Return how many inputs a process is dealt at a time."""
        if self.workers == 1:
            return self.batch
        # Several small shares for each of many processes, so that none is left with all the work at
        # the end.
        return min(self.batch, math.ceil(inputs / (4 * self.workers)))

    def _borrow(self, team: list[Child], count: int) -> None:
        """Fill a team with idle processes, and with new ones where those are too few."""
        # A fork shares the pipes with its parent, so it needs processes of its own.
        if self._owner != os.getpid():
            self._finalizer.detach()
            self._open()
        while len(team) < count:
            try:
                child = self._idle.pop()
            except IndexError:
                team.append(Child(self._program, self.outputs))
            else:
                if child.silent():
                    team.append(child)

    def _drive(
        self, team: list[Child], shares: Iterator[deque[Task]]
    ) -> Iterator[list[Answer]]:
        """Deal shares of the inputs to the processes, and yield answers as they come."""
        failure: SubjectError | UsageError | None = None
        limit = math.inf
        while True:
            for child in team:
                if failure is None and not child.todo:
                    child.todo = next(shares, child.todo)
                child.send(self.batch if self._vetted else 1)
            busy = [child for child in team if child.busy]
            if not busy or time.monotonic() >= limit:
                break
            answers, error = self._listen(team, busy, limit)
            if error is not None:
                # The others have a while to answer what they were sent, then the first failure is
                # raised.
                failure = failure or error
                limit = min(limit, time.monotonic() + GRACE)
            if answers:
                began = time.monotonic()
                yield answers
                seconds_of_caller = time.monotonic() - began
                for child in team:
                    child.since += seconds_of_caller  # which are not the program's
        if failure:
            raise failure
        for child in team:
            child.silent()

    def _listen(
        self, team: list[Child], busy: list[Child], limit: float
    ) -> tuple[list[Answer], SubjectError | UsageError | None]:
        """Wait until a busy process says something, and return the answers and the first failure.

        After a failure, no process of the team is left anything to do but what it was sent.
        """
        longest_silence = min(child.since for child in busy)
        until = min(limit, longest_silence + self.timeout)
        answers: list[Answer] = []
        failure: SubjectError | UsageError | None = None
        for child, ready in wait(busy, until):
            known = len(answers)
            try:
                self._attend(child, answers, ready=ready)
            except (SubjectError, UsageError) as error:
                if not self._vetted:
                    # With a line too many, the first line may be no answer at all.
                    del answers[known:]
                failure = failure or error
                child.kill()
                child.sent.clear()
                for member in team:
                    member.todo.clear()
        return answers, failure

    def _attend(self, child: Child, answers: list[Answer], *, ready: bool) -> None:
        """Take what a process has said, and see to it if it has died or hangs."""
        known = len(answers)
        alive = child.read(answers) if ready else True
        if not self._vetted and len(answers) > known:
            self._vet(child)
        elif not alive:
            child.bury(self.restarts)
        elif time.monotonic() - child.since >= self.timeout:
            self._give_up(child, answers)

    def _vet(self, child: Child) -> None:
        """Refuse a program that prints lines which nobody asked for, such as a banner.

        One line too many would shift every answer by one, and only the end of the output shows for
        certain that there is none, however slow the program or the machine is. So the process that
        gives the very first answer is told to exit; what is left is asked of another.
        """
        extra = child.last_output(self.timeout)
        child.kill()
        if extra:
            raise child.surplus(extra)
        self._vetted = True

    def _give_up(self, child: Child, answers: list[Answer]) -> None:
        """Raise a timeout; its message tells a hang from answers that were held back."""
        question = child.question()
        known = len(answers)
        child.end_input()
        limit = time.monotonic() + min(GRACE, self.timeout)
        alive = True
        while alive and child.sent and readable(child.out, limit - time.monotonic()):
            alive = child.read(answers)
        if len(answers) > known:
            raise SubjectTimeout(
                f"the program {child.name} did not answer {question} within {self.timeout:g} s, but"
                f" only when its input ended; {FLUSH}"
            )
        raise SubjectTimeout(
            f"the program {child.name} gave no answer to {question} within {self.timeout:g} s and"
            f" was killed; raise the timeout if it needs longer, and note that {FLUSH}"
            f" ({last_words(child.last_errors())})"
        )


def _tasks(points: NDArray[np.float64], space: Space, share: int) -> Iterator[deque[Task]]:
    """Yield the inputs as lines of JSON with their rows, one share of them at a time."""
    for start, records in chunks(points, space, share):
        tasks: deque[Task] = deque()
        for row, record in enumerate(records, start=start):
            line = json.dumps(record).encode() + b"\n"
            tasks.append((row, line))
        yield tasks
