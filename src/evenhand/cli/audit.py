"""What the commands `audit`, `report` and `demo` do: run, print, and write every file that was asked for."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.audit_result import Audit, gathered
from evenhand.runtime import json_file
from evenhand.runtime.errors import UsageError, printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from evenhand.methods.audit.audit_result import Checked

WRITTEN = ("output", "json", "junit", "sarif", "markdown", "card")
"""The options that name a file to write."""


def run_audit(options: Namespace) -> int:
    """Run every check of a configuration, print the verdicts, and write what was asked for."""
    from evenhand.config.audit import audit_config
    from evenhand.config.file import Config

    _check_files(options)
    old = None if options.baseline is None else Audit.from_json(options.baseline)
    given = {key: getattr(options, key) for key in ("queries", "seconds") if getattr(options, key) is not None}
    each = None if options.quiet else _told_each()
    config = Config.load(options.config)
    found = audit_config(config, given, seed=options.seed, n_jobs=options.n_jobs, each=each)
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
    from evenhand.methods.audit.text import MEANING

    _check_files(options)
    config = loan_config()
    print(f"Software under test: {PROGRAM.name}, a program that reads applications and prints approve or deny.")
    print(f"Inputs: {config.space}.")
    print("Question: is anybody treated differently for nothing but race or sex, how much, and who?\n")
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
    for name in WRITTEN:
        file = getattr(options, name, None)
        if file is None:
            continue
        said = "-o" if name == "output" else f"--{name}"
        other = taken.setdefault(Path(file).resolve(), said)
        if other != said:
            raise UsageError(f"{other} and {said} both name {file}; give each a file of its own")
        if not Path(file).parent.is_dir():
            raise UsageError(f"{said} {file}: there is no folder '{Path(file).parent}'; make it first")
        if Path(file).is_dir():
            raise UsageError(f"{said} {file}: this is a folder; name a file in it")
    output = getattr(options, "output", None)
    if output is not None and Path(output).suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"-o {output}: a report is a .html file; did you mean {Path(output).with_suffix('.html')}?")


def _told_each() -> Callable[[int, Checked], None]:
    """Give what says on standard error that a check is done."""
    done = 0

    def told(every: int, check: Checked) -> None:
        nonlocal done
        done += 1
        verdict = check.verdict if check.found is not None else f"not run ({check.error})"
        print(printable(f"{done} of {every} {check.name}: {verdict or 'no limit'}"), file=sys.stderr, flush=True)

    return told


def _finish(audit: Audit, options: Namespace, *, quiet: bool = False) -> int:
    """Write the files, print the verdicts, and return the exit code."""
    from evenhand.methods.audit.text import render_audit

    files = [file for name in WRITTEN if (file := getattr(options, name, None)) is not None]
    writers: dict[str, Callable[[], Any]] = {
        "json": lambda: audit.to_json(options.json),
        "junit": lambda: json_file.write(options.junit, _junit(audit), "JUnit file"),
        "sarif": lambda: json_file.write(options.sarif, _sarif(audit), "SARIF file"),
        "markdown": lambda: json_file.write(options.markdown, _markdown(audit), "summary"),
        "card": lambda: json_file.write(options.card, _card(audit), "model card"),
        "output": lambda: audit.to_html(options.output),
    }
    for name, write in writers.items():
        if getattr(options, name, None) is not None:
            write()
    if not quiet:
        render_audit(audit, files)
    elif audit.exit_code:
        print(audit.story())
    _tell_github(audit)
    return audit.exit_code


def _tell_github(audit: Audit) -> None:
    """Annotate the run and write its summary, where this is a run of GitHub Actions."""
    from evenhand.methods.audit.formats import github

    if github.in_actions(os.environ):
        print(*github.annotations(audit), sep="\n")
        github.write_summary(audit, os.environ)


def _junit(audit: Audit) -> str:
    from evenhand.methods.audit.formats.junit import to_junit

    return to_junit(audit)


def _sarif(audit: Audit) -> str:
    from evenhand.methods.audit.formats import github
    from evenhand.methods.audit.formats.sarif import to_sarif

    # Code scanning makes an alert of whatever the file holds.
    return to_sarif(audit, every=not github.in_actions(os.environ))


def _markdown(audit: Audit) -> str:
    from evenhand.methods.audit.formats.markdown import to_markdown

    return to_markdown(audit)


def _card(audit: Audit) -> str:
    from evenhand.methods.audit.formats.model_card import to_card

    return to_card(audit)
