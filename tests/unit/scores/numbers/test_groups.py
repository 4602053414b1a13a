"""Numbers by group: means, medians and errors by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.scores.numbers.groups import (
    ABSOLUTE,
    BIAS,
    MEAN,
    MEDIAN,
    ROOT,
    Assurance,
    NumberGroups,
    limit_in_units,
    limit_note,
)
from evenhand.statistics import means

ABOUT = [{"sex": "F"}, {"sex": "M"}, {"sex": "X"}]
NUMBERS = np.array([4.0, 1.0, 10.0, 2.0, 7.0, 20.0])
GROUP = np.array([0, 0, 1, 0, 1, 1])
ERRORS = np.array([3.0, -1.0, 2.0, 0.0, -4.0, 2.0])
EXACT = Assurance(0.95, exact=True)


def groups_of(**options: Any) -> NumberGroups:
    return NumberGroups(("sex",), ABOUT, NUMBERS, GROUP, **options)


@pytest.mark.parametrize(
    ("statistic", "women", "men"),
    [
        (MEAN, 7 / 3, 37 / 3),
        (MEDIAN, 2.0, 10.0),
        (BIAS, 2 / 3, 0.0),
        (ABSOLUTE, 4 / 3, 8 / 3),
        (ROOT, math.sqrt(10 / 3), math.sqrt(8)),
    ],
)
def test_each_statistic_of_each_group(statistic, women, men):
    groups = groups_of(errors=ERRORS)
    values = groups.values(statistic)
    assert values[:2].tolist() == pytest.approx([women, men])
    # Nobody is of the third group.
    assert math.isnan(values[2])
    apart = groups.spread(statistic, EXACT)
    assert apart.value == apart.low == apart.high == pytest.approx(abs(women - men))
    assert (apart.n, apart.level, apart.method) == (6, 1.0, "enumerated")


def test_weights_count():
    groups = groups_of(weights=np.array([1.0, 3.0, 2.0, 1.0, 0.0, 2.0]))
    women, men, _ = groups.values(MEAN)
    assert women == (4 + 3 * 1 + 2) / 5
    assert men == (2 * 10 + 2 * 20) / 4
    women, men, _ = groups.values(MEDIAN)
    assert women == 1.0
    # Half of the weight is not over 10.
    assert men == 10.0
    weightless = groups_of(weights=np.array([0.0, 0.0, 2.0, 0.0, 0.0, 2.0]))
    assert math.isnan(weightless.values(MEAN)[0])


def test_some_groups_are_compared():
    groups = groups_of(compared=np.array([True, False, True]))
    assert groups.compared_places.tolist() == [0, 2]
    assert not groups.comparable
    nothing = groups.spread(MEAN, EXACT)
    assert math.isnan(nothing.value)
    assert (nothing.low, nothing.high, nothing.n) == (0.0, math.inf, 0)
    claim = groups.finding(MEAN, EXACT, None).claim
    assert claim == "fewer than two groups of sex have outcomes to compare"
    both = groups_of(compared=np.array([True, True, False]))
    assert both.comparable
    assert both.spread(MEAN, EXACT).n == 6


def test_intervals_of_groups_hold_together():
    rng = np.random.default_rng(0)
    numbers = rng.random(200)
    place = np.arange(200) % 2
    groups = NumberGroups(("sex",), ABOUT, numbers, place)
    women, men, nobody = groups.estimates(MEAN, Assurance(0.9, look=0.5))
    tail = 0.5 * 0.1 / 6
    moments = means.Moments.of(numbers, place, 3)
    lows, highs = means.mean_limits(moments.at(np.arange(3)), tail)
    assert (women.low, women.high) == (lows[0], highs[0])
    assert (men.low, men.high) == (lows[1], highs[1])
    assert 0.3 < women.low < women.value < women.high < 0.7
    assert women.level == 0.9
    assert women.method == "Welch, corrected for skewness, simultaneous over 3 groups"
    assert (women.n, men.n, nobody.n) == (100, 100, 0)
    assert (nobody.low, nobody.high) == (-math.inf, math.inf)


def test_the_error_is_shared():
    assert Assurance(0.9, among=4, look=0.5).error == pytest.approx(0.0125)
    assert Assurance(0.9).method(MEDIAN) == "order statistics"
    assert Assurance(0.9, among=2).method(MEDIAN) == "order statistics, simultaneous over 2"
    assert Assurance(0.9, among=2, exact=True).method(MEDIAN) == "enumerated"
    groups = groups_of()
    moments = means.Moments.of(NUMBERS, GROUP, 3)
    low, high = means.mean_spread(moments.at(np.arange(3)), 0.05)
    found = groups.spread(MEAN, Assurance(0.9, among=2))
    assert (found.low, found.high) == (min(low, found.value), max(high, found.value))


def test_what_is_found_is_a_sentence():
    mean, median = groups_of().findings(EXACT, 3.0)
    assert mean.claim == "the mean outcome is 12.33 for sex M, 2.333 for sex F"
    assert (mean.score, mean.limit) == ("mean difference", 3.0)
    assert median.claim == "the median outcome is 10 for sex M, 2 for sex F"
    of_error = groups_of(errors=ERRORS, output="pay").finding(BIAS, EXACT, None)
    assert of_error.claim == "the mean error of pay is +0.6667 for sex F, +0 for sex M"
    same = NumberGroups(("sex",), ABOUT[:2], np.array([2.0, 2.0]), np.array([0, 1]))
    assert (
        same.finding(MEAN, EXACT, None).claim
        == "the mean outcome is 2 in every group of sex"
    )


def test_limits_are_shares_of_the_spread_or_amounts():
    assert limit_in_units(None, "spread", 10.0) is None
    assert limit_in_units(0.2, "spread", 10.0) == 2.0
    assert limit_in_units(20, "outcome", 10.0) == 20.0
    with pytest.raises(UsageError, match="did you mean 'spread'"):
        limit_in_units(0.2, "spred", 10.0)
    assert limit_note(None, "spread", 10.0) == []
    assert limit_note(2.0, "outcome", 10.0) == []
    (note,) = limit_note(0.2, "spread", 10.0)
    assert "the limit of 20 % is of the spread of outcomes, 10: 2;" in note
