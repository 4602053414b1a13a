"""Tables that any document can show: of findings, and of the groups that a verb compares.

A metric table has a row for each group and a column for each rate, with the difference and the
ratio of each rate below; verbs leave it in their details, as `scores.rates.metric_table` writes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import NO_DATA, about_text
from evenhand.report.html_page import boxed
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.report.lines import LEAD, table_of
from evenhand.report.page import messages
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.report.page.plain import say_list
from evenhand.runtime import number_text
from evenhand.runtime.label_text import values_text, with_words
from evenhand.runtime.language import say, term
from evenhand.statistics.error_rates import RATES
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence
    from evenhand.results.result import Result


MOST_GROUPS = 60
"""The most groups that a terminal lists; the result has all."""
_CELL = 17
"""About how many columns of a terminal a rate takes with its interval."""
_LABEL = 26
"""The same for a group with its number of people."""
_DESCRIPTIVE = (
    "Intervals are descriptive, but for those of findings with a limit: each holds by itself, and"
    " gives no verdict."
)


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Groups and their rates as texts, what is left out of them, and what the words mean."""

    over: tuple[str, ...]
    definition: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()
    left_out: int = 0
    """How many groups there was no room for."""
    numbers: range = range(0)
    """The columns that hold numbers."""


def frame(found: Evidence) -> Any:
    """Return one row for each finding, with its estimate, limit and verdict, as a pandas frame."""
    import pandas as pd

    return pd.DataFrame([_row(finding) for finding in found.findings])


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "about": about_text(finding),
        **finding.estimate.to_dict(),
        "descriptive": finding.descriptive,
        "limit": finding.limit,
        "verdict": finding.verdict,
        "p_value": finding.p_value,
        "e_value": finding.e_value,
        "claim": finding.claim,
    }


def metric_tables(result: Result) -> list[Mapping[str, Any]]:
    """Return the metric tables of a result, none where it has no error rates."""
    return with_words(result.details.get("rates", ()), "groups", result.words)


def limits_in(table: Mapping[str, Any]) -> bool:
    """Return whether some findings of a metric table have a limit, and all else is descriptive."""
    first, *_ = table["groups"]
    return any(rate.get("descriptive") for rate in first["rates"].values())


def metric_lines(table: Mapping[str, Any], width: int | None) -> Iterator[str]:
    """Yield a metric table as lines; in little width, a few rates at a time."""
    room = 10_000 if width is None else width
    at_once = max(1, (room - _LABEL) // _CELL)
    metrics = list(table["metrics"])
    for start in range(0, len(metrics), at_once):
        yield from _metric_part(table, metrics[start : start + at_once], width)


def _metric_part(
    table: Mapping[str, Any], metrics: Sequence[str], width: int | None
) -> list[str]:
    headings = [", ".join(table["over"]), "n"]
    for metric in metrics:
        first, _, last = RATES[metric].title.rpartition(" ")
        headings.append(f"{first}\n{last}" if first else last)
    rows: list[list[str]] = []
    for group in table["groups"][:MOST_GROUPS]:
        estimates = [group["rates"][metric] for metric in metrics]
        rows += _two_rows(_group_label(group), number_text.count(group["n"]), estimates)
    left_out = len(table["groups"]) - MOST_GROUPS
    if left_out > 0:
        blank = [""] * (len(metrics) + 1)
        rows.append([f"… {number_text.count(left_out)} more groups", *blank])
    for name in ("difference", "ratio"):
        rows += _two_rows(name, "", [table[name][metric] for metric in metrics])
    room = None if width is None else width + LEAD
    return table_of(headings, rows, room, right=range(1, len(headings)))


def _two_rows(
    label: str, n: str, estimates: Sequence[Mapping[str, Any]]
) -> list[list[str]]:
    """Return a row of values, and one of their intervals below it where they have some."""
    values = []
    intervals = []
    for estimate in estimates:
        value, interval = _texts(estimate)
        values.append(value)
        intervals.append(interval)
    rows = [[label, n, *values]]
    if any(intervals):
        rows.append(["", "", *intervals])
    return rows


def _texts(estimate: Mapping[str, Any]) -> tuple[str, str]:
    """Return a rate and its interval, in percent."""
    if estimate["value"] is None:
        return say("no data"), ""
    value = number_text.percent(estimate["value"])
    if estimate["level"] == 1:
        return value, ""
    return value, number_text.between_once(estimate["low"], estimate["high"])


def _group_label(group: Mapping[str, Any]) -> str:
    label = values_text(group["about"])
    if group["compared"]:
        return label
    return say("{group} (not compared)", group=label)


def metric_parts(result: Result, anchor: str) -> Iterator[PagePart]:
    """Yield the metric tables of a result as parts of a page, each folded."""
    for number, table in enumerate(metric_tables(result)):
        over = say_list(table["over"])
        caption = say(messages.RATES_BY_GROUP, features=over)
        if limits_in(table):
            caption = f"{caption} {say(_DESCRIPTIVE)}"
        headings = [say(messages.GROUP), "n"]
        for metric in table["metrics"]:
            headings += [term(RATES[metric].title), say(messages.INTERVAL)]
        rows = [_group_cells(table, group) for group in table["groups"]]
        for name in ("difference", "ratio"):
            cells = [Cell(term(name)), Cell("", number=True)]
            for metric in table["metrics"]:
                cells += _rate_cells(table[name][metric])
            rows.append(cells)
        sheet = short_sheet(f"{anchor}-rates{number}", caption, headings, rows)
        folded = say(messages.ERROR_RATES_BY, features=over)
        yield PagePart(ReaderQuestion.ERRORS, tuple(table["over"]), sheet, folded)


def _group_cells(table: Mapping[str, Any], group: Mapping[str, Any]) -> list[Cell]:
    cells = [
        Cell(boxed(_group_label(group))),
        Cell(number_text.count(group["n"]), group["n"], number=True),
    ]
    for metric in table["metrics"]:
        cells += _rate_cells(group["rates"][metric])
    return cells


def _rate_cells(document: Mapping[str, Any]) -> list[Cell]:
    """Return a rate and its interval as cells."""
    rate = Estimate.from_dict(document)
    if not rate.n:
        return [Cell(NO_DATA, None, number=True), Cell("", None, number=True)]
    value, interval = _texts(document)
    return [
        Cell(value, 100 * rate.value, number=True),
        Cell(interval, 100 * rate.low if interval else None, number=True),
    ]


def metric_group_tables(result: Result, most: int) -> list[GroupTable]:
    """Return the metric tables of a result for other documents, with at most so many groups."""
    found = []
    for table in metric_tables(result):
        metrics = table["metrics"]
        rows = []
        for group in table["groups"][:most]:
            cells = [_cell_text(group["rates"][metric]) for metric in metrics]
            rows.append([_group_label(group), number_text.count(group["n"]), *cells])
        for name in ("difference", "ratio"):
            cells = [_cell_text(table[name][metric]) for metric in metrics]
            rows.append([name, "", *cells])
        titles = [RATES[metric].title for metric in metrics]
        meanings = []
        for metric in metrics:
            meanings.append(f"{RATES[metric].title}: {RATES[metric].meaning}")
        group_table = GroupTable(
            tuple(table["over"]),
            f"{'; '.join(meanings)}.",
            (", ".join(table["over"]), "n", *titles),
            rows,
            (_DESCRIPTIVE,) if limits_in(table) else (),
            left_out=max(0, len(table["groups"]) - most),
            numbers=range(1, 2 + len(metrics)),
        )
        found.append(group_table)
    return found


def _cell_text(estimate: Mapping[str, Any]) -> str:
    value, interval = _texts(estimate)
    if interval:
        return f"{value} ({interval})"
    return value


def metric_frame(result: Result) -> Any:
    """Return one row for each group of each set as a pandas frame: its rates with their intervals.

    Of a result without error rates, one row for each finding is returned.
    """
    import pandas as pd

    tables = metric_tables(result)
    if not tables:
        return frame(result)
    names: dict[str, None] = {}
    for table in tables:
        names |= dict.fromkeys(table["over"])
    rows = []
    for table in tables:
        rows += [_frame_row(table, group, list(names)) for group in table["groups"]]
    return pd.DataFrame(rows)


def _frame_row(
    table: Mapping[str, Any], group: Mapping[str, Any], names: Sequence[str]
) -> dict[str, Any]:
    row = {name: group["about"].get(name) for name in names}
    row |= {"over": ", ".join(table["over"]), "n": group["n"]}
    row["compared"] = group["compared"]
    for metric, estimate in group["rates"].items():
        row[metric] = estimate["value"]
        row[f"{metric}_low"] = estimate["low"]
        row[f"{metric}_high"] = estimate["high"]
    return row
