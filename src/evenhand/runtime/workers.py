"""One seam to joblib, and the threads of other libraries.

Results are the same, in the same order, for any number of workers and any backend.
"""

from __future__ import annotations

import os
import re
import tempfile
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

from evenhand.runtime.errors import SubjectCrashed, UsageError
from evenhand.runtime.interruption import exits_reported

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

Task = TypeVar("Task")
Answer = TypeVar("Answer")

LOCAL = ("LokyBackend", "MultiprocessingBackend")
"""Backends whose workers read the files of this machine."""

WORTH_THREADS = 100_000
"""From how many inputs at once a model may use its own threads."""


class Workers:
    """Runs a function over tasks in waves, in order.

    Use it as a context manager, so that waves share their workers.

    The backend is joblib's: processes on this machine by default, Dask or Ray inside
    `joblib.parallel_config`.

    >>> with Workers(1) as workers:
    ...     workers.map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, n_jobs: int = 1) -> None:
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
            raise UsageError(
                f"n_jobs = {n_jobs!r} must be a whole number other than 0; -1 takes every core"
            )
        self.n_jobs = n_jobs
        self._pool: Any = None
        self._shipped: tuple[Any, Any] | None = None

    @property
    def width(self) -> int:
        """How many tasks run at once."""
        if self.n_jobs == 1:
            return 1
        import joblib

        return int(joblib.effective_n_jobs(self.n_jobs))

    def __enter__(self) -> Self:
        if self.n_jobs != 1:
            import joblib

            self._pool = joblib.Parallel(n_jobs=self.n_jobs, **self._style()).__enter__()
        return self

    def _style(self) -> dict[str, Any]:
        """Return how answers are handed over."""
        return {}

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.__exit__(*error)
            self._pool = None
        self._unship()

    def map(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> list[Answer]:
        """Return the function's answer to each task, in order."""
        if self._pool is None or len(tasks) == 1:
            return [function(task) for task in tasks]
        import joblib

        shipped = self._ship(function)
        with _deaths_reported():
            return list(self._pool(joblib.delayed(shipped)(task) for task in tasks))

    def _ship(self, function: Any) -> Any:
        """Return what is sent with each task: the function, or for local workers where it lies.

        A large model would otherwise be pickled again for every task of every wave.
        """
        if self._shipped is None or self._shipped[0] is not function:
            self._unship()
            import joblib

            backend = type(joblib.parallel.get_active_backend()[0]).__name__
            self._shipped = (
                function,
                _Parcel.of(function) if backend in LOCAL else function,
            )
        return self._shipped[1]

    def _unship(self) -> None:
        if self._shipped is not None and isinstance(self._shipped[1], _Parcel):
            Path(self._shipped[1].path).unlink(missing_ok=True)
        self._shipped = None


class Streaming(Workers):
    """Yields answers in the order in which they are ready; long tasks never wait for each other.

    >>> with Streaming(1) as workers:
    ...     list(workers.each(abs, [-1, 2]))
    [1, 2]
    """

    def _style(self) -> dict[str, Any]:
        import joblib

        backend = joblib.parallel.get_active_backend()[0]
        self._ready = bool(getattr(backend, "supports_return_generator", False))
        if not self._ready:
            return {}
        return {"return_as": "generator_unordered", "batch_size": 1}

    def each(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[Answer]:
        """Yield the function's answer to each task, the first that is ready first."""
        if self._pool is None:
            yield from map(function, tasks)
        elif self._ready:
            import joblib

            shipped: Any = self._ship(function)
            answers = iter(self._pool(joblib.delayed(shipped)(task) for task in tasks))
            for _ in tasks:
                with _deaths_reported():
                    answer = next(answers)
                yield answer
        else:
            for start in range(0, len(tasks), self.width):
                yield from self.map(function, tasks[start : start + self.width])


@contextmanager
def _deaths_reported() -> Iterator[None]:
    """Turn what ended a worker process, or would end this one, into an error of one sentence."""
    from concurrent.futures.process import BrokenProcessPool

    try:
        with exits_reported("the software under test", " in a worker process"):
            yield
    except BrokenProcessPool as error:
        raise SubjectCrashed(
            f"a worker process {_ending(str(error))} while it ran the software under test; with"
            " isolate = true it runs in a process of its own, and the inputs are told"
        ) from error


def _ending(reason: str) -> str:
    """Return how a worker ended, by the exit code that joblib tells where it knows one.

    >>> _ending("The exit codes of the workers are {SIGSEGV(-11)}"), _ending("")
    ('was killed by SIGSEGV', 'ended')
    >>> _ending("The exit codes of the workers are {EXIT(3)}")
    'exited with code 3'
    """
    found = re.search(r"\{(\w+)\((-?\d+)\)", reason)
    if found is None:
        return "ended"
    name, code = found.groups()
    if name == "EXIT":
        return f"exited with code {code}"
    return f"was killed by {name}"


class _Parcel:
    """A function in a file, which each worker unpacks once."""

    _unpacked: tuple[str, Any] | None = None

    def __init__(self, path: str) -> None:
        self.path = path

    @classmethod
    def of(cls, function: Any) -> _Parcel:
        import cloudpickle

        handle, path = tempfile.mkstemp(prefix="evenhand-", suffix=".pickle")
        with os.fdopen(handle, "wb") as file:
            cloudpickle.dump(function, file)
        return cls(path)

    def __call__(self, task: Any) -> Any:
        if _Parcel._unpacked is None or _Parcel._unpacked[0] != self.path:
            import pickle

            with Path(self.path).open("rb") as file:
                _Parcel._unpacked = (self.path, pickle.load(file))  # noqa: S301
        return _Parcel._unpacked[1](task)


def threads_for(inputs: int) -> AbstractContextManager[Any]:
    """Return a context in which other libraries use as many threads as a batch is worth.

    A boosted model starts all its threads for each of its trees, and where a batch is small they
    spend most of their time waiting for each other.

    >>> with threads_for(1):
    ...     pass
    """
    if inputs >= WORTH_THREADS:
        return nullcontext()
    return one_thread()


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which other libraries use one thread, so that sums have one order."""
    limited: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limited


@lru_cache(maxsize=1)
def _controller() -> Any:
    """Return what sets the threads of all libraries that are loaded when it is first wanted."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
