"""Software that is asked on clusters, and what it does to its workers."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import evenhand as eh

if TYPE_CHECKING:
    from pathlib import Path

SPACE = eh.Space([eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], ["sex"])


class DistantModel:
    """Takes a moment for each person, and notes where it is packed, unpacked and asked."""

    sent_once = True

    def __init__(self, folder: Path, doom: str = "") -> None:
        self.folder = folder
        self.doom = doom
        self.home = os.getpid()
        self.weights = np.linspace(0, 1, 200_000)

    def note(self, what: str) -> None:
        (self.folder / f"{what}-{os.getpid()}-{time.monotonic_ns()}").touch()

    def count(self, what: str) -> int:
        return len(list(self.folder.glob(f"{what}-*")))

    def __getstate__(self) -> dict[str, Any]:
        self.note("packed")
        return vars(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self.note("unpacked")

    def __call__(self, people: Any) -> Any:
        if os.getpid() != self.home:
            self.note("asked")
            if self.doom:
                self.meet_doom()
        time.sleep(1e-4 * len(people))
        return (people["age"] > 40) & (people["sex"] == "M") | (people["age"] > 77)

    def meet_doom(self) -> None:
        """End this process, or the task: the first time, or each time."""
        if self.doom == "once":
            try:
                (self.folder / "doomed").touch(exist_ok=False)
            except FileExistsError:
                return
            os.kill(os.getpid(), signal.SIGKILL)
        if self.doom == "always":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.doom == "exit":
            sys.exit(3)


def ask(model: DistantModel, age: int) -> list[bool]:
    """Ask a model about two people."""
    found: list[bool] = model(pd.DataFrame({"sex": ["F", "M"], "age": age})).tolist()
    return found


def measured(model: DistantModel, n_jobs: int) -> str:
    """Return the digest of a result that takes several waves."""
    subject = eh.Subject(model, SPACE, memo=False)
    found = eh.measure(subject, margin=0.01, exact=False, seed=1, n_jobs=n_jobs)
    assert found.spent.executed == found.spent.queries > 1_000
    return found.digest


def where(task: int) -> tuple[int, int]:
    """Return a task, and the process that it is carried out in."""
    time.sleep(0.02)
    return task, os.getpid()


def failing(task: int) -> int:
    """Fail with an error of the library, or with one of the software."""
    if task == 2:
        raise eh.UsageError("task 2 is wrong")
    if task == 3:
        raise KeyError("three")
    return task
