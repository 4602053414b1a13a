"""evenhand compare: recorded predictions, or the models of a configuration, against blind
overwriting.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from evenhand.cli.output import finish, given, label_of
from evenhand.methods.compare import COMPARE
from evenhand.population.source import need_columns
from evenhand.runtime.errors import DataError, UsageError
from evenhand.runtime.table_file import SUFFIXES, read_frame
from evenhand.runtime.values import parse_outcome

if TYPE_CHECKING:
    from argparse import Namespace


def run(options: Namespace) -> int:
    """Compare what a file of predictions holds, or what the checks of a configuration say."""
    file = options.source
    if file is not None and str(file).lower().endswith(tuple(SUFFIXES)):
        return _recorded(options, file)
    from evenhand.cli.checks import run_plans
    from evenhand.config.file import Config

    settings = given(options, COMPARE.checks.toml)
    for key in ("positive", "label"):
        if key in settings:
            settings[key] = parse_outcome(settings[key])
    code = run_plans(Config.load(file), COMPARE, settings, options)
    return code if options.gate or code not in (1, 3) else 0


def _recorded(options: Namespace, file: str) -> int:
    """Compare recorded predictions with blind overwriting."""
    from evenhand.methods.compare.compare import compare

    for name in ("truth", "outcomes", "over"):
        if getattr(options, name) is None:
            raise UsageError(f"{file}: compare needs --{name}; see evenhand compare --help")
    frame = read_frame(file)
    groups = list(dict.fromkeys(name for names in options.over for name in names))
    need_columns(frame, [options.truth, *options.outcomes, *groups], Path(file))
    named = [
        option.name
        for option in COMPARE.options
        if option.command and option.python and option.name != "over"
    ]
    settings = given(options, named)
    for key in ("positive", "label"):
        if key in settings:
            settings[key] = label_of(frame, options.truth, settings[key])
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
