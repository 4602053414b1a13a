"""Pairs of values that should have been seen together in real rows, and were not."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Flags, Floats, Points
    from evenhand.space.space import Space

    Codes = NDArray[np.intp]
    Tables = dict[tuple[int, int], NDArray[np.bool_]]

BINS = 10
"""Into how many parts of about as many rows a number with many values is cut."""
FEW = 20
"""A number of no more values than this is not cut."""
MOST_LEVELS = 64
"""The most levels of a category that are told apart, the most frequent."""
CHANCE = 0.05
"""How probable it may be that any pair is missing from the rows by chance."""
SELDOM = 0.01
"""Seen together less often than this share of what chance gives is never seen together.

Data of any size hold some errors, such as a female husband.
"""


@dataclass(frozen=True, eq=False)
class ValueParts:
    """How the values of a feature are told apart: by their levels, or by edges."""

    feature: Feature
    levels: Floats | None
    edges: Floats

    @classmethod
    def of(cls, feature: Feature, column: Floats) -> ValueParts:
        """Learn from the values that rows have."""
        values, counts = np.unique(column, return_counts=True)
        if feature.kind == "category" or len(values) <= FEW:
            frequent = np.argsort(-counts, kind="stable")[:MOST_LEVELS]
            return cls(feature, np.sort(values[frequent]), np.empty(0))
        known = column[~feature.is_missing(column)]
        shares = np.linspace(0, 1, BINS + 1)[1:-1]
        return cls(feature, None, np.unique(np.quantile(known, shares, method="lower")))

    @property
    def parts(self) -> int:
        """How many codes there are.

        The last is that of a missing number, and of all levels that are not told apart.
        """
        if self.levels is None:
            return len(self.edges) + 2
        return len(self.levels) + 1

    def codes(self, column: Floats) -> Codes:
        """Return the code of each value."""
        if self.levels is None:
            place = np.searchsorted(self.edges, column)
            return np.where(self.feature.is_missing(column), self.parts - 1, place)
        place = np.minimum(np.searchsorted(self.levels, column), len(self.levels) - 1)
        return np.where(self.levels[place] == column, place, len(self.levels))


@dataclass(frozen=True, eq=False)
class Pairs:
    """For each two features, which of their values are never seen together."""

    cuts: tuple[ValueParts, ...]
    never: Tables
    """By two features, a flag for each pair of codes; pairs without any flag are left out."""

    @classmethod
    def of(cls, rows: Points, space: Space) -> Pairs:
        """Learn from encoded rows."""
        cuts = []
        for position, feature in enumerate(space.features):
            cuts.append(ValueParts.of(feature, rows[:, position]))
        codes = [cut.codes(rows[:, position]) for position, cut in enumerate(cuts)]
        both = list(combinations(range(len(cuts)), 2))
        cells = sum(cuts[first].parts * cuts[second].parts for first, second in both)
        # Without any tie, a pair that is expected so often is missing with this probability.
        least = math.log(max(cells, 1) / CHANCE)
        never: Tables = {}
        for first, second in both:
            shape = (cuts[first].parts, cuts[second].parts)
            flat = codes[first] * shape[1] + codes[second]
            counts = np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)
            expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / len(rows)
            missing = (expected >= least) & (counts < SELDOM * expected)
            if missing.any():
                never[first, second] = missing
        return cls(tuple(cuts), never)

    def together(self, points: Points) -> Flags:
        """Return which points hold no two values that are never seen together."""
        codes: dict[int, Codes] = {}
        mask = np.ones(len(points), dtype=np.bool_)
        for both, missing in self.never.items():
            for place in both:
                if place not in codes:
                    codes[place] = self.cuts[place].codes(points[:, place])
            first, second = both
            mask &= ~missing[codes[first], codes[second]]
        return mask
