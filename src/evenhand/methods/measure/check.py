"""How a check of a configuration or of an audit runs measure and prevalence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.measure import measure as verb
from evenhand.methods.measure import messages
from evenhand.population.rows import Rows, rows
from evenhand.runtime.errors import ConfigError, DataError

if TYPE_CHECKING:
    from evenhand.population.source import Source
    from evenhand.results.result import Result


def measure(source: Source, subject: Any, **settings: Any) -> Result:
    """Measure over the population that the source declares; error rates, over its real rows."""
    population = source.population()
    if settings.get("truth") is None:
        return verb.measure(subject, sampler=population, **settings)
    real = source.real()
    truth = real.truth(settings["truth"])
    if not isinstance(population, Rows):
        if real.rows is None:
            raise ConfigError(messages.CHECK_NEEDS_ROWS.format(where=source.where))
        population = real.rows if isinstance(real.rows, Rows) else rows(real.rows)
    try:
        return verb.measure(subject, sampler=population, **{**settings, "truth": truth})
    except DataError as error:
        raise DataError(f"{real.file}: {error}") from error


def prevalence(_source: Source, subject: Any, **settings: Any) -> Result:
    """Measure the share of all inputs."""
    return verb.prevalence(subject, **settings)


def check_suite(path: str, subject: Any) -> None:
    """Refuse a file that no suite of this software can be written to."""
    from evenhand.scores import test_suite  # imported where it is used

    test_suite.check_suite(path, subject.space, subject.outputs)


def write_suite(found: Result, path: str, *, raw: bool = False) -> None:
    """Write every test behind the scores of a run."""
    found.to_suite(path, raw=raw)
