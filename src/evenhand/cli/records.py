"""Commands of verbs that work on a file of recorded decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.cli.output import finish, given
from evenhand.population.recorded import label_written
from evenhand.runtime.errors import DataError
from evenhand.runtime.table_file import read_frame

if TYPE_CHECKING:
    from argparse import Namespace

    from evenhand.verbs import Verb


def run_records(verb: Verb, options: Namespace) -> int:
    """Run a verb on a file of recorded decisions, with the options that were given."""
    frame = read_frame(options.data)
    names = [
        option.name for option in verb.options if option.command and option.name != "over"
    ]
    settings = given(options, names)
    if options.positive is not None:
        settings["positive"] = label_written(frame, options.outcome, options.positive)
    if settings.get("truth_positive") is not None:
        column = settings.get("truth", "")
        settings["truth_positive"] = label_written(
            frame, column, settings["truth_positive"]
        )
    sets = [tuple(columns) for columns in options.over]
    try:
        result = verb.function(frame, outcome=options.outcome, over=sets, **settings)
    except DataError as error:
        raise DataError(f"{options.data}: {error}") from error
    return finish(result, options.json)
