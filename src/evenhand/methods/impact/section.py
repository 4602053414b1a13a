"""The section of impact: a table of rates and ratios for each set of categories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.impact.plot import display_of
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

PICTURE = "The impact ratio of each category, with its interval."


def section(result: Result, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    """Return rates and ratios as parts of a page."""
    tables = result.details.get("impact")
    yield from cards(told, name, groups=not tables)
    if not tables:
        return
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", PICTURE)
    yield from _impact(tables, name)


def _impact(tables: Sequence[Mapping[str, Any]], name: str) -> Iterator[str]:
    for number, one in enumerate(tables):
        word = "scoring" if one["kind"] == "scoring" else "selection"
        rows = []
        for entry in one["categories"]:
            label = ", ".join(f"{value}" for value in entry["about"].values())
            rate = Estimate.from_dict(entry["rate"])
            ratio = Estimate.from_dict(entry["ratio"]) if entry["ratio"] else None
            told = "" if ratio is None else number_text.decimal(ratio.value)
            between = "" if ratio is None else number_text.decimal_between(ratio.low, ratio.high)
            rows.append(
                [
                    Cell(boxed(label)),
                    Cell(f"{entry['n']:,}", entry["n"], number=True),
                    Cell(number_text.percent(entry["share"]), 100 * entry["share"], number=True),
                    Cell(
                        number_text.percent(rate.value) if rate.n else NO_DATA,
                        100 * rate.value,
                        number=True,
                    ),
                    Cell(number_text.between(rate.low, rate.high), 100 * rate.low, number=True),
                    Cell(told, None if ratio is None else ratio.value, number=True),
                    Cell(between, None if ratio is None else ratio.low, number=True),
                    Cell(text(entry["left_out"])),
                ]
            )
        over = " and ".join(one["over"])
        says = (
            f"By {over}: {word} rates and impact ratios. {one['unknown']:,} rows have an unknown"
            f" {over}."
        )
        headings = (
            "category",
            "n",
            "share",
            f"{word} rate",
            "interval",
            "impact ratio",
            "interval of the ratio",
            "note",
        )
        sheet = short_sheet(f"{name}-impact{number}", says, headings, rows)
        yield headed(f"By {over}", sheet)
