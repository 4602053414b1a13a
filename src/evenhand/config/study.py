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
from evenhand.runtime.errors import (
    ConfigError,
    MissingExtra,
    SubjectCrashed,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.options import (
    LABEL,
    NUMBER,
    TABLE,
    TEXT,
    TEXTS,
    WHOLE,
    Option,
    Options,
)
from evenhand.runtime.table_file import beside, read_frame
from evenhand.space.space_file import read_toml
from evenhand.study.models import MODELS, model
from evenhand.study.study import Model, Study, StudyMethod, Task

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    import pandas as pd

_TEXTS_WANTED = "a text or a list of texts"
_TABLE_WANTED = "a table, such as { sex = 'male' }"
STUDY_TABLE = Options.of(
    Option("store", TEXT, "where results are kept, so that a killed study goes on"),
    Option("splits", WHOLE, "how often each data set is split"),
    Option("test_size", NUMBER, "the share of rows that are tested on"),
    Option("seed", WHOLE, "the seed of the splits"),
    Option("bias", TEXTS, "biases to judge by", wanted=_TEXTS_WANTED),
    Option("performance", TEXT, "the performance to judge by"),
    Option(
        "missing", TEXT, "what to do where a library is missing", choices=("refuse", "skip")
    ),
)
"""What can be set in the [study] table."""
LISTED_TABLES = {
    "data": Options.of(
        Option("name", TEXT, "a data set of evenhand, or what to call that of the file"),
        Option("from", TEXT, "a file of rows"),
        Option("target", TEXT, "the column of true outcomes"),
        Option("positive", LABEL, "the favourable outcome"),
        Option(
            "protected", TABLE, "the privileged value of each column", wanted=_TABLE_WANTED
        ),
        Option("drop", TEXTS, "columns that are no inputs", wanted=_TEXTS_WANTED),
    ),
    "models": Options.of(
        Option("name", TEXT, "a model of evenhand, or what to call that of the user"),
        Option("estimator", TEXT, "a function that makes an estimator"),
    ),
    "methods": Options.of(
        Option("name", TEXT, "a mitigation method"),
        Option("as", TEXT, "what to call it"),
        Option("settings", TABLE, "its settings", wanted=_TABLE_WANTED),
    ),
}
"""What can be set in the tables that a study has one or more of, such as [[data]]."""
PAPER: dict[str, tuple[Any, dict[str, str]]] = {
    "adult": (">50K", {"sex": "Male", "race": "White"}),
    "compas": (0, {"sex": "Female", "race": "Caucasian"}),
    "german": (1, {"sex": "male"}),
}
"""The favourable label and the privileged values of the Fairea paper (Table 3)."""
_WOMEN = ("A92", "A95")
"""The codes of women in the German credit data, which hold the marital status as well."""


@dataclass(frozen=True)
class StudyFile:
    """A study as a file declares it: what is run, where it is kept, and how it is judged."""

    file: Path
    study: Study
    store: Path
    bias: tuple[str, ...] = ("spd", "aod")
    performance: str = "accuracy"

    def __post_init__(self) -> None:
        # Refuse unknown scores now: the first data set is enough to know them.
        ground = self.study.tasks[0].info
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
        """Return the study with some settings replaced, as by a command line; None keeps one."""
        study = self.study
        if splits is not None:
            study = replace(study, splits=splits)
        if seed is not None:
            study = replace(study, seed=seed)
        return StudyFile(
            file=self.file,
            study=study,
            store=self.store if store is None else Path(store),
            bias=self.bias if bias is None else tuple(bias),
            performance=self.performance if performance is None else performance,
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
    _check_tables(file, table)
    settings = table.get("study", {})
    study = _study(file, table, settings)
    store_name = settings.get("store", file.with_suffix(".sqlite").name)
    declared = StudyFile(file, study, file.parent / store_name)
    bias = _listed(settings["bias"]) if "bias" in settings else None
    return declared.changed(bias=bias, performance=settings.get("performance"))


def _study(file: Path, table: Mapping[str, Any], settings: Mapping[str, Any]) -> Study:
    """Return what is run: every method with every model on every data set."""
    folder = file.parent
    models = []
    for number, entry in enumerate(table["models"], start=1):
        models.append(_model(f"{file}: [[models]] {number}", entry, folder))
    skip_missing = settings.get("missing") == "skip"
    methods, notes = _methods(file, table["methods"], skip=skip_missing)
    # Models of evenhand cannot take missing numbers; those of the user may.
    own_models = [entry["name"] for entry in table["models"] if "estimator" not in entry]
    tasks = []
    for number, entry in enumerate(table["data"], start=1):
        tasks.append(_task(f"{file}: [[data]] {number}", entry, folder, own_models))
    sampling = {
        key: settings[key] for key in ("splits", "test_size", "seed") if key in settings
    }
    try:
        return Study(tasks, models, methods, **sampling, notes=notes)
    except UsageError as error:
        raise ConfigError(f"{file}: {error}") from None


def _check_tables(file: Path, table: Mapping[str, Any]) -> None:
    """Refuse tables and keys that are unknown, and values of another kind."""
    names = ("study", *LISTED_TABLES)
    for name in table:
        if name not in names:
            raise ConfigError(f"{file}: unknown table [{name}]; {nearest(name, names)}")
    _check_table(f"{file}: [study]", table.get("study", {}), STUDY_TABLE)
    for name, options in LISTED_TABLES.items():
        entries = table.get(name, [])
        if not isinstance(entries, list) or not entries:
            raise ConfigError(
                f"{file}: has no [[{name}]] table; a study needs at least one"
            )
        for number, entry in enumerate(entries, start=1):
            _check_table(f"{file}: [[{name}]] {number}", entry, options)


def _check_table(where: str, table: Any, options: Options) -> None:
    if not isinstance(table, dict):
        raise ConfigError(f"{where} is {clip(repr(table))}; write it as a table")
    try:
        options.check(table, where)
    except UsageError as error:
        raise ConfigError(str(error)) from None


def _listed(value: Any) -> list[Any]:
    """Return a list as it is, and any other value as the only one of a list."""
    if isinstance(value, list):
        return value
    return [value]


def _methods(
    file: Path, tables: Sequence[Mapping[str, Any]], *, skip: bool
) -> tuple[list[StudyMethod], list[str]]:
    """Return the methods, and notes on those that are left out since a library is missing."""
    entries = []
    notes = []
    for number, table in enumerate(tables, start=1):
        where = f"{file}: [[methods]] {number}"
        key = table.get("name")
        if key not in METHODS:
            raise ConfigError(
                f"{where} has name = {clip(repr(key))}; {nearest(key, METHODS)}"
            )
        name = table.get("as", key)
        try:
            entry = StudyMethod(name, key=key, settings=table.get("settings", {}))
            entry.check()
        except MissingExtra as error:
            if not skip:
                raise MissingExtra(
                    f"{where}: the method {key!r}", METHODS[key].extra
                ) from error
            notes.append(f"{name} was skipped: {error}")
            continue
        except UsageError as error:
            raise ConfigError(f"{where}: {error}") from None
        entries.append(entry)
    if not entries:
        raise ConfigError(f"{file}: no method of [[methods]] can run here; {notes[0]}")
    return entries, notes


def _model(where: str, table: Mapping[str, Any], folder: Path) -> Model:
    if "estimator" not in table:
        name = table.get("name")
        if name not in MODELS:
            raise ConfigError(
                f"{where} has name = {clip(repr(name))}; {nearest(name, MODELS)}, or name a"
                ' function that makes one with estimator = "package.module:function"'
            )
        return Model(name, model(name))
    place = table["estimator"]
    make = imported(f"{where} estimator", place, folder)
    try:
        with exits_reported(f"{where}: {place}()"):
            estimator = make()
    except SubjectCrashed:
        raise
    except Exception as error:
        raise ConfigError(
            f"{where}: {place}() raised {type(error).__name__}: {clip(str(error))}"
        ) from error
    if not hasattr(estimator, "fit") or not hasattr(estimator, "predict"):
        raise ConfigError(
            f"{where}: {place}() returned {clip(repr(estimator))}, which has no fit and predict"
        )
    function_name = place.rpartition(":")[2]
    return Model(table.get("name", function_name), estimator)


def _task(
    where: str, table: Mapping[str, Any], folder: Path, models: Sequence[str]
) -> Task:
    data = _loaded(where, table, folder)
    frame = data.frame
    dropped = _listed(table.get("drop", []))
    _need_column(where, "target", data.target, frame)
    for column in dropped:
        _need_column(where, "drop", column, frame)
    inputs = frame.drop(columns=[data.target, *dropped])
    if models:
        _refuse_gaps(where, inputs, models[0])
    labels = frame[data.target].to_numpy()
    try:
        return Task(data.name, inputs, labels, data.positive, data.privileged)
    except UsageError as error:
        raise ConfigError(f"{where}: {error}") from None


def _need_column(where: str, key: str, column: str, frame: pd.DataFrame) -> None:
    if column not in frame.columns:
        raise ConfigError(
            f"{where} has {key} = {column!r}, which is not a column;"
            f" {nearest(column, frame.columns)}"
        )


def _refuse_gaps(where: str, inputs: pd.DataFrame, model_name: str) -> None:
    """Refuse missing numbers, which the models of evenhand cannot take."""
    for column in inputs.select_dtypes("number"):
        missing = int(inputs[column].isna().sum())
        if missing:
            raise ConfigError(
                f"{where}: column {column!r} is missing in {missing:,} of {len(inputs):,} rows,"
                f" which {model_name} cannot take; fill them in, or name the column in drop"
            )


@dataclass(frozen=True)
class _LoadedData:
    """A data set as it is studied."""

    name: str
    frame: pd.DataFrame
    target: str
    positive: Any
    """The favourable label."""
    privileged: Mapping[str, Any]
    """The privileged value of each protected column."""


def _loaded(where: str, table: Mapping[str, Any], folder: Path) -> _LoadedData:
    """Return the data of a file, or a data set of evenhand by its name."""
    if "from" in table:
        return _loaded_file(where, table, folder)
    if "name" not in table:
        raise ConfigError(f'{where} has neither name = "german" nor from = "loans.csv"')
    name = table["name"]
    try:
        dataset = datasets.load(name)
    except UsageError as error:
        raise ConfigError(f"{where}: {error}") from None
    positive, privileged = PAPER.get(name, (dataset.positive, {}))
    frame = dataset.frame
    if name == "german":
        # The paper studies the sex alone, which the data hold together with the marital status.
        is_woman = frame["personal_status_sex"].isin(_WOMEN)
        sex = np.where(is_woman, "female", "male")
        frame = frame.drop(columns="personal_status_sex").assign(sex=sex)
    protected = table.get("protected", privileged)
    if not protected:
        raise ConfigError(
            f"{where} has no 'protected': the privileged value of each protected column"
        )
    return _LoadedData(
        name=name,
        frame=frame,
        target=table.get("target", dataset.target),
        positive=table.get("positive", positive),
        privileged=protected,
    )


def _loaded_file(where: str, table: Mapping[str, Any], folder: Path) -> _LoadedData:
    for key in ("target", "positive", "protected"):
        if key not in table:
            raise ConfigError(
                f"{where} has from = {table['from']!r} and no {key!r}; add it"
            )
    path = Path(table["from"])
    stem = path.name.partition(".")[0]
    return _LoadedData(
        name=table.get("name", stem),
        frame=read_frame(folder / path),
        target=table["target"],
        positive=table["positive"],
        privileged=table["protected"],
    )
