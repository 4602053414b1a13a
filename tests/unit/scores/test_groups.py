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
from evenhand.scores.groups import MOST_GROUPS, Groups
from evenhand.space.feature import Feature, category, integer, real
from evenhand.space.space import Space
from tests.support.helpers import examples, refused
from tests.support.strategies import spaces


@st.composite
def binned(draw: Any, feature: Feature) -> Feature:
    """The feature with bins, sometimes: a number of them, or edges that may leave values outside or
    hit them.
    """
    if feature.kind == "category" or not draw(st.booleans()):
        return feature
    ends = [
        feature.low,
        feature.high,
        *feature.values().tolist(),
        (feature.low + feature.high) / 2,
    ]
    edges = sorted(set(draw(st.lists(st.sampled_from(ends), min_size=2, max_size=4))))
    if len(edges) > 1 and draw(st.booleans()):
        return replace(feature, bins=tuple(float(edge) for edge in edges))
    return replace(feature, bins=draw(st.integers(1, 4)))


@st.composite
def grouped(draw: Any) -> Groups:
    """Groups of some features of a small space with constraints and bins."""
    space = draw(spaces(most=3, constrained=True))
    space = Space(
        [draw(binned(feature)) for feature in space.features],
        space.protected,
        space.constraints,
    )
    names = draw(st.lists(st.sampled_from(space.names), min_size=1, unique=True))
    return Groups(space, tuple(names))


def every(space: Space) -> list[tuple[float, ...]]:
    """Every valid input of a small space."""
    found = np.array(
        list(itertools.product(*(feature.values().tolist() for feature in space.features)))
    )
    return list(map(tuple, found[space.valid(found)].tolist()))


def cell_of(feature: Feature, value: float) -> int:
    """The cell of a value, by a plain loop; -1 for none."""
    if feature.bins is None:
        return int(np.flatnonzero(feature.values() == value)[0])
    edges = feature.edges().tolist()
    if value == edges[-1]:
        return len(edges) - 2
    return next(
        (
            cell
            for cell, (low, high) in enumerate(itertools.pairwise(edges))
            if low <= value < high
        ),
        -1,
    )


def members(groups: Groups) -> dict[int, set[tuple[float, ...]]]:
    """The valid inputs of each group, by plain loops."""
    found: dict[int, set[tuple[float, ...]]] = {
        group: set() for group in range(-1, len(groups))
    }
    for point in every(groups.space):
        index = 0
        for name, size in zip(groups.names, groups.shape, strict=True):
            cell = cell_of(groups.space.feature(name), point[groups.space.index(name)])
            index = -1 if cell < 0 or index < 0 else index * size + cell
        found[index].add(point)
    return found


@settings(max_examples=examples(50), deadline=None)
@given(grouped())
def test_every_input_is_in_the_group_that_a_loop_finds(groups):
    for group, points in members(groups).items():
        if points:
            assert (groups.of(np.array(sorted(points))) == group).all()


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
        blocks = groups.within(group)
        assert blocks is not None
        found = np.zeros(
            (math.prod(len(block.table()) for block in blocks), len(groups.space.features))
        )
        for row, parts in enumerate(
            itertools.product(*(block.table().tolist() for block in blocks))
        ):
            for block, part in zip(blocks, parts, strict=True):
                found[row, list(block.columns)] = part
        assert sorted(map(tuple, found.tolist())) == sorted(points)
        drawn = groups.draw(50, np.random.default_rng(0), group)
        assert set(map(tuple, drawn.tolist())) <= points


@settings(max_examples=examples(50), deadline=None)
@given(grouped())
def test_moving_changes_the_group_and_nothing_else(groups):
    points = np.array(every(groups.space))
    others = [column for column in range(points.shape[1]) if column not in groups.columns]
    spans = [set(np.flatnonzero(~np.isnan(low)).tolist()) for low, _ in groups.spans]
    for group in range(len(groups)):
        # A bin between two values of a stepped feature has nobody to move to.
        if all(
            cell in real_cells
            for cell, real_cells in zip(groups.cells(group), spans, strict=True)
        ):
            moved = groups.move(points, group)
            assert (groups.of(moved) == group).all()
            assert (moved[:, others] == points[:, others]).all()
            for column in groups.columns:
                assert groups.space.features[column].inside(moved[:, column]).all()


@settings(max_examples=examples(50), deadline=None)
@given(grouped())
def test_labels_are_the_users_and_tell_groups_apart(groups):
    labels = [groups.label(group) for group in range(len(groups))]
    degenerate = any(
        groups.space.feature(name).low == groups.space.feature(name).high
        for name in groups.names
    )
    assume(not degenerate)
    assert len({tuple(map(repr, label.values())) for label in labels}) == len(groups)
    for group, points in members(groups).items():
        for record in (
            groups.space.records(np.array(sorted(points)))[:3]
            if group >= 0 and points
            else []
        ):
            for name in groups.names:
                if groups.space.feature(name).bins is None:
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
    groups = Groups(
        space,
        (
            "sex",
            "age",
        ),
    )
    points = sorted(members(groups)[3])
    drawn = groups.draw(200_000, np.random.default_rng(1), 3)
    found, counts = np.unique(drawn, axis=0, return_counts=True)
    assert found.tolist() == [list(point) for point in points]
    share = 1 / len(points)
    assert np.abs(counts - 200_000 * share).max() < 5 * math.sqrt(200_000 * share)


def test_a_continuous_feature_is_grouped_by_its_bins():
    groups = Groups(
        Space([real("rate", -1, 1, bins=(-1, 0, 0.5)), integer("n", 0, 1)]), ("rate",)
    )
    assert groups.of(np.array([[-1.0, 0], [0, 0], [0.5, 0], [0.6, 0]])).tolist() == [
        0,
        1,
        1,
        -1,
    ]
    assert [groups.label(group)["rate"] for group in range(2)] == [
        "-1 to under 0",
        "0 to 0.5",
    ]
    for group, (low, high) in enumerate([(-1, 0), (0, 0.5)]):
        drawn = groups.draw(20_000, np.random.default_rng(0), group)
        assert (groups.of(drawn) == group).all()
        assert abs(drawn[:, 0].mean() - (low + high) / 2) < 0.02
        assert groups.of(groups.move(drawn, 1 - group)).tolist() == [1 - group] * len(drawn)


def test_wide_ranges_are_never_listed():
    space = Space([integer("income", 0, 2**52, bins=4), integer("n", 0, 1)])
    groups = Groups(space, ("income",))
    assert groups.spans[0].tolist() == [
        [0, 2**50, 2**51, 3 * 2**50],
        [2**50 - 1, 2**51 - 1, 3 * 2**50 - 1, 2**52],
    ]
    assert (groups.of(groups.draw(1000, np.random.default_rng(0), 2)) == 2).all()
    assert not uniform().empty(groups).any()
    plain = Space([integer("income", 0, 2**52), integer("more", 0, 2**52)])
    refused(
        SpaceError,
        lambda: Groups(plain, ("income",)),
        "income 4,503,599,627,370,497",
        f"{MOST_GROUPS:,}",
    )
    refused(SpaceError, lambda: Groups(plain, ("income", "more")), "2e+31 groups")


def test_a_step_that_no_decimal_holds_stays_on_its_grid():
    groups = Groups(Space([real("third", 0.1, 50, step=1 / 3, bins=7)]), ("third",))
    for group in range(len(groups)):
        drawn = groups.draw(500, np.random.default_rng(0), group)
        assert (groups.of(drawn) == group).all()
        assert np.isin(drawn[:, 0], groups.space.features[0].values()).all()


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
    ],
)
def test_bins_are_named_by_edges_that_people_can_read(feature, labels):
    groups = Groups(Space([feature]), ("x",))
    assert [groups.label(group)["x"] for group in range(len(groups))] == labels


def test_a_constraint_that_fails_is_not_an_empty_group():
    def strict(frame: Any) -> Any:
        if (frame["sex"] == "M").all():
            raise ValueError("only men")
        return frame["age"] > 20

    groups = Groups(
        Space([category("sex", ["F", "M"]), integer("age", 18, 90)], constraints=[strict]),
        ("sex",),
    )
    assert groups.inhabited(0)
    refused(SpaceError, lambda: groups.inhabited(1), "only men")


def test_that_a_group_is_empty_is_told_by_the_error_and_not_by_its_words(monkeypatch):
    class Reworded(NoInputs):
        def __init__(self, message: str) -> None:
            super().__init__("Übersetzung")

    monkeypatch.setattr("evenhand.space.blocks.NoInputs", Reworded)
    space = Space(
        [category("sex", ["F", "M"]), integer("age", 18, 90)],
        constraints=["sex == 'F' and age > 20"],
    )
    groups = Groups(space, ("sex",))
    assert [groups.inhabited(group) for group in range(2)] == [True, False]


def test_what_is_wrong_is_said():
    space = Space(
        [
            category("sex", ["F", "M"]),
            real("rate", 0, 1),
            integer("age", 0, 9, step=5, bins=(0, 1, 2, 9)),
        ]
    )
    refused(UsageError, lambda: Groups(space, ("sexx",)), "sexx", "did you mean 'sex'")
    refused(SpaceError, lambda: Groups(space, ("rate",)), "continuous", "bins")
    groups = Groups(space, ("age",))
    assert uniform().empty(groups).tolist() == [False, True, False]
    refused(SpaceError, lambda: groups.draw(1, np.random.default_rng(0), 1), "1 to under 2")
