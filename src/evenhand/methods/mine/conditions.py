"""Choices: the rules on one sensitive feature, of which rule sets are made (TestSGD, 4.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.space.distribution import Part
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
    Cuts = int | list[float]

BINNINGS = ("width", "quantiles")
MOST_SUBSETS = 1_000
"""How many subsets of a category's levels are taken where nothing is said of their size."""
MOST_PICKS = 100_000_000
"""The most entries of a table of choices and cells."""
_DIGITS = 15
"""A double holds that many digits; edges that need more to be told apart are left as they are."""
_SLACK = 1e-6
"""The part of a step by which an edge may miss a value of its feature, for rounding."""
_WEIGHT_SLACK = 1e-12
"""The part by which a sum of weights may miss a threshold, for rounding."""


@dataclass(frozen=True, eq=False)
class Choices:
    """The rules on one feature: subsets of a category's levels, or intervals of a number's bins.

    TestSGD, section 4.1: a rule on a category is a subset of its values, a rule on a number a set
    of adjacent bins.

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
        _check_binning(binning)
        most_levels = _checked_levels(levels)
        cuts = _checked_bins(feature, bins)
        edges: tuple[float, ...] = ()
        if feature.kind == "category":
            picks = _subsets(feature, most_levels)
        else:
            edges = _edges(feature, column, cuts, binning)
            picks = _intervals(len(edges) - 1)
        copies = np.ones(len(picks), dtype=np.int64)
        return cls(feature, edges, picks, copies)

    def __len__(self) -> int:
        return len(self.picks)

    @property
    def width(self) -> int:
        """The number of cells, that is levels or bins."""
        return int(self.picks.shape[1])

    @cached_property
    def weights(self) -> Floats:
        """The table of picks as numbers, cells by choices, for products with sums over cells."""
        return np.ascontiguousarray(self.picks.T, dtype=np.float64)

    def cells(self, column: Floats) -> Indices:
        """Return the cell, a level or a bin, that each encoded value lies in."""
        if self.feature.kind == "category":
            return column.astype(np.intp)
        inner_edges = self.edges[1:-1]
        return np.searchsorted(inner_edges, column, side="right")

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
            lows = self.values()
            highs = self._last_values()
            ends = zip(lows, highs, strict=True)
            conditions = [Condition("", low, high) for low, high in ends]
        return [condition.value_text for condition in conditions]

    def _last_values(self) -> list[Any]:
        """Return the number that each bin ends with."""
        feature = self.feature
        highs = np.array(self.edges[1:])
        if math.isfinite(feature.size):
            # The upper edge is the first value of the next bin; people read the last of this one.
            step = float(feature.step or 1.0)
            highs = feature.snap(highs - step)
            highs[-1] = _highest_value(feature)
        return list(feature.numbers(highs).tolist())

    def values(self) -> list[Any]:
        """Return what identifies each cell: its level, or the number that its bin starts with.

        >>> from evenhand.space.feature import category, integer
        >>> Choices.of(integer("age", 18, 90), np.array([]), bins=[40, 60]).values()
        [18, 40, 60]
        >>> Choices.of(category("sex", ["F", "M"]), np.array([])).values()
        ['F', 'M']
        """
        if self.feature.kind == "category":
            return list(self.feature.levels)
        lower_edges = np.array(self.edges[:-1])
        return list(self.feature.numbers(lower_edges).tolist())

    def condition(self, choice: int) -> Condition:
        """Return a choice as a condition of a rule.

        An interval that reaches an end of the range is open there.
        """
        name = self.feature.name
        picked = self.picks[choice]
        taken = np.flatnonzero(picked).tolist()
        if self.feature.kind == "category":
            levels = tuple(self.feature.levels[cell] for cell in taken)
            return Condition(name, levels=levels)
        first_cell = taken[0]
        last_cell = taken[-1]
        lower_edge = self.edges[first_cell]
        upper_edge = self.edges[last_cell + 1]
        ends = np.array([lower_edge, upper_edge])
        low, below = self.feature.numbers(ends).tolist()
        if first_cell == 0:
            low = None
        if last_cell == self.width - 1:
            below = None
        return Condition(name, low=low, below=below)

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
        reaches_high_end = self.picks[:, -1]
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


def _check_binning(binning: Any) -> None:
    """Refuse an unknown way to cut numbers into bins."""
    if binning not in BINNINGS:
        choices = nearest(binning, BINNINGS)
        raise UsageError(
            messages.UNKNOWN_BINNING.format(binning=clip(repr(binning)), choices=choices)
        )


def _checked_levels(levels: Any) -> int | None:
    """Return the most levels that a choice names, checked."""
    most = plain(levels)
    if most is None:
        return None
    if not is_whole(most, least=1):
        shown = clip(repr(most))
        raise UsageError(messages.LEVELS_NOT_WHOLE.format(levels=shown))
    return int(most)


def is_whole(value: Any, *, least: int) -> bool:
    """Return whether a value is a whole number of `least` or more; truth values are not numbers.

    >>> is_whole(2, least=1), is_whole(True, least=1), is_whole(2.5, least=1)
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return value >= least


def _checked_bins(feature: Feature, bins: Any) -> Cuts:
    """Return the number of bins or the cut points, checked."""
    bins = plain(bins)
    if is_whole(bins, least=2):
        return int(bins)
    cuts: list[Any] = []
    if isinstance(bins, Iterable) and not isinstance(bins, str | bytes):
        cuts = [plain(cut) for cut in bins]
    finite = all(map(_is_finite, cuts))
    if not cuts or not finite or not _is_rising(cuts):
        shown = clip(repr(bins))
        raise UsageError(messages.BINS_NOT_VALID.format(bins=shown))
    if feature.kind != "category":
        for cut in cuts:
            _check_cut(feature, cut)
    return cuts


def _check_cut(feature: Feature, cut: float) -> None:
    """Refuse a cut point outside of the range of its feature."""
    if not feature.low <= cut <= feature.high:
        raise UsageError(
            messages.CUT_OUTSIDE_RANGE.format(
                cut=repr(cut),
                feature=repr(feature.name),
                domain=feature.domain,
            )
        )


def _is_finite(cut: Any) -> bool:
    if isinstance(cut, bool) or not isinstance(cut, int | float):
        return False
    return math.isfinite(cut)


def _is_rising(cuts: Sequence[float]) -> bool:
    pairs = itertools.pairwise(cuts)
    return all(lower < upper for lower, upper in pairs)


def _highest_value(feature: Feature) -> float:
    """Return the highest value that a number takes; its step may end below its range."""
    values = Part.uniform(0, feature)
    return float(values.high[0, 0])


def _edges(feature: Feature, column: Floats, bins: Cuts, binning: str) -> tuple[float, ...]:
    """Return the edges of a number's bins, each of which holds some of its values."""
    if isinstance(bins, int) and binning == "width":
        bins = _declared_bins(feature, bins)
    cells = int(min(bins, feature.size)) if isinstance(bins, int) else len(bins) + 1
    _check_intervals(feature, cells)
    low = float(feature.low)
    top = _highest_value(feature)
    if isinstance(bins, int) and feature.size <= bins:
        # Each value has a bin of its own, and the last one an edge beyond it.
        step = float(feature.step or 1.0)
        return (*feature.values().tolist(), top + step)
    cuts = _cut_points(feature, column, bins, binning)
    above_low = cuts > low
    below_high = cuts < feature.high
    cuts = np.unique(cuts[above_low & below_high])
    if feature.step is not None:
        return _edges_on_steps(feature, cuts, float(feature.step), top)
    edges = np.array([low, *cuts, top])
    if isinstance(bins, int):
        edges = _rounded(edges)
    return tuple(edges.tolist())


def _declared_bins(feature: Feature, bins: int) -> Cuts:
    """Return the bins that a feature declares, which come before a number of bins."""
    declared = feature.bins
    if declared is None:
        return bins
    if isinstance(declared, int):
        return declared
    return list(declared)


def _check_intervals(feature: Feature, cells: int) -> None:
    """Refuse more intervals of bins than a table holds."""
    intervals = cells * (cells + 1) // 2 - 1
    if intervals * cells <= MOST_PICKS:
        return
    most = MOST_PICKS // cells
    raise SpaceError(
        messages.TOO_MANY_BINS.format(
            feature=repr(feature.name),
            choices=count(intervals),
            cells=number_text.count(cells),
            most=count(most),
        )
    )


def _cut_points(feature: Feature, column: Floats, bins: Cuts, binning: str) -> Floats:
    """Return where a number is cut: where the user says, at equal widths, or at quantiles."""
    if not isinstance(bins, int):
        return np.array(bins, dtype=np.float64)
    if binning == "width":
        # The paper's own bins, of which it takes 10 (section 4.1).
        low = float(feature.low)
        high = float(feature.high)
        return np.linspace(low, high, bins + 1)
    if not len(column):
        name = repr(feature.name)
        raise DataError(messages.QUANTILES_NEED_ROWS.format(feature=name))
    shares = np.linspace(0, 1, bins + 1)
    inner_shares = shares[1:-1]
    return np.asarray(np.quantile(column, inner_shares))


def _edges_on_steps(feature: Feature, cuts: Floats, step: float, top: float) -> tuple[float, ...]:
    """Return edges that are values of a feature with steps: a cut moves up to the next value."""
    low = float(feature.low)
    steps = (cuts - low) / step
    whole_steps = np.ceil(steps - _SLACK)
    values = feature.snap(whole_steps * step + low)
    above_low = values > low
    up_to_top = values <= top
    inner = np.unique(values[above_low & up_to_top])
    # A bin of the highest value alone needs an edge beyond it.
    last = top + step if top in inner else top
    return (low, *inner.tolist(), last)


def _rounded(edges: Floats) -> Floats:
    """Return edges with only as many decimals as tell them apart.

    A text is then short, and true to the last digit.
    """
    narrowest = np.diff(edges).min()
    decimals = 5 - math.floor(math.log10(narrowest))
    digits_before = math.log10(np.abs(edges).max())
    if decimals + digits_before < _DIGITS:
        inner_edges = edges[1:-1]
        edges[1:-1] = np.round(inner_edges, max(decimals, 0))
    return edges


def _intervals(cells: int) -> Flags:
    """Return every run of adjacent cells but that of all, by start and then by end."""
    start, last = np.triu_indices(cells)
    cell = np.arange(cells)
    from_start = cell >= start[:, None]
    up_to_last = cell <= last[:, None]
    picks = from_start & up_to_last
    proper = ~picks.all(axis=1)
    return np.asarray(picks[proper])


def _subsets(feature: Feature, levels: int | None) -> Flags:
    """Return subsets of the levels of a category, by their number and then in their order."""
    total = len(feature.levels)
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
