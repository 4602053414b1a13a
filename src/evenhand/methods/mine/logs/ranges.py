"""The features of columns of numbers and dates, of which the engine finds the ranges and steps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.logs import messages
from evenhand.methods.mine.logs.cells import MOST_READ, is_day, is_number
from evenhand.runtime.errors import DataError
from evenhand.space.frames.inference import infer
from evenhand.space.values.dates import day_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.logs.complete import CompleteRows
    from evenhand.space.feature import Feature, Floats

_DECIMALS = (0, 1, 2, 3)
"""The decimals that the step of a number may have, all of which inference looks for."""
_MOST_SIGNED = 2**63 - 1


def ranged_features(log: CompleteRows) -> dict[str, Feature]:
    """Return the features of all columns that hold numbers or dates, as all rows would give them.

    What the engine finds is the lowest and the highest value, how many are missing, and a value
    that is no whole number, or has more than one, two or three decimals, where there is one.
    """
    found: list[Any] = []
    ranged: list[str] = []
    for name in log.names:
        dtype = log.dtype(name)
        if is_number(dtype) or is_day(dtype):
            ranged.append(name)
            found += _extremes(log, name, len(ranged))
    if not found:
        return {}
    extremes = log.counted.select(*found).lazy().collect()
    features = {}
    for number, name in enumerate(ranged, start=1):
        own = [key for key in extremes.columns if key.startswith(f"{number} ")]
        values = [extremes[key].to_list()[0] for key in own]
        features[name] = _feature(log, name, values[1:], int(values[0]))
    return features


def values_in_order(name: str, dtype: Any) -> Any:
    """Return a column as numbers or moments that compare, as an expression; NaN is null."""
    import narwhals as nw

    column = nw.col(name)
    if is_day(dtype):
        # The day where the clock hangs, not that of Greenwich.
        zone = getattr(dtype, "time_zone", None)
        return column if zone is None else column.dt.replace_time_zone(None)
    if dtype.is_integer():
        return column
    if not dtype.is_float():
        column = column.cast(nw.Float64)
    return nw.when(~column.is_nan()).then(column)


def days_in_order(name: str, dtype: Any) -> Any:
    """Return a column of dates or moments as its days, as an expression of its name."""
    import narwhals as nw

    days = values_in_order(name, dtype)
    if dtype == nw.Datetime:
        days = days.dt.truncate("1d")
    return days.alias(name)


def quotient(column: Any, divisor: float) -> Any:
    """Return a column divided by a number, with the last digit that numpy gives it.

    Some engines multiply by the inverse of a number instead, but not by that of a column.
    """
    return column / (column * 0.0 + divisor)


def _extremes(log: CompleteRows, name: str, number: int) -> list[Any]:
    """Return how many values are known, the lowest and the highest, and those off each grid."""
    import narwhals as nw

    dtype = log.dtype(name)
    values = values_in_order(name, dtype)
    found = [log.number(~values.is_null()), values.min(), values.max()]
    if is_number(dtype) and not dtype.is_integer():
        doubles = values.cast(nw.Float64)
        for decimals in _DECIMALS:
            # The same operations as numpy's, in the same order.
            written = quotient((doubles * 10.0**decimals).round(0), 10.0**decimals)
            if dtype == nw.Float32:
                written = written.cast(nw.Float32)
            found.append(nw.when(values != written).then(values).min())
    return [value.alias(f"{number} {place}") for place, value in enumerate(found)]


def _feature(log: CompleteRows, name: str, values: Sequence[Any], known: int) -> Feature:
    """Return the feature of a column, given values of it that stand for all."""
    import narwhals as nw
    import pandas as pd

    dtype = log.dtype(name)
    seen = [value for value in values if not pd.isna(value)]
    missing = log.rows - known
    if is_day(dtype):
        days = np.array([day_of(value) for value in seen], dtype="datetime64[D]")
        column = pd.Series(days.astype("datetime64[s]"))
    elif dtype.is_integer():
        signed = all(value <= _MOST_SIGNED for value in seen)
        column = pd.Series(seen, dtype="Int64" if signed else "UInt64")
    else:
        narrow = dtype == nw.Float32
        column = pd.Series(seen, dtype=np.float32 if narrow else np.float64)
    counts = np.zeros(len(seen))
    counts[:1] = known
    if missing:
        column = column.reindex(range(len(seen) + 1))
        counts = np.append(counts, missing)
    frame = nw.from_native(pd.DataFrame({name: column}), eager_only=True)
    return inferred(log, name, frame, counts)


def inferred(
    log: CompleteRows, name: str, frame: Any, counts: Floats | None = None
) -> Feature:
    """Infer the feature of a column from values that stand for several rows each.

    What is wrong with it is said of its rows, of which a million are read then.
    """
    try:
        (feature,) = infer(frame, [name], {}, counts)
    except DataError as error:
        rows = log.first(MOST_READ, name) if log.is_large else log.read(name)
        (feature,) = infer(rows, [name], {})
        if log.is_large:
            raise DataError(messages.AMONG_DIFFERENT_ROWS.format(error=error)) from None
    return feature
