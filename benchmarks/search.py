"""search against the published Aequitas: discriminatory inputs for what they cost, how far spread,
how real, how fast.

`python benchmarks/search.py [--only runs|speed|table4|report] [--data adult,german,bank]
[--subjects tree,forest,…] [--strategies adaptive,…] [--seeds 3] [--quick]` prints tables and writes
benchmarks/results/search.json, where rows of earlier runs are kept until they are measured again;
the report at the end is made of all rows of the chosen subjects. The subjects are in
aequitas_subjects.py, the original, one input at a time, in aequitas_original.py.

Inputs are counted once for each class of inputs that differ only in the protected feature. Counts,
cells and distances are found here, from the frame of a result, and some of the pairs are asked
again on the bare model.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import evenhand as eh
from aequitas_original import STRATEGIES as PUBLISHED
from aequitas_original import TABLE_3, TABLE_4
from aequitas_original import run as one_at_a_time
from aequitas_subjects import FILES, MORE, NAMES, PAPER, RESULTS, subjects
from evenhand.methods.search.hits import Found
from evenhand.methods.search.loop import run_strategy
from evenhand.methods.search.probe import Probe
from evenhand.methods.search.strategies.aequitas import Aequitas
from evenhand.methods.search.strategies.base import Setting
from evenhand.runtime.budget import Meter
from evenhand.runtime.random_streams import stream
from evenhand.space.grid import GridCells
from evenhand.subject.view import View

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from aequitas_subjects import Classifier

    Row = dict[str, Any]
    Points = NDArray[np.float64]

STEPS = {"fully-directed 10": 10, "fully-directed 100": 100}
"""The paper does not say how long a walk is; 1,000 steps by default, but shorter walks find more on
some subjects.
"""
STRATEGIES = ("uniform", *PUBLISHED, *STEPS, "adaptive", "surrogate")
OWN = ("adaptive", "surrogate")
QUERIES, SVM_QUERIES = 100_000, 20_000
WAVE = 2048
NEAR, AGAIN = 1000, 2000
"""Found inputs whose distance to real rows is taken, and pairs that are asked again."""
ALONE, ALONE_SECONDS = 20_000, 20.0
"""How long the original is timed: queries, or seconds where that is sooner."""
FINDINGS, FINDINGS_SECONDS = 10_000, 300.0
WANTED = {
    "tree": 80,
    "forest": 80,
    "ensemble": 80,
    "forest-10": 80,
    "mlp": 70,
    "svm": 35,
    "svm-raw": 35,
}
"""Per cent of the ceiling, for adaptive on Adult."""
WANTED_CELLS, WANTED_SPEED, WANTED_OVERHEAD = 2.0, 50.0, 2.0


class Timed:
    """A model that notes the time spent in it and the rows it was asked; it offers what the model
    does to be asked.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.seconds = 0.0
        self.rows = 0

    def __getattr__(self, name: str) -> Any:
        if name in ("classes_", "n_features_in_"):
            return getattr(self.model, name)
        if name not in ("predict", "predict_proba", "decision_function"):
            raise AttributeError(name)
        method = getattr(self.model, name)

        def timed(rows: Any) -> Any:
            start = time.perf_counter()
            try:
                return method(rows)
            finally:
                self.seconds += time.perf_counter() - start
                self.rows += len(rows)

        return timed


def budget_of(one: Classifier, *, quick: bool) -> int:
    return (SVM_QUERIES if one.name.startswith("svm") else QUERIES) // (5 if quick else 1)


def values_of(one: Classifier) -> int:
    return len(one.space.assignments(one.over))


def ceiling(one: Classifier, strategy: str) -> float:
    """Return the most that can be found by 1,000 queries: published strategies ask every protected
    value, ours two.
    """
    return 1000 / (2 if strategy in OWN else values_of(one))


def free_of(one: Classifier) -> tuple[int, ...]:
    return tuple(i for i, name in enumerate(one.space.names) if name != one.over)


def uniform(
    model: Any, one: Classifier, queries: int, seed: int
) -> tuple[Points, int, int]:
    """Draw classes from the whole space (the paper's Random); return those found, inputs tried and
    queries.
    """
    probe = Probe(View(eh.Subject(model, one.space)), (one.over,))
    found, rng = Found(probe), stream(seed, "benchmark", "uniform")
    left = classes = queries // values_of(one)
    while left:
        found.add(probe.ask(one.space.draw(min(WAVE, left), rng)))
        left -= min(WAVE, left)
    return found.points, classes, classes * values_of(one)


def walked(
    model: Any, one: Classifier, strategy: str, queries: int, seed: int
) -> tuple[Points, int, int]:
    """Run fully-directed with shorter walks; return those found, inputs tried and queries."""
    probe = Probe(View(eh.Subject(model, one.space)), (one.over,))
    walks = Aequitas("fully-directed", local_trials=STEPS[strategy]).started(
        Setting(probe, seed)
    )
    went = run_strategy(walks, probe, Meter(eh.Budget(queries=queries)))
    return went.found.points, went.queries // values_of(one), went.queries


def searched(
    model: Any, one: Classifier, strategy: str, budget: eh.Budget, seed: int
) -> tuple[Any, Points, Row]:
    """Search, and return the frame of what was found, the same as points, and what the result says
    of the search.
    """
    result = eh.search(
        model,
        one.space,
        over=one.over,
        strategy=strategy,
        budget=budget,
        seed=seed,
        progress=False,
    )
    frame = result.to_frame()
    details = result.details["search"][0]
    return frame, one.space.encode(frame[list(one.space.names)]), details


def false_pairs(one: Classifier, frame: Any, points: Points) -> int:
    """Ask some pairs again on the bare model, and count those that get the same outcome."""
    some = np.random.default_rng(0).permutation(len(points))[:AGAIN]
    twins = points[some].copy()
    twins[:, one.space.index(one.over)] = frame[f"twin.{one.over}"].to_numpy()[some]
    return (
        int((one.model.predict(points[some]) == one.model.predict(twins)).sum())
        if len(some)
        else 0
    )


def distance(one: Classifier, points: Points) -> float | None:
    """Return the median distance to the nearest real row: |difference| over the range, mean over
    the free features.
    """
    from scipy.spatial.distance import cdist

    free = list(free_of(one))
    low, high = (
        np.array([getattr(one.space.features[i], end) for i in free])
        for end in ("low", "high")
    )
    scale = (high - low) * len(free)
    some = np.random.default_rng(0).permutation(len(points))[:NEAR]
    if not len(some):
        return None
    near = [
        cdist(part, one.rows[:, free] / scale, "cityblock").min(axis=1)
        for part in np.array_split(points[some][:, free] / scale, -(-len(some) // 100))
    ]
    return float(np.median(np.concatenate(near)))


def measured(one: Classifier, strategy: str, queries: int, seed: int) -> Row:
    model = Timed(one.model)
    start = time.perf_counter()
    frame: Any = None
    if strategy == "uniform":
        points, tried, asked = uniform(model, one, queries, seed)
    elif strategy in STEPS:
        points, tried, asked = walked(model, one, strategy, queries, seed)
    else:
        frame, points, details = searched(
            model, one, strategy, eh.Budget(queries=queries), seed
        )
        tried, asked = details["tried"], details["queries"]
    seconds = time.perf_counter() - start
    free = free_of(one)
    unique = len(np.unique(points[:, list(free)], axis=0))
    return {
        "data": one.data,
        "subject": one.name,
        "strategy": strategy,
        "seed": seed,
        "queries": asked,
        "tried": tried,
        "found": unique,
        "twice": len(points) - unique,
        "false": 0 if frame is None else false_pairs(one, frame, points),
        "per_1000": 1000 * unique / asked,
        "cells": len(np.unique(GridCells(one.space, free).of(points))),
        "distance": distance(one, points),
        "seconds": seconds,
        "inside": model.seconds,
        "asked": model.rows,
    }


def mean(rows: list[Row], field: str) -> float:
    """Return the mean over seeds; not a number where there is none."""
    values = [row[field] for row in rows if row[field] is not None]
    return statistics.fmean(values) if values else float("nan")


def of(rows: list[Row], one: Classifier, strategy: str) -> list[Row]:
    return [
        row
        for row in rows
        if (row["data"], row["subject"], row["strategy"]) == (one.data, one.name, strategy)
    ]


def section_runs(chosen: list[Classifier], options: argparse.Namespace) -> list[Row]:
    """Unique discriminatory inputs per 1,000 queries, cells, distance to real rows, time."""
    rows: list[Row] = []
    for one in chosen:
        queries = budget_of(one, quick=options.quick)
        print(
            f"\n{one.data}, {one.name} (accuracy {one.accuracy:.3f}): over {one.over},"
            f" {values_of(one)} values, {queries:,} queries, mean of {options.seeds} seeds; ceiling"
            f" {ceiling(one, 'random'):.0f} per 1,000 queries for uniform and published,"
            f" {ceiling(one, 'adaptive'):.0f} for ours"
        )
        print(
            f"{'':19}{'per 1,000':>10}{'of ceiling':>11}{'cells':>9}{'distance':>10}"
            f"{'seconds':>9}{'in model':>9}{'total/model':>12}{'asked':>10}"
            "   least and most per 1,000"
        )
        for strategy in options.strategies:
            some = [measured(one, strategy, queries, seed) for seed in range(options.seeds)]
            rows += some
            rate, spread = mean(some, "per_1000"), [row["per_1000"] for row in some]
            wrong = sum(row["false"] + row["twice"] for row in some)
            seconds, inside = mean(some, "seconds"), mean(some, "inside")
            print(
                f"{strategy:19}{rate:10.1f}{rate / ceiling(one, strategy):11.0%}"
                f"{mean(some, 'cells'):9,.0f}{mean(some, 'distance'):10.3f}"
                f"{seconds:9.1f}{inside:9.1f}{seconds / inside:12.2f}{mean(some, 'asked'):10,.0f}"
                f"   {min(spread):.1f} to"
                f" {max(spread):.1f}{f'   {wrong} FALSE OR TWICE' if wrong else ''}",
                flush=True,
            )
    return rows


def section_speed(chosen: list[Classifier], options: argparse.Namespace) -> list[Row]:
    """Unique inputs per second: the original fully-directed search, one input at a time, and
    adaptive.

    Both search and do nothing else: ours does not explain what it finds here, but does ask it all
    once more.
    """
    rows: list[Row] = []
    seconds = ALONE_SECONDS / (5 if options.quick else 1)
    print(f"\none input at a time, fully-directed, {ALONE:,} queries or {seconds:.0f} s")
    for one in chosen:
        queries = budget_of(one, quick=options.quick)
        run = one_at_a_time(
            one.model, one.space, one.over, "fully-directed", ALONE, 0, seconds
        )
        drawn, start = (
            np.asfortranarray(one.space.draw(queries, np.random.default_rng(0))),
            time.perf_counter(),
        )
        one.model.predict(drawn)
        batch = queries / (time.perf_counter() - start)
        result = eh.search(
            one.model,
            one.space,
            over=one.over,
            budget=eh.Budget(queries=queries),
            explain=False,
        )
        ours = result.worst.estimate.value / result.spent.seconds
        row = {
            "data": one.data,
            "subject": one.name,
            "queries": run.queries,
            "found": len(run.points),
            "seconds": run.seconds,
            "per_second": run.queries / run.seconds,
            "batch": batch,
            "adaptive": ours,
        }
        rows.append(row)
        print(
            f"{one.data:8}{one.name:11}{run.queries:8,} queries in {run.seconds:5.1f} s,"
            f" {row['per_second']:8,.0f} per second, {len(run.points):6,} found; the model alone,"
            f" in one call: {batch:12,.0f} per second; adaptive: {ours:10,.0f} found per second",
            flush=True,
        )
    return rows


def section_table4(chosen: list[Classifier], options: argparse.Namespace) -> list[Row]:
    """Seconds to 10,000 discriminatory inputs, with a budget of findings."""
    rows: list[Row] = []
    wanted = FINDINGS // (5 if options.quick else 1)
    print(
        f"\nadaptive, to {wanted:,} discriminatory inputs, at most {FINDINGS_SECONDS:.0f} s"
    )
    for one in chosen:
        start = time.perf_counter()
        budget = eh.Budget(findings=wanted, seconds=FINDINGS_SECONDS)
        _, points, details = searched(one.model, one, "adaptive", budget, 0)
        seconds = time.perf_counter() - start
        row = {
            "data": one.data,
            "subject": one.name,
            "found": len(points),
            "queries": details["queries"],
            "wanted": wanted,
            "seconds": seconds,
        }
        rows.append(row)
        print(
            f"{one.data:8}{one.name:11}{len(points):8,} in {seconds:6.1f} s, {details['queries']:,}"
            " queries",
            flush=True,
        )
    return rows


def tables_in_shape(chosen: list[Classifier], kept: dict[str, list[Row]]) -> None:
    """Print the paper's Tables 3 and 4 beside ours."""
    columns = ("uniform", *PUBLISHED)
    titles = f"{'random':>9}{'A random':>9}{'A semi':>9}{'A fully':>9}"
    print(
        "\nTable 3 in shape: per cent of the inputs generated that are discriminatory (ours: each"
        " counted once)"
    )
    print(f"{'':19}{'paper':>9}{'':30}ours\n{'':19}{titles}   {titles}{'adaptive':>10}")
    for one in chosen:
        rows = [of(kept["runs"], one, strategy) for strategy in (*columns, "adaptive")]
        shares = [
            100 * mean(some, "found") / mean(some, "tried") if some else float("nan")
            for some in rows
        ]
        paper = TABLE_3[PAPER[one.name]] if one.data == "adult" else (float("nan"),) * 4
        line = (
            "".join(f"{x:9.2f}" for x in paper)
            + "   "
            + "".join(f"{x:9.2f}" for x in shares[:-1])
        )
        print(f"{one.data:8}{one.name:11}{line}{shares[-1]:10.2f}".replace("nan", "  –"))
    print(
        f"\nTable 4 in shape: seconds to {FINDINGS:,} discriminatory inputs. Ours of the published:"
        " extrapolated, from what was found per query\nin runs of full length and the measured"
        " seconds per query one input at a time. adaptive: measured, with a budget of findings."
    )
    print(
        f"{'':19}{'paper':>9}{'':30}ours, extrapolated{'':18}measured\n{'':19}{titles}  "
        f" {titles}{'adaptive':>10}"
    )
    for one in chosen:
        speed = [
            row
            for row in kept["speed"]
            if (row["data"], row["subject"]) == (one.data, one.name)
        ]
        ends = [
            row
            for row in kept["table4"]
            if (row["data"], row["subject"]) == (one.data, one.name)
        ]
        times = []
        for strategy in columns:
            rate = mean(of(kept["runs"], one, strategy), "per_1000") / 1000
            times.append(
                FINDINGS / rate / speed[0]["per_second"] if speed and rate else float("nan")
            )
        paper = TABLE_4[PAPER[one.name]] if one.data == "adult" else (float("nan"),) * 4
        line = (
            "".join(f"{x:9,.0f}" for x in paper)
            + "   "
            + "".join(f"{x:9,.0f}" for x in times)
        )
        last = f"{ends[0]['seconds']:10.1f}" if ends else f"{float('nan'):10}"
        short = (
            f"   {ends[0]['found']:,} found"
            if ends and ends[0]["found"] != FINDINGS
            else ""
        )
        print(f"{one.data:8}{one.name:11}{line}{last}".replace("nan", "  –") + short)


def judged(text: str, *, met: bool) -> None:
    print(f"{text}   {'yes' if met else 'NO'}")


def summary(chosen: list[Classifier], kept: dict[str, list[Row]]) -> None:
    """Print what was wanted of adaptive and what was measured; published ones count with the walks
    that suit them.
    """
    print("\nwanted of adaptive, and measured")
    for one in chosen:
        name, runs = f"{one.data:8}{one.name:11}", kept["runs"]
        ours = of(runs, one, "adaptive")
        fully = [
            some
            for strategy in ("fully-directed", *STEPS)
            if (some := of(runs, one, strategy))
        ]
        if not ours:
            continue
        rate = mean(ours, "per_1000")
        if one.data == "adult" and one.name in WANTED:
            share = 100 * rate / ceiling(one, "adaptive")
            judged(
                f"{name}{share:6.1f} % of the ceiling, wanted ≥ {WANTED[one.name]}",
                met=share >= WANTED[one.name],
            )
        if fully:
            times = mean(ours, "cells") / max(1, *(mean(some, "cells") for some in fully))
            judged(
                f"{name}{times:6.1f} x the cells of fully-directed, wanted ≥ {WANTED_CELLS:.0f}",
                met=times >= WANTED_CELLS,
            )
        published = [of(runs, one, strategy) for strategy in (*PUBLISHED, *STEPS)]
        best = max([mean(some, "per_1000") for some in published if some], default=0.0)
        judged(
            f"{name}{rate:6.1f} per 1,000 queries, best published {best:.1f}, wanted no fewer",
            met=rate >= best,
        )
        for row in kept["speed"]:
            if fully and (row["data"], row["subject"]) == (one.data, one.name):
                theirs = (
                    max(mean(some, "per_1000") for some in fully) / 1000 * row["per_second"]
                )
                ratio = row["adaptive"] / theirs if theirs else float("inf")
                judged(
                    f"{name}{ratio:6.0f} x the unique inputs per second of fully-directed one at a"
                    f" time ({theirs:,.1f}), wanted ≥ {WANTED_SPEED:.0f}",
                    met=ratio >= WANTED_SPEED,
                )
                if one.name == "forest":
                    alone = mean(ours, "seconds") / (mean(ours, "queries") / row["batch"])
                    print(
                        f"{name}{alone:6.2f} total time over the same number of rows asked of the"
                        " model in one call"
                    )
        if one.name == "forest":
            over = mean(ours, "seconds") / mean(ours, "inside")
            judged(
                f"{name}{over:6.2f} total time over time in the model, wanted ≤"
                f" {WANTED_OVERHEAD:.0f}",
                met=over <= WANTED_OVERHEAD,
            )


def merged(kept: list[Row], rows: list[Row]) -> list[Row]:
    """Return the rows with new ones in place of earlier ones of the same setting."""
    fields = ("data", "subject", "strategy", "seed")
    by_setting = {tuple(row.get(field) for field in fields): row for row in [*kept, *rows]}
    return list(by_setting.values())


def listed(text: str) -> list[str]:
    return text.split(",")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", choices=["runs", "speed", "table4", "report"])
    parser.add_argument("--data", type=listed, default=list(FILES))
    parser.add_argument("--subjects", type=listed, default=[*NAMES, *MORE])
    parser.add_argument("--strategies", type=listed, default=list(STRATEGIES))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--quick",
        action="store_true",
        help="a fifth of the queries, one seed, written elsewhere",
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    known = (
        ("data", tuple(FILES)),
        ("subjects", (*NAMES, *MORE)),
        ("strategies", STRATEGIES),
    )
    for field, names in known:
        for name in getattr(options, field):
            if name not in names:
                parser.error(f"--{field}: {name!r} is none of {', '.join(names)}")
    options.seeds = 1 if options.quick else options.seeds
    path = options.json or RESULTS / (
        "search-quick.json" if options.quick else "search.json"
    )
    chosen = [
        made[name] for made in map(subjects, options.data) for name in options.subjects
    ]
    kept: dict[str, list[Row]] = {"runs": [], "speed": [], "table4": []}
    kept.update(json.loads(path.read_text()) if path.exists() else {})
    sections = {"runs": section_runs, "speed": section_speed, "table4": section_table4}
    for name, section in sections.items():
        if options.only not in (None, name):
            continue
        start = time.perf_counter()
        kept[name] = merged(kept[name], section(chosen, options))
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(kept, indent=1) + "\n")
    tables_in_shape(chosen, kept)
    summary(chosen, kept)


if __name__ == "__main__":
    main()
