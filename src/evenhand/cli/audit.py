"""What the commands `audit`, `report` and `demo` do: run, print, and write every file that was
asked for.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli import broken_formats, formats
from evenhand.cli.output import given, need_folder
from evenhand.methods.audit.audit_result import Audit, gathered
from evenhand.methods.audit.formats import github
from evenhand.methods.audit.text import MEANING, render_audit
from evenhand.runtime import json_file
from evenhand.runtime.errors import UsageError, printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from evenhand.formats import Format
    from evenhand.methods.audit.check_result import CheckResult


def run_audit(options: Namespace) -> int:
    """Run every check of a configuration, print the verdicts, and write what was asked for."""
    from evenhand.config.audit import audit_config
    from evenhand.config.file import Config

    _check_files(options)
    old = None if options.baseline is None else Audit.from_json(options.baseline)
    each = None if options.quiet else _told_each()
    config = Config.load(options.config)
    found = audit_config(
        config,
        given(options, ("queries", "seconds")),
        seed=options.seed,
        n_jobs=options.n_jobs,
        each=each,
    )
    if old is not None:
        found = found.against(old, name=Path(options.baseline).name)
    return _finish(found, options, quiet=options.quiet)


def run_report(options: Namespace) -> int:
    """Write one page of results that were written before."""
    _check_files(options)
    found = gathered(options.files)
    found.to_html(options.output)
    print(f"wrote {options.output}")
    return 0


def run_demo(options: Namespace) -> int:
    """Audit the bundled loan program, and say what a gate would do."""
    from evenhand.config.audit import audit_config
    from evenhand.demo import PROGRAM, loan_config

    _check_files(options)
    config = loan_config()
    print(
        f"Software under test: {PROGRAM.name}, a program that reads applications and prints approve"
        " or deny."
    )
    print(f"Inputs: {config.space}.")
    print(
        "Question: is anybody treated differently for nothing but race or sex, how much, and who?\n"
    )
    found = audit_config(config, {}, seed=options.seed, each=_told_each())
    found = replace(
        found,
        subject=PROGRAM.name,
        config={**found.config, "file": config.file.name},
        command=f"evenhand demo --seed {options.seed}",
    )
    code = _finish(found, options)
    print(f"\nA gate would exit with {code} ({MEANING[code]}); this demonstration exits with 0.")
    if options.output is None:
        print("For the report, run: evenhand demo -o report.html")
    return 0


def _check_files(options: Namespace) -> None:
    """Refuse files that cannot be written before anything is run, not after."""
    taken: dict[Path, str] = {}
    for form, file in _wanted(options):
        flag = "-o" if form.key == "output" else form.flag
        other = taken.setdefault(Path(file).resolve(), flag)
        if other != flag:
            raise UsageError(f"{other} and {flag} both name {file}; give each a file of its own")
        need_folder(flag, file)
        if form.suffixes and Path(file).suffix.lower() not in form.suffixes:
            near = Path(file).with_suffix(form.suffixes[0])
            raise UsageError(
                f"{flag} {file}: a {form.what} is a {form.suffixes[0]} file; did you mean {near}?"
            )


def _wanted(options: Namespace) -> list[tuple[Format, str]]:
    """Return the formats that were asked for, each with its file."""
    for key, why in broken_formats().items():
        if getattr(options, key, None) is not None:
            raise UsageError(why)
    pairs = [(form, getattr(options, form.key, None)) for form in formats()]
    return [(form, file) for form, file in pairs if file is not None]


def _told_each() -> Callable[[int, CheckResult], None]:
    """Give what says on standard error that a check is done."""
    done = 0

    def told(every: int, check: CheckResult) -> None:
        nonlocal done
        done += 1
        verdict = check.verdict if check.found is not None else f"not run ({check.error})"
        print(
            printable(f"{done} of {every} {check.name}: {verdict or 'no limit'}"),
            file=sys.stderr,
            flush=True,
        )

    return told


def _finish(audit: Audit, options: Namespace, *, quiet: bool = False) -> int:
    """Write the files, print the verdicts, and return the exit code."""
    wanted = _wanted(options)
    for form, file in wanted:
        json_file.write(file, form.render(audit), form.what or form.name)
    if not quiet:
        render_audit(audit, [file for _, file in wanted])
    elif audit.exit_code:
        print(audit.story())
    if github.in_actions(os.environ):
        print(*github.annotations(audit), sep="\n")
        github.write_summary(audit, os.environ)
    return audit.exit_code
