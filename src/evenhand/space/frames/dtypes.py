"""Dtypes by pandas' names, as a person writes them, in each engine's own words."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import SpaceError, clip, nearest

if TYPE_CHECKING:
    from evenhand.space.feature import Feature, Label

_TEXTS = ("string", "str", "object")
_FLAGS = ("bool", "boolean")
_NUMPY_NUMBERS = (
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
)
_NULLABLE_NUMBERS = (
    "Int8",
    "Int16",
    "Int32",
    "Int64",
    "UInt8",
    "UInt16",
    "UInt32",
    "UInt64",
    "Float32",
    "Float64",
)
_MOMENTS = ("datetime64[ns]", "datetime64[us]", "datetime64[ms]", "datetime64[s]")
WORDS = (
    "category",
    *_TEXTS,
    *_FLAGS,
    *_NUMPY_NUMBERS,
    *_NULLABLE_NUMBERS,
    *_MOMENTS,
)
"""The dtypes that a configuration may name."""
_MOST_CATEGORIES = 100_000
"""A number with more values than this is not listed as categories."""


def split_dtypes(
    declared: Mapping[str, Any],
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return declarations of features without their dtypes, and the dtypes by feature.

    >>> split_dtypes({"sex": {"levels": ["F", "M"], "dtype": "category"}})
    ({'sex': {'levels': ['F', 'M']}}, {'sex': 'category'})
    """
    features: dict[str, Any] = {}
    words: dict[str, Any] = {}
    for name, table in declared.items():
        features[name] = table
        if isinstance(table, Mapping) and "dtype" in table:
            words[name] = table["dtype"]
            features[name] = {key: table[key] for key in table if key != "dtype"}
    return features, words


def dtype_of(word: Any, feature: Feature, engine: str) -> Any:
    """Return what a word means for a feature's column of an engine; a dtype is its own meaning."""
    if not isinstance(word, str):
        return word
    if word not in WORDS:
        raise SpaceError(
            f"feature {feature.name!r}: unknown dtype {clip(repr(word))};"
            f" {nearest(word, WORDS)}"
        )
    if word == "category":
        return category_dtype(_listed(feature), engine)
    if engine == "polars":
        return _polars(word)
    if engine == "pyarrow":
        return _pyarrow(word)
    import pandas as pd

    return pd.api.types.pandas_dtype(word)


def category_dtype(levels: list[Label], engine: str = "pandas") -> Any:
    """Return an engine's dtype of categories in this order."""
    if engine == "polars":
        import polars as pl

        return pl.Enum([str(level) for level in levels])
    if engine == "pyarrow":
        import pyarrow as pa

        return pa.dictionary(pa.int32(), pa.array(levels).type)
    import pandas as pd

    return pd.CategoricalDtype(levels)


def word_of(dtype: Any) -> str:
    """Return the name of a dtype as a configuration writes it.

    >>> import pandas as pd
    >>> word_of(pd.CategoricalDtype(["F", "M"])), word_of(pd.Int8Dtype())
    ('category', 'Int8')
    """
    return str(getattr(dtype, "name", dtype))


def _listed(feature: Feature) -> list[Label]:
    """Return all values of a feature, in order."""
    if feature.kind == "category":
        return list(feature.levels)
    if math.isinf(feature.size) or feature.size > _MOST_CATEGORIES:
        raise SpaceError(
            f"feature {feature.name!r}: dtype = 'category' needs a list of levels, and it takes"
            f" {feature.domain}; write levels = [...] or a dtype of numbers"
        )
    return feature.labels(feature.values())


def _polars(word: str) -> Any:
    import polars as pl

    if word in _TEXTS:
        return pl.String
    if word in _FLAGS:
        return pl.Boolean
    if word in _MOMENTS:
        return pl.Datetime
    # polars' numbers have pandas' nullable names: Int8, UInt8, Float32.
    name = word if word in _NULLABLE_NUMBERS else _nullable(word)
    return getattr(pl, name)


def _pyarrow(word: str) -> Any:
    import pyarrow as pa

    if word in _TEXTS:
        return pa.string()
    if word in _FLAGS:
        return pa.bool_()
    if word in _MOMENTS:
        unit = word.removeprefix("datetime64[").removesuffix("]")
        return pa.timestamp(unit)
    return getattr(pa, word.lower())()


def _nullable(word: str) -> str:
    """Return the nullable name of a number.

    >>> _nullable("uint8"), _nullable("float32")
    ('UInt8', 'Float32')
    """
    position = _NUMPY_NUMBERS.index(word)
    return _NULLABLE_NUMBERS[position]
