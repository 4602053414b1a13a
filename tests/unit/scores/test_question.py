"""How precisely a score is to be known, and how much is worth drawing."""

from __future__ import annotations

import math

import pytest

from evenhand.population.samplers import Uniform
from evenhand.scores.question import Precision, Terms


@pytest.mark.parametrize(
    ("margin", "limit", "of_expensive", "of_cheap"),
    [
        (None, None, Precision(0.05), Precision(0.05)),
        (0.02, None, Precision(0.02), Precision(0.02)),
        (None, 0.1, Precision(0.02), Precision(0.05, 0.002)),
        (None, 0.5, Precision(0.05), Precision(0.05, 0.01)),
        (0.04, 0.1, Precision(0.04), Precision(0.04, 0.002)),
        (0.001, 0.1, Precision(0.001), Precision(0.001, 0.001)),
        (None, 0.0, Precision(0.05), Precision(0.05, 0.001)),
    ],
)
def test_margins_follow_the_limit(margin, limit, of_expensive, of_cheap):
    terms = Terms(Uniform(), margin=margin, limit=limit)
    assert terms.margins(expensive=True) == of_expensive
    assert terms.margins(expensive=False) == of_cheap


def test_a_limit_in_the_unit_of_outcomes_sets_no_margin():
    terms = Terms(Uniform(), limit=500.0, units="outcome")
    assert terms.margins(expensive=False) == Precision(0.05)


def test_how_many_draws_are_worth_it():
    assert Terms(Uniform()).enough_draws(3) is None
    assert Terms(Uniform(), enough=11).enough_draws(3) == 3
    assert Terms(Uniform(), enough=2).enough_draws(3) == 1
    assert math.isclose(Terms(Uniform(), level=0.9, among=4).share, 0.975)
