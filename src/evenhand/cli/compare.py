"""evenhand compare: predictions, or models of a configuration, against blind overwriting."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import finish, given
from evenhand.methods.compare import COMPARE
from evenhand.population.recorded import label_written
from evenhand.population.source import need_columns
from evenhand.runtime.errors import DataError, UsageError
from evenhand.runtime.table_file import SUFFIXES, read_frame
from evenhand.runtime.values import parse_outcome

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Compare the predictions of a file, or the models of the checks of a configuration."""
    file = options.source
    if options.points is not None:
        return _published(options, file)
    if file is not None and str(file).lower().endswith(tuple(SUFFIXES)):
        return _recorded(options, file)
    from evenhand.cli.checks import run_plans
    from evenhand.config.file import Config

    settings = given(options, COMPARE.checks.toml)
    for key in ("positive", "label"):
        if key in settings:
            settings[key] = parse_outcome(settings[key])
    code = run_plans(Config.load(file), COMPARE, settings, options)
    if code in (1, 3) and not options.gate:
        return 0
    return code


def _recorded(options: Namespace, file: str) -> int:
    """Compare recorded predictions with blind overwriting."""
    from evenhand.methods.compare.compare import compare

    for name in ("truth", "outcomes", "over"):
        if getattr(options, name) is None:
            raise UsageError(f"{file}: compare needs --{name}; see evenhand compare --help")
    frame = read_frame(file)
    groups: list[str] = []
    for names in options.over:
        groups.extend(name for name in names if name not in groups)
    need_columns(frame, [options.truth, *options.outcomes, *groups], Path(file))
    settings = given(options, _python_options())
    for key in ("positive", "label"):
        if key in settings:
            settings[key] = label_written(frame, options.truth, settings[key])
    predictions = {name: frame[name] for name in options.outcomes}
    sets = [tuple(names) for names in options.over]
    try:
        found = compare(
            predictions,
            frame[options.truth],
            frame[groups],
            over=sets,
            seed=options.seed,
            **settings,
        )
    except DataError as error:
        raise DataError(f"{file}: {error}") from error
    code = finish(found, options.json)
    return code if options.gate else 0


def _published(options: Namespace, file: str | None) -> int:
    """Compare the published scores of a file with the points of a published line."""
    from evenhand.methods.compare.compare import compare

    if file is None:
        raise UsageError(
            "--points needs a file of published scores; see evenhand compare --help"
        )
    for name in ("truth", "outcomes", "over", "baseline", "bias", "performance"):
        if getattr(options, name) is not None:
            raise UsageError(f"--points cannot be combined with --{name}; leave it out")
    scores = read_frame(file)
    need_columns(scores, ["name", "performance", "bias"], Path(file))
    line = read_frame(options.points)
    need_columns(line, ["performance", "bias"], Path(options.points))
    names = [str(name) for name in scores["name"]]
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise DataError(f"{file}: the name {repeated[0]!r} stands in several rows")
    points = zip(line["performance"], line["bias"], strict=True)
    try:
        found = compare(
            performance=dict(zip(names, scores["performance"], strict=True)),
            bias=dict(zip(names, scores["bias"], strict=True)),
            baseline=list(points),
            seed=options.seed,
        )
    except UsageError as error:
        raise DataError(f"{file}: {error}") from error
    code = finish(found, options.json)
    return code if options.gate else 0


def _python_options() -> list[str]:
    """Return the options of the command line that the function takes as they are."""
    shared = [option for option in COMPARE.options if option.command and option.python]
    return [option.name for option in shared if option.name != "over"]
