"""The [log] table of evenhand.toml: recorded decisions, which an audit counts instead of asking."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.config.checks import levelled
from evenhand.methods.audit import LOG
from evenhand.methods.audit.levels import LEVEL, with_levels
from evenhand.methods.audit.log import (
    DecisionLog,
    audited,
    plans_of_log,
    protected_columns,
)
from evenhand.population.log_labels import words_of_log
from evenhand.population.recorded import columns_of_sets, label_written, table_of
from evenhand.runtime.errors import ConfigError, DataError, SpaceError, UsageError, nearest
from evenhand.runtime.fingerprint import file_digest
from evenhand.runtime.table_file import SUFFIXES, read_frame
from evenhand.space.feature_sets import sets_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.config.file import Config
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.runtime.label_text import Words


def is_log(path: Any) -> bool:
    """Return whether a path names a file of rows, and not a configuration.

    >>> is_log("decisions.csv"), is_log("evenhand.toml"), is_log(None)
    (True, False, False)
    """
    return path is not None and str(path).lower().endswith(SUFFIXES)


def log_of(config: Config) -> DecisionLog:
    """Return the recorded decisions that a file declares."""
    table = config.table["log"]
    where = f"{config.file}: [log]"
    try:
        LOG.check(table, where)
    except UsageError as error:
        raise ConfigError(str(error)) from None
    for option in LOG:
        if option.required and option.name not in table:
            raise ConfigError(f"{where} has no {option.name}, {option.help}; name it")
    return log_from_table(table, config.file.parent, where=where)


def log_from_table(table: Mapping[str, Any], folder: Path, *, where: str) -> DecisionLog:
    """Return the recorded decisions of a checked [log] table; its file is seen from a folder."""
    file = folder / table["from"]
    frame = read_frame(file)
    over = protected_columns(columns_of_sets(sets_of(table["over"])), table.get("bins", {}))
    outcome = table["outcome"]
    truth = table.get("truth")
    bins = table.get("bins", {})
    columns = [str(name) for name in frame.columns]
    named = {"outcome": (outcome,), "over": over, "bins": tuple(bins)}
    if truth is None:
        named["truth"] = ()
    else:
        named["truth"] = (truth,)
    for key, names in named.items():
        _need_columns(names, columns, f"{where} {key}", table["from"])
    if truth is None and "truth_positive" in table:
        raise ConfigError(f"{where} has truth_positive but no truth; name that column too")
    return DecisionLog(
        frame,
        outcome,
        over,
        label_written(frame, outcome, table.get("positive")),
        truth,
        label_written(frame, truth or "", table.get("truth_positive")),
        bins,
        _labels(table, frame, where),
        file=file.name,
        digest=file_digest(file),
    )


def _labels(table: Mapping[str, Any], frame: Any, where: str) -> dict[str, Words]:
    """Return what people call the values of columns; refuse labels of values that no row has."""
    try:
        return words_of_log(table_of(frame), table.get("labels"), table.get("bins", {}))
    except (UsageError, SpaceError) as error:
        raise ConfigError(f"{where} {error}") from None


def _need_columns(
    names: Sequence[str],
    columns: Sequence[str],
    place: str,
    file: str,
) -> None:
    for name in names:
        if name not in columns:
            raise DataError(
                f"{place} names {name!r}, which is not a column of {file};"
                f" {nearest(name, columns)}"
            )


def audit_of_log(
    declared: Config, *, seed: int = 0, level: float | None = None, **common: Any
) -> Audit:
    """Run all checks of a configuration that declares recorded decisions."""
    log = log_of(declared)
    checks = declared.table.get("checks") or None
    try:
        plans = plans_of_log(log, checks, where=f"{declared.file}: ", written=True)
    except UsageError as error:
        raise ConfigError(str(error)) from None
    plans = levelled(declared, plans, level)
    words = ["evenhand", "audit", declared.file.as_posix()]
    if level is not None:
        words += ["--level", str(level)]
    words += ["--seed", str(seed)]
    return audited(log, plans, **{"seed": seed, "command": shlex.join(words), **common})


def audit_log_file(
    file: str,
    given: Mapping[str, Any],
    *,
    seed: int = 0,
    level: float | None = None,
    **common: Any,
) -> Audit:
    """Run the usual checks of a file of decisions, with the options of the command line."""
    for option in LOG:
        if option.required and option.command and option.name not in given:
            raise UsageError(
                f"{file} is a file of recorded decisions: {option.flag} is missing,"
                f" {option.help}"
            )
    over = [list(names) for names in given["over"]]
    table = {**given, "from": file, "over": list(columns_of_sets(over))}
    log = log_from_table(table, Path(), where=f"{file}:")
    plans = with_levels(plans_of_log(log, None), LEVEL if level is None else level)
    command = _command(file, table, level, seed)
    return audited(log, plans, **{"seed": seed, "command": command, **common})


def _command(file: str, table: Mapping[str, Any], level: float | None, seed: int) -> str:
    """Return the command line that runs the same audit."""
    words = ["evenhand", "audit", file]
    for option in LOG:
        if not option.command or option.name not in table:
            continue
        value = table[option.name]
        if option.name == "bins":
            for column, cuts in value.items():
                words += [option.flag, f"{column}={_cuts_text(cuts)}"]
        elif option.name == "labels":
            for column, labels in value.items():
                pairs = [f"{text}:{label}" for text, label in labels.items()]
                words += [option.flag, f"{column}={','.join(pairs)}"]
        else:
            words += [option.flag, _cuts_text(value)]
    if level is not None:
        words += ["--level", str(level)]
    return shlex.join([*words, "--seed", str(seed)])


def _cuts_text(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, value))
    return str(value)
