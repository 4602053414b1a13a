"""An audit as a configuration file declares it: its checks, its software, its rows and models."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.config.checks import (
    checks_of,
    file_options,
    levelled,
    plans_of_job,
    workers_of,
)
from evenhand.config.file import Config
from evenhand.config.log import audit_of_log, is_log
from evenhand.methods.audit.audit import run_all
from evenhand.methods.audit.checks import usual, verb_for
from evenhand.population.rows import Rows
from evenhand.runtime.errors import UsageError
from evenhand.runtime.table_file import read_frame

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.checks import CheckPlan
    from evenhand.population.samplers import Sampler
    from evenhand.population.source import Real
    from evenhand.runtime.budget import Budget
    from evenhand.subject.subject import Subject
    from evenhand.texts.real_texts import Texts


@dataclass(frozen=True)
class FileSource:
    """What a configuration file declares besides the software."""

    config: Config

    @property
    def where(self) -> str:
        """The file, which error messages begin with."""
        return str(self.config.file)

    @property
    def texts(self) -> Texts:
        """The texts that the file declares."""
        return self.config.texts

    def population(self) -> Sampler | None:
        """Return the population that the file declares."""
        return self.config.population()

    def start(self, path: str | None = None) -> tuple[Rows | None, list[str]]:
        """Return the real rows that a search starts from, and the notes on them."""
        return self.config.start(path)

    def real(self, path: str | None = None) -> Real:
        """Return the real rows that the file names."""
        return self.config.real(path)

    def frame(self, path: str | None = None) -> Real:
        """Return real rows as a frame with all its columns, not only those of the space."""
        real = self.config.real(path)
        if isinstance(real.rows, Rows):
            return replace(real, rows=read_frame(real.file))
        return real

    def other(self, model: Any, subject: Subject) -> Subject:
        """Return another model, which is tested like the one of the file."""
        return self.config.other(model, subject)


def plans_of(config: Config, given: Mapping[str, Any]) -> list[CheckPlan]:
    """Return the runs of all checks of a file, with the options of the command line.

    Jobs come in the order of the file. A file without checks has the usual ones.
    """
    if not config.table.get("checks"):
        config = with_checks(config, _usual_checks(config))
    jobs = dict.fromkeys(check.job for check in checks_of(config))
    plans: list[CheckPlan] = []
    for job in jobs:
        verb = verb_for(job, texts=config.of_texts)
        if verb.name == job:
            # Refuses a file without a [space] before anything is run.
            config.space  # noqa: B018
        known = {key: value for key, value in given.items() if key in verb.checks.toml}
        plans += plans_of_job(config, job, known)
    return plans


def bounds_given(budget: Budget) -> dict[str, Any]:
    """Return the bounds of a budget that are set, as options of the command line."""
    given = {}
    for key in ("queries", "seconds", "findings"):
        value = getattr(budget, key)
        if value is not None:
            given[key] = value
    return given


def with_checks(config: Config, checks: list[Any]) -> Config:
    """Return a configuration with other checks."""
    return replace(config, table={**config.table, "checks": checks})


def _usual_checks(config: Config) -> list[dict[str, Any]]:
    """Return the checks of a file that declares none."""
    space = None if config.of_texts else config.space
    has_rows = space is not None and config.real().rows is not None
    has_one_output = "outputs" not in config.table.get("subject", {})
    return usual(space, real=has_rows, rates=has_one_output)


def audit_config(
    config: Config,
    given: Mapping[str, Any],
    *,
    seed: int = 0,
    level: float | None = None,
    **common: Any,
) -> Audit:
    """Run all checks of a configuration, at a level for all; `common` goes to `run_all`."""
    with workers_of(config, common.get("n_jobs")) as n_jobs:
        common["n_jobs"] = n_jobs
        return _audited(config, given, seed, level, common)


def _audited(
    config: Config,
    given: Mapping[str, Any],
    seed: int,
    level: float | None,
    common: Mapping[str, Any],
) -> Audit:
    if config.of_log:
        written = {"file": config.file.as_posix(), "text": _text(config)}
        settings = {"config": written, **common}
        return audit_of_log(config, seed=seed, level=level, **settings)
    plans = levelled(config, plans_of(config, given), level)
    declared = {
        "config": {"file": config.file.as_posix(), "text": _text(config)},
        "ledger": str(config.table.get("subject", {}).get("ledger", "")),
        "command": _command(config, {**given, "level": level}, seed),
    }
    settings = {**declared, **common}
    with config.software() as subject:
        found = run_all(subject, FileSource(config), plans, seed=seed, **settings)
    return _with_written_paths(found, config)


def _command(config: Config, given: Mapping[str, Any], seed: int) -> str:
    """Return the command line that runs the same audit."""
    words = ["evenhand", "audit", shlex.quote(config.file.as_posix())]
    for key, value in given.items():
        if value is not None:
            words += [f"--{key}", str(value)]
    words += ["--seed", str(seed)]
    return " ".join(words)


def _with_written_paths(audit: Audit, config: Config) -> Audit:
    """Return an audit whose checks name files as the configuration does.

    The runs had paths relative to the working folder. Documents must not depend on it.
    """
    written_path = {}
    for path in _paths(config):
        resolved = str(config.file.parent / path)
        written_path[resolved] = path
    checks = []
    for check in audit.checks:
        settings = dict(check.settings)
        for name in file_options(check.job, texts=config.of_texts):
            if name in settings:
                value = settings[name]
                settings[name] = written_path.get(value, value)
        checks.append(replace(check, settings=settings))
    return replace(audit, checks=tuple(checks))


def _paths(config: Config) -> list[str]:
    """Return the files that the checks name, as they name them."""
    paths: list[str] = []
    for check in config.table.get("checks", ()):
        names = file_options(check["job"], texts=config.of_texts)
        paths.extend(check[name] for name in names if name in check)
    return paths


def audit_file(
    path: str | PathLike[str],
    *,
    checks: Sequence[Mapping[str, Any]] | None,
    budget: Budget,
    **common: Any,
) -> Audit:
    """Run all checks of a configuration file, or others in their place."""
    if is_log(path):
        raise UsageError(
            f"'{path}' is a file of rows; audit recorded decisions with evenhand.audit_log, and"
            " software by its configuration file"
        )
    config = Config.load(path)
    if checks is not None:
        config = with_checks(config, [_table(check) for check in checks])
    given = bounds_given(budget)
    if checks is not None or budget.findings is not None:
        common["command"] = ""  # there is no command that does the same
    return audit_config(config, given, **common)


def _table(check: Any) -> Any:
    """Return a check as a file has it; anything else is refused later, with those of files."""
    if isinstance(check, Mapping):
        return dict(check)
    return check


def _text(config: Config) -> str:
    """Return the text of the file, or nothing where it can no longer be read."""
    try:
        return config.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
