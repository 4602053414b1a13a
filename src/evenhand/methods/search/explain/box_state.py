"""A box on its way to the best: which conditions each input meets, kept up to date.

A condition that changes is counted again alone, so that the work of a change does not grow with the
number of conditions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search.explain.box_axis import Axis, score

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.search.arrays import Counts, Flags, Indices, Numbers

_FEW = 64
"""One in so many valid draws must meet the other conditions for shares to be taken of them."""


class _Met:
    """Which conditions (row) each input (column) meets, and how many each misses."""

    def __init__(self, chosen: Sequence[Flags], bins: Sequence[Indices]) -> None:
        self.bins = bins
        self.inside = np.stack([one[own] for one, own in zip(chosen, bins, strict=True)])
        self.missed = (~self.inside).sum(axis=0)

    def set(self, row: int, chosen: Flags) -> None:
        """Change one condition."""
        now = chosen[self.bins[row]]
        self.missed += self.inside[row]
        self.missed -= now
        self.inside[row] = now

    def others(self, row: int) -> Flags:
        """Return which inputs meet all conditions but one."""
        return np.asarray(self.missed - ~self.inside[row] == 0)

    @property
    def all(self) -> int:
        """How many inputs meet all conditions."""
        return int((self.missed == 0).sum())

    def without(self, rows: Indices) -> Counts:
        """Return how many inputs meet all conditions but one, for each of these."""
        almost = self.missed == 1
        only_here = ~self.inside[np.ix_(rows, almost)]
        return np.asarray(self.all + only_here.sum(axis=1))

    def without_two(self, rows: Indices) -> Counts:
        """Return how many inputs meet all conditions but two, for each two of these."""
        without = self.without(rows)
        both_missed = ~self.inside[np.ix_(rows, self.missed == 2)]
        weights = both_missed.astype(np.float64)
        only_both = (weights @ weights.T).astype(np.int64)
        return np.asarray(without[:, None] + without - self.all + only_both)


@dataclass(frozen=True, slots=True)
class Binned:
    """Inputs in the bins of axes."""

    axes: Sequence[Axis]
    bins: Sequence[Indices]
    """The bins of the inputs, of each axis."""
    valid: Mapping[int, Indices]
    """The bins of valid draws, of each axis that constraints tie to others."""

    @property
    def whole(self) -> list[Flags]:
        """The box that holds everything."""
        return [np.ones(len(axis.shares), dtype=np.bool_) for axis in self.axes]


class BoxState:
    """A box, with the counts that its score is made of.

    >>> from evenhand.space.feature import integer
    >>> axis = Axis(integer("age", 0, 9), np.array([3.0, 4.0]))
    >>> binned = Binned([axis], [axis.of(axis.values)], {})
    >>> box = BoxState(binned, binned.whole)
    >>> box.counts(0).tolist()
    [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]
    >>> box.set(0, np.arange(10) == 3)
    >>> box.hits, box.bounded.tolist()
    (1, [0])
    """

    def __init__(self, binned: Binned, chosen: Sequence[Flags]) -> None:
        self.binned = binned
        self.chosen = list(chosen)
        self._met = _Met(chosen, binned.bins)
        self._row_of = {at: row for row, at in enumerate(binned.valid)}
        """The row of each constrained axis among those of valid draws."""
        self._valid: _Met | None = None
        if binned.valid:
            constrained = [chosen[at] for at in binned.valid]
            self._valid = _Met(constrained, list(binned.valid.values()))
        self._is_bounded = np.array([not bins.all() for bins in chosen])
        self._own_shares = np.ones(len(chosen))
        for at in np.flatnonzero(self._is_bounded).tolist():
            self._own_shares[at] = self._plain_share(at)

    def set(self, at: int, chosen: Flags) -> None:
        """Change one condition."""
        self.chosen[at] = chosen
        self._met.set(at, chosen)
        if self._valid is not None and at in self._row_of:
            self._valid.set(self._row_of[at], chosen)
        self._is_bounded[at] = not chosen.all()
        self._own_shares[at] = self._plain_share(at) if self._is_bounded[at] else 1.0

    @property
    def bounded(self) -> Indices:
        """The axes with a condition."""
        return np.flatnonzero(self._is_bounded)

    @property
    def hits(self) -> int:
        """How many inputs the box holds."""
        return self._met.all

    @property
    def inside(self) -> Flags:
        """Which inputs the box holds."""
        return np.asarray(self._met.missed == 0)

    def counts(self, at: int) -> NDArray[Any]:
        """Return how many inputs that meet all other conditions are in each bin of an axis."""
        bins = self.binned.bins[at][self._met.others(at)]
        return np.bincount(bins, minlength=len(self.chosen[at]))

    def shares(self, at: int) -> Numbers:
        """Return the share of each bin among valid inputs that meet the other conditions."""
        axis = self.binned.axes[at]
        if self._valid is None or at not in self._row_of:
            return axis.shares
        bins = self.binned.valid[at]
        meets_others = self._valid.others(self._row_of[at])
        # Too few draws would leave shares to chance; then those of all are better.
        if meets_others.sum() >= len(bins) / _FEW:
            bins = bins[meets_others]
        counts = np.bincount(bins, minlength=len(axis.shares))
        return np.asarray(counts / counts.sum())

    def _plain_share(self, at: int) -> float:
        """Return the share of an axis that a condition keeps, where nothing constrains it."""
        axis = self.binned.axes[at]
        return max(float(axis.shares[self.chosen[at]].sum()), axis.least)

    @property
    def value(self) -> float:
        """The score of the box."""
        share = 1.0
        for at in self.bounded.tolist():
            own_share = float(self._own_shares[at])
            if at in self._row_of:
                axis = self.binned.axes[at]
                valid_share = float(self.shares(at)[self.chosen[at]].sum())
                own_share = max(valid_share, axis.least)
            share *= own_share
        return float(score(self.hits / len(self._met.missed), share))

    def values_without(self, bounded: Indices) -> Numbers:
        """Return the score of the box without each of its conditions."""
        hits = self._met.without(bounded) / len(self._met.missed)
        # One row for each condition that stays, one column for the condition that goes.
        shares = np.repeat(self._own_shares[bounded, None], len(bounded), axis=1)
        self._put_valid_shares(shares, bounded)
        np.fill_diagonal(shares, 1.0)
        return np.asarray(score(hits, np.multiply.reduce(shares, axis=0)))

    def _put_valid_shares(self, shares: Numbers, bounded: Indices) -> None:
        """Set the shares of constrained axes to those among valid draws, in place."""
        places = [place for place, at in enumerate(bounded.tolist()) if at in self._row_of]
        if self._valid is None or not places:
            return
        axes = bounded[places].tolist()
        rows = np.array([self._row_of[at] for at in axes])
        least = np.array([self.binned.axes[at].least for at in axes])
        draws = len(self._valid.missed)
        everywhere = self._valid.inside[rows].sum(axis=1) / draws
        without_one = self._valid.without(rows)
        # To drop a condition on a feature that nothing constrains changes no draw.
        meet_others = np.repeat(without_one[:, None], len(bounded), axis=1)
        meet_others[:, places] = self._valid.without_two(rows)
        meet_all = np.full(len(bounded), self._valid.all)
        meet_all[places] = without_one
        among_them = meet_all / np.maximum(meet_others, 1)
        enough = meet_others >= draws / _FEW
        own_shares = np.where(enough, among_them, everywhere[:, None])
        shares[places] = np.maximum(own_shares, least[:, None])
