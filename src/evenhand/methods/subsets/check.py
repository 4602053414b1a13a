"""How a check of a configuration or of an audit runs subsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import subsets as verb

if TYPE_CHECKING:
    from evenhand.population.source import Source
    from evenhand.results.result import Result


def check_suite(path: str, subject: Any) -> None:
    """Refuse a file that no suite of this software can be written to."""
    from evenhand.scores import test_suite  # imported where it is used

    test_suite.check_suite(path, subject.space, subject.outputs)


def write_suite(found: Result, path: str, *, raw: bool = False) -> None:
    """Write the tests of every set that is a finding."""
    found.to_suite(path, raw=raw)


def subsets(source: Source, subject: Any, **settings: Any) -> Result:
    """Find sets of features over the population that the source declares."""
    return verb.subsets(subject, sampler=source.population(), **settings)
