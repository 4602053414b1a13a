"""Counts by category: rows and favourable outcomes, and the rows whose category is unknown."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.impact import messages
from evenhand.population.recorded import (
    decided_sizes,
    label_of,
    labels_of,
    seen,
    sizes_of,
)
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError
from evenhand.runtime.label_text import group_text
from evenhand.scores.rates.metric_table import counts_by
from evenhand.space.frames.reading import declared_levels

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenhand.population.recorded import DecisionColumns
    from evenhand.runtime.label_text import Words
    from evenhand.space.feature import Label
    from evenhand.statistics.intervals import Floats

    Category = tuple[Label, ...]

MOST_LISTED = 1000
"""The most categories with rows that are listed."""
MOST_EMPTY = 20
"""The most categories without rows that are listed."""


def normalised(label: Any) -> str:
    """Return a label as it is compared with the unknown ones, however it is capitalised.

    >>> normalised("Prefer  not-to say "), normalised(9)
    ('prefer not to say', '9')
    """
    text = str(label).casefold().replace("’", "'")
    words = text.replace("-", " ").replace("_", " ").split()
    return " ".join(words)


@dataclass(frozen=True)
class CategoryTally:
    """Rows and favourable outcomes of each category of one set.

    `rows` are all rows with an outcome. `unknown_as` holds columns, labels that stand for an
    unknown category (None for missing values), and how many rows have them.
    """

    over: tuple[str, ...]
    levels: Mapping[str, Category]
    categories: tuple[Category, ...]
    hits: Floats
    size: Floats
    rows: int
    unknown_as: tuple[tuple[str, Label | None, int], ...]
    unlisted: int = 0
    """Categories without rows that are too many to list."""
    words: Mapping[str, Words] = field(default_factory=dict)
    """What people call the values of the columns."""
    counts: Floats | None = None
    """Rows by category, truth and decision, where it is known what decisions should have been."""

    @property
    def unknown(self) -> int:
        """Rows of which at least one characteristic is not known."""
        return self.rows - int(self.size.sum())


def tallied(
    cells: Any,
    over: tuple[str, ...],
    decisions: DecisionColumns,
    unknown: Iterable[Any],
    words: Mapping[str, Words] | None = None,
) -> CategoryTally:
    """Sum counts by category; rows without an outcome count for nothing."""
    unknown_labels = {normalised(label) for label in unknown} | {""}
    counts = _counted(cells, over, decisions.outcome, decisions.favourable, unknown_labels)
    levels = {name: _known_levels(cells, name, unknown_labels) for name in over}
    _check(over, counts.rows)
    empty = math.prod(len(column_levels) for column_levels in levels.values()) - len(
        counts.rows
    )
    if empty <= MOST_EMPTY:
        categories = list(product(*levels.values()))
        unlisted = 0
    else:
        categories = _in_order_of_levels(counts.rows, levels)
        unlisted = empty
    return CategoryTally(
        over=over,
        levels=levels,
        categories=tuple(categories),
        hits=np.array([counts.hits[category] for category in categories], dtype=float),
        size=np.array([counts.rows[category] for category in categories], dtype=float),
        rows=counts.total,
        unknown_as=_in_order_of_columns(counts.unknown, over),
        unlisted=unlisted,
        words=words or {},
        counts=_by_truth(cells, over, categories, decisions),
    )


def _by_truth(
    cells: Any,
    over: tuple[str, ...],
    categories: Sequence[Category],
    decisions: DecisionColumns,
) -> Floats | None:
    """Return the rows of each category by truth and decision, None without a truth."""
    if decisions.truth is None:
        return None
    place_of = {category: place for place, category in enumerate(categories)}
    labels = zip(*(labels_of(cells, name) for name in over), strict=True)
    places = np.array([place_of.get(category, -1) for category in labels], dtype=np.intp)
    return counts_by(
        places,
        len(categories),
        decisions.truths(cells),
        decisions.decided(cells),
        decided_sizes(cells, decisions.outcome),
    )


@dataclass
class _Counts:
    """Sums over the counted cells of a frame."""

    total: int = 0
    rows: Counter[Category] = field(default_factory=Counter)
    hits: Counter[Category] = field(default_factory=Counter)
    unknown: Counter[tuple[str, Label | None]] = field(default_factory=Counter)


def _counted(
    cells: Any,
    over: tuple[str, ...],
    outcome: str,
    favourable: Label,
    unknown_labels: set[str],
) -> _Counts:
    """Return the rows and hits of each category, and the rows of each unknown label."""
    columns = [labels_of(cells, name) for name in over]
    known = [_known_labels(column, unknown_labels) for column in columns]
    categories = zip(*columns, strict=True)
    outcomes = labels_of(cells, outcome)
    sizes = sizes_of(cells)
    counts = _Counts()
    for category, found, size in zip(categories, outcomes, sizes, strict=True):
        if found is None:
            continue
        rows = int(size)
        counts.total += rows
        labels = zip(over, category, known, strict=True)
        absent = []
        for name, label, of_column in labels:
            if label not in of_column:
                absent.append((name, label))
        # A row that lacks two characteristics counts for each of them.
        for key in absent:
            counts.unknown[key] += rows
        if not absent:
            counts.rows[category] += rows
            counts.hits[category] += rows * (found == favourable)
    return counts


def _known_labels(
    column: Iterable[Label | None],
    unknown_labels: set[str],
) -> set[Label]:
    """Return the labels of a column that stand for a category."""
    known: set[Label] = set()
    for label in set(column):
        if label is not None and normalised(label) not in unknown_labels:
            known.add(label)
    return known


def _known_levels(
    cells: Any,
    name: str,
    unknown_labels: set[str],
) -> Category:
    """Return the levels of a column, those that it declares first."""
    levels = (*declared_levels(cells[name]), *seen(cells, name))
    labels = dict.fromkeys(label_of(level) for level in levels)
    return tuple(label for label in labels if normalised(label) not in unknown_labels)


def _in_order_of_levels(
    categories: Iterable[Category],
    levels: Mapping[str, Category],
) -> list[Category]:
    """Return categories sorted by the places of their labels."""
    places = [_places(column_levels) for column_levels in levels.values()]

    def key(category: Category) -> list[int]:
        return [of_column[label] for of_column, label in zip(places, category, strict=True)]

    return sorted(categories, key=key)


def _places(levels: Category) -> dict[Label, int]:
    return {level: place for place, level in enumerate(levels)}


def _in_order_of_columns(
    unknown: Mapping[tuple[str, Label | None], int],
    over: Sequence[str],
) -> tuple[tuple[str, Label | None, int], ...]:
    """Return the unknown labels of each column with their rows, missing values last."""
    entries = [(name, label, rows) for (name, label), rows in unknown.items()]

    def key(entry: tuple[str, Label | None, int]) -> tuple[int, bool, str]:
        name, label, _ = entry
        return over.index(name), label is None, str(label)

    return tuple(sorted(entries, key=key))


def _check(over: tuple[str, ...], rows: Mapping[Category, int]) -> None:
    """Refuse sets that have nothing to compare, or too much to list."""
    names = " and ".join(over)
    intersection = len(over) > 1
    if not rows:
        if intersection:
            raise DataError(messages.NO_KNOWN_INTERSECTION.format(names=names))
        raise DataError(messages.NO_KNOWN_CATEGORY.format(names=names))
    if len(rows) == 1:
        (only,) = rows
        category = group_text(dict(zip(over, only, strict=True)))
        if intersection:
            message = messages.ONE_INTERSECTION.format(
                names=names,
                category=category,
            )
            raise DataError(message)
        message = messages.ONE_CATEGORY.format(
            names=names,
            category=category,
        )
        raise DataError(message)
    if len(rows) > MOST_LISTED:
        message = messages.TOO_MANY_TO_LIST.format(
            names=names,
            number=number_text.count(len(rows)),
            most=number_text.count(MOST_LISTED),
        )
        raise UsageError(message)
