"""Boxes: the rule that holds most of some inputs in the least of the space.

It is found without asking anything. The score of a rule is how many times more of the inputs it
holds than its share of the space lets expect, times the square of the share of them that it holds.
So part of a box never beats the box, an edge is left out where inputs are less than a third as
dense as inside, and one of two boxes is taken where they fill less than a quarter of what holds
both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.search.explain.box_axis import Axis
from evenhand.methods.search.explain.box_state import Binned, BoxState
from evenhand.runtime.budget import Meter
from evenhand.space.rule import Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

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
    meter
        What ends the search for rules where the time is up.

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
        meter: Meter | None = None,
    ) -> None:
        self.space = space
        features = space.features
        kept = [at for at in positions if features[at].size_with_missing > 1]
        axes = []
        for position in kept:
            axes.append(Axis(space.features[position], points[:, position]))
        bins = [axis.of(axis.values) for axis in axes]
        valid: dict[int, Indices] = {}
        if background is not None:
            constrained = _constrained(space)
            for at, position in enumerate(kept):
                if position in constrained:
                    valid[at] = axes[at].of(background[:, position])
        self._binned = Binned(axes, bins, valid)
        self._chosen: dict[int, _LastChoice] = {}
        """The last choice of bins of each axis."""
        # As many ranges are compared as there are pairs of ends, and as many conditions as there
        # are features (Bonferroni).
        ranges = 0.0
        for axis in axes:
            ends = len(axis.shares)
            ranges += ends * (ends + 1) / 2
        self._doubt = repeats * math.log(max(ranges, 1.0) / _CONFIDENCE)
        self._meter = meter or Meter()

    def best(self, rng: Generator, least: float = 1.0) -> Rule:
        """Return the best rule that holds at least so many inputs; everybody where none is sure.

        Several starts are improved: all inputs, and boxes around some. Where the time is up, the
        best so far is returned.
        """
        binned = self._binned
        if not binned.axes:
            return Rule()
        best = BoxState(binned, binned.whole)
        for start in (binned.whole, *self._around(rng)):
            if self._meter.late:
                break
            box = self._pruned(start)
            if box is not None and box.hits >= least and box.value > best.value:
                best = box
        conditions = []
        for at in best.bounded.tolist():
            condition = binned.axes[at].condition(best.chosen[at], best.inside)
            conditions.append(condition)
        return Rule.of(self.space, conditions)

    def _around(self, rng: Generator) -> list[list[Flags]]:
        """Return boxes that each hold an input and those nearest to it."""
        binned = self._binned
        inputs = len(binned.bins[0])
        near = max(20, inputs // 10)
        boxes = []
        for centre in rng.choice(inputs, min(_STARTS, inputs), replace=False).tolist():
            distance = np.zeros(inputs)
            for axis, bins in zip(binned.axes, binned.bins, strict=True):
                farthest = len(axis.shares) - 1
                apart = np.abs(bins - bins[centre]) / farthest
                # Two levels of a category are the same or wholly different.
                distance += apart > 0 if axis.feature.kind == "category" else apart
            nearest = np.argsort(distance, kind="stable")[:near]
            box = []
            for axis, bins in zip(binned.axes, binned.bins, strict=True):
                box.append(_spanned(axis, bins[nearest]))
            boxes.append(box)
        return boxes

    def _climb(self, box: BoxState, among: Sequence[int]) -> None:
        """Set every feature to its best, until nothing changes."""
        for _ in range(_SWEEPS):
            changed = False
            for at in among:
                before = box.chosen[at]
                chosen = self._choose(box, at)
                if chosen is not before and (chosen != before).any():
                    box.set(at, chosen)
                    changed = True
            if not changed or self._meter.late:
                break

    def _choose(self, box: BoxState, at: int) -> Flags:
        """Return the best bins of a feature, as before where nothing has changed for it."""
        counts = box.counts(at)
        shares = box.shares(at)
        last = self._chosen.get(at)
        if last is not None and last.of(counts, shares):
            return last.chosen
        chosen = self._binned.axes[at].choose(counts, shares, self._doubt)
        self._chosen[at] = _LastChoice(counts, shares, chosen)
        return chosen

    def _pruned(self, start: Sequence[Flags]) -> BoxState | None:
        """Return a box after climbing, without conditions that are not worth reading.

        The condition that is worth least is dropped, and the others climb again, until all that
        are left matter. None is returned where the time is up before.
        """
        box = BoxState(self._binned, start)
        self._climb(box, range(len(start)))
        while not self._meter.late:
            bounded = box.bounded
            if not len(bounded):
                return box
            worth = box.value - box.values_without(bounded)
            least = int(np.argmin(worth))
            if len(bounded) <= LONGEST and worth[least] >= _WORTH:
                return box
            dropped = int(bounded[least])
            box.set(dropped, np.ones_like(start[dropped]))
            self._climb(box, [at for at in bounded.tolist() if at != dropped])
        return None


@dataclass(frozen=True, slots=True)
class _LastChoice:
    """What was chosen of an axis, and what it was chosen from."""

    counts: NDArray[Any]
    shares: Numbers
    chosen: Flags

    def of(self, counts: NDArray[Any], shares: Numbers) -> bool:
        """Return whether it was chosen from these counts and shares."""
        if shares is not self.shares and not np.array_equal(shares, self.shares):
            return False
        return np.array_equal(counts, self.counts)


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
