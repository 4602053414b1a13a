"""measure_log: how differently were groups treated in decisions that are already recorded (Themis
Def. 3.5, 3.6)?

No software is asked. The frame's own engine counts rows by group and outcome, and hands over the
counts alone.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import MEASURE_LOG
from evenhand.population.recorded import (
    OUTSIDE,
    UNKNOWN,
    check_shares,
    check_variety,
    codes_of,
    column_sets,
    count_cells,
    favourable_of,
    label_of,
    labels_of,
    seen,
    sizes_of,
    table_of,
)
from evenhand.results.evidence import Finding, Group
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.scores.groups import Groups
from evenhand.space.dataframes import declared_levels
from evenhand.space.feature import category, real
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.ratios import Contrast

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Label
    from evenhand.space.feature_sets import Over
    from evenhand.statistics.intervals import Floats

ALLOWED = {
    "level": "over 0 and under 1, for example 0.95",
    "limit": "from 0 to 1, for example 0.1",
    "least_ratio": "over 0 and up to 1, for example 0.8",
    "support": "from 0 to under 1, for example 0.02",
}
OPTIONAL = ("limit", "least_ratio")
MOST_COMPARED = 200
"""The most groups with rows that are compared, pair by pair."""
MOST_EMPTY = 20
"""The most groups without rows that are listed one by one."""


@MEASURE_LOG.options.checked
def measure_log(
    frame: Any,
    *,
    outcome: str,
    over: Over | None = None,
    positive: Any = None,
    limit: float | None = None,
    least_ratio: float | None = None,
    level: float = 0.95,
    support: float = 0.0,
    groups: Mapping[str, Sequence[Label]] | None = None,
    bins: Mapping[str, Sequence[float]] | None = None,
    seed: int = 0,
) -> Result:
    """Measure the group discrimination of recorded decisions: how far apart groups' rates of the
    good outcome are.

    Each set of features gets two findings: the highest rate minus the lowest, and the lowest
    divided by the highest. The intervals of all findings hold together at this level, and so do
    those of all their groups.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads; a lazy one is counted by its own engine.
    outcome, positive
        The column of decisions and the favourable one of them; by default 1 or True.
    over
        As for `measure`: ``["sex", "race"]`` is one set taken together, ``[("sex",), ("race",)]``
        are two.
    limit, least_ratio
        Engineering thresholds: the difference fails at or over the limit, the ratio below the least
        ratio.
    support
        Leave groups with a smaller share of the rows out of the comparison; nothing is then decided
        about them.
    groups, bins
        Groups that there are besides those in the rows, and edges that make groups of numbers, by
        column.
    seed
        Kept with the result, so that all verbs take it alike; nothing is drawn here.

    Examples
    --------
    >>> import pandas as pd
    >>> loans = pd.DataFrame({"sex": ["F"] * 200 + ["M"] * 200, "granted": [1] * 60 + [0] * 140 + [1] * 150 + [0] * 50})
    >>> found = measure_log(loans, outcome="granted", over="sex", limit=0.1, least_ratio=0.8)
    >>> print(found.worst.claim)
    by sex, the lowest rate is 40.0 % of the highest
    >>> found.verdict.value
    'fail'
    """
    start = time.monotonic()
    check_shares(
        ALLOWED, OPTIONAL, level=level, limit=limit, least_ratio=least_ratio, support=support
    )
    table = table_of(frame)
    schema = table.collect_schema()
    sets = column_sets(over, outcome, list(schema))
    names = list(dict.fromkeys(name for several in sets for name in several))
    binned = _binned(bins or {}, groups or {}, names, schema)
    check_variety(
        table,
        [name for name in (*names, outcome) if schema[name].is_numeric() and name not in binned],
    )
    counted = [count_cells(table, several, outcome, binned) for several in sets]
    favourable = favourable_of(counted[0], outcome, positive)
    features = {
        name: binned.get(name) or _category(cells, name, (groups or {}).get(name, ()))
        for several, cells in zip(sets, counted, strict=True)
        for name in several
    }
    space = Space(list(features.values()), protected=names)
    details, notes = _missing(counted, sets, outcome, space)
    tallies = [
        _tally(cells, Groups(space, several), outcome, favourable, support)
        for several, cells in zip(sets, counted, strict=True)
    ]
    how = {"level": level, "among": 2 * len(sets), "population": "the recorded decisions"}
    return Result(
        "measure_log",
        [finding for tally in tallies for finding in tally.findings(limit, least_ratio, **how)],
        seed,
        Spent(0, 0, time.monotonic() - start),
        StopReason.ENUMERATED,
        space.to_dict(),
        notes + [note for tally in tallies for note in tally.notes],
        details=details,
    )


def _binned(
    bins: Mapping[str, Sequence[float]],
    groups: Mapping[str, Any],
    names: list[str],
    schema: Mapping[str, Any],
) -> dict[str, Feature]:
    """Return a feature for each column that bins are given for."""
    for option, given in {"bins": bins, "groups": groups}.items():
        if not isinstance(given, Mapping):
            raise UsageError(f"{option} = {clip(repr(given))} must be a dictionary by column")
        for name in given:
            if name not in names:
                raise UsageError(
                    f"{option} names {clip(repr(name))}, which over does not;"
                    f" {nearest(name, names)}"
                )
    for name, edges in bins.items():
        if name in groups:
            raise UsageError(f"groups and bins both name {name!r}; give one of them")
        if not schema[name].is_numeric():
            raise UsageError(
                f"bins has edges for {name!r}, which holds no numbers ({schema[name]}); leave"
                " them out"
            )
        if isinstance(edges, str) or not isinstance(edges, Sequence | np.ndarray) or len(edges) < 2:
            raise UsageError(
                f"bins[{name!r}] = {clip(repr(edges))} must be a rising list of edges, as [18,"
                " 40, 90]"
            )
    return {name: real(name, edges[0], edges[-1], bins=list(edges)) for name, edges in bins.items()}


def _category(cells: Any, name: str, declared: Sequence[Label]) -> Feature:
    """Return the groups of a column: those declared, those of its dtype, and those that rows have."""
    given = category(name, declared).levels if len(declared) else ()
    levels = dict.fromkeys(
        label_of(level) for level in (*given, *declared_levels(cells[name]), *seen(cells, name))
    )
    if not levels:
        raise DataError(
            f"column {name!r} is missing in every row; there are no groups to compare by it"
        )
    return category(name, list(levels))


def _missing(
    counted: Sequence[Any], sets: Sequence[tuple[str, ...]], outcome: str, space: Space
) -> tuple[dict[str, Any], list[str]]:
    """Return how many rows lack what, as details and as notes."""
    decided = np.array([label is not None for label in labels_of(counted[0], outcome)])
    rows, known = int(sizes_of(counted[0]).sum()), int(sizes_of(counted[0])[decided].sum())
    if not known:
        raise DataError(
            f"column {outcome!r} is missing in all {rows:,} rows; there is no decision to measure"
        )
    lost = rows - known
    notes = (
        [f"{lost:,} of {rows:,} rows have no {outcome}; they are left out of everything"]
        if lost
        else []
    )
    unknown = {}
    for name, cells in {
        name: cells for names, cells in zip(sets, counted, strict=True) for name in names
    }.items():
        sizes = sizes_of(cells) * [label is not None for label in labels_of(cells, outcome)]
        codes = np.array(codes_of(space.feature(name), labels_of(cells, name)))
        unknown[name], outside = (int(sizes[codes == kind].sum()) for kind in (UNKNOWN, OUTSIDE))
        said = {
            "no {}; they are counted as unknown and": unknown[name],
            "{} outside its bins; they are": outside,
        }
        said = {what.format(name): count for what, count in said.items() if count}
        notes += [
            f"{n:,} of {known:,} rows have {what} left out of the comparison"
            for what, n in said.items()
        ]
    return {"rows": rows, "unknown": unknown, "missing_outcomes": lost}, notes


@dataclass(frozen=True)
class _Tally:
    """Favourable outcomes and rows of the people of one set who are listed, and which of them are
    compared.
    """

    names: tuple[str, ...]
    about: Sequence[Mapping[str, Label]]
    hits: Floats
    size: Floats
    compared: NDArray[np.intp]
    unlisted: int
    notes: Sequence[str]

    def findings(self, limit: float | None, least: float | None, **how: Any) -> list[Finding]:
        """Return what is found of the difference and of the ratio, each with its groups."""
        nobody = np.zeros(int(self.unlisted > 0))
        hits, size = (np.append(counts[self.compared], nobody) for counts in (self.hits, self.size))
        contrast = Contrast(hits, size, **how)
        rates = map(Group, self.about, Contrast(self.hits, self.size, **how).rates())
        ratios = map(Group, (self.about[at] for at in self.compared), contrast.to_best())
        apart, ratio = self._claims(contrast)
        return [
            Finding(
                apart,
                self.names,
                contrast.difference(),
                limit,
                groups=tuple(rates),
                score="rate difference",
            ),
            Finding(
                ratio,
                self.names,
                contrast.ratio(),
                least,
                groups=tuple(ratios),
                least=True,
                score="rate ratio",
            ),
        ]

    def _claims(self, contrast: Contrast) -> tuple[str, str]:
        names = " and ".join(self.names)
        undefined = f"by {names}, the ratio of the lowest rate to the highest is undefined"
        if not contrast.comparable:
            few = f"fewer than two groups of {names} have decisions to compare"
            return few, f"{undefined}: {few}"
        ends = [int(np.nanargmax(contrast.shares)), int(np.nanargmin(contrast.shares))]
        (most, least), (first, last) = (
            contrast.shares[ends],
            (_said(self.about[self.compared[at]]) for at in ends),
        )
        high, low = number_text.percent(most), number_text.percent(least)
        apart = f"{first} is favoured in {high} of recorded decisions, {last} in {low}"
        if most == least:
            apart = f"every group of {names} is favoured in {high} of recorded decisions"
        if most == 0:
            return apart, f"{undefined}: no decision was favourable"
        return (
            apart,
            f"by {names}, the lowest rate is {number_text.percent_of(least, most)} of the highest",
        )


def _tally(cells: Any, groups: Groups, outcome: str, favourable: Label, support: float) -> _Tally:
    """Sum the counts by group; rows without an outcome count for nothing."""
    outcomes = labels_of(cells, outcome)
    rows = sizes_of(cells) * [label is not None for label in outcomes]
    features = [groups.space.feature(name) for name in groups.names]
    codes = np.array(
        [codes_of(feature, labels_of(cells, feature.name)) for feature in features], dtype=np.intp
    )
    kinds, place = np.unique(codes, axis=1, return_inverse=True)
    good = rows * [label == favourable for label in outcomes]
    totals = np.array([np.bincount(place.ravel(), weights) for weights in (good, rows)])
    inside = (kinds >= 0).all(axis=0)
    sums = np.zeros((2, len(groups)))
    sums[:, np.ravel_multi_index(tuple(kinds[:, inside]), [int(f.variety) for f in features])] = (
        totals[:, inside]
    )

    small, nobody = sums[1] < support * rows.sum(), sums[1] == 0
    if (several := int((~small & ~nobody).sum())) > MOST_COMPARED:
        raise UsageError(
            f"{' and '.join(groups.names)} make {several:,} groups with rows, over the"
            f" {MOST_COMPARED} that are compared; take fewer columns, give bins, or leave small"
            " groups out with support=0.01"
        )
    few = nobody.sum() <= MOST_EMPTY
    listed = np.flatnonzero(~nobody | few)
    about = [groups.label(group) for group in listed.tolist()]
    others = ~inside & (totals[1] > 0)
    about += [_apart(groups, kind) for kind in kinds[:, others].T.tolist()]
    hits, size = np.concatenate([sums[:, listed], totals[:, others]], axis=1)
    notes = []
    if small.any():
        them = (
            f"{_said(about[at])} ({size[at]:,.0f} rows)" for at in np.flatnonzero(small[listed])
        )
        under = f"under {number_text.percent_plain(support)} of rows"
        notes.append(f"{under}, left out of the comparison and undecided: {_some(them)}")
    if empty := int((nobody & ~small).sum()):
        them = (_said(about[at]) for at in np.flatnonzero((nobody & ~small)[listed]))
        names = f"{empty:,} of {len(groups):,} groups of {' and '.join(groups.names)}"
        notes.append(
            f"{names} have no rows and could have any rate, so the comparison cannot pass:"
            f" {_some(them)}"
        )
    return _Tally(
        groups.names, about, hits, size, np.flatnonzero(~small[listed]), 0 if few else empty, notes
    )


def _apart(groups: Groups, codes: Sequence[int]) -> dict[str, Label]:
    """Return people who are in no group in the user's labels."""
    found: dict[str, Label] = {}
    for name, code in zip(groups.names, codes, strict=True):
        feature = groups.space.feature(name)
        unknown = "missing" if "unknown" in feature.levels else "unknown"
        special: dict[int, Label] = {UNKNOWN: unknown, OUTSIDE: f"outside {feature.domain}"}
        found[name] = special[code] if code < 0 else Groups(groups.space, (name,)).label(code)[name]
    return found


def _said(about: Mapping[str, Label]) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.items())


def _some(them: Iterable[str]) -> str:
    return clip("; ".join(them), 400) or "too many to list"
