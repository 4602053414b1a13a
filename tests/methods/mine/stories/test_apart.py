"""Stories by overlap: against a plain loop over masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.stories.apart import OVERLAP, stories_apart
from evenhand.methods.mine.stories.choosing import VARIATIONS
from tests.support.helpers import examples
from tests.support.mined_cases import cases, key_of, mined, rule_sets


def overlap(case: Any, one: Any, other: Any) -> float:
    """The part that the smaller side of a group shares with another group or with its complement,
    whichever is more.
    """
    size = case.size
    if 2 * size[one].sum() > size.sum():
        one = ~one

    def jaccard(a: Any, b: Any) -> float:
        shared = size[a & b].sum()
        together = size[a | b].sum()
        return float(shared / together)

    return max(jaccard(one, other), jaccard(one, ~other))


@settings(max_examples=examples(25), deadline=None)
@given(cases(), st.sampled_from([1, 2, 50]))
def test_stories_are_those_of_a_plain_loop(case, most):
    """All that tell of nearly the same people as the strongest join it."""
    ranking = case.mining.ranking
    ranking.rank(case.sure)
    alive = rule_sets(case)
    found = stories_apart(ranking, most)
    for story in found:
        first = max(alive, key=strength_of)
        _, _, first_mask = first
        shares = np.array(
            [
                overlap(
                    case,
                    first_mask,
                    mask,
                )
                for _, _, mask in alive
            ]
        )
        if (np.abs(shares - OVERLAP) < 1e-9).any():  # a rounding error either way
            return
        assert key_of(story.lead) == key_of(first[0])
        joins = [
            entry
            for entry, share in zip(
                alive,
                shares,
                strict=True,
            )
            if share >= OVERLAP
        ]
        alive = [
            entry
            for entry, share in zip(
                alive,
                shares,
                strict=True,
            )
            if share < OVERLAP
        ]
        assert story.rules == len(joins)
        assert story.parent is None
        assert story.added is None
        others = [strength_of(entry) for entry in joins if entry is not first]
        strengths = {key_of(rule_set): strength for rule_set, strength, _ in joins}
        like = [strengths[key_of(rule_set)] for rule_set in story.variations]
        assert like == pytest.approx(
            sorted(
                others,
                reverse=True,
            )[:VARIATIONS]
        )
    if len(found) < most:
        assert not alive
    in_stories = sum(story.rules for story in found)
    assert in_stories == ranking.examined - len(alive)


def strength_of(entry: Any) -> float:
    _, strength, _ = entry
    return float(strength)


def test_what_leads_no_story_is_passed_over():
    """Only what is discovered leads, and tells of others that are."""
    case = mined(200, 1, ["race", "age", "sex"])
    ranking = case.mining.ranking
    ranking.rank(case.sure)
    ranking.rates = np.ones(ranking.examined)
    ranking.rates[[2, 5]] = 0.01
    assert ranking.discovered(0.05) == 2
    ranking.only_found(0.05)
    found = stories_apart(ranking, 10)
    numbers = {story.chosen.number for story in found}
    assert numbers <= {2, 5}
    assert sum(story.rules for story in found) == 2
