"""Columns that follow from dates in all rows, of which the first rows show little."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from tests.methods.mine.logs.frames import ENGINES

ROWS = 4000
DAYS = pd.date_range(
    "2010-01-01",
    periods=ROWS,
    freq="D",
)


def log_of(days: pd.DatetimeIndex) -> pd.DataFrame:
    """Return decisions on some days, with their years."""
    rows = np.arange(len(days))
    return pd.DataFrame(
        {
            "day": days,
            "year": days.year,
            "ok": rows % 2,
        }
    )


def derived(frame: Any, over: list[str]) -> list[Any]:
    result = eh.mine_log(
        frame,
        outcome="ok",
        over=over,
        depth=1,
    )
    return [feature.get("derived") for feature in result.space["features"]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_year_follows_from_a_day(engine):
    """The first 1,000 rows have one year in them, too few to tell."""
    first_year = DAYS[:365]
    other_years = DAYS[365:]
    days = first_year.append([first_year] * 4)
    days = days.append(other_years)
    frame = log_of(days)
    over = ["day", "year"]
    year_follows = ENGINES[engine](frame)
    assert derived(year_follows, over) == [None, "year(day)"]
    last = len(frame) - 1
    frame.loc[last, "year"] = 1999
    with_an_exception = ENGINES[engine](frame)
    assert derived(with_an_exception, over) == [None, None]


def test_few_days_are_enough():
    texts = ["2015-01-02", "2016-02-02", "2017-01-02"] * 500
    days = pd.to_datetime(texts)
    frame = log_of(days)
    assert derived(frame, ["day", "year"]) == [None, "year(day)"]
