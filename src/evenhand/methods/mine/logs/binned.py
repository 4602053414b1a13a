"""Numbers and dates of a log that its engine cuts into the bins that rules are formed of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.bins import (
    KnownEdges,
    bins_of_log,
    check_binning,
    checked_bins,
    edges_of,
)
from evenhand.methods.mine.logs.cells import distinct_at_first
from evenhand.methods.mine.logs.quantiles import values_around
from evenhand.methods.mine.logs.ranges import values_in_order
from evenhand.methods.mine.rule_sets import BINS
from evenhand.population.cuts import Cuts
from evenhand.space.encoding import encode_column
from evenhand.space.frames.reading import number_column, values_of
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.mine.logs.complete import CompleteRows
    from evenhand.methods.mine.rule_sets import RuleSetOptions, Treated
    from evenhand.space.feature import Feature, Floats

MOST_VALUES = 1_000
"""The most different numbers of a column that are counted one by one, where quantiles need them."""
_EPOCH = datetime(1970, 1, 1)


@dataclass(frozen=True, eq=False)
class BinnedColumn:
    """A column of numbers or dates, and the edges of its bins."""

    feature: Feature
    edges: tuple[float, ...]

    def code(self) -> Any:
        """Return the number of the bin of each row, as an expression; what is missing stays so."""
        # Where there is one bin alone, a cut beyond all values leaves all of them in it.
        beyond = self.edges[-1] + 1.0
        inner_edges = np.array(self.edges[1:-1] or [beyond])
        points: list[Any] = inner_edges.tolist()
        if self.feature.kind == "date":
            points = [_EPOCH + timedelta(days=day) for day in points]
        elif self.feature.step is not None:
            # Half a step lower, since a number may miss its place on the grid by rounding.
            points = (inner_edges - self.feature.step / 2).tolist()
        return Cuts(self.feature.name, tuple(points)).code()

    def encoded(self, codes: Any) -> Floats:
        """Return for each bin a value that lies in it, and for None a missing one."""
        lower_edges = np.array(self.edges[:-1])
        numbers = np.asarray(number_column(codes), dtype=np.float64)
        missing = np.isnan(numbers)
        bins = np.where(missing, 0.0, numbers).astype(np.intp)
        return np.where(missing, self.feature.missing_code, lower_edges[bins])


@dataclass(frozen=True, eq=False)
class LogBins:
    """How the numbers and dates of a log are cut: by the engine, or later at quantiles."""

    options: RuleSetOptions
    binned: Mapping[str, BinnedColumn]
    whole: bool = False
    """Whether only all rows will do, since quantiles of some people need every number of them."""
    of_all: tuple[str, ...] = ()
    """The columns of which some people have the quantiles of all, since rows are too many."""

    @classmethod
    def of(
        cls,
        log: CompleteRows,
        features: Mapping[str, Feature],
        options: RuleSetOptions,
        *,
        parts: bool,
    ) -> LogBins:
        """Find the bins of all columns of numbers and dates.

        Parameters
        ----------
        parts
            Whether some of the people are looked at by themselves, who have quantiles of their own.
        """
        check_binning(options.binning)
        binned: dict[str, BinnedColumn] = {}
        if not features:
            return cls(options, binned)
        known = cls(options, binned).within(Space(list(features.values())))
        of_all = []
        for name, feature in features.items():
            cuts = checked_bins(feature, _bins_of(known.options, name))
            column = np.empty(0)
            counts = None
            if _needs_quantiles(feature, cuts, options.binning):
                if (parts and log.cells is not None) or _has_few_values(log, name):
                    continue
                if parts and not log.is_large:
                    return cls(options, {}, whole=True)
                if parts:
                    of_all.append(name)
                column, counts = _known(log, feature, cuts)
            edges = edges_of(feature, column, cuts, options.binning, counts)
            binned[name] = BinnedColumn(feature, edges)
        return cls(options, binned, of_all=tuple(of_all))

    def within(self, space: Space) -> LogBins:
        """Return the same with cut points among the rows alone, and words as dates."""
        bins = bins_of_log(self.options.bins, space)
        return replace(self, options=replace(self.options, bins=bins))

    def for_people(
        self, space: Space, names: Sequence[str], people: Treated
    ) -> RuleSetOptions:
        """Return the options of rule sets over some columns, with the quantiles of some people."""
        options = self.options
        if options.binning != "quantiles" or people.counts is None:
            return options
        given = options.bins
        bins = dict(given) if isinstance(given, Mapping) else dict.fromkeys(names, given)
        for name in names:
            feature = space.feature(name)
            if feature.kind == "category":
                continue
            if name in self.binned:
                bins[name] = KnownEdges(self.binned[name].edges)
                continue
            column = people.points[:, space.index(name)]
            known = ~feature.is_missing(column)
            cuts = checked_bins(feature, _bins_of(options, name))
            counts = people.counts[known]
            edges = edges_of(feature, column[known], cuts, options.binning, counts)
            bins[name] = KnownEdges(edges)
        return replace(options, bins=bins)


def comparable(log: CompleteRows, name: str) -> Any:
    """Return a column as cut points compare with it: dates as moments, as the clock showed them."""
    import narwhals as nw

    dtype = log.dtype(name)
    if dtype == nw.Date:
        return nw.col(name).cast(nw.Datetime)
    if dtype == nw.Datetime:
        return values_in_order(name, dtype).alias(name)
    return nw.col(name)


def _bins_of(options: RuleSetOptions, name: str) -> Any:
    """Return the bins of a column, as users gave them."""
    if isinstance(options.bins, Mapping):
        return options.bins.get(name, BINS)
    return options.bins


def _needs_quantiles(feature: Feature, cuts: Any, binning: str) -> bool:
    """Return whether the bins of a feature depend on how its values are distributed."""
    if binning != "quantiles" or not isinstance(cuts, int):
        return False
    return bool(feature.size > cuts)


def _has_few_values(log: CompleteRows, name: str) -> bool:
    """Return whether the numbers of a column are counted one by one; the engine counts them."""
    import narwhals as nw

    if distinct_at_first(log.counted, [name])[0] > MOST_VALUES:
        return False
    counted = log.counted.select(nw.col(name).n_unique()).lazy().collect()
    return int(counted[name].to_list()[0] or 0) <= MOST_VALUES


def _known(log: CompleteRows, feature: Feature, bins: Any) -> tuple[Floats, Floats | None]:
    """Return encoded values of a column, none of them missing, that have its quantiles.

    Where each of them stands for several rows, the counts say for how many.
    """
    if log.is_large and log.cells is None:
        shares = np.linspace(0, 1, bins + 1)[1:-1]
        return values_around(log, feature, shares)
    frame = log.read(feature.name) if log.cells is None else log.cells.frame
    column = encode_column(feature, values_of(frame, feature), where="frame")
    known = ~feature.is_missing(column)
    if log.cells is None:
        return column[known], None
    return column[known], log.counts[known]
