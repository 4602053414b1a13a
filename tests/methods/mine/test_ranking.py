"""Stories: rule sets as masks over rows, ranked and grouped by plain loops, and their bounds."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine import ranking as module
from evenhand.methods.mine.ranking import LIKE, OVERLAP, WITHIN, RuleSet
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated, check_rules
from evenhand.runtime.errors import DataError, SpaceError, UsageError
from evenhand.space.feature import category, integer, real
from evenhand.space.rule import Condition, Rule
from evenhand.space.space import Space
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute
from tests.support.helpers import examples, refused

SPACE = Space(
    [
        category("race", ["a", "b", "c"]),
        integer("age", 0, 7),
        category("sex", ["F", "M"]),
        real("rate", 0, 1),
    ],
    protected=["race", "age", "sex", "rate"],
)


RankedRuleSet = tuple[RuleSet, float, Any]
"""A rule set, its strength, and the rows inside."""


@dataclass
class Case:
    names: tuple[str, ...]
    treated: Treated
    options: RuleSetOptions
    mining: Mining
    sure: SimultaneousIntervals

    @property
    def size(self) -> Any:
        if self.treated.weights is None:
            return np.ones(len(self.treated.points))
        return self.treated.weights


def mined(
    rows: int,
    seed: int,
    names: Any,
    *,
    how: str = "counts",
    rate: float = 0.4,
    level: float = 0.95,
    **options: Any,
) -> Case:
    """Random people, of whom some levels are rare, and values that depend on the features."""
    rng = np.random.default_rng(seed)
    points = SPACE.draw(rows, rng)
    points[:, 0] = rng.choice(3, rows, p=[0.7, 0.28, 0.02])
    race, age, sex, _ = points.T
    is_older_woman = (sex == 0) & (age > 4)
    is_second_race = race == 1
    mean = rate + 0.3 * is_older_woman - 0.2 * is_second_race
    mean = np.clip(mean, 0, 1)
    values = (rng.uniform(size=rows) < mean).astype(float)
    if how == "graded":
        noise = rng.uniform(size=rows)
        values = np.round((values + noise) / 2, 2)
    weights = None
    if how == "weights":
        weights = rng.choice([0, 0.25, 1, 1.75], rows)
        level = 1.0
        if not weights.any():
            weights[0] = 1
    names = tuple(names)
    treated = Treated(points, values, "people", "rows", weights)
    made = RuleSetOptions(**{"bins": 4, **options})
    mining = Mining.of(SPACE, names, treated, made)
    examined = mining.ranking.examined
    sure = SimultaneousIntervals(level, examined, graded=treated.graded)
    return Case(names, treated, made, mining, sure)


SOME_NAMES = st.lists(
    st.sampled_from(SPACE.names),
    min_size=1,
    max_size=3,
    unique=True,
)


@st.composite
def cases(
    draw: Any, *, how: Any = ("counts", "graded", "weights"), some: bool = True
) -> Case:
    names = draw(SOME_NAMES)
    found = mined(
        draw(st.integers(2, 90)),
        draw(st.integers(0, 9999)),
        names,
        how=draw(st.sampled_from(how)),
        rate=draw(st.sampled_from([0.0, 0.4, 1.0])),
        support=draw(st.sampled_from([0.02, 0.05, 0.2, 0.4])),
        complement=draw(st.sampled_from([None, 0.0, 0.1])),
        depth=draw(st.sampled_from([None, 1, 2])),
        bins=draw(st.sampled_from([2, 3, 4])),
        levels=draw(st.sampled_from([None, 1])),
    )
    if some and not found.mining.ranking.examined:
        return mined(40, 0, ["sex", "age"])
    return found


def conditions(case: Case, name: str) -> list[Condition]:
    """Every condition on a feature, by its definition: some levels, or adjacent bins, not all."""
    feature = SPACE.feature(name)
    if feature.kind == "category":
        return conditions_on_levels(feature, case.options.levels)
    found = []
    edges = edges_of(name, case.options.bins)
    whole = (edges[0], edges[-1])
    for low, high in itertools.combinations(edges, 2):
        if (low, high) != whole:
            found.append(Condition(name, low=low, below=high))
    return found


def conditions_on_levels(feature: Any, most: int | None) -> list[Condition]:
    """Every condition on up to so many levels of a category, but not on all of them."""
    levels_but_one = len(feature.levels) - 1
    most = min(most or levels_but_one, levels_but_one)
    found = []
    for size in range(1, most + 1):
        for levels in itertools.combinations(feature.levels, size):
            found.append(Condition(feature.name, levels=levels))
    return found


def edges_of(name: str, bins: int) -> list[Any]:
    """The edges of the bins of a number, the last one beyond its range."""
    shares = np.arange(1, bins) / bins
    if name == "age":
        cuts = np.unique(np.ceil(7 * shares))
        return [0, *cuts.astype(int).tolist(), 8]
    return [0, *np.round(shares, 6), 2]


def masks(case: Case, name: str, *, merged: bool) -> list[Any]:
    """Which rows each condition covers; where they are merged, those that cover the same once."""
    feature = SPACE.feature(name)
    column = case.treated.points[:, SPACE.index(name)]
    there = case.size > 0
    every = []
    distinct = {}
    for condition in conditions(case, name):
        mask = condition.mask(column, feature)
        every.append(mask)
        covered = mask[there]
        if covered.any() and not covered.all():
            distinct[covered.tobytes()] = mask
    return list(distinct.values()) if merged else every


def all_masks(case: Case, *, merged: bool) -> list[tuple[tuple[int, ...], Any]]:
    """Every rule set as its family and a mask."""
    by_feature = [masks(case, name, merged=merged) for name in case.names]
    features = len(case.names)
    depth = min(case.options.depth or features, features)
    found = []
    for size in range(1, depth + 1):
        for family in itertools.combinations(range(features), size):
            choices = [by_feature[position] for position in family]
            for chosen in itertools.product(*choices):
                found.append((family, np.logical_and.reduce(chosen)))
    return found


def rule_sets(case: Case) -> list[RankedRuleSet]:
    """Every rule set that is examined, with its strength and its mask, in order."""
    found = []
    for block in case.mining.ranking.blocks:
        for number, strength in enumerate(block.strength.tolist()):
            rule_set = block.rule_set(number)
            mask = case.mining.inside(rule_set)
            found.append((rule_set, strength, mask))
    return found


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


def key_of(rule_set: RuleSet) -> Any:
    """What tells a rule set from all others."""
    return rule_set.family, rule_set.place


def overlap(case: Case, one: Any, other: Any) -> float:
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
    """All that tell of nearly the same people as the strongest join it, the simplest of about its
    strength leads.
    """
    ranking = case.mining.ranking
    ranking.rank(case.sure)
    alive = rule_sets(case)
    found = ranking.stories(most)
    if len(found) < most:
        assert not any(block.alive.any() for block in ranking.blocks)
    for story in found:
        first = max(alive, key=strength_of)
        _, _, first_mask = first
        shares = np.array([overlap(case, first_mask, mask) for _, _, mask in alive])
        if (np.abs(shares - OVERLAP) < 1e-9).any():  # a rounding error either way
            return
        joins: list[Any] = []
        others: list[Any] = []
        for entry, share in zip(alive, shares, strict=True):
            same_people = joins if share >= OVERLAP else others
            same_people.append(entry)
        alive = others
        assert story.rules == len(joins)
        lead = expected_lead(first, joins)
        assert key_of(story.lead) == key_of(lead)
        strengths = {key_of(rule_set): strength for rule_set, strength, _ in joins}
        like = [strengths[key_of(rule_set)] for rule_set in story.like]
        strengths.pop(key_of(lead), None)
        strongest_first = sorted(strengths.values(), reverse=True)
        assert like == strongest_first[:LIKE]
    in_stories = sum(story.rules for story in found)
    assert in_stories == ranking.examined - len(alive)


def strength_of(entry: RankedRuleSet) -> float:
    _, strength, _ = entry
    return strength


def features_of(entry: RankedRuleSet) -> int:
    """Return how many features a rule set has conditions on."""
    rule_set, _, _ = entry
    return len(rule_set.family)


def expected_lead(first: RankedRuleSet, joins: list[RankedRuleSet]) -> RuleSet:
    """The strongest of those of fewest features that are about as strong as the first."""
    strongest, best, _ = first
    error = abs(strongest.inside - strongest.outside) - best
    least = best - WITHIN * error
    enough = [entry for entry in joins if strength_of(entry) >= least]
    most = features_of(first)
    fewest = min(map(features_of, enough), default=most)
    if fewest >= most:
        return strongest
    simplest = [entry for entry in enough if features_of(entry) == fewest]
    rule_set, _, _ = max(simplest, key=strength_of)
    return rule_set


@settings(max_examples=examples(25), deadline=None)
@given(cases(), st.sampled_from([1, 3, 50]))
def test_the_rest_bounds_every_rule_set_that_leads_no_story(case, most):
    ranking = case.mining.ranking
    ranking.rank(case.sure)
    leads = {key_of(story.lead) for story in ranking.stories(most)}
    others = []
    for rule_set, _, _ in rule_sets(case):
        if key_of(rule_set) not in leads:
            others.append(rule_set)
    rest = ranking.rest(case.sure)
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
    ranking.rank(case.sure)
    ranking.stories(3)
    exact = ranking.rest(case.sure)
    monkeypatch.setattr(module, "BOXED", boxed)
    monkeypatch.setattr(module, "REFINED", refined)
    monkeypatch.setattr(module, "AT_ONCE", at_once)
    bound = ranking.rest(case.sure)
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
    weighted_stories = ranking.stories(5)
    repeated_stories = repeated.ranking.stories(5)
    for weighted, other in zip(weighted_stories, repeated_stories, strict=True):
        assert weighted.rules == other.rules
        lead = weighted.lead
        other_lead = other.lead
        assert key_of(lead) == key_of(other_lead)
        assert lead.inside == pytest.approx(other_lead.inside)
        assert lead.outside == pytest.approx(other_lead.outside)
        assert 4 * lead.size == pytest.approx(other_lead.size)


def stories_of(
    frame: dict[str, Any], values: Any, features: list[Any], **options: Any
) -> Any:
    names = [feature.name for feature in features]
    space = Space(features, protected=names)
    points = space.encode(pd.DataFrame(frame))
    treated = Treated(points, np.array(values, dtype=float), "people", "rows")
    mining = Mining.of(space, space.names, treated, RuleSetOptions(**options))
    intervals = SimultaneousIntervals(0.95, mining.ranking.examined)
    mining.ranking.rank(intervals)
    return mining, mining.ranking.stories(10)


def leads_of(mining: Mining, found: Any) -> list[str]:
    return [mining.rule(story.lead).text for story in found]


def texts_like(mining: Mining, story: Any) -> set[str]:
    """Return the texts of the rule sets that tell of nearly the same people as a story."""
    return {mining.rule(rule_set).text for rule_set in story.like}


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
    assert len(story.like) == 1
    assert texts_like(mining, story) == {f"sex {many}"}
    assert story.rules == 2
    rest = mining.ranking.rest(SimultaneousIntervals(0.95, 2))
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
    assert leads_of(mining, found)[:3] == ["race c", "race f", "race h"]
    for story in found:
        assert story.rules == 1


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


def test_depth_is_bounded_by_the_number_of_rule_sets(monkeypatch):
    def mining_of(**options: Any) -> Mining:
        return mined(200, 1, ["race", "age", "sex"], **options).mining

    deep = mining_of()
    assert deep.depth == 3
    assert deep.notes == []
    monkeypatch.setattr("evenhand.methods.mine.rule_sets.DEEP_RULES", 100)
    shallow = mining_of()
    assert shallow.depth == 2
    (note,) = shallow.notes
    assert "up to 2 of the 3 features" in note
    assert "depth=3" in note
    numbers = [len(block.family) for block in shallow.ranking.blocks]
    assert max(numbers) == 2
    wanted = mining_of(depth=3)
    assert wanted.depth == 3
    monkeypatch.setattr("evenhand.methods.mine.rule_sets.MOST_RULES", 100)
    refused(SpaceError, lambda: mining_of(depth=3), "depth = 3", "take depth=2")


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
