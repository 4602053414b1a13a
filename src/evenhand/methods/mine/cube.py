"""Cube: sums over the cells of sensitive features, from which those of every rule set follow.

With it all rule sets of TestSGD's section 4 are scored without another look at the rows.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import SpaceError, clip
from evenhand.space.feature import count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.conditions import Choices
    from evenhand.space.rule import Condition

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Integers = NDArray[np.int64]
    Family = tuple[int, ...]

MOST_ENTRIES = 50_000_000
"""The most cells, or rule sets, of one family that are summed at once."""
_NARROW = 1 << 22
"""So many possible cells are counted in a table; more are sorted."""
_WIDEST = 1 << 62
"""The most possible cells that fit into one 64-bit key."""


@dataclass(frozen=True, eq=False)
class Cube:
    """Sums over the cells of sensitive features, for every rule set of Algorithm 1 at once.

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
    codes: Indices
    index: Indices

    @classmethod
    def of(cls, choices: Sequence[Choices], columns: Sequence[Floats]) -> Cube:
        """Put rows into cells; `columns` are the encoded values of each feature."""
        cells: list[Indices] = []
        for feature, column in zip(choices, columns, strict=True):
            cells.append(feature.cells(column))
        # One key for the cells of all features, in mixed radix: each feature adds a digit.
        rows = len(columns[0])
        key = np.zeros(rows, dtype=np.int64)
        possible = 1
        for feature, cell in zip(choices, cells, strict=True):
            width = feature.width
            if possible * width > _WIDEST:
                # Only keys that occur are numbered anew, so that the next digit fits again.
                distinct, key = np.unique(key, return_inverse=True)
                possible = len(distinct)
            key = key * width + cell
            possible *= width
        first_rows, index = _numbered(key, possible)
        # Cells are read feature by feature, so those of each are next to each other.
        by_feature = np.array([cell[first_rows] for cell in cells])
        return cls(tuple(choices), by_feature.T, index)

    def totals(self, values: Floats | None = None) -> Floats:
        """Return the sum of values over the rows of each cell; without values, the number of rows.

        Parameters
        ----------
        values
            One value for each row, or several rows of them, which are summed each by itself.
        """
        cells = len(self.codes)
        if values is None:
            rows = np.bincount(self.index, minlength=cells)
            return rows.astype(np.float64)
        shape = (*values.shape[:-1], cells)
        totals = np.empty(shape)
        # Views as tables of rows, whether one row of values is given or several.
        value_rows = np.atleast_2d(values)
        total_rows = np.atleast_2d(totals)
        for row, sums in zip(value_rows, total_rows, strict=True):
            sums[:] = np.bincount(self.index, weights=row, minlength=cells)
        return totals

    def families(self, depth: int | None = None) -> list[Family]:
        """Return every set of at most `depth` features that have choices, small ones first."""
        usable = []
        for position, choices in enumerate(self.choices):
            if len(choices):
                usable.append(position)
        largest = len(usable)
        if depth is not None:
            largest = min(depth, largest)
        families: list[Family] = []
        for size in range(1, largest + 1):
            families.extend(itertools.combinations(usable, size))
        return families

    def size(self, family: Family) -> int:
        """Return the number of rule sets of a family."""
        return math.prod(map(len, self._features(family)))

    def copies(self, family: Family) -> Integers:
        """Return how many rules each rule set of a family stands for."""
        self._check_size(family)
        copies = np.ones((), dtype=np.int64)
        for feature in self._features(family):
            copies = np.multiply.outer(copies, feature.copies)
        return np.asarray(copies)

    def sums(self, family: Family, totals: Floats) -> Floats:
        """Return sums over the rows that each rule set covers: an axis for each feature.

        Parameters
        ----------
        totals
            Sums over cells as `totals` returns them; of several rows, the first axis of the result
            is theirs.
        """
        self._check_size(family)
        features = self._features(family)
        shape = [feature.width for feature in features]
        codes = self.codes.T[list(family)]
        place = np.ravel_multi_index(tuple(codes), shape)
        several = np.atleast_2d(totals)
        cells = math.prod(shape)
        cell_sums = np.empty((len(several), cells))
        for row, sums_of_row in zip(several, cell_sums, strict=True):
            sums_of_row[:] = np.bincount(place, weights=row, minlength=cells)
        dense = cell_sums.T
        # The feature in front is multiplied away and its choices come last, so no axis is ever
        # copied to another place.
        for feature in features:
            front = dense.reshape(feature.width, -1)
            dense = front.T @ feature.weights
        choice_counts = map(len, features)
        sums: Floats = dense.reshape(len(several), *choice_counts)
        if totals.ndim > 1:
            return sums
        return np.asarray(sums[0])

    def mask(self, family: Family, place: Sequence[int]) -> Flags:
        """Return which cells a rule set covers."""
        covered = np.ones(len(self.codes), dtype=np.bool_)
        for position, choice in zip(family, place, strict=True):
            feature = self.choices[position]
            picked = feature.picks[choice]
            codes = self.codes[:, position]
            covered &= picked[codes]
        return covered

    def covers(self, family: Family, place: Sequence[int]) -> Flags:
        """Return which rows a rule set covers."""
        return self.mask(family, place)[self.index]

    def conditions(self, family: Family, place: Sequence[int]) -> list[Condition]:
        """Return the conditions of a rule set."""
        conditions = []
        features = self._features(family)
        for feature, choice in zip(features, place, strict=True):
            condition = feature.condition(choice)
            conditions.append(condition)
        return conditions

    def pruned(self, sizes: Floats, least: float) -> Cube:
        """Return the cube with equal choices merged, and without those of less than `least`.

        Choices are equal where they cover the same rows.

        Parameters
        ----------
        sizes
            The rows of each cell, or their weight, as `totals` returns them.
        """
        merged = []
        for position, choices in enumerate(self.choices):
            cell_sizes = self._cell_sizes(position, sizes)
            distinct = choices.merged(cell_sizes)
            merged.append(distinct.frequent(cell_sizes, least))
        return replace(self, choices=tuple(merged))

    def candidates(self, depth: int | None = None) -> int:
        """Return how many rules of at most `depth` features there are.

        Rules that cover the same rows are counted each.
        """
        rules = []
        for choices in self.choices:
            copies = choices.copies.sum()
            rules.append(int(copies))
        by_size = _by_size(rules)
        return sum(by_size[:depth])

    def rule_sets(self) -> list[int]:
        """Return how many rule sets take one, two and more features.

        >>> from evenhand.methods.mine.conditions import Choices
        >>> from evenhand.space.feature import category
        >>> sex = Choices.of(category("sex", ["a", "b"]), np.array([]))
        >>> race = Choices.of(category("race", ["a", "b"]), np.array([]))
        >>> Cube.of([sex, race], [np.zeros(1), np.zeros(1)]).rule_sets()
        [4, 4]
        """
        return _by_size(list(map(len, self.choices)))

    def covering_all(self, position: int, sizes: Floats) -> int:
        """Return how many choices of a feature cover everybody."""
        choices = self.choices[position]
        is_there = self._cell_sizes(position, sizes) > 0
        covers_all = choices.picks[:, is_there].all(axis=1)
        return int(choices.copies[covers_all].sum())

    def _features(self, family: Family) -> list[Choices]:
        """Return the choices of each feature of a family."""
        return [self.choices[position] for position in family]

    def _cell_sizes(self, position: int, sizes: Floats) -> Floats:
        """Return the rows, or their weight, in each cell of one feature."""
        cells = self.choices[position].width
        codes = self.codes[:, position]
        cell_sizes = np.bincount(codes, weights=sizes, minlength=cells)
        return cell_sizes.astype(np.float64)

    def _check_size(self, family: Family) -> None:
        """Refuse a family of more rule sets or cells than memory holds."""
        rule_sets = self.size(family)
        choices = self._features(family)
        widths = [feature.width for feature in choices]
        cells = math.prod(widths)
        if max(rule_sets, cells) <= MOST_ENTRIES:
            return
        names = [feature.feature.name for feature in choices]
        listed = ", ".join(names)
        features = clip(listed, 300)
        most = number_text.count(MOST_ENTRIES)
        if rule_sets > MOST_ENTRIES:
            raise SpaceError(
                messages.TOO_MANY_RULE_SETS.format(
                    features=features,
                    count=count(rule_sets),
                    most=most,
                )
            )
        raise SpaceError(
            messages.TOO_MANY_CELLS.format(
                features=features,
                count=count(cells),
                most=most,
            )
        )


def _by_size(choices: Sequence[int]) -> list[int]:
    """Return how many ways there are to take one of the choices of one, two and more features."""
    # The coefficients of the product of (1 + number · x) over the features, lowest power first.
    ways = [1] + [0] * len(choices)
    for number in choices:
        more = [1]
        for size in range(1, len(ways)):
            without_feature = ways[size]
            with_feature = ways[size - 1] * number
            more.append(without_feature + with_feature)
        ways = more
    return ways[1:]


def _numbered(key: Integers, possible: int) -> tuple[Indices, Indices]:
    """Return a row of each value of a key, and for every row the number of its value.

    All keys are less than `possible`.
    """
    if possible > _NARROW:
        distinct = np.unique(key, return_index=True, return_inverse=True)
        _, first_rows, index = distinct
        return first_rows, index
    # A table of all possible keys is much faster than sorting, as long as it is small.
    row_of = np.full(possible, -1, dtype=np.intp)
    row_of[key] = np.arange(len(key))
    occurs = row_of >= 0
    numbers = np.cumsum(occurs) - 1
    return row_of[occurs], numbers[key]
