"""Distances, spread and preference, against brute force and on any space."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.methods.search.explain import diversity
from evenhand.methods.search.explain.diversity import (
    Distances,
    check_prefer,
    choose,
    order,
    spread,
    typical,
)
from evenhand.runtime.errors import UsageError
from evenhand.space.feature import category, integer, real
from evenhand.space.grid import GridCells
from evenhand.space.space import Space
from tests.support import strategies
from tests.support.helpers import examples, refused

SPACE = Space(
    [
        category("job", [f"job {number}" for number in range(20)]),
        category("home", ["own", "rent"]),
        integer("age", 18, 90),
        real("rate", 0, 1),
        integer("income", 0, 100_000),
        integer("constant", 7, 7),
    ]
)
EVERY = tuple(range(6))


def draws(n, seed=0, space=SPACE):
    return space.draw(n, np.random.default_rng(seed))


def distance_of(feature, one, other):
    """Return how far apart two values of a feature are, from 0 to 1."""
    if feature.kind == "category":
        return float(one != other)
    span = feature.high - feature.low
    if span == 0:
        return 0.0
    return abs(one - other) / span


def apart(space, positions, one, other):
    """The distance by the words of its definition, one feature after the other."""
    total = 0.0
    for position in positions:
        feature = space.features[position]
        total += distance_of(feature, one[position], other[position])
    return total / max(len(positions), 1)


def all_apart(space, positions, points, others):
    """The distance of each point to each other, by the words of its definition."""
    matrix = np.empty((len(points), len(others)))
    for row, one in enumerate(points):
        for column, other in enumerate(others):
            matrix[row, column] = apart(space, positions, one, other)
    return matrix


@settings(max_examples=examples(40), deadline=None)
@given(strategies.spaces(continuous=True), st.integers(0, 99), st.data())
def test_distances_are_as_defined(space, seed, data):
    every_position = range(len(space.features))
    some_positions = st.lists(st.sampled_from(every_position), unique=True)
    positions = tuple(data.draw(some_positions))
    points = draws(4, seed, space)
    others = draws(3, seed + 1, space)
    distances = Distances(space, positions)
    found = distances.between(points, others)
    expected = all_apart(space, positions, points, others)
    assert np.allclose(found, expected, atol=1e-6)
    assert (found >= 0).all()
    assert (found <= 1 + 1e-6).all()
    nearest = distances.nearest(points, others)
    assert np.allclose(nearest, expected.min(axis=1), atol=1e-6)


def test_the_nearest_row_is_the_same_in_blocks_and_at_once(monkeypatch):
    points = draws(50)
    rows = draws(40, 1)
    distances = Distances(SPACE, EVERY)
    whole = distances.nearest(points, rows)
    monkeypatch.setattr(diversity, "_BLOCK", 77)
    in_blocks = distances.nearest(points, rows)
    assert (in_blocks == whole).all()
    to_no_rows = distances.nearest(points, rows[:0])
    assert np.isinf(to_no_rows).all()


def test_sorting_finds_about_the_nearest_row_and_never_a_nearer_one(monkeypatch):
    rows = draws(3000, 1)
    points = rows[:2000].copy()
    others = draws(2000, 3)
    shares_moved = np.linspace(0, 0.6, len(points))
    chances = np.random.default_rng(2).random(points.shape)
    moved = chances < shares_moved[:, None]
    points[moved] = others[moved]
    distances = Distances(SPACE, EVERY)
    exact = distances.nearly(points, rows, 0)
    assert (exact == distances.nearest(points, rows)).all()
    monkeypatch.setattr(diversity, "_EXACT", 0)
    near = distances.nearly(points, rows, 0)
    assert (near >= exact - 1e-6).all()
    assert np.mean(near - exact) < 0.02
    copies = ~moved.any(axis=1)
    assert copies.sum() > 50
    found_itself = near[copies] == 0
    assert np.mean(found_itself) > 0.9


def test_spread_counts_cells_and_measures_distances():
    points = draws(300)
    rows = draws(200, 1)
    found = spread(SPACE, EVERY, points, rows)
    cells = GridCells(SPACE, EVERY).of(points)
    assert found.cells == len(np.unique(cells))
    total_distance = all_apart(SPACE, EVERY, points, points).sum()
    mean_distance = total_distance / (300 * 299)
    assert found.distance == pytest.approx(mean_distance, abs=1e-5)
    to_nearest = all_apart(SPACE, EVERY, points, rows).min(axis=1)
    median = np.median(to_nearest)
    most = np.quantile(to_nearest, 0.9)
    assert found.real is not None
    assert found.real.median == pytest.approx(median, abs=1e-5)
    assert found.real.nearest == pytest.approx(to_nearest.min(), abs=1e-5)
    assert found.real.most == pytest.approx(most, abs=1e-5)
    assert found.to_dict() == {
        "cells": found.cells,
        "clusters": found.clusters,
        "distance": found.distance,
        "real": {
            "median": found.real.median,
            "nearest": found.real.nearest,
            "most": found.real.most,
            "rows": 200,
        },
    }


def test_clusters_are_the_groups_that_lie_apart():
    centres = np.array(
        [
            [0, 0, 20, 0.0, 0, 7],
            [5, 1, 20, 1.0, 0, 7],
            [9, 0, 90, 0.5, 99_000, 7],
        ]
    )
    points = np.repeat(centres, 50, axis=0)
    noise = np.random.default_rng(0).normal(0, 0.05, 150)
    noisy_rates = points[:, 3] + noise
    points[:, 3] = np.clip(noisy_rates, 0, 1)
    whole = spread(SPACE, EVERY, points)
    assert whole.clusters == 3
    first_group = spread(SPACE, EVERY, points[:50])
    assert first_group.clusters == 1


@pytest.mark.parametrize("n", [0, 1])
def test_spread_of_nothing_and_of_one(n):
    points = draws(n)
    found = spread(SPACE, EVERY, points, draws(5))
    assert found.cells == n
    assert found.clusters == n
    assert found.distance is None
    assert (found.real is None) == (n == 0)
    without_rows = spread(SPACE, EVERY, points, draws(0))
    assert without_rows.real is None


def test_large_numbers_are_sampled_with_the_seed(monkeypatch):
    monkeypatch.setattr(diversity, "MOST_POINTS", 100)
    monkeypatch.setattr(diversity, "MOST_ROWS", 150)
    points = draws(1000)
    rows = draws(1000, 1)
    found = spread(SPACE, EVERY, points, rows, seed=3)
    again = spread(SPACE, EVERY, points, rows, seed=3)
    another = spread(SPACE, EVERY, points, rows, seed=4)
    assert found == again
    assert found != another
    cells = GridCells(SPACE, EVERY).of(points)
    assert found.cells == len(np.unique(cells))
    assert found.real is not None
    assert found.real.rows == 150


@pytest.mark.parametrize("prefer", ["many", "diverse", "realistic"])
@pytest.mark.parametrize("n", [0, 1, 7, 60, 100])
def test_chosen_points_are_distinct_and_as_many_as_asked(prefer, n):
    points = draws(60)
    rows = draws(20, 1)
    chosen = choose(SPACE, EVERY, points, n, prefer, rows)
    assert len(chosen) == min(n, 60)
    assert len(set(chosen.tolist())) == len(chosen)
    again = choose(SPACE, EVERY, points, n, prefer, rows)
    assert chosen.tolist() == again.tolist()
    ranked = order(SPACE, EVERY, points, prefer, rows)
    assert sorted(ranked.tolist()) == list(range(60))


def test_many_is_even_over_the_order_found():
    chosen = choose(SPACE, EVERY, draws(101), 5, "many")
    assert chosen.tolist() == [0, 25, 50, 75, 100]
    ranked = order(SPACE, EVERY, draws(9), "many")
    assert ranked.tolist() == list(range(9))


def test_diverse_points_lie_further_apart_than_any_others():
    points = draws(3000)
    distances = Distances(SPACE, EVERY)

    def least(places):
        """Return the smallest distance between two different ones of the places."""
        gaps = distances.between(points[places], points[places])
        is_itself = np.eye(len(places), dtype=bool)
        return gaps[~is_itself].min()

    chosen = choose(SPACE, EVERY, points, 10, "diverse")
    for seed in range(5):
        rng = np.random.default_rng(seed)
        others = rng.choice(3000, 10, replace=False)
        assert least(chosen) > least(others)


def test_diverse_points_are_those_of_the_greedy_choice():
    points = draws(3000)[:40]
    matrix = Distances(SPACE, EVERY).between(points, points)
    greedy = [0]
    while len(greedy) < 6:
        to_nearest = matrix[greedy].min(axis=0)
        greedy.append(int(to_nearest.argmax()))
    chosen = choose(SPACE, EVERY, points, 6, "diverse")
    assert chosen.tolist() == greedy


def test_diverse_order_takes_one_of_each_cell_first():
    points = draws(500)
    cells = GridCells(SPACE, (1, 2)).of(points)
    ranked = order(SPACE, (1, 2), points, "diverse")
    kinds, first_places = np.unique(cells, return_index=True)
    assert len(kinds) == 8
    first_ranked = ranked[: len(kinds)]
    assert len(np.unique(cells[first_ranked])) == len(kinds)
    assert first_ranked.tolist() == sorted(first_places.tolist())
    seen: dict[int, list[int]] = {}
    for place in ranked.tolist():
        seen.setdefault(cells[place], []).append(place)
    for places in seen.values():
        assert places == sorted(places)


def test_realistic_points_are_near_rows_and_no_copies_of_each_other():
    rows = draws(5, 1)
    points = draws(300)
    points[100:150] = rows[0]
    points[100:150, 4] += np.arange(50)
    points[200] = rows[1]
    near = Distances(SPACE, EVERY).nearest(points, rows)
    ranked = order(SPACE, EVERY, points, "realistic", rows)
    assert (np.diff(near[ranked]) >= 0).all()
    chosen = choose(SPACE, EVERY, points, 3, "realistic", rows)
    assert chosen[:2].tolist() == [100, 200]
    assert not 100 < chosen[2] < 150


def test_preferences_are_checked():
    refused(
        UsageError,
        lambda: check_prefer("divers", None),
        "prefer = 'divers'",
        "'diverse'",
    )
    check_prefer("realistic", draws(1))


def test_what_is_realistic_is_known_by_rows_only():
    points = draws(5)
    no_rows = draws(0)
    refused(UsageError, lambda: order(SPACE, EVERY, points, "realistic"), "start=")
    refused(
        UsageError,
        lambda: choose(SPACE, EVERY, points, 3, "realistic", no_rows),
        "start=",
    )


def test_a_typical_row_is_a_real_one():
    rows = np.array(
        [
            [2, 1, 30, 0.1, 500, 7],
            [2, 1, 35, 0.3, 700, 7],
            [5, 0, 80, 0.9, 9000, 7],
        ]
    )
    middle = [0, 0, 54, 0.5, 50_000, 7]
    first, second, _ = rows.tolist()
    assert typical(SPACE, rows).tolist() == second
    assert typical(SPACE).tolist() == middle
    assert typical(SPACE, rows[:0]).tolist() == middle
    forbidden = Space(SPACE.features, constraints=["not (age == 35)"])
    assert typical(forbidden, rows).tolist() == first
    only_rent = Space(SPACE.features, constraints=["not (home == 'own')"])
    middle[1] = 1
    assert typical(only_rent).tolist() == middle


@settings(max_examples=examples(30), deadline=None)
@given(strategies.spaces(constrained=True, continuous=True), st.integers(0, 20))
def test_a_typical_input_is_valid(space, seed):
    rows = draws(9, seed, space)
    typical_row = typical(space, rows)
    for point in (typical(space), typical_row):
        assert space.valid(point[None]).all()
        for value, feature in zip(point, space.features, strict=True):
            assert feature.inside(np.array([value])).all()
    is_the_row = (typical_row == rows).all(axis=1)
    assert is_the_row.any()
