"""Cube: sums over the cells of sensitive features, from which those of every rule set follow
(TestSGD, section 4).
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import SpaceError, clip
from evenhand.space.feature import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.conditions import Choices
    from evenhand.space.rule import Condition

    Floats = NDArray[np.float64]
    Family = tuple[int, ...]

MOST_ENTRIES = 50_000_000
"""The most cells, or rule sets, of one family that are summed at once."""
_NARROW = 1 << 22
"""So many possible cells are counted in a table; more are sorted."""
_WIDEST = 1 << 62


@dataclass(frozen=True, eq=False)
class Cube:
    """Sums over the cells of sensitive features, for every rule set without another look at the
    rows (Algorithm 1).

    A rule set takes one choice of each feature of a family, that is a set of positions in
    `choices`; its place is the number of each choice.

    Parameters
    ----------
    codes
        The distinct cells that rows lie in, one row each: its cell of every feature.
    index
        For each row of the data the number of its cell.

    Examples
    --------
    >>> from evenhand.methods.mine.conditions import Choices
    >>> from evenhand.space.feature import category
    >>> sex, race = category("sex", ["F", "M"]), category("race", ["White", "Black"])
    >>> columns = [np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0, 1.0])]
    >>> cube = Cube.of([Choices.of(sex, columns[0]), Choices.of(race, columns[1])], columns)
    >>> cube.families(), cube.candidates()
    ([(0,), (1,), (0, 1)], 8)
    >>> cube.sums((0, 1), cube.totals()).tolist()
    [[1.0, 1.0], [0.0, 1.0]]
    >>> ", ".join(condition.text for condition in cube.conditions((0, 1), (1, 1)))
    'sex M, race Black'
    """

    choices: tuple[Choices, ...]
    codes: NDArray[np.intp]
    index: NDArray[np.intp]

    @classmethod
    def of(cls, choices: Sequence[Choices], columns: Sequence[Floats]) -> Cube:
        """Put rows into cells; `columns` are the encoded values of each feature."""
        cells = [choice.cells(column) for choice, column in zip(choices, columns, strict=True)]
        key, wide = np.zeros(len(columns[0]), dtype=np.int64), 1
        for choice, column in zip(choices, cells, strict=True):
            width = choice.picks.shape[1]
            if wide * width > _WIDEST:
                values, key = np.unique(key, return_inverse=True)
                wide = len(values)
            key, wide = key * width + column, wide * width
        first, index = _numbered(key, wide)
        return cls(tuple(choices), np.column_stack(cells)[first], index)

    def totals(self, values: Floats | None = None) -> Floats:
        """Return the sum of values over the rows of each cell; without values, the number of rows.

        Parameters
        ----------
        values
            One value for each row, or several rows of them, which are summed each by itself.
        """
        cells = len(self.codes)
        if values is None:
            return np.bincount(self.index, minlength=cells).astype(np.float64)
        found = np.empty((*values.shape[:-1], cells))
        for row, sums in zip(np.atleast_2d(values), np.atleast_2d(found), strict=True):
            sums[:] = np.bincount(self.index, weights=row, minlength=cells)
        return found

    def families(self, depth: int | None = None) -> list[Family]:
        """Return every set of at most `depth` features that have choices, small ones first."""
        usable = [position for position, choices in enumerate(self.choices) if len(choices)]
        most = len(usable) if depth is None else min(depth, len(usable))
        return [
            family for size in range(1, most + 1) for family in itertools.combinations(usable, size)
        ]

    def size(self, family: Family) -> int:
        """Return the number of rule sets of a family."""
        return math.prod(len(self.choices[position]) for position in family)

    def copies(self, family: Family) -> NDArray[np.int64]:
        """Return how many rules each rule set of a family stands for."""
        self._fits(family)
        found = np.ones((), dtype=np.int64)
        for position in family:
            found = np.multiply.outer(found, self.choices[position].copies)
        return np.asarray(found)

    def sums(self, family: Family, totals: Floats) -> Floats:
        """Return sums over the rows that each rule set of a family covers: one axis for each of its
        features.

        Parameters
        ----------
        totals
            Sums over cells as `totals` returns them; of several rows, the first axis of the result
            is theirs.
        """
        self._fits(family)
        shape = [self.choices[position].picks.shape[1] for position in family]
        place = np.ravel_multi_index(tuple(self.codes[:, position] for position in family), shape)
        several = np.atleast_2d(totals)
        dense = np.array(
            [np.bincount(place, weights=row, minlength=math.prod(shape)) for row in several]
        ).T
        # The feature in front is multiplied away and its choices come last, so no axis is ever
        # copied to another place.
        for position, cells in zip(family, shape, strict=True):
            dense = dense.reshape(cells, -1).T @ self.choices[position].weights
        sums = dense.reshape(len(several), *(len(self.choices[position]) for position in family))
        return sums if totals.ndim > 1 else sums[0]

    def mask(self, family: Family, place: Sequence[int]) -> NDArray[np.bool_]:
        """Tell which cells a rule set covers."""
        met = np.ones(len(self.codes), dtype=np.bool_)
        for position, choice in zip(family, place, strict=True):
            met &= self.choices[position].picks[choice][self.codes[:, position]]
        return met

    def covers(self, family: Family, place: Sequence[int]) -> NDArray[np.bool_]:
        """Tell which rows a rule set covers."""
        return self.mask(family, place)[self.index]

    def conditions(self, family: Family, place: Sequence[int]) -> list[Condition]:
        """Return the conditions of a rule set."""
        return [
            self.choices[position].condition(choice)
            for position, choice in zip(family, place, strict=True)
        ]

    def pruned(self, sizes: Floats, least: float) -> Cube:
        """Return the cube with choices that cover the same rows merged, and without those of less
        than `least`.

        Parameters
        ----------
        sizes
            The rows of each cell, or their weight, as `totals` returns them.
        """
        return self._kept(sizes, least, merge=True)

    def candidates(self, depth: int | None = None) -> int:
        """Return how many rules of at most `depth` features there are, those that cover the same
        rows included.
        """
        return sum(_by_size([int(choices.copies.sum()) for choices in self.choices])[:depth])

    def rule_sets(self) -> list[int]:
        """Return how many rule sets take one, two and more features.

        >>> from evenhand.methods.mine.conditions import Choices
        >>> from evenhand.space.feature import category
        >>> sex, race = (Choices.of(category(name, ["a", "b"]), np.array([])) for name in ("sex", "race"))
        >>> Cube.of([sex, race], [np.zeros(1), np.zeros(1)]).rule_sets()
        [4, 4]
        """
        return _by_size([len(choices) for choices in self.choices])

    def frequent(self, sizes: Floats, least: float, depth: int | None = None) -> int:
        """Return how many rules of at most `depth` features cover at least so many rows, or so much
        of their weight.

        >>> from evenhand.methods.mine.conditions import Choices
        >>> from evenhand.space.feature import category
        >>> sex = Choices.of(category("sex", ["F", "M"]), np.array([]))
        >>> cube = Cube.of([sex], [np.array([0.0, 0.0, 1.0])])
        >>> cube.frequent(cube.totals(), 2)
        1
        """
        kept = self._kept(sizes, least, merge=False)
        found = 0
        for family in kept.families(depth):
            enough = kept.sums(family, sizes) >= least * (1 - 1e-12)
            found += int(kept.copies(family)[enough].sum())
        return found

    def _kept(self, sizes: Floats, least: float, *, merge: bool) -> Cube:
        kept = []
        for position, choices in enumerate(self.choices):
            cells = choices.picks.shape[1]
            mine = np.bincount(self.codes[:, position], weights=sizes, minlength=cells).astype(
                np.float64
            )
            kept.append((choices.merged(mine) if merge else choices).frequent(mine, least))
        return replace(self, choices=tuple(kept))

    def _fits(self, family: Family) -> None:
        cells = math.prod(self.choices[position].picks.shape[1] for position in family)
        for number, what in ((self.size(family), "rule sets"), (cells, "cells")):
            if number > MOST_ENTRIES:
                names = clip(
                    ", ".join(self.choices[position].feature.name for position in family), 300
                )
                raise SpaceError(
                    f"{names} have {count(number)} {what} together, over the {MOST_ENTRIES:,} that"
                    " are summed at once; take fewer features at a time (depth), fewer bins, or"
                    " more support"
                )


def _by_size(choices: Sequence[int]) -> list[int]:
    """Return how many ways there are to take one of the choices of one, two and more features."""
    found = [1] + [0] * len(choices)
    for number in choices:
        found = [1] + [found[size] + found[size - 1] * number for size in range(1, len(found))]
    return found[1:]


def _numbered(key: NDArray[np.int64], wide: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return a row of each value of a key, and for every row the number of its value; keys are less
    than `wide`.
    """
    if wide > _NARROW:
        _, first, index = np.unique(key, return_index=True, return_inverse=True)
        return first, index
    first = np.full(wide, -1, dtype=np.intp)
    first[key] = np.arange(len(key))
    there = first >= 0
    return first[there], (np.cumsum(there) - 1)[key]
