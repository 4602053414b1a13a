"""Columns that follow from dates in all rows, of which the first rows show little."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from tests.methods.mine.logs.frames import ENGINES

ROWS = 4000
DAYS = pd.date_range("2010-01-01", periods=ROWS, freq="D")


def derived(frame: Any, over: list[str]) -> list[Any]:
    result = eh.mine_log(frame, outcome="ok", over=over, depth=1)
    return [feature.get("derived") for feature in result.space["features"]]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_year_follows_from_a_day(engine):
    """The first 1,000 rows have one year in them, too few to tell."""
    day = DAYS.to_series().sort_values().reset_index(drop=True)
    first = day.dt.year == day.dt.year.iloc[0]
    day = pd.concat([day[first]] * 5 + [day[~first]], ignore_index=True)
    frame = pd.DataFrame({"day": day, "year": day.dt.year, "ok": 0})
    frame.loc[::2, "ok"] = 1
    assert derived(ENGINES[engine](frame), ["day", "year"]) == [None, "year(day)"]
    frame.loc[len(frame) - 1, "year"] += 1
    assert derived(ENGINES[engine](frame), ["day", "year"]) == [None, None]


def test_few_days_are_enough():
    days = pd.to_datetime(["2015-01-02", "2016-02-02", "2017-01-02"] * 500)
    frame = pd.DataFrame({"day": days, "year": days.year, "ok": [0, 1, 1, 0, 1] * 300})
    assert derived(frame, ["day", "year"]) == [None, "year(day)"]
