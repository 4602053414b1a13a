"""Predictions as tables of counts, for each name and run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare import messages
from evenhand.methods.compare.columns import array, coded, columns_of, protected_column
from evenhand.methods.compare.contingency import Frame, values_of
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError, clip, nearest

if TYPE_CHECKING:
    from evenhand.methods.compare.contingency import Codes, Floats, Grouping

FEW = 30
"""Groups with fewer rows than this get a note."""


@dataclass(frozen=True)
class SharedTestSet:
    """One test set for all runs.

    It holds the combination and the true label of each row, and predictions by name, run and row.
    """

    combination: Codes
    truth: Codes
    predicted: Codes


@dataclass(frozen=True)
class Trials:
    """Tables by name and run, the original first.

    `rows` are those behind the tables where all runs share one test set.
    """

    names: tuple[str, ...]
    frame: Frame
    tables: Floats
    rows: SharedTestSet | None = None

    @property
    def runs(self) -> int:
        """How many runs there are."""
        return int(self.tables.shape[1])

    @classmethod
    def of(
        cls,
        outcomes: Mapping[str, Any],
        y_true: Any,
        protected: Any,
        *,
        over: Any = None,
        support: float = 0.0,
    ) -> Trials:
        """Count predictions, of which the first are those of the original.

        >>> trials = Trials.of({"original": [0, 1], "other": [1, 1]}, [0, 1], ["f", "m"])
        >>> trials.tables.shape, trials.runs
        ((2, 1, 2, 2, 2), 1)
        """
        separate = _is_runs(y_true)
        columns_of_truth = y_true if separate else [y_true]
        truths = [array(column, "y_true") for column in columns_of_truth]
        predictions = _predictions(outcomes, len(truths) if separate else None)
        columns = _protected_columns(protected, len(truths), separate=separate)
        _check_lengths(truths, predictions, columns)
        frame = _frame(truths, predictions, columns, over, support)
        combinations = []
        for truth, run_columns in zip(truths, columns, strict=True):
            if frame.names:
                combinations.append(frame.place(run_columns))
            else:
                combinations.append(np.zeros(len(truth), np.intp))
        true_codes = [frame.column(truth, "y_true") for truth in truths]
        predicted_codes = {}
        for name, runs in predictions.items():
            column = clip(repr(name))
            predicted_codes[name] = [frame.column(predicted, column) for predicted in runs]
        tables = _tables(frame, combinations, true_codes, predicted_codes)
        rows = None
        if not separate:
            predicted = np.array(list(predicted_codes.values()))
            rows = SharedTestSet(combinations[0], true_codes[0], predicted)
        return cls(tuple(predictions), frame, tables, rows)

    def check_original(self) -> None:
        """Refuse an original that predicts the same label for everyone."""
        predicted = self.tables[0].sum(axis=(0, 1, 2))
        if (predicted > 0).sum() == 1:
            only = self.frame.labels[int(np.argmax(predicted))]
            message = messages.CONSTANT_ORIGINAL.format(
                name=repr(self.names[0]), label=repr(only)
            )
            raise DataError(message)

    def of_original(self) -> list[tuple[str, Floats]]:
        """Return the table of the original in each run, and what messages call its rows."""
        found = []
        for run in range(self.runs):
            test_set = messages.TEST_SET
            if self.runs > 1:
                test_set = messages.TEST_SET_IN_RUN.format(run=run)
            found.append((test_set, self.tables[0, run]))
        return found

    def notes_on_groups(self) -> list[str]:
        """Return what a reader must know of small groups."""
        notes = []
        for grouping in self.frame.groupings:
            mean_table = self.tables[0].mean(axis=0)
            sizes = grouping.fold(mean_table).sum(axis=(-2, -1))
            if (sizes < FEW).any():
                smallest = int(np.argmin(sizes))
                note = messages.SMALL_GROUP.format(
                    group=grouping.label(smallest),
                    rows=f"{sizes[smallest]:.0f}",
                )
                notes.append(note)
            if left_out := self._groups_left_out(grouping):
                note = messages.GROUPS_LEFT_OUT.format(
                    features=" and ".join(grouping.names),
                    number=left_out,
                )
                notes.append(note)
        return notes

    def _groups_left_out(self, grouping: Grouping) -> int:
        """Return how many groups of a grouping have too few rows."""
        places = [self.frame.names.index(name) for name in grouping.names]
        groups = set()
        for combination in grouping.left_out:
            groups.add(values_of(self.frame.combinations[combination], places))
        return len(groups)


def _is_runs(value: Any) -> bool:
    """Return whether this is a list of columns, and not a column."""
    if not isinstance(value, list | tuple) or not value:
        return False
    first = value[0]
    return hasattr(first, "__len__") and not isinstance(first, str | bytes)


def _predictions(
    outcomes: Mapping[str, Any],
    test_sets: int | None,
) -> dict[str, list[Any]]:
    """Return the columns of each run by name, as many of each.

    `test_sets` is None where all runs share one; then a single column stands for every run.
    """
    predictions = {name: _runs(name, value) for name, value in outcomes.items()}
    runs = test_sets
    if runs is None:
        runs = max(len(columns) for columns in predictions.values())
    for name, columns in predictions.items():
        if len(columns) == 1 and test_sets is None:
            predictions[name] = columns * runs
        elif len(columns) != runs:
            message = messages.NUMBER_OF_RUNS.format(
                name=clip(repr(name)),
                number=len(columns),
                runs=runs,
            )
            raise DataError(message)
    return predictions


def _runs(name: str, value: Any) -> list[Any]:
    """Return the predictions of each run."""
    if isinstance(value, np.ndarray) and value.ndim == 2:
        value = list(value)
    columns = value if _is_runs(value) else [value]
    return [array(column, clip(repr(name))) for column in columns]


def _protected_columns(
    protected: Any,
    runs: int,
    *,
    separate: bool,
) -> list[dict[str, Any]]:
    """Return the protected columns by name, for each test set."""
    if protected is None:
        return [{}] * runs
    if not separate:
        return [columns_of(protected)]
    if not isinstance(protected, Sequence) or isinstance(protected, str):
        raise DataError(messages.PROTECTED_OF_ONE_RUN.format(runs=runs))
    if len(protected) != runs:
        message = messages.PROTECTED_RUNS.format(
            runs=runs,
            number=len(protected),
        )
        raise DataError(message)
    found = [columns_of(columns) for columns in protected]
    for run, columns in enumerate(found):
        if set(columns) != set(found[0]):
            message = messages.OTHER_PROTECTED_COLUMNS.format(
                run=run,
                names=", ".join(columns),
                first=", ".join(found[0]),
            )
            raise DataError(message)
    return found


def _check_lengths(
    truths: list[Any],
    predictions: Mapping[str, list[Any]],
    columns: list[dict[str, Any]],
) -> None:
    """Refuse columns that do not have one value for each true label."""
    several = len(truths) > 1
    for test_set, truth in enumerate(truths):
        run = test_set if several else None
        if not len(truth):
            raise DataError(_no_rows(run))
        for name, column in columns[test_set].items():
            _check_length(protected_column(name), column, truth, run)
        for name, runs in predictions.items():
            on_test_set = [runs[test_set]] if several else runs
            for column in on_test_set:
                _check_length(clip(repr(name)), column, truth, run)


def _no_rows(run: int | None) -> str:
    if run is None:
        return messages.NO_TRUE_LABELS
    return messages.NO_TRUE_LABELS_IN_RUN.format(run=run)


def _check_length(
    name: str,
    column: Any,
    truth: Any,
    run: int | None,
) -> None:
    if len(column) == len(truth):
        return
    rows = number_text.count(len(column))
    true_rows = number_text.count(len(truth))
    if run is None:
        message = messages.LENGTHS.format(
            column=name,
            rows=rows,
            true_rows=true_rows,
        )
        raise DataError(message)
    message = messages.LENGTHS_IN_RUN.format(
        column=name, rows=rows, true_rows=true_rows, run=run
    )
    raise DataError(message)


def _frame(
    truths: list[Any],
    predictions: Mapping[str, list[Any]],
    columns: list[dict[str, Any]],
    over: Any,
    support: float,
) -> Frame:
    """Return the frame of all test sets together."""
    labels = _labels(truths, predictions)
    together = {}
    for name in columns[0]:
        of_runs = [run_columns[name] for run_columns in columns]
        together[name] = np.concatenate(of_runs)
    return Frame.of(labels, together, over=over, support=support)


def _labels(
    truths: list[Any],
    predictions: Mapping[str, list[Any]],
) -> tuple[Any, ...]:
    """Return all labels; one that only a mitigation uses is taken for a slip."""
    true_labels = _different_labels(truths, "y_true")
    labels_by_name = {}
    for name, columns in predictions.items():
        labels_by_name[name] = _different_labels(columns, clip(repr(name)))
    of_original = next(iter(labels_by_name.values()))
    _, labels = coded([*true_labels, *of_original], "y_true")
    for name, own_labels in labels_by_name.items():
        # Labels none of which is a true one are most likely of another type, such as "1" for 1.
        shares_none = not set(own_labels) & set(true_labels)
        for label in own_labels:
            if label not in labels or shares_none:
                message = messages.NOT_A_TRUE_LABEL.format(
                    name=clip(repr(name)),
                    label=clip(repr(label)),
                    choices=nearest(label, true_labels),
                )
                raise DataError(message)
    return labels


def _different_labels(columns: list[Any], name: str) -> list[Any]:
    """Return the different labels of some columns."""
    labels: dict[Any, None] = {}
    for run, values in enumerate(columns):
        column = name
        if len(columns) > 1:
            column = messages.COLUMN_IN_RUN.format(column=name, run=run)
        _, column_labels = coded(values, column)
        labels.update(dict.fromkeys(column_labels))
    return list(labels)


def _tables(
    frame: Frame,
    combinations: Sequence[Codes],
    truths: Sequence[Codes],
    predictions: Mapping[str, Sequence[Codes]],
) -> Floats:
    """Return the table of each name and run."""
    tables = []
    for columns in predictions.values():
        of_runs = []
        for run, predicted in enumerate(columns):
            test_set = run if len(truths) > 1 else 0
            cells = frame.cells(combinations[test_set], truths[test_set], predicted)
            of_runs.append(frame.table(cells))
        tables.append(of_runs)
    return np.array(tables)
