"""Selection rates and impact ratios as text: a table for each set of categories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.impact import messages
from evenhand.methods.impact.selection_rates import (
    IMPACT_RATIO,
    is_descriptive,
    other_notes,
    ratio_findings,
    remarks,
    tables_of,
)
from evenhand.report.finding_table import metric_lines, metric_tables
from evenhand.report.finding_text import NO_DATA, limit_text
from evenhand.report.lines import LEAD, Line, table_of
from evenhand.report.terminal import all_findings, finding_lines
from evenhand.runtime import number_text
from evenhand.runtime.label_text import values_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

MOST_ROWS = 60
"""The most categories of a set that are listed on a terminal; the result has all."""
_NARROW = 110
"""Columns below which shares and notes are left out of a table."""
_NARROW_COLUMNS = (0, 1, 3, 4, 5, 6)
"""The columns of a narrow table: the category, n, and both scores with their intervals."""


def lines(
    result: Result,
    *,
    cases: int = 1,
    width: int | None = None,
) -> Iterator[Line]:
    """Return a result of `impact` as lines: tables, what is left out, and notes.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> empty = Result("impact", [], 0, Spent(0, 0, 0.1), StopReason.ENUMERATED, {}, ["no claim"])
    >>> print(*lines(empty), sep="\\n")
    0 rows, 0.1 s
    note: no claim
    """
    findings = ratio_findings(result)
    tables = tables_of(result)
    for number, table in enumerate(tables):
        if number:
            yield Line("")
        yield from _set_lines(table, findings[tuple(table["over"])], width)
    if not tables:
        yield from all_findings(result, cases, width)
    yield from _error_rates(result, width)
    *notes, last = other_notes(result) or ("",)
    if tables:
        yield Line("")
    for note in notes:
        yield Line(f"note: {note}")
    rows = number_text.count(result.details.get("rows", 0))
    seconds = number_text.seconds(result.spent.seconds)
    yield Line(messages.ROWS_AND_SECONDS.format(rows=rows, seconds=seconds))
    yield Line(f"note: {last}")


def _error_rates(result: Result, width: int | None) -> Iterator[Line]:
    """Return the error rates of each set, and those of them that are held against the limit."""
    for table in metric_tables(result):
        yield Line("")
        for finding in result.findings:
            judged = finding.limit is not None and finding.score != IMPACT_RATIO
            if judged and finding.about == tuple(table["over"]):
                yield from finding_lines(replace(finding, groups=()), 1, width)
        for text in metric_lines(table, width):
            yield Line(text, row=True)


def _set_lines(
    table: Mapping[str, Any],
    finding: Finding,
    width: int | None,
) -> Iterator[Line]:
    """Return one set of categories as lines."""
    yield Line(finding.claim, finding.verdict)
    score = str(finding.estimate)
    if finding.limit is not None:
        score = messages.SCORE_WITH_LIMIT.format(score=score, limit=limit_text(finding))
    indent = LEAD if finding.verdict is not None else 0
    yield Line(score, indent=indent)
    for remark in finding.remarks:
        yield Line(remark, indent=indent)
    for text in _rows(table, width):
        yield Line(text, row=True)
    for text in remarks(table):
        yield Line(text)


def columns(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the headings of a table: what it is by, then the numbers.

    >>> columns({"over": ["sex"], "kind": "scoring", "categories": [{"rate": {"level": 0.95}}]})[:5]
    ('sex', 'n', 'share', 'scoring\\nrate', '95 %\\ninterval')
    """
    level = number_text.percent_level(table["categories"][0]["rate"]["level"])
    interval = messages.INTERVAL_COLUMN.format(level=level)
    if is_descriptive(table):
        interval = messages.DESCRIPTIVE_COLUMN.format(level=level)
    return (
        ", ".join(table["over"]),
        "n",
        "share",
        f"{table['kind']}\nrate",
        interval,
        "impact\nratio",
        interval,
        "",
    )


def cells(
    table: Mapping[str, Any],
    category: Mapping[str, Any],
) -> tuple[str, ...]:
    """Return a category as texts under these headings."""
    label = values_text(category["about"])
    rate, rate_interval = _score(category["rate"])
    ratio, ratio_interval = messages.LEFT_OUT_CELL, ""
    if category["ratio"] is not None:
        ratio, ratio_interval = _score(category["ratio"])
    return (
        label,
        number_text.count(category["n"]),
        number_text.percent(category["share"]),
        rate,
        rate_interval,
        ratio,
        ratio_interval,
        _note(table, category),
    )


def _note(table: Mapping[str, Any], category: Mapping[str, Any]) -> str:
    """Return a note on a category: that it is the highest, or why it has no ratio."""
    if category["about"] == table["best"]:
        return "highest"
    if category["left_out"]:
        return str(category["left_out"])
    if category["n"]:
        return ""
    return NO_DATA


def listed(table: Mapping[str, Any], most: int) -> list[Mapping[str, Any]]:
    """Return the categories in their order; of more than `most`, those with the lowest ratios."""
    categories = list(table["categories"])
    if len(categories) <= most:
        return categories
    return sorted(categories, key=_ratio)[:most]


def _ratio(category: Mapping[str, Any]) -> float:
    """Return the ratio to sort by: those without one come last, and of these those without rows."""
    ratio = category["ratio"]
    if ratio is not None and ratio["value"] is not None:
        return float(ratio["value"])
    if category["n"]:
        return 2.0
    return 3.0


def _score(score: Mapping[str, Any]) -> tuple[str, str]:
    """Return a score and its interval, empty where it is unknown."""
    if score["value"] is None:
        return "", ""
    interval = number_text.between_once(score["low"], score["high"])
    return number_text.percent(score["value"]), interval


def _rows(table: Mapping[str, Any], width: int | None) -> Sequence[str]:
    """Return the categories as an aligned table; in little width without their shares and notes."""
    shown = listed(table, MOST_ROWS)
    headings = columns(table)
    rows = [cells(table, category) for category in shown]
    if width is not None and width < _NARROW:
        headings = _narrow(headings)
        rows = [_narrow(row) for row in rows]
    # Nothing stands before the rows, so that they have the room of a verdict too.
    room = None if width is None else width + LEAD
    lines = table_of(headings, rows, room, right=range(1, 7))
    more = len(table["categories"]) - len(shown)
    if more > 0:
        lines.append(messages.MORE_CATEGORIES.format(number=number_text.count(more)))
    return lines


def _narrow(row: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(row[at] for at in _NARROW_COLUMNS)
