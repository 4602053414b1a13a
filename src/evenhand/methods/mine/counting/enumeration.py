"""Every frequent rule set, level by level: what is too rare for two features is for more.

Algorithm 1 of TestSGD (Zhang et al. 2022) with the pruning of Apriori: a rule set is looked at only
where every pair of its conditions covers enough people. Where few candidates are left, they are
counted one by one, as bits; where most are, whole families of features are summed in the cube.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.counting.covers import Covers
from evenhand.methods.mine.counting.rule_table import (
    Level,
    Numbering,
    RuleTable,
    blocks,
)
from evenhand.methods.mine.cube import MOST_ENTRIES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evenhand.methods.mine.cube import Cube, Family

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Pairs = tuple[Indices, Indices]
    Report = Callable[[float], None]

MOST_PAIRED = 20_000
"""The most choices of all features of which a table of pairs is made."""
JOINED = 1 << 24
"""Entries of the table of candidates that are looked at at once, for memory."""
COUNTED = 1 << 17
"""Words of bits of candidates that are held at once: more would not stay near the processor."""
SLACK = 1e-12
"""The part by which a number of people may miss a threshold, for rounding."""
MOST_FAMILIES = 1_000
"""The most families that are summed up one by one."""
_READ_CELL, _READ_ENTRY = 3.0, 1.0
"""About what it takes to sum up one cell and one entry of a table, where a word of bits takes 1."""


class TooManyError(Exception):
    """More candidates than are looked at."""

    def __init__(self, features: int, candidates: int) -> None:
        super().__init__(features, candidates)
        self.features = features
        self.candidates = candidates


@dataclass(frozen=True, eq=False)
class Enumeration:
    """Looks for the rule sets of a cube that cover and leave enough people.

    Parameters
    ----------
    totals
        Sums over cells, a row for each kind: people first.
    least, least_other
        The fewest people that a rule set covers, and leaves.
    most
        The most rule sets that are looked at.
    """

    cube: Cube
    totals: Floats
    least: float
    least_other: float
    most: int
    _pairs: list[Flags] = field(default_factory=list, init=False)

    def run(self, depth: int, report: Report | None = None) -> Enumerated:
        """Return the rule sets of up to `depth` features, or of as many as can be looked at."""
        levels: list[Level] = []
        looked_at = 0
        too_many = None
        for features in range(1, depth + 1):
            previous = levels[-1] if levels else None
            if previous is not None and not len(previous):
                break
            try:
                candidates, level = self._level(features, previous, self.most - looked_at)
            except TooManyError as error:
                too_many = error
                break
            looked_at += candidates
            levels.append(level)
            if features == 2 < depth:
                self._note_pairs(level)
            if report is not None:
                report(features / depth)
        return Enumerated(self, levels, too_many)

    @cached_property
    def numbering(self) -> Numbering:
        """The numbers of all choices."""
        return Numbering.of(self.cube)

    @cached_property
    def covers(self) -> Covers:
        """Whom each choice covers."""
        return Covers.of(self.cube, self.totals)

    def _level(self, features: int, previous: Level | None, most: int) -> tuple[int, Level]:
        """Return how many candidates there are of so many features, and those that are frequent."""
        if previous is None or features == 2:
            families = self.cube.families(features)
            families = [family for family in families if len(family) == features]
            candidates = sum(map(self.cube.size, families))
            self._check_most(features, candidates, most)
            return candidates, self._summed(families, features)
        if len(self.numbering) > MOST_PAIRED:
            raise TooManyError(features, self._possible(features))
        candidates = self._candidates(previous)
        self._check_most(features, candidates, most)
        dense = self._dense(features, candidates * self.covers.cost)
        if dense is None:
            return candidates, self._counted(previous)
        return candidates, self._summed(dense, features)

    def _check_most(self, features: int, candidates: int, most: int) -> None:
        """Refuse more candidates than are looked at; single features are always."""
        if features > 1 and candidates > most:
            raise TooManyError(features, candidates)

    def _possible(self, features: int) -> int:
        """Return how many rule sets take so many features, frequent or not."""
        return self.cube.rule_sets()[features - 1]

    def _summed(self, families: list[Family], features: int) -> Level:
        """Return the frequent rule sets of whole families, summed in the cube."""
        most = sum(map(self.cube.size, families))
        # What is not filled takes no memory: rule sets are many, and are held once.
        rules = np.empty((most, features), dtype=np.int32)
        sums = np.empty((len(self.totals), most))
        filled = 0
        for family in families:
            tables = self.cube.sums(family, self.totals)
            flat = tables.reshape(len(self.totals), -1)
            kept = np.flatnonzero(self._covers_enough(flat[0]))
            places = np.unravel_index(kept, tables.shape[1:])
            own = slice(filled, filled + len(kept))
            for number, position in enumerate(family):
                rules[own, number] = places[number] + self.numbering.starts[position]
            sums[:, own] = flat[:, kept]
            filled += len(kept)
        return Level(rules[:filled], sums[:, :filled])

    def _stacked(
        self, rules: list[NDArray[np.int32]], sums: list[Floats], features: int
    ) -> Level:
        """Return rule sets of so many features as one level; there may be none."""
        none = np.empty((0, features), dtype=np.int32)
        no_sums = np.empty((len(self.totals), 0))
        return Level(
            np.concatenate([none, *rules]), np.concatenate([no_sums, *sums], axis=1)
        )

    def _covers_enough(self, people: Floats) -> Flags:
        return np.asarray(people >= self.least * (1 - SLACK))

    def _note_pairs(self, level: Level) -> None:
        """Note which choice of a feature is frequent with which of a later feature."""
        choices = len(self.numbering)
        if choices > MOST_PAIRED:
            return
        first, second = level.rules.T
        frequent = np.zeros((choices, choices), dtype=np.bool_)
        frequent[first, second] = True
        self._pairs.append(frequent)

    def _joined(self, previous: Level) -> Iterator[Pairs]:
        """Return candidates: rule sets of the last level, and a choice that each may take."""
        (frequent,) = self._pairs
        at_once = max(1, JOINED // len(self.numbering))
        for start in range(0, len(previous), at_once):
            rules = previous.rules[start : start + at_once]
            joins = frequent[rules[:, 0]]
            for choices in rules.T[1:]:
                joins &= frequent[choices]
            prefix, choice = np.nonzero(joins)
            yield prefix + start, choice

    def _candidates(self, previous: Level) -> int:
        """Return how many candidates there are with one feature more."""
        return sum(len(prefix) for prefix, _ in self._joined(previous))

    def _families(self, features: int) -> list[Family]:
        """Return the families of which all pairs of features have frequent rule sets."""
        (frequent,) = self._pairs
        starts = self.numbering.starts
        usable = np.flatnonzero(np.diff(starts))
        by_feature = np.logical_or.reduceat(frequent, starts[usable], axis=0)
        paired = np.logical_or.reduceat(by_feature, starts[usable], axis=1)
        families = []
        for family in itertools.combinations(range(len(usable)), features):
            pairs = itertools.combinations(family, 2)
            if all(paired[pair] for pair in pairs):
                families.append(tuple(usable[list(family)].tolist()))
        return families

    def _dense(self, features: int, cost_of_bits: float) -> list[Family] | None:
        """Return the families to sum up, None where it takes less to count candidates."""
        sums = len(self.totals)
        cells = len(self.cube.codes)
        usable = sum(1 for choices in self.cube.choices if len(choices))
        if math.comb(usable, features) > MOST_FAMILIES:
            return None
        cost = 0.0
        families = self._families(features)
        for family in families:
            widths = [self.cube.choices[position].width for position in family]
            entries = max(self.cube.size(family), math.prod(widths))
            cost += (_READ_CELL * cells + _READ_ENTRY * entries) * sums
            if entries > MOST_ENTRIES or cost > cost_of_bits:
                return None
        return families

    def _counted(self, previous: Level) -> Level:
        """Return the frequent rule sets with one feature more, counted one by one."""
        covers = self.covers
        rules = []
        sums = []
        at_once = max(1, COUNTED // max(covers.words, 1))
        for prefix, choice in self._joined(previous):
            for start in range(0, len(prefix), at_once):
                some = slice(start, start + at_once)
                candidates = np.column_stack([previous.rules[prefix[some]], choice[some]])
                cover = covers.of_rules(candidates)
                people = covers.sums(cover, last=1)
                kept = np.flatnonzero(self._covers_enough(people[0]))
                others = covers.sums(cover[kept], first=1)
                rules.append(candidates[kept].astype(np.int32))
                sums.append(np.concatenate([people[:, kept], others]))
        features = previous.rules.shape[1] + 1
        return self._by_family(self._stacked(rules, sums, features))

    def _by_family(self, level: Level) -> Level:
        """Return rule sets in the order in which whole families would be summed."""
        order = np.argsort(self.family_keys(level), kind="stable")
        return Level(level.rules[order], level.sums[:, order])

    def by_family(self, level: Level) -> list[NDArray[np.int32]]:
        """Return the rule sets of each family, which stand together in a level."""
        if not len(level):
            return []
        key = self.family_keys(level)
        starts = np.flatnonzero(key[1:] != key[:-1]) + 1
        return np.split(level.rules, starts)

    def families_of(self, level: Level) -> int:
        """Return how many families the rule sets of a level have."""
        families = 0
        last = -1
        for some in blocks(len(level)):
            key = self.family_keys(level.part(some))
            families += int(key[0] != last) + int(np.count_nonzero(np.diff(key)))
            last = int(key[-1])
        return families

    def family_keys(self, level: Level) -> NDArray[np.int64]:
        """Return a number for the family of each rule set, in the order of families."""
        key = np.zeros(len(level), dtype=np.int64)
        for choices in level.rules.T:
            key = key * len(self.cube.choices) + self.numbering.feature[choices]
        return key


@dataclass(frozen=True, eq=False)
class Enumerated:
    """What an enumeration found: frequent rule sets by level, and whether there are too many."""

    search: Enumeration
    levels: list[Level]
    """Those that cover enough people, whatever they leave."""
    too_many: TooManyError | None

    @property
    def depth(self) -> int:
        """The most features of the rule sets that were looked at."""
        if self.too_many is not None:
            return self.too_many.features - 1
        return len(self.levels)

    def without_sums(self) -> Enumerated:
        """Return what was found without the sums, which the table has."""
        return replace(self, levels=[level.without_sums() for level in self.levels])

    def table(self) -> RuleTable:
        """Return the rule sets that also leave enough people (lines 7 and 8 of Algorithm 1).

        The paper asks for the support alone (Equation 2). A rule set that leaves nearly nobody
        compares everybody with a few, so both sides must be large.
        """
        total = float(self.search.totals[0].sum())
        kept = []
        for level in self.levels:
            others = total - level.sums[0]
            leaves_enough = others >= self.search.least_other * (1 - SLACK)
            kept.append(level.only(leaves_enough & (others > 0)))
        return RuleTable(self.search.numbering, kept)
