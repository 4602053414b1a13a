"""The parts of a page that tell what was measured: cards, and error rates as tables of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.finding_table import metric_parts, metric_tables
from evenhand.report.page.cards import finding_parts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.report.page.parts import PagePart
    from evenhand.report.statement import Statement
    from evenhand.results.result import Result


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[PagePart]:
    """Yield the findings as cards; of error rates those with a limit, and all in tables."""
    if not metric_tables(result):
        yield from finding_parts(statements, name)
        return
    judged = [statement for statement in statements if statement.limit is not None]
    yield from finding_parts(judged, name, groups=False)
    yield from metric_parts(result, name)
