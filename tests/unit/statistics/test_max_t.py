"""Max-T: the smallest of many tails, and limits that it gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.stats import fisher_exact, hypergeom

from evenhand.statistics import max_t
from evenhand.statistics.max_t import (
    MaxTIntervals,
    OverlappingGroups,
    holds,
    smallest_tails,
)
from evenhand.statistics.simultaneous import SimultaneousIntervals

CELLS = np.array([5.0, 9.0, 30.0, 16.0, 1.0, 1.0, 40.0, 18.0])
SIDES = (
    np.array([40.0]),
    np.array([60.0]),
    np.array([20.0]),
    np.array([60.0]),
)


def groups_of(count: int, cells: Any = CELLS, seed: int = 0) -> OverlappingGroups:
    """Return groups of random cells, none of which is nobody or everybody."""
    random = np.random.default_rng(seed)
    shape = len(cells), count
    is_member = random.random(shape) < 0.4
    members = is_member.astype(float)
    members[0] = 0.0
    members[2] = 1.0
    return OverlappingGroups(
        cells,
        cells @ members,
        lambda totals: totals @ members,
    )


def intervals_of(
    groups: OverlappingGroups, level: float = 0.95, **more: Any
) -> MaxTIntervals:
    smallest = np.sort(smallest_tails(groups, 0))
    return MaxTIntervals(
        level,
        groups.count,
        smallest=smallest,
        **more,
    )


def test_the_smallest_tail_is_that_of_all_groups(monkeypatch):
    groups = groups_of(40)
    every: list[Any] = []

    def noted(totals: Any) -> Any:
        every.append(groups.sums(totals))
        return every[-1]

    watched = OverlappingGroups(
        groups.cells,
        groups.sizes,
        noted,
    )
    found = smallest_tails(
        watched,
        3,
        resamples=300,
    )
    inside = np.concatenate(every)
    law = hypergeom(
        120,
        60,
        groups.sizes,
    )
    above = law.sf(inside - 1)
    below = law.cdf(inside)
    expected = np.minimum(above, below).min(axis=1)
    assert found == pytest.approx(expected, rel=1e-9)
    monkeypatch.setattr(
        max_t,
        "AT_ONCE",
        1000,
    )
    assert (
        len(
            smallest_tails(
                groups,
                3,
                resamples=300,
            )
        )
        == 300
    )


def test_the_tail_of_no_difference_is_that_of_fisher():
    sure = SimultaneousIntervals(0.95)
    error = float(sure.error_of(SIDES, 0.0)[0])
    one_sided = fisher_exact([[40, 20], [20, 40]], alternative="greater").pvalue
    assert error == pytest.approx(2 * one_sided, rel=1e-6)


def test_the_same_seed_gives_the_same_tails_and_parts_have_their_own():
    groups = groups_of(10)

    def tails(seed: int, part: int = 0) -> Any:
        return smallest_tails(groups, seed, part, resamples=50)

    first = tails(1)
    assert (first == tails(1)).all()
    assert (first != tails(2)).any()
    assert (first != tails(1, 1)).any()


def test_groups_that_are_the_same_count_once():
    one = groups_of(1, CELLS * 20)

    def repeated(totals: Any) -> Any:
        sums = one.sums(totals)
        return np.repeat(
            sums,
            50,
            axis=1,
        )

    sizes = np.repeat(one.sizes, 50)
    copies = OverlappingGroups(
        one.cells,
        sizes,
        repeated,
    )
    assert intervals_of(copies).separate == pytest.approx(1, abs=0.35)
    apart = SimultaneousIntervals(0.95, 50)
    assert intervals_of(copies).tail > 25 * apart.tail


@pytest.mark.parametrize("graded", [False, True])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.99, 0.9999])
def test_limits_are_between_those_of_one_group_and_bonferroni(level, graded):
    groups = groups_of(40)
    held = intervals_of(
        groups,
        level,
        graded=graded,
    )
    usual = SimultaneousIntervals(
        level,
        40,
        graded=graded,
    )
    assert usual.tail <= held.tail <= (1 - level) / 2
    low, high = held.difference_of(SIDES)
    usual_low, usual_high = usual.difference_of(SIDES)
    assert usual_low <= low <= high <= usual_high
    assert held.sides_of(SIDES) == usual.sides_of(SIDES)
    furthest = np.maximum(np.abs(low), np.abs(high))
    assert furthest <= held.box_of(SIDES) + 1e-9
    assert held.box_of(SIDES) <= held.ceiling_of(SIDES) + 1e-9


def test_the_error_is_within_the_level_exactly_where_the_limit_is_excluded():
    held = intervals_of(groups_of(40))
    some = np.arange(20.0, 56.0)
    size = np.full(36, 60.0)
    others = np.full(36, 20.0)
    sides = (some, size, others, size)
    lows, _ = held.difference_of(sides)
    error = held.corrected_error_of(sides, 0.1)
    assert ((error <= 0.05) == (np.asarray(lows) >= 0.1)).all()
    assert 0 < (error <= 0.05).sum() < 36
    assert (np.diff(error) <= 0).all()
    usual = SimultaneousIntervals(0.95, 40)
    usual_error = usual.corrected_error_of(sides, 0.1)
    assert (error <= usual_error).all()


def test_minings_that_are_not_resampled_keep_their_part_of_the_error():
    groups = groups_of(40)
    whole = intervals_of(groups)
    part = intervals_of(groups, share=0.5)
    assert part.tail < whole.tail
    half = intervals_of(groups, 0.975)
    assert part.tail == half.tail


def test_it_is_taken_where_it_holds_and_is_affordable(monkeypatch):
    groups = [groups_of(40)]
    assert holds(groups, 0.95)
    assert holds(groups, 0.995)
    assert not holds(groups, 0.999)
    assert not holds([], 0.95)
    assert not holds([groups_of(40, CELLS + 0.5)], 0.95)
    monkeypatch.setattr(
        max_t,
        "MOST_SUMS",
        40 * 1999,
    )
    assert not holds(groups, 0.95)
