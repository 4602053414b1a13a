"""The [repair] table of evenhand.toml: what is trained again, on which rows, and how."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.config.file import imported
from evenhand.methods.repair import REPAIR
from evenhand.population.source import need_columns
from evenhand.runtime.budget import Budget
from evenhand.runtime.errors import (
    ConfigError,
    DataError,
    MissingExtra,
    SubjectCrashed,
    UsageError,
    clip,
    nearest,
)
from evenhand.runtime.interruption import exits_reported
from evenhand.runtime.table_file import read_frame
from evenhand.space.frames.reading import check_missing, eager
from evenhand.space.rule import Rule
from evenhand.subject.options import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from evenhand.config.file import Config
    from evenhand.space.space import Space

_STOPPING = ("steps", "tolerance", "limit", "level")
"""When a repair stops, and what it accepts."""
OF_TEXTS = (
    "estimator",
    "fit",
    "target",
    "method",
    "output",
    "positive",
    "rule",
    "test",
    "validate",
    "refit",
    *_STOPPING,
)
"""The keys that can be used where there is a [texts] table."""
PASSED = (
    "method",
    "add",
    "patience",
    "validate",
    "draws",
    "support",
    "refit",
    *_STOPPING,
)
"""The keys that are passed to `repair` as they are written."""
MODELS = (".skops", ".joblib", ".pkl", ".pickle")
"""The kinds of file that a model is written to."""
_WHAT_TO_TRAIN = (
    'name what to train with [repair] estimator = "package.module:function", a function that makes'
    ' an estimator, or with [repair] fit = "package.module:function", a function that takes X and y'
    " and returns a model"
)


@dataclass(frozen=True)
class RepairFile:
    """A repair as a file declares it: what is trained, on which rows, and where the model goes."""

    estimator: Any
    inputs: Any
    """Rows as a frame, or a list of texts."""
    truth: Any
    settings: dict[str, Any]
    """Further arguments of `repair`."""
    data: Path
    output: Path | None = None
    notes: Sequence[str] = ()


def read_repair(config: Config, given: Mapping[str, Any]) -> RepairFile:
    """Return the repair that a configuration declares, with the options of the command line.

    >>> from evenhand.config.file import Config
    >>> config = Config(Path("evenhand.toml"), {"repair": {"metod": "augment"}})
    >>> read_repair(config, {})  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    evenhand.runtime.errors.ConfigError: evenhand.toml: [repair] has an unknown key 'metod'; \
did you mean 'method'? Valid choices are 'over', 'method', 'labelling', ...
    """
    written = config.table.get("repair", {})
    _check(config.file, written)
    table = {**written, **given}
    # All that can be refused at once is looked at before rows are read and models loaded.
    output = _output(config, written, given)
    settings = _settings(config, table)
    estimator = _estimator(config, table)
    source = _text_source(config, table) if config.of_texts else _row_source(config, table)
    settings |= source.settings
    inputs, truth = source.split(source.frame, source.file)
    if "weights" in table:
        settings["sample_weight"] = _column(source.frame, table["weights"], source.file)
    if isinstance(table.get("test"), str):
        test_file = config.file.parent / table["test"]
        settings["test"] = source.split(read_frame(test_file), test_file)
    elif "test" in table:
        settings["test"] = table["test"]
    return RepairFile(estimator, inputs, truth, settings, source.file, output, source.notes)


def _check(file: Path, table: Mapping[str, Any]) -> None:
    """Refuse unknown keys, and values of another kind."""
    try:
        REPAIR.options.check(table, f"{file}: [repair]")
    except UsageError as error:
        raise ConfigError(str(error)) from None
    if "estimator" in table and "fit" in table:
        raise ConfigError(
            f"{file}: [repair] has both estimator and fit; keep the one that is to be trained"
        )


def _settings(config: Config, table: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments of `repair` that depend on no data."""
    settings: dict[str, Any] = {key: table[key] for key in PASSED if key in table}
    if "over" in table:
        over = table["over"]
        settings["over"] = (over,) if isinstance(over, str) else tuple(over)
    if "labelling" in table:
        labelling = table["labelling"]
        if ":" in labelling:
            # A colon marks the name of a function; the methods of labelling have none.
            where = f"{config.file}: [repair] labelling"
            labelling = imported(where, labelling, config.file.parent)
        settings["labelling"] = labelling
    if "queries" in table or "seconds" in table:
        settings["budget"] = Budget(
            queries=table.get("queries"), seconds=table.get("seconds")
        )
    subject = config.table.get("subject", {})
    for key in ("positive", "differs"):
        if key in table:
            settings[key] = table[key]
        elif key in subject:
            settings[key] = subject[key]
    return settings


def _output(
    config: Config, written: Mapping[str, Any], given: Mapping[str, Any]
) -> Path | None:
    """Return the file that the model is written to, refused here before anything is trained."""
    if "output" in given:
        path = Path(given["output"])
        where = f"--output {given['output']}"
    elif "output" in written:
        path = config.file.parent / written["output"]
        where = f"{config.file}: [repair] output = {written['output']!r}"
    else:
        return None
    suffix = path.suffix.lower()
    if suffix not in MODELS:
        raise ConfigError(
            f"{where} has the unknown suffix {path.suffix!r}; {nearest(path.suffix, MODELS)}"
        )
    if not path.parent.is_dir():
        raise ConfigError(f"{where}: there is no folder '{path.parent}'; make it first")
    if suffix == ".skops" and find_spec("skops") is None:
        raise MissingExtra(f"writing '{path}'", "skops")
    model = config.table.get("subject", {}).get("estimator")
    if isinstance(model, str):
        model_file = config.file.parent / model
        if model_file.resolve() == path.resolve():
            raise ConfigError(
                f"{where} would overwrite the model that is repaired; choose another name"
            )
    return path


def _estimator(config: Config, table: Mapping[str, Any]) -> Any:
    """Return what is trained: an estimator, or a function that takes X and y."""
    if "fit" in table:
        return _fit_function(config, table["fit"])
    if "estimator" in table:
        where = f"{config.file}: [repair] estimator"
        return _made(where, table["estimator"], config.file.parent)
    return _subject_estimator(config)


def _fit_function(config: Config, place: str) -> Any:
    """Return the function that takes X and y and returns a model."""
    where = f"{config.file}: [repair] fit"
    function = imported(where, place, config.file.parent)
    if not callable(function) or _has_method(function, "fit"):
        kind = type(function).__name__
        raise ConfigError(
            f"{where} = {place!r} is not a function of X and y, but a {kind}; try estimator"
        )
    return function


def _subject_estimator(config: Config) -> Any:
    """Return the model of [subject], as far as it can be trained again."""
    if "subject" not in config.table:
        raise ConfigError(
            f"{config.file}: has nothing to train; name a fitted model with [subject] estimator ="
            ' "model.skops", an estimator with [repair] estimator = "package.module:name", or a'
            " function of X and y with [repair] fit"
        )
    kind, value, options = config.declared(SHARED)
    if kind != "estimator":
        raise ConfigError(
            f"{config.file}: [subject] {kind} cannot be trained again; {_WHAT_TO_TRAIN}"
        )
    if not isinstance(value, str):
        raise ConfigError(
            f"{config.file}: [subject] estimator = {clip(repr(value))} must be a text"
        )
    for key in ("threshold", "output", "outputs"):
        if key in options and options[key] != "label":
            raise ConfigError(
                f"{config.file}: [subject] {key} = {clip(repr(options[key]))} cannot be combined"
                " with repair, which judges a model by what it predicts; leave it out"
            )
    from evenhand.subject.adapters.saved import load_model

    loading = {key: options[key] for key in ("trusted", "allow_pickle") if key in options}
    try:
        return load_model(config.file.parent / value, **loading)
    except (UsageError, TypeError) as error:
        raise ConfigError(f"{config.file}: [subject]: {error}") from error


def _has_method(value: Any, name: str) -> bool:
    return callable(getattr(value, name, None))


def _made(key: str, name: str, folder: Path) -> Any:
    """Return the estimator of that name, or the one that a class or function of that name makes."""
    estimator = imported(key, name, folder)
    where = f"{key} = {name!r}"
    if isinstance(estimator, type) or not _has_method(estimator, "fit"):
        if not callable(estimator):
            raise ConfigError(
                f"{where} is {clip(repr(estimator))}, which neither is an estimator nor makes one;"
                f" {_WHAT_TO_TRAIN}"
            )
        try:
            with exits_reported(f"{where}: calling it"):
                estimator = estimator()
        except SubjectCrashed:
            raise
        except Exception as error:
            raise ConfigError(
                f"{where}: calling it raised {type(error).__name__}: {clip(str(error))}"
            ) from error
    if not _has_method(estimator, "fit") or not _has_method(estimator, "predict"):
        raise ConfigError(
            f"{where} gave {clip(repr(estimator))}, which has no fit and predict; {_WHAT_TO_TRAIN}"
        )
    return estimator


@dataclass(frozen=True)
class _TrainingSource:
    """Where inputs and their true outcomes are read from, and the settings that follow from it."""

    file: Path
    frame: pd.DataFrame
    target: str
    inputs: Callable[[pd.DataFrame, Path], Any]
    """Returns what the model takes, from a frame that was read from a file."""
    settings: Mapping[str, Any]
    notes: Sequence[str] = ()

    def split(self, frame: pd.DataFrame, file: Path) -> tuple[Any, Any]:
        """Return inputs and true outcomes."""
        inputs = self.inputs(frame, file)
        truth = _column(frame, self.target, file)
        return inputs, truth


def _row_source(config: Config, table: Mapping[str, Any]) -> _TrainingSource:
    """Return the rows of [space] that are inputs of it."""
    declared = config.table.get("space", {})
    for key, example in (("from", '"DATA.csv"'), ("target", '"COLUMN"')):
        if key not in declared:
            raise ConfigError(
                f"{config.file}: repair trains on the rows of [space] from, with their true"
                f" outcomes in its column target, but there is no {key}; add {key} = {example} to"
                " [space]"
            )
    if "target" in table:
        raise ConfigError(
            f"{config.file}: [repair] target is for [texts]; the target of rows is [space] target"
        )
    declared_space = config.space
    real = config.inferred()
    if real.rows is None:
        raise ConfigError(f"{config.file}: {real.notes[0]} to train on")
    space = _space_without(declared_space, table.get("weights"), config.file)
    settings: dict[str, Any] = {"space": space}
    if "rule" in table:
        settings["rule"] = _rule(table["rule"], space, config.file)

    def inputs(frame: pd.DataFrame, file: Path) -> Any:
        try:
            # Encoding refuses values that are not in the space.
            space.encode(frame)
        except DataError as error:
            raise DataError(f"{file}: {error}") from None
        return frame[list(space.names)]

    frame: Any = real.rows
    return _TrainingSource(
        file=real.file,
        frame=frame.reset_index(drop=True),
        target=declared["target"],
        inputs=inputs,
        settings=settings,
        notes=real.notes,
    )


def _space_without(space: Space, column: str | None, file: Path) -> Space:
    """Return the space without the column of weights, which is no part of an input."""
    if column not in space.names:
        return space
    features = [feature for feature in space.features if feature.name != column]
    try:
        return replace(space, features=features)
    except (UsageError, TypeError) as error:
        raise ConfigError(f"{file}: [repair]: {error}") from None


def _rule(declared: Any, space: Space, file: Path) -> Rule:
    """Return a rule, which a file declares as a table or as the list of its conditions."""
    table = {"conditions": declared} if isinstance(declared, list) else declared
    try:
        return Rule.of(space, Rule.from_dict(table).conditions)
    except (UsageError, TypeError) as error:
        raise ConfigError(f"{file}: [repair]: {error}") from None


def _text_source(config: Config, table: Mapping[str, Any]) -> _TrainingSource:
    """Return texts, in which sensitive terms are looked for."""
    texts = config.texts
    if texts.file is None:
        raise ConfigError(
            f"{config.file}: [texts] names no file of texts to train with; add from and column"
        )
    for key in table:
        if key not in OF_TEXTS:
            raise ConfigError(
                f"{config.file}: {key} = {clip(repr(table[key]))} cannot be combined with [texts];"
                f" a repair of texts takes {', '.join(OF_TEXTS)}"
            )
    if "target" not in table:
        raise ConfigError(
            f'{config.file}: [repair] has no target; add target = "COLUMN", the column of'
            f" {texts.file.name} with the true outcome of each text"
        )
    if not isinstance(table.get("rule", {}), dict):
        raise ConfigError(
            f"{config.file}: [repair] rule must name terms by category where there is a [texts]"
            ' table, such as { gender = "gay" }'
        )
    settings = {
        "method": "subgroup",
        "lexicon": texts.lexicon.without(*texts.without),
    }
    settings |= {key: table[key] for key in ("method", "rule") if key in table}
    return _TrainingSource(
        file=texts.file,
        frame=read_frame(texts.file),
        target=table["target"],
        inputs=lambda _, file: replace(texts, file=file).read(),
        settings=settings,
    )


def _column(frame: pd.DataFrame, name: str, file: Path) -> Any:
    """Return a column, which must exist and have a value in every row."""
    need_columns(frame, [name], file)
    try:
        check_missing(eager(frame), name)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    return frame[name]
