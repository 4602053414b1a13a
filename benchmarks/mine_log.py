"""mine_log on logs of many rows: seconds and memory, beside the engine's own grouping of the rows.

`python benchmarks/mine_log.py [--rows 10000000] [--engines polars,duckdb,dask] [--only labels|
numbers|quantiles|errors|amounts|probabilities] [--quick]` writes a log to a Parquet file in a
temporary folder, mines it with every engine that is installed in a process of its own, prints a
table and writes benchmarks/results/mine_log.json.

`mining` is what the same takes for 20,000 of the rows, that is without the rows; `ratio` is what is
left of the seconds, divided by those of the engine's own grouping by the columns of labels.

Wanted: a ratio of labels of 1.3 at most, and memory that does not grow with the rows. Seconds
depend on the machine; ratios are of one run.
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

RESULTS = Path(__file__).parent / "results"
LABELS = ["sex", "race", "age", "home"]
WAYS: dict[str, Row] = {
    "labels": {"outcome": "ok", "over": LABELS},
    "numbers": {"outcome": "ok", "over": [*LABELS, "income"]},
    "quantiles": {"outcome": "ok", "over": [*LABELS, "income"], "binning": "quantiles"},
    "errors": {
        "outcome": "ok",
        "over": [*LABELS, "income"],
        "binning": "quantiles",
        "truth": "paid",
        "score": ["rate", "tpr"],
    },
    "amounts": {"outcome": "pay", "over": LABELS},
    "probabilities": {
        "outcome": "chance",
        "over": LABELS,
        "truth": "paid",
        "score": ["mean", "calibration"],
    },
}
"""2,400 kinds of people; the same with a number of a million values; its quantiles; these for error
rates too; numbers as outcomes; and probabilities with what came of them."""
ENGINES = ("polars", "duckdb", "pyarrow", "pandas", "dask")
PART = 1_000_000
"""Rows that are written at once."""


def write_log(path: Path, rows: int) -> None:
    """Write decisions in which women from 50 on lose 20 points."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    writer = None
    for start in range(0, rows, PART):
        rng = np.random.default_rng(start)
        n = min(PART, rows - start)
        sex = rng.integers(0, 2, n)
        race = rng.integers(0, 10, n)
        home = rng.integers(0, 2, n)
        age = rng.integers(18, 78, n)
        older_women = (sex == 0) & (age >= 50)
        ok = rng.random(n) < 0.6 - 0.2 * older_women
        frame = pd.DataFrame(
            {
                "sex": np.array(["F", "M"])[sex],
                "race": np.array([f"race {number}" for number in range(10)])[race],
                "age": age,
                "home": np.array(["own", "rent"])[home],
                "income": rng.integers(0, 1_000_000, n) / 7.0,
                "ok": ok.astype(np.int8),
                "paid": (rng.random(n) < 0.7).astype(np.int8),
                "chance": rng.random(n),
                "pay": 1000 + 500 * ok + 100 * rng.random(n),
            }
        )
        table = pa.Table.from_pandas(frame, preserve_index=False)
        writer = writer or pq.ParquetWriter(path, table.schema)
        writer.write_table(table)
    assert writer is not None
    writer.close()


def opened(engine: str, path: Path) -> tuple[Any, Callable[[list[str]], Any]]:
    """Return the log as a frame of an engine, and how the engine groups its rows."""
    if engine == "polars":
        import polars as pl

        lazy = pl.scan_parquet(path)
        return lazy, lambda keys: lazy.group_by(keys).len().collect()
    if engine == "duckdb":
        import duckdb

        relation = duckdb.connect().read_parquet(str(path))

        def grouped(keys: list[str]) -> Any:
            names = ", ".join(keys)
            return relation.aggregate(f"{names}, count(*)", names).fetchall()

        return relation, grouped
    if engine == "pyarrow":
        import pyarrow.parquet as pq

        table = pq.read_table(path)
        return table, lambda keys: table.group_by(keys).aggregate([([], "count_all")])
    if engine == "dask":
        import dask.dataframe as dd

        parts = dd.read_parquet(path)
        return parts, lambda keys: parts.groupby(keys, dropna=False).size().compute()
    frame = pd.read_parquet(path)
    return frame, lambda keys: frame.groupby(keys, observed=True, dropna=False).size()


def first_rows(path: Path) -> Any:
    """Return the first 20,000 rows, in memory."""
    import pyarrow.parquet as pq

    batch = next(pq.ParquetFile(path).iter_batches(20_000))
    return pd.DataFrame(batch.to_pydict())


def peak() -> float:
    """Return the most memory that this process has had, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def mined(engine: str, way: str, path: Path, answers: Any) -> None:
    """Mine the log once, in a process of its own, and put what it took into a queue."""
    import evenhand as eh

    frame, group = opened(engine, path)
    few = first_rows(path)
    for _ in range(2):  # the first one imports what is needed
        start = time.monotonic()
        eh.mine_log(few, **WAYS[way], depth=2)
        mining = time.monotonic() - start
    before = peak()
    start = time.monotonic()
    result = eh.mine_log(frame, **WAYS[way], depth=2)
    seconds = time.monotonic() - start
    memory = peak()
    start = time.monotonic()
    # Without the number of many values, which the engine would have to be told how to cut.
    group([*LABELS, "ok"])
    grouping = time.monotonic() - start
    answers.put(
        {
            "engine": engine,
            "way": way,
            "rows": result.details["mine"][0]["rows"],
            "seconds": round(seconds, 2),
            "grouping": round(grouping, 2),
            "mining": round(mining, 2),
            "ratio": round(max(seconds - mining, 0.0) / grouping, 1),
            "GB before": round(before, 2),
            "GB": round(memory, 2),
            "worst": str(result.worst.about),
            "digest": result.digest[:8],
        }
    )


def main() -> None:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--engines", default=",".join(ENGINES))
    parser.add_argument("--only", choices=list(WAYS))
    parser.add_argument("--quick", action="store_true", help="100,000 rows")
    options = parser.parse_args()
    rows = 100_000 if options.quick else options.rows
    ways = [options.only] if options.only else list(WAYS)
    # A process of its own for each, so that the peak of memory is that of one run.
    spawn = multiprocessing.get_context("spawn")
    found: list[Row] = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "log.parquet"
        writer = spawn.Process(target=write_log, args=(path, rows))
        writer.start()
        writer.join()
        for engine in options.engines.split(","):
            if importlib.util.find_spec(engine) is None:
                print(f"{engine} is not installed; it is left out", file=sys.stderr)
                continue
            for way in ways:
                answers = spawn.SimpleQueue()
                process = spawn.Process(target=mined, args=(engine, way, path, answers))
                process.start()
                process.join()
                if process.exitcode:
                    sys.exit(f"{engine}, {way}: ended with {process.exitcode}")
                found.append(answers.get())
                print(found[-1], flush=True)
    print(pd.DataFrame(found).to_string(index=False))
    RESULTS.mkdir(exist_ok=True)
    text = json.dumps(found, indent=1)
    (RESULTS / "mine_log.json").write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
