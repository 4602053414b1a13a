"""Choices: the rules on one sensitive feature, of which rule sets are made (TestSGD, 4.1)."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.bins import (
    MOST_PICKS,
    check_binning,
    checked_bins,
    edges_of,
    highest_value,
    is_whole,
)
from evenhand.runtime import number_text
from evenhand.runtime.errors import SpaceError, UsageError, clip
from evenhand.space.feature import count, plain
from evenhand.space.rule import Condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Integers = NDArray[np.int64]

MOST_SUBSETS = 1_000
"""How many subsets of a category's levels are taken where nothing is said of their size."""
_WEIGHT_SLACK = 1e-12
"""The part by which a sum of weights may miss a threshold, for rounding."""


@dataclass(frozen=True, eq=False)
class Choices:
    """The rules on one feature: subsets of a category's levels, or intervals of a number's bins.

    TestSGD, section 4.1: a rule on a category is a subset of its values, a rule on a number a set
    of adjacent bins. A missing value is one more level of a category, and of a number a choice of
    its own.

    Parameters
    ----------
    edges
        None of a category, else rising: bin `j` is ``edges[j] <= x < edges[j + 1]``, the last one
        with its upper edge.
    picks
        Which cells, that is levels or bins, each choice takes: one row for each choice.
    copies
        How many rules each choice stands for, those that cover the same rows.

    Examples
    --------
    >>> from evenhand.space.feature import integer
    >>> ages = Choices.of(integer("age", 18, 90), np.array([]), bins=[40, 60])
    >>> [ages.condition(choice).text for choice in range(len(ages))]
    ['age < 40', 'age < 60', '40 <= age < 60', 'age at least 40', 'age at least 60']
    """

    feature: Feature
    edges: tuple[float, ...]
    picks: Flags
    copies: Integers

    @classmethod
    def of(
        cls,
        feature: Feature,
        column: Floats,
        *,
        bins: int | Sequence[float] = 10,
        binning: str = "width",
        levels: int | None = None,
    ) -> Choices:
        """Make every choice of a feature; none where it has one value only.

        Parameters
        ----------
        column
            The encoded values in the data, for quantiles.
        bins
            The number of bins of a number, or rising cut points; bins that the feature declares
            come before a number.
        binning
            ``"width"`` for bins of equal width, ``"quantiles"`` for bins of about as many rows
            each.
        levels
            The most levels that a choice may name; by default all subsets, or where they are over a
            thousand those of few levels and those that leave few levels out.

        Examples
        --------
        >>> from evenhand.space.feature import category
        >>> sexes = Choices.of(category("sex", ["F", "M"]), np.array([]))
        >>> sexes.picks.tolist()
        [[True, False], [False, True]]
        """
        check_binning(binning)
        most_levels = _checked_levels(levels)
        cuts = checked_bins(feature, bins)
        edges: tuple[float, ...] = ()
        if feature.kind == "category":
            picks = _subsets(feature, most_levels)
        else:
            known = column[~feature.is_missing(column)]
            edges = edges_of(feature, known, cuts, binning)
            picks = _intervals(len(edges) - 1)
            if feature.missing:
                picks = _with_missing(picks)
        copies = np.ones(len(picks), dtype=np.int64)
        return cls(feature, edges, picks, copies)

    def __len__(self) -> int:
        return len(self.picks)

    @property
    def width(self) -> int:
        """The number of cells: levels or bins, and one for what may be missing."""
        return int(self.picks.shape[1])

    @property
    def known(self) -> int:
        """The number of cells of known values; the one of the missing comes after them."""
        return self.width - bool(self.feature.missing)

    @cached_property
    def weights(self) -> Floats:
        """The table of picks as numbers, cells by choices, for products with sums over cells."""
        return np.ascontiguousarray(self.picks.T, dtype=np.float64)

    @property
    def terms(self) -> Integers:
        """How many values each choice names: levels or those left out, or ends of an interval.

        >>> from evenhand.space.feature import integer
        >>> Choices.of(integer("age", 18, 90), np.array([]), bins=[40, 60]).terms.tolist()
        [1, 1, 2, 1, 1]
        """
        taken = self.picks.sum(axis=1)
        if self.feature.kind == "category":
            return np.asarray(np.minimum(taken, self.width - taken))
        open_below = self.picks[:, 0]
        open_above = self.picks[:, self.known - 1]
        return np.asarray(2 - open_below.astype(np.int64) - open_above)

    def cells(self, column: Floats) -> Indices:
        """Return the cell, a level or a bin, that each encoded value lies in."""
        if self.feature.kind == "category":
            return column.astype(np.intp)
        inner_edges = self.edges[1:-1]
        bins = np.searchsorted(inner_edges, column, side="right")
        if not self.feature.missing:
            return bins
        return np.where(self.feature.is_missing(column), self.known, bins)

    def labels(self) -> list[str]:
        """Return each cell in words.

        >>> from evenhand.space.feature import integer, real
        >>> Choices.of(integer("age", 18, 90), np.array([]), bins=[40, 60]).labels()
        ['18 to 39', '40 to 59', '60 to 90']
        >>> Choices.of(real("rate", 0, 1), np.array([]), bins=3).labels()
        ['0 to 0.333333', '0.333333 to 0.666667', '0.666667 to 1']
        """
        if self.feature.kind == "category":
            conditions = [Condition("", levels=(level,)) for level in self.feature.levels]
        else:
            lows = self._first_values()
            highs = self._last_values()
            ends = zip(lows, highs, strict=True)
            is_date = self.feature.kind == "date"
            conditions = [Condition("", low, high, dated=is_date) for low, high in ends]
        named = [condition.named_by(self.feature) for condition in conditions]
        labels = [condition.value_text for condition in named]
        if self.feature.missing:
            labels.append(self.feature.missing_word)
        return labels

    def _last_values(self) -> list[Any]:
        """Return the number that each bin ends with."""
        feature = self.feature
        highs = np.array(self.edges[1:])
        if math.isfinite(feature.size):
            # The upper edge is the first value of the next bin; people read the last of this one.
            step = float(feature.step or 1.0)
            highs = feature.snap(highs - step)
            highs[-1] = highest_value(feature)
        return list(feature.numbers(highs).tolist())

    def values(self) -> list[Any]:
        """Return what identifies each cell: its level, or the number that its bin starts with.

        What is missing is None, and a date is its day.

        >>> from evenhand.space.feature import category, integer
        >>> Choices.of(integer("age", 18, 90), np.array([]), bins=[40, 60]).values()
        [18, 40, 60]
        >>> Choices.of(category("sex", ["F", "M"]), np.array([])).values()
        ['F', 'M']
        """
        if self.feature.kind == "category":
            values = list(self.feature.levels)
        else:
            values = self._first_values()
        return [*values, None] if self.feature.missing else values

    def _first_values(self) -> list[Any]:
        """Return the number that each bin starts with."""
        lower_edges = np.array(self.edges[:-1])
        return list(self.feature.numbers(lower_edges).tolist())

    def condition(self, choice: int) -> Condition:
        """Return a choice as a condition of a rule.

        An interval that reaches an end of the range is open there.
        """
        name = self.feature.name
        picked = self.picks[choice]
        taken = np.flatnonzero(picked).tolist()
        missing = self.known in taken
        if missing:
            taken.remove(self.known)
        if self.feature.kind == "category":
            levels = tuple(self.feature.levels[cell] for cell in taken)
            return Condition(name, levels=levels, missing=missing)
        if not taken:
            return Condition(name, missing=True)
        first_cell = taken[0]
        last_cell = taken[-1]
        lower_edge = self.edges[first_cell]
        upper_edge = self.edges[last_cell + 1]
        ends = np.array([lower_edge, upper_edge])
        low, below = self.feature.numbers(ends).tolist()
        if first_cell == 0:
            low = None
        if last_cell == self.known - 1:
            below = None
        is_date = self.feature.kind == "date"
        return Condition(name, low=low, below=below, missing=missing, dated=is_date)

    def merged(self, sizes: Floats) -> Choices:
        """Return the choices with those that cover the same rows merged into the simplest.

        Choices that cover no row or every row are left out. The simplest is the one that names or
        leaves out fewest levels; the tightest interval of those that reach an end of the range, or
        where none does, of all.

        Parameters
        ----------
        sizes
            The rows in each cell, or their weight.

        Examples
        --------
        >>> from evenhand.space.feature import category
        >>> races = Choices.of(category("race", ["White", "Black", "Other"]), np.array([]))
        >>> merged = races.merged(np.array([5, 5, 0]))
        >>> [merged.condition(choice).text for choice in range(len(merged))]
        ['race White', 'race Black']
        >>> merged.copies.tolist()
        [2, 2]
        """
        # Only cells with rows in them tell choices apart.
        covered = self.picks[:, sizes > 0]
        covers_some = covered.any(axis=1)
        covers_all = covered.all(axis=1)
        some = np.flatnonzero(covers_some & ~covers_all)
        if not len(some):
            return self._only(some)
        packed = np.packbits(covered[some], axis=1)
        _, inverse = np.unique(packed, axis=0, return_inverse=True)
        group = inverse.reshape(-1)
        # Sorted by group and within it by simplicity, the first of each group is the simplest.
        keys = self._simplicity[:, some]
        order = np.lexsort((*keys, group))
        _, starts = np.unique(group[order], return_index=True)
        simplest = order[starts]
        copies = np.zeros(len(simplest), dtype=np.int64)
        np.add.at(copies, group, self.copies[some])
        # Back into the order in which choices were made.
        original = np.argsort(simplest)
        kept = some[simplest[original]]
        picks = self.picks[kept]
        return replace(self, picks=picks, copies=copies[original])

    @property
    def _simplicity(self) -> Integers:
        """The sort keys that are least for the simplest choice, the most important one last.

        Choices with equal keys stay in order.
        """
        taken = self.picks.sum(axis=1)
        if self.feature.kind == "category":
            left_out = self.width - taken
            named = np.minimum(taken, left_out)
            return np.array([taken, named])
        reaches_low_end = self.picks[:, 0]
        reaches_high_end = self.picks[:, self.known - 1]
        reaches_end = reaches_low_end | reaches_high_end
        # Longer than any that reaches an end, so that those come first.
        length_inside = taken + self.width
        length = np.where(reaches_end, taken, length_inside)
        return np.array([length])

    def frequent(self, sizes: Floats, least: float) -> Choices:
        """Return the choices whose rows are at least `least`.

        A rule set with any other choice has fewer rows still (the support of Equation 2).

        >>> from evenhand.space.feature import category
        >>> sexes = Choices.of(category("sex", ["F", "M"]), np.array([]))
        >>> sexes.frequent(np.array([1.0, 9.0]), 5).condition(0).text
        'sex M'
        """
        # Less a trace, since sums of weights are rounded; what is left out here is never looked at
        # again.
        rows = sizes @ self.weights
        enough = rows >= least * (1 - _WEIGHT_SLACK)
        return self._only(np.flatnonzero(enough))

    def _only(self, kept: Indices) -> Choices:
        picks = self.picks[kept]
        copies = self.copies[kept]
        return replace(self, picks=picks, copies=copies)


def _checked_levels(levels: Any) -> int | None:
    """Return the most levels that a choice names, checked."""
    most = plain(levels)
    if most is None:
        return None
    if not is_whole(most, least=1):
        shown = clip(repr(most))
        raise UsageError(messages.LEVELS_NOT_WHOLE.format(levels=shown))
    return int(most)


def _intervals(cells: int) -> Flags:
    """Return every run of adjacent cells but that of all, by start and then by end."""
    start, last = np.triu_indices(cells)
    cell = np.arange(cells)
    from_start = cell >= start[:, None]
    up_to_last = cell <= last[:, None]
    picks = from_start & up_to_last
    proper = ~picks.all(axis=1)
    return np.asarray(picks[proper])


def _with_missing(intervals: Flags) -> Flags:
    """Return the intervals, and a last choice of what is missing, which no interval takes."""
    number, cells = intervals.shape
    picks = np.zeros((number + 1, cells + 1), dtype=np.bool_)
    picks[:number, :cells] = intervals
    picks[number, cells] = True
    return picks


def _subsets(feature: Feature, levels: int | None) -> Flags:
    """Return subsets of the levels of a category, by their number and then in their order."""
    # What may be missing is one more level.
    total = len(feature.levels) + bool(feature.missing)
    if levels is None:
        sizes = _default_sizes(total)
    else:
        largest = min(levels, total - 1)
        sizes = list(range(1, largest + 1))
    choices = _subset_count(total, sizes)
    if choices * total > MOST_PICKS:
        most = MOST_PICKS // total
        raise SpaceError(
            messages.TOO_MANY_LEVELS.format(
                feature=repr(feature.name),
                choices=count(choices),
                cells=number_text.count(total),
                most=count(most),
            )
        )
    none = np.zeros((0, total), dtype=np.bool_)
    made = [none]
    for size in sizes:
        if 2 * size <= total:
            made.append(_subsets_of_size(total, size))
        else:
            # The more levels are taken, the fewer are left out; the order of those is the other
            # way round.
            left_out = _subsets_of_size(total, total - size)
            made.append(~left_out[::-1])
    return np.concatenate(made)


def _default_sizes(total: int) -> list[int]:
    """Return how many levels choices take: any number, or of very many few or nearly all."""
    few = 1
    while 2 * few < total:
        larger = _sizes(total, few + 1)
        if _subset_count(total, larger) > MOST_SUBSETS:
            break
        few += 1
    return _sizes(total, few)


def _subset_count(total: int, sizes: Sequence[int]) -> int:
    return sum(math.comb(total, size) for size in sizes)


def _sizes(total: int, few: int) -> list[int]:
    """Return how many levels are taken where a choice names, or leaves out, at most `few`."""
    sizes = []
    for size in range(1, total):
        left_out = total - size
        if min(size, left_out) <= few:
            sizes.append(size)
    return sizes


def _subsets_of_size(total: int, size: int) -> Flags:
    combinations = list(itertools.combinations(range(total), size))
    taken = np.array(combinations, dtype=np.intp)
    number = len(taken)
    picks = np.zeros((number, total), dtype=np.bool_)
    rows = np.arange(number)
    picks[rows[:, None], taken] = True
    return picks
