"""Dates as whole days since 1970-01-01, and as ISO texts such as 2020-05-01."""

from __future__ import annotations

import datetime
import re
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.values.points import Floats

_ISO = re.compile(r"\d{4}-\d{2}-\d{2}")
_EPOCH = datetime.date(1970, 1, 1)
_MIDNIGHT = re.compile(r"[T ]00:00(:00(\.0+)?)?Z?")


def day_of(value: Any) -> int | None:
    """Return a date as days since 1970-01-01, or None for what is no date.

    A moment counts as the day that it lies in.

    >>> day_of("1970-01-31"), day_of(datetime.date(1970, 1, 2)), day_of("31.1.1970")
    (30, 1, None)
    """
    if isinstance(value, np.datetime64):
        if np.isnat(value):
            return None
        return int(value.astype("datetime64[D]").astype(int))
    if isinstance(value, datetime.datetime):  # a pandas Timestamp is one too
        # Pandas' NaT is one as well, and differs from itself.
        value = value.date() if value == value else None
    if isinstance(value, datetime.date):
        return (value - _EPOCH).days
    if not isinstance(value, str):
        return None
    text = value.strip()
    if len(text) > 10 and _MIDNIGHT.fullmatch(text[10:]):
        text = text[:10]
    if not _ISO.fullmatch(text):
        return None
    try:
        return (datetime.date.fromisoformat(text) - _EPOCH).days
    except ValueError:
        return None


def days_of(values: Sequence[Any]) -> Floats:
    """Return dates as days; NaN for what is no date.

    >>> days_of(["1970-01-02", "soon"]).tolist()
    [1.0, nan]
    """
    days = np.full(len(values), np.nan)
    for row, value in enumerate(values):
        day = day_of(value)
        if day is not None:
            days[row] = day
    return days


def iso_text(day: float) -> str:
    """Return a day as people write it.

    >>> iso_text(30.0)
    '1970-01-31'
    """
    return str(np.datetime64(int(day), "D"))


def iso_texts(days: Floats) -> NDArray[np.str_]:
    """Return days as ISO texts.

    >>> iso_texts(np.array([0.0, 18262.0])).tolist()
    ['1970-01-01', '2020-01-01']
    """
    return moments(days).astype(str)


def iso_objects(days: Floats) -> NDArray[Any]:
    """Return days as ISO texts that are Python objects.

    >>> iso_objects(np.array([0.0, 18262.0])).tolist()
    ['1970-01-01', '2020-01-01']
    """
    if not len(days):
        return np.empty(0, dtype=object)
    numbers = days.astype(np.int64)
    first = int(numbers.min())
    every_day = np.arange(first, int(numbers.max()) + 1, dtype=np.float64)
    if len(every_day) > len(days):
        return iso_texts(days).astype(object)
    # Each day becomes a text once.
    return iso_texts(every_day).astype(object)[numbers - first]


def moments(days: Floats) -> NDArray[np.datetime64]:
    """Return days as numpy's dates."""
    return days.astype(np.int64).astype("datetime64[D]")
