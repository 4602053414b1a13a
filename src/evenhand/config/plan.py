"""The forecast of an audit as a configuration file declares it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.config.audit import FileSource, bounds_given, plans_of, with_checks
from evenhand.config.file import Config
from evenhand.config.log import log_of
from evenhand.methods.audit.log import plans_of_log
from evenhand.methods.plan.plan import foretold
from evenhand.runtime.errors import ConfigError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from evenhand.results.result import Result
    from evenhand.runtime.budget import Budget


def plan_config(config: Config, given: Mapping[str, Any], *, seed: int = 0) -> Result:
    """Return what all checks of a configuration take, with the options of the command line."""
    if config.of_log:
        return _of_log(config, seed)
    plans = plans_of(config, given)
    with config.software() as subject:
        return foretold(subject, FileSource(config), plans, seed=seed)


def _of_log(config: Config, seed: int) -> Result:
    log = log_of(config)
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
) -> Result:
    """Return what all checks of a configuration file take, or others in their place."""
    config = Config.load(path)
    if checks is not None:
        config = with_checks(config, [dict(check) for check in checks])
    return plan_config(config, bounds_given(budget), seed=seed)
