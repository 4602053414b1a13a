"""Diversity and realism of found inputs.

That is how far apart they lie, how far from real rows, and which to show first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from evenhand.methods.search import messages
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.grid import GridCells

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Indices, Keys, Numbers, Singles
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space

Prefer = Literal["many", "diverse", "realistic"]
"""Which inputs are wanted: as many as possible, unlike each other, or like real rows."""

RADIUS = 0.4
"""A cluster is what lies within this distance of its centre.

So two features of five may be wholly different.
"""
ALIKE = 0.05
"""Inputs that are no further apart are near-duplicates, of which one is shown before any other."""
MOST_POINTS = 2_000
"""How many found inputs are compared; larger numbers are sampled, with the seed."""
MOST_ROWS = 50_000
"""How many real rows are compared; larger numbers are sampled, with the seed."""
_EXACT = 20_000_000
"""Up to how many pairs of points and rows are all compared when points are ranked."""
_SORTS = 32
"""In how many ways rows are sorted where there are more pairs than that."""
_BITS = np.uint64(4)
_MISSING = 1.5
"""What a missing number counts as: about as far from known ones as two levels of a category."""
"""By how many bits of each feature rows are sorted."""
TRIED_DRAWS = 1000
"""How many valid draws are compared with the middle of a domain that constraints forbid."""
_BLOCK = 1 << 18
"""How many distances are computed at once: few enough to stay in the cache of a processor."""


def check_prefer(prefer: str, rows: Points | None) -> None:
    """Refuse an unknown preference, and realistic inputs without real rows to compare with.

    The middle of a domain is not realistic, so nothing stands in for rows.

    >>> check_prefer("realistic", None)
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: prefer = 'realistic' needs real rows to compare with; ...
    """
    known = get_args(Prefer)
    if prefer not in known:
        choices = nearest(prefer, known)
        unknown = messages.UNKNOWN_PREFERENCE.format(
            prefer=clip(repr(prefer)), choices=choices
        )
        raise UsageError(unknown)
    has_rows = rows is not None and len(rows) > 0
    if prefer == "realistic" and not has_rows:
        raise UsageError(messages.REALISTIC_NEEDS_ROWS)


@dataclass(frozen=True)
class Distances:
    """Distances of points over the features at some positions.

    A distance is the mean over features, from 0 to 1 (Gower). A number counts by its difference as
    a share of the feature's range, a category by whether the levels differ.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> distances = Distances(Space([category("sex", ["F", "M"]), integer("age", 0, 100)]), (0, 1))
    >>> others = np.array([[0.0, 70.0], [1.0, 20.0], [1.0, 70.0]])
    >>> distances.between(np.array([[0.0, 20.0]]), others).tolist()
    [[0.25, 0.5, 0.75]]
    """

    space: Space
    positions: tuple[int, ...]

    @cached_property
    def _numbers(self) -> list[int]:
        """The positions of numbers."""
        features = self.space.features
        return [
            position for position in self.positions if features[position].kind != "category"
        ]

    @cached_property
    def _categories(self) -> list[int]:
        """The positions of categories."""
        features = self.space.features
        return [
            position for position in self.positions if features[position].kind == "category"
        ]

    def scaled(self, points: Points) -> Singles:
        """Return points in the form in which they are compared.

        There is one row per feature; numbers, as shares of their range, come first.
        """
        features = [self.space.features[position] for position in self._numbers]
        low = np.array([float(feature.low) for feature in features])
        width = np.array([float(feature.high - feature.low) or 1.0 for feature in features])
        shares = (points[:, self._numbers] - low) / width
        for at, feature in enumerate(features):
            if feature.missing:
                missing = feature.is_missing(points[:, self._numbers[at]])
                shares[missing, at] = _MISSING
        codes = points[:, self._categories]
        return np.concatenate([shares.T, codes.T]).astype(np.float32)

    def gaps(self, first: Singles, second: Singles) -> Singles:
        """Return the distance of each scaled point to each other scaled point."""
        numbers = len(self._numbers)
        shape = (first.shape[1], second.shape[1])
        total = np.zeros(shape, dtype=np.float32)
        # Arrays are used again, and the count is narrow, since memory is what takes the time.
        gap = np.empty_like(total)
        for row, other_row in zip(first[:numbers], second[:numbers], strict=True):
            np.subtract(row[:, None], other_row, out=gap)
            total += np.abs(gap, out=gap)
        differ = np.empty(shape, dtype=np.bool_)
        count = np.zeros(shape, dtype=np.uint16)
        for row, other_row in zip(first[numbers:], second[numbers:], strict=True):
            count += np.not_equal(row[:, None], other_row, out=differ)
        total += count
        total /= max(len(self.positions), 1)
        return total

    def between(self, points: Points, others: Points) -> Singles:
        """Return the distance of each point to each other point."""
        return self.gaps(self.scaled(points), self.scaled(others))

    def nearest(self, points: Points, rows: Points) -> Singles:
        """Return the distance of each point to the nearest row.

        The memory it takes does not grow with their number.
        """
        found = np.full(len(points), np.inf, dtype=np.float32)
        if not len(rows):
            return found
        scaled_points = self.scaled(points)
        scaled_rows = self.scaled(rows)
        block = max(1, _BLOCK // len(rows))
        for start in range(0, len(points), block):
            part = slice(start, start + block)
            gaps = self.gaps(scaled_points[:, part], scaled_rows)
            found[part] = gaps.min(axis=1)
        return found

    def nearly(self, points: Points, rows: Points, seed: int) -> Singles:
        """Return about the distance of each point to the nearest row, and never less.

        It takes the time to sort rows. Rows are sorted by their features in a random order, many
        times, and each point is compared with its two neighbours: the nearer a row, the more often
        it shares the first features with the point.
        """
        if len(points) * len(rows) <= _EXACT:
            return self.nearest(points, rows)
        scaled_points = self.scaled(points)
        scaled_rows = self.scaled(rows)
        grid = GridCells(self.space, self.positions, 1 << int(_BITS))
        last_bin = (1 << int(_BITS)) - 1
        point_bins = np.minimum(grid.bins(points), last_bin).astype(np.uint64)
        row_bins = np.minimum(grid.bins(rows), last_bin).astype(np.uint64)
        rng = stream(seed, "diversity", "sorts")
        found = np.full(len(points), np.inf, dtype=np.float32)
        for _ in range(_SORTS):
            features = rng.permutation(len(self.positions))[: 64 // int(_BITS)]
            point_keys = _sort_keys(point_bins, features)
            row_keys = _sort_keys(row_bins, features)
            ranked = np.argsort(row_keys, kind="stable")
            place = np.searchsorted(row_keys[ranked], point_keys)
            for neighbour in (place - 1, place):
                row = ranked[np.clip(neighbour, 0, len(rows) - 1)]
                distance = self._beside(scaled_points, scaled_rows[:, row])
                found = np.minimum(found, distance)
        return found

    def _beside(self, first: Singles, second: Singles) -> Singles:
        """Return the distance of each scaled point to the other in its own place."""
        numbers = len(self._numbers)
        gaps = np.abs(first[:numbers] - second[:numbers])
        differ = first[numbers:] != second[numbers:]
        total = gaps.sum(axis=0) + differ.sum(axis=0)
        return np.asarray(total / max(len(self.positions), 1), dtype=np.float32)

    def centres(self, points: Points, most: int, radius: float = 0.0) -> list[int]:
        """Return points so that every other lies within a radius of one.

        The first point comes first, then always the one that is furthest from those before: the
        greedy k-centre algorithm.
        """
        if not len(points) or most <= 0:
            return []
        scaled = self.scaled(points)
        found = [0]
        gap = self.gaps(scaled[:, :1], scaled)[0]
        while len(found) < most:
            furthest = int(gap.argmax())
            if gap[furthest] <= radius:
                break
            found.append(furthest)
            to_furthest = self.gaps(scaled[:, furthest, None], scaled)[0]
            gap = np.minimum(gap, to_furthest)
        return found


def _sort_keys(bins: Keys, features: Indices) -> Keys:
    """Return the bins of some features as one number each, the first in the highest bits."""
    keys = np.zeros(len(bins), dtype=np.uint64)
    for feature in features:
        keys = (keys << _BITS) | bins[:, feature]
    return keys


@dataclass(frozen=True, slots=True)
class RowDistances:
    """How far found inputs lie from the nearest real row."""

    median: float
    """The distance of half of them."""
    nearest: float
    """The distance of the nearest."""
    most: float
    """The distance of nine in ten."""
    rows: int
    """How many real rows were compared."""

    def to_dict(self) -> dict[str, Any]:
        """Return the distances as JSON holds them."""
        return {
            "median": self.median,
            "nearest": self.nearest,
            "most": self.most,
            "rows": self.rows,
        }


@dataclass(frozen=True, slots=True)
class Spread:
    """How widely found inputs lie."""

    cells: int
    """Coarse cells that hold one."""
    clusters: int
    """Groups within a radius of their centres, no two of which are within it (k-centre)."""
    distance: float | None
    """The mean distance of two of them."""
    real: RowDistances | None

    def to_dict(self) -> dict[str, Any]:
        """Return the measures as JSON holds them."""
        return {
            "cells": self.cells,
            "clusters": self.clusters,
            "distance": self.distance,
            "real": None if self.real is None else self.real.to_dict(),
        }


def spread(
    space: Space,
    positions: tuple[int, ...],
    points: Points,
    rows: Points | None = None,
    seed: int = 0,
) -> Spread:
    """Return how widely points lie over the features at these positions, and how far from rows.

    Cells are counted over all points; the rest is estimated from a sample of at most MOST_POINTS.

    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> points = np.array([[0.0], [10.0], [100.0]])
    >>> found = spread(Space([integer("age", 0, 100)]), (0,), points, rows=np.array([[20.0]]))
    >>> found.cells, found.clusters, found.distance, found.real.nearest
    (2, 2, 0.666667, 0.1)
    """
    cells = len(np.unique(GridCells(space, positions).of(points)))
    distances = Distances(space, positions)
    sample = points[_sampled(len(points), MOST_POINTS, seed, "points")]
    clusters = len(distances.centres(sample, len(sample), RADIUS))
    real = None
    if rows is not None and len(rows) and len(points):
        compared = rows[_sampled(len(rows), MOST_ROWS, seed, "rows")]
        gaps = distances.nearest(sample, compared)
        real = RowDistances(
            median=_six_digits(np.median(gaps)),
            nearest=_six_digits(gaps.min()),
            most=_six_digits(np.quantile(gaps, 0.9)),
            rows=len(compared),
        )
    return Spread(cells, clusters, _mean_gap(distances, sample), real)


def _mean_gap(distances: Distances, points: Points) -> float | None:
    if len(points) < 2:
        return None
    scaled = distances.scaled(points)
    block = max(1, _BLOCK // len(points))
    total = 0.0
    for start in range(0, len(points), block):
        gaps = distances.gaps(scaled[:, start : start + block], scaled)
        total += float(gaps.sum(dtype=np.float64))
    pairs = len(points) * (len(points) - 1)
    return _six_digits(total / pairs)


def _six_digits(gap: float | np.floating[Any]) -> float:
    """Return a distance without the digits that single precision does not have."""
    return round(float(gap), 6)


def _sampled(size: int, most: int, seed: int, what: str) -> Indices:
    """Return which of so many are compared: all, or a sample in their order."""
    if size <= most:
        return np.arange(size)
    rng = stream(seed, "diversity", what)
    sample = rng.choice(size, most, replace=False, shuffle=False)
    return np.sort(sample)


def order(
    space: Space,
    positions: tuple[int, ...],
    points: Points,
    prefer: str,
    rows: Points | None = None,
    seed: int = 0,
) -> Indices:
    """Return the points' places from the most to the least wanted, however many there are.

    "many" keeps the order in which they were found. "diverse" takes one of each cell, then the
    second of each, and so on. "realistic" takes those first that lie nearest to a real row, by
    `nearly`.

    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> space = Space([integer("age", 0, 99)])
    >>> points = np.array([[10.0], [11.0], [12.0], [80.0]])
    >>> order(space, (0,), points, "diverse").tolist()
    [0, 3, 1, 2]
    """
    check_prefer(prefer, rows)
    if prefer == "diverse":
        return _cells_in_turn(GridCells(space, positions).of(points))
    if prefer == "realistic" and rows is not None:
        compared = rows[_sampled(len(rows), MOST_ROWS, seed, "rows")]
        distance = Distances(space, positions).nearly(points, compared, seed)
        return np.argsort(distance, kind="stable")
    return np.arange(len(points))


def _cells_in_turn(cells: Keys) -> Indices:
    """Return places so that the first of each cell comes first, then the second of each.

    Cells are in the order in which they were met.
    """
    _, first, cell = np.unique(cells, return_index=True, return_inverse=True)
    start = first[cell]
    by_cell = np.argsort(start, kind="stable")
    starts = start[by_cell]
    begins = np.searchsorted(starts, starts)
    rank = np.empty(len(cells), dtype=np.intp)
    rank[by_cell] = np.arange(len(cells)) - begins
    return np.lexsort((start, rank))


def choose(
    space: Space,
    positions: tuple[int, ...],
    points: Points,
    n: int,
    prefer: str,
    rows: Points | None = None,
    seed: int = 0,
) -> Indices:
    """Return the places of up to `n` points to show, the most wanted first.

    "many" takes them evenly from the order in which they were found, "diverse" each as far as
    possible from those before it, and "realistic" those nearest to real rows, near-duplicates last.
    That is so for the first MOST_POINTS; use `order` for more.

    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> space = Space([integer("age", 0, 99)])
    >>> points = np.array([[10.0], [11.0], [12.0], [80.0]])
    >>> choose(space, (0,), points, 2, "diverse").tolist()
    [0, 3]
    """
    check_prefer(prefer, rows)
    n = min(n, len(points))
    if prefer == "many" or not n:
        last = max(len(points) - 1, 0)
        return np.linspace(0, last, n).round().astype(np.intp)
    distances = Distances(space, positions)
    if prefer == "diverse":
        among = _sampled(len(points), max(n, 2 * MOST_POINTS), seed, "points")
        picked = distances.centres(points[among], min(n, MOST_POINTS))
    else:
        among = order(space, positions, points, prefer, rows, seed)
        candidates = points[among[: 2 * MOST_POINTS]]
        picked = _without_duplicates(distances, candidates, min(n, MOST_POINTS))
    others = np.setdiff1d(np.arange(len(among)), picked)
    picked_first = np.concatenate([np.array(picked, dtype=np.intp), others])
    return np.asarray(among[picked_first[:n]])


def _without_duplicates(distances: Distances, points: Points, n: int) -> list[int]:
    """Return the first points that are no near-duplicates of those before them."""
    scaled = distances.scaled(points)
    open_ = np.ones(len(points), dtype=np.bool_)
    found: list[int] = []
    while len(found) < n and open_.any():
        newest = int(open_.argmax())
        found.append(newest)
        gap = distances.gaps(scaled[:, newest, None], scaled)[0]
        open_ &= gap > ALIKE
        open_[newest] = False
    return found


def typical(space: Space, rows: Points | None = None) -> Points:
    """Return a typical input.

    Of real rows it is the one nearest to their medians and most frequent levels. Without rows, it
    has the middle of the range of each number and the first level of each category, as far as
    constraints allow.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> typical(space).tolist()
    [0.0, 54.0]
    >>> typical(space, np.array([[1.0, 30.0], [1.0, 33.0], [0.0, 70.0]])).tolist()
    [1.0, 33.0]
    """
    distances = Distances(space, tuple(range(len(space.features))))
    if rows is not None:
        rows = rows[space.valid(rows)]
    if rows is not None and len(rows):
        usual = []
        for at, feature in enumerate(space.features):
            usual.append(_usual(feature, rows[:, at]))
        centre = np.array(usual)
        to_centre = distances.between(centre[None], rows)[0]
        return np.array(rows[int(to_centre.argmin())])
    middle = np.array([_middle(feature) for feature in space.features])
    if space.valid(middle[None])[0]:
        return middle
    return _nearest_valid(space, distances, middle)


def _nearest_valid(space: Space, distances: Distances, middle: Points) -> Points:
    """Return a valid input near the middle: the nearest of some draws, then as far as it goes."""
    draws = space.draw(TRIED_DRAWS, stream(0, "typical"))
    to_middle = distances.between(middle[None], draws)[0]
    found: Points = draws[int(to_middle.argmin())].copy()
    for at in range(len(middle)):
        moved = found.copy()
        moved[at] = middle[at]
        if space.valid(moved[None])[0]:
            found = moved
    return found


def _middle(feature: Feature) -> float:
    """Return the value of a feature nearest to the middle, the first level of a category."""
    middle = 0.0
    if feature.kind != "category":
        middle = (feature.low + feature.high) / 2
    return float(feature.snap(np.array([middle]))[0])


def _usual(feature: Feature, column: Numbers) -> float:
    """Return the median of a number, or the most frequent level of a category.

    A number that most rows lack is missing.
    """
    if feature.kind == "category":
        return float(np.bincount(column.astype(np.intp)).argmax())
    missing = feature.is_missing(column)
    if 2 * missing.sum() > len(column):
        return feature.missing_code
    return float(np.median(column[~missing]))
