"""The median of scores is exact, wherever it lies, and so is how many scores are above it."""

from __future__ import annotations

from typing import Any

import duckdb
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.population.counting import scores
from evenhand.population.counting.scores import ScoreCounts


def by_duckdb(frame: pd.DataFrame) -> Any:
    connection = duckdb.connect()
    connection.register("log", frame)
    connection.execute("create table kept as select * from log")
    return connection.table("kept")


ENGINES: dict[str, Any] = {
    "pandas": lambda frame: frame,
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "duckdb": by_duckdb,
}


def check(values: Any, engine: str = "pandas") -> None:
    """Compare what is counted with pandas' own median."""
    sex = np.arange(len(values)) % 3
    frame = pd.DataFrame({"sex": sex, "score": np.asarray(values, dtype=float)})
    table = nw.from_native(ENGINES[engine](frame))
    found = ScoreCounts.of(table, [("sex",)], "score", {})
    known = frame.dropna()
    median = known["score"].median()
    assert found.median == pytest.approx(median, rel=1e-15)
    cells = found.cells[0].to_pandas()
    counted = cells.set_index(["sex", "score"]).iloc[:, 0].to_dict()
    for group in set(known["sex"]):
        own = known.loc[known["sex"] == group, "score"]
        assert counted.get((group, 1.0), 0) == int((own > found.median).sum())
        assert counted.get((group, 0.0), 0) == int((own <= found.median).sum())
    assert found.rows == len(frame)
    assert int(cells.iloc[:, -1].sum()) == len(frame)


NORMAL = np.random.default_rng(0).normal(size=4001)
CASES = {
    "any order": NORMAL,
    "rising": np.sort(NORMAL),
    "falling": np.sort(NORMAL)[::-1],
    "many zeros": np.where(NORMAL < 0.5, 0.0, NORMAL),
    "two values": (NORMAL > 0).astype(float),
    "few first": np.concatenate([np.zeros(500), NORMAL]),
    "missing first": np.concatenate([np.full(500, np.nan), NORMAL]),
    "infinite": np.concatenate([[-np.inf] * 100, NORMAL, [np.inf] * 50]),
    "large and small": NORMAL * 1e300,
    "even": NORMAL[:4000],
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", CASES)
def test_the_median_is_exact_whatever_the_first_rows_are_like(
    case: str, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "LOOK", 200)
    check(CASES[case], engine)


@settings(deadline=None, max_examples=20)
@given(
    st.lists(st.floats(-1e9, 1e9) | st.integers(0, 3).map(float), min_size=1, max_size=60)
)
def test_the_median_of_any_scores(values: list[float]) -> None:
    check(values)
