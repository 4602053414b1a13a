"""Scales of axes: everything is in sight, and ticks are round numbers."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.report.charts.scale import AxisScale, spread_text

ANY = st.floats(allow_nan=True, allow_infinity=True)
UNITS = ["share", "points", "amount", "count", "hundredths"]


def names(scale: AxisScale) -> list[str]:
    return [tick.name for tick in scale.ticks]


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.02, 0.117], ["0 %", "2.5 %", "5 %", "7.5 %", "10 %", "12.5 %"]),
        ([0.97], ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        ([1.0], ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        ([], ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
        ([math.nan, math.inf], ["0 %", "20 %", "40 %", "60 %", "80 %", "100 %"]),
    ],
)
def test_a_scale_of_shares_begins_at_nought_and_ends_at_a_round_number(values, expected):
    assert names(AxisScale.around(values)) == expected


def test_nought_is_in_the_middle_of_a_symmetric_scale():
    scale = AxisScale.around([-0.32, 0.1], "points", symmetric=True)
    assert scale.place(0) == pytest.approx(0.5)
    assert names(scale) == ["−40", "−20", "0", "+20", "+40"]


def test_amounts_may_be_far_from_nought():
    scale = AxisScale.around([41_000, 41_500], "amount", from_zero=False)
    assert names(scale) == ["41,000", "41,200", "41,400"]


def test_a_logarithmic_scale_has_few_round_ticks():
    scale = AxisScale.logarithmic([0.1, 50.0], "hundredths")
    assert scale.place(0.1) < scale.place(1) < scale.place(50)
    assert names(scale)[0] == "0.1 %"
    assert 3 <= len(names(scale)) <= 12


@given(st.lists(ANY, max_size=5), st.sampled_from(UNITS), st.booleans(), st.booleans())
def test_every_value_has_a_place(values, unit, from_zero, symmetric):
    scale = AxisScale.around(values, unit, from_zero=from_zero, symmetric=symmetric)
    assert scale.low < scale.high
    assert len(scale.ticks) < 20
    assert len(scale.upright_ticks) == len(scale.ticks)
    for value in values:
        assert 0 <= scale.place(value) <= 1
        assert isinstance(scale.step(value), int)
        assert scale.at(value).endswith("%")


def test_numbers_are_written_as_their_unit_asks():
    assert spread_text(0.117, 0.05, 0.222, "share") == "11.7 % (5.0 to 22.2)"
    assert spread_text(0.1, -0.05, 0.22, "points") == "+10.0 points (−5.0 to +22.0)"
    assert spread_text(41_237.5, 40_000, 42_000, "amount") == "41,240 (40,000 to 42,000)"
    assert spread_text(3, 3, 3, "count") == "3"
    assert spread_text(12.5, 12.5, 12.5, "hundredths") == "12.5 %"
