"""The section of subsets: the sets of features, their state, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.plot import display_of
from evenhand.report.finding_text import lattices_of
from evenhand.report.html_page import boxed, drawn, text
from evenhand.report.html_section import cards
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.result import Result

HEADINGS = ("set", "size", "state", "score", "interval", "n", "because")


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[str]:
    """Yield what was found of the sets as parts of a page."""
    yield from cards(statements, name)
    lattices = lattices_of(result)
    if not lattices:
        return
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", messages.PICTURE)
    for number, (output, lattice) in enumerate(lattices):
        yield _lattice(lattice, output, f"{name}-lattice{number}")


def _lattice(lattice: Mapping[str, Any], output: str, name: str) -> str:
    """Return the table of all sets in a lattice."""
    rows = [_row(entry) for entry in lattice["sets"]]
    caption = messages.TABLE
    if output:
        caption = messages.TABLE_OF_OUTPUT.format(output=output)
    sheet = short_sheet(f"{name}-sets", caption, HEADINGS, rows)
    return f"<h3>{messages.SETS_OF_FEATURES}</h3>{sheet}"


def _row(entry: Mapping[str, Any]) -> list[Cell]:
    features = entry["about"]
    size = len(features)
    score = ""
    interval = ""
    if entry["value"] is not None:
        score = number_text.percent(entry["value"])
        if entry["high"] is not None:
            interval = number_text.between(entry["low"], entry["high"])
    return [
        Cell(boxed(", ".join(features))),
        Cell(str(size), size, number=True),
        Cell(text(entry["state"])),
        Cell(score, _hundred(entry["value"]), number=True),
        Cell(interval, _hundred(entry["low"]), number=True),
        Cell(number_text.count(entry["n"]), entry["n"], number=True),
        Cell(text(entry["because"])),
    ]


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share
