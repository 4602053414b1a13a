"""Exact scores: against plain loops, the theorems of the paper, and when a space is enumerated."""

from __future__ import annotations

import itertools
import operator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.runtime.errors import SpaceError, UsageError
from tests.support.helpers import examples, refused

if TYPE_CHECKING:
    from evenhand.space.feature import Feature

    Names = tuple[str, ...]
    Key = tuple[Any, ...]

LABELS = ("no", "yes", "maybe")


SEX = eh.category("sex", ["F", "M"])


@dataclass
class World:
    """A small space, and a table of decisions as the software, to go through both by hand."""

    features: list[Feature]
    values: list[list[Any]]
    constraints: list[str]
    table: dict[tuple[Any, ...], Any]

    @property
    def space(self) -> eh.Space:
        return eh.Space(self.features, constraints=self.constraints)

    @property
    def passed(self) -> list[str]:
        """The features that the software takes."""
        return [feature.name for feature in self.features if feature.passed]

    def decide(self, people):
        columns = [people[name].tolist() for name in self.passed]
        rows = zip(*columns, strict=True)
        return np.array([self.table[row] for row in rows])

    @property
    def records(self) -> list[dict[str, Any]]:
        """Every input that keeps the constraints."""
        names = [feature.name for feature in self.features]
        records = []
        for row in itertools.product(*self.values):
            record = dict(zip(names, row, strict=True))
            if all(eval(text, {}, record) for text in self.constraints):
                records.append(record)
        return records

    def outcome(self, record: dict[str, Any]) -> Any:
        row = tuple(record[name] for name in self.passed)
        return self.table[row]

    def causal(self, over: Names, distance) -> Fraction:
        """Return the causal score by Def. 3.7, pair by pair."""
        classes: dict[Key, list[Any]] = {}
        for record in self.records:
            others = [name for name in record if name not in over]
            key = tuple(record[name] for name in others)
            mates = classes.setdefault(key, [])
            mates.append(self.outcome(record))
        farthest = []
        for mates in classes.values():
            for own in mates:
                distances = [distance(twin, own) for twin in mates]
                farthest.append(Fraction(max(distances)))
        return Fraction(sum(farthest), len(farthest))

    def cell(self, name: str, value: Any) -> Any:
        """Return the bin of a value, or the value itself."""
        feature = self.space.feature(name)
        if feature.bins is None:
            return value
        bins = int(feature.bins)  # type: ignore[arg-type]
        width = (feature.high - feature.low) / bins
        cell = int((value - feature.low) // width)
        return min(cell, bins - 1)

    def group(self, over: Names, amount) -> Fraction | None:
        """Return the group score by Def. 3.6, group by group; None where there is only one."""
        amounts_of: dict[Key, list[Fraction]] = {}
        for record in self.records:
            key = tuple(self.cell(name, record[name]) for name in over)
            amounts = amounts_of.setdefault(key, [])
            amounts.append(Fraction(amount(self.outcome(record))))
        if len(amounts_of) < 2:
            return None
        rates = []
        for amounts in amounts_of.values():
            rates.append(sum(amounts) / Fraction(len(amounts)))
        return max(rates) - min(rates)


@st.composite
def worlds(
    draw: st.DrawFn,
    *,
    constrained: bool = True,
    labels: tuple[Any, ...] = (False, True),
) -> World:
    features: list[Feature] = []
    values: list[list[Any]] = []
    for number in range(draw(st.integers(2, 4))):
        feature, values_of_feature = draw(features_with_values(number))
        features.append(feature)
        values.append(values_of_feature)
    texts = []
    if constrained:
        for _ in range(draw(st.integers(0, 2))):
            texts.append(draw(constraints(values)))
    passed = []
    for feature, values_of_feature in zip(features, values, strict=True):
        if feature.passed:
            passed.append(values_of_feature)
    rng = np.random.default_rng(draw(st.integers(0, 10_000)))
    table = {}
    for row in itertools.product(*passed):
        label = rng.integers(len(labels))
        table[row] = labels[label]
    world = World(features, values, texts, table)
    assume(world.records)
    return world


@st.composite
def features_with_values(draw: st.DrawFn, number: int) -> tuple[Feature, list[Any]]:
    """Return a feature with all the values that it takes."""
    name = f"x{number}"
    passed = draw(st.booleans()) or number == 0
    kind = draw(st.sampled_from(["category", "integer", "real"]))
    size = draw(st.integers(1, 4))
    if kind == "category":
        levels = list("dcba")[:size]
        return eh.category(name, levels, passed=passed), levels
    options: dict[str, Any] = {"bins": None, "passed": passed}
    if size > 1:
        options["bins"] = draw(st.sampled_from([None, 1, 2, 4]))
    places = range(size)
    if kind == "integer":
        low = draw(st.integers(-3, 3))
        step = draw(st.sampled_from([1, 4]))
        whole = [low + step * place for place in places]
        return eh.integer(name, low, whole[-1], step=step, **options), whole
    numbers = [0.25 * place for place in places]
    return eh.real(name, 0, numbers[-1], step=0.25, **options), numbers


@st.composite
def constraints(draw: st.DrawFn, values: list[list[Any]]) -> str:
    """Return a constraint on one or two features."""
    parts = []
    for _ in range(2):
        number = draw(st.integers(0, len(values) - 1))
        value = draw(st.sampled_from(values[number]))
        parts.append(f"x{number} == {value!r}")
    left, right = parts
    forms = [
        f"not ({left} and {right})",
        f"{left} or not {right}",
        f"not {left}",
    ]
    return draw(st.sampled_from(forms))


def sets(world: World) -> list[Names]:
    names = [feature.name for feature in world.features]
    found: list[Names] = []
    for size in range(1, len(names) + 1):
        found += itertools.combinations(names, size)
    return found


def exact(world: World, over: Names, kind: str = "causal", **meaning: Any) -> Any:
    subject = eh.Subject(world.decide, world.space, **meaning)
    return eh.measure(subject, over=over, kind=kind, exact=True)


def exact_value(world: World, over: Names, kind: str = "causal") -> float:
    return float(exact(world, over, kind).worst.estimate.value)


def check(found: Any, score: Any, *, rounding: float = 0.0) -> None:
    estimate = found.worst.estimate
    assert abs(estimate.value - float(score)) <= rounding
    assert estimate.low == estimate.value
    assert estimate.high == estimate.value
    assert estimate.level == 1.0
    assert estimate.method == "enumerated"
    assert found.stop is eh.StopReason.ENUMERATED


def differ(twin, own):
    return twin != own


@given(worlds(), st.data())
@settings(max_examples=examples(30), deadline=None)
def test_exact_scores_are_those_of_plain_loops(world, data):
    over = data.draw(st.sampled_from(sets(world)))
    check(exact(world, over), world.causal(over, differ))
    spread = world.group(over, int)
    if spread is None:
        refused(UsageError, lambda: exact(world, over, "group"), "nothing to compare")
    else:
        check(exact(world, over, "group"), spread)


@given(worlds(labels=LABELS), st.data())
@settings(max_examples=examples(15), deadline=None)
def test_exact_scores_of_several_labels(world, data):
    over = data.draw(st.sampled_from(sets(world)))
    check(exact(world, over), world.causal(over, differ))
    scores = []
    for label in LABELS:
        is_label = partial(operator.eq, label)
        scores.append(world.group(over, is_label))
    if None not in scores:
        some_labels = st.lists(st.sampled_from(LABELS), min_size=1, max_size=2, unique=True)
        wanted = data.draw(some_labels)
        found = exact(world, over, "group", positive=wanted, labels=LABELS)
        check(found, world.group(over, wanted.__contains__))
        each = exact(world, over, "group", labels=LABELS)
        # One finding for each label, the largest first.
        values = [finding.estimate.value for finding in each.findings]
        assert values == sorted(map(float, scores), reverse=True)


@given(worlds(labels=(0, 1, 3, 7)), st.sampled_from([0, 1, 2.5, 4, 9]), st.data())
@settings(max_examples=examples(15), deadline=None)
def test_exact_scores_of_numbers_that_differ_by_more_than_gamma(world, gamma, data):
    def differ_by_more(twin, own):
        return abs(twin - own) > gamma

    over = data.draw(st.sampled_from(sets(world)))
    found = exact(world, over, differs=gamma)
    check(found, world.causal(over, differ_by_more))


def symmetric(twin, own):
    distance = np.abs(twin - own) / 8
    return np.minimum(distance, 1)


def plain_symmetric(twin, own):
    return Fraction(min(abs(twin - own), 8), 8)


# Def. 3.3 asks for no symmetry: here only a twin that fares better counts.
def one_way(twin, own):
    return np.clip((twin - own) / 8, 0, 1)


def plain_one_way(twin, own):
    return Fraction(max(twin - own, 0), 8)


DISTANCES = {
    "symmetric": (symmetric, plain_symmetric),
    "one way": (one_way, plain_one_way),
}


@given(worlds(labels=(0, 1, 3, 7)), st.sampled_from(sorted(DISTANCES)), st.data())
@settings(max_examples=examples(15), deadline=None)
def test_exact_scores_of_graded_distances(world, name, data):
    over = data.draw(st.sampled_from(sets(world)))
    distance, plain_distance = DISTANCES[name]
    found = exact(world, over, differs=distance)
    check(found, world.causal(over, plain_distance), rounding=1e-12)
    for case in found.worst.cases:
        own, twin = case.outcomes
        assert plain_distance(twin, own) > 0


@pytest.mark.parametrize("name", sorted(DISTANCES))
def test_sampling_takes_a_distance_the_same_way_round_as_enumeration(name):
    space = eh.Space([SEX, eh.integer("age", 18, 90)])

    def pays(people):
        return people["age"] + 4 * (people["sex"] == "M")

    distance, _ = DISTANCES[name]
    subject = eh.Subject(pays, space, differs=distance)
    every = eh.measure(subject, over="sex", exact=True)
    value = every.worst.estimate.value
    assert value == {"symmetric": 0.5, "one way": 0.25}[name]
    drawn = eh.measure(subject, over="sex", exact=False, level=0.999)
    estimate = drawn.worst.estimate
    assert estimate.low <= value <= estimate.high
    assert estimate.method == "anytime"


@given(worlds(), st.data())
@settings(max_examples=examples(15), deadline=None)
def test_scores_grow_with_the_set(world, data):
    """Theorems 4.1 and 4.2, which need neither independence nor a uniform population."""
    several = [over for over in sets(world) if len(over) > 1]
    larger = data.draw(st.sampled_from(several))
    within = []
    for over in sets(world):
        if set(over) < set(larger):
            within.append(over)
    smaller = data.draw(st.sampled_from(within))
    assert exact_value(world, smaller) <= exact_value(world, larger)
    if world.group(smaller, int) is not None:
        spread = exact_value(world, smaller, "group")
        assert spread <= exact_value(world, larger, "group")


@given(worlds(constrained=False), st.data())
@settings(max_examples=examples(30), deadline=None)
def test_a_group_score_is_at_most_the_causal_one_where_features_are_independent(
    world, data
):
    """Theorem 4.3."""
    over = data.draw(st.sampled_from(sets(world)))
    if world.group(over, int) is not None:
        spread = exact_value(world, over, "group")
        flips = exact_value(world, over, "causal")
        assert spread <= flips


def test_under_constraints_the_group_score_can_be_the_larger():
    """Theorem 4.3 does not hold where the features at issue are tied to others.

    Here the software never looks at sex.
    """
    space = eh.Space(
        [SEX, eh.integer("height", 150, 199)],
        constraints=[
            "not (sex == 'M' and height < 170)",
            "not (sex == 'F' and height >= 180)",
        ],
    )

    def tall(people):
        return people["height"] >= 175

    flips = eh.measure(tall, space, over="sex", limit=0)
    spread = eh.measure(tall, space, over="sex", kind="group", limit=0)
    assert flips.worst.estimate.value == 0
    assert flips.verdict == "pass"
    difference = Fraction(25, 30) - Fraction(5, 30)
    assert spread.worst.estimate.value == float(difference)
    assert spread.verdict == "fail"


def sized(inputs: int) -> eh.Space:
    """Return a space of so many inputs, half of them of either sex."""
    return eh.Space([SEX, eh.integer("id", 1, inputs // 2)], protected=["sex"])


TEN = sized(20)


@pytest.mark.parametrize(
    ("limit", "verdict"),
    [
        (0.0999, "fail"),
        (0.1, "fail"),
        (0.1001, "pass"),
        (0, "fail"),
    ],
)
def test_a_score_at_the_limit_fails(limit, verdict):
    # 3/10 - 2/10 is less than 1/10 in floating point.
    def three_and_two(people):
        last = np.where(people["sex"] == "M", 3, 2)
        return people["id"] <= last

    for kind in ("group", "causal"):
        found = eh.measure(three_and_two, TEN, kind=kind, limit=limit)
        assert found.worst.estimate.value == 0.1
        assert found.verdict == verdict


def test_a_limit_of_nothing_at_all_takes_enumeration():
    def fair(people):
        return people["id"] <= 3

    for kind in ("group", "causal"):
        search = partial(eh.measure, fair, TEN, kind=kind, limit=0)
        assert search().verdict == "pass"
        drawn = search(exact=False, margin=0.2)
        assert drawn.worst.estimate.low == 0
        assert drawn.verdict == "undecided"
        assert drawn.stop is eh.StopReason.TOO_CLOSE


def few(people):
    return (people["sex"] == "M") & (people["id"] < 30)


def is_man(people):
    return people["sex"] == "M"


@pytest.mark.parametrize("kind", ["causal", "group"])
@pytest.mark.parametrize(
    ("inputs", "expensive", "whole"),
    [
        (10_000, False, True),
        (10_002, False, False),
        # With no difference seen, a margin of 0.2 takes some 20 draws of two inputs.
        (36, True, True),
        (400, True, False),
    ],
)
def test_small_spaces_are_enumerated_and_large_ones_sampled(
    monkeypatch,
    kind,
    inputs,
    expensive,
    whole,
):
    subject = eh.Subject(few, sized(inputs))
    monkeypatch.setattr(subject.adapter, "expensive", expensive)
    found = eh.measure(subject, kind=kind, margin=0.2)
    estimate = found.worst.estimate
    assert (found.stop is eh.StopReason.ENUMERATED) == whole
    assert (estimate.method == "enumerated") == whole
    if whole:
        assert estimate.n == inputs
    enumerated = eh.measure(subject, kind=kind, exact=True)
    assert enumerated.worst.estimate.n == inputs
    sampled = eh.measure(subject, kind=kind, exact=False, margin=0.2)
    assert sampled.stop is eh.StopReason.MARGIN


def test_an_interval_asked_for_by_name_is_sampled():
    for interval in ("exact", "anytime", "wald"):
        found = eh.measure(few, sized(100), interval=interval)
        estimate = found.worst.estimate
        assert estimate.method == interval
        assert estimate.level == 0.95
    enumerated = eh.measure(few, sized(100), interval="wald", exact=True)
    assert enumerated.stop is eh.StopReason.ENUMERATED


def test_what_the_software_does_not_see_is_not_enumerated():
    page = eh.integer("page", 1, 1000, passed=False)
    mood = eh.real("mood", 0, 1, passed=False)
    features = [*sized(40_000).features, page, mood]
    space = eh.Space(features, protected=["sex"])
    found = eh.measure(few, space, exact=True)
    estimate = found.worst.estimate
    assert estimate.n == 40_000
    assert estimate.value == 58 / 40_000


def test_a_constraint_on_what_the_software_does_not_see_is_kept():
    diary = eh.category("diary", ["a", "b", "c"], passed=False)
    space = eh.Space([*TEN.features, diary], ["sex"], ["diary != 'a'"])
    found = eh.measure(is_man, space, over="diary", kind="group")
    groups = [str(group) for group in found.worst.groups]
    assert groups == ["diary b", "diary c"]
    enumerated = eh.measure(few, space, exact=True)
    assert enumerated.worst.estimate.value == 1.0


def test_the_budget_of_an_exact_score():
    asked = 0

    def counted(people):
        nonlocal asked
        asked += len(people)
        return few(people)

    for kind in ("causal", "group"):
        for queries in (130, 200, 263, 264, 290, 400):
            asked = 0
            budget = eh.Budget(queries=queries)
            found = eh.measure(counted, sized(200), kind=kind, budget=budget)
            assert asked <= found.spent.queries <= queries
            # Some inputs are asked twice first, to see whether answers stay the same.
            checked = 2 * min(32, queries // 20)
            is_enough = queries - checked >= 200
            is_enumerated = found.stop is eh.StopReason.ENUMERATED
            assert is_enumerated == is_enough


def measure_refused(error: Any, space: eh.Space, *words: str, **options: Any) -> None:
    """Check that a score of this space fails with these words."""
    refused(error, lambda: eh.measure(few, space, **options), *words)


def test_a_budget_below_what_enumeration_takes_is_refused():
    space = sized(200)
    options: Any = {"exact": True, "budget": eh.Budget(queries=150)}
    measure_refused(UsageError, space, "200 inputs", "136 queries", **options)
    rows = eh.rows(space.decode(space.enumerate()))
    measure_refused(UsageError, space, "400 inputs", "136", sampler=rows, **options)


def test_a_space_with_too_many_inputs_cannot_be_enumerated():
    huge = sized(4_000_000)
    measure_refused(SpaceError, huge, "4,000,000 inputs", "1,000,000", exact=True)


@pytest.mark.parametrize("kind", ["causal", "group"])
def test_a_continuous_feature_cannot_be_enumerated(kind):
    weight = eh.real("weight", 0, 1)
    smooth = eh.Space([*TEN.features, weight], protected=["sex"])
    measure_refused(SpaceError, smooth, "infinitely many inputs", exact=True, kind=kind)


def test_a_profile_cannot_be_enumerated():
    women = eh.profile({"sex": {"F": 0.7, "M": 0.3}})
    measure_refused(
        UsageError,
        TEN,
        "a profile",
        "leave out exact",
        exact=True,
        sampler=women,
    )


def test_twins_among_rows_cannot_be_sampled():
    pair = [{"sex": "F", "id": 3}, {"sex": "M", "id": 3}]
    among_themselves = eh.rows(pair, twins="rows")
    measure_refused(
        UsageError,
        TEN,
        "twins = 'rows'",
        "exact = False",
        exact=False,
        sampler=among_themselves,
    )
