"""The bins of a number in words, which are the groups that it makes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evenhand.space.values.feature_type import Feature
    from evenhand.space.values.points import Floats


def bin_text(feature: Feature, edges: Floats, place: int) -> str:
    """Return one of the bins between some edges of a feature in words."""
    # As many decimals as tell the edges apart, so that no two bins are called the same.
    gap = float(np.diff(edges).min())
    decimals = 6
    if gap:
        magnitude = math.floor(math.log10(gap))
        decimals = int(np.clip(5 - magnitude, 0, 15))
    ends = np.round(edges[place : place + 2], decimals)
    low, high = (feature.end_text(end) for end in ends)
    if place == len(edges) - 2:
        return f"{low} to {high}"
    between = "to before" if feature.kind == "date" else "to under"
    return f"{low} {between} {high}"


def bin_texts(feature: Feature) -> list[str]:
    """Return all bins of a feature in words."""
    edges = feature.edges()
    return [bin_text(feature, edges, place) for place in range(len(edges) - 1)]
