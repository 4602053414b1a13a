"""What is read of any dataframe: its columns, their levels, and what is missing in them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, clip, nearest
from evenhand.space.frames.coded import coded_column, coded_texts
from evenhand.space.values.dates import days_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Flags, Floats, Label


def eager(frame: Any) -> Any:
    """Return any dataframe as an eager narwhals frame, or raise a DataError."""
    import narwhals as nw

    if type(frame).__module__.startswith("pandas"):
        for name in getattr(frame, "columns", ()):
            if not isinstance(name, str):
                raise DataError(
                    f"column name {name!r} is not a text; rename the columns first, as with"
                    " frame.columns.map(str)"
                )
    try:
        table = nw.from_native(frame)
        if isinstance(table, nw.LazyFrame):
            table = table.collect()
        names = table.columns
    except TypeError:
        raise DataError(
            f"a {type(frame).__name__} is not a dataframe that evenhand can read; give it a pandas,"
            " polars or pyarrow frame"
        ) from None
    except nw.exceptions.DuplicateError as error:
        raise DataError(
            f"the frame has a column name twice ({clip(str(error))}); rename one of them"
        ) from None
    for name in names:
        if names.count(name) > 1:
            raise DataError(
                f"the frame has two columns called {name!r}; rename one of them"
            )
    return table


def columns_of(frame: Any, features: Sequence[Feature]) -> tuple[dict[str, Any], str]:
    """Return the columns of a frame, or of a list of dictionaries, and the name of its kind."""
    if isinstance(frame, Mapping):
        return _columns_of_records([frame], features), "records"
    if isinstance(frame, list):
        return _columns_of_records(frame, features), "records"
    table = eager(frame)
    for feature in features:
        name = feature.name
        if name not in table.columns:
            raise DataError(
                f"column {name!r} is not in the frame; {nearest(name, table.columns)}"
            )
    return {feature.name: values_of(table, feature) for feature in features}, "frame"


def values_of(table: Any, feature: Feature) -> Any:
    """Return the values of a feature's column of a narwhals frame.

    What is missing is NaN or NaT in an array, and None or pandas' own marks in a list; labels are
    codes where the engine finds them.
    """
    column = table[feature.name]
    if feature.kind == "date" and has_days(column):
        return day_column(column)
    if feature.kind in ("category", "date") or has_days(column):
        # Dates that are equal as moments may be other days, so only texts of dates are coded.
        coded = coded_column(column) if feature.kind == "category" else coded_texts(column)
        # A list, since narwhals packs some engines' texts into arrays of fixed width, which lose
        # trailing NULs.
        return column.to_list() if coded is None else coded
    return number_column(column)


def number_column(column: Any) -> Any:
    """Return a column of numbers as an array; with missing ones, as floats with NaN."""
    import narwhals as nw

    if column.dtype.is_numeric() and bool(column.is_null().any()):
        if column.dtype != nw.Float32:
            column = column.cast(nw.Float64)
        missing = np.asarray(column.is_null().to_numpy(), dtype=np.bool_)
        values = np.array(column.fill_null(0.0).to_numpy())
        values[missing] = np.nan
        return values
    return column.to_numpy()


def has_days(column: Any) -> bool:
    """Return whether a narwhals column holds dates or moments."""
    import narwhals as nw

    return column.dtype in (nw.Date, nw.Datetime)


def day_column(column: Any) -> Floats:
    """Return a column of dates or moments as days since 1970-01-01, NaN where one is missing."""
    values = column.to_numpy()
    zone = getattr(column.dtype, "time_zone", None)
    if zone is not None:
        # The day where the clock hangs, not that of Greenwich.
        values = column.dt.replace_time_zone(None).to_numpy()
    if values.dtype.kind != "M":
        return days_of(list(values))
    days = values.astype("datetime64[D]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64))


def _columns_of_records(records: list[Any], features: Sequence[Feature]) -> dict[str, Any]:
    columns: dict[str, Any] = {feature.name: [] for feature in features}
    for row, record in enumerate(records):
        if not isinstance(record, Mapping):
            raise DataError(
                f"record {row} is {clip(repr(record))}, not a dictionary of values by feature name"
            )
        for name, values in columns.items():
            if name not in record:
                raise DataError(
                    f"record {row} has no value for {name!r}; {nearest(name, record)}"
                )
            values.append(record[name])
    return columns


def check_missing(frame: Any, name: str) -> None:
    """Refuse a column with missing values, saying how many there are and where the first one is."""
    mask = missing_rows(frame[name])
    if mask.any():
        raise DataError(
            f"column {name!r} has missing values in {int(mask.sum()):,} of {len(mask):,} rows, the"
            f" first in row {int(mask.argmax())}; fill or drop them first"
        )


def missing_rows(column: Any) -> Flags:
    """Return which rows of a narwhals column are missing: null, NaN, NaT or None."""
    missing = column.is_null()
    if column.dtype.is_float():
        missing = missing | column.is_nan()
    return np.asarray(missing.to_numpy(), dtype=np.bool_)


def declared_levels(column: Any) -> list[Label]:
    """Return the levels that a categorical dtype lists, with those that no row has."""
    native = column.to_native()
    dtype = getattr(native, "dtype", None)
    categories: Any = getattr(dtype, "categories", None)
    if hasattr(categories, "to_list"):  # pandas' category, polars' Enum
        return list(categories.to_list())
    is_arrow = hasattr(native, "unify_dictionaries")
    if is_arrow and hasattr(native.type, "value_type") and native.num_chunks:
        unified = native.unify_dictionaries()
        return list(unified.chunk(0).dictionary.to_pylist())
    return []


def named_frame(rows: NDArray[Any], names: Iterable[str]) -> Any:
    """Return an array as a frame with these columns, so that it is read like one."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names)).infer_objects()
