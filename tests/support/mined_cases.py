"""Random people to mine, and their rule sets as masks over rows, found by plain loops."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from evenhand.methods.mine.ranking import RuleSet
from evenhand.methods.mine.rule_sets import Mining, RuleSetOptions, Treated
from evenhand.methods.mine.stories.choosing import StorySearch
from evenhand.methods.mine.stories.tree import tree_of
from evenhand.scores.numbers.unit_scale import UnitScale
from evenhand.space.feature import category, integer, real
from evenhand.space.rule import Condition
from evenhand.space.space import Space
from evenhand.statistics.simultaneous import SimultaneousIntervals
from evenhand.statistics.simultaneous_means import SimultaneousMeans

SPACE = Space(
    [
        category("race", ["a", "b", "c"]),
        integer(
            "age",
            0,
            7,
        ),
        category("sex", ["F", "M"]),
        real(
            "rate",
            0,
            1,
        ),
    ],
    protected=["race", "age", "sex", "rate"],
)
KINDS = ("counts", "graded", "weights", "numbers")
"""Outcomes that are favourable or not, shares, those of people with weights, and numbers."""

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

    def search(self, limit: float | None = None) -> StorySearch:
        """Return what chooses stories, of ranked rule sets."""
        self.mining.ranking.rank(self.sure)
        return StorySearch(
            self.mining.ranking,
            self.sure,
            limit,
        )


def mined(
    rows: int,
    seed: int,
    names: Any,
    *,
    how: str = "counts",
    rate: float = 0.4,
    effect: float = 1.0,
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
    mean = rate + effect * (0.3 * is_older_woman - 0.2 * is_second_race)
    mean = np.clip(mean, 0, 1)
    values = (rng.uniform(size=rows) < mean).astype(float)
    weights = None
    scale = None
    if how in {"graded", "numbers"}:
        noise = rng.uniform(size=rows)
        values = np.round((values + noise) / 2, 2)
    if how == "numbers":
        scale, values = UnitScale.of(1000 * values)
    if how == "weights":
        weights = rng.choice([0, 0.25, 1, 1.75], rows)
        level = 1.0
        if not weights.any():
            weights[0] = 1
    names = tuple(names)
    treated = Treated(
        points,
        values,
        "people",
        "rows",
        weights,
        scale=scale,
    )
    made = RuleSetOptions(**{"bins": 4, **options})
    mining = Mining.of(
        SPACE,
        names,
        treated,
        made,
    )
    sure = intervals_of(mining, level)
    return Case(
        names,
        treated,
        made,
        mining,
        sure,
    )


def intervals_of(mining: Mining, level: float) -> SimultaneousIntervals:
    """Return the intervals that hold for all rule sets of a mining."""
    examined = mining.ranking.examined
    if mining.treated.scale is not None:
        return SimultaneousMeans(level, examined)
    return SimultaneousIntervals(
        level,
        examined,
        graded=mining.treated.graded,
    )


SOME_NAMES = st.lists(
    st.sampled_from(SPACE.names),
    min_size=1,
    max_size=3,
    unique=True,
)


@st.composite
def cases(
    draw: Any,
    *,
    how: Any = ("counts", "graded", "weights"),
    some: bool = True,
) -> Case:
    """People with some of the features, mined in some way."""
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
        return mined(
            40,
            0,
            ["sex", "age"],
        )
    return found


@st.composite
def planted_cases(draw: Any) -> Case:
    """People with large differences, of which nearly always several stories are shown."""
    return mined(
        draw(st.integers(600, 1200)),
        draw(st.integers(0, 9999)),
        draw(st.permutations(["race", "age", "sex"])),
        how=draw(st.sampled_from(KINDS)),
        effect=2.0,
        support=draw(st.sampled_from([0.05, 0.1])),
        bins=draw(st.sampled_from([2, 4])),
    )


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
            found.append(
                Condition(
                    name,
                    low=low,
                    below=high,
                )
            )
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
    by_feature = [
        masks(
            case,
            name,
            merged=merged,
        )
        for name in case.names
    ]
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
    ranking = case.mining.ranking
    found = []
    for number in range(ranking.examined):
        rule_set = ranking.rule_set(number)
        mask = case.mining.inside(rule_set)
        found.append((rule_set, float(ranking.strength[number]), mask))
    return found


def key_of(rule_set: RuleSet) -> Any:
    """What tells a rule set from all others."""
    return rule_set.family, rule_set.place


def people_mining(
    frame: Any, values: Any, features: list[Any], **options: Any
) -> tuple[Mining, SimultaneousIntervals]:
    """Return the ranked rule sets of people in a table, and intervals for all of them."""
    names = [feature.name for feature in features]
    space = Space(features, protected=names)
    points = space.encode(pd.DataFrame(frame))
    level = options.pop("level", 0.95)
    weights = options.pop("weights", None)
    outcomes = np.array(values, dtype=float)
    scale = None
    if options.pop("numbers", False):
        scale, outcomes = UnitScale.of(outcomes)
    treated = Treated(
        points,
        outcomes,
        "people",
        "rows",
        weights,
        scale=scale,
    )
    mining = Mining.of(
        space,
        space.names,
        treated,
        RuleSetOptions(**options),
    )
    intervals = intervals_of(mining, level)
    mining.ranking.rank(intervals)
    return mining, intervals


def stories_of(
    frame: Any, values: Any, features: list[Any], **options: Any
) -> tuple[Mining, list[Any]]:
    """Return the mining of people in a table, and the stories that are told of it."""
    most = options.pop("most", 10)
    limit = options.pop("limit", None)
    mining, intervals = people_mining(
        frame,
        values,
        features,
        **options,
    )
    search = StorySearch(
        mining.ranking,
        intervals,
        limit,
    )
    return mining, tree_of(search, search.choose(most))


def leads_of(mining: Mining, found: Any) -> list[str]:
    """Return the rules that lead stories, in words."""
    return [mining.rule(story.lead).text for story in found]


def number_of(mining: Mining, text: str) -> int:
    """Return which rule set has a rule, in words."""
    ranking = mining.ranking
    for number in range(ranking.examined):
        if mining.rule(ranking.rule_set(number)).text == text:
            return number
    raise AssertionError(f"no rule set {text}")
