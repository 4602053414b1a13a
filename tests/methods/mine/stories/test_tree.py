"""The tree of stories: those within others stand below them where they are shown to differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

from evenhand.methods.mine.stories.apart import variations
from evenhand.methods.mine.stories.choosing import ChosenRule, StorySearch
from evenhand.methods.mine.stories.tree import tree_of
from evenhand.space.feature import category
from tests.support.helpers import examples
from tests.support.mined_cases import (
    leads_of,
    number_of,
    people_mining,
    planted_cases,
)

FEATURES = [
    category("sex", ["F", "M"]),
    category("race", ["a", "b"]),
]


def nested(rate_of_corner: float, rate_of_others: float = 0.5) -> Any:
    """Return people of whom women get less, and those of race b some other share."""
    sexes = np.repeat(["F", "F", "M", "M"], 400)
    races = np.repeat(["a", "b", "a", "b"], 400)
    rates = np.repeat([rate_of_others, rate_of_corner, 0.9, 0.9], 400)
    values = (
        np.tile(
            np.arange(400),
            4,
        )
        < 400 * rates
    )
    return {"sex": sexes, "race": races}, values


def search_of(frame: Any, values: Any, **options: Any) -> tuple[Any, StorySearch]:
    mining, intervals = people_mining(
        frame,
        values,
        FEATURES,
        **options,
    )
    return mining, StorySearch(mining.ranking, intervals)


def chosen_stories(mining: Any, *texts: str) -> list[ChosenRule]:
    """Return rule sets as if they were chosen in this order."""
    covers = mining.ranking.found.search.covers
    chosen = []
    for text in texts:
        number = number_of(mining, text)
        cover = covers.of_rules(mining.ranking.table.rule(number)[None])[0]
        chosen.append(
            ChosenRule(
                number,
                cover,
                -0.2,
                0.01,
                3.0,
            )
        )
    return chosen


@pytest.mark.parametrize("level", [0.95, 1.0])
def test_groups_within_others_stand_below_them(level):
    frame, values = nested(0.1)
    mining, search = search_of(
        frame,
        values,
        level=level,
    )
    found = tree_of(search, search.choose(10))
    assert leads_of(mining, found) == ["sex F", "sex F, race b"]
    women, corner = found
    assert corner.parent is women
    assert women.children == [corner]
    assert women.added is None
    assert corner.added is not None
    assert corner.added.within
    assert corner.added.value == pytest.approx(-0.4)


@pytest.mark.parametrize("order", [0, 1])
def test_a_story_within_another_stands_below_it_whichever_is_chosen_first(order):
    mining, search = search_of(*nested(0.1))
    texts = ["sex F, race b", "sex F"]
    chosen = chosen_stories(mining, *(reversed(texts) if order else texts))
    upper, lower = tree_of(search, chosen)
    assert leads_of(mining, [upper, lower]) == ["sex F", "sex F, race b"]
    assert lower.parent is upper
    assert upper.children == [lower]
    assert upper.parent is None
    # Women of race b get 10 %, and the other women 50 %.
    assert lower.added is not None
    assert lower.added.within
    assert lower.added.value == pytest.approx(-0.4)
    assert lower.added.low < -0.4 < lower.added.high < 0
    # The upper one is before all others, or only what is within it was chosen_rules before.
    assert upper.added is None


def test_limits_of_a_whole_population_are_the_difference_itself():
    mining, search = search_of(*nested(0.1), level=1.0)
    _, lower = tree_of(
        search,
        chosen_stories(
            mining,
            "sex F",
            "sex F, race b",
        ),
    )
    assert lower.added is not None
    assert lower.added.low == lower.added.value == lower.added.high
    assert lower.added.value == pytest.approx(-0.4)


@pytest.mark.parametrize(
    ("of_corner", "why"),
    [(0.48, "may be chance"), (0.5, "is no difference"), (0.7, "is the other way")],
)
def test_a_child_that_is_not_shown_to_differ_is_folded(of_corner, why):
    mining, search = search_of(*nested(of_corner))
    chosen = chosen_stories(
        mining,
        "sex F, race b",
        "sex F",
    )
    alike = variations(
        mining.ranking,
        chosen,
        search.candidates,
    )
    (only,) = tree_of(search, chosen)
    assert mining.rule(only.lead).text == "sex F", why
    assert only.children == []
    # Both of them, and the variations of both.
    assert only.rules == 2 + sum(len(numbers) for numbers in alike)
    assert leads_of_sets(mining, only.variations)[0] == "sex F, race b"


def leads_of_sets(mining: Any, rule_sets: Any) -> list[str]:
    return [mining.rule(rule_set).text for rule_set in rule_sets]


def test_stories_about_different_people_stand_beside_each_other():
    mining, search = search_of(*nested(0.1))
    chosen = chosen_stories(
        mining,
        "sex F, race b",
        "sex F, race a",
    )
    found = tree_of(search, chosen)
    assert leads_of(mining, found) == ["sex F, race b", "sex F, race a"]
    first, second = found
    assert first.parent is None
    assert second.parent is None
    assert first.added is None
    # What was chosen is kept: 20 points less than people who are alike, give or take 3 errors.
    assert second.added is not None
    assert not second.added.within
    assert second.added.value == -0.2
    assert second.added.low == pytest.approx(-0.23)
    assert second.added.high == pytest.approx(-0.17)


def test_the_smallest_story_that_holds_another_is_its_parent():
    """Of three that are within each other, each stands below the next larger one."""
    sexes = np.repeat(["F", "F", "F", "F", "M"], 400)
    races = np.repeat(["a", "b", "a", "b", "a"], 400)
    plans = np.repeat(["x", "x", "y", "y", "x"], 400)
    rates = np.repeat([0.7, 0.4, 0.7, 0.1, 0.95], 400)
    values = (
        np.tile(
            np.arange(400),
            5,
        )
        < 400 * rates
    )
    frame = {"sex": sexes, "race": races, "plan": plans}
    features = [*FEATURES, category("plan", ["x", "y"])]
    mining, intervals = people_mining(
        frame,
        values,
        features,
    )
    search = StorySearch(mining.ranking, intervals)
    texts = ["sex F, race b, plan y", "sex F", "sex F, race b"]
    found = tree_of(search, chosen_stories(mining, *texts))
    assert leads_of(mining, found) == [
        "sex F",
        "sex F, race b",
        "sex F, race b, plan y",
    ]
    parents = [story.parent for story in found]
    assert parents == [None, found[0], found[1]]


@settings(max_examples=examples(20), deadline=None)
@given(planted_cases())
def test_a_tree_holds_all_stories_and_each_below_what_covers_it(case):
    search = case.search()
    chosen = search.choose(10)
    found = tree_of(search, chosen)
    in_tree = {story.chosen.number for story in found}
    assert in_tree <= {story.number for story in chosen}
    assert bool(in_tree) == bool(chosen)
    rules = sum(story.rules for story in found)
    alike = variations(
        search.ranking,
        chosen,
        search.candidates,
    )
    assert rules == len(chosen) + sum(len(numbers) for numbers in alike)
    before = set()
    for story in found:
        mask = case.mining.inside(story.lead)
        parent = story.parent
        if parent is None:
            assert story.added is None or not story.added.within
        else:
            # A story follows the one that it stands below.
            assert parent.chosen.number in before
            outer = case.mining.inside(parent.lead)
            there = case.size > 0
            assert not (mask & ~outer & there).any()
            check_added(
                case,
                story,
                mask,
                outer,
            )
        before.add(story.chosen.number)


def check_added(case, story, mask, outer):
    """Check how far a story is from the other people of the one above."""
    inside = np.average(
        case.treated.values[mask],
        weights=case.size[mask],
    )
    others = outer & ~mask
    outside = np.average(
        case.treated.values[others],
        weights=case.size[others],
    )
    added = story.added
    assert added.within
    assert added.value == pytest.approx(inside - outside, abs=1e-9)
    assert added.low <= added.value <= added.high
    assert added.low > 0 or added.high < 0
    assert np.sign(added.value) == np.sign(story.lead.difference)
