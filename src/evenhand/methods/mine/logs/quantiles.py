"""Quantiles of a column of very many numbers, of which the engine counts all and a few are read.

Numbers are counted in intervals of equal width, and those in which a quantile lies are cut again
until few numbers lie in them. So quantiles are those of all rows, to the last digit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.bins import places_around
from evenhand.methods.mine.logs.cells import is_day
from evenhand.methods.mine.logs.ranges import days_in_order, values_in_order
from evenhand.population.recorded import count_rows, sizes_of
from evenhand.space.encoding import encode_column
from evenhand.space.frames.reading import values_of

if TYPE_CHECKING:
    from evenhand.methods.mine.logs.complete import CompleteRows
    from evenhand.space.feature import Feature, Floats

_BITS = (16, 26, 36, 46)
"""A column is cut into two to the power of these many intervals, until few numbers are read."""
MOST_VALUES = 200_000
"""So many numbers are read at most where intervals can be cut further."""
_VALUE, _INTERVAL, _LOWEST, _ROWS = "value", "interval", "lowest", "rows"


def values_around(
    log: CompleteRows, feature: Feature, shares: Floats
) -> tuple[Floats, Floats]:
    """Return encoded values of a column, and for how many rows each of them stands.

    Their quantiles at these shares are those of all rows that are not missing.
    """
    import narwhals as nw

    name = feature.name
    dtype = log.dtype(name)
    if is_day(dtype):
        days = days_in_order(name, dtype)
        known = log.table.select(days).filter(~nw.col(name).is_null())
        frame = count_rows(known, [name])
        values, rows = values_of(frame, feature), sizes_of(frame)
    else:
        values, rows = numbers_around(log, name, shares)
        if dtype == nw.Float32:
            values = values.astype(np.float32)
    return encode_column(feature, values, where="frame"), rows


def numbers_around(log: CompleteRows, name: str, shares: Floats) -> tuple[Floats, Floats]:
    """Return numbers of a column, and for how many rows each of them stands, as `values_around`."""
    import narwhals as nw

    column = values_in_order(name, log.dtype(name)).cast(nw.Float64).alias(_VALUE)
    table = log.table.select(column).filter(~nw.col(_VALUE).is_null())
    low, width = _range(table)
    values = np.empty(0)
    rows = np.empty(0)
    for bits in _BITS if width > 0 else ():
        table = table.with_columns(_interval(low, width, bits).alias(_INTERVAL))
        intervals, lowest, rows_in = _counted(table)
        inside = _hold_quantiles(
            np.append(values, lowest), np.append(rows, rows_in), shares
        )
        inside = inside[len(values) :]
        values = np.append(values, lowest[~inside])
        rows = np.append(rows, rows_in[~inside])
        taken = intervals[inside].tolist()
        table = table.filter(nw.col(_INTERVAL).is_in(taken)).select(_VALUE)
        if rows_in[inside].sum() <= MOST_VALUES:
            break
    frame = count_rows(table, [_VALUE])
    values = np.append(values, frame[_VALUE].to_numpy())
    return values, np.append(rows, sizes_of(frame))


def _range(table: Any) -> tuple[float, float]:
    """Return the lowest number, and how far the highest lies over it."""
    import narwhals as nw

    lowest = nw.col(_VALUE).min().alias(_LOWEST)
    highest = nw.col(_VALUE).max().alias(_VALUE)
    found = table.select(lowest, highest).lazy().collect()
    low = float(found[_LOWEST].to_list()[0])
    return low, float(found[_VALUE].to_list()[0]) - low


def _interval(low: float, width: float, bits: int) -> Any:
    """Return the number of the interval that each number lies in, as an expression."""
    import narwhals as nw

    # Rounding moves a number to the next interval at most, and never past another number.
    place = (nw.col(_VALUE) - low) * (2.0**bits / width)
    return place.floor()


def _counted(table: Any) -> tuple[Floats, Floats, Floats]:
    """Return the intervals that hold numbers, the lowest number in each, and how many rows."""
    import narwhals as nw

    lowest = nw.col(_VALUE).min().alias(_LOWEST)
    groups = table.group_by(_INTERVAL).agg(lowest, nw.len().alias(_ROWS))
    found = groups.lazy().collect()
    columns = []
    for name in (_INTERVAL, _LOWEST, _ROWS):
        columns.append(found[name].to_numpy().astype(np.float64))
    intervals, values, rows = columns
    return intervals, values, rows


def _hold_quantiles(lowest: Floats, rows: Floats, shares: Floats) -> Any:
    """Return which intervals, given the lowest number in each, hold a row that a quantile needs."""
    order = np.argsort(lowest, kind="stable")
    up_to = np.cumsum(rows[order])
    below, above, _ = places_around(up_to[-1], shares)
    needed = np.searchsorted(up_to, np.append(below, above), side="right")
    found = np.zeros(len(lowest), dtype=np.bool_)
    found[order[needed]] = True
    return found
