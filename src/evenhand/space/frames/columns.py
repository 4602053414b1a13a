"""One native column of encoded values, for each engine: categories, numbers, dates, and gaps.

A missing value is the engine's own: NaN, NaT, None, pandas' NA, or null. A column of whole numbers
that numpy holds cannot have one, and becomes a column of floats, as pandas makes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.values.dates import iso_objects, moments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Flags, Floats, Label


def number_dtype(feature: Feature, dtype: Any) -> Any:
    """Return the numpy dtype of a numeric column, None for other kinds and other dtypes."""
    if feature.kind in ("category", "date"):
        return None
    if dtype is None:
        is_whole = feature.kind == "integer"
        dtype = np.dtype(np.int64 if is_whole else np.float64)
    if not isinstance(dtype, np.dtype):
        return None
    if feature.missing and dtype.kind in "iub":
        return np.dtype(np.float64)
    return dtype


def blank(feature: Feature, column: Floats, values: NDArray[Any]) -> NDArray[Any]:
    """Put NaN in place of what is missing; the values are changed."""
    if feature.missing:
        values[feature.is_missing(column)] = np.nan
    return values


def pandas_column(
    feature: Feature, column: Floats, dtype: Any, gap: Any, levels: Any = None
) -> Any:
    """Return a column for a pandas frame; `gap` stands for what is missing among objects.

    Of a category, `levels` are what `pandas_levels` returns.
    """
    import pandas as pd

    numbers = number_dtype(feature, dtype)
    if numbers is not None:
        return blank(feature, column, column.astype(numbers))
    missing = feature.is_missing(column)
    if feature.kind == "date":
        return _pandas_dates(feature, column, dtype, gap)
    if feature.kind != "category":
        # The code of a missing value need not fit into a narrow type.
        known = np.where(missing, feature.low, column)
        values = pd.array(feature.numbers(known), dtype=dtype)
        if missing.any():
            values[missing] = pd.NA
        return values
    codes = column.astype(np.intp)
    if levels is None:
        levels = pandas_levels(feature, dtype, gap)
    if isinstance(levels, np.ndarray):
        values = levels.take(codes)
    else:
        codes[missing] = -1
        values = levels.take(codes, allow_fill=True)
    if values.dtype == object:
        # A bare array of objects would be read as pandas' own text dtype.
        return pd.Series(values, dtype=object, copy=False)
    return values


def _pandas_dates(feature: Feature, column: Floats, dtype: Any, gap: Any) -> Any:
    import pandas as pd

    missing = feature.is_missing(column)
    days = moments(column)
    if dtype is None:
        dtype = np.dtype("datetime64[us]")
    arrow = getattr(dtype, "pyarrow_dtype", None)
    if arrow is not None:
        return pd.array(pyarrow_column(feature, column, arrow), dtype=dtype)
    zone = getattr(dtype, "tz", None)
    kind = getattr(dtype, "kind", "O")
    if kind == "M":
        if zone is not None:
            unit = dtype.unit
        else:
            unit = np.datetime_data(dtype)[0]
        days[missing] = np.datetime64("NaT")
        values = pd.Series(days.astype(f"datetime64[{unit}]"))
        if zone is not None:
            values = values.dt.tz_localize(zone)
        return values.array
    texts = iso_objects(column)
    texts[missing] = gap
    if isinstance(dtype, np.dtype):
        return pd.Series(texts, dtype=object, copy=False)
    return pd.array(texts, dtype=dtype)


def pandas_levels(feature: Feature, dtype: Any, gap: Any) -> Any:
    """Return the levels in the dtype of the column; in an array of numpy the gap is the last."""
    import pandas as pd

    levels: list[Label] = list(feature.levels)
    if dtype is None:
        values = pd.Series(levels).array
        if not feature.missing or values.dtype.kind not in "biuf":
            return values
        dtype = values.dtype.numpy_dtype
    if isinstance(dtype, pd.CategoricalDtype):
        # What is none of the categories is missing, and a model takes it so.
        codes = dtype.categories.get_indexer(levels)
        return pd.Categorical.from_codes(codes, dtype=dtype)
    if not isinstance(dtype, np.dtype):
        return pd.array(levels, dtype=dtype)
    if feature.missing:
        dtype = _with_gaps(dtype)
        levels.append(np.nan if dtype.kind == "f" else gap)
    packed = np.empty(len(levels), dtype=dtype)
    packed[:] = levels
    return packed


def _with_gaps(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype that pandas gives such a column as soon as a value is missing."""
    if dtype.kind in "iu":
        return np.dtype(np.float64)
    if dtype.kind == "b":
        return np.dtype(object)
    return dtype


def polars_column(feature: Feature, column: Floats, dtype: Any, levels: Any = None) -> Any:
    """Return a column for a polars frame; of a category, `levels` are those of `polars_levels`."""
    import polars as pl

    missing = feature.is_missing(column)
    if feature.kind == "category":
        if levels is None:
            levels = polars_levels(feature, dtype)
        codes = pl.Series(column.astype(np.uint32))
        codes = _polars_gaps(codes, missing)
        return levels.gather(codes)
    if feature.kind == "date":
        numbers = pl.Series(feature.name, column.astype(np.int32))
        days = _polars_gaps(numbers.cast(pl.Date), missing)
        if dtype == pl.String:
            return days.dt.to_string("%Y-%m-%d")
        if dtype is None:
            return days
        return days.cast(dtype)
    known = np.where(missing, feature.low, column)
    numbers = np.ascontiguousarray(feature.numbers(known))
    series = pl.Series(feature.name, numbers)
    if dtype is not None:
        series = series.cast(dtype)
    return _polars_gaps(series, missing)


def polars_levels(feature: Feature, dtype: Any) -> Any:
    """Return the levels of a category in the dtype of the column."""
    import polars as pl

    return pl.Series(feature.name, list(feature.levels), dtype=dtype)


def _polars_gaps(series: Any, missing: Flags) -> Any:
    import polars as pl

    if not missing.any():
        return series
    return series.set(pl.Series(missing), None)


def pyarrow_column(feature: Feature, column: Floats, dtype: Any) -> Any:
    """Return a column for a pyarrow table."""
    import pyarrow as pa

    missing = feature.is_missing(column)
    if feature.kind == "category":
        codes = pa.array(column.astype(np.int32), mask=missing)
        return _pyarrow_levels(feature.levels, codes, dtype)
    if feature.kind == "date":
        numbers = pa.array(column.astype(np.int32), mask=missing)
        days = numbers.cast(pa.date32())
        if dtype is None:
            return days
        return days.cast(dtype)
    known = np.where(missing, feature.low, column)
    numbers = pa.array(feature.numbers(known), mask=missing)
    if dtype is None:
        return numbers
    return numbers.cast(dtype)


def _pyarrow_levels(levels: tuple[Label, ...], codes: Any, dtype: Any) -> Any:
    import pyarrow as pa

    if dtype is not None and pa.types.is_dictionary(dtype):
        dictionary = pa.array(list(levels), type=dtype.value_type)
        values = pa.DictionaryArray.from_arrays(codes, dictionary)
        return values.cast(dtype)
    if "view" in str(dtype):  # which pyarrow cannot take from
        values = pa.array(list(levels)).take(codes)
        return values.cast(dtype)
    typed_levels = pa.array(list(levels), type=dtype)
    return typed_levels.take(codes)
