"""Labels into codes: what a person writes becomes a number, or is refused with its row."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Floats


_NUMBERS = (int, float, np.integer, np.floating, Decimal)


def encode_column(feature: Feature, values: Any, *, where: str) -> Floats:
    """Encode one column of labels, naming the first value that the feature cannot take."""
    if feature.kind == "category":
        return _codes(feature, values, where)
    if isinstance(values, np.ndarray) and values.dtype.kind in "biuf":
        numbers = values
    else:
        numbers = _numbers(feature, values, where)
    column = numbers.astype(np.float64)
    if numbers.dtype.kind == "f" and numbers.dtype.itemsize < 8:
        # A narrow float that is the nearest one to a value of the domain means that value.
        meant = feature.snap(np.clip(column, feature.low, feature.high))
        is_nearest = meant.astype(numbers.dtype) == numbers
        column = np.where(is_nearest, meant, column)
    inside = feature.inside(column)
    if not inside.all():
        row = int(np.argmin(inside))
        raise DataError(
            f"{where}: {feature.name!r} = {column[row]:.15g} in row {row} is outside its domain,"
            f" {feature.domain}"
        )
    return feature.snap(column)


def _numbers(feature: Feature, values: Any, where: str) -> Floats:
    """Return values of any type as floats."""
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    for row, value in enumerate(given):
        if not isinstance(value, _NUMBERS) or value != value:
            raise DataError(
                f"{where}: {feature.name!r} = {clip(repr(value))} in row {row} is not a number"
            )
    return np.array(given, dtype=np.float64)


def _codes(feature: Feature, values: Sequence[Any] | NDArray[Any], where: str) -> Floats:
    """Return the place of each value among the levels of a category."""
    import pandas as pd

    levels = list(feature.levels)
    objects = np.fromiter(values, dtype=object, count=len(values))
    try:
        # Objects on both sides, so that pandas converts neither of them.
        index = pd.Index(levels, dtype=object)
        codes = index.get_indexer(pd.Index(objects, dtype=object))
    except TypeError:  # something that cannot be looked up, and so is not a level
        codes = np.array(
            [levels.index(value) if value in levels else -1 for value in values]
        )
    unknown = codes < 0
    if unknown.any():
        row = int(np.argmax(unknown))
        value = objects[row]
        raise DataError(
            f"{where}: {feature.name!r} = {clip(repr(value))} in row {row} is not one of its"
            f" levels; {nearest(value, feature.levels)}"
        )
    return np.asarray(codes, dtype=np.float64)
