"""A layout: the user's engine and dtypes, and native frames built from encoded points.

Building a frame takes each category's levels, once converted to the user's own dtype, by code;
numbers are cast column by column. Nothing loops over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, SpaceError, clip, nearest
from evenhand.space.encoding import encode_column
from evenhand.space.frames.dtypes import dtype_of, word_of
from evenhand.space.frames.reading import check_missing, eager, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Floats, Label, Points


@dataclass(frozen=True)
class Layout:
    """How a native frame looks: its engine and the dtype of each column.

    A column without a dtype gets the engine's own.
    """

    engine: str = "pandas"
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    chosen: frozenset[str] = frozenset()
    """Columns whose dtype a person said, so that a model's own form does not change it."""

    def typed(self, words: Mapping[str, Any], features: Sequence[Feature]) -> Layout:
        """Return the layout with other dtypes for some of the features, by name.

        A dtype that does not hold what the feature can be is an error.
        """
        by_name = {feature.name: feature for feature in features}
        dtypes = dict(self.dtypes)
        for name, word in words.items():
            if name not in by_name:
                raise SpaceError(
                    f"dtype {clip(repr(word))} is for {name!r}, which is no feature;"
                    f" {nearest(name, by_name)}"
                )
            dtypes[name] = dtype_of(word, by_name[name], self.engine)
        layout = replace(self, dtypes=dtypes, chosen=self.chosen | set(words))
        for name in words:
            feature = by_name[name]
            if not layout._holds(feature):
                values = ", ".join(map(repr, feature.levels)) or feature.domain
                raise SpaceError(
                    f"feature {name!r}: dtype = {word_of(dtypes[name])!r} does not hold"
                    f" {clip(values)}; change the dtype, or leave it out"
                )
        return layout

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
            values = values_of(frame, feature)
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


def _pandas_levels(levels: tuple[Label, ...], dtype: Any) -> Any:
    import pandas as pd

    if dtype is None:
        return pd.Series(list(levels)).array
    if isinstance(dtype, np.dtype):
        packed = np.empty(len(levels), dtype=dtype)
        packed[:] = list(levels)
        return packed
    if isinstance(dtype, pd.CategoricalDtype):
        # What is none of the categories is missing, and a model takes it so.
        codes = dtype.categories.get_indexer(list(levels))
        return pd.Categorical.from_codes(codes, dtype=dtype)
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
