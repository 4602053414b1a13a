"""A group against everyone else: limits inside their bounds, holding their level together."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import binom

from evenhand.runtime.errors import UsageError
from evenhand.statistics.intervals import clopper_pearson, difference
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute
from tests.support.helpers import examples, refused


def plausible(misses: int, runs: int, level: float) -> bool:
    """Whether limits that hold their level miss so often more than once in 10,000 times."""
    probability = binom.sf(misses - 1, runs, 1 - level)
    return bool(probability > 1e-4)


@dataclass(frozen=True)
class TwoSides:
    """Hits and sizes of some groups (1), and of everyone else (2), as arrays or numbers."""

    k1: Any
    n1: Any
    k2: Any
    n2: Any

    @property
    def counts(self):
        """What `difference` and `box` take."""
        return self.k1, self.n1, self.k2, self.n2

    @property
    def rate1(self):
        return self.k1 / self.n1

    @property
    def rate2(self):
        return self.k2 / self.n2

    @property
    def rates(self):
        """What `ceiling` and `strength` take."""
        return self.rate1, self.n1, self.rate2, self.n2

    @property
    def apart(self):
        """The difference of the rates."""
        return self.rate1 - self.rate2

    @property
    def swapped(self):
        return TwoSides(self.k2, self.n2, self.k1, self.n1)


def absolute_difference(sure, *counts):
    """The limits of the absolute difference."""
    low, high = sure.difference(*counts)
    return absolute(np.asarray(low), np.asarray(high))


def width(limits) -> float:
    low, high = limits
    return float(high - low)


@st.composite
def groups(draw, *, graded=None):
    """Draw intervals, and the hits and sizes of some groups and of everyone else."""
    if graded is None:
        graded = draw(st.booleans())
    level = draw(st.sampled_from([0.5, 0.9, 0.95, 0.999]))
    among = draw(st.sampled_from([1, 7, 2020, 10**7]))
    simultaneous = SimultaneousIntervals(level, among, graded=graded)
    shape = (2, draw(st.integers(1, 3)))
    sizes = st.integers(1, 5000)
    n1, n2 = draw(arrays(float, shape, elements=sizes))
    any_share = st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)
    share1, share2 = draw(arrays(float, shape, elements=any_share))
    k1 = n1 * share1
    k2 = n2 * share2
    if not graded:
        k1 = np.round(k1)
        k2 = np.round(k2)
    return simultaneous, TwoSides(k1, n1, k2, n2)


@settings(max_examples=examples(40), deadline=None)
@given(groups())
def test_the_difference_lies_in_the_box_and_the_box_under_the_ceiling(case):
    sure, sides = case
    value = np.abs(sides.apart)
    low, high = absolute_difference(sure, *sides.counts)
    box = sure.box(*sides.counts)
    ceiling = sure.ceiling(*sides.rates)
    assert (low >= 0).all()
    assert (low <= value + 1e-12).all()
    assert (value <= high + 1e-12).all()
    assert (high <= box + 1e-7).all()  # which the integral is accurate to
    assert (box <= ceiling + 1e-9).all()
    assert (ceiling <= 1).all()


@pytest.mark.parametrize("among", [1, 1000])
@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (1, 400), (3, 20), (60, 60), (20, 3000)])
def test_the_ceiling_holds_for_every_count_of_small_groups(n1, n2, graded, among):
    """The closed form is no approximation: it holds over a whole grid of counts.

    Graded counts are those at their least favourable.
    """
    k1 = np.linspace(0, n1, 41)
    k2 = np.linspace(0, n2, 41)
    k1, k2 = np.meshgrid(k1, k2)
    if not graded:
        k1 = np.round(k1)
        k2 = np.round(k2)
    size1 = np.full_like(k1, n1)
    size2 = np.full_like(k2, n2)
    sides = TwoSides(k1, size1, k2, size2)
    sure = SimultaneousIntervals(0.95, among, graded=graded)
    box = sure.box(*sides.counts)
    ceiling = sure.ceiling(*sides.rates)
    assert (box <= ceiling + 1e-9).all()


@settings(max_examples=examples(15), deadline=None)
@given(groups())
def test_sides_that_change_places_change_the_sign(case):
    sure, sides = case
    low, high = sure.difference(*sides.counts)
    other_low, other_high = sure.difference(*sides.swapped.counts)
    assert np.allclose(low, -other_high, atol=1e-12)
    assert np.allclose(high, -other_low, atol=1e-12)
    box = sure.box(*sides.counts)
    other_box = sure.box(*sides.swapped.counts)
    assert np.allclose(box, other_box)


def test_one_group_has_the_limits_of_a_pair_and_its_rates_share_the_error():
    sure = SimultaneousIntervals(0.95)
    pair = difference(30, 40, 12, 40, 0.95)
    assert sure.difference(30, 40, 12, 40) == pytest.approx(pair)
    one_of_two_rates = clopper_pearson(3, 40, 1 - 0.05 / 2)
    assert sure.rate(3, 40) == pytest.approx(one_of_two_rates)


def test_more_groups_more_doubt():
    widths = []
    for among in (1, 50, 5000):
        sure = SimultaneousIntervals(0.95, among)
        widths.append(width(sure.difference(30, 100, 50, 100)))
    assert widths == sorted(widths)


def test_graded_values_more_doubt_than_counts():
    counted = SimultaneousIntervals(0.95, 50)
    graded = SimultaneousIntervals(0.95, 50, graded=True)
    counted_width = width(counted.difference(30, 100, 50, 100))
    graded_width = width(graded.difference(30, 100, 50, 100))
    assert graded_width > counted_width
    counted_rate = counted.rate(30, 100)
    graded_rate = graded.rate(30, 100)
    assert width(graded_rate) > width(counted_rate)


def test_a_sum_between_two_whole_numbers_has_the_limits_of_both():
    graded = SimultaneousIntervals(0.95, 50, graded=True)
    low_of_smaller, _ = graded.difference(30, 100, 50, 100)
    _, high_of_larger = graded.difference(31, 100, 50, 100)
    low, high = graded.difference(30.4, 100, 50, 100)
    assert low == pytest.approx(low_of_smaller)
    assert high == pytest.approx(high_of_larger)


def test_sums_that_miss_a_whole_number_by_rounding_are_whole():
    sure = SimultaneousIntervals(0.95, 9, graded=True)
    total = sum([0.1] * 30)
    assert total != 3
    assert sure.rate(total, 100) == sure.rate(3, 100)
    of_whole = sure.difference(3, 100, 50, 100)
    assert sure.difference(total, 100, 50, 100) == pytest.approx(of_whole)


weights = st.floats(1e-6, 1e6)


@given(st.floats(0, 1), st.floats(0, 1), weights, weights)
def test_what_was_enumerated_is_what_it_is_whatever_the_weights(p1, p2, n1, n2):
    sure = SimultaneousIntervals(1.0, 77)
    assert sure.exact
    k1 = min(p1 * n1, n1)
    k2 = min(p2 * n2, n2)
    numbers = TwoSides(k1, n1, k2, n2)
    apart = pytest.approx(numbers.apart, abs=1e-12)
    low, high = sure.difference(*numbers.counts)
    assert low == apart
    assert high == apart
    rate = pytest.approx(numbers.rate1, abs=1e-12)
    low, high = sure.rate(k1, n1)
    assert low == rate
    assert high == rate

    sides = TwoSides(*map(np.atleast_1d, numbers.counts))
    distance = pytest.approx(np.abs(sides.apart), abs=1e-12)
    assert sure.box(*sides.counts) == distance
    ceiling = sure.ceiling(*sides.rates)
    strength = sure.strength(*sides.rates)
    assert ceiling == distance
    assert strength == distance
    assert ceiling == strength


@pytest.mark.parametrize("graded", [False, True])
def test_nobody_is_unknown_and_never_fair(graded):
    sure = SimultaneousIntervals(0.95, 4, graded=graded)
    lowest, highest = sure.rate(0, 0)
    assert float(lowest) == 0
    assert float(highest) == 1
    low, high = absolute_difference(sure, 0, 0, 3, 9)
    assert float(low) == pytest.approx(0, abs=0.3)
    assert float(high) == pytest.approx(1, abs=0.3)


def test_nobody_enumerated_has_no_rate():
    low, _ = SimultaneousIntervals(1.0).rate(0, 0)
    assert math.isnan(low)


def test_two_single_people_leave_nearly_everything_open():
    low, high = SimultaneousIntervals(0.95).difference(0, 1, 1, 1)
    assert low == -1
    assert high > 0.75


def test_a_single_person_tells_next_to_nothing():
    sure = SimultaneousIntervals(0.95, 100)
    low, high = absolute_difference(sure, 1, 1, 0, 50)
    assert low == 0
    assert high == 1


def test_impossible_counts_are_refused():
    sampled = SimultaneousIntervals(0.95)
    enumerated = SimultaneousIntervals(1.0)
    refused(UsageError, lambda: sampled.difference(5, 4, 1, 2), "0 <= hits <= n")
    refused(UsageError, lambda: enumerated.rate(-1, 4), "0 <= hits <= n")


signed = st.floats(-1, 1)


@given(st.lists(st.tuples(signed, signed), min_size=1))
def test_limits_of_an_absolute_value_hold_all_of_it(pairs):
    ends = np.sort(np.array(pairs), axis=1)
    left = ends[:, 0]
    right = ends[:, 1]
    low, high = absolute(left, right)
    inside = np.abs(np.linspace(left, right, 11))
    assert (low <= inside.min(axis=0) + 1e-12).all()
    assert (inside.max(axis=0) <= high + 1e-12).all()
    # A limit above 0 is one of the ends, up to its sign.
    away_from_zero = low > 0
    is_an_end = (np.abs(left) == low) | (np.abs(right) == low)
    assert is_an_end[away_from_zero].all()


def test_strength_is_about_the_lower_limit():
    rng = np.random.default_rng(0)
    n1 = rng.integers(300, 3000, 200).astype(float)
    n2 = rng.integers(300, 3000, 200).astype(float)
    k1 = np.round(rng.uniform(0.1, 0.9, 200) * n1)
    k2 = np.round(rng.uniform(0.1, 0.9, 200) * n2)
    sides = TwoSides(k1, n1, k2, n2)
    sure = SimultaneousIntervals(0.95, 1000)
    low, _ = absolute_difference(sure, *sides.counts)
    strength = sure.strength(*sides.rates)
    error = np.maximum(strength, 0) - low
    assert np.abs(error).max() < 0.02


def test_a_rate_of_zero_in_a_small_group_is_weak_evidence():
    """Wald's formula sees no error in it."""
    sure = SimultaneousIntervals(0.95, 1000)
    n1 = np.array([20.0, 800.0])
    n2 = np.array([1000.0, 1000.0])
    rate1 = np.array([0.0, 0.2])
    rate2 = np.array([0.5, 0.5])
    small, large = sure.strength(rate1, n1, rate2, n2)
    assert large > small


PEOPLE = np.array(list(np.ndindex(2, 3, 4)))
"""The cells of three features."""


def rules() -> np.ndarray:
    """Which cells belong to each group: a row for each group, a column for each cell."""
    first, second, third = PEOPLE.T
    members = [first == 0, second > 0, third == 3, third < 2]
    for i, j in np.ndindex(2, 2):
        members.append((first == i) & (second == j))
    for cell in PEOPLE[::5]:
        members.append((cell == PEOPLE).all(axis=1))
    return np.array(members)


RULES = rules()


def betas(mean, size, rng):
    """Values in [0, 1] with this mean, most of them near an end."""
    hits = 0.3 * mean + 1e-9
    misses = 0.3 * (1 - mean) + 1e-9
    return rng.beta(hits, misses, size)


def drawn_hits(rates, sizes, *, runs, graded, rng):
    """The sum of the outcomes in each cell, a row for each run."""
    if not graded:
        return rng.binomial(sizes, rates, (runs, len(sizes))).astype(float)
    sums = []
    for rate, n in zip(rates, sizes, strict=True):
        values = betas(rate, (runs, n), rng)
        sums.append(values.sum(axis=1))
    return np.stack(sums, axis=1)


def outside(limits, truth):
    """Which limits leave out the truth."""
    low, high = limits
    too_high = low > truth + 1e-9
    too_low = high < truth - 1e-9
    return too_high | too_low


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize(
    "rates",
    [
        pytest.param(np.full(24, 0.5), marks=pytest.mark.slow),
        np.full(24, 0.03),
        pytest.param(np.linspace(0, 1, 24), marks=pytest.mark.slow),
        np.where(PEOPLE[:, 2] == 3, 0.95, 0.02),
    ],
    ids=["even", "rare", "mixed", "far apart"],
)
def test_differences_rates_and_ratios_hold_together(rates, graded):
    """Cells of different rates, groups of a few people and of many; everybody is in several."""
    runs = 40
    level = 0.8
    rng = np.random.default_rng(5)
    sizes = np.tile([2, 5, 12, 40, 3, 30], 4)
    sure = SimultaneousIntervals(level, len(RULES), graded=graded)
    members = RULES * sizes
    others = ~RULES * sizes
    n1 = members.sum(axis=1).astype(float)
    n2 = sizes.sum() - n1
    truth1 = members @ rates / n1
    truth2 = others @ rates / n2
    drawn = drawn_hits(rates, sizes, runs=runs, graded=graded, rng=rng)
    # The floats of graded outcomes may add up to a little more than there are people.
    k1 = np.minimum(drawn @ RULES.T, n1)
    k2 = np.minimum(drawn @ ~RULES.T, n2)
    n1 = np.broadcast_to(n1, k1.shape)
    n2 = np.broadcast_to(n2, k2.shape)

    differences = sure.difference(k1, n1, k2, n2)
    missed = outside(differences, truth1 - truth2)
    low1, high1 = sure.rate(k1, n1)
    low2, high2 = sure.rate(k2, n2)
    missed |= outside((low1, high1), truth1)
    missed |= outside((low2, high2), truth2)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (low1 / high2, high1 / low2)
        missed |= outside(ratios, truth1 / truth2)
    runs_with_a_miss = int(missed.any(axis=1).sum())
    assert plausible(runs_with_a_miss, runs, level)


def test_the_simulation_sees_limits_that_are_not_corrected():
    runs = 50
    rng = np.random.default_rng(6)
    sizes = np.full(24, 30)
    drawn = rng.binomial(sizes, 0.5, (runs, 24)).astype(float)
    k1 = drawn @ RULES.T
    k2 = drawn @ ~RULES.T
    members = (RULES * sizes).sum(axis=1).astype(float)
    n1 = np.broadcast_to(members, k1.shape)
    n2 = np.broadcast_to(sizes.sum() - members, k2.shape)
    low, high = SimultaneousIntervals(0.6).difference(k1, n1, k2, n2)
    missed = (low > 0) | (high < 0)
    runs_with_a_miss = int(missed.any(axis=1).sum())
    assert not plausible(runs_with_a_miss, runs, 0.6)
