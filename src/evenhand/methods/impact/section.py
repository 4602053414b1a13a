"""The parts of a page that tell of impact: rates and ratios of each set of categories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.impact import messages
from evenhand.methods.impact.chart import charts_of
from evenhand.methods.impact.selection_rates import IMPACT_RATIO, is_descriptive, tables_of
from evenhand.report.charts import figures
from evenhand.report.finding_table import metric_parts
from evenhand.report.finding_text import NO_DATA
from evenhand.report.html_page import boxed, text
from evenhand.report.html_tables import Cell, short_sheet
from evenhand.report.page.cards import finding_parts
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.report.page.plain import in_plain_words, say_list, two_groups
from evenhand.runtime import number_text
from evenhand.runtime.label_text import group_text, values_text
from evenhand.runtime.language import say, term
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result


_OF_SELECTION = (IMPACT_RATIO, "")
"""The scores of what is selected; the others need true outcomes."""


def plain(finding: Finding, found: Result) -> str:
    """Return an impact ratio as the two rates that it compares."""
    if finding.score != IMPACT_RATIO:
        return in_plain_words(finding, found)
    for table in tables_of(found):
        if set(table["over"]) == set(finding.about) and table["kind"] != "scoring":
            return _two_categories(table) or finding.claim
    return finding.claim


def _two_categories(table: Mapping[str, Any]) -> str:
    """Return the lowest and the highest rate that are compared, empty where there are no two."""
    compared = [category for category in table["categories"] if category["ratio"]]
    if len(compared) < 2:
        return ""
    compared.sort(key=lambda category: category["rate"]["value"])
    worst, best = compared[0], compared[-1]
    return two_groups(
        messages.PLAIN_RATES,
        worst=(group_text(worst["about"]), Estimate.from_dict(worst["rate"])),
        best=(group_text(best["about"]), Estimate.from_dict(best["rate"])),
    )


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[PagePart]:
    """Yield rates and ratios: a card and a table for each set of categories, and error rates."""
    tables = tables_of(result)
    # Error rates without a limit are in the tables alone.
    shown = [statement for statement in statements if not tables or _has_card(statement)]
    yield from finding_parts(shown, name, groups=not tables)
    if not tables:
        return
    known = [set(finding.about) for finding in _of_selection(statements)]
    for number, table in enumerate(tables):
        # What another check has told already is not told again.
        if set(table["over"]) in known:
            features = tuple(table["over"])
            alone = replace(result, details={**result.details, "impact": [table]})
            picture = figures(
                charts_of(alone), f"{name}-picture{number}", say(messages.PICTURE_CAPTION)
            )
            yield PagePart(
                ReaderQuestion.HOW_MUCH, features, picture, say(messages.PICTURE_FOLDED)
            )
            folded = say(messages.SET_HEADING, over=say_list(features))
            sheet = _set_of_categories(table, f"{name}-impact{number}")
            yield PagePart(ReaderQuestion.HOW_MUCH, features, sheet, folded)
    yield from metric_parts(result, name)


def _of_selection(statements: Sequence[Statement]) -> Iterator[Finding]:
    """Yield the findings that the tables of categories are about, and no error rates."""
    for statement in statements:
        finding = statement.finding
        if finding is not None and finding.score in _OF_SELECTION:
            yield finding


def _has_card(statement: Statement) -> bool:
    finding = statement.finding
    if finding is None or finding.limit is not None:
        return True
    return finding.score in _OF_SELECTION


def _set_of_categories(table: Mapping[str, Any], anchor: str) -> Markup:
    """Return the table of one set of categories."""
    over = say_list(table["over"])
    unknown = number_text.count(table["unknown"])
    if table["kind"] == "scoring":
        rate_heading = say(messages.SCORING_RATE_HEADING)
        caption = say(messages.SCORING_CAPTION, over=over, unknown=unknown)
    else:
        rate_heading = say(messages.SELECTION_RATE_HEADING)
        caption = say(messages.SELECTION_CAPTION, over=over, unknown=unknown)
    interval = say(messages.INTERVAL_HEADING)
    ratio_interval = say(messages.RATIO_INTERVAL_HEADING)
    if is_descriptive(table):
        interval = say(messages.DESCRIPTIVE_HEADING, heading=interval)
        ratio_interval = say(messages.DESCRIPTIVE_HEADING, heading=ratio_interval)
    headings = (
        say("category"),
        "n",
        say("share"),
        rate_heading,
        interval,
        say(messages.RATIO_HEADING),
        ratio_interval,
        say("note"),
    )
    rows = [_row(category) for category in table["categories"]]
    return short_sheet(anchor, caption, headings, rows)


def _row(category: Mapping[str, Any]) -> list[Cell]:
    """Return a category as a row of the table."""
    label = values_text(category["about"])
    share = category["share"]
    rate = Estimate.from_dict(category["rate"])
    rate_text = number_text.percent(rate.value) if rate.n else say(NO_DATA)
    return [
        Cell(boxed(label)),
        Cell(number_text.count(category["n"]), category["n"], number=True),
        Cell(number_text.percent(share), 100 * share, number=True),
        Cell(rate_text, 100 * rate.value, number=True),
        Cell(number_text.between(rate.low, rate.high), 100 * rate.low, number=True),
        *_ratio_cells(category["ratio"]),
        Cell(text(term(category["left_out"] or ""))),
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
