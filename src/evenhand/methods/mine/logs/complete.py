"""The rows of a log that lack neither outcome nor truth, and how many rows there are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.logs.cells import MOST_READ, LogCells
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.statistics.intervals import Floats


@dataclass(frozen=True, eq=False)
class CompleteRows:
    """The rows that lack no column that is needed, as a frame that stays lazy if it is.

    What is missing in the other columns is a value like any other.
    """

    table: Any
    names: tuple[str, ...]
    """The columns that rules are formed of."""
    needed: tuple[str, ...]
    rows: int
    notes: list[str]
    cells: LogCells | None = None
    """The different rows and how many are like each, where they are few."""

    @classmethod
    def of(cls, table: Any, names: Sequence[str], needed: Sequence[str]) -> CompleteRows:
        """Leave out the rows that lack what is needed, which the frame's own engine counts."""
        import narwhals as nw

        # Only these columns are ever looked at.
        table = table.select([*names, *needed])
        cells = LogCells.of(table)
        dtypes = table.collect_schema()
        missing = []
        lacking = []
        for name in needed:
            is_missing = _is_missing(name, dtypes[name])
            missing.append(is_missing)
            lacking.append(_number(is_missing, cells).alias(f"lacking {name}"))
        lacks_any = nw.any_horizontal(*missing, ignore_nulls=False)
        lacking.append(_number(lacks_any, cells).alias("lacking any"))
        rows_there = nw.len() if cells is None else nw.col(cells.sizes).sum()
        counted_there = table if cells is None else cells.frame
        columns = [rows_there.alias("rows"), *lacking]
        counted = counted_there.select(*columns).lazy().collect()
        numbers = {}
        for key in counted.columns:
            (number,) = counted[key].to_list()
            numbers[key] = int(number or 0)
        rows = numbers["rows"]
        if not rows:
            raise DataError(messages.FRAME_EMPTY)
        notes = []
        for name in needed:
            left_out = numbers[f"lacking {name}"]
            if left_out:
                note = messages.ROWS_LEFT_OUT.format(
                    missing=number_text.count(left_out),
                    rows=number_text.count(rows),
                    column=name,
                )
                notes.append(note)
        left = rows - numbers["lacking any"]
        if not left:
            raise DataError(messages.NO_COMPLETE_ROW.format(names=", ".join(needed)))
        if left < rows:
            table = table.filter(~lacks_any)
            if cells is not None:
                cells = replace(cells, frame=cells.frame.filter(~lacks_any))
        return cls(table, tuple(names), tuple(needed), left, notes, cells)

    @property
    def counted(self) -> Any:
        """The frame to ask for all that does not depend on how many rows are alike."""
        return self.table if self.cells is None else self.cells.frame

    @property
    def counts(self) -> Floats:
        """How many rows are like each of the cells."""
        assert self.cells is not None
        sizes = self.cells.frame[self.cells.sizes]
        return np.asarray(sizes.to_numpy(), dtype=np.float64)

    @property
    def is_large(self) -> bool:
        """Whether the rows lie outside of memory, and are too many to be read into it."""
        import narwhals as nw

        return isinstance(self.table, nw.LazyFrame) and self.rows > MOST_READ

    def without_cells(self) -> CompleteRows:
        """Return the same rows, each of which is looked at by itself."""
        return replace(self, cells=None)

    def number(self, flags: Any) -> Any:
        """Return in how many rows something is so, as an expression."""
        return _number(flags, self.cells)

    def dtype(self, name: str) -> Any:
        """Return the dtype of a column."""
        return self.table.collect_schema()[name]

    def read(self, *names: str) -> Any:
        """Read some columns of all rows, or all columns, as an eager frame."""
        table = self.table.select(list(names)) if names else self.table
        return table.lazy().collect()

    def first(self, number: int, *names: str) -> Any:
        """Read some columns of the first rows."""
        return self.table.select(list(names)).head(number).lazy().collect()


def _is_missing(name: str, dtype: Any) -> Any:
    """Return in which rows a column is missing; some dataframes hold NaN instead of a null."""
    import narwhals as nw

    column = nw.col(name)
    missing = column.is_null()
    if dtype.is_float():
        # Engines differ in whether what is null is not a number, too.
        missing = missing | column.is_nan().fill_null(value=True)
    return missing


def _number(flags: Any, cells: LogCells | None) -> Any:
    """Return in how many rows something is so, as an expression of them or of their cells."""
    import narwhals as nw

    numbers = flags.cast(nw.Int64)
    if cells is not None:
        numbers = numbers * nw.col(cells.sizes)
    return numbers.sum()
