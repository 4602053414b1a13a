"""Boxes: the rule that holds most of some inputs in the least of the space, found without asking
anything.

The score of a rule is how many times more of the inputs it holds than its share of the space lets
expect, times the square of the share of them that it holds. So part of a box never beats the box,
an edge is left out where inputs are less than a third as dense as inside, and one of two boxes is
taken where they fill less than a quarter of what holds both.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.rule import Condition, Rule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Bins = NDArray[np.intp]

LONGEST = 4
"""The most conditions of a rule that people still read."""
_NAMED = 6
"""The most levels that a condition names or leaves out."""
_WEIGHT = 3.0
"""How much more it counts to hold twice the inputs than half the space: less would cut rules to
chance clusters.
"""
_WORTH = math.log(1.2)
"""What a condition must add to the score of its rule to be worth reading."""
_SINGLE, _CUTS, _GAPS = 100, 64, 16
"""Up to how many values have bins of their own; else how many cuts there are, and how many gaps are
bins.
"""
_FEWEST, _LEAST = 5, 0.15
"""A condition keeps so many inputs, and this share of those that meet the others: bins are cut
where inputs are.
"""
_NARROWEST = 0.01
"""The narrowest range of a feature of many values that counts, as a share of all of it."""
_STARTS, _SWEEPS = 4, 6


def least_share(feature: Feature) -> float:
    """Return the smallest share of a feature's values that a condition on it counts for.

    >>> from evenhand.space.feature import integer
    >>> least_share(integer("age", 18, 90)), least_share(integer("income", 0, 100_000))
    (0.0, 0.01)
    """
    return 0.0 if feature.size <= _SINGLE else _NARROWEST


def score(hits: Any, share: Any) -> Any:
    """Return the logarithm of the score of what holds so many of the inputs and this share of the
    space.

    >>> bool(score(0.5, 0.1) < score(1.0, 0.2)), bool(score(0.5, 0.1) > score(1.0, 0.9))
    (True, True)
    """
    held = _WEIGHT * np.log(np.maximum(hits, 1e-300)) - np.log(np.maximum(share, 1e-300))
    return np.where(np.asarray(hits) > 0, held, -np.inf)


@dataclass(frozen=True)
class Axis:
    """One feature in bins: a level or a value each, or where there are many, cut where the inputs
    are.

    >>> from evenhand.space.feature import integer
    >>> axis = Axis(integer("age", 0, 9), np.array([3.0, 4.0]))
    >>> counts = np.bincount(axis.of(axis.values), minlength=10)
    >>> np.flatnonzero(axis.choose(counts, axis.shares, doubt=3.0)).tolist()
    [3, 4]
    """

    feature: Feature
    values: Floats

    @cached_property
    def _counted(self) -> bool:
        return math.isfinite(self.feature.size)

    def _scaled(self, column: Floats) -> Floats:
        """Return values as their number among all values of the feature, or where those are no
        list, as they are.
        """
        if not self._counted or self.feature.kind == "category":
            return column
        return np.round((column - self.feature.low) / (self.feature.step or 1.0))

    @cached_property
    def edges(self) -> Floats:
        """Where bins begin, but for the first."""
        if self.feature.size <= _SINGLE:
            return np.arange(1.0, float(self.feature.size))
        places = np.unique(self._scaled(self.values))
        after = places + 1.0 if self._counted else np.nextafter(places, np.inf)
        cuts = np.quantile(places, np.linspace(0, 1, _CUTS), method="nearest")
        gaps = np.argsort(places[1:] - after[:-1], kind="stable")[-_GAPS:]
        return np.unique(np.concatenate([cuts, after[-1:], after[gaps], places[gaps + 1]]))

    def of(self, column: Floats) -> Bins:
        """Return the bin of each value."""
        return np.searchsorted(self.edges, self._scaled(column), side="right")

    @cached_property
    def shares(self) -> Floats:
        """The share of the feature's values in each bin."""
        low, high = (
            (0.0, float(self.feature.size))
            if self._counted
            else (self.feature.low, self.feature.high)
        )
        return np.maximum(np.diff([low, *self.edges, high]), 0.0) / (high - low)

    @cached_property
    def _ranges(self) -> tuple[Bins, Bins]:
        """The first bin of every range of bins, and the one after its last."""
        return np.triu_indices(len(self.shares) + 1, 1)

    @property
    def least(self) -> float:
        """The smallest share that a condition counts for: inputs that share a rare value may do so
        by descent.
        """
        return least_share(self.feature)

    def choose(self, counts: NDArray[Any], shares: Floats, doubt: float) -> Flags:
        """Return the bins with the highest score: any levels of a category, neighbours of a number.

        All bins are returned where so many inputs in few of them are no more than chance and the
        choice explain.
        """
        chosen = np.ones(len(counts), dtype=np.bool_)
        if not (total := int(counts.sum())):
            return chosen
        if self.feature.kind == "category":
            order = np.argsort(-counts / np.maximum(shares, 1e-12), kind="stable")
            lengths = np.arange(1, len(order) + 1)
            lengths = lengths[(lengths <= _NAMED) | (lengths >= len(order) - _NAMED)]
            hits, size = (
                np.cumsum(counts[order])[lengths - 1],
                np.cumsum(shares[order])[lengths - 1],
            )
        else:
            first, last = self._ranges
            run, area = np.append(0, np.cumsum(counts)), np.append(0.0, np.cumsum(shares))
            hits, size = run[last] - run[first], np.maximum(area[last] - area[first], self.least)
        kept = np.flatnonzero(_surprise(hits, total, size) > doubt)
        if not len(kept):
            return chosen
        best = int(kept[np.argmax(score(hits[kept], size[kept]))])
        places = np.arange(len(counts))
        if self.feature.kind == "category":
            return np.isin(places, order[: lengths[best]])
        return np.asarray((places >= first[best]) & (places < last[best]))

    def condition(self, chosen: Flags, inside: Flags) -> Condition:
        """Return the chosen bins as a condition, whose ends are those of the inputs inside,
        rounded.
        """
        if self.feature.kind == "category":
            levels = [
                level
                for level, kept in zip(self.feature.levels, chosen.tolist(), strict=True)
                if kept
            ]
            return Condition(self.feature.name, levels=tuple(levels))
        mine, step = self.values[inside], float(self.feature.step or 0.0)
        low, high, first, last = (
            float(mine.min()),
            float(mine.max()),
            self.feature.low,
            self.feature.high,
        )
        # The ends of a sample lie inside those of what it was drawn from, by the mean gap between
        # two of its values.
        gap = max((high - low) / max(len(mine) - 1, 1) - step, 0.0)
        if not self._counted:
            gap = max(gap, (_NARROWEST * (last - first) - (high - low)) / 2)
        low, high = max(low - gap, first), min(high + gap, last)
        near = (high - low) / 50
        return Condition(
            self.feature.name,
            None if chosen[0] or low - first <= near else _rounded(low, near, step),
            None if chosen[-1] or last - high <= near else _rounded(high, near, step),
        )


def _surprise(hits: NDArray[Any], total: int, share: Floats) -> Floats:
    """Return how much likelier so many hits of all are by their own share than by that of the
    space, as a logarithm.
    """
    gain = np.zeros(len(hits))
    rows = np.flatnonzero(
        (hits > share * total) & (hits >= min(total, max(_FEWEST, _LEAST * total)))
    )
    inside, share = hits[rows] / total, np.maximum(share[rows], 1e-12)
    outside = np.maximum(1 - inside, 1e-12) / np.maximum(1 - share, 1e-12)
    gain[rows] = total * (inside * np.log(inside / share) + (1 - inside) * np.log(outside))
    return gain


def _rounded(value: float, by: float, step: float) -> float:
    """Return a number of few digits that is no further from the value.

    >>> _rounded(30_113.0, 300.0, 1.0), _rounded(7.0, 0.1, 1.0)
    (30000.0, 7.0)
    """
    if 2 * by <= step or by <= 0:
        return value
    unit = 10.0 ** math.floor(math.log10(2 * by))
    unit *= 5 if unit * 5 <= 2 * by else 2 if unit * 2 <= 2 * by else 1
    return float(f"{round(value / unit) * unit:.12g}")


class Boxes:
    """Rules over some features, sought by changing one condition at a time to the best there is.

    Parameters
    ----------
    positions
        The features that rules may speak of.
    points
        The inputs that rules should hold.
    background
        Uniform draws of the space, where it has constraints: what is valid is not evenly spread.
    repeats
        How many of the points say no more than one, since they come from the same.

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
        kept = [position for position in positions if space.features[position].size > 1]
        self.axes = [Axis(space.features[position], points[:, position]) for position in kept]
        self._bins = [axis.of(axis.values) for axis in self.axes]
        self._valid: dict[int, Bins] = {}
        if background is not None:
            blocks = space.blocks(space.features)
            tied = {column for block in blocks if block.predicates for column in block.columns}
            numbered = enumerate(zip(kept, self.axes, strict=True))
            self._valid = {
                at: axis.of(background[:, column])
                for at, (column, axis) in numbered
                if column in tied
            }
        # As many ranges are compared as there are pairs of ends, and as many conditions as there
        # are features.
        ranges = sum(len(axis.shares) * (len(axis.shares) + 1) / 2 for axis in self.axes)
        self._doubt = repeats * math.log(max(ranges, 1.0) / 0.01)

    def best(self, rng: np.random.Generator, least: float = 1.0) -> Rule:
        """Return the best rule that holds at least so many inputs, from several starts; everybody
        where none is sure.

        The starts are all inputs, and boxes around some.
        """
        if not self.axes:
            return Rule()
        found = [self._pruned(chosen) for chosen in (self._whole(), *self._around(rng))]
        enough = [chosen for chosen in found if self._inside(chosen).all(axis=0).sum() >= least]
        chosen = max([self._whole(), *enough], key=self._value)
        inside = np.asarray(self._inside(chosen).all(axis=0))
        parts = zip(self.axes, chosen, strict=True)
        return Rule.of(
            self.space, [axis.condition(mine, inside) for axis, mine in parts if not mine.all()]
        )

    def _whole(self) -> list[Flags]:
        return [np.ones(len(axis.shares), dtype=np.bool_) for axis in self.axes]

    def _around(self, rng: np.random.Generator) -> list[list[Flags]]:
        """Return boxes that each hold an input and those nearest to it."""
        m, found = len(self._bins[0]), []
        for centre in rng.choice(m, min(_STARTS, m), replace=False).tolist():
            away = np.zeros(m)
            for axis, bins in zip(self.axes, self._bins, strict=True):
                apart = np.abs(bins - bins[centre]) / (len(axis.shares) - 1)
                away += apart > 0 if axis.feature.kind == "category" else apart
            near = np.argsort(away, kind="stable")[: max(20, m // 10)]
            found.append(
                [
                    _spanned(axis, bins[near])
                    for axis, bins in zip(self.axes, self._bins, strict=True)
                ]
            )
        return found

    def _inside(self, chosen: Sequence[Flags]) -> Flags:
        """Tell which condition (row) each input (column) meets."""
        return np.stack([mine[bins] for mine, bins in zip(chosen, self._bins, strict=True)])

    def _climbed(self, chosen: Sequence[Flags], among: Sequence[int]) -> list[Flags]:
        """Return what is chosen after one feature after the other was set to its best, until
        nothing changes.
        """
        chosen, inside = list(chosen), self._inside(chosen)
        missed = (~inside).sum(axis=0)
        for _ in range(_SWEEPS):
            before = list(chosen)
            for at in among:
                rest = missed - ~inside[at] == 0
                counts = np.bincount(self._bins[at][rest], minlength=len(self.axes[at].shares))
                chosen[at] = self.axes[at].choose(counts, self._shares(at, chosen), self._doubt)
                missed += inside[at]
                inside[at] = chosen[at][self._bins[at]]
                missed -= inside[at]
            if all((one == other).all() for one, other in zip(before, chosen, strict=True)):
                break
        return chosen

    def _shares(self, at: int, chosen: Sequence[Flags]) -> Floats:
        """Return the share of each bin among valid inputs that meet the conditions on other
        features.
        """
        if at not in self._valid:
            return self.axes[at].shares
        mine = self._valid[at]
        rest = np.ones(len(mine), dtype=np.bool_)
        for other, bins in self._valid.items():
            if other != at:
                rest &= chosen[other][bins]
        few = rest.sum() < len(mine) / 64
        counts = np.bincount(mine if few else mine[rest], minlength=len(self.axes[at].shares))
        return np.asarray(counts / counts.sum())

    def _value(self, chosen: Sequence[Flags]) -> float:
        share = 1.0
        for at, (axis, mine) in enumerate(zip(self.axes, chosen, strict=True)):
            if not mine.all():
                share *= max(float(self._shares(at, chosen)[mine].sum()), axis.least)
        return float(score(self._inside(chosen).all(axis=0).mean(), share))

    def _pruned(self, chosen: list[Flags]) -> list[Flags]:
        """Climb, then drop the condition that is worth least and climb again, until those that are
        left matter.
        """
        chosen, whole = self._climbed(chosen, range(len(self.axes))), self._whole()
        while bounded := [at for at, mine in enumerate(chosen) if not mine.all()]:
            without = [[*chosen[:at], whole[at], *chosen[at + 1 :]] for at in bounded]
            worth = self._value(chosen) - np.array([self._value(other) for other in without])
            last = int(np.argmin(worth))
            if len(bounded) <= LONGEST and worth[last] >= _WORTH:
                break
            chosen = self._climbed(without[last], [at for at in bounded if at != bounded[last]])
        return chosen


def _spanned(axis: Axis, bins: Bins) -> Flags:
    """Return the bins that hold these and, of a number, those between."""
    chosen = np.zeros(len(axis.shares), dtype=np.bool_)
    chosen[bins] = True
    if axis.feature.kind != "category":
        chosen[bins.min() : bins.max() + 1] = True
    return chosen
