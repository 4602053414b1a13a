"""The forecast of an audit as a configuration file declares it."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any

from evenhand.config.audit import FileSource, bounds_given, plans_of, with_checks
from evenhand.config.file import Config
from evenhand.config.log import log_of
from evenhand.methods.audit.log import plans_of_log
from evenhand.methods.plan.plan import foretold, measured_speed
from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.runtime.workers import Workers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.methods.audit.checks import CheckPlan
    from evenhand.results.result import Result
    from evenhand.runtime.budget import Budget

MANY_INPUTS = 5_000_000
"""More inputs than an audit asks, unless it is told to."""


def plan_config(
    config: Config, given: Mapping[str, Any], *, seed: int = 0, n_jobs: int = 1
) -> Result:
    """Return what all checks of a configuration take, with the options of the command line."""
    if config.of_log:
        return _of_log(config, seed)
    plans = plans_of(config, given)
    with config.software() as subject:
        return foretold(subject, FileSource(config), plans, seed=seed, n_jobs=n_jobs)


def foreseen_cost(
    config: Config, plans: Sequence[CheckPlan], *, seed: int, n_jobs: int, long: float
) -> tuple[int, float]:
    """Return about how many inputs checks take, and at best how many seconds.

    Software that is so quick that no check takes `long` seconds is not looked at further.
    """
    source = FileSource(config)
    with config.software() as subject:
        speed = measured_speed(subject, source, seed, Workers(n_jobs).width)
        queries = [plan.settings.get("queries") or 0 for plan in plans]
        if max(MANY_INPUTS, sum(queries)) * speed.seconds < long:
            return 0, 0.0
        found = foretold(subject, source, plans, seed=seed, n_jobs=n_jobs, speed=speed)
    details: Any = found.details
    inputs = 0
    seconds = 0.0
    for plan, check in zip(plans, details["plan"]["checks"], strict=True):
        inputs += sum(part["inputs"] or 0 for part in check["parts"])
        of_check = sum(part["shared_seconds"] or 0.0 for part in check["parts"])
        seconds += min(of_check, plan.settings.get("seconds") or of_check)
    return inputs, seconds


def _of_log(config: Config, seed: int) -> Result:
    with closing(log_of(config)) as log, log.guarded():
        checks = config.table.get("checks") or None
        try:
            plans = plans_of_log(log, checks, where=f"{config.file}: ", written=True)
        except UsageError as error:
            raise ConfigError(str(error)) from None
        return foretold(log, None, plans, seed=seed)


def plan_file(
    path: str | PathLike[str],
    *,
    checks: Sequence[Mapping[str, Any]] | None,
    budget: Budget,
    seed: int = 0,
    n_jobs: int = 1,
) -> Result:
    """Return what all checks of a configuration file take, or others in their place."""
    config = Config.load(path)
    if checks is not None:
        config = with_checks(config, [dict(check) for check in checks])
    return plan_config(config, bounds_given(budget), seed=seed, n_jobs=n_jobs)
