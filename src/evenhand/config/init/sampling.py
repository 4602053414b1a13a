"""Rows that the software is asked about: from all over the data, and of every outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MOST_OUTCOMES = 10
"""With more outcomes than these, rows are taken from all over the file instead."""


def sample(frame: pd.DataFrame, target: str | None, most: int) -> pd.DataFrame:
    """Return rows from all over a frame, as many of each outcome where these are few."""
    if len(frame) <= most:
        return frame
    outcomes = [] if target is None else frame[target].dropna().unique().tolist()
    if target is None or not 0 < len(outcomes) <= MOST_OUTCOMES:
        return frame.iloc[spread(len(frame), most)]
    places: list[int] = []
    column = frame[target].to_numpy()
    share = max(1, most // len(outcomes))
    for value in outcomes:
        having = (column == value).nonzero()[0]
        chosen = having[spread(len(having), share)]
        places.extend(chosen.tolist())
    return frame.iloc[sorted(places)]


def spread(total: int, most: int) -> list[int]:
    """Return places all over a sequence, the same whenever it is as long.

    >>> spread(10, 4), spread(2, 4)
    ([0, 2, 5, 7], [0, 1])
    """
    count = min(total, most)
    return [place * total // count for place in range(count)]
