"""Which cluster works: the one that joblib is told to use, or the address of `--cluster`."""

from __future__ import annotations

import signal
import threading
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.interruption import ENDING
from evenhand.runtime.registry import resolve
from evenhand.runtime.workers import messages
from evenhand.runtime.workers.local import JoblibCrew

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.runtime.workers.crew import ClusterCrew, WorkerCrew

CLUSTERS = {
    "dask": "evenhand.runtime.workers.dask_crew:DaskCrew",
    "ray": "evenhand.runtime.workers.ray_crew:RayCrew",
    "spark": "evenhand.runtime.workers.spark_crew:SparkCrew",
}
"""Kinds of clusters, and where their crews live."""

_CHOSEN: ContextVar[tuple[type[ClusterCrew], Any] | None] = ContextVar(
    "cluster", default=None
)
"""The cluster that a command was given, and the connection to it."""


def crews() -> dict[str, type[ClusterCrew]]:
    """Return the crews of all kinds of clusters."""
    return {kind: resolve(place) for kind, place in CLUSTERS.items()}


def crew_of(n_jobs: int, *, streams: bool = False) -> WorkerCrew:
    """Return workers of the backend that joblib is told to use at the moment.

    Parameters
    ----------
    streams
        Whether answers are handed over one by one.
    """
    import joblib

    chosen = _CHOSEN.get()
    if chosen is not None:
        crew, connection = chosen
        return crew(connection, n_jobs)
    backend = joblib.parallel.get_active_backend()[0]
    name = type(backend).__name__
    for crew in crews().values():
        if crew.backend == name:
            return crew(crew.connection_of(backend), n_jobs)
    return JoblibCrew(backend, n_jobs, streams=streams)


def is_chosen() -> bool:
    """Return whether a cluster was named for what runs now."""
    return _CHOSEN.get() is not None


@contextmanager
def cluster(text: str) -> Iterator[None]:
    """Have a cluster do the work while the context lasts.

    Parameters
    ----------
    text
        A kind and an address: dask:tcp://host:8786, ray:host:6379 or spark:spark://host:7077; also
        ray:local and spark:local[2], which start one.

    >>> with cluster("flink:host"):  # doctest: +ELLIPSIS
    ...     pass
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: cluster = 'flink:host': unknown kind 'flink'; valid ...
    """
    kind, _, address = text.partition(":")
    known = crews()
    if not address and kind not in known:
        examples = ", ".join(crew.example for crew in known.values())
        raise UsageError(messages.CLUSTER_FORM.format(text=clip(text), examples=examples))
    if kind not in known:
        raise UsageError(
            messages.CLUSTER_KIND.format(
                text=clip(text), kind=clip(kind), nearest=nearest(kind, known)
            )
        )
    if not address:
        example = known[kind].example
        raise UsageError(messages.CLUSTER_FORM.format(text=clip(text), examples=example))
    with ExitStack() as stack:
        with _handlers_kept():
            connection = stack.enter_context(known[kind].opened(address))
        before = _CHOSEN.set((known[kind], connection))
        stack.callback(_CHOSEN.reset, before)
        yield


@contextmanager
def _handlers_kept() -> Iterator[None]:
    """Keep how signals end a run: libraries of clusters put handlers of their own in place."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
