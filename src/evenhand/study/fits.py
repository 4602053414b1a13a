"""Cases: what every model and method of a study told whom, split by split, from which any
comparison follows.
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

ORIGINAL = "original"
"""The name of a model without any mitigation, among the cases and in comparisons."""


class NothingToCompare(DataError):
    """A data set, protected column and model of which nothing can be compared; `reason` says why,
    without the place.
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
    """One fit: a method, or the original, trained on one split of one data set, and what it told
    the test rows.

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
    """What is known of a method of a study: its name there, its key and code in the catalogue, and
    when it acts.

    A method with `own` model was trained once for each protected column, not with each model, and
    has its own original.
    """

    name: str
    key: str
    code: str
    kind: str
    own: bool = False


@dataclass(frozen=True)
class TaskInfo:
    """What is known of a data set of a study: its labels, and the values of its protected columns,
    privileged first.

    `combinations` are those of the protected values, in the order of the tables.
    """

    name: str
    labels: tuple[Label, ...]
    positive: Label
    protected: Mapping[str, tuple[Label, Label]]
    combinations: tuple[tuple[Label, ...], ...]

    def frame(self, over: Sequence[str]) -> Frame:
        """Return what the axes of the tables stand for, where the groups by some protected columns
        are compared.
        """
        columns = {
            name: [one[at] for one in self.combinations] for at, name in enumerate(self.protected)
        }
        return Frame.of(self.labels, columns, over=[tuple(over)])


@dataclass(frozen=True)
class Cases:
    """What a study found so far: all its cases, and what is known of its data sets, models and
    methods.

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
        return tuple(
            (ground.name, column) for ground in self.tasks.values() for column in ground.protected
        )

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
        """How often each method failed on each data set, with its most frequent reason, in one
        sentence each.
        """
        names = [
            (case.model if case.method == ORIGINAL else case.method, case.task)
            for case in self.cases
        ]
        errors: dict[tuple[str, str], list[str]] = {}
        for name, case in zip(names, self.cases, strict=True):
            if case.error is not None:
                errors.setdefault(name, []).append(case.error)
        total = Counter(names)
        return tuple(
            f"{name[0]} failed in {len(said):,} of {total[name]:,} cases on {name[1]}: "
            f"{Counter(said).most_common(1)[0][0]}"
            for name, said in errors.items()
        )

    def trials(
        self,
        task: str,
        protected: str,
        model: str,
        methods: Sequence[str] | None = None,
        *,
        over: Sequence[str] | None = None,
    ) -> Trials:
        """Return what the original and methods for one protected column told, in the splits that
        all of them have.

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
        return self._chosen(task, protected, model, methods, over)[0]

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
        """Compare methods with the blind overwriting of their original; parameters as for `trials`
        and `compare`.
        """
        trials, notes = self._chosen(task, protected, model, methods, over)
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
        """Return one row for each case, as a pandas frame; `right` counts the test rows that were
        told their label.
        """
        import pandas as pd

        return pd.DataFrame(
            [
                {
                    "task": case.task,
                    "protected": case.protected,
                    "model": case.model,
                    "method": case.method,
                    "split": case.split,
                    "rows": None if case.counts is None else int(case.counts.sum()),
                    "right": (
                        None if case.counts is None else int(np.trace(case.counts.sum(axis=0)))
                    ),
                    "fit_seconds": case.fit_seconds,
                    "predict_seconds": case.predict_seconds,
                    "error": case.error,
                }
                for case in self.cases
            ]
        )

    @cached_property
    def _places(self) -> dict[tuple[str, str | None, str, str], dict[int, StudyCase]]:
        found: dict[tuple[str, str | None, str, str], dict[int, StudyCase]] = {}
        for case in self.cases:
            found.setdefault((case.task, case.protected, case.model, case.method), {})[
                case.split
            ] = case
        return found

    def _chosen(
        self,
        task: str,
        protected: str,
        model: str,
        methods: Sequence[str] | None,
        over: Sequence[str] | None,
    ) -> tuple[Trials, list[str]]:
        """Return the trials, and what is to be said of methods and splits that were left out."""
        ground = self._ground(task, protected)
        known = self._known(model)
        for name in methods if methods is not None else ():
            if name not in known:
                raise UsageError(
                    f"{clip(repr(name))} is no method of this study with {model};"
                    f" {nearest(name, known)}"
                )
        first = self._places.get((task, None, model, ORIGINAL)) or self._places.get(
            (task, protected, model, ORIGINAL)
        )
        told = {ORIGINAL: first or {}}
        told |= {
            name: self._places.get((task, protected, model, name), {}) for name in methods or known
        }
        sound = {
            name: {split: c for split, c in cases.items() if c.counts is not None}
            for name, cases in told.items()
        }
        notes = []
        for name, cases in told.items():
            if 2 * len(sound[name]) > len(cases):
                continue
            why = next(
                (str(case.error) for case in cases.values() if case.error), "no split is finished"
            )
            said = (
                f"{name} failed in {len(cases) - len(sound[name])} of {len(cases)} splits"
                if cases
                else name
            )
            if name == ORIGINAL or methods is not None:
                raise NothingToCompare(
                    task, protected, model, f"{said}, so there is nothing to compare: {why}"
                )
            notes.append(f"{said} and is left out: {why}")
            del sound[name]
        if len(sound) < 2:
            reason = f"no method succeeded; {'; '.join(notes) or 'there is none'}"
            raise NothingToCompare(task, protected, model, reason)
        shared = sorted(set.intersection(*(set(cases) for cases in sound.values())))
        if not shared:
            reason = f"there is no split in which all of {', '.join(sound)} succeeded"
            raise NothingToCompare(task, protected, model, reason)
        lost = set().union(*(told[name] for name in sound)) - set(shared)
        if lost:
            notes.append(
                f"{len(lost)} of {len(lost) + len(shared)} splits are left out, since a method"
                " failed in them"
            )
        tables = np.array(
            [[sound[name][split].counts for split in shared] for name in sound], dtype=np.float64
        )
        return Trials(tuple(sound), ground.frame(over or (protected,)), tables), notes

    def _ground(self, task: str, protected: str) -> TaskInfo:
        if task not in self.tasks:
            raise UsageError(
                f"{clip(repr(task))} is no data set of this study; {nearest(task, self.tasks)}"
            )
        ground = self.tasks[task]
        if protected not in ground.protected:
            raise UsageError(
                f"{clip(repr(protected))} is no protected column of {task};"
                f" {nearest(protected, ground.protected)}"
            )
        return ground

    def _known(self, model: str) -> list[str]:
        """Return the names of the methods that were run with a model."""
        own = [about.name for about in self.methods.values() if about.own]
        if model in own:
            return [model]
        if model not in self.models:
            raise UsageError(
                f"{clip(repr(model))} is no model of this study;"
                f" {nearest(model, [*self.models, *own])}"
            )
        return [about.name for about in self.methods.values() if not about.own]
