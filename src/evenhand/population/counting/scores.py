"""ScoreCounts: how many scores of each group are above the median of all, in about one pass.

The first rows say between which two scores the median is nearly always. In the same pass over the
rows, those below are counted and those between are collected, about one in eighty; the median is
exact, whatever the engine. Where it is elsewhere, since the first rows are not like the others, it
is looked for in ever smaller ranges of scores.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.counting.cube import RowCube
from evenhand.population.counting.engines import (
    collected,
    first_rows,
    group_counts,
    rows_name,
)
from evenhand.population.recorded import columns_of_sets, in_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.population.cuts import Cuts
    from evenhand.statistics.intervals import Floats

LOOK = 100_000
"""How many of the first rows say where the median is."""
_FAR = 4.0
"""How many standard errors of the median of the first rows are looked at on either side."""
_PARTS = 4096
"""Into how many parts a range of scores is divided in which the median is looked for."""
_SCORE = "the score of evenhand"
_BELOW, _KNOWN, _ROWS = "below of evenhand", "known of evenhand", "rows of evenhand"


@dataclass(frozen=True, slots=True)
class Window:
    """Two scores, both of which belong to it."""

    low: float
    high: float
    tied: bool = False
    """Whether many scores between them are the same."""

    def holds(self) -> Any:
        """Return whether a row's score is in the window, as an expression."""
        import narwhals as nw

        score = nw.col(_SCORE)
        return (score >= self.low) & (score <= self.high)


@dataclass(frozen=True, eq=False)
class _Pass:
    """What one pass over the rows found: counts by cell, and the scores in a window."""

    keys: Sequence[str]
    counts: Any
    """By cell, how many rows there are, how many have a score, and how many are below."""
    inside: Any
    """The scores in the window, by cell, and how often each is there."""

    def total(self, name: str) -> int:
        """Return a sum over all cells."""
        return sum(int(value or 0) for value in self.counts[name].to_list())

    @cached_property
    def scores(self) -> tuple[Floats, Floats]:
        """The different scores in the window in order, and how many scores are up to each."""
        values = np.array(self.inside[_SCORE].to_list(), dtype=np.float64)
        sizes = np.array(self.inside[self.inside.columns[-1]].to_list(), dtype=np.float64)
        order = np.argsort(values, kind="stable")
        return values[order], np.cumsum(sizes[order])

    def at(self, rank: int) -> float | None:
        """Return the score of a rank, None where it is not in the window."""
        values, up_to = self.scores
        place = rank - self.total(_BELOW)
        if place < 0 or not len(values) or place >= up_to[-1]:
            return None
        return float(values[np.searchsorted(up_to, place, side="right")])

    def number_of(self, score: float) -> int:
        """Return how many scores are equal to one in the window."""
        values, up_to = self.scores
        sizes = np.diff(up_to, prepend=0.0)
        return int(sizes[values == score].sum())


@dataclass(frozen=True, eq=False)
class ScoreCounts:
    """The rows of each set of columns by whether their score is above the median of all.

    >>> import narwhals as nw
    >>> import pandas as pd
    >>> people = pd.DataFrame({"sex": ["F", "F", "M", "M"], "score": [1.0, 2.0, 4.0, 8.0]})
    >>> found = ScoreCounts.of(nw.from_native(people), [("sex",)], "score", {})
    >>> found.median, found.cells[0]["score"].to_list()
    (3.0, [0.0, 1.0])
    """

    median: float
    tied: int
    """How many scores are equal to the median."""
    rows: int
    cells: Sequence[Any]

    @classmethod
    def of(
        cls,
        table: Any,
        sets: Sequence[tuple[str, ...]],
        outcome: str,
        cuts: Mapping[str, Cuts],
    ) -> ScoreCounts:
        """Count the rows by the columns of all sets together."""
        import narwhals as nw

        keys = columns_of_sets(sets)
        score = nw.col(outcome).cast(nw.Float64)
        is_known = ~(score.is_null() | score.is_nan())
        columns = []
        for name in keys:
            column = cuts[name].code().alias(name) if name in cuts else nw.col(name)
            columns.append(column)
        columns.append(nw.when(is_known).then(score).alias(_SCORE))
        scored = table.select(*columns)
        found = _passed(scored, keys, _window_of_first_rows(scored))
        known = found.total(_KNOWN)
        low, high = (known - 1) // 2, known // 2
        if known and (found.at(low) is None or found.at(high) is None):
            found = _passed(scored, keys, _searched(scored, low, high))
        if not known:
            return cls(math.nan, 0, found.total(_ROWS), ())
        lower, upper = found.at(low), found.at(high)
        assert lower is not None  # the window was made for them
        assert upper is not None
        median = (lower + upper) / 2
        tied = found.number_of(median) if lower == upper else 0
        if not math.isfinite(median):
            return cls(median, tied, found.total(_ROWS), ())
        cube = RowCube(_cells_above(found, median, outcome), cuts)
        cells = []
        for names in sets:
            of_set = cube.over((*names, outcome)).cells
            cells.append(in_words(of_set, [cuts[name] for name in names if name in cuts]))
        return cls(median, tied, found.total(_ROWS), cells)


def _window_of_first_rows(scored: Any) -> Window:
    """Return between which scores the median of all rows is, going by the first ones."""
    first = first_rows(scored, [_SCORE], LOOK)[_SCORE].to_numpy()
    values = np.sort(np.asarray(first, dtype=np.float64))
    values = values[~np.isnan(values)]
    if not len(values):
        return Window(0.0, 0.0)
    error = _FAR * 0.5 / math.sqrt(len(values))
    last = len(values) - 1
    low = math.floor(last * max(0.5 - error, 0.0))
    high = math.ceil(last * min(0.5 + error, 1.0))
    between = values[low : high + 1]
    tied = len(np.unique(between)) <= len(between) / 2
    return Window(float(values[low]), float(values[high]), tied)


def _passed(scored: Any, keys: Sequence[str], window: Window) -> _Pass:
    """Count the rows by cell, and collect the scores in a window."""
    import narwhals as nw

    if scored.implementation is nw.Implementation.DUCKDB and not window.tied:
        return _passed_by_duckdb(scored, keys, window)
    is_polars = scored.implementation is nw.Implementation.POLARS
    table = scored.lazy() if is_polars else scored
    # A column of its own, since some engines sum nothing but columns.
    is_below = (nw.col(_SCORE) < window.low).cast(nw.Int64).alias(_BELOW)
    sums = (nw.len().alias(_ROWS), nw.col(_SCORE).count().alias(_KNOWN))
    counts = table.with_columns(is_below).group_by(*keys).agg(*sums, nw.col(_BELOW).sum())
    by_score = table.filter(window.holds()).group_by(*keys, _SCORE)
    inside = by_score.agg(nw.len().alias(rows_name(keys)))
    # One after the other: in one scan, polars would keep all rows for both.
    return _Pass(keys, collected(counts), collected(inside))


def _passed_by_duckdb(scored: Any, keys: Sequence[str], window: Window) -> _Pass:
    """Count the rows by cell, and collect the scores in a window, in one query of DuckDB."""
    import narwhals as nw
    import pyarrow as pa
    import pyarrow.compute as pc

    # Under names of their own, which need no quotes.
    plain = [f"k{place}" for place in range(len(keys))]
    columns = [nw.col(name).alias(own) for name, own in zip(keys, plain, strict=True)]
    relation = nw.to_native(scored.select(*columns, nw.col(_SCORE).alias("s")))
    low = f"'{window.low!r}'::double"
    high = f"'{window.high!r}'::double"
    names = ", ".join(plain)
    counted = relation.aggregate(
        f"{names}, count(*) as n, count(s) as known, sum((s < {low})::bigint) as below,"
        f" list(s) filter (s >= {low} and s <= {high}) as inside",
        names,
    ).to_arrow_table()
    counts = counted.select([*plain, "n", "known", "below"])
    counts = counts.rename_columns([*keys, _ROWS, _KNOWN, _BELOW])
    parents = pc.list_parent_indices(counted["inside"])
    inside = counted.select(plain).take(parents).rename_columns(list(keys))
    inside = inside.append_column(_SCORE, pc.list_flatten(counted["inside"]))
    ones = pa.array(np.ones(len(inside), dtype=np.int64))
    inside = inside.append_column(rows_name(keys), ones)
    return _Pass(
        keys,
        nw.from_native(counts, eager_only=True),
        nw.from_native(inside, eager_only=True),
    )


def _cells_above(found: _Pass, median: float, outcome: str) -> Any:
    """Return how many rows of each cell are above the median, are not, or have no score."""
    import narwhals as nw

    keys = found.keys
    size = _ROWS
    one_if_above = (nw.col(_SCORE) > median).cast(nw.Float64).alias(outcome)
    number = found.inside.columns[-1]
    inside = found.inside.select(
        *keys, one_if_above, nw.col(number).cast(nw.Int64).alias(size)
    )
    of_inside = inside.group_by(*keys).agg(nw.col(size).sum())
    counts = found.counts
    as_number = [nw.col(name).cast(nw.Int64) for name in (_ROWS, _KNOWN, _BELOW)]
    rows, known, below = as_number
    parts = [
        inside,
        _part(counts, keys, nw.lit(0.0), below, outcome, size),
        _part(counts, keys, nw.lit(1.0), known - below, outcome, size),
        _part(counts, keys, nw.lit(math.nan), rows - known, outcome, size),
        # Those in the window are counted with those above it too.
        _part(of_inside, keys, nw.lit(1.0), -nw.col(size), outcome, size),
    ]
    every = nw.concat(parts)
    summed = group_counts(every, [*keys, outcome], sums=[size])
    return summed.select(*keys, outcome, size).filter(nw.col(size) > 0)


def _part(
    counts: Any, keys: Sequence[str], value: Any, number: Any, outcome: str, size: str
) -> Any:
    """Return cells with one outcome and so many rows."""
    import narwhals as nw

    return counts.select(
        *keys, value.cast(nw.Float64).alias(outcome), number.cast(nw.Int64).alias(size)
    )


def _searched(scored: Any, low_rank: int, high_rank: int) -> Window:
    """Return a window with the scores of two ranks, found in ever smaller ranges."""
    import narwhals as nw

    score = nw.col(_SCORE)
    ends = collected(scored.select(score.min().alias("low"), score.max().alias("high")))
    low = float(ends["low"].to_list()[0])
    high = float(ends["high"].to_list()[0])
    if not (math.isfinite(low) and math.isfinite(high)):
        finite = scored.filter((score > -math.inf) & (score < math.inf))
        return _between_infinities(scored, finite, low_rank, high_rank)
    below = 0
    while low < high:
        width = high / _PARTS - low / _PARTS
        place = (score / width - low / width).floor().alias("part")
        part = scored.filter((score >= low) & (score <= high))
        part = part.select(place, score.alias("low"), score.alias("high"))
        ends = (nw.len().alias("n"), nw.col("low").min(), nw.col("high").max())
        by_part = part.group_by("part").agg(*ends)
        found = collected(by_part).sort("low")
        up_to = below + np.cumsum(found["n"].to_list())
        first = int(np.searchsorted(up_to, low_rank, side="right"))
        last = int(np.searchsorted(up_to, high_rank, side="right"))
        new_low = float(found["low"].to_list()[first])
        new_high = float(found["high"].to_list()[last])
        before = below if first == 0 else int(up_to[first - 1])
        narrow = int(up_to[last]) - before <= LOOK or (new_low, new_high) == (low, high)
        low, high, below = new_low, new_high, before
        if narrow:
            break
    return Window(low, high, tied=True)


def _between_infinities(scored: Any, finite: Any, low_rank: int, high_rank: int) -> Window:
    """Return a window with the scores of two ranks, where some scores are infinite."""
    import narwhals as nw

    score = nw.col(_SCORE)
    counts = (
        (score == -math.inf).cast(nw.Int64).sum().alias("low"),
        ((score > -math.inf) & (score < math.inf)).cast(nw.Int64).sum().alias("finite"),
    )
    found = collected(scored.select(*counts))
    lowest = int(found["low"].to_list()[0] or 0)
    number = int(found["finite"].to_list()[0] or 0)
    ranks = (low_rank - lowest, high_rank - lowest)
    if min(ranks) < 0 or max(ranks) >= number:
        return Window(-math.inf, math.inf, tied=True)
    return _searched(finite, *ranks)
