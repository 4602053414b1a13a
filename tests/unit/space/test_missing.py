"""Missing values are values: declared, inferred, drawn, encoded and given back as they came."""

import datetime
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.runtime.errors import DataError, SpaceError
from evenhand.space.feature import category, date, integer, real
from evenhand.space.space import Space
from tests.support.helpers import refused
from tests.unit.space.test_frames import round_trip

DAY = datetime.date(2020, 5, 1)
TEXTS = ["b", None, "a", "b"]
PANDAS = [
    pd.Series(TEXTS, dtype=object),
    pd.Series(["b", math.nan, "a", "b"], dtype=object),
    pd.Series([True, None, False, True], dtype=object),
    pd.Series(TEXTS, dtype="str"),
    pd.Series(TEXTS, dtype="string[python]"),
    pd.Series(TEXTS, dtype="string[pyarrow]"),
    pd.Series(TEXTS, dtype="category"),
    pd.Series(pd.Categorical(TEXTS, categories=["b", "unused", "a"], ordered=True)),
    pd.Series([2, None, 1, 2], dtype="category"),
    pd.Series(TEXTS, dtype=pd.ArrowDtype(pa.string())),
    pd.Series([True, None, False, True], dtype="boolean"),
    pd.Series([3.0, math.nan, 1.0, 7.0]),
    pd.Series([0.5, math.nan, 1.25, 7.0], dtype="float32"),
    pd.Series([1 / 3, math.nan, 1.25, 7.0]),
    pd.Series([3, None, 1, 7], dtype="Int64"),
    pd.Series([3, None, 1, 7], dtype="UInt8"),
    pd.Series([0.5, None, 1.0, 7.0], dtype="Float64"),
    pd.Series([3, None, 1, 7], dtype=pd.ArrowDtype(pa.int32())),
    pd.to_datetime(pd.Series(["2020-01-31", None, "1969-12-31", "2020-02-29"])),
    pd.Series(["2020-01-31", None, "1969-12-31"], dtype="datetime64[ns]"),
    pd.to_datetime(pd.Series(["2020-01-31", None])).dt.tz_localize("Europe/Berlin"),
    pd.Series(["2020-01-31", None, "1969-12-31"], dtype="str"),
    pd.Series(["2020-01-31", None, "1969-12-31"], dtype=object),
    pd.Series([DAY, None], dtype=pd.ArrowDtype(pa.date32())),
]
OTHERS = [
    pl.DataFrame({"x": TEXTS}),
    pl.DataFrame({"x": pl.Series(TEXTS, dtype=pl.Categorical)}),
    pl.DataFrame({"x": pl.Series(TEXTS, dtype=pl.Enum(["b", "a"]))}),
    pl.DataFrame({"x": [True, None, False]}),
    pl.DataFrame({"x": pl.Series([3, None, 1], dtype=pl.UInt8)}),
    pl.DataFrame({"x": [0.25, None, 1 / 3]}),
    pl.DataFrame({"x": [DAY, None]}),
    pl.DataFrame({"x": [datetime.datetime(2020, 5, 1), None]}),
    pl.DataFrame({"x": ["2020-05-01", None]}),
    pa.table({"x": TEXTS}),
    pa.table({"x": pa.array(TEXTS).dictionary_encode()}),
    pa.table({"x": pa.array([3, None, 1], type=pa.int8())}),
    pa.table({"x": [0.25, None, 1 / 3]}),
    pa.table({"x": [True, None, False]}),
    pa.table({"x": [DAY, None]}),
    pa.table({"x": [datetime.datetime(2020, 5, 1), None]}),
    pa.table({"x": ["2020-05-01", None]}),
]
EVERY = [
    category("x", ["a", "b"], missing=True),
    category("x", [1, 2], missing=0.25),
    integer("x", 3, 9, step=2, missing=0.25),
    real("x", 0.1, 0.7, step=0.1, missing=True),
    real("x", -1.0, 1.0, missing=True),
    date("x", "2020-01-01", "2020-12-31", missing=0.5),
]


@pytest.mark.parametrize("beside", [False, True])
@pytest.mark.parametrize("column", PANDAS, ids=lambda column: str(column.dtype))
def test_pandas_columns_come_back_with_their_gaps(column, beside):
    frame = pd.DataFrame({"x": column})
    if beside:
        frame["number"] = np.arange(len(column))
    feature = round_trip(frame).features[0]
    assert feature.missing == column.isna().mean()


@pytest.mark.parametrize("frame", OTHERS, ids=str)
def test_columns_of_other_engines_come_back_with_their_gaps(frame):
    feature = round_trip(frame).features[0]
    if isinstance(frame, pl.DataFrame):
        nulls = frame["x"].null_count()
    else:
        nulls = 1
    assert feature.missing == nulls / len(frame)


def test_whole_numbers_with_gaps_stay_whole():
    space = Space.from_frame(pd.DataFrame({"x": [3.0, None, 1.0]}))
    assert space.features[0].kind == "integer"
    assert space.features[0].low == 1
    points = space.encode([{"x": None}, {"x": 2}])
    frame = space.decode(points)
    assert frame["x"].dtype == np.float64


@given(
    st.lists(st.none() | st.sampled_from("abc"), min_size=1),
    st.sampled_from(["str", "object", "category", "string"]),
)
def test_any_texts_with_gaps_come_back(values, dtype):
    column = pd.Series([*values, "a"], dtype=dtype)
    frame = pd.DataFrame({"x": column})
    space = Space.from_frame(frame)
    points = space.encode(frame)
    pd.testing.assert_frame_equal(space.decode(points), frame)


@given(st.lists(st.none() | st.integers(-(2**40), 2**40), min_size=1))
def test_any_whole_numbers_with_gaps_come_back(values):
    values = [*values, 5]
    frames: list[Any] = [
        pd.DataFrame({"x": pd.Series(values, dtype="Int64")}),
        pl.DataFrame({"x": pl.Series(values, dtype=pl.Int64)}),
        pa.table({"x": pa.array(values, type=pa.int64())}),
    ]
    for frame in frames:
        space = Space.from_frame(frame)
        assert space.decode(space.encode(frame)).equals(frame)


@given(st.lists(st.none() | st.dates(), min_size=1))
def test_any_dates_with_gaps_come_back(values):
    values = [*values, DAY]
    texts = [None if day is None else str(day) for day in values]
    frames: list[Any] = [
        pl.DataFrame({"x": values}),
        pa.table({"x": values}),
        pd.DataFrame({"x": texts}),
    ]
    for frame in frames:
        space = Space.from_frame(frame)
        assert space.features[0].kind == "date"
        assert space.decode(space.encode(frame)).equals(frame)


@pytest.mark.parametrize("feature", EVERY, ids=lambda feature: feature.domain)
def test_the_code_lies_beside_the_domain_and_is_finite(feature):
    code = feature.missing_code
    if math.isfinite(feature.size):
        known = feature.values()
    else:
        known = np.array([-1.0, 1.0])
    assert math.isfinite(code)
    assert not np.isin(code, known)
    column = np.append(known, code)
    is_missing = feature.is_missing(column)
    assert not is_missing[:-1].any()
    assert is_missing[-1]
    assert feature.inside(column).all()
    assert feature.labels(column)[-1] is None
    assert None not in feature.labels(known)
    assert feature.snap(column)[-1] == code
    space = Space([feature])
    points = column[:, None]
    records = space.records(points)
    assert np.array_equal(space.encode(records), points)


@pytest.mark.parametrize("feature", EVERY, ids=lambda feature: feature.domain)
def test_missing_values_are_drawn_as_often_as_declared(feature):
    points = Space([feature]).draw(40_000, np.random.default_rng(0))
    drawn = points[:, 0]
    assert feature.inside(drawn).all()
    share = feature.missing
    if share is True:
        if math.isfinite(feature.size):
            share = 1 / (feature.size + 1)
        else:
            share = 0.05
    assert feature.is_missing(drawn).mean() == pytest.approx(share, abs=0.01)


def test_draws_of_features_that_are_never_missing_stay_what_they_were():
    before = Space(
        [
            integer("a", 0, 9),
            integer("b", 0, 9),
        ]
    )
    after = Space(
        [
            integer("a", 0, 9),
            integer("b", 0, 9, missing=0.5),
        ]
    )
    first = before.draw(100, np.random.default_rng(0))
    second = after.draw(100, np.random.default_rng(0))
    assert np.array_equal(first[:, 0], second[:, 0])


def test_shares_hold_within_constrained_blocks_too():
    age = integer("age", 0, 9, missing=0.25)
    owner = category("owner", ["no", "yes"])
    space = Space([age, owner], constraints=["not (age < 5 and owner == 'yes')"])
    drawn = space.draw(40_000, np.random.default_rng(0))
    missing = age.is_missing(drawn[:, 0])
    # Of all pairs 3/8 are not valid: a known age under 5 with owner yes has 0.75 / 2 / 2.
    assert missing.mean() == pytest.approx(0.25 / (1 - 0.75 / 4), abs=0.01)
    assert drawn[missing, 1].mean() == pytest.approx(0.5, abs=0.02)
    assert not space.even


def test_a_constraint_that_reads_a_missing_value_does_not_apply():
    space = Space(
        [
            integer("age", 0, 9, missing=True),
            category("sex", ["F", "M"], missing=True),
        ],
        constraints=["age >= 5", "sex == 'F'"],
    )
    points = space.encode(
        [{"age": None, "sex": None}, {"age": 1, "sex": None}, {"age": None, "sex": "M"}]
    )
    assert space.valid(points).tolist() == [True, False, False]
    assert space.size == 6 * 2


def test_twins_are_never_missing_unless_asked():
    asked = Space([category("x", ["a", "b"], missing=True, twins_missing=True)])
    space = Space([category("x", ["a", "b"], missing=True)])
    assert space.assignments("x").tolist() == [[0.0], [1.0]]
    assert asked.assignments("x").tolist() == [[0.0], [1.0], [2.0]]
    points = np.array([[2.0], [1.0]])
    assert space.own(points, "x").tolist() == [-1, 1]
    assert asked.own(points, "x").tolist() == [2, 1]
    number = Space([integer("x", 5, 6, missing=True, twins_missing=True)])
    assert number.assignments("x").tolist() == [[4.0], [5.0], [6.0]]
    assert number.own(np.array([[4.0], [6.0]]), "x").tolist() == [0, 2]


def test_spaces_with_missing_values_are_written_and_read():
    space = Space(
        [
            *EVERY[:1],
            integer("y", 1, 2, missing=0.25),
            date("z", "2020-01-01", DAY),
        ]
    )
    assert Space.from_dict(space.to_dict()) == space
    assert space.to_dict()["features"][2]["low"] == "2020-01-01"
    plain = Space([category("x", ["a", "b"])])
    assert "missing" not in plain.to_dict()["features"][0]
    assert plain.encoding != Space([EVERY[0]]).encoding


def test_a_column_without_values_may_be_declared():
    frame = pd.DataFrame(
        {
            "x": [None, None],
            "y": [1, 2],
        }
    )
    space = Space.from_frame(frame, features={"x": {"levels": ["a"]}})
    assert space.feature("x").missing is True
    assert space.encode(frame)[:, 0].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("missing", [2, 1, 0, -0.5, 1.0, "yes", None])
def test_shares_that_are_none_are_refused(missing):
    words = ["'x'", f"missing = {missing!r}", "share over 0 and under 1"]
    refused(SpaceError, lambda: integer("x", 0, 9, missing=missing), *words)


def test_contradictory_declarations_are_refused():
    refused(
        SpaceError,
        lambda: category("x", ["a"], twins_missing=True),
        "twins_missing",
        "'x'",
    )
    refused(SpaceError, lambda: date("x", "2020-01-01", DAY, step=0), "step = 0", "over 0")
    refused(SpaceError, lambda: date("x", DAY, "2020-01-01"), "is over high", "swap")
    refused(SpaceError, lambda: date("x", 2020, DAY), "low = 2020", "2020-01-31")
    refused(SpaceError, lambda: date("x", "1.5.2020", DAY), "'1.5.2020'", "2020-01-31")
    space = Space([category("x", ["a", "b"])])
    refused(DataError, lambda: space.encode([{"x": "a"}, {"x": None}]), "'x'", "row 1")
