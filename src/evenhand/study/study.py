"""Studies: data sets × models × methods × splits, run in parallel, kept as they go, and resumed.

A study is what the Fairea paper ran (section 5.4): each method on each data set, for each protected
column, with each model, on many random splits. A model is fitted once for each split and shared by
all protected columns and by all methods that act on its answers; a method with a model of its own
is trained without any other, and is compared with itself where it does not mitigate.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import asdict, dataclass
from importlib import metadata
from typing import TYPE_CHECKING, Any

from evenhand.mitigation.catalogue import METHODS
from evenhand.results.document import versions
from evenhand.runtime import number_text
from evenhand.runtime.budget import Budget, Meter
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.fingerprint import fingerprint
from evenhand.runtime.options import checked_keywords
from evenhand.runtime.progress import progress_bar
from evenhand.runtime.random_streams import stream
from evenhand.runtime.workers import Streaming
from evenhand.study.entries import Model, StudyMethod
from evenhand.study.fits import ORIGINAL, Cases, MethodInfo, StudyCase, TaskInfo
from evenhand.study.store import Key, Store
from evenhand.study.tasks import Task
from evenhand.study.units import KeptCase, Work, cases_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from os import PathLike

__all__ = ["Cases", "Model", "Study", "StudyCase", "StudyMethod", "Task", "load", "run"]

Kind = tuple[str, str]
"""A data set and a model: their units take about the same time."""


@dataclass(frozen=True, eq=False)
class Study:
    """What is to be run: every method on every data set, with every model, on random splits.

    >>> Study([], [], [])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: a study needs at least one data set
    """

    tasks: Sequence[Task]
    models: Sequence[Model]
    methods: Sequence[StudyMethod]
    splits: int = 50
    test_size: float = 0.3
    seed: int = 0
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("tasks", "models", "methods", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        self._check_parts()
        _check_whole_number("splits", self.splits)
        _check_share("test_size", self.test_size)
        stream(self.seed)

    def _check_parts(self) -> None:
        """Raise an error for parts that are missing or share a name."""
        if not self.tasks:
            raise UsageError("a study needs at least one data set")
        if not self.methods:
            raise UsageError("a study needs at least one method")
        if not self.models and not all(method.info.own for method in self.methods):
            raise UsageError(
                "a study needs at least one model for methods that have none of their own"
            )
        _check_names("data set", [task.name for task in self.tasks])
        # Models and methods share one set of names: both are rows or columns of the same tables.
        names = [ORIGINAL]
        names += [model.name for model in self.models]
        names += [method.name for method in self.methods]
        _check_names("model or method", names)

    @property
    def units(self) -> list[Key]:
        """Every unit of work, the first splits first.

        A unit is a data set, a model (or a method with its own) and a split.
        """
        own = [method.name for method in self.methods if method.info.own]
        models = []
        if len(own) < len(self.methods):
            models = [model.name for model in self.models]
        return _units_of_splits(
            [task.name for task in self.tasks], [*models, *own], self.splits
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What makes two studies the same but for the number of splits, as JSON holds it."""
        tasks = {}
        for task in self.tasks:
            tasks[task.name] = {**asdict(task.info), "digest": task.digest}
        models = {}
        for model in self.models:
            models[model.name] = {"digest": fingerprint(model.estimator)}
        methods = {}
        for method in self.methods:
            methods[method.name] = {**asdict(method.info), "digest": method.digest}
        return {
            "seed": self.seed,
            "test_size": self.test_size,
            "data sets": tasks,
            "models": models,
            "methods": methods,
            "versions": versions() | self._versions_of_libraries(),
        }

    def _versions_of_libraries(self) -> dict[str, str]:
        """Return the versions of the libraries that the methods of the catalogue need."""
        libraries: set[str] = set()
        for method in self.methods:
            if method.key in METHODS:
                libraries.update(METHODS[method.key].modules)
        return {library: _version(library) for library in sorted(libraries)}


@checked_keywords
def run(
    study: Study,
    store: str | PathLike[str] | None = None,
    *,
    n_jobs: int = 1,
    progress: bool | None = None,
) -> Cases:
    """Run a study, or what is left of it, and return all its cases.

    Parameters
    ----------
    store
        The SQLite file in which each unit is kept as soon as it is finished. A study that is run
        again with its store goes on where it was, and with more splits it runs those that are new.
        None keeps nothing.
    n_jobs
        How many workers; each uses one thread. The cases are the same for any number.
    progress
        Whether to draw a bar with the time left; by default if standard error is a terminal.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> frame = pd.DataFrame({"sex": [0, 1] * 50, "age": range(100)})
    >>> task = Task("ages", frame, frame["age"] > 40 + 20 * frame["sex"], True, {"sex": 0})
    >>> models = [Model("DT", DecisionTreeClassifier())]
    >>> study = Study([task], models, [StudyMethod("reweighing")], splits=3)
    >>> cases = run(study)
    >>> len(cases.cases), cases.failed, cases.comparison("ages", "sex", "DT").runs
    (6, (), 3)
    """
    if not isinstance(study, Study):
        raise UsageError(
            f"study = {clip(repr(study))} is not a Study; write Study(tasks, models, methods)"
        )
    for method in study.methods:
        method.check()
    facts = study.facts
    if store is None:
        found = _run(study, None, n_jobs, progress=progress)
        return _cases(facts, study.splits, found, study.notes)
    with Store(store, facts) as kept:
        found = _run(study, kept, n_jobs, progress=progress)
        return _cases(facts, study.splits, found, study.notes)


def load(path: str | PathLike[str]) -> Cases:
    """Return the cases of a store as far as its study got, without running anything."""
    with Store(path) as store:
        facts = store.facts
        own = [name for name, info in facts["methods"].items() if info["own"]]
        models = [*facts["models"], *own]
        found: dict[Key, list[KeptCase]] = {}
        split = 0
        # A store does not know how many splits its study has: look until all units are found.
        while len(found) < len(store):
            units = _units_of_split(facts["data sets"], models, split)
            found.update(store.finished(units))
            split += 1
    return _cases(facts, split, found)


def _units_of_splits(tasks: Sequence[str], models: Sequence[str], splits: int) -> list[Key]:
    units = []
    for split in range(splits):
        units += _units_of_split(tasks, models, split)
    return units


def _units_of_split(tasks: Iterable[str], models: Sequence[str], split: int) -> list[Key]:
    units = []
    for task in tasks:
        for model in models:
            units.append((task, model, split))
    return units


def _run(
    study: Study, store: Store | None, n_jobs: int, *, progress: bool | None
) -> dict[Key, list[KeptCase]]:
    """Return the cases of all units, of which only those that the store lacks are run."""
    units = study.units
    found: dict[Key, list[KeptCase]] = {}
    if store is not None:
        found = store.finished(units)
    left = _small_last(study, [unit for unit in units if unit not in found])
    with Streaming(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter = Meter(Budget(), hook)
        width = min(workers.width, max(len(left), 1))
        _report(meter, found, units, width)
        for unit, cases in workers.each(Work(study), left):
            # Kept at once: a study that is killed loses no finished unit.
            if store is not None:
                store.keep(unit, cases)
            found[unit] = cases
            _report(meter, found, units, width)
    # Units finish in any order; the cases come in the order of the study.
    return {unit: found[unit] for unit in units}


def _report(
    meter: Meter, found: Mapping[Key, list[KeptCase]], units: Sequence[Key], width: int
) -> None:
    if meter.hook is None:
        return
    share, note = _progress(found, units, width)
    meter.report("study", share, note)


def _small_last(study: Study, units: Sequence[Key]) -> list[Key]:
    """Return units in their order, but those of the last quarter by falling size of the data set.

    A large unit that starts last would leave all other workers waiting for it.
    """
    rows = {task.name: len(task.labels) for task in study.tasks}
    cut = len(units) - len(units) // 4
    last_quarter = sorted(units[cut:], key=lambda unit: -rows[unit[0]])
    return [*units[:cut], *last_quarter]


def _progress(
    found: Mapping[Key, list[KeptCase]], units: Sequence[Key], width: int
) -> tuple[float, str]:
    """Return the share of the work that is done, and a note with the time left.

    Units of the same data set and model are expected to take equally long; those of which none is
    finished yet, the mean of the others.
    """
    spent: dict[Kind, float] = defaultdict(float)
    for unit, cases in found.items():
        for case in cases:
            spent[_kind(unit)] += _seconds(case)
    finished = Counter(_kind(unit) for unit in found)
    total = Counter(_kind(unit) for unit in units)
    note = f"{len(found):,} of {len(units):,} fits of a model"
    if not finished:
        return 0.0, note
    seconds_each = {kind: spent[kind] / finished[kind] for kind in finished}
    usual_seconds = sum(seconds_each.values()) / len(seconds_each)
    seconds_left = 0.0
    for kind in total:
        units_left = total[kind] - finished[kind]
        seconds_left += units_left * seconds_each.get(kind, usual_seconds)
    seconds_spent = sum(spent.values())
    share = seconds_spent / ((seconds_spent + seconds_left) or 1.0)
    if seconds_left:
        note += f", {number_text.duration(seconds_left / width)} left"
    return share, note


def _kind(unit: Key) -> Kind:
    task, model, _ = unit
    return task, model


def _seconds(case: KeptCase) -> float:
    _, _, _, fit_seconds, predict_seconds, _ = case
    return float(fit_seconds + predict_seconds)


def _cases(
    facts: Mapping[str, Any],
    splits: int,
    found: Mapping[Key, list[KeptCase]],
    notes: Sequence[str] = (),
) -> Cases:
    """Return what a study found from its facts and what was kept of its units."""
    tasks = {name: _task_info(table) for name, table in facts["data sets"].items()}
    methods = {name: _method_info(table) for name, table in facts["methods"].items()}
    cases: list[StudyCase] = []
    for unit, kept in found.items():
        info = tasks[unit[0]]
        shape = (len(info.combinations), len(info.labels), len(info.labels))
        cases += cases_of(unit, kept, shape)
    return Cases(
        tasks=tasks,
        models=tuple(facts["models"]),
        methods=methods,
        splits=splits,
        test_size=facts["test_size"],
        seed=facts["seed"],
        cases=tuple(cases),
        notes=tuple(notes),
    )


def _task_info(table: Mapping[str, Any]) -> TaskInfo:
    protected = {}
    for column, (privileged, other) in table["protected"].items():
        protected[column] = (privileged, other)
    return TaskInfo(
        name=table["name"],
        labels=tuple(table["labels"]),
        positive=table["positive"],
        protected=protected,
        combinations=tuple(map(tuple, table["combinations"])),
    )


def _method_info(table: Mapping[str, Any]) -> MethodInfo:
    fields = {key: value for key, value in table.items() if key != "digest"}
    return MethodInfo(**fields)


def _check_names(what: str, names: Sequence[str]) -> None:
    for name, times in Counter(names).items():
        if not isinstance(name, str) or not name.strip():
            raise UsageError(
                f"{clip(repr(name))} is not the name of a {what}; give it a text"
            )
        if times == 1:
            continue
        if name == ORIGINAL:
            raise UsageError(
                f"{name!r} cannot name a {what}: it is the name of a model without any method;"
                " choose another name"
            )
        raise UsageError(
            f"{name!r} names more than one {what}; give each a name of its own"
        )


def _check_whole_number(option: str, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise UsageError(
            f"{option} = {clip(repr(value))} must be a whole number of 1 or more"
        )


def _check_share(option: str, value: Any) -> None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if not is_number or not 0 < value < 1:
        raise UsageError(
            f"{option} = {clip(repr(value))} must lie between 0 and 1, for example 0.3"
        )


def _version(module: str) -> str:
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return "unknown"
