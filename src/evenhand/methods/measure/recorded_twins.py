"""measure_log of kind "causal": rows of a log that are twins, as a recorded test suite.

Two rows are twins where they are equal in all columns that count but those at issue, in which they
differ (Themis, Definition 3.7). The score is the apparent one of the suite (Definition 3.8): of the
rows that have a twin, the share that was decided otherwise than one of its twins.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.measure import messages
from evenhand.population.cuts import cut_columns
from evenhand.population.recorded import (
    SUPPORT,
    check_shares,
    column_sets,
    columns_of_sets,
    count_cells,
    favourable_of,
    label_of,
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
from evenhand.statistics.estimate import Estimate, StopReason
from evenhand.subject.outcome_scale import OutcomeScale

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.population.cuts import Cuts
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
MISSING = "missing"
"""What stands for a value that a row lacks."""


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


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A column of counted rows: the place of each value among its labels, -1 where it is missing.

    The labels are in order, so that codes do not depend on the engine or the order of rows.
    """

    codes: Positions
    labels: Sequence[Label]

    @classmethod
    def of(cls, column: Any) -> CodedColumn:
        """Return a column of any engine by its labels."""
        import pandas as pd

        values = column.to_list()
        objects = np.fromiter(values, dtype=object, count=len(values))
        places, distinct = pd.factorize(objects)
        found = [label_of(value) for value in distinct]
        labels = sorted(set(found), key=_numbers_first)
        place_of = {label: place for place, label in enumerate(labels)}
        code_of = [place_of[label] for label in found]
        # The last element stands for what is missing, which has the place -1.
        code_of.append(-1)
        codes = np.array(code_of, dtype=np.intp)
        return cls(codes[places], labels)

    def label(self, row: int) -> Label:
        """Return the value of a row."""
        code = self.codes[row]
        return MISSING if code < 0 else self.labels[code]

    def at(self, rows: Positions) -> CodedColumn:
        """Return the column of some rows."""
        return CodedColumn(self.codes[rows], self.labels)


def _numbers_first(label: Label) -> tuple[bool, Label]:
    return isinstance(label, str), label


@dataclass(frozen=True, eq=False)
class RecordedTwins:
    """Rows by who is alike in all but the features at issue, what these are, and the outcome.

    Equal rows are counted once, and `sizes` says how many there are of each.

    >>> twins = RecordedTwins(
    ...     alike=np.array([0, 0, 1, 1, 2]),
    ...     value=np.array([0, 1, 0, 1, 0]),
    ...     outcome=np.array([1, 0, 1, 1, 0]),
    ...     sizes=np.array([3.0, 1.0, 2.0, 2.0, 9.0]),
    ... )
    >>> twins.has_twin.tolist(), twins.differs.tolist()
    ([True, True, True, True, False], [True, True, False, False, False])
    >>> print(twins.estimate("rows with a twin"))
    50.0 % (n = 8, enumerated, population: rows with a twin)
    """

    alike: Positions
    value: Positions
    outcome: Positions
    sizes: Floats
    numbers: Floats | None = None
    """Outcomes on a scale, which differ where they are further apart than `least`."""
    least: float = 0.0

    @cached_property
    def _same(self) -> Positions:
        """A number for each row, shared by those that are equal in everything but the outcome."""
        return _pairs(self.alike, self.value)

    @cached_property
    def has_twin(self) -> Flags:
        """Which rows have a twin."""
        values_of = _distinct_by(self.alike, self.value)
        number_of_values = values_of[self.alike]
        return number_of_values > 1

    @cached_property
    def differs(self) -> Flags:
        """Which rows have a twin with another outcome."""
        if self.numbers is not None:
            return self._further_apart(self.numbers)
        # Of all that is seen of those alike, what has another value and another outcome is left
        # when what shares one of them is taken away; what shares both is taken away twice.
        seen = _pairs(self.value, self.outcome)
        same_outcome = _pairs(self.alike, self.outcome)
        of_alike = _distinct_by(self.alike, seen)
        of_same = _distinct_by(self._same, self.outcome)
        of_same_outcome = _distinct_by(same_outcome, self.value)
        others = of_alike[self.alike] + 1
        others -= of_same[self._same]
        others -= of_same_outcome[same_outcome]
        return others > 0

    def _further_apart(self, numbers: Floats) -> Flags:
        """Return which rows have a twin that is further apart than the least that counts."""
        highest = self._highest_of_twins(numbers)
        lowest = -self._highest_of_twins(-numbers)
        furthest = np.maximum(highest - numbers, numbers - lowest)
        return furthest > self.least

    def _highest_of_twins(self, numbers: Floats) -> Floats:
        """Return the highest number of the twins of each row, -inf where it has none."""
        rising = np.lexsort((numbers, self.alike))
        number_of_alike = np.bincount(self.alike)
        last_of_alike = np.cumsum(number_of_alike) - 1
        top = rising[last_of_alike]
        best = top[self.alike]
        is_other = self.value != self.value[best]
        # Rows with the value of the best one look at the best one of those with another value.
        second = np.full(len(top), -np.inf)
        alike_of_others = self.alike[is_other]
        np.maximum.at(second, alike_of_others, numbers[is_other])
        return np.where(is_other, numbers[best], second[self.alike])

    def _rows(self, which: Flags) -> int:
        """Return how many rows there are of some."""
        sizes = self.sizes[which]
        return int(sizes.sum())

    @property
    def unsteady(self) -> int:
        """How many rows have an equal with another outcome."""
        outcomes_of = _distinct_by(self._same, self.outcome)
        number_of_outcomes = outcomes_of[self._same]
        return self._rows(number_of_outcomes > 1)

    @property
    def number(self) -> int:
        """How many rows have a twin."""
        return self._rows(self.has_twin)

    @property
    def different(self) -> int:
        """How many rows have a twin with another outcome."""
        return self._rows(self.differs)

    def estimate(self, population: str) -> Estimate:
        """Return the share of rows with a twin that have one with another outcome."""
        return Estimate.exact(self.different, self.number, population=population)

    def pairs(self, most: int) -> list[tuple[int, int]]:
        """Return some rows, each with a twin that has another outcome, of different people."""
        rows = np.flatnonzero(self.differs)
        _, places = np.unique(self.alike[rows], return_index=True)
        first = np.sort(places)[:most]
        found = []
        for row in rows[first].tolist():
            is_twin = self.alike == self.alike[row]
            is_twin &= self.value != self.value[row]
            is_twin &= self._apart_from(row)
            twins = np.flatnonzero(is_twin)
            found.append((row, int(twins[0])))
        return found

    def _apart_from(self, row: int) -> Flags:
        """Return which rows have another outcome than a row."""
        if self.numbers is None:
            return np.asarray(self.outcome != self.outcome[row])
        apart = np.abs(self.numbers - self.numbers[row])
        return np.asarray(apart > self.least)


def _number_of(group: Positions) -> int:
    """Return how many groups there are, whose numbers begin with 0."""
    return int(group.max(initial=-1)) + 1


def _pairs(first: Positions, second: Positions) -> Positions:
    """Return a number for each row, shared by those with the same two numbers."""
    combined = first * _number_of(second) + second
    _, number = np.unique(combined, return_inverse=True)
    return np.asarray(number, dtype=np.intp)


def _distinct_by(group: Positions, value: Positions) -> Positions:
    """Return how many different values the rows of each group have."""
    span = _number_of(value)
    combined = group * span + value
    group_of_seen = np.unique(combined) // span
    return np.bincount(group_of_seen, minlength=_number_of(group))


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
    numbers: Floats | None = None
    scale: OutcomeScale | None = None

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
        counted = cls(log.outcome, kept, outcomes.at(known), sizes[known], rows)
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
        only_answer = None
        if len(np.unique(self.outcomes.codes)) == 1:
            only_answer = self.outcomes.label(0)
        return Finding(
            claim,
            features,
            estimate,
            limit,
            tuple(cases),
            score="causal",
            only_answer=only_answer,
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
        """Return the features at issue, as a space."""
        features = []
        for name in names:
            labels = list(self.columns[name].labels)
            if not labels:
                raise DataError(messages.COLUMN_WITHOUT_VALUES.format(column=repr(name)))
            features.append(category(name, labels))
        return Space(features, protected=list(names))


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
