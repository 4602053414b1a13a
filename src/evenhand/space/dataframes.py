"""Frames in and out: features inferred from any dataframe, and native frames built from codes.

A `Layout` remembers the user's engine and dtypes. Building a frame takes each category's levels,
once converted to the user's own dtype, by code; numbers are cast column by column. Nothing loops
over rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, clip, nearest
from evenhand.space.encoding import encode_column
from evenhand.space.feature import Feature, category, integer, plain, real

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Floats, Label, Points

_MOST_STEPS = 50
"""A grid of more than two to the power of this many steps is not told apart by dividing."""
_MOST_DECIMALS = 3
_LARGEST_WHOLE = 2**53


@dataclass(frozen=True)
class Layout:
    """How a native frame looks: its engine and the dtype of each column.

    A column without a dtype gets the engine's own.
    """

    engine: str = "pandas"
    dtypes: Mapping[str, Any] = field(default_factory=dict)

    def fitted(self, features: Sequence[Feature]) -> Layout:
        """Return the layout for features that were declared otherwise than their columns are.

        A number that its column's dtype cannot hold gets the engine's own dtype; a level that it
        cannot hold is an error, since the software may depend on a categorical dtype.
        """
        dtypes = dict(self.dtypes)
        for feature in features:
            if self._holds(feature):
                continue
            if feature.kind == "category":
                levels = ", ".join(map(repr, feature.levels))
                raise DataError(
                    f"column {feature.name!r} has dtype {dtypes[feature.name]}, which does not hold"
                    f" the levels {clip(levels)}; change the column's dtype first"
                )
            del dtypes[feature.name]
        return replace(self, dtypes=dtypes)

    def _holds(self, feature: Feature) -> bool:
        """Return whether values of the feature come back from a frame of this layout."""
        codes = _samples(feature)
        try:
            frame = eager(self.build([feature], [0], codes[:, None]))
            check_missing(frame, feature.name)
            values = _values(frame, feature)
            found = encode_column(feature, values, where="frame")
        except Exception:
            return False
        return bool(np.allclose(found, codes, rtol=1e-3, atol=0.0))

    def build(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        """Return columns of encoded points as a frame of the user's engine; it may be changed."""
        if self.engine == "polars":
            return self._polars(features, columns, points)
        if self.engine == "pyarrow":
            return self._pyarrow(features, columns, points)
        return self._pandas(features, columns, points)

    def _pandas(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import pandas as pd

        dtype = self._shared_number_dtype(features, columns)
        if dtype is not None:
            # One block: pandas hands it on without a copy per column.
            block: NDArray[Any] = points.T
            if list(columns) != list(range(len(features))):
                block = block[list(columns)]
            names = [features[column].name for column in columns]
            # Converted or not, it is a copy: functions, and models that scale in place, write to
            # their inputs.
            return pd.DataFrame(block.astype(dtype).T, columns=names, copy=False)
        made = {}
        for column in columns:
            feature = features[column]
            made[feature.name] = self._pandas_column(feature, points[:, column])
        return pd.DataFrame(made, copy=False)

    def _shared_number_dtype(
        self, features: Sequence[Feature], columns: Sequence[int]
    ) -> Any:
        """Return the numpy dtype that all columns have, or None."""
        dtypes = {self._number_dtype(features[column]) for column in columns}
        if len(dtypes) == 1:
            return dtypes.pop()
        return None

    def _number_dtype(self, feature: Feature) -> Any:
        """Return the numpy dtype of a numeric column, None for categories and other dtypes."""
        if feature.kind == "category":
            return None
        dtype = self.dtypes.get(feature.name)
        if dtype is None:
            return np.dtype(np.int64 if feature.kind == "integer" else np.float64)
        return dtype if isinstance(dtype, np.dtype) else None

    def _pandas_column(self, feature: Feature, column: Floats) -> Any:
        import pandas as pd

        dtype = self._number_dtype(feature)
        if dtype is not None:
            return column.astype(dtype)
        if feature.kind != "category":
            return pd.array(feature.numbers(column), dtype=self.dtypes[feature.name])
        levels = _pandas_levels(feature.levels, self.dtypes.get(feature.name))
        values = levels.take(column.astype(np.intp))
        if values.dtype == object:
            # A bare array of objects would be read as pandas' own text dtype.
            return pd.Series(values, dtype=object, copy=False)
        return values

    def _polars(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import polars as pl

        made = []
        for position in columns:
            feature = features[position]
            column = points[:, position]
            dtype = self.dtypes.get(feature.name)
            if feature.kind == "category":
                levels = pl.Series(feature.name, list(feature.levels), dtype=dtype)
                made.append(levels.gather(column.astype(np.uint32)))
            else:
                numbers = np.ascontiguousarray(feature.numbers(column))
                series = pl.Series(feature.name, numbers)
                made.append(series if dtype is None else series.cast(dtype))
        return pl.DataFrame(made)

    def _pyarrow(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import pyarrow as pa

        made = {}
        for position in columns:
            feature = features[position]
            column = points[:, position]
            dtype = self.dtypes.get(feature.name)
            if feature.kind == "category":
                made[feature.name] = _pyarrow_levels(feature.levels, column, dtype)
            else:
                numbers = pa.array(feature.numbers(column))
                made[feature.name] = numbers if dtype is None else numbers.cast(dtype)
        return pa.table(made)


def _samples(feature: Feature) -> Floats:
    """Return codes that show whether a dtype holds a feature: its levels, or three numbers."""
    if feature.kind == "category":
        return feature.values()
    step = feature.step or (feature.high - feature.low) / 3
    numbers = np.array([feature.low, feature.high, feature.low + step])
    return feature.snap(np.minimum(numbers, feature.high))


def _values(table: Any, feature: Feature) -> Any:
    """Return the values of a feature's column of a narwhals frame."""
    column = table[feature.name]
    if feature.kind == "category":
        # A list, since narwhals packs some engines' texts into arrays of fixed width, which lose
        # trailing NULs.
        return column.to_list()
    return column.to_numpy()


def _pandas_levels(levels: tuple[Label, ...], dtype: Any) -> Any:
    import pandas as pd

    if dtype is None:
        return pd.Series(list(levels)).array
    if isinstance(dtype, np.dtype):
        packed = np.empty(len(levels), dtype=dtype)
        packed[:] = list(levels)
        return packed
    return pd.array(list(levels), dtype=dtype)


def _pyarrow_levels(levels: tuple[Label, ...], column: Floats, dtype: Any) -> Any:
    import pyarrow as pa

    codes = pa.array(column.astype(np.int32))
    if dtype is not None and pa.types.is_dictionary(dtype):
        dictionary = pa.array(list(levels), type=dtype.value_type)
        return pa.DictionaryArray.from_arrays(codes, dictionary).cast(dtype)
    if "view" in str(dtype):  # which pyarrow cannot take from
        return pa.array(list(levels)).take(codes).cast(dtype)
    return pa.array(list(levels), type=dtype).take(codes)


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
        check_missing(table, name)
    return {feature.name: _values(table, feature) for feature in features}, "frame"


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


def named_frame(rows: NDArray[Any], names: Iterable[str]) -> Any:
    """Return an array as a frame with these columns, so that it is read like one."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names)).infer_objects()


def layout_of(frame: Any) -> Layout:
    """Return engine and dtypes of an eager narwhals frame.

    Engines without a builder of native columns become pandas.
    """
    engine = frame.implementation.value
    native = frame.to_native()
    if engine == "pandas":
        return Layout("pandas", dict(native.dtypes.items()))
    if engine == "polars":
        return Layout("polars", dict(native.schema.items()))
    if engine == "pyarrow":
        schema = native.schema
        return Layout("pyarrow", {name: schema.field(name).type for name in schema.names})
    return Layout()


def infer(
    frame: Any, names: Iterable[str], declared: Mapping[str, Mapping[str, Any]]
) -> list[Feature]:
    """Infer a feature per column from an eager narwhals frame.

    What `declared` has for a column overrides what is inferred.

    Text, categorical and boolean columns become categories, whole numbers integers, other numbers
    reals. A real column written with at most three decimals keeps that step, so that generated
    values look like recorded ones.
    """
    features = []
    for name in names:
        table = declared.get(name, {})
        check_missing(frame, name)
        wanted = table.get("kind") if isinstance(table, Mapping) else None
        inferred = _infer_column(name, frame[name], wanted)
        if table == {}:
            features.append(inferred)
        else:
            features.append(Feature.from_dict(name, table, inferred))
    return features


def check_missing(frame: Any, name: str) -> None:
    """Refuse a column with missing values, saying how many there are and where the first one is."""
    column = frame[name]
    missing = column.is_null()
    if column.dtype.is_float():
        missing = missing | column.is_nan()
    mask = np.asarray(missing.to_numpy(), dtype=np.bool_)
    if mask.any():
        raise DataError(
            f"column {name!r} has missing values in {int(mask.sum()):,} of {len(mask):,} rows, the"
            f" first in row {int(mask.argmax())}; fill or drop them first"
        )


def _infer_column(name: str, column: Any, wanted: str | None) -> Feature:
    import narwhals as nw

    if len(column) == 0:
        raise DataError(f"column {name!r} has no rows to infer a feature from")
    dtype = column.dtype
    categorical = (nw.Categorical, nw.Enum, nw.String, nw.Object, nw.Boolean)
    if dtype in categorical or wanted == "category":
        return category(name, declared_levels(column) or _sorted_levels(column))
    if dtype.is_integer():
        return integer(name, int(column.min()), int(column.max()))
    if dtype.is_numeric():
        # Narrow floats stay narrow: their decimals are those of the number they round.
        if dtype != nw.Float32:
            column = column.cast(nw.Float64)
        return _infer_real(name, column.to_numpy(), wanted)
    raise DataError(
        f"column {name!r} has dtype {dtype}, which evenhand cannot sample; drop it or turn it into"
        " a number or a text"
    )


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


def _sorted_levels(column: Any) -> list[Label]:
    try:
        levels = [plain(value) for value in column.unique().to_list()]
    except Exception as error:
        raise DataError(
            f"column {column.name!r} holds values that are not texts, numbers or truth values"
            f" ({type(error).__name__})"
        ) from None
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=lambda level: (type(level).__name__, str(level)))


def _infer_real(
    name: str, column: NDArray[np.floating[Any]], wanted: str | None
) -> Feature:
    finite = np.isfinite(column)
    if not finite.all():
        row = int(np.argmin(finite))
        raise DataError(
            f"column {name!r} holds {column[row]} in row {row}; replace it by a finite number"
        )
    values = column.astype(np.float64)
    low = float(values.min())
    high = float(values.max())
    largest = max(-low, high)
    is_whole = bool((values == np.floor(values)).all())
    if wanted != "real" and is_whole and largest < _LARGEST_WHOLE:
        return integer(name, int(low), int(high))
    most_steps = 2.0 ** min(np.finfo(column.dtype).nmant, _MOST_STEPS)
    for decimals in range(1, _MOST_DECIMALS + 1):
        # Every number that large is written with so few decimals, or its place on a grid is lost to
        # rounding.
        if largest * 10.0**decimals > most_steps:
            break
        written = np.round(values, decimals)
        if (written.astype(column.dtype) == column).all():
            step = 10.0**-decimals
            return real(name, float(written.min()), float(written.max()), step=step)
    return real(name, low, high)
