"""Commands of verbs that work on a file of recorded decisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.cli.output import finish, given
from evenhand.population.logs.labels import label_in
from evenhand.population.logs.on_logs import columns_named
from evenhand.population.logs.options import WHERE
from evenhand.population.logs.source import open_log
from evenhand.runtime.errors import DataError

if TYPE_CHECKING:
    from argparse import Namespace

    from evenhand.population.logs.source import Log
    from evenhand.verbs import Verb


def run_records(verb: Verb, options: Namespace) -> int:
    """Run a verb on a file of recorded decisions, with the options that were given."""
    names = [
        option.name for option in verb.options if option.command and option.name != "over"
    ]
    settings = given(options, names)
    settings["outcome"] = options.outcome
    settings["over"] = [tuple(columns) for columns in options.over]
    if options.positive is not None:
        settings["positive"] = options.positive
    with open_log(options.data, **given(options, WHERE.toml)) as log, log.guarded():
        found = _found(verb, log, settings)
    return finish(found, options.json)


def _found(verb: Verb, log: Log, settings: dict[str, Any]) -> Any:
    """Return what a verb finds in an open log, with labels as the columns have them."""
    of_columns = {
        "positive": settings["outcome"],
        "truth_positive": settings.get("truth", ""),
    }
    frame = log.frame_for(columns_named(settings, log.columns))
    for key, column in of_columns.items():
        if settings.get(key) is not None:
            settings[key] = label_in(frame, column, settings[key])
    try:
        found = verb.function(frame, **settings)
    except DataError as error:
        raise DataError(f"{log.address.shown}: {error}") from error
    return found.with_log(log.fields)
