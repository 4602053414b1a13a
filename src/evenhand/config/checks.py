"""The [[checks]] of a configuration, combined with the options of the command line."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import AUDIT
from evenhand.methods.audit.checks import Check, CheckPlan, joined, parsed, verb_for
from evenhand.methods.audit.levels import LEVEL, with_levels
from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.runtime.options import FILE
from evenhand.runtime.workers import Workers
from evenhand.runtime.workers.clusters import cluster, is_chosen

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.config.file import Config


def checks_of(config: Config) -> list[Check]:
    """Return the checks of a configuration; relative paths start at the folder of the file."""
    checks = []
    for number, table in enumerate(config.table.get("checks", ()), start=1):
        check = _parsed(config, number, table, written=True)
        settings = _with_paths(config, check)
        checks.append(replace(check, settings=settings))
    return checks


def _parsed(config: Config, number: int, table: Any, *, written: bool) -> Check:
    """Return a check, or refuse it with a sentence that begins with the file."""
    try:
        return parsed(
            number,
            table,
            texts=config.of_texts,
            log=config.of_log,
            where=f"{config.file}: ",
            written=written,
        )
    except UsageError as error:
        raise ConfigError(str(error)) from None


def _with_paths(config: Config, check: Check) -> dict[str, Any]:
    """Return the settings of a check, with paths relative to the folder of the file resolved."""
    settings = dict(check.settings)
    for name in file_options(check.job, texts=config.of_texts):
        if name in settings:
            path = config.file.parent / settings[name]
            settings[name] = str(path)
    return settings


def file_options(job: str, *, texts: bool) -> list[str]:
    """Return the options of a job that name files to read."""
    options = verb_for(job, texts=texts).checks
    return [option.name for option in options if option.kind is FILE]


def plans_of_job(config: Config, job: str, given: Mapping[str, Any]) -> list[CheckPlan]:
    """Return the runs of a job: its checks, with the options of the command line.

    `over` and `kind` of the command line select among the checks, and the defaults apply where no
    check covers them. All other options replace those of the checks.
    """
    overrides = {key: value for key, value in given.items() if value is not None}
    sets = overrides.pop("over", None)
    checks = [check for check in checks_of(config) if check.job == job]
    if "kind" in overrides:
        # A check that names no kind of score has the usual one of its verb.
        usual_kind = verb_for(job, texts=config.of_texts).usual_kind
        kind = overrides["kind"]
        checks = [
            check for check in checks if check.settings.get("kind", usual_kind) == kind
        ]
    if sets is not None:
        checks = _over_sets(checks, sets, job)
    if not checks:
        checks = [Check(job, {})]
    overridden = []
    for check in checks:
        settings = {**check.settings, **overrides}
        overridden.append(replace(check, settings=settings))
    plans = joined(overridden)
    for plan in plans:
        # Refuse options of the command line that cannot be combined with what the file declares.
        applied = {key: value for key, value in overrides.items() if key in plan.settings}
        table = {"job": job, **applied}
        _parsed(config, 1, table, written=False)
    return plans


def _over_sets(
    checks: Sequence[Check], sets: Sequence[Sequence[str]], job: str
) -> list[Check]:
    """Return the checks of these sets of features; a set without a check has the defaults."""
    chosen: list[Check] = []
    for names in sets:
        features = set(names)
        matching = [check for check in checks if _features(check) == features]
        if not matching:
            matching = [Check(job, {})]
        # Features are listed in the order of the command line.
        ordered = (tuple(names),)
        chosen.extend(replace(check, sets=ordered) for check in matching)
    return chosen


def _features(check: Check) -> set[str] | None:
    """Return the features that a check is about, None where it names none."""
    if not check.sets:
        return None
    return set(check.sets[0])


def jobs_of(config: Config, given: int | None) -> int:
    """Return how many processes share the work: as it is given, or as the [audit] table says."""
    if given is not None:
        return given
    table = _table_of_audit(config)
    # A cluster is there to be used, all of it where nothing else is said.
    usual = 1 if table.get("cluster") is None else -1
    try:
        return Workers(table.get("n_jobs", usual)).n_jobs
    except UsageError as error:
        raise ConfigError(f"{config.file}: {error}") from None


@contextmanager
def workers_of(config: Config, given: int | None) -> Iterator[int]:
    """Yield how many processes share the work, on the cluster that the [audit] table names.

    A cluster that was named otherwise, and one process alone, come before that of the table.
    """
    address = _table_of_audit(config).get("cluster")
    if address is None or given == 1 or is_chosen():
        yield jobs_of(config, given)
        return
    with ExitStack() as stack:
        try:
            stack.enter_context(cluster(address))
        except UsageError as error:
            raise ConfigError(f"{config.file}: [audit]: {error}") from None
        yield jobs_of(config, given)


def _table_of_audit(config: Config) -> dict[str, Any]:
    table: dict[str, Any] = config.table.get("audit", {})
    try:
        AUDIT.options.check(table, "[audit]")
    except UsageError as error:
        raise ConfigError(f"{config.file}: {error}") from None
    return table


def levelled(
    config: Config, plans: Sequence[CheckPlan], level: float | None
) -> list[CheckPlan]:
    """Return the runs with the level of each, so that all hold together at that of the audit.

    `level` is that of the command line, and replaces that of the [audit] table.
    """
    if "themis" in config.table and level is None:
        # Such a file gives each test a level of its own, and none to all of them together.
        return list(plans)
    table = config.table.get("audit", {})
    try:
        AUDIT.options.check(table, "[audit]")
        wanted = table.get("level", LEVEL) if level is None else level
        return with_levels(plans, wanted, texts=config.of_texts)
    except UsageError as error:
        raise ConfigError(f"{config.file}: {error}") from None
