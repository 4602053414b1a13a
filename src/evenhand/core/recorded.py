"""Recorded decisions: a frame of any engine, counted by group and outcome where it lies; only the counts come here."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.errors import DataError, UsageError, clip, nearest
from evenhand.core.feature import plain
from evenhand.core.frames import declared_levels, eager

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.core.feature import Feature, Label
    from evenhand.core.intervals import Floats

MOST_VALUES = 50
"""The most distinct numbers of a column that are groups by themselves."""
UNKNOWN, OUTSIDE = -1, -2
"""Codes of rows that lack a value, and of those outside the declared bins."""


def table_of(frame: Any) -> Any:
    """Return any dataframe as a narwhals frame, which stays lazy if it is."""
    import narwhals as nw

    try:
        found = nw.from_native(frame)
    except (TypeError, nw.exceptions.DuplicateError):
        return eager(frame)  # which says what is wrong with it
    return found if isinstance(found, nw.LazyFrame) else eager(frame)


def check_variety(table: Any, numeric: list[str]) -> None:
    """Refuse columns of many different numbers, before they are counted one by one."""
    import narwhals as nw

    if not numeric:
        return
    found = table.select(nw.col(*numeric).n_unique()).lazy().collect()
    for name in numeric:
        distinct = int(found[name].to_list()[0] or 0)
        if distinct > MOST_VALUES:
            raise UsageError(
                f"column {name!r} holds {distinct:,} different numbers, over the {MOST_VALUES} that are taken one by "
                f"one; group them with bins={{{name!r}: [low, …, high]}}, or make decisions of an outcome first"
            )


def count_cells(table: Any, names: Sequence[str], outcome: str, binned: Mapping[str, Feature]) -> Any:
    """Return the number of rows for each combination of values and outcome, as an eager frame."""
    import narwhals as nw

    keys = [*names, outcome]
    columns = [_bin(binned[name]) if name in binned else nw.col(name) for name in keys]
    try:
        counts = nw.len().alias(" ".join([*keys, "rows"]))  # which no key is called
        found = table.select(*columns).group_by(*keys).agg(counts).lazy().collect()
    except TypeError as error:
        raise DataError(f"the columns {', '.join(keys)} cannot be grouped ({clip(str(error))})") from None
    if not len(found):
        raise DataError("the frame has no rows; there is no decision to measure")
    return found


def sizes_of(cells: Any) -> Floats:
    """Return the number of rows of each combination."""
    return np.array(cells[cells.columns[-1]].to_list(), dtype=float)


def _bin(feature: Feature) -> Any:
    """Return the number of each value's bin, from 1; one less or more is outside, and what is missing stays so."""
    import narwhals as nw

    column, edges = nw.col(feature.name).cast(nw.Float64), feature.edges().tolist()
    reached = [*(column >= edge for edge in edges[:-1]), column > edges[-1]]
    cell = nw.sum_horizontal(*(passed.cast(nw.Int64) for passed in reached))
    # Engines differ in how a number compares with NaN.
    return nw.when(~(column.is_null() | column.is_nan())).then(cell).alias(feature.name)


def labels_of(cells: Any, name: str) -> list[Label | None]:
    """Return a column of the counts in the user's labels, None where it is missing."""
    import pandas as pd

    values = cells[name].to_list()
    missing = pd.isna(np.fromiter(values, dtype=object, count=len(values)))
    return [None if gone else label_of(value) for gone, value in zip(missing, values, strict=True)]


def label_of(value: Any) -> Label:
    """Return a value of any engine as a label.

    >>> label_of(2.0), label_of(np.True_)
    (2, True)
    """
    value = plain(value)
    if isinstance(value, float):  # whole numbers beside missing ones come as floats
        return int(value) if value.is_integer() else value if math.isfinite(value) else str(value)
    return value if isinstance(value, str | int) else str(value)


def seen(cells: Any, name: str) -> list[Label]:
    """Return the labels that a column of the counts has, in order."""
    found = {label for label in labels_of(cells, name) if label is not None}
    return sorted(found, key=lambda label: (isinstance(label, str), label))


def favourable_of(cells: Any, outcome: str, positive: Any) -> Label:
    """Return the favourable outcome of a column: the one given, or 1 where outcomes are 0 and 1."""
    found = seen(cells, outcome)
    binary = set(found) <= {0, 1}
    if positive is None and not binary:
        raise UsageError(f"the outcomes of {outcome!r} are not 0 and 1; pass positive=…; {nearest(1, found)}")
    wanted = label_of(1 if positive is None else positive)
    if wanted not in [*found, *declared_levels(cells[outcome]), *([0, 1] if binary else [])]:
        raise UsageError(f"positive = {clip(repr(positive))} is no outcome of {outcome!r}; {nearest(positive, found)}")
    return wanted


def codes_of(feature: Feature, labels: Sequence[Label | None]) -> list[int]:
    """Return the place of each label among the feature's levels or bins; negative for what is unknown or outside."""
    if feature.kind == "category":
        known = {level: code for code, level in enumerate(feature.levels)}
        return [UNKNOWN if label is None else known[label] for label in labels]
    bins = int(feature.variety)
    return [UNKNOWN if x is None else int(x) - 1 if 1 <= int(x) <= bins else OUTSIDE for x in labels]
