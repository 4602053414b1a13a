"""Trials: what an original and some mitigations predicted, in one run or several, on one test set or on their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.contingency import Frame, array, coded, columns_of
from evenhand.methods.compare.metrics.scores import Bias, check_defined
from evenhand.runtime.errors import DataError, clip, nearest

if TYPE_CHECKING:
    from evenhand.methods.compare.contingency import Codes, Floats

FEW = 30
"""Groups with fewer rows than this are told of."""


@dataclass(frozen=True)
class Rows:
    """One test set for all: the combination and the true label of each row, and predictions by name, run and row."""

    combination: Codes
    truth: Codes
    predicted: Codes


@dataclass(frozen=True)
class Trials:
    """Tables by name and run, the original first; `rows` are those behind them where all runs share one test set."""

    names: tuple[str, ...]
    frame: Frame
    tables: Floats
    rows: Rows | None = None

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
        apart = _is_runs(y_true)
        truths = [array(one, "y_true") for one in (y_true if apart else [y_true])]
        told = {name: _runs(name, value) for name, value in outcomes.items()}
        runs = len(truths) if apart else max(len(value) for value in told.values())
        for name, value in told.items():
            if len(value) == 1 and not apart:
                told[name] = value * runs
            elif len(value) != runs:
                raise DataError(f"{clip(repr(name))} has {len(value)} runs and there are {runs}; give as many of each")
        columns = _columns(protected, len(truths), apart=apart)
        _check_lengths(truths, told, columns)
        labels = _labels(truths, told)
        names = list(columns[0])
        every = {name: np.concatenate([part[name] for part in columns]) for name in names}
        frame = Frame.of(labels, every, over=over, support=support)
        place = [
            frame.place(part) if names else np.zeros(len(t), np.intp) for part, t in zip(columns, truths, strict=True)
        ]
        truth = [frame.column(one, "y_true") for one in truths]
        codes = {name: [frame.column(one, clip(repr(name))) for one in value] for name, value in told.items()}
        tables = np.array(
            [
                [frame.table(frame.cells(place[run * apart], truth[run * apart], one)) for run, one in enumerate(value)]
                for value in codes.values()
            ]
        )
        rows = None if apart else Rows(place[0], truth[0], np.array(list(codes.values())))
        return cls(tuple(told), frame, tables, rows)

    def check(self, bias: Any) -> None:
        """Refuse an original that tells everyone the same, and a bias that is undefined for some group."""
        told = self.tables[0].sum(axis=(0, 1, 2))
        if (told > 0).sum() == 1:
            only = self.frame.labels[int(np.argmax(told))]
            raise DataError(
                f"the original {self.names[0]!r} predicts {only!r} for everyone, so it has neither bias nor "
                f"performance to give up; take a model that tells people apart"
            )
        for run in range(self.runs):
            where = f" in run {run}" if self.runs > 1 else ""
            check_defined(bias, self.tables[0, run], f"the test set{where}")

    def notes(self, bias: Any) -> list[str]:
        """Return what a reader must know of small groups."""
        if not isinstance(bias, Bias):
            return []
        found = []
        for grouping in self.frame.groupings:
            sizes = grouping.fold(self.tables[0].mean(axis=0)).sum(axis=(-2, -1))
            if (sizes < FEW).any():
                least = int(np.argmin(sizes))
                found.append(
                    f"{grouping.label(least)} has {sizes[least]:.0f} rows: its rates, and so the bias, are rough"
                )
            at = [self.frame.names.index(name) for name in grouping.names]
            pairs = zip(self.frame.combinations, grouping.of, strict=True)
            if left := {tuple(each[place] for place in at) for each, group in pairs if group < 0}:
                found.append(f"{' and '.join(grouping.names)}: {len(left)} small groups were left out")
        return found


def _is_runs(value: Any) -> bool:
    """Return whether this is a list of columns, and not a column."""
    if not isinstance(value, list | tuple) or not value:
        return False
    first = value[0]
    return hasattr(first, "__len__") and not isinstance(first, str | bytes)


def _runs(name: str, value: Any) -> list[Any]:
    if isinstance(value, np.ndarray) and value.ndim == 2:
        value = list(value)
    return [array(one, clip(repr(name))) for one in (value if _is_runs(value) else [value])]


def _columns(protected: Any, runs: int, *, apart: bool) -> list[dict[str, Any]]:
    if protected is None:
        return [{}] * runs
    if not apart:
        return [columns_of(protected)]
    given = protected if isinstance(protected, Sequence) and not isinstance(protected, str) else None
    if given is None or len(given) != runs:
        said = f"{len(given)} runs" if given is not None else "one run"
        raise DataError(f"y_true has {runs} runs and protected {said}; give the protected columns of each run")
    found = [columns_of(one) for one in given]
    for run, part in enumerate(found):
        if set(part) != set(found[0]):
            raise DataError(f"run {run} has the protected columns {', '.join(part)}, run 0 {', '.join(found[0])}")
    return found


def _check_lengths(truths: list[Any], told: Mapping[str, list[Any]], columns: list[dict[str, Any]]) -> None:
    apart = len(truths) > 1
    for run, truth in enumerate(truths):
        where = f" in run {run}" if apart else ""
        if not len(truth):
            raise DataError(f"y_true has no rows{where}; give it the true labels of the test set")
        told_here = [(name, one) for name, value in told.items() for one in (value[run : run + 1] if apart else value)]
        for what, column in [
            *((f"the protected column {name!r}", column) for name, column in columns[run].items()),
            *((clip(repr(name)), one) for name, one in told_here),
        ]:
            if len(column) != len(truth):
                raise DataError(
                    f"{what} has {len(column):,} rows and y_true {len(truth):,}{where}; give one value for each row"
                )


def _labels(truths: list[Any], told: Mapping[str, list[Any]]) -> tuple[Any, ...]:
    """Return all labels; one that only a mitigation uses is taken for a slip."""
    truth = _levels(truths, "y_true")
    each = {name: _levels(value, clip(repr(name))) for name, value in told.items()}
    labels = coded([*truth, *next(iter(each.values()))], "y_true")[1]
    for name, own in each.items():
        for label in own:
            if label not in labels or not set(own) & set(truth):
                raise DataError(
                    f"{clip(repr(name))} predicts {clip(repr(label))}, no true label; {nearest(label, truth)}"
                )
    return labels


def _levels(columns: list[Any], what: str) -> list[Any]:
    """Return the different labels of some columns."""
    where = [f" in run {run}" if len(columns) > 1 else "" for run in range(len(columns))]
    found = [coded(column, f"{what}{run}")[1] for column, run in zip(columns, where, strict=True)]
    return list(dict.fromkeys(label for each in found for label in each))
