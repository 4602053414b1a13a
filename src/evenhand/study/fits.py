"""Cases: what every model and method of a study predicted, split by split.

Any comparison follows from them.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.compare.compare import compare_trials
from evenhand.methods.compare.contingency import Frame
from evenhand.methods.compare.trials import Trials
from evenhand.runtime.errors import DataError, UsageError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.space.feature import Label

CaseKey = tuple[str, str | None, str, str]
"""The data set, the protected column, the model and the method of a case."""
ORIGINAL = "original"
"""The name of a model without any mitigation, among the cases and in comparisons."""


class NothingToCompare(DataError):
    """Nothing can be compared for a data set, protected column and model.

    `reason` says why, without the place.
    """

    def __init__(self, task: str, protected: str, model: str, reason: str) -> None:
        super().__init__(f"{task}, {protected}, {model}: {reason}")
        self.place = (task, protected, model)
        self.reason = reason

    def __reduce__(self) -> tuple[type[NothingToCompare], tuple[str, str, str, str]]:
        # An error that does not unpickle takes the whole pool of workers down with it.
        return NothingToCompare, (*self.place, self.reason)


@dataclass(frozen=True)
class StudyCase:
    """One fit: a method, or the original, trained on one split, and its predictions.

    `protected` is the column whose groups the method treats alike; it is None for the original of a
    model, which all columns share. `model` is the name of the model inside, or of the method itself
    where that has a model of its own. `counts` is the table of the test rows by combination of all
    protected columns, true and predicted label; it is None where the method failed, and `error`
    says why in one sentence.
    """

    task: str
    protected: str | None
    model: str
    method: str
    split: int
    counts: NDArray[np.int64] | None = field(compare=False)
    fit_seconds: float = field(compare=False)
    predict_seconds: float = field(compare=False)
    error: str | None = None


@dataclass(frozen=True)
class MethodInfo:
    """What is known of a method of a study.

    Its name there, its key and code in the catalogue, and when it acts. A method with `own` model
    was trained once for each protected column, not with each model, and has its own original.
    """

    name: str
    key: str
    code: str
    kind: str
    own: bool = False


@dataclass(frozen=True)
class TaskInfo:
    """What is known of a data set of a study.

    Its labels, and the values of its protected columns, the privileged one first. `combinations`
    are those of the protected values, in the order of the tables.
    """

    name: str
    labels: tuple[Label, ...]
    positive: Label
    protected: Mapping[str, tuple[Label, Label]]
    combinations: tuple[tuple[Label, ...], ...]

    def frame(self, over: Sequence[str]) -> Frame:
        """Return what the axes of the tables stand for, with groups by some protected columns."""
        columns = {}
        for place, name in enumerate(self.protected):
            columns[name] = [combination[place] for combination in self.combinations]
        return Frame.of(self.labels, columns, over=[tuple(over)])


@dataclass(frozen=True)
class _Chosen:
    """The cases of the original and of methods at one place, by name and then by split."""

    all: dict[str, dict[int, StudyCase]]
    sound: dict[str, dict[int, StudyCase]]
    """Those of them that have counts."""


@dataclass(frozen=True)
class Cases:
    """What a study found so far: all its cases, and its data sets, models and methods.

    `tasks` and `methods` are by name, in the order of the study.
    """

    tasks: Mapping[str, TaskInfo]
    models: tuple[str, ...]
    methods: Mapping[str, MethodInfo]
    splits: int
    test_size: float
    seed: int
    cases: tuple[StudyCase, ...] = field(repr=False)
    notes: tuple[str, ...] = ()

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """Every data set with every protected column of it, as ("adult", "sex")."""
        pairs = []
        for info in self.tasks.values():
            for column in info.protected:
                pairs.append((info.name, column))
        return tuple(pairs)

    @property
    def seconds(self) -> float:
        """The seconds that all fits and predictions took together, and nothing else."""
        return float(sum(case.fit_seconds + case.predict_seconds for case in self.cases))

    @property
    def failed(self) -> tuple[StudyCase, ...]:
        """The cases in which a method, or an original, failed."""
        return tuple(case for case in self.cases if case.error is not None)

    @property
    def failures(self) -> tuple[str, ...]:
        """How often each method failed on each data set, with its most frequent reason."""
        total: Counter[tuple[str, str]] = Counter()
        errors: dict[tuple[str, str], list[str]] = {}
        for case in self.cases:
            name = case.model if case.method == ORIGINAL else case.method
            key = (name, case.task)
            total[key] += 1
            if case.error is not None:
                errors.setdefault(key, []).append(case.error)
        sentences = []
        for key, reasons in errors.items():
            name, task = key
            most_frequent, _ = Counter(reasons).most_common(1)[0]
            sentences.append(
                f"{name} failed in {len(reasons):,} of {total[key]:,} cases on {task}: "
                f"{most_frequent}"
            )
        return tuple(sentences)

    def trials(
        self,
        task: str,
        protected: str,
        model: str,
        methods: Sequence[str] | None = None,
        *,
        over: Sequence[str] | None = None,
    ) -> Trials:
        """Return the predictions of the original and of methods, in the splits that all have.

        Parameters
        ----------
        model
            The name of a model, or of a method that has a model of its own.
        methods
            Their names; by default all that succeeded in most splits.
        over
            The protected columns whose groups are compared; by default the column that the methods
            act on.
        """
        trials, _ = self._trials_and_notes(task, protected, model, methods, over)
        return trials

    def comparison(
        self,
        task: str,
        protected: str,
        model: str,
        bias: Any = "spd",
        performance: Any = "accuracy",
        methods: Sequence[str] | None = None,
        *,
        over: Sequence[str] | None = None,
        overwrite: str = "tightest",
        level: float = 0.95,
    ) -> Comparison:
        """Compare methods with the blind overwriting of their original.

        Parameters are those of `trials` and of `compare`.
        """
        trials, notes = self._trials_and_notes(task, protected, model, methods, over)
        found = compare_trials(
            trials,
            bias=bias,
            performance=performance,
            positive=self.tasks[task].positive,
            overwrite=overwrite,
            level=level,
            test_size=self.test_size,
            seed=self.seed,
        )
        return replace(found, notes=(*found.notes, *notes))

    def to_frame(self) -> Any:
        """Return one row for each case, as a pandas frame.

        The column `right` counts the test rows whose label was predicted.
        """
        import pandas as pd

        rows = []
        for case in self.cases:
            number = None
            right = None
            if case.counts is not None:
                number = int(case.counts.sum())
                # Predictions are right on the diagonal of true and predicted label.
                right = int(np.trace(case.counts.sum(axis=0)))
            row = {
                "task": case.task,
                "protected": case.protected,
                "model": case.model,
                "method": case.method,
                "split": case.split,
                "rows": number,
                "right": right,
                "fit_seconds": case.fit_seconds,
                "predict_seconds": case.predict_seconds,
                "error": case.error,
            }
            rows.append(row)
        return pd.DataFrame(rows)

    @cached_property
    def _by_place(self) -> dict[CaseKey, dict[int, StudyCase]]:
        """The cases of each place and method, by split."""
        found: dict[CaseKey, dict[int, StudyCase]] = {}
        for case in self.cases:
            key = (case.task, case.protected, case.model, case.method)
            found.setdefault(key, {})[case.split] = case
        return found

    def _trials_and_notes(
        self,
        task: str,
        protected: str,
        model: str,
        methods: Sequence[str] | None,
        over: Sequence[str] | None,
    ) -> tuple[Trials, list[str]]:
        """Return the trials, and a note for each method and for the splits that are left out."""
        info = self._task_info(task, protected)
        known = self._methods_with(model)
        for name in methods if methods is not None else ():
            if name not in known:
                raise UsageError(
                    f"{clip(repr(name))} is not a method of this study with {model};"
                    f" {nearest(name, known)}"
                )
        place = (task, protected, model)
        chosen = self._chosen_cases(place, methods or known)
        notes = _without_failing_methods(chosen, place, asked=methods is not None)
        if len(chosen.sound) < 2:
            reason = f"no method succeeded; {'; '.join(notes) or 'there is none'}"
            raise NothingToCompare(*place, reason)
        shared_splits = _shared_splits(chosen)
        if not shared_splits:
            reason = (
                f"there is no split in which all of {', '.join(chosen.sound)} succeeded"
            )
            raise NothingToCompare(*place, reason)
        notes += _notes_on_lost_splits(chosen, shared_splits)
        tables = []
        for cases in chosen.sound.values():
            tables.append([cases[split].counts for split in shared_splits])
        frame = info.frame(over or (protected,))
        counts = np.array(tables, dtype=np.float64)
        return Trials(tuple(chosen.sound), frame, counts), notes

    def _chosen_cases(self, place: tuple[str, str, str], methods: Sequence[str]) -> _Chosen:
        """Return the cases of the original and of methods at one place."""
        task, protected, model = place
        # All columns share the original of a model; a method with a model of its own has one for
        # each column.
        original = self._by_place.get((task, None, model, ORIGINAL))
        if not original:
            original = self._by_place.get((task, protected, model, ORIGINAL), {})
        found = {ORIGINAL: original}
        for name in methods:
            found[name] = self._by_place.get((task, protected, model, name), {})
        sound = {}
        for name, cases in found.items():
            sound[name] = {
                split: case for split, case in cases.items() if case.counts is not None
            }
        return _Chosen(found, sound)

    def _task_info(self, task: str, protected: str) -> TaskInfo:
        if task not in self.tasks:
            raise UsageError(
                f"{clip(repr(task))} is not a data set of this study; {nearest(task, self.tasks)}"
            )
        info = self.tasks[task]
        if protected not in info.protected:
            raise UsageError(
                f"{clip(repr(protected))} is not a protected column of {task};"
                f" {nearest(protected, info.protected)}"
            )
        return info

    def _methods_with(self, model: str) -> list[str]:
        """Return the names of the methods that were run with a model."""
        own = [info.name for info in self.methods.values() if info.own]
        if model in own:
            return [model]
        if model not in self.models:
            raise UsageError(
                f"{clip(repr(model))} is not a model of this study;"
                f" {nearest(model, [*self.models, *own])}"
            )
        return [info.name for info in self.methods.values() if not info.own]


def _without_failing_methods(
    chosen: _Chosen, place: tuple[str, str, str], *, asked: bool
) -> list[str]:
    """Take methods that failed in half of the splits or more from `sound`; return notes on them.

    Where the original failed, or a method that was `asked` for by name, that is an error.
    """
    notes = []
    for name, cases in chosen.all.items():
        number_sound = len(chosen.sound[name])
        if 2 * number_sound > len(cases):
            continue
        reasons = [str(case.error) for case in cases.values() if case.error]
        reason = reasons[0] if reasons else "no split is finished"
        if cases:
            failure = f"{name} failed in {len(cases) - number_sound} of {len(cases)} splits"
        else:
            failure = name
        if name == ORIGINAL or asked:
            raise NothingToCompare(
                *place, f"{failure}, so there is nothing to compare: {reason}"
            )
        notes.append(f"{failure} and is left out: {reason}")
        del chosen.sound[name]
    return notes


def _shared_splits(chosen: _Chosen) -> list[int]:
    """Return the splits in which the original and all methods succeeded."""
    splits_of_each = [set(cases) for cases in chosen.sound.values()]
    return sorted(set.intersection(*splits_of_each))


def _notes_on_lost_splits(chosen: _Chosen, shared_splits: Sequence[int]) -> list[str]:
    """Return a note on the splits in which some method failed, if there are any."""
    splits: set[int] = set()
    for name in chosen.sound:
        splits.update(chosen.all[name])
    lost = len(splits - set(shared_splits))
    if not lost:
        return []
    total = lost + len(shared_splits)
    return [f"{lost} of {total} splits are left out, since a method failed in them"]
