"""Joint constraints that real rows keep, learnt from them: what follows from what.

They mark who could not exist, and never keep an input from being drawn or shown.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.label_text import shown

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Flags, Floats, Points
    from evenhand.space.space import Space

    Counts = NDArray[np.intp]

EXCEPTIONS = 0.002
"""The share of rows that may break what is learnt: data of any size hold some errors."""
CHANCE = 0.05
"""How probable it may be that anything is learnt by chance."""
MOST_VALUES = 200
"""Of a feature with more values nothing is learnt."""
FEW_VALUES = 20
"""Single values of a feature with more values than this imply nothing."""
LEAST_ROWS = 30
"""The fewest rows with a value that it may imply something from, or with any value on average a
third of that.
"""
MOST_LEARNT = 20
"""The most constraints of single values that are learnt, the best founded."""


@dataclass(frozen=True, eq=False)
class Learnt:
    """One constraint between two features.

    The value of one of them is known from that of the other, for some of its values.
    """

    text: str
    """The constraint in words, which is also its name."""
    source: int
    target: int
    values: Floats
    """The values of the source that something follows from, in order."""
    followers: Floats
    """The value of the target that follows from each."""
    rows: int
    """How many rows keep it."""

    def kept(self, points: Points) -> Flags:
        """Return which points keep the constraint."""
        column = points[:, self.source]
        last = len(self.values) - 1
        place = np.minimum(np.searchsorted(self.values, column), last)
        concerned = self.values[place] == column
        follows = points[:, self.target] == self.followers[place]
        return np.asarray(~concerned | follows)


@dataclass(frozen=True, eq=False)
class _SeenValues:
    """The values that a feature has in rows, in order, and which of them each row has."""

    position: int
    feature: Feature
    values: Floats
    codes: Counts

    def word(self, code: int) -> str:
        """Return a value as people read it."""
        label = self.feature.labels(self.values[code : code + 1])[0]
        if label is None:
            return "unknown"
        return str(shown(label))


def learn(points: Points, space: Space) -> tuple[Learnt, ...]:
    """Return the joint constraints that nearly all of some encoded rows keep.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("school", ["none", "some", "high"]), integer("years", 0, 20)])
    >>> school = np.arange(300) % 3
    >>> rows = np.stack([school, 5 * school], axis=1).astype(float)
    >>> [constraint.text for constraint in learn(rows, space)]
    ['years follows school']
    """
    columns = _columns(points, space)
    found: list[Learnt] = []
    tied: set[frozenset[int]] = set()
    # Categories go first: a number rather follows a level than the other way round.
    columns.sort(key=lambda column: column.feature.kind != "category")
    pairs = list(permutations(columns, 2))
    for source, target in pairs:
        both = frozenset((source.position, target.position))
        if both in tied:
            continue
        follows = _follows(source, target)
        if follows is not None:
            found.append(follows)
            tied.add(both)
    implied: list[tuple[float, Learnt]] = []
    for source, target in pairs:
        if frozenset((source.position, target.position)) not in tied:
            implied += _implied(source, target, len(pairs))
    implied.sort(key=lambda entry: -entry[0])
    found += [constraint for _, constraint in implied[:MOST_LEARNT]]
    return tuple(found)


def _columns(points: Points, space: Space) -> list[_SeenValues]:
    columns = []
    for position, feature in enumerate(space.features):
        values, codes = np.unique(points[:, position], return_inverse=True)
        if 1 < len(values) <= MOST_VALUES:
            columns.append(_SeenValues(position, feature, values, codes))
    return columns


def _table(source: _SeenValues, target: _SeenValues) -> Counts:
    shape = (len(source.values), len(target.values))
    flat = source.codes * shape[1] + target.codes
    return np.bincount(flat, minlength=shape[0] * shape[1]).reshape(shape)


def _follows(source: _SeenValues, target: _SeenValues) -> Learnt | None:
    """Return that a feature follows another, None where it does not."""
    rows = len(source.codes)
    if rows * 3 < LEAST_ROWS * len(source.values):
        return None
    table = _table(source, target)
    exceptions = rows - int(table.max(axis=1).sum())
    if exceptions > EXCEPTIONS * rows:
        return None
    # One row of each value tells nothing; each other one could have had another value.
    informative = rows - len(source.values)
    other = 1 - table.sum(axis=0).max() / rows
    if informative * other < LEAST_ROWS:
        return None
    text = f"{target.feature.name} follows {source.feature.name}"
    followers = target.values[table.argmax(axis=1)]
    return Learnt(
        text,
        source.position,
        target.position,
        source.values,
        followers,
        rows - exceptions,
    )


def _implied(
    source: _SeenValues, target: _SeenValues, pairs: int
) -> list[tuple[float, Learnt]]:
    """Return what single values imply, each with how many exceptions chance would give."""
    if max(len(source.values), len(target.values)) > FEW_VALUES:
        return []
    from scipy.stats import binom  # imported where it is used

    table = _table(source, target)
    of_value = table.sum(axis=1)
    best = table.argmax(axis=1)
    exceptions = of_value - table.max(axis=1)
    other = 1 - table.sum(axis=0)[best] / len(source.codes)
    tests = pairs * len(source.values)
    by_chance = binom.cdf(exceptions, of_value, other)
    few = exceptions <= EXCEPTIONS * of_value
    holds = few & (of_value >= LEAST_ROWS) & (by_chance <= CHANCE / tests)
    found = []
    for code in np.flatnonzero(holds).tolist():
        follower = int(best[code])
        text = (
            f"{target.feature.name} is {target.word(follower)} where"
            f" {source.feature.name} is {source.word(code)}"
        )
        constraint = Learnt(
            text,
            source.position,
            target.position,
            source.values[code : code + 1],
            target.values[follower : follower + 1],
            int(table[code, follower]),
        )
        weight = float(of_value[code] * other[code])
        found.append((weight if math.isfinite(weight) else 0.0, constraint))
    return found


def kept_by(learnt: tuple[Learnt, ...], points: Points) -> Flags:
    """Return which points keep all of some constraints."""
    mask = np.ones(len(points), dtype=np.bool_)
    for constraint in learnt:
        mask &= constraint.kept(points)
    return mask
