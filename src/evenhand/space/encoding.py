"""Labels into codes: what a person writes becomes a number, or is refused with its row."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, clip, nearest
from evenhand.space.frames.coded import CodedLabels
from evenhand.space.values.dates import days_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Flags, Floats

_NUMBERS = (int, float, np.integer, np.floating, Decimal)


def encode_column(feature: Feature, values: Any, *, where: str) -> Floats:
    """Encode one column of labels, naming the first value that the feature cannot take."""
    if isinstance(values, CodedLabels):
        return _encoded_once(feature, values, where)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        given = values
    else:
        given = np.fromiter(values, dtype=object, count=len(values))
    missing = missing_values(given)
    if not missing.any():
        return _encoded(feature, given, where, np.arange(len(given)))
    if not feature.missing:
        row = int(missing.argmax())
        raise DataError(
            f"{where}: {feature.name!r} is missing in {int(missing.sum()):,} of {len(missing):,}"
            f" rows, the first of them row {row}, but the space knows no missing values of it; say"
            " missing = true of the feature, or drop these rows"
        )
    column = np.full(len(given), feature.missing_code)
    rows = np.flatnonzero(~missing)
    column[rows] = _encoded(feature, given[rows], where, rows)
    return column


def taken_values(feature: Feature, values: Any) -> Flags:
    """Return which labels of a column a feature can take.

    >>> from evenhand.space.feature import integer
    >>> taken_values(integer("age", 18, 90), [20, "old", 7, None]).tolist()
    [True, False, False, False]
    """
    import pandas as pd

    if isinstance(values, CodedLabels):
        return values.take(taken_values(feature, values.values), bool(feature.missing))
    given = np.fromiter(values, dtype=object, count=len(values))
    missing = missing_values(given)
    if feature.kind == "category":
        known = pd.Series(given, dtype=object).isin(feature.levels).to_numpy()
        return np.where(missing, bool(feature.missing), known)
    if feature.kind == "date" and not isinstance(values, np.ndarray):
        numbers = days_of(given.tolist())
    else:
        # A text that is not a number becomes NaN, which is inside no range.
        numbers = pd.to_numeric(pd.Series(given, dtype=object), errors="coerce")
        numbers = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
    known = feature.inside(numbers) & ~feature.is_missing(numbers)
    return np.where(missing, bool(feature.missing), known)


def missing_values(values: NDArray[Any]) -> Flags:
    """Return which values are missing: NaN, NaT, None or pandas' NA."""
    kind = values.dtype.kind
    if kind == "f":
        return np.asarray(np.isnan(values))
    if kind != "O":
        return np.zeros(len(values), dtype=np.bool_)
    import pandas as pd

    return np.asarray(pd.isna(values), dtype=np.bool_)


def _encoded_once(feature: Feature, column: CodedLabels, where: str) -> Floats:
    """Encode each different value of a column, and take the codes of its rows from these."""
    used = np.flatnonzero(column.counts).tolist()
    codes = np.full(len(column.values), np.nan)
    try:
        codes[used] = encode_column(
            feature, [column.values[at] for at in used], where=where
        )
    except DataError:
        return _encoded_each(feature, column, where)
    if column.has_gaps and not feature.missing:
        return _encoded_each(feature, column, where)
    return column.take(codes, feature.missing_code)


def _encoded_each(feature: Feature, column: CodedLabels, where: str) -> Floats:
    """Encode row by row, so that an error names the first row that is wrong."""
    return encode_column(feature, list(column), where=where)


def _encoded(
    feature: Feature,
    values: NDArray[Any],
    where: str,
    rows: NDArray[np.intp],
) -> Floats:
    """Encode values of which none is missing; `rows` are their places in the frame."""
    if feature.kind == "category":
        return _codes(feature, values, where, rows)
    numbers = values
    if values.dtype.kind == "O":
        to_numbers = _days if feature.kind == "date" else _numbers
        numbers = to_numbers(feature, values, where, rows)
    column = numbers.astype(np.float64)
    if numbers.dtype.kind == "f" and numbers.dtype.itemsize < 8:
        # A narrow float that is the nearest one to a value of the domain means that value.
        meant = feature.snap(np.clip(column, feature.low, feature.high))
        is_nearest = meant.astype(numbers.dtype) == numbers
        column = np.where(is_nearest, meant, column)
    inside = feature.inside(column) & ~feature.is_missing(column)
    if not inside.all():
        at = int(np.argmin(inside))
        raise DataError(
            f"{where}: {feature.name!r} = {feature.end_text(column[at])} in row {rows[at]} is"
            f" outside its domain, {feature.domain}"
        )
    return feature.snap(column)


def _numbers(
    feature: Feature,
    values: NDArray[Any],
    where: str,
    rows: NDArray[np.intp],
) -> Floats:
    """Return values of any type as floats."""
    given = values.tolist()
    for at, value in enumerate(given):
        if not isinstance(value, _NUMBERS):
            raise DataError(
                f"{where}: {feature.name!r} = {clip(repr(value))} in row {rows[at]} is not a number"
            )
    return np.array(given, dtype=np.float64)


def _days(
    feature: Feature,
    values: NDArray[Any],
    where: str,
    rows: NDArray[np.intp],
) -> Floats:
    """Return dates of any type as days."""
    days = days_of(values.tolist())
    unknown = np.isnan(days)
    if unknown.any():
        at = int(unknown.argmax())
        raise DataError(
            f"{where}: {feature.name!r} = {clip(repr(values[at]))} in row {rows[at]} is not a date;"
            " write dates as 2020-01-31"
        )
    return days


def _codes(
    feature: Feature,
    objects: NDArray[Any],
    where: str,
    rows: NDArray[np.intp],
) -> Floats:
    """Return the place of each value among the levels of a category."""
    import pandas as pd

    levels = list(feature.levels)
    try:
        # Objects on both sides, so that pandas converts neither of them.
        index = pd.Index(levels, dtype=object)
        codes = index.get_indexer(pd.Index(objects, dtype=object))
    except TypeError:  # something that cannot be looked up, and so is not a level
        codes = np.array(
            [levels.index(value) if value in levels else -1 for value in objects]
        )
    unknown = codes < 0
    if unknown.any():
        at = int(np.argmax(unknown))
        value = objects[at]
        raise DataError(
            f"{where}: {feature.name!r} = {clip(repr(value))} in row {rows[at]} is not one of its"
            f" levels; {nearest(value, feature.levels)}"
        )
    return np.asarray(codes, dtype=np.float64)
