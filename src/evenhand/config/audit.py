"""An audit as a configuration file declares it: its checks, its software, and the rows and models
that it names.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.config.checks import checks_of, file_options, plans_of_job
from evenhand.config.file import Config
from evenhand.methods.audit.audit import run_all
from evenhand.methods.audit.checks import usual, verb_for
from evenhand.population.rows import Rows
from evenhand.runtime.errors import ConfigError, UsageError
from evenhand.runtime.table_file import read_frame
from evenhand.subject.subject import Subject

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.checks import Plan
    from evenhand.population.samplers import Sampler
    from evenhand.population.source import Real
    from evenhand.runtime.budget import Budget
    from evenhand.texts.real_texts import Texts


@dataclass(frozen=True)
class FileSource:
    """What a configuration file declares besides the software."""

    config: Config

    @property
    def where(self) -> str:
        """The file, which error sentences begin with."""
        return str(self.config.file)

    @property
    def texts(self) -> Texts:
        """The texts that the file declares."""
        return self.config.texts

    def population(self) -> Sampler | None:
        """Return the population that the file declares."""
        return self.config.population()

    def start(self, path: str | None = None) -> tuple[Rows | None, list[str]]:
        """Return the real rows that a search starts from."""
        return self.config.start(path)

    def real(self, path: str | None = None) -> Real:
        """Return the real rows that the file names."""
        return self.config.real(path)

    def frame(self, path: str | None = None) -> Real:
        """Return real rows as a frame, as far as they are inputs, with the columns that are none."""
        real = self.config.real(path)
        if isinstance(real.rows, Rows):
            return replace(real, rows=read_frame(real.file))
        return real

    def other(self, model: Any, subject: Subject) -> Subject:
        """Load another model, which is tested like the one of the file."""
        if not isinstance(model, str):
            return Subject(model, subject.space, positive=subject.positive, differs=subject.differs)
        declared = self.config.table.get("subject", {})
        how = {
            key: declared[key]
            for key in ("trusted", "allow_pickle", "threshold")
            if key in declared
        }
        path = self.config.file.parent / model
        try:
            return Subject.saved(path, subject.space, positive=subject.positive, **how)
        except UsageError as error:
            raise ConfigError(f"{self.where}: models names {model!r}: {error}") from error


def plans_of(config: Config, given: Mapping[str, Any]) -> list[Plan]:
    """Return the runs of all checks of a file, job by job in its order, under what the command line
    gives.

    Where there are no checks, the usual ones are run.
    """
    if not config.table.get("checks"):
        space = None if config.of_texts else config.space
        real = space is not None and config.real().rows is not None
        rates = "outputs" not in config.table.get("subject", {})
        config = replace(
            config, table={**config.table, "checks": usual(space, real=real, rates=rates)}
        )
    found: list[Plan] = []
    for job in dict.fromkeys(check.job for check in checks_of(config)):
        verb = verb_for(job, texts=config.of_texts)
        if verb.name == job:
            config.space  # noqa: B018
        known = {key: value for key, value in given.items() if key in verb.checks.toml}
        found += plans_of_job(config, job, known)
    return found


def audit_config(
    config: Config, given: Mapping[str, Any], *, seed: int = 0, **common: Any
) -> Audit:
    """Run all checks of a configuration; `common` goes to `run_all`."""
    plans = plans_of(config, given)
    said = "".join(f" --{key} {value}" for key, value in given.items() if value is not None)
    told = {
        "config": {"file": config.file.as_posix(), "text": _text(config)},
        "ledger": str(config.table.get("subject", {}).get("ledger", "")),
        "command": f"evenhand audit {shlex.quote(config.file.as_posix())}{said} --seed {seed}",
    }
    with config.software() as subject:
        found = run_all(subject, FileSource(config), plans, seed=seed, **{**told, **common})
    paths = {str(config.file.parent / path): path for path in _paths(config)}
    checks = []
    for check in found.checks:
        names = file_options(check.job, texts=config.of_texts)
        settings = {
            key: paths.get(value, value) if key in names else value
            for key, value in check.settings.items()
        }
        checks.append(replace(check, settings=settings))
    return replace(found, checks=tuple(checks))


def _paths(config: Config) -> list[str]:
    """Return the files that the checks name, as they name them."""
    found = []
    for check in config.table.get("checks", ()):
        names = file_options(check["job"], texts=config.of_texts)
        found += [check[name] for name in names if name in check]
    return found


def audit_file(
    path: str | PathLike[str],
    *,
    checks: Sequence[Mapping[str, Any]] | None,
    budget: Budget,
    **common: Any,
) -> Audit:
    """Run all checks of a configuration file, or others in their place."""
    config = Config.load(path)
    if checks is not None:
        config = replace(
            config, table={**config.table, "checks": [_table(check) for check in checks]}
        )
    given = {key: getattr(budget, key) for key in ("queries", "seconds", "findings")}
    if checks is not None or budget.findings is not None:
        common["command"] = ""  # there is no command that does the same
    return audit_config(
        config, {key: value for key, value in given.items() if value is not None}, **common
    )


def _table(check: Any) -> Any:
    """Return a check as a file has it; what is none is refused with those of files."""
    return dict(check) if isinstance(check, Mapping) else check


def _text(config: Config) -> str:
    """Return the text of the file, which was read before."""
    try:
        return config.file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
