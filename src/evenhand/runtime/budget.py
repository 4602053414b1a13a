"""What a run may spend, and what it has spent."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.progress import Hook, Progress

_MOST = 2**63 - 1
"""No count is larger."""


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
            if isinstance(value, int) and value > _MOST:
                raise UsageError(f"budget: {name} is too large; None is no bound")
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
    one_process: str = ""
    """Why one process asked the software where several were to; empty where nothing kept them."""

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as JSON holds them."""
        table: dict[str, Any] = {
            "queries": self.queries,
            "executed": self.executed,
            "seconds": round(self.seconds, 3),
        }
        if self.one_process:
            table["one_process"] = self.one_process
        return table


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

    def until(self, queries: float) -> Meter:
        """Return a meter that goes on from here and ends at so many queries, if not before.

        >>> meter = Meter(Budget(queries=100), queries=10)
        >>> meter.until(30).left, meter.until(300).left
        (20, 90)
        """
        most = self.queries + self.left
        if queries >= most:
            return replace(self)
        bound = max(1, int(queries))
        budget = replace(self.budget, queries=bound)
        return replace(self, budget=budget)

    def report(self, task: str, share: float | None, note: str = "") -> None:
        """Pass progress on to whoever listens."""
        if self.hook is not None:
            self.hook(Progress(task, share, note))
