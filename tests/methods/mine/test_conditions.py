"""The rules on one feature: which there are, what they cover and are called, how they merge."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.methods.mine.conditions import MOST_SUBSETS, Choices
from evenhand.runtime.errors import DataError, SpaceError, UsageError
from evenhand.space.feature import category, integer, real
from tests.support.helpers import refused
from tests.support.strategies import features

NOTHING = np.array([])


AGE = integer("age", 18, 90)
UNIT = real("x", 0, 1)


def levels(number):
    return category("race", [f"r{place}" for place in range(number)])


def texts(choices):
    return [choices.condition(choice).text for choice in range(len(choices))]


def edges(feature, column=NOTHING, **options):
    """Return where the bins of a feature begin, and where the last one ends."""
    return Choices.of(feature, column, **options).edges


def drawn(feature, seed, rows=60):
    rng = np.random.default_rng(seed)
    column = np.empty(rows)
    feature.draw(rows, rng, column)
    return column


# Which choices there are


@pytest.mark.parametrize("number", range(1, 9))
def test_every_proper_subset_of_few_levels_is_a_choice_once(number):
    picks = Choices.of(levels(number), NOTHING).picks
    assert picks.shape == (2**number - 2, number)
    taken = taken_cells(picks)
    assert len(set(taken)) == len(picks)
    assert taken == in_order(taken)


def taken_cells(picks):
    """Return which cells each choice takes."""
    return [tuple(np.flatnonzero(pick)) for pick in picks]


def in_order(taken):
    """Return choices by the number of cells they take, and then by these."""
    return sorted(taken, key=lambda cells: (len(cells), cells))


@pytest.mark.parametrize(
    ("number", "few"), [(9, 4), (10, 4), (12, 3), (15, 2), (31, 2), (32, 1), (600, 1)]
)
def test_of_many_levels_few_are_named_or_few_left_out(number, few):
    choices = Choices.of(levels(number), NOTHING)
    sizes = {*range(1, few + 1), *range(number - few, number)}
    taken = choices.picks.sum(axis=1)
    assert set(taken.tolist()) == sizes
    assert len(choices) == subsets(number, sizes)
    distinct = {pick.tobytes() for pick in choices.picks}
    assert len(distinct) == len(choices)
    assert len(choices) <= MOST_SUBSETS or few == 1
    more = {*sizes, few + 1, number - few - 1}
    takes_all = 2 * few >= number - 1
    assert takes_all or subsets(number, more) > MOST_SUBSETS


def subsets(number, sizes):
    """Return how many subsets of these sizes there are."""
    return sum(math.comb(number, size) for size in sizes)


def test_subsets_that_leave_few_out_are_in_order_too():
    choices = Choices.of(levels(11), NOTHING)
    taken = taken_cells(choices.picks)
    assert taken == in_order(taken)


def test_at_most_so_many_levels_are_named():
    choices = Choices.of(levels(5), NOTHING, levels=2)
    taken = choices.picks.sum(axis=1)
    assert taken.tolist() == [1] * 5 + [2] * 10
    many: Any = np.int64(99)
    all_choices = Choices.of(levels(5), NOTHING, levels=many)
    assert len(all_choices) == 30


@pytest.mark.parametrize("cells", [2, 3, 9, 10])
def test_every_interval_but_the_whole_is_a_choice(cells):
    choices = Choices.of(UNIT, NOTHING, bins=cells)
    wanted = list(itertools.combinations_with_replacement(range(cells), 2))
    wanted.remove((0, cells - 1))
    intervals = []
    for pick in choices.picks:
        taken = np.flatnonzero(pick).tolist()
        intervals.append((taken[0], taken[-1]))
    assert intervals == wanted
    lengths = [last - first + 1 for first, last in wanted]
    assert choices.picks.sum(axis=1).tolist() == lengths
    assert choices.copies.tolist() == [1] * len(wanted)


@pytest.mark.parametrize(
    "feature",
    [
        category("a", ["x"]),
        integer("a", 3, 3),
        real("a", 0.5, 0.5),
    ],
)
def test_one_value_leaves_no_choice(feature):
    column = drawn(feature, 0)
    sizes = np.array([60.0])
    choices = Choices.of(feature, column)
    assert len(choices) == 0
    assert choices.cells(column).tolist() == [0] * 60
    (label,) = feature.labels(drawn(feature, 0, 1))
    assert choices.labels() == [str(label)]
    assert len(choices.merged(sizes)) == 0
    assert len(choices.frequent(sizes, 1)) == 0


# Bins


def test_bins_of_equal_width_start_at_values_that_a_whole_number_has():
    choices = Choices.of(AGE, NOTHING)
    # The edges 25.2, 32.4, 39.6, ... are no ages; the first age of each bin is.
    assert choices.edges == (18, 26, 33, 40, 47, 54, 62, 69, 76, 83, 90)
    first, *_, last = choices.labels()
    assert first == "18 to 25"
    assert last == "83 to 90"
    condition = choices.condition(3)
    assert condition.text == "age < 47"
    assert isinstance(condition.below, int)


def test_bins_of_a_grid_that_ends_before_its_range():
    grid = real("x", 0, 1, step=0.3)  # 0, 0.3, 0.6, 0.9
    choices = Choices.of(grid, NOTHING, bins=3)
    # Cut at 1/3 and 2/3; the highest value is alone.
    assert choices.edges == (0.0, 0.6, 0.9, 1.2)
    assert choices.labels() == ["0 to 0.3", "0.6", "0.9"]
    assert edges(grid, bins=[0.95]) == (0.0, 0.9)


def test_bins_of_a_real_number_have_short_edges():
    assert edges(UNIT) == tuple(place / 10 for place in range(11))
    assert edges(UNIT, bins=3) == (0.0, 0.333333, 0.666667, 1.0)


def test_bins_of_a_narrow_range_have_edges_that_rise():
    narrow = edges(real("x", 1.0, 1.0 + 2**-48), bins=4)
    assert len(narrow) == 5
    for one, other in itertools.pairwise(narrow):
        assert one < other


def test_few_values_have_a_bin_each():
    choices = Choices.of(integer("age", 1, 9), NOTHING)
    assert len(choices) == 44
    assert choices.labels() == [str(age) for age in range(1, 10)]
    assert choices.cells(np.arange(1.0, 10.0)).tolist() == list(range(9))


@pytest.mark.parametrize(
    ("feature", "options", "first", "last", "number"),
    [
        (integer("age", 1, 10), {}, "1", "10", 10),
        (AGE, {"bins": 10**9}, "18", "90", 73),
    ],
)
def test_there_are_no_more_bins_than_values(feature, options, first, last, number):
    labels = Choices.of(feature, NOTHING, **options).labels()
    assert len(labels) == number
    assert labels[0] == first
    assert labels[-1] == last
    assert len(set(labels)) == number


def test_few_values_have_a_bin_each_by_quantiles_too():
    halves = real("x", 0, 1, step=0.5)
    choices = Choices.of(halves, NOTHING, binning="quantiles")
    assert choices.labels() == ["0", "0.5", "1"]


def test_quantile_bins_hold_about_as_many_rows_each():
    rng = np.random.default_rng(0)
    column = rng.exponential(size=10_000).clip(0, 50)
    choices = Choices.of(real("income", 0, 50), column, bins=4, binning="quantiles")
    rows = np.bincount(choices.cells(column))
    assert rows.tolist() == pytest.approx([2500] * 4, abs=5)


def test_equal_quantiles_are_one_edge():
    gain = integer("gain", 0, 1000)
    column = np.array([0.0] * 70 + list(range(1, 31)))
    # Up from 0.3, 10.2 and 20.1; the six quantiles below are 0.
    assert edges(gain, column, binning="quantiles") == (0, 1, 11, 21, 1000)
    zeros = Choices.of(gain, np.zeros(9), binning="quantiles")
    assert len(zeros) == 0


def test_cut_points_get_the_ends_that_are_missing():
    array: Any = np.array([18, 40, 60, 90])
    assert edges(AGE, bins=[40, 60]) == (18, 40, 60, 90)
    assert edges(AGE, bins=array) == (18, 40, 60, 90)
    assert edges(AGE, bins=(39.5, 39.9)) == (18, 40, 90)  # nobody is between
    last = Choices.of(AGE, NOTHING, bins=[89.5])
    assert last.labels() == ["18 to 89", "90"]
    assert last.cells(np.array([89.0, 90.0])).tolist() == [0, 1]


def test_bins_that_the_space_declares_come_before_a_number():
    age = integer("age", 18, 90, bins=(30, 50, 70))
    every_age = np.arange(18.0, 91.0)
    assert edges(age) == (18, 30, 50, 70, 90)
    assert edges(age, bins=[40]) == (18, 40, 90)
    assert edges(age, every_age, bins=2, binning="quantiles") == (18, 54, 90)
    assert edges(real("x", 0, 1, bins=2), bins=7) == (0, 0.5, 1)


# What choices cover


@st.composite
def made(draw):
    """A feature, rows of it, and its choices by one of the ways to cut it."""
    feature = draw(features("x", most=30, continuous=True))
    seed = draw(st.integers(0, 99))
    rows = draw(st.integers(1, 40))
    column = drawn(feature, seed, rows)
    binning = draw(st.sampled_from(["width", "quantiles"]))
    bins = draw(st.integers(2, 6))
    choices = Choices.of(feature, column, bins=bins, binning=binning)
    return feature, column, choices


@given(made())
def test_a_choice_covers_the_rows_that_its_condition_says(case):
    feature, column, choices = case
    cells = choices.cells(column)
    labels = choices.labels()
    assert len(labels) == choices.width
    assert feature.kind == "category" or len(set(labels)) == len(labels)
    for choice in range(len(choices)):
        condition = choices.condition(choice)
        wanted = condition.mask(column, feature)
        covered = choices.picks[choice][cells]
        assert covered.tolist() == wanted.tolist()


@given(made())
def test_edges_rise_and_no_bin_of_a_grid_is_empty(case):
    feature, _, choices = case
    for one, other in itertools.pairwise(choices.edges):
        assert one < other
    if feature.kind != "category" and math.isfinite(feature.size):
        cells = choices.cells(feature.values())
        assert set(cells.tolist()) == set(range(choices.width))


def rows_by_cell(choices, cells):
    return np.bincount(cells, minlength=choices.width).astype(float)


@given(made())
def test_merged_choices_cover_what_all_did_and_count_them(case):
    _, column, choices = case
    cells = choices.cells(column)
    sizes = rows_by_cell(choices, cells)
    wanted: Counter[bytes] = Counter()
    for pick in choices.picks:
        covered = pick[cells]
        if covered.any() and not covered.all():
            wanted[covered.tobytes()] += 1
    merged = choices.merged(sizes)
    found = {}
    for pick, copies in zip(merged.picks, merged.copies, strict=True):
        covered = pick[cells]
        found[covered.tobytes()] = int(copies)
    assert found == wanted
    assert len(merged) == len(wanted)
    again = merged.merged(sizes)
    assert again.picks.tolist() == merged.picks.tolist()
    assert again.copies.tolist() == merged.copies.tolist()


@given(made(), st.integers(0, 40))
def test_frequent_choices_are_those_with_enough_rows(case, least):
    _, column, choices = case
    cells = choices.cells(column)
    wanted = [pick.tolist() for pick in choices.picks if pick[cells].sum() >= least]
    frequent = choices.frequent(rows_by_cell(choices, cells), least)
    assert frequent.picks.tolist() == wanted


def test_the_simplest_subset_stays():
    sizes = np.array([5.0, 5.0, 5.0, 0.0])
    merged = Choices.of(levels(4), NOTHING).merged(sizes)
    named = [merged.condition(choice).levels for choice in range(len(merged))]
    assert named == [
        ("r0",),
        ("r1",),
        ("r2",),
        ("r0", "r1", "r3"),
        ("r0", "r2", "r3"),
        ("r1", "r2", "r3"),
    ]
    assert merged.copies.tolist() == [2] * 6


def test_the_tightest_interval_stays_and_those_at_an_end_before_others():
    choices = Choices.of(integer("age", 0, 59), NOTHING, bins=6)
    assert choices.edges[1:-1] == (10, 20, 30, 40, 50)
    sizes = np.array([0.0, 5.0, 0.0, 5.0, 0.0, 5.0])
    merged = choices.merged(sizes)
    assert texts(merged) == [
        "age < 20",
        "age < 40",
        "30 <= age < 40",
        "age at least 30",
        "age at least 50",
    ]
    # Of 20; 3 cover nobody and 1 everybody.
    assert merged.copies.tolist() == [4, 4, 4, 2, 2]


def test_a_threshold_that_is_met_but_for_rounding_is_met():
    sexes = Choices.of(category("sex", ["F", "M"]), NOTHING)
    least = 0.07 * 100
    assert least > 7
    frequent = sexes.frequent(np.array([7.0, 93.0]), least)
    assert len(frequent) == 2


# Errors


@pytest.mark.parametrize(
    "bins",
    [1, 0, -3, True, 2.5, "ten", None, [], [40, 40], [60, 40], ["a"], [math.nan], [[1]]],
)
def test_bins_that_are_none(bins):
    refused(
        UsageError,
        lambda: Choices.of(AGE, NOTHING, bins=bins),
        "bins = ",
        "2 or more",
        "rising",
    )


def test_cut_points_beyond_the_range():
    refused(
        UsageError,
        lambda: Choices.of(AGE, NOTHING, bins=[10, 40]),
        "cut point 10",
        "'age'",
        "18 to 90",
    )


def test_unknown_ways_to_cut():
    refused(
        UsageError,
        lambda: Choices.of(AGE, NOTHING, binning="quantile"),
        "'quantile'",
        "did you mean 'quantiles'?",
    )
    refused(
        DataError,
        lambda: Choices.of(AGE, NOTHING, binning="quantiles"),
        "'age'",
        "need rows",
    )


@pytest.mark.parametrize("number", [0, -1, True, 1.5, "two"])
def test_levels_that_are_none(number):
    refused(
        UsageError,
        lambda: Choices.of(levels(3), NOTHING, levels=number),
        f"levels = {number!r}",
        "1 or more",
    )


def test_more_choices_than_there_is_room_for():
    refused(
        SpaceError,
        lambda: Choices.of(UNIT, NOTHING, bins=10**6),
        "'x'",
        "bins",
        "take fewer bins",
    )
    refused(
        SpaceError,
        lambda: Choices.of(levels(60), NOTHING, levels=9),
        "'race'",
        "60 levels",
        "take fewer levels",
    )
    refused(
        SpaceError,
        lambda: Choices.of(levels(20_000), NOTHING),
        "'race'",
        "20,000 levels",
    )
