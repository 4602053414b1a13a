"""The [log] table of evenhand.toml: recorded decisions, which an audit counts instead of asking."""

from __future__ import annotations

import shlex
from contextlib import closing
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
from evenhand.population.logs.address import is_address, without_secrets
from evenhand.population.logs.labels import label_in
from evenhand.population.logs.on_logs import columns_named
from evenhand.population.logs.options import WHERE
from evenhand.population.logs.source import opened
from evenhand.population.recorded import columns_of_sets, table_of
from evenhand.runtime.errors import ConfigError, DataError, SpaceError, UsageError, nearest
from evenhand.runtime.fingerprint import file_digest
from evenhand.space.feature_sets import sets_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.config.file import Config
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.population.logs.source import Log
    from evenhand.runtime.label_text import Words


def is_log(path: Any) -> bool:
    """Return whether a path or an address names rows, and not a configuration.

    >>> is_log("decisions.csv"), is_log("evenhand.toml"), is_log(None)
    (True, False, False)
    """
    return path is not None and is_address(str(path))


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
    checks = config.table.get("checks") or ()
    return log_from_table(table, config.file.parent, where=where, checks=checks)


def log_from_table(
    table: Mapping[str, Any],
    folder: Path,
    *,
    where: str,
    checks: Sequence[Mapping[str, Any]] = (),
) -> DecisionLog:
    """Return the recorded decisions of a checked [log] table; paths are seen from a folder.

    They stay open until they are closed, and have the columns that checks look at.
    """
    how = {name: table[name] for name in WHERE.toml if name in table}
    log = opened(table["from"], folder, **how)
    try:
        with log.guarded():
            return _described(table, log, where, checks)
    except BaseException:
        log.close()
        raise


def _described(
    table: Mapping[str, Any],
    log: Log,
    where: str,
    checks: Sequence[Mapping[str, Any]],
) -> DecisionLog:
    """Return the decisions of an open log, with what the table says of them."""
    written = without_secrets(table["from"])
    over = protected_columns(columns_of_sets(sets_of(table["over"])), table.get("bins", {}))
    outcome = table["outcome"]
    truth = table.get("truth")
    bins = table.get("bins", {})
    named = {"outcome": (outcome,), "over": over, "bins": tuple(bins)}
    if truth is None:
        named["truth"] = ()
    else:
        named["truth"] = (truth,)
    for key, names in named.items():
        _need_columns(names, log.columns, f"{where} {key}", written)
    if truth is None and "truth_positive" in table:
        raise ConfigError(f"{where} has truth_positive but no truth; name that column too")
    frame = log.frame_for(_columns_of_checks({**table, "over": over}, checks, log.columns))
    is_file = not log.address.scheme and log.address.path.is_file()
    return DecisionLog(
        frame,
        outcome,
        over,
        label_in(frame, outcome, table.get("positive")),
        truth,
        label_in(frame, truth or "", table.get("truth_positive")),
        bins,
        _labels(table, frame, where),
        file=log.address.path.name if is_file else written,
        digest=file_digest(log.address.path) if is_file else "",
        opened=log,
    )


def _columns_of_checks(
    table: Mapping[str, Any],
    checks: Sequence[Mapping[str, Any]],
    columns: Sequence[str],
) -> list[str] | None:
    """Return the columns that an audit looks at; None where a check may look at all of them."""
    named = list(columns_named(table, columns) or ())
    for check in checks:
        of_check = columns_named({**table, **check}, columns)
        if of_check is None:
            return None
        named += [name for name in of_check if name in columns]
    return named


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
    with closing(log_of(declared)) as log, log.guarded():
        return _audited(declared, log, seed=seed, level=level, **common)


def _audited(
    declared: Config, log: DecisionLog, *, seed: int, level: float | None, **common: Any
) -> Audit:
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
    shown = without_secrets(file)
    for option in LOG:
        if option.required and option.command and option.name not in given:
            raise UsageError(
                f"{shown} holds recorded decisions: {option.flag} is missing, {option.help}"
            )
    over = [list(names) for names in given["over"]]
    table = {**given, "from": file, "over": list(columns_of_sets(over))}
    log = log_from_table(table, Path(), where=f"{shown}:")
    with closing(log), log.guarded():
        plans = with_levels(plans_of_log(log, None), LEVEL if level is None else level)
        command = _command(shown, table, level, seed)
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
