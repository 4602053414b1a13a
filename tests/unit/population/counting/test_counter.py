"""Recorded decisions are counted in one pass by any engine; what cannot be is refused early."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.dataset as pads
import pyarrow.parquet as pq
import pytest
from polars.io.plugins import register_io_source

import evenhand as eh
from evenhand.population.counting import counter as counting
from evenhand.population.counting.counter import RowCounter
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

ROWS = 12_000
SETS = [("sex",), ("race",), ("home",)]


def people(n: int = ROWS) -> pd.DataFrame:
    """Decisions and scores, in which something is missing here and there."""
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], n)
    ok = rng.random(n) < 0.6 - 0.1 * (sex == "F")
    frame = pd.DataFrame(
        {
            "sex": sex,
            "race": rng.choice(["a", "b", "c"], n),
            "home": rng.choice(["own", "rent"], n),
            "age": rng.integers(18, 90, n).astype(float),
            "ok": ok.astype(float),
            "paid": (ok ^ (rng.random(n) < 0.2)).astype(float),
            "score": rng.normal(50, 10, n) + 3 * (sex == "M"),
        }
    )
    for name in ("sex", "race", "age", "ok", "paid", "score"):
        frame.loc[rng.random(n) < 0.03, name] = None
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Parquet files."""
    path: Path = tmp_path_factory.mktemp("log")
    frame = people()
    for part in range(3):
        rows = frame.iloc[part * ROWS // 3 : (part + 1) * ROWS // 3]
        table = pa.Table.from_pandas(rows, preserve_index=False)
        pq.write_table(table, path / f"{part}.parquet")
    return path


def _dask(folder: Path) -> Any:
    import dask.dataframe as dd

    return dd.read_parquet(folder)


def _spark(folder: Path) -> Any:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
    builder = builder.config("spark.sql.shuffle.partitions", "2")
    return builder.getOrCreate().read.parquet(str(folder))


ENGINES: dict[str, Callable[[Path], Any]] = {
    "pandas": pd.read_parquet,
    "polars": lambda folder: pl.read_parquet(folder / "*.parquet"),
    "polars lazy": lambda folder: pl.scan_parquet(folder / "*.parquet"),
    "pyarrow": pq.read_table,
    "dataset": pads.dataset,
    "duckdb": lambda folder: duckdb.connect().read_parquet(str(folder / "*.parquet")),
    "dask": _dask,
    "spark": _spark,
}
HEAVY = ("dask", "spark")


def digests(frame: Any) -> list[str]:
    """The digests of jobs that count rows."""
    cut: Any = {"over": ["sex", "age"], "bins": {"age": [25, 40]}, "outcome": "ok"}
    found = [
        eh.measure_log(frame, outcome="ok", over=SETS, truth="paid"),
        eh.measure_log(frame, **cut, labels={"sex": {"F": "women"}}),
        eh.impact(frame, outcome="ok", over=["sex"], truth="paid"),
        eh.impact(frame, outcome="score", over=SETS, scored=True, intersections=False),
    ]
    return [result.digest for result in found]


@pytest.fixture(scope="module")
def of_pandas(folder: Path) -> list[str]:
    """The digests that every engine has."""
    return digests(pd.read_parquet(folder))


@pytest.mark.parametrize(
    "engine",
    [
        pytest.param(name, marks=pytest.mark.heavy if name in HEAVY else ())
        for name in ENGINES
        if name != "pandas"
    ],
)
@pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_a_log_has_one_digest_in_every_engine(
    engine: str, folder: Path, of_pandas: list[str]
) -> None:
    if engine in HEAVY:
        pytest.importorskip({"dask": "dask", "spark": "pyspark"}[engine])
    assert digests(ENGINES[engine](folder)) == of_pandas


class Scans:
    """A lazy frame of polars that counts how often its rows are read to the end."""

    def __init__(self, frame: pl.DataFrame) -> None:
        self.frame = frame
        self.full = 0
        self.lazy = register_io_source(self._read, schema=frame.schema)

    def _read(
        self,
        with_columns: list[str] | None,
        predicate: pl.Expr | None,
        n_rows: int | None,
        batch_size: int | None,
    ) -> Iterator[pl.DataFrame]:
        if n_rows is None:
            self.full += 1
        found = self.frame.lazy()
        if with_columns is not None:
            found = found.select(with_columns)
        if n_rows is not None:
            found = found.head(n_rows)
        if predicate is not None:
            found = found.filter(predicate)
        yield found.collect()


PASSES: dict[str, Callable[[Any], Any]] = {
    "one set": lambda log: eh.measure_log(log, outcome="ok", over="sex"),
    "three sets": lambda log: eh.measure_log(log, outcome="ok", over=SETS, truth="paid"),
    "labels": lambda log: eh.measure_log(
        log, outcome="ok", over="sex", labels={"sex": {"F": "women"}}
    ),
    "impact": lambda log: eh.impact(log, outcome="ok", over=SETS),
    "audit": lambda log: eh.audit_log(
        log,
        outcome="ok",
        over=["sex", "race"],
        checks=[{"job": "impact"}, {"job": "measure_log"}],
    ),
}


@pytest.mark.parametrize("job", PASSES)
def test_rows_are_read_once(job: str) -> None:
    scans = Scans(pl.from_pandas(people()))
    PASSES[job](scans.lazy)
    assert scans.full == 1


def test_two_jobs_read_the_rows_twice() -> None:
    scans = Scans(pl.from_pandas(people()))
    PASSES["impact"](scans.lazy)
    PASSES["one set"](scans.lazy)
    assert scans.full == 2


@pytest.mark.parametrize("verb", [eh.measure_log, eh.impact])
def test_a_column_of_floats_is_refused_before_all_rows_are_read(verb: Any) -> None:
    scans = Scans(pl.from_pandas(people()))
    with pytest.raises(
        UsageError, match=r"'score' holds 9,\d+ different numbers in its first"
    ):
        verb(scans.lazy, outcome="ok", over="score")
    assert scans.full == 0


def test_numbers_that_differ_later_are_refused_when_they_were_counted() -> None:
    late = np.where(np.arange(ROWS) < 11_000, 1, np.arange(ROWS))
    log = pl.DataFrame({"late": late, "ok": np.arange(ROWS) % 2}).lazy()
    with pytest.raises(UsageError, match="'late' holds 1,001 different numbers, over"):
        eh.measure_log(log, outcome="ok", over="late")


def test_outcomes_that_are_numbers_later_are_numbers() -> None:
    late = np.where(np.arange(ROWS) < 11_000, 1, np.arange(ROWS))
    frame = pl.DataFrame({"sex": ["F", "M"] * (ROWS // 2), "late": late})
    found = eh.measure_log(frame.lazy(), outcome="late", over="sex")
    assert found.findings[0].score == "mean difference"


@pytest.mark.parametrize("engine", ["polars lazy", "duckdb", "pyarrow"])
def test_sets_that_make_too_many_cells_are_counted_apart(
    engine: str, folder: Path, of_pandas: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(counting, "MOST_TOGETHER", 1)
    assert digests(ENGINES[engine](folder)) == of_pandas


def test_missing_values_and_rows_are_those_of_the_frame() -> None:
    frame = people()
    counter = RowCounter(RowCounter.of(frame).table, ("sex", "ok"))
    assert counter.rows == ROWS
    assert counter.missing(["sex", "ok"]) == int(frame[["sex", "ok"]].isna().sum().sum())
    assert [cube.names for cube in counter.cubes] == [("sex", "ok")]
