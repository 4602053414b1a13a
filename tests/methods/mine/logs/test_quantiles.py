"""Quantiles of very many numbers, counted by the engine: numpy's of all rows, to the last digit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.mine.bins import counted_quantiles
from evenhand.methods.mine.logs import quantiles
from evenhand.methods.mine.logs.complete import CompleteRows
from evenhand.population import recorded
from evenhand.population.recorded import table_of
from tests.methods.mine.logs.frames import ENGINES
from tests.support.helpers import examples

SHARES = np.array([0.1, 0.25, 0.5, 0.77])
REALS = st.one_of(
    st.floats(-5, 5),
    st.integers(-3, 3).map(float),
    st.sampled_from([1e12, -1e9, 1e-300, float("nan")]),
)


def rows_of(frame: pd.DataFrame, engine: str) -> CompleteRows:
    """Return the rows of an engine's frame."""
    table = table_of(ENGINES[engine](frame))
    return CompleteRows.of(table, ["x"], ["ok"]).without_cells()


@pytest.fixture
def few_values(monkeypatch):
    """Let numbers be cut again and again until two or fewer are left."""
    monkeypatch.setattr(quantiles, "MOST_VALUES", 2)


@pytest.mark.usefixtures("few_values")
@settings(max_examples=examples(80))
@given(
    values=st.lists(REALS, min_size=1, max_size=60),
    engine=st.sampled_from(["pandas", "polars lazy", "pyarrow"]),
)
def test_quantiles_are_those_of_all_rows(values, engine):
    column = np.array(values)
    known = column[~np.isnan(column)]
    if not len(known):
        return
    rows = rows_of(pd.DataFrame({"x": column, "ok": 1}), engine)
    numbers, counts = quantiles.numbers_around(rows, "x", SHARES)
    assert counts.sum() == len(known)
    found = counted_quantiles(numbers, counts, SHARES)
    assert found.tolist() == np.quantile(known, SHARES).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_few_numbers_are_read_of_many(engine, monkeypatch):
    monkeypatch.setattr(quantiles, "MOST_VALUES", 50)
    rng = np.random.default_rng(0)
    column = rng.lognormal(10, 3, 3000)
    rows = rows_of(pd.DataFrame({"x": column, "ok": 1}), engine)
    read = []

    def watched(table: Any, keys: Any) -> Any:
        found = recorded.count_rows(table, keys)
        read.append(len(found))
        return found

    monkeypatch.setattr(quantiles, "count_rows", watched)
    numbers, counts = quantiles.numbers_around(rows, "x", SHARES)
    assert max(read) <= 50
    found = counted_quantiles(numbers, counts, SHARES)
    assert found.tolist() == np.quantile(column, SHARES).tolist()


@pytest.mark.parametrize("engine", ENGINES)
def test_dates_and_narrow_floats_are_counted_by_value(engine):
    rng = np.random.default_rng(1)
    hours = rng.integers(0, 40_000, 500)
    frame = pd.DataFrame({"x": pd.Timestamp("2020-01-01") + pd.to_timedelta(hours, "h")})
    expect_quantiles(frame, engine)
    narrow = np.round(rng.uniform(0, 5, 500), 1).astype(np.float32)
    expect_quantiles(pd.DataFrame({"x": narrow}), engine)


def expect_quantiles(frame: pd.DataFrame, engine: str) -> None:
    """Expect the quantiles of a column to be those of its encoded values."""
    space = eh.Space.from_frame(frame)
    rows = rows_of(frame.assign(ok=1), engine)
    values, counts = quantiles.values_around(rows, space.feature("x"), SHARES)
    found = counted_quantiles(values, counts, SHARES)
    expected = np.quantile(space.encode(frame)[:, 0], SHARES)
    assert found.tolist() == expected.tolist()
