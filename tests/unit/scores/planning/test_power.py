"""The smallest difference that is very likely seen, against sums by hand."""

from __future__ import annotations

import math

import pytest

from evenhand.scores.planning.power import _first_to_fire, smallest_seen

Z = 0.8416212335729143
"""Four in five normal numbers are below it."""


@pytest.mark.parametrize(("base", "edge"), [(0.8, 60), (0.5, 30), (0.8, 79)])
def test_it_is_seen_four_times_in_five(base, edge):
    rate = smallest_seen(lambda hits: hits <= edge, 100, 400, base)
    assert rate is not None
    deviation = math.sqrt(rate * (1 - rate) / 100 + base * (1 - base) / 400)
    assert base - rate - Z * deviation == pytest.approx(base - edge / 100)


@pytest.mark.parametrize(("base", "edge"), [(0.2, 40), (0.49, 70)])
def test_where_few_are_favoured_the_group_is_treated_better(base, edge):
    rate = smallest_seen(lambda hits: hits >= edge, 100, 400, base)
    assert rate is not None
    deviation = math.sqrt(rate * (1 - rate) / 100 + base * (1 - base) / 400)
    assert rate - base - Z * deviation == pytest.approx(edge / 100 - base)


def test_a_gate_that_never_fires_sees_nothing():
    assert smallest_seen(lambda hits: False, 100, 400, 0.8) is None
    assert smallest_seen(lambda hits: hits == 0, 100, 10, 0.5) is None


def test_the_first_number_at_which_a_gate_fires():
    for edge in range(80):
        assert _first_to_fire(lambda hits: hits <= edge, 100, 0.8, -1) == edge  # noqa: B023
    for edge in range(21, 101):
        assert _first_to_fire(lambda hits: hits >= edge, 100, 0.2, 1) == edge  # noqa: B023
    assert _first_to_fire(lambda hits: False, 100, 0.2, 1) is None
