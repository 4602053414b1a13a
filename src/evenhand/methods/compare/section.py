"""The section of a comparison: where each mitigation stands, drawn and in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.compare import messages
from evenhand.methods.compare.plot import display_of
from evenhand.methods.compare.text import about, claim_of, score_text
from evenhand.report.html_page import boxed, drawn, text
from evenhand.report.html_section import MOST_CARDS, short_card
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.compare.comparison import Comparison, Standing
    from evenhand.report.statement import Statement


HEADINGS = ("mitigation", "region", "performance", "bias", messages.GAIN_HEADING)


def section(
    found: Comparison,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[str]:
    """Return a comparison as parts of a page."""
    yield f"<p>{text(about(found))}.</p>"
    # A page has cards for the first findings alone; the table below lists every standing.
    with_cards = zip(statements[:MOST_CARDS], found.standings, strict=False)
    for number, (statement, standing) in enumerate(with_cards):
        yield _card(statement, standing, f"{name}-standing{number}")
    yield "<h3>Trade-off plane</h3>"
    yield drawn(display_of(found), f"{name}-plane", messages.PLANE_CAPTION)
    rows = [_row(standing) for standing in found.standings]
    performance, bias = found.start
    caption = messages.STANDINGS_CAPTION.format(
        performance=_score_text(performance),
        bias=_score_text(bias),
    )
    yield short_sheet(f"{name}-standings", caption, HEADINGS, rows)


def _card(statement: Statement, standing: Standing, anchor: str) -> str:
    """Return the card of one mitigation."""
    scores = messages.CARD_SCORES.format(
        performance=_score_text(standing.performance),
        bias=_score_text(standing.bias),
    )
    return short_card(statement, anchor, scores)


def _row(standing: Standing) -> list[Cell]:
    """Return a row of the table of standings."""
    return [
        Cell(boxed(standing.name)),
        Cell(text(claim_of(standing))),
        _score_cell(standing.performance),
        _score_cell(standing.bias),
        _score_cell(standing.gain),
    ]


def _score_cell(score: Estimate) -> Cell:
    return Cell(text(_score_text(score)), _sort_value(score), number=True)


def _score_text(score: Estimate) -> str:
    return score_text([score])[0]


def _sort_value(score: Estimate) -> float:
    """Return a score as it reads, which is in per cent for a share."""
    is_share = score.unit == Estimate.unit
    return 100 * score.value if is_share else score.value
