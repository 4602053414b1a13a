"""The tables of impact for other documents, such as a model card."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.impact.selection_rates import remarks, tables_of
from evenhand.methods.impact.text import cells, columns, listed
from evenhand.report.finding_table import GroupTable
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from evenhand.results.result import Result


def group_tables(result: Result, most: int) -> list[GroupTable]:
    """Return the table of each set of categories, with at most so many of them."""
    found = []
    for table in tables_of(result):
        definition = "selection rate: the share of a category that has the favourable outcome."
        if table["kind"] == "scoring":
            median = number_text.figures(table["median"])
            definition = f"scoring rate: the share of scores above the median, which is {median}."
        headings = [heading.replace("\n", " ") for heading in columns(table)]
        shown = listed(table, most)
        found.append(
            GroupTable(
                tuple(table["over"]),
                definition,
                (*headings[:-1], "note"),
                [cells(table, category) for category in shown],
                tuple(remarks(table)),
                len(table["categories"]) - len(shown),
                range(1, 7),
            )
        )
    return found
