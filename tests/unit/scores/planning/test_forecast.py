"""Forecasts: what is changed in them, and what a budget leaves."""

from __future__ import annotations

import math

import pytest

from evenhand.runtime.budget import Budget
from evenhand.scores.planning.forecast import (
    Detectable,
    Forecast,
    Ground,
    Scenario,
    Way,
    with_overhead,
    within,
)


def expected(inputs: int, score: float) -> int:
    return inputs + round(1000 * score)


def twice(inputs: int) -> int:
    return 2 * inputs


def test_numbers_of_inputs_are_changed_with_their_scores():
    scenarios = (Scenario(0.0, 50), Scenario(0.5, 100), Scenario(0.25, 70))
    found = Forecast(
        "sex",
        Way.DRAWN,
        100,
        500,
        scenarios,
    ).changed(expected, twice)
    assert found.scenarios == (Scenario(0.0, 50), Scenario(0.5, 600), Scenario(0.25, 320))
    # The expected number is that of its scenario.
    assert (found.inputs, found.most) == (600, 1000)
    assert (found.about, found.way) == ("sex", Way.DRAWN)


def test_what_no_scenario_tells_is_changed_as_without_a_score():
    alone = Forecast("sex", Way.ROWS, 100, 500).changed(expected, twice)
    assert (alone.inputs, alone.most, alone.scenarios) == (100, 1000, ())
    unknown = Forecast("sex", Way.UNKNOWN).changed(expected, twice)
    assert (unknown.inputs, unknown.most) == (None, None)


def test_a_forecast_as_json_has_the_differences():
    seen = Detectable(
        "sex",
        "sex F",
        10,
        90,
        0.5,
        0.2,
        0.1,
    )
    unseen = Detectable(
        "sex",
        "sex F",
        10,
        90,
        0.5,
        None,
    )
    table = Forecast("sex", Way.COUNTED, detectable=(seen, unseen)).to_dict()
    assert table["detectable"][0]["difference"] == pytest.approx(0.3)
    assert table["detectable"][1]["difference"] is None
    assert table["detectable"][0]["limit"] == 0.1
    assert table["way"] == "counted"
    assert table["inputs"] is None


def test_a_budget_is_what_may_be_asked():
    assert Ground(None, None, Budget(queries=7)).left == 7
    assert math.isinf(Ground(None, None, Budget()).left)


def test_what_is_asked_before_counts_for_the_first():
    parts = [Forecast("sex", Way.DRAWN, 10, 20), Forecast("race", Way.DRAWN, 1, 2)]
    first, second = with_overhead(parts, 5)
    assert (first.inputs, first.most) == (15, 25)
    assert second == parts[1]
    (unknown,) = with_overhead([Forecast("sex", Way.UNKNOWN)], 5)
    assert (unknown.inputs, unknown.most) == (None, None)
    (open_end,) = with_overhead([Forecast("sex", Way.DRAWN, 10)], 5)
    assert (open_end.inputs, open_end.most) == (15, None)


def test_a_budget_is_shared_out_evenly():
    parts = [
        Forecast("sex", Way.DRAWN, 900, 901),
        Forecast("race", Way.DRAWN, 20, 30),
        Forecast("age", Way.UNKNOWN),
    ]
    assert within(parts, math.inf) == parts
    bounded = within(parts, 302.0)
    assert [(part.inputs, part.most) for part in bounded] == [
        (100, 100),
        (20, 30),
        (None, 100),
    ]
    assert [part.most for part in within(parts, 2.0)] == [1, 1, 1]
