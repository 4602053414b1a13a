"""Numbers by group: means, medians and errors by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from evenhand.runtime.errors import UsageError
from evenhand.scores.numbers import groups as module
from evenhand.scores.numbers.groups import (
    ABSOLUTE,
    BIAS,
    MEAN,
    MEDIAN,
    ROOT,
    Assurance,
    NumberGroups,
    _mean,
    _median,
    check_units,
    limit_in_units,
    limit_note,
)
from evenhand.statistics import means
from evenhand.statistics.spending import Spending

ABOUT = [{"sex": "F"}, {"sex": "M"}, {"sex": "X"}]
NUMBERS = np.array([4.0, 1.0, 10.0, 2.0, 7.0, 20.0])
GROUP = np.array([0, 0, 1, 0, 1, 1])
ERRORS = np.array([3.0, -1.0, 2.0, 0.0, -4.0, 2.0])
EXACT = Assurance(0.95, exact=True)


def groups_of(**options: Any) -> NumberGroups:
    return NumberGroups(
        ("sex",),
        ABOUT,
        NUMBERS,
        GROUP,
        **options,
    )


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
    assert mean.claim == "the mean outcome is 12.33 for sex M, and 2.333 for sex F"
    assert (mean.score, mean.limit) == ("mean difference", 3.0)
    assert median.claim == "the median outcome is 10 for sex M, and 2 for sex F"
    of_error = groups_of(errors=ERRORS, output="pay").finding(BIAS, EXACT, None)
    assert of_error.claim == "the mean error of pay is +0.6667 for sex F, and +0 for sex M"
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


def test_a_group_without_numbers_stands_among_the_others():
    groups = NumberGroups(("sex",), ABOUT, NUMBERS, np.where(GROUP == 1, 2, 0))
    for assurance in (EXACT, Assurance(0.9)):
        women, nobody, men = groups.estimates(MEAN, assurance)
        assert women.value == pytest.approx(7 / 3)
        assert men.value == pytest.approx(37 / 3)
        assert math.isnan(nobody.value)
        assert (nobody.low, nobody.high, nobody.n) == (-math.inf, math.inf, 0)
        assert (women.n, men.n) == (3, 3)
    found = groups.finding(MEAN, EXACT, None)
    assert found.claim == "the mean outcome is 12.33 for sex X, and 2.333 for sex F"
    assert found.estimate.value == pytest.approx(10.0)


def test_all_numbers_are_known_exactly():
    women, men, _ = groups_of().estimates(MEAN, EXACT)
    assert women.low == women.value == women.high
    assert men.low == men.value == men.high
    assert (women.level, women.method) == (1.0, "enumerated")


@pytest.mark.parametrize("statistic", [MEDIAN, ROOT, ABSOLUTE])
def test_limits_are_those_of_the_statistic(statistic):
    rng = np.random.default_rng(0)
    numbers = rng.random(300)
    errors = rng.normal(size=300)
    place = np.arange(300) % 3
    groups = NumberGroups(
        ("sex",),
        ABOUT,
        numbers,
        place,
        errors=errors,
    )
    tail = 0.1 / 6
    every = np.arange(3)
    of = {
        MEDIAN: lambda: means.median_limits([numbers[place == at] for at in every], tail),
        ROOT: lambda: means.root_limits(means.Moments.of(errors**2, place, 3), tail),
        ABSOLUTE: lambda: means.mean_limits(
            means.Moments.of(np.abs(errors), place, 3), tail
        ),
    }
    lows, highs = of[statistic]()
    found = groups.estimates(statistic, Assurance(0.9))
    assert [one.low for one in found] == pytest.approx(list(lows))
    assert [one.high for one in found] == pytest.approx(list(highs))
    two = groups_of_two(numbers, errors, place)
    apart = two.spread(statistic, Assurance(0.9, among=2))
    if statistic == ABSOLUTE:
        moments = means.Moments.of(np.abs(errors), place, 3).at(np.array([0, 2]))
        low, high = means.mean_spread(moments, 0.05)
    else:
        inner, outer = means.spread_tails_of_limits(2, 0.05)
        places = np.array([0, 2])
        low, high = means.spread_of_limits(
            two._limits(statistic, inner, places), two._limits(statistic, outer, places)
        )
    assert apart.low == pytest.approx(min(low, apart.value))
    assert apart.high == pytest.approx(max(high, apart.value))
    assert (apart.n, apart.level) == (200, 0.9)


def groups_of_two(numbers: Any, errors: Any, place: Any) -> NumberGroups:
    """Return three groups of which the first and the last are compared."""
    compared = np.array([True, False, True])
    return NumberGroups(
        ("sex",),
        ABOUT,
        numbers,
        place,
        errors=errors,
        compared=compared,
    )


def test_the_claim_is_of_the_groups_that_are_compared():
    numbers = np.array([1.0, 9.0, 2.0])
    groups = groups_of_two(numbers, None, np.arange(3))
    found = groups.finding(MEAN, EXACT, None)
    assert found.claim == "the mean outcome is 2 for sex X, and 1 for sex F"
    assert found.estimate.value == 1.0
    assert [group.estimate.value for group in found.groups] == [1.0, 9.0, 2.0]
    assert [group.about["sex"] for group in found.groups] == ["F", "M", "X"]


@pytest.mark.parametrize(
    ("weights", "median"),
    [
        ([1, 1, 1, 1], 2.0),
        ([1, 1, 1, 3], 3.0),
        ([1, 1, 1, 4], 4.0),
        ([2, 0, 1, 1], 1.0),
        ([0, 5, 0, 0], 2.0),
    ],
)
def test_a_weighted_median_has_half_of_the_weight(weights, median):
    numbers = np.array([3.0, 1.0, 4.0, 2.0])
    order = np.array([2, 0, 3, 1])
    assert _median(numbers, np.array(weights, dtype=float)[order]) == median


def test_means_and_medians_without_weights():
    assert _median(np.array([3.0, 1.0, 4.0, 2.0]), None) == 2.5
    assert _mean(np.array([0.1] * 10), None) == 0.1
    assert _mean(np.array([1.0, 4.0]), np.array([3.0, 1.0])) == 1.75


@pytest.mark.parametrize(
    ("limit", "among", "is_descriptive"), [(0.5, 2, False), (None, 1, True)]
)
def test_the_error_goes_to_findings_with_a_limit(limit, among, is_descriptive):
    assurance = Assurance(0.9, spending=Spending(limits=2, families=7))
    found = groups_of().finding(MEAN, assurance, limit)
    method = "Welch, corrected for skewness"
    if among > 1:
        method += f", simultaneous over {among}"
    assert found.estimate.method == method
    assert found.estimate.descriptive == is_descriptive
    assert found.groups[0].estimate.descriptive
    expected = groups_of().spread(MEAN, Assurance(0.9, among=among))
    assert (found.estimate.low, found.estimate.high) == (expected.low, expected.high)


def test_without_limits_all_findings_share_the_error():
    assurance = Assurance(0.9, spending=Spending(limits=0, families=7))
    assert assurance.of(limited=False).among == 7
    assert not assurance.describes(limited=False)
    assert not groups_of().finding(MEAN, assurance, None).estimate.descriptive
    whole = Assurance(0.9, exact=True, spending=Spending(limits=2, families=7))
    assert not whole.describes(limited=False)
    alone = Assurance(0.9, among=3)
    assert alone.of(limited=True) is alone
    assert not alone.describes(limited=False)


def test_two_groups_with_numbers_are_comparable():
    assert groups_of().comparable
    assert groups_of().compared_places.tolist() == [0, 1, 2]
    alone = NumberGroups(("sex",), ABOUT, NUMBERS, np.zeros(6, dtype=int))
    assert not alone.comparable
    assert groups_of().statistics == (MEAN, MEDIAN)
    assert groups_of(errors=ERRORS).statistics == (MEAN, MEDIAN, BIAS, ABSOLUTE, ROOT)


def test_errors_of_an_output_are_named_by_it():
    found = groups_of(errors=ERRORS, outcome="wage").finding(ABSOLUTE, EXACT, None)
    assert found.claim == "the mean absolute error is 2.667 for sex M, and 1.333 for sex F"
    of_pay = groups_of(errors=ERRORS, output="pay").finding(ROOT, EXACT, None)
    assert of_pay.claim.startswith("the root mean squared error of pay is ")
    assert of_pay.output == "pay"
    of_wage = groups_of(outcome="wage").finding(MEAN, EXACT, None)
    assert of_wage.claim.startswith("the mean wage is ")


def test_units_are_two():
    check_units("spread")
    check_units("outcome")
    with pytest.raises(UsageError, match="units = 'outcomes' is unknown"):
        check_units("outcomes")
    with pytest.raises(UsageError, match="limit"):
        limit_in_units(2.0, "spread", 10.0)
    with pytest.raises(UsageError, match="units"):
        limit_in_units(None, "spred", 10.0)


def test_a_thousand_groups_are_compared():
    most = module.MOST_GROUPS
    about = [{"zip": number} for number in range(most)]
    groups = NumberGroups(("zip",), about, np.arange(float(most)), np.arange(most))
    found = groups.finding(MEAN, EXACT, None)
    assert found.claim == "the mean outcome is 999 for zip 999, and 0 for zip 0"
    assert found.estimate.value == 999
