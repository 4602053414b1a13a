"""Suites: the same tests are read back, whatever the labels look like; a file that does not fit is
refused.
"""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.runtime.column_file import Coded
from evenhand.runtime.errors import DataError, MissingExtra, UsageError
from evenhand.scores import test_suite
from evenhand.space.feature import category, date, integer, real
from evenhand.space.space import Space
from tests.support.helpers import SPACE, examples, refused
from tests.support.strategies import TEXTS, spaces

SUFFIXES = [".csv", ".parquet", ".csv.gz"]
OUTCOMES = st.one_of(
    st.tuples(st.just(object), TEXTS),
    st.tuples(st.just(np.bool_), st.booleans()),
    st.tuples(st.just(np.int64), st.integers(-(2**62), 2**62)),
    st.tuples(st.just(np.float64), st.floats(allow_nan=False)),
)


def same(one: test_suite.Tests, other: test_suite.Tests) -> None:
    assert one.kind == other.kind
    assert one.over == other.over
    assert np.array_equal(one.points, other.points)
    assert one.outcomes.dtype == other.outcomes.dtype
    assert one.outcomes.tolist() == other.outcomes.tolist()
    assert np.array_equal(one.draw, other.draw)
    assert np.array_equal(one.own, other.own)


def causal(
    space: Space, points: np.ndarray, over: tuple[str, ...], outcomes: np.ndarray
) -> test_suite.Tests:
    """Every variant of every point, and the points themselves; the outcomes are taken in turn."""
    rows = np.concatenate([points, space.variants(points, over)])
    copies = len(rows) // len(points)
    draw = np.tile(np.arange(len(points)), copies)
    own = np.arange(len(rows)) < len(points)
    outcome = np.resize(outcomes, len(rows))
    return test_suite.Tests(
        "causal",
        over,
        rows,
        outcome,
        draw,
        own,
    )


def each_its_own_draw(
    kind: str, over: tuple[str, ...], points: np.ndarray, outcomes: np.ndarray
) -> test_suite.Tests:
    """Points without variants."""
    draw = np.arange(len(points))
    own = np.ones(len(points), dtype=np.bool_)
    return test_suite.Tests(
        kind,
        over,
        points,
        outcomes,
        draw,
        own,
    )


def grouped(*outcomes: object) -> test_suite.Tests:
    """Points by sex, one for each outcome."""
    points = np.array([[0.0, 1.0], [1.0, 2.0]])
    return each_its_own_draw("group", ("sex",), points, np.array(outcomes, dtype=object))


@st.composite
def outcome_arrays(draw: st.DrawFn, dtype: type) -> np.ndarray:
    """Some outcomes of a type, at least one."""
    values = []
    for drawn_dtype, value in draw(st.lists(OUTCOMES, min_size=3, max_size=9)):
        if drawn_dtype is dtype:
            values.append(value)
    if not values:
        values = [""] if dtype is object else [1]
    return np.array(values, dtype=dtype)


@st.composite
def suites(draw: st.DrawFn) -> tuple[Space, list[test_suite.Tests]]:
    drawn = draw(spaces(continuous=True))
    features = [feature for feature in drawn.features if feature.name != "outcome"]
    space = Space(features or [integer("x", 0, 3)])
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    listed = [feature.name for feature in space.features if np.isfinite(feature.size)]
    kinds = draw(
        st.lists(st.sampled_from(test_suite.KINDS), min_size=1, max_size=2, unique=True)
    )
    dtype, _ = draw(OUTCOMES)
    parts: dict[tuple[str, tuple[str, ...]], test_suite.Tests] = {}
    for kind in kinds:
        points = space.draw(draw(st.integers(1, 5)), rng)
        outcomes = draw(outcome_arrays(dtype))
        if kind == "causal" and listed:
            over = (draw(st.sampled_from(listed)),)
            part = causal(space, points, over, outcomes)
        else:
            outcomes = np.resize(outcomes, len(points))
            part = each_its_own_draw("group", space.names, points, outcomes)
        # A suite holds one part for each score.
        parts.setdefault((part.kind, part.over), part)
    return space, list(parts.values())


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_infinite_outcomes_of_one_score_leave_those_of_another_numbers(tmp_path, suffix):
    file = tmp_path / f"tests{suffix}"
    space = Space([integer("x", 0, 3)])
    point = np.zeros((1, 1))
    parts = [
        each_its_own_draw("causal", ("x",), point, np.array([1.0])),
        each_its_own_draw("group", ("x",), point, np.array([-np.inf])),
    ]
    test_suite.write_suite(file, space, parts)
    found = test_suite.read_suite(file, space)
    for read, written in zip(found, parts, strict=True):
        same(read, written)


@settings(max_examples=examples(60), deadline=None)
@given(made=suites(), suffix=st.sampled_from(SUFFIXES))
def test_a_suite_is_read_back_as_it_was_written(made, suffix, tmp_path_factory):
    space, parts = made
    file = tmp_path_factory.mktemp("suite") / f"tests{suffix}"
    test_suite.write_suite(file, space, parts)
    found = test_suite.read_suite(file, space)
    assert len(found) == len(parts)
    for one, other in zip(parts, found, strict=True):
        same(one, other)
    assert [path.name for path in file.parent.iterdir()] == [file.name]


ODD = Space(
    [
        category(
            "a,b",
            [
                "01",
                "1",
                "True",
                "NA",
                "None",
                "",
                "nan",
                '"1"',
                "a\r\nb",
                "\ufeffx",
                "é",
                " 1",
            ],
        ),
        category("mixed", [1, "1", "true", 2.5, "2.5"]),
        category("truth", [True, False]),
        category("number", [3, 1, -2]),
        category("wide", [10**30, 1]),
        real("x", 0, 1),
        integer("test", -3, 3),
    ]
)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_levels_that_look_like_something_else_come_back_as_themselves(tmp_path, suffix):
    points = ODD.draw(200, np.random.default_rng(1))
    tests = causal(
        ODD,
        points,
        ("a,b", "mixed"),
        np.array(["1", "yes", "true", "", "NA", '"', "1.0", "a,b"], dtype=object),
    )
    test_suite.write_suite(tmp_path / f"odd{suffix}", ODD, [tests])
    (found,) = test_suite.read_suite(tmp_path / f"odd{suffix}", ODD)
    same(tests, found)


def test_a_csv_suite_reads_as_a_person_would_write_it(tmp_path):
    space = Space(
        [category("sex", ["F", "M"]), category("zip", ["01", "02"]), integer("age", 0, 9)]
    )
    tests = causal(
        space, np.array([[0.0, 1.0, 5.0]]), ("sex",), np.array(["no", "1"], dtype=object)
    )
    test_suite.write_suite(tmp_path / "sex.csv", space, [tests])
    frame = pd.read_csv(tmp_path / "sex.csv", dtype=str)
    assert list(frame.columns) == [
        "sex",
        "zip",
        "age",
        "outcome",
        "test.kind",
        "test.over",
        "test.draw",
        "test.own",
    ]
    assert frame.iloc[0].tolist() == [
        "F",
        "02",
        "5",
        "no",
        "causal",
        '["sex"]',
        "0",
        "True",
    ]
    assert frame["outcome"].tolist() == ["no", '"1"', "no"]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_several_outputs_have_a_column_each(tmp_path, suffix):
    outcomes = np.zeros(
        4, dtype=[("grant", object), ("rate", np.float64), ("ok", np.bool_)]
    )
    outcomes["grant"] = ["yes", "no", "1", "no"]
    outcomes["rate"] = [0.1, 1e300, 0.1 + 0.2, -0.0]
    points = np.array([[0.0, 1.0], [1.0, 2.0], [0.0, 3.0], [1.0, 4.0]])
    tests = each_its_own_draw("group", ("sex",), points, outcomes)
    file = tmp_path / f"x{suffix}"
    test_suite.write_suite(file, SPACE, [tests])
    (found,) = test_suite.read_suite(file, SPACE)
    same(tests, found)


def test_truth_values_beside_numbers_are_numbers_and_texts_are_refused(tmp_path):
    file = tmp_path / "x.csv"
    test_suite.write_suite(file, SPACE, [grouped(True, 2)])
    (found,) = test_suite.read_suite(file, SPACE)
    assert found.outcomes.tolist() == [1, 2]
    wrong = grouped("a", 2)
    refused(
        UsageError,
        lambda: test_suite.write_suite(file, SPACE, [wrong]),
        "texts and numbers",
    )
    (found,) = test_suite.read_suite(file, SPACE)
    assert found.outcomes.tolist() == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["x.csv"]


def small(outcome: object = 1) -> test_suite.Tests:
    points = np.array([[0.0, 7.0], [1.0, 8.0]])
    return causal(SPACE, points, ("sex",), np.array([outcome]))


def test_a_write_that_fails_leaves_the_old_suite_and_nothing_else(tmp_path, monkeypatch):
    file = tmp_path / "sex.csv"
    test_suite.write_suite(file, SPACE, [small()])
    before = file.read_bytes()

    def full(self, path, **options):
        Path(path).write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pd.DataFrame, "to_csv", full)
    refused(
        UsageError,
        lambda: test_suite.write_suite(file, SPACE, [small(2)]),
        "sex.csv",
        "No space left",
    )
    assert file.read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["sex.csv"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("sex.xls", "did you mean '.csv'"),
        ("nowhere/sex.csv", "there is no folder"),
        ("folder.csv", "it is a folder"),
    ],
)
def test_a_path_that_cannot_be_written_is_refused(tmp_path, name, words):
    (tmp_path / "folder.csv").mkdir()
    file = tmp_path / name
    tests = [small()]
    refused(UsageError, lambda: test_suite.write_suite(file, SPACE, tests), name, words)
    refused(UsageError, lambda: test_suite.check_suite(file, SPACE), name, words)


@pytest.mark.parametrize(
    "name", ["outcome", "test.kind", "test.over", "test.draw", "test.own"]
)
def test_a_feature_with_the_name_of_a_column_is_refused(tmp_path, name):
    file = tmp_path / "x.csv"
    space = Space([integer(name, 0, 3)])
    refused(UsageError, lambda: test_suite.check_suite(file, space), repr(name), "rename")


def test_a_feature_with_the_name_of_an_output_column_is_refused(tmp_path):
    file = tmp_path / "x.csv"
    space = Space([integer("outcome.a", 0, 1)])
    refused(UsageError, lambda: test_suite.check_suite(file, space, ["a"]), "rename")


def test_of_the_same_score_for_several_outputs_the_longest_part_is_kept(tmp_path):
    file = tmp_path / "x.csv"
    points = np.array([[0.0, 7.0], [1.0, 8.0], [1.0, 9.0]])
    longer = causal(SPACE, points, ("sex",), np.array([3]))
    test_suite.write_suite(file, SPACE, [small(), longer, small()])
    (found,) = test_suite.read_suite(file, SPACE)
    same(found, longer)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_suite_without_tests(tmp_path, suffix):
    file = tmp_path / f"x{suffix}"
    test_suite.write_suite(file, SPACE, [])
    refused(DataError, lambda: test_suite.read_suite(file, SPACE), "no rows")


OTHER = Space([category("sex", ["F", "X"]), integer("age", 0, 100_000)])
NARROW = Space([category("sex", ["F", "M"]), integer("age", 0, 7)])
FEWER = Space([category("sex", ["F", "M"])])
MORE = Space([*SPACE.features, integer("zip", 0, 9)])
RENAMED = Space([category("gender", ["F", "M"]), integer("age", 0, 100_000)])


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
@pytest.mark.parametrize(
    ("space", "words"),
    [
        (OTHER, ["'sex' = 'M'", "row 1"]),
        (NARROW, ["'age' = 8", "outside its domain"]),
        (FEWER, ["another space", "'age' is not a feature"]),
        (MORE, ["lacks the feature 'zip'"]),
        (RENAMED, ["lacks the feature 'gender'"]),
    ],
)
def test_a_suite_of_another_space_is_refused(tmp_path, suffix, space, words):
    file = tmp_path / f"sex{suffix}"
    test_suite.write_suite(file, SPACE, [small()])
    refused(DataError, lambda: test_suite.read_suite(file, space), file.name, *words)


def edited(tmp_path: Path, **changes: object) -> Path:
    """A suite of two draws with some cells of its first row changed, or a column dropped."""
    test_suite.write_suite(tmp_path / "good.csv", SPACE, [small()])
    frame = pd.read_csv(tmp_path / "good.csv", dtype=str)
    for name, value in changes.items():
        column = {
            "own": "test.own",
            "draw": "test.draw",
            "over": "test.over",
            "kind": "test.kind",
        }.get(name, name)
        if value is None:
            del frame[column]
        else:
            frame.loc[0, column] = value
    frame.to_csv(tmp_path / "bad.csv", index=False)
    return tmp_path / "bad.csv"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"kind": "casual"}, "did you mean 'causal'"),
        ({"kind": None}, "lacks the column 'test.kind'"),
        ({"outcome": None}, "needs a column 'outcome'"),
        ({"outcome.rate": "1"}, "'outcome', 'outcome.rate'"),
        ({"over": '["sexx"]'}, "did you mean 'sex'"),
        ({"over": "sex"}, "is not a JSON list"),
        ({"over": "[]"}, "over is empty"),
        ({"own": "yes"}, "'test.own' = 'yes' in row 0"),
        ({"own": "False"}, "no row of draw 0"),
        ({"draw": "1"}, "no row of draw 0"),
        ({"draw": "0.5"}, "not a whole number"),
        ({"draw": "x"}, "'test.draw' = 'x' in row 0 is not a number"),
        ({"age": "old"}, "'age' = 'old' in row 0 is not a number"),
        ({"age": "nan"}, "'age' is missing in 1 of"),
        ({"age": "9"}, "varies 'age'"),
        ({"sex": ""}, "'sex' = '' in row 0"),
        ({"note": "x"}, "'note' is not a feature"),
    ],
)
def test_a_damaged_suite_is_refused(tmp_path, changes, words):
    refused(
        DataError,
        lambda: test_suite.read_suite(edited(tmp_path, **changes), SPACE),
        "bad.csv",
        words,
    )


def test_files_that_are_no_suites(tmp_path):
    refused(
        DataError,
        lambda: test_suite.read_suite(tmp_path / "none.csv", SPACE),
        "none.csv",
        "cannot be read",
    )
    (tmp_path / "empty.csv").write_text("")
    refused(
        DataError, lambda: test_suite.read_suite(tmp_path / "empty.csv", SPACE), "empty.csv"
    )
    (tmp_path / "text.parquet").write_text("sex,age")
    refused(
        DataError,
        lambda: test_suite.read_suite(tmp_path / "text.parquet", SPACE),
        "text.parquet",
    )
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")
    refused(
        DataError, lambda: test_suite.read_suite(tmp_path / "bytes.csv", SPACE), "bytes.csv"
    )
    file = edited(tmp_path)
    file.write_text(
        file.read_text().replace("True\n", "True,1\n").replace("False\n", "False,1\n")
    )
    refused(DataError, lambda: test_suite.read_suite(file, SPACE), "more cells")


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    test_suite.write_suite(tmp_path / "sex.parquet", SPACE, [small()])
    for name in [name for name in sys.modules if name.split(".")[0] == "pyarrow"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError):
        importlib.import_module("pyarrow")
    refused(
        MissingExtra,
        lambda: test_suite.write_suite(tmp_path / "x.parquet", SPACE, [small()]),
        "evenhand[arrow]",
    )
    refused(
        MissingExtra,
        lambda: test_suite.read_suite(tmp_path / "sex.parquet", SPACE),
        "evenhand[arrow]",
    )


def test_columns_in_another_order_and_dictionaries_are_read(tmp_path):
    file = tmp_path / "sex.parquet"
    reordered = tmp_path / "other.parquet"
    test_suite.write_suite(file, SPACE, [small("yes")])
    frame = pd.read_parquet(file)
    frame["sex"] = frame["sex"].astype("category")
    frame["outcome"] = frame["outcome"].astype("category")
    reversed_columns = frame.columns[::-1]
    frame[reversed_columns].to_parquet(reordered)
    (tests,) = test_suite.read_suite(file, SPACE)
    (same_tests,) = test_suite.read_suite(reordered, SPACE)
    same(tests, same_tests)
    assert json.loads(frame["test.over"][0]) == ["sex"]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ([2**63 + 2**12, 1], [float(2**63 + 2**12), 1.0]),
        ([2**70, 1], [float(2**70), 1.0]),
        ([2**62, 1], [2**62, 1]),
        ([True, 2], [1, 2]),
        ([True, 2.5], [1.0, 2.5]),
    ],
)
def test_numbers_that_no_file_holds_become_fractions(tmp_path, suffix, given, kept):
    outcomes = np.empty(2, dtype=object)
    outcomes[:] = given
    points = SPACE.draw(2, np.random.default_rng(0))
    file = tmp_path / f"tests{suffix}"
    tests = each_its_own_draw("group", ("sex",), points, outcomes)
    test_suite.write_suite(file, SPACE, [tests])
    (found,) = test_suite.read_suite(file, SPACE)
    assert found.outcomes.tolist() == kept
    assert {type(value) for value in found.outcomes.tolist()} == {type(kept[0])}


def test_of_several_parts_the_longest_is_kept(tmp_path):
    points = SPACE.draw(9, np.random.default_rng(0))
    parts = []
    for size in (3, 9, 5):
        parts.append(each_its_own_draw("group", ("sex",), points[:size], np.arange(size)))
    parts.append(each_its_own_draw("causal", ("sex",), points[:2], np.arange(2)))
    file = tmp_path / "tests.parquet"
    test_suite.write_suite(file, SPACE, parts)
    found = test_suite.read_suite(file, SPACE)
    assert {(part.kind, len(part.points)) for part in found} == {
        ("group", 9),
        ("causal", 2),
    }


GAPS = Space(
    [
        date("since", "2020-01-01", "2020-12-31", missing=True),
        category("sex", ["F", "M"], missing=True),
        integer("age", 18, 90, missing=True),
        real("rate", 0, 1),
        date("born", "1990-01-01", "1999-12-31"),
    ]
)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_dates_and_gaps_come_back_as_they_were(tmp_path, suffix):
    points = GAPS.draw(60, np.random.default_rng(0))
    for position in (0, 1, 2):
        points[position, position] = GAPS.features[position].missing_code
    tests = each_its_own_draw("group", ("sex",), points, np.arange(60))
    file = tmp_path / f"gaps{suffix}"
    test_suite.write_suite(file, GAPS, [tests])
    (found,) = test_suite.read_suite(file, GAPS)
    same(tests, found)


def test_dates_are_written_as_people_write_them(tmp_path):
    gap = GAPS.features[0].missing_code
    first = float(GAPS.features[0].values()[0])
    born = float(GAPS.features[4].values()[1])
    points = np.array([[first, 0.0, 20.0, 0.5, born], [gap, 1.0, 30.0, 0.25, born]])
    file = tmp_path / "dates.csv"
    tests = each_its_own_draw("group", ("sex",), points, np.array([True, False]))
    test_suite.write_suite(file, GAPS, [tests])
    frame = pd.read_csv(file, dtype=str, keep_default_na=False)
    assert frame["since"].tolist() == ["2020-01-01", ""]
    assert frame["born"].tolist() == ["1990-01-02"] * 2
    assert frame["age"].tolist() == ["20", "30"]
    assert frame["rate"].tolist() == ["0.5", "0.25"]
    assert frame["outcome"].tolist() == ["true", "false"]
    parquet = tmp_path / "dates.parquet"
    test_suite.write_suite(parquet, GAPS, [tests])
    since = pd.read_parquet(parquet)["since"]
    assert since.tolist()[0] == "2020-01-01"
    assert since.isna().tolist() == [False, True]


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_each_score_is_a_part_of_its_own_in_the_order_of_the_file(tmp_path, suffix):
    points = SPACE.draw(3, np.random.default_rng(0))
    parts = []
    for kind, over in [("group", ("age",)), ("causal", ("sex",)), ("group", ("sex",))]:
        parts.append(each_its_own_draw(kind, over, points, np.arange(3)))
    file = tmp_path / f"parts{suffix}"
    test_suite.write_suite(file, SPACE, parts)
    found = test_suite.read_suite(file, SPACE)
    assert [(part.kind, part.over) for part in found] == [
        ("group", ("age",)),
        ("causal", ("sex",)),
        ("group", ("sex",)),
    ]
    for read, written in zip(found, parts, strict=True):
        same(read, written)


@pytest.mark.parametrize(
    ("dtype", "kept"),
    [
        (np.uint8, np.int64),
        (np.int16, np.int64),
        (np.float32, np.float64),
        (np.float64, np.float64),
    ],
)
def test_numbers_are_kept_in_full(tmp_path, dtype, kept):
    points = SPACE.draw(2, np.random.default_rng(0))
    tests = each_its_own_draw("group", ("sex",), points, np.array([0, 3], dtype=dtype))
    file = tmp_path / "numbers.parquet"
    test_suite.write_suite(file, SPACE, [tests])
    (found,) = test_suite.read_suite(file, SPACE)
    assert found.outcomes.tolist() == [0, 3]
    assert found.outcomes.dtype == kept


@pytest.mark.parametrize(
    ("draws", "is_whole"),
    [
        ([0.0, 2.0**53], True),
        ([-1.0, 5.0], True),
        ([0.0, 2.0**54], False),
        ([0.5, 1.0], False),
    ],
)
def test_draws_are_whole_numbers(draws, is_whole):
    column = np.array(draws)
    if is_whole:
        found = test_suite._whole(Path("x.csv"), "test.draw", column)
        assert found.tolist() == draws
        assert found.dtype == np.int64
        return
    row = int(np.argmax(column % 1 != 0)) if column[0] == 0.5 else 1
    with pytest.raises(DataError, match=f"in row {row} is not a whole number"):
        test_suite._whole(Path("x.csv"), "test.draw", column)


@pytest.mark.parametrize(
    ("values", "choices", "found"),
    [
        ([1, True, 0], [0, 1, True], [1, 2, 0]),
        (["b", "a"], ["a", "b"], [1, 0]),
        ([2.5], [2.5, 2], [0]),
    ],
)
def test_truth_values_are_other_choices_than_numbers(values, choices, found):
    column = Coded(np.arange(len(values)), values)
    matched = test_suite._matched(Path("x.csv"), "a", column, choices)
    assert matched.tolist() == found


def test_the_first_value_that_is_unknown_is_named():
    column = Coded(np.array([0, 0, 1, 2]), ["a", "x", "y"])
    with pytest.raises(DataError, match="'a' = 'x' in row 2 is unknown"):
        test_suite._matched(Path("x.csv"), "a", column, ["a"])
    plain = np.array([1, 0, 2])
    assert test_suite._matched(Path("x.csv"), "a", plain, [0, 1, 2]).tolist() == [1, 0, 2]


def test_the_first_draw_that_varies_something_else_is_named():
    points = np.array([[0.0, 1.0], [1.0, 1.0], [0.0, 2.0], [1.0, 3.0]])
    draw = np.array([4, 4, 7, 7])
    own = np.array([True, False, True, False])
    part = test_suite.Tests(
        "causal",
        ("sex",),
        points,
        np.arange(4),
        draw,
        own,
    )
    with pytest.raises(DataError, match="draw 7 varies 'age'"):
        test_suite._check_draws(Path("x.csv"), SPACE, part)
    unmarked = np.array([True, False, False, False])
    lacking = test_suite.Tests(
        "causal", ("sex",), points[:, :], np.arange(4), draw, unmarked
    )
    with pytest.raises(DataError, match="no row of draw 7"):
        test_suite._check_draws(Path("x.csv"), SPACE, lacking)
    over_both = test_suite.Tests(
        "causal",
        ("sex", "age"),
        points,
        np.arange(4),
        draw,
        own,
    )
    test_suite._check_draws(Path("x.csv"), SPACE, over_both)


def test_paths_that_are_no_paths_are_refused(tmp_path):
    wrong: object = 3
    refused(UsageError, lambda: test_suite.check_suite(wrong, SPACE), "suite = 3")  # type: ignore[arg-type]
    assert test_suite.check_suite(tmp_path / "a.csv", SPACE) == tmp_path / "a.csv"
    suite = test_suite.Suite(SPACE, [small()])
    suite.write(tmp_path / "b.csv")
    assert len(test_suite.read_suite(tmp_path / "b.csv", SPACE)) == 1


@pytest.mark.parametrize("text", ["[1]", '{"a": 1}', "null", "[", '"sex"'])
def test_sets_are_lists_of_features(text):
    with pytest.raises(DataError, match="is not a JSON list of features"):
        test_suite._set(Path("x.csv"), SPACE, text)
    assert test_suite._set(Path("x.csv"), SPACE, '["sex", "age"]') == ("sex", "age")


def test_whole_numbers_beyond_int64_are_written_as_fractions(tmp_path):
    """As int64 they would wrap around to negative numbers."""
    space = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("id", 0, 3)], protected=["sex"]
    )

    def far(people):
        return people["id"].to_numpy().astype(np.uint64) + np.uint64(2**63)

    found = eh.measure(eh.Subject(far, space), over="sex", keep_tests=True)
    found.to_suite(tmp_path / "suite.csv")
    written = pd.read_csv(tmp_path / "suite.csv")["outcome"]
    assert set(written) == {float(2**63)}


def test_a_row_of_very_many_cells_is_refused_at_once(tmp_path):
    file = tmp_path / "suite.csv"
    file.write_text("sex,age,outcome,test.kind\n" + ",".join(["1"] * 20_000) + "\n")
    refused(
        DataError, lambda: test_suite.read_suite(file, SPACE), "more cells than its first"
    )
