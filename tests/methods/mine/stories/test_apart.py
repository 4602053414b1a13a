"""Stories by overlap: against a plain loop over masks."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.stories.apart import OVERLAP, chosen_apart, variations
from evenhand.methods.mine.stories.choosing import StorySearch
from evenhand.methods.mine.stories.tree import VARIATIONS, stories_of
from tests.support.helpers import examples
from tests.support.mined_cases import cases, key_of, mined, planted_cases, rule_sets


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
    """The strongest is chosen_rules, and none about nearly the same people after it."""
    ranking = case.mining.ranking
    ranking.rank(case.sure)
    alive = rule_sets(case)
    found = chosen_apart(ranking, most)
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
        assert key_of(ranking.rule_set(story.number)) == key_of(first[0])
        both = zip(
            alive,
            shares,
            strict=True,
        )
        alive = [entry for entry, share in both if share < OVERLAP]
    if len(found) < most:
        assert not alive


@settings(max_examples=examples(25), deadline=None)
@given(planted_cases(), st.sampled_from([1, 2, 50]))
def test_a_variation_is_of_the_story_that_it_shares_most_people_with(case, most):
    search = case.search()
    ranking = search.ranking
    chosen_rules = search.choose(most)
    alike = variations(
        ranking,
        chosen_rules,
        search.candidates,
    )
    stories = stories_of(
        ranking,
        chosen_rules,
        search.candidates,
    )
    assert [story.rules for story in stories] == [1 + len(numbers) for numbers in alike]
    leads = [case.mining.inside(story.lead) for story in stories]
    for story, numbers in zip(
        stories,
        alike,
        strict=True,
    ):
        strengths = ranking.strength[numbers].tolist()
        assert strengths == sorted(strengths, reverse=True)
        listed = [key_of(ranking.rule_set(number)) for number in numbers[:VARIATIONS]]
        assert [key_of(rule_set) for rule_set in story.variations] == listed
    places: dict[int, int] = {}
    for place, some in enumerate(alike):
        places |= {int(number): place for number in some}
    assert len(places) == sum(len(numbers) for numbers in alike)
    is_chosen = {story.number for story in chosen_rules}
    candidates = search.candidates.numbers
    for number in candidates[:: max(1, len(candidates) // 40)].tolist():
        mask = case.mining.inside(ranking.rule_set(number))
        shares = [
            overlap(
                case,
                lead,
                mask,
            )
            for lead in leads
        ]
        most_shared = max(shares, default=0.0)
        if abs(most_shared - OVERLAP) < 1e-9:  # a rounding error either way
            continue
        folded = number not in is_chosen and most_shared >= OVERLAP
        assert (number in places) == folded
        if folded:
            assert shares[places[number]] == pytest.approx(most_shared)


def strength_of(entry: Any) -> float:
    _, strength, _ = entry
    return float(strength)


def test_what_leads_no_story_is_passed_over():
    """Only what is discovered leads, and tells of others that are."""
    case = mined(
        200,
        1,
        ["race", "age", "sex"],
    )
    ranking = case.mining.ranking
    ranking.rank(case.sure)
    ranking.rates = np.ones(ranking.examined)
    ranking.rates[[2, 5]] = 0.01
    assert ranking.discovered(0.05) == 2
    ranking.only_found(0.05)
    found = chosen_apart(ranking, 10)
    numbers = {story.number for story in found}
    assert numbers
    assert numbers <= {2, 5}
    search = StorySearch(ranking, case.sure)
    assert set(search.candidates.numbers.tolist()) <= {2, 5}
