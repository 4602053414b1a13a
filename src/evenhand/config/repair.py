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
from evenhand.runtime.errors import ConfigError, DataError, MissingExtra, UsageError, clip, nearest
from evenhand.runtime.table_file import read_frame
from evenhand.space.dataframes import check_missing, eager
from evenhand.space.rule import Rule
from evenhand.subject.options import SHARED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pandas as pd

    from evenhand.config.file import Config

_JUDGING = ("steps", "tolerance", "limit", "level")
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
    *_JUDGING,
)
"""What can be said where there is a [texts] table."""
PASSED = ("method", "add", "patience", "validate", "draws", "support", *_JUDGING)
"""What goes to `repair` as it is written."""
MODELS = (".skops", ".joblib", ".pkl", ".pickle")
"""The kinds of file that a model is written to."""
_INSTEAD = (
    'name what can be with [repair] estimator = "package.module:function", which makes an'
    ' estimator, or with fit = "package.module:function", which takes X and y and returns a model'
)


@dataclass(frozen=True)
class RepairFile:
    """A repair as a file declares it: what is trained, on which rows of which file, how, and where
    the model goes.
    """

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
    """Return what the [repair] table of a configuration declares, under what the command line
    gives.

    >>> from evenhand.config.file import Config
    >>> read_repair(Config(Path("evenhand.toml"), {"repair": {"metod": "augment"}}), {})
    Traceback (most recent call last):
    evenhand.runtime.errors.ConfigError: evenhand.toml: [repair] has an unknown key 'metod'; did you mean 'method'? \
Valid choices are 'over', 'method', 'labelling', 'add', 'estimator', 'fit', 'target', 'weights', 'patience', 'steps', \
'draws', 'tolerance', …
    """
    written = config.table.get("repair", {})
    _check(config.file, written)
    table = {**written, **given}
    output = _output(config, written, given)
    settings: dict[str, Any] = {key: table[key] for key in PASSED if key in table}
    if "over" in table:
        settings["over"] = (
            (table["over"],) if isinstance(table["over"], str) else tuple(table["over"])
        )
    if "labelling" in table:
        # The name of a function has a colon, and the name of a way to label none.
        name, where = table["labelling"], f"{config.file}: [repair] labelling"
        settings["labelling"] = imported(where, name, config.file.parent) if ":" in name else name
    if "queries" in table or "seconds" in table:
        settings["budget"] = Budget(queries=table.get("queries"), seconds=table.get("seconds"))
    said = config.table.get("subject", {})
    for key in ("positive", "differs"):
        if key in table or key in said:
            settings[key] = table.get(key, said.get(key))
    estimator = _estimator(config, table)
    source = _texts(config, table) if config.of_texts else _rows(config, table)
    settings |= source.settings
    inputs, truth = source.split(source.frame, source.file)
    if "weights" in table:
        settings["sample_weight"] = _column(source.frame, table["weights"], source.file)
    if "test" in table:
        other = config.file.parent / str(table["test"])
        settings["test"] = (
            source.split(read_frame(other), other)
            if isinstance(table["test"], str)
            else table["test"]
        )
    return RepairFile(estimator, inputs, truth, settings, source.file, output, source.notes)


def _check(file: Path, table: Mapping[str, Any]) -> None:
    """Refuse keys that there are not, and values of another kind."""
    try:
        REPAIR.options.check(table, f"{file}: [repair]")
    except UsageError as error:
        raise ConfigError(str(error)) from None
    if "estimator" in table and "fit" in table:
        raise ConfigError(
            f"{file}: [repair] has both estimator and fit; keep the one that is to be trained"
        )


def _output(config: Config, written: Mapping[str, Any], given: Mapping[str, Any]) -> Path | None:
    """Return where the model goes, which is looked at before anything is trained."""
    if "output" in given:
        where, path = f"--output {given['output']}", Path(given["output"])
    elif "output" in written:
        path = config.file.parent / written["output"]
        where = f"{config.file}: [repair] output = {written['output']!r}"
    else:
        return None
    if path.suffix.lower() not in MODELS:
        raise ConfigError(
            f"{where} has the unknown suffix {path.suffix!r}; {nearest(path.suffix, MODELS)}"
        )
    if not path.parent.is_dir():
        raise ConfigError(f"{where}: there is no folder '{path.parent}'; make it first")
    if path.suffix.lower() == ".skops" and find_spec("skops") is None:
        raise MissingExtra(f"writing '{path}'", "skops")
    model = config.table.get("subject", {}).get("estimator")
    if isinstance(model, str) and (config.file.parent / model).resolve() == path.resolve():
        raise ConfigError(
            f"{where} would overwrite the model that is repaired; choose another name"
        )
    return path


def _estimator(config: Config, table: Mapping[str, Any]) -> Any:
    """Return what is trained: an estimator, or a function that takes X and y and returns a model."""
    folder = config.file.parent
    if "fit" in table:
        where = f"{config.file}: [repair] fit"
        found = imported(where, table["fit"], folder)
        if not callable(found) or callable(getattr(found, "fit", None)):
            kind = type(found).__name__
            raise ConfigError(
                f"{where} = {table['fit']!r} is no function of X and y, but a {kind}; try estimator"
            )
        return found
    if "estimator" in table:
        return _made(f"{config.file}: [repair] estimator", table["estimator"], folder)
    if "subject" not in config.table:
        raise ConfigError(
            f"{config.file}: has nothing to train; name a fitted model with [subject] estimator ="
            ' "model.skops", an estimator with [repair] estimator = "package.module:name", or a'
            " function of X and y with [repair] fit"
        )
    kind, value, options = config.declared(SHARED)
    if kind != "estimator":
        raise ConfigError(f"{config.file}: [subject] {kind} cannot be trained again; {_INSTEAD}")
    if not isinstance(value, str):
        raise ConfigError(
            f"{config.file}: [subject] estimator = {clip(repr(value))} must be a text"
        )
    for key in ("threshold", "output", "outputs"):
        if key in options and options[key] != "label":
            raise ConfigError(
                f"{config.file}: [subject] {key} = {clip(repr(options[key]))} does not go with"
                " repair, which judges a model by what it predicts; leave it out"
            )
    from evenhand.subject.adapters.saved import load_model

    how = {key: options[key] for key in ("trusted", "allow_pickle") if key in options}
    try:
        return load_model(folder / value, **how)
    except (UsageError, TypeError) as error:
        raise ConfigError(f"{config.file}: [subject]: {error}") from error


def _made(key: str, name: str, folder: Path) -> Any:
    """Return the estimator of that name, or the one that a class or function of that name makes."""
    found = imported(key, name, folder)
    where = f"{key} = {name!r}"
    if isinstance(found, type) or not callable(getattr(found, "fit", None)):
        if not callable(found):
            raise ConfigError(
                f"{where} is {clip(repr(found))}, which is no estimator and makes none; {_INSTEAD}"
            )
        try:
            found = found()
        except Exception as error:
            raise ConfigError(
                f"{where}: calling it raised {type(error).__name__}: {clip(str(error))}"
            ) from error
    if not callable(getattr(found, "fit", None)) or not callable(getattr(found, "predict", None)):
        raise ConfigError(
            f"{where} gave {clip(repr(found))}, which has no fit and predict; {_INSTEAD}"
        )
    return found


@dataclass(frozen=True)
class _Source:
    """Where inputs and their true outcomes are read from, and what else that says of a repair."""

    file: Path
    frame: pd.DataFrame
    target: str
    inputs: Callable[[pd.DataFrame, Path], Any]
    """Return what the model takes of a frame that was read from a file."""
    settings: Mapping[str, Any]
    notes: Sequence[str] = ()

    def split(self, frame: pd.DataFrame, file: Path) -> tuple[Any, Any]:
        """Return inputs and true outcomes."""
        return self.inputs(frame, file), _column(frame, self.target, file)


def _rows(config: Config, table: Mapping[str, Any]) -> _Source:
    """Read the rows of [space] that are inputs of it."""
    said = config.table.get("space", {})
    for key, what in (("from", '"DATA.csv"'), ("target", '"COLUMN"')):
        if key not in said:
            raise ConfigError(
                f"{config.file}: repair trains on the rows of [space] from, with their true"
                f" outcomes in its column target, but there is no {key}; add {key} = {what} to"
                " [space]"
            )
    if "target" in table:
        raise ConfigError(
            f"{config.file}: [repair] target goes with [texts]; that of rows is [space] target"
        )
    space, real = config.space, config.inferred()
    if real.rows is None:
        raise ConfigError(f"{config.file}: {real.notes[0]} to train on")
    settings: dict[str, Any] = {}
    try:
        if table.get("weights") in space.names:
            # How much a row weighs is no part of an input, though its column stands among them.
            space = replace(
                space, features=[one for one in space.features if one.name != table["weights"]]
            )
        if "rule" in table:
            rule = (
                {"conditions": table["rule"]} if isinstance(table["rule"], list) else table["rule"]
            )
            settings["rule"] = Rule.of(space, Rule.from_dict(rule).conditions)
    except (UsageError, TypeError) as error:
        raise ConfigError(f"{config.file}: [repair]: {error}") from None

    def inputs(frame: pd.DataFrame, file: Path) -> Any:
        try:
            space.encode(frame)
        except DataError as error:
            raise DataError(f"{file}: {error}") from None
        return frame[list(space.names)]

    frame: Any = real.rows
    settings["space"] = space
    return _Source(
        real.file, frame.reset_index(drop=True), said["target"], inputs, settings, real.notes
    )


def _texts(config: Config, table: Mapping[str, Any]) -> _Source:
    """Read texts, in which sensitive terms are looked for."""
    texts = config.texts
    for key in table:
        if key not in OF_TEXTS:
            raise ConfigError(
                f"{config.file}: {key} = {clip(repr(table[key]))} does not go here, since [texts]"
                f" declares texts; repair then takes {', '.join(OF_TEXTS)}"
            )
    if "target" not in table:
        raise ConfigError(
            f'{config.file}: [repair] has no target; add target = "COLUMN", the column of'
            f" {texts.file.name} with the true outcome of each text"
        )
    if not isinstance(table.get("rule", {}), dict):
        raise ConfigError(
            f"{config.file}: [repair] rule must name terms by category here, such as {{ gender ="
            ' "gay" }'
        )
    settings = {"method": "subgroup", "lexicon": texts.lexicon.without(*texts.without)}
    settings |= {key: table[key] for key in ("method", "rule") if key in table}
    return _Source(
        texts.file,
        read_frame(texts.file),
        table["target"],
        lambda _, file: replace(texts, file=file).read(),
        settings,
    )


def _column(frame: pd.DataFrame, name: str, file: Path) -> Any:
    """Return a column that is there, and has a value in every row."""
    need_columns(frame, [name], file)
    try:
        check_missing(eager(frame), name)
    except DataError as error:
        raise DataError(f"{file}: {error}") from None
    return frame[name]
