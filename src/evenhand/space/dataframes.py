"""Frames in and out: infer features from any dataframe that narwhals reads, and build native frames
from codes.

A `Layout` remembers the user's engine and dtypes. Building a frame takes each category's levels,
once converted to the user's own dtype, by code; numbers are cast column by column. Nothing loops
over rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, clip, nearest
from evenhand.space.feature import Feature, category, integer, plain, real

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Label, Points

_MOST_STEPS = 50
"""A grid of more than two to the power of this many steps is not told apart by dividing."""
_MOST_DECIMALS = 3


@dataclass(frozen=True)
class Layout:
    """How a native frame looks: its engine and the dtype of each column; a column without one gets
    the engine's own.
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
                raise DataError(
                    f"column {feature.name!r} has dtype {dtypes[feature.name]}, which does not hold"
                    f" the levels {clip(', '.join(map(repr, feature.levels)))}; change the column's"
                    " dtype first"
                )
            del dtypes[feature.name]
        return replace(self, dtypes=dtypes)

    def _holds(self, feature: Feature) -> bool:
        ends = np.array(
            [
                feature.low,
                feature.high,
                feature.low + (feature.step or (feature.high - feature.low) / 3),
            ]
        )
        codes = (
            feature.values()
            if feature.kind == "category"
            else feature.snap(np.minimum(ends, feature.high))
        )
        try:
            frame = eager(self.build([feature], [0], codes[:, None]))
            check_missing(frame, feature.name)
            column = frame[feature.name]
            values = column.to_list() if feature.kind == "category" else column.to_numpy()
            found = encode_column(feature, values, where="frame")
        except Exception:
            return False
        return bool(np.allclose(found, codes, rtol=1e-3, atol=0.0))

    def build(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        """Return the chosen columns of encoded points as a frame of the user's engine, which may be
        written to.
        """
        if self.engine == "polars":
            return self._polars(features, columns, points)
        if self.engine == "pyarrow":
            return self._pyarrow(features, columns, points)
        return self._pandas(features, columns, points)

    def _pandas(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import pandas as pd

        shared = self._shared_number_dtype(features, columns)
        if shared is not None:
            # One block: pandas hands it on without a copy per column.
            block: NDArray[Any] = (
                points.T[list(columns)]
                if list(columns) != list(range(len(features)))
                else points.T
            )
            names = [features[column].name for column in columns]
            # Converted or not, it is a copy: functions, and models that scale in place, write to
            # their inputs.
            return pd.DataFrame(block.astype(shared).T, columns=names, copy=False)
        made = {
            features[column].name: self._pandas_column(features[column], points[:, column])
            for column in columns
        }
        return pd.DataFrame(made, copy=False)

    def _shared_number_dtype(
        self, features: Sequence[Feature], columns: Sequence[int]
    ) -> Any:
        found = {self._number_dtype(features[column]) for column in columns}
        return found.pop() if len(found) == 1 else None

    def _number_dtype(self, feature: Feature) -> Any:
        """Return the numpy dtype of a numeric column, None where it is a category or no numpy
        dtype.
        """
        if feature.kind == "category":
            return None
        dtype = self.dtypes.get(feature.name)
        if dtype is None:
            return np.dtype(np.int64 if feature.kind == "integer" else np.float64)
        return dtype if isinstance(dtype, np.dtype) else None

    def _pandas_column(self, feature: Feature, column: NDArray[np.float64]) -> Any:
        import pandas as pd

        dtype = self._number_dtype(feature)
        if dtype is not None:
            return column.astype(dtype)
        if feature.kind != "category":
            return pd.array(feature.numbers(column), dtype=self.dtypes[feature.name])
        taken = _pandas_levels(feature.levels, self.dtypes.get(feature.name)).take(
            column.astype(np.intp)
        )
        # A bare array of objects would be read as pandas' own text dtype.
        return (
            pd.Series(taken, dtype=object, copy=False) if taken.dtype == object else taken
        )

    def _polars(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import polars as pl

        made = []
        for feature, column in ((features[c], points[:, c]) for c in columns):
            dtype = self.dtypes.get(feature.name)
            if feature.kind == "category":
                levels = pl.Series(feature.name, list(feature.levels), dtype=dtype)
                made.append(levels.gather(column.astype(np.uint32)))
            else:
                numbers = pl.Series(
                    feature.name, np.ascontiguousarray(feature.numbers(column))
                )
                made.append(numbers if dtype is None else numbers.cast(dtype))
        return pl.DataFrame(made)

    def _pyarrow(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import pyarrow as pa

        made = {}
        for feature, column in ((features[c], points[:, c]) for c in columns):
            dtype = self.dtypes.get(feature.name)
            if feature.kind != "category":
                numbers = pa.array(feature.numbers(column))
                made[feature.name] = numbers if dtype is None else numbers.cast(dtype)
                continue
            codes = pa.array(column.astype(np.int32))
            if dtype is not None and pa.types.is_dictionary(dtype):
                levels = pa.array(list(feature.levels), type=dtype.value_type)
                made[feature.name] = pa.DictionaryArray.from_arrays(codes, levels).cast(
                    dtype
                )
            elif "view" in str(dtype):  # which pyarrow cannot take from
                made[feature.name] = pa.array(list(feature.levels)).take(codes).cast(dtype)
            else:
                made[feature.name] = pa.array(list(feature.levels), type=dtype).take(codes)
        return pa.table(made)


def _pandas_levels(levels: tuple[Label, ...], dtype: Any) -> Any:
    import pandas as pd

    if dtype is None:
        return pd.Series(list(levels)).array
    if isinstance(dtype, np.dtype):
        packed = np.empty(len(levels), dtype=dtype)
        packed[:] = list(levels)
        return packed
    return pd.array(list(levels), dtype=dtype)


def eager(frame: Any) -> Any:
    """Return any dataframe as an eager narwhals frame, or say that it is none."""
    import narwhals as nw

    names = (
        getattr(frame, "columns", ()) if type(frame).__module__.startswith("pandas") else ()
    )
    for name in names:
        if not isinstance(name, str):
            raise DataError(
                f"column name {name!r} is no text; rename the columns first, as with"
                " frame.columns.map(str)"
            )
    try:
        found = nw.from_native(frame)
        found = found.collect() if isinstance(found, nw.LazyFrame) else found
        names = found.columns
    except TypeError:
        raise DataError(
            f"a {type(frame).__name__} is no dataframe that evenhand reads; give it a pandas,"
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
    return found


def named_frame(rows: NDArray[Any], names: Iterable[str]) -> Any:
    """Return an array as a frame with these columns, so that it is read like one."""
    import pandas as pd

    return pd.DataFrame(rows, columns=list(names)).infer_objects()


def layout_of(frame: Any) -> Layout:
    """Remember engine and dtypes of an eager narwhals frame; engines without a native column
    builder become pandas.
    """
    engine = frame.implementation.value
    native = frame.to_native()
    if engine == "pandas":
        return Layout("pandas", dict(native.dtypes.items()))
    if engine == "polars":
        return Layout("polars", dict(native.schema.items()))
    if engine == "pyarrow":
        return Layout(
            "pyarrow",
            {name: native.schema.field(name).type for name in native.column_names},
        )
    return Layout()


def infer(
    frame: Any, names: Iterable[str], declared: Mapping[str, Mapping[str, Any]]
) -> list[Feature]:
    """Infer a feature per column from an eager narwhals frame; `declared` overrides what is
    inferred.

    Text, categorical and boolean columns become categories, whole numbers integers, other numbers
    reals. A real column written with at most three decimals keeps that step, so that generated
    values look like recorded ones.
    """
    found = []
    for name in names:
        table = declared.get(name, {})
        check_missing(frame, name)
        base = _infer_column(
            name,
            frame[name],
            want=table.get("kind") if isinstance(table, Mapping) else None,
        )
        found.append(base if table == {} else Feature.from_dict(name, table, base))
    return found


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


def _infer_column(name: str, column: Any, want: str | None) -> Feature:
    import narwhals as nw

    if len(column) == 0:
        raise DataError(f"column {name!r} has no rows to infer a feature from")
    dtype = column.dtype
    if (
        dtype in (nw.Categorical, nw.Enum, nw.String, nw.Object, nw.Boolean)
        or want == "category"
    ):
        return category(name, declared_levels(column) or _sorted_levels(column))
    if dtype.is_integer():
        return integer(name, int(column.min()), int(column.max()))
    if dtype.is_numeric():
        narrow = dtype == nw.Float32
        return _infer_real(
            name, column.to_numpy() if narrow else column.cast(nw.Float64).to_numpy(), want
        )
    raise DataError(
        f"column {name!r} has dtype {dtype}, which evenhand cannot sample; drop it or turn it into"
        " a number or a text"
    )


def declared_levels(column: Any) -> list[Label]:
    """Return the levels that a categorical dtype lists, in its own order and with those that no row
    has.
    """
    native = column.to_native()
    categories: Any = getattr(getattr(native, "dtype", None), "categories", None)
    if hasattr(categories, "to_list"):  # pandas' category, polars' Enum
        return list(categories.to_list())
    if (
        hasattr(native, "unify_dictionaries")
        and hasattr(native.type, "value_type")
        and native.num_chunks
    ):
        return list(native.unify_dictionaries().chunk(0).dictionary.to_pylist())
    return []


def _sorted_levels(column: Any) -> list[Label]:
    try:
        levels = [plain(value) for value in column.unique().to_list()]
    except Exception as error:
        raise DataError(
            f"column {column.name!r} holds values that are no texts, numbers or truth values"
            f" ({type(error).__name__})"
        ) from None
    try:
        return sorted(levels)
    except TypeError:
        return sorted(levels, key=lambda level: (type(level).__name__, str(level)))


def _infer_real(name: str, column: NDArray[np.floating[Any]], want: str | None) -> Feature:
    if not np.isfinite(column).all():
        row = int(np.argmin(np.isfinite(column)))
        raise DataError(
            f"column {name!r} holds {column[row]} in row {row}; replace it by a finite number"
        )
    values = column.astype(np.float64)
    low, high = float(values.min()), float(values.max())
    if want != "real" and (values == np.floor(values)).all() and max(-low, high) < 2**53:
        return integer(name, int(low), int(high))
    for decimals in range(1, _MOST_DECIMALS + 1):
        if max(-low, high) * 10.0**decimals > 2.0 ** min(
            np.finfo(column.dtype).nmant, _MOST_STEPS
        ):
            break  # every number that large is written with so few decimals, or its place on a grid is lost to rounding
        written = np.round(values, decimals)
        if (written.astype(column.dtype) == column).all():
            return real(
                name, float(written.min()), float(written.max()), step=10.0**-decimals
            )
    return real(name, low, high)


def encode_column(feature: Feature, values: Any, *, where: str) -> NDArray[np.float64]:
    """Encode one column of labels, naming the first value that the feature cannot take."""
    if feature.kind == "category":
        return _encode_levels(feature, values, where=where)
    numeric = isinstance(values, np.ndarray) and values.dtype.kind in "biuf"
    given = values if numeric else _numbers(feature, values, where)
    column = given.astype(np.float64)
    if given.dtype.kind == "f" and given.dtype.itemsize < 8:
        # A narrow float that is the nearest one to a value of the domain means that value.
        meant = feature.snap(np.clip(column, feature.low, feature.high))
        column = np.where(meant.astype(given.dtype) == given, meant, column)
    inside = feature.inside(column)
    if not inside.all():
        row = int(np.argmin(inside))
        raise DataError(
            f"{where}: {feature.name!r} = {column[row]:.15g} in row {row} is outside its domain,"
            f" {feature.domain}"
        )
    return feature.snap(column)


def _numbers(feature: Feature, values: Any, where: str) -> NDArray[np.float64]:
    given = values.tolist() if isinstance(values, np.ndarray) else list(values)
    for row, value in enumerate(given):
        if (
            not isinstance(value, int | float | np.integer | np.floating | Decimal)
            or value != value
        ):
            raise DataError(
                f"{where}: {feature.name!r} = {clip(repr(value))} in row {row} is not a number"
            )
    return np.array(given, dtype=np.float64)


def _encode_levels(
    feature: Feature, values: Sequence[Any] | NDArray[Any], *, where: str
) -> NDArray[np.float64]:
    import pandas as pd

    objects = np.fromiter(values, dtype=object, count=len(values))
    try:
        codes = pd.Index(list(feature.levels), dtype=object).get_indexer(
            pd.Index(objects, dtype=object)
        )
    except TypeError:  # something that cannot be looked up, and so is no level
        codes = np.array(
            [
                feature.levels.index(value) if value in feature.levels else -1
                for value in values
            ]
        )
    if (codes < 0).any():
        row = int(np.argmax(codes < 0))
        raise DataError(
            f"{where}: {feature.name!r} = {clip(repr(objects[row]))} in row {row} is not one of its"
            f" levels; {nearest(objects[row], feature.levels)}"
        )
    return np.asarray(codes, dtype=np.float64)
