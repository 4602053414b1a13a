"""What it takes to explain a search: CPU seconds by the number of columns, with and without.

`python benchmarks/explain.py [--columns 10,20,…] [--subjects box,…] [--seconds 3] [--quick]` prints
a table and writes benchmarks/results/explain.json. Columns are categories, whole numbers and real
numbers in turn. Every search may ask 20,000 inputs; the last rows have a budget of seconds, and
show how long they took by the clock.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import evenhand as eh

RESULTS = Path(__file__).parent / "results"
COLUMNS = (10, 20, 30, 50, 100, 200)
QUERIES = 20_000
WANTED_SECONDS = 10.0
"""What 200 columns may take."""


def wide(columns: int) -> eh.Space:
    features: list[Any] = [eh.category("sex", ["F", "M"])]
    for number in range(columns - 1):
        kind = number % 3
        if kind == 0:
            features.append(eh.category(f"c{number}", list("abcde")))
        elif kind == 1:
            features.append(eh.integer(f"i{number}", 0, 999))
        else:
            features.append(eh.real(f"r{number}", 0, 1))
    return eh.Space(features, protected=["sex"])


def box(space: eh.Space) -> Any:
    """Discriminates where one whole number is high and one real number is low."""

    def decide(people: Any) -> Any:
        inside = (people["i1"] > 700) & (people["r2"] < 0.4)
        return inside & (people["sex"] == "M")

    return decide


def summed(points: Any, space: eh.Space) -> Any:
    """Compare a sum of six numbers, to which one sex adds a little, with its middle."""
    total = 0.15 * points[:, 0]
    used = [place for place, one in enumerate(space.features) if one.kind != "category"][:6]
    for place in used:
        total = total + points[:, place] / float(space.features[place].high)
    return total > len(used) / 2


def linear(space: eh.Space) -> Any:
    return lambda people: summed(space.encode(people), space)


def forest(space: eh.Space, trees: int = 10) -> Any:
    points = space.draw(3000, np.random.default_rng(0))
    model = RandomForestClassifier(trees, max_depth=8, random_state=0)
    model.fit(points, summed(points, space))
    return lambda people: model.predict(space.encode(people))


def slow_forest(space: eh.Space) -> Any:
    return forest(space, trees=50)


SUBJECTS = {"box": box, "linear": linear, "forest": forest, "slow forest": slow_forest}


def row_of(name: str, columns: int, **settings: Any) -> dict[str, Any]:
    """Search, and return what it took."""
    space = wide(columns)
    decide = SUBJECTS[name](space)
    cpu, clock = time.process_time(), time.perf_counter()
    found = eh.search(decide, space, **settings)
    entry = found.details["search"][0]
    return {
        "subject": name,
        "columns": columns,
        "cpu": round(time.process_time() - cpu, 2),
        "clock": round(time.perf_counter() - clock, 2),
        "queries": found.spent.queries,
        "rules": max(len(entry["regions"]) - 1, 0),
        "drivers": len(entry["drivers"]),
        "screened": entry.get("screened"),
        "stopped": entry.get("stopped"),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="What it takes to explain a search.")
    parser.add_argument("--columns", default=",".join(map(str, COLUMNS)))
    parser.add_argument("--subjects", default=",".join(SUBJECTS))
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--quick", action="store_true", help="a fifth of the queries")
    options = parser.parse_args()
    columns = [int(one) for one in options.columns.split(",")]
    names = options.subjects.split(",")
    budget = eh.Budget(queries=QUERIES // (5 if options.quick else 1))
    row_of(names[0], columns[0], budget=budget)  # pays for imports
    rows = []
    print(f"{'subject':12} {'columns':>7} {'search':>8} {'and explain':>12} {'drivers':>8}")
    for name in names:
        for number in columns:
            alone = row_of(name, number, budget=budget, explain=False)
            row = {**row_of(name, number, budget=budget), "cpu_without": alone["cpu"]}
            rows.append(row)
            print(
                f"{name:12} {number:7} {alone['cpu']:6.2f} s {row['cpu']:10.2f} s"
                f" {row['drivers']:8}",
                flush=True,
            )
    timed = []
    for number in columns:
        row = row_of(names[0], number, budget=eh.Budget(seconds=options.seconds))
        timed.append(row)
        print(
            f"{number} columns in {options.seconds:g} s: {row['clock']:.2f} s", flush=True
        )
    most = max(row["cpu"] for row in rows)
    print(f"the longest took {most:.2f} s of CPU; {WANTED_SECONDS:g} s are wanted")
    RESULTS.mkdir(exist_ok=True)
    table = {"rows": rows, "timed": timed, "seconds": options.seconds}
    (RESULTS / "explain.json").write_text(json.dumps(table, indent=1) + "\n")


if __name__ == "__main__":
    main()
