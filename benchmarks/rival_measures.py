"""The measures of the other subgroup miners over all rule sets at once, and how counts compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import rel_entr

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    Flags = NDArray[np.bool_]
    Floats = NDArray[np.float64]
    Key = frozenset[tuple[str, tuple[str, ...]]]
    Conditions = Mapping[str, Sequence[str]]
    Counts = Mapping[Key, tuple[float, float]]
    """Of rule sets: how many rows meet each, and how many of those have the outcome."""

SAME = 0.5
"""The Jaccard index over which two groups are taken for the same people."""


@dataclass(frozen=True)
class Sums:
    """Rule sets of a table: the rows of each, those with the outcome, and both for all rows."""

    size: Floats
    hits: Floats
    rows: int
    total: float

    @property
    def rate(self) -> float:
        """The rate of the outcome in the table."""
        return self.total / self.rows

    def divergence(self) -> Floats:
        """DivExplorer: the rate of each less that of all, in either direction."""
        return np.abs(self.hits / self.size - self.rate)

    def standard_quality(self, exponent: float) -> Floats:
        """pysubgroup: the share of the rows to a power, times how much higher their rate is."""
        share = self.size / self.rows
        return np.asarray(share**exponent * (self.hits / self.size - self.rate))

    def bernoulli_score(self, *, higher: bool) -> Floats:
        """bias_scan: the log-likelihood ratio of a rate of their own against that of all.

        With one expected rate for everybody the best odds have a closed form, and the score is the
        divergence of Kullback and Leibler times the rows; rates on the other side score 0.
        """
        inside = self.hits / self.size
        apart = rel_entr(inside, self.rate) + rel_entr(1 - inside, 1 - self.rate)
        wanted = inside > self.rate if higher else inside < self.rate
        return np.where(wanted, self.size * apart, 0.0)

    def slice_score(self, alpha: float) -> Floats:
        """sliceline: how much larger the mean error is, less what a small slice costs."""
        errors = self.hits / self.size / self.rate - 1
        smallness = self.rows / self.size - 1
        return np.asarray(alpha * errors - (1 - alpha) * smallness)


def key_of(conditions: Conditions) -> Key:
    """Return conditions in a form that does not depend on their order."""
    return frozenset(
        (feature, tuple(sorted(values))) for feature, values in conditions.items()
    )


@dataclass(frozen=True)
class Compared:
    """How many rule sets two tools both have, how many of those have equal counts, and the rest."""

    both: int
    equal: int
    only_ours: int
    only_theirs: int

    @property
    def all_equal(self) -> bool:
        """Whether both have the same rule sets with the same counts."""
        return self.equal == self.both and not self.only_ours and not self.only_theirs

    def __str__(self) -> str:
        text = f"{self.equal:,} of {self.both:,}"
        if self.only_theirs:
            text += f", {self.only_theirs:,} only theirs"
        if self.only_ours:
            text += f", {self.only_ours:,} only ours"
        return text


def compare(ours: Counts, theirs: Counts, *, whole: bool = True) -> Compared:
    """Compare the counts of rule sets one by one.

    Parameters
    ----------
    whole
        Whether theirs are all there are; otherwise those that are only ours are not counted.
    """
    shared = ours.keys() & theirs.keys()
    equal = sum(ours[key] == theirs[key] for key in shared)
    only_ours = len(ours) - len(shared) if whole else 0
    return Compared(len(shared), equal, only_ours, len(theirs) - len(shared))


def as_extreme(ours: float, theirs: float, *, rounded: float = 1e-9) -> bool:
    """Return whether our best is no less than theirs, but for rounding."""
    return ours >= theirs - rounded


def covered(table: pd.DataFrame, conditions: Conditions) -> Flags:
    """Return which rows meet conditions."""
    inside = np.ones(len(table), dtype=np.bool_)
    for feature, values in conditions.items():
        inside &= table[feature].isin(list(values)).to_numpy()
    return inside


def is_variation(group: Flags, planted: Flags) -> bool:
    """Return whether a group tells of planted people: most of both are shared, or it is of them.

    >>> planted = np.array([True, True, True, False])
    >>> is_variation(np.array([True, False, False, False]), planted)
    True
    >>> is_variation(np.array([False, False, True, True]), planted)
    False
    """
    shared = (group & planted).sum()
    either = (group | planted).sum()
    is_same = bool(shared > SAME * either)
    is_part = bool(group.any() and shared == group.sum())
    return is_same or is_part


def variations(
    table: pd.DataFrame, lines: Iterable[Conditions], planted: Conditions
) -> list[bool]:
    """Return which lines of a list are variations of a planted group."""
    people = covered(table, planted)
    return [is_variation(covered(table, line), people) for line in lines]


def text_table(rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str]) -> str:
    """Return rows as a text, a column for each key; numbers are set to the right.

    >>> print(text_table([{"tool": "a", "cpu": "1.5"}], {"tool": "tool", "cpu": ">CPU s"}))
    tool  CPU s
    a       1.5
    """
    heads = [head.lstrip(">") for head in columns.values()]
    cells = [[str(row.get(key, "")) for key in columns] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *cells, strict=True)]
    lines = []
    for line in [heads, *cells]:
        fields = []
        for cell, width, head in zip(line, widths, columns.values(), strict=True):
            fields.append(cell.rjust(width) if head.startswith(">") else cell.ljust(width))
        lines.append("  ".join(fields).rstrip())
    return "\n".join(lines)
