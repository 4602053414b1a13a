"""Outcomes that are numbers, summed up by the engine: their shares of the range, and the squares.

The sums are of whole numbers, so that they are the same in whatever order an engine adds them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.bins import counted_quantiles
from evenhand.methods.mine.logs.quantiles import numbers_around
from evenhand.methods.mine.logs.ranges import quotient
from evenhand.scores.numbers.unit_scale import UnitScale

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.logs.complete import CompleteRows
    from evenhand.methods.mine.logs.counted import KindsOfRows
    from evenhand.statistics.intervals import Floats

_FINEST = 40
"""A share is summed as a whole number of parts, of which the range has two to this power..."""
_WIDEST = 62
"""...or fewer, so that the sum of all rows stays under two to this power."""


@dataclass(frozen=True, eq=False)
class NumberSums:
    """How outcomes that are numbers are summed up."""

    outcome: str
    scale: UnitScale
    parts: float
    """How many parts the range of outcomes has."""
    truth: str | None = None
    """A column that rows are told apart by."""

    @classmethod
    def of(cls, log: CompleteRows, outcome: str, truth: str | None = None) -> NumberSums:
        """Find the range of outcomes and its spread, by the engine."""
        import narwhals as nw

        numbers = nw.col(outcome).cast(nw.Float64)
        lowest = numbers.min().alias("low")
        highest = numbers.max().alias("high")
        found = log.table.select(lowest, highest).lazy().collect()
        (low,) = found["low"].to_list()
        (high,) = found["high"].to_list()
        width = high - low or 1.0
        scale = UnitScale(float(low), float(width), _spread(log, outcome))
        bits_of_rows = math.ceil(math.log2(log.rows))
        bits = min(_FINEST, _WIDEST - bits_of_rows)
        return cls(outcome, scale, 2.0**bits, truth)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that rows are told apart by, besides those that rules are formed of."""
        return () if self.truth is None else (self.truth,)

    def columns(self, names: Sequence[str]) -> tuple[str, str]:
        """Return the columns of shares and of their squares, which are not among these."""
        free = " ".join([*names, *self.keys, "sum of"])
        return f"{free} shares", f"{free} squares"

    def with_parts(self, table: Any, names: Sequence[str]) -> Any:
        """Return a frame with the columns that are summed up."""
        import narwhals as nw

        shares, squares = self.columns(names)
        number = nw.col(self.outcome).cast(nw.Float64)
        share = quotient(number - self.scale.low, self.scale.width).clip(0.0, 1.0)
        # Step by step, since engines that work with SQL repeat what is named twice.
        table = table.with_columns(share.alias(shares))
        table = table.with_columns((nw.col(shares) * nw.col(shares)).alias(squares))
        whole = []
        for name in (shares, squares):
            # Engines differ in how they round halves.
            parts = (nw.col(name) * self.parts + 0.5).floor()
            whole.append(parts.cast(nw.Int64))
        return table.with_columns(*whole)

    def means(self, kinds: KindsOfRows) -> tuple[Floats, Floats]:
        """Return the means of shares and of their squares of each kind of rows."""
        parts = self.parts * kinds.rows_of
        means = []
        for name in self.columns(kinds.names):
            sums = kinds.frame[name].to_numpy()
            means.append(sums.astype(np.float64) / parts)
        shares, squares = means
        return shares, squares


def _spread(log: CompleteRows, outcome: str) -> float:
    """Return the interquartile range of outcomes."""
    import narwhals as nw

    if log.is_large:
        quartiles = np.array([0.25, 0.75])
        values, rows_of = numbers_around(log, outcome, quartiles)
        first, third = counted_quantiles(values, rows_of, quartiles)
        return float(third - first)
    numbers = nw.col(outcome).cast(nw.Float64)
    first_quartile = numbers.quantile(0.25, "linear").alias("first")
    third_quartile = numbers.quantile(0.75, "linear").alias("third")
    try:
        found = log.table.select(first_quartile, third_quartile).lazy().collect()
    except NotImplementedError:
        # Some engines have no exact quartiles; the one column is then read, 8 bytes a row.
        rows = log.read(outcome)[outcome].to_numpy()
        first, third = np.quantile(rows.astype(np.float64), [0.25, 0.75])
    else:
        (first,) = found["first"].to_list()
        (third,) = found["third"].to_list()
    return float(third - first)
