"""The parts of a page that tell of a comparison: where each mitigation stands, and the plane."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.compare import messages
from evenhand.methods.compare.plot.chart import charts_of
from evenhand.methods.compare.text import about, claim_of, score_text
from evenhand.report.charts import figures
from evenhand.report.html_page import PIECES, boxed, text
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.report.page.cards import MOST_CARDS, features_asked, short_card
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.report.templates import piece
from evenhand.runtime.language import say, term
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from evenhand.methods.compare.comparison import Comparison, Standing
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding


HEADINGS = ("mitigation", "region", "performance", "bias", messages.GAIN_HEADING)


def plain(finding: Finding, found: Comparison) -> str:
    """Return in plain words whether a mitigation does better than giving up accuracy."""
    name = ", ".join(finding.about)
    for standing in found.standings:
        if standing.name == name and len(standing.plausible) == 1:
            sentence = messages.PLAIN_REGIONS.get(standing.region)
            if sentence:
                return say(sentence, name=name, original=found.original)
    return finding.claim


def section(
    found: Comparison,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[PagePart]:
    """Yield a comparison: a card for each mitigation, the plane, and a table."""
    # All statements are of one check.
    asked = [features_asked(statement.check.settings) for statement in statements[:1]]
    features = asked[0] if asked else ()

    def part(html: Markup, folded: str = "") -> PagePart:
        return PagePart(ReaderQuestion.WHAT_HELPS, features, html, folded)

    # A page has cards for the first findings alone; the table below lists every standing.
    with_cards = zip(statements[:MOST_CARDS], found.standings, strict=False)
    for number, (statement, standing) in enumerate(with_cards):
        yield part(_card(statement, standing, f"{name}-standing{number}"))
    yield part(piece(PIECES, "soft_paragraph", f"{about(found)}."))
    plane = figures(charts_of(found), f"{name}-plane", say(messages.PLANE_CAPTION))
    yield part(plane, say(messages.PLANE_HEADING))
    rows = [_row(standing) for standing in found.standings]
    performance, bias = found.start
    caption = say(
        messages.STANDINGS_CAPTION,
        performance=_score_text(performance),
        bias=_score_text(bias),
    )
    headings = [say(heading) for heading in HEADINGS]
    sheet = short_sheet(f"{name}-standings", caption, headings, rows)
    yield part(sheet, say(messages.STANDINGS_HEADING))


def _card(statement: Statement, standing: Standing, anchor: str) -> Markup:
    """Return the card of one mitigation."""
    scores = say(
        messages.CARD_SCORES,
        performance=_score_text(standing.performance),
        bias=_score_text(standing.bias),
    )
    return short_card(statement, anchor, scores)


def _row(standing: Standing) -> list[Cell]:
    """Return a row of the table of standings."""
    return [
        Cell(boxed(standing.name)),
        Cell(text(term(claim_of(standing)))),
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
