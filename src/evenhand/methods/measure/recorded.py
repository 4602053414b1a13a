"""measure_log: how differently were groups treated in recorded decisions (Themis, Def. 3.5, 3.6)?

No software is asked. The frame's own engine counts rows by group and outcome, and hands over the
counts alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import MEASURE_LOG, messages
from evenhand.methods.measure.recorded_groups import (
    check_groups,
    count_groups,
    recorded_groups,
)
from evenhand.methods.measure.recorded_numbers import (
    NumberLog,
    measure_numbers,
)
from evenhand.methods.measure.recorded_twins import TwinLog, measure_twins
from evenhand.population.counting.decisions import RecordedDecisions
from evenhand.population.log_labels import (
    named_features,
    words_of_outcome,
)
from evenhand.population.logs.on_logs import takes_logs
from evenhand.population.recorded import (
    SUPPORT,
    UNKNOWN,
    DecisionColumns,
    check_shares,
    codes_of,
    column_sets,
    columns_of_sets,
    decided_sizes,
    favourable_of,
    label_of,
    labels_of,
    seen,
    sizes_of,
)
from evenhand.report.definitions import spending_notes
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.scores.groups import Groups
from evenhand.scores.numbers.groups import check_units
from evenhand.scores.numbers.recorded import RecordedTerms, holds_numbers
from evenhand.scores.rates.metric_table import RateLimits
from evenhand.space.feature import category
from evenhand.space.frames.reading import declared_levels
from evenhand.space.space import Space
from evenhand.statistics.error_rates import rates_of, reported
from evenhand.statistics.estimate import StopReason
from evenhand.statistics.spending import Spending
from evenhand.subject.outcome_meaning import one_answer

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.scores.rates.metric_table import MetricTable
    from evenhand.space.feature import Feature, Label
    from evenhand.space.feature_sets import Over

ALLOWED = {
    "level": messages.ALLOWED_LEVEL,
    "limit": messages.ALLOWED_LIMIT,
    "least_ratio": messages.ALLOWED_LEAST_RATIO,
    "support": messages.ALLOWED_SUPPORT,
}
OPTIONAL = ("limit", "least_ratio")
KINDS = ("group", "causal")


@MEASURE_LOG.options.checked
@takes_logs
def measure_log(
    frame: Any,
    *,
    outcome: str,
    over: Over | None = None,
    positive: Any = None,
    kind: str = "group",
    features: Sequence[str] | str | None = None,
    limit: float | None = None,
    units: str = "spread",
    least_ratio: float | None = None,
    level: float = 0.95,
    support: float = SUPPORT,
    groups: Mapping[str, Sequence[Label]] | None = None,
    bins: Mapping[str, Sequence[Any] | str] | None = None,
    truth: str | None = None,
    truth_positive: Any = None,
    metric: str | Sequence[str] = "selection_rate",
    labels: Mapping[str, Mapping[Any, str]] | None = None,
    seed: int = 0,
) -> Result:
    """Measure the group discrimination of recorded decisions, and their error rates.

    It is how far apart the rates are at which groups get the favourable outcome. Each set of
    features gets two findings: the highest rate minus the lowest, and the lowest divided by the
    highest. With a column of truth, so do the true positive rate, the false positive rate,
    precision and accuracy. The findings with a limit hold together at this level; beside them all
    else is descriptive, and holds by itself. Without a limit all findings hold together, and so do
    the intervals of all their groups.

    Parameters
    ----------
    frame
        Any dataframe that narwhals reads; a lazy one is counted by its own engine. A path, an
        address or what `open_log` returns is a log that is read where it lies.
    outcome, positive
        The column of decisions and the favourable one of them; by default 1 or True.
    over
        As for `measure`: ``["sex", "race"]`` is one set taken together, ``[("sex",), ("race",)]``
        are two.
    kind, features
        With ``"causal"``, rows that are twins of each other are a recorded test suite: equal in
        `features` (by default in all columns but the outcome) and different in `over`. The score is
        the share of rows with a twin whose outcome differs from that of one of their twins, exact
        for these rows. A missing value equals another missing one. Options that compare groups
        cannot be combined with it.
    limit, least_ratio
        Engineering thresholds: the difference fails at or over the limit, the ratio below the least
        ratio.
    units
        Where outcomes are numbers, means and medians are compared, and their errors with a truth;
        the limit is then a share of the spread of outcomes, or with ``"outcome"`` in their unit.
    support
        Groups with a smaller share of the rows are listed, but left out of the comparison; nothing
        is decided of them. With 0 every group is compared.
    groups
        Groups that there are besides those in the rows, by column; they are compared however few
        rows they have.
    bins
        Where columns of numbers or dates are cut into groups: ``{"age": [25, 40]}`` makes under 25,
        25 to 39, and 40 and over; dates are cut at dates, or by ``"year"`` or ``"month"``.
    truth, truth_positive
        The column of what decisions should have been, and which of its values stands for the
        favourable outcome; by default the same as `positive`.
    metric
        The rates that the limits are for, one or several of ``"selection_rate"``,
        ``"true_positive_rate"``, ``"false_positive_rate"``, ``"precision"``, ``"accuracy"``,
        ``"false_negative_rate"``, ``"true_negative_rate"`` and ``"base_rate"``. The last three are
        told where they are named, all others wherever there is a truth.
    labels
        What people call the values of a column, such as ``{"sex": {0: "female", 1: "male"}}``; that
        of the outcome has labels for outcomes. Texts, pages and tables then say so.
    seed
        Kept with the result, so that all verbs take it alike; nothing is drawn here.

    Returns
    -------
    Result
        Two findings for each set of features and each rate; its details hold the rates of all
        groups in one table, and how many rows lack what.

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
    how: Any = {"bins": bins, "labels": labels}
    log = RecordedDecisions.of(frame, outcome, truth, truth_positive, **how)
    words = log.words
    if is_causal(kind, features):
        of_groups: dict[str, Any] = {"units": units, "support": support}
        of_groups |= {"groups": groups, "truth": truth, "metric": metric}
        of_groups |= {"least_ratio": least_ratio, "truth_positive": truth_positive}
        log.check_words()
        twin_log = TwinLog(outcome, over, positive, limit, log.bins, features, words)
        return measure_twins(log.counter.table, twin_log, of_groups, seed)
    if holds_numbers(log, positive, lambda: column_sets(over, outcome, log.columns)):
        log.check_words()
        how = (truth, truth_positive, groups or {}, log.bins, least_ratio, words)
        number_log = NumberLog(outcome, over, *how)
        terms = RecordedTerms(level, limit, units, support, metric)
        return measure_numbers(log.counter, number_log, terms, seed)
    _check_rates(level, limit, least_ratio, support, units)
    judged = rates_of(metric, truth=truth is not None)
    sets = column_sets(over, outcome, log.columns)
    names = list(columns_of_sets(sets))
    log.check_truth(sets)
    check_groups(groups or {}, log.bins, names)
    counted = log.cells(sets)
    favourable = favourable_of(counted[0], outcome, positive)
    decisions = DecisionColumns.of(counted[0], outcome, favourable, truth, truth_positive)
    columns = named_features(_features(sets, counted, groups or {}), words)
    space = Space(columns, protected=names)
    limits = RateLimits(judged, limit, least_ratio)
    rate_log = _RateLog(
        sets, counted, decisions, space, limits, level, support, groups or {}
    )
    findings, details, notes = rate_log.measured()
    spent = Spent(0, 0, time.monotonic() - start)
    found = ("measure_log", findings, seed, spent, StopReason.ENUMERATED)
    named: Any = {"details": details, "outcome_labels": words_of_outcome(words, outcome)}
    return Result(*found, space.to_dict(), notes, **named)


@dataclass(frozen=True, eq=False)
class _RateLog:
    """The counts of recorded decisions, and how their rates are compared."""

    sets: Sequence[tuple[str, ...]]
    counted: Sequence[Any]
    """The counts of each set."""
    decisions: DecisionColumns
    space: Space
    limits: RateLimits
    level: float
    support: float
    groups: Mapping[str, Sequence[Label]]
    """Groups that are compared however few rows they have."""

    @property
    def metrics(self) -> tuple[str, ...]:
        """The rates that are told."""
        return reported(self.limits.judged, truth=self.decisions.truth is not None)

    @property
    def spending(self) -> Spending:
        """Where the error goes; without a limit, to the two findings of each rate of each set."""
        sets = len(self.sets)
        return Spending(sets * self.limits.number, 2 * sets * len(self.metrics))

    def measured(self) -> tuple[list[Finding], dict[str, Any], list[str]]:
        """Return the findings, the details and the notes of all sets."""
        details, notes = _missing(self.counted, self.sets, self.decisions, self.space)
        findings: list[Finding] = []
        tables = []
        left_out: list[dict[str, Any]] = []
        for columns, cells in zip(self.sets, self.counted, strict=True):
            counts = count_groups(cells, Groups(self.space, columns), self.decisions)
            recorded = recorded_groups(counts, self.support, self.groups)
            rates = recorded.table(self.metrics, self.level, self.spending, self.limits)
            findings += recorded.findings(rates)
            left_out += recorded.left_out
            notes += recorded.notes
            tables.append(rates)
        notes += spending_notes(self.spending, self.level)
        details |= {"support": float(self.support), "left_out": left_out}
        details |= _error_rates(tables, self.decisions)
        outcomes = seen(self.counted[0], self.decisions.outcome)
        answer = one_answer(outcomes, self.decisions.favourable)
        findings = [replace(finding, **answer) for finding in findings]
        return findings, details, notes


def is_causal(kind: Any, features: Any) -> bool:
    """Return whether twins are compared; refuse features of twins for groups."""
    if kind not in KINDS:
        choices = nearest(kind, KINDS)
        shown = clip(repr(kind))
        raise UsageError(messages.UNKNOWN_KIND.format(kind=shown, choices=choices))
    if kind == "group" and features is not None:
        shown = clip(repr(features))
        raise UsageError(messages.FEATURES_OF_GROUPS.format(features=shown))
    return bool(kind == "causal")


def _check_rates(
    level: float,
    limit: float | None,
    least: float | None,
    support: float,
    units: str,
) -> None:
    """Refuse thresholds that no rate can be held against."""
    check_units(units)
    if units != "spread":
        raise UsageError(messages.UNITS_OF_RATES)
    shares = {"level": level, "limit": limit, "least_ratio": least, "support": support}
    check_shares(ALLOWED, OPTIONAL, **shares)


def _error_rates(
    tables: Sequence[MetricTable], decisions: DecisionColumns
) -> dict[str, Any]:
    """Return the error rates of all sets as details hold them, which only a truth gives."""
    if decisions.truth is None:
        return {}
    return {
        "rates": [rates.to_dict() for rates in tables],
        "favourable": decisions.favourable,
        "truly_favourable": decisions.truly_favourable,
    }


def _features(
    sets: Sequence[tuple[str, ...]],
    counted: Sequence[Any],
    declared: Mapping[str, Sequence[Label]],
) -> list[Feature]:
    """Return the columns of all sets as features, each once."""
    features: dict[str, Feature] = {}
    for columns, cells in zip(sets, counted, strict=True):
        for name in columns:
            features[name] = _category(cells, name, declared.get(name, ()))
    return list(features.values())


def _category(cells: Any, name: str, declared: Sequence[Label]) -> Feature:
    """Return the groups of a column: those declared, those of its dtype, and those of its rows."""
    if len(declared):
        given = category(name, declared).levels
    else:
        given = ()
    values = (*given, *declared_levels(cells[name]), *seen(cells, name))
    levels = dict.fromkeys(label_of(value) for value in values)
    if not levels:
        raise DataError(messages.COLUMN_WITHOUT_VALUES.format(column=repr(name)))
    return category(name, list(levels))


def _missing(
    counted: Sequence[Any],
    sets: Sequence[tuple[str, ...]],
    columns: DecisionColumns,
    space: Space,
) -> tuple[dict[str, Any], list[str]]:
    """Return how many rows lack what, as details and as notes."""
    outcome = columns.outcome
    sizes = decided_sizes(counted[0], outcome)
    rows = int(sizes_of(counted[0]).sum())
    decided = int(sizes.sum())
    if not decided:
        raise DataError(
            messages.NO_DECISIONS.format(column=repr(outcome), rows=number_text.count(rows))
        )
    lost = rows - decided
    details: dict[str, Any] = {"rows": rows}
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
        codes = np.array(codes_of(space.feature(name), labels_of(cells, name)))
        of_cells = decided_sizes(cells, outcome)
        unknown[name] = int(of_cells[codes == UNKNOWN].sum())
        if unknown[name]:
            notes.append(
                messages.ROWS_WITHOUT_VALUE.format(
                    unknown=number_text.count(unknown[name]),
                    rows=number_text.count(decided),
                    column=name,
                )
            )
    details |= {"unknown": unknown, "missing_outcomes": lost}
    if columns.truth is not None:
        without = columns.without_truth(counted[0])
        details["missing_truths"] = without
        if without:
            notes.append(
                messages.ROWS_WITHOUT_TRUTH.format(
                    lost=number_text.count(without),
                    rows=number_text.count(decided),
                    truth=columns.truth,
                )
            )
    return details, notes
