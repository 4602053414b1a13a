"""A group against everyone else: the bounds lie around the limits, and all limits together hold
their level.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from evenhand.runtime.errors import UsageError
from evenhand.statistics.intervals import clopper_pearson, difference
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute
from tests.support.helpers import examples, refused


def plausible(misses: int, runs: int, level: float) -> bool:
    """Whether so many misses are no stranger than once in 10,000 for limits that hold their level."""
    return bool(binom.sf(misses - 1, runs, 1 - level) > 1e-4)


@st.composite
def groups(draw, *, graded=None):
    """How sure to be, and hits and sizes of some groups and of everyone else."""
    graded = draw(st.booleans()) if graded is None else graded
    sure = SimultaneousIntervals(
        draw(st.sampled_from([0.5, 0.9, 0.95, 0.999])),
        draw(st.sampled_from([1, 7, 2020, 10**7])),
        graded=graded,
    )
    n = draw(
        st.lists(st.integers(1, 5000), min_size=2, max_size=6).filter(
            lambda sizes: len(sizes) % 2 == 0
        )
    )
    shares = [draw(st.sampled_from([0.0, 1.0, 0.5]) | st.floats(0, 1)) for _ in n]
    size = np.array(n, dtype=float)
    hits = size * np.array(shares)
    hits = hits if graded else np.round(hits)
    half = len(n) // 2
    return sure, hits[:half], size[:half], hits[half:], size[half:]


@settings(max_examples=examples(40), deadline=None)
@given(groups())
def test_the_difference_lies_in_the_box_and_the_box_under_the_ceiling(case):
    sure, k1, n1, k2, n2 = case
    low, high = absolute(*sure.difference(k1, n1, k2, n2))
    box, ceiling = sure.box(k1, n1, k2, n2), sure.ceiling(k1 / n1, n1, k2 / n2, n2)
    value = np.abs(k1 / n1 - k2 / n2)
    assert (low >= 0).all()
    assert (low <= value + 1e-12).all()
    assert (value <= high + 1e-12).all()
    assert (high <= box + 1e-7).all()  # which the integral is accurate to
    assert (box <= ceiling + 1e-9).all()
    assert (ceiling <= 1).all()


def test_the_ceiling_holds_for_every_count_of_small_groups():
    """The closed form is no approximation: over a whole grid of counts, graded ones at their least
    favourable.
    """
    for n1, n2 in [(1, 1), (1, 400), (3, 20), (60, 60), (20, 3000)]:
        k1, k2 = np.meshgrid(np.linspace(0, n1, 41), np.linspace(0, n2, 41))
        for graded in (False, True):
            a, b = (k1, k2) if graded else (np.round(k1), np.round(k2))
            for among in (1, 1000):
                sure = SimultaneousIntervals(0.95, among, graded=graded)
                sizes = np.full(a.shape, float(n1)), np.full(b.shape, float(n2))
                box = sure.box(a, sizes[0], b, sizes[1])
                assert (
                    box <= sure.ceiling(a / n1, sizes[0], b / n2, sizes[1]) + 1e-9
                ).all()


@settings(max_examples=examples(15), deadline=None)
@given(groups())
def test_sides_that_change_places_change_the_sign(case):
    sure, k1, n1, k2, n2 = case
    low, high = sure.difference(k1, n1, k2, n2)
    other_low, other_high = sure.difference(k2, n2, k1, n1)
    assert np.allclose(low, -other_high, atol=1e-12)
    assert np.allclose(high, -other_low, atol=1e-12)
    assert np.allclose(sure.box(k1, n1, k2, n2), sure.box(k2, n2, k1, n1))


def test_one_group_has_the_limits_of_a_pair_at_half_the_error():
    sure = SimultaneousIntervals(0.9)
    assert sure.difference(30, 40, 12, 40) == pytest.approx(
        difference(30, 40, 12, 40, 0.95)
    )
    assert sure.rate(3, 40) == pytest.approx(clopper_pearson(3, 40, 1 - 0.1 / 4))


def test_more_groups_more_doubt_and_graded_values_still_more():
    widths = [
        np.ptp(sure.difference(30, 100, 50, 100))
        for sure in (
            SimultaneousIntervals(0.95),
            SimultaneousIntervals(0.95, 50),
            SimultaneousIntervals(0.95, 5000),
        )
    ]
    assert widths == sorted(widths)
    few, many = (
        SimultaneousIntervals(0.95, 50),
        SimultaneousIntervals(0.95, 50, graded=True),
    )
    assert np.ptp(many.difference(30, 100, 50, 100)) > np.ptp(
        few.difference(30, 100, 50, 100)
    )
    assert np.ptp(many.rate(30, 100)) > np.ptp(few.rate(30, 100))
    # A sum between two whole numbers has the limits of both.
    ends = [many.difference(k, 100, 50, 100) for k in (30, 30.4, 31)]
    assert ends[1] == pytest.approx((ends[0][0], ends[2][1]))


def test_sums_that_miss_a_whole_number_by_rounding_are_whole():
    sure = SimultaneousIntervals(0.95, 9, graded=True)
    total = sum([0.1] * 30)
    assert total != 3
    assert sure.rate(total, 100) == sure.rate(3, 100)
    assert sure.difference(total, 100, 50, 100) == pytest.approx(
        sure.difference(3, 100, 50, 100)
    )


@given(st.floats(0, 1), st.floats(0, 1), st.floats(1e-6, 1e6), st.floats(1e-6, 1e6))
def test_what_was_enumerated_is_what_it_is_whatever_the_weights(p1, p2, n1, n2):
    sure = SimultaneousIntervals(1.0, 77)
    assert sure.exact
    k1, k2 = min(p1 * n1, n1), min(p2 * n2, n2)
    apart = k1 / n1 - k2 / n2
    assert sure.difference(k1, n1, k2, n2) == pytest.approx((apart, apart), abs=1e-12)
    assert sure.rate(k1, n1) == pytest.approx((k1 / n1, k1 / n1), abs=1e-12)
    arrays = [np.array([x]) for x in (k1, n1, k2, n2)]
    assert sure.box(*arrays) == pytest.approx(abs(apart), abs=1e-12)
    rates = [np.array([x]) for x in (k1 / n1, n1, k2 / n2, n2)]
    assert (
        sure.ceiling(*rates)
        == sure.strength(*rates)
        == pytest.approx(abs(apart), abs=1e-12)
    )


def test_nobody_is_unknown_and_never_fair():
    for sure in (
        SimultaneousIntervals(0.95, 4),
        SimultaneousIntervals(0.95, 4, graded=True),
    ):
        assert [float(end) for end in sure.rate(0, 0)] == [0, 1]
        low, high = absolute(*map(np.asarray, sure.difference(0, 0, 3, 9)))
        assert [float(low), float(high)] == pytest.approx([0, 1], abs=0.3)
    assert math.isnan(SimultaneousIntervals(1.0).rate(0, 0)[0])
    low, high = SimultaneousIntervals(0.95).difference(0, 1, 1, 1)
    assert low == -1
    assert high > 0.8


def test_a_single_person_tells_next_to_nothing():
    low, high = absolute(
        *map(np.asarray, SimultaneousIntervals(0.95, 100).difference(1, 1, 0, 50))
    )
    assert low == 0
    assert high == 1


def test_impossible_counts_are_refused():
    refused(
        UsageError,
        lambda: SimultaneousIntervals(0.95).difference(5, 4, 1, 2),
        "0 <= hits <= n",
    )
    refused(UsageError, lambda: SimultaneousIntervals(1.0).rate(-1, 4), "0 <= hits <= n")


@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1)), min_size=1))
def test_limits_of_an_absolute_value_hold_all_of_it(pairs):
    ends = np.sort(np.array(pairs), axis=1)
    low, high = absolute(ends[:, 0], ends[:, 1])
    inside = np.abs(np.linspace(ends[:, 0], ends[:, 1], 11))
    assert (low <= inside.min(axis=0) + 1e-12).all()
    assert (inside.max(axis=0) <= high + 1e-12).all()
    either = ends == low[:, None]
    assert (either | (ends == -low[:, None])).any(axis=1)[low > 0].all()


def test_strength_is_about_the_lower_limit():
    rng = np.random.default_rng(0)
    n1, n2 = (
        rng.integers(300, 3000, 200).astype(float),
        rng.integers(300, 3000, 200).astype(float),
    )
    p1, p2 = rng.uniform(0.1, 0.9, 200), rng.uniform(0.1, 0.9, 200)
    k1, k2 = np.round(p1 * n1), np.round(p2 * n2)
    sure = SimultaneousIntervals(0.95, 1000)
    low, _ = absolute(*sure.difference(k1, n1, k2, n2))
    strength = sure.strength(k1 / n1, n1, k2 / n2, n2)
    assert np.abs(np.maximum(strength, 0) - low).max() < 0.02
    # A rate of 0 in a small group is weak evidence, although Wald's formula sees no error in it.
    small = sure.strength(*(np.array([x]) for x in (0.0, 20.0, 0.5, 1000.0)))
    large = sure.strength(*(np.array([x]) for x in (0.2, 800.0, 0.5, 1000.0)))
    assert large > small


PEOPLE = np.array(list(np.ndindex(2, 3, 4)))
"""The cells of three features."""
RULES = np.array(
    [PEOPLE[:, 0] == 0, PEOPLE[:, 1] > 0, PEOPLE[:, 2] == 3, PEOPLE[:, 2] < 2]
    + [(PEOPLE[:, 0] == i) & (PEOPLE[:, 1] == j) for i in range(2) for j in range(2)]
    + [(cell == PEOPLE).all(axis=1) for cell in PEOPLE[::5]]
)


def betas(mean, size, rng):
    """Values in [0, 1] with this mean, most of them near an end."""
    return rng.beta(0.3 * mean + 1e-9, 0.3 * (1 - mean) + 1e-9, size)


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
    """Cells of different rates, groups of a few people and of many, and everybody is in several
    groups.
    """
    rng, runs, level = np.random.default_rng(5), 40, 0.8
    sizes = np.tile([2, 5, 12, 40, 3, 30], 4)
    sure = SimultaneousIntervals(level, len(RULES), graded=graded)
    n1 = (RULES * sizes).sum(axis=1).astype(float)
    n2 = sizes.sum() - n1
    truth1, truth2 = (RULES * sizes) @ rates / n1, (~RULES * sizes) @ rates / n2
    if graded:
        drawn = np.stack(
            [
                betas(rate, (runs, n), rng).sum(axis=1)
                for rate, n in zip(rates, sizes, strict=True)
            ],
            axis=1,
        )
    else:
        drawn = rng.binomial(sizes, rates, (runs, 24)).astype(float)
    k1 = np.minimum(drawn @ RULES.T, n1)
    k2 = np.minimum(drawn @ ~RULES.T, n2)
    shape = k1.shape
    n1, n2 = np.broadcast_to(n1, shape), np.broadcast_to(n2, shape)
    low, high = sure.difference(k1, n1, k2, n2)
    apart = truth1 - truth2
    missed = (low > apart + 1e-9) | (high < apart - 1e-9)
    (low1, high1), (low2, high2) = sure.rate(k1, n1), sure.rate(k2, n2)
    missed |= (
        (low1 > truth1 + 1e-9)
        | (high1 < truth1 - 1e-9)
        | (low2 > truth2 + 1e-9)
        | (high2 < truth2 - 1e-9)
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = truth1 / truth2
        missed |= (low1 / high2 > ratio + 1e-9) | (high1 / low2 < ratio - 1e-9)
    assert plausible(int(missed.any(axis=1).sum()), runs, level)


def test_the_simulation_sees_limits_that_are_not_corrected():
    rng, runs = np.random.default_rng(6), 50
    sizes = np.full(24, 30)
    n1 = (RULES * sizes).sum(axis=1).astype(float)
    drawn = rng.binomial(sizes, 0.5, (runs, 24)).astype(float)
    k1, k2 = drawn @ RULES.T, drawn @ ~RULES.T
    low, high = SimultaneousIntervals(0.6).difference(
        k1, np.broadcast_to(n1, k1.shape), k2, np.broadcast_to(720 - n1, k1.shape)
    )
    assert not plausible(int(((low > 0) | (high < 0)).any(axis=1).sum()), runs, 0.6)
