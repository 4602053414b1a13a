"""The section of a comparison: where each mitigation stands, drawn and in a table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.compare.plot import display_of
from evenhand.methods.compare.text import about, claim_of, score_text
from evenhand.report.html_page import boxed, drawn, text
from evenhand.report.html_section import MOST_CARDS, badge, held_text
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.compare.comparison import Comparison
    from evenhand.report.statement import Statement


def section(found: Comparison, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    """Return a comparison as parts of a page."""
    yield f"<p>{text(about(found))}.</p>"
    for number, (one, standing) in enumerate(zip(told[:MOST_CARDS], found.standings, strict=False)):
        scores = (
            f"Performance {score_text([standing.performance])[0]}, bias"
            f" {score_text([standing.bias])[0]}."
        )
        inside = (
            f'<h4 id="{name}-standing{number}">{badge(one.verdict)}'
            f" {boxed(one.claim)}</h4><p>{text(scores)}</p>"
        )
        inside += held_text(one)
        tone = one.verdict or "none"
        yield (
            f'<article class="finding {tone}"'
            f' aria-labelledby="{name}-standing{number}">{inside}</article>'
        )
    yield "<h3>Trade-off plane</h3>"
    says = (
        "Each mitigation against the line of blindly overwriting predictions: better is above and"
        " to the left."
    )
    yield drawn(display_of(found), f"{name}-plane", says)
    headings = ("mitigation", "region", "performance", "bias", "gain over the line")
    rows = []
    for standing in found.standings:
        known = [getattr(standing, key) for key in ("performance", "bias", "gain")]
        cells = [Cell(text(score_text([score])[0]), _shown(score), number=True) for score in known]
        rows.append([Cell(boxed(standing.name)), Cell(text(claim_of(standing))), *cells])
    first = [score_text([one])[0] for one in found.start]
    says = (
        f"Where each mitigation stands; the original has a performance of {first[0]} and a bias of"
        f" {first[1]}."
    )
    yield short_sheet(f"{name}-standings", says, headings, rows)


def _shown(score: Estimate) -> float:
    """Return a score as it reads: shares in per cent."""
    return 100 * score.value if score.unit == Estimate.unit else score.value
