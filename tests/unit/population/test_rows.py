"""Populations: rows, profiles and the [population] table, compared with exact expectations and
plain loops.
"""

from __future__ import annotations

import itertools
import math
import pickle
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.config.file import Config
from evenhand.population.profile import profile
from evenhand.population.rows import rows
from evenhand.population.samplers import Draws, Within
from evenhand.runtime.errors import (
    ConfigError,
    DataError,
    RareInputs,
    SpaceError,
    UsageError,
)
from evenhand.scores.groups import Groups
from evenhand.space.feature import category, integer, real
from evenhand.space.space import Space
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

SPACE = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
TRIO = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 0, 9, bins=(0, 5, 9)),
        category("race", ["green", "blue", "red"]),
    ],
    constraints=["age >= 3 or sex == 'F'"],
)
PEOPLE = {
    "sex": ["F", "M", "F", "F"],
    "age": [40, 40, 50, 50],
    "granted": [1, 0, 1, 0],
    "w": [1.0, 0.0, 2.0, 1.0],
}
FRAMES = [
    pd.DataFrame(PEOPLE),
    pl.DataFrame(PEOPLE),
    pl.LazyFrame(PEOPLE),
    pd.DataFrame(PEOPLE).to_dict("records"),
]
ENGINES = pytest.mark.parametrize(
    "frame", FRAMES, ids=["pandas", "polars", "lazy", "records"]
)
N = 20_000
OPTIONS = settings(max_examples=examples(40), deadline=None)


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def agrees(drawn: Any, expected: dict[Any, float]) -> None:
    """Check that each row was drawn about as often as expected, and no other at all."""
    values, counts = np.unique(drawn, axis=0, return_counts=True)
    points = map(tuple, values.tolist())
    seen = dict(zip(points, counts.tolist(), strict=True))
    possible = {point for point, chance in expected.items() if chance > 0}
    assert seen.keys() <= possible
    for point, chance in expected.items():
        mean = len(drawn) * chance
        deviation = math.sqrt(mean * (1 - chance))
        assert abs(seen.get(point, 0) - mean) <= 6 * deviation + 1e-9


def inputs(space: Space) -> list[tuple[float, ...]]:
    """All valid inputs, from a plain loop."""
    values = [feature.values().tolist() for feature in space.features]
    points = np.array(list(itertools.product(*values)))
    valid = points[space.valid(points)]
    return list(map(tuple, valid.tolist()))


def normal(chances: dict[Any, float]) -> dict[Any, float]:
    total = sum(chances.values())
    return {point: chance / total for point, chance in chances.items()}


def names_of(space: Space) -> Any:
    """A strategy of some of the features of a space."""
    return st.lists(st.sampled_from(space.names), min_size=1, unique=True)


# Rows


@ENGINES
def test_rows_of_any_engine_are_the_population(frame):
    some = rows(frame)
    assert some.population(SPACE) == "the 4 given rows"
    assert some.points(SPACE).tolist() == [[0, 40], [1, 40], [0, 50], [0, 50]]
    assert len(some) == 4
    drawn = some.draw(N, rng(), SPACE)
    agrees(drawn, {(0, 40): 0.25, (1, 40): 0.25, (0, 50): 0.5})


@ENGINES
def test_weights_are_a_column_or_a_sequence(frame):
    by_name = rows(frame, weights="w")
    assert by_name.population(SPACE) == "the 4 given rows, weighted by w"
    drawn = by_name.draw(N, rng(), SPACE)
    agrees(drawn, {(0, 40): 0.25, (0, 50): 0.75})
    weights = [1, 0, 2, 1]
    for sequence in (weights, np.array(weights), pd.Series(weights), pl.Series(weights)):
        listed = rows(frame, weights=sequence)
        assert listed.population(SPACE) == "the 4 given rows, weighted"
        assert (listed.draw(N, rng(), SPACE) == drawn).all()
    large = rows(frame, weights=[1e308, 0, 1e308, 1e308])
    agrees(large.draw(N, rng(), SPACE), {(0, 40): 1 / 3, (0, 50): 2 / 3})


def test_groups_of_rows_are_drawn_and_empty_ones_named():
    frame = FRAMES[0]
    groups = Groups(SPACE, ("sex", "age"))
    some = rows(frame)
    people = np.array([[0.0, 40], [1.0, 40], [0.0, 50]])
    inhabited = np.flatnonzero(~some.empty(groups))
    assert set(inhabited.tolist()) == set(groups.of(people).tolist())
    assert not some.separate(SPACE, ["sex"])
    by_sex = Groups(SPACE, ("sex",))
    agrees(some.within(N, rng(), by_sex, 0), {(0, 40): 1 / 3, (0, 50): 2 / 3})
    weighted = rows(frame, weights="w")
    assert weighted.empty(by_sex).tolist() == [False, True]  # the only man has no weight
    agrees(weighted.within(N, rng(), by_sex, 0), {(0, 40): 0.25, (0, 50): 0.75})
    refused(SpaceError, lambda: weighted.within(1, rng(), by_sex, 1), "no row", "'M'")
    binned = Space([*SPACE.features[:1], integer("age", 18, 90, bins=(45, 60, 70))])
    outside = Groups(binned, ("age",))
    assert some.empty(outside).tolist() == [False, True]
    agrees(some.within(1000, rng(), outside, 0), {(0, 50): 1.0})


@OPTIONS
@given(spaces(most=3, constrained=True), st.data())
def test_groups_of_rows_agree_with_the_groups_of_points(space, data):
    every = inputs(space)
    chosen = data.draw(st.lists(st.sampled_from(every), min_size=1, max_size=8))
    weight_lists = st.lists(st.integers(0, 3), min_size=len(chosen), max_size=len(chosen))
    weights = data.draw(st.none() | weight_lists.filter(any))
    some = rows(space.records(np.array(chosen)), weights=weights)
    groups = Groups(space, tuple(data.draw(names_of(space))))
    place = groups.of(np.array(chosen))
    for group, empty in enumerate(some.empty(groups).tolist()):
        members = set()
        for row, point in enumerate(chosen):
            has_weight = weights is None or weights[row] > 0
            if place[row] == group and has_weight:
                members.add(point)
        assert empty == (not members)
        if members:
            drawn = some.within(20, rng(), groups, group)
            assert set(map(tuple, drawn.tolist())) <= members


@OPTIONS
@given(spaces(most=3), st.data())
def test_counterparts_are_rows_that_differ_in_nothing_else(space, data):
    chosen = data.draw(st.lists(st.sampled_from(inputs(space)), min_size=1, max_size=10))
    names = data.draw(names_of(space))
    some = rows(space.records(np.array(chosen)), twins="rows")
    numbers = some.counterparts(space, names)
    others = [at for at, name in enumerate(space.names) if name not in names]
    for first, second in itertools.combinations(range(len(chosen)), 2):
        share_number = numbers[first] == numbers[second]
        are_twins = all(chosen[first][at] == chosen[second][at] for at in others)
        assert share_number == are_twins


class Unpicklable(pd.DataFrame):  # type: ignore[misc]
    """A frame of an engine whose frames do not travel."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        raise TypeError("this frame stays here")


@pytest.mark.parametrize(
    "make",
    [lambda frame: rows(frame, weights="w"), lambda frame: profile(frame=frame)],
    ids=["rows", "profile"],
)
def test_what_is_encoded_travels_without_its_frame(make):
    some = make(Unpicklable(PEOPLE))
    with pytest.raises(TypeError):
        pickle.dumps(some)
    text = some.population(SPACE)
    groups = Groups(SPACE, ("sex",))
    draws = Draws(some, SPACE, 0, "a")
    copy = copied(draws)
    assert (copy.take(0, 100) == draws.take(0, 100)).all()
    some.empty(groups)
    within = Draws(Within(some, groups, 0), SPACE, 0, "a", block=64)
    assert (copied(within).take(30, 90) == within.take(30, 90)).all()
    assert copy.sampler.population(SPACE) == text
    other = Space([category("sex", ["F", "M"])])
    refused(UsageError, lambda: copy.sampler.draw(1, rng(), other), "another space")
    assert len(some.draw(2, rng(), other)) == 2  # where the frame still is
    unused = copied(make(FRAMES[0]))
    assert (unused.draw(9, rng(), SPACE) == some.draw(9, rng(), SPACE)).all()


def copied(value: Any) -> Any:
    return pickle.loads(pickle.dumps(value))


def test_rows_that_do_not_fit_are_refused():
    frame = FRAMES[0]
    refused(DataError, lambda: rows(frame[:0]), "no rows")
    refused(DataError, lambda: rows([]), "no rows")
    refused(UsageError, lambda: rows(None), "no rows")
    refused(DataError, lambda: rows({"sex": ["F"]}), "dict")
    young = frame.assign(age=17)
    refused(DataError, lambda: rows(young).population(SPACE), "'age' = 17", "18 to 90")
    diverse = frame.assign(sex="D")
    refused(DataError, lambda: rows(diverse).population(SPACE), "'sex' = 'D'", "'F', 'M'")
    refused(DataError, lambda: rows(frame.drop(columns="sex")).population(SPACE), "'sex'")
    strict = Space(SPACE.features, constraints=["age < 50"])
    refused(
        DataError,
        lambda: rows(frame).population(strict),
        "2 of 4 rows",
        "row 2",
        "'age': 50",
    )


def test_options_of_rows_that_make_no_sense_are_refused():
    frame = FRAMES[0]
    assert (
        rows(frame, sample_of="applicants of 2024").population(SPACE)
        == "applicants of 2024"
    )
    refused(UsageError, lambda: rows(frame, twins="row"), "did you mean 'rows'")
    refused(
        UsageError,
        lambda: rows(frame, twins="rows", sample_of="all"),
        "twins = 'rows'",
        "sample_of",
    )
    refused(
        UsageError,
        lambda: rows(frame, weights="w", sample_of="all"),
        "weights",
        "sample_of",
    )
    refused(UsageError, lambda: rows(frame, sample_of=" "), "sample_of")
    refused(UsageError, lambda: rows(frame, sample_off="all"), "did you mean 'sample_of'")  # type: ignore[call-arg]
    refused(DataError, lambda: rows(frame, weights="ww"), "'ww'", "did you mean 'w'")
    refused(
        DataError, lambda: rows([{"sex": "F", "age": 20}], weights="w"), "record 0", "'w'"
    )
    refused(DataError, lambda: rows(["F"], weights="w"), "record 0")
    missing = frame.assign(w=[1, None, 1, 1])
    refused(DataError, lambda: rows(missing, weights="w"), "missing", "row 1")
    refused(UsageError, lambda: rows(frame, weights="sex"), "'F'", "not a number")
    refused(UsageError, lambda: rows(frame, weights=[1, 2]), "2 weights for 4 rows")
    refused(UsageError, lambda: rows(frame, weights=[0] * 4), "all zero")
    refused(UsageError, lambda: rows(frame, weights=[1, -1, 0, 0]), "-1 at position 1")
    refused(
        UsageError, lambda: rows(frame, weights=[1, math.inf, 0, 0]), "inf at position 1"
    )
    refused(
        UsageError, lambda: rows(frame, weights=[1, math.nan, 0, 0]), "nan at position 1"
    )
    refused(UsageError, lambda: rows(frame, weights=[1, None, 0, 0]), "None")
    refused(UsageError, lambda: rows(frame, weights=[True] * 4), "True")
    refused(UsageError, lambda: rows(frame, weights=3), "3")
    refused(UsageError, lambda: rows(frame, weights=[1, [2, 3], 0, 0]), "[2, 3]")


# Profiles


def test_levels_values_and_ranges_are_drawn_as_often_as_they_weigh():
    sex = category("sex", ["F", "M"])
    space = Space([sex, integer("age", 0, 20, step=5), real("rate", 0, 1)])
    some = profile(
        {
            "sex": {"M": 3, "F": 1},
            "age": {0: 0.5, 20: 1.5},
            "rate": [(0, 0.5, 3), (0.5, 1, 1)],
        }
    )
    assert some.population(space) == "a profile with weights for sex, age, rate"
    drawn = some.draw(N, rng(), space)
    agrees(drawn[:, :2], {(0, 0): 1 / 16, (0, 20): 3 / 16, (1, 0): 3 / 16, (1, 20): 9 / 16})
    quarters = (drawn[:, 2] * 4).astype(int)
    for quarter, share in enumerate([0.375, 0.375, 0.125, 0.125]):
        found = (quarters == quarter).mean()
        assert abs(found - share) < 6 * math.sqrt(share / N)
    ranged = profile({"age": [(0, 12, 3), (13, 20, 1)]})
    assert (
        ranged.population(space) == "a profile with weights for age; other features uniform"
    )
    expected = {}
    for age, chance in {0: 0.25, 5: 0.25, 10: 0.25, 15: 0.125, 20: 0.125}.items():
        expected[0, age] = chance / 2
        expected[1, age] = chance / 2
    agrees(ranged.draw(N, rng(), space)[:, :2], expected)


@pytest.mark.parametrize(
    "given_",
    [
        [("F", "green", 2), ("M", "blue", 1), ("M", "red", 0), ("F", "green", 1)],
        {("F", "green"): 3, ("M", "blue"): 1},
        pd.DataFrame({"race": ["green", "blue"], "sex": ["F", "M"], "weight": [3, 1]}),
        pl.DataFrame(
            {"race": ["green", "blue"], "sex": ["F", "M"], "weight": [0.75, 0.25]}
        ),
    ],
    ids=["rows", "dictionary", "pandas", "polars"],
)
def test_joint_weights_keep_features_together(given_):
    space = Space(TRIO.features)
    some = profile({("sex", "race"): given_})
    assert (
        some.population(space)
        == "a profile with weights for sex+race; other features uniform"
    )
    drawn = some.draw(N, rng(), space)
    agrees(drawn[:, [0, 2]], {(0, 0): 0.75, (1, 1): 0.25})
    assert not some.separate(space, ["sex"])
    assert some.separate(space, ["race", "sex"])
    assert some.separate(space, ["age"])
    assert not some.separate(TRIO, ["age"])  # which a constraint ties to sex
    assert not some.separate(TRIO, ["sex", "race"])
    assert some.separate(TRIO, ["age", "sex", "race"])
    groups = Groups(space, ("race", "age"))
    assert some.empty(groups).tolist() == [False, False, False, False, True, True]
    blue = some.within(99, rng(), groups, 2)
    assert set(blue[:, 0].tolist()) == {1.0}  # blue people are men


@ENGINES
def test_a_frame_gives_marginal_and_joint_weights(frame):
    independent = profile(frame=frame)
    assert independent.population(SPACE) == "a profile of 4 rows"
    agrees(
        independent.draw(N, rng(), SPACE),
        {(0, 40): 3 / 8, (0, 50): 3 / 8, (1, 40): 1 / 8, (1, 50): 1 / 8},
    )
    assert independent.separate(SPACE, ["sex"])
    together = profile(frame=frame, joint=[("sex", "age")])
    assert together.population(SPACE) == "a profile of 4 rows, sex and age jointly"
    agrees(together.draw(N, rng(), SPACE), {(0, 40): 0.25, (1, 40): 0.25, (0, 50): 0.5})
    other = profile({"sex": {"F": 1, "M": 1}}, frame=frame)
    assert other.population(SPACE) == "a profile of 4 rows, with weights for sex"
    expected = dict.fromkeys([(0, 40), (0, 50), (1, 40), (1, 50)], 0.25)
    agrees(other.draw(N, rng(), SPACE), expected)


def test_a_column_that_has_weights_is_not_needed_and_continuous_values_are_those_observed():
    space = Space([category("sex", ["F", "M"]), real("rate", 0, 1)])
    some = profile({"sex": {"F": 1}}, frame=pd.DataFrame({"rate": [0.1, 0.7, 0.7]}))
    agrees(some.draw(N, rng(), space), {(0, 0.1): 1 / 3, (0, 0.7): 2 / 3})
    lacking = profile(frame=pd.DataFrame({"rate": [0.1]}))
    refused(DataError, lambda: lacking.distribution(space), "'sex'")


def test_constraints_leave_the_distribution_of_valid_inputs():
    weights = {
        "sex": {"F": 0.2, "M": 0.8},
        "age": [(0, 3, 0.6), (4, 9, 0.4)],
        "race": {"green": 1, "blue": 2, "red": 0},
    }
    some = profile(weights)
    assert (
        some.population(TRIO)
        == "a profile with weights for sex, age, race; valid inputs only"
    )
    by_sex = (0.2, 0.8)
    by_race = (1, 2, 0)
    chances = {}
    for sex, age, race in inputs(TRIO):
        by_age = 0.15 if age < 4 else 0.4 / 6
        chances[sex, age, race] = by_sex[int(sex)] * by_age * by_race[int(race)]
    agrees(some.draw(N, rng(), TRIO), normal(chances))
    groups = Groups(TRIO, ("age", "race"))
    place = groups.of(np.array(list(chances)))
    for group in range(len(groups)):
        members = {}
        for (point, chance), point_group in zip(chances.items(), place, strict=True):
            if point_group == group:
                members[point] = chance
        if any(members.values()):
            agrees(some.within(N, rng(), groups, group), normal(members))
    assert some.empty(groups).tolist() == [False, False, True] * 2
    refused(SpaceError, lambda: some.within(1, rng(), groups, 2), "no weight", "'red'")


@st.composite
def profiles(draw: Any, space: Space) -> tuple[Any, Any]:
    """Weights for a small space, and those of each value of each set of features."""
    names = list(space.names)
    weights: dict[Any, Any] = {}
    chances: dict[Any, Any] = {}
    while names:
        size = draw(st.integers(1, min(2, len(names))))
        taken = tuple(names.pop() for _ in range(size))
        features = [space.feature(name) for name in taken]
        every = list(
            itertools.product(*(feature.values().tolist() for feature in features))
        )
        kinds = ["rows"]
        if size == 1:
            kinds.append("uniform")
            if features[0].kind != "category":
                kinds.append("ranges")
        kind = draw(st.sampled_from(kinds))
        if kind == "uniform":
            chances[taken] = dict.fromkeys(every, 1.0)
            continue
        lists = st.lists(st.integers(0, 2), min_size=len(every), max_size=len(every))
        each = draw(lists.filter(any))
        if kind == "ranges":
            cut = draw(st.integers(1, len(every)))
            parts = [part for part in (every[:cut], every[cut:]) if part]
            weights[taken] = []
            chances[taken] = {}
            for part, weight in zip(parts, [1, *each], strict=False):
                weights[taken].append((*part[0], *part[-1], weight))
                chances[taken] |= dict.fromkeys(part, weight / len(part))
        else:
            columns = zip(features, np.array(every).T, strict=True)
            labels = [feature.labels(column) for feature, column in columns]
            weights[taken] = list(zip(*labels, each, strict=True))
            chances[taken] = dict(zip(every, each, strict=True))
    return weights, chances


def uniform_weights(space: Space) -> dict[str, Any]:
    """Weights that leave the first feature, and all others, uniform."""
    first = space.features[0]
    labels = first.labels(first.values())
    return {first.name: dict.fromkeys(labels, 1)}


@OPTIONS
@given(spaces(most=3, constrained=True), st.data())
def test_groups_of_a_profile_agree_with_a_loop_over_all_inputs(space, data):
    weights, chances = data.draw(profiles(space))
    some = profile(weights or uniform_weights(space))
    groups = Groups(space, tuple(data.draw(names_of(space))))
    every = inputs(space)
    weight_of = {}
    for point in every:
        weight = 1.0
        for names, table in chances.items():
            values = tuple(point[space.index(name)] for name in names)
            weight *= table[values]
        weight_of[point] = weight
    # A profile that contradicts the constraints is refused when it is drawn from.
    assume(any(weight_of.values()))
    group_of = dict(zip(every, groups.of(np.array(every)).tolist(), strict=True))
    for group, empty in enumerate(some.empty(groups).tolist()):
        members = {}
        for point, weight in weight_of.items():
            if group_of[point] == group and weight:
                members[point] = weight
        assert empty == (not members)
        if members:
            agrees(some.within(1000, rng(), groups, group), normal(members))


def test_a_profile_under_bins_conditions_ranges_and_continuous_features():
    space = Space([real("rate", 0, 1, bins=(0, 0.25, 0.5, 0.9)), integer("n", 0, 3)])
    some = profile({"rate": [(0.2, 0.3, 1), (0.3, 0.4, 3)]})
    groups = Groups(space, ("rate",))
    assert some.empty(groups).tolist() == [False, False, True]
    low = some.within(N, rng(), groups, 0)[:, 0]
    assert 0.2 <= low.min() < low.max() < 0.25
    assert abs(low.mean() - 0.225) < 0.001
    high = some.within(N, rng(), groups, 1)[:, 0]
    assert abs((high < 0.3).mean() - 0.5 / 3.5) < 0.01
    touching = Groups(Space([real("rate", 0, 1, bins=(0, 0.2, 0.4, 1))]), ("rate",))
    # An end that a bin and a range share has no weight by itself.
    assert some.empty(touching).tolist() == [True, False, True]


def test_constraints_that_leave_next_to_nothing_are_refused_with_the_numbers():
    space = Space(
        [integer("a", 0, 99_999), integer("b", 0, 99_999), integer("c", 0, 9)],
        constraints=["a == b"],
    )
    some = profile({"c": {0: 1}})
    refused(
        RareInputs,
        lambda: some.draw(1000, rng(), space),
        "'a == b'",
        "accept only 10 of 1,0",
        "1 in 1,000",
    )
    narrow = profile({"a": {5: 1}, "b": {5: 1, 6: 9}})
    drawn = narrow.draw(50, rng(), space)
    assert set(map(tuple, drawn[:, :2].tolist())) == {(5.0, 5.0)}


def test_mistakes_in_a_profile_are_named():
    space = Space(
        [
            *TRIO.features,
            real("rate", 0, 1),
            integer("five", 0, 20, step=5),
            category("weight", ["light"]),
        ]
    )

    def wrong(weights: Any, *words: str, kind: Any = UsageError, **options: Any) -> None:
        refused(kind, lambda: profile(weights, **options).population(space), *words)

    wrong(None, "weights", "frame")
    wrong({}, "weights", "frame")
    wrong([("sex", 1)], "dictionary")
    wrong({"sx": {"F": 1}}, "'sx'", "did you mean 'sex'")
    wrong({"race": {"gren": 1}}, "'gren'", "did you mean 'green'", kind=DataError)
    wrong({"age": {10: 1}}, "'age' = 10", "0 to 9", kind=DataError)
    wrong({"age": {"ten": 1}}, "'ten'", "not a number", kind=DataError)
    wrong({"sex": {"F": -1}}, "'sex'", "-1")
    wrong({"sex": {"F": 0, "M": 0}}, "'sex'", "all zero")
    wrong({"sex": {"F": "much"}}, "'sex'", "'much'")
    wrong({"sex": {}}, "'sex'", "empty")
    wrong({"sex": 3}, "int", kind=DataError)
    wrong({"sex": ["F"]}, "'F'", "row")
    wrong({3: {"F": 1}}, "3")
    wrong({"sex": {"F": 1}, ("sex", "race"): [("F", "green", 1)]}, "'sex' twice")
    wrong({("sex", "sex"): [("F", "F", 1)]}, "'sex' twice")
    wrong({("sex", "race"): [("F", 1)]}, "(sex, race, weight)")
    wrong({("sex", "race"): {"F": 1}}, "(sex, race, weight)")
    wrong({"age": [(0, 1, 2, 1)]}, "(low, high, weight)")
    wrong({"sex": [(0, 1, 1)]}, "'sex'", "category")
    wrong({"age": [(0, 10, 1)]}, "0 to 10", "0 to 9")
    wrong({"age": [(5, 3, 1)]}, "5 to 3", "lower end first")
    wrong({"age": [("a", 3, 1)]}, "'a' to 3", "not a number")
    wrong({"age": [(0, 5, 1), (5, 9, 1)]}, "0 to 5 and 5 to 9", "overlap")
    wrong({"rate": [(0, 0.5, 1), (0.4, 1, 1)]}, "overlap")
    wrong({"five": [(6, 9, 1)]}, "6 to 9", "no value")
    wrong(
        {("sex", "race"): pd.DataFrame({"sex": ["F"], "weight": [1]})},
        "'race'",
        kind=DataError,
    )
    wrong({("sex", "weight"): pd.DataFrame({"sex": ["F"], "weight": [1]})}, "'weight'")
    wrong({"sex": {"F": 1}}, "joint", "frame", joint=[("age", "rate")])
    frame = space.decode(space.draw(5, rng()))
    wrong(None, "joint = 'age'", joint="age", frame=frame)
    wrong(None, "joint", "[('age', 'income')]", joint=("age", "rate"), frame=frame)
    wrong(None, "'agee'", "did you mean 'age'", joint=[("agee", "rate")], frame=frame)
    wrong({"age": {1: 1}}, "'age' twice", joint=[("age", "rate")], frame=frame)
    wrong(None, "no rows", frame=frame[:0], kind=DataError)
    wrong(None, "did you mean 'frame'", fram=frame)


# The [population] table

HEAD = """
[space]
protected = ["sex"]
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 18
high = 90
[space.features.member]
levels = [true, false]
[space.features.floor]
levels = [1, 2, 3]
"""


@pytest.fixture
def load(tmp_path):
    frame = pd.DataFrame(PEOPLE).assign(
        member=[True, False, True, True], floor=[1, 2, 3, 3]
    )
    frame.to_csv(tmp_path / "loans.csv", index=False)
    file = tmp_path / "evenhand.toml"

    def config(text: str) -> Any:
        file.write_text(HEAD + text)
        config = Config.load(file)
        return config.population(), config.space

    return config


def test_a_table_declares_rows(load):
    assert load("") == (None, load("")[1])
    some, space = load('[population]\nrows = "loans.csv"\nweights = "w"\ntwins = "rows"')
    assert some.population(space) == "the 4 given rows, weighted by w"
    assert some.twins == "rows"
    some, space = load('[population]\nrows = "loans.csv"\nsample_of = "applicants of 2024"')
    assert some.population(space) == some.sample_of == "applicants of 2024"


def test_a_table_declares_a_profile(load):
    some, space = load("""
[population]
profile = "loans.csv"
joint = [["sex", "age"]]
[population.weights.member]
true = 1
[population.weights.floor]
1 = 3
2 = 1
""")
    wanted = "a profile of 4 rows, sex and age jointly, with weights for member, floor"
    assert some.population(space) == wanted
    drawn = some.draw(N, rng(), space)
    agrees(drawn[:, [0, 1]], {(0, 40): 0.25, (1, 40): 0.25, (0, 50): 0.5})
    agrees(drawn[:, [2, 3]], {(0, 0): 0.75, (0, 1): 0.25})


def test_a_table_declares_ranges_and_joint_weights(load):
    some, space = load("""
[population.weights]
age = [[18, 29, 0.4], [30, 90, 0.6]]
[[population.joint_weights]]
features = ["sex", "floor"]
rows = [["F", 1, 0.2], ["M", 3, 0.8]]
""")
    wanted = "a profile with weights for age, sex+floor; other features uniform"
    assert some.population(space) == wanted
    drawn = some.draw(N, rng(), space)
    agrees(drawn[:, [0, 3]], {(0, 0): 0.2, (1, 2): 0.8})
    is_young = drawn[:, [1]] < 30
    agrees(is_young.astype(float), {(1.0,): 0.4, (0.0,): 0.6})
    some, space = load("[population.weights.age]\n18 = 1\n20 = 3")
    ages = some.draw(N, rng(), space)[:, [1]]
    agrees(ages, {(18,): 0.25, (20,): 0.75})


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[population]", ["needs rows, profile, weights"]),
        ("[[population]]", ["[population] table"]),
        ('[population]\nrow = "loans.csv"', ["'row'", "did you mean 'rows'"]),
        ('[population]\nrows = "loan.csv"', ["loan.csv", "did you mean 'loans.csv'"]),
        ("[population]\nrows = 3", ["rows = 3", "text"]),
        ('[population]\nrows = "loans.csv"\nprofile = "loans.csv"', ["profile", "rows"]),
        ('[population]\nprofile = "loans.csv"\ntwins = "rows"', ["twins", "profile"]),
        ('[population]\nrows = "loans.csv"\ntwins = "row"', ["did you mean 'rows'"]),
        ('[population]\nrows = "loans.csv"\nweights = "ww"', ["'ww'", "did you mean 'w'"]),
        ('[population]\nprofile = "loans.csv"\nweights = "w"', ["weights = 'w'", "table"]),
        ('[population]\nprofile = "loans.csv"\njoint = "age"', ["joint = 'age'", "list"]),
        ('[population]\nprofile = "loans.csv"\njoint = ["age"]', ["joint = ['age']"]),
        ("[population.weights.sex]\nD = 1", ["'D'", "'F', 'M'"]),
        ("[population.weights.sxe]\nF = 1", ["'sxe'", "did you mean 'sex'"]),
        ("[population.weights.sex]\nF = -1", ["-1"]),
        ("[[population.joint_weights]]\nfeatures = ['sex']", ["number 1", "rows"]),
        (
            "[[population.joint_weights]]\nfeature = ['sex']",
            ["'feature'", "did you mean 'features'"],
        ),
        ("[population]\njoint_weights = [3]", ["number 1", "3"]),
        ("[population]\njoint_weights = [{features = [1], rows = [[1, 1]]}]", ["(1,)"]),
        (
            2 * "[[population.joint_weights]]\nfeatures = ['sex']\nrows = [['F', 1]]\n",
            ["number 2", "sex"],
        ),
    ],
)
def test_mistakes_in_the_table_name_the_file(load, text, words):
    refused(ConfigError, lambda: load(text), "evenhand.toml", "population", *words)
