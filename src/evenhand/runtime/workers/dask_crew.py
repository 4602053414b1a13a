"""Workers of a Dask cluster: functions are scattered once, and tasks are submitted."""

from __future__ import annotations

import platform
import queue
import warnings
import weakref
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from itertools import cycle, islice
from typing import TYPE_CHECKING, Any, Self

from evenhand.runtime.errors import (
    EvenhandWarning,
    MissingExtra,
    SubjectCrashed,
    UsageError,
    clip,
)
from evenhand.runtime.workers import messages
from evenhand.runtime.workers.crew import ClusterCrew, unfit
from evenhand.runtime.workers.parcels import Parcels
from evenhand.runtime.workers.unpacked import MOST_PARTS, Lacking, carried_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from evenhand.runtime.workers.parcels import Sent
    from evenhand.runtime.workers.unpacked import Order

CONNECT_SECONDS = 10
"""How long a scheduler may take to answer, and a cluster to have a worker."""
LOOK_SECONDS = 5
"""Seconds between two looks at whether the cluster is still there."""
PATIENCE = 12
"""How many looks in a row may find no worker."""
LARGE = 1_000_000
"""Bytes from which on a task does not go through the graph of the scheduler."""
MOST_LOSSES = 10
"""How often a task may be lost with its workers."""
LOST = ("cancelled", "lost")
"""The states of a future whose data went with a worker."""
VERSIONS = (
    "('.'.join(map(str, __import__('sys').version_info[:2])),"
    " __import__('importlib.util').util.find_spec('evenhand')"
    " and __import__('evenhand').__version__)"
)
"""What each worker is asked; it may lack evenhand, so that this is no function of ours."""


class DaskCrew(ClusterCrew):
    """Workers of a Dask cluster.

    What is scattered comes with the first tasks that need it, and workers keep it unpacked. One
    that joins or starts again says that it lacks it, and fetches it from another. Where all that
    had it are gone, it is scattered again; what was lost is submitted again.
    """

    kind = "dask"
    example = "dask:tcp://host:8786"
    backend = "DaskDistributedBackend"

    def __init__(self, connection: Any, n_jobs: int) -> None:
        super().__init__(connection, n_jobs)
        self._client = connection
        self._parcels = Parcels(self._scattered)

    @classmethod
    @contextmanager
    def opened(cls, address: str) -> Iterator[Any]:
        """Connect to a scheduler."""
        try:
            from distributed import Client
        except ImportError as error:
            raise MissingExtra("a Dask cluster", "dask") from error
        try:
            client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TypeError) as error:
            raise cls.unreachable(address, error) from error
        with client:
            yield client

    @classmethod
    def connection_of(cls, backend: Any) -> Any:
        """Return the client of joblib's backend."""
        return backend.client

    def __enter__(self) -> Self:
        self._wait()
        _check_versions(self._client.run(eval, VERSIONS))
        threads = max(self._client.nthreads().values(), default=1)
        if threads > 1:
            warnings.warn(
                messages.IDLE_THREADS.format(workers=self.size(), threads=threads),
                EvenhandWarning,
                stacklevel=4,
            )
        return super().__enter__()

    def size(self) -> int:
        """Return how many worker processes there are."""
        return len(self._wait())

    def _wait(self) -> dict[str, int]:
        """Return the threads of each worker, when there is one."""
        try:
            self._client.wait_for_workers(1, timeout=CONNECT_SECONDS)
        except TimeoutError as error:
            raise UsageError(
                messages.NO_WORKERS.format(
                    kind="Dask", address=self._address, seconds=CONNECT_SECONDS
                )
            ) from error
        found: dict[str, int] = self._client.nthreads()
        return found

    @property
    def _address(self) -> str:
        return str(self._client.scheduler.address)

    def _scattered(self, content: bytearray, digest: str) -> _Scattered:
        """Return bytes that are to be sent, unless these are a large part that they have."""
        kept = _KEPT.setdefault(self._client, OrderedDict())
        if digest in kept:
            kept.move_to_end(digest)
            return kept[digest]
        sent = _Scattered(self._client, content)
        if digest:
            kept[digest] = sent
            while len(kept) > MOST_PARTS:
                kept.popitem(last=False)
        return sent

    def replies(
        self, function: Callable[[Any], Any], tasks: Sequence[bytes], most: int
    ) -> Iterator[tuple[int, bytes]]:
        """Yield the number of each task and what it was answered with, as they are ready."""
        run = _Run(self._client, self._parcels.sent(function), tasks)
        try:
            yield from run.replies(most)
        finally:
            run.end()


_KEPT: weakref.WeakKeyDictionary[Any, OrderedDict[str, _Scattered]] = (
    weakref.WeakKeyDictionary()
)
"""The large parts that the workers of each client have."""


class _Scattered:
    """Bytes that a worker has, from which others fetch them, and that can be sent again."""

    def __init__(self, client: Any, content: bytearray) -> None:
        self._client = client
        self._content = content
        self._future: Any = None
        self.is_known = False
        """Whether workers were given it with their tasks."""

    @property
    def future(self) -> Any:
        """What stands for the bytes; sends them where no worker has them."""
        import numpy as np

        if self._future is None or self._future.status != "finished":
            # As an array they are sent as they are, without a pickle.
            array = np.frombuffer(self._content, dtype=np.uint8)
            self._future = self._client.scatter(array, hash=False)
        return self._future


@dataclass(frozen=True)
class _Again:
    """A task has to be given again, with what it needs from some place on."""

    worker: str = ""
    """Which worker lacks it; none where what it needs was lost."""
    place: int = 0


def _answered(order: Order, task: bytes, *sources: Any) -> bytes | _Again:
    """Return a worker's reply to a task, or what it lacks."""
    from distributed import get_worker

    try:
        return carried_out(order, task, *sources)
    except Lacking as lack:
        return _Again(get_worker().address, lack.place)


class _Run:
    """Tasks on their way through a cluster."""

    def __init__(self, client: Any, sent: Sent[_Scattered], tasks: Sequence[bytes]) -> None:
        self._client = client
        self._sent = sent
        self._tasks = tasks
        self._underway: dict[Any, int] = {}
        self._done: queue.Queue[Any] = queue.Queue()
        self._losses = 0
        threads = client.nthreads()
        self._places = None
        if max(threads.values(), default=1) > 1:
            # The scheduler would fill the threads of one worker first, of which one is used.
            self._places = cycle(sorted(threads))

    def replies(self, most: int) -> Iterator[tuple[int, bytes]]:
        """Yield replies as they are ready, with so many tasks under way."""
        waiting = iter(range(len(self._tasks)))
        news = [handle for handle in self._sent.handles if not handle.is_known]
        for number in islice(waiting, most):
            self._submit(number, news)
        for handle in news:
            handle.is_known = True
        while self._underway:
            future = self._next()
            number = self._underway.pop(future)
            reply = self._reply(future)
            if isinstance(reply, _Again):
                self._submit(number, self._sent.handles[reply.place :], reply.worker)
                continue
            for following in islice(waiting, 1):
                self._submit(following)
            yield number, reply

    def end(self) -> None:
        """Call off what is still under way."""
        if self._underway and self._client.status == "running":
            self._client.cancel(list(self._underway))
        self._underway.clear()

    def _submit(
        self, number: int, given: Sequence[_Scattered] = (), worker: str = ""
    ) -> None:
        """Give out a task, with some of what it needs, to a certain worker if it is there."""
        task: Any = self._tasks[number]
        if len(task) > LARGE:
            task = self._client.scatter(task, hash=False)
        sources = []
        for handle in self._sent.handles:
            sources.append(handle.future if handle in given else None)
        if not worker and self._places is not None:
            worker = next(self._places)
        place: dict[str, Any] = {}
        if worker:
            place = {"workers": [worker], "allow_other_workers": True}
        future = self._client.submit(
            _answered, self._sent.order, task, *sources, pure=False, **place
        )
        self._underway[future] = number
        future.add_done_callback(self._done.put)

    def _next(self) -> Any:
        """Return a future that is done."""
        looks = 0
        while True:
            try:
                return self._done.get(timeout=LOOK_SECONDS)
            except queue.Empty:
                looks = self._looked(looks)

    def _looked(self, looks: int) -> int:
        """Return how many looks in a row found no worker; not for ever is a cluster waited for."""
        if self._client.status not in ("running", "connecting"):
            raise self._gone("its scheduler does not answer")
        try:
            workers = self._client.nthreads()
        except (OSError, TimeoutError) as error:
            raise self._gone(str(error)) from error
        if workers:
            return 0
        if looks + 1 >= PATIENCE:
            raise self._gone("it has no workers left")
        return looks + 1

    def _reply(self, future: Any) -> bytes | _Again:
        """Return what a future holds, which may be lost with its worker."""
        from distributed import CancelledError, KilledWorker

        if future.status in LOST:
            self._lose()
            return _Again()
        try:
            found: bytes | _Again = future.result()
        except KilledWorker as error:
            reason = clip(str(error))
            raise SubjectCrashed(
                messages.WORKERS_KEEP_ENDING.format(kind="Dask", reason=reason)
            ) from error
        except (CancelledError, OSError):
            self._lose()
            return _Again()
        except Exception as error:
            raise unfit("Dask", error) from error
        return found

    def _lose(self) -> None:
        self._losses += 1
        if self._client.status != "running" or self._losses > MOST_LOSSES * len(
            self._tasks
        ):
            raise self._gone("its workers are lost")

    def _gone(self, reason: str) -> UsageError:
        address = self._client.scheduler.address if self._client.scheduler else "?"
        return UsageError(
            messages.CLUSTER_LOST.format(kind="Dask", address=address, reason=clip(reason))
        )


def _check_versions(found: Mapping[str, Any]) -> None:
    """Refuse workers that would misread what they are sent."""
    own = version("evenhand")
    own_python = ".".join(platform.python_version_tuple()[:2])
    for worker, (python, evenhand) in found.items():
        facts = {"kind": "Dask", "worker": worker}
        if python != own_python:
            raise UsageError(
                messages.OTHER_PYTHON.format(theirs=python, own=own_python, **facts)
            )
        if evenhand is None:
            raise UsageError(messages.NO_EVENHAND.format(own=own, **facts))
        if evenhand != own:
            raise UsageError(
                messages.OTHER_EVENHAND.format(theirs=evenhand, own=own, **facts)
            )
