"""The rule sets with the largest keys, those that are frequent, and mirrors of stories."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from evenhand.methods.mine.ranking import Ranking, _TopRuleSets
from evenhand.methods.mine.texts.ranking import _Mirror
from evenhand.methods.mine.treatment import true_outcomes


def counts_of(keys):
    return np.stack([keys, 2 * keys, 3 * keys])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("most", [1, 3, 50])
def test_the_largest_are_kept_and_the_others_are_bounded(seed, most):
    rng = np.random.default_rng(seed)
    parts = [np.round(rng.random(size), 2) for size in (2, 0, 5, 9, 1, 7)]
    top = _TopRuleSets(most)
    for keys in parts:
        top.add(keys, counts_of(keys))
    every = np.sort(np.concatenate(parts))[::-1]
    assert top.keys.tolist() == every[:most].tolist()
    assert top.counts.tolist() == counts_of(top.keys).tolist()
    left_out = every[most:]
    assert top.over == (left_out.max() if len(left_out) else 0.0)


def test_an_equal_key_is_left_out_and_bounds():
    top = _TopRuleSets(2)
    top.add(np.array([0.5, 0.9]), np.ones((2, 2)))
    assert top.over == 0
    top.add(np.array([0.5, 0.1]), np.ones((2, 2)))
    assert top.keys.tolist() == [0.9, 0.5]
    assert top.over == 0.5
    # Keys below 0 leave the bound at 0.
    below = _TopRuleSets(1)
    below.add(np.array([-0.5]), np.ones((2, 1)))
    below.add(np.array([-0.9]), np.ones((2, 1)))
    assert below.over == 0


def test_whole_numbers_that_come_as_floats_are_whole_and_others_stay():
    whole = true_outcomes(np.array([1.0, 0.0, 2.0]), None, 3)
    assert whole.dtype.kind == "i"
    mixed = true_outcomes(np.array([1.0, 0.5, 2.0]), None, 3)
    assert mixed.tolist() == [1.0, 0.5, 2.0]
    assert mixed.dtype.kind == "f"
    assert true_outcomes(["yes", "no"], None, 2).tolist() == ["yes", "no"]


def test_a_rule_set_that_leaves_nobody_is_not_frequent():
    size = np.array([4.0, 6.0])
    cube: Any = None
    ranking = Ranking(cube, size, np.zeros(2), least=4.0, least_other=0.0)
    covered = np.array([10.0, 9.5, 4.0, 3.9])
    assert ranking._frequent(covered).tolist() == [False, True, True, False]
    stricter = Ranking(cube, size, np.zeros(2), least=0.0, least_other=2.0)
    assert stricter._frequent(covered).tolist() == [False, False, True, True]


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
    mirror = mirror_of([0.1, 0.8, 0.9, 0.85], [0.85, 0.6, 0.6, 0.6])
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
    mirror = mirror_of([0.1, 0.2, 0.9, 0.85], [0.65, 0.62, 0.4, 0.4])
    mirror.add(story("0"))
    assert mirror.story_of(1) is None
    alone = mirror_of([0.1, 0.9], [0.9, 0.1])
    alone.add(story("0"))
    assert alone.story_of(1) is not None
