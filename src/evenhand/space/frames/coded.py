"""Columns as codes: each different value once, and where it stands.

A column of texts has few different values, so what costs Python work per value is done for those,
and an array of codes says the rest. The engine of the frame finds them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, slots=True)
class CodedLabels:
    """A column whose values are told by their place among the different ones.

    It is read like the list of its values, which is slower.

    >>> column = CodedLabels(["no", "yes"], np.array([0, 1, 1, -1]))
    >>> len(column), list(column)
    (4, ['no', 'yes', 'yes', None])
    """

    values: Sequence[Any]
    codes: NDArray[np.integer[Any]]
    """The place of each row's value; -1 where it is missing."""

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.take(np.fromiter(self.values, dtype=object), None))

    def take(self, of_values: NDArray[Any], of_missing: Any) -> NDArray[Any]:
        """Return for each row what belongs to its value."""
        # The code -1 takes the last.
        whole = np.append(of_values, np.array([of_missing], dtype=of_values.dtype))
        return np.asarray(whole[self.codes])

    @property
    def has_gaps(self) -> bool:
        """Whether a value is missing."""
        return bool((self.codes < 0).any())

    @property
    def counts(self) -> NDArray[np.intp]:
        """How many rows have each value."""
        return np.bincount(self.codes + 1, minlength=len(self.values) + 1)[1:]


def coded_column(column: Any) -> CodedLabels | None:
    """Return a narwhals column of labels as codes, None where its engine does not find them.

    >>> import narwhals as nw, pandas as pd
    >>> coded = coded_column(nw.from_native(pd.Series(["b", None, "a", "b"]), allow_series=True))
    >>> list(coded.values), coded.codes.tolist()
    (['b', 'a'], [0, -1, 1, 0])
    """
    import narwhals as nw

    labels = (nw.String, nw.Object, nw.Boolean, nw.Categorical, nw.Enum)
    dtype = column.dtype  # which looks at all values of a column of objects
    if dtype not in labels and not dtype.is_numeric():
        return None
    code = _ENGINES.get(column.implementation.value)
    return code(column.to_native()) if code is not None else None


def coded_texts(column: Any) -> CodedLabels | None:
    """Return a narwhals column as codes where all that it holds are texts, else None."""
    coded = coded_column(column)
    if coded is None or set(map(type, coded.values)) != {str}:
        return None
    return coded


def _of_pandas(column: Any) -> CodedLabels | None:
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        return CodedLabels(column.cat.categories.tolist(), column.cat.codes.to_numpy())
    given = column.array
    if given.dtype == object or getattr(given.dtype, "storage", "") == "python":
        given = given.to_numpy()  # the objects themselves are looked up faster
    try:
        codes, values = pd.factorize(given)
    except (
        TypeError,
        NotImplementedError,
    ):  # values that cannot be looked up, such as lists
        return None
    return CodedLabels(values.tolist(), codes)


def _of_polars(column: Any) -> CodedLabels | None:
    import polars as pl

    if column.dtype == pl.Object:
        return None
    if column.dtype in (pl.Categorical, pl.Enum):
        column = column.cast(pl.String)
    values = column.unique(maintain_order=True).drop_nulls()
    places = pl.Series(np.arange(len(values), dtype=np.int32))
    codes = column.replace_strict(values, places, default=None)
    return CodedLabels(values.to_list(), codes.fill_null(-1).to_numpy())


def _of_pyarrow(column: Any) -> CodedLabels | None:
    import pyarrow as pa

    try:
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
    except pa.ArrowNotImplementedError:
        return None
    chunks = column.unify_dictionaries().chunks
    if not chunks:
        return None
    codes = []
    for chunk in chunks:
        places = chunk.indices.cast(pa.int64()).fill_null(-1)
        codes.append(places.to_numpy(zero_copy_only=False))
    return CodedLabels(chunks[0].dictionary.to_pylist(), np.concatenate(codes))


_ENGINES = {"pandas": _of_pandas, "polars": _of_polars, "pyarrow": _of_pyarrow}
