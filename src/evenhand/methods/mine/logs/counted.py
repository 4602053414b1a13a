"""A log as counts: its kinds of rows, how many rows are of each, and the space of their features.

A kind of rows is a combination of labels, of bins of numbers and dates, and of outcome and truth.
The engine of the frame groups the rows; only the kinds are read into memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.logs import messages
from evenhand.methods.mine.logs.binned import LogBins, comparable
from evenhand.methods.mine.logs.cells import MOST_TOGETHER, is_groupable
from evenhand.methods.mine.logs.followers import with_followers
from evenhand.methods.mine.logs.ranges import inferred, ranged_features
from evenhand.population.log_labels import named_features
from evenhand.population.recorded import count_rows, seen, sizes_of
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, SpaceError, clip
from evenhand.space.encoding import encode_column
from evenhand.space.frames.reading import values_of
from evenhand.space.space import Space
from evenhand.space.values.points import empty_points

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.mine.logs.binned import BinnedColumn
    from evenhand.methods.mine.logs.complete import CompleteRows
    from evenhand.methods.mine.logs.sums import NumberSums
    from evenhand.methods.mine.rule_sets import RuleSetOptions
    from evenhand.runtime.label_text import Words
    from evenhand.space.feature import Feature, Floats, Label, Points

MANY_KINDS = 5_000_000
"""So many kinds of rows are worth a note."""
MOST_HELD = 50_000_000
"""The most kinds of rows, times columns, that are read of rows that are not in memory."""
SLICE = 2_000_000
"""Rows in memory are cut and counted this many at a time, since what is made of them takes more."""


@dataclass(frozen=True, eq=False)
class KindsOfRows:
    """The kinds of rows of some columns: what each is like, and how many rows are of it."""

    frame: Any
    """An eager frame with outcome and truth, and the columns as labels or numbers of bins."""
    names: tuple[str, ...]
    counts: Floats | None = None
    """None where each is one row."""

    @property
    def rows_of(self) -> Floats:
        """How many rows are of each kind."""
        return np.ones(len(self.frame)) if self.counts is None else self.counts

    def points(self, space: Space, binned: Mapping[str, BinnedColumn]) -> Points:
        """Return each kind as a point of the space; other columns have any value."""
        points = empty_points(len(self.frame), len(space.features))
        for position, feature in enumerate(space.features):
            name = feature.name
            if name not in self.names:
                points[:, position] = feature.first_value
            elif name in binned:
                points[:, position] = binned[name].encoded(self.frame[name])
            else:
                values = values_of(self.frame, feature)
                points[:, position] = encode_column(feature, values, where="frame")
        return points


@dataclass(frozen=True, eq=False)
class CountedLog:
    """A log as the kinds of rows of each set of columns."""

    space: Space
    bins: LogBins
    kinds: Sequence[KindsOfRows]
    """For each set of columns; they may be the same for all."""
    notes: list[str]
    sums: NumberSums | None = None

    @classmethod
    def of(
        cls,
        log: CompleteRows,
        sets: Sequence[tuple[str, ...]],
        options: RuleSetOptions,
        *,
        parts: bool = False,
        whole: bool = False,
        sums: NumberSums | None = None,
    ) -> CountedLog:
        """Count the rows of a log.

        Parameters
        ----------
        parts
            Whether some of the people are looked at by themselves.
        whole
            Whether each row is to be read for itself.
        sums
            What is summed up of outcomes that are numbers, instead of counting them.
        """
        for name in log.names:
            _check_dtype(log, name)
        ranged = ranged_features(log)
        bins = LogBins.of(log, ranged, options, parts=parts)
        if whole or bins.whole:
            # Rows that are read keep their numbers.
            bins = LogBins(bins.options, {}, whole=True)
            kinds = [KindsOfRows(log.read(), log.names)] * len(sets)
        else:
            kinds = _kinds(log, sets, bins, sums)
        features = _features(log, kinds, ranged)
        space = Space(with_followers(log, features), protected=list(log.names))
        notes = []
        most = max(len(kind.frame) for kind in kinds)
        if most > MANY_KINDS:
            notes.append(messages.MANY_KINDS_OF_ROWS.format(kinds=number_text.count(most)))
        if bins.of_all:
            columns = ", ".join(bins.of_all)
            notes.append(messages.QUANTILES_OF_ALL_ROWS.format(columns=columns))
        return cls(space, bins.within(space), kinds, notes, sums)

    def named(self, words: Mapping[str, Words]) -> CountedLog:
        """Return the same log with what people call the values of its columns."""
        features = named_features(self.space.features, words)
        return replace(self, space=replace(self.space, features=features))

    def outcomes(self, outcome: str) -> list[Label]:
        """Return the different outcomes; of very many numbers, the lowest and the highest."""
        if self.sums is not None:
            scale = self.sums.scale
            return [scale.low, scale.number(1.0)]
        first = self.kinds[0].frame
        return seen(first.select(outcome).unique(), outcome)


def _check_dtype(log: CompleteRows, name: str) -> None:
    """Refuse a column that holds what is no feature, before the engine tries to group it."""
    if is_groupable(log.dtype(name)):
        return
    inferred(log, name, log.first(1, name))


def _kinds(
    log: CompleteRows,
    sets: Sequence[tuple[str, ...]],
    bins: LogBins,
    sums: NumberSums | None,
) -> list[KindsOfRows]:
    """Count all columns together, or where these make too many kinds of rows each set by itself."""
    most = None if len(sets) == 1 else MOST_TOGETHER + 1
    try:
        together = _counted(log, log.names, bins, sums, most)
    except DataError:  # objects that cannot be grouped are told apart row by row
        if log.is_large:
            raise
        return [KindsOfRows(log.read(), log.names)] * len(sets)
    if most is None or len(together.frame) < most:
        return [together] * len(sets)
    return [_counted(log, names, bins, sums) for names in sets]


def _counted(
    log: CompleteRows,
    names: tuple[str, ...],
    bins: LogBins,
    sums: NumberSums | None,
    most: int | None = None,
) -> KindsOfRows:
    """Let the engine count the rows by some columns, and by outcome and truth or their sums."""
    keys = (*names, *log.needed) if sums is None else (*names, *sums.keys)
    held = MOST_HELD // len(keys)
    is_bounded = most is None and log.is_large
    bound = held + 1 if is_bounded else most
    counted = []
    for rows in _slices(log.counted):
        table, summed = _keyed(log, rows, names, bins, sums)
        counted.append(count_rows(table, keys, sums=summed, most=bound))
    frame = counted[0]
    if log.cells is not None:
        frame = frame.drop(frame.columns[-1])  # how many cells there are of each kind
    if len(counted) > 1:
        frame = _together(counted, keys)
    if is_bounded and len(frame) > held:
        columns = clip(", ".join(names), 300)
        kinds = number_text.count(held)
        raise SpaceError(
            messages.TOO_MANY_KINDS_OF_ROWS.format(columns=columns, kinds=kinds)
        )
    return KindsOfRows(frame, names, sizes_of(frame))


def _keyed(
    log: CompleteRows,
    rows: Any,
    names: tuple[str, ...],
    bins: LogBins,
    sums: NumberSums | None,
) -> tuple[Any, list[str]]:
    """Return some rows, or cells, with what they are counted by, and the columns to sum up."""
    import narwhals as nw

    codes = []
    for name in names:
        if name in bins.binned:
            codes.append(bins.binned[name].code().alias(name))
        else:
            codes.append(nw.col(name))
    cut = [comparable(log, name) for name in bins.binned]
    table = rows.with_columns(*cut) if cut else rows
    if sums is not None:
        columns = sums.columns(names)
        return sums.with_parts(table, names).select(*codes, *sums.keys, *columns), [
            *columns
        ]
    sizes = [] if log.cells is None else [log.cells.sizes]
    return table.select(*codes, *log.needed, *sizes), sizes


def _slices(table: Any) -> list[Any]:
    """Return the rows of a frame in memory in parts, and any other frame as it is."""
    import narwhals as nw

    if isinstance(table, nw.LazyFrame) or len(table) <= SLICE:
        return [table]
    return [table[start : start + SLICE] for start in range(0, len(table), SLICE)]


def _together(counted: Sequence[Any], keys: Sequence[str]) -> Any:
    """Return the counts and sums of all parts of the rows."""
    import narwhals as nw

    *others, rows = counted[0].columns
    rows_of_part = f"{rows} of a part"
    parts = nw.concat(counted).rename({rows: rows_of_part})
    summed = [name for name in others if name not in keys]
    found = count_rows(parts, keys, sums=[*summed, rows_of_part])
    return found.drop(found.columns[-1])  # in how many parts there are any


def _features(
    log: CompleteRows, kinds: Sequence[KindsOfRows], ranged: Mapping[str, Feature]
) -> list[Feature]:
    """Return the features of all columns: of those without a range, from their labels."""
    features = []
    for name in log.names:
        if name in ranged:
            features.append(ranged[name])
            continue
        of_column = next(kind for kind in kinds if name in kind.names)
        features.append(inferred(log, name, of_column.frame, of_column.counts))
    return features
