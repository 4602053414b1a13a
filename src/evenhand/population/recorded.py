"""Recorded decisions: a frame of any engine, counted by group and outcome where it lies.

Only the counts are read into memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.runtime.values import parse_outcome
from evenhand.space.feature import plain
from evenhand.space.feature_sets import sets_of
from evenhand.space.frames.reading import declared_levels, eager

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.space.feature import Feature, Label
    from evenhand.statistics.intervals import Floats

MOST_VALUES = 50
"""The most distinct numbers of a column that are groups by themselves."""
UNKNOWN = -1
"""The code of a row that lacks a value."""
OUTSIDE = -2
"""The code of a value outside the declared bins."""
_TINY = 1e-12
"""How near an end may come to a share that must lie over or under it."""


def table_of(frame: Any) -> Any:
    """Return any dataframe as a narwhals frame, which stays lazy if it is."""
    import narwhals as nw

    try:
        found = nw.from_native(frame)
    except (TypeError, nw.exceptions.DuplicateError):
        return eager(frame)  # which says what is wrong with it
    return found if isinstance(found, nw.LazyFrame) else eager(frame)


def check_shares(allowed: Mapping[str, str], optional: Sequence[str], **given: Any) -> None:
    """Raise a UsageError for a share outside its range, which a sentence describes.

    An end that the sentence names with "from" or "up to" belongs to the range.

    >>> check_shares({"level": "over 0 and under 1, for example 0.95"}, (), level=1)
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: level is 1; it must be over 0 and under 1, for example 0.95
    """
    for name, value in given.items():
        if value is None and name in optional:
            continue
        wanted = allowed[name]
        is_number = isinstance(value, int | float | np.number) and not isinstance(
            value, bool
        )
        low = 0 if "from 0" in wanted else _TINY
        high = 1 - _TINY if "under 1" in wanted else 1
        if not is_number or not low <= value <= high:
            raise UsageError(f"{name} is {clip(repr(value))}; it must be {wanted}")


def column_sets(over: Any, outcome: str, columns: list[str]) -> list[tuple[str, ...]]:
    """Return the sets of columns that `over` names, each once; refuse unknown ones."""
    if outcome not in columns:
        raise DataError(
            f"outcome = {clip(repr(outcome))} is not a column of the frame;"
            f" {nearest(outcome, columns)}"
        )
    others = [name for name in columns if name != outcome]
    if not isinstance(over, str | Sequence) or not over:
        raise UsageError(
            f"over = {clip(repr(over))} names no columns to compare; {nearest(over, others)}"
        )
    given: Any = over
    if not isinstance(over, str):
        # What is neither a name nor a set is refused below, as a column that there is not.
        given = [names if isinstance(names, str | Sequence) else (names,) for names in over]
    sets = sets_of(given)
    for names in sets:
        _check_set(names, outcome, columns)
    return list(dict.fromkeys(sets))


def _check_set(names: tuple[str, ...], outcome: str, columns: list[str]) -> None:
    others = [name for name in columns if name != outcome]
    for name in names:
        if name == outcome:
            raise UsageError(
                f"over names {name!r}, which is the outcome itself; {nearest(name, others)}"
            )
        if name not in columns:
            raise DataError(
                f"over names {clip(repr(name))}, which is not a column; {nearest(name, others)}"
            )
    if not names or len(set(names)) < len(names):
        raise UsageError(
            f"over holds the set {clip(repr(names))}; name one or more columns, each once"
        )


def columns_of_sets(sets: Iterable[Iterable[str]]) -> tuple[str, ...]:
    """Return the columns of all sets, each once.

    >>> columns_of_sets([("sex",), ("race", "sex")])
    ('sex', 'race')
    """
    names: dict[str, None] = {}
    for columns in sets:
        names |= dict.fromkeys(columns)
    return tuple(names)


def number_of_rows(table: Any) -> int:
    """Return how many rows a frame has, which its own engine counts."""
    import narwhals as nw

    counted = table.select(nw.len().alias("rows")).lazy().collect()
    return int(counted["rows"].to_list()[0])


def label_written(frame: Any, column: str, text: Any) -> Any:
    """Return the label of a column that is written like this, the text itself where there is none.

    >>> import pandas as pd
    >>> label_written(pd.DataFrame({"paid": [0, 1]}), "paid", "1")
    1
    """
    if text is None or column not in frame.columns:
        return text
    for value in frame[column].unique().tolist():
        if str(value) == str(text):
            return value
    return parse_outcome(text) if isinstance(text, str) else text


def check_variety(table: Any, numeric: list[str], advice: str = "") -> None:
    """Refuse columns of many different numbers, before they are counted one by one.

    The error gives the advice, by default to group the numbers with bins.
    """
    import narwhals as nw

    if not numeric:
        return
    counts = table.select(nw.col(*numeric).n_unique()).lazy().collect()
    for name in numeric:
        distinct = int(counts[name].to_list()[0] or 0)
        if distinct <= MOST_VALUES:
            continue
        bins = (
            f"group them with bins={{{name!r}: [low, …, high]}}, or make decisions of an outcome"
            " first"
        )
        raise UsageError(
            f"column {name!r} holds {distinct:,} different numbers, over the {MOST_VALUES} that are"
            f" taken one by one; {advice or bins}"
        )


def count_cells(
    table: Any, names: Sequence[str], outcome: str, binned: Mapping[str, Feature]
) -> Any:
    """Return the number of rows for each combination of values and outcome, as an eager frame."""
    import narwhals as nw

    keys = [*names, outcome]
    columns = [_bin(binned[name]) if name in binned else nw.col(name) for name in keys]
    no_key = " ".join([*keys, "rows"])
    try:
        groups = table.select(*columns).group_by(*keys)
        found = groups.agg(nw.len().alias(no_key)).lazy().collect()
    except TypeError as error:
        raise DataError(
            f"the columns {', '.join(keys)} cannot be grouped ({clip(str(error))})"
        ) from None
    if not len(found):
        raise DataError("the frame has no rows; there is no decision to measure")
    return found


def sizes_of(cells: Any) -> Floats:
    """Return the number of rows of each combination."""
    return np.array(cells[cells.columns[-1]].to_list(), dtype=float)


def _bin(feature: Feature) -> Any:
    """Return the number of each value's bin, from 1; 0 and one more than the last are outside.

    What is missing stays so.
    """
    import narwhals as nw

    column = nw.col(feature.name).cast(nw.Float64)
    *lower_edges, last_edge = feature.edges().tolist()
    # The bin is the number of edges that are reached; a value on the last edge is still inside.
    reached = [column >= edge for edge in lower_edges]
    reached.append(column > last_edge)
    bin_number = nw.sum_horizontal(*(passed.cast(nw.Int64) for passed in reached))
    # Engines differ in how a number compares with NaN.
    is_missing = column.is_null() | column.is_nan()
    return nw.when(~is_missing).then(bin_number).alias(feature.name)


def labels_of(cells: Any, name: str) -> list[Label | None]:
    """Return a column of the counts in the user's labels, None where it is missing."""
    import pandas as pd

    values = cells[name].to_list()
    missing = pd.isna(np.fromiter(values, dtype=object, count=len(values)))
    labels = []
    for value, is_missing in zip(values, missing, strict=True):
        labels.append(None if is_missing else label_of(value))
    return labels


def label_of(value: Any) -> Label:
    """Return a value of any engine as a label.

    >>> label_of(2.0), label_of(np.True_)
    (2, True)
    """
    value = plain(value)
    if isinstance(value, float):
        if value.is_integer():  # whole numbers beside missing ones come as floats
            return int(value)
        return value if math.isfinite(value) else str(value)
    return value if isinstance(value, str | int) else str(value)


def seen(cells: Any, name: str) -> list[Label]:
    """Return the labels that a column of the counts has, in order."""
    labels = {label for label in labels_of(cells, name) if label is not None}
    return sorted(labels, key=lambda label: (isinstance(label, str), label))


def favourable_of(cells: Any, outcome: str, positive: Any) -> Label:
    """Return the favourable outcome of a column: the one given, or 1 where outcomes are 0 and 1."""
    outcomes = seen(cells, outcome)
    is_binary = set(outcomes) <= {0, 1}
    if positive is None and not is_binary:
        raise UsageError(
            f"the outcomes of {outcome!r} are not 0 and 1; name the favourable one with the option"
            f" positive; {nearest(1, outcomes)}"
        )
    favourable = label_of(1 if positive is None else positive)
    # An outcome that no row has is an outcome too, where the column declares it.
    valid = [*outcomes, *declared_levels(cells[outcome])]
    if is_binary:
        valid += [0, 1]
    if favourable not in valid:
        raise UsageError(
            f"positive = {clip(repr(positive))} is not an outcome of {outcome!r};"
            f" {nearest(positive, outcomes)}"
        )
    return favourable


def codes_of(feature: Feature, labels: Sequence[Label | None]) -> list[int]:
    """Return the place of each label among the feature's levels or bins.

    It is negative for what is unknown or outside.
    """
    if feature.kind == "category":
        code_of = {level: code for code, level in enumerate(feature.levels)}
        return [UNKNOWN if label is None else code_of[label] for label in labels]
    bins = int(feature.variety)
    codes = []
    for label in labels:
        if label is None:
            codes.append(UNKNOWN)
        elif 1 <= int(label) <= bins:
            codes.append(int(label) - 1)
        else:
            codes.append(OUTSIDE)
    return codes
