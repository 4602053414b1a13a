"""measure_log: how differently were groups treated in recorded decisions (Themis, Def. 3.5, 3.6)?

No software is asked. The frame's own engine counts rows by group and outcome, and hands over the
counts alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import MEASURE_LOG, messages
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
    "level": messages.ALLOWED_LEVEL,
    "limit": messages.ALLOWED_LIMIT,
    "least_ratio": messages.ALLOWED_LEAST_RATIO,
    "support": messages.ALLOWED_SUPPORT,
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
    """Measure the group discrimination of recorded decisions.

    It is how far apart the rates are at which groups get the favourable outcome. Each set of
    features gets two findings: the highest rate minus the lowest, and the lowest divided by the
    highest. The intervals of all findings hold together at this level, and so do those of all
    their groups.

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

    Returns
    -------
    Result
        Two findings for each set of features; its details hold how many rows lack what.

    Raises
    ------
    UsageError
        If a threshold is out of its range, `groups` or `bins` do not fit the columns, or there are
        too many groups to compare.
    DataError
        If the frame cannot be read, lacks a column, or has no decision to measure.

    See Also
    --------
    measure : The scores of software that can be asked. See docs/how-to/recorded-decisions.md.

    Examples
    --------
    >>> import pandas as pd
    >>> women = pd.DataFrame({"sex": "F", "granted": [1] * 60 + [0] * 140})
    >>> men = pd.DataFrame({"sex": "M", "granted": [1] * 150 + [0] * 50})
    >>> loans = pd.concat([women, men])
    >>> found = measure_log(loans, outcome="granted", over="sex", limit=0.1, least_ratio=0.8)
    >>> print(found.worst.claim)
    by sex, the lowest rate is 40.0 % of the highest
    >>> found.verdict.value
    'fail'
    """
    start = time.monotonic()
    check_shares(
        ALLOWED,
        OPTIONAL,
        level=level,
        limit=limit,
        least_ratio=least_ratio,
        support=support,
    )
    declared = groups or {}
    table = table_of(frame)
    schema = table.collect_schema()
    sets = column_sets(over, outcome, list(schema))
    names = _distinct_names(sets)
    binned = _binned(bins or {}, declared, names, schema)
    check_variety(table, _unbinned_numbers([*names, outcome], binned, schema))
    counted = [count_cells(table, columns, outcome, binned) for columns in sets]
    favourable = favourable_of(counted[0], outcome, positive)
    features: dict[str, Feature] = {}
    for columns, cells in zip(sets, counted, strict=True):
        for name in columns:
            feature = binned.get(name)
            features[name] = feature or _category(cells, name, declared.get(name, ()))
    space = Space(list(features.values()), protected=names)
    details, notes = _missing(counted, sets, outcome, space)
    findings: list[Finding] = []
    # Each set has two findings, and all their intervals hold together.
    contrast_settings = {
        "level": level,
        "among": 2 * len(sets),
        "population": messages.RECORDED_DECISIONS,
    }
    for columns, cells in zip(sets, counted, strict=True):
        counts = _counts(cells, Groups(space, columns), outcome, favourable)
        recorded = _recorded_groups(counts, support)
        findings += recorded.findings(limit, least_ratio, **contrast_settings)
        notes += recorded.notes
    return Result(
        "measure_log",
        findings,
        seed,
        Spent(0, 0, time.monotonic() - start),
        StopReason.ENUMERATED,
        space.to_dict(),
        notes,
        details=details,
    )


def _distinct_names(sets: Sequence[tuple[str, ...]]) -> list[str]:
    """Return the columns of all sets, each once."""
    names: dict[str, None] = {}
    for columns in sets:
        names |= dict.fromkeys(columns)
    return list(names)


def _unbinned_numbers(
    names: list[str], binned: Mapping[str, Feature], schema: Mapping[str, Any]
) -> list[str]:
    """Return the columns of numbers in which every value is a group of its own."""
    return [name for name in names if schema[name].is_numeric() and name not in binned]


def _binned(
    bins: Mapping[str, Sequence[float]],
    groups: Mapping[str, Any],
    names: list[str],
    schema: Mapping[str, Any],
) -> dict[str, Feature]:
    """Return a feature for each column that bins are given for."""
    _check_columns("bins", bins, names)
    _check_columns("groups", groups, names)
    for name, edges in bins.items():
        if name in groups:
            raise UsageError(messages.GROUPS_AND_BINS.format(column=repr(name)))
        if not schema[name].is_numeric():
            raise UsageError(
                messages.BINS_OF_TEXT.format(column=repr(name), dtype=schema[name])
            )
        is_list = isinstance(edges, Sequence | np.ndarray) and not isinstance(edges, str)
        if not is_list or len(edges) < 2:
            raise UsageError(
                messages.EDGES_NOT_RISING.format(column=repr(name), edges=clip(repr(edges)))
            )
    features = {}
    for name, edges in bins.items():
        features[name] = real(name, edges[0], edges[-1], bins=list(edges))
    return features


def _check_columns(option: str, by_column: Any, names: list[str]) -> None:
    """Refuse an option that is no dictionary, or that names columns which are not compared."""
    if not isinstance(by_column, Mapping):
        value = clip(repr(by_column))
        raise UsageError(messages.NOT_A_DICTIONARY.format(option=option, value=value))
    for name in by_column:
        if name not in names:
            raise UsageError(
                messages.COLUMN_NOT_IN_OVER.format(
                    option=option, column=clip(repr(name)), choices=nearest(name, names)
                )
            )


def _category(cells: Any, name: str, declared: Sequence[Label]) -> Feature:
    """Return the groups of a column: those declared, those of its dtype, and those of its rows."""
    given = category(name, declared).levels if len(declared) else ()
    values = (*given, *declared_levels(cells[name]), *seen(cells, name))
    levels = dict.fromkeys(label_of(value) for value in values)
    if not levels:
        raise DataError(messages.COLUMN_WITHOUT_VALUES.format(column=repr(name)))
    return category(name, list(levels))


def _missing(
    counted: Sequence[Any], sets: Sequence[tuple[str, ...]], outcome: str, space: Space
) -> tuple[dict[str, Any], list[str]]:
    """Return how many rows lack what, as details and as notes."""
    rows = int(sizes_of(counted[0]).sum())
    decided = int(_decided_sizes(counted[0], outcome).sum())
    if not decided:
        raise DataError(
            messages.NO_DECISIONS.format(column=repr(outcome), rows=number_text.count(rows))
        )
    lost = rows - decided
    notes = []
    if lost:
        notes.append(
            messages.ROWS_WITHOUT_OUTCOME.format(
                lost=number_text.count(lost), rows=number_text.count(rows), outcome=outcome
            )
        )
    cells_of: dict[str, Any] = {}
    for names, cells in zip(sets, counted, strict=True):
        cells_of |= dict.fromkeys(names, cells)
    unknown = {}
    for name, cells in cells_of.items():
        sizes = _decided_sizes(cells, outcome)
        codes = np.array(codes_of(space.feature(name), labels_of(cells, name)))
        unknown[name] = int(sizes[codes == UNKNOWN].sum())
        outside = int(sizes[codes == OUTSIDE].sum())
        notes += _left_out_notes(name, unknown[name], outside, decided)
    return {"rows": rows, "unknown": unknown, "missing_outcomes": lost}, notes


def _decided_sizes(cells: Any, outcome: str) -> Floats:
    """Return how many rows each cell has; those without an outcome count for nothing."""
    is_decided = [label is not None for label in labels_of(cells, outcome)]
    return sizes_of(cells) * is_decided


def _left_out_notes(name: str, unknown: int, outside: int, decided: int) -> list[str]:
    """Return notes on rows that have no value of a column, or one outside its bins."""
    rows = number_text.count(decided)
    notes = []
    if unknown:
        notes.append(
            messages.ROWS_WITHOUT_VALUE.format(
                unknown=number_text.count(unknown), rows=rows, column=name
            )
        )
    if outside:
        notes.append(
            messages.ROWS_OUTSIDE_BINS.format(
                outside=number_text.count(outside), rows=rows, column=name
            )
        )
    return notes


@dataclass(frozen=True)
class RecordedGroups:
    """Favourable outcomes and rows of the groups of one set, and which of them are compared."""

    names: tuple[str, ...]
    about: Sequence[Mapping[str, Label]]
    hits: Floats
    size: Floats
    compared: NDArray[np.intp]
    """Positions of the groups that are not too small."""
    unlisted: int
    """How many groups without rows there are, where they are too many to list."""
    notes: Sequence[str]

    def findings(
        self, limit: float | None, least: float | None, **settings: Any
    ) -> list[Finding]:
        """Return what is found of the difference and of the ratio, each with its groups."""
        # One group without rows, which may have any rate, stands for all that are not listed.
        nobody = np.zeros(int(self.unlisted > 0))
        hits = np.append(self.hits[self.compared], nobody)
        size = np.append(self.size[self.compared], nobody)
        contrast = Contrast(hits, size, **settings)
        rates = Contrast(self.hits, self.size, **settings).rates()
        compared = [self.about[at] for at in self.compared]
        difference = Finding(
            self._difference_claim(contrast),
            self.names,
            contrast.difference(),
            limit,
            groups=tuple(map(Group, self.about, rates)),
            score="rate difference",
        )
        ratio = Finding(
            self._ratio_claim(contrast),
            self.names,
            contrast.ratio(),
            least,
            groups=tuple(map(Group, compared, contrast.to_best())),
            least=True,
            score="rate ratio",
        )
        return [difference, ratio]

    def _difference_claim(self, contrast: Contrast) -> str:
        features = " and ".join(self.names)
        if not contrast.comparable:
            return messages.TOO_FEW_GROUPS.format(features=features)
        best = int(np.nanargmax(contrast.shares))
        worst = int(np.nanargmin(contrast.shares))
        high = number_text.percent(contrast.shares[best])
        low = number_text.percent(contrast.shares[worst])
        if contrast.shares[best] == contrast.shares[worst]:
            return messages.RATES_EQUAL.format(features=features, rate=high)
        return messages.RATES_DIFFER.format(
            best=_group_text(self.about[self.compared[best]]),
            high=high,
            worst=_group_text(self.about[self.compared[worst]]),
            low=low,
        )

    def _ratio_claim(self, contrast: Contrast) -> str:
        features = " and ".join(self.names)
        if not contrast.comparable:
            return messages.RATIO_WITHOUT_GROUPS.format(features=features)
        highest = np.nanmax(contrast.shares)
        lowest = np.nanmin(contrast.shares)
        if highest == 0:
            return messages.RATIO_OF_ZERO.format(features=features)
        ratio = number_text.percent_of(lowest, highest)
        return messages.RATIO.format(features=features, ratio=ratio)


@dataclass(frozen=True)
class GroupCounts:
    """Favourable outcomes (first row) and all outcomes (second row) of recorded decisions."""

    groups: Groups
    by_group: Floats
    """The sums of each group."""
    kinds: NDArray[np.intp]
    """The codes of people who are in no group, one column for each combination."""
    by_kind: Floats
    """The sums of each of these combinations."""
    rows: float
    """How many rows have an outcome."""


def _counts(cells: Any, groups: Groups, outcome: str, favourable: Label) -> GroupCounts:
    """Sum the counts by group; rows without an outcome count for nothing."""
    rows = _decided_sizes(cells, outcome)
    is_favourable = [label == favourable for label in labels_of(cells, outcome)]
    features = [groups.space.feature(name) for name in groups.names]
    codes = []
    for feature in features:
        labels = labels_of(cells, feature.name)
        codes.append(codes_of(feature, labels))
    kinds, place = np.unique(np.array(codes, dtype=np.intp), axis=1, return_inverse=True)
    good_sums = np.bincount(place.ravel(), rows * is_favourable)
    all_sums = np.bincount(place.ravel(), rows)
    by_kind = np.array([good_sums, all_sums])

    # Negative codes are of people with an unknown value, or one outside the bins.
    in_a_group = (kinds >= 0).all(axis=0)
    varieties = [int(feature.variety) for feature in features]
    numbers = np.ravel_multi_index(tuple(kinds[:, in_a_group]), varieties)
    by_group = np.zeros((2, len(groups)))
    by_group[:, numbers] = by_kind[:, in_a_group]
    others = ~in_a_group & (all_sums > 0)
    return GroupCounts(groups, by_group, kinds[:, others], by_kind[:, others], rows.sum())


def _recorded_groups(counts: GroupCounts, support: float) -> RecordedGroups:
    """Return the groups that are listed, and which of them are compared."""
    groups = counts.groups
    sizes = counts.by_group[1]
    is_small = sizes < support * counts.rows
    is_empty = sizes == 0
    with_rows = int((~is_small & ~is_empty).sum())
    if with_rows > MOST_COMPARED:
        raise UsageError(
            messages.TOO_MANY_GROUPS.format(
                features=" and ".join(groups.names),
                groups=number_text.count(with_rows),
                most=MOST_COMPARED,
            )
        )
    empty_are_listed = is_empty.sum() <= MOST_EMPTY
    listed = np.flatnonzero(~is_empty | empty_are_listed)
    about = [groups.label(group) for group in listed.tolist()]
    about += [_label_of_kind(groups, codes) for codes in counts.kinds.T.tolist()]
    hits, size = np.concatenate([counts.by_group[:, listed], counts.by_kind], axis=1)
    notes = []
    if is_small.any():
        small = np.flatnonzero(is_small[listed])
        notes.append(_small_note(about, size, small, support))
    # Support already leaves small groups out, and those without rows are the smallest.
    empty_and_compared = is_empty & ~is_small
    empty = int(empty_and_compared.sum())
    if empty:
        positions = np.flatnonzero(empty_and_compared[listed])
        texts = [_group_text(about[at]) for at in positions]
        notes.append(_empty_note(groups, empty, texts))
    return RecordedGroups(
        groups.names,
        about,
        hits,
        size,
        compared=np.flatnonzero(~is_small[listed]),
        unlisted=0 if empty_are_listed else empty,
        notes=notes,
    )


def _small_note(
    about: Sequence[Mapping[str, Label]],
    size: Floats,
    small: NDArray[np.intp],
    support: float,
) -> str:
    texts = []
    for at in small:
        group = _group_text(about[at])
        rows = number_text.count(int(size[at]))
        texts.append(messages.GROUP_WITH_ROWS.format(group=group, rows=rows))
    share = number_text.percent_plain(support)
    return messages.SMALL_GROUPS.format(share=share, groups=_joined(texts))


def _empty_note(groups: Groups, empty: int, texts: Sequence[str]) -> str:
    return messages.EMPTY_GROUPS.format(
        empty=number_text.count(empty),
        all=number_text.count(len(groups)),
        features=" and ".join(groups.names),
        groups=_joined(texts),
    )


def _label_of_kind(groups: Groups, codes: Sequence[int]) -> dict[str, Label]:
    """Return people who are in no group in the user's labels."""
    labels: dict[str, Label] = {}
    for name, code in zip(groups.names, codes, strict=True):
        feature = groups.space.feature(name)
        if code == UNKNOWN:
            # A level of that name is somebody else.
            labels[name] = "missing" if "unknown" in feature.levels else "unknown"
        elif code == OUTSIDE:
            labels[name] = messages.OUTSIDE_DOMAIN.format(domain=feature.domain)
        else:
            label = Groups(groups.space, (name,)).label(code)
            labels[name] = label[name]
    return labels


def _group_text(about: Mapping[str, Label]) -> str:
    return ", ".join(f"{name} {value}" for name, value in about.items())


def _joined(texts: Sequence[str]) -> str:
    return clip("; ".join(texts), 400) or messages.TOO_MANY_TO_LIST
