"""What each command of the command line does; every function takes the parsed options and returns an exit code."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import INTERRUPTED, DataError, UsageError
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable

    from evenhand.results.result import Result

TRIED = 5
"""How many rows `init` asks a model about, to see that both fit."""


def init(options: Namespace) -> int:
    """Write a configuration file from a data file."""
    from evenhand.config.template import write_config

    file = Path(options.output)
    if file.exists() and not options.force:
        raise UsageError(f"{file}: exists already; choose another name with -o, or overwrite it with --force")
    space = write_config(Path(options.data), options.target, options.protected, file, options.model, options.positive)
    print(f"wrote {file}: {space}")
    if options.model is None:
        print(f"Next: name the software to test under [subject], then run: evenhand audit {file} -o report.html")
        return 0
    _try_out(file)
    print(f"Next: look at the checks and their limits, then run: evenhand audit {file} -o report.html")
    return 0


def _try_out(file: Path) -> None:
    """Ask the software about the first rows of the data, and say what it answers, or why it does not."""
    from evenhand.config.file import Config
    from evenhand.runtime.errors import EvenhandError, clip

    config = Config.load(file)
    try:
        real: Any = config.inferred().rows
        with config.subject() as subject:
            outcomes = subject.decide(real.head(TRIED) if real is not None else [])
        told = ", ".join(dict.fromkeys(clip(str(outcome), 40) for outcome in outcomes.tolist()))
        good = clip(repr(config.table["subject"]["positive"]), 40)
        print(f"The software answers {told or 'nothing, since there is no row to ask'}; favourable is {good}.")
    except EvenhandError as error:
        print(f"evenhand: the software could not be asked yet: {' '.join(str(error).split())}", file=sys.stderr)


def measure(options: Namespace) -> int:
    """Measure what the configuration declares."""
    return _checked(options, "measure", file="suite")


def subsets(options: Namespace) -> int:
    """Find the sets of features that the software discriminates by."""
    return _checked(options, "subsets")


def search(options: Namespace) -> int:
    """Find inputs that the software discriminates against."""
    return _checked(options, "search", file="found")


def mine(options: Namespace) -> int:
    """Find readable subgroups, or terms in texts, that the software treats differently."""
    return _checked(options, "mine")


def prevalence(options: Namespace) -> int:
    """Measure the share of discriminatory inputs among all."""
    return _checked(options, "prevalence")


def _checked(options: Namespace, job: str, *, file: str | None = None) -> int:
    """Run the checks of one job, those with equal settings together, and return the worst exit code.

    `file` is the option that names a file for each run to write, besides that of its result.
    """
    from evenhand.config.audit import FileSource
    from evenhand.config.checks import CHECKS, settings_of
    from evenhand.config.file import Config
    from evenhand.methods.audit.audit_result import WORST
    from evenhand.methods.audit.jobs import RUN
    from evenhand.runtime.budget import Budget

    config = Config.load(options.config)
    runs = settings_of(config, job, {key: getattr(options, key) for key in CHECKS[job]})
    source, codes = FileSource(config), list[int]()
    with config.software() if job == "mine" else config.subject() as subject:
        for number, settings in enumerate(runs, start=1):
            budget = Budget(**{key: settings.pop(key, None) for key in ("queries", "seconds", "findings")})
            if file is not None and getattr(options, file) is not None:
                settings[file] = _numbered(getattr(options, file), number)
            result = RUN[job](source, subject, **settings, budget=budget, seed=options.seed, n_jobs=options.n_jobs)
            if codes:
                print()
            codes.append(_finish(result, _numbered(options.json, number)))
            if codes[-1] == INTERRUPTED:
                break
    return min(codes, key=WORST.index)


def _numbered(file: str | None, number: int) -> str | None:
    """Return the file for the result of a run: the one that was named, then -2, -3 and so on before its suffix.

    >>> _numbered("out.json", 1), _numbered("tests.csv.gz", 2)
    ('out.json', 'tests-2.csv.gz')
    """
    if file is None or number == 1:
        return file
    path = Path(file)
    suffix = ".csv.gz" if path.name.endswith(".csv.gz") else path.suffix
    return str(path.with_name(f"{path.name.removesuffix(suffix)}-{number}{suffix}"))


def replay(options: Namespace) -> int:
    """Ask the software again what a suite, a result or an audit holds."""
    from evenhand.config.file import Config
    from evenhand.methods.audit.audit_result import gathered
    from evenhand.methods.replay.replay import replay as run

    file = options.config
    if file is None and Path(options.file).suffix.lower() == ".json":
        file = gathered([options.file]).home
    with Config.load(file).software() as subject:
        return _finish(run(options.file, subject, **_given(options, "limit", "level")), options.json)


def measure_log(options: Namespace) -> int:
    """Measure group discrimination in recorded decisions."""
    from evenhand.methods.measure.recorded import measure_log as run

    return _recorded(options, run, "limit", "least_ratio", "smallest", "level")


def impact(options: Namespace) -> int:
    """Make tables of selection rates and impact ratios from recorded decisions."""
    from evenhand.methods.impact.impact import impact as run

    return _recorded(options, run, "score", "smallest", "unknown", "intersections", "limit", "level")


def mine_log(options: Namespace) -> int:
    """Find readable subgroups that recorded decisions treated differently."""
    from evenhand.methods.mine.recorded import mine_log as run

    forming = ("support", "complement", "bins", "binning", "levels", "depth")
    return _recorded(options, run, "truth", "score", *forming, "limit", "level", "stories")


def _recorded(options: Namespace, run: Callable[..., Result], *names: str) -> int:
    """Run a verb on a file of recorded decisions, with those of the named options that were given."""
    from evenhand.runtime.table_file import read_frame

    frame = read_frame(options.data)
    settings = _given(options, *names)
    if options.positive is not None:
        settings["positive"] = _outcome(frame, options.outcome, options.positive)
    try:
        result = run(frame, outcome=options.outcome, over=[tuple(columns) for columns in options.over], **settings)
    except DataError as error:
        raise DataError(f"{options.data}: {error}") from error
    return _finish(result, options.json)


def compare(options: Namespace) -> int:
    """Run a study of mitigations, or what is left of it, and print its tables."""
    from evenhand.config.study import read_study
    from evenhand.study.study import run
    from evenhand.study.text import render_study, write_study

    names = ("store", "splits", "seed", "bias", "performance")
    declared = read_study(options.study).changed(**_given(options, *names))
    cases = run(declared.study, declared.store, n_jobs=options.n_jobs)
    found = render_study(cases, declared.bias, declared.performance, paper=options.paper)
    if options.json is not None:
        write_study(options.json, cases, found)
    return 0


def compare_log(options: Namespace) -> int:
    """Compare recorded predictions with blind overwriting."""
    from evenhand.methods.compare.compare import compare as run
    from evenhand.methods.compare.text import render_comparison
    from evenhand.runtime.errors import clip, nearest
    from evenhand.runtime.table_file import read_frame

    frame = read_frame(options.data)
    groups = list(dict.fromkeys(name for names in options.over for name in names))
    for column in [options.truth, *options.outcomes, *groups]:
        if column not in frame.columns:
            raise DataError(
                f"{options.data}: there is no column {clip(repr(column))}; {nearest(column, frame.columns)}"
            )
    names = ("baseline", "bias", "performance", "strategy", "smallest", "level", "resamples")
    settings = _given(options, *names)
    for key in ("positive", "label"):
        if getattr(options, key) is not None:
            settings[key] = _outcome(frame, options.truth, getattr(options, key))
    outcomes = {name: frame[name] for name in options.outcomes}
    try:
        found = run(outcomes, frame[options.truth], frame[groups], over=options.over, seed=options.seed, **settings)
    except UsageError as error:
        said = (
            str(error)
            .replace("positive=…", "--positive")
            .replace("label=…", "--label")
            .replace("smallest=…", "--smallest")
        )
        raise type(error)(f"{options.data}: {said}" if isinstance(error, DataError) else said) from error
    render_comparison(found)
    if options.json is not None:
        found.to_json(options.json)
    return found.exit_code if options.gate else 0


def repair(options: Namespace) -> int:
    """Train a model again so that it discriminates less, and write it where asked."""
    from evenhand.config.file import Config
    from evenhand.config.repair import read_repair

    for name in ("json", "html"):
        file = getattr(options, name)
        if file is not None and not Path(file).parent.is_dir():  # before hours of training, not after
            raise UsageError(f"--{name} {file}: there is no folder '{Path(file).parent}'; make it first")
    names = ("over", "method", "labels", "limit", "level", "queries", "seconds", "output")
    declared = read_repair(Config.load(options.config), _given(options, *names))
    from evenhand.methods.repair.repair import (
        repair as run,  # takes scikit-learn along, which a mistake need not wait for
    )
    from evenhand.methods.repair.text import render_repair, render_written

    common = {"seed": options.seed, "n_jobs": options.n_jobs}
    try:
        found = run(declared.estimator, declared.inputs, declared.truth, **declared.settings, **common)
    except DataError as error:
        raise DataError(f"{declared.data}: {error}") from error
    found = replace(found, notes=(*found.notes, *declared.notes))
    render_repair(found)
    if options.json is not None:
        found.to_json(options.json)
    if options.html is not None:
        from evenhand.methods.repair.html import write_section

        write_section(found, options.html)
    if declared.output is not None and found.changed:
        found.save(declared.output)
    render_written(found, declared.output)
    return found.exit_code


def _outcome(frame: Any, column: str, text: str) -> Any:
    """Return the outcome of a column that is written like this."""
    from evenhand.runtime.values import parse_outcome

    values = frame[column].unique().tolist() if column in frame.columns else []
    return next((value for value in values if str(value) == text), parse_outcome(text))


def _given(options: Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given, so that all others keep the defaults of the function."""
    return {name: getattr(options, name) for name in names if getattr(options, name) is not None}


def data(options: Namespace) -> int:
    """List the data sets, or fetch one."""
    from evenhand import datasets

    if options.action == "fetch":
        print(datasets.fetch(options.name))
        return 0
    for info in datasets.available():
        print(f"{info.name:16} {info.rows:>7,} rows  {'here' if info.local else '-':5} {info.source}")
    return 0


def audit(options: Namespace) -> int:
    """Run every check of a configuration, and write what was asked for."""
    from evenhand.cli.audit import run_audit

    return run_audit(options)


def report(options: Namespace) -> int:
    """Write one page of results that were written before."""
    from evenhand.cli.audit import run_report

    return run_report(options)


def explore(options: Namespace) -> int:
    """Serve the local page on which a person is edited."""
    from evenhand.explore.session import explore as run

    return run(options)


def demo(options: Namespace) -> int:
    """Audit the bundled loan program and explain what comes out."""
    from evenhand.cli.audit import run_demo

    return run_demo(options)


def _finish(result: Result, file: str | None) -> int:
    """Print a result, write it where asked, and return its exit code."""
    from evenhand.report.terminal import render

    render(result)
    if file is not None:
        result.to_json(file)
    return INTERRUPTED if result.stop is StopReason.INTERRUPTED else result.exit_code
