"""What the adapters to programs and services share: records, checked options, bounded threads."""

from __future__ import annotations

import contextlib
import json
import math
import queue
import threading
import time
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar, cast

from evenhand.runtime.errors import SubjectError, UsageError, clip
from evenhand.runtime.options import shown_value

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from evenhand.runtime.values import Scalar
    from evenhand.space.space import Space

DECODED = 4096
"""Rows decoded at a time, so that memory does not grow with the number of inputs."""
LINGER = 0.004
"""Seconds to wait for others before a finished answer is handed on.

One commit of the ledger then serves several answers.
"""
WAKE = 0.5
"""Seconds after which a wait looks up, so that no interrupt is late by more."""

J = TypeVar("J")
R = TypeVar("R")
Record = dict[str, "Scalar"]


def chunks(
    points: NDArray[np.float64], space: Space, size: int
) -> Iterator[tuple[int, list[Record]]]:
    """Yield (first row, records of up to `size` rows).

    A record maps the names of the features that are passed to plain values.
    """
    names = [feature.name for feature in space.features if feature.passed]
    for start in range(0, len(points), size):
        labels = space.labels(points[start : start + size])
        columns = [labels[name] for name in names]
        rows = zip(*columns, strict=True)
        records = [dict(zip(names, row, strict=True)) for row in rows]
        yield start, records


def check_json(space: Space) -> None:
    """Refuse a space whose inputs cannot be written as JSON objects."""
    passed = [feature for feature in space.features if feature.passed]
    if not passed:
        raise UsageError(
            "no feature of the space is passed to the software under test; leave passed=True on one"
            " of them"
        )
    for feature in passed:
        for level in feature.levels:
            if isinstance(level, float) and math.isinf(level):
                raise UsageError(
                    f"feature {feature.name!r}: level {level!r} has no form in JSON; write it as"
                    " text"
                )


def words(record: Record) -> str:
    """Name an input inside an error sentence."""
    return shown(json.dumps(record, ensure_ascii=False))


def shown(text: str, width: int = 240) -> str:
    """Return text that any terminal can print on one line."""
    return clip(text.encode("utf-8", "backslashreplace").decode("utf-8"), width)


def whole(name: str, value: object, low: int) -> int:
    """Return a whole number of at least `low`, or raise a UsageError that names the option."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise UsageError(f"{name}={value!r} must be a whole number of at least {low}")
    return value


LONGEST = 1_000_000_000
"""The most seconds that can be waited for, some thirty years: the system counts no further."""


def seconds(name: str, value: object) -> float:
    """Return a positive finite number of seconds, or raise a UsageError that names the option."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not 0 < value <= LONGEST
    ):
        raise UsageError(
            f"{name}={shown_value(value)} must be a positive number of seconds, at most {LONGEST:,}"
        )
    return float(value)


def fan_out(
    jobs: Iterator[J], work: Callable[[J], R], *, width: int, abort: Callable[[], None]
) -> Iterator[list[tuple[J, R]]]:
    """Do the jobs in `width` threads and yield (job, result) in groups, in order of completion.

    Few jobs are queued, so a caller that is killed loses only those. After a SubjectError or
    UsageError no job is begun, those under way are finished and yielded, then the error of the
    earliest job is raised. `abort` must end the jobs under way: it is called where the caller stops
    early or is interrupted.
    """
    threads = _JobThreads(work, width)
    window = 8 * width
    errors: dict[int, BaseException] = {}
    try:
        while True:
            if not errors:
                threads.hand_over(jobs, window)
            if not threads.open_jobs:
                break
            done: list[tuple[J, R]] = []
            for finished in threads.gather(min(threads.open_jobs, window // 2)):
                if finished.error is None:
                    done.append((finished.job, cast("R", finished.result)))
                else:
                    errors[finished.number] = finished.error
            if errors:
                threads.take_back()
            if done:
                yield done
            # Any other error is a bug or an interrupt: the jobs under way are not waited for.
            if not all(
                isinstance(error, SubjectError | UsageError) for error in errors.values()
            ):
                break
        if errors:
            raise errors[min(errors)]
    finally:
        threads.end(abort)


class _FinishedJob(NamedTuple, Generic[J, R]):
    """A job with its place in the order of jobs, and its result or its error."""

    number: int
    job: J
    result: R | None
    error: BaseException | None


class _JobThreads(Generic[J, R]):
    """Threads that take jobs from one queue and put what came of them into another."""

    def __init__(self, work: Callable[[J], R], width: int) -> None:
        self._work = work
        self._width = width
        self._inbox: queue.SimpleQueue[tuple[int, J] | None] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[_FinishedJob[J, R]] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._begun = 0
        self.open_jobs = 0
        """Jobs that were handed over, and whose results have not been gathered."""

    def hand_over(self, jobs: Iterator[J], window: int) -> None:
        """Queue jobs until as many as the window are open, and start the threads they need."""
        while self.open_jobs < window and (job := next(jobs, None)) is not None:
            # Counted first, so that no interrupt leaves a job uncounted.
            self._begun += 1
            self.open_jobs += 1
            self._inbox.put((self._begun, job))
            if len(self._threads) < self._width:
                thread = threading.Thread(target=self._loop, daemon=True)
                self._threads.append(thread)
                thread.start()

    def _loop(self) -> None:
        while (task := self._inbox.get()) is not None:
            number, job = task
            try:
                finished = _FinishedJob(number, job, self._work(job), None)
            except BaseException as error:
                finished = _FinishedJob(number, job, None, error)
            self._outbox.put(finished)

    def gather(self, most: int) -> list[_FinishedJob[J, R]]:
        """Wait for a job to be finished, and return it with others that are finished by then."""
        group = _gather(self._outbox, most)
        self.open_jobs -= len(group)
        return group

    def take_back(self) -> None:
        """Take back the jobs that no thread has begun."""
        self.open_jobs -= _empty(self._inbox)

    def end(self, abort: Callable[[], None]) -> None:
        """End the threads; jobs that are still open are aborted."""
        _empty(self._inbox)
        if self.open_jobs:
            abort()
        for _ in self._threads:
            self._inbox.put(None)
        # The threads are daemons, and are waited for only a while: a job that cannot be ended must
        # not hold an interrupted caller.
        limit = time.monotonic() + 1.0
        for thread in self._threads:
            # The thread may have been interrupted while it was being started.
            with contextlib.suppress(RuntimeError):
                thread.join(max(0.0, limit - time.monotonic()))


def _gather(outbox: queue.SimpleQueue[R], most: int) -> list[R]:
    """Wait for one result, then a moment for others."""
    group = [_first(outbox)]
    end = time.monotonic() + LINGER
    while len(group) < most:
        seconds_left = max(0.0, end - time.monotonic())
        try:
            group.append(outbox.get(timeout=seconds_left))
        except queue.Empty:
            break
    return group


def _first(outbox: queue.SimpleQueue[R]) -> R:
    """Wait for one result."""
    # An interrupt just before a wait would go unnoticed in it, so none is long.
    while True:
        with contextlib.suppress(queue.Empty):
            return outbox.get(timeout=WAKE)


def _empty(inbox: queue.SimpleQueue[R]) -> int:
    """Empty a queue, and return how much was in it."""
    count = 0
    while True:
        try:
            inbox.get_nowait()
        except queue.Empty:
            return count
        count += 1
