"""One seam to joblib and to clusters, and the threads of other libraries.

Results are the same, in the same order, for any number of workers, on this machine or elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, TypeVar

from evenhand.runtime.errors import UsageError
from evenhand.runtime.workers import messages
from evenhand.runtime.workers.threads import one_thread, threads_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenhand.runtime.workers.crew import WorkerCrew

__all__ = ["Streaming", "Workers", "one_thread", "threads_for"]

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Workers:
    """Runs a function over tasks in waves, in order.

    Use it as a context manager, so that waves share their workers, which are sent the function
    once, and its large parts once for all functions.

    The backend is joblib's: processes on this machine by default, Dask, Ray or Spark inside
    `joblib.parallel_config`.

    >>> with Workers(1) as workers:
    ...     workers.map(abs, [-1, 2])
    [1, 2]
    """

    _streams = False
    """Whether answers are handed over one by one."""

    def __init__(self, n_jobs: int = 1) -> None:
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
            raise UsageError(messages.N_JOBS.format(n_jobs=n_jobs))
        self.n_jobs = n_jobs
        self._crew: WorkerCrew | None = None

    @property
    def width(self) -> int:
        """How many tasks run at once."""
        if self.n_jobs == 1:
            return 1
        return self._found().width if self._crew is None else self._crew.width

    def _found(self) -> WorkerCrew:
        """Return the crew of the backend that joblib is told to use at the moment."""
        from evenhand.runtime.workers.clusters import crew_of

        return crew_of(self.n_jobs, streams=self._streams)

    def __enter__(self) -> Self:
        if self.n_jobs != 1:
            self._crew = self._found().__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.__exit__(*error)

    @property
    def ready(self) -> bool:
        """Whether tasks are begun at once: processes of this machine take seconds to start."""
        return self._crew is None or self._crew.ready

    def start(self, function: Callable[[Any], Any]) -> None:
        """Start what is not ready beside other work, and send it a function."""
        if self._crew is not None:
            self._crew.start(function)

    def map(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> list[Answer]:
        """Return the function's answer to each task, in order."""
        if self._crew is None or len(tasks) == 1:
            return [function(task) for task in tasks]
        return self._crew.map(function, tasks)


class Streaming(Workers):
    """Yields answers in the order in which they are ready; long tasks never wait for each other.

    >>> with Streaming(1) as workers:
    ...     list(workers.each(abs, [-1, 2]))
    [1, 2]
    """

    _streams = True

    def each(
        self, function: Callable[[Task], Answer], tasks: Sequence[Task]
    ) -> Iterator[Answer]:
        """Yield the function's answer to each task, the first that is ready first."""
        answers: Iterator[Any]
        if self._crew is None:
            answers = map(function, tasks)
        else:
            answers = self._crew.each(function, tasks)
        yield from answers
