"""Rows that are twins of each other: who has one, and whose outcome differs from that of a twin.

Nothing loops over rows: they are numbered by what they share, and the numbers are counted.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.recorded import label_of
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.space.distribution import Positions
    from evenhand.space.feature import Flags, Label
    from evenhand.statistics.intervals import Floats

MISSING = "missing"
"""What stands for a value that a row lacks."""


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of counted rows: the place of each value among its labels, -1 where it is missing.

    The labels are in order, so that codes do not depend on the engine or the order of rows.
    """

    codes: Positions
    labels: Sequence[Label]

    @classmethod
    def of(cls, column: Any) -> CodedColumn:
        """Return a column of any engine by its labels."""
        import pandas as pd

        values = column.to_list()
        objects = np.fromiter(values, dtype=object, count=len(values))
        places, distinct = pd.factorize(objects)
        found = [label_of(value) for value in distinct]
        labels = sorted(set(found), key=_numbers_first)
        place_of = {label: place for place, label in enumerate(labels)}
        code_of = [place_of[label] for label in found]
        # The last element stands for what is missing, which has the place -1.
        code_of.append(-1)
        codes = np.array(code_of, dtype=np.intp)
        return cls(codes[places], labels)

    def label(self, row: int) -> Label:
        """Return the value of a row."""
        code = self.codes[row]
        return MISSING if code < 0 else self.labels[code]

    def at(self, rows: Positions) -> CodedColumn:
        """Return the column of some rows."""
        return CodedColumn(self.codes[rows], self.labels)


def _numbers_first(label: Label) -> tuple[bool, Label]:
    return isinstance(label, str), label


@dataclass(frozen=True, eq=False)
class RecordedTwins:
    """Rows by who is alike in all but the features at issue, what these are, and the outcome.

    Equal rows are counted once, and `sizes` says how many there are of each.

    >>> twins = RecordedTwins(
    ...     alike=np.array([0, 0, 1, 1, 2]),
    ...     value=np.array([0, 1, 0, 1, 0]),
    ...     outcome=np.array([1, 0, 1, 1, 0]),
    ...     sizes=np.array([3.0, 1.0, 2.0, 2.0, 9.0]),
    ... )
    >>> twins.has_twin.tolist(), twins.differs.tolist()
    ([True, True, True, True, False], [True, True, False, False, False])
    >>> print(twins.estimate("rows with a twin"))
    50.0 % (n = 8, enumerated, population: rows with a twin)
    """

    alike: Positions
    value: Positions
    outcome: Positions
    sizes: Floats
    numbers: Floats | None = None
    """Outcomes on a scale, which differ where they are further apart than `least`."""
    least: float = 0.0

    @cached_property
    def _same(self) -> Positions:
        """A number for each row, shared by those that are equal in everything but the outcome."""
        return _pairs(self.alike, self.value)

    @cached_property
    def has_twin(self) -> Flags:
        """Which rows have a twin."""
        number_of_values = _distinct_by(self.alike, self.value)
        return number_of_values > 1

    @cached_property
    def differs(self) -> Flags:
        """Which rows have a twin with another outcome."""
        if self.numbers is not None:
            return self._further_apart(self.numbers)
        # Of all that is seen of those alike, what has another value and another outcome is left
        # when what shares one of them is taken away; what shares both is taken away twice.
        seen = _pairs(self.value, self.outcome)
        same_outcome = _pairs(self.alike, self.outcome)
        others = _distinct_by(self.alike, seen) + 1
        others -= _distinct_by(self._same, self.outcome)
        others -= _distinct_by(same_outcome, self.value)
        return others > 0

    def _further_apart(self, numbers: Floats) -> Flags:
        """Return which rows have a twin that is further apart than the least that counts."""
        highest = self._highest_of_twins(numbers)
        lowest = -self._highest_of_twins(-numbers)
        furthest = np.maximum(highest - numbers, numbers - lowest)
        return furthest > self.least

    def _highest_of_twins(self, numbers: Floats) -> Floats:
        """Return the highest number of the twins of each row, -inf where it has none."""
        alike = self.alike
        rising = np.lexsort((numbers, alike))
        number_of_alike = np.bincount(alike)
        last_of_alike = np.cumsum(number_of_alike) - 1
        top = rising[last_of_alike]
        best = top[alike]
        value_of_best = self.value[best]
        is_other = self.value != value_of_best
        # Rows with the value of the best one look at the best one of those with another value.
        second = np.full(len(top), -np.inf)
        np.maximum.at(second, alike[is_other], numbers[is_other])
        return np.where(is_other, numbers[best], second[alike])

    def _rows(self, which: Flags) -> int:
        """Return how many rows there are of some."""
        sizes = self.sizes[which]
        return int(sizes.sum())

    @property
    def unsteady(self) -> int:
        """How many rows have an equal with another outcome."""
        number_of_outcomes = _distinct_by(self._same, self.outcome)
        return self._rows(number_of_outcomes > 1)

    @property
    def number(self) -> int:
        """How many rows have a twin."""
        return self._rows(self.has_twin)

    @property
    def different(self) -> int:
        """How many rows have a twin with another outcome."""
        return self._rows(self.differs)

    def estimate(self, population: str) -> Estimate:
        """Return the share of rows with a twin that have one with another outcome."""
        return Estimate.exact(self.different, self.number, population=population)

    def pairs(self, most: int) -> list[tuple[int, int]]:
        """Return some rows, each with a twin that has another outcome, of different people."""
        rows = np.flatnonzero(self.differs)
        _, places = np.unique(self.alike[rows], return_index=True)
        first = np.sort(places)[:most]
        found = []
        for row in rows[first].tolist():
            is_twin = self.alike == self.alike[row]
            is_twin &= self.value != self.value[row]
            is_twin &= self._apart_from(row)
            twins = np.flatnonzero(is_twin)
            found.append((row, int(twins[0])))
        return found

    def _apart_from(self, row: int) -> Flags:
        """Return which rows have another outcome than a row."""
        if self.numbers is None:
            return np.asarray(self.outcome != self.outcome[row])
        apart = np.abs(self.numbers - self.numbers[row])
        return np.asarray(apart > self.least)


def _number_of(group: Positions) -> int:
    """Return how many groups there are, whose numbers begin with 0."""
    return int(group.max(initial=-1)) + 1


def _pairs(first: Positions, second: Positions) -> Positions:
    """Return a number for each row, shared by those with the same two numbers."""
    combined = first * _number_of(second) + second
    _, number = np.unique(combined, return_inverse=True)
    return np.asarray(number, dtype=np.intp)


def _distinct_by(group: Positions, value: Positions) -> Positions:
    """Return for each row how many different values the rows of its group have."""
    span = _number_of(value)
    combined = group * span + value
    seen = np.unique(combined)
    number_of_values = np.bincount(seen // span)
    return number_of_values[group]
