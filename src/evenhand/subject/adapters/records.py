"""What the adapters to programs and services share: records in the user's labels, checked options,
a bounded pool.
"""

from __future__ import annotations

import contextlib
import json
import math
import queue
import threading
import time
from typing import TYPE_CHECKING, TypeVar, cast

from evenhand.runtime.errors import SubjectError, UsageError, clip

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    from evenhand.runtime.values import Scalar
    from evenhand.space.space import Space

DECODED = 4096
"""Rows decoded at a time, so that memory does not grow with the number of inputs."""
LINGER = 0.004
"""Seconds to wait for company before a finished answer is handed on: one ledger commit then serves
several.
"""
WAKE = 0.5
"""Seconds after which a wait looks up, so that no interrupt is late by more."""

J = TypeVar("J")
R = TypeVar("R")
Record = dict[str, "Scalar"]


def chunks(
    points: NDArray[np.float64], space: Space, size: int
) -> Iterator[tuple[int, list[Record]]]:
    """Yield (first row, records of up to `size` rows): feature name to plain value, passed features
    only.
    """
    names = [feature.name for feature in space.features if feature.passed]
    for start in range(0, len(points), size):
        labels = space.labels(points[start : start + size])
        rows = zip(*(labels[name] for name in names), strict=True)
        yield start, [dict(zip(names, row, strict=True)) for row in rows]


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
    """Return a whole number of at least `low`, or say what is wrong with the option."""
    if isinstance(value, bool) or not isinstance(value, int) or value < low:
        raise UsageError(f"{name}={value!r} must be a whole number of at least {low}")
    return value


def seconds(name: str, value: object) -> float:
    """Return a positive finite number of seconds, or say what is wrong with the option."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise UsageError(f"{name}={value!r} must be a positive number of seconds")
    return float(value)


def fan_out(
    jobs: Iterator[J], work: Callable[[J], R], *, width: int, abort: Callable[[], None]
) -> Iterator[list[tuple[J, R]]]:
    """Do the jobs in `width` threads and yield (job, result) in small groups, in the order of
    completion.

    Few jobs are queued, so a caller that is killed loses only those. After a SubjectError or
    UsageError no job is begun, those under way are finished and yielded, then the error of the
    earliest job is raised. `abort` must end the jobs under way: it is called where the caller stops
    early or is interrupted.
    """
    inbox: queue.SimpleQueue[tuple[int, J] | None] = queue.SimpleQueue()
    outbox: queue.SimpleQueue[tuple[int, J, R | None, BaseException | None]] = queue.SimpleQueue()

    def loop() -> None:
        while (task := inbox.get()) is not None:
            try:
                outbox.put((*task, work(task[1]), None))
            except BaseException as error:
                outbox.put((*task, None, error))

    threads: list[threading.Thread] = []
    errors: dict[int, BaseException] = {}
    window, begun, open_jobs = 8 * width, 0, 0
    try:
        while True:
            while not errors and open_jobs < window and (job := next(jobs, None)) is not None:
                begun, open_jobs = (
                    begun + 1,
                    open_jobs + 1,
                )  # first, so that no interrupt leaves a job uncounted
                inbox.put((begun, job))
                if len(threads) < width:
                    threads.append(threading.Thread(target=loop, daemon=True))
                    threads[-1].start()
            if not open_jobs:
                break
            done: list[tuple[J, R]] = []
            for order, job, result, error in _gather(outbox, min(open_jobs, window // 2)):
                open_jobs -= 1
                if error is None:
                    done.append((job, cast("R", result)))
                else:
                    errors[order] = error
            if errors:
                open_jobs -= _empty(inbox)
            if done:
                yield done
            if not all(isinstance(error, SubjectError | UsageError) for error in errors.values()):
                break
        if errors:
            raise errors[min(errors)]
    finally:
        _empty(inbox)
        if open_jobs:
            abort()
        for _ in threads:
            inbox.put(None)
        limit = time.monotonic() + 1.0
        for (
            thread
        ) in threads:  # daemons: a job that cannot be ended must not hold an interrupted caller
            with contextlib.suppress(RuntimeError):  # interrupted while it was being started
                thread.join(max(0.0, limit - time.monotonic()))


def _gather(outbox: queue.SimpleQueue[R], most: int) -> list[R]:
    """Wait for one result, then a moment for others."""
    group = [_first(outbox)]
    end = time.monotonic() + LINGER
    while len(group) < most:
        try:
            group.append(outbox.get(timeout=max(0.0, end - time.monotonic())))
        except queue.Empty:
            break
    return group


def _first(outbox: queue.SimpleQueue[R]) -> R:
    """Wait for one result, and wake up now and then: an interrupt just before a wait would go
    unnoticed in it.
    """
    while True:
        with contextlib.suppress(queue.Empty):
            return outbox.get(timeout=WAKE)


def _empty(inbox: queue.SimpleQueue[R]) -> int:
    """Take back what nobody has begun."""
    count = 0
    while True:
        try:
            inbox.get_nowait()
        except queue.Empty:
            return count
        count += 1
