"""The threads of other libraries."""

from __future__ import annotations

from contextlib import nullcontext
from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

WORTH_THREADS = 100_000
"""From how many inputs at once a model may use its own threads."""


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
