"""Refinements: one condition more, against the other people of a rule set by pandas."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from evenhand.methods.mine.stories.refinements import MOST, refinements
from tests.support.mined_cases import KINDS, SPACE, mined

Z = 3.0


def table_of(case):
    """Return people, their values and what they weigh."""
    frame = pd.DataFrame({"value": case.treated.values, "weight": case.size})
    frame["hits"] = frame["value"] * frame["weight"]
    return frame


def compared(frame, inside, within):
    """Return the people of a group, their mean, and that of the others within another."""
    sides = (
        frame[within]
        .groupby(inside[within])[
            [
                "weight",
                "hits",
            ]
        ]
        .sum()
    )
    means = sides["hits"] / sides["weight"]
    return sides.loc[True, "weight"], means[True], means[False]


def all_refinements(case, number):
    """Return the rule sets with all conditions of another and one more, by their texts."""
    ranking = case.mining.ranking
    outer = set(case.mining.rule(ranking.rule_set(number)).conditions)
    found = []
    for other in range(ranking.examined):
        conditions = set(case.mining.rule(ranking.rule_set(other)).conditions)
        if outer < conditions and len(conditions) == len(outer) + 1:
            found.append(other)
    return found


@pytest.fixture(scope="module", params=KINDS)
def case(request):
    found = mined(
        300,
        7,
        SPACE.names,
        how=request.param,
        bins=3,
        depth=3,
    )
    found.mining.ranking.rank(found.sure)
    return found


def test_refinements_are_the_rule_sets_with_one_condition_more(case):
    ranking = case.mining.ranking
    z = 0.0 if case.sure.exact else Z
    for number in range(
        0,
        ranking.examined,
        97,
    ):
        everyone = refinements(
            ranking,
            number,
            z,
            most=[10_000],
        )
        expected = []
        for other in all_refinements(case, number):
            # Of a rule set that covers the same people there is nobody else.
            if ranking.table.sums[0, other] < ranking.table.sums[0, number] - 1e-9:
                expected.append(other)
        assert sorted(part.number for part in everyone) == expected
        first = refinements(
            ranking,
            number,
            z,
        )
        assert len(first) == min(MOST[0], len(everyone))
        in_order = [part.number for part in everyone]
        places = [in_order.index(part.number) for part in first]
        assert places == sorted(places)
        # The strongest of each feature that is added comes before a fourth of another.
        assert places[:1] == [0] * len(places[:1])


def test_rates_and_limits_are_those_of_pandas(case):
    ranking = case.mining.ranking
    frame = table_of(case)
    z = 0.0 if case.sure.exact else Z
    people = ranking.table.sums[0]
    singles = np.flatnonzero(ranking.table.conditions() == 1)
    number = int(singles[np.argmax(people[singles])])
    within = case.mining.inside(ranking.rule_set(number))
    found = refinements(
        ranking,
        number,
        z,
    )
    assert len(found) == MOST[0]
    strengths = []
    for part in found:
        inside = case.mining.inside(ranking.rule_set(part.number))
        size, rate, other = compared(
            frame,
            inside,
            within,
        )
        assert part.people == pytest.approx(size)
        assert part.rate == pytest.approx(rate)
        assert part.other == pytest.approx(other)
        assert part.difference == pytest.approx(rate - other)
        assert part.low <= part.difference + 1e-9
        assert part.high >= part.difference - 1e-9
        assert part.shown == (part.low > 0 or part.high < 0)
        if case.sure.exact:
            assert part.low == pytest.approx(part.high)
        reach = (part.high - part.low) / 2
        strengths.append(abs(part.difference) - reach)
        assert len(part.refinements) <= MOST[1]
        for deeper in part.refinements:
            mask = case.mining.inside(ranking.rule_set(deeper.number))
            size, rate, other = compared(
                frame,
                mask,
                inside,
            )
            assert deeper.people == pytest.approx(size)
            assert deeper.difference == pytest.approx(rate - other)
            assert deeper.refinements == ()
    assert strengths == pytest.approx(sorted(strengths, reverse=True), abs=1e-9)


def test_limits_of_rates_are_those_of_wilson_centres():
    case = mined(
        300,
        7,
        ["sex", "race"],
        bins=3,
    )
    ranking = case.mining.ranking
    number = 0
    (part, *_) = refinements(
        ranking,
        number,
        Z,
    )
    others = ranking.table.sums[0, number] - part.people
    spread = 0.0
    for rate, people in ((part.rate, part.people), (part.other, others)):
        centre = (rate * people + Z * Z / 2) / (people + Z * Z)
        spread += centre * (1 - centre) / people
    reach = Z * np.sqrt(spread)
    assert part.low == pytest.approx(
        max(
            part.difference - reach,
            -1,
        )
    )
    assert part.high == pytest.approx(
        min(
            part.difference + reach,
            1,
        )
    )


def test_the_deepest_rule_sets_have_none():
    case = mined(
        300,
        7,
        ["sex", "race"],
        bins=3,
    )
    ranking = case.mining.ranking
    deepest = ranking.examined - 1
    assert len(ranking.table.rule(deepest)) == 2
    assert (
        refinements(
            ranking,
            deepest,
            Z,
        )
        == ()
    )
    assert (
        refinements(
            ranking,
            0,
            Z,
            most=(),
        )
        == ()
    )
