"""How a check of a configuration or of an audit runs subsets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import subsets as verb

if TYPE_CHECKING:
    from evenhand.population.source import Source
    from evenhand.results.result import Result


def subsets(source: Source, subject: Any, **settings: Any) -> Result:
    """Find sets of features over the population that the source declares."""
    return verb.subsets(subject, sampler=source.population(), **settings)
