"""evenhand replay: ask the software again what a suite, a result or an audit holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import finish, given
from evenhand.config.file import Config
from evenhand.config.trust import config_for
from evenhand.methods.audit.audit_result import gathered
from evenhand.methods.audit.checks import log_jobs
from evenhand.methods.replay.replay import replay
from evenhand.results.protocol import damage_reported
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from argparse import Namespace

    from evenhand.methods.audit.audit_result import Audit


def run(options: Namespace) -> int:
    """Ask the software again, of the configuration that is named or of the current folder."""
    with _config(options).software() as subject:
        found = replay(options.file, subject, **given(options, ("limit", "level", "case")))
        return finish(found, options.json)


def _config(options: Namespace) -> Config:
    """Return the configuration of the software that is asked again."""
    is_result = Path(options.file).suffix.lower() == ".json"
    if options.config is not None or not is_result:
        return Config.load(options.config)
    with damage_reported(options.file):
        held = gathered([options.file])
        _refuse_log(held, options.file)
    return config_for(held, options.file, None, trust=options.trust, command="replay")


def _refuse_log(held: Audit, file: str) -> None:
    """Refuse what was found in recorded decisions, of which nobody can be asked again."""
    jobs = [check.job if check.found is None else check.found.job for check in held.checks]
    asked = held.spent.queries or any(finding.cases for finding in held.findings)
    if asked or not jobs or not set(jobs) <= set(log_jobs()):
        return
    again = f"; count them again with: {held.command}" if held.command else ""
    raise UsageError(
        f"'{file}' is of recorded decisions, of which no software can be asked again{again}"
    )
