"""How a check of a configuration or of an audit runs search."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.search import search as verb
from evenhand.methods.search.hits_table import check_path, save

if TYPE_CHECKING:
    from evenhand.population.source import Source
    from evenhand.results.result import Result


def search(
    source: Source, subject: Any, *, start: str | None = None, **settings: Any
) -> Result:
    """Search from real rows, where there are any."""
    rows, notes = source.start(start)
    result = verb.search(subject, start=rows, **settings)
    return replace(result, notes=[*result.notes, *notes])


def check_found(path: str, subject: Any) -> None:
    """Refuse a file that no inputs can be written to."""
    check_path(path)


def write_found(found: Result, path: str, *, raw: bool = False) -> None:
    """Write every input that was found."""
    save(found.to_frame(), path, raw=raw)
