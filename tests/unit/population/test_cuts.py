"""Cuts: groups of numbers and dates that a person can read, whatever the engine."""

from __future__ import annotations

from datetime import date
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.population.cuts import Cuts, cut_columns
from evenhand.population.recorded import count_cells, labels_of, table_of
from evenhand.runtime.errors import DataError, UsageError

AGES = pd.DataFrame(
    {
        "age": [18, 24, 25, 39, 40, 75],
        "ok": [0, 1, 0, 1, 0, 1],
    }
)
DAYS = ["2019-12-31", "2020-01-01", "2020-02-29", "2021-07-04", None]
DATES = pd.DataFrame({"day": DAYS, "ok": [0, 1, 0, 1, 1]})


def groups_of(frame: Any, column: str, bins: Any) -> dict[str | None, int]:
    """Return how many rows each group has, in order."""
    table, cuts = cut_columns(table_of(frame), {column: bins}, [column])
    cells = count_cells(table, [column], "ok", cuts)
    found: dict[Any, int] = dict.fromkeys(cells[column].to_native().cat.categories, 0)
    sizes = cells[cells.columns[-1]].to_list()
    for label, size in zip(labels_of(cells, column), sizes, strict=True):
        found[label] = found.get(label, 0) + size
    return found


@pytest.mark.parametrize("engine", [pd.DataFrame, pl.from_pandas, pl.LazyFrame, pa.table])
def test_numbers_are_cut_alike_by_every_engine(engine):
    if engine is not pl.LazyFrame:
        frame = engine(AGES)
    else:
        frame = pl.from_pandas(AGES).lazy()
    expected = {"under 25": 2, "25 to 39": 2, "40 to 59": 1, "60 and over": 1}
    assert list(groups_of(frame, "age", [25, 40, 60]).items()) == list(expected.items())


def test_ends_without_rows_are_no_groups_but_those_between_are():
    assert groups_of(AGES, "age", [18, 26, 30, 90]) == {
        "18 to 25": 3,
        "26 to 29": 0,
        "30 to 89": 3,
    }


def test_whole_numbers_with_gaps_read_alike_and_broken_ones_do_not():
    gaps = AGES.astype({"age": float})
    gaps.loc[0, "age"] = np.nan
    assert groups_of(gaps, "age", [40]) == {"under 40": 3, "40 and over": 2, None: 1}
    broken = AGES.assign(age=AGES["age"] + 0.5)
    assert "25 to under 40" in groups_of(broken, "age", [25, 40])


@pytest.mark.parametrize("kind", ["text", "datetime", "polars", "arrow"])
def test_dates_are_cut_by_words_and_at_dates(kind):
    frame: Any = DATES
    if kind == "datetime":
        frame = DATES.assign(day=pd.to_datetime(DATES["day"]))
    elif kind == "polars":
        frame = pl.from_pandas(DATES).with_columns(pl.col("day").str.to_date())
    elif kind == "arrow":
        frame = pa.Table.from_pandas(DATES)
    by_year = groups_of(frame, "day", "year")
    assert by_year == {"2019": 1, "2020": 2, "2021": 1, None: 1}
    assert list(groups_of(frame, "day", "month"))[:2] == ["2019-12", "2020-01"]
    at_dates = groups_of(frame, "day", ["2020-01-01", date(2021, 1, 1)])
    assert at_dates == {
        "before 2020-01-01": 1,
        "2020-01-01 to 2020-12-31": 2,
        "2021-01-01 or later": 1,
        None: 1,
    }


def test_a_day_that_is_no_date_is_named_with_its_row():
    wrong = DATES.assign(day=["2020-01-01", "31 of May", *DAYS[2:]])
    with pytest.raises(DataError, match=r"row 1 holds '31 of May'"):
        groups_of(wrong, "day", "year")


@pytest.mark.parametrize(
    ("bins", "words"),
    [
        ({"age": "year"}, "holds numbers"),
        ({"age": "weeks"}, "is unknown"),
        ({"age": []}, "rising list"),
        ({"age": [3, "2020-01-01"]}, "rising list"),
        ({"age": [2, 1]}, "rising list"),
        ({"age": [True]}, "rising list"),
        ({"age": ["2020-01-01"]}, "holds numbers; give numbers"),
        ({"day": [1, 2]}, "does not hold numbers"),
        ({"years": [1]}, "not in over"),
        ([1, 2], "dictionary"),
    ],
)
def test_what_cannot_be_cut_is_refused(bins, words):
    frame = AGES.assign(day="2020-01-01")
    with pytest.raises(UsageError, match=words):
        cut_columns(table_of(frame), bins, ["age", "day"])


def test_one_value_is_a_group_by_itself():
    assert Cuts("age", (1, 2), whole=True).label(1) == "1"
