"""Realism: whether an input is like a person who could exist, as far as real rows tell.

An input is plausible where it lies as near to a real row as 95 % of held-out real rows do, holds no
two values that should have been seen together and never were, and breaks nothing that the rows
keep. See docs/explanation/realism.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.pairs import Pairs
from evenhand.population.remembered import remembered
from evenhand.runtime.random_streams import stream
from evenhand.runtime.workers import one_thread
from evenhand.space.known_rows.learnt import kept_by, learn

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Flags, Floats, Points
    from evenhand.space.known_rows.learnt import Learnt
    from evenhand.space.space import Space

    Singles = NDArray[np.float32]

LEAST_ROWS = 50
"""With fewer rows nothing is said of who could exist."""
MOST_ROWS = 8_000
"""The most rows that inputs are compared with; more are sampled."""
HELD_OUT = 2_000
"""The most rows that are held out to learn how far real rows are from each other."""
HELD_SHARE = 0.2
"""The share of the rows that is held out where they are few."""
KEPT = 0.95
"""The share of held-out rows that lie within the radius."""
MOST_LEVELS = 64
"""The levels of a category that are told apart, the most frequent; all others count as one."""
_BLOCK = 1024
"""How many points are compared with all rows at once."""


@dataclass(frozen=True, eq=False)
class Realism:
    """What real rows tell of who could exist.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 0, 200)])
    >>> rng = np.random.default_rng(0)
    >>> rows = np.stack([rng.integers(0, 2, 500), rng.integers(18, 90, 500)], axis=1) + 0.0
    >>> realism = Realism.of(rows, space)
    >>> realism.plausible(np.array([[0.0, 40.0], [1.0, 150.0]])).tolist()
    [True, False]
    """

    space: Space
    rows: Points
    """The rows that inputs are compared with."""
    radius: float
    """The distance to the nearest row that most held-out rows keep."""
    pairs: Pairs
    learnt: tuple[Learnt, ...] = ()
    """What holds in the rows."""

    @classmethod
    def of(
        cls, rows: Points, space: Space, learnt: tuple[Learnt, ...] | None = None
    ) -> Realism | None:
        """Learn from encoded rows; None where they are too few.

        Joint constraints are learnt too where none are given.
        """
        if len(rows) < LEAST_ROWS:
            return None
        # How often a row occurs tells how common somebody is, and not how different people are,
        # unless there are so few different ones that all of them are known.
        people = np.unique(rows, axis=0)
        if len(people) < LEAST_ROWS:
            people = rows
        order = stream(0, "realism").permutation(len(people))
        held = min(HELD_OUT, int(HELD_SHARE * len(people)))
        compared = np.sort(order[held : held + MOST_ROWS])
        training = np.asfortranarray(people[compared])
        if learnt is None:
            learnt = learn(rows, space)
        realism = cls(space, training, math.inf, Pairs.of(rows, space), learnt)
        distances = realism.distances(people[order[:held]])
        radius = float(np.quantile(distances, KEPT, method="higher"))
        return replace(realism, radius=radius)

    @cached_property
    def _scales(self) -> tuple[Scale, ...]:
        scales = []
        for position, feature in enumerate(self.space.features):
            scales.append(Scale.of(feature, self.rows[:, position]))
        return tuple(scales)

    @cached_property
    def _embedded(self) -> tuple[Singles, Singles]:
        """The rows in the form in which they are compared, and their squared norms."""
        embedded = self._embed(self.rows)
        return embedded, (embedded**2).sum(axis=1)

    def _embed(self, points: Points) -> Singles:
        parts = []
        for position, scale in enumerate(self._scales):
            parts.append(scale.embed(points[:, position]))
        return np.concatenate(parts, axis=1)

    def distances(self, points: Points) -> Floats:
        """Return how far points are from the nearest row.

        It is the square root of the sum over features: of a number the squared difference in
        standard deviations, of a category 1 where the levels differ.
        """
        return self._nearest(points)[0]

    def nearest(self, points: Points) -> tuple[NDArray[np.intp], Flags]:
        """Return the place of the row that is nearest to each point, and which are near enough."""
        distances, rows = self._nearest(points)
        return rows, np.asarray(distances <= self._reach)

    def _nearest(self, points: Points) -> tuple[Floats, NDArray[np.intp]]:
        rows, norms = self._embedded
        squares = np.empty(len(points))
        places = np.empty(len(points), dtype=np.intp)
        with one_thread():
            for start in range(0, len(points), _BLOCK):
                block = slice(start, start + _BLOCK)
                embedded = self._embed(points[block])
                gaps = norms - 2 * (embedded @ rows.T)
                nearest = gaps.argmin(axis=1)
                places[block] = nearest
                least = gaps[np.arange(len(gaps)), nearest]
                squares[block] = least + (embedded**2).sum(axis=1)
        return np.sqrt(np.maximum(squares, 0)), places

    def apart(self, points: Points, others: Points) -> Floats:
        """Return the distance of each point to the other of the same place."""
        total = np.zeros(len(points))
        for position, scale in enumerate(self._scales):
            total += scale.gaps(points[:, position], others[:, position])
        return np.asarray(np.sqrt(total))

    def near(self, points: Points) -> Flags:
        """Return which points are as near to a row as most held-out rows are."""
        return np.asarray(self.distances(points) <= self._reach)

    def within_reach(self, points: Points, others: Points) -> Flags:
        """Return which points are as near to the other of the same place."""
        return np.asarray(self.apart(points, others) <= self._reach)

    @property
    def _reach(self) -> float:
        # Products of single precision are not exact, and equal rows are near.
        return self.radius + 1e-2

    def together(self, points: Points) -> Flags:
        """Return which points hold no two values that are never seen together.

        Nor do they break what holds in the rows.
        """
        return self.pairs.together(points) & kept_by(self.learnt, points)

    def plausible(self, points: Points) -> Flags:
        """Return which points are people who could exist."""
        mask = self.together(points)
        rows = np.flatnonzero(mask)
        if len(rows):
            mask[rows] = self.near(points[rows])
        return mask


@dataclass(frozen=True, slots=True)
class Scale:
    """How values of a feature are compared."""

    levels: Floats | None
    """The levels that are told apart; None for a number."""
    centre: float
    width: float
    """The standard deviation of a number."""
    unknown: float
    """The code of a missing number, NaN where it is never missing."""

    @classmethod
    def of(cls, feature: Feature, column: Floats) -> Scale:
        """Learn from the values that rows have."""
        if feature.kind == "category":
            values, counts = np.unique(column, return_counts=True)
            frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
            return cls(np.sort(values[frequent]), 0.0, 1.0, math.nan)
        if feature.missing:
            unknown = float(feature.missing_code)
        else:
            unknown = math.nan
        known = column[column != unknown]
        if not len(known):
            return cls(None, 0.0, 1.0, unknown)
        width = float(known.std())
        if not width:
            # One value in all rows: another one is as far as another category, or further.
            width = float(feature.step or 1)
        return cls(None, float(known.mean()), width, unknown)

    def embed(self, column: Floats) -> Singles:
        """Return values as coordinates, whose squared differences are gaps."""
        if self.levels is not None:
            equal = column[:, None] == self.levels
            # Two levels differ in two coordinates.
            return np.asarray(equal * math.sqrt(0.5), dtype=np.float32)
        missing = column == self.unknown
        shares = np.where(missing, 0.0, (column - self.centre) / self.width)
        coordinates = [shares]
        if not math.isnan(self.unknown):
            coordinates.append(missing.astype(np.float64))
        return np.stack(coordinates, axis=1).astype(np.float32)

    def gaps(self, column: Floats, other: Floats) -> Floats:
        """Return squared differences."""
        if self.levels is not None:
            return np.asarray(column != other, dtype=np.float64)
        gap = ((column - other) / self.width) ** 2
        if math.isnan(self.unknown):
            return np.asarray(gap)
        apart = (column == self.unknown) != (other == self.unknown)
        return np.asarray(np.where(apart, 1.0, gap))


def realism_of(space: Space) -> Realism | None:
    """Return the realism that the rows of a space tell of, learnt once; None where it has none."""
    rows = remembered(space)
    if rows is None or space.memory is None:
        return None
    # Software that refuses missing values is not asked about people with any.
    needed = ", ".join(sorted(space.layout.complete))
    key = (f"realism {needed}", space.digest)
    if key not in space.memory.made:
        complete = rows.complete(space)
        points = complete.points(space)
        space.memory.made[key] = Realism.of(points, space, space.learnt)
    found: Realism | None = space.memory.made[key]
    return found
