"""The cells of a log: its different rows, and how many rows are like each, counted in one pass.

All else that is asked of a log is then asked of its cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.population.counting.engines import wide_frames_allowed
from evenhand.population.recorded import count_rows
from evenhand.runtime.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

MOST_TOGETHER = 1_000_000
"""The most cells, or kinds of rows, of all columns together; sets of columns that make more are
counted each by itself.
"""
MOST_READ = 1_000_000
"""Rows up to this many are read for themselves where that gives results of more digits."""
FIRST_ROWS = 20_000
"""The rows that show whether a log has few cells, before all rows are counted by them."""
MOST_OF_FIRST = 0.5
"""The most different rows among the first, as a share, for all rows to be counted by them."""


@dataclass(frozen=True, eq=False)
class LogCells:
    """The different rows of a log, as an eager frame, and the column of how many are like each."""

    frame: Any
    sizes: str

    @classmethod
    def of(cls, table: Any) -> LogCells | None:
        """Count the rows of a frame by all its columns; None where its rows are rarely alike."""
        import narwhals as nw

        schema = table.collect_schema()
        names = list(schema)
        if not all(map(is_groupable, schema.values())):
            return None
        try:
            if not _are_alike(table, names):
                return None
            found = count_rows(table, names, most=MOST_TOGETHER + 1)
        except DataError:  # no rows at all, or objects that cannot be grouped
            return None
        if len(found) > MOST_TOGETHER:
            return None
        sizes = " ".join([*names, "in a cell"])
        rows_of = nw.col(found.columns[-1]).cast(nw.Int64)
        return cls(found.select(*names, rows_of.alias(sizes)), sizes)


def is_number(dtype: Any) -> bool:
    """Return whether a column holds numbers."""
    return bool(dtype.is_numeric())


def is_day(dtype: Any) -> bool:
    """Return whether a column holds dates or moments."""
    import narwhals as nw

    return dtype in (nw.Date, nw.Datetime)


def is_groupable(dtype: Any) -> bool:
    """Return whether a column holds what features are made of."""
    import narwhals as nw

    labels = (nw.Categorical, nw.Enum, nw.String, nw.Object, nw.Boolean)
    return is_number(dtype) or is_day(dtype) or dtype in labels


def distinct_at_first(table: Any, names: Sequence[str]) -> tuple[int, int]:
    """Return how many of the first rows differ in some columns, and how many first rows there are.

    The engine counts them.
    """
    import narwhals as nw

    no_key = " ".join([*names, "rows"])
    first = _beginning(table.select(*names)).head(FIRST_ROWS)
    try:
        with wide_frames_allowed():
            kinds = first.group_by(*names).agg(nw.len().alias(no_key))
        counted = kinds.select(nw.len().alias("kinds"), nw.col(no_key).sum().alias("rows"))
        found = counted.lazy().collect()
    except TypeError as error:
        raise DataError(str(error)) from None
    rows = found["rows"].to_list()[0] or 0
    return int(found["kinds"].to_list()[0]), int(rows)


def _beginning(table: Any) -> Any:
    """Return a part of a frame with its first rows, for engines that look for them in all parts."""
    import narwhals as nw

    if not table.implementation.is_dask():
        return table
    return nw.from_native(nw.to_native(table).partitions[0])


def _are_alike(table: Any, names: Sequence[str]) -> bool:
    """Return whether many of the first rows are alike, as then nearly all are."""
    kinds, rows = distinct_at_first(table, names)
    return kinds <= MOST_OF_FIRST * rows
