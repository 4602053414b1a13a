"""Workers of a Ray cluster: functions are put into its store once, and tasks are submitted."""

from __future__ import annotations

import logging
import socket
from collections import OrderedDict
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import MissingExtra, SubjectCrashed, UsageError, clip
from evenhand.runtime.workers import messages
from evenhand.runtime.workers.crew import ClusterCrew, unfit
from evenhand.runtime.workers.parcels import Parcels
from evenhand.runtime.workers.unpacked import MOST_PARTS, carried_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

CONNECT_SECONDS = 10
"""How long a cluster may take to answer, and to have a processor."""
RETRIES = 4
"""How often a task is run again whose worker or machine ended."""


class RayCrew(ClusterCrew):
    """Workers of a Ray cluster.

    What is put into the store is fetched once by each machine, and unpacked once by each process.
    """

    kind = "ray"
    example = "ray:host:6379"
    backend = "RayBackend"

    def __init__(self, connection: Any, n_jobs: int) -> None:
        super().__init__(connection, n_jobs)
        self._parcels = Parcels(_put)

    @classmethod
    @contextmanager
    def opened(cls, address: str) -> Iterator[None]:
        """Connect to a cluster, or start one on this machine."""
        try:
            import ray
        except ImportError as error:
            raise MissingExtra("a Ray cluster", "ray") from error
        style: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
        if address == "local":
            style["include_dashboard"] = False
        try:
            _check_reachable(address)
            ray.init(address=address, **style)
        # Ray raises errors of many kinds.
        except Exception as error:
            raise cls.unreachable(address, error) from error
        try:
            yield
        finally:
            ray.shutdown()

    def size(self) -> int:
        """Return how many processors there are."""
        import ray

        if not ray.is_initialized():
            ray.init(logging_level=logging.ERROR)
        size = int(ray.cluster_resources().get("CPU", 0))
        if size == 0:
            raise UsageError(
                messages.NO_WORKERS.format(kind="Ray", address="hand", seconds=0)
            )
        return size

    def replies(
        self, function: Callable[[Any], Any], tasks: Sequence[bytes], most: int
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each task and what it was answered with, as they are ready."""
        import ray

        sent = self._parcels.sent(function)
        remote = ray.remote(num_cpus=1, max_retries=RETRIES)(carried_out)
        waiting = iter(range(len(tasks)))
        underway: dict[Any, int] = {}

        def submit(count: int) -> None:
            for number in islice(waiting, count):
                underway[remote.remote(sent.order, tasks[number], *sent.handles)] = number

        submit(most)
        try:
            while underway:
                ready, _ = ray.wait(list(underway))
                reply = _reply(ready[0])
                number = underway.pop(ready[0])
                submit(1)
                yield number, reply
        finally:
            for reference in underway:
                ray.cancel(reference)


_KEPT: OrderedDict[tuple[str, str], Any] = OrderedDict()
"""The large parts in the store, by connection and digest."""


def _put(content: bytearray, digest: str) -> Any:
    """Put bytes into the store, unless these are a large part that is there."""
    import numpy as np
    import ray

    key = (ray.get_runtime_context().get_job_id(), digest)
    if digest and key in _KEPT:
        _KEPT.move_to_end(key)
        return _KEPT[key]
    # As an array they are read where they lie, without a copy.
    reference = ray.put(np.frombuffer(content, dtype=np.uint8))
    if digest:
        _KEPT[key] = reference
        while len(_KEPT) > MOST_PARTS:
            _KEPT.popitem(last=False)
    return reference


def _reply(reference: Any) -> bytes:
    """Return what a task replied."""
    import ray

    try:
        found: bytes = ray.get(reference)
    except (
        ray.exceptions.WorkerCrashedError,
        ray.exceptions.NodeDiedError,
        ray.exceptions.OutOfMemoryError,
    ) as error:
        reason = clip(str(error))
        raise SubjectCrashed(
            messages.WORKERS_KEEP_ENDING.format(kind="Ray", reason=reason)
        ) from error
    except ray.exceptions.RayError as error:
        raise unfit("Ray", error) from error
    return found


def _check_reachable(address: str) -> None:
    """Raise where nothing listens at an address of this form; Ray itself tries for a minute."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    if host and port.isdigit():
        socket.create_connection((host, int(port)), timeout=CONNECT_SECONDS).close()
