"""The rows of a log that lack neither outcome nor truth, and how many rows there are."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence


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

    @classmethod
    def of(cls, table: Any, names: Sequence[str], needed: Sequence[str]) -> CompleteRows:
        """Leave out the rows that lack what is needed, which the frame's own engine counts."""
        import narwhals as nw

        # Only these columns are ever looked at.
        table = table.select([*names, *needed])
        dtypes = table.collect_schema()
        missing = []
        lacking = []
        for name in needed:
            is_missing = _is_missing(name, dtypes[name])
            missing.append(is_missing)
            lacking.append(_number(is_missing, f"lacking {name}"))
        lacks_any = nw.any_horizontal(*missing, ignore_nulls=False)
        lacking.append(_number(lacks_any, "lacking any"))
        counted = table.select(nw.len().alias("rows"), *lacking).lazy().collect()
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
        return cls(table, tuple(names), tuple(needed), left, notes)

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


def _number(flags: Any, name: str) -> Any:
    """Return in how many rows something is so, as an expression of this name."""
    import narwhals as nw

    return flags.cast(nw.Int64).sum().alias(name)
