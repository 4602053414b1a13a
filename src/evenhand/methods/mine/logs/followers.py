"""Columns of a log that follow from its dates in all rows, as the year of a date does."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine.logs.cells import is_day
from evenhand.methods.mine.logs.ranges import days_in_order
from evenhand.population.recorded import count_rows
from evenhand.space.frames.following import FEWEST, SEVERAL, may_follow, with_derivations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.logs.complete import CompleteRows
    from evenhand.space.feature import Feature

_FIRST = 1_000
"""Rows that are read to find columns that do not follow: nearly all of them."""


def with_followers(log: CompleteRows, features: Sequence[Feature]) -> list[Feature]:
    """Return the features, those that follow from dates in all rows with what they follow from.

    All rows of a column are looked at only where the first of them leave open whether it follows.
    """
    dates = [feature.name for feature in features if feature.kind == "date"]
    candidates = [feature.name for feature in features if may_follow(feature, {})]
    if not dates or not candidates or log.rows < FEWEST:
        return list(features)
    first = log.first(_FIRST, *log.names)
    left = []
    for feature in with_derivations(first, features, {}):
        if feature.name not in candidates:
            continue
        if feature.derived or _leaves_open(first, feature.name):
            left.append(feature.name)
    if not left:
        return list(features)
    looked_at = []
    for feature in features:
        if feature.name in left or feature.name in dates:
            looked_at.append(feature)
    names = [feature.name for feature in looked_at]
    rows = _different_rows(log, names)
    found = {}
    for feature in with_derivations(rows, looked_at, {}):
        found[feature.name] = feature
    return [found.get(feature.name, feature) for feature in features]


def _different_rows(log: CompleteRows, names: Sequence[str]) -> Any:
    """Return some columns of all rows, or of rows that differ in them where these are counted."""
    import narwhals as nw

    if log.cells is not None:
        rows = log.cells.frame.select(names)
    elif log.is_large:
        days = [
            days_in_order(name, log.dtype(name))
            for name in names
            if is_day(log.dtype(name))
        ]
        rows = count_rows(log.table.select(names).with_columns(*days), names).select(names)
    else:
        return log.read(*names)
    # Each stands for one row at least, and all rows are more than the fewest that show anything.
    copies = math.ceil(FEWEST / len(rows))
    return nw.concat([rows] * copies)


def _leaves_open(first: Any, name: str) -> bool:
    """Return whether the first rows have too few values of a column to tell whether it follows."""
    # What is missing may be one of the values.
    distinct = first[name].n_unique()
    return len(first) < FEWEST or distinct <= SEVERAL
