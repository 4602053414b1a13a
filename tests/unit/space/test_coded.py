"""Columns of labels as codes: what is encoded is the same as value by value, in any engine."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import evenhand as eh
from evenhand.runtime.errors import DataError
from evenhand.space.encoding import encode_column, taken_values
from evenhand.space.frames.coded import CodedLabels
from evenhand.space.frames.reading import eager, values_of

TEXTS = ["b", None, "a", "b", "é", None, "a"]
FEATURE = eh.category("x", ["a", "b", "c", "é"], missing=True)
CODES = [1.0, 4.0, 0.0, 1.0, 3.0, 4.0, 0.0]


def arrow(values: list[Any], dtype: Any = None) -> pa.Table:
    table = pa.table({"x": pa.array(values, type=dtype)})
    return pa.concat_tables([table.slice(0, 2), table.slice(2)])


def with_a_null_inside() -> pa.Table:
    levels = pa.array(["unused", "b", None, "a", "é"])
    codes = pa.array([1, 2, 3, 1, 4, None, 3], type=pa.int8())
    return pa.table({"x": pa.DictionaryArray.from_arrays(codes, levels)})


FRAMES = {
    "objects": pd.DataFrame({"x": pd.Series(TEXTS, dtype=object, index=range(7, 0, -1))}),
    "str": pd.DataFrame({"x": pd.Series(TEXTS, dtype="str")}),
    "string": pd.DataFrame({"x": pd.Series(TEXTS, dtype=pd.StringDtype("python"))}),
    "arrow-backed": pd.DataFrame({"x": pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string()))}),
    "category": pd.DataFrame({"x": pd.Categorical(TEXTS, ["é", "unused", "b", "a"])}),
    "polars": pl.DataFrame({"x": TEXTS}),
    "polars categorical": pl.DataFrame({"x": pl.Series(TEXTS, dtype=pl.Categorical)}),
    "polars enum": pl.DataFrame({"x": pl.Series(TEXTS, dtype=pl.Enum(["é", "b", "a"]))}),
    "pyarrow": arrow(TEXTS),
    "pyarrow large": arrow(TEXTS, pa.large_string()),
    "pyarrow view": arrow(TEXTS, pa.string_view()),
    "pyarrow dictionary": arrow(TEXTS, pa.dictionary(pa.int8(), pa.string())),
    "null in a dictionary": with_a_null_inside(),
}


@pytest.mark.parametrize("name", FRAMES)
def test_texts_are_codes_in_every_engine(name: str) -> None:
    space = eh.Space([FEATURE])
    column = values_of(eager(FRAMES[name]), FEATURE)
    assert isinstance(column, CodedLabels)
    assert [value if isinstance(value, str) else None for value in column] == TEXTS
    assert space.encode(FRAMES[name])[:, 0].tolist() == CODES
    assert taken_values(FEATURE, column).all()


@pytest.mark.parametrize("name", FRAMES)
def test_the_first_row_that_is_wrong_is_named(name: str) -> None:
    without = eh.category("x", ["b", "z"], missing=True)
    with pytest.raises(DataError, match="'a' in row 2 is not one of its levels"):
        eh.Space([without]).encode(FRAMES[name])
    complete = eh.category("x", ["a", "b", "é"])
    with pytest.raises(DataError, match="missing in 2 of 7 rows, the first of them row 1"):
        eh.Space([complete]).encode(FRAMES[name])
    column = values_of(eager(FRAMES[name]), without)
    taken = taken_values(without, column).tolist()
    assert taken == [True, True, False, True, False, True, False]


def test_numbers_and_truth_values_are_levels_as_ever() -> None:
    frame = pd.DataFrame({"x": pd.Series([1, True, 0.0, np.int64(1)], dtype=object)})
    levels = eh.category("x", [0, 1])
    assert eh.Space([levels]).encode(frame)[:, 0].tolist() == [1.0, 1.0, 0.0, 1.0]
    whole = pl.DataFrame({"x": [3, None, 1]})
    numbers = eh.category("x", [1, 3], missing=True)
    assert eh.Space([numbers]).encode(whole)[:, 0].tolist() == [1.0, 2.0, 0.0]


def test_values_that_cannot_be_looked_up_are_no_levels() -> None:
    frame = pd.DataFrame({"x": pd.Series(["a", ["a"]], dtype=object)})
    with pytest.raises(DataError, match="in row 1 is not one of its levels"):
        eh.Space([FEATURE]).encode(frame)


def test_equal_moments_may_be_other_days() -> None:
    evening = datetime.datetime(2020, 1, 1, 23, 30, tzinfo=datetime.UTC)
    in_berlin = pd.Timestamp(evening).tz_convert("Europe/Berlin")
    assert evening == in_berlin
    frame = pd.DataFrame({"day": pd.Series([evening, in_berlin], dtype=object)})
    space = eh.Space([eh.date("day", "2020-01-01", "2020-01-31")])
    assert space.records(space.encode(frame)) == [
        {"day": "2020-01-01"},
        {"day": "2020-01-02"},
    ]


def test_dates_written_as_texts_are_read_once_each() -> None:
    days = ["2020-01-31", "2020-02-01"] * 20
    frame = pd.DataFrame({"day": days, "no": [f"{at:02}" for at in range(40)]})
    space = eh.Space.from_frame(frame)
    assert [feature.kind for feature in space.features] == ["date", "category"]
    assert space.decode(space.encode(frame)).equals(frame)


def test_a_column_of_codes_is_encoded_like_its_list() -> None:
    column = CodedLabels(["b", "é"], np.array([1, -1, 0], dtype=np.int8))
    coded = encode_column(FEATURE, column, where="frame")
    listed = encode_column(FEATURE, list(column), where="frame")
    assert coded.tolist() == listed.tolist() == [3.0, 4.0, 1.0]
