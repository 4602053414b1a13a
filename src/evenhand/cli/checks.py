"""Commands of verbs that run the checks of a configuration."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from evenhand.cli.output import finish, given, numbered
from evenhand.cli.plan import DECLINED, agreed
from evenhand.config.audit import FileSource
from evenhand.config.checks import plans_of_job, workers_of
from evenhand.config.file import Config
from evenhand.methods.audit.audit_result import WORST
from evenhand.methods.audit.checks import verb_for

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence

    from evenhand.methods.audit.checks import CheckPlan
    from evenhand.verbs import FileOption, Verb


def run_checks(verb: Verb, options: Namespace) -> int:
    """Run the checks of one job, and return the worst exit code."""
    config = Config.load(options.config)
    config.need_software()
    names = list(verb.checks.toml)
    if verb.for_texts:
        text_verb = verb_for(verb.name, texts=True)
        names += text_verb.checks.toml
    return run_plans(config, verb, given(options, dict.fromkeys(names)), options)


def run_plans(
    config: Config, verb: Verb, settings: dict[str, Any], options: Namespace
) -> int:
    """Run all checks of a job with some settings, and write the files that were asked for."""
    plans = plans_of_job(config, verb.name, settings)
    files = _requested_files(verb, options)
    if not agreed(config, plans, options):
        return DECLINED
    as_it_is = {"raw": True} if getattr(options, "raw_csv", False) else {}
    codes: list[int] = []
    with (
        config.software() if verb.for_texts else config.subject() as subject,
        # compare asks each model once, in one process.
        workers_of(config, getattr(options, "n_jobs", 1)) as n_jobs,
    ):
        for file_option, path in files:
            file_option.check(path, subject)
            plans = _with_settings(plans, file_option.settings)
        for number, plan in enumerate(plans, start=1):
            found = plan.run(subject, FileSource(config), seed=options.seed, n_jobs=n_jobs)
            others = []
            for file_option, path in files:
                write = partial(file_option.write, found, **as_it_is)
                others.append((write, numbered(path, number)))
            if codes:
                print()
            code = finish(found, numbered(options.json, number), *others)
            codes.append(code)
            if found.interrupted:
                return code
    return min(codes, key=WORST.index)


def _with_settings(plans: Sequence[CheckPlan], settings: Any) -> list[CheckPlan]:
    """Return runs with further settings."""
    return [replace(plan, settings={**plan.settings, **settings}) for plan in plans]


def _requested_files(verb: Verb, options: Namespace) -> list[tuple[FileOption, str]]:
    """Return the files besides the result that were asked for."""
    if verb.command is None:
        return []
    requested = []
    for file_option in verb.command.files:
        path = getattr(options, file_option.option.name)
        if path is not None:
            requested.append((file_option, path))
    return requested
