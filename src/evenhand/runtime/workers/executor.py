"""The processes of this machine: started beside other work, and asked without a detour.

joblib looks for answers every hundredth of a second, which is long where a wave takes a tenth.
"""

from __future__ import annotations

import atexit
import pickle
import threading
import weakref
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_BEGUN: weakref.WeakKeyDictionary[Any, list[Any]] = weakref.WeakKeyDictionary()
"""What was begun to start the processes of an executor, of those that were started."""


def is_ready(executor: Any) -> bool:
    """Return whether the processes of an executor have started."""
    begun = _BEGUN.get(executor)
    return begun is not None and all(start.done() for start in begun)


def begin(executor: Any, unpack: Callable[[], Any], width: int) -> None:
    """Start processes, and let each of them unpack what it will be asked to run."""
    if executor in _BEGUN:
        return
    _BEGUN[executor] = [executor.submit(_Prepared(unpack)) for _ in range(width)]
    # Before joblib waits for processes that are still starting.
    at_exit = getattr(threading, "_register_atexit", atexit.register)
    at_exit(_end_unready, weakref.ref(executor))


def mapped(
    executor: Any, function: Callable[[Any], Any], tasks: Sequence[Any]
) -> list[Any]:
    """Return the function's answer to each task, in order."""
    _BEGUN.setdefault(executor, [])
    import cloudpickle

    nested = _Nested(function)
    # As bytes, since joblib would write large arrays into files, which have to be removed again.
    packed = (cloudpickle.dumps(task, protocol=5) for task in tasks)
    futures = [executor.submit(nested, task) for task in packed]
    try:
        return [future.result() for future in futures]
    finally:
        for future in futures:
            future.cancel()


class _Prepared:
    """Unpacks what is to be run, and returns nothing of it."""

    def __init__(self, unpack: Callable[[], Any]) -> None:
        self._unpack = unpack

    def __call__(self) -> None:
        self._unpack()


class _Nested:
    """Runs a function in a worker, where joblib is to start no processes of its own."""

    def __init__(self, function: Callable[[Any], Any]) -> None:
        self._function = function

    def __call__(self, task: bytes) -> Any:
        import joblib

        with joblib.parallel_config(backend="threading"):
            return self._function(pickle.loads(task))  # noqa: S301


def _end_unready(reference: Callable[[], Any]) -> None:
    """End processes that are still starting when the program ends, since nobody needs them."""
    executor = reference()
    if executor is not None and not is_ready(executor):
        executor.shutdown(wait=False, kill_workers=True)
