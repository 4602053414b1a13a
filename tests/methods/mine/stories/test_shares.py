"""Shares of conditions: against all orders in which conditions can be added."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.stories import shares as module
from evenhand.methods.mine.stories.shares import condition_shares
from evenhand.space.feature import category
from tests.support.helpers import examples
from tests.support.mined_cases import KINDS, SPACE, mined, number_of, people_mining


def worth(case, rule_set, taken):
    """Return the difference of the people of some conditions; of nobody or everybody, 0."""
    family = [rule_set.family[at] for at in taken]
    place = [rule_set.place[at] for at in taken]
    inside = case.mining.cube.covers(family, place)
    sides = []
    for side in (inside, ~inside):
        weights = case.size[side]
        if not weights.sum() > 0:
            return 0.0
        sides.append(
            np.average(
                case.treated.values[side],
                weights=weights,
            )
        )
    return sides[0] - sides[1]


def by_permutations(case, rule_set):
    """Return what each condition adds when it comes, on average over all orders."""
    conditions = len(rule_set.family)
    shares = np.zeros(conditions)
    for order in itertools.permutations(range(conditions)):
        for at in range(conditions):
            before = sorted(order[:at])
            with_it = sorted(order[: at + 1])
            shares[order[at]] += worth(
                case,
                rule_set,
                with_it,
            )
            shares[order[at]] -= worth(
                case,
                rule_set,
                before,
            )
    return shares / math.factorial(conditions)


@settings(max_examples=examples(15), deadline=None)
@given(
    st.integers(0, 999),
    st.sampled_from(KINDS),
    st.data(),
)
def test_shares_are_the_average_over_all_orders_and_add_up(seed, how, data):
    case = mined(
        60,
        seed,
        SPACE.names,
        how=how,
        bins=2,
    )
    ranking = case.mining.ranking
    for _ in range(3):
        number = data.draw(st.integers(0, ranking.examined - 1))
        rule_set = ranking.rule_set(number)
        found = condition_shares(ranking, number)
        expected = by_permutations(case, rule_set)
        assert found == pytest.approx(expected.tolist(), abs=1e-9)
        assert sum(found) == pytest.approx(rule_set.difference, abs=1e-9)


def test_one_condition_carries_all():
    case = mined(
        60,
        0,
        ["sex"],
    )
    found = condition_shares(case.mining.ranking, 0)
    assert found == pytest.approx([case.mining.ranking.rule_set(0).difference])


def test_conditions_that_do_the_same_share_equally_and_an_idle_one_has_nothing():
    rows = np.array(
        list(
            itertools.product(
                [0, 1],
                repeat=3,
            )
        )
        * 100
    )
    values = ~((rows[:, 0] == 1) & (rows[:, 1] == 1))
    names = ["a", "b", "c"]
    frame = dict(
        zip(
            names,
            rows.T,
            strict=True,
        )
    )
    features = [category(name, [0, 1]) for name in names]
    mining, _ = people_mining(
        frame,
        values,
        features,
    )
    both = condition_shares(mining.ranking, number_of(mining, "a 1, b 1"))
    assert both == pytest.approx([-0.5, -0.5])
    first, second, idle = condition_shares(
        mining.ranking, number_of(mining, "a 1, b 1, c 1")
    )
    assert first == pytest.approx(second)
    assert abs(idle) < abs(first) / 3


def test_of_very_many_conditions_there_are_no_shares(monkeypatch):
    case = mined(
        60,
        0,
        ["sex", "race"],
    )
    ranking = case.mining.ranking
    last = ranking.examined - 1
    assert len(condition_shares(ranking, last)) == 2
    monkeypatch.setattr(
        module,
        "MOST_CONDITIONS",
        1,
    )
    assert condition_shares(ranking, last) == []
