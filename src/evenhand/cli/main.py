"""The command line. Results go to standard output, progress and errors to standard error.

Exit codes: 0 pass, 1 discrimination found, 2 bad usage or configuration, 3 undecided, 4 the subject
failed, 70 a mistake of evenhand itself, 130, 143 or 129 interrupted by SIGINT, SIGTERM or SIGHUP.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from evenhand.cli import RUNNERS, commands
from evenhand.cli.overview import overview
from evenhand.runtime.errors import INTERRUPTED
from evenhand.runtime.interruption import exit_code, signals_end_runs
from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Sequence
    from typing import TextIO

    from evenhand.verbs import Command, Verb

# Everything else is imported by the command that needs it, so that --help answers at once.


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        with signals_end_runs():
            code = _interruptible(argv)
    except KeyboardInterrupt:
        # Another signal, while the first was being seen to.
        code = INTERRUPTED
    return exit_code() if code == INTERRUPTED else code


def _interruptible(argv: Sequence[str] | None) -> int:
    try:
        return _run(argv)
    except KeyboardInterrupt:
        print(
            "evenhand: interrupted; what was executed is in the ledger, if there is one",
            file=sys.stderr,
        )
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    words = sys.argv[1:] if argv is None else argv
    wants_help = set(words) <= {"-h", "--help"}
    if wants_help and all(VERBS.origin(name) == "evenhand" for name in VERBS):
        # No parser is built, so that the help answers at once.
        known = [command for command, _ in commands()]
        print(overview(known), end="")
        if words:
            return 0
        return 2
    from evenhand.cli.parser import build

    names = [word for word in words if not word.startswith("-")]
    parser = build(names[0] if names else "")
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:
        # A caller in Python gets a code back, as from every other path.
        return int(stop.code or 0)
    if options.version:
        from evenhand import __version__

        print(f"evenhand {__version__}")
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    return _guarded(options)


def _guarded(options: Namespace) -> int:
    """Run a command; a mistake is one sentence and an exit code."""
    import warnings

    from evenhand.runtime.errors import EvenhandError, one_line
    from evenhand.runtime.interruption import exits_reported, sudden_exits_raised

    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            # No exit code but that of a verdict: the software may have called sys.exit(0).
            with sudden_exits_raised(), exits_reported("the software under test"):
                code = dispatch(options)
    except EvenhandError as error:
        print("evenhand: " + one_line(error), file=sys.stderr)
        code = error.exit_code
    except BrokenPipeError:
        code = 0
    except Exception as error:
        from evenhand.cli.failure import report_failure

        code = report_failure(error)
    return _printed(code)


def _printed(code: int) -> int:
    """Print what is still to be printed, and return the exit code; a pass must be readable."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _print_no_more()  # the reader of our output has gone, and knows enough
    except OSError as error:
        _print_no_more()
        print(f"evenhand: cannot print the result: {error.strerror}", file=sys.stderr)
        return code or 2
    return code


def _print_no_more() -> None:
    """Let nothing more be printed, as Python would complain again when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    """Print a warning; of one of ours the sentence alone, without the place in the code."""
    import warnings

    from evenhand.runtime.errors import EvenhandWarning, one_line, printable_lines

    if isinstance(message, EvenhandWarning):
        text = f"evenhand: {one_line(message)}\n"
    else:
        text = printable_lines(
            warnings.formatwarning(message, category, filename, lineno, line)
        )
    print(text, end="", file=file or sys.stderr)


def dispatch(options: Namespace) -> int:
    """Run the command that was named, on the cluster that was named."""
    address = getattr(options, "cluster", None)
    if address is None:
        return _run_command(options)
    from evenhand.runtime.workers.clusters import cluster

    if options.n_jobs in (None, 1):
        options.n_jobs = -1
    with cluster(address):
        return _run_command(options)


def _run_command(options: Namespace) -> int:
    command, verb = _command_named(options.command)
    if command.run is not None:
        return int(command.run(options))
    if command.name in RUNNERS:
        return int(RUNNERS[command.name](options))
    if verb is None:
        raise NotImplementedError(f"the command {command.name} has nothing to run")
    if command.source == "records":
        from evenhand.cli.records import run_records as run
    else:
        from evenhand.cli.checks import run_checks as run
    return run(verb, options)


def _command_named(name: str) -> tuple[Command, Verb | None]:
    for command, verb in commands():
        if command.name == name:
            return command, verb
    raise NotImplementedError(f"there is no command {name}")


if __name__ == "__main__":
    sys.exit(main())
