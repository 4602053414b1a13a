"""Groups: compared with plain loops over every input of small constrained spaces."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from evenhand.population.samplers import uniform
from evenhand.runtime.errors import NoInputs, SpaceError, UsageError
from evenhand.scores.groups import MOST_GROUPS, Groups, declared_groups
from evenhand.space.feature import Feature, category, date, integer, real
from evenhand.space.space import Space
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces

Point = tuple[float, ...]


@st.composite
def binned(draw: Any, feature: Feature) -> Feature:
    """The feature with bins, sometimes.

    They are a number of bins, or edges that may leave values outside or hit them.
    """
    if feature.kind == "category" or not draw(st.booleans()):
        return feature
    middle = (feature.low + feature.high) / 2
    possible_edges = [feature.low, feature.high, *feature.values().tolist(), middle]
    edges = draw(st.lists(st.sampled_from(possible_edges), min_size=2, max_size=4))
    distinct = sorted({float(edge) for edge in edges})
    if len(distinct) > 1 and draw(st.booleans()):
        return replace(feature, bins=tuple(distinct))
    return replace(feature, bins=draw(st.integers(1, 4)))


@st.composite
def grouped(draw: Any) -> Groups:
    """Groups of some features of a small space with constraints and bins."""
    plain = draw(spaces(most=3, constrained=True))
    features = [draw(binned(feature)) for feature in plain.features]
    space = Space(features, plain.protected, plain.constraints)
    names = draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    return Groups(space, tuple(names))


def every(space: Space) -> list[Point]:
    """Every valid input of a small space."""
    values = [feature.values().tolist() for feature in space.features]
    points = np.array(list(itertools.product(*values)))
    valid_points = points[space.valid(points)]
    return as_tuples(valid_points)


def as_tuples(points: Any) -> list[Point]:
    return [tuple(point) for point in points.tolist()]


def cell_of(feature: Feature, value: float) -> int:
    """The cell of a value, by a plain loop; -1 for none."""
    if feature.bins is None:
        return int(np.flatnonzero(feature.values() == value)[0])
    edges = feature.edges().tolist()
    if value == edges[-1]:
        return len(edges) - 2
    for cell, (low, high) in enumerate(itertools.pairwise(edges)):
        if low <= value < high:
            return cell
    return -1


def members(groups: Groups) -> dict[int, set[Point]]:
    """The valid inputs of each group, by plain loops."""
    found: dict[int, set[Point]] = {}
    for group in range(-1, len(groups)):
        found[group] = set()
    for point in every(groups.space):
        found[group_of(groups, point)].add(point)
    return found


def group_of(groups: Groups, point: Point) -> int:
    """The group of an input, by a plain loop; -1 for none."""
    group = 0
    for name, size in zip(groups.names, groups.shape, strict=True):
        value = point[groups.space.index(name)]
        cell = cell_of(groups.space.feature(name), value)
        if cell < 0:
            return -1
        group = group * size + cell
    return group


def listed(groups: Groups, group: int) -> Any:
    """The inputs of a group: every combination of a row of each of its blocks."""
    blocks = groups.within(group)
    assert blocks is not None
    tables = [block.table().tolist() for block in blocks]
    count = math.prod(len(table) for table in tables)
    points = np.zeros((count, len(groups.space.features)))
    for row, parts in enumerate(itertools.product(*tables)):
        for block, part in zip(blocks, parts, strict=True):
            points[row, list(block.columns)] = part
    return points


@settings(max_examples=examples(50), deadline=None)
@given(grouped())
def test_every_input_is_in_the_group_that_a_loop_finds(groups):
    for group, points in members(groups).items():
        if points:
            found = groups.of(np.array(sorted(points)))
            assert (found == group).all()


@settings(max_examples=examples(50), deadline=None)
@given(grouped())
def test_a_group_is_exactly_its_valid_inputs(groups):
    for group, points in members(groups).items():
        if group < 0:
            continue
        assert groups.inhabited(group) == bool(points)
        if not points:
            with pytest.raises(SpaceError):
                groups.draw(1, np.random.default_rng(0), group)
            continue
        found = as_tuples(listed(groups, group))
        assert sorted(found) == sorted(points)
        drawn = groups.draw(50, np.random.default_rng(0), group)
        assert set(as_tuples(drawn)) <= points


def has_values(groups: Groups, group: int) -> bool:
    """Whether each bin of a group holds a value.

    A bin between two values of a stepped feature has nobody to move to.
    """
    for cell, (lowest, _) in zip(groups.cells(group), groups.spans, strict=True):
        if np.isnan(lowest[cell]):
            return False
    return True


@settings(max_examples=examples(50), deadline=None)
@given(grouped())
def test_moving_changes_the_group_and_nothing_else(groups):
    points = np.array(every(groups.space))
    columns = list(groups.columns)
    others_before = np.delete(points, columns, axis=1)
    for group in range(len(groups)):
        if has_values(groups, group):
            moved = groups.move(points, group)
            others_after = np.delete(moved, columns, axis=1)
            assert (groups.of(moved) == group).all()
            assert (others_after == others_before).all()
            for column in groups.columns:
                feature = groups.space.features[column]
                assert feature.inside(moved[:, column]).all()


def is_degenerate(feature: Feature) -> bool:
    """Whether the feature has a single value."""
    return feature.low == feature.high


@settings(max_examples=examples(50), deadline=None)
@given(grouped())
def test_labels_are_the_users_and_tell_groups_apart(groups):
    features = [groups.space.feature(name) for name in groups.names]
    assume(not any(map(is_degenerate, features)))
    labels = [groups.label(group) for group in range(len(groups))]
    distinct = {repr(list(label.values())) for label in labels}
    assert len(distinct) == len(groups)
    without_bins = [feature.name for feature in features if feature.bins is None]
    for group, points in members(groups).items():
        if group < 0 or not points:
            continue
        records = groups.space.records(np.array(sorted(points)))
        for record in records[:3]:
            for name in without_bins:
                assert labels[group][name] == record[name]


def test_draws_are_uniform_over_a_group_under_constraints():
    space = Space(
        [
            category("sex", ["F", "M"]),
            integer("age", 0, 9, bins=(0, 4, 9)),
            integer("years", 0, 9),
        ],
        constraints=["years <= age"],
    )
    groups = Groups(space, ("sex", "age"))
    points = sorted(members(groups)[3])
    size = 200_000
    drawn = groups.draw(size, np.random.default_rng(1), 3)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert as_tuples(found) == points
    expected = size / len(points)
    standard_error = math.sqrt(expected)
    assert np.abs(counts - expected).max() < 5 * standard_error


@pytest.fixture
def rates() -> Groups:
    """A continuous feature in two bins, with values outside of both."""
    rate = real("rate", -1, 1, bins=(-1, 0, 0.5))
    return Groups(Space([rate, integer("n", 0, 1)]), ("rate",))


def test_a_continuous_feature_is_grouped_by_its_bins(rates):
    points = np.zeros((4, 2))
    points[:, 0] = [-1.0, 0.0, 0.5, 0.6]
    assert rates.of(points).tolist() == [0, 1, 1, -1]
    assert rates.label(0) == {"rate": "-1 to under 0"}
    assert rates.label(1) == {"rate": "0 to 0.5"}


@pytest.mark.parametrize(("group", "middle"), [(0, -0.5), (1, 0.25)])
def test_draws_of_a_continuous_feature_are_uniform_over_their_bin(rates, group, middle):
    drawn = rates.draw(20_000, np.random.default_rng(0), group)
    assert (rates.of(drawn) == group).all()
    mean = drawn[:, 0].mean()
    assert abs(mean - middle) < 0.02
    other = 1 - group
    moved = rates.move(drawn, other)
    assert (rates.of(moved) == other).all()


def test_wide_ranges_are_never_listed():
    income = integer("income", 0, 2**52, bins=4)
    space = Space([income, integer("n", 0, 1)])
    groups = Groups(space, ("income",))
    assert groups.spans[0].tolist() == [
        [0, 2**50, 2**51, 3 * 2**50],
        [2**50 - 1, 2**51 - 1, 3 * 2**50 - 1, 2**52],
    ]
    drawn = groups.draw(1000, np.random.default_rng(0), 2)
    assert (groups.of(drawn) == 2).all()
    assert not uniform().empty(groups).any()


def test_values_without_bins_are_refused_where_there_are_too_many():
    income = integer("income", 0, 2**52)
    more = integer("more", 0, 2**52)
    plain = Space([income, more])
    refused(
        SpaceError,
        lambda: Groups(plain, ("income",)),
        "income 4,503,599,627,370,497",
        f"{MOST_GROUPS:,}",
    )
    refused(SpaceError, lambda: Groups(plain, ("income", "more")), "2e+31 groups")


def test_a_step_that_no_decimal_holds_stays_on_its_grid():
    third = real(
        "third",
        0.1,
        50,
        step=1 / 3,
        bins=7,
    )
    groups = Groups(Space([third]), ("third",))
    for group in range(len(groups)):
        drawn = groups.draw(500, np.random.default_rng(0), group)
        assert (groups.of(drawn) == group).all()
        assert np.isin(drawn[:, 0], third.values()).all()


@pytest.mark.parametrize(
    ("feature", "labels"),
    [
        (
            integer("x", 0, 2_000_000, bins=(0, 1_234_567, 1_234_568)),
            ["0 to under 1234567", "1234567 to 1234568"],
        ),
        (
            integer("x", 0, 100, bins=3),
            ["0 to under 33.3333", "33.3333 to under 66.6667", "66.6667 to 100"],
        ),
        (real("x", 0, 1e-8, bins=2), ["0 to under 5e-09", "5e-09 to 1e-08"]),
        (
            real("x", 0, 1e6, bins=(0, 123_456.78, 1e6)),
            ["0 to under 123457", "123457 to 1000000"],
        ),
        (
            real("x", 0, 3e-11, bins=(0, 1.23456789e-11, 3e-11)),
            ["0 to under 1.2346e-11", "1.2346e-11 to 3e-11"],
        ),
        (
            real("x", 0, 1, bins=(0, 0.123456789, 1)),
            ["0 to under 0.123457", "0.123457 to 1"],
        ),
    ],
)
def test_bins_are_named_by_edges_that_people_can_read(feature, labels):
    groups = Groups(Space([feature]), ("x",))
    found = [groups.label(group)["x"] for group in range(len(groups))]
    assert found == labels


def test_a_constraint_that_fails_is_not_an_empty_group():
    def strict(frame: Any) -> Any:
        if (frame["sex"] == "M").all():
            raise ValueError("only men")
        return frame["age"] > 20

    features = [category("sex", ["F", "M"]), integer("age", 18, 90)]
    groups = Groups(Space(features, constraints=[strict]), ("sex",))
    assert groups.inhabited(0)
    refused(SpaceError, lambda: groups.inhabited(1), "only men")


def test_an_empty_group_is_known_by_the_class_of_the_error_and_not_by_its_words(
    monkeypatch,
):
    class Reworded(NoInputs):
        def __init__(self, message: str) -> None:
            super().__init__("Übersetzung")

    monkeypatch.setattr("evenhand.space.blocks.NoInputs", Reworded)
    space = Space(
        [category("sex", ["F", "M"]), integer("age", 18, 90)],
        constraints=["sex == 'F' and age > 20"],
    )
    groups = Groups(space, ("sex",))
    assert groups.inhabited(0)
    assert not groups.inhabited(1)


def test_unknown_continuous_and_empty_groups_are_refused_by_name():
    space = Space(
        [
            category("sex", ["F", "M"]),
            real("rate", 0, 1),
            integer(
                "age",
                0,
                9,
                step=5,
                bins=(0, 1, 2, 9),
            ),
        ]
    )
    refused(UsageError, lambda: Groups(space, ("sexx",)), "sexx", "did you mean 'sex'")
    refused(SpaceError, lambda: Groups(space, ("rate",)), "continuous", "bins")
    groups = Groups(space, ("age",))
    assert uniform().empty(groups).tolist() == [False, True, False]
    rng = np.random.default_rng(0)
    refused(SpaceError, lambda: groups.draw(1, rng, 1), "1 to under 2")


GAPS = Space(
    [
        category("sex", ["F", "M"], missing=True),
        integer(
            "age",
            18,
            58,
            step=10,
            missing=True,
        ),
        integer(
            "income",
            0,
            99,
            bins=(0, 50, 80),
            missing=True,
        ),
    ]
)


def test_whoever_lacks_a_value_is_a_group_of_its_own():
    gaps = [feature.missing_code for feature in GAPS.features]
    points = np.array([[0.0, 18.0, 0.0], [1.0, 58.0, 80.0], gaps])
    for name, cells in [("sex", [0, 1, 2]), ("age", [0, 4, 5]), ("income", [0, 1, 2])]:
        groups = Groups(GAPS, (name,))
        assert groups.of(points).tolist() == cells
        assert len(groups) == cells[-1] + 1
        last = GAPS.feature(name)
        assert groups.label(cells[-1]) == {name: last.missing_word}
        moved = groups.move(points, cells[-1])
        assert groups.of(moved).tolist() == [cells[-1]] * 3
        assert moved[:, GAPS.index(name)].tolist() == [last.missing_code] * 3
        drawn = groups.draw(20, np.random.default_rng(0), cells[-1])
        assert groups.of(drawn).tolist() == [cells[-1]] * 20
        known = groups.draw(20, np.random.default_rng(0), 0)
        assert groups.of(known).tolist() == [0] * 20


def test_spans_end_with_the_code_of_what_is_missing():
    age, income = (GAPS.feature(name).missing_code for name in ("age", "income"))
    groups = Groups(GAPS, ("age", "income"))
    assert groups.spans[0].tolist() == [[18, 28, 38, 48, 58, age]] * 2
    assert groups.spans[1].tolist() == [[0, 50, income], [49, 80, income]]
    assert groups.shape == (6, 3)
    assert groups.cells(5 * 3 + 1) == (5, 1)


def test_values_that_a_feature_does_not_have_are_in_no_group():
    space = Space([integer("age", 10, 30, step=10), integer("pay", 0, 9, bins=(2, 5, 8))])
    points = np.array([[10.0, 2.0], [15.0, 2.0], [40.0, 2.0], [0.0, 2.0], [30.0, 8.0]])
    assert Groups(space, ("age",)).of(points).tolist() == [0, -1, -1, -1, 2]
    pays = np.array([[10.0, pay] for pay in (1.0, 2.0, 4.0, 5.0, 8.0, 9.0)])
    assert Groups(space, ("pay",)).of(pays).tolist() == [-1, 0, 0, 1, 1, -1]
    both = Groups(space, ("age", "pay"))
    assert both.of(points).tolist() == [0, -1, -1, -1, 5]
    assert both.of(np.array([[20.0, 9.0], [20.0, 5.0], [30.0, 1.0]])).tolist() == [
        -1,
        3,
        -1,
    ]


def test_the_middle_of_a_bin_stands_for_it():
    space = Space([integer("age", 0, 100, bins=(0, 40, 61)), real("rate", 0, 1, bins=2)])
    moved = Groups(space, ("age", "rate")).move(np.zeros((1, 2)), 3)
    assert moved[0, 0] == 50.0
    assert moved[0, 1] == 0.75
    below = Groups(space, ("age", "rate")).move(np.zeros((1, 2)), 0)
    assert below[0, 0] in (19.0, 20.0)
    assert below[0, 1] == pytest.approx(0.25)
    assert below[0, 1] < 0.25


def test_bins_of_a_continuous_feature_end_just_under_the_next():
    groups = Groups(Space([real("rate", 0, 1, bins=2)]), ("rate",))
    low, high = groups.spans[0].tolist()
    assert low == [0.0, 0.5]
    assert high == [np.nextafter(0.5, 0.0), 1.0]


def test_bins_of_dates_are_named_by_their_days():
    groups = Groups(Space([date("since", "2020-01-01", "2020-01-31", bins=2)]), ("since",))
    assert groups.label(0) == {"since": "2020-01-01 to before 2020-01-16"}
    assert groups.label(1) == {"since": "2020-01-16 to 2020-01-31"}


def test_as_many_groups_as_are_compared():
    most = Groups(Space([integer("id", 1, MOST_GROUPS)]), ("id",))
    assert len(most) == 100_000
    refused(
        SpaceError,
        lambda: Groups(Space([integer("id", 0, MOST_GROUPS)]), ("id",)),
        "id 100,001 = 100,001 groups, over the 100,000 that are compared",
    )


def test_declared_groups_have_only_declared_labels():
    space = Space([category("sex", ["F", "M"]), category("race", ["a", "b", "c"])])
    groups = Groups(space, ("sex", "race"))
    declared = declared_groups(groups, {"sex": ["M"], "race": ["a", "c"]})
    assert declared.tolist() == [False, False, False, True, False, True]
    assert not declared_groups(groups, {"sex": ["M"]}).any()
    assert not declared_groups(groups, {}).any()


def test_blocks_that_a_group_does_not_narrow_are_those_of_the_whole():
    space = Space(
        [category("sex", ["F", "M"]), integer("a", 0, 9), integer("b", 0, 9)],
        constraints=["a < b"],
    )
    groups = Groups(space, ("sex",))
    whole = {block.columns: block for block in groups._whole.values()}
    blocks = groups.within(1)
    assert blocks is not None
    assert [block.columns for block in blocks] == [(0,), (1, 2)]
    assert blocks[1] is whole[1, 2]
    assert blocks[0] is not whole[0,]
    assert blocks[0].size == 1
