"""What runs the tasks of `Workers`: the base of all crews, and what those of clusters share."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from contextlib import ExitStack
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, ClassVar, Self

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.workers import messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from evenhand.runtime.workers.parcels import Parcels


class WorkerCrew(ABC):
    """Workers of one kind; as a context manager it keeps what they were sent."""

    @property
    @abstractmethod
    def width(self) -> int:
        """How many tasks run at once."""

    @property
    def ready(self) -> bool:
        """Whether tasks are begun at once."""
        return True

    def start(self, function: Callable[[Any], Any]) -> None:  # noqa: B027
        """Start what is not ready beside other work, and send it a function."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close(*error)

    @abstractmethod
    def close(self, *error: object) -> None:
        """Take back what was sent."""

    @abstractmethod
    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        """Return the function's answer to each task, in order."""

    @abstractmethod
    def each(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Yield the function's answer to each task, the first that is ready first."""


class ClusterCrew(WorkerCrew):
    """Workers of a cluster that is there already, and stays when the run ends.

    A subclass says how many tasks it runs at once (`size`), and runs them (`replies`). It is sent a
    function once, tasks as bytes, and replies with bytes; what a worker did not finish is run
    again.
    """

    kind: ClassVar[str]
    """What stands before the address of `--cluster`."""
    example: ClassVar[str]
    """A value of `--cluster`."""
    backend: ClassVar[str]
    """The name of the class of joblib's backend."""
    _parcels: Parcels[Any]
    """What workers were sent."""

    def __init__(self, connection: Any, n_jobs: int) -> None:
        """Use the cluster of a connection, as `opened` and `connection_of` return it."""
        self._n_jobs = n_jobs
        self._width: int | None = None
        self._own_models = ExitStack()

    def __enter__(self) -> Self:
        import joblib

        # What a model does with joblib in this process is no business of the cluster.
        self._own_models.enter_context(joblib.parallel_config(backend="loky", n_jobs=None))
        return self

    def __exit__(self, *error: object) -> None:
        self._own_models.close()
        super().__exit__(*error)

    @classmethod
    @abstractmethod
    def opened(cls, address: str) -> AbstractContextManager[Any]:
        """Connect to the cluster at an address."""

    @classmethod
    def unreachable(cls, address: str, error: Exception) -> UsageError:
        """Return the error of an address at which no cluster answers."""
        return UsageError(
            messages.UNREACHABLE.format(
                kind=cls.kind, address=clip(address), reason=clip(str(error))
            )
        )

    @classmethod
    def connection_of(cls, backend: Any) -> Any:
        """Return the connection of joblib's backend."""
        return None

    @abstractmethod
    def size(self) -> int:
        """Return how many tasks the cluster runs at once."""

    @abstractmethod
    def replies(
        self, function: Callable[[Any], Any], tasks: Sequence[bytes], most: int
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each task and what it was answered with, as they are ready.

        Parameters
        ----------
        most
            How many tasks may be given out at once.
        """

    def close(self, *error: object) -> None:
        """Take back what was sent; the latest large parts may stay."""
        self._parcels.close()

    @property
    def width(self) -> int:
        """How many tasks run at once: all that the cluster can, or as many as `n_jobs` says."""
        if self._width is None:
            self._width = self._of(self.size())
        return self._width

    def _of(self, size: int) -> int:
        """Return what `n_jobs` asks for of a size, as joblib reads it."""
        if self._n_jobs < 0:
            return max(1, size + 1 + self._n_jobs)
        return min(self._n_jobs, size)

    def map(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> list[Any]:
        """Return the function's answer to each task, in order."""
        answers = [None] * len(tasks)
        for number, answer in self._answers(function, tasks):
            answers[number] = answer
        return answers

    def each(self, function: Callable[[Any], Any], tasks: Sequence[Any]) -> Iterator[Any]:
        """Yield the function's answer to each task, the first that is ready first."""
        for _, answer in self._answers(function, tasks):
            yield answer

    def _answers(
        self, function: Callable[[Any], Any], tasks: Sequence[Any]
    ) -> Iterator[tuple[int, Any]]:
        import cloudpickle

        packed = [cloudpickle.dumps(task, protocol=5) for task in tasks]
        # All tasks are given out at once, where all of the cluster may be used.
        most = self.width if self._n_jobs > 0 else len(tasks)
        for number, reply in self.replies(function, packed, most):
            answer, error = pickle.loads(reply)  # noqa: S301
            if error is not None:
                raise error
            yield number, answer


def unfit(kind: str, error: Exception) -> UsageError:
    """Return the error of a cluster whose workers fail before they run what they are sent."""
    reason = f"{type(error).__name__}: {clip(str(error))}"
    return UsageError(
        messages.WORKERS_UNFIT.format(kind=kind, reason=reason, own=version("evenhand"))
    )
