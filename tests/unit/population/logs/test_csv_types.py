"""Columns of CSV text have the same types for every engine, those that pandas finds."""

from __future__ import annotations

import narwhals as nw
import pandas as pd
import pytest

from evenhand.population.logs.csv_types import with_types
from evenhand.runtime.table_file import read_csv

COLUMNS = {
    "whole": ["1", "-2", "+3"],
    "padded": [" 1", "2 ", "3"],
    "fractions": ["1.5", ".5", "2e3"],
    "gaps": ["1", "NA", "3"],
    "holes": ["1", "", "3"],
    "labels": ["NA", "None", "x"],
    "truth": ["True", "false", "TRUE"],
    "codes": ["1", "2", "x3"],
    "nothing": ["", "", ""],
}


def _frames(frame: pd.DataFrame):
    pl = pytest.importorskip("polars", reason="polars is not installed")
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed")
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    arrow = pa.table(
        {name: pa.array(values, pa.string()) for name, values in COLUMNS.items()}
    )
    yield frame
    yield pl.from_arrow(arrow).lazy()
    yield arrow
    connection = duckdb.connect()
    yield connection.from_arrow(arrow)
    connection.close()


def _values(column):
    return [None if pd.isna(value) else value for value in column.to_list()]


def test_types_are_those_of_pandas_for_every_engine(tmp_path):
    texts = pd.DataFrame(COLUMNS)
    texts.to_csv(tmp_path / "x.csv", index=False)
    expected = read_csv(tmp_path / "x.csv")
    for frame in _frames(texts):
        table = with_types(nw.from_native(frame), list(COLUMNS)).lazy().collect()
        for name in COLUMNS:
            assert _values(table[name]) == _values(expected[name]), (name, type(frame))
