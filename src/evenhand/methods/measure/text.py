"""What was measured, of recorded decisions or of software, as text."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenhand.methods.measure import messages
from evenhand.report.finding_table import limits_in, metric_lines, metric_tables
from evenhand.report.lines import Line
from evenhand.report.terminal import all_findings, closing, finding_lines
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.results.result import Result


def lines_of_records(
    result: Result, *, cases: int = 1, width: int | None = None
) -> Iterator[Line]:
    """Yield what was measured of recorded decisions; error rates as one table for each set."""
    if metric_tables(result):
        yield from _rates(result, cases, width)
    else:
        yield from all_findings(result, cases, width)
    rows = number_text.count(result.details.get("rows", 0))
    seconds = number_text.seconds(result.spent.seconds)
    spent = messages.SPENT_ON_RECORDS.format(rows=rows, seconds=seconds)
    yield from closing(result, spent)


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Yield what was measured of software, error rates as one table for each set."""
    if metric_tables(result):
        yield from _rates(result, cases, width)
    else:
        yield from all_findings(result, cases, width)
    yield from closing(result)


def _rates(result: Result, cases: int, width: int | None) -> Iterator[Line]:
    """Yield the findings that are held against a limit, then the table of each set."""
    for finding in result.findings:
        if finding.limit is not None:
            without_groups = replace(finding, groups=())
            yield from finding_lines(without_groups, cases, width)
    for table in metric_tables(result):
        for text in metric_lines(table, width):
            yield Line(text, row=True)
        yield Line("")
    first, *_ = result.findings
    level = number_text.percent_level(first.estimate.level)
    below = messages.INTERVALS_BELOW
    if any(map(limits_in, metric_tables(result))):
        below = messages.DESCRIPTIVE_INTERVALS_BELOW
    if first.estimate.level < 1:
        yield Line(below.format(level=level))
