"""measure_log of kind "causal": rows of a log that are twins, as a recorded test suite.

Two rows are twins where they are equal in all columns that count but those at issue, in which they
differ (Themis, Definition 3.7). The score is the apparent one of the suite (Definition 3.8): of the
rows that have a twin, the share that was decided otherwise than one of its twins.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import messages
from evenhand.methods.measure.twin_rows import CodedColumn, RecordedTwins
from evenhand.population.cuts import cut_columns
from evenhand.population.log_labels import named_features, words_of_outcome
from evenhand.population.recorded import (
    SUPPORT,
    check_shares,
    column_sets,
    columns_of_sets,
    count_cells,
    favourable_of,
    sizes_of,
)
from evenhand.results.evidence import Case, Finding
from evenhand.results.result import Result
from evenhand.runtime import number_text
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import DataError, UsageError, clip, nearest
from evenhand.scores.numbers.recorded import DEFAULT_METRIC, are_numbers
from evenhand.scores.sampling_loop import CASES
from evenhand.space.distribution import numbered
from evenhand.space.feature import category
from evenhand.space.space import Space
from evenhand.statistics.estimate import StopReason
from evenhand.subject.outcome_meaning import one_answer
from evenhand.subject.outcome_scale import OutcomeScale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.population.cuts import Cuts
    from evenhand.runtime.label_text import Words
    from evenhand.space.distribution import Positions
    from evenhand.space.feature import Flags, Label
    from evenhand.statistics.intervals import Floats

OF_GROUPS = {
    "units": "spread",
    "least_ratio": None,
    "support": SUPPORT,
    "groups": None,
    "truth": None,
    "truth_positive": None,
    "metric": DEFAULT_METRIC,
}
"""Options that compare groups, with the values that they have where nothing is said."""


@dataclass(frozen=True)
class TwinLog:
    """Which columns of a log are compared, and how."""

    outcome: str
    over: Any
    positive: Any
    limit: float | None
    bins: Mapping[str, Any]
    features: Any
    """The columns in which twins are equal; None for all that there are."""
    words: Mapping[str, Words]
    """What people call the values of the columns."""

    def refuse_groups(self, given: Mapping[str, Any]) -> None:
        """Refuse options that are for groups alone, and limits that are none."""
        for name, usual in OF_GROUPS.items():
            value = given[name]
            if value != usual:
                shown = clip(repr(value))
                raise UsageError(messages.OPTION_OF_GROUPS.format(option=name, value=shown))
        allowed = {"limit": messages.ALLOWED_LIMIT}
        check_shares(allowed, optional=("limit",), limit=self.limit)

    def equal_columns(self, columns: Sequence[str]) -> list[str]:
        """Return the columns in which twins are equal, but for those at issue."""
        others = [name for name in columns if name != self.outcome]
        if self.features is None:
            return others
        given = self.features
        if isinstance(given, str):
            given = [given]
        for name in given:
            if name in others:
                continue
            shown = clip(repr(name))
            choices = nearest(name, others)
            raise UsageError(
                messages.FEATURE_NOT_A_COLUMN.format(feature=shown, choices=choices)
            )
        return list(given)


def measure_twins(table: Any, log: TwinLog, given: Mapping[str, Any], seed: int) -> Result:
    """Return the causal score of a recorded suite, for each set of features."""
    start = time.monotonic()
    log.refuse_groups(given)
    schema = table.collect_schema()
    sets = column_sets(log.over, log.outcome, list(schema))
    names = list(columns_of_sets(sets))
    table, cuts = cut_columns(table, log.bins, names)
    columns = list(dict.fromkeys((*log.equal_columns(list(schema)), *names)))
    suite = RecordedSuite.of(table, columns, log, cuts)
    findings = []
    tables = []
    for features in sets:
        twins = suite.twins(features)
        suite.need_twins(twins, features)
        findings.append(suite.finding(twins, features, log.limit))
        tables.append(suite.described(twins, features))
    return Result(
        "measure_log",
        findings,
        seed,
        Spent(0, 0, time.monotonic() - start),
        StopReason.ENUMERATED,
        suite.space(names).to_dict(),
        suite.notes(tables),
        details={**suite.details, "twins": tables},
        outcome_labels=words_of_outcome(log.words, log.outcome),
    )


@dataclass(frozen=True, eq=False)
class RecordedSuite:
    """The rows of a log by their values and outcomes; equal ones are counted once."""

    outcome: str
    columns: Mapping[str, CodedColumn]
    outcomes: CodedColumn
    sizes: Floats
    rows: int
    """How many rows there are, also without an outcome."""
    positive: Any = None
    numbers: Floats | None = None
    scale: OutcomeScale | None = None
    words: Mapping[str, Words] = field(default_factory=dict)
    """What people call the values of the columns."""

    @classmethod
    def of(
        cls, table: Any, names: Sequence[str], log: TwinLog, cuts: Mapping[str, Cuts]
    ) -> RecordedSuite:
        """Count the rows by all columns; those without an outcome count for nothing."""
        cells = count_cells(table, names, log.outcome, cuts)
        if log.positive is not None:
            favourable_of(cells, log.outcome, log.positive)  # refuses what is no outcome
        sizes = sizes_of(cells)
        outcomes = CodedColumn.of(cells[log.outcome])
        columns = {name: CodedColumn.of(cells[name]) for name in names}
        known = np.flatnonzero(outcomes.codes >= 0)
        rows = int(sizes.sum())
        if not len(known):
            column = repr(log.outcome)
            shown = number_text.count(rows)
            raise DataError(messages.NO_DECISIONS.format(column=column, rows=shown))
        # In the order of the labels, whatever the order of the rows and of the engine.
        keys = [outcomes.codes[known]]
        for name in reversed(names):
            keys.append(columns[name].codes[known])
        known = known[np.lexsort(keys)]
        kept = {name: column.at(known) for name, column in columns.items()}
        counted = cls(
            log.outcome,
            kept,
            outcomes.at(known),
            sizes[known],
            rows,
            log.positive,
            words=log.words,
        )
        dtype = table.collect_schema()[log.outcome]
        if log.positive is None and are_numbers(table, log.outcome, dtype):
            return counted.on_scale()
        return counted

    def on_scale(self) -> RecordedSuite:
        """Return the same rows, with outcomes that differ by a share of their spread."""
        values = np.array(self.outcomes.labels, dtype=np.float64)
        numbers = values[self.outcomes.codes]
        of_every_row = np.repeat(numbers, self.sizes.astype(np.intp))
        scale = OutcomeScale.of(of_every_row, messages.RECORDED_DECISIONS)
        return replace(self, numbers=numbers, scale=scale)

    @property
    def details(self) -> dict[str, Any]:
        """What is known of the rows, as the details of a result hold it."""
        decided = int(self.sizes.sum())
        found: dict[str, Any] = {"rows": self.rows}
        found["missing_outcomes"] = self.rows - decided
        if self.scale is not None:
            found["differs"] = self.scale.to_dict()
        return found

    def equal_in(self, features: tuple[str, ...]) -> list[str]:
        """Return the columns in which twins of a set of features are equal."""
        return [name for name in self.columns if name not in features]

    def _known(self, features: tuple[str, ...]) -> Flags:
        """Return the rows whose features at issue are known."""
        codes = np.array([self.columns[name].codes for name in features])
        return np.asarray((codes >= 0).all(axis=0))

    def twins(self, features: tuple[str, ...]) -> RecordedTwins:
        """Return who is whose twin by a set of features; rows that lack one of them have none."""
        known = self._known(features)
        alike = self._numbered(self.equal_in(features), known)
        value = self._numbered(features, known)
        outcome = self.outcomes.codes[known]
        sizes = self.sizes[known]
        if self.numbers is None or self.scale is None:
            return RecordedTwins(alike, value, outcome, sizes)
        numbers = self.numbers[known]
        return RecordedTwins(alike, value, outcome, sizes, numbers, self.scale.differs)

    def _numbered(self, names: Sequence[str], rows: Flags) -> Positions:
        """Return a number for each of some rows, shared by those that are equal in all columns."""
        columns = [self.columns[name].codes[rows] for name in names]
        return numbered(columns, int(rows.sum()))

    def need_twins(self, twins: RecordedTwins, features: tuple[str, ...]) -> None:
        """Raise DataError where no row has a twin, and name what keeps rows apart."""
        if twins.number:
            return
        names = " and ".join(features)
        apart = []
        for name in self.equal_in(features):
            distinct = len(np.unique(self.columns[name].codes))
            if distinct == len(self.sizes) > 1:
                apart.append(name)
        if apart:
            shown = clip(", ".join(map(repr, apart)))
            raise DataError(messages.NO_TWINS_BECAUSE.format(features=names, columns=shown))
        raise DataError(messages.NO_TWINS.format(features=names))

    def finding(
        self, twins: RecordedTwins, features: tuple[str, ...], limit: float | None
    ) -> Finding:
        """Return the causal score of a set of features, with some pairs."""
        estimate = twins.estimate(messages.ROWS_WITH_A_TWIN)
        claim = messages.TWINS_DIFFER.format(
            features=" and ".join(features),
            outcome=self.outcome,
            share=number_text.percent(estimate.value),
        )
        rows = np.flatnonzero(self._known(features))
        cases = []
        for row, twin in twins.pairs(CASES):
            cases.append(self._case(int(rows[row]), int(rows[twin])))
        codes = np.unique(self.outcomes.codes)
        outcomes = [self.outcomes.labels[code] for code in codes]
        return Finding(
            claim,
            features,
            estimate,
            limit,
            tuple(cases),
            score="causal",
            **one_answer(outcomes, self.positive),
        )

    def _case(self, row: int, twin: int) -> Case:
        outcomes = (self.outcomes.label(row), self.outcomes.label(twin))
        return Case(self._labels(row), self._labels(twin), outcomes)

    def _labels(self, row: int) -> dict[str, Label]:
        return {name: column.label(row) for name, column in self.columns.items()}

    def described(self, twins: RecordedTwins, features: tuple[str, ...]) -> dict[str, Any]:
        """Return how many rows have a twin, as the details of a result hold it."""
        unknown = self.sizes[~self._known(features)].sum()
        return {
            "over": list(features),
            "equal_in": self.equal_in(features),
            "rows": int(self.sizes.sum()),
            "unknown": int(unknown),
            "with_twin": twins.number,
            "different": twins.different,
            "unsteady": twins.unsteady,
        }

    def notes(self, tables: Sequence[Mapping[str, Any]]) -> list[str]:
        """Return how many rows lack what, how many have a twin, and what may be chance."""
        lost = self.details["missing_outcomes"]
        notes = []
        if lost:
            notes.append(
                messages.ROWS_WITHOUT_OUTCOME.format(
                    lost=number_text.count(lost),
                    rows=number_text.count(self.rows),
                    outcome=self.outcome,
                )
            )
        if self.scale is not None:
            notes.append(self.scale.sentence())
        for table in tables:
            notes += _notes_of_set(table)
        return notes

    def space(self, names: Sequence[str]) -> Space:
        """Return the features at issue, and those that have labels, as a space."""
        features = []
        labelled = [name for name in self.columns if self.words.get(name)]
        for name in dict.fromkeys([*names, *labelled]):
            labels = list(self.columns[name].labels)
            if not labels:
                raise DataError(messages.COLUMN_WITHOUT_VALUES.format(column=repr(name)))
            features.append(category(name, labels))
        return Space(named_features(features, self.words), protected=list(names))


def _notes_of_set(table: Mapping[str, Any]) -> list[str]:
    """Return notes on the twins of one set of features."""
    names = " and ".join(table["over"])
    rows = number_text.count(table["rows"])
    notes = []
    if table["unknown"]:
        unknown = number_text.count(table["unknown"])
        notes.append(
            messages.ROWS_WITHOUT_VALUE.format(unknown=unknown, rows=rows, column=names)
        )
    with_twin = number_text.count(table["with_twin"])
    equal = clip(", ".join(table["equal_in"]), 200) or messages.NOTHING_ELSE
    notes.append(
        messages.ROWS_HAVE_TWINS.format(
            twins=with_twin, rows=rows, features=names, equal=equal
        )
    )
    if table["unsteady"]:
        unsteady = number_text.count(table["unsteady"])
        notes.append(messages.EQUAL_ROWS_DIFFER.format(rows=unsteady, features=names))
    return notes
