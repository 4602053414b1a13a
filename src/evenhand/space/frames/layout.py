"""A layout: the user's engine and dtypes, and native frames built from encoded points.

Building a frame takes each category's levels, once converted to the user's own dtype, by code;
numbers are cast column by column. Nothing loops over rows.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, SpaceError, clip, nearest
from evenhand.space.encoding import encode_column
from evenhand.space.frames.columns import (
    blank,
    number_dtype,
    pandas_column,
    pandas_levels,
    polars_column,
    polars_levels,
    pyarrow_column,
)
from evenhand.space.frames.dtypes import dtype_of, word_of
from evenhand.space.frames.reading import eager, values_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Floats, Points


@dataclass(frozen=True)
class Layout:
    """How a native frame looks: its engine and the dtype of each column.

    A column without a dtype gets the engine's own.
    """

    engine: str = "pandas"
    dtypes: Mapping[str, Any] = field(default_factory=dict)
    gaps: Mapping[str, Any] = field(default_factory=dict)
    """What stands for a missing value in columns of Python objects; None where it is not known."""
    chosen: frozenset[str] = frozenset()
    """Columns whose dtype a person said, so that a model's own form does not change it."""
    complete: frozenset[str] = frozenset()
    """Columns in which the software takes no gaps: rows of the data that have some are left out."""

    @cached_property
    def _known_levels(self) -> dict[str, tuple[Feature, Any]]:
        """The levels of categories in their dtypes, which cost more than a small frame."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields alone: a layout has the same bytes before and after it was used."""
        state = dict(self.__dict__)
        state.pop("_known_levels", None)
        return state

    def _levels_of(self, feature: Feature) -> Any:
        """Return the levels of a category in the dtype of its column, None of another feature."""
        if feature.kind != "category":
            return None
        known = self._known_levels.get(feature.name)
        if known is not None and known[0] is feature:
            return known[1]
        dtype = self.dtypes.get(feature.name)
        if self.engine == "polars":
            levels = polars_levels(feature, dtype)
        else:
            levels = pandas_levels(feature, dtype, self.gaps.get(feature.name))
        self._known_levels[feature.name] = feature, levels
        return levels

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
            numbers = block.astype(dtype)
            for column, values in zip(columns, numbers, strict=True):
                blank(features[column], points[:, column], values)
            return pd.DataFrame(numbers.T, columns=names, copy=False)
        made = {}
        for column in columns:
            feature = features[column]
            made[feature.name] = pandas_column(
                feature,
                points[:, column],
                self.dtypes.get(feature.name),
                self.gaps.get(feature.name),
                self._levels_of(feature),
            )
        return pd.DataFrame(made, copy=False)

    def _shared_number_dtype(
        self, features: Sequence[Feature], columns: Sequence[int]
    ) -> Any:
        """Return the numpy dtype that all columns have, or None."""
        dtypes = set()
        for column in columns:
            feature = features[column]
            dtypes.add(number_dtype(feature, self.dtypes.get(feature.name)))
        if len(dtypes) == 1:
            return dtypes.pop()
        return None

    def _polars(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import polars as pl

        made = []
        for position in columns:
            feature = features[position]
            dtype = self.dtypes.get(feature.name)
            levels = self._levels_of(feature)
            made.append(polars_column(feature, points[:, position], dtype, levels))
        return pl.DataFrame(made)

    def _pyarrow(
        self, features: Sequence[Feature], columns: Sequence[int], points: Points
    ) -> Any:
        import pyarrow as pa

        made = {}
        for position in columns:
            feature = features[position]
            dtype = self.dtypes.get(feature.name)
            made[feature.name] = pyarrow_column(feature, points[:, position], dtype)
        return pa.table(made)


def _samples(feature: Feature) -> Floats:
    """Return codes that show whether a dtype holds a feature: its levels, or three numbers."""
    if feature.kind == "category":
        return feature.values_with_missing()
    step = feature.step or (feature.high - feature.low) / 3
    numbers = np.array([feature.low, feature.high, feature.low + step])
    samples = feature.snap(np.minimum(numbers, feature.high))
    if feature.missing:
        return np.append(samples, feature.missing_code)
    return samples


def layout_of(frame: Any) -> Layout:
    """Return engine and dtypes of an eager narwhals frame.

    Engines without a builder of native columns become pandas.
    """
    engine = frame.implementation.value
    native = frame.to_native()
    if engine == "pandas":
        return Layout("pandas", dict(native.dtypes.items()), _gaps(native))
    if engine == "polars":
        return Layout("polars", dict(native.schema.items()))
    if engine == "pyarrow":
        schema = native.schema
        return Layout("pyarrow", {name: schema.field(name).type for name in schema.names})
    return Layout()


def _gaps(frame: Any) -> dict[str, Any]:
    """Return what stands for a missing value in each column of objects that lacks some."""
    gaps = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype != object:
            continue
        missing = column.isna().to_numpy()
        if missing.any():
            gaps[name] = column.iloc[int(missing.argmax())]
    return gaps
