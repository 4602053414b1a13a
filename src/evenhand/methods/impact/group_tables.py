"""The tables of impact for other documents, such as a model card."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.impact import messages
from evenhand.methods.impact.selection_rates import remarks, tables_of
from evenhand.methods.impact.text import cells, columns, listed
from evenhand.report.finding_table import GroupTable, metric_group_tables
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.results.result import Result


def group_tables(result: Result, most: int) -> list[GroupTable]:
    """Return the table of each set of categories, with at most so many of them."""
    found = []
    for table in tables_of(result):
        shown = listed(table, most)
        *headings, _ = (heading.replace("\n", " ") for heading in columns(table))
        group_table = GroupTable(
            tuple(table["over"]),
            _definition(table),
            (*headings, "note"),
            [cells(table, category) for category in shown],
            tuple(remarks(table)),
            len(table["categories"]) - len(shown),
            range(1, 7),
        )
        found.append(group_table)
    return [*found, *metric_group_tables(result, most)]


def _definition(table: Mapping[str, Any]) -> str:
    """Return what the rates of a table are."""
    if table["kind"] != "scoring":
        return messages.SELECTION_RATE
    return messages.SCORING_RATE.format(median=number_text.figures(table["median"]))
