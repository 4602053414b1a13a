"""Other values of a feature, for walks through what was found."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.search.arrays import Flags, Generator, Numbers
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space

_FINE = 1 << 20
"""How many values a continuous feature counts for."""


def other_values(
    feature: Feature,
    values: Numbers,
    rng: Generator,
    scales: int,
) -> Numbers:
    """Return other values of a feature, by a scale drawn for each.

    What may be missing is so as often as in uniform draws: a step away is as likely as one back.
    """
    moved = _moved_values(feature, values, rng, scales)
    if not feature.missing:
        return moved
    fresh = np.empty(len(values))
    known = replace(feature, missing=False, twins_missing=False)
    known.draw(len(values), rng, fresh)
    moved = np.where(feature.is_missing(values), fresh, moved)
    goes = rng.random(len(values)) < feature.missing_share
    return np.where(goes, feature.missing_code, moved)


def changed_points(
    space: Space,
    positions: Sequence[int],
    points: Points,
    change: Flags,
    rng: Generator,
    scales: int = 1,
) -> Points:
    """Return the points with other values of some features, by a scale drawn for each.

    `change` has a row for each point and a column for each position. Beyond one end a number goes
    on at its other, so that a change and its reverse are as likely.
    """
    found: Points = np.array(points, order="F")
    for at, position in enumerate(positions):
        rows = np.flatnonzero(change[:, at])
        feature = space.features[position]
        values = found[rows, position]
        found[rows, position] = other_values(feature, values, rng, scales)
    return found


def _moved_values(
    feature: Feature,
    values: Numbers,
    rng: Generator,
    scales: int,
) -> Numbers:
    """Return other known values of a feature, by a scale drawn for each."""
    is_counted = math.isfinite(feature.size)
    is_number = feature.kind != "category"
    low = float(feature.low) if is_number else 0.0
    if is_counted:
        count = float(feature.size)
        unit = float(feature.step or 1.0)
    else:
        count = float(_FINE)
        unit = float(feature.high - low) / _FINE
    halvings = rng.integers(0, scales, len(values)) if is_number else 0
    reach = count / 2**halvings
    distance = np.ceil(rng.random(len(values)) * reach)
    by = distance * rng.choice([-1, 1], len(values))
    here = (values - low) / unit
    if is_counted:
        here = np.round(here)
    place = np.mod(here + by, count)
    return feature.snap(low + place * unit)
