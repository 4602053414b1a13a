"""What a run may spend, what it has spent, and the one hook through which it reports progress."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.runtime.errors import UsageError, clip


@dataclass(frozen=True, slots=True)
class Budget:
    """What a run may spend: inputs asked for, seconds, findings. None is no bound.

    Notes
    -----
    See docs/how-to/measure.md for what happens when it is spent.

    Examples
    --------
    >>> Budget(queries=1000).queries
    1000
    """

    queries: int | None = None
    seconds: float | None = None
    findings: int | None = None

    def __post_init__(self) -> None:
        for name in ("queries", "seconds", "findings"):
            value = getattr(self, name)
            if value is None:
                continue
            if (
                isinstance(value, bool)
                or not isinstance(value, int | float | np.integer)
                or not value > 0
            ):
                raise UsageError(f"budget: {name} = {value!r} must be a number over 0")
            if name != "seconds":
                if not math.isfinite(value) or value != int(value):
                    raise UsageError(
                        f"budget: {name} = {value!r} must be a whole number; None is no bound"
                    )
                object.__setattr__(self, name, int(value))


def checked_budget(budget: Budget | None) -> Budget:
    """Return a budget, without bounds where none is given, or say that it is none."""
    if budget is not None and not isinstance(budget, Budget):
        raise UsageError(
            f"budget = {clip(repr(budget))} is no Budget; write Budget(queries=1000), for example"
        )
    return budget or Budget()


@dataclass(frozen=True, slots=True)
class Spent:
    """What a run has spent.

    `queries` counts the inputs that the result rests on and is the same in every run with the same
    seed. `executed` counts the inputs that were really run this time, which a warm ledger or a memo
    makes fewer and reading ahead makes more; like `seconds`, it describes the run and not the
    result.
    """

    queries: int
    executed: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        return {
            "queries": self.queries,
            "executed": self.executed,
            "seconds": round(self.seconds, 3),
        }


@dataclass(frozen=True, slots=True)
class Progress:
    """One report of progress: the task, how far it is (0 to 1, or None), and a short note."""

    task: str
    share: float | None
    note: str = ""


Hook = Callable[[Progress], None]


@dataclass(slots=True)
class Meter:
    """Counts what a run spends against its budget and reports progress."""

    budget: Budget = field(default_factory=Budget)
    hook: Hook | None = None
    queries: int = 0
    _start: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return time.monotonic() - self._start

    @property
    def left(self) -> float:
        """Queries that may still be asked."""
        return (
            math.inf if self.budget.queries is None else self.budget.queries - self.queries
        )

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.budget.seconds is not None and self.seconds >= self.budget.seconds

    def share(self, parts: int) -> Meter:
        """Return a meter for the next of `parts`, with an equal share of what is left."""
        budget = self.budget
        if budget.queries is not None:
            budget = replace(budget, queries=max(1, int(self.left) // parts))
        if budget.seconds is not None:
            mine = max(0.0, budget.seconds - self.seconds) / parts
            budget = replace(budget, seconds=max(self.seconds + mine, 1e-9))
        return replace(self, queries=0, budget=budget)

    def report(self, task: str, share: float | None, note: str = "") -> None:
        """Pass progress on to whoever listens."""
        if self.hook is not None:
            self.hook(Progress(task, share, note))


_OUTER: ContextVar[Any] = ContextVar("outer", default=None)
"""The bar that is drawn at the moment, which a run within a run draws on."""


@contextmanager
def progress_bar(*, show: bool | None = None) -> Iterator[Hook | None]:
    """Return a hook that draws a bar on standard error if that is a terminal, or None.

    A run within a run, as those of an audit, adds its lines to the bar that is there, and takes
    them away at its end.
    """
    if not (sys.stderr.isatty() if show is None else show):
        yield None
        return
    if (outer := _OUTER.get()) is not None:
        yield from _lines(outer, passing=True)
        return
    from rich.console import Console
    from rich.progress import BarColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        token = _OUTER.set(bar)
        try:
            yield from _lines(bar, passing=False)
        finally:
            _OUTER.reset(token)


def _lines(bar: Any, *, passing: bool) -> Iterator[Hook]:
    """Return a hook that draws a line for each task; those of passing tasks are removed."""
    tasks: dict[str, Any] = {}

    def hook(progress: Progress) -> None:
        if progress.task not in tasks:
            tasks[progress.task] = bar.add_task(progress.task, total=1.0, note="")
        bar.update(
            tasks[progress.task],
            completed=progress.share or 0.0,
            total=None if progress.share is None else 1.0,
            note=progress.note,
        )

    try:
        yield hook
    finally:
        for task in tasks.values() if passing else ():
            bar.remove_task(task)
