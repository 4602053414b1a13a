"""The section of subsets: the sets of features, their state, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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

PICTURE = "The sets of features: which of them discriminate, are cleared, or need no test."


def section(result: Result, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    """Return what was found of the sets as parts of a page."""
    yield from cards(told, name)
    lattices = lattices_of(result)
    if not lattices:
        return
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", PICTURE)
    for number, (output, lattice) in enumerate(lattices):
        yield _lattice(lattice, output, f"{name}-lattice{number}")


def _lattice(lattice: Mapping[str, Any], output: str, name: str) -> str:
    rows = []
    for entry in lattice["sets"]:
        known = entry["value"] is not None
        between = ""
        if known and entry["high"] is not None:
            between = number_text.between(entry["low"], entry["high"])
        rows.append(
            [
                Cell(boxed(", ".join(entry["about"]))),
                Cell(str(len(entry["about"])), len(entry["about"]), number=True),
                Cell(text(entry["state"])),
                Cell(
                    number_text.percent(entry["value"]) if known else "",
                    _hundred(entry["value"]),
                    number=True,
                ),
                Cell(between, _hundred(entry["low"]), number=True),
                Cell(f"{entry['n']:,}", entry["n"], number=True),
                Cell(text(entry["because"])),
            ]
        )
    says = (
        f"The sets of features{f' for {output}' if output else ''}: their state, and what it"
        " rests on."
    )
    headings = ("set", "size", "state", "score", "interval", "n", "because")
    return "<h3>Sets of features</h3>" + short_sheet(f"{name}-sets", says, headings, rows)


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share
