"""Choices: the rules on one sensitive feature, from which rule sets are put together (TestSGD,
section 4.1).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.space.distribution import Part
from evenhand.space.feature import count, plain
from evenhand.space.rule import Condition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature

    Floats = NDArray[np.float64]

BINNINGS = ("width", "quantiles")
MOST_SUBSETS = 1_000
"""How many subsets of a category's levels are taken where nothing is said of their size."""
MOST_PICKS = 100_000_000
"""The most entries of a table of choices and cells."""
_DIGITS = 15
"""A double holds that many digits; edges that need more to be told apart are left as they are."""
_SLACK = 1e-6
"""The part of a step by which an edge may miss a value of its feature, for rounding."""


@dataclass(frozen=True, eq=False)
class Choices:
    """The rules on one feature: subsets of a category's levels, intervals of a number's bins
    (TestSGD, section 4.1).

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
    picks: NDArray[np.bool_]
    copies: NDArray[np.int64]

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
        >>> [list(pick) for pick in Choices.of(category("sex", ["F", "M"]), np.array([])).picks.tolist()]
        [[True, False], [False, True]]
        """
        bins, levels = _checked(feature, bins, binning, levels)
        if feature.kind == "category":
            picks = _subsets(feature, levels)
            return cls(feature, (), picks, np.ones(len(picks), dtype=np.int64))
        edges = _edges(feature, column, bins, binning)
        picks = _intervals(len(edges) - 1)
        return cls(feature, edges, picks, np.ones(len(picks), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.picks)

    @cached_property
    def weights(self) -> Floats:
        """The table of choices and cells as numbers, cells by choices, for products with sums over
        cells.
        """
        return np.ascontiguousarray(self.picks.T, dtype=np.float64)

    def cells(self, column: Floats) -> NDArray[np.intp]:
        """Return the cell, a level or a bin, that each encoded value lies in."""
        if self.feature.kind == "category":
            return column.astype(np.intp)
        return np.searchsorted(self.edges[1:-1], column, side="right")

    def labels(self) -> list[str]:
        """Return each cell in words.

        >>> from evenhand.space.feature import integer, real
        >>> Choices.of(integer("age", 18, 90), np.array([]), bins=[40, 60]).labels()
        ['18 to 39', '40 to 59', '60 to 90']
        >>> Choices.of(real("rate", 0, 1), np.array([]), bins=3).labels()
        ['0 to 0.333333', '0.333333 to 0.666667', '0.666667 to 1']
        """
        if self.feature.kind == "category":
            said = [Condition("", levels=(level,)) for level in self.feature.levels]
        else:
            highs = np.array(self.edges[1:])
            if math.isfinite(self.feature.size):
                highs = self.feature.snap(highs - float(self.feature.step or 1.0))
                highs[-1] = Part.uniform(0, self.feature).high[0, 0]
            ends = zip(self.values(), self.feature.numbers(highs).tolist(), strict=True)
            said = [Condition("", low, high) for low, high in ends]
        return [condition.value_text for condition in said]

    def values(self) -> list[Any]:
        """Return what tells each cell from the others: its level, or the number that its bin starts
        with.

        >>> from evenhand.space.feature import category, integer
        >>> Choices.of(integer("age", 18, 90), np.array([]), bins=[40, 60]).values()
        [18, 40, 60]
        >>> Choices.of(category("sex", ["F", "M"]), np.array([])).values()
        ['F', 'M']
        """
        if self.feature.kind == "category":
            return list(self.feature.levels)
        return list(self.feature.numbers(np.array(self.edges[:-1])).tolist())

    def condition(self, choice: int) -> Condition:
        """Return a choice as a condition of a rule; an interval that reaches an end of the range is
        open there.
        """
        taken = np.flatnonzero(self.picks[choice]).tolist()
        if self.feature.kind == "category":
            return Condition(
                self.feature.name, levels=tuple(self.feature.levels[cell] for cell in taken)
            )
        low, below = self.feature.numbers(
            np.array([self.edges[taken[0]], self.edges[taken[-1] + 1]])
        ).tolist()
        last = taken[-1] == len(self.edges) - 2
        return Condition(
            self.feature.name, low=low if taken[0] else None, below=None if last else below
        )

    def merged(self, sizes: Floats) -> Choices:
        """Return the choices without those that cover no row or every row, those that cover the
        same rows as one.

        The simplest of them stays: the one that names or leaves out fewest levels; the tightest
        interval of those that reach an end of the range, or where none does, of all.

        Parameters
        ----------
        sizes
            The rows in each cell, or their weight.

        Examples
        --------
        >>> from evenhand.space.feature import category
        >>> races = Choices.of(category("race", ["White", "Black", "Other"]), np.array([])).merged(np.array([5, 5, 0]))
        >>> [races.condition(choice).text for choice in range(len(races))], races.copies.tolist()
        (['race White', 'race Black'], [2, 2])
        """
        covered = self.picks[:, sizes > 0]
        some = np.flatnonzero(covered.any(axis=1) & ~covered.all(axis=1))
        if not len(some):
            return self._only(some)
        packed = np.packbits(covered[some], axis=1)
        same = np.unique(packed, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.lexsort((*self._plainness[:, some], same))
        firsts = order[np.unique(same[order], return_index=True)[1]]
        copies = np.zeros(len(firsts), dtype=np.int64)
        np.add.at(copies, same, self.copies[some])
        back = np.argsort(firsts)
        return replace(self, picks=self.picks[some[firsts[back]]], copies=copies[back])

    @property
    def _plainness(self) -> NDArray[np.int64]:
        """What is least for the simplest choice, the last row first; equal ones stay in order."""
        taken = self.picks.sum(axis=1)
        if self.feature.kind == "category":
            return np.array([taken, np.minimum(taken, self.picks.shape[1] - taken)])
        return np.array(
            [np.where(self.picks[:, 0] | self.picks[:, -1], taken, taken + self.picks.shape[1])]
        )

    def frequent(self, sizes: Floats, least: float) -> Choices:
        """Return the choices whose rows are at least `least`; rule sets with any other have fewer
        rows still.

        >>> from evenhand.space.feature import category
        >>> sexes = Choices.of(category("sex", ["F", "M"]), np.array([]))
        >>> sexes.frequent(np.array([1.0, 9.0]), 5).condition(0).text
        'sex M'
        """
        # Less a trace, since sums of weights are rounded; what is left out here is never looked at
        # again.
        return self._only(np.flatnonzero(sizes @ self.weights >= least * (1 - 1e-12)))

    def _only(self, kept: NDArray[np.intp]) -> Choices:
        return replace(self, picks=self.picks[kept], copies=self.copies[kept])


def _checked(
    feature: Feature, bins: Any, binning: Any, levels: Any
) -> tuple[int | list[float], int | None]:
    """Return the number of bins or the cut points, and the most levels, or say which of them is
    wrong.
    """
    bins, levels = plain(bins), plain(levels)
    if binning not in BINNINGS:
        raise UsageError(f"unknown binning {clip(repr(binning))}; {nearest(binning, BINNINGS)}")
    if levels is not None and (
        isinstance(levels, bool) or not isinstance(levels, int) or levels < 1
    ):
        raise UsageError(f"levels = {clip(repr(levels))} must be a whole number of 1 or more")
    if isinstance(bins, int) and not isinstance(bins, bool) and bins >= 2:
        return bins, levels
    cuts = (
        [plain(cut) for cut in bins]
        if isinstance(bins, Iterable) and not isinstance(bins, str | bytes)
        else []
    )
    numbers = all(
        isinstance(cut, int | float) and not isinstance(cut, bool) and math.isfinite(cut)
        for cut in cuts
    )
    if not cuts or not numbers or any(one >= other for one, other in itertools.pairwise(cuts)):
        raise UsageError(
            f"bins = {clip(repr(bins))} must be a whole number of 2 or more, or a rising list of"
            " cut points"
        )
    if feature.kind != "category":
        for cut in cuts:
            if not feature.low <= cut <= feature.high:
                raise UsageError(
                    f"bins has the cut point {cut!r}, but {feature.name!r} takes {feature.domain}"
                )
    return cuts, levels


def _edges(
    feature: Feature, column: Floats, bins: int | list[float], binning: str
) -> tuple[float, ...]:
    """Return the edges of a number's bins, each of which holds some of its values."""
    if isinstance(bins, int) and binning == "width" and feature.bins is not None:
        bins = feature.bins if isinstance(feature.bins, int) else list(feature.bins)
    cells = int(min(bins, feature.size)) if isinstance(bins, int) else len(bins) + 1
    _room(feature, cells * (cells + 1) // 2 - 1, cells, "bins")
    low, top = float(feature.low), float(Part.uniform(0, feature).high[0, 0])
    step = None if feature.step is None else float(feature.step)
    if isinstance(bins, int) and feature.size <= bins:
        return (*feature.values().tolist(), top + (step or 1.0))
    if not isinstance(bins, int):
        cuts = np.array(bins, dtype=np.float64)
    elif binning == "width":
        cuts = np.linspace(low, float(feature.high), bins + 1)
    elif len(column):
        cuts = np.quantile(column, np.linspace(0, 1, bins + 1)[1:-1])
    else:
        raise DataError(f"quantile bins of {feature.name!r} need rows, and there are none")
    cuts = np.unique(cuts[(cuts > low) & (cuts < feature.high)])
    if step is not None:
        cuts = feature.snap(np.ceil((cuts - low) / step - _SLACK) * step + low)
        cuts = np.unique(cuts[(cuts > low) & (cuts <= top)])
        # A bin of the highest value alone needs an edge beyond it.
        return (low, *cuts.tolist(), top + step if top in cuts else top)
    edges = np.array([low, *cuts, top])
    if isinstance(bins, int):
        # As many decimals as tell the edges apart: a text is then short, and true to the last
        # digit.
        decimals = 5 - math.floor(math.log10(np.diff(edges).min()))
        if decimals + math.log10(np.abs(edges).max()) < _DIGITS:
            edges[1:-1] = np.round(edges[1:-1], max(decimals, 0))
    return tuple(edges.tolist())


def _intervals(cells: int) -> NDArray[np.bool_]:
    """Return every run of adjacent cells but that of all, by start and then by end."""
    start, last = np.triu_indices(cells)
    cell = np.arange(cells)
    picks = (cell >= start[:, None]) & (cell <= last[:, None])
    return picks[~picks.all(axis=1)]


def _subsets(feature: Feature, levels: int | None) -> NDArray[np.bool_]:
    """Return subsets of the levels of a category, by the number of levels and then in their order."""
    total = len(feature.levels)
    if levels is None:
        few = 1
        while (
            2 * few < total
            and sum(math.comb(total, size) for size in _sizes(total, few + 1)) <= MOST_SUBSETS
        ):
            few += 1
        sizes = _sizes(total, few)
    else:
        sizes = list(range(1, min(levels, total - 1) + 1))
    _room(feature, sum(math.comb(total, size) for size in sizes), total, "levels")
    # The more levels are taken, the fewer are left out; the order of those is the other way round.
    made = [
        _of_size(total, size) if 2 * size <= total else ~_of_size(total, total - size)[::-1]
        for size in sizes
    ]
    return np.concatenate([np.zeros((0, total), dtype=np.bool_), *made])


def _sizes(total: int, few: int) -> list[int]:
    """Return how many levels are taken where a choice names, or leaves out, at most `few`."""
    return [size for size in range(1, total) if size <= few or total - size <= few]


def _of_size(total: int, size: int) -> NDArray[np.bool_]:
    taken = np.array(list(itertools.combinations(range(total), size)), dtype=np.intp)
    picks = np.zeros((len(taken), total), dtype=np.bool_)
    picks[np.arange(len(taken))[:, None], taken] = True
    return picks


def _room(feature: Feature, choices: int, cells: int, what: str) -> None:
    if choices * cells > MOST_PICKS:
        raise SpaceError(
            f"{feature.name!r} has {count(choices)} choices among {cells:,} {what}, over the "
            f"{count(MOST_PICKS // cells)} that are compared; take fewer {what}"
        )
