"""The parts of a page that tell of sets of features: their state, and what it rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import messages
from evenhand.methods.subsets.plot.chart import charts_of
from evenhand.report.charts import figures
from evenhand.report.finding_text import lattices_of
from evenhand.report.html_page import boxed, text
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.report.page.cards import finding_parts
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from evenhand.report.statement import Statement
    from evenhand.results.result import Result

HEADINGS = ("set", "size", "state", "score", "interval", "n", "because")


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[PagePart]:
    """Yield what was found of the sets."""
    yield from finding_parts(statements, name)
    lattices = lattices_of(result)
    if not lattices:
        return
    features = _features(lattices)
    picture = figures(charts_of(result), f"{name}-picture", say(messages.PICTURE))
    yield PagePart(ReaderQuestion.HOW_MUCH, features, picture, say(messages.PICTURE))
    for number, (output, lattice) in enumerate(lattices):
        table = _lattice(lattice, output, f"{name}-lattice{number}")
        yield PagePart(
            ReaderQuestion.HOW_MUCH, features, table, say(messages.SETS_OF_FEATURES)
        )


def _features(lattices: Sequence[tuple[str, Mapping[str, Any]]]) -> tuple[str, ...]:
    """Return all features of the sets, in the order in which they first stand in one."""
    features: dict[str, None] = {}
    for _, lattice in lattices:
        for entry in lattice["sets"]:
            features |= dict.fromkeys(entry["about"])
    return tuple(features)


def _lattice(lattice: Mapping[str, Any], output: str, name: str) -> Markup:
    """Return the table of all sets in a lattice."""
    rows = [_row(entry) for entry in lattice["sets"]]
    caption = say(messages.TABLE)
    if output:
        caption = say(messages.TABLE_OF_OUTPUT, output=output)
    headings = [say(heading) for heading in HEADINGS]
    return short_sheet(f"{name}-sets", caption, headings, rows)


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
        Cell(text(term(entry["state"]))),
        Cell(score, _hundred(entry["value"]), number=True),
        Cell(interval, _hundred(entry["low"]), number=True),
        Cell(number_text.count(entry["n"]), entry["n"], number=True),
        Cell(text(term(entry["because"]))),
    ]


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share
