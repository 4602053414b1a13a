"""impact: selection rates and impact ratios by sex, race and what they make, as audits ask.

No software is called. The frame's own engine counts rows by category and outcome, and hands over
the counts alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.impact import IMPACT, messages
from evenhand.methods.impact.lost_rows import rows_left_out
from evenhand.methods.impact.messages import UNKNOWN_LABELS
from evenhand.methods.impact.numbers import NumberImpact
from evenhand.methods.impact.selection_rates import TABLE_NOTES, CategoryRates, remarks
from evenhand.methods.impact.tally import tallied
from evenhand.population.counting.counter import RowCounter
from evenhand.population.counting.decisions import RecordedDecisions
from evenhand.population.counting.scores import ScoreCounts
from evenhand.population.cuts import cut_columns
from evenhand.population.log_labels import (
    named_features,
    words_of_log,
    words_of_outcome,
)
from evenhand.population.logs.on_logs import takes_logs
from evenhand.population.recorded import (
    SUPPORT,
    DecisionColumns,
    check_shares,
    check_truth,
    column_sets,
    columns_of_sets,
    favourable_of,
    labels_of,
    sizes_of,
)
from evenhand.report.definitions import NO_CLAIM, spending_notes
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip
from evenhand.scores.numbers.recorded import DEFAULT_METRIC, RecordedTerms, holds_numbers
from evenhand.scores.rates.metric_table import RateLimits
from evenhand.space.feature import category
from evenhand.space.space import Space
from evenhand.statistics.error_rates import rates_of
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from evenhand.methods.impact.tally import CategoryTally
    from evenhand.results.evidence import Finding
    from evenhand.runtime.label_text import Words
    from evenhand.space.feature import Label
    from evenhand.space.feature_sets import Over

ALLOWED = {
    "level": messages.LEVEL_RANGE,
    "least_ratio": messages.LEAST_RATIO_RANGE,
    "support": messages.SUPPORT_RANGE,
}

RATES = ("selection", "scoring")
"""What the rates are of: of decisions, or of scores."""


@IMPACT.options.checked
@takes_logs
def impact(
    frame: Any,
    *,
    outcome: str,
    over: Over | None = None,
    positive: Any = None,
    scored: bool = False,
    support: float = SUPPORT,
    unknown: Iterable[Any] = UNKNOWN_LABELS,
    intersections: bool = True,
    least_ratio: float | None = None,
    level: float = 0.95,
    bins: Mapping[str, Sequence[Any] | str] | None = None,
    truth: str | None = None,
    truth_positive: Any = None,
    metric: str | Sequence[str] = "selection_rate",
    population: str = "",
    labels: Mapping[str, Mapping[Any, str]] | None = None,
    seed: int = 0,
) -> Result:
    """Compute the selection rate and the impact ratio of each category.

    They are those that rules on audits of hiring tools ask for. The impact ratio of a category is
    its rate divided by the highest rate of a category. The highest is chosen by the data, which the
    intervals allow for. With a limit, the lowest ratios of all sets hold together at this level,
    and all else is descriptive; without one, all rates and ratios of all sets hold together. The
    tables are numbers, and no claim of compliance with any rule.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads; a lazy one is counted by its own engine. A path, an
        address or what `open_log` returns is a log that is read where it lies.
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
    bins
        Where columns of numbers or dates are cut into categories, as for `measure_log`.
    truth, truth_positive
        The column of what decisions should have been, and which of its values stands for the
        favourable outcome; by default the same as `positive`. Error rates are then told too.
    metric
        The rates that the limit is for, as for `measure_log`.
    population
        Whom the rates describe, in words; by default what was recorded.
    level
        The confidence level.
    labels
        What people call the values of columns, as for `measure_log`.
    seed
        Kept with the result, so that all verbs take it alike; nothing is drawn here.

    Returns
    -------
    Result
        A finding for each set of categories, which is its lowest impact ratio; with a truth one for
        each error rate too. The tables are in its details.

    Raises
    ------
    UsageError
        If an option is unknown, out of range, or cannot be combined with another, or if there are
        too many categories.
    DataError
        If a column is missing, or the rows leave nothing to compare.

    See Also
    --------
    See docs/how-to/impact.md

    Examples
    --------
    >>> import pandas as pd
    >>> decisions = [1] * 60 + [0] * 140 + [1] * 150 + [0] * 50
    >>> people = pd.DataFrame({"sex": ["F"] * 200 + ["M"] * 200, "hired": decisions})
    >>> found = impact(people, outcome="hired", over="sex", least_ratio=0.8)
    >>> print(found.worst.claim)
    by sex, the lowest selection rate is 40.0 % of the highest
    >>> found.verdict.value
    'fail'
    """
    start = time.monotonic()
    _check_shares(level, least_ratio, support)
    columns: Any = {"outcome": outcome, "truth": truth, "truth_positive": truth_positive}
    columns |= {"bins": bins, "labels": labels, "advice": messages.SCORED_OR_DECIDE_FIRST}
    log = RecordedDecisions.of(frame, **columns)

    def chosen() -> list[tuple[str, ...]]:
        return _sets(over, outcome, log.columns, intersections=intersections)

    if not scored and holds_numbers(log, positive, chosen):
        shares = {"support": support, "level": level, "least_ratio": least_ratio}
        how = {"unknown": unknown, "intersections": intersections, "bins": bins}
        what: dict[str, Any] = {"truth": truth, "metric": metric, "population": population}
        options = what | how | shares | {"seed": seed, "labels": log.words}
        log.check_words()
        return of_numbers(log.counter, outcome=outcome, over=over, **options)
    sets, words = chosen(), log.words
    log.check_truth(sets)
    _check_scored(positive, truth, scored=scored)
    counted, median, notes = _counted(log, sets, scored=scored)
    lost, rows = _missing(counted[0], outcome)
    favourable = 1 if scored else favourable_of(counted[0], outcome, positive)
    _check_favourable(counted[0], outcome, favourable, median)
    decisions = DecisionColumns.of(counted[0], outcome, favourable, truth, truth_positive)
    limits = RateLimits(rates_of(metric, truth=truth is not None), ratio=least_ratio)
    terms = (float(support), level, len(sets), RATES[scored], population, limits)
    tallies = _tallies(sets, counted, decisions, _unknown(unknown), words)
    rates = [CategoryRates(tally, *terms) for tally in tallies]
    notes += rows_left_out(counted[0], decisions, lost, rows)
    tables = [of_set.table(median=median) for of_set in rates]
    table_notes = _table_notes(tables)
    details = {"impact": tables, "outcome": outcome, "rows": rows}
    details |= {"missing_outcomes": lost, "support": float(support)}
    details[TABLE_NOTES] = [0, len(table_notes)]
    details |= _favourable_labels(decisions, scored=scored) | _error_rates(rates)
    spent = Spent(0, 0, time.monotonic() - start)
    found = ("impact", _findings(rates), seed, spent, StopReason.ENUMERATED)
    notes = [*table_notes, *notes, *spending_notes(rates[0].spending, level), NO_CLAIM]
    named: Any = {"details": details, "outcome_labels": words_of_outcome(words, outcome)}
    return Result(*found, _space(rates, columns_of_sets(sets), words), notes, **named)


def of_numbers(
    frame: Any,
    *,
    outcome: str,
    over: Any,
    support: float = SUPPORT,
    unknown: Iterable[Any] = UNKNOWN_LABELS,
    intersections: bool = True,
    least_ratio: float | None = None,
    level: float = 0.95,
    bins: Mapping[str, Any] | None = None,
    labels: Mapping[str, Mapping[Any, str]] | None = None,
    truth: str | None = None,
    metric: Any = DEFAULT_METRIC,
    population: str = "",
    seed: int = 0,
) -> Result:
    """Compare outcomes that are numbers by category: their means, medians and errors."""
    start = time.monotonic()
    _check_shares(level, least_ratio, support)
    counter = RowCounter.of(frame)
    schema = counter.table.collect_schema()
    sets = _sets(over, outcome, list(schema), intersections=intersections)
    names = list(columns_of_sets(sets))
    check_truth(truth, None, outcome, names, list(schema))
    table, cuts = cut_columns(counter.table, bins or {}, names)
    counter.check_variety(_uncut_numbers(names, cuts, schema))
    described = population or messages.RECORDED_SCORES
    terms = RecordedTerms(level, None, "spread", float(support), metric, described)
    numbers = NumberImpact.of(
        table,
        sets,
        outcome,
        terms,
        names=names,
        truth=truth,
        cuts=cuts,
        unknown=_unknown(unknown),
        least_ratio=least_ratio,
        words=words_of_log(table, labels, cuts, check=False),
    )
    findings = numbers.findings()
    return Result(
        "impact",
        findings,
        seed,
        Spent(0, 0, time.monotonic() - start),
        StopReason.ENUMERATED,
        numbers.columns.space.to_dict(),
        [*numbers.recorded.notes, *spending_notes(numbers.spending, level), NO_CLAIM],
        details={**numbers.recorded.details, "outcome": outcome, TABLE_NOTES: [0, 0]},
    )


def _findings(rates: Iterable[CategoryRates]) -> list[Finding]:
    """Return the findings of all sets."""
    findings: list[Finding] = []
    for of_set in rates:
        findings += of_set.findings()
    return findings


def _favourable_labels(decisions: DecisionColumns, *, scored: bool) -> dict[str, Any]:
    """Return what counts as favourable, as details hold it; scores have no label for it."""
    labels: dict[str, Any] = {}
    if not scored:
        labels["favourable"] = decisions.favourable
    if decisions.truth is not None:
        labels["truly_favourable"] = decisions.truly_favourable
    return labels


def _error_rates(rates: Iterable[CategoryRates]) -> dict[str, Any]:
    """Return the error rates of all sets as details hold them."""
    tables = [of_set.error_rates for of_set in rates]
    found = []
    for table in tables:
        if table is not None:
            found.append(table.to_dict())
    if found:
        return {"rates": found}
    return {}


def _uncut_numbers(
    columns: Iterable[str], cuts: Mapping[str, Any], schema: Mapping[str, Any]
) -> list[str]:
    """Return the columns of numbers in which every value is a category of its own."""
    return [name for name in columns if schema[name].is_numeric() and name not in cuts]


def _check_shares(level: float, least_ratio: float | None, support: float) -> None:
    shares = {"level": level, "least_ratio": least_ratio, "support": support}
    check_shares(ALLOWED, ("least_ratio",), **shares)


def _check_scored(positive: Any, truth: str | None, *, scored: bool) -> None:
    """Refuse a favourable outcome beside scores, whose favourable ones are above the median."""
    if scored and truth is not None:
        raise UsageError(messages.TRUTH_OF_SCORES.format(truth=clip(repr(truth))))
    if scored and positive is not None:
        raise UsageError(messages.POSITIVE_OF_SCORES.format(positive=clip(repr(positive))))


def _table_notes(tables: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the remarks of all tables."""
    notes = []
    for table in tables:
        notes.extend(remarks(table))
    return notes


def _tallies(
    sets: Sequence[tuple[str, ...]],
    counted: Sequence[Any],
    decisions: DecisionColumns,
    unknown_labels: list[Any],
    words: Mapping[str, Words],
) -> list[CategoryTally]:
    """Return the counts of each set of categories."""
    tallies = []
    for features, cells in zip(sets, counted, strict=True):
        tallies.append(tallied(cells, features, decisions, unknown_labels, words))
    return tallies


def _space(
    rates: Iterable[CategoryRates],
    protected: Iterable[str],
    words: Mapping[str, Words],
) -> dict[str, Any]:
    """Return the space that all categories span, as results hold it."""
    levels: dict[str, Any] = {}
    for of_set in rates:
        levels.update(of_set.tally.levels)
    features = [category(name, list(values)) for name, values in levels.items()]
    return Space(named_features(features, words), protected=list(protected)).to_dict()


def _unknown(given: Any) -> list[Any]:
    """Return the labels that stand for what is not known."""
    if isinstance(given, str):
        return [given]
    if not isinstance(given, Iterable) or isinstance(given, Mapping):
        raise UsageError(messages.UNKNOWN_NOT_A_LIST.format(unknown=clip(repr(given))))
    return list(given)


def _sets(
    over: Any,
    outcome: str,
    columns: list[str],
    *,
    intersections: bool,
) -> list[tuple[str, ...]]:
    """Return the sets of columns that `over` names, and the one of all single columns together."""
    sets = column_sets(over, outcome, columns)
    singles = tuple(dict.fromkeys(names[0] for names in sets if len(names) == 1))
    if intersections and len(singles) > 1:
        sets = [*sets, singles]
    # The same columns in another order make the same categories.
    different: dict[frozenset[str], tuple[str, ...]] = {}
    for names in sets:
        different.setdefault(frozenset(names), names)
    return list(different.values())


def _counted(
    log: RecordedDecisions, sets: Sequence[tuple[str, ...]], *, scored: bool
) -> tuple[Sequence[Any], float | None, list[str]]:
    """Return the cells of each set, the median of scores, and notes on it."""
    if not scored:
        return log.cells(sets), None, []
    found = _above_median(log.counter, sets, log.outcome, log.bins)
    log.check_words()
    return found


def _above_median(
    counter: RowCounter,
    sets: Sequence[tuple[str, ...]],
    outcome: str,
    bins: Mapping[str, Any],
) -> tuple[Sequence[Any], float, list[str]]:
    """Return the cells of each set by whether scores are above the median, and notes on it."""
    dtype = counter.table.collect_schema()[outcome]
    if not dtype.is_numeric():
        message = messages.SCORES_NOT_NUMBERS.format(outcome=repr(outcome), dtype=dtype)
        raise DataError(message)
    names = columns_of_sets(sets)
    table, cuts = cut_columns(counter.table, bins, names)
    counter.check_variety(_uncut_numbers(names, cuts, counter.table.collect_schema()))
    scores = ScoreCounts.of(table, sets, outcome, cuts)
    median = scores.median
    if not math.isfinite(median):
        if not scores.rows:
            raise DataError(messages.NO_ROWS_OF_SCORES)
        message = messages.NO_FINITE_MEDIAN.format(outcome=repr(outcome), median=median)
        raise DataError(message)
    notes = [messages.MEDIAN.format(outcome=outcome, median=number_text.figures(median))]
    if scores.tied > 1:
        tied_rows = number_text.count(scores.tied)
        notes.append(messages.TIED_WITH_MEDIAN.format(tied=tied_rows, outcome=outcome))
    return scores.cells, median, notes


def _missing(cells: Any, outcome: str) -> tuple[int, int]:
    """Return how many rows lack the outcome, and how many there are."""
    decided = np.array([label is not None for label in labels_of(cells, outcome)])
    sizes = sizes_of(cells)
    if not decided.any():
        rows = f"{sizes.sum():,.0f}"
        raise DataError(messages.OUTCOME_MISSING.format(outcome=repr(outcome), rows=rows))
    return int(sizes[~decided].sum()), int(sizes.sum())


def _check_favourable(
    cells: Any,
    outcome: str,
    favourable: Label,
    median: float | None,
) -> None:
    """Refuse outcomes of which none is favourable."""
    if favourable in labels_of(cells, outcome):
        return
    if median is None:
        message = messages.NONE_FAVOURABLE.format(
            outcome=outcome, favourable=repr(favourable)
        )
    else:
        message = messages.NONE_ABOVE_MEDIAN.format(
            outcome=outcome,
            median=number_text.figures(median),
        )
    raise DataError(message)
