"""Recorded outcomes that are numbers: pay, prices or scores, compared by group.

The columns that are named are read into memory, since means need their numbers and no counts.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.counting.engines import collected
from evenhand.population.counting.first_rows import has_fraction
from evenhand.population.log_labels import named_features
from evenhand.population.recorded import MOST_VALUES, SUPPORT, label_of
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, EvenhandError, UsageError, clip, nearest
from evenhand.runtime.label_text import group_text
from evenhand.scores.groups import Groups, declared_groups
from evenhand.scores.numbers.groups import (
    MOST_GROUPS,
    OF_ERRORS,
    OF_OUTCOMES,
    Assurance,
    NumberGroups,
    limit_in_units,
    limit_note,
)
from evenhand.space.feature import category
from evenhand.space.frames.reading import declared_levels, number_column
from evenhand.space.space import Space
from evenhand.statistics.spending import Spending
from evenhand.subject.outcome_scale import LEAST_VALUES, spread_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.population.counting.counter import RowCounter
    from evenhand.population.counting.decisions import RecordedDecisions
    from evenhand.population.cuts import Cuts
    from evenhand.results.evidence import Finding
    from evenhand.runtime.label_text import Words
    from evenhand.space.feature import Label
    from evenhand.statistics.intervals import Floats

MOST_LISTED = 20
"""The most groups without rows, or too small ones, that are named."""
DEFAULT_METRIC = "selection_rate"
"""What stands for the mean and the median where outcomes are numbers."""
_OUTCOME, _TRUTH = "the outcome of evenhand", "the truth of evenhand"
METRICS = {name.replace(" ", "_"): name for name in (*OF_OUTCOMES, *OF_ERRORS)}
"""What a limit may be for, by the names of options."""


def are_numbers(table: Any, outcome: str, dtype: Any) -> bool:
    """Return whether a column of outcomes holds numbers on a scale, rather than labels.

    These are numbers of more values than could be labels, of which fractions need fewer.
    """
    import narwhals as nw

    if not dtype.is_numeric():
        return False
    column = nw.col(outcome)
    asked = [column.n_unique().alias("distinct")]
    if dtype.is_float():
        asked.append(has_fraction(outcome).alias("fraction"))
    counted = collected(table.select(*asked))
    distinct = int(counted["distinct"].to_list()[0] or 0)
    if distinct > MOST_VALUES:
        return True
    if not dtype.is_float() or distinct < LEAST_VALUES:
        return False
    return bool(counted["fraction"].to_list()[0])


def counted_numbers(counter: RowCounter, outcome: str) -> bool | None:
    """Return whether outcomes are numbers on a scale, None where no row was counted that tells.

    They are where the first rows hold enough different numbers.
    """
    dtype = counter.table.collect_schema()[outcome]
    if not dtype.is_numeric():
        return False
    cube = counter.cube_with(outcome)
    if cube is not None:
        return are_numbers(cube.cells, outcome, dtype)
    look = counter.first([outcome])
    if look.are_all:
        return are_numbers(counter.table, outcome, dtype)
    distinct = look.distinct[outcome]
    if distinct > MOST_VALUES:
        return True
    if distinct >= LEAST_VALUES and outcome in look.fractions:
        return True
    return None


def holds_numbers(
    log: RecordedDecisions, positive: Any, sets: Callable[[], Sequence[tuple[str, ...]]]
) -> bool:
    """Return whether outcomes are numbers on a scale, of which none is said to be favourable.

    Where the first rows do not tell, the rows are counted as decisions are, which tells.
    """
    outcome = log.outcome
    if positive is not None or outcome not in log.columns:
        return False
    with suppress(EvenhandError):
        log.look(sets())
    known = counted_numbers(log.counter, outcome)
    if known is None:
        try:
            log.cells(sets())
        except UsageError:
            # Too many different outcomes are no mistake where they are numbers.
            if log.counter.cube_with(outcome) is None:
                raise
        known = counted_numbers(log.counter, outcome)
    return bool(known)


def judged_of(metric: Any, *, truth: bool) -> tuple[str, ...]:
    """Return the statistics that a limit is for.

    >>> judged_of("selection_rate", truth=False), judged_of("mean_error", truth=True)
    (('mean', 'median'), ('mean error',))
    """
    if isinstance(metric, str):
        names = (metric,)
    else:
        names = tuple(metric)
    if names == (DEFAULT_METRIC,):
        return OF_OUTCOMES
    found = []
    for name in names:
        if name not in METRICS:
            raise UsageError(
                f"metric = {clip(repr(name))} is not one of numbers; {nearest(name, METRICS)}"
            )
        if METRICS[name] in OF_ERRORS and not truth:
            raise UsageError(
                f"metric = {name!r} needs the true outcomes; name their column with truth"
            )
        found.append(METRICS[name])
    return tuple(found)


@dataclass(frozen=True, eq=False)
class NumberColumns:
    """The rows of a frame that have an outcome, and a truth where one is asked for."""

    outcome: str
    numbers: Floats
    errors: Floats | None
    codes: Mapping[str, NDArray[np.intp]]
    """The level of each row in each column, -1 where it is unknown."""
    levels: Mapping[str, tuple[Label, ...]]
    rows: int
    """How many rows there are in all."""
    notes: Sequence[str] = ()
    declared: Mapping[str, Sequence[Label]] = field(default_factory=dict)
    """Groups that are compared however few rows they have, by column."""
    words: Mapping[str, Words] = field(default_factory=dict)
    """What people call the values of the columns."""

    @property
    def space(self) -> Space:
        """The groups of all columns, as a space."""
        features = []
        for name, levels in self.levels.items():
            features.append(category(name, list(levels)))
        return Space(named_features(features, self.words), protected=list(self.levels))

    @property
    def unknown(self) -> dict[str, int]:
        """How many rows lack each column."""
        return {name: int((codes < 0).sum()) for name, codes in self.codes.items()}


def read_columns(
    table: Any,
    names: Sequence[str],
    outcome: str,
    *,
    truth: str | None = None,
    cuts: Mapping[str, Cuts] | None = None,
    declared: Mapping[str, Sequence[Label]] | None = None,
    is_unknown: Callable[[Label], bool] | None = None,
) -> NumberColumns:
    """Read the columns that are compared; `is_unknown` says which labels stand for no group."""
    import narwhals as nw

    cut_of = cuts or {}
    taken = []
    for name in names:
        if name in cut_of:
            column = cut_of[name].code().alias(name)
        else:
            column = nw.col(name)
        taken.append(column)
    # Under names of their own, since the truth may be a column that is also compared.
    taken.append(nw.col(outcome).cast(nw.Float64).alias(_OUTCOME))
    if truth is not None:
        taken.append(_truth_column(table, truth).alias(_TRUTH))
    frame = table.select(*taken).lazy().collect()
    rows = len(frame)
    numbers = _floats(frame[_OUTCOME])
    known = np.isfinite(numbers)
    if not known.any():
        raise DataError(
            f"column {outcome!r} is missing in all {rows:,} rows; there is no outcome to measure"
        )
    notes = _lost_notes(int((~known).sum()), rows, outcome)
    errors = None
    if truth is not None:
        errors = numbers - _floats(frame[_TRUTH])
        lacks_truth = known & ~np.isfinite(errors)
        notes += _lost_notes(int(lacks_truth.sum()), rows, truth)
        known &= ~lacks_truth
        errors = errors[known]
    codes = {}
    levels = {}
    for name in names:
        given = tuple((declared or {}).get(name, ()))
        found = _codes(frame[name], cut_of.get(name), given, is_unknown)
        codes[name] = found[0][known]
        levels[name] = found[1]
        if not levels[name]:
            raise DataError(f"column {name!r} has no value; there are no groups to compare")
    return NumberColumns(
        outcome, numbers[known], errors, codes, levels, rows, notes, declared or {}
    )


def _truth_column(table: Any, truth: str) -> Any:
    import narwhals as nw

    dtype = table.collect_schema()[truth]
    if not dtype.is_numeric():
        raise DataError(
            f"truth = {truth!r} does not hold numbers ({dtype}), which outcomes that are numbers"
            " need"
        )
    return nw.col(truth).cast(nw.Float64)


def _floats(column: Any) -> Floats:
    """Return a column as numbers, NaN where it is missing."""
    return np.asarray(number_column(column), dtype=np.float64)


def _lost_notes(lost: int, rows: int, name: str) -> list[str]:
    if not lost:
        return []
    return [
        f"{number_text.count(lost)} of {number_text.count(rows)} rows have no {name}; they are left"
        " out of everything"
    ]


def _codes(
    column: Any,
    cut: Cuts | None,
    given: tuple[Label, ...],
    is_unknown: Callable[[Label], bool] | None,
) -> tuple[NDArray[np.intp], tuple[Label, ...]]:
    """Return the level of each row, -1 where it is unknown, and all levels."""
    import pandas as pd

    values = column.to_list()
    objects = np.fromiter(values, dtype=object, count=len(values))
    places, uniques = pd.factorize(objects)
    labels: list[Label | None] = []
    for value in uniques:
        if cut is None:
            label = label_of(value)
        else:
            label = cut.label(int(value))
        unknown = is_unknown is not None and is_unknown(label)
        labels.append(None if unknown else label)
    present = [label for label in labels if label is not None]
    if cut is not None:
        numbers = sorted(int(value) for value in uniques)
        levels: tuple[Label, ...] = tuple(cut.label(code) for code in cut.codes(numbers))
    else:
        ordered = sorted(set(present), key=lambda label: (isinstance(label, str), label))
        all_levels = (*given, *declared_levels(column), *ordered)
        levels = tuple(dict.fromkeys(label_of(level) for level in all_levels))
    if is_unknown is not None:
        levels = tuple(level for level in levels if not is_unknown(level))
    place_of = {label: place for place, label in enumerate(levels)}
    # The last element stands for what is missing, which has the place -1.
    code_of = [-1 if label is None else place_of[label] for label in labels]
    codes = np.array([*code_of, -1], dtype=np.intp)
    return codes[places], levels


@dataclass(frozen=True, eq=False)
class RecordedTerms:
    """How recorded numbers are compared."""

    level: float
    limit: float | None = None
    units: str = "spread"
    support: float = SUPPORT
    metric: Any = DEFAULT_METRIC
    population: str = ""


@dataclass(eq=False)
class RecordedNumbers:
    """The groups of recorded numbers, and what is found of them."""

    columns: NumberColumns
    sets: Sequence[tuple[str, ...]]
    terms: RecordedTerms
    notes: list[str] = field(default_factory=list)
    left_out: list[dict[str, Any]] = field(default_factory=list)
    """The groups that are too small to be compared, as details hold them."""

    @property
    def spread(self) -> float:
        """The interquartile range of all outcomes."""
        return spread_of(self.columns.numbers)

    @property
    def details(self) -> dict[str, Any]:
        """What is known of the rows, as the details of a result hold it."""
        columns = self.columns
        return {
            "rows": columns.rows,
            "unknown": columns.unknown,
            "missing_outcomes": columns.rows - len(columns.numbers),
            "spread": self.spread,
            "support": float(self.terms.support),
            "left_out": self.left_out,
        }

    @property
    def judged(self) -> tuple[str, ...]:
        """The statistics that the limit is for."""
        return judged_of(self.terms.metric, truth=self.columns.errors is not None)

    def spending(self, besides: int = 0, limits_besides: int = 0) -> Spending:
        """Return where the error goes, with so many findings and limits `besides`."""
        statistics = len(OF_OUTCOMES)
        if self.columns.errors is not None:
            statistics += len(OF_ERRORS)
        limits = 0
        if self.terms.limit is not None:
            limits = len(self.sets) * len(self.judged)
        return Spending(limits + limits_besides, besides + len(self.sets) * statistics)

    def findings(self, spending: Spending | None = None) -> list[Finding]:
        """Return how far apart groups are, for each set and statistic.

        The error goes to them alone, or where `spending` says.
        """
        terms = self.terms
        judged = self.judged
        limit = limit_in_units(terms.limit, terms.units, self.spread)
        self.notes += [
            *self.columns.notes,
            *self._unknown_notes(),
            *limit_note(terms.limit, terms.units, self.spread),
        ]
        grouped = [self.grouped(names) for names in self.sets]
        assurance = Assurance(
            terms.level,
            population=terms.population,
            spending=spending or self.spending(),
        )
        findings = []
        for groups in grouped:
            for statistic in groups.statistics:
                held = limit if statistic in judged else None
                findings.append(groups.finding(statistic, assurance, held))
        return findings

    def _unknown_notes(self) -> list[str]:
        notes = []
        rows = number_text.count(len(self.columns.numbers))
        for name, unknown in self.columns.unknown.items():
            if unknown:
                notes.append(
                    f"{number_text.count(unknown)} of {rows} rows have no {name}; they are left"
                    f" out of the comparison by {name}"
                )
        return notes

    def grouped(self, names: tuple[str, ...]) -> NumberGroups:
        """Return the numbers by the groups of a set of columns."""
        columns = self.columns
        codes = np.array([columns.codes[name] for name in names])
        shape = [len(columns.levels[name]) for name in names]
        inside = (codes >= 0).all(axis=0)
        ids = np.ravel_multi_index(tuple(codes[:, inside]), shape)
        groups = Groups(columns.space, names)
        sizes = np.bincount(ids, minlength=len(groups))
        is_empty = sizes == 0
        listed = np.flatnonzero(~is_empty | (is_empty.sum() <= MOST_LISTED))
        if len(listed) > MOST_GROUPS:
            raise UsageError(
                f"{' and '.join(names)} make {number_text.count(len(listed))} groups, but at most"
                f" {number_text.count(MOST_GROUPS)} are compared; choose fewer columns, or give"
                " bins"
            )
        place_of = np.full(len(groups), -1)
        place_of[listed] = np.arange(len(listed))
        about = [groups.label(group) for group in listed.tolist()]
        is_small = sizes < self.terms.support * len(columns.numbers)
        is_small &= ~declared_groups(groups, columns.declared)
        is_small = is_small[listed]
        self._note_groups(names, about, sizes[listed], is_small)
        for at in np.flatnonzero(is_small).tolist():
            size = int(sizes[listed][at])
            self.left_out.append({"over": list(names), "about": about[at], "n": size})
        if columns.errors is None:
            errors = None
        else:
            errors = columns.errors[inside]
        return NumberGroups(
            names,
            about,
            columns.numbers[inside],
            place_of[ids],
            errors=errors,
            compared=~is_small,
            outcome=columns.outcome,
        )

    def _note_groups(
        self,
        names: tuple[str, ...],
        about: Sequence[Mapping[str, Label]],
        sizes: NDArray[np.intp],
        is_small: NDArray[np.bool_],
    ) -> None:
        """Note which groups are left out, and which make it impossible to pass."""
        texts = [group_text(labels) for labels in about]
        small = [texts[at] for at in np.flatnonzero(is_small)]
        if small:
            share = number_text.percent_plain(self.terms.support)
            shown = clip("; ".join(small[:MOST_LISTED]), 400)
            self.notes.append(
                f"under {share} of the rows, shown and left out of the comparison, and nothing is"
                f" decided of them: {shown}"
            )
        empty = []
        for at in np.flatnonzero(~is_small & (sizes == 0)):
            empty.append(texts[at])
        if empty:
            shown = clip("; ".join(empty), 400)
            self.notes.append(
                f"{len(empty)} groups of {' and '.join(names)} have no rows and could have any"
                f" {self.columns.outcome}, so the comparison cannot pass: {shown}"
            )
