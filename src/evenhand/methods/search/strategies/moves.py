"""Moves: how a search changes an input.

A move is one step down or up in a feature, or a jump to any of its values.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Counts, Flags, Generator, Indices, Numbers
    from evenhand.methods.search.probe import Probe
    from evenhand.space.feature import Feature, Points

CONTINUOUS_STEPS = 100
"""How many steps it takes from one end of a continuous feature to the other."""


@dataclass(frozen=True)
class FeatureMoves:
    """The moves of a probe's free features.

    `which` is a place among the free features, not a position in the space.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.methods.search.probe import Probe
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> loan = Subject(lambda people: people["age"] > 30, space)
    >>> moves = FeatureMoves(Probe(View(loan), ("sex",)))
    >>> points = np.array([[0.0, 18.0], [0.0, 18.0]])
    >>> moves.step(points, np.array([0, 0]), np.array([-1, 1])).tolist()
    [[0.0, 18.0], [0.0, 19.0]]
    """

    probe: Probe
    rows: Points | None = None
    """Real rows that jumps take values from; without them all values are as likely."""

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The features that moves change."""
        return tuple(self.probe.space.features[position] for position in self.probe.free)

    @cached_property
    def positions(self) -> Indices:
        """Their positions in the space."""
        return np.array(self.probe.free, dtype=np.intp)

    @property
    def nothing(self) -> Points:
        """No points at all."""
        return np.empty((0, len(self.probe.space.features)))

    @cached_property
    def is_category(self) -> Flags:
        """Which of them are categories."""
        flags = [feature.kind == "category" for feature in self.features]
        return np.array(flags, dtype=np.bool_)

    @cached_property
    def low(self) -> Numbers:
        """The least encoded value of each."""
        return np.array([_first(feature) for feature in self.features])

    @cached_property
    def high(self) -> Numbers:
        """The largest encoded value of each."""
        return np.array([_last(feature) for feature in self.features])

    @cached_property
    def size(self) -> Numbers:
        """How far one step goes: to the next value, or a hundredth of a continuous range."""
        return np.array([_step(feature) for feature in self.features])

    @cached_property
    def counts(self) -> Numbers:
        """How many values each has."""
        return np.round((self.high - self.low) / self.size) + 1

    @cached_property
    def has_gaps(self) -> Flags:
        """Which of them may be missing."""
        return np.array([bool(feature.missing) for feature in self.features])

    @cached_property
    def gaps(self) -> Numbers:
        """The code of a missing value of each."""
        return np.array([feature.missing_code for feature in self.features])

    def step(self, points: Points, which: Indices, by: Counts) -> Points:
        """Return the points with one feature each moved by some steps, no further than its ends.

        What is missing moves to the nearest end.
        This is the perturbation of Aequitas (Definition 2) for steps of -1 and +1.
        """
        column = self.positions[which]
        rows = np.arange(len(points))
        low = self.low[which]
        high = self.high[which]
        moved = points[rows, column] + by * self.size[which]
        values = np.clip(moved, low, high)
        return self._placed(points, which, values)

    def jump(self, points: Points, which: Indices, rng: Generator) -> Points:
        """Return the points with one feature each set to any of its values.

        A missing value is one of them.
        """
        values = self.any_values(which, rng.random(len(points)))
        return self._placed(points, which, values)

    def any_values(self, which: Indices, shares: Numbers) -> Numbers:
        """Return a value of each of these features, by a random number from 0 to 1.

        All values are as likely, or as frequent as they are in the rows.
        """
        if self.rows is not None:
            chosen = np.floor(shares * len(self.rows)).astype(np.intp)
            return np.asarray(self.rows[chosen, self.positions[which]])
        counts = self.counts[which]
        place = np.floor(shares * (counts + self.has_gaps[which]))
        known = self.low[which] + place * self.size[which]
        values = np.minimum(known, self.high[which])
        return np.where(place >= counts, self.gaps[which], values)

    def _placed(self, points: Points, which: Indices, values: Numbers) -> Points:
        """Return the points with these values of one feature each."""
        found: Points = np.array(points, order="F")
        rows = np.arange(len(points))
        found[rows, self.positions[which]] = values
        return self.snapped(found)

    def snapped(self, points: Points) -> Points:
        """Return the points with fractional steps exactly on the feature's values.

        The points are changed in place.
        """
        for feature, position in zip(self.features, self.probe.free, strict=True):
            if feature.kind == "real" and feature.step is not None:
                points[:, position] = feature.snap(points[:, position])
        return points


def _first(feature: Feature) -> float:
    if feature.kind == "category":
        return 0.0
    return feature.low


def _last(feature: Feature) -> float:
    if feature.kind == "category":
        return len(feature.levels) - 1.0
    if math.isinf(feature.size):
        return float(feature.high)
    # The upper limit itself need not be a value: steps are counted from the lower one.
    return float(feature.low + (feature.size - 1) * _step(feature))


def _step(feature: Feature) -> float:
    if feature.kind == "category":
        return 1.0
    if feature.step is None:
        return float(feature.high - feature.low) / CONTINUOUS_STEPS or 1.0
    return float(feature.step)
