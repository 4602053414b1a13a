"""Columns of labels and of protected values, as arrays and as codes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.space.feature import plain
from evenhand.space.frames.reading import eager

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Label

    Codes = NDArray[np.intp]


def array(values: Any, column: str) -> NDArray[Any]:
    """Return a column as an array: of one dtype if it has one, and otherwise of objects.

    `column` is what messages call it.

    >>> array(("a", 1), "y_true").tolist()
    ['a', 1]
    """
    if _is_table(values):
        values = _only_column(values, column)
    for conversion in ("to_pylist", "to_numpy", "to_list"):
        if hasattr(values, conversion):
            values = getattr(values, conversion)()
            break
    is_single = isinstance(values, str | bytes | Mapping)
    if is_single or not isinstance(values, Iterable):
        value = clip(repr(values))
        message = messages.NOT_A_COLUMN.format(
            column=column,
            value=value,
        )
        raise DataError(message)
    if not isinstance(values, np.ndarray):
        values = np.array(list(values), dtype=object)
    if values.ndim != 1:
        message = messages.NOT_ONE_DIMENSIONAL.format(
            column=column,
            shape=values.shape,
        )
        raise DataError(message)
    # Texts of a fixed width would be cut when a longer one is put beside them.
    has_fixed_width = values.dtype.kind in "US"
    return np.asarray(values.astype(object) if has_fixed_width else values)


def coded(values: Any, column: str) -> tuple[Codes, tuple[Label, ...]]:
    """Return the code of each value, and the values in an order that does not depend on the rows.

    >>> codes, levels = coded(["b", "a", "b"], "sex")
    >>> codes.tolist(), levels
    ([1, 0, 1], ('a', 'b'))
    """
    import pandas as pd

    codes, found = pd.factorize(array(values, column))
    if (codes < 0).any():
        first_missing = int(np.argmin(codes))
        message = messages.MISSING_VALUE.format(
            column=column,
            row=first_missing,
        )
        raise DataError(message)
    levels = [plain(value) for value in found]
    number = len(levels)
    order = sorted(range(number), key=lambda code: _sort_key(levels[code]))
    rank = np.empty(number, dtype=np.intp)
    rank[order] = np.arange(number)
    in_order = tuple(levels[code] for code in order)
    return rank[codes], in_order


def _sort_key(level: Any) -> tuple[bool, Any]:
    # Numbers come before texts, since Python cannot compare one with the other.
    is_text = isinstance(level, str)
    is_comparable = is_text or isinstance(level, int | float | bool)
    return is_text, level if is_comparable else str(level)


def matched(values: NDArray[Any], levels: Sequence[Label]) -> Codes:
    """Return the place of each value among some levels, or -1."""
    import pandas as pd

    codes, found = pd.factorize(values)
    place_of = {level: place for place, level in enumerate(levels)}
    places = [place_of.get(plain(value), -1) for value in found]
    # `factorize` gives missing values the code -1, which picks the last of these places.
    places_and_missing = np.array([*places, -1], dtype=np.intp)
    return np.asarray(places_and_missing[codes])


def columns_of(protected: Any) -> dict[str, NDArray[Any]]:
    """Return the protected columns by name, from one column, a mapping or any dataframe.

    A group that a column declares and no row has is refused: nothing is known of it, and that must
    not read as fair.

    >>> {name: column.tolist() for name, column in columns_of(["f", "m"]).items()}
    {'protected': ['f', 'm']}
    """
    given = _by_name(protected)
    if not given:
        raise UsageError(messages.NO_PROTECTED_COLUMN)
    columns = {}
    for name, values in given.items():
        columns[name] = array(values, protected_column(name))
    for name, values in given.items():
        _check_declared_groups(name, values, columns[name])
    for (first, first_column), (second, second_column) in pairwise(columns.items()):
        if len(first_column) != len(second_column):
            message = messages.PROTECTED_LENGTHS.format(
                first=repr(first),
                first_rows=number_text.count(len(first_column)),
                second=repr(second),
                second_rows=number_text.count(len(second_column)),
            )
            raise DataError(message)
    return columns


def protected_column(name: str) -> str:
    """Return what messages call a protected column."""
    return messages.PROTECTED_COLUMN.format(name=repr(name))


def _by_name(protected: Any) -> dict[str, Any]:
    """Return protected columns by name, as they were given."""
    if isinstance(protected, Mapping):
        return {str(name): values for name, values in protected.items()}
    if _is_table(protected):
        table = eager(protected)
        return {name: table[name].to_native() for name in table.columns}
    name = getattr(protected, "name", None)
    if not isinstance(name, str) or not name:
        name = "protected"
    return {name: protected}


def _is_table(values: Any) -> bool:
    # The schema comes first: lazy frames warn where somebody asks for their columns.
    return hasattr(values, "collect_schema") or hasattr(values, "columns")


def _only_column(values: Any, column: str) -> Any:
    """Return the column of a dataframe that has no other."""
    table = eager(values)
    names = table.columns
    if len(names) != 1:
        message = messages.SEVERAL_COLUMNS.format(
            column=column,
            number=len(names),
            names=", ".join(names),
        )
        raise DataError(message)
    return table[names[0]].to_native()


def _check_declared_groups(
    name: str,
    values: Any,
    column: NDArray[Any],
) -> None:
    """Refuse a group that the type of a column declares and that no row has.

    Categories of pandas and an Enum of Polars declare groups.
    """
    dtype: Any = getattr(values, "dtype", None)
    if type(dtype).__name__ not in ("CategoricalDtype", "Enum"):
        return
    declared = set(dtype.categories)
    present = set(column.tolist())
    missing = sorted(declared - present, key=str)
    if missing:
        group = clip(repr(plain(missing[0])))
        message = messages.GROUP_WITHOUT_ROWS.format(
            column=repr(name),
            group=group,
        )
        raise DataError(message)
