"""The section of what was measured: findings as cards, and error rates as tables of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.finding_table import metric_sheets, metric_tables
from evenhand.report.html_section import cards

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.result import Result


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[str]:
    """Return the findings as cards; of error rates those with a limit, and all in tables."""
    if not metric_tables(result):
        yield from cards(statements, name)
        return
    judged = [statement for statement in statements if statement.limit is not None]
    yield from cards(judged, name, groups=False)
    yield from metric_sheets(result, name)
