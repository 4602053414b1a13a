"""The section of impact: a table of rates and ratios for each set of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.impact import messages
from evenhand.methods.impact.plot import display_of
from evenhand.methods.impact.selection_rates import IMPACT_RATIO, is_descriptive
from evenhand.report.finding_table import metric_sheets
from evenhand.report.finding_text import NO_DATA
from evenhand.report.html_page import boxed, drawn, headed, text
from evenhand.report.html_section import cards
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.result import Result


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[str]:
    """Return rates and ratios as parts of a page."""
    tables = result.details.get("impact")
    # Error rates without a limit are in the tables alone.
    shown = [statement for statement in statements if not tables or _has_card(statement)]
    yield from cards(shown, name, groups=not tables)
    if not tables:
        return
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", messages.PICTURE_CAPTION)
    for number, table in enumerate(tables):
        yield _set_of_categories(table, f"{name}-impact{number}")
    yield from metric_sheets(result, name)


def _has_card(statement: Statement) -> bool:
    finding = statement.finding
    if finding is None or finding.limit is not None:
        return True
    return finding.score in (IMPACT_RATIO, "")


def _set_of_categories(table: Mapping[str, Any], anchor: str) -> str:
    """Return the table of one set of categories."""
    over = " and ".join(table["over"])
    unknown = number_text.count(table["unknown"])
    if table["kind"] == "scoring":
        rate_heading = messages.SCORING_RATE_HEADING
        caption = messages.SCORING_CAPTION.format(over=over, unknown=unknown)
    else:
        rate_heading = messages.SELECTION_RATE_HEADING
        caption = messages.SELECTION_CAPTION.format(over=over, unknown=unknown)
    interval = messages.INTERVAL_HEADING
    ratio_interval = messages.RATIO_INTERVAL_HEADING
    if is_descriptive(table):
        interval = messages.DESCRIPTIVE_HEADING.format(heading=interval)
        ratio_interval = messages.DESCRIPTIVE_HEADING.format(heading=ratio_interval)
    headings = (
        "category",
        "n",
        "share",
        rate_heading,
        interval,
        messages.RATIO_HEADING,
        ratio_interval,
        "note",
    )
    rows = [_row(category) for category in table["categories"]]
    sheet = short_sheet(anchor, caption, headings, rows)
    return headed(messages.SET_HEADING.format(over=over), sheet)


def _row(category: Mapping[str, Any]) -> list[Cell]:
    """Return a category as a row of the table."""
    label = ", ".join(f"{value}" for value in category["about"].values())
    share = category["share"]
    rate = Estimate.from_dict(category["rate"])
    rate_text = number_text.percent(rate.value) if rate.n else NO_DATA
    return [
        Cell(boxed(label)),
        Cell(number_text.count(category["n"]), category["n"], number=True),
        Cell(number_text.percent(share), 100 * share, number=True),
        Cell(rate_text, 100 * rate.value, number=True),
        Cell(number_text.between(rate.low, rate.high), 100 * rate.low, number=True),
        *_ratio_cells(category["ratio"]),
        Cell(text(category["left_out"])),
    ]


def _ratio_cells(document: Mapping[str, Any] | None) -> list[Cell]:
    """Return the impact ratio and its interval, empty where a category is left out."""
    if not document:
        return [Cell("", None, number=True), Cell("", None, number=True)]
    ratio = Estimate.from_dict(document)
    interval = number_text.decimal_between(ratio.low, ratio.high)
    return [
        Cell(number_text.decimal(ratio.value), ratio.value, number=True),
        Cell(interval, ratio.low, number=True),
    ]
