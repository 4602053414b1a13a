"""Stories: all rule sets ranked, and those that tell of nearly the same people gathered under the
worst of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenhand.statistics.simultaneous import Sure, absolute

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evenhand.methods.mine.cube import Cube
    from evenhand.statistics.intervals import Floats

OVERLAP = 0.5
"""Rule sets tell the same story if a side of one, they or everyone else, shares this part with the
other's smaller.
"""
WITHIN = 0.25
"""A rule set of fewer features leads if it is as far apart but for this part of the error of the
strongest.
"""
LIKE = 5
"""Rule sets that are listed beside the one that leads a story."""
BOXED, REFINED, AT_ONCE = 1 << 16, 1024, 16
"""Of rule sets that lead no story, those whose upper limits are bounded closely, may be computed,
and are at once.
"""
STRONGEST = 4
"""Of rule sets that lead no story, those whose lower limits are computed."""
SLACK = 1e-12
"""The part by which a number of people may miss a threshold, for rounding."""
_TIE = 1e-10
"""What a group of over half of all loses, so that of two complements the smaller leads."""


@dataclass(eq=False)
class Block:
    """The rule sets of one family that are frequent on both sides, and what is known of each."""

    family: tuple[int, ...]
    shape: tuple[int, ...]
    index: NDArray[np.int64]
    size: Floats
    hits: Floats
    inside: Floats
    outside: Floats
    strength: Floats = field(default_factory=lambda: np.empty(0))
    alive: NDArray[np.bool_] = field(default_factory=lambda: np.empty(0, dtype=np.bool_))
    """Rule sets that are in no story yet."""
    leads: list[int] = field(default_factory=list)
    """Rule sets that lead a story."""

    def place(self, number: int) -> tuple[int, ...]:
        """Return which choice of each feature a rule set takes."""
        return tuple(int(at) for at in np.unravel_index(self.index[number], self.shape))


@dataclass(frozen=True, slots=True)
class Told:
    """One rule set: who it covers, and their rate and that of everyone else."""

    family: tuple[int, ...]
    place: tuple[int, ...]
    size: float
    hits: float
    inside: float
    outside: float


@dataclass(frozen=True, slots=True)
class Story:
    """The rule set that leads, how many rule sets tell of nearly the same people, and the worst of
    those.
    """

    lead: Told
    rules: int
    like: tuple[Told, ...]


@dataclass(frozen=True, slots=True)
class Rest:
    """The rule sets that lead no story: how many, and the largest difference among them with its
    limits.
    """

    rules: int
    value: float
    low: float
    high: float


@dataclass(eq=False)
class Ranking:
    """All rule sets over the cells of a cube that are frequent on both sides.

    Parameters
    ----------
    cube
        The cells that people lie in, and the choices of each feature.
    size, hits
        Of each cell: the people in it, and the sum of how favourably they are treated.
    least, least_other
        The fewest people inside and outside.
    """

    cube: Cube
    size: Floats
    hits: Floats
    least: float
    least_other: float
    blocks: list[Block] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        cube: Cube,
        size: Floats,
        hits: Floats,
        *,
        least: float,
        least_other: float,
        depth: int | None = None,
        told: Callable[[float], None] | None = None,
    ) -> Ranking:
        """Sum up all rule sets of up to `depth` features; `told` hears how far it is."""
        ranking = cls(cube, size, hits, least, least_other)
        families = cube.families(depth)
        for number, family in enumerate(families, start=1):
            ranking._add(family)
            if told is not None:
                told(number / len(families))
        return ranking

    @property
    def total(self) -> float:
        """All people."""
        return float(self.size.sum())

    @property
    def examined(self) -> int:
        """Rule sets that are frequent on both sides."""
        return sum(len(block.index) for block in self.blocks)

    def _add(self, family: tuple[int, ...]) -> None:
        size, hits = self.cube.sums(family, np.stack([self.size, self.hits]))
        shape, size, hits = size.shape, size.ravel(), hits.ravel()
        others = self.total - size
        index = np.flatnonzero(
            (size >= self.least * (1 - SLACK))
            & (others >= self.least_other * (1 - SLACK))
            & (others > 0)
        )
        if not len(index):
            return
        size, hits = size[index], np.minimum(hits[index], size[index])
        others = self.total - size
        outside = np.clip((self.hits.sum() - hits) / others, 0.0, 1.0)
        self.blocks.append(Block(family, shape, index, size, hits, hits / size, outside))

    def rank(self, sure: Sure) -> None:
        """Rank the rule sets by how far apart their rates and everyone else's are at least."""
        for block in self.blocks:
            others = self.total - block.size
            strength = sure.strength(block.inside, block.size, block.outside, others)
            # Sums in another order differ in their last digits, and the simpler of two equal rule
            # sets is to lead.
            block.strength = np.round(strength, 12) - _TIE * (block.size > others)
            block.alive = np.ones(len(block.index), dtype=np.bool_)
            block.leads = []

    def stories(self, most: int) -> list[Story]:
        """Return the worst rule sets that tell of different people, each with those that tell of
        nearly the same.
        """
        found: list[Story] = []
        while len(found) < most and (strongest := self._strongest()) is not None:
            found.append(self._story(*strongest))
        return found

    def _strongest(self) -> tuple[Block, int] | None:
        best: tuple[float, Block, int] | None = None
        for block in self.blocks:
            if not block.alive.any():
                continue
            at = int(np.argmax(np.where(block.alive, block.strength, -np.inf)))
            if best is None or block.strength[at] > best[0]:
                best = float(block.strength[at]), block, at
        return None if best is None else best[1:]

    def _told(self, block: Block, at: int) -> Told:
        numbers = (block.size[at], block.hits[at], block.inside[at], block.outside[at])
        return Told(block.family, block.place(at), *map(float, numbers))

    def _story(self, best: Block, number: int) -> Story:
        strongest = self._told(best, number)
        rules, tops = 0, []
        # Of two sides the smaller one is whom a story is about; nearly everybody is in nearly every
        # large group.
        large, covered = (
            2 * strongest.size > self.total,
            self.cube.mask(strongest.family, strongest.place),
        )
        shared = self.size * (~covered if large else covered)
        people = self.total - strongest.size if large else strongest.size
        for block in self.blocks:
            if not block.alive.any():
                continue
            same = self.cube.sums(block.family, shared).ravel()[block.index]
            joins = block.alive & (self._overlap(same, block.size, people) >= OVERLAP)
            rules += int(joins.sum())
            block.alive &= ~joins
            if joins.any():
                strength = np.where(joins, block.strength, -np.inf)
                top = np.argsort(-strength, kind="stable")[: min(LIKE + 1, int(joins.sum()))]
                tops += [(float(block.strength[at]), block, int(at)) for at in top]
        tops.sort(key=lambda top: -top[0])
        # Conditions that add nothing beyond chance make a rule harder to read, and are mostly
        # chance themselves.
        error = abs(strongest.inside - strongest.outside) - best.strength[number]
        enough = [top for top in tops if top[0] >= best.strength[number] - WITHIN * error]
        fewest = min((len(block.family) for _, block, _ in enough), default=len(best.family))
        if fewest < len(best.family):
            _, best, number = next(top for top in enough if len(top[1].family) == fewest)
        best.leads.append(number)
        others = [
            self._told(block, at) for _, block, at in tops if block is not best or at != number
        ]
        return Story(self._told(best, number), rules, tuple(others[:LIKE]))

    def _overlap(self, same: Floats, size: Floats, people: float) -> Floats:
        """Return the larger of two parts that are shared with these people: by groups, and by
        everyone else.
        """
        other, outside = people - same, self.total - size
        return np.maximum(same / (size + people - same), other / (outside + people - other))

    def rest(self, sure: Sure) -> Rest | None:
        """Return what can be said of all rule sets that lead no story."""
        rules, value = 0, 0.0
        likely, highest = _Top(STRONGEST), _Top(BOXED)
        for block in self.blocks:
            left = np.delete(np.arange(len(block.index)), block.leads)
            if not len(left):
                continue
            size, inside, outside = block.size[left], block.inside[left], block.outside[left]
            rules += len(left)
            value = max(value, float(np.abs(inside - outside).max()))
            counts = np.stack([block.hits[left], size])
            likely.add(block.strength[left], counts)
            highest.add(sure.ceiling(inside, size, outside, self.total - size), counts)
        if not rules:
            return None
        low, high = self._limits(sure, likely.counts)[0], self._highest(sure, highest)
        return Rest(rules, value, min(low, value), max(high, value))

    def sides(self, counts: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Return hits and size inside and outside of rule sets."""
        hits, size = counts
        others = self.total - size
        return hits, size, np.clip(self.hits.sum() - hits, 0.0, others), others

    def _limits(self, sure: Sure, counts: Floats) -> tuple[float, float]:
        """Return the largest lower and the largest upper limit of rule sets."""
        low, high = absolute(*map(np.asarray, sure.difference(*self.sides(counts))))
        return float(low.max()), float(high.max())

    def _highest(self, sure: Sure, top: _Top) -> float:
        """Return the highest upper limit of all, or a bound on it: those with the highest bounds
        have it.
        """
        boxed = _Top(REFINED)
        boxed.add(sure.box(*self.sides(top.counts)), top.counts)
        bound, best = max(top.over, boxed.over), 0.0
        for start in range(0, len(boxed.keys), AT_ONCE):
            if boxed.keys[start] <= best:
                break
            best = max(best, self._limits(sure, boxed.counts[:, start : start + AT_ONCE])[1])
        return max(best, bound)


@dataclass(eq=False)
class _Top:
    """The rule sets with the largest keys, largest first, and a bound on the keys of all others."""

    most: int
    keys: Floats = field(default_factory=lambda: np.empty(0))
    counts: Floats = field(default_factory=lambda: np.empty((2, 0)))
    over: float = 0.0

    def add(self, keys: Floats, counts: Floats) -> None:
        """Take more rule sets into account."""
        if len(self.keys) == self.most:
            new = keys > self.keys[-1]
            self.over = max(self.over, float(keys.max(initial=0.0, where=~new)))
            keys, counts = keys[new], counts[:, new]
        every, both = (
            np.concatenate([self.keys, keys]),
            np.concatenate([self.counts, counts], axis=1),
        )
        order = np.argsort(-every, kind="stable")
        if len(order) > self.most:
            self.over = max(self.over, float(every[order[self.most]]))
        self.keys, self.counts = every[order[: self.most]], both[:, order[: self.most]]
