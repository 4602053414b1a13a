"""The rule sets with the largest keys, those that are frequent, and mirrors of stories."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.cube import Cube
from evenhand.methods.mine.ranking import Ranking, TopRuleSets
from evenhand.methods.mine.texts.ranking import _Mirror
from evenhand.methods.mine.treatment import true_outcomes
from evenhand.space.feature import category


def counts_of(keys):
    return np.stack([keys, 2 * keys, 3 * keys])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 3, 24, 50])
def test_the_largest_are_kept_and_the_others_are_bounded(seed, most):
    rng = np.random.default_rng(seed)
    keys = np.round(rng.random(24), 2)
    top = TopRuleSets.of(keys, counts_of(keys), most)
    every = np.sort(keys)[::-1]
    assert top.keys.tolist() == every[:most].tolist()
    assert top.counts.tolist() == counts_of(top.keys).tolist()
    left_out = every[most:]
    assert top.over == (left_out.max() if len(left_out) else 0.0)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 3, 24, 50])
def test_the_largest_of_parts_are_those_of_all(seed, most):
    keys = np.random.default_rng(seed).random(24)
    whole = TopRuleSets.of(keys, counts_of(keys), most)
    first, *others = np.split(keys, [1, 9, 20])
    top = TopRuleSets.of(first, counts_of(first), most)
    for part in others:
        top = TopRuleSets.of(part, counts_of(part), most, top)
    assert top.keys.tolist() == whole.keys.tolist()
    assert top.counts.tolist() == whole.counts.tolist()
    assert top.over == whole.over


def test_an_equal_key_is_left_out_and_bounds():
    keys = np.array([0.5, 0.9, 0.5, 0.1])
    both = TopRuleSets.of(
        keys[:2],
        np.ones((2, 2)),
        2,
    )
    assert both.over == 0
    top = TopRuleSets.of(keys, np.ones((2, 4)), 2)
    assert top.keys.tolist() == [0.9, 0.5]
    assert top.over == 0.5


def test_of_equal_keys_the_first_comes_first():
    keys = np.array([0.5, 0.9, 0.5, 0.9])
    numbers = np.arange(4.0)[None]
    top = TopRuleSets.of(keys, numbers, 4)
    assert top.counts.tolist() == [[1, 3, 0, 2]]


def test_whole_numbers_that_come_as_floats_are_whole_and_others_stay():
    whole = true_outcomes(np.array([1.0, 0.0, 2.0]), None, 3)
    assert whole.dtype.kind == "i"
    mixed = true_outcomes(np.array([1.0, 0.5, 2.0]), None, 3)
    assert mixed.tolist() == [1.0, 0.5, 2.0]
    assert mixed.dtype.kind == "f"
    assert true_outcomes(
        ["yes", "no"],
        None,
        2,
    ).tolist() == ["yes", "no"]


def examined(least, least_other):
    """Return how many people each rule set covers, of 4 and 6 in two of three levels."""
    column = np.repeat([0.0, 1.0], [4, 6])
    level = category("level", ["a", "b", "nobody"])
    cube = Cube.of([Choices.of(level, column)], [column])
    sizes = cube.totals()
    limits = {"least": least, "least_other": least_other, "most": 100}
    ranking = Ranking.of(cube, sizes, 0 * sizes, **limits)
    return ranking.table.sums[0].tolist()


def test_a_rule_set_that_leaves_nobody_is_not_examined():
    # The levels alone, and each with the one that nobody has.
    assert examined(4.0, 0.0) == [4, 6, 4, 6]
    assert examined(4.1, 0.0) == [6, 6]
    assert examined(1.0, 4.1) == [4, 4]
    assert examined(4.1, 4.1) == []
    assert examined(
        4.0 * (1 + 1e-14),
        0.0,
    ) == [4, 6, 4, 6]


def mirror_of(inside, outside):
    """Return the mirror of a family with one term in each combination."""
    terms = [[SimpleNamespace(text=str(at))] for at in range(len(inside))]
    inside = np.array(inside)
    scored: Any = SimpleNamespace(
        decided=SimpleNamespace(family=SimpleNamespace(terms=terms)),
        inside=inside,
        difference=inside - np.array(outside),
    )
    return _Mirror(scored)


def story(*terms):
    lead: Any = SimpleNamespace(terms=frozenset(terms))
    return [lead]


def test_a_combination_mirrors_a_story_where_it_is_like_the_others_without_it():
    mirror = mirror_of(
        [0.1, 0.8, 0.9, 0.85],
        [0.85, 0.6, 0.6, 0.6],
    )
    assert mirror.story_of(1) is None
    first = story("0")
    mirror.add(first)
    # Without the first, the others are about alike.
    assert mirror.story_of(1) is first
    assert mirror.story_of(2) is first
    # The lead itself is no mirror.
    assert mirror.story_of(0) is None
    mirror.add(story("7"))
    mirror.add(story("3"))
    assert mirror.story_of(1) is first


def test_a_combination_unlike_all_others_is_a_story_of_its_own():
    mirror = mirror_of(
        [0.1, 0.2, 0.9, 0.85],
        [0.65, 0.62, 0.4, 0.4],
    )
    mirror.add(story("0"))
    assert mirror.story_of(1) is None
    alone = mirror_of([0.1, 0.9], [0.9, 0.1])
    alone.add(story("0"))
    assert alone.story_of(1) is not None
