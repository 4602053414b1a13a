"""The [[checks]] of a configuration, under what the command line gives."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.checks import Check, Plan, joined, parsed, verb_for
from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.runtime.options import FILE

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.config.file import Config


def checks_of(config: Config) -> list[Check]:
    """Return the checks of a configuration, whose paths are relative to the folder of the file."""
    found = []
    for number, table in enumerate(config.table.get("checks", ()), start=1):
        try:
            check = parsed(
                number, table, texts=config.of_texts, where=f"{config.file}: ", written=True
            )
        except UsageError as error:
            raise ConfigError(str(error)) from None
        found.append(replace(check, settings=_with_paths(config, check)))
    return found


def _with_paths(config: Config, check: Check) -> dict[str, Any]:
    """Return the settings of a check with the files that they name seen from here."""
    settings = dict(check.settings)
    for name in file_options(check.job, texts=config.of_texts):
        if name in settings:
            settings[name] = str(config.file.parent / settings[name])
    return settings


def file_options(job: str, *, texts: bool) -> list[str]:
    """Return the options of a job that name files to read."""
    return [option.name for option in verb_for(job, texts=texts).checks if option.kind is FILE]


def plans_of_job(config: Config, job: str, given: Mapping[str, Any]) -> list[Plan]:
    """Return the runs of a job: its checks, under what the command line gives.

    `over` and `kind` of the command line choose among the checks, and what no check covers has the
    defaults; all else takes the place of what a check says.
    """
    options = {key: value for key, value in given.items() if value is not None and key != "over"}
    usual_kind = verb_for(job, texts=config.of_texts).usual_kind
    checks = [check for check in checks_of(config) if check.job == job]
    if "kind" in options:
        checks = [
            check for check in checks if check.settings.get("kind", usual_kind) == options["kind"]
        ]
    if given.get("over") is not None:
        checks = _chosen(checks, given["over"], job)
    checks = checks or [Check(job, {})]
    plans = joined([replace(check, settings={**check.settings, **options}) for check in checks])
    for plan in plans:
        _check_given(config, plan, options)
    return plans


def _chosen(checks: Sequence[Check], sets: Sequence[Sequence[str]], job: str) -> list[Check]:
    """Return the checks of these sets of features; a set without a check has the defaults."""
    found = []
    for names in sets:
        mine = [check for check in checks if check.sets and set(check.sets[0]) == set(names)]
        found += [replace(check, sets=(tuple(names),)) for check in mine or [Check(job, {})]]
    return found


def _check_given(config: Config, plan: Plan, given: Mapping[str, Any]) -> None:
    """Refuse options of the command line that do not go with what the file declares."""
    table = {
        "job": plan.job,
        **{key: value for key, value in given.items() if key in plan.settings},
    }
    try:
        parsed(1, table, texts=config.of_texts, where=f"{config.file}: ")
    except UsageError as error:
        raise ConfigError(str(error)) from None
