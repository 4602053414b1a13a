"""Ranges and steps of numbers and dates, found by the engine as inference finds them in rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.methods.mine.logs.complete import CompleteRows
from evenhand.methods.mine.logs.ranges import ranged_features
from evenhand.population.recorded import table_of
from tests.methods.mine.logs.frames import ENGINES
from tests.support.helpers import examples

STEPS = (1, 0.5, 0.1, 0.01, 0.001, 1 / 3)
COUNTS = st.lists(
    st.integers(-4000, 4000),
    min_size=1,
    max_size=30,
)
PARTS = st.tuples(st.sampled_from(STEPS), COUNTS)


def ranged(frame: object) -> eh.Space:
    """Return the space of the columns of a frame but the last, as the engine finds it."""
    table = table_of(frame)
    *names, outcome = table.collect_schema().names()
    found = ranged_features(
        CompleteRows.of(
            table,
            names,
            [outcome],
        )
    )
    return eh.Space([found[name] for name in names])


@settings(max_examples=examples(60))
@given(
    parts=st.lists(
        PARTS,
        min_size=1,
        max_size=3,
    ),
    missing=st.booleans(),
    narrow=st.booleans(),
    engine=st.sampled_from(["pandas", "polars lazy", "pyarrow"]),
)
def test_steps_are_those_of_all_rows(parts, missing, narrow, engine):
    """Numbers on one grid and a few on a finer one, as floats of either width."""
    on_grids = [np.array(counts, dtype=float) * step for step, counts in parts]
    values = np.round(np.concatenate(on_grids), 6)
    if narrow:
        values = values.astype(np.float32)
    if missing:
        values[:1] = np.nan
    if np.isnan(values).all():
        return
    frame = pd.DataFrame({"x": values, "ok": 1})
    expected = eh.Space.from_frame(frame[["x"]])
    assert ranged(ENGINES[engine](frame)) == expected


@pytest.mark.parametrize("engine", ENGINES)
def test_few_numbers_with_more_decimals_make_the_step(engine):
    """Engines that divide by the inverse take 0.3 for a number of two decimals."""
    rng = np.random.default_rng(0)
    values = np.round(
        rng.uniform(
            0,
            100,
            2000,
        ),
        1,
    )
    values[-3:] = 99.95
    frame = pd.DataFrame({"x": values, "ok": 1})
    space = ranged(ENGINES[engine](frame))
    assert space.feature("x").step == 0.01


@pytest.mark.parametrize("engine", ENGINES)
def test_moments_are_the_days_that_they_lie_in(engine):
    moments = pd.to_datetime(["2020-01-01 23:59:59", "2021-05-06 00:00:01", None])
    frame = pd.DataFrame({"at": moments, "ok": 1})
    expected = eh.Space.from_frame(frame[["at"]])
    assert ranged(ENGINES[engine](frame)) == expected
