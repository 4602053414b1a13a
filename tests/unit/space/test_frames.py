"""Frames in and out: the user's labels, dtypes, engine and column order come back exactly."""

from __future__ import annotations

import decimal
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import polars.testing
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import DataError, SpaceError
from evenhand.space.space import Space
from tests.support.helpers import examples, refused
from tests.support.strategies import NAMES, TEXTS

LABELS = ["b'\"", "a\n", "", "<b>é</b>", "日本", "b'\"", "z", " z ", "NA", "1"]


def same(one: Any, other: Any) -> None:
    assert type(one) is type(other)
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one.reset_index(drop=True), other, check_exact=True)
    elif isinstance(one, pl.DataFrame):
        polars.testing.assert_frame_equal(one, other, check_exact=True)
    else:
        assert one.schema.equals(other.schema)
        assert one.to_pylist() == other.to_pylist()


def round_trip(frame: Any, **options: Any) -> Space:
    """Encode and decode the frame itself, and check that drawn inputs look like it."""
    space = Space.from_frame(frame, **options)
    points = space.encode(frame)
    same(frame, space.decode(points))
    assert np.array_equal(space.encode(space.decode(points)), points)
    drawn = space.decode(space.draw(20, np.random.default_rng(0)))
    same(drawn, space.decode(space.encode(drawn)))
    same(frame, pickle.loads(pickle.dumps(space)).decode(points))
    if isinstance(frame, pd.DataFrame):
        assert drawn.dtypes.to_dict() == frame.dtypes.to_dict()
    return space


PANDAS_TEXT = [object, "str", "string[python]", "string[pyarrow]", "category"]
PANDAS_TEXT += [
    pd.ArrowDtype(kind)
    for kind in (pa.string(), pa.large_string(), pa.dictionary(pa.int8(), pa.string()))
]
PANDAS_WHOLE = [
    "int8",
    "uint8",
    "int16",
    "int32",
    "int64",
    "uint64",
    "float16",
    "float32",
    "float64",
]
PANDAS_WHOLE += ["Int8", "UInt8", "Int64", "Float32", "Float64"]
PANDAS_WHOLE += [
    pd.ArrowDtype(kind) for kind in (pa.int8(), pa.uint64(), pa.float32(), pa.float64())
]


@pytest.mark.parametrize("dtype", PANDAS_TEXT, ids=str)
@pytest.mark.parametrize("beside", [None, "number"])
def test_pandas_texts(dtype, beside):
    frame = pd.DataFrame({"a b": pd.Series(LABELS, dtype=dtype)})
    if beside:
        frame["n"] = range(len(LABELS))
    space = round_trip(frame)
    assert set(space.features[0].levels) == set(LABELS)


@pytest.mark.parametrize(
    "dtype",
    ["bool", "boolean", object, "category", pd.ArrowDtype(pa.bool_())],
    ids=str,
)
def test_pandas_truth_values(dtype):
    space = round_trip(
        pd.DataFrame(
            {
                "x": pd.Series([True, False, True], dtype=dtype),
                "t": ["a", "b", "c"],
            }
        )
    )
    assert space.features[0].levels == (False, True)
    assert all(type(level) is bool for level in space.features[0].levels)


@pytest.mark.parametrize("dtype", PANDAS_WHOLE, ids=str)
@pytest.mark.parametrize("beside", [None, "text"])
def test_pandas_whole_numbers(dtype, beside):
    frame = pd.DataFrame({"x": pd.Series([3, 1, 7], dtype=dtype)})
    if beside:
        frame["t"] = ["a", "b", "c"]
    feature = round_trip(frame).features[0]
    assert feature.kind == "integer"
    assert feature.low == 1
    assert feature.high == 7


@pytest.mark.parametrize(
    "dtype",
    ["float32", "float64", "Float32", "Float64", pd.ArrowDtype(pa.float32())],
    ids=str,
)
def test_numbers_written_with_few_decimals_keep_their_step(dtype):
    space = round_trip(
        pd.DataFrame(
            {
                "x": pd.Series([0.1, 0.7, 0.3], dtype=dtype),
                "t": ["a", "b", "c"],
            }
        )
    )
    feature = space.features[0]
    assert (feature.kind, feature.low, feature.high, feature.step) == (
        "real",
        0.1,
        0.7,
        0.1,
    )


@pytest.mark.parametrize(
    ("values", "step"),
    [
        ([0.1, 0.25], 0.01),
        ([0.125, 1000.5], 0.001),
        ([-0.5, 0.5], 0.1),
        ([0.1234, 1], None),
        ([1 / 3, 1], None),
    ],
)
def test_step_inference(values, step):
    feature = round_trip(pd.DataFrame({"x": values})).features[0]
    assert feature.kind == "real" and feature.step == step


@pytest.mark.parametrize("dtype", ["float16", "float32", "Float32", "float64"])
def test_continuous_columns_of_any_width(dtype):
    values = pd.Series(np.random.default_rng(0).normal(size=50), dtype=dtype)
    assert round_trip(pd.DataFrame({"x": values})).features[0].step is None


@pytest.mark.parametrize("ordered", [False, True])
@pytest.mark.parametrize(
    "levels", [["z", "unused", "a"], [3, 1, 2], [2.5, 1.0], [True, False]]
)
def test_pandas_categories_keep_their_order_and_those_no_row_has(levels, ordered):
    frame = pd.DataFrame(
        {"x": pd.Categorical([levels[0], levels[-1]], categories=levels, ordered=ordered)}
    )
    assert round_trip(frame).features[0].levels == tuple(levels)


def test_mixed_objects():
    frame = pd.DataFrame({"x": pd.Series(["a", 2, True, 1.5], dtype=object)})
    assert round_trip(frame, features={"x": {"kind": "category"}}).size == 4


POLARS = [
    pl.Series("x", LABELS),
    pl.Series("x", LABELS, dtype=pl.Categorical),
    pl.Series("x", ["b", "a"] * 5, dtype=pl.Enum(["unused", "b", "a"])),
    pl.Series("x", [True, False] * 5),
    *(
        pl.Series("x", [5, 1] * 5, dtype=kind)
        for kind in (pl.Int8, pl.UInt8, pl.Int32, pl.UInt64, pl.Float32)
    ),
    *(pl.Series("x", [0.1, 0.7] * 5, dtype=kind) for kind in (pl.Float32, pl.Float64)),
    pl.Series("x", [decimal.Decimal("1.25"), decimal.Decimal("1.50")] * 5),
]


@pytest.mark.parametrize("column", POLARS, ids=lambda column: str(column.dtype))
def test_polars(column):
    space = round_trip(pl.DataFrame([column, pl.Series("a b", range(10))]))
    if column.dtype == pl.Enum:
        assert space.features[0].levels == ("unused", "b", "a")
    assert Space.from_frame(pl.DataFrame([column]).lazy()) == Space.from_frame(
        pl.DataFrame([column])
    )


ARROW = [
    *(
        pa.array(LABELS, kind)
        for kind in (pa.string(), pa.large_string(), pa.string_view())
    ),
    *(
        pa.array(LABELS, pa.dictionary(kind, pa.string()))
        for kind in (pa.int8(), pa.uint16(), pa.int32())
    ),
    pa.array(LABELS, pa.dictionary(pa.int32(), pa.large_string(), ordered=True)),
    pa.array([5, 3] * 5, pa.dictionary(pa.int32(), pa.int64())),
    pa.array([True, False] * 5),
    *(
        pa.array([5, 1] * 5, kind)
        for kind in (pa.int8(), pa.uint8(), pa.int32(), pa.uint64(), pa.float32())
    ),
    *(pa.array([0.1, 0.7] * 5, kind) for kind in (pa.float32(), pa.float64())),
]


@pytest.mark.parametrize("column", ARROW, ids=lambda column: str(column.type))
def test_pyarrow(column):
    round_trip(pa.table({"x": column, "a b": range(10)}))


def test_pyarrow_chunks_with_dictionaries_of_their_own():
    chunks = [pa.array([text]).dictionary_encode() for text in ("b", "a", "c")]
    table = pa.table({"x": pa.chunked_array(chunks)})
    assert round_trip(table).features[0].levels == ("b", "a", "c")


FLOATS = st.floats(-(2.0**50), 2.0**50, allow_subnormal=False)
VALUES = {
    "text": TEXTS,
    "int": st.integers(1 - 2**52, 2**52),
    "real": FLOATS.map(lambda value: value + 0.0),
    "bool": st.booleans(),
    "category": TEXTS,
}


@st.composite
def columns_of_three(draw: Any) -> tuple[str, list[Any]]:
    """The kind of a column, and three values of it."""
    kind = draw(st.sampled_from(list(VALUES)))
    return kind, draw(st.lists(VALUES[kind], min_size=3, max_size=3))


BEYOND_A_GRID = [0.0, 281474976710656.4]
"""More steps than a grid can count."""


@given(
    st.dictionaries(NAMES, columns_of_three(), min_size=1, max_size=4),
    st.sampled_from(["pandas", "polars", "pyarrow"]),
)
@example({"a": ("real", BEYOND_A_GRID)}, "pandas")
@settings(max_examples=examples(150), deadline=None)
def test_any_frame_comes_back(columns, engine):
    plain = {name: values for name, (_, values) in columns.items()}
    frame: Any
    if engine == "pandas":
        categories = [name for name, (kind, _) in columns.items() if kind == "category"]
        frame = pd.DataFrame(plain).astype(dict.fromkeys(categories, "category"))
    elif engine == "polars":
        frame = pl.DataFrame(plain)
    else:
        frame = pa.table(plain)
    space = Space.from_frame(frame)
    points = space.encode(frame)
    assert list(space.names) == list(columns)
    same(frame, space.decode(points))
    rows = [dict(zip(plain, row, strict=True)) for row in zip(*plain.values(), strict=True)]
    assert space.records(points) == rows
    assert np.array_equal(space.encode(rows), points)


def test_the_same_data_are_the_same_space_in_every_engine():
    plain = {
        "sex": ["F", "M", "F"],
        "age": [20, 30, 90],
        "rate": [0.1, 0.25, 0.5],
        "owns": [True, False, True],
    }
    frames = [pd.DataFrame(plain), pl.DataFrame(plain), pa.table(plain)]
    assert len({Space.from_frame(frame, protected=["sex"]).digest for frame in frames}) == 1


def test_a_frame_can_be_encoded_in_another_engine_than_it_came_from():
    plain = {
        "sex": ["F", "M"],
        "age": [20, 30],
    }
    space = Space.from_frame(pd.DataFrame(plain))
    for frame in (
        pl.DataFrame(plain),
        pa.table(plain),
        pl.DataFrame(plain).lazy(),
        [{"sex": "F", "age": 20.0}] * 2,
    ):
        assert space.encode(frame).shape == (2, 2)


def test_the_index_of_a_frame_does_not_matter():
    frame = pd.DataFrame({"x": ["a", "b", "c"]}, index=[7, 7, -1])
    space = Space.from_frame(frame)
    assert space.decode(space.encode(frame))["x"].tolist() == ["a", "b", "c"]


def test_other_columns_and_their_order_are_ignored_on_the_way_in():
    space = Space.from_frame(
        pd.DataFrame(
            {
                "a": [1, 2],
                "b": ["x", "y"],
            }
        )
    )
    frame = pd.DataFrame(
        {
            "extra": [None],
            "b": ["y"],
            "a": [2],
        }
    )
    assert space.encode(frame).tolist() == [[2.0, 1.0]]


def test_what_is_decoded_may_be_written_to_and_leaves_the_points_alone():
    space = Space.from_frame(
        pd.DataFrame(
            {
                "a": [0.5, 0.25],
                "b": [0.1, 0.7],
            }
        )
    )
    points = space.draw(5, np.random.default_rng(0))
    before = points.copy()
    for frame in (space.decode(points), space.native(points)):
        frame.loc[0, "a"] = 99.0
        frame["b"] *= 2
    assert np.array_equal(points, before)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame({"x": [math.nan] * 3}), ["'x'", "all 3 rows", "drop the column"]),
        (pd.DataFrame({"x": [None]}), ["'x'", "all 1 rows"]),
        (pl.DataFrame({"x": [None, None]}), ["'x'", "all 2 rows"]),
        (pa.table({"x": [math.nan]}), ["'x'", "all 1 rows"]),
        (
            pd.DataFrame({"x": pd.Series([1, 2, None, "n/a"], dtype=object)}),
            ["'x'", "mixes numbers and texts", "row 3", "'n/a'", "category"],
        ),
        (
            pd.DataFrame({"x": ["a", "b", 3]}),
            ["'x'", "mixes numbers and texts", "row 2 has 3"],
        ),
        (
            pd.DataFrame({"x": [*map(str, range(99)), "unknown"]}),
            ["mixes numbers and texts", "row 99", "'unknown'"],
        ),
        (
            pd.DataFrame({"x": ["2020-01-31", None, "2020-02-30", "2020-02-01"]}),
            ["'x'", "dates", "row 2", "'2020-02-30'", "2020-01-31"],
        ),
        (pd.DataFrame({"x": [1.0, math.inf]}), ["'x'", "inf", "row 1", "finite"]),
        (pl.DataFrame({"x": [-math.inf, 0.0]}), ["-inf", "row 0"]),
        (pd.DataFrame({"x": pd.to_timedelta(["1D"])}), ["'x'", "Duration"]),
        (pl.DataFrame({"x": [[1]]}), ["'x'", "List"]),
        (pd.DataFrame({"x": [1j]}), ["'x'"]),
        (
            pd.DataFrame({"x": pd.Series([[1], [2]], dtype=object)}),
            ["'x'", "not texts, numbers or truth values"],
        ),
        (pd.DataFrame({"x": []}), ["'x'", "no rows"]),
        (pl.DataFrame({"x": []}, schema={"x": pl.String}), ["'x'", "no rows"]),
        (pd.DataFrame({0: [1], "a": [2]}), ["column name 0", "not a text", "rename"]),
        (
            pd.DataFrame(
                [[1, 2]], columns=pd.MultiIndex.from_tuples([("a", "b"), ("a", "c")])
            ),
            ["('a', 'b')"],
        ),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ["'a'", "rename"]),
        (
            pa.table(
                [
                    pa.array([1]),
                    pa.array([2]),
                ],
                names=["a", "a"],
            ),
            ["'a'", "rename"],
        ),
        (pd.Series([1]), ["Series", "not a dataframe"]),
        (np.zeros((3, 2)), ["ndarray", "not a dataframe"]),
        ("people.csv", ["str", "not a dataframe"]),
        (None, ["NoneType", "not a dataframe"]),
    ],
)
def test_frames_that_cannot_be_used(frame, words):
    refused(DataError, lambda: Space.from_frame(frame), *words)


@pytest.mark.parametrize(
    ("frame", "words"),
    [
        (pd.DataFrame(), ["at least one feature"]),
        (pd.DataFrame({"x": [1, 2**60]}), ["'x'", "2**53"]),
        (pl.DataFrame({"x": [2**64 - 1]}, schema={"x": pl.UInt64}), ["'x'", "2**53"]),
        (pd.DataFrame({"": [1]}), ["name", "''"]),
        (pd.DataFrame({"x": pd.cut([1, 2, 3], 2)}), ["'x'", "Interval"]),
    ],
)
def test_frames_of_which_no_space_can_be_made(frame, words):
    refused(SpaceError, lambda: Space.from_frame(frame), *words)


PEOPLE = pd.DataFrame(
    {
        "sex": ["F", "M"],
        "age": [18, 90],
        "rate": [0.25, 0.5],
        "y": [0, 1],
    }
)


def test_target_overrides_and_columns_that_are_not_passed():
    space = Space.from_frame(
        PEOPLE,
        protected="sex",
        target="y",
        features={
            "age": {"high": 99},
            "rate": {"high": 1},
            "sex": {"levels": ["F", "M", "X"]},
        },
        not_passed="sex",
    )
    assert space.names == ("sex", "age", "rate") and space.protected == ("sex",)
    assert (
        space.feature("age").high,
        space.feature("rate").high,
        space.feature("rate").step,
    ) == (
        99,
        1,
        0.01,
    )
    assert space.feature("sex").levels == ("F", "M", "X") and space.passed == (1, 2)
    assert list(space.native(space.draw(3, np.random.default_rng(0))).columns) == [
        "age",
        "rate",
    ]


def test_numbers_as_categories():
    space = Space.from_frame(
        PEOPLE,
        features={
            "age": {"kind": "category"},
            "y": {"levels": [0, 1, 2]},
        },
    )
    assert space.feature("age").levels == (18, 90)
    same(PEOPLE, space.decode(space.encode(PEOPLE)))


@pytest.mark.parametrize(
    ("column", "table", "dtype"),
    [
        (pd.Series([1, 2], dtype="int8"), {"high": 1000}, "int64"),
        (pd.Series([1, 2], dtype="int8"), {"high": 100}, "int8"),
        (pd.Series([1, 2], dtype="uint8"), {"low": -1}, "int64"),
        (pd.Series([1, 2], dtype="Int8"), {"high": 1000}, "int64"),
        (pd.Series([1, 2]), {"low": 0.5}, "float64"),
        (pd.Series([1, 2], dtype="float32"), {"low": 0.1}, "float32"),
        (pd.Series([1.5, 2], dtype="float32"), {"low": 0.7}, "float32"),
    ],
)
def test_a_declared_range_is_never_wrapped_or_cut(column, table, dtype):
    space = Space.from_frame(pd.DataFrame({"x": column}), features={"x": table})
    feature = space.features[0]
    points = np.array([[feature.low], [feature.high]])
    frame = space.decode(points)
    assert str(frame["x"].dtype) == dtype
    assert np.allclose(frame["x"].to_numpy(float), points[:, 0])
    assert np.allclose(space.encode(frame), points)


@pytest.mark.parametrize(
    ("column", "levels"),
    [
        (pd.Categorical(["a", "b"]), ["a", "b", "new"]),
        (pd.array([1, 2]), ["one"]),
        (pl.Series(["a"], dtype=pl.Enum(["a", "b"])), ["a", "new"]),
    ],
)
def test_levels_that_the_column_cannot_hold_are_refused(column, levels):
    frame = (
        pl.DataFrame({"x": column})
        if isinstance(column, pl.Series)
        else pd.DataFrame({"x": column})
    )
    refused(
        DataError,
        lambda: Space.from_frame(frame, features={"x": {"levels": levels}}),
        "'x'",
        levels[-1],
        "dtype",
    )


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"target": "Y"}, DataError, ["'Y'", "valid choices"]),
        ({"features": {"agee": {}}}, DataError, ["'agee'", "did you mean 'age'?"]),
        (
            {"features": {"age": {"hihg": 3}}},
            SpaceError,
            ["'age'", "'hihg'", "did you mean 'high'?"],
        ),
        ({"features": {"age": 3}}, SpaceError, ["'age'", "must be a table"]),
        (
            {"features": {"sex": {"kind": "integer"}}},
            SpaceError,
            ["'sex'", "integer needs low"],
        ),
        ({"not_passed": ["sxe"]}, DataError, ["'sxe'", "did you mean 'sex'?"]),
        ({"protected": ["sxe"]}, SpaceError, ["'sxe'", "did you mean 'sex'?"]),
        ({"protected": ["y"], "target": "y"}, SpaceError, ["'y'", "not in the space"]),
    ],
)
def test_wrong_options_are_named(options, kind, words):
    refused(kind, lambda: Space.from_frame(PEOPLE, **options), *words)


SPACE = Space.from_frame(PEOPLE, target="y")
GOOD = {"sex": "F", "age": 20, "rate": 0.3}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ([GOOD, {**GOOD, "sex": "f"}], ["'sex'", "'f'", "row 1", "'F', 'M'"]),
        ([{**GOOD, "sex": None}], ["'sex'", "missing", "row 0"]),
        ([{**GOOD, "sex": ["F"]}], ["'sex'", "['F']", "row 0"]),
        ([{**GOOD, "sex": 1}], ["'sex'", "= 1 "]),
        ([{**GOOD, "age": 17}], ["'age'", "17", "row 0", "18 to 90"]),
        ([GOOD, {**GOOD, "age": 18.5}], ["'age'", "18.5", "row 1"]),
        ([{**GOOD, "age": "20"}], ["'age'", "'20'", "not a number"]),
        ([GOOD, {**GOOD, "age": None}], ["'age'", "missing in 1 of 2 rows", "row 1"]),
        ([{**GOOD, "age": math.nan}], ["'age'", "missing = true"]),
        ([{**GOOD, "age": [3]}], ["'age'", "[3]"]),
        ([{**GOOD, "age": object()}], ["'age'", "object"]),
        ([{**GOOD, "age": 1j}], ["'age'", "1j"]),
        ([{**GOOD, "age": 2**63}], ["'age'", "9.22337203685478e+18"]),
        ([{**GOOD, "rate": 0.255}], ["'rate'", "0.255", "0.25 to 0.5 in steps of 0.01"]),
        ([{"sex": "F", "age": 20}], ["record 0", "'rate'"]),
        (
            [{"sex": "F", "agee": 20, "rate": 0.3}],
            ["record 0", "'age'", "did you mean 'agee'?"],
        ),
        ([["F", 20, 0.3]], ["record 0", "dictionary"]),
        (["F"], ["record 0", "dictionary"]),
        ({"sex": ["F"], "age": [20], "rate": [0.3]}, ["'sex'", "['F']"]),
        (PEOPLE.drop(columns="age"), ["column 'age'", "not in the frame"]),
        (PEOPLE.rename(columns={"age": "Age"}), ["column 'age'", "did you mean 'Age'?"]),
        (PEOPLE.assign(age=[18, math.nan]), ["'age'", "row 1"]),
        (PEOPLE.assign(age=["18", "90"]), ["'age'", "'18'", "not a number"]),
        (PEOPLE.assign(age=pd.to_datetime(["2020-01-01"] * 2)), ["'age'", "not a number"]),
        (PEOPLE.assign(sex=["F", "m"]), ["'sex'", "'m'", "row 1"]),
        (PEOPLE.to_numpy(), ["ndarray"]),
        (3, ["int", "not a dataframe"]),
    ],
)
def test_inputs_that_do_not_fit_the_space(given, words):
    refused(DataError, lambda: SPACE.encode(given), *words)


def test_one_record_and_none():
    assert SPACE.encode(GOOD).tolist() == [[0.0, 20.0, 0.3]]
    assert SPACE.encode([]).shape == (0, 3)
    assert SPACE.encode(PEOPLE.iloc[:0]).shape == (0, 3)
    assert len(SPACE.decode(np.empty((0, 3)))) == 0
    assert SPACE.records(np.empty((0, 3))) == []


def test_levels_that_look_alike_stay_apart():
    frame = pd.DataFrame({"x": pd.Series(["1", 1], dtype=object)})
    space = Space.from_frame(frame, features={"x": {"kind": "category"}})
    assert space.encode([{"x": "1"}]).tolist() != space.encode([{"x": 1}]).tolist()
    refused(
        DataError,
        lambda: Space.from_frame(pd.DataFrame({"x": pd.Categorical([1, 0])})).encode(
            {"x": "1"}
        ),
        "did you mean 1?",
    )


def test_a_declared_space_decodes_to_the_dtypes_pandas_would_choose():
    import evenhand as eh

    space = eh.Space(
        [
            eh.category("t", ["a"]),
            eh.category("b", [True]),
            eh.category("n", [1]),
            eh.integer("i", 0, 1),
            eh.real("r", 0, 1),
        ]
    )
    plain = pd.DataFrame(
        {
            "t": ["a"],
            "b": [True],
            "n": [1],
            "i": [0],
            "r": [0.5],
        }
    )
    same(plain, space.decode(np.array([[0, 0, 0, 0, 0.5]])))
