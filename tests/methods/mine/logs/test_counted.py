"""A log as counts: the same result as row by row, in every engine, and no row is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.mine.logs import counted
from evenhand.runtime.errors import DataError
from evenhand.space.rule import Rule
from tests.methods.mine.logs.frames import ENGINES, holes, log, row_by_row
from tests.support.helpers import examples, refused

if TYPE_CHECKING:
    from collections.abc import Callable

LOG = log()
HOLES = holes(LOG)
TRUE: dict[str, Any] = {"truth": "paid", "score": ["rate", "tpr", "fpr"]}
WAYS: dict[str, dict[str, Any]] = {
    "labels and whole numbers": {
        "over": ["sex", "veteran", "age"],
        **TRUE,
    },
    "numbers": {
        "over": ["income", "score", "narrow"],
        "depth": 2,
        "bins": 5,
    },
    "dates": {
        "over": ["day", "iso"],
        "bins": {
            "day": "year",
            "iso": "month",
        },
        "depth": 1,
    },
    "what follows from dates": {
        "over": ["day", "year", "sex"],
        "bins": 4,
    },
    "cut points": {
        "over": ["age", "income"],
        "bins": {
            "age": [25, 40, 60, 200],
            "income": [20_000, 50_000.5],
        },
    },
    "quantiles": {
        "over": ["age", "income", "sex"],
        "binning": "quantiles",
        "bins": 4,
    },
    "quantiles of parts": {
        "over": ["age", "score"],
        "binning": "quantiles",
        **TRUE,
    },
    "several sets": {
        "over": [("sex", "age"), ("veteran", "age"), ("income",)],
    },
    "numbers as outcomes": {
        "over": ["sex", "age"],
        "outcome": "pay",
    },
}


def columns(how: dict[str, Any]) -> list[str]:
    """Return the columns that are named."""
    names = {how.get("outcome", "ok"), how.get("truth", "ok")}
    for several in how["over"]:
        names |= {several} if isinstance(several, str) else set(several)
    return [name for name in LOG.columns if name in names]


@pytest.fixture(scope="module")
def by_rows() -> Callable[..., eh.Result]:
    """Return what is found row by row, the same for every engine and found once."""
    found: dict[tuple[str, bool], eh.Result] = {}

    def of(way: str, *, gaps: bool) -> eh.Result:
        if (way, gaps) not in found:
            with pytest.MonkeyPatch.context() as patch:
                frame, how = asked(way, gaps=gaps)
                found[way, gaps] = row_by_row(patch, frame, **how)
        return found[way, gaps]

    return of


def asked(way: str, *, gaps: bool) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return the columns that are named, and how they are mined."""
    how = {"outcome": "ok", "top": 3, **WAYS[way]}
    frame = HOLES if gaps else LOG
    return frame[columns(how)], how


# The engine changes first, so that what was found row by row is found once.
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("gaps", [False, True])
def test_counts_and_rows_give_the_same_bytes(engine, way, gaps, by_rows):
    frame, how = asked(way, gaps=gaps)
    as_engine = ENGINES[engine](frame)
    expected = by_rows(way, gaps=gaps)
    found = eh.mine_log(as_engine, **how)
    assert found.notes == expected.notes
    assert found.digest == expected.digest


def test_only_counts_are_read(monkeypatch):
    collected = []
    collect = nw.LazyFrame.collect

    def watched(self: Any, *given: Any, **options: Any) -> Any:
        found = collect(
            self,
            *given,
            **options,
        )
        collected.append(len(found))
        return found

    monkeypatch.setattr(
        nw.LazyFrame,
        "collect",
        watched,
    )
    many = log(20_000)
    frame = pl.from_pandas(many).lazy()
    result = eh.mine_log(
        frame,
        outcome="ok",
        over=["sex", "age", "score"],
        bins=4,
        truth="paid",
    )
    (mining,) = result.details["mine"]
    assert mining["rows"] == 20_000
    # Two sexes, four bins of each number, and what was and should have been decided.
    assert max(collected) == 2 * 4 * 4 * 2 * 2


def test_sets_that_make_many_kinds_are_counted_each_by_itself(monkeypatch):
    how: dict[str, Any] = {
        "outcome": "ok",
        "over": [("sex", "age"), ("income", "veteran")],
        **TRUE,
    }
    together = eh.mine_log(HOLES, **how)
    monkeypatch.setattr(
        counted,
        "MOST_TOGETHER",
        10,
    )
    apart = eh.mine_log(HOLES, **how)
    assert apart.digest == together.digest


def test_very_many_kinds_of_rows_are_noted(monkeypatch):
    monkeypatch.setattr(
        counted,
        "MANY_KINDS",
        10,
    )
    found = eh.mine_log(
        LOG,
        outcome="ok",
        over=["sex", "age"],
    )
    note = "the rows are of 40 different kinds, which are all held in memory"
    assert any(sentence.startswith(note) for sentence in found.notes)


@pytest.mark.parametrize("engine", ENGINES)
def test_an_error_names_the_row(engine):
    frame = LOG[["sex", "ok", "income"]].copy()
    frame.loc[700, "income"] = np.inf
    infinite = ENGINES[engine](frame)
    refused(
        DataError,
        lambda: eh.mine_log(
            infinite,
            outcome="ok",
            over="income",
        ),
        "'income' holds inf in row 700",
    )
    frame["sex"] = LOG["iso"]
    frame.loc[800, "sex"] = "soon"
    no_date = ENGINES[engine](frame)
    refused(
        DataError,
        lambda: eh.mine_log(
            no_date,
            outcome="ok",
            over="sex",
        ),
        "row 800 has 'soon'",
    )


def test_texts_are_dates_by_their_rows_and_not_by_how_many_differ(monkeypatch):
    """Of 1,000 rows 400 have dates, which are nearly all of the texts."""
    dates = pd.date_range("2020-01-01", periods=400).strftime("%Y-%m-%d")
    unknown = ["unknown"] * 600
    frame = pd.DataFrame({"sent": [*dates, *unknown], "ok": [0, 1] * 500})
    how: dict[str, Any] = {
        "outcome": "ok",
        "over": "sent",
        "levels": 1,
    }
    found = eh.mine_log(frame, **how)
    (feature,) = found.space["features"]
    assert feature["kind"] == "category"
    expected = row_by_row(
        monkeypatch,
        frame,
        **how,
    )
    assert found.digest == expected.digest


def test_levels_that_no_row_has_are_kept():
    zones = pd.Categorical(["z", "y"] * 600, categories=["z", "y", "x"])
    frame = LOG.assign(zone=zones)[["zone", "ok"]]
    for engine in ("pandas", "pyarrow"):
        as_engine = ENGINES[engine]
        found = eh.mine_log(
            as_engine(frame),
            outcome="ok",
            over="zone",
        )
        (feature,) = found.space["features"]
        assert feature["levels"] == ["z", "y", "x"]


def test_a_column_of_one_value_beside_others(monkeypatch):
    frame = LOG.assign(one=5, day=LOG["day"].min())
    how: dict[str, Any] = {
        "outcome": "ok",
        "over": ["sex", "one", "day"],
    }
    found = eh.mine_log(frame, **how)
    expected = row_by_row(
        monkeypatch,
        frame,
        **how,
    )
    assert found.digest == expected.digest


LABELS = st.sampled_from(["a", "b", "c", None])
WHOLE = st.one_of(st.integers(-3, 12), st.none())
REALS = st.one_of(
    st.floats(-5, 5).map(lambda number: round(number, 2)), st.just(float("nan"))
)
ROWS = st.lists(
    st.tuples(
        LABELS,
        WHOLE,
        REALS,
        st.booleans(),
    ),
    min_size=12,
    max_size=60,
)


@settings(max_examples=examples(40))
@given(rows=ROWS, engine=st.sampled_from(["pandas", "polars lazy", "pyarrow"]))
def test_counts_are_those_of_the_rows(rows, engine):
    """What pandas counts in the rows of a rule is what the story says, for any small log."""
    frame = pd.DataFrame(rows, columns=["label", "whole", "real", "ok"])
    as_engine = ENGINES[engine]
    try:
        result = eh.mine_log(
            as_engine(frame),
            outcome="ok",
            over=["label", "whole", "real"],
            bins=3,
            support=0.1,
        )
    except DataError:
        # Nothing to mine: a column is missing everywhere, or no rule covers enough.
        return
    space = eh.Space.from_dict(result.space)
    points = space.encode(frame)
    (mining,) = result.details["mine"]
    assert mining["rows"] == len(frame)
    for story in mining["stories"]:
        rule = Rule.from_dict(story["rule"])
        mask = rule.mask(points, space)
        assert story["rows"] == mask.sum()
        inside = frame["ok"][mask].mean()
        outside = frame["ok"][~mask].mean()
        assert story["rate"]["value"] == pytest.approx(inside)
        assert story["other"]["value"] == pytest.approx(outside)
    for drawn in mining["maps"]:
        assert np.sum(drawn["rows"]) == len(frame)
