"""The table of all statements of all checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit.page import messages
from evenhand.methods.audit.page.checks import check_id, check_name
from evenhand.methods.audit.statements import statements
from evenhand.report.finding_text import NO_DATA
from evenhand.report.html_page import boxed
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.report.page.cards import badge
from evenhand.report.templates import piece
from evenhand.runtime import number_text
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from markupsafe import Markup

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement

HEADINGS = ("verdict", "check", "statement", "score", "interval", "n", "limit")


def table_of_statements(audit: Audit) -> Markup:
    """Return a table of all statements of all checks."""
    headings = [say(heading) for heading in HEADINGS]
    if audit.baseline:
        headings.append(say(messages.AGAINST_THE_BASELINE))
    rows = []
    for number, check in enumerate(audit.checks):
        link = piece(
            "methods/audit/page/pages/checks.html.jinja",
            "check_link",
            check_id(number),
            check_name(check),
        )
        for statement in statements(check):
            sentences = "; ".join((statement.sentence, *statement.remarks))
            row = [
                Cell(badge(statement.verdict, statement.word)),
                Cell(link),
                Cell(boxed(sentences)),
                *_score(statement),
            ]
            if audit.baseline:
                row.append(Cell("" if statement.held is None else statement.held.text))
            rows.append(row)
    return short_sheet("verdicts", say(messages.ALL_STATEMENTS_CAPTION), headings, rows)


def _score(statement: Statement) -> list[Cell]:
    """Return the score, the interval, n and the limit of a statement as cells."""
    score = statement.estimate
    # Shares are written in per cent.
    scale = 100 if score is None or score.unit == Estimate.unit else 1
    limit_key = None if statement.limit is None else scale * statement.limit
    limit = Cell(statement.threshold, limit_key, number=True)
    empty = Cell("", number=True)
    if score is None:
        return [empty, empty, empty, limit]
    if not score.n:
        return [Cell(say(NO_DATA), number=True), empty, Cell("0", number=True), limit]
    interval = score.interval_text
    if score.descriptive:
        interval = say(messages.DESCRIPTIVE_INTERVAL, interval=interval)
    return [
        Cell(score.value_text, scale * score.value, number=True),
        Cell(interval, scale * score.low if interval else None, number=True),
        Cell(number_text.count(score.n), score.n, number=True),
        limit,
    ]
