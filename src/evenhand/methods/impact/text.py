"""Selection rates and impact ratios as text: a table for each set of categories, and what is left
out of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.impact.selection_rates import other_notes, remarks, tables_of
from evenhand.report.finding_text import NO_DATA
from evenhand.report.lines import LEAD, Line, table_of
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.results.result import Result

MOST_ROWS = 60
"""The most categories of a set that are listed on a terminal; the result has all."""
_NARROW = 110


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell a result of `impact` as a whole: tables, what is left out, notes, and what the numbers
    do not claim.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> from evenhand.results.result import Result
    >>> empty = Result("impact", [], 0, Spent(0, 0, 0.1), StopReason.ENUMERATED, {}, ["no claim"], details={"rows": 9})
    >>> print(*lines(empty), sep="\\n")
    9 rows, 0.1 s
    note: no claim
    """
    findings = {finding.about: finding for finding in result.findings}
    tables = tables_of(result)
    for number, table in enumerate(tables):
        if number:
            yield Line("")
        finding = findings[tuple(table["over"])]
        limit = (
            ""
            if finding.limit is None
            else f"; limit {number_text.limit(finding.limit, least=True)}"
        )
        yield Line(finding.claim, finding.verdict)
        indent = LEAD if finding.verdict is not None else 0
        yield Line(f"{finding.estimate}{limit}", indent=indent)
        yield from (Line(text, row=True) for text in _rows(table, width))
        yield from (Line(text) for text in remarks(table))
    *notes, last = other_notes(result) or ("",)
    if tables:
        yield Line("")
    yield from (Line(f"note: {note}") for note in notes)
    yield Line(
        f"{result.details.get('rows', 0):,} rows, {number_text.seconds(result.spent.seconds)}"
    )
    yield Line(f"note: {last}")


def columns(table: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the headings of a table: what it is by, then the numbers, with a line break where one
    helps.

    >>> columns({"over": ["sex"], "kind": "scoring", "categories": [{"rate": {"level": 0.95}}]})
    ('sex', 'n', 'share', 'scoring\\nrate', '95 %\\ninterval', 'impact\\nratio', '95 %\\ninterval', '')
    """
    level = f"{number_text.percent_level(table['categories'][0]['rate']['level'])}\ninterval"
    return (
        ", ".join(table["over"]),
        "n",
        "share",
        f"{table['kind']}\nrate",
        level,
        "impact\nratio",
        level,
        "",
    )


def cells(table: Mapping[str, Any], one: Mapping[str, Any]) -> tuple[str, ...]:
    """Return a category as texts under these headings."""
    label = ", ".join(str(value) for value in one["about"].values())
    note = (
        "highest"
        if one["about"] == table["best"]
        else one["left_out"] or ("" if one["n"] else NO_DATA)
    )
    ratio = ("left out", "") if one["ratio"] is None else _score(one["ratio"])
    size, share = number_text.count(one["n"]), number_text.percent(one["share"])
    return label, size, share, *_score(one["rate"]), *ratio, note


def listed(table: Mapping[str, Any], most: int) -> list[Mapping[str, Any]]:
    """Return the categories in their order; of more than `most`, those with the lowest ratios."""
    found = list(table["categories"])
    return found if len(found) <= most else sorted(found, key=_ratio)[:most]


def _ratio(one: Mapping[str, Any]) -> float:
    known = one["ratio"] is not None and one["ratio"]["value"] is not None
    return float(one["ratio"]["value"]) if known else 2.0 if one["n"] else 3.0


def _score(found: Mapping[str, Any]) -> tuple[str, str]:
    if found["value"] is None:
        return "", ""
    return number_text.percent(found["value"]), number_text.between_once(
        found["low"], found["high"]
    )


def _rows(table: Mapping[str, Any], width: int | None) -> Sequence[str]:
    """Return the categories as an aligned table; in little width without their shares and notes."""
    shown = listed(table, MOST_ROWS)
    headings, rows = columns(table), [cells(table, one) for one in shown]
    if width is not None and width < _NARROW:
        kept = (0, 1, 3, 4, 5, 6)
        headings, *rows = (tuple(row[at] for at in kept) for row in (headings, *rows))
    more = len(table["categories"]) - len(shown)
    # Nothing stands before the rows, so that they have the room of a verdict too.
    lines = table_of(headings, rows, None if width is None else width + LEAD, right=range(1, 7))
    return [*lines, *([f"… {more:,} more categories"] if more > 0 else [])]
