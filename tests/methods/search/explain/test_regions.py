"""Regions: rules hold the boxes that were planted, and the shares inside are honest."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from evenhand.methods.search.explain.regions import Region, learn, regions
from evenhand.methods.search.probe import Probe
from evenhand.space.feature import category, integer, real
from evenhand.space.rule import Condition, Rule
from evenhand.space.space import Space
from evenhand.statistics.estimate import Estimate
from evenhand.subject.subject import Subject
from evenhand.subject.view import View

FEATURES = [
    category("sex", ["F", "M"]),
    integer("age", 18, 90),
    category("race", ["White", "Black", "Asian", "Native", "Other"]),
    integer("income", 0, 100_000),
    real("rate", 0, 1),
    category("job", list("abcdefghijkl")),
    integer("hours", 0, 80),
    integer("noise", 0, 20),
]
SPACE = Space(FEATURES, protected=["sex"])
QUERIES = 6000
RUNS = 40


def conditions(*given: Condition) -> Rule:
    return Rule.of(SPACE, given)


ONE = conditions(
    Condition("age", high=25),
    Condition("income", 30_000, 45_000),
    Condition("race", levels=("Black", "Asian")),
)
YOUNG = conditions(
    Condition("age", high=25),
    Condition("income", high=20_000),
)
OLD = conditions(
    Condition("age", low=70),
    Condition("income", low=90_000),
    Condition("hours", low=40),
)
JOBS = conditions(
    Condition("job", levels=("b", "d", "k")),
    Condition("rate", low=0.8),
)
NOT_WHITE = conditions(
    Condition("race", levels=("Black", "Asian", "Native", "Other")),
)


def probe_of(decide: Any, space: Space = SPACE, over: tuple[str, ...] = ("sex",)) -> Probe:
    subject = Subject(decide, space)
    return Probe(View(subject), over)


def in_any(rules: Any, points: Any, space: Space) -> Any:
    """Return which points any of the rules holds."""
    masks = [rule.mask(points, space) for rule in rules]
    return np.any(masks, axis=0)


def planted(space: Space, *boxes: Rule, over: tuple[str, ...] = ("sex",)) -> Probe:
    """Software that favours the last level of each feature at issue, but only inside the boxes."""

    def decide(people: Any) -> Any:
        points = space.encode(people)
        favoured = np.ones(len(points), dtype=bool)
        for name in over:
            values = points[:, space.index(name)]
            last_level = space.feature(name).size - 1
            favoured &= values == last_level
        ages = points[:, space.index("age")]
        in_boxes = in_any(boxes, points, space)
        return np.where(in_boxes, favoured, ages > 40)

    return probe_of(decide, space, over)


def hits(probe: Probe, n: int, *boxes: Rule, seed: int = 1) -> Any:
    """Inputs of the boxes, as many of each, that the software discriminates against."""
    rng = np.random.default_rng(seed)
    drawn = [box.draw(4 * n, rng, probe.space) for box in boxes]
    tried = probe.ask(np.concatenate(drawn))
    found = np.flatnonzero(tried.hits)
    shuffled = rng.permutation(found)
    return tried.points[shuffled[:n]]


def just_outside(box: Rule, inside: Any, rng: Any, space: Space) -> Any:
    """Draw one feature of the box at a time anew: what is near and often just outside."""
    near = inside.copy()
    shuffled = rng.permutation(len(inside))
    parts = np.array_split(shuffled, len(box.conditions))
    for rows, condition in zip(parts, box.conditions, strict=True):
        at = space.index(condition.feature)
        drawn = space.draw(len(rows), rng)
        near[rows, at] = drawn[:, at]
    return near


def agree(space: Space, rules: list[Rule], *boxes: Rule) -> float:
    """The share of points near the boxes, half of them inside, that the rules predict rightly."""
    rng = np.random.default_rng(2)
    agreeing = []
    for box in boxes:
        inside = box.draw(2000, rng, space)
        near = just_outside(box, inside, rng, space)
        for points in (inside, near):
            predicted = in_any(rules, points, space)
            truth = in_any(boxes, points, space)
            agreeing.append(predicted == truth)
    return float(np.concatenate(agreeing).mean())


def features_of(rule: Rule) -> set[str]:
    """Return the features that a rule has conditions on."""
    return {condition.feature for condition in rule.conditions}


PLANTED = pytest.mark.parametrize(
    "boxes",
    [
        pytest.param((ONE,), id="one"),
        pytest.param((YOUNG, OLD), id="two"),
        pytest.param((JOBS,), id="levels"),
        pytest.param((NOT_WHITE,), id="not"),
    ],
)


@pytest.mark.parametrize("n", [100, 2000, 20_000])
@PLANTED
def test_rules_learnt_from_planted_boxes_are_those_boxes(n, boxes):
    probe = planted(SPACE, *boxes)
    found = hits(probe, n, *boxes)
    rules = learn(probe, found, seed=0)
    assert len(rules) == len(boxes)
    least = 0.99 if n > 100 else 0.85
    assert agree(SPACE, rules, *boxes) > least


@PLANTED
def test_planted_boxes_are_found_and_tested(boxes):
    probe = planted(SPACE, *boxes)
    planted_hits = hits(probe, 2000, *boxes)
    listed, asked = regions(probe, planted_hits, 0, QUERIES)
    assert asked <= QUERIES
    *found, everybody = listed
    assert everybody.rule == Rule()
    assert everybody.found == 2000
    assert len(found) == len(boxes)
    rules = [region.rule for region in found]
    assert agree(SPACE, rules, *boxes) > 0.95
    found_by_rules = sum(region.found for region in found)
    assert found_by_rules > 1800
    for region in found:
        estimate = region.estimate
        assert estimate.value > 0.9
        assert estimate.low > everybody.estimate.high
        assert re.fullmatch(r"exact, simultaneous over \d rules", estimate.method)
        assert estimate.population == f"uniform inputs with {region.rule}"
        assert len(region.rule.conditions) <= 4
    assert everybody.estimate.population == "all inputs, uniformly"


def test_one_family_of_inputs_does_not_make_its_own_values_a_rule():
    """A search that floods from one input leaves it as it was in what does not matter."""
    probe = planted(SPACE, YOUNG)
    start = hits(probe, 1, YOUNG)
    rng = np.random.default_rng(0)
    family = np.repeat(start, 3000, axis=0)
    columns = [SPACE.index("age"), SPACE.index("hours")]
    changed = rng.choice(columns, 3000)
    changes = rng.integers(-3, 4, 3000)
    family[np.arange(3000), changed] += changes
    lowest = [18, 0, 0, 0, 0, 0, 0]
    highest = [25, 4, 100_000, 1, 11, 80, 20]
    free = family[:, 1:]
    family[:, 1:] = np.clip(free, lowest, highest)
    assert probe.ask(family).hits.all()
    listed, _ = regions(probe, family, 0, QUERIES)
    region, _ = listed
    assert features_of(region.rule) == {"age", "income"}
    assert agree(SPACE, [region.rule], YOUNG) > 0.85


def test_several_protected_features_of_several_values():
    over = ("sex", "race")
    box = conditions(
        Condition("hours", 20, 40),
        Condition("income", high=30_000),
    )
    probe = planted(SPACE, box, over=over)
    found = hits(probe, 1000, box)
    listed, asked = regions(probe, found, 0, 20_000)
    region, everybody = listed
    assert asked <= 20_000
    assert region.estimate.n == everybody.estimate.n
    assert agree(SPACE, [region.rule], box) > 0.9


def test_in_a_constrained_space_what_is_merely_valid_is_no_rule():
    constraints = [
        "not (age < 50 and income > 20000)",
        "hours <= 60 or noise < 10",
    ]
    space = Space(FEATURES, protected=["sex"], constraints=constraints)
    box = Rule.of(
        space,
        [
            Condition("job", levels=("c", "e")),
            Condition("rate", high=0.3),
        ],
    )
    probe = planted(space, box)
    found = hits(probe, 2000, box)
    assert learn(probe, found, 0) == [box]
    listed, _ = regions(probe, found, 0, QUERIES)
    region, everybody = listed
    assert agree(space, [region.rule], box) > 0.9
    assert everybody.estimate.population == "all valid inputs, uniformly"


def test_members_that_are_not_valid_are_not_asked():
    """The protected feature itself may be constrained."""
    constraints = ["sex == 'F' or age < 30"]
    space = Space(FEATURES, protected=["sex"], constraints=constraints)
    rich = Rule.of(space, [Condition("income", low=60_000)])
    probe = planted(space, rich)
    found = hits(probe, 500, rich)
    ages = found[:, 1]
    assert (ages < 30).all()
    listed, asked = regions(probe, found, 0, QUERIES)
    assert asked <= QUERIES
    assert features_of(listed[0].rule) == {"age", "income"}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("n", [1, 2, 12])
def test_few_inputs_make_no_story(n, seed):
    """Inputs from everywhere have no region, however they fall."""
    probe = planted(SPACE, Rule())
    found = hits(probe, n, Rule(), seed=seed)
    assert learn(probe, found, seed) == []
    listed, _ = regions(probe, found, seed, 3000)
    assert [region.rule for region in listed] == [Rule()]


@pytest.mark.parametrize("seed", range(3))
def test_discrimination_that_no_rule_tells_makes_no_rule(seed):
    def every_tenth_man(people: Any) -> Any:
        total = people["noise"] + people["hours"] + people["age"]
        is_man = people["sex"] == "M"
        return is_man & (total % 10 == 0)

    probe = probe_of(every_tenth_man)
    found = hits(probe, 1500, Rule(), seed=seed)
    listed, _ = regions(probe, found, seed, 3000)
    assert [region.rule for region in listed] == [Rule()]


def holds(estimate: Estimate, true_share: float) -> bool:
    return estimate.low <= true_share <= estimate.high


def test_intervals_hold_together():
    """Over many seeds, all true shares lie in their intervals as often as the level promises."""
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("age", 0, 99),
            integer("shoe", 0, 99),
        ]
    )

    def decide(people: Any) -> Any:
        is_man = people["sex"] == "M"
        is_young = people["age"] < 30
        in_wide = is_young & (people["shoe"] % 3 > 0)
        in_narrow = people["shoe"] > 95
        return is_man & (in_wide | in_narrow)

    probe = probe_of(decide, space)
    every = space.enumerate()
    true = probe.ask(every).hits
    found = hits(probe, 300, Rule())
    missed = 0
    runs = 0
    for seed in range(RUNS):
        listed, _ = regions(probe, found, seed, 300, level=0.8)
        runs += len(listed) > 1
        held = []
        for region in listed:
            in_region = region.rule.mask(every, space)
            true_share = true[in_region].mean()
            held.append(holds(region.estimate, true_share))
        missed += not all(held)
    assert runs > RUNS / 2
    standard_deviation = np.sqrt(RUNS * 0.2 * 0.8)
    assert missed <= 0.2 * RUNS + 3 * standard_deviation


def test_the_same_seed_finds_the_same():
    probe = planted(SPACE, YOUNG, OLD)
    found = hits(probe, 3000, YOUNG, OLD)
    first, _ = regions(probe, found, 7, QUERIES)
    second, _ = regions(probe, found, 7, QUERIES)
    first_tables = [region.to_dict() for region in first]
    second_tables = [region.to_dict() for region in second]
    assert json.dumps(first_tables) == json.dumps(second_tables)


@pytest.mark.parametrize("queries", [0, 1, 2, 60, 199, 1000])
def test_no_more_is_asked_than_allowed(queries):
    probe = planted(SPACE, ONE)
    found = hits(probe, 100, ONE)
    before = probe.view.subject.asked
    listed, asked = regions(probe, found, 0, queries)
    assert asked == probe.view.subject.asked - before
    assert asked <= queries
    assert bool(listed) == (queries >= 2)


def test_without_inputs_there_is_only_everybody():
    probe = planted(SPACE, ONE)
    no_inputs = np.empty((0, len(FEATURES)))
    listed, _ = regions(probe, no_inputs, 0, 200)
    (everybody,) = listed
    assert everybody.rule == Rule()


def test_without_other_features_there_is_only_everybody():
    alone = Space([category("sex", ["F", "M"])])
    probe = probe_of(lambda people: people["sex"] == "M", alone)
    one_input = np.zeros((1, 1))
    listed, _ = regions(probe, one_input, 0, 200)
    (everybody,) = listed
    assert everybody.estimate.value == 1.0


def test_a_region_survives_json():
    estimate = Estimate(0.5, 0.4, 0.6, 100, 0.95, "exact", "here")
    region = Region(ONE, 12, estimate)
    text = json.dumps(region.to_dict())
    table = json.loads(text)
    assert set(table) == {"rule", "text", "found", "estimate"}
    assert table["text"] == str(ONE)
    assert Region.from_dict(table) == region
