"""Sums of rule sets from sums of cells: against masks over rows, and on the authors' own data."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine import cube as module
from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.counting.enumeration import Enumeration
from evenhand.methods.mine.counting.frequent import frequent_rules
from evenhand.methods.mine.cube import Cube
from evenhand.runtime.errors import SpaceError
from evenhand.space.feature import category, integer, real
from tests.support import authors
from tests.support.helpers import examples, refused
from tests.support.strategies import features


@st.composite
def made(draw):
    """A cube over one to three small features, the features and the rows it is made of."""
    number = draw(st.integers(1, 3))
    rows = draw(st.integers(1, 40))
    seed = draw(st.integers(0, 999))
    rng = np.random.default_rng(seed)
    over = []
    columns = []
    choices = []
    for place in range(number):
        feature = draw(features(f"f{place}", most=12, continuous=True))
        column = np.empty(rows)
        feature.draw(rows, rng, column)
        bins = draw(st.integers(2, 4))
        over.append(feature)
        columns.append(column)
        choices.append(Choices.of(feature, column, bins=bins))
    return Cube.of(choices, columns), over, columns


def cube_over(features_, columns, **options):
    """Return the cube of all choices of some features."""
    choices = []
    for feature, column in zip(features_, columns, strict=True):
        choices.append(Choices.of(feature, column, **options))
    return Cube.of(choices, columns)


def places(cube, family):
    sizes = [len(cube.choices[position]) for position in family]
    return itertools.product(*map(range, sizes))


def met(cube, over, columns, family, place):
    """Which rows meet the conditions of a rule set, looked at one by one."""
    masks = []
    conditions = cube.conditions(family, place)
    for position, condition in zip(family, conditions, strict=True):
        feature = over[position]
        assert condition.feature == feature.name
        masks.append(condition.mask(columns[position], feature))
    return np.all(masks, axis=0)


@settings(max_examples=examples(40))
@given(made(), st.integers(0, 99))
def test_sums_are_those_over_the_rows_that_meet_the_conditions(case, seed):
    cube, over, columns = case
    rows = len(columns[0])
    rng = np.random.default_rng(seed)
    values = rng.random((2, rows))
    counts = cube.totals()
    totals = cube.totals(values)
    assert counts.sum() == rows
    assert totals.shape == (2, len(cube.codes))
    for family in cube.families():
        sizes = cube.sums(family, counts)
        sums = cube.sums(family, totals)
        assert sizes.shape == cube.copies(family).shape
        assert sizes.shape == sums.shape[1:]
        assert sizes.size == cube.size(family)
        second_sums = cube.sums(family, totals[1])
        assert np.allclose(second_sums, sums[1])
        for place in itertools.islice(places(cube, family), 60):
            mask = met(cube, over, columns, family, place)
            covered = cube.covers(family, place)
            assert covered.tolist() == mask.tolist()
            assert sizes[place] == mask.sum()
            expected = values[:, mask].sum(axis=1)
            sums_of_place = sums[(slice(None), *place)]
            assert sums_of_place == pytest.approx(expected)


def covered_by(cube, family, place):
    """Return how many rows each condition of a rule set covers alone."""
    counts = []
    for position, choice in zip(family, place, strict=True):
        covered = cube.covers((position,), (choice,))
        counts.append(covered.sum())
    return counts


def coverages(cube, family, least, rows):
    """Count the rule sets of a family by the rows they cover, where these are enough.

    Conditions on one feature that cover nobody or everybody say nothing.
    """
    found: Counter[bytes] = Counter()
    for place in places(cube, family):
        splits = all(0 < count < rows for count in covered_by(cube, family, place))
        covered = cube.covers(family, place)
        if splits and covered.sum() >= least:
            found[covered.tobytes()] += 1
    return found


@settings(max_examples=examples(40))
@given(made(), st.integers(1, 12))
def test_pruning_loses_no_coverage_and_counts_every_rule(case, least):
    cube, _, columns = case
    rows = len(columns[0])
    sizes = cube.totals()
    pruned = cube.pruned(sizes, least)
    for family in cube.families(2):
        found: Counter[bytes] = Counter()
        if family in pruned.families():
            copies = pruned.copies(family)
            enough = pruned.sums(family, sizes) >= least
            for place in places(pruned, family):
                if enough[place]:
                    covered = pruned.covers(family, place)
                    found[covered.tobytes()] += int(copies[place])
        assert found == coverages(cube, family, least, rows)


def test_rows_in_the_same_cell_are_one():
    sexes = np.array([0.0, 1.0, 0.0, 0.0])
    ages = np.array([20.0, 30.0, 21.0, 70.0])
    columns = [sexes, ages]
    over = [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
    ]
    cube = cube_over(over, columns, bins=[40])
    assert cube.codes.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert cube.index.tolist() == [0, 2, 0, 1]
    assert cube.totals().tolist() == [2, 1, 1]
    values = np.array([1.0, 2.0, 3.0, 4.0])
    assert cube.totals(values).tolist() == [4, 4, 2]
    mask = cube.mask((0, 1), (0, 0))
    covered = cube.covers((0, 1), (0, 0))
    assert mask.tolist() == [True, False, False]
    assert covered.tolist() == [True, False, True, False]


@pytest.mark.parametrize("narrow", [0, 1 << 22])
def test_cells_are_the_same_however_they_are_found(narrow, monkeypatch):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 5, 300).astype(float) for _ in range(4)]
    over = [integer(f"f{place}", 0, 4) for place in range(4)]
    monkeypatch.setattr(module, "_NARROW", narrow)
    cube = cube_over(over, columns)
    check_cells(cube, np.column_stack(columns))


def check_cells(cube, cells):
    """The codes are the distinct cells, and the index leads from each row to its own."""
    distinct = np.unique(cells, axis=0)
    assert cube.codes[cube.index].tolist() == cells.tolist()
    assert cube.codes.tolist() == distinct.tolist()


def test_more_possible_cells_than_whole_numbers_can_count():
    rng = np.random.default_rng(0)
    columns = [rng.random(50) for _ in range(30)]
    over = [real(f"f{place}", 0, 1) for place in range(30)]
    assert np.iinfo(np.int64).max < 10**30
    cube = cube_over(over, columns)
    cells_by_feature = []
    for choices, column in zip(cube.choices, columns, strict=True):
        cells_by_feature.append(choices.cells(column))
    check_cells(cube, np.column_stack(cells_by_feature))
    assert cube.candidates() == 55**30 - 1
    singles = 30 * 54
    pairs = math.comb(30, 2) * 54**2
    triples = math.comb(30, 3) * 54**3
    assert cube.candidates(3) == singles + pairs + triples


def test_features_without_choices_are_in_no_family():
    over = [
        category("sex", ["F", "M"]),
        integer("one", 3, 3),
        category("race", ["a", "b", "c"]),
    ]
    columns = [
        np.array([0.0, 1.0]),
        np.array([3.0, 3.0]),
        np.array([2.0, 0.0]),
    ]
    cube = cube_over(over, columns)
    assert cube.families() == [(0,), (2,), (0, 2)]
    assert cube.families(1) == [(0,), (2,)]
    assert cube.candidates() == 2 + 6 + 12
    assert cube.candidates(1) == 8


def test_candidates_count_every_rule_of_every_family():
    numbers = np.arange(6.0)
    columns = [numbers % 2, numbers % 3, numbers / 5]
    over = [
        category("a", [0, 1]),
        category("b", [0, 1, 2]),
        real("c", 0, 1),
    ]
    cube = cube_over(over, columns, bins=4)
    for depth in (1, 2, 3, 9, None):
        assert cube.candidates(depth) == rules_of(cube, depth)
    merged = cube.pruned(cube.totals(), 0)
    assert merged.candidates() == rules_of(merged, None)


def rules_of(cube, depth):
    """Return how many rules all families have together, counted one family after the other."""
    rules = 0
    for family in cube.families(depth):
        copies = cube.copies(family)
        rules += int(copies.sum())
    return rules


def test_no_rows_have_no_cells():
    nobody = np.array([])
    sex = category("sex", ["F", "M"])
    cube = cube_over([sex], [nobody])
    totals = cube.totals()
    assert totals.tolist() == []
    assert cube.totals(np.zeros((2, 0))).shape == (2, 0)
    assert cube.sums((0,), totals).tolist() == [0, 0]
    assert cube.pruned(totals, 1).families() == []


def test_a_family_too_large_to_sum_is_refused_with_its_numbers():
    columns = [np.zeros(3) for _ in range(5)]
    over = [real(f"f{place}", 0, 1) for place in range(5)]
    cube = cube_over(over, columns)
    family = (0, 1, 2, 3, 4)
    totals = cube.totals()
    refused(
        SpaceError,
        lambda: cube.sums(family, totals),
        "f0, f1, f2, f3, f4",
        "459,165,024",
        "depth",
    )
    refused(SpaceError, lambda: cube.copies(family), "rule sets")
    smaller = cube.sums(family[:3], totals)
    assert smaller.shape == (54, 54, 54)


# The authors' own data (TestSGD, Table 5)


def table(name):
    path = authors.published(f"{name}.csv.gz")
    return np.loadtxt(path, delimiter=",", skiprows=1)


@dataclass
class PublishedCube:
    """The cube of a data set, its rows by cell, and the rows that its support asks for."""

    cube: Cube
    sizes: Any
    least: float

    @classmethod
    def of(cls, over, columns):
        cube = cube_over(over, columns)
        least = 0.05 * len(columns[0])
        return cls(cube, cube.totals(), least)

    def frequent(self, family, allowed=None):
        """How many rule sets of a family are frequent, of those whose choices are allowed.

        `allowed` has a flag for each choice of a feature.
        """
        flags_of = allowed or {}
        enough = self.cube.sums(family, self.sizes) >= self.least
        for axis, position in enumerate(family):
            if position in flags_of:
                enough = np.compress(flags_of[position], enough, axis=axis)
        return int(enough.sum())


@pytest.fixture(scope="module")
def census():
    rows = table("census")
    over = [
        integer("age", 1, 9),
        category("race", list(range(5))),
        category("sex", [0, 1]),
    ]
    columns = [rows[:, 0], rows[:, 7], rows[:, 8]]
    return PublishedCube.of(over, columns)


def test_census_has_the_rule_sets_of_algorithm_1(census):
    cube = census.cube
    sizes = census.sizes
    least = census.least
    assert cube.candidates() == 4184
    pruned = cube.pruned(sizes, least)
    found = Enumeration(pruned, sizes[None], least, least, cube.candidates()).run(3)
    assert frequent_rules(found, cube, sizes, 3) == 2045
    rows = sizes.sum()
    for searched in (cube, pruned):
        frequent = 0
        frequent_on_both_sides = 0
        for family in searched.families():
            covered = searched.sums(family, sizes)
            copies = searched.copies(family)
            enough = covered >= least
            leaves_enough = rows - covered >= least
            frequent += copies[enough].sum()
            frequent_on_both_sides += copies[enough & leaves_enough].sum()
        assert frequent == 2045
        assert frequent_on_both_sides == 2020


def test_census_has_the_rule_sets_that_the_authors_report(census):
    race = census.cube.choices[1]
    few_races = race.picks.sum(axis=1) <= 3
    # All intervals of ages, that of all ages being age left out.
    with_age = census.frequent((0, 1, 2), {1: few_races})
    without_age = census.frequent((1, 2), {1: few_races})
    assert with_age + without_age == 880


def test_bank_has_the_rule_sets_that_the_authors_report():
    rows = table("bank")
    age = rows[:, 0]
    bank = PublishedCube.of([integer("age", 1, 9)], [age])
    intervals = bank.frequent((0,))
    assert intervals + 1 == 34  # and the interval of all ages


def test_credit_has_the_rule_sets_that_the_authors_report():
    rows = table("credit")
    over = [
        category("sex", [0, 1]),
        integer("age", 1, 8),
    ]
    columns = [rows[:, 8], rows[:, 12]]
    credit = PublishedCube.of(over, columns)
    with_age = credit.frequent((0, 1))
    without_age = credit.frequent((0,))
    assert with_age + without_age == 53


def test_compas_has_the_rule_sets_that_the_authors_report():
    rows = table("compas")
    flags = rows[:, 2:8]
    assert (flags.sum(axis=1) == 1).all()
    over = [
        integer("age", 1, 9),
        category("sex", [0, 1]),
        category("race", list(range(6))),
    ]
    race = flags.argmax(axis=1).astype(float)
    columns = [rows[:, 0], rows[:, 1], race]
    compas = PublishedCube.of(over, columns)
    races_taken = compas.cube.choices[2].picks.sum(axis=1)

    def among(*numbers):
        allowed = {2: np.isin(races_taken, numbers)}
        with_age = compas.frequent((0, 1, 2), allowed)
        without_age = compas.frequent((1, 2), allowed)
        return with_age + without_age

    everybody = compas.frequent((0, 1)) + compas.frequent((1,))
    assert among(1, 2, 5) == 1032
    # As released, where each of the 15 pairs of races covers everybody.
    assert among(1, 5) + 15 * everybody == 1590
