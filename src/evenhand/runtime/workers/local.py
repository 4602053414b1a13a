"""Workers of this machine, and of any other backend that joblib has."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from evenhand.runtime.interruption import serve_parent
from evenhand.runtime.workers.crew import WorkerCrew
from evenhand.runtime.workers.deaths import deaths_reported
from evenhand.runtime.workers.executor import begin, is_ready, mapped
from evenhand.runtime.workers.parcels import Parcels
from evenhand.runtime.workers.unpacked import function_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenhand.runtime.workers.parcels import Sent

READS_FILES = ("LokyBackend", "MultiprocessingBackend")
"""Backends whose workers read the files of this machine."""


class JoblibCrew(WorkerCrew):
    """Workers of a backend of joblib.

    Processes of this machine read what they run from files, whose arrays they share; what any other
    backend runs is sent with each task.
    """

    def __init__(self, backend: Any, n_jobs: int, *, streams: bool = False) -> None:
        self._n_jobs = n_jobs
        name = type(backend).__name__
        self._in_files = name in READS_FILES
        self._is_loky = name == "LokyBackend"
        self._streams = streams and bool(
            getattr(backend, "supports_return_generator", False)
        )
        self._pool: Any = None
        self._parcels = Parcels(_written, _removed)

    @property
    def width(self) -> int:
        """How many tasks run at once."""
        import joblib

        return int(joblib.effective_n_jobs(self._n_jobs))

    def __enter__(self) -> Self:
        import joblib

        style: dict[str, Any] = {}
        if self._streams:
            style = {"return_as": "generator_unordered", "batch_size": 1}
        self._pool = joblib.Parallel(n_jobs=self._n_jobs, **style).__enter__()
        return self

    def close(self, *error: object) -> None:
        """End the pool, and remove what its workers read."""
        self._pool.__exit__(*error)
        self._pool = None
        self._parcels.close()

    @property
    def ready(self) -> bool:
        """Whether tasks are begun at once: processes take seconds to start."""
        executor = self._executor
        return executor is None or is_ready(executor)

    def start(self, function: Callable[[Any], Any]) -> None:
        """Start processes beside other work, and let each of them unpack a function."""
        given = self._given(function)
        executor = self._executor
        if executor is not None:
            begin(executor, given.unpacked, self.width)

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        """Return the function's answer to each task, in order."""
        executor = self._executor
        with deaths_reported():
            if executor is None:
                return list(self._running(function, tasks))
            try:
                return mapped(executor, self._given(function), tasks)
            except KeyboardInterrupt:
                # Whoever interrupts a run waits for nothing that is still running.
                self._pool._backend.abort_everything(ensure_ready=True)
                raise

    @property
    def _executor(self) -> Any:
        """What starts processes on this machine; None where the backend of joblib is another."""
        return getattr(self._pool._backend, "_workers", None) if self._is_loky else None

    def each(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Yield the function's answer to each task, the first that is ready first."""
        if self._streams:
            answers = iter(self._running(function, tasks))
            for _ in tasks:
                with deaths_reported():
                    answer = next(answers)
                yield answer
            return
        for start in range(0, len(tasks), self.width):
            yield from self.map(function, tasks[start : start + self.width])

    def _running(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Any:
        import joblib

        given = self._given(function)
        return self._pool(joblib.delayed(given)(task) for task in tasks)

    def _given(self, function: Callable[[Any], Any]) -> Any:
        """Return what is sent with each task: the function, or where it lies."""
        return _FromFiles(self._parcels.sent(function)) if self._in_files else function


class _FromFiles:
    """A function that lies in files, which each worker unpacks once."""

    is_child = False
    """Whether this process is a worker that knows its parent."""

    def __init__(self, sent: Sent[str]) -> None:
        self._sent = sent
        self._sender = os.getpid()

    def __call__(self, task: Any) -> Any:
        return self.unpacked()(task)

    def unpacked(self) -> Callable[[Any], Any]:
        """Return the function, unpacked in this process."""
        if not _FromFiles.is_child:
            serve_parent(self._sender)
            _FromFiles.is_child = True
        files = self._sent.handles
        return function_of(self._sent.order, lambda place: _read(files[place]))


def _written(content: bytearray, digest: str) -> str:
    """Write what workers read into a file of its own."""
    handle, path = tempfile.mkstemp(prefix="evenhand-", suffix=".pickle")
    with os.fdopen(handle, "wb") as file:
        file.write(content)
    return path


def _removed(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _read(path: str) -> Any:
    """Return a file in memory: pages that nobody writes to are shared by all that read it."""
    import mmap

    # An open file cannot be removed there.
    if os.name == "nt":
        return bytearray(Path(path).read_bytes())
    with Path(path).open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
