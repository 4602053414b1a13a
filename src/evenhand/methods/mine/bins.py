"""Bins of a number: where users, the space, widths or quantiles cut it (TestSGD, section 4.1)."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from evenhand.methods.mine import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.space.distribution import Part
from evenhand.space.feature import count, plain
from evenhand.space.values.dates import day_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature
    from evenhand.space.space import Space

    Floats = NDArray[np.float64]
    Cuts: TypeAlias = "int | list[float] | KnownEdges"

BINNINGS = ("width", "quantiles")
WORDS = ("year", "month")
"""What dates of recorded decisions may be cut by besides cut points."""
MOST_PICKS = 100_000_000
"""The most entries of a table of choices and cells."""
_DIGITS = 15
"""A double holds that many digits; edges that need more to be told apart are left as they are."""
_SLACK = 1e-6
"""The part of a step by which an edge may miss a value of its feature, for rounding."""


@dataclass(frozen=True, slots=True)
class KnownEdges:
    """The edges of a number's bins that are known already, in place of a number of bins."""

    values: tuple[float, ...]


def check_binning(binning: Any) -> None:
    """Refuse an unknown way to cut numbers into bins."""
    if binning not in BINNINGS:
        choices = nearest(binning, BINNINGS)
        raise UsageError(
            messages.UNKNOWN_BINNING.format(binning=clip(repr(binning)), choices=choices)
        )


def is_whole(value: Any, *, least: int) -> bool:
    """Return whether a value is a whole number of `least` or more; truth values are not numbers.

    >>> is_whole(2, least=1), is_whole(True, least=1), is_whole(2.5, least=1)
    (True, False, False)
    """
    if isinstance(value, bool) or not isinstance(value, int):
        return False
    return value >= least


def checked_bins(feature: Feature, bins: Any) -> Cuts:
    """Return the number of bins or the cut points, checked."""
    if isinstance(bins, KnownEdges):
        return bins
    bins = plain(bins)
    if is_whole(bins, least=2):
        return int(bins)
    cuts: list[Any] = []
    if isinstance(bins, Iterable) and not isinstance(bins, str | bytes):
        cuts = [_as_number(feature, plain(cut)) for cut in bins]
    finite = all(map(_is_finite, cuts))
    if not cuts or not finite or not _is_rising(cuts):
        shown = clip(repr(bins))
        raise UsageError(messages.BINS_NOT_VALID.format(bins=shown))
    if feature.kind != "category":
        for cut in cuts:
            _check_cut(feature, cut)
    return cuts


def bins_of_log(bins: Any, space: Space) -> Any:
    """Return the bins of recorded decisions: only cut points among the rows, and words as dates.

    The ranges of such a space are those of the rows, beyond which a cut point has nothing to cut.
    """
    if not isinstance(bins, Mapping):
        return bins
    found = dict(bins)
    for name in set(space.names) & set(bins):
        feature = space.feature(name)
        if feature.kind == "date" and bins[name] in WORDS:
            found[name] = _starts(feature, bins[name])
        elif feature.kind != "category" and isinstance(bins[name], list | tuple):
            found[name] = _among_rows(feature, bins[name])
        if found[name] == []:
            del found[name]
    return found


def _among_rows(feature: Feature, cuts: Sequence[Any]) -> list[Any]:
    """Return the cut points that have rows on both sides, and what is no cut point at all."""
    kept = []
    for cut in cuts:
        number = _as_number(feature, plain(cut))
        if not _is_finite(number) or feature.low < number <= feature.high:
            kept.append(cut)
    return kept


def _starts(feature: Feature, word: str) -> list[str]:
    """Return the first days of the years or months after the first in the range of a date."""
    unit = "Y" if word == "year" else "M"
    first = np.datetime64(int(feature.low), "D").astype(f"datetime64[{unit}]")
    last = np.datetime64(int(feature.high), "D").astype(f"datetime64[{unit}]")
    starts = np.arange(first + 1, last + 1).astype("datetime64[D]")
    return [str(day) for day in starts]


def _check_cut(feature: Feature, cut: float) -> None:
    """Refuse a cut point outside of the range of its feature."""
    if not feature.low <= cut <= feature.high:
        raise UsageError(
            messages.CUT_OUTSIDE_RANGE.format(
                cut=feature.end_text(cut),
                feature=repr(feature.name),
                domain=feature.domain,
            )
        )


def _as_number(feature: Feature, cut: Any) -> Any:
    """Return the day of a date at which dates are cut, and anything else as it is."""
    if feature.kind != "date":
        return cut
    return day_of(cut)


def _is_finite(cut: Any) -> bool:
    if isinstance(cut, bool) or not isinstance(cut, int | float):
        return False
    return math.isfinite(cut)


def _is_rising(cuts: Sequence[float]) -> bool:
    pairs = itertools.pairwise(cuts)
    return all(lower < upper for lower, upper in pairs)


def highest_value(feature: Feature) -> float:
    """Return the highest value that a number takes; its step may end below its range."""
    values = Part.uniform(0, feature)
    return float(values.high[0, 0])


def edges_of(
    feature: Feature,
    column: Floats,
    bins: Cuts,
    binning: str,
    counts: Floats | None = None,
) -> tuple[float, ...]:
    """Return the edges of a number's bins, each of which holds some of its values.

    Where a value of the column stands for several rows, `counts` says for how many.
    """
    if isinstance(bins, KnownEdges):
        return bins.values
    if isinstance(bins, int) and binning == "width":
        bins = _declared_bins(feature, bins)
    cells = int(min(bins, feature.size)) if isinstance(bins, int) else len(bins) + 1
    _check_intervals(feature, cells)
    low = float(feature.low)
    top = highest_value(feature)
    if isinstance(bins, int) and feature.size <= bins:
        # Each value has a bin of its own, and the last one an edge beyond it.
        step = float(feature.step or 1.0)
        return (*feature.values().tolist(), top + step)
    cuts = _cut_points(feature, column, bins, binning, counts)
    above_low = cuts > low
    below_high = cuts < feature.high
    cuts = np.unique(cuts[above_low & below_high])
    if feature.step is not None:
        return _edges_on_steps(feature, cuts, float(feature.step), top)
    edges = np.array([low, *cuts, top])
    if isinstance(bins, int):
        edges = _rounded(edges)
    return tuple(edges.tolist())


def _declared_bins(feature: Feature, bins: int) -> int | list[float]:
    """Return the bins that a feature declares, which come before a number of bins."""
    declared = feature.bins
    if declared is None:
        return bins
    if isinstance(declared, int):
        return declared
    return list(declared)


def _check_intervals(feature: Feature, cells: int) -> None:
    """Refuse more intervals of bins than a table holds."""
    intervals = cells * (cells + 1) // 2 - 1
    if intervals * cells <= MOST_PICKS:
        return
    most = MOST_PICKS // cells
    raise SpaceError(
        messages.TOO_MANY_BINS.format(
            feature=repr(feature.name),
            choices=count(intervals),
            cells=number_text.count(cells),
            most=count(most),
        )
    )


def _cut_points(
    feature: Feature,
    column: Floats,
    bins: int | list[float],
    binning: str,
    counts: Floats | None,
) -> Floats:
    """Return where a number is cut: where the user says, at equal widths, or at quantiles."""
    if not isinstance(bins, int):
        return np.array(bins, dtype=np.float64)
    if binning == "width":
        # The paper's own bins, of which it takes 10 (section 4.1).
        low = float(feature.low)
        high = float(feature.high)
        return np.linspace(low, high, bins + 1)
    if not len(column):
        name = repr(feature.name)
        raise DataError(messages.QUANTILES_NEED_ROWS.format(feature=name))
    shares = np.linspace(0, 1, bins + 1)
    inner_shares = shares[1:-1]
    if counts is not None:
        return counted_quantiles(column, counts, inner_shares)
    return np.asarray(np.quantile(column, inner_shares))


def counted_quantiles(column: Floats, counts: Floats, shares: Floats) -> Floats:
    """Return the quantiles of rows, given each value and how many rows have it.

    They are numpy's of all the rows, to the last digit.

    >>> values, counts = np.array([1.0, 2.0, 5.0]), np.array([3.0, 1.0, 2.0])
    >>> counted_quantiles(values, counts, np.array([0.5, 0.7])).tolist()
    [1.5, 3.5]
    >>> np.quantile([1, 1, 1, 2, 5, 5], [0.5, 0.7]).tolist()
    [1.5, 3.5]
    """
    order = np.argsort(column, kind="stable")
    values = column[order]
    up_to = np.cumsum(counts[order])
    below, above, part = places_around(up_to[-1], shares)
    lower = values[np.searchsorted(up_to, below, side="right")]
    upper = values[np.searchsorted(up_to, above, side="right")]
    # From the nearer of the two, as numpy does.
    from_lower = lower + (upper - lower) * part
    from_upper = upper - (upper - lower) * (1 - part)
    return np.asarray(np.where(part >= 0.5, from_upper, from_lower))


def places_around(rows: float, shares: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the places of the rows below and above quantiles, and how far these are from below.

    >>> below, above, part = places_around(6, np.array([0.5]))
    >>> below.tolist(), above.tolist(), part.tolist()
    ([2.0], [3.0], [0.5])
    """
    last = rows - 1
    place = last * shares
    below = np.floor(place)
    return below, np.minimum(below + 1, last), place - below


def _edges_on_steps(
    feature: Feature, cuts: Floats, step: float, top: float
) -> tuple[float, ...]:
    """Return edges that are values of a feature with steps: a cut moves up to the next value."""
    low = float(feature.low)
    steps = (cuts - low) / step
    whole_steps = np.ceil(steps - _SLACK)
    values = feature.snap(whole_steps * step + low)
    above_low = values > low
    up_to_top = values <= top
    inner = np.unique(values[above_low & up_to_top])
    # A bin of the highest value alone needs an edge beyond it.
    last = top + step if top in inner else top
    return (low, *inner.tolist(), last)


def _rounded(edges: Floats) -> Floats:
    """Return edges with only as many decimals as tell them apart.

    A text is then short, and true to the last digit.
    """
    narrowest = np.diff(edges).min()
    decimals = 5 - math.floor(math.log10(narrowest))
    digits_before = math.log10(np.abs(edges).max())
    if decimals + digits_before < _DIGITS:
        inner_edges = edges[1:-1]
        edges[1:-1] = np.round(inner_edges, max(decimals, 0))
    return edges
