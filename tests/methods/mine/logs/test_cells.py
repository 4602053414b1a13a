"""The cells of a log: one pass over its rows, of which none is read, and the same results."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.mine.logs import cells, complete, counted, followers, quantiles
from evenhand.methods.mine.logs.cells import LogCells
from evenhand.population import recorded
from evenhand.runtime.errors import DataError, SpaceError
from tests.methods.mine.logs.frames import ENGINES, holes, log, row_by_row
from tests.support.helpers import examples, refused

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = log(2000)
HOLES = holes(LOG)
LABELS: dict[str, Any] = {"outcome": "ok", "over": ["sex", "veteran", "age"], "top": 3}
LARGE: dict[str, dict[str, Any]] = {
    "quantiles": {
        "over": ["sex", "income"],
        "outcome": "ok",
        "binning": "quantiles",
        "bins": 4,
    },
    "outcomes that are numbers": {
        "over": ["sex", "age"],
        "outcome": "pay",
        "limit": 0.2,
    },
    "scores that are probabilities": {
        "over": ["sex", "age"],
        "outcome": "score",
        "truth": "paid",
        "score": ["mean", "calibration"],
    },
    "what follows from dates": {
        "over": ["day", "year", "sex"],
        "outcome": "ok",
        "bins": 4,
    },
}

OUTSIDE = [*itertools.product(["polars lazy", "duckdb"], LARGE), ("dask", "quantiles")]
"""Engines whose rows are not in memory, and what is asked of each."""


@pytest.fixture
def read(monkeypatch) -> list[int]:
    """Return how many rows came back each time that an engine was asked."""
    sizes: list[int] = []
    collect = nw.LazyFrame.collect

    def watched(self: Any, *given: Any, **options: Any) -> Any:
        found = collect(self, *given, **options)
        sizes.append(len(found))
        return found

    monkeypatch.setattr(nw.LazyFrame, "collect", watched)
    return sizes


@pytest.fixture
def large(monkeypatch) -> None:
    """Take logs of over 100 rows that are not in memory for large ones, of which little is read."""
    monkeypatch.setattr(followers, "_FIRST", 100)
    monkeypatch.setattr(quantiles, "_BITS", (5, 8, 11, 20))
    monkeypatch.setattr(quantiles, "MOST_VALUES", 100)
    monkeypatch.setattr(complete, "MOST_READ", 100)
    monkeypatch.setattr("evenhand.methods.mine.recorded.MOST_READ", 100)
    monkeypatch.setattr("evenhand.methods.mine.logs.binned.MOST_VALUES", 50)


def named(frame: pd.DataFrame, how: dict[str, Any]) -> pd.DataFrame:
    """Return the columns of a log that are named."""
    names = [*how["over"], how["outcome"], how.get("truth", how["outcome"])]
    return frame[list(dict.fromkeys(names))]


def test_rows_are_counted_in_one_pass():
    passes = []

    def passed(frame: pl.DataFrame) -> pl.DataFrame:
        passes.append(len(frame))
        return frame

    lazy = pl.from_pandas(named(HOLES, LABELS)).lazy()
    schema = lazy.collect_schema()
    watched = lazy.map_batches(passed, schema=schema, streamable=False)
    found = eh.mine_log(watched, **LABELS)
    assert found.digest == eh.mine_log(HOLES, **LABELS).digest
    # The first rows, which show that rows are alike, and all rows once.
    assert len(passes) == 2


def test_cells_are_all_that_is_read(read):
    eh.mine_log(pl.from_pandas(LOG).lazy(), **LABELS)
    assert max(read) == len(LOG.groupby(["sex", "veteran", "age", "ok"]))


SMALL = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.one_of(st.integers(0, 3), st.none()),
    st.sampled_from([0.5, 1.25, float("nan")]),
    st.booleans(),
)


@settings(max_examples=examples(12))
@given(rows=st.lists(SMALL, min_size=20, max_size=60), times=st.integers(1, 4))
def test_mining_cells_is_mining_rows(rows, times):
    """Rows that come several times, with and without cells, and each read for itself."""
    frame = pd.DataFrame(rows * times, columns=["label", "whole", "real", "ok"])
    how: dict[str, Any] = {
        "outcome": "ok",
        "over": ["label", "whole", "real"],
        "bins": 3,
        "support": 0.1,
    }
    lazy = pl.from_pandas(frame).lazy()
    found = digest(lambda: eh.mine_log(lazy, **how))
    with pytest.MonkeyPatch.context() as patch:
        assert found == digest(lambda: row_by_row(patch, frame, **how))
        patch.setattr(LogCells, "of", lambda table: None)
        assert found == digest(lambda: eh.mine_log(lazy, **how))


def digest(mined: Callable[[], eh.Result]) -> str:
    """Return the digest of a result, or what is wrong."""
    try:
        return mined().digest
    except DataError as error:
        return str(error)


@pytest.mark.parametrize(("engine", "way"), OUTSIDE)
@pytest.mark.usefixtures("large")
def test_rows_of_large_logs_stay_where_they_are(engine, way, read):
    how = {"top": 3, **LARGE[way]}
    frame = named(HOLES, how)
    found = eh.mine_log(ENGINES[engine](frame), **how)
    assert max(read) < len(frame) / 4
    with pytest.MonkeyPatch.context() as patch:
        expected = row_by_row(patch, frame, **how)
    assert str(found) == str(expected)
    for estimate, other in zip(found.findings, expected.findings, strict=True):
        ends = (other.estimate.low, other.estimate.high)
        assert (estimate.estimate.low, estimate.estimate.high) == pytest.approx(ends, 1e-9)


@pytest.mark.usefixtures("large")
def test_people_of_large_logs_have_the_quantiles_of_all(read):
    how: dict[str, Any] = {**LARGE["quantiles"], "truth": "paid", "score": ["rate", "tpr"]}
    frame = named(HOLES, how)
    found = eh.mine_log(pl.from_pandas(frame).lazy(), **how)
    assert max(read) < len(frame) / 4
    (note,) = [note for note in found.notes if "quantiles" in note]
    assert note.startswith("the quantiles of income are those of all rows")
    in_memory = eh.mine_log(frame, **how)
    assert not any("quantiles" in note for note in in_memory.notes)
    assert found.details["mine"][0]["maps"] == in_memory.details["mine"][0]["maps"]


@pytest.mark.usefixtures("large")
def test_too_many_kinds_of_rows_are_refused_where_rows_are_many(monkeypatch):
    monkeypatch.setattr(counted, "MOST_HELD", 60)
    monkeypatch.setattr(cells, "MOST_TOGETHER", 10)
    lazy = pl.from_pandas(LOG).lazy()
    refused(
        SpaceError,
        lambda: eh.mine_log(lazy, **LABELS),
        "over sex, veteran, age: the rows are of more than 15 different kinds",
    )
    assert eh.mine_log(LOG, **LABELS).findings


@pytest.mark.usefixtures("large")
def test_an_error_of_a_large_log_names_the_value():
    frame = LOG[["sex", "ok"]].copy()
    frame["sex"] = LOG["iso"]
    frame.loc[800, "sex"] = "soon"
    lazy = pl.from_pandas(frame).lazy()
    refused(DataError, lambda: eh.mine_log(lazy, outcome="ok", over="sex"), "has 'soon'")


@pytest.mark.parametrize("engine", ["pandas", "polars", "pyarrow"])
def test_rows_in_memory_are_counted_in_parts(engine, monkeypatch):
    how: dict[str, Any] = {"outcome": "ok", "over": ["sex", "income", "score"], "bins": 4}
    frame = ENGINES[engine](HOLES)
    at_once = eh.mine_log(frame, **how)
    counts = []

    def watched(*given: Any, **options: Any) -> Any:
        found = recorded.count_rows(*given, **options)
        counts.append(len(found))
        return found

    monkeypatch.setattr(counted, "SLICE", 700)
    monkeypatch.setattr(counted, "count_rows", watched)
    in_parts = eh.mine_log(frame, **how)
    assert in_parts.digest == at_once.digest
    # Three parts, and what they give together.
    assert len(counts) == 4


def test_a_log_of_over_a_hundred_columns_warns_of_nothing():
    names = [f"x{number}" for number in range(110)]
    wide = pd.DataFrame({name: [0, 1] * 100 for name in names})
    # Warnings are errors here.
    found = eh.mine_log(
        wide.assign(ok=[0, 1, 1, 0] * 50), outcome="ok", over=names, depth=1
    )
    assert found.findings
