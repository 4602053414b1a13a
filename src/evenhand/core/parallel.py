"""One seam to joblib: the same results in the same order for any number of workers and any backend."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from evenhand.core.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

Task = TypeVar("Task")
Answer = TypeVar("Answer")


class Workers:
    """Runs a function over tasks in waves, in order; use it as a context manager so that waves share their workers.

    The backend is joblib's: processes on this machine by default, Dask or Ray inside `joblib.parallel_config`.

    >>> with Workers(1) as workers:
    ...     workers.map(abs, [-1, 2])
    [1, 2]
    """

    def __init__(self, n_jobs: int = 1) -> None:
        if isinstance(n_jobs, bool) or not isinstance(n_jobs, int) or n_jobs == 0:
            raise UsageError(f"n_jobs = {n_jobs!r} must be a whole number other than 0; -1 takes every core")
        self.n_jobs = n_jobs
        self._pool: Any = None

    @property
    def width(self) -> int:
        """How many tasks run at once."""
        if self.n_jobs == 1:
            return 1
        import joblib

        return int(joblib.effective_n_jobs(self.n_jobs))

    def __enter__(self) -> Workers:
        if self.n_jobs != 1:
            import joblib

            self._pool = joblib.Parallel(n_jobs=self.n_jobs).__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        if self._pool is not None:
            self._pool.__exit__(*error)
            self._pool = None

    def map(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> list[Answer]:
        """Return the function's answer to each task, in order."""
        return list(self._map(function, tasks))

    def _map(self, function: Callable[[Task], Answer], tasks: Sequence[Task]) -> Iterator[Answer]:
        if self._pool is None or len(tasks) == 1:
            return map(function, tasks)
        import joblib

        return iter(self._pool(joblib.delayed(function)(task) for task in tasks))
