"""Diversity and realism of found inputs: how far apart they lie, how far from real rows, and which
to show first.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.runtime.random_streams import stream
from evenhand.space.grid import Cells

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Points
    from evenhand.space.space import Space

    Floats = NDArray[np.float32]
    Indices = NDArray[np.intp]

Prefer = Literal["many", "diverse", "realistic"]
"""Which inputs are wanted: as many as possible, unlike each other, or like real rows."""

RADIUS = 0.4
"""A cluster is what lies within this distance of its centre: two features of five may be wholly
different.
"""
ALIKE = 0.05
"""Inputs that are no further apart are near-duplicates, of which one is shown before any other."""
MOST_POINTS, MOST_ROWS = 2_000, 50_000
"""How many found inputs and real rows are compared; larger numbers are sampled, with the seed."""
_EXACT = 20_000_000
"""Up to how many pairs of points and rows are all compared when points are ranked."""
_SORTS, _BITS = 32, np.uint64(4)
"""Beyond that, rows are sorted in so many ways, by so many bits of each feature, and neighbours are
compared.
"""
TRIED_DRAWS = 1000
"""How many valid draws are compared with the middle of a domain, where constraints forbid the
middle itself.
"""
_BLOCK = 1 << 18
"""How many distances are computed at once: few enough to stay in the cache of a processor."""


def check_prefer(prefer: str, rows: Points | None) -> None:
    """Refuse an unknown preference, and realistic inputs where there are no real rows to compare
    them with.

    The middle of a domain is not realistic, so nothing stands in for rows.

    >>> check_prefer("realistic", None)
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: prefer = 'realistic' needs real rows to compare with; give them with start=...
    """
    if prefer not in get_args(Prefer):
        raise UsageError(f"prefer = {clip(repr(prefer))}; {nearest(prefer, get_args(Prefer))}")
    if prefer == "realistic" and (rows is None or not len(rows)):
        raise UsageError(
            "prefer = 'realistic' needs real rows to compare with; give them with start=…"
        )


@dataclass(frozen=True)
class Distances:
    """Distances of points over the features at some positions: the mean over features, from 0 to 1.

    A number counts by its difference as a share of the feature's range, a category by whether the
    levels differ.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> distances = Distances(Space([category("sex", ["F", "M"]), integer("age", 0, 100)]), (0, 1))
    >>> distances.between(np.array([[0.0, 20.0]]), np.array([[0.0, 70.0], [1.0, 20.0], [1.0, 70.0]])).tolist()
    [[0.25, 0.5, 0.75]]
    """

    space: Space
    positions: tuple[int, ...]

    @cached_property
    def _kinds(self) -> tuple[list[int], list[int]]:
        category = [self.space.features[position].kind == "category" for position in self.positions]
        numbers = [
            position for position, named in zip(self.positions, category, strict=True) if not named
        ]
        return numbers, [
            position for position, named in zip(self.positions, category, strict=True) if named
        ]

    def scaled(self, points: Points) -> Floats:
        """Return points in the form in which they are compared: one row per feature, numbers as
        shares first.
        """
        numbers, categories = self._kinds
        features = [self.space.features[position] for position in numbers]
        low = np.array([float(feature.low) for feature in features])
        width = np.array([float(feature.high - feature.low) or 1.0 for feature in features])
        return np.concatenate(
            [((points[:, numbers] - low) / width).T, points[:, categories].T]
        ).astype(np.float32)

    def gaps(self, one: Floats, other: Floats) -> Floats:
        """Return the distance of each scaled point to each other scaled point."""
        numbers = len(self._kinds[0])
        total = np.zeros((one.shape[1], other.shape[1]), dtype=np.float32)
        gap = np.empty_like(total)
        for mine, theirs in zip(one[:numbers], other[:numbers], strict=True):
            np.subtract(mine[:, None], theirs, out=gap)
            total += np.abs(gap, out=gap)
        differ = np.empty(total.shape, dtype=np.bool_)
        count = np.zeros(
            total.shape, dtype=np.uint16
        )  # narrow, since memory is what takes the time
        for mine, theirs in zip(one[numbers:], other[numbers:], strict=True):
            count += np.not_equal(mine[:, None], theirs, out=differ)
        total += count
        total /= max(len(self.positions), 1)
        return total

    def between(self, points: Points, others: Points) -> Floats:
        """Return the distance of each point to each other point."""
        return self.gaps(self.scaled(points), self.scaled(others))

    def nearest(self, points: Points, rows: Points) -> Floats:
        """Return the distance of each point to the nearest row, in memory that does not grow with
        their number.
        """
        mine, theirs = self.scaled(points), self.scaled(rows)
        found = np.full(len(points), np.inf, dtype=np.float32)
        block = max(1, _BLOCK // max(len(rows), 1))
        for start in range(0, len(points) if len(rows) else 0, block):
            part = slice(start, start + block)
            found[part] = self.gaps(mine[:, part], theirs).min(axis=1)
        return found

    def nearly(self, points: Points, rows: Points, seed: int) -> Floats:
        """Return about the distance of each point to the nearest row, never less, in the time it
        takes to sort rows.

        Rows are sorted by their features in a random order, many times, and each point is compared
        with its two neighbours: the nearer a row, the more often it shares the first features with
        the point.
        """
        if len(points) * len(rows) <= _EXACT:
            return self.nearest(points, rows)
        mine, theirs = self.scaled(points), self.scaled(rows)
        cells, rng = (
            Cells(self.space, self.positions, 1 << int(_BITS)),
            stream(seed, "diversity", "sorts"),
        )
        bins, others = (cells.bins(given).astype(np.uint64) for given in (points, rows))
        found = np.full(len(points), np.inf, dtype=np.float32)
        for _ in range(_SORTS):
            key, other = (
                np.zeros(len(points), dtype=np.uint64),
                np.zeros(len(rows), dtype=np.uint64),
            )
            for column in rng.permutation(len(self.positions))[: 64 // int(_BITS)]:
                key, other = (key << _BITS) | bins[:, column], (other << _BITS) | others[:, column]
            ranked = np.argsort(other, kind="stable")
            place = np.searchsorted(other[ranked], key)
            for neighbour in (place - 1, place):
                beside = theirs[:, ranked[np.clip(neighbour, 0, len(rows) - 1)]]
                found = np.minimum(found, self._beside(mine, beside))
        return found

    def _beside(self, one: Floats, other: Floats) -> Floats:
        """Return the distance of each scaled point to the other in its own place."""
        numbers = len(self._kinds[0])
        total = np.abs(one[:numbers] - other[:numbers]).sum(axis=0) + (
            one[numbers:] != other[numbers:]
        ).sum(axis=0)
        return np.asarray(total / max(len(self.positions), 1), dtype=np.float32)

    def centres(self, points: Points, most: int, radius: float = 0.0) -> list[int]:
        """Return points so that every other lies within a radius of one: the first, then always the
        furthest.
        """
        scaled = self.scaled(points)
        found = [0] if len(points) and most > 0 else []
        gap = self.gaps(scaled[:, :1], scaled)[0] if found else np.zeros(0, dtype=np.float32)
        while found and len(found) < most:
            furthest = int(gap.argmax())
            if gap[furthest] <= radius:
                break
            found.append(furthest)
            gap = np.minimum(gap, self.gaps(scaled[:, furthest, None], scaled)[0])
        return found


@dataclass(frozen=True, slots=True)
class Realism:
    """How far found inputs lie from the nearest real row: half of them, the nearest, and nine in
    ten.
    """

    median: float
    nearest: float
    most: float
    rows: int


@dataclass(frozen=True, slots=True)
class Spread:
    """How widely found inputs lie."""

    cells: int
    """Coarse cells that hold one."""
    clusters: int
    """Groups within a radius of their centres, none of which is within that radius of another
    (k-centre).
    """
    distance: float | None
    """The mean distance of two of them."""
    real: Realism | None

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON holds it."""
        real = self.real
        return {
            "cells": self.cells,
            "clusters": self.clusters,
            "distance": self.distance,
            "real": (
                real
                and {
                    "median": real.median,
                    "nearest": real.nearest,
                    "most": real.most,
                    "rows": real.rows,
                }
            ),
        }


def spread(
    space: Space,
    positions: tuple[int, ...],
    points: Points,
    rows: Points | None = None,
    seed: int = 0,
) -> Spread:
    """Return how widely points lie over the features at these positions, and how far from real
    rows.

    Cells are counted over all points; the rest is told from a sample of at most MOST_POINTS.

    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> points = np.array([[0.0], [10.0], [100.0]])
    >>> found = spread(Space([integer("age", 0, 100)]), (0,), points, rows=np.array([[20.0]]))
    >>> found.cells, found.clusters, found.distance, found.real.nearest
    (2, 2, 0.666667, 0.1)
    """
    cells = len(np.unique(Cells(space, positions).of(points)))
    distances = Distances(space, positions)
    sample = points[_sampled(len(points), MOST_POINTS, seed, "points")]
    clusters = len(distances.centres(sample, len(sample), RADIUS))
    real = None
    if rows is not None and len(rows) and len(points):
        compared = rows[_sampled(len(rows), MOST_ROWS, seed, "rows")]
        gaps = distances.nearest(sample, compared)
        real = Realism(
            _told(np.median(gaps)), _told(gaps.min()), _told(np.quantile(gaps, 0.9)), len(compared)
        )
    return Spread(cells, clusters, _mean_gap(distances, sample), real)


def _mean_gap(distances: Distances, points: Points) -> float | None:
    if len(points) < 2:
        return None
    scaled = distances.scaled(points)
    block = max(1, _BLOCK // len(points))
    parts = [
        distances.gaps(scaled[:, at : at + block], scaled) for at in range(0, len(points), block)
    ]
    total = sum(float(part.sum(dtype=np.float64)) for part in parts)
    return _told(total / (len(points) * (len(points) - 1)))


def _told(gap: float | np.floating[Any]) -> float:
    """Return a distance without the digits that single precision does not have."""
    return round(float(gap), 6)


def _sampled(size: int, most: int, seed: int, what: str) -> Indices:
    """Return which of so many are compared: all, or a sample in their order."""
    if size <= most:
        return np.arange(size)
    return np.sort(stream(seed, "diversity", what).choice(size, most, replace=False, shuffle=False))


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
    second of each, and so on. "realistic" takes those first that lie nearest to a real row, as far
    as `nearly` tells.

    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> space, points = Space([integer("age", 0, 99)]), np.array([[10.0], [11.0], [12.0], [80.0]])
    >>> order(space, (0,), points, "diverse").tolist()
    [0, 3, 1, 2]
    """
    check_prefer(prefer, rows)
    if prefer == "diverse":
        _, first, cell = np.unique(
            Cells(space, positions).of(points), return_index=True, return_inverse=True
        )
        start = first[cell]
        together = np.argsort(start, kind="stable")
        rank = np.empty(len(points), dtype=np.intp)
        begins = np.searchsorted(start[together], start[together])
        rank[together] = np.arange(len(points)) - begins
        return np.lexsort((start, rank))
    if prefer == "realistic" and rows is not None:
        compared = rows[_sampled(len(rows), MOST_ROWS, seed, "rows")]
        return np.argsort(Distances(space, positions).nearly(points, compared, seed), kind="stable")
    return np.arange(len(points))


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
    That is told for the first MOST_POINTS; use `order` for more.

    >>> from evenhand.space.feature import integer
    >>> from evenhand.space.space import Space
    >>> space, points = Space([integer("age", 0, 99)]), np.array([[10.0], [11.0], [12.0], [80.0]])
    >>> choose(space, (0,), points, 2, "diverse").tolist()
    [0, 3]
    """
    check_prefer(prefer, rows)
    n = min(n, len(points))
    if prefer == "many" or not n:
        return np.linspace(0, max(len(points) - 1, 0), n).round().astype(np.intp)
    distances = Distances(space, positions)
    if prefer == "diverse":
        among = _sampled(len(points), max(n, 2 * MOST_POINTS), seed, "points")
        picked = distances.centres(points[among], min(n, MOST_POINTS))
    else:
        among = order(space, positions, points, prefer, rows, seed)
        picked = _apart(distances, points[among[: 2 * MOST_POINTS]], min(n, MOST_POINTS))
    rest = np.setdiff1d(np.arange(len(among)), picked)
    return np.asarray(among[np.concatenate([np.array(picked, dtype=np.intp), rest])[:n]])


def _apart(distances: Distances, points: Points, n: int) -> list[int]:
    """Return the first points that are no near-duplicates of those before them."""
    scaled = distances.scaled(points)
    open_ = np.ones(len(points), dtype=np.bool_)
    found: list[int] = []
    while len(found) < n and open_.any():
        found.append(int(open_.argmax()))
        open_ &= distances.gaps(scaled[:, found[-1], None], scaled)[0] > ALIKE
        open_[found[-1]] = False
    return found


def typical(space: Space, rows: Points | None = None) -> Points:
    """Return a typical input: of real rows the one nearest to their medians and most frequent
    levels.

    Without rows, it has the middle of the range of each number and the first level of each
    category, as far as constraints allow.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> typical(space).tolist(), typical(space, np.array([[1.0, 30.0], [1.0, 33.0], [0.0, 70.0]])).tolist()
    ([0.0, 54.0], [1.0, 33.0])
    """
    distances = Distances(space, tuple(range(len(space.features))))
    if rows is not None:
        rows = rows[space.valid(rows)]
    if rows is not None and len(rows):
        centre = np.array(
            [_usual(feature.kind, rows[:, at]) for at, feature in enumerate(space.features)]
        )
        return np.array(rows[int(distances.between(centre[None], rows)[0].argmin())])
    middle = np.array(
        [
            0.0 if feature.kind == "category" else (feature.low + feature.high) / 2
            for feature in space.features
        ]
    )
    for at, feature in enumerate(space.features):
        middle[at] = feature.snap(middle[at : at + 1])[0]
    if space.valid(middle[None])[0]:
        return middle
    draws = space.draw(TRIED_DRAWS, stream(0, "typical"))
    found: Points = draws[int(distances.between(middle[None], draws)[0].argmin())].copy()
    for at in range(len(middle)):
        moved = found.copy()
        moved[at] = middle[at]
        if space.valid(moved[None])[0]:
            found = moved
    return found


def _usual(kind: str, column: NDArray[np.float64]) -> float:
    return float(
        np.bincount(column.astype(np.intp)).argmax() if kind == "category" else np.median(column)
    )
