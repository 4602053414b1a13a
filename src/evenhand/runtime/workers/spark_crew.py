"""Workers of a Spark cluster: functions are broadcast, and each wave of tasks is one job."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import (
    EvenhandError,
    MissingExtra,
    SubjectCrashed,
    UsageError,
    clip,
)
from evenhand.runtime.workers import messages
from evenhand.runtime.workers.crew import ClusterCrew, unfit
from evenhand.runtime.workers.parcels import Parcels
from evenhand.runtime.workers.unpacked import replied

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenhand.runtime.workers.parcels import Sent


class SparkCrew(ClusterCrew):
    """Workers of a Spark cluster, whose Python processes are reused from one wave to the next."""

    kind = "spark"
    example = "spark:spark://host:7077"
    backend = "SparkDistributedBackend"

    def __init__(self, connection: Any, n_jobs: int) -> None:
        super().__init__(connection, n_jobs)
        self._context = _context()
        self._parcels = Parcels(self._broadcast, _destroyed)

    @classmethod
    @contextmanager
    def opened(cls, address: str) -> Iterator[None]:
        """Start a session with a master."""
        try:
            from pyspark.sql import SparkSession
        except ImportError as error:
            raise MissingExtra("a Spark cluster", "spark") from error
        if address.startswith("local"):
            os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.master(address).appName("evenhand")
        try:
            session = builder.config("spark.ui.enabled", "false").getOrCreate()
        # Errors of Java and of Spark itself.
        except Exception as error:
            raise cls.unreachable(address, error) from error
        session.sparkContext.setLogLevel("OFF")
        try:
            yield
        finally:
            session.stop()

    def size(self) -> int:
        """Return how many tasks the executors run at once."""
        return int(self._context.defaultParallelism)

    def _broadcast(self, content: bytearray, digest: str) -> Any:
        return self._context.broadcast(bytes(content))

    def replies(
        self, function: Callable[[Any], Any], tasks: Sequence[bytes], most: int
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each task and what it was answered with, wave by wave."""
        run = _Broadcast(self._parcels.sent(function))
        wave = min(most, self.width)
        for start in range(0, len(tasks), wave):
            given = tasks[start : start + wave]
            found = self._run(run, given)
            yield from enumerate(found, start)

    def _run(self, run: _Broadcast, tasks: Sequence[bytes]) -> list[bytes]:
        try:
            found: list[bytes] = (
                self._context.parallelize(tasks, len(tasks)).map(run).collect()
            )
        # Errors of Java come in a type of its bridge.
        except Exception as error:
            raise _failed(error) from error
        return found


class _Broadcast:
    """A function that was broadcast; pickled, it is no more than its name."""

    def __init__(self, sent: Sent[Any]) -> None:
        self._sent = sent

    def __call__(self, task: bytes) -> bytes:
        handles = self._sent.handles
        # Read where it is not unpacked, and no sooner.
        return replied(
            self._sent.order, task, lambda place: bytearray(handles[place].value)
        )


def _context() -> Any:
    """Return the Spark context of this process."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    found = SparkContext._active_spark_context
    if found is None and SparkSession.getActiveSession() is not None:
        raise UsageError(messages.SPARK_CONNECT)
    return found or SparkContext.getOrCreate()


def _failed(error: Exception) -> EvenhandError:
    """Return why a job failed: its workers ended, or cannot run what they are sent."""
    java = getattr(error, "java_exception", None)
    if java is None:
        return unfit("Spark", error)
    reason = str(java.getMessage())
    if "worker exited" not in reason and "ExecutorLostFailure" not in reason:
        return unfit("Spark", error)
    return SubjectCrashed(
        messages.WORKERS_KEEP_ENDING.format(kind="Spark", reason=clip(reason))
    )


def _destroyed(broadcast: Any) -> None:
    broadcast.destroy()
