"""What each command of the command line does; every function takes the parsed options and returns an exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.core.errors import UsageError
from evenhand.core.estimate import StopReason

if TYPE_CHECKING:
    from argparse import Namespace

    from evenhand.core.results import Result

INTERRUPTED = 130
"""What a shell expects of a program that was interrupted, whatever it had found by then."""
_MEANING = {0: "pass", 1: "discrimination found", 3: "undecided"}


def init(options: Namespace) -> int:
    """Write a configuration file from a data file."""
    from evenhand.template import write_config

    file = Path(options.output)
    if file.exists() and not options.force:
        raise UsageError(f"{file}: exists already; choose another name with -o, or overwrite it with --force")
    space = write_config(Path(options.data), options.target, options.protected, file)
    print(f"wrote {file}: {space}")
    print("Next: name the software to test under [subject], then run: evenhand measure " + str(file))
    return 0


def measure(options: Namespace) -> int:
    """Measure what the configuration declares."""
    from evenhand.config import Config, settings_of
    from evenhand.core.budget import Budget
    from evenhand.methods.measure import measure as run

    config = Config.load(options.config)
    given = {name: getattr(options, name) for name in ("over", "limit", "margin", "level", "queries", "seconds")}
    settings = settings_of(config, "measure", given)
    budget = Budget(queries=settings.pop("queries", None), seconds=settings.pop("seconds", None))
    with config.subject() as subject:
        result = run(subject, **settings, budget=budget, seed=options.seed, n_jobs=options.n_jobs)
    return _finish(result, options.json)


def data(options: Namespace) -> int:
    """List the data sets, or fetch one."""
    from evenhand import datasets

    if options.action == "fetch":
        print(datasets.fetch(options.name))
        return 0
    for info in datasets.available():
        print(f"{info.name:16} {info.rows:>7,} rows  {'here' if info.local else '-':5} {info.source}")
    return 0


def demo(options: Namespace) -> int:
    """Test the bundled loan program and explain what comes out."""
    from evenhand.demo import PROGRAM, loan_subject
    from evenhand.methods.measure import measure as run

    with loan_subject() as subject:
        print(f"Software under test: {PROGRAM.name}, a program that reads an application and prints approve or deny.")
        print(f"Inputs: {subject.space}.")
        print("Question: does the decision change when nothing but race, or nothing but sex, changes?\n")
        result = run(subject, limit=0.05, seed=options.seed)
    code = _finish(result, options.json)
    print(f"\nA gate would exit with {code} ({_MEANING[code]}); this demonstration exits with 0.")
    return 0


def _finish(result: Result, file: str | None) -> int:
    """Print a result, write it where asked, and return its exit code."""
    for finding in result.findings:
        verdict = "" if finding.verdict is None else f"{str(finding.verdict).upper():10}"
        print(f"{verdict}{finding.claim}")
        print(f"{'':10}{finding.estimate}" + ("" if finding.limit is None else f"; limit {finding.limit:g}"))
        for case in finding.cases[:1]:
            print(f"{'':10}for example {case}")
    for note in result.notes:
        print(f"note: {note}")
    print(
        f"{result.spent.queries:,} inputs asked, {result.spent.executed:,} executed, "
        f"{result.spent.seconds:.1f} s; {result.stop}"
    )
    if file is not None:
        result.to_json(file)
    return INTERRUPTED if result.stop is StopReason.INTERRUPTED else result.exit_code
