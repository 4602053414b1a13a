"""What two workers gain over one: the same job with each, in turn, and the ratio of their times.

A function waits a millisecond for each input it is asked about, as one that looks something up
does; a forest has no threads of its own. The digests are compared as well. Workers are alive
before the first job, as they are in the second check of an audit; the first start is timed alone.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.runtime.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Callable

    Job = Callable[[int], Any]

WANTED = {"waits": 1.7, "forest": 1.5}
MILLISECOND = 1e-3
SPACE = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("race", ["a", "b", "c"]),
        eh.integer("age", 18, 90),
        eh.integer("income", 0, 999),
        eh.integer("debt", 0, 99),
    ],
    protected=["sex", "race"],
)


class Waiting:
    """A loan program that waits for each input."""

    def __init__(self, seconds: float = MILLISECOND) -> None:
        self.seconds = seconds

    def __call__(self, people: pd.DataFrame) -> Any:
        time.sleep(self.seconds * len(people))
        bonus = 60 * (people["sex"] == "M") + 30 * (people["race"] == "a")
        return people["income"] + bonus - 3 * people["debt"] > 400


class WaitingModel:
    """A model that was trained to say what a tree says, and waits for each input."""

    def __init__(self, tree: Any) -> None:
        self.tree = tree
        self.classes_ = tree.classes_

    def predict(self, rows: pd.DataFrame) -> Any:
        time.sleep(MILLISECOND * len(rows))
        return self.tree.predict(_coded(rows).to_numpy())


def _coded(rows: pd.DataFrame) -> pd.DataFrame:
    codes = {"F": 0, "M": 1, "a": 0, "b": 1, "c": 2}
    return pd.DataFrame(rows).replace(codes).infer_objects().astype(float)


def train(rows: pd.DataFrame, outcomes: Any) -> WaitingModel:
    """Train a tree that waits."""
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(max_depth=6, random_state=0)
    return WaitingModel(tree.fit(_coded(rows).to_numpy(), outcomes))


def people(count: int) -> pd.DataFrame:
    """Return people of the space, drawn evenly."""
    return pd.DataFrame(SPACE.native(SPACE.draw(count, np.random.default_rng(1))))


def waiting_jobs(size: float) -> dict[str, Job]:
    """Return each verb on the function that waits; each run begins with nothing remembered."""
    queries = eh.Budget(queries=int(6000 * size))
    few = eh.Budget(queries=int(1500 * size))
    rows = people(int(1200 * size))
    granted = Waiting(0)(rows)

    def subject() -> eh.Subject:
        return eh.Subject(Waiting(), SPACE, positive=True)

    return {
        "measure": lambda n: eh.measure(subject(), budget=queries, margin=0.01, n_jobs=n),
        "measure of groups": lambda n: eh.measure(
            subject(), kind="group", budget=queries, margin=0.01, n_jobs=n
        ),
        "mine": lambda n: eh.mine(
            subject(), None, rows, over=["sex", "race"], budget=queries, n_jobs=n
        ),
        "search": lambda n: eh.search(subject(), budget=queries, n_jobs=n),
        "subsets": lambda n: eh.subsets(subject(), budget=queries, n_jobs=n, limit=0.1),
        "repair": lambda n: eh.repair(
            train, rows, granted, space=SPACE, draws=500, budget=few, patience=1, n_jobs=n
        ),
    }


def forest_jobs(size: float) -> dict[str, Job]:
    """Return the same of a forest that uses one thread."""
    from sklearn.ensemble import RandomForestClassifier

    rows = people(3000)
    forest = RandomForestClassifier(100, random_state=0, n_jobs=None)
    model = forest.fit(_coded(rows).to_numpy(), Waiting(0)(rows))
    space = eh.Space(
        [
            eh.integer("sex", 0, 1),
            eh.integer("race", 0, 2),
            *[SPACE.feature(name) for name in ("age", "income", "debt")],
        ],
        protected=["sex", "race"],
    )
    count = int(200_000 * size)
    points = space.draw(count, np.random.default_rng(0))
    budget = eh.Budget(queries=count)

    def subject() -> eh.Subject:
        return eh.Subject(model, space, positive=True)

    def decide(n: int) -> Any:
        from evenhand.subject.shared_asking import sharing

        asked = subject()
        with sharing(asked, n):
            return asked.decide(points)

    return {
        "decide": decide,
        "measure": lambda n: eh.measure(subject(), budget=budget, n_jobs=n, margin=0.001),
        "subsets": lambda n: eh.subsets(subject(), budget=budget, n_jobs=n, limit=0.1),
        "search": lambda n: eh.search(subject(), budget=budget, n_jobs=n),
    }


def digest(found: Any) -> str:
    """Return what tells whether two runs found the same."""
    return found.tobytes().hex() if isinstance(found, np.ndarray) else found.digest


def compared(job: Job, rounds: int) -> dict[str, float]:
    """Return the seconds of a job with one worker and with two, in turn."""
    seconds: dict[int, list[float]] = {1: [], 2: []}
    digests = set()
    for _ in range(rounds):
        for workers, times in seconds.items():
            began = time.perf_counter()
            found = job(workers)
            times.append(time.perf_counter() - began)
            digests.add(digest(found))
    assert len(digests) == 1, "the number of workers changes no byte"
    ratios = [one / two for one, two in zip(seconds[1], seconds[2], strict=True)]
    one, two = (statistics.median(times) for times in seconds.values())
    return {"one": one, "two": two, "ratio": statistics.median(ratios)}


def started() -> float:
    """Return the seconds until two workers have answered for the first time."""
    began = time.perf_counter()
    eh.search(Waiting(), SPACE, budget=eh.Budget(queries=1000), n_jobs=2)
    with Workers(2) as workers:
        workers.map(_imported, [0, 1])
    return time.perf_counter() - began


def _imported(task: int) -> int:
    """Import what software needs, and stay until the other worker does so, too."""
    import sklearn.ensemble  # noqa: F401

    import evenhand.methods.measure
    import evenhand.methods.search  # noqa: F401

    time.sleep(1)
    return task


def main() -> None:
    """Print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--size", type=float, default=1.0, help="how large the jobs are")
    parser.add_argument("--only", default="", help="jobs whose names hold this")
    default = Path(__file__).parent / "results" / "cores.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    start = started()
    print(f"workers are there after {start:.1f} s")
    made = {"waits": waiting_jobs, "forest": forest_jobs}
    table: dict[str, Any] = {"start": start}
    for kind, jobs in made.items():
        for name, job in jobs(options.size).items():
            title = f"{kind}: {name}"
            if options.only not in title:
                continue
            found = compared(job, options.rounds)
            table[title] = found
            print(
                f"{title:26} {found['one']:6.2f} s with one, {found['two']:6.2f} s with two:"
                f" {found['ratio']:.2f}, wanted ≥ {WANTED[kind]}",
                flush=True,
            )
    options.json.parent.mkdir(exist_ok=True)
    options.json.write_text(json.dumps(table, indent=2) + "\n")


if __name__ == "__main__":
    main()
