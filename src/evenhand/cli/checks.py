"""What the commands of verbs do that run the checks of a configuration."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.cli.output import finish, given, numbered
from evenhand.config.audit import FileSource
from evenhand.config.checks import plans_of_job
from evenhand.config.file import Config
from evenhand.methods.audit.audit_result import WORST
from evenhand.methods.audit.checks import verb_for
from evenhand.runtime.errors import INTERRUPTED

if TYPE_CHECKING:
    from argparse import Namespace

    from evenhand.verbs import FileOption, Verb


def run_checks(verb: Verb, options: Namespace) -> int:
    """Run the checks of one job, those with equal settings together, and return the worst exit
    code.
    """
    config = Config.load(options.config)
    names = verb.checks.toml
    if verb.for_texts:
        names = (*names, *verb_for(verb.name, texts=True).checks.toml)
    return run_plans(config, verb, given(options, dict.fromkeys(names)), options)


def run_plans(config: Config, verb: Verb, settings: dict[str, Any], options: Namespace) -> int:
    """Run all checks of a job under some settings, and write what was asked for of each."""
    plans = plans_of_job(config, verb.name, settings)
    wanted = _wanted(verb, options)
    codes: list[int] = []
    n_jobs = getattr(options, "n_jobs", 1)  # compare asks each model once, in one process
    with config.software() if verb.for_texts else config.subject() as subject:
        for one, path in wanted:
            one.check(path, subject)
            plans = [replace(plan, settings={**plan.settings, **one.settings}) for plan in plans]
        for number, plan in enumerate(plans, start=1):
            found = plan.run(subject, FileSource(config), seed=options.seed, n_jobs=n_jobs)
            for one, path in wanted:
                one.write(found, numbered(path, number))
            if codes:
                print()
            codes.append(finish(found, numbered(options.json, number)))
            if codes[-1] == INTERRUPTED:
                break
    return min(codes, key=WORST.index)


def _wanted(verb: Verb, options: Namespace) -> list[tuple[FileOption, str]]:
    """Return the files besides the result that were asked for."""
    known = () if verb.command is None else verb.command.files
    pairs = [(one, getattr(options, one.option.name)) for one in known]
    return [(one, path) for one, path in pairs if path is not None]
