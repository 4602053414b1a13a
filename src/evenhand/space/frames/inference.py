"""A feature for each column of a dataframe, with its kind, levels and range."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError
from evenhand.space.feature import Feature, category, integer, plain, real
from evenhand.space.frames.coded import coded_texts
from evenhand.space.frames.following import with_derivations
from evenhand.space.frames.odd_columns import (
    check_dates,
    check_mixed,
    is_date_column,
    may_be_mistaken,
    may_hold_dates,
)
from evenhand.space.frames.reading import (
    day_column,
    declared_levels,
    has_days,
    missing_rows,
)
from evenhand.space.values.dates import days_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenhand.space.feature import Floats, Label
    from evenhand.space.frames.coded import CodedLabels

_MOST_STEPS = 50
"""A grid of more than two to the power of this many steps is not told apart by dividing."""
_MOST_DECIMALS = 3
_LARGEST_WHOLE = 2**53


def infer(
    frame: Any,
    names: Iterable[str],
    declared: Mapping[str, Mapping[str, Any]],
    counts: Floats | None = None,
) -> list[Feature]:
    """Infer a feature per column from an eager narwhals frame.

    What `declared` has for a column overrides what is inferred. Where a row of the frame stands for
    several, `counts` says for how many.

    Text, categorical and boolean columns become categories, whole numbers integers, other numbers
    reals, days and moments dates, and so do texts that are ISO dates. A real column written with at
    most three decimals keeps that step, so that generated values look like recorded ones. A column
    with missing values becomes a feature that is missing as often. Whole numbers that are the year,
    the month and so on of a date in all rows follow from it.
    """
    features = []
    rows_of = np.ones(len(frame)) if counts is None else counts
    for name in names:
        table = declared.get(name, {})
        missing = missing_rows(frame[name])
        if len(missing) and missing.all():
            features.append(_declared_only(name, table, int(rows_of.sum())))
            continue
        if isinstance(table, Mapping):
            wanted = table.get("kind")
        else:
            wanted = None
        rows = np.flatnonzero(~missing)
        if missing.any():
            column = frame[name][rows]
        else:
            column = frame[name]
        known_rows = None if counts is None else counts[rows]
        inferred = _infer_column(name, column, wanted, rows, known_rows)
        if missing.any():
            share = rows_of[missing].sum() / rows_of.sum()
            inferred = replace(inferred, missing=float(share))
        if table == {}:
            features.append(inferred)
        else:
            features.append(Feature.from_dict(name, table, inferred))
    return with_derivations(frame, features, declared)


def _declared_only(name: str, table: Any, rows: int) -> Feature:
    """Return a feature of which the data have no value, as it is declared."""
    if isinstance(table, Mapping) and ("levels" in table or {"low", "high"} <= set(table)):
        return Feature.from_dict(name, {"missing": True, **table})
    raise DataError(
        f"column {name!r} is missing in all {rows:,} rows, so what it can be is not known; drop the"
        " column, or declare its levels, or low and high"
    )


def _infer_column(
    name: str,
    column: Any,
    wanted: str | None,
    rows: NDArray[np.intp],
    counts: Floats | None = None,
) -> Feature:
    """Infer a feature from the values that are there; `rows` are their places in the frame."""
    import narwhals as nw

    if len(column) == 0:
        raise DataError(f"column {name!r} has no rows to infer a feature from")
    dtype = column.dtype
    if wanted == "date" or (has_days(column) and wanted is None):
        return _infer_date(name, column, rows)
    if dtype in (nw.String, nw.Object) and wanted is None:
        coded = coded_texts(column)
        feature = None if coded is None else _infer_texts(name, coded, counts)
        if feature is not None:
            return feature
        # Row by row, so that an error names the row of what is wrong.
        texts = column.to_list()
        if is_date_column(name, texts, rows, counts):
            return _infer_date(name, column, rows)
        check_mixed(name, texts, rows, counts)
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


def _infer_texts(name: str, texts: CodedLabels, counts: Floats | None) -> Feature | None:
    """Infer a feature from texts, None where some of them may be mistakes."""
    if may_hold_dates(texts, counts):
        days = days_of(texts.values)
        if np.isnan(days).any():
            return None
        return Feature(name, "date", low=int(days.min()), high=int(days.max()))
    if may_be_mistaken(texts, counts):
        return None
    return category(name, sorted(texts.values))


def _infer_date(name: str, column: Any, rows: NDArray[np.intp]) -> Feature:
    if has_days(column):
        days = day_column(column)
    else:
        values = column.to_list()
        days = days_of(values)
        check_dates(name, values, days, rows)
    return Feature(name, "date", low=int(days.min()), high=int(days.max()))


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
