"""The commands `audit`, `report` and `demo`: run, print, and write what was asked for."""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli import broken_formats, formats
from evenhand.cli.output import (
    FileWriting,
    given,
    need_folder,
    need_place_of_folder,
    write_content,
)
from evenhand.cli.plan import DECLINED, agreed, somebody_is_there
from evenhand.methods.audit import LOG
from evenhand.methods.audit.audit_result import gathered
from evenhand.methods.audit.diff.changes import changes_between
from evenhand.methods.audit.diff.files import pair_of
from evenhand.methods.audit.diff.text import changes_lines
from evenhand.methods.audit.formats import github
from evenhand.methods.audit.gate import Gate
from evenhand.methods.audit.text import render_audit
from evenhand.report.lines import Screen
from evenhand.results.protocol import damage_reported
from evenhand.runtime.column_file import replacing
from evenhand.runtime.errors import UsageError, clip, printable

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Sequence

    from evenhand.formats import Format
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult

PROGRESS_WIDTH = 80
"""About how many columns a line of progress takes."""


def run_audit(options: Namespace) -> int:
    """Run every check of a configuration, print the verdicts, and write what was asked for."""
    _check_files(options)
    key = _bundle_key(options)
    gate = Gate.of(
        options.baseline,
        tolerance=options.tolerance,
        keep_answers=options.keep_answers,
    )
    if not _agreed(options):
        return DECLINED
    on_check = None if options.quiet else _progress_printer()
    if options.bundle is not None:
        return _run_bundled(options, gate, on_check, key)
    common = {
        "seed": options.seed,
        "level": options.level,
        "n_jobs": options.n_jobs,
        "each": on_check,
        "gate": gate,
    }
    found = gate.held(_found(options, common))
    return _finish(found, options, quiet=options.quiet, gate=gate)


def _agreed(options: Namespace) -> bool:
    """Return whether to go on, after asking where an audit of software takes long."""
    from evenhand.config.audit import plans_of
    from evenhand.config.file import Config
    from evenhand.config.log import is_log

    if options.yes or not somebody_is_there() or is_log(options.config):
        return True
    config = Config.load(options.config)
    if config.of_log:
        return True
    return agreed(config, plans_of(config, given(options, ("queries", "seconds"))), options)


def _found(options: Namespace, common: dict[str, Any]) -> Audit:
    """Return the audit of a configuration, or of a file of recorded decisions."""
    from evenhand.config.audit import audit_config
    from evenhand.config.file import Config
    from evenhand.config.log import audit_log_file, is_log

    if is_log(options.config):
        return audit_log_file(options.config, _of_log(options), **common)
    _refuse_log_options(options)
    config = Config.load(options.config)
    return audit_config(config, given(options, ("queries", "seconds")), **common)


def _of_log(options: Namespace) -> dict[str, Any]:
    """Return what is said of a file of recorded decisions."""
    return given(options, [option.name for option in LOG if option.command])


def _refuse_log_options(options: Namespace) -> None:
    """Refuse what only a file of recorded decisions can be told."""
    for name in _of_log(options):
        raise UsageError(
            f"{LOG[name].flag} is for a file of recorded decisions, as in: evenhand audit"
            " decisions.csv --outcome approved --over sex; a configuration says it in [log]"
        )


def _bundle_key(options: Namespace) -> Any:
    """Return the key that signs the bundle, and refuse before anything is run what cannot work."""
    from evenhand.bundle import messages
    from evenhand.bundle.signature import private_key

    if options.bundle is None:
        for flag, value in {
            "--bundle-data": options.bundle_data,
            "--sign": options.sign,
        }.items():
            if value:
                raise UsageError(messages.DATA_WITHOUT_BUNDLE.format(flag=flag))
        return None
    file = Path(options.bundle)
    need_folder("--bundle", options.bundle)
    if file.suffix.lower() != ".zip":
        other = file.with_suffix(".zip")
        raise UsageError(messages.BUNDLE_SUFFIX.format(file=file, other=other))
    return None if options.sign is None else private_key(options.sign)


def _run_bundled(
    options: Namespace,
    gate: Gate,
    each: Callable[[int, CheckResult], None] | None,
    key: Any,
) -> int:
    """Run an audit that is recorded, and write its bundle besides what else was asked for."""
    from evenhand.bundle.run import AuditRun
    from evenhand.bundle.signature import SUFFIX, signed
    from evenhand.bundle.write import bundled
    from evenhand.config.file import Config
    from evenhand.config.log import is_log

    if is_log(options.config):
        source, log = options.config, _of_log(options)
    else:
        _refuse_log_options(options)
        source, log = Config.load(options.config).file.as_posix(), None
    run = AuditRun(
        source,
        log,
        given(options, ("queries", "seconds")),
        options.seed,
        options.level,
        options.tolerance,
        options.keep_answers,
        "" if options.baseline is None else Path(options.baseline).name,
    )
    bundle = bundled(run, gate, each=each, with_data=options.bundle_data)

    def write_bundle(file: str) -> None:
        content = bundle.write(file)
        if key is not None:
            with replacing(Path(file + SUFFIX)) as part:
                part.write_bytes(signed(content, key))

    files = [options.bundle]
    if key is not None:
        files.append(options.bundle + SUFFIX)
    more = (write_bundle, files)
    return _finish(bundle.audit, options, quiet=options.quiet, gate=gate, more=more)


def run_report(options: Namespace) -> int:
    """Write results that were written before as one page, or in other formats.

    With --diff, there are two, and what changed from the first to the second is printed; a page is
    written where one is asked for.
    """
    if not options.diff and not any(_requested(options)):
        options.output = "report.html"
    _check_files(options)
    since = None
    since_name = ""
    if options.diff:
        since, found = pair_of(options.files)
        since_name = Path(options.files[0]).name
    with damage_reported(", ".join(options.files)):
        if since is None:
            found = gathered(options.files)
        files = []
        for form, file in _requested(options):
            content = form.content(
                found, language=options.language, since=since, since_name=since_name
            )
            write_content(file, content, form.what or form.name)
            files.append(file)
        if since is not None:
            changes = changes_between(since, found, name=since_name)
            Screen().print(list(changes_lines(changes)))
    if files:
        print(f"wrote {printable(', '.join(files))}")
    return 0


def run_demo(options: Namespace) -> int:
    """Audit the bundled loan program, and print what a gate would do."""
    from evenhand.config.audit import audit_config
    from evenhand.demo import PROGRAM, loan_config

    _check_files(options)
    config = loan_config()
    print(f"Software: {PROGRAM.name}, which reads applications and prints approve or deny.")
    print(f"Inputs: {config.space}.")
    print(
        "Question: is anybody treated differently for race or sex alone? Who, how much?\n"
    )
    found = audit_config(config, {}, seed=options.seed, each=_progress_printer())
    found = replace(
        found,
        config={**found.config, "file": config.file.name},
        command=f"evenhand demo --seed {options.seed}",
    )
    code = _finish(found, options)
    if code:
        print("A gate would stop here; this demonstration itself exits with 0.")
    return 0


def _check_files(options: Namespace) -> None:
    """Refuse files that cannot be written before anything is run, not after."""
    flag_of: dict[Path, str] = {}
    for form, file in _requested(options):
        path = Path(file)
        flag = "-o" if form.key == "output" else form.flag
        other_flag = flag_of.setdefault(path.resolve(), flag)
        if other_flag != flag:
            raise UsageError(
                f"{other_flag} and {flag} both name {file}; give each a file of its own"
            )
        if form.folder:
            need_place_of_folder(flag, file)
        else:
            need_folder(flag, file)
        if form.check is not None:
            form.check()
        if form.suffixes and path.suffix.lower() not in form.suffixes:
            suffix = form.suffixes[0]
            raise UsageError(
                f"{flag} {file}: a {form.what} is a {suffix} file; did you mean"
                f" {path.with_suffix(suffix)}?"
            )


def _requested(options: Namespace) -> list[tuple[Format, str]]:
    """Return the formats that were asked for, each with its file."""
    for key, reason in broken_formats().items():
        if getattr(options, key, None) is not None:
            raise UsageError(reason)
    requested = []
    for form in formats():
        file = getattr(options, form.key, None)
        if file is not None:
            requested.append((form, file))
    return requested


def _progress_printer() -> Callable[[int, CheckResult], None]:
    """Return a function that prints each check that is done on standard error."""
    done = 0

    def print_progress(total: int, check: CheckResult) -> None:
        nonlocal done
        done += 1
        outcome = _verdict_text(check)
        room = max(20, PROGRESS_WIDTH - len(outcome) - 12)
        line = f"{done} of {total} {clip(check.name, room)}: {outcome}"
        print(printable(line), file=sys.stderr, flush=True)

    return print_progress


def _verdict_text(check: CheckResult) -> str:
    if check.found is None:
        return f"not run ({clip(check.error, PROGRESS_WIDTH // 2)})"
    return check.verdict or "no limit"


def _finish(
    audit: Audit,
    options: Namespace,
    *,
    quiet: bool = False,
    gate: Gate | None = None,
    more: tuple[Callable[[str], None], Sequence[str]] | None = None,
) -> int:
    """Write the files, print the verdicts, and return the exit code.

    Files that can show it say what changed since the older audit of the gate.
    `more` writes further files: what takes the first of their names, and all names.
    """
    writing = FileWriting()
    files = []
    for form, file in _requested(options):
        if writing.write(_write, form, audit, file, gate or Gate(), options.language):
            files.append(file)
    if more is not None:
        write, names = more
        if writing.write(write, names[0]):
            files += names
    if not quiet:
        code = writing.exit_code(audit.exit_code)
        writing.write(partial(render_audit, audit, files, code=code, full=options.full))
    elif audit.exit_code:
        writing.write(print, audit.story())
    if github.in_actions(os.environ):
        print(*github.annotations(audit), sep="\n")
        writing.write(github.write_summary, audit, os.environ)
    return writing.finish(audit.exit_code)


def _write(form: Format, audit: Audit, file: str, gate: Gate, language: str) -> None:
    content = form.content(audit, language=language, since=gate.old, since_name=gate.name)
    write_content(file, content, form.what or form.name)
