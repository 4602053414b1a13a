"""Logs of many rows: seconds and memory of each job, beside one bare group-by of the engine.

`python benchmarks/logs.py [--rows 10000000] [--engines duckdb,polars,pyarrow,dask,spark]
[--jobs one,three,…] [--runs 3] [--quick]` writes a folder of Parquet files to a temporary folder,
runs every job with every engine that is installed in a process of its own, prints a table and
writes benchmarks/results/logs.json. `--rows 100_000_000` is the full size.

The bare group-by is over the same columns, with the mean of the scores where there are scores. Both
are run in turn in one process, and the shortest of each is compared. Wanted: each job at most 1.3
times the group-by, under 2 GB, and one digest for all engines. What does not grow with the rows,
the intervals of all groups, is in the ratio too; the ratio of rows leaves out the seconds that a
few rows take.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

if TYPE_CHECKING:
    from collections.abc import Callable

    Row = dict[str, Any]
    GroupBy = Callable[[list[str], str | None], Any]

RESULTS = Path(__file__).parent / "results"
PART = 1_000_000
"""Rows of a file."""
FEW = 50_000
"""Rows in memory of which the same is asked, to tell what does not grow with the rows."""
COLUMNS = ["sex", "race", "home"]
SETS = [(name,) for name in COLUMNS]
JOBS: dict[str, Row] = {
    "one": {"verb": "measure_log", "outcome": "ok", "over": "sex"},
    "three": {"verb": "measure_log", "outcome": "ok", "over": SETS},
    "impact": {"verb": "impact", "outcome": "ok", "over": SETS},
    "truth": {"verb": "impact", "outcome": "ok", "over": SETS, "truth": "paid"},
    "scores": {"verb": "impact", "outcome": "score", "over": SETS, "scored": True},
    "mine": {"verb": "mine_log", "outcome": "ok", "over": COLUMNS, "depth": 2},
}
"""measure_log of one set and of three; impact, with a truth, and of scores; and mine_log."""
MODULES = {
    "duckdb": "duckdb",
    "polars": "polars",
    "pyarrow": "pyarrow",
    "dask": "dask",
    "spark": "pyspark",
}


def write_log(folder: Path, rows: int) -> None:
    """Write decisions in which women are accepted ten points less often."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    for number, start in enumerate(range(0, rows, PART)):
        rng = np.random.default_rng(number)
        n = min(PART, rows - start)
        sex = rng.integers(0, 2, n)
        race = rng.integers(0, 10, n)
        home = rng.integers(0, 2, n)
        ok = rng.random(n) < 0.6 - 0.1 * (sex == 0)
        is_wrong = rng.random(n) < 0.2
        columns = {
            "sex": np.array(["F", "M"])[sex],
            "race": np.array([f"race {number}" for number in range(10)])[race],
            "home": np.array(["own", "rent"])[home],
            "score": rng.normal(50, 10, n) + 3 * sex,
            "ok": ok.astype(np.int8),
            "paid": (ok ^ is_wrong).astype(np.int8),
        }
        pq.write_table(pa.table(columns), folder / f"{number:05}.parquet")


def opened(engine: str, folder: Path) -> tuple[Any, GroupBy]:
    """Return the log as a frame of an engine, and how the engine groups its rows."""
    return OPENED[engine](folder)


def _duckdb(folder: Path) -> tuple[Any, GroupBy]:
    import duckdb

    connection = duckdb.connect()
    connection.execute(f"set temp_directory = '{folder.parent / 'spilled'}'")
    relation = connection.read_parquet(str(folder / "*.parquet"))

    def grouped(keys: list[str], score: str | None) -> Any:
        names = ", ".join(keys)
        what = "count(*)" if score is None else f"avg({score})"
        return relation.aggregate(f"{names}, {what}", names).fetchall()

    return relation, grouped


def _polars(folder: Path) -> tuple[Any, GroupBy]:
    import polars as pl

    lazy = pl.scan_parquet(folder / "*.parquet")

    def grouped(keys: list[str], score: str | None) -> Any:
        what = pl.len() if score is None else pl.col(score).mean()
        return lazy.group_by(keys).agg(what).collect(engine="streaming")

    return lazy, grouped


def _pyarrow(folder: Path) -> tuple[Any, GroupBy]:
    import pyarrow.parquet as pq

    table = pq.read_table(folder)

    def grouped(keys: list[str], score: str | None) -> Any:
        what: Any = ([], "count_all") if score is None else (score, "mean")
        return table.group_by(keys).aggregate([what])

    return table, grouped


def _dask(folder: Path) -> tuple[Any, GroupBy]:
    import dask.dataframe as dd

    frame = dd.read_parquet(folder)

    def grouped(keys: list[str], score: str | None) -> Any:
        groups = frame.groupby(keys, dropna=False)
        return (groups.size() if score is None else groups[score].mean()).compute()

    return frame, grouped


def _spark(folder: Path) -> tuple[Any, GroupBy]:
    from pyspark.sql import SparkSession, functions

    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    frame = session.read.parquet(str(folder))

    def grouped(keys: list[str], score: str | None) -> Any:
        what = functions.count("*") if score is None else functions.mean(score)
        return frame.groupBy(*keys).agg(what).collect()

    return frame, grouped


OPENED = {
    "duckdb": _duckdb,
    "polars": _polars,
    "pyarrow": _pyarrow,
    "dask": _dask,
    "spark": _spark,
}


def peak() -> float:
    """Return the most memory that this process has had, in GB; that of Spark is its own."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def timed(run: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds that something takes, and what it returns."""
    start = time.monotonic()
    found = run()
    return time.monotonic() - start, found


def measured(engine: str, job: str, folder: Path, runs: int, answers: Any) -> None:
    """Run one job and the bare group-by in turn, and put what they took into a queue."""
    import evenhand as eh

    frame, group = opened(engine, folder)
    settings = dict(JOBS[job])
    verb = getattr(eh, settings.pop("verb"))
    over = ["sex"] if settings["over"] == "sex" else COLUMNS
    is_scored = "scored" in settings
    keys = over if is_scored else [*over, settings["outcome"]]
    if "truth" in settings:
        keys = [*keys, settings["truth"]]
    score = settings["outcome"] if is_scored else None
    bare = []
    seconds = []
    for _ in range(runs):
        bare.append(timed(lambda: group(keys, score))[0])
        took, result = timed(lambda: verb(frame, **settings))
        seconds.append(took)
    few = pd.read_parquet(next(folder.iterdir())).head(FEW)
    fixed = min(timed(lambda: verb(few, **settings))[0] for _ in range(runs))
    answers.put(
        {
            "engine": engine,
            "job": job,
            "seconds": round(min(seconds), 2),
            "group-by": round(min(bare), 2),
            "ratio": round(min(seconds) / min(bare), 2),
            "few rows": round(fixed, 2),
            "ratio of rows": round((min(seconds) - fixed) / min(bare), 2),
            "GB": round(peak(), 2),
            "digest": result.digest[:8],
        }
    )


def run_all(folder: Path, engines: list[str], jobs: list[str], runs: int) -> list[Row]:
    """Run every job with every engine, each in a process of its own."""
    spawn = multiprocessing.get_context("spawn")
    found: list[Row] = []
    for engine in engines:
        if importlib.util.find_spec(MODULES[engine]) is None:
            print(f"{engine} is not installed; it is left out", file=sys.stderr)
            continue
        for job in jobs:
            answers = spawn.SimpleQueue()
            process = spawn.Process(
                target=measured, args=(engine, job, folder, runs, answers)
            )
            process.start()
            process.join()
            if process.exitcode:
                print(f"{engine}, {job}: ended with {process.exitcode}", file=sys.stderr)
                continue
            found.append(answers.get())
            print(found[-1], flush=True)
    return found


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--engines", default=",".join(MODULES))
    parser.add_argument("--jobs", default=",".join(JOBS))
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="200,000 rows")
    options = parser.parse_args()
    rows = 200_000 if options.quick else options.rows
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log"
        path.mkdir()
        # In a process of its own, so that its memory is not that of the jobs.
        writer = spawn.Process(target=write_log, args=(path, rows))
        writer.start()
        writer.join()
        engines = options.engines.split(",")
        found = run_all(path, engines, options.jobs.split(","), options.runs)
    print(pd.DataFrame(found).to_string(index=False))
    for job in options.jobs.split(","):
        digests = {row["digest"] for row in found if row["job"] == job}
        print(f"{job}: {'one digest' if len(digests) == 1 else f'{len(digests)} digests'}")
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps({"rows": rows, "runs": found}, indent=1)
    (RESULTS / "logs.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
