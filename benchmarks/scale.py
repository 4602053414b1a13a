"""What evenhand promises of many cores, machines and rows, beside what it keeps on this machine.

`python benchmarks/scale.py [--rows 100000000] [--parts cores,clusters,logs,ledger,growth]` runs the
benchmark of each part in a process of its own, prints what was measured beside what is wanted, and
writes benchmarks/results/scale.json. Run it where nothing else runs: two processes that share their
cores with others show nothing. It takes about half an hour; `--quick` takes a few minutes and
smaller sizes, at which fixed costs weigh more.

Of logs, what a billion rows would take is extrapolated: the seconds for each row, without those
that a few rows take as well.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

import evenhand as eh

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
RESULTS = HERE / "results"
BILLION = 1_000_000_000


@dataclass(frozen=True)
class Line:
    """One promise: what was measured, and the most or the least that is wanted."""

    name: str
    measured: float
    unit: str
    most: float | None = None
    least: float | None = None

    @property
    def kept(self) -> bool | None:
        """Whether the promise is kept; None where nothing is promised."""
        if self.most is not None:
            return self.measured <= self.most
        if self.least is not None:
            return self.measured >= self.least
        return None

    def __str__(self) -> str:
        wanted = ""
        if self.most is not None:
            wanted = f"at most {self.most:,g}"
        elif self.least is not None:
            wanted = f"at least {self.least:,g}"
        marks = {True: "kept", False: "NOT KEPT", None: ""}
        measured = f"{self.measured:,.2f} {self.unit}"
        return f"{self.name:44} {measured:>22}  {wanted:16} {marks[self.kept]}"


def run(script: str, *options: str) -> Any:
    """Run a benchmark in a process of its own, and return what it wrote."""
    command = [sys.executable, str(HERE / f"{script}.py"), *options]
    subprocess.run(command, check=True)
    return json.loads((RESULTS / f"{script}.json").read_text())


def cores(options: argparse.Namespace) -> Iterator[Line]:
    """Two workers over one."""
    rounds = "1" if options.quick else "3"
    found = run("cores", "--rounds", rounds)
    for name, row in found.items():
        if name == "start":
            continue
        least = 1.7 if name.startswith("waits") else 1.5
        yield Line(f"two workers over one, {name}", row["ratio"], "times", least=least)


def clusters(options: argparse.Namespace) -> Iterator[Line]:
    """Dask and Ray beside processes of this machine."""
    sizes = ["--trees", "60", "--margin", "0.01"] if options.quick else []
    found = run("clusters", *sizes, "--rounds", "1" if options.quick else "3")
    for name, row in found["backends"].items():
        if name == "loky":
            yield Line("loky, one run", row["seconds"], "s")
            continue
        yield Line(f"{name} over loky", row["over_loky"], "times", most=1.3)
        if row["models_a_worker"] is not None:
            sent = row["models_a_worker"]
            yield Line(f"{name}: sent to each worker", sent, "models", most=2)


def logs(options: argparse.Namespace) -> Iterator[Line]:
    """Each job on a log, over one bare group-by of the engine."""
    rows = 1_000_000 if options.quick else options.rows
    found = run("logs", "--rows", str(rows), "--engines", options.engines)
    for row in found["runs"]:
        name = f"{row['engine']}: {row['job']}"
        yield Line(f"{name}, over a group-by", row["ratio"], "times", most=1.3)
        yield Line(f"{name}, memory", row["GB"], "GB", most=2)
        # A billion rows, by what each row takes beyond what a few rows take as well.
        rest = max(row["seconds"] - row["few rows"], 0.0)
        yield Line(f"{name}, 10⁹ rows", row["few rows"] + rest / rows * BILLION, "s")
    for job in dict.fromkeys(row["job"] for row in found["runs"]):
        digests = {row["digest"] for row in found["runs"] if row["job"] == job}
        yield Line(f"digests of {job}", len(digests), "", most=1)


def ledger(options: argparse.Namespace) -> Iterator[Line]:
    """Outcomes written to a ledger and read back."""
    found = run("ledger", "--rounds", "1" if options.quick else "5")
    for row in found["rows"]:
        pace = row["written_and_read_per_second"]
        name = f"ledger, batches of {row['batch']:,}"
        yield Line(name, pace, "outcomes/s", least=50_000)


def growth(options: argparse.Namespace) -> Iterator[Line]:
    """What is promised of single sizes; `benchmarks/growth.py` has the exponents."""
    yield Line("search of 200 columns, explained", seconds(wide_search()), "s", most=10)
    yield Line(
        "measure_log of 1,000 groups", seconds(many_groups(eh.measure_log)), "s", most=2
    )
    yield Line("impact of 1,000 groups", seconds(many_groups(eh.impact)), "s", most=2)
    rows = 100_000 if options.quick else 1_000_000
    frame = texts(rows)
    space = eh.Space.from_frame(frame.head(10_000), protected=["c0"])
    share = rows / 1_000_000
    yield Line(
        "10⁶ rows of texts encoded",
        seconds(lambda: space.encode(frame)) / share,
        "s",
        most=0.3,
    )


def seconds(work: Callable[[], Any]) -> float:
    """Return the shortest of three runs."""
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return min(taken)


def wide_search() -> Callable[[], Any]:
    """Return a search of 20,000 queries in a space of 200 columns."""
    features = [eh.category("sex", ["F", "M"])]
    features += [eh.integer(f"x{number}", 0, 9) for number in range(199)]
    space = eh.Space(features, protected=["sex"])

    def lend(people: Any) -> Any:
        return people["x0"] + people["x1"] + (people["sex"] == "M") > 9

    return lambda: eh.search(lend, space, budget=eh.Budget(queries=20_000))


def many_groups(verb: Callable[..., Any]) -> Callable[[], Any]:
    """Return a job on a log of 1,000 groups."""
    rng = np.random.default_rng(0)
    groups = [f"g{number:04}" for number in rng.integers(0, 1000, 200_000)]
    log = pd.DataFrame({"group": groups, "granted": rng.integers(0, 2, 200_000)})
    return lambda: verb(log, outcome="granted", over="group", support=0.0001)


def texts(rows: int) -> pd.DataFrame:
    """Return rows of nine columns of texts."""
    rng = np.random.default_rng(0)
    columns = {}
    for number in range(9):
        levels = np.array([f"level {level}" for level in range(3 + 4 * number)])
        columns[f"c{number}"] = levels[rng.integers(0, len(levels), rows)]
    return pd.DataFrame(columns)


PARTS: dict[str, Callable[[argparse.Namespace], Iterator[Line]]] = {
    "cores": cores,
    "clusters": clusters,
    "logs": logs,
    "ledger": ledger,
    "growth": growth,
}


def main() -> None:
    """Run the parts, print the table, and write it as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--engines", default="duckdb,polars")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--quick", action="store_true")
    default = RESULTS / "scale.json"
    parser.add_argument("--json", type=Path, default=default)
    options = parser.parse_args()
    lines: list[Line] = []
    for part in options.parts.split(","):
        lines += PARTS[part](options)
    print()
    for line in lines:
        print(line)
    options.json.parent.mkdir(exist_ok=True)
    rows = [asdict(line) | {"kept": line.kept} for line in lines]
    options.json.write_text(json.dumps(rows, indent=2) + "\n")


if __name__ == "__main__":
    main()
