"""Recorded decisions that were measured, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.measure import messages
from evenhand.report.terminal import all_findings, closing
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.report.lines import Line
    from evenhand.results.result import Result


def lines_of_records(
    result: Result, *, cases: int = 1, width: int | None = None
) -> Iterator[Line]:
    """Yield what was measured of recorded decisions."""
    yield from all_findings(result, cases, width)
    rows = number_text.count(result.details.get("rows", 0))
    seconds = number_text.seconds(result.spent.seconds)
    spent = messages.SPENT_ON_RECORDS.format(rows=rows, seconds=seconds)
    yield from closing(result, spent)
