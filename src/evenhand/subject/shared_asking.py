"""Large questions to software in this process, which several workers answer together.

They are shared below memory and ledger: one process finds what nobody has answered yet, hands it
out, and writes down the answers. Workers are sent the software once, and then only numbers.
"""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import EvenhandError
from evenhand.runtime.workers import Workers, one_thread
from evenhand.subject.adapters.base import replies_of
from evenhand.subject.effort import Effort

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Adapter
    from evenhand.subject.subject import Subject

    Columns = tuple[NDArray[Any], ...]
    """The rows that are answered, their outcomes, and what else was asked for with them."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is asked of software: outcomes, or by a method of its adapter also numbers with them."""

    method: str = "run"
    arguments: tuple[Any, ...] = ()

    def asked(self, adapter: Adapter, points: Points, space: Space) -> Iterator[Columns]:
        """Ask in this process."""
        if self.method == "run":
            yield from replies_of(adapter, points, space)
        else:
            method = getattr(adapter, self.method)
            yield np.arange(len(points)), *method(points, space, *self.arguments)


OUTCOMES = Wanted()
SIDE_BY_SIDE = "programs and services run side by side as their own options say"
OWN_THREADS = "the model has threads of its own"
ROWS_AT_ONCE = 131_072
"""How many inputs a model in this process is asked at once.

Enough for the cost of a call not to matter, and few enough to need little memory.
"""
BLOCK = 256
"""Large questions are cut at multiples of it.

Linear algebra goes through rows in blocks, and rounds the rest of a question in another way.
"""


@dataclass(frozen=True, slots=True)
class _Elsewhere:
    """Software in another process, which is sent there once."""

    adapter: Adapter
    space: Space

    def __call__(
        self, task: tuple[Wanted, Points]
    ) -> tuple[list[Columns], EvenhandError | None]:
        """Return the answers to a part of a question, and what ended it if not all are there."""
        wanted, points = task
        answers = []
        try:
            with _alone():
                for answer in wanted.asked(self.adapter, points, self.space):
                    answers.append(answer)  # noqa: PERF402
        except EvenhandError as error:
            # What was answered before is to be written down.
            return answers, error
        return answers, None


@contextmanager
def _alone() -> Iterator[None]:
    """Keep software from starting threads or workers of its own beside those there are."""
    import joblib

    with one_thread(), joblib.parallel_config(backend="sequential"):
        yield


class SharedAsking:
    """Asks one adapter, by workers where they answer earlier than this process alone."""

    def __init__(self, adapter: Adapter, space: Space) -> None:
        self.adapter = adapter
        self.space = space
        self._elsewhere = _Elsewhere(adapter, space)
        self._effort = Effort()
        self._workers: Workers | None = None

    def __reduce__(self) -> tuple[Callable[..., SharedAsking], tuple[Adapter, Space]]:
        # A worker answers alone.
        return SharedAsking, (self.adapter, self.space)

    def one_process(self, n_jobs: int) -> str:
        """Return why one process asks where several were to, as far as the software says so."""
        if n_jobs == 1:
            return ""
        if self.adapter.expensive:
            return SIDE_BY_SIDE
        return OWN_THREADS if not is_shared(self.adapter, 1) else ""

    def share(self, workers: Workers, effort: Effort) -> None:
        """Share large questions among workers from now on, as far as what is known of it pays."""
        self._workers = workers
        self._effort = effort

    @contextmanager
    def among(self, workers: Workers) -> Iterator[None]:
        """Share large questions among workers until the context ends."""
        before = self._workers
        self._workers = workers
        try:
            yield
        finally:
            self._workers = before

    def answers(
        self, points: Points, wanted: Wanted = OUTCOMES, *, alone: bool = False
    ) -> Iterator[Columns]:
        """Yield answers as they come, with the rows of the points that they are of."""
        start = 0
        while start < len(points):
            rest = points[start:] if start else points
            size = len(rest) if alone else self._here(len(rest))
            if BLOCK < size < len(rest):
                size -= size % BLOCK
            if size:
                answers = self._timed(wanted, rest[:size])
            else:
                size = len(rest)
                answers = self._shared(wanted, rest)
            for rows, *columns in answers:
                yield (rows + start if start else rows), *columns
            start += size

    def columns(self, points: Points, wanted: Wanted) -> tuple[NDArray[Any], ...]:
        """Return the outcomes of points, and the numbers asked for with them, in their order."""
        parts = [columns for _, *columns in self.answers(points, wanted)]
        if len(parts) == 1:
            return tuple(parts[0])
        return tuple(np.concatenate(column) for column in zip(*parts, strict=True))

    def _here(self, inputs: int) -> int:
        """Return how many inputs to ask about in this process."""
        workers = self._workers
        if workers is None or not is_shared(self.adapter, inputs):
            return inputs
        return self._effort.here(inputs, workers, self._elsewhere)

    def _timed(self, wanted: Wanted, points: Points) -> Iterator[Columns]:
        """Ask in this process, and note how long that takes."""
        seconds = 0.0
        replies = wanted.asked(self.adapter, points, self.space)
        while True:
            began = time.perf_counter()
            answer = next(replies, None)
            seconds += time.perf_counter() - began
            if answer is None:
                break
            yield answer
        self._effort.learn(len(points), seconds)

    def _shared(self, wanted: Wanted, points: Points) -> Iterator[Columns]:
        """Yield what workers answered, and then raise the first error that ended one of them."""
        assert self._workers is not None
        pieces = self._effort.pieces(len(points), self._workers.width)
        shares = in_pieces(points, pieces)
        tasks = [(wanted, np.asfortranarray(share)) for share in shares]
        first_error = None
        start = 0
        replies = self._workers.map(self._elsewhere, tasks)
        for share, (answers, error) in zip(shares, replies, strict=True):
            for rows, *columns in answers:
                yield rows + start, *columns
            start += len(share)
            first_error = first_error or error
        if first_error is not None:
            raise first_error


def in_pieces(points: Points, pieces: int) -> list[Points]:
    """Return points in pieces of about the same size, cut between blocks where there are many.

    >>> [len(piece) for piece in in_pieces(np.zeros((1000, 2)), 2)]
    [256, 744]
    >>> [len(piece) for piece in in_pieces(np.zeros((9, 2)), 2)]
    [4, 5]
    """
    cuts = np.arange(1, pieces) * len(points) // pieces
    if len(points) > BLOCK * pieces:
        cuts -= cuts % BLOCK
    return np.split(points, cuts)


@contextmanager
def sharing(subject: Subject, n_jobs: int) -> Iterator[Workers]:
    """Let so many workers share large questions to some software."""
    with Workers(n_jobs) as workers, subject.asking.among(workers):
        yield workers


def is_shared_whole(subject: Subject) -> bool:
    """Return whether workers may share work of which asking the software is only a part.

    What is remembered stays in one process, which shares what it has to ask.
    """
    return not subject.remembers and is_shared(subject.adapter, ROWS_AT_ONCE)


def is_shared(adapter: Adapter, inputs: int) -> bool:
    """Return whether workers may share so many inputs to software of this kind.

    Programs and services run side by side already, and some models divide large questions among
    threads of their own.
    """
    return not adapter.expensive and inputs < adapter.own_threads_from
