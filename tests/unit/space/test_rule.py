"""Rules: one form for each subgroup, the same inputs whichever way it is asked, and sentences for
what is wrong.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import RareInputs, SpaceError, UsageError
from evenhand.space.feature import Feature, category, integer, real
from evenhand.space.rule import Condition, Rule
from evenhand.space.space import Space
from tests.support.helpers import examples, refused
from tests.support.strategies import every, spaces

PEOPLE = Space(
    [
        category("sex", ["F", "M", "Other", "Unknown"]),
        integer("age", 18, 90),
        category("race", ["White", "Black", "Asian"]),
        integer("income", 0, 100_000),
        real("rate", 0, 1, step=0.05),
    ]
)


@st.composite
def condition(draw: Any, feature: Feature) -> Condition:
    """A condition that some value meets; ends may lie between values and beyond them."""
    if feature.kind == "category":
        levels = draw(st.lists(st.sampled_from(feature.levels), min_size=1))
        return Condition(feature.name, levels=tuple(levels))
    first, second = draw(
        st.lists(st.sampled_from(values_of(feature)), min_size=2, max_size=2)
    )
    least = min(first, second)
    most = max(first, second)
    half = (feature.step or 1.0) / 2
    low = draw(st.sampled_from([None, least, least - half, -float("inf")]))
    high = draw(st.sampled_from([None, most, most + half, float("inf")]))
    return Condition(feature.name, low, high)


def values_of(feature: Feature) -> list[float]:
    """The values of a number, or its ends where it is continuous."""
    if np.isfinite(feature.size):
        return list(feature.values().tolist())
    return [feature.low, feature.high]


@st.composite
def ruled(draw: Any, *, constrained: bool = False) -> tuple[Space, list[Condition], Rule]:
    """A small space, conditions on its features in any order and number, and the rule they make."""
    space = draw(spaces(most=3, constrained=constrained))
    chosen = draw(st.lists(st.sampled_from(space.features), max_size=5))
    conditions = [draw(condition(feature)) for feature in chosen]
    try:
        return space, conditions, Rule.of(space, conditions)
    except UsageError as error:
        assume("meets all conditions" not in str(error))  # nothing meets them all
        raise


def met(conditions: list[Condition], point: tuple[float, ...], space: Space) -> bool:
    """Whether a point meets conditions, by a plain loop."""
    for condition in conditions:
        value = point[space.index(condition.feature)]
        feature = space.feature(condition.feature)
        if feature.kind == "category":
            if feature.levels[int(value)] not in condition.levels:
                return False
            continue
        if condition.low is not None and value < condition.low:
            return False
        if condition.high is not None and value > condition.high:
            return False
    return True


@settings(max_examples=examples(50), deadline=None)
@given(ruled())
def test_a_rule_holds_the_inputs_that_meet_its_conditions(case):
    space, conditions, rule = case
    points = every(space)
    expected = [met(conditions, point, space) for point in points]
    assert rule.mask(np.array(points), space).tolist() == expected


@settings(max_examples=examples(50), deadline=None)
@given(ruled())
def test_there_is_one_form_in_the_order_of_the_features_without_what_is_always_met(case):
    space, conditions, rule = case
    assert Rule.of(space, rule.conditions) == rule
    assert Rule.of(space, reversed(conditions)) == rule
    assert hash(Rule.of(space, conditions * 2)) == hash(rule)
    positions = [space.index(condition.feature) for condition in rule.conditions]
    assert positions == sorted(set(positions))
    points = np.array(every(space))
    for condition in rule.conditions:
        assert not Rule((condition,)).mask(points, space).all()


@settings(max_examples=examples(40), deadline=None)
@given(ruled(), st.randoms(use_true_random=False))
def test_equal_subgroups_are_equal_rules(case, random):
    """Conditions rebuilt from the values that meet them make the same rule."""
    space, _, rule = case
    points = np.array(every(space))
    inside = points[rule.mask(points, space)]
    rebuilt = []
    for position, feature in enumerate(space.features):
        values = feature.labels(np.unique(inside[:, position]))
        random.shuffle(values)
        if feature.kind == "category":
            rebuilt.append(Condition(feature.name, levels=tuple(values)))
        else:
            rebuilt.append(Condition(feature.name, min(values), max(values)))
    assert Rule.of(space, rebuilt) == rule


@settings(max_examples=examples(40), deadline=None)
@given(ruled())
def test_a_rule_survives_json(case):
    _, _, rule = case
    back = Rule.from_dict(json.loads(json.dumps(rule.to_dict())))
    assert back == rule
    assert back.text == rule.text


@settings(max_examples=examples(40), deadline=None)
@given(ruled(constrained=True))
def test_draws_are_valid_and_meet_the_rule(case):
    space, _, rule = case
    points = np.array(every(space))
    inside = points[rule.mask(points, space)] if len(points) else points
    if not len(inside):
        words = "the constraints leave next to no"
        refused(RareInputs, lambda: rule.draw(5, np.random.default_rng(0), space), words)
        return
    drawn = rule.draw(40, np.random.default_rng(0), space)
    assert drawn.shape == (40, len(space.features))
    assert set(map(tuple, drawn.tolist())) <= set(map(tuple, inside.tolist()))


def test_draws_are_uniform_over_the_valid_inputs_of_a_rule():
    features = [category("a", list("wxyz")), integer("b", 0, 9)]
    space = Space(features, constraints=["not (a == 'x' and b < 5)"])
    x_or_z = Condition("a", levels=("x", "z"))
    rule = Rule.of(space, [x_or_z, Condition("b", low=3, high=6)])
    drawn = rule.draw(60_000, np.random.default_rng(1), space)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert found.tolist() == [[1, 5], [1, 6], [3, 3], [3, 4], [3, 5], [3, 6]]
    assert np.abs(counts - 10_000).max() < 500


def test_a_continuous_range_is_drawn_inside():
    space = Space([real("x", 0, 1), real("y", -1, 1)])
    rule = Rule.of(space, [Condition("x", 0.25, 0.5), Condition("y", low=0.9)])
    drawn = rule.draw(1000, np.random.default_rng(0), space)
    assert rule.mask(drawn, space).all()
    assert drawn[:, 0].min() < 0.26
    assert drawn[:, 0].max() > 0.49


def test_one_seed_draws_the_same():
    rule = Rule.of(PEOPLE, [Condition("age", high=30)])
    first = rule.draw(9, np.random.default_rng(3), PEOPLE)
    second = rule.draw(9, np.random.default_rng(3), PEOPLE)
    assert (first == second).all()


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ([], "everybody"),
        ([Condition("age", 0, 100)], "everybody"),
        (
            [
                Condition("income", low=3000),
                Condition("sex", levels=("Other", "F")),
                Condition("age", 18.0, 25),
            ],
            "sex F or Other, age at most 25, income at least 3,000",
        ),
        ([Condition("age", 20, 25)], "age 20 to 25"),
        ([Condition("age", 20, 25), Condition("age", 25, 30)], "age 25"),
        ([Condition("race", levels=("Black", "Asian"))], "race not White"),
        ([Condition("race", levels=("Black",))], "race Black"),
        ([Condition("sex", levels=("F", "M", "Other"))], "sex not Unknown"),
        ([Condition("rate", 0.12, 0.61)], "rate 0.15 to 0.6"),
        (
            [Condition("income", np.float64(11_999.5), np.float64(13_000.7))],
            "income 12,000 to 13,000",
        ),
    ],
)
def test_the_text_of_a_rule(conditions, text):
    rule = Rule.of(PEOPLE, conditions)
    assert rule.text == str(rule) == text


def test_what_does_not_fit_is_named():
    def of(*conditions: Condition) -> Any:
        return lambda: Rule.of(PEOPLE, conditions)

    refused(UsageError, of(Condition("agee", low=3)), "unknown feature 'agee'", "'age'")
    refused(
        UsageError,
        of(Condition("race", levels=("white",))),
        "'race'",
        "no level 'white'",
        "did you mean 'White'",
    )
    refused(UsageError, of(Condition("race")), "'race'", "names no level")
    refused(UsageError, of(Condition("race", low=1)), "low = 1", "category")
    refused(UsageError, of(Condition("age", levels=("18",))), "'age'", "number")
    refused(UsageError, of(Condition("age", 30, 20)), "low = 30 is over high = 20")
    refused(UsageError, of(Condition("age", low=float("nan"))), "low = nan", "not a number")
    refused(UsageError, of(Condition("age", high="x")), "high = 'x'")  # type: ignore[arg-type]
    refused(UsageError, of(Condition("age", high=True)), "high = True")
    refused(UsageError, of(Condition("age", low=91)), "no value of 'age'", "18 to 90")
    refused(UsageError, of(Condition("age", low=10**400)), "no value of 'age'")
    refused(UsageError, of(Condition("rate", 0.51, 0.54)), "no value of 'rate'")
    young = Condition("age", high=30)
    refused(UsageError, of(young, Condition("age", low=40)), "no value of 'age'")
    white = Condition("race", levels=("White",))
    black = Condition("race", levels=("Black",))
    refused(UsageError, of(white, black), "no level of 'race'")
    refused(UsageError, lambda: Rule.from_dict({}), "list of conditions")
    refused(UsageError, lambda: Rule.from_dict({"conditions": ["age"]}), "names a feature")
    unknown = {"conditions": [{"feature": "age", "lo": 3}]}
    refused(UsageError, lambda: Rule.from_dict(unknown), "'lo'", "did you mean")


def test_a_constraint_that_fails_is_reported_as_itself():
    def broken(frame: Any) -> Any:
        raise RuntimeError("no")

    space = Space([integer("a", 0, 9), integer("b", 0, 2)], constraints=[broken])
    rule = Rule.of(space, [Condition("a", low=3)])
    refused(SpaceError, lambda: rule.draw(3, np.random.default_rng(0), space), "no")


def test_that_constraints_leave_next_to_nothing_is_known_by_the_error_not_its_words(
    monkeypatch,
):
    class Reworded(RareInputs):
        def __init__(self, message: str) -> None:
            super().__init__("Übersetzung")

    monkeypatch.setattr("evenhand.space.distribution.RareInputs", Reworded)
    space = Space([integer("a", 0, 9), integer("b", 0, 2)], constraints=["a < 3"])
    rule = Rule.of(space, [Condition("a", low=3)])
    refused(
        RareInputs,
        lambda: rule.draw(3, np.random.default_rng(0), space),
        "next to no input with a at least 3",
    )


# Ends that are not included


@st.composite
def half_open(draw: Any) -> tuple[Space, list[Condition]]:
    """A space, and ranges of its numbers of which some ends are not included.

    Ends lie between values and beyond them too.
    """
    space = draw(spaces(most=3, continuous=True))
    numbers = [feature for feature in space.features if feature.kind != "category"]
    if not numbers:
        return space, []
    conditions = []
    for feature in draw(st.lists(st.sampled_from(numbers), max_size=3)):
        values = values_of(feature)
        half = (feature.step or 1.0) / 2
        between = [value + half for value in values]
        ends = st.sampled_from([*values, *between, values[0] - 9 * half, float("inf")])
        low = draw(st.none() | ends)
        below = draw(ends)
        assume(low is None or low < below)
        conditions.append(Condition(feature.name, low=low, below=below))
        if draw(st.booleans()):
            conditions.append(Condition(feature.name, high=draw(ends)))
    return space, conditions


@settings(max_examples=examples(50), deadline=None)
@given(half_open())
def test_ends_that_are_not_included(case):
    space, conditions = case
    points = space.draw(60, np.random.default_rng(0))
    expected = np.ones(len(points), dtype=bool)
    for condition in conditions:
        column = points[:, space.index(condition.feature)]
        if condition.low is not None:
            expected &= column >= condition.low
        if condition.below is not None:
            expected &= column < condition.below
        else:
            expected &= column <= condition.high
    try:
        rule = Rule.of(space, conditions)
    except UsageError as error:
        assert "meets all conditions" in str(error)
        assert not expected.any()
        return
    assert (rule.mask(points, space) == expected).all()
    assert Rule.of(space, rule.conditions) == rule
    other = Rule.of(space, reversed(conditions))
    assert (other, other.text) == (rule, rule.text)
    back = Rule.from_dict(json.loads(json.dumps(rule.to_dict())))
    assert (back, back.text) == (rule, rule.text)
    assert (back.mask(points, space) == expected).all()
    drawn = rule.draw(20, np.random.default_rng(1), space)
    assert rule.mask(drawn, space).all()


@pytest.mark.parametrize(
    ("condition", "text", "high"),
    [
        (Condition("age", low=40, below=60), "40 <= age < 60", 59),
        (Condition("age", below=60), "age < 60", 59),
        (Condition("age", low=30, below=59.5), "30 <= age < 59.5", 59),
        (Condition("age", low=40, below=91), "age at least 40", None),
        (Condition("age", low=40, below=float("inf")), "age at least 40", None),
        (Condition("age", below=10**400), "everybody", None),
        (Condition("age", low=40, high=50, below=60), "age 40 to 50", 50),
        (Condition("age", low=40, high=70, below=60), "40 <= age < 60", 59),
        (Condition("rate", low=0.1, below=0.3), "0.1 <= rate < 0.3", 0.25),
        (Condition("income", low=1000, below=20_000), "1,000 <= income < 20,000", 19_999),
    ],
)
def test_the_text_and_the_last_value_of_a_half_open_range(condition, text, high):
    rule = Rule.of(PEOPLE, [condition])
    assert rule.text == text
    if rule.conditions:
        assert rule.conditions[0].high == (None if high is None else pytest.approx(high))
    if high is not None:
        closed = Rule.of(PEOPLE, [Condition(condition.feature, condition.low, high)])
        # The same subgroup, in other words.
        assert (closed, hash(closed)) == (rule, hash(rule))


def test_a_half_open_range_that_is_no_rule_yet_is_met_and_drawn_alike():
    bare = Rule((Condition("age", low=30, below=32),))
    drawn = bare.draw(200, np.random.default_rng(0), PEOPLE)
    assert set(drawn[:, 1]) == {30, 31}
    space = Space([real("x", 0, 1)])
    lower_half = Rule((Condition("x", below=0.5),))
    drawn = lower_half.draw(500, np.random.default_rng(0), space)
    assert (drawn < 0.5).all()
    assert drawn.max() > 0.45


def test_ends_that_are_not_included_and_do_not_fit():
    def of(*conditions: Condition) -> Any:
        return lambda: Rule.of(PEOPLE, conditions)

    refused(
        UsageError,
        of(Condition("age", low=60, below=40)),
        "low = 60 is not under below = 40",
    )
    refused(
        UsageError,
        of(Condition("age", low=40, below=40)),
        "low = 40 is not under below = 40",
    )
    refused(UsageError, of(Condition("race", below=1)), "below = 1", "category")
    refused(
        UsageError, of(Condition("age", below=float("nan"))), "below = nan", "not a number"
    )
    refused(UsageError, of(Condition("age", below="x")), "below = 'x'")  # type: ignore[arg-type]
    refused(UsageError, of(Condition("age", below=18)), "no value of 'age'")
    refused(UsageError, of(Condition("age", below=-float("inf"))), "no value of 'age'")
    old = Condition("age", low=50)
    refused(UsageError, of(old, Condition("age", below=50)), "no value of 'age'")
    refused(UsageError, of(Condition("rate", low=0.51, below=0.54)), "no value of 'rate'")
