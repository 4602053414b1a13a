"""Rule sets as masks over rows, ranked and told by plain loops, and their bounds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine import ranking as module
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated, check_rules
from evenhand.methods.mine.stories.choosing import StorySearch
from evenhand.runtime.errors import DataError, UsageError
from evenhand.space.feature import category, integer
from evenhand.space.rule import Rule
from evenhand.space.space import Space
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute
from tests.support.helpers import examples, refused
from tests.support.mined_cases import (
    SPACE,
    Case,
    all_masks,
    cases,
    key_of,
    leads_of,
    mined,
    rule_sets,
    stories_of,
)

if TYPE_CHECKING:
    from evenhand.methods.mine.ranking import RuleSet


@settings(max_examples=examples(25), deadline=None)
@given(cases(some=False))
def test_candidates_frequent_and_examined_are_those_of_a_loop_over_all_masks(case):
    mining = case.mining
    total = case.size.sum()
    least = case.options.support * total * (1 - 1e-9)
    least_other = case.options.other * total * (1 - 1e-9)
    everything = all_masks(case, merged=False)
    frequent = 0
    for _, mask in everything:
        frequent += case.size[mask].sum() >= least
    assert mining.candidates == len(everything)
    assert mining.frequent == frequent
    there = case.size > 0
    expected = []
    for family, mask in all_masks(case, merged=True):
        inside = case.size[mask].sum()
        outside = case.size[~mask].sum()
        if inside >= least and outside >= least_other and outside > 0:
            expected.append((family, mask[there].tobytes()))
    mining.ranking.rank(case.sure)
    found = []
    for rule_set, _, mask in rule_sets(case):
        found.append((rule_set.family, mask[there].tobytes()))
    assert sorted(found) == sorted(expected)
    assert mining.ranking.examined == len(expected)


@settings(max_examples=examples(25), deadline=None)
@given(cases())
def test_a_rule_set_is_a_mask_over_rows(case):
    case.mining.ranking.rank(case.sure)
    values = case.treated.values
    weights = case.size
    for rule_set, strength, mask in rule_sets(case):
        rule = case.mining.rule(rule_set)
        assert (rule.mask(case.treated.points, SPACE) == mask).all()
        assert len(rule.conditions) == len(rule_set.family)
        size = weights[mask].sum()
        hits = (values * weights)[mask].sum()
        inside = np.average(values[mask], weights=weights[mask])
        outside = np.average(values[~mask], weights=weights[~mask])
        assert rule_set.size == pytest.approx(size)
        assert rule_set.hits == close(hits)
        assert rule_set.inside == close(inside)
        assert rule_set.outside == close(outside)
        expected = case.sure.strength(
            np.array(rule_set.inside),
            np.array(rule_set.size),
            np.array(rule_set.outside),
            np.array(weights.sum() - rule_set.size),
        )
        assert strength == close(float(expected))


def close(value: float) -> Any:
    return pytest.approx(value, abs=1e-9)


@settings(max_examples=examples(25), deadline=None)
@given(cases(), st.sampled_from([1, 3, 50]))
def test_the_rest_bounds_every_rule_set_that_leads_no_story(case, most):
    ranking = case.mining.ranking
    leads = [story.number for story in case.search().choose(most)]
    others = []
    for number, (rule_set, _, _) in enumerate(rule_sets(case)):
        if number not in leads:
            others.append(rule_set)
    rest = ranking.rest(case.sure, leads)
    if rest is None:
        assert ranking.examined == len(leads)
        assert not others
        return
    assert ranking.examined == len(leads) + rest.rules
    assert rest.rules == len(others)
    differences = [abs(rule_set.inside - rule_set.outside) for rule_set in others]
    assert rest.value == close(max(differences))
    low, high = highest_limits(case, others)
    assert rest.low <= max(low, 0) + 1e-9
    assert rest.low <= rest.value <= rest.high
    assert rest.high >= high - 1e-9
    # So few have all their limits computed: the upper one is the highest itself.
    assert rest.high == close(max(high, rest.value))


def highest_limits(case: Case, rule_sets_: list[RuleSet]) -> tuple[float, float]:
    """Return the highest lower and the highest upper limit of the differences of rule sets."""
    ranking = case.mining.ranking
    sizes = np.array([rule_set.size for rule_set in rule_sets_])
    hits = np.array([rule_set.hits for rule_set in rule_sets_])
    left = np.maximum(ranking.total - sizes, 0)
    missed = np.clip(ranking.hits.sum() - hits, 0, left)
    limits = case.sure.difference(hits, sizes, missed, left)
    low, high = absolute(*limits)
    return float(low.max()), float(high.max())


@pytest.mark.parametrize(
    ("boxed", "refined", "at_once"), [(5, 3, 2), (40, 40, 1), (1, 1, 1), (10, 2, 64)]
)
@pytest.mark.parametrize("how", ["counts", "graded"])
def test_with_more_rule_sets_than_are_computed_the_rest_is_still_bounded(
    boxed, refined, at_once, how, monkeypatch
):
    case = mined(300, 3, ["race", "age", "sex"], how=how)
    ranking = case.mining.ranking
    leads = [story.number for story in case.search().choose(3)]
    exact = ranking.rest(case.sure, leads)
    monkeypatch.setattr(module, "BOXED", boxed)
    monkeypatch.setattr(module, "REFINED", refined)
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    bound = ranking.rest(case.sure, leads)
    assert exact is not None
    assert bound is not None
    assert exact.high <= bound.high <= 1
    assert bound.rules == exact.rules
    assert bound.value == exact.value
    assert bound.low == exact.low


def test_whole_weights_are_repeated_rows():
    case = mined(60, 5, ["race", "sex", "age"], how="weights")
    times = (4 * case.size).astype(int)
    points = np.repeat(case.treated.points, times, axis=0)
    values = np.repeat(case.treated.values, times)
    treated = Treated(points, values, "", "rows")
    repeated = Mining.of(SPACE, case.names, treated, case.options)
    ranking = case.mining.ranking
    assert repeated.frequent == case.mining.frequent
    assert repeated.ranking.examined == ranking.examined
    ranking.rank(SimultaneousIntervals(1.0))
    repeated.ranking.rank(SimultaneousIntervals(1.0))
    everybody = SimultaneousIntervals(1.0)
    weighted_stories = StorySearch(ranking, everybody).choose(5)
    repeated_stories = StorySearch(repeated.ranking, everybody).choose(5)
    assert len(weighted_stories) > 2
    for weighted, other in zip(weighted_stories, repeated_stories, strict=True):
        assert weighted.beyond == pytest.approx(other.beyond)
        lead = ranking.rule_set(weighted.number)
        other_lead = repeated.ranking.rule_set(other.number)
        assert key_of(lead) == key_of(other_lead)
        assert lead.inside == pytest.approx(other_lead.inside)
        assert lead.outside == pytest.approx(other_lead.outside)
        assert 4 * lead.size == pytest.approx(other_lead.size)


def texts_like(mining: Mining, story: Any) -> set[str]:
    """Return the texts of the rule sets that tell of nearly the same people as a story."""
    return {mining.rule(rule_set).text for rule_set in story.variations}


SEX = category("sex", ["F", "M"])


@pytest.mark.parametrize(("few", "many"), [("F", "M"), ("M", "F")])
@pytest.mark.parametrize("favour_few", [True, False])
def test_two_complements_are_one_story_and_the_smaller_group_leads(few, many, favour_few):
    favoured = few if favour_few else many
    sexes = [few] * 40 + [many] * 60
    values = [sex == favoured for sex in sexes]
    mining, found = stories_of({"sex": sexes}, values, [SEX])
    (story,) = found
    assert leads_of(mining, found) == [f"sex {few}"]
    assert len(story.variations) == 1
    assert texts_like(mining, story) == {f"sex {many}"}
    assert story.rules == 2
    rest = mining.ranking.rest(SimultaneousIntervals(0.95, 2), [story.chosen.number])
    assert rest is not None
    assert rest.rules == 1
    assert rest.value == 1


def test_of_equal_coverage_the_simplest_leads():
    """All of race b are women, so that the women of race b are no one but race b."""
    sexes = ["F"] * 50 + ["M"] * 50
    races = ["a"] * 25 + ["b"] * 25 + ["a"] * 50
    people = {"sex": sexes, "race": races}
    values = [race == "b" for race in races]
    race = category("race", ["a", "b"])
    mining, found = stories_of(people, values, [SEX, race])
    first = found[0]
    assert mining.rule(first.lead).text == "race b"
    assert "sex F, race b" in texts_like(mining, first)


def test_different_people_are_different_stories_worst_first():
    """Groups of the same size that share nobody.

    Three are at 0 %, 10 % and 25 %, and the others at 60 %.
    """
    levels = list("abcdefghij")
    races = np.repeat(levels, 300)
    favoured = {"c": 0, "f": 30, "h": 75}
    parts = []
    for level in levels:
        number = favoured.get(level, 180)
        parts.append(np.arange(300) < number)
    values = np.concatenate(parts)
    mining, found = stories_of(
        {"race": races}, values, [category("race", levels)], levels=1
    )
    assert leads_of(mining, found) == ["race c", "race f", "race h"]
    # All others are better than everyone else for those three alone, and share nobody with them.
    for story in found:
        assert story.rules == 1
        assert story.parent is None


def test_a_group_of_nearly_everybody_is_about_the_few_who_are_left():
    """The oldest get nothing and those in the middle everything: two stories, though most people
    are in both groups.
    """
    ages = np.repeat(np.arange(10), 100)
    values = np.arange(1000.0) % 2
    values[ages == 9] = 0.0
    values[(ages == 4) | (ages == 5)] = 1.0
    mining, found = stories_of(
        {"age": ages},
        values,
        [integer("age", 0, 9)],
        support=0.15,
        complement=0.1,
    )
    assert leads_of(mining, found)[:2] == ["age < 9", "4 <= age < 6"]


def test_neighbouring_intervals_tell_one_story():
    ages = list(range(100)) * 20
    values = [40 <= age < 60 for age in ages]
    age = integer("age", 0, 99)
    mining, found = stories_of({"age": ages}, values, [age])
    first = found[0]
    assert mining.rule(first.lead).text == "40 <= age < 60"
    neighbours = {
        "30 <= age < 60",
        "40 <= age < 70",
        "40 <= age < 50",
        "50 <= age < 60",
    }
    assert neighbours <= texts_like(mining, first)
    assert first.rules >= 5


def test_sums_of_weights_that_meet_the_support_but_for_rounding_are_frequent():
    sexes = np.repeat([0.0, 1.0], [10, 30])
    points = sexes[:, None]
    space = Space([SEX], protected=["sex"])
    weights = np.full(40, 0.1)
    treated = Treated(points, np.zeros(40), "", "rows", weights)
    mining = Mining.of(space, ["sex"], treated, RuleSetOptions(support=0.25))
    assert mining.candidates == 2
    assert mining.frequent == 2
    assert mining.ranking.examined == 2


@pytest.mark.parametrize(
    ("wrong", "kind", "sentence"),
    [
        ({"support": 0.97}, DataError, "at least 97 % of the 100 rows"),
        ({"binning": "quantile"}, UsageError, "did you mean 'quantiles'"),
        ({"bins": {"rate": 4}}, UsageError, "bins names 'rate'"),
        ({"levels": 0}, UsageError, "levels = 0"),
    ],
)
def test_what_cannot_be_mined_is_refused_before_anybody_is_asked(wrong, kind, sentence):
    names = ["sex", "age"]
    points = SPACE.draw(100, np.random.default_rng(0))
    check_rules(SPACE, names, points, None, RuleSetOptions())
    options = RuleSetOptions(**wrong)
    refused(kind, lambda: check_rules(SPACE, names, points, None, options), sentence)


def test_two_features_together_may_have_a_rule_set_where_no_single_one_has():
    """All rule sets of single features leave too few."""
    names = ["race", "sex"]
    rows = np.zeros((100, 4))
    rows[60:80, 0] = 1
    rows[80:, 2] = 1
    treated = Treated(rows, np.zeros(100), "", "")
    single = RuleSetOptions(support=0.55, complement=0.3, depth=1)
    mining = Mining.of(SPACE, names, treated, single)
    assert not mining.ranking.examined
    both = RuleSetOptions(support=0.55, complement=0.3)
    check_rules(SPACE, names, rows, None, both)


def test_rules_and_texts_of_half_open_bins():
    case = mined(400, 2, ["age", "rate"])
    case.mining.ranking.rank(case.sure)
    rules = []
    for rule_set, _, _ in rule_sets(case):
        rules.append(case.mining.rule(rule_set))
    assert {
        "age < 2",
        "2 <= age < 6",
        "age at least 6",
        "rate < 0.25",
        "0.5 <= rate < 0.75",
    } <= {rule.text for rule in rules}
    for rule in rules:
        back = Rule.from_dict(rule.to_dict())
        assert back == rule
        assert back.text == rule.text
