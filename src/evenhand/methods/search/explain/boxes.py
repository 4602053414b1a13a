"""Boxes: the rule that holds most of some inputs in the least of the space.

It is found without asking anything. The score of a rule is how many times more of the inputs it
holds than its share of the space lets expect, times the square of the share of them that it holds.
So part of a box never beats the box, an edge is left out where inputs are less than a third as
dense as inside, and one of two boxes is taken where they fill less than a quarter of what holds
both.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.explain.box_axis import Axis, score
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.arrays import Flags, Generator, Indices, Numbers
    from evenhand.space.feature import Points
    from evenhand.space.space import Space

LONGEST = 4
"""The most conditions of a rule that people still read."""
_WORTH = math.log(1.2)
"""What a condition must add to the score of its rule to be worth reading."""
_STARTS = 4
"""How many boxes around some input are improved."""
_SWEEPS = 6
"""How often each condition is set to its best, at most."""
_CONFIDENCE = 0.01
"""How likely chance may explain the best of all ranges."""


class Boxes:
    """Rules over some features, sought by changing one condition at a time to the best there is.

    Parameters
    ----------
    positions
        The features that rules may have conditions on.
    points
        The inputs that rules should hold.
    background
        Uniform draws of the space, where it has constraints: what is valid is not evenly spread.
    repeats
        How many of the points count for one only, since they come from the same one.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 0, 99)])
    >>> points = space.draw(2000, np.random.default_rng(0))
    >>> print(Boxes(space, (0, 1), points[points[:, 1] < 20]).best(np.random.default_rng(0)))
    age at most 19
    """

    def __init__(
        self,
        space: Space,
        positions: Sequence[int],
        points: Points,
        background: Points | None = None,
        *,
        repeats: int = 1,
    ) -> None:
        self.space = space
        features = space.features
        kept = [at for at in positions if features[at].size_with_missing > 1]
        self.axes = []
        for position in kept:
            self.axes.append(Axis(space.features[position], points[:, position]))
        self._bins = [axis.of(axis.values) for axis in self.axes]
        self._valid: dict[int, Indices] = {}
        """The bins of valid draws, of each axis that constraints tie to others."""
        if background is not None:
            constrained = _constrained(space)
            for at, position in enumerate(kept):
                if position in constrained:
                    self._valid[at] = self.axes[at].of(background[:, position])
        # As many ranges are compared as there are pairs of ends, and as many conditions as there
        # are features (Bonferroni).
        ranges = 0.0
        for axis in self.axes:
            ends = len(axis.shares)
            ranges += ends * (ends + 1) / 2
        self._doubt = repeats * math.log(max(ranges, 1.0) / _CONFIDENCE)

    def best(self, rng: Generator, least: float = 1.0) -> Rule:
        """Return the best rule that holds at least so many inputs; everybody where none is sure.

        Several starts are improved: all inputs, and boxes around some.
        """
        if not self.axes:
            return Rule()
        best = self._whole()
        for start in (self._whole(), *self._around(rng)):
            chosen = self._pruned(start)
            holds_enough = self._inside(chosen).all(axis=0).sum() >= least
            if holds_enough and self._value(chosen) > self._value(best):
                best = chosen
        inside = np.asarray(self._inside(best).all(axis=0))
        conditions = []
        for axis, bins in zip(self.axes, best, strict=True):
            if not bins.all():
                conditions.append(axis.condition(bins, inside))
        return Rule.of(self.space, conditions)

    def _whole(self) -> list[Flags]:
        return [np.ones(len(axis.shares), dtype=np.bool_) for axis in self.axes]

    def _around(self, rng: Generator) -> list[list[Flags]]:
        """Return boxes that each hold an input and those nearest to it."""
        inputs = len(self._bins[0])
        near = max(20, inputs // 10)
        boxes = []
        for centre in rng.choice(inputs, min(_STARTS, inputs), replace=False).tolist():
            distance = np.zeros(inputs)
            for axis, bins in zip(self.axes, self._bins, strict=True):
                farthest = len(axis.shares) - 1
                apart = np.abs(bins - bins[centre]) / farthest
                # Two levels of a category are the same or wholly different.
                distance += apart > 0 if axis.feature.kind == "category" else apart
            nearest = np.argsort(distance, kind="stable")[:near]
            box = []
            for axis, bins in zip(self.axes, self._bins, strict=True):
                box.append(_spanned(axis, bins[nearest]))
            boxes.append(box)
        return boxes

    def _inside(self, chosen: Sequence[Flags]) -> Flags:
        """Return which condition (row) each input (column) meets."""
        met = []
        for condition, bins in zip(chosen, self._bins, strict=True):
            met.append(condition[bins])
        return np.stack(met)

    def _climbed(self, chosen: Sequence[Flags], among: Sequence[int]) -> list[Flags]:
        """Return what is chosen after every feature was set to its best, until nothing changes."""
        chosen = list(chosen)
        inside = self._inside(chosen)
        missed = (~inside).sum(axis=0)
        for _ in range(_SWEEPS):
            before = list(chosen)
            for at in among:
                axis = self.axes[at]
                bins = self._bins[at]
                meets_others = missed - ~inside[at] == 0
                counts = np.bincount(bins[meets_others], minlength=len(axis.shares))
                shares = self._shares(at, chosen)
                chosen[at] = axis.choose(counts, shares, self._doubt)
                missed += inside[at]
                inside[at] = chosen[at][bins]
                missed -= inside[at]
            changed = False
            for old, new in zip(before, chosen, strict=True):
                changed = changed or (old != new).any()
            if not changed:
                break
        return chosen

    def _shares(self, at: int, chosen: Sequence[Flags]) -> Numbers:
        """Return the share of each bin among valid inputs that meet the other conditions."""
        axis = self.axes[at]
        if at not in self._valid:
            return axis.shares
        bins = self._valid[at]
        meets_others = np.ones(len(bins), dtype=np.bool_)
        for other, other_bins in self._valid.items():
            if other != at:
                meets_others &= chosen[other][other_bins]
        # Too few draws would leave shares to chance; then those of all are better.
        if meets_others.sum() >= len(bins) / 64:
            bins = bins[meets_others]
        counts = np.bincount(bins, minlength=len(axis.shares))
        return np.asarray(counts / counts.sum())

    def _value(self, chosen: Sequence[Flags]) -> float:
        """Return the score of what is chosen."""
        share = 1.0
        for at, (axis, bins) in enumerate(zip(self.axes, chosen, strict=True)):
            if not bins.all():
                own_share = float(self._shares(at, chosen)[bins].sum())
                share *= max(own_share, axis.least)
        hits = self._inside(chosen).all(axis=0).mean()
        return float(score(hits, share))

    def _pruned(self, chosen: list[Flags]) -> list[Flags]:
        """Return what is chosen after climbing, without conditions that are not worth reading.

        The condition that is worth least is dropped, and the others climb again, until all that
        are left matter.
        """
        chosen = self._climbed(chosen, range(len(self.axes)))
        whole = self._whole()
        while True:
            bounded = [at for at, bins in enumerate(chosen) if not bins.all()]
            if not bounded:
                return chosen
            without = []
            for at in bounded:
                others = list(chosen)
                others[at] = whole[at]
                without.append(others)
            values_without = np.array([self._value(others) for others in without])
            worth = self._value(chosen) - values_without
            least = int(np.argmin(worth))
            if len(bounded) <= LONGEST and worth[least] >= _WORTH:
                return chosen
            among = [at for at in bounded if at != bounded[least]]
            chosen = self._climbed(without[least], among)


def _constrained(space: Space) -> set[int]:
    """Return the positions of features that constraints tie to others."""
    positions: set[int] = set()
    for block in space.blocks(space.features):
        if block.predicates:
            positions.update(block.columns)
    return positions


def _spanned(axis: Axis, bins: Indices) -> Flags:
    """Return the bins that hold these and, of a number, those between."""
    chosen = np.zeros(len(axis.shares), dtype=np.bool_)
    chosen[bins] = True
    known = bins[bins <= len(axis.edges)]
    if axis.feature.kind != "category" and len(known):
        first = known.min()
        last = known.max()
        chosen[first : last + 1] = True
    return chosen
