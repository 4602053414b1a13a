"""One feature in bins, and the score by which the best of them are chosen for a rule.

Choices are told from chance by their likelihood; of those that are, the one with the highest score
is taken.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.rule import Condition

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.arrays import Flags, Indices, Numbers
    from evenhand.space.feature import Feature

_NAMED = 6
"""The most levels that a condition names or leaves out."""
_WEIGHT = 3.0
"""How much more it counts to hold twice the inputs than half the space.

Less would cut rules to chance clusters.
"""
_SINGLE = 100
"""Up to how many values have bins of their own."""
_CUTS = 64
"""Into how many cuts more values are divided."""
_GAPS = 16
"""How many of the widest gaps between more values are bins."""
_FEWEST = 5
"""The fewest inputs that a condition keeps, since bins are cut where inputs are."""
_LEAST = 0.15
"""The least share that a condition keeps of the inputs that meet the others."""
_NARROWEST = 0.01
"""The narrowest range of a feature of many values that counts, as a share of all of it."""
_TINY = 1e-12
"""The least that a share counts for where it divides."""


def least_share(feature: Feature) -> float:
    """Return the smallest share of a feature's values that a condition on it counts for.

    >>> from evenhand.space.feature import integer
    >>> least_share(integer("age", 18, 90)), least_share(integer("income", 0, 100_000))
    (0.0, 0.01)
    """
    return 0.0 if feature.size <= _SINGLE else _NARROWEST


def score(hits: Any, share: Any) -> Any:
    """Return the logarithm of the score of a rule.

    `hits` is the share of the inputs that it holds, `share` that of the space.

    >>> bool(score(0.5, 0.1) < score(1.0, 0.2)), bool(score(0.5, 0.1) > score(1.0, 0.9))
    (True, True)
    """
    log_hits = np.log(np.maximum(hits, 1e-300))
    log_share = np.log(np.maximum(share, 1e-300))
    held = _WEIGHT * log_hits - log_share
    return np.where(np.asarray(hits) > 0, held, -np.inf)


@dataclass(frozen=True)
class Axis:
    """One feature in bins.

    There is a bin for each level or value; where values are many, they are cut where the inputs
    are. What may be missing has one more bin, the last.

    >>> from evenhand.space.feature import integer
    >>> axis = Axis(integer("age", 0, 9), np.array([3.0, 4.0]))
    >>> counts = np.bincount(axis.of(axis.values), minlength=10)
    >>> np.flatnonzero(axis.choose(counts, axis.shares, doubt=3.0)).tolist()
    [3, 4]
    """

    feature: Feature
    values: Numbers

    @cached_property
    def _counted(self) -> bool:
        return math.isfinite(self.feature.size)

    def _scaled(self, column: Numbers) -> Numbers:
        """Return values as their number among all values of the feature.

        Where those cannot be listed, values stay as they are.
        """
        if not self._counted or self.feature.kind == "category":
            return column
        step = self.feature.step or 1.0
        return np.round((column - self.feature.low) / step)

    @cached_property
    def edges(self) -> Numbers:
        """Where bins begin, but for the first."""
        # Levels have no order in which they could be cut.
        if self.feature.size <= _SINGLE or self.feature.kind == "category":
            return np.arange(1.0, float(self.feature.size))
        known = self.values[~self.feature.is_missing(self.values)]
        if not len(known):
            return np.zeros(0)
        places = np.unique(self._scaled(known))
        after = places + 1.0 if self._counted else np.nextafter(places, np.inf)
        cuts = np.quantile(places, np.linspace(0, 1, _CUTS), method="nearest")
        gap_sizes = places[1:] - after[:-1]
        widest = np.argsort(gap_sizes, kind="stable")[-_GAPS:]
        gap_starts = after[widest]
        gap_ends = places[widest + 1]
        ends = [cuts, after[-1:], gap_starts, gap_ends]
        return np.unique(np.concatenate(ends))

    def of(self, column: Numbers) -> Indices:
        """Return the bin of each value."""
        bins = np.searchsorted(self.edges, self._scaled(column), side="right")
        if not self.feature.missing:
            return bins
        return np.where(self.feature.is_missing(column), len(self.edges) + 1, bins)

    @cached_property
    def shares(self) -> Numbers:
        """The share of the feature's values in each bin."""
        if self._counted:
            low = 0.0
            high = float(self.feature.size)
        else:
            low = self.feature.low
            high = self.feature.high
        widths = np.diff([low, *self.edges, high])
        known = np.maximum(widths, 0.0) / (high - low)
        if not self.feature.missing:
            return known
        share = self.feature.missing_share
        return np.append(known * (1 - share), share)

    @cached_property
    def _ranges(self) -> tuple[Indices, Indices]:
        """The first bin of every range of bins, and the one after its last."""
        first, last = np.triu_indices(len(self.edges) + 2, 1)
        if not self.feature.missing:
            return first, last
        # No range of known values holds what is missing, which is a range of its own.
        only_missing = len(self.edges) + 1
        return np.append(first, only_missing), np.append(last, only_missing + 1)

    @property
    def least(self) -> float:
        """The smallest share that a condition counts for.

        Inputs that share a rare value may do so by descent: one was made of the other.
        """
        return least_share(self.feature)

    def choose(self, counts: NDArray[Any], shares: Numbers, doubt: float) -> Flags:
        """Return the bins with the highest score: any levels of a category, neighbours of a number.

        All bins are returned where chance, and the choice among many, explain that so many inputs
        are in few of them.
        """
        total = int(counts.sum())
        everything = np.ones(len(counts), dtype=np.bool_)
        if not total:
            return everything
        choices: _LevelChoices | _RangeChoices
        if self.feature.kind == "category":
            choices = self._level_choices(counts, shares)
        else:
            choices = self._range_choices(counts, shares)
        surprising = np.flatnonzero(_surprise(choices.hits, total, choices.shares) > doubt)
        if not len(surprising):
            return everything
        scores = score(choices.hits[surprising], choices.shares[surprising])
        best = int(surprising[np.argmax(scores)])
        return choices.bins(best)

    def _level_choices(self, counts: NDArray[Any], shares: Numbers) -> _LevelChoices:
        """Return the sets of levels among which the best is: the densest, the two densest etc."""
        density = counts / np.maximum(shares, _TINY)
        densest_first = np.argsort(-density, kind="stable")
        lengths = np.arange(1, len(densest_first) + 1)
        # A rule names few levels, or all but a few.
        readable = (lengths <= _NAMED) | (lengths >= len(densest_first) - _NAMED)
        lengths = lengths[readable]
        return _LevelChoices(
            hits=np.cumsum(counts[densest_first])[lengths - 1],
            shares=np.cumsum(shares[densest_first])[lengths - 1],
            order=densest_first,
            lengths=lengths,
        )

    def _range_choices(self, counts: NDArray[Any], shares: Numbers) -> _RangeChoices:
        """Return every range of neighbouring bins."""
        first, last = self._ranges
        hits_before = np.append(0, np.cumsum(counts))
        share_before = np.append(0.0, np.cumsum(shares))
        range_shares = share_before[last] - share_before[first]
        return _RangeChoices(
            hits=hits_before[last] - hits_before[first],
            shares=np.maximum(range_shares, self.least),
            first=first,
            last=last,
            size=len(counts),
        )

    def condition(self, chosen: Flags, inside: Flags) -> Condition:
        """Return the chosen bins as a condition.

        The ends of a range are those of the inputs inside, rounded.
        """
        if self.feature.kind != "category":
            return self._range_condition(chosen, inside)
        levels = []
        known, missing = self._parted(chosen)
        for level, is_chosen in zip(self.feature.levels, known.tolist(), strict=True):
            if is_chosen:
                levels.append(level)
        return Condition(self.feature.name, levels=tuple(levels), missing=missing)

    def _parted(self, chosen: Flags) -> tuple[Flags, bool]:
        """Return the chosen bins of known values, and whether that of the missing is chosen."""
        known = len(self.edges) + 1
        return chosen[:known], bool(chosen[known:].any())

    def _range_condition(self, chosen: Flags, inside: Flags) -> Condition:
        chosen, with_missing = self._parted(chosen)
        values = self.values[inside]
        values = values[~self.feature.is_missing(values)]
        if not chosen.any() or not len(values):
            return Condition(self.feature.name, missing=with_missing)
        step = float(self.feature.step or 0.0)
        low = float(values.min())
        high = float(values.max())
        first = self.feature.low
        last = self.feature.high
        # The ends of a sample lie inside those of what it was drawn from, by the mean gap between
        # two of its values.
        mean_gap = (high - low) / max(len(values) - 1, 1)
        gap = max(mean_gap - step, 0.0)
        if not self._counted:
            missing = _NARROWEST * (last - first) - (high - low)
            gap = max(gap, missing / 2)
        low = max(low - gap, first)
        high = min(high + gap, last)
        # An end that is near to that of the feature is no condition.
        near = (high - low) / 50
        from_the_first = chosen[0] or low - first <= near
        to_the_last = chosen[-1] or last - high <= near
        return Condition(
            self.feature.name,
            None if from_the_first else _rounded(low, near, step),
            None if to_the_last else _rounded(high, near, step),
            missing=with_missing,
        )


@dataclass(frozen=True)
class _LevelChoices:
    """Sets of levels to choose from: the first ones of an order, so many of them."""

    hits: NDArray[Any]
    shares: Numbers
    order: Indices
    lengths: Indices

    def bins(self, which: int) -> Flags:
        """Return the bins of a choice."""
        places = np.arange(len(self.order))
        return np.isin(places, self.order[: self.lengths[which]])


@dataclass(frozen=True)
class _RangeChoices:
    """Ranges of bins to choose from: the first bin of each, and the one after its last."""

    hits: NDArray[Any]
    shares: Numbers
    first: Indices
    last: Indices
    size: int

    def bins(self, which: int) -> Flags:
        """Return the bins of a choice."""
        places = np.arange(self.size)
        after_start = places >= self.first[which]
        before_end = places < self.last[which]
        return np.asarray(after_start & before_end)


def _surprise(hits: NDArray[Any], total: int, share: Numbers) -> Numbers:
    """Return how much likelier so many hits are by their own share than by that of the space.

    This is a logarithm: the binomial log likelihood ratio, for choices that hold more than their
    share of the space lets expect, and enough to speak of.
    """
    gain = np.zeros(len(hits))
    enough = min(total, max(_FEWEST, _LEAST * total))
    rows = np.flatnonzero((hits > share * total) & (hits >= enough))
    inside = hits[rows] / total
    expected = np.maximum(share[rows], _TINY)
    outside = np.maximum(1 - inside, _TINY)
    expected_outside = np.maximum(1 - expected, _TINY)
    outside_ratio = outside / expected_outside
    from_inside = inside * np.log(inside / expected)
    from_outside = (1 - inside) * np.log(outside_ratio)
    gain[rows] = total * (from_inside + from_outside)
    return gain


def _rounded(value: float, by: float, step: float) -> float:
    """Return a number of few digits that is no further from the value.

    >>> _rounded(30_113.0, 300.0, 1.0), _rounded(7.0, 0.1, 1.0)
    (30000.0, 7.0)
    """
    if 2 * by <= step or by <= 0:
        return value
    unit = 10.0 ** math.floor(math.log10(2 * by))
    if unit * 5 <= 2 * by:
        unit *= 5
    elif unit * 2 <= 2 * by:
        unit *= 2
    return float(f"{round(value / unit) * unit:.12g}")
