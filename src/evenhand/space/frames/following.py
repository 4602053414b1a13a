"""Columns that follow from dates in all rows of a frame: the year of a date, or an age."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SpaceError
from evenhand.space.encoding import encode_column
from evenhand.space.frames.reading import values_of
from evenhand.space.values.derived import FUNCTIONS, Derivation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.space.feature import Feature, Points

FEWEST = 10
"""The fewest rows, and...."""
SEVERAL = 3
"""...the fewest different values of a column that are no coincidence."""


def with_derivations(
    frame: Any, features: Sequence[Feature], declared: Mapping[str, Any]
) -> list[Feature]:
    """Return the features, those that follow from dates in all rows with what they follow from.

    What is declared, `derived = ""` included, is left as it is.
    """
    dates = [at for at, feature in enumerate(features) if feature.kind == "date"]
    kept = list(features)
    if not dates or len(frame) < FEWEST:
        return kept
    candidates = [at for at in range(len(kept)) if may_follow(kept[at], declared)]
    points: Points = np.zeros((len(frame), len(kept)))
    for at in (*dates, *candidates):
        values = values_of(frame, kept[at])
        points[:, at] = encode_column(kept[at], values, where="frame")
    for at in candidates:
        if len(np.unique(points[:, at])) >= SEVERAL:
            kept[at] = _following(at, kept, dates, points)
    return kept


def may_follow(feature: Feature, declared: Mapping[str, Any]) -> bool:
    """Return whether a feature is a whole number, or one of some, that is not declared."""
    table = declared.get(feature.name, {})
    if isinstance(table, Mapping) and "derived" in table:
        return False
    are_numbers = all(isinstance(level, int | float) for level in feature.levels)
    return feature.kind == "integer" or (feature.kind == "category" and are_numbers)


def _following(
    at: int,
    features: Sequence[Feature],
    dates: Sequence[int],
    points: Points,
) -> Feature:
    """Return a feature with the first that it follows from, or as it is."""
    for text in _texts([features[date].name for date in dates]):
        feature = replace(features[at], derived=text)
        with_it = [*features]
        with_it[at] = feature
        try:
            derivation = Derivation.of(at, with_it)
        except SpaceError:  # a date may be missing where the feature never is
            continue
        # Most candidates fail in the first rows.
        if derivation.holds(points[:FEWEST]).all() and derivation.holds(points).all():
            return feature
    return features[at]


def _texts(dates: Sequence[str]) -> Iterator[str]:
    """Return all that could be made of dates."""
    quoted = []
    for date in dates:
        if not date.isidentifier():
            quoted.append(f"`{date}`")
        else:
            quoted.append(date)
    for name, (wanted, _) in FUNCTIONS.items():
        for chosen in itertools.permutations(quoted, wanted):
            yield f"{name}({', '.join(chosen)})"
