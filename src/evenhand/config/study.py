"""study.toml: which data sets, models and methods a study runs, and how it is judged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import datasets
from evenhand.config.file import imported
from evenhand.methods.compare.axes import as_bias, as_performance
from evenhand.mitigation.catalogue import METHODS
from evenhand.runtime.errors import ConfigError, MissingExtra, UsageError, clip, nearest
from evenhand.runtime.table_file import beside, read_frame
from evenhand.space.space_file import read_toml
from evenhand.study.models import MODELS, model
from evenhand.study.study import Entry, Model, Study, Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import pandas as pd

_TEXT, _WHOLE, _TEXTS = (
    ((str,), "a text"),
    ((int,), "a whole number"),
    ((str, list), "a text or a list of texts"),
)
_TABLE = ((dict,), "a table, such as { sex = 'male' }")
KEYS: dict[str, dict[str, tuple[tuple[type, ...], str]]] = {
    "study": {
        "store": _TEXT,
        "splits": _WHOLE,
        "test_size": ((int, float), "a number"),
        "seed": _WHOLE,
        "bias": _TEXTS,
        "performance": _TEXT,
        "missing": _TEXT,
    },
    "data": {
        "name": _TEXT,
        "from": _TEXT,
        "target": _TEXT,
        "positive": ((str, int, float, bool), "a label"),
        "protected": _TABLE,
        "drop": _TEXTS,
    },
    "models": {"name": _TEXT, "estimator": _TEXT},
    "methods": {"name": _TEXT, "as": _TEXT, "settings": _TABLE},
}
"""The tables of a study file, and what can be said in each."""
PAPER: dict[str, tuple[Any, dict[str, str]]] = {
    "adult": (">50K", {"sex": "Male", "race": "White"}),
    "compas": (0, {"sex": "Female", "race": "Caucasian"}),
    "german": (1, {"sex": "male"}),
}
"""The favourable label and the privileged values of the Fairea paper (Table 3)."""
_WOMEN = ("A92", "A95")
MISSING = ("refuse", "skip")


@dataclass(frozen=True)
class StudyFile:
    """A study as a file declares it: what is run, where it is kept, and the scores that it is
    judged by.
    """

    file: Path
    study: Study
    store: Path
    bias: tuple[str, ...] = ("spd", "aod")
    performance: str = "accuracy"

    def __post_init__(self) -> None:
        ground = self.study.tasks[0].ground
        frame = ground.frame(tuple(ground.protected)[:1])
        try:
            for name in self.bias:
                as_bias(name, frame, ground.positive)
            as_performance(self.performance, frame, ground.positive)
        except UsageError as error:
            raise ConfigError(f"{self.file}: [study]: {error}") from None

    def changed(
        self,
        *,
        store: str | PathLike[str] | None = None,
        splits: int | None = None,
        seed: int | None = None,
        bias: Sequence[str] | None = None,
        performance: str | None = None,
    ) -> StudyFile:
        """Return the same study with some of it said otherwise, as on a command line; None leaves
        it.
        """
        study = self.study
        return StudyFile(
            self.file,
            replace(
                study,
                splits=study.splits if splits is None else splits,
                seed=study.seed if seed is None else seed,
            ),
            self.store if store is None else Path(store),
            self.bias if bias is None else tuple(bias),
            self.performance if performance is None else performance,
        )


def read_study(path: str | PathLike[str] = "study.toml") -> StudyFile:
    """Read a study file and load its data; paths in it are relative to the folder it is in.

    >>> read_study("no/study.toml")
    Traceback (most recent call last):
    evenhand.runtime.errors.ConfigError: no/study.toml: there is no such file; check the path
    """
    file = Path(path)
    if not file.exists():
        raise ConfigError(f"{file}: there is no such file; {beside(file, ('.toml',))}")
    table = read_toml(file)
    _check(file, table)
    said = table.get("study", {})
    missing = said.get("missing", MISSING[0])
    if missing not in MISSING:
        raise ConfigError(
            f"{file}: [study] missing = {clip(repr(missing))}; {nearest(missing, MISSING)}"
        )
    models = [
        _model(f"{file}: [[models]] {number}", one, file.parent)
        for number, one in enumerate(table["models"], start=1)
    ]
    methods, notes = _methods(file, table["methods"], skip=missing == "skip")
    named = [one["name"] for one in table["models"] if "estimator" not in one]
    tasks = [
        _task(f"{file}: [[data]] {number}", one, file.parent, named)
        for number, one in enumerate(table["data"], start=1)
    ]
    settings = {key: said[key] for key in ("splits", "test_size", "seed") if key in said}
    try:
        study = Study(tasks, models, methods, **settings, notes=notes)
    except UsageError as error:
        raise ConfigError(f"{file}: {error}") from None
    store = file.parent / said.get("store", file.with_suffix(".sqlite").name)
    read = StudyFile(file, study, store)
    return read.changed(
        bias=_listed(said["bias"]) if "bias" in said else None, performance=said.get("performance")
    )


def _check(file: Path, table: Mapping[str, Any]) -> None:
    """Refuse tables and keys that there are not, and values of another kind."""
    for name in table:
        if name not in KEYS:
            raise ConfigError(f"{file}: unknown table [{name}]; {nearest(name, KEYS)}")
    for name, keys in KEYS.items():
        if name == "study":
            parts = [("[study]", table.get("study", {}))]
        else:
            given = table.get(name, [])
            if not isinstance(given, list) or not given:
                raise ConfigError(f"{file}: has no [[{name}]] table; a study needs at least one")
            parts = [(f"[[{name}]] {number}", part) for number, part in enumerate(given, start=1)]
        for where, part in parts:
            if not isinstance(part, dict):
                raise ConfigError(f"{file}: {where} is {clip(repr(part))}; write it as a table")
            for key, value in part.items():
                if key not in keys:
                    raise ConfigError(
                        f"{file}: {where} has an unknown key {key!r}; {nearest(key, keys)}"
                    )
                types, wanted = keys[key]
                texts = list not in types or all(isinstance(one, str) for one in _listed(value))
                if (
                    not isinstance(value, types)
                    or (isinstance(value, bool) and bool not in types)
                    or not texts
                ):
                    raise ConfigError(
                        f"{file}: {where} has {key} = {clip(repr(value))}; it must be {wanted}"
                    )


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _methods(
    file: Path, tables: Sequence[Mapping[str, Any]], *, skip: bool
) -> tuple[list[Entry], list[str]]:
    """Return the methods, and which were left out because a library is not installed."""
    found, notes = [], []
    for number, table in enumerate(tables, start=1):
        where = f"{file}: [[methods]] {number}"
        key = table.get("name")
        if key not in METHODS:
            raise ConfigError(f"{where} has name = {clip(repr(key))}; {nearest(key, METHODS)}")
        try:
            entry = Entry(table.get("as", key), key=key, settings=table.get("settings", {}))
            entry.check()
        except MissingExtra as error:
            if not skip:
                raise MissingExtra(f"{where}: the method {key!r}", METHODS[key].extra) from error
            notes.append(f"{table.get('as', key)} was skipped: {error}")
            continue
        except UsageError as error:
            raise ConfigError(f"{where}: {error}") from None
        found.append(entry)
    if not found:
        raise ConfigError(f"{file}: no method of [[methods]] can run here; {notes[0]}")
    return found, notes


def _model(where: str, table: Mapping[str, Any], folder: Path) -> Model:
    if "estimator" not in table:
        name = table.get("name")
        if name not in MODELS:
            more = ', or estimator = "package.module:function" that makes one'
            raise ConfigError(
                f"{where} has name = {clip(repr(name))}; {nearest(name, MODELS)}{more}"
            )
        return Model(name, model(name))
    make = imported(f"{where} estimator", table["estimator"], folder)
    try:
        made = make()
    except Exception as error:
        raise ConfigError(
            f"{where}: {table['estimator']}() raised {type(error).__name__}: {clip(str(error))}"
        ) from error
    if not hasattr(made, "fit") or not hasattr(made, "predict"):
        raise ConfigError(
            f"{where}: {table['estimator']}() gave {clip(repr(made))}, which has no fit and predict"
        )
    return Model(table.get("name", table["estimator"].rpartition(":")[2]), made)


def _task(where: str, table: Mapping[str, Any], folder: Path, models: Sequence[str]) -> Task:
    name, frame, target, positive, privileged = _loaded(where, table, folder)
    drop = _listed(table.get("drop", []))
    for what, column in [("target", target), *(("drop", column) for column in drop)]:
        if column not in frame.columns:
            raise ConfigError(
                f"{where} has {what} = {column!r}, no column; {nearest(column, frame.columns)}"
            )
    inputs = frame.drop(columns=[target, *drop])
    gaps = [column for column in inputs.select_dtypes("number") if inputs[column].isna().any()]
    if gaps and models:
        number = int(inputs[gaps[0]].isna().sum())
        raise ConfigError(
            f"{where}: column {gaps[0]!r} is missing in {number:,} of {len(inputs):,} rows, which"
            f" {models[0]} cannot take; fill them in, or name the column in drop"
        )
    try:
        return Task(name, inputs, frame[target].to_numpy(), positive, privileged)
    except UsageError as error:
        raise ConfigError(f"{where}: {error}") from None


def _loaded(
    where: str, table: Mapping[str, Any], folder: Path
) -> tuple[str, pd.DataFrame, str, Any, Mapping[str, Any]]:
    """Return name, frame, target, favourable label and privileged values of a data set."""
    if "from" in table:
        for key in ("target", "positive", "protected"):
            if key not in table:
                raise ConfigError(
                    f"{where} has from = {table['from']!r} and no {key!r}; say it, too"
                )
        frame = read_frame(folder / table["from"])
        name = table.get("name", Path(table["from"]).name.partition(".")[0])
        return name, frame, table["target"], table["positive"], table["protected"]
    if "name" not in table:
        raise ConfigError(f'{where} has neither name = "german" nor from = "loans.csv"')
    name = table["name"]
    try:
        found = datasets.load(name)
    except UsageError as error:
        raise ConfigError(f"{where}: {error}") from None
    positive, privileged = PAPER.get(name, (found.positive, {}))
    frame = found.frame
    if name == "german":
        sex = np.where(frame["personal_status_sex"].isin(_WOMEN), "female", "male")
        frame = frame.drop(columns="personal_status_sex").assign(sex=sex)
    chosen = table.get("protected", privileged)
    if not chosen:
        raise ConfigError(
            f"{where} has no 'protected': the privileged value of each protected column"
        )
    return name, frame, table.get("target", found.target), table.get("positive", positive), chosen
