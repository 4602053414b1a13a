"""Columns whose values do not agree: dates among texts, and numbers among texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, clip
from evenhand.space.values.dates import day_of, days_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Floats
    from evenhand.space.frames.coded import CodedLabels

_FIRST = 100
"""Values that are looked at before all of them are: most columns of texts hold no date."""
_MOST_LEVELS = 50
"""A column of more different numbers than this is no list of codes with a rest such as "3+"."""
_NUMBERS_OF_TEXTS = 0.9
"""The share of texts that are numbers from which the others look like mistakes."""


def may_hold_dates(texts: CodedLabels, counts: Floats | None = None) -> bool:
    """Return whether some of the first texts are dates."""
    first = texts.codes[:_FIRST] if counts is None else texts.codes
    places = np.unique(first).tolist()
    return any(day_of(texts.values[at]) is not None for at in places)


def may_be_mistaken(texts: CodedLabels, counts: Floats | None = None) -> bool:
    """Return whether most of many different texts are numbers, so that others look like mistakes.

    >>> from evenhand.space.frames.coded import CodedLabels
    >>> may_be_mistaken(CodedLabels(["F", "M"], np.array([0, 1, 0])))
    False
    """
    if len(texts.values) <= _MOST_LEVELS:
        return False
    reads = np.array([_reads_as_number(text) for text in texts.values])
    rows_of_each = np.bincount(texts.codes, weights=counts, minlength=len(reads))
    return bool(_NUMBERS_OF_TEXTS <= np.average(reads, weights=rows_of_each) < 1)


def is_date_column(
    name: str,
    values: Sequence[Any],
    rows: NDArray[np.intp],
    counts: Floats | None = None,
) -> bool:
    """Return whether texts are ISO dates; where most but not all of them are, say which is not.

    Where a text stands for several rows, `counts` says for how many.

    >>> is_date_column("x", ["2020-01-31", "2020-02-01"], np.arange(2))
    True
    """
    # Texts that stand for several rows are in no order, and few.
    first = values[:_FIRST] if counts is None else set(values)
    if not any(day_of(value) is not None for value in first):
        return False
    days = days_of(values)
    if np.average(np.isnan(days), weights=counts) >= 0.5:
        return False
    check_dates(name, values, days, rows)
    return True


def check_dates(
    name: str,
    values: Sequence[Any],
    days: Floats,
    rows: NDArray[np.intp],
) -> None:
    """Refuse a value that is not a date."""
    wrong = np.isnan(days)
    if not wrong.any():
        return
    at = int(wrong.argmax())
    raise DataError(
        f"column {name!r} holds dates, but row {rows[at]} has {clip(repr(values[at]))}; write it as"
        " 2020-01-31, or declare kind = 'category' to take all values as texts"
    )


def check_mixed(
    name: str,
    values: Sequence[Any],
    rows: NDArray[np.intp],
    counts: Floats | None = None,
) -> None:
    """Refuse a column that mixes numbers with texts, naming the first of the fewer ones."""
    if set(map(type, values)) == {str}:
        _check_texts(name, values, rows, counts)
        return
    is_number = np.array([_is_number(value) for value in values])
    is_text = np.array([isinstance(value, str) for value in values])
    if is_number.any() and is_text.any():
        _refuse(name, values, rows, few=is_text if is_number.mean() >= 0.5 else is_number)


def _check_texts(
    name: str,
    values: Sequence[str],
    rows: NDArray[np.intp],
    counts: Floats | None,
) -> None:
    """Refuse a text among many different numbers that are written as texts."""
    if len(set(values)) <= _MOST_LEVELS:
        return
    reads = np.array([_reads_as_number(value) for value in values])
    if _NUMBERS_OF_TEXTS <= np.average(reads, weights=counts) < 1:
        _refuse(name, values, rows, few=~reads)


def _refuse(
    name: str,
    values: Sequence[Any],
    rows: NDArray[np.intp],
    few: NDArray[np.bool_],
) -> None:
    at = int(few.argmax())
    raise DataError(
        f"column {name!r} mixes numbers and texts: row {rows[at]} has {clip(repr(values[at]))},"
        " where most rows have the other; correct it, leave the cell empty, or declare kind ="
        " 'category' to take all values as levels"
    )


def _is_number(value: Any) -> bool:
    is_truth_value = isinstance(value, bool | np.bool_)
    return isinstance(value, int | float | np.number) and not is_truth_value


def _reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
