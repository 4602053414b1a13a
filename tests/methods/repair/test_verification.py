"""Checks of a repair: what changed among all inputs and among people, and the group metrics."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import evenhand as eh
from evenhand.methods.repair import verification
from evenhand.methods.repair.paired import hits
from evenhand.methods.repair.verification import changed_for_people, claimed
from evenhand.subject.view import View
from tests.methods.repair.test_repair import scripted

SMALL = eh.Space(
    [
        eh.category("sex", ["F", "M"]),
        eh.category("club", ["a", "b"], passed=False),
        eh.integer("income", 0, 99),
    ],
    protected=["sex"],
)
LARGE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 9_999_999)],
    protected=["sex"],
)


def by_sex(people):
    return (people["income"] % 100 < 50) & (people["sex"] == "M")


def by_income(people):
    return people["income"] % 100 < 50


def less_by_sex(people):
    return (people["income"] % 100 < 50) & (
        (people["sex"] == "M") | (people["income"] % 100 < 30)
    )


def claim(before, after, space, n=2000):
    old = eh.Subject(before, space)
    new = old if after is before else eh.Subject(after, space)
    return claimed(old, new, ("sex",), n, level=0.95, seed=1)


def test_few_inputs_are_all_asked():
    found = claim(by_sex, less_by_sex, SMALL)
    for estimate, value in ((found.before, 0.5), (found.after, 0.2)):
        assert estimate.value == estimate.low == estimate.high == pytest.approx(value)
        assert estimate.n == SMALL.size
        assert estimate.level == 1
    assert found.fall.value == pytest.approx(0.3)
    assert found.fewer.value == pytest.approx(0.6)
    for amount in (found.fall, found.fewer):
        assert amount.low == amount.value == amount.high
        assert amount.level == 1
        assert amount.n == SMALL.size
    assert found.verdict == "fell"


def test_of_many_inputs_some_are_drawn():
    found = claim(by_sex, less_by_sex, LARGE)
    assert found.before.n == 2000
    assert found.before.level == 0.95
    assert found.before.low < 0.5 < found.before.high
    assert found.after.low < 0.2 < found.after.high
    assert found.fall.low < 0.3 < found.fall.high
    assert claim(by_sex, less_by_sex, LARGE) == found


@pytest.mark.parametrize("space", [SMALL, LARGE])
def test_a_model_that_was_kept_has_changed_nothing(space):
    found = claim(by_sex, by_sex, space)
    assert found.before == found.after
    assert (found.fall.value, found.fall.low, found.fall.high) == (0, 0, 0)
    # The same answers of another model are not known to be the same.
    other = claim(by_sex, lambda people: by_sex(people), LARGE)
    assert other.fall.value == 0
    assert other.fall.high > 0


def test_people_are_those_that_are_given():
    people = SMALL.draw(300, np.random.default_rng(0))
    old = eh.Subject(by_sex, SMALL)
    new = eh.Subject(by_income, SMALL)
    found: Any = changed_for_people(old, new, ("sex",), people, level=0.95)
    assert found.before.n == 300
    assert found.before.value == hits(View(old), ("sex",), people).mean()
    assert found.after.value == 0
    assert found.before.low < found.before.value < found.before.high
    kept: Any = changed_for_people(old, old, ("sex",), people, level=0.95)
    assert (kept.fall.low, kept.fall.high) == (0, 0)


def test_features_that_no_model_is_passed_change_nothing():
    people = SMALL.draw(20, np.random.default_rng(0))
    old = eh.Subject(by_income, SMALL)
    assert changed_for_people(old, old, ("club",), people, level=0.95) is None
    both = changed_for_people(old, old, ("club", "sex"), people, level=0.95)
    assert both is not None


def test_as_many_inputs_are_all_asked_as_are_few(monkeypatch):
    monkeypatch.setattr(verification, "SMALL", SMALL.size)
    assert claim(by_sex, by_income, SMALL, n=30).before.n == SMALL.size
    monkeypatch.setattr(verification, "SMALL", SMALL.size - 1)
    assert claim(by_sex, by_income, SMALL, n=30).before.n == 30


def test_group_checks_have_the_bias_of_both_models_on_held_out_rows():
    found: Any = scripted(0.6, 0.0)
    groups = [check for check in found.checks if check.kind == "group"]
    assert [check.name for check in groups] == ["spd", "aod", "eod"]
    for check in groups:
        comparison = found.comparisons[check.name]
        performance, bias = comparison.start
        assert check.before == bias != performance
        assert check.after == comparison.standings[0].bias
    # Women are granted what their income says, men of most incomes the opposite.
    assert groups[2].before.value > 0.4
    assert groups[2].after.value < 0.1


def test_other_features_share_the_level_of_their_checks():
    found: Any = scripted(0.6, {"on": "race", "share": 0.3})
    (other,) = [check for check in found.checks if check.kind == "other"]
    assert other.name == "race, all inputs"
    # Many inputs: as many are drawn as for the claim itself.
    assert found.inputs.before.n == other.before.n
    assert other.before.level == found.inputs.before.level
    assert other.before.value == 0
    assert other.after.low < 0.3 < other.after.high
