"""Cuts: where a column of numbers or dates is cut into groups that a person can read.

Cut points 25 and 40 make the groups "under 25", "25 to 39" and "40 and over". Dates are cut at
dates, or by the word "year" or "month". The frame's own engine finds the group of each row.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.counting.engines import collected
from evenhand.population.counting.first_rows import FirstRows
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

WORDS = ("year", "month")
"""What dates may be cut by besides cut points."""
_MONTHS = 12


@dataclass(frozen=True, slots=True)
class Cuts:
    """How one column is cut: at cut points, or dates by "year" or "month"."""

    name: str
    points: tuple[Any, ...] = ()
    word: str = ""
    whole: bool = False
    """Whether the column holds whole numbers, so that a group ends one before the next begins."""

    @property
    def of_dates(self) -> bool:
        """Whether the column holds dates."""
        return bool(self.word) or isinstance(self.points[0], date)

    def code(self) -> Any:
        """Return the number of each row's group, as an expression; what is missing stays so."""
        import narwhals as nw

        column = nw.col(self.name)
        # Years and months are floats here, since some engines have no whole numbers with gaps.
        if self.word == "year":
            return column.dt.year().cast(nw.Float64)
        if self.word == "month":
            months = column.dt.year().cast(nw.Float64) * _MONTHS
            return months + column.dt.month().cast(nw.Float64) - 1
        is_missing = column.is_null()
        if not self.of_dates:
            column = column.cast(nw.Float64)
            # Engines differ in how a number compares with NaN.
            is_missing = is_missing | column.is_nan()
        reached = [column >= point for point in self.points]
        number = _sum([passed.cast(nw.Int64) for passed in reached])
        return nw.when(~is_missing).then(number)

    def codes(self, seen: Iterable[int]) -> list[int]:
        """Return the groups that there are, in order, given those that have rows.

        Between cut points there is a group whether or not a row is in it, and beyond them only
        where there is one.
        """
        found = set(seen)
        if not self.word:
            found |= set(range(1, len(self.points)))
        return sorted(found)

    def label(self, code: int) -> str:
        """Return a group in words.

        >>> cuts = Cuts("age", (25, 40, 41), whole=True)
        >>> [cuts.label(code) for code in range(4)]
        ['under 25', '25 to 39', '40', '41 and over']
        """
        if self.word == "year":
            return str(code)
        if self.word == "month":
            year, month = divmod(code, _MONTHS)
            return f"{year}-{month + 1:02}"
        texts = [_text(point) for point in self.points]
        if code == 0:
            if self.of_dates:
                return f"before {texts[0]}"
            return f"under {texts[0]}"
        if code == len(self.points):
            if self.of_dates:
                return f"{texts[-1]} or later"
            return f"{texts[-1]} and over"
        low = texts[code - 1]
        if self.of_dates:
            return f"{low} to {_text(self.points[code] - timedelta(days=1))}"
        if not self.whole:
            return f"{low} to under {texts[code]}"
        last = _text(math.ceil(self.points[code]) - 1)
        first = _text(math.ceil(self.points[code - 1]))
        if first == last:
            return first
        return f"{first} to {last}"


def _sum(columns: Sequence[Any]) -> Any:
    """Return the sum of expressions: of halves, so that many of them are not nested deeply."""
    if len(columns) == 1:
        return columns[0]
    half = len(columns) // 2
    return _sum(columns[:half]) + _sum(columns[half:])


def _text(point: Any) -> str:
    if isinstance(point, datetime) and point.time() == datetime.min.time():
        return point.date().isoformat()
    if isinstance(point, datetime):
        return point.isoformat(sep=" ")
    return f"{point:.15g}"


def cut_columns(
    table: Any,
    bins: Any,
    names: Sequence[str],
    option: str = "bins",
) -> tuple[Any, dict[str, Cuts]]:
    """Return the frame, in which texts that are cut as dates are dates, and the cuts by column."""
    if not isinstance(bins, Mapping):
        raise UsageError(
            f"{option} = {clip(repr(bins))} must be a dictionary by column, such as"
            f" {{'age': [25, 40]}}"
        )
    cuts = {}
    for name, given in bins.items():
        if name not in names:
            raise UsageError(
                f"{option} names {clip(repr(name))}, which is not in over; {nearest(name, names)}"
            )
        dtype = table.collect_schema()[name]
        cut = _cuts(name, given, option, dtype)
        if dtype.is_float():
            cut = replace(cut, whole=_holds_whole_numbers(table, name))
        if cut.of_dates and not _is_date(dtype):
            table = _with_dates(table, name, dtype, option)
        cuts[name] = cut
    return table, cuts


def _holds_whole_numbers(table: Any, name: str) -> bool:
    """Return whether all numbers of a column are whole, which gaps make floats of."""
    import narwhals as nw

    look = FirstRows.of(table, [name])
    if look.are_all or name in look.fractions:
        return name not in look.fractions
    column = nw.col(name)
    # Engines differ in how NaN compares with a number.
    is_broken = ((column - column.round(0)).abs() > 0) & ~column.is_nan()
    # Spark sums no truth values.
    broken = is_broken.cast(nw.Int64).sum().alias("broken")
    return not collected(table.select(broken))["broken"].to_list()[0]


def _cuts(name: str, given: Any, option: str, dtype: Any) -> Cuts:
    """Return where a column is cut, checked against what it holds."""
    place = f"{option}[{name!r}] = {clip(repr(given))}"
    if isinstance(given, str):
        if given not in WORDS:
            raise UsageError(f"{place} is unknown; {nearest(given, WORDS)}")
        if dtype.is_numeric():
            raise UsageError(f"{place}, but {name!r} holds numbers; give cut points")
        return Cuts(name, word=given)
    points = _points(given, place)
    if isinstance(points[0], date):
        if dtype.is_numeric():
            raise UsageError(f"{place}, but {name!r} holds numbers; give numbers")
        return Cuts(name, points)
    if not dtype.is_numeric():
        raise UsageError(
            f"{option} has cut points for {name!r}, which does not hold numbers ({dtype}); leave"
            " them out, or cut dates at dates, by 'year' or by 'month'"
        )
    return Cuts(name, points, whole=bool(dtype.is_integer()))


def _points(given: Any, place: str) -> tuple[Any, ...]:
    """Return cut points, all of them numbers or all of them dates, and rising."""
    wanted = (
        f"{place} must be a rising list of cut points, such as [25, 40, 60] or"
        " ['2020-01-01', '2021-01-01'], or for dates 'year' or 'month'"
    )
    if not isinstance(given, Sequence | np.ndarray) or not len(given):
        raise UsageError(wanted)
    points = [_point(plain(value)) for value in given]
    kinds = set()
    for point in points:
        if point is not None:
            kinds.add(isinstance(point, date))
    if None in points or len(kinds) != 1:
        raise UsageError(wanted)
    if not all(lower < upper for lower, upper in itertools.pairwise(points)):
        raise UsageError(wanted)
    return tuple(points)


def _point(value: Any) -> Any:
    """Return one cut point: a number, or a point in time; None where it is neither."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        if math.isfinite(value):
            return value
        return None
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    try:
        return datetime.fromisoformat(str(value)).replace(tzinfo=None)
    except ValueError:
        return None


def _is_date(dtype: Any) -> bool:
    import narwhals as nw

    return bool(dtype == nw.Datetime)


def _with_dates(table: Any, name: str, dtype: Any, option: str) -> Any:
    """Return the frame with a column as points in time; refuse texts that are no dates."""
    import narwhals as nw
    import pandas as pd

    if dtype == nw.Date:
        return table.with_columns(nw.col(name).cast(nw.Datetime))
    whole = table.lazy().collect()
    column = whole[name]
    values = pd.Series(column.to_list(), dtype=object)
    is_missing = values.isna() | (values.astype(str).str.strip() == "")
    read = pd.to_datetime(values.mask(is_missing), format="ISO8601", errors="coerce")
    wrong = read.isna() & ~is_missing
    if wrong.any():
        row = int(np.flatnonzero(wrong.to_numpy())[0])
        raise DataError(
            f"{option} cuts {name!r} by dates, but row {row} holds {clip(repr(values[row]))};"
            " write dates as 2024-03-31, or leave the column out of bins"
        )
    dates = nw.new_series(
        name,
        read.to_numpy(dtype="datetime64[us]"),
        nw.Datetime("us"),
        backend=whole.implementation,
    )
    return whole.with_columns(dates)
