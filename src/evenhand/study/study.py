"""Studies: data sets × models × methods × splits, in parallel, kept as they go, and resumed where
they were.

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
from evenhand.runtime.budget import Budget, Meter, progress_bar
from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.fingerprint import fingerprint
from evenhand.runtime.options import checked_keywords
from evenhand.runtime.random_streams import stream
from evenhand.runtime.workers import Streaming
from evenhand.study.entries import Entry, Model
from evenhand.study.fits import ORIGINAL, About, Case, Cases, Ground
from evenhand.study.store import Key, Store
from evenhand.study.tasks import Task
from evenhand.study.units import Found, Work, cases_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

__all__ = ["Case", "Cases", "Entry", "Model", "Study", "Task", "load", "run"]


@dataclass(frozen=True, eq=False)
class Study:
    """What is to be run: every method on every data set, with every model, on so many random
    splits.

    >>> Study([], [], [])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: a study needs at least one data set
    """

    tasks: Sequence[Task]
    models: Sequence[Model]
    methods: Sequence[Entry]
    splits: int = 50
    test_size: float = 0.3
    seed: int = 0
    notes: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in ("tasks", "models", "methods", "notes"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        for what, parts in (("data set", self.tasks), ("method", self.methods)):
            if not parts:
                raise UsageError(f"a study needs at least one {what}")
        if not self.models and not all(entry.about.own for entry in self.methods):
            raise UsageError(
                "a study needs at least one model for methods that have none of their own"
            )
        _check_names("data set", [task.name for task in self.tasks])
        named = [*(one.name for one in self.models), *(one.name for one in self.methods)]
        _check_names("model or method", [ORIGINAL, *named])
        if isinstance(self.splits, bool) or not isinstance(self.splits, int) or self.splits < 1:
            raise UsageError(
                f"splits = {clip(repr(self.splits))} must be a whole number of 1 or more"
            )
        number = isinstance(self.test_size, int | float) and not isinstance(self.test_size, bool)
        if not number or not 0 < self.test_size < 1:
            raise UsageError(
                f"test_size = {clip(repr(self.test_size))} must lie between 0 and 1, for"
                " example 0.3"
            )
        stream(self.seed)

    @property
    def units(self) -> list[Key]:
        """Every unit of work: a data set, a model (or a method with its own) and a split, the first
        splits first.
        """
        own = [entry.name for entry in self.methods if entry.about.own]
        models = [model.name for model in self.models] if len(own) < len(self.methods) else []
        return [
            (t.name, name, split)
            for split in range(self.splits)
            for t in self.tasks
            for name in (*models, *own)
        ]

    @property
    def facts(self) -> dict[str, Any]:
        """What makes two studies the same but for the number of splits, as JSON holds it."""
        used = {
            part
            for entry in self.methods
            if entry.key in METHODS
            for part in METHODS[entry.key].modules
        }
        return {
            "seed": self.seed,
            "test_size": self.test_size,
            "data sets": {t.name: {**asdict(t.ground), "digest": t.digest} for t in self.tasks},
            "models": {one.name: {"digest": fingerprint(one.estimator)} for one in self.models},
            "methods": {
                one.name: {**asdict(one.about), "digest": one.digest} for one in self.methods
            },
            "versions": versions() | {name: _version(name) for name in sorted(used)},
        }


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
    >>> study = Study([task], [Model("DT", DecisionTreeClassifier())], [Entry("reweighing")], splits=3)
    >>> cases = run(study)
    >>> len(cases.cases), cases.failed, cases.comparison("ages", "sex", "DT").runs
    (6, (), 3)
    """
    if not isinstance(study, Study):
        raise UsageError(
            f"study = {clip(repr(study))} is no Study; write Study(tasks, models, methods)"
        )
    for entry in study.methods:
        entry.check()
    if store is None:
        return _cases(
            study.facts, study.splits, _run(study, None, n_jobs, progress=progress), study.notes
        )
    with Store(store, study.facts) as kept:
        return _cases(
            study.facts, study.splits, _run(study, kept, n_jobs, progress=progress), study.notes
        )


def load(path: str | PathLike[str]) -> Cases:
    """Return the cases of a store as far as its study got, without running anything."""
    with Store(path) as store:
        facts = store.facts
        found: dict[Key, list[Found]] = {}
        own = [name for name, about in facts["methods"].items() if about["own"]]
        split = 0
        while len(found) < len(store):
            units = [
                (task, name, split)
                for task in facts["data sets"]
                for name in (*facts["models"], *own)
            ]
            found.update(store.finished(units))
            split += 1
    return _cases(facts, split, found)


def _run(
    study: Study, store: Store | None, n_jobs: int, *, progress: bool | None
) -> dict[Key, list[Found]]:
    units = study.units
    found: dict[Key, list[Found]] = store.finished(units) if store is not None else {}
    left = _small_last(study, [unit for unit in units if unit not in found])
    with Streaming(n_jobs) as workers, progress_bar(show=progress) as hook:
        meter, width = Meter(Budget(), hook), min(workers.width, max(len(left), 1))
        _report(meter, found, units, width)
        for unit, cases in workers.each(Work(study), left):
            if store is not None:
                store.keep(unit, cases)
            found[unit] = cases
            _report(meter, found, units, width)
    return {unit: found[unit] for unit in units}


def _report(
    meter: Meter, found: Mapping[Key, list[Found]], units: Sequence[Key], width: int
) -> None:
    if meter.hook is not None:
        meter.report("study", *_progress(found, units, width))


def _small_last(study: Study, units: Sequence[Key]) -> list[Key]:
    """Return units as they come, but small ones last of the last quarter, so that no worker waits
    for a large one.
    """
    rows = {task.name: len(task.labels) for task in study.tasks}
    cut = len(units) - len(units) // 4
    return [*units[:cut], *sorted(units[cut:], key=lambda unit: -rows[unit[0]])]


def _progress(
    found: Mapping[Key, list[Found]], units: Sequence[Key], width: int
) -> tuple[float, str]:
    """Return the share of the work that is done, and a note with the time left; like units take
    equally long.
    """
    spent: dict[tuple[str, str], float] = defaultdict(float)
    for unit, cases in found.items():
        spent[unit[:2]] += sum(case[3] + case[4] for case in cases)
    number, total = Counter(unit[:2] for unit in found), Counter(unit[:2] for unit in units)
    each = {kind: spent[kind] / number[kind] for kind in number}
    usual = sum(each.values()) / len(each) if each else 0.0
    left = sum((total[kind] - number[kind]) * each.get(kind, usual) for kind in total)
    share = sum(spent.values()) / ((sum(spent.values()) + left) or 1.0)
    note = f"{len(found):,} of {len(units):,} fits of a model"
    return share, f"{note}, {number_text.duration(left / width)} left" if each and left else note


def _cases(
    facts: Mapping[str, Any],
    splits: int,
    found: Mapping[Key, list[Found]],
    notes: Sequence[str] = (),
) -> Cases:
    grounds = {name: _ground(one) for name, one in facts["data sets"].items()}
    shapes = {
        name: (len(one.combinations), len(one.labels), len(one.labels))
        for name, one in grounds.items()
    }
    abouts = {name: _about(one) for name, one in facts["methods"].items()}
    cases = tuple(
        case for unit, kept in found.items() for case in cases_of(unit, kept, shapes[unit[0]])
    )
    size, seed = facts["test_size"], facts["seed"]
    return Cases(grounds, tuple(facts["models"]), abouts, splits, size, seed, cases, tuple(notes))


def _ground(table: Mapping[str, Any]) -> Ground:
    pairs = {column: (pair[0], pair[1]) for column, pair in table["protected"].items()}
    combinations = tuple(tuple(one) for one in table["combinations"])
    return Ground(table["name"], tuple(table["labels"]), table["positive"], pairs, combinations)


def _about(table: Mapping[str, Any]) -> About:
    return About(**{key: value for key, value in table.items() if key != "digest"})


def _check_names(what: str, names: Sequence[str]) -> None:
    for name, times in Counter(names).items():
        if not isinstance(name, str) or not name.strip():
            raise UsageError(f"{clip(repr(name))} is no name of a {what}; give it a text")
        if times > 1:
            also = " (the name of a model without any method)" if name == ORIGINAL else ""
            raise UsageError(
                f"{name!r}{also} names more than one {what}; give each a name of its own"
            )


def _version(module: str) -> str:
    try:
        return metadata.version(module)
    except metadata.PackageNotFoundError:
        return "unknown"
