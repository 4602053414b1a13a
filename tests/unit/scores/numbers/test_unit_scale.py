"""Numbers as shares of their range, and back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.scores.numbers.unit_scale import UnitLimit, UnitScale
from evenhand.statistics.estimate import Estimate

SCALE = UnitScale(low=20.0, width=40.0, spread=8.0)


def test_numbers_are_shares_of_their_range():
    scale, shares = UnitScale.of(np.array([30.0, 10.0, 50.0, 20.0, 40.0]))
    assert (scale.low, scale.width, scale.spread) == (10.0, 40.0, 20.0)
    assert shares.tolist() == [0.5, 0.0, 1.0, 0.25, 0.75]
    same, shares = UnitScale.of(np.array([7.0, 7.0]))
    assert (same.low, same.width, same.spread) == (7.0, 1.0, 0.0)
    assert shares.tolist() == [0.0, 0.0]


def test_shares_are_numbers_and_differences():
    assert SCALE.number(0.25) == 30.0
    assert SCALE.distance(0.25) == 10.0
    estimate = Estimate(
        0.5,
        0.25,
        1.0,
        9,
        0.9,
        "exact",
        "all",
    )
    value = SCALE.amount(estimate)
    assert (value.value, value.low, value.high) == (40.0, 30.0, 60.0)
    assert (value.n, value.level, value.method, value.population) == (
        9,
        0.9,
        "exact",
        "all",
    )
    apart = SCALE.amount(estimate, difference=True)
    assert (apart.value, apart.low, apart.high) == (20.0, 10.0, 40.0)


def refinement(**changed: Any) -> dict[str, Any]:
    """Return what is known of a rule set within another, as shares."""
    numbers = {"rate": 0.75, "other": 0.5, "difference": 0.25, "low": 0.1, "high": 0.5}
    return numbers | {"text": "age < 40", "refinements": []} | changed


def test_what_is_known_of_a_rule_set_is_in_the_unit_of_the_numbers():
    rate = Estimate(
        0.5,
        0.25,
        1.0,
        9,
        0.9,
        "exact",
        "all",
    ).to_dict()
    entry = {
        "difference": 0.5,
        "low": 0.25,
        "high": 0.75,
        "rate": rate,
        "other": rate,
        "like": [{"difference": 0.1, "rules": 2}],
        "shares": [{"text": "sex F", "share": 0.2}],
        "added": {"value": 0.25, "low": 0.1, "high": 0.5, "within": True},
        "refinements": [refinement(refinements=[refinement()])],
        "ratio": 3.0,
        "size": 7,
    }
    found = SCALE.story(entry)
    assert (found["difference"], found["low"], found["high"]) == (20.0, 10.0, 30.0)
    assert found["rate"]["value"] == found["other"]["value"] == 40.0
    assert found["like"] == [{"difference": 4.0, "rules": 2}]
    assert found["shares"] == [{"text": "sex F", "share": 8.0}]
    assert found["added"] == {"value": 10.0, "low": 4.0, "high": 20.0, "within": True}
    in_units = {"rate": 50.0, "other": 40.0, "difference": 10.0, "low": 4.0, "high": 20.0}
    deeper = in_units | {"text": "age < 40", "refinements": []}
    assert found["refinements"] == [deeper | {"refinements": [deeper]}]
    first = SCALE.story(entry | {"added": None})
    assert first["added"] is None
    assert found["ratio"] is None
    assert found["size"] == 7


def test_a_limit_is_a_share_of_the_spread_or_an_amount():
    assert UnitLimit(0.25).of(SCALE) == 2.0
    assert UnitLimit(25, "outcome").of(SCALE) == 25.0
    assert UnitLimit(None).of(SCALE) is None
    assert UnitLimit(0.25).of(None) == 0.25
    with pytest.raises(UsageError, match="units = 'outcome' is for means"):
        UnitLimit(0.25, "outcome").of(None)


def test_a_limit_that_cannot_be_one_is_refused():
    UnitLimit(0.25).check()
    UnitLimit(25, "outcome").check()
    for wrong in (UnitLimit(2.0), UnitLimit(-1.0), UnitLimit(0.1, "spred")):
        with pytest.raises(UsageError):
            wrong.check()


def test_notes_say_what_intervals_rest_on_once():
    first, second = UnitLimit(0.25).notes([SCALE, None, SCALE])
    assert first == (
        "intervals of means hold for outcomes from 20 to 60, the lowest and the highest that were"
        " seen"
    )
    assert second.startswith("the limit of 25 % is of the spread of outcomes, 8: 2;")
    assert UnitLimit(None).notes([SCALE]) == [first]
    assert UnitLimit(0.25).notes([None]) == []
