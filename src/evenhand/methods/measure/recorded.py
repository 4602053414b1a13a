"""measure_log: how differently were groups treated in recorded decisions (Themis, Def. 3.5, 3.6)?

No software is asked. The frame's own engine counts rows by group and outcome, and hands over the
counts alone.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import MEASURE_LOG, messages
from evenhand.methods.measure.recorded_groups import (
    count_groups,
    decided_sizes,
    recorded_groups,
)
from evenhand.population.recorded import (
    OUTSIDE,
    UNKNOWN,
    check_shares,
    check_variety,
    codes_of,
    column_sets,
    columns_of_sets,
    count_cells,
    favourable_of,
    label_of,
    labels_of,
    seen,
    sizes_of,
    table_of,
)
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.scores.groups import Groups
from evenhand.space.feature import category, real
from evenhand.space.frames.reading import declared_levels
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from evenhand.results.evidence import Finding
    from evenhand.space.feature import Feature, Label
    from evenhand.space.feature_sets import Over

ALLOWED = {
    "level": messages.ALLOWED_LEVEL,
    "limit": messages.ALLOWED_LIMIT,
    "least_ratio": messages.ALLOWED_LEAST_RATIO,
    "support": messages.ALLOWED_SUPPORT,
}
OPTIONAL = ("limit", "least_ratio")


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
    names = list(columns_of_sets(sets))
    binned = _binned(bins or {}, declared, names, schema)
    check_variety(table, _unbinned_numbers([*names, outcome], binned, schema))
    counted = [count_cells(table, columns, outcome, binned) for columns in sets]
    favourable = favourable_of(counted[0], outcome, positive)
    outcomes = seen(counted[0], outcome)
    only_answer = outcomes[0] if len(outcomes) == 1 else None
    features = _features(sets, counted, binned, declared)
    space = Space(features, protected=names)
    details, notes = _missing(counted, sets, outcome, space)
    findings: list[Finding] = []
    # Each set has two findings, and all their intervals hold together.
    contrast_settings = {
        "level": level,
        "among": 2 * len(sets),
        "population": messages.RECORDED_DECISIONS,
    }
    for columns, cells in zip(sets, counted, strict=True):
        counts = count_groups(cells, Groups(space, columns), outcome, favourable)
        recorded = recorded_groups(counts, support)
        found = recorded.findings(limit, least_ratio, **contrast_settings)
        findings += [replace(finding, only_answer=only_answer) for finding in found]
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


def _features(
    sets: Sequence[tuple[str, ...]],
    counted: Sequence[Any],
    binned: Mapping[str, Feature],
    declared: Mapping[str, Sequence[Label]],
) -> list[Feature]:
    """Return the columns of all sets as features, each once."""
    features: dict[str, Feature] = {}
    for columns, cells in zip(sets, counted, strict=True):
        for name in columns:
            feature = binned.get(name)
            features[name] = feature or _category(cells, name, declared.get(name, ()))
    return list(features.values())


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
    decided = int(decided_sizes(counted[0], outcome).sum())
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
        sizes = decided_sizes(cells, outcome)
        codes = np.array(codes_of(space.feature(name), labels_of(cells, name)))
        unknown[name] = int(sizes[codes == UNKNOWN].sum())
        outside = int(sizes[codes == OUTSIDE].sum())
        notes += _left_out_notes(name, unknown[name], outside, decided)
    return {"rows": rows, "unknown": unknown, "missing_outcomes": lost}, notes


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
