"""What the adapters to running programs share: records in the user's labels, words for failures, a bounded pool."""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import queue
import shlex
import shutil
import signal
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast

from evenhand.core.errors import SubjectError, UsageError, clip
from evenhand.core.fingerprint import file_digest

if TYPE_CHECKING:
    import subprocess
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evenhand.core.adapters.base import Scalar
    from evenhand.core.space import Space

MOST_OUTPUT = 1 << 20
"""Bytes of standard output after which a program is stopped: an outcome is one line."""
KEPT_ERRORS = 1 << 13
DECODED = 4096
"""Rows decoded at a time, so that memory does not grow with the number of inputs."""
LINGER = 0.004
"""Seconds to wait for company before a finished answer is handed on: one ledger commit then serves several."""

J = TypeVar("J")
R = TypeVar("R")
Record = dict[str, "Scalar"]


def chunks(points: NDArray[np.float64], space: Space, size: int) -> Iterator[tuple[int, list[Record]]]:
    """Yield (first row, records of up to `size` rows): feature name to plain value, passed features only."""
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
            "no feature of the space is passed to the software under test; leave passed=True on one of them"
        )
    for feature in passed:
        for level in feature.levels:
            if isinstance(level, float) and math.isinf(level):
                raise UsageError(f"feature {feature.name!r}: level {level!r} has no form in JSON; write it as text")


def words(record: Record) -> str:
    """Name an input inside an error sentence."""
    return shown(json.dumps(record, ensure_ascii=False))


def shown(text: str, width: int = 240) -> str:
    """Return text that any terminal can print on one line."""
    return clip(text.encode("utf-8", "backslashreplace").decode("utf-8"), width)


def last_words(stderr: bytes, width: int = 240) -> str:
    """Return the end of what was printed on standard error, where programs say why they died."""
    flat = " ".join(stderr.decode("utf-8", "replace").split())
    if not flat:
        return "nothing on standard error"
    return "standard error: " + (flat if len(flat) <= width else "…" + flat[1 - width :])


def ending(code: int) -> str:
    """Say how a process ended.

    >>> ending(3), ending(-9)
    ('exited with code 3', 'was killed by SIGKILL')
    """
    if code >= 0:
        return f"exited with code {code}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:
        return f"was killed by signal {-code}"


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """Kill a process that was started in its own process group, and its children."""
    if process.returncode is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            process.kill()


def checked_argv(argv: Sequence[str | os.PathLike[str]]) -> tuple[str, ...]:
    """Return the command as a tuple of text, or say what is wrong with it."""
    if isinstance(argv, str | bytes):
        raise UsageError(
            f"the command {argv!r} must be a list such as {str(argv).split()!r}, one element per argument, as there is "
            "no shell"
        )
    parts = []
    for argument in argv:
        if not isinstance(argument, str | os.PathLike):
            raise UsageError(f"the argument {argument!r} of the command is no text; write it as {str(argument)!r}")
        parts.append(os.fspath(argument))
    if not parts or not parts[0]:
        raise UsageError("the command is empty; its first element must name a program")
    return tuple(parts)


def find_program(name: str, cwd: str | None, env: Mapping[str, str] | None) -> str:
    """Return the path of the program, relative paths being seen from `cwd` as the operating system does."""
    if cwd is not None and not Path(cwd).is_dir():
        raise UsageError(f"the working directory {cwd!r} of the command {name!r} is no directory; check cwd")
    if os.path.dirname(name):  # noqa: PTH120 - Path("./loan") would forget the "./"
        path = Path(cwd or ".", name).absolute()
        if not path.is_file():
            raise UsageError(
                f"the program {name!r} does not exist as a file at {path}; check the command's first element"
            )
        if not os.access(path, os.X_OK):
            raise UsageError(f"the program {name!r} is not executable; run: chmod +x {shlex.quote(str(path))}")
        return str(path)
    found = shutil.which(name, path=None if env is None else env.get("PATH", os.defpath))
    if found is None:
        raise UsageError(f"the program {name!r} is not on the PATH; give its path (such as './{name}') or install it")
    return str(Path(found).absolute())


def fingerprint(kind: str, argv: Sequence[str], program: str, cwd: str | None) -> str:
    """Name a program by its command and by the content of the files in it, so that an edited program is another one."""
    digest = hashlib.sha256()
    for path in [Path(program), *(Path(cwd or ".", argument) for argument in argv[1:])]:
        try:
            if path.is_file():
                digest.update(bytes.fromhex(file_digest(path)))
        except (OSError, ValueError):
            continue  # an argument that cannot be a path, or a file only the program may read
    return f"{kind}:{json.dumps(list(argv))} sha256:{digest.hexdigest()}"


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
    """Do the jobs in `width` threads and yield (job, result) in small groups, in the order of completion.

    Few jobs are queued, so a caller that is killed loses only those. After a SubjectError or UsageError no job is
    begun, those under way are finished and yielded, then the error of the earliest job is raised. `abort` must end the
    jobs under way: it is called where the caller stops early or is interrupted.
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
                begun, open_jobs = begun + 1, open_jobs + 1  # first, so that no interrupt leaves a job uncounted
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
        for thread in threads:  # daemons: a job that cannot be ended must not hold an interrupted caller
            with contextlib.suppress(RuntimeError):  # interrupted while it was being started
                thread.join(max(0.0, limit - time.monotonic()))


def _gather(outbox: queue.SimpleQueue[R], most: int) -> list[R]:
    """Wait for one result, then a moment for others."""
    group = [outbox.get()]
    end = time.monotonic() + LINGER
    while len(group) < most:
        try:
            group.append(outbox.get(timeout=max(0.0, end - time.monotonic())))
        except queue.Empty:
            break
    return group


def _empty(inbox: queue.SimpleQueue[R]) -> int:
    """Take back what nobody has begun."""
    count = 0
    while True:
        try:
            inbox.get_nowait()
        except queue.Empty:
            return count
        count += 1
