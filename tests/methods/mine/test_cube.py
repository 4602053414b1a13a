"""Sums of rule sets from sums of cells: against masks over rows, and the counts on the authors' own
data.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.mine import cube as module
from evenhand.methods.mine.conditions import Choices
from evenhand.methods.mine.cube import Cube
from evenhand.runtime.errors import SpaceError
from evenhand.space.feature import category, integer, real
from tests.support import authors
from tests.support.helpers import examples, refused
from tests.support.strategies import features


@st.composite
def made(draw):
    """A cube over one to three small features, the features and the rows it is made of."""
    number, rows = draw(st.integers(1, 3)), draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 999)))
    over, columns, choices = [], [], []
    for place in range(number):
        feature = draw(features(f"f{place}", most=12, continuous=True))
        column = np.empty(rows)
        feature.draw(rows, rng, column)
        over.append(feature)
        columns.append(column)
        choices.append(Choices.of(feature, column, bins=draw(st.integers(2, 4))))
    return Cube.of(choices, columns), over, columns


def places(cube, family):
    return itertools.product(*(range(len(cube.choices[position])) for position in family))


def met(cube, over, columns, family, place):
    """Which rows meet the conditions of a rule set, looked at one by one."""
    mask = np.ones(len(columns[0]), dtype=bool)
    for position, condition in zip(family, cube.conditions(family, place), strict=True):
        assert condition.feature == over[position].name
        mask &= condition.mask(columns[position], over[position])
    return mask


@settings(max_examples=examples(40))
@given(made(), st.integers(0, 99))
def test_sums_are_those_over_the_rows_that_meet_the_conditions(case, seed):
    cube, over, columns = case
    rows = len(columns[0])
    values = np.random.default_rng(seed).random((2, rows))
    counts, totals = cube.totals(), cube.totals(values)
    assert counts.sum() == rows
    assert totals.shape == (2, len(cube.codes))
    for family in cube.families():
        sizes, sums = cube.sums(family, counts), cube.sums(family, totals)
        assert sizes.shape == sums.shape[1:] == cube.copies(family).shape
        assert sizes.size == cube.size(family)
        assert np.allclose(cube.sums(family, totals[1]), sums[1])
        for place in itertools.islice(places(cube, family), 60):
            mask = met(cube, over, columns, family, place)
            assert cube.covers(family, place).tolist() == mask.tolist()
            assert sizes[place] == mask.sum()
            assert sums[(slice(None), *place)] == pytest.approx(values[:, mask].sum(axis=1))


@settings(max_examples=examples(40))
@given(made(), st.integers(1, 12))
def test_pruning_loses_no_coverage_and_counts_every_rule(case, least):
    cube, _, columns = case
    rows = len(columns[0])
    sizes = cube.totals()
    pruned = cube.pruned(sizes, least)
    for family in cube.families(2):
        # Rules on one feature that cover nobody or everybody say nothing; the rest is counted by
        # what it covers.
        wanted: Counter[bytes] = Counter()
        for place in places(cube, family):
            alone = [cube.covers((p,), (c,)).sum() for p, c in zip(family, place, strict=True)]
            covered = cube.covers(family, place)
            if all(0 < size < rows for size in alone) and covered.sum() >= least:
                wanted[covered.tobytes()] += 1
        found: Counter[bytes] = Counter()
        if family in pruned.families():
            copies = pruned.copies(family)
            enough = pruned.sums(family, sizes) >= least
            for place in places(pruned, family):
                if enough[place]:
                    found[pruned.covers(family, place).tobytes()] += int(copies[place])
        assert found == wanted


@settings(max_examples=examples(40))
@given(made(), st.integers(0, 12), st.sampled_from([1, 2, None]))
def test_frequent_rules_are_counted_one_by_one(case, least, depth):
    cube, _, _ = case
    wanted = 0
    for family in cube.families(depth):
        if cube.size(family) > 500:
            return
        wanted += sum(
            bool(cube.covers(family, place).sum() >= least) for place in places(cube, family)
        )
    assert cube.frequent(cube.totals(), least, depth) == wanted


def test_rows_in_the_same_cell_are_one():
    columns = [np.array([0.0, 1.0, 0.0, 0.0]), np.array([20.0, 30.0, 21.0, 70.0])]
    over = [category("sex", ["F", "M"]), integer("age", 18, 90)]
    chosen = [Choices.of(f, c, bins=[40]) for f, c in zip(over, columns, strict=True)]
    cube = Cube.of(chosen, columns)
    assert cube.codes.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert cube.index.tolist() == [0, 2, 0, 1]
    assert cube.totals().tolist() == [2, 1, 1]
    assert cube.totals(np.array([1.0, 2.0, 3.0, 4.0])).tolist() == [4, 4, 2]
    assert cube.mask((0, 1), (0, 0)).tolist() == [True, False, False]
    assert cube.covers((0, 1), (0, 0)).tolist() == [True, False, True, False]


@pytest.mark.parametrize("narrow", [0, 1 << 22])
def test_cells_are_the_same_however_they_are_found(narrow, monkeypatch):
    rng = np.random.default_rng(0)
    columns = [rng.integers(0, 5, 300).astype(float) for _ in range(4)]
    chosen = [
        Choices.of(integer(f"f{place}", 0, 4), column) for place, column in enumerate(columns)
    ]
    monkeypatch.setattr(module, "_NARROW", narrow)
    cube = Cube.of(chosen, columns)
    rows = np.column_stack(columns)
    assert cube.codes[cube.index].tolist() == rows.tolist()
    assert cube.codes.tolist() == np.unique(rows, axis=0).tolist()


def test_more_possible_cells_than_whole_numbers_can_count():
    rng = np.random.default_rng(0)
    columns = [rng.random(50) for _ in range(30)]
    chosen = [Choices.of(real(f"f{place}", 0, 1), column) for place, column in enumerate(columns)]
    assert np.iinfo(np.int64).max < 10**30
    cube = Cube.of(chosen, columns)
    cells = np.column_stack(
        [choices.cells(column) for choices, column in zip(chosen, columns, strict=True)]
    )
    assert cube.codes[cube.index].tolist() == cells.tolist()
    assert cube.codes.tolist() == np.unique(cells, axis=0).tolist()
    assert cube.candidates() == 55**30 - 1
    assert cube.candidates(3) == 30 * 54 + math.comb(30, 2) * 54**2 + math.comb(30, 3) * 54**3


def test_features_without_choices_are_in_no_family():
    over = [category("sex", ["F", "M"]), integer("one", 3, 3), category("race", ["a", "b", "c"])]
    columns = [np.array([0.0, 1.0]), np.array([3.0, 3.0]), np.array([2.0, 0.0])]
    cube = Cube.of([Choices.of(f, c) for f, c in zip(over, columns, strict=True)], columns)
    assert cube.families() == [(0,), (2,), (0, 2)]
    assert cube.families(1) == [(0,), (2,)]
    assert cube.candidates() == 2 + 6 + 12
    assert cube.candidates(1) == 8


def test_candidates_count_every_rule_of_every_family():
    columns = [np.arange(6.0) % 2, np.arange(6.0) % 3, np.linspace(0, 1, 6)]
    over = [category("a", [0, 1]), category("b", [0, 1, 2]), real("c", 0, 1)]
    cube = Cube.of([Choices.of(f, c, bins=4) for f, c in zip(over, columns, strict=True)], columns)
    for depth in (1, 2, 3, 9, None):
        assert cube.candidates(depth) == sum(
            int(cube.copies(family).sum()) for family in cube.families(depth)
        )
    merged = cube.pruned(cube.totals(), 0)
    assert merged.candidates() == sum(
        int(merged.copies(family).sum()) for family in merged.families()
    )


def test_no_rows_have_no_cells():
    cube = Cube.of([Choices.of(category("sex", ["F", "M"]), np.array([]))], [np.array([])])
    assert cube.totals().tolist() == []
    assert cube.totals(np.zeros((2, 0))).shape == (2, 0)
    assert cube.sums((0,), cube.totals()).tolist() == [0, 0]
    assert cube.pruned(cube.totals(), 1).families() == []


def test_a_family_too_large_to_sum_is_refused_with_its_numbers():
    columns = [np.zeros(3) for _ in range(5)]
    cube = Cube.of(
        [Choices.of(real(f"f{place}", 0, 1), column) for place, column in enumerate(columns)],
        columns,
    )
    family = (0, 1, 2, 3, 4)
    refused(
        SpaceError,
        lambda: cube.sums(family, cube.totals()),
        "f0, f1, f2, f3, f4",
        "459,165,024",
        "depth",
    )
    refused(SpaceError, lambda: cube.copies(family), "rule sets")
    assert cube.sums(family[:3], cube.totals()).shape == (54, 54, 54)


# The authors' own data (TestSGD, Table 5)


def table(name):
    return np.loadtxt(authors.published(f"{name}.csv.gz"), delimiter=",", skiprows=1)


def published(over, columns):
    """The cube of a data set, its rows by cell, and the rows that its support threshold asks for."""
    cube = Cube.of(
        [Choices.of(feature, column) for feature, column in zip(over, columns, strict=True)],
        columns,
    )
    return cube, cube.totals(), 0.05 * len(columns[0])


def frequent(cube, sizes, least, family, allowed):
    """How many rule sets of a family are frequent, of those whose choices are allowed: a flag for
    each choice.
    """
    enough = cube.sums(family, sizes) >= least
    for axis, position in enumerate(family):
        if position in allowed:
            enough = np.compress(allowed[position], enough, axis=axis)
    return int(enough.sum())


@pytest.fixture(scope="module")
def census():
    rows = table("census")
    over = [integer("age", 1, 9), category("race", list(range(5))), category("sex", [0, 1])]
    return published(over, [rows[:, 0], rows[:, 7], rows[:, 8]])


def test_census_has_the_rule_sets_of_algorithm_1(census):
    cube, sizes, least = census
    rows = sizes.sum()
    assert cube.candidates() == 4184
    for searched in (cube, cube.pruned(sizes, least)):
        frequent_, both = 0, 0
        for family in searched.families():
            covered, copies = searched.sums(family, sizes), searched.copies(family)
            frequent_ += int(copies[covered >= least].sum())
            both += int(copies[(covered >= least) & (rows - covered >= least)].sum())
        assert (frequent_, both) == (2045, 2020)
    assert cube.frequent(sizes, least) == 2045


def test_census_has_the_rule_sets_that_the_authors_report(census):
    cube, sizes, least = census
    few = {1: cube.choices[1].picks.sum(axis=1) <= 3}
    # All intervals of ages, that of all ages being age left out.
    assert sum(frequent(cube, sizes, least, family, few) for family in ((0, 1, 2), (1, 2))) == 880


def test_bank_has_the_rule_sets_that_the_authors_report():
    rows = table("bank")
    cube, sizes, least = published([integer("age", 1, 9)], [rows[:, 0]])
    assert frequent(cube, sizes, least, (0,), {}) + 1 == 34  # and the interval of all ages


def test_credit_has_the_rule_sets_that_the_authors_report():
    rows = table("credit")
    over = [category("sex", [0, 1]), integer("age", 1, 8)]
    cube, sizes, least = published(over, [rows[:, 8], rows[:, 12]])
    assert sum(frequent(cube, sizes, least, family, {}) for family in ((0, 1), (0,))) == 53


def test_compas_has_the_rule_sets_that_the_authors_report():
    rows = table("compas")
    flags = rows[:, 2:8]
    assert (flags.sum(axis=1) == 1).all()
    over = [integer("age", 1, 9), category("sex", [0, 1]), category("race", list(range(6)))]
    cube, sizes, least = published(
        over, [rows[:, 0], rows[:, 1], flags.argmax(axis=1).astype(float)]
    )
    taken = cube.choices[2].picks.sum(axis=1)

    def among(*numbers):
        return sum(
            frequent(cube, sizes, least, f, {2: np.isin(taken, numbers)})
            for f in ((0, 1, 2), (1, 2))
        )

    everybody = sum(frequent(cube, sizes, least, family, {}) for family in ((0, 1), (1,)))
    assert among(1, 2, 5) == 1032
    assert (
        among(1, 5) + 15 * everybody == 1590
    )  # as released, where each of the 15 pairs of races covers everybody
