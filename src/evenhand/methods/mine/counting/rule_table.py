"""The table of rule sets that are frequent: their choices and sums, in one order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.cube import Cube, Family

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Indices = NDArray[np.intp]
    Integers = NDArray[np.int32]


AT_ONCE = 1 << 18
"""Rule sets of which something is computed at once, for memory."""


def blocks(count: int) -> Iterator[slice]:
    """Yield the parts of so many rule sets that are looked at one after the other.

    >>> list(blocks(3))
    [slice(0, 3, None)]
    """
    for start in range(0, count, AT_ONCE):
        yield slice(start, min(start + AT_ONCE, count))


def most_memory(rule_sets: int, features: int) -> int:
    """Return the bytes that rule sets of so many features take, if all of them are frequent.

    >>> most_memory(1_000_000, 2)
    56000000
    """
    numbers = features * np.dtype(np.int32).itemsize
    # People and hits, and the strength; a table is made of rule sets that are held already.
    sums = 2 * np.dtype(np.float64).itemsize
    strength = np.dtype(np.float64).itemsize
    return rule_sets * (2 * (numbers + sums) + strength)


@dataclass(frozen=True, eq=False)
class Numbering:
    """The choices of all features of a cube, numbered through.

    >>> from evenhand.methods.mine.conditions import Choices
    >>> from evenhand.methods.mine.cube import Cube
    >>> from evenhand.space.feature import category
    >>> sex, race = category("sex", ["F", "M"]), category("race", ["a", "b"])
    >>> columns = [np.array([0.0, 1.0]), np.array([0.0, 1.0])]
    >>> cube = Cube.of([Choices.of(sex, columns[0]), Choices.of(race, columns[1])], columns)
    >>> numbering = Numbering.of(cube)
    >>> numbering.family([0, 3]), numbering.place([0, 3])
    ((0, 1), (0, 1))
    """

    starts: Indices
    """The first choice of each feature, and the number of all."""
    feature: Integers
    """The feature of each choice."""

    @classmethod
    def of(cls, cube: Cube) -> Numbering:
        """Number the choices of a cube, feature by feature."""
        sizes = [len(choices) for choices in cube.choices]
        starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)
        feature = np.repeat(np.arange(len(sizes), dtype=np.int32), sizes)
        return cls(starts, feature)

    def __len__(self) -> int:
        return len(self.feature)

    def family(self, rule: Sequence[int] | Integers) -> Family:
        """Return the features of a rule set."""
        return tuple(int(self.feature[number]) for number in rule)

    def place(self, rule: Sequence[int] | Integers) -> tuple[int, ...]:
        """Return which choice of each of its features a rule set takes."""
        return tuple(int(number - self.starts[self.feature[number]]) for number in rule)


@dataclass(frozen=True, eq=False)
class Level:
    """Rule sets of as many features each, and their sums."""

    rules: Integers
    """The numbers of their choices, a row for each rule set."""
    sums: Floats
    """A row for each kind of sum, people first."""

    def __len__(self) -> int:
        return len(self.rules)

    def part(self, some: slice) -> Level:
        """Return rule sets that follow each other, without a copy."""
        return Level(self.rules[some], self.sums[:, some])

    def only(self, kept: Flags) -> Level:
        """Return some of the rule sets."""
        if kept.all():
            return self
        numbers = np.flatnonzero(kept)
        return Level(self.rules[numbers], self.sums.take(numbers, axis=1))

    def without_sums(self) -> Level:
        """Return the rule sets alone."""
        return Level(self.rules, self.sums[:, :0].copy())


@dataclass(eq=False)
class RuleTable:
    """Rule sets of one, two and more features, numbered through, and their sums."""

    numbering: Numbering
    levels: list[Level]
    sums: Floats = field(init=False)
    """A row for each kind of sum: people, hits, and of numbers their squares."""

    def __post_init__(self) -> None:
        sizes = [len(level) for level in self.levels]
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self.sums = np.concatenate([level.sums for level in self.levels], axis=1)
        # The sums of all levels are held once.
        for place, start in enumerate(self._starts[:-1].tolist()):
            rules = self.levels[place].rules
            own = self.sums[:, start : start + len(rules)]
            self.levels[place] = Level(rules, own)

    def __len__(self) -> int:
        return int(self.sums.shape[1])

    def rule(self, number: int) -> Integers:
        """Return the choices of a rule set."""
        level = int(np.searchsorted(self._starts, number, side="right")) - 1
        rules = self.levels[level].rules
        return np.asarray(rules[number - self._starts[level]])

    def family(self, number: int) -> Family:
        """Return the features of a rule set."""
        return self.numbering.family(self.rule(number))

    def place(self, number: int) -> tuple[int, ...]:
        """Return which choice of each of its features a rule set takes."""
        return self.numbering.place(self.rule(number))

    def conditions(self) -> Integers:
        """Return how many features each rule set has."""
        counts = [
            np.full(len(level), level.rules.shape[1], dtype=np.int32)
            for level in self.levels
        ]
        return np.concatenate(counts)

    def conditions_of(self, numbers: Indices) -> Integers:
        """Return how many features some rule sets have."""
        counts = np.empty(len(numbers), dtype=np.int32)
        for where, rules in self.by_level(numbers):
            counts[where] = rules.shape[1]
        return counts

    def generalisations(self, number: int) -> Indices:
        """Return the rule sets that have some of the conditions of another, and no others."""
        rule = self.rule(number)
        found = [np.empty(0, dtype=np.intp)]
        for level, first in zip(self.levels, self._starts, strict=False):
            if level.rules.shape[1] >= len(rule):
                break
            has_no_other = np.ones(len(level), dtype=np.bool_)
            for choices in level.rules.T:
                has_no_other &= np.isin(choices, rule)
            found.append(np.flatnonzero(has_no_other) + first)
        return np.concatenate(found)

    def by_level(self, numbers: Indices) -> list[tuple[Indices, Integers]]:
        """Return some rule sets level by level: where they stand among these, and their choices."""
        levels = np.searchsorted(self._starts, numbers, side="right") - 1
        parts = []
        for level in np.unique(levels).tolist():
            where = np.flatnonzero(levels == level)
            rules = self.levels[level].rules[numbers[where] - self._starts[level]]
            parts.append((where, rules))
        return parts
