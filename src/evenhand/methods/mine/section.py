"""The section of a mining: the worst subgroups, or terms, as cards, their tree, and a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.words import sentences_for
from evenhand.methods.mine.plot.display import display_of
from evenhand.methods.mine.subgroups import messages as tree_messages
from evenhand.methods.mine.subgroups.tree import trees
from evenhand.methods.mine.table import entries_of, mined_findings
from evenhand.report.html_page import PIECES, drawn, headed
from evenhand.report.html_section import cards
from evenhand.report.html_tables import Column, long_sheet
from evenhand.report.templates import piece

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result
    from evenhand.statistics.estimate import Verdict

MOST_RULES = 4
"""The most rule sets that get a card; all of them are in a table."""
SHOWN = (
    "rule",
    "parent",
    "about",
    "verdict",
    "value",
    "low",
    "high",
    "difference",
    "rate",
    "other",
    "ratio",
    "rows",
    "texts",
    "support",
    "rules",
    "changed",
    "most",
    "most_changed",
    "score",
    "over",
    "against",
    "output",
)
"""The columns of a mining that the report has."""
HEADINGS = {
    "rule": "rule set",
    "parent": messages.COLUMN_WITHIN,
    "about": "terms of",
    "value": "difference",
    "difference": "signed",
    "other": messages.EVERYONE_ELSE,
    "support": "share",
    "rules": messages.COLUMN_RULES_IN_IT,
    "most": "most with",
    "most_changed": messages.COLUMN_CHANGED_WITH_IT,
}
"""What some of them are called there."""
PICTURES = {
    "mine": messages.PICTURE_OF_SUBGROUPS,
    "mine_log": messages.PICTURE_OF_SUBGROUPS,
    "mine_text": messages.PICTURE_OF_TERMS,
}


def section(
    result: Result, statements: Sequence[Statement], name: str, room: int
) -> Iterator[str]:
    """Return what was mined as parts of a page."""
    yield from cards(statements, name, MOST_RULES)
    if not entries_of(result):
        return
    yield from _trees(result, statements)
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", PICTURES[result.job])
    yield _rule_sets(result, name, room)


def _trees(result: Result, statements: Sequence[Statement]) -> Iterator[str]:
    """Return the stories as trees, each with what is within it, under one heading."""
    held = {id(statement.finding): statement.verdict for statement in statements}

    def verdict(finding: Finding) -> Verdict | None:
        return held.get(id(finding), finding.verdict)

    stories = [line for line in mined_findings(result) if not line.others]
    drawn_trees = list(trees(stories, verdict))
    if drawn_trees:
        yield headed(
            tree_messages.TREE_HEADING,
            piece(PIECES, "paragraph", tree_messages.TREE_INTRODUCED),
        )
        yield from drawn_trees


def _rule_sets(result: Result, name: str, room: int) -> str:
    """Return the table of all findings."""
    frame = result.to_frame()
    headings = {**HEADINGS, "rate": _rate_heading(result)}
    columns = []
    for key in SHOWN:
        if key not in frame:
            continue
        values = [_rounded(value) for value in frame[key]]
        if any(value not in (None, "") for value in values):
            columns.append(Column(headings.get(key, key), values))
    populations = [str(entry["population"]) for entry in entries_of(result)]
    distinct = "; ".join(dict.fromkeys(populations))
    caption = messages.RULE_SETS_TABLE.format(population=distinct)
    sheet = long_sheet(f"{name}-rules", caption, columns, room=room)
    return headed("Rule sets", sheet)


def _rate_heading(result: Result) -> str:
    """Return the heading of what rule sets are compared by; of different scores it is a rate."""
    columns = {sentences_for(entry).column for entry in entries_of(result)}
    if len(columns) > 1:
        return messages.COLUMN_THEIR_RATE
    return columns.pop().replace("\n", " ")


def _rounded(value: Any) -> Any:
    """Return a number with as many digits as anybody reads; None stands for a missing one.

    Anything else stays as it is.
    """
    if value is None or isinstance(value, str):
        return value
    if str(value) == "<NA>":  # pandas' NA is no truth value
        return None
    if value != value:  # NaN
        return None
    if isinstance(value, float):
        return round(float(value), 4)
    return value
