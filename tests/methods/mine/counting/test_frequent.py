"""How many rules are frequent: against a loop over all rules, of nobody and of all included."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.counting.enumeration import Enumeration
from evenhand.methods.mine.counting.frequent import frequent_rules
from evenhand.methods.mine.cube import Cube
from evenhand.space.feature import category, integer
from tests.support.helpers import examples
from tests.support.strategies import features


def counted(cube: Cube, least: float, depth: int | None = None) -> int:
    """Return how many rules are frequent, from the rule sets of an enumeration."""
    sizes = cube.totals()
    pruned = cube.pruned(sizes, least)
    depth = depth or len(cube.choices)
    found = Enumeration(
        pruned,
        sizes[None],
        least,
        0.0,
        10**9,
    ).run(depth)
    return frequent_rules(
        found,
        cube,
        sizes,
        depth,
    )


def one_by_one(cube: Cube, least: float, depth: int | None = None) -> int:
    """Return how many rules cover enough rows, each looked at by itself."""
    wanted = 0
    for family in cube.families(depth):
        sizes = [len(cube.choices[position]) for position in family]
        for place in itertools.product(*map(range, sizes)):
            wanted += int(cube.covers(family, place).sum() >= least)
    return wanted


@st.composite
def small_cubes(draw: Any) -> Cube:
    """A cube over one to three small features, of few rows, so that nobody has some levels."""
    rows = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    columns = []
    choices = []
    for place in range(draw(st.integers(1, 3))):
        feature = draw(
            features(
                f"f{place}",
                most=12,
                continuous=True,
            )
        )
        column = np.empty(rows)
        feature.draw(
            rows,
            rng,
            column,
        )
        columns.append(column)
        choices.append(
            Choices.of(
                feature,
                column,
                bins=draw(st.integers(2, 4)),
            )
        )
    return Cube.of(choices, columns)


def counts_agree(cube: Cube, least: float, depth: int | None) -> None:
    """What is counted level by level is what counting one by one finds."""
    assert counted(cube, least, depth) == one_by_one(cube, least, depth)


@settings(max_examples=examples(40))
@given(
    small_cubes(),
    st.integers(1, 12),
    st.sampled_from([1, 2, None]),
)
def test_frequent_rules_are_counted_one_by_one(cube, least, depth):
    if (
        max(
            map(cube.size, cube.families(depth)),
            default=0,
        )
        > 500
    ):
        return
    rows = len(cube.index)
    least = min(least, rows)  # a support is less than 1
    counts_agree(cube, least, depth)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_levels_that_nobody_has_make_more_rules_of_the_same_people(depth):
    """Nobody is of race c or d, nor over 5, and all have the same plan."""
    rng = np.random.default_rng(0)
    columns = [
        rng.integers(
            0,
            2,
            60,
        ).astype(float),
        rng.integers(
            0,
            6,
            60,
        ).astype(float),
        np.zeros(60),
    ]
    over = [
        category("race", ["a", "b", "c", "d"]),
        integer(
            "age",
            0,
            9,
        ),
        category("plan", ["x", "y"]),
    ]
    choices = []
    for feature, column in zip(
        over,
        columns,
        strict=True,
    ):
        choices.append(
            Choices.of(
                feature,
                column,
                bins=3,
            )
        )
    cube = Cube.of(choices, columns)
    sizes = cube.totals()
    # Races a and b with c, with d or with neither; the ages below 7; the plan that all have.
    assert [cube.covering_all(position, sizes) for position in range(3)] == [
        3,
        1,
        1,
    ]
    for least in (1, 10, 31, 60):
        counts_agree(cube, least, depth)


def test_without_people_no_rule_is_frequent():
    nobody = np.array([])
    sex = category("sex", ["F", "M"])
    cube = Cube.of([Choices.of(sex, nobody)], [nobody])
    assert counted(cube, 1) == 0
