"""Columns of a log that follow from its dates in all rows, as the year of a date does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenhand.space.frames.following import FEWEST, SEVERAL, may_follow, with_derivations

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.logs.complete import CompleteRows
    from evenhand.space.feature import Feature

_FIRST = 1_000
"""Rows that are read to find columns that do not follow: nearly all of them."""


def with_followers(log: CompleteRows, features: Sequence[Feature]) -> list[Feature]:
    """Return the features, those that follow from dates in all rows with what they follow from.

    All rows of a column are read only where the first of them do not show that it does not follow.
    """
    dates = [feature.name for feature in features if feature.kind == "date"]
    candidates = [feature.name for feature in features if may_follow(feature, {})]
    if not dates or not candidates or log.rows < FEWEST:
        return list(features)
    first = log.first(_FIRST, *log.names)
    left = []
    for feature in with_derivations(first, features, {}):
        if feature.derived or _is_open(first[feature.name].n_unique(), len(first)):
            left.append(feature.name)
    open_columns = set(left) & set(candidates)
    if not open_columns:
        return list(features)
    looked_at = [f for f in features if f.name in open_columns or f.name in dates]
    rows = log.read(*(feature.name for feature in looked_at))
    found = {feature.name: feature for feature in with_derivations(rows, looked_at, {})}
    return [found.get(feature.name, feature) for feature in features]


def _is_open(distinct: int, rows: int) -> bool:
    """Return whether so few different values in so few rows leave open what a column follows."""
    return bool(np.less(distinct, SEVERAL + 1) or rows < FEWEST)
