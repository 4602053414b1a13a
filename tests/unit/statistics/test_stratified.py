"""Differences within strata: against plain loops over people and over tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.statistics.stratified import StratumSums, pooled_difference
from tests.support.helpers import examples

Z = 1.96


@st.composite
def tables(draw: Any) -> list[tuple[int, int, int, int]]:
    """Strata: people and hits of a group, and of everyone else."""
    strata = []
    for _ in range(draw(st.integers(1, 4))):
        inside = draw(st.integers(0, 30))
        outside = draw(st.integers(0, 30))
        hits = draw(st.integers(0, inside))
        other_hits = draw(st.integers(0, outside))
        strata.append((inside, hits, outside, other_hits))
    return strata


def sums_of(strata: Any) -> list[StratumSums]:
    """Return strata as sums of everybody and of the group."""
    sums = []
    for inside, hits, outside, other_hits in strata:
        whole = np.array(
            [inside + outside, hits + other_hits],
            dtype=float,
        )
        group = np.array([[inside], [hits]], dtype=float)
        sums.append(StratumSums(whole, group))
    return sums


def drawn(hits: float, people: float, z: float) -> float:
    """Return the centre of Wilson's interval."""
    return (hits + z * z / 2) / (people + z * z)


def by_hand(strata: Any, z: float) -> tuple[float, float]:
    """Return the risk difference of Mantel and Haenszel, and its standard error."""
    weighted = 0.0
    weights = 0.0
    variance = 0.0
    for inside, hits, outside, other_hits in strata:
        if inside and outside:
            weight = inside * outside / (inside + outside)
            share = drawn(
                hits,
                inside,
                z,
            )
            other_share = drawn(
                other_hits,
                outside,
                z,
            )
            spread = share * (1 - share) / inside
            other_spread = other_share * (1 - other_share) / outside
            weighted += weight * (hits / inside - other_hits / outside)
            variance += weight**2 * (spread + other_spread)
            weights += weight
    if not weights:
        return 0.0, math.inf
    return weighted / weights, math.sqrt(variance) / weights


@settings(max_examples=examples(60))
@given(tables(), st.sampled_from([0.5, Z, 4.0]))
def test_strata_are_pooled_as_by_mantel_and_haenszel(strata, z):
    value, error = by_hand(strata, z)
    found = pooled_difference(sums_of(strata), z)
    assert found.value == pytest.approx([value], abs=1e-12)
    assert found.error == pytest.approx([error])
    strength = found.strength(z)
    assert strength == pytest.approx([abs(value) - z * error])


def test_known_tables_have_the_difference_of_a_textbook():
    """Two strata of equal differences, 20 points, have that difference whatever their weights."""
    strata = [(50, 30, 100, 40), (200, 80, 20, 4)]
    found = pooled_difference(sums_of(strata), Z)
    assert found.value[0] == pytest.approx(0.2)
    # (50·100/150)·0.2 + 0 over 33.33 + 18.18: by hand.
    uneven = [(50, 30, 100, 40), (200, 80, 20, 8)]
    found = pooled_difference(sums_of(uneven), Z)
    assert found.value[0] == pytest.approx(0.2 * (100 / 3) / (100 / 3 + 200 / 11))


def test_what_explains_a_difference_leaves_none():
    """Simpson's: the group is favoured less, and not so in any stratum."""
    strata = [(80, 16, 20, 4), (20, 16, 80, 64)]
    crude = pooled_difference(sums_of([(100, 32, 100, 68)]), Z)
    assert crude.value[0] == pytest.approx(-0.36)
    assert crude.strength(Z)[0] > 0
    pooled = pooled_difference(sums_of(strata), Z)
    assert pooled.value[0] == pytest.approx(0, abs=1e-12)
    assert pooled.strength(Z)[0] < 0


def test_a_stratum_of_one_side_has_no_weight():
    both = [(50, 30, 100, 40)]
    alone = pooled_difference(sums_of(both), Z)
    beside = pooled_difference(
        sums_of(
            [
                *both,
                (70, 7, 0, 0),
                (0, 0, 60, 60),
            ]
        ),
        Z,
    )
    assert beside.value.tolist() == alone.value.tolist()
    assert beside.error.tolist() == alone.error.tolist()


@pytest.mark.parametrize("z", [0.0, Z])
def test_without_a_stratum_of_both_sides_nothing_is_known(z):
    found = pooled_difference(
        sums_of([(70, 7, 0, 0), (0, 0, 60, 60)]),
        z,
    )
    assert found.value.tolist() == [0]
    assert found.error.tolist() == [math.inf]
    assert found.strength(z).tolist() == [-math.inf]


def test_a_whole_population_has_no_error():
    found = pooled_difference(sums_of([(50, 30, 100, 40)]), 0.0)
    assert found.error.tolist() == [0]
    assert found.strength(0.0).tolist() == pytest.approx([0.2])


def test_a_rate_of_0_in_a_small_group_has_an_error():
    few = pooled_difference(sums_of([(5, 0, 100, 50)]), Z)
    many = pooled_difference(sums_of([(500, 0, 100, 50)]), Z)
    assert few.strength(Z)[0] < many.strength(Z)[0] < 0.5


def test_numbers_have_the_error_of_two_means():
    """One stratum is Welch's: the variances of both samples over their sizes."""
    rng = np.random.default_rng(0)
    inside = rng.random(40)
    outside = rng.random(90) / 2
    everybody = np.concatenate([inside, outside])
    whole = moments(everybody)
    found = pooled_difference(
        [StratumSums(whole, moments(inside)[:, None])],
        Z,
    )
    assert found.value[0] == pytest.approx(inside.mean() - outside.mean())
    error = math.sqrt(inside.var(ddof=1) / 40 + outside.var(ddof=1) / 90)
    assert found.error[0] == pytest.approx(error)


def moments(values: Any) -> Any:
    """Return how many values there are, their sum and that of their squares."""
    return np.array(
        [
            len(values),
            values.sum(),
            (values**2).sum(),
        ]
    )


def test_many_groups_at_once_are_each_by_itself():
    """A stratum may also be another one for each group."""
    rng = np.random.default_rng(1)
    whole = np.stack(
        [
            rng.integers(
                80,
                90,
                6,
            ),
            rng.integers(
                20,
                40,
                6,
            ),
        ]
    ).astype(float)
    groups = np.stack(
        [
            rng.integers(
                5,
                40,
                6,
            ),
            rng.integers(
                0,
                5,
                6,
            ),
        ]
    ).astype(float)
    together = pooled_difference([StratumSums(whole, groups)], Z)
    for number in range(6):
        alone = StratumSums(
            whole[:, number],
            groups[:, [number]],
        )
        found = pooled_difference([alone], Z)
        assert found.value[0] == together.value[number]
        assert found.error[0] == together.error[number]


def test_sums_that_rounding_makes_negative_are_nobody():
    whole = np.array([0.3, 0.1 + 0.2])
    group = np.array([[0.1 + 0.2], [0.3]])
    _, outside = StratumSums(whole, group).sides()
    assert (outside >= 0).all()
    assert outside.max() < 1e-15
