"""How time and memory grow: each job at four sizes and more, and the exponent of its growth.

`python benchmarks/growth.py [--jobs search,mine,…] [--by features,levels,groups,rows,queries,depth]
[--full] [--seconds 60]` runs each size in a process of its own, prints a table and writes
benchmarks/results/growth.json. With `--full` sizes go to 500 features, 100,000 levels, 500 groups,
ten million rows and queries, and depth 6; that takes an hour and 8 GB.

The exponent is the slope of log seconds over log size, of all sizes and of the last two, where what
every run costs counts least. Of depth it is the factor from one to the next, since what is mined
grows with it in any case. Memory is what the peak of the process grows by while the job runs, in
bytes for each unit of size at the last. A size that a job refuses is named with its sentence, and
one that takes longer than `--seconds` ends its line.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.runtime.errors import EvenhandError

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, Any]
    Job = Callable[[], Any]

RESULTS = Path(__file__).parent / "results"
SIZES = {
    "features": (25, 50, 100, 200),
    "levels": (1_000, 4_000, 16_000, 64_000),
    "groups": (25, 50, 100, 200),
    "rows": (20_000, 80_000, 320_000, 1_280_000),
    "queries": (20_000, 80_000, 320_000, 1_280_000),
    "depth": (1, 2, 3, 4),
}
FULL = {
    "features": (50, 100, 200, 500),
    "levels": (1_000, 10_000, 40_000, 100_000),
    "groups": (50, 100, 200, 500),
    "rows": (100_000, 1_000_000, 4_000_000, 10_000_000),
    "queries": (100_000, 1_000_000, 4_000_000, 10_000_000),
    "depth": (1, 2, 3, 4, 5, 6),
}
JOBS = {
    "from_frame": ("features", "levels", "rows"),
    "encode": ("features", "levels", "rows"),
    "measure": ("features", "levels", "groups", "queries"),
    "subsets": ("features", "levels", "groups", "queries", "depth"),
    "search": ("features", "levels", "groups", "queries"),
    "mine": ("features", "levels", "groups", "rows", "depth"),
    "measure_log": ("features", "levels", "groups", "rows"),
    "impact": ("groups", "rows"),
    "mine_log": ("features", "levels", "groups", "rows", "depth"),
    "compare": ("groups", "rows"),
}
STEEP = 1.5
"""An exponent at the end from which a line is marked."""
SHORT = 0.2
"""Seconds of the last size under which nothing is said of growth."""


@dataclass
class World:
    """Decisions about people, and the rule that made them, of a size that is varied."""

    features: int = 8
    levels: int = 6
    groups: int = 3
    rows: int = 20_000
    queries: int = 20_000
    depth: int = 2

    @property
    def frame(self) -> pd.DataFrame:
        """Rows with a group, a category of many levels, and texts and numbers in turn."""
        rng = np.random.default_rng(0)
        columns: Row = {
            "sex": rng.choice(["F", "M"], self.rows),
            "group": self._texts("group", self.groups, rng),
            "home": self._texts("home", self.levels, rng),
        }
        for number in range(self.features - len(columns)):
            kind = number % 3
            if kind == 0:
                columns[f"n{number}"] = rng.integers(0, 100, self.rows)
            elif kind == 1:
                columns[f"c{number}"] = self._texts("level", 5, rng)
            else:
                columns[f"r{number}"] = rng.integers(0, 1001, self.rows) / 1000
        return pd.DataFrame(columns)

    def _texts(self, name: str, levels: int, rng: np.random.Generator) -> Any:
        """Return texts of which every one occurs, as far as there are rows for all."""
        codes = np.append(np.arange(levels), rng.integers(0, levels, self.rows))
        names = np.array([f"{name} {level:06}" for level in range(levels)], dtype=object)
        return names[codes[: self.rows]]

    @property
    def log(self) -> pd.DataFrame:
        frame = self.frame
        return frame.assign(ok=decide(frame), truth=frame["n0"] > 45)

    def space(self, frame: pd.DataFrame) -> eh.Space:
        return eh.Space.from_frame(frame, protected=["sex"], remember=False)


def decide(people: Any) -> Any:
    """Discriminate by sex and group where a number is in the middle."""
    less = 10 * (people["sex"] == "F") + 10 * (people["group"] == "group 000001")
    return np.asarray(people["n0"] > 40 + less)


def job_of(name: str, by: str, world: World) -> Job:
    """Return a job that is ready to run; what it takes to get there is not counted."""
    if name in ("measure_log", "impact", "mine_log"):
        return _log_job(name, by, world)
    if name == "compare":
        return _compare_job(world)
    frame = world.frame
    if name == "from_frame":
        return lambda: eh.Space.from_frame(frame, protected=["sex"])
    space = world.space(frame)
    if name == "encode":
        return lambda: space.encode(frame)
    return _asking_job(name, by, space, world)


def _log_job(name: str, by: str, world: World) -> Job:
    log = world.log
    if name == "mine_log":
        over = ["sex", "group", "home", "n0", "c1"]
        if by == "features":
            over = [column for column in log if column not in ("ok", "truth")]
        return lambda: eh.mine_log(
            log, outcome="ok", positive=True, over=over, depth=world.depth
        )
    given: Row = {"outcome": "ok", "positive": True, "over": "group", "support": 0.0}
    if by == "levels":
        given["over"] = "home"
    if name == "impact":
        return lambda: eh.impact(log, **given)
    if by == "features":
        few = [column for column in log if log[column].nunique() < 10]
        given["over"] = [(column,) for column in few[:-2]]
    return lambda: eh.measure_log(log, **given)


def _compare_job(world: World) -> Job:
    log = world.log
    outcomes = {"first": log["ok"], "second": log["n0"] > 50}
    protected = log["group"].to_numpy()
    return lambda: eh.compare(outcomes, log["truth"], protected, baseline="first")


def _asking_job(name: str, by: str, space: eh.Space, world: World) -> Job:
    over = "group" if by == "groups" else "sex"
    budget = eh.Budget(queries=world.queries)
    if name == "measure":
        # A narrow margin, so that the budget is what ends it.
        return lambda: eh.measure(decide, space, over=over, margin=1e-5, budget=budget)
    if name == "subsets":
        # The lattice of sets takes 20 features; the rest of them are still drawn.
        among = space.names[:8]
        return lambda: eh.subsets(
            decide, space, limit=0.05, among=among, depth=world.depth, budget=budget
        )
    if name == "search":
        return lambda: eh.search(decide, space, over=over, budget=budget)
    data = world.frame
    return lambda: eh.mine(decide, space, data, depth=world.depth)


def peak() -> int:
    """Return the peak memory of this process in bytes."""
    status = Path("/proc/self/status").read_text().splitlines()
    line = next(line for line in status if line.startswith("VmHWM"))
    return 1024 * int(line.split()[1])


def run_once(name: str, by: str, size: int) -> Row:
    """Run a job of one size in this process."""
    world = World(**{by: size})
    world.rows = max(world.rows, 2 * world.levels)
    _log_job("measure_log", "rows", World(rows=100))()  # pays for imports
    job = job_of(name, by, world)
    before = peak()
    clock, cpu = time.perf_counter(), time.process_time()
    refused = ""
    try:
        job()
    except EvenhandError as error:
        refused = str(error)
    return {
        "job": name,
        "by": by,
        "size": size,
        "seconds": round(time.perf_counter() - clock, 4),
        "cpu": round(time.process_time() - cpu, 4),
        "bytes": peak() - before,
        "refused": refused,
    }


def run_apart(name: str, by: str, size: int, seconds: float) -> Row:
    """Run a job of one size in a process of its own, for so long at most."""
    command = [sys.executable, __file__, "--one", name, by, str(size)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=seconds + 60, check=False
        )
    except subprocess.TimeoutExpired:
        return {"job": name, "by": by, "size": size, "failed": f"over {seconds:g} s"}
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit {done.returncode}"]
        return {"job": name, "by": by, "size": size, "failed": lines[-1]}
    row: Row = json.loads(done.stdout.splitlines()[-1])
    return row


def slope(rows: list[Row]) -> float:
    """Return the exponent of CPU seconds in size, by least squares of logarithms.

    >>> slope([{"size": size, "cpu": 0.1 * size**2} for size in (1, 2, 4, 8)])
    2.0
    """
    if len(rows) < 2:
        return float("nan")
    sizes = np.log([row["size"] for row in rows])
    cpu = np.log([max(row["cpu"], 1e-4) for row in rows])
    return round(float(np.polyfit(sizes, cpu, 1)[0]), 2)


def growth_of(by: str, rows: list[Row]) -> Row:
    """Return the exponent of all sizes and of the last two, or the last factor of depth."""
    ran = [row for row in rows if not row.get("failed") and not row["refused"]]
    if len(ran) < 2:
        return {}
    if by == "depth":
        factor = ran[-1]["cpu"] / max(ran[-2]["cpu"], 1e-4)
        return {"factor": round(factor, 2)}
    return {
        "exponent": slope(ran),
        "at_the_end": slope(ran[-2:]),
        "bytes_for_each": round(ran[-1]["bytes"] / ran[-1]["size"]),
    }


def is_steep(growth: Row, rows: list[Row]) -> bool:
    ran = [row for row in rows if not row.get("failed")]
    slow = bool(ran) and ran[-1]["cpu"] >= SHORT
    return slow and growth.get("at_the_end", 0.0) >= STEEP


def line_of(name: str, by: str, rows: list[Row], growth: Row) -> str:
    parts = []
    for row in rows:
        if row.get("failed"):
            parts.append(f"{row['size']:,}: {row['failed'][:60]}")
        elif row["refused"]:
            parts.append(f"{row['size']:,}: refused")
        else:
            parts.append(f"{row['cpu']:.2f}")
    if "factor" in growth:
        told = f"× {growth['factor']:.2f} a level"
    else:
        told = f"{growth.get('exponent', '')} · {growth.get('at_the_end', '')}"
    ran = [row for row in rows if "bytes" in row]
    memory = f"{ran[-1]['bytes'] / 1e6:.0f} MB" if ran else ""
    mark = " !" if is_steep(growth, rows) else ""
    return f"{name:12} {by:9} {told:14} {memory:>8}  {' · '.join(parts)}{mark}"


def main() -> None:
    parser = argparse.ArgumentParser(description="How time and memory grow.")
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--by", default=",".join(SIZES))
    parser.add_argument("--full", action="store_true", help="the largest sizes")
    parser.add_argument("--seconds", type=float, default=60.0, help="the most of one run")
    parser.add_argument("--one", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, by, size = options.one
        print(json.dumps(run_once(name, by, int(size))))
        return
    sizes = FULL if options.full else SIZES
    table = []
    print("job          by        exponent · end   memory  CPU seconds of each size")
    for name in options.jobs.split(","):
        for by in JOBS[name]:
            if by not in options.by.split(","):
                continue
            rows = []
            for size in sizes[by]:
                rows.append(run_apart(name, by, size, options.seconds))
                if rows[-1].get("failed") or rows[-1]["seconds"] > options.seconds:
                    break
            growth = growth_of(by, rows)
            print(line_of(name, by, rows, growth), flush=True)
            table.append({"job": name, "by": by, **growth, "sizes": rows})
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"full": options.full, "rows": table}, indent=1)
    (RESULTS / "growth.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
