"""impact: the tables that audits are asked for: selection rates and impact ratios by sex, race and
what they make.

No software is asked. The frame's own engine counts rows by category and outcome, and hands over the
counts alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.impact import IMPACT
from evenhand.methods.impact.selection_rates import (
    TABLE_NOTES,
    UNKNOWN_LABELS,
    Measured,
    remarks,
    tallied,
)
from evenhand.population.recorded import (
    check_shares,
    check_variety,
    column_sets,
    count_cells,
    favourable_of,
    labels_of,
    sizes_of,
    table_of,
)
from evenhand.report.definitions import NO_CLAIM
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.space.feature import category
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from evenhand.space.feature import Label
    from evenhand.space.feature_sets import Over

ALLOWED = {
    "level": "over 0 and under 1, for example 0.95",
    "least_ratio": "over 0 and up to 1, for example 0.8",
    "support": "from 0 to under 1, for example 0.02",
}


@IMPACT.options.checked
def impact(
    frame: Any,
    *,
    outcome: str,
    over: Over | None = None,
    positive: Any = None,
    scored: bool = False,
    support: float = 0.02,
    unknown: Iterable[Any] = UNKNOWN_LABELS,
    intersections: bool = True,
    least_ratio: float | None = None,
    level: float = 0.95,
    population: str = "",
    seed: int = 0,
) -> Result:
    """Tell the selection rate and the impact ratio of each category, as rules on audits of hiring
    tools ask for them.

    The impact ratio of a category is its rate divided by the highest rate of a category. The
    highest is chosen by the data, so the intervals of all rates and ratios, of all sets, hold
    together at this level. The tables are numbers, and no claim of compliance with any rule.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads; a lazy one is counted by its own engine.
    outcome, positive
        The column of decisions and the favourable one of them; by default 1 or True.
    over
        ``[("sex",), ("race",)]`` are two sets of categories, ``["sex", "race"]`` is one, taken
        together.
    scored
        The outcome is a score: favourable is one above the median of all rows, as for the scoring
        rate of those rules.
    support
        Categories with a smaller share of the rows are listed, but left out of the ratios; nothing
        is decided of them.
    unknown
        Labels of people of whom a characteristic is not known, besides missing and empty values.
    intersections
        Where several single columns are given, add what they make together.
    least_ratio
        An engineering threshold: a set fails where its lowest impact ratio is below it.
    population
        Whom the rates speak of, in words; by default what was recorded.
    seed
        Kept with the result, so that all verbs take it alike; nothing is drawn here.

    Examples
    --------
    >>> import pandas as pd
    >>> hired = pd.DataFrame({"sex": ["F"] * 200 + ["M"] * 200, "hired": [1] * 60 + [0] * 140 + [1] * 150 + [0] * 50})
    >>> found = impact(hired, outcome="hired", over="sex", least_ratio=0.8)
    >>> print(found.worst.claim)
    by sex, the lowest selection rate is 40.0 % of the highest
    >>> found.verdict.value
    'fail'
    """
    start = time.monotonic()
    check_shares(ALLOWED, ("least_ratio",), level=level, least_ratio=least_ratio, support=support)
    labels = _unknown(unknown)
    table = table_of(frame)
    schema = table.collect_schema()
    sets = _sets(over, outcome, list(schema), intersections=intersections)
    columns = list(dict.fromkeys(name for several in sets for name in several))
    check_variety(
        table,
        [name for name in columns if schema[name].is_numeric()],
        "merge them into categories first",
    )
    median: float | None = None
    notes: list[str] = []
    if scored:
        if positive is not None:
            raise UsageError(
                f"positive = {clip(repr(positive))} does not go with scored=True; leave one of"
                " them out"
            )
        table, median, notes = _above_median(table, outcome, schema[outcome])
    elif schema[outcome].is_numeric():
        check_variety(
            table, [outcome], "pass scored=True where it is a score, or make decisions of it first"
        )
    counted = [count_cells(table, several, outcome, {}) for several in sets]
    lost, rows = _missing(counted[0], outcome)
    favourable = 1 if scored else favourable_of(counted[0], outcome, positive)
    _check_favourable(counted[0], outcome, favourable, median)
    tallies = [
        tallied(cells, several, outcome, favourable, labels)
        for several, cells in zip(sets, counted, strict=True)
    ]
    kind = "scoring" if scored else "selection"
    found = [
        Measured(tally, float(support), level, len(sets), kind, population) for tally in tallies
    ]
    tables = [one.table(median=median) for one in found]
    if lost:
        notes.append(
            f"{lost:,} of {rows:,} rows have no {outcome}; they are left out of everything"
        )
    told = [note for table in tables for note in remarks(table)]
    levels = {name: values for tally in tallies for name, values in tally.levels.items()}
    details = {
        "impact": tables,
        "outcome": outcome,
        "rows": rows,
        "missing_outcomes": lost,
        "support": float(support),
        TABLE_NOTES: [0, len(told)],
    }
    return Result(
        "impact",
        [one.finding(least_ratio) for one in found],
        seed,
        Spent(0, 0, time.monotonic() - start),
        StopReason.ENUMERATED,
        Space(
            [category(name, list(values)) for name, values in levels.items()], protected=columns
        ).to_dict(),
        [*told, *notes, NO_CLAIM],
        details=details | ({} if scored else {"favourable": favourable}),
    )


def _unknown(given: Any) -> list[Any]:
    """Return the labels that stand for what is not known."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise UsageError(
            f"unknown = {clip(repr(given))} must be a list of labels, for example ['unknown',"
            " 'declined']"
        )
    return list(given)


def _sets(
    over: Any, outcome: str, columns: list[str], *, intersections: bool
) -> list[tuple[str, ...]]:
    """Return the sets of columns that `over` names, checked, and the one that all single columns
    make together.
    """
    sets = column_sets(over, outcome, columns)
    singles = tuple(dict.fromkeys(names[0] for names in sets if len(names) == 1))
    found: dict[frozenset[str], tuple[str, ...]] = {}
    for names in [*sets, *([singles] if intersections and len(singles) > 1 else [])]:
        found.setdefault(frozenset(names), names)
    return list(found.values())


def _above_median(table: Any, outcome: str, dtype: Any) -> tuple[Any, float, list[str]]:
    """Return the frame with scores above the median as its outcome, the median, and what there is
    to say of it.
    """
    import narwhals as nw

    if not dtype.is_numeric():
        raise DataError(
            f"scored=True needs a column of numbers, and {outcome!r} holds {dtype}; take another"
            " outcome"
        )
    value = nw.col(outcome).cast(nw.Float64)
    known = ~(value.is_null() | value.is_nan())
    scores = table.filter(known).select(value.alias(outcome))
    found = scores.select(nw.col(outcome).median()).lazy().collect()[outcome].to_list()
    near = math.nan if not found or found[0] is None else float(found[0])
    if not math.isfinite(near):
        rows = int(table.select(nw.len().alias("rows")).lazy().collect()["rows"].to_list()[0])
        what = f"the median of {outcome!r} is {near}" if rows else "the frame has no rows"
        raise DataError(f"{what}; a scoring rate needs a median of finite scores")
    # Engines round the middle between two scores differently, but not those scores.
    one = nw.col(outcome)
    asked = scores.select(
        nw.when(one <= near).then(one).max().alias("below"),
        nw.when(one >= near).then(one).min().alias("above"),
        (one == near).sum().alias("tied"),
    )
    beside = asked.lazy().collect()
    below, above, tied = (beside[name].to_list()[0] for name in ("below", "above", "tied"))
    median = (float(below) + float(above)) / 2
    notes = [
        f"the median of {outcome} is {median:.6g}; rates are the shares of scores above it, taken"
        " as given"
    ]
    if tied > 1:
        notes.append(
            f"{tied:,} rows have a {outcome} equal to the median, which counts as not above it"
        )
    return table.with_columns(nw.when(known).then(value > median).alias(outcome)), median, notes


def _missing(cells: Any, outcome: str) -> tuple[int, int]:
    """Return how many rows lack the outcome, and how many there are."""
    decided = np.array([label is not None for label in labels_of(cells, outcome)])
    sizes = sizes_of(cells)
    if not decided.any():
        raise DataError(
            f"column {outcome!r} is missing in all {sizes.sum():,.0f} rows; there is nothing to"
            " compare"
        )
    return int(sizes[~decided].sum()), int(sizes.sum())


def _check_favourable(cells: Any, outcome: str, favourable: Label, median: float | None) -> None:
    if favourable not in labels_of(cells, outcome):
        what = (
            f"is the favourable {favourable!r}"
            if median is None
            else f"is above the median {median:.6g}"
        )
        raise DataError(f"no {outcome} {what}; there is no rate to compare with")
