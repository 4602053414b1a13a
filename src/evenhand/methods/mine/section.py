"""The section of a mining: the subgroups, or terms, that are treated most differently, and all of
them in a table.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.mine.plot.display import display_of
from evenhand.methods.mine.table import entries_of
from evenhand.report.html_page import drawn
from evenhand.report.html_section import cards
from evenhand.report.html_tables import Column, long_sheet

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.result import Result

MOST_RULES = 4
"""The most rule sets that get a card; all of them are in a table."""
SHOWN = (
    *(
        "rule",
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
    ),
    *("support", "rules", "changed", "most", "most_changed", "score", "over", "against", "output"),
)
"""The columns of a mining that the report has."""
CALLED = {
    "rule": "rule set",
    "about": "terms of",
    "value": "difference",
    "difference": "signed",
    "rate": "their rate",
    "other": "everyone else",
    "support": "share",
    "rules": "rules in it",
    "most": "most with",
    "most_changed": "changed with it",
}
"""What some of them are called there."""
PICTURES = {
    "mine": "The subgroups that are treated most differently, with their intervals.",
    "mine_log": "The subgroups that are treated most differently, with their intervals.",
    "mine_text": "The terms with which texts are treated most differently, with their intervals.",
}


def section(result: Result, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    """Return what was mined as parts of a page."""
    yield from cards(told, name, MOST_RULES)
    if not entries_of(result):
        return
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", PICTURES[result.job])
    yield _mined(result, name, room)


def _mined(result: Result, name: str, room: int) -> str:
    frame = result.to_frame()
    columns = [
        Column(CALLED.get(one, one), [_rounded(value) for value in frame[one]])
        for one in SHOWN
        if one in frame
    ]
    columns = [one for one in columns if any(value not in (None, "") for value in one.values)]
    said = "; ".join(dict.fromkeys(str(entry["population"]) for entry in entries_of(result)))
    says = (
        "Rule sets: how much their people's rate differs from that of everyone else. They speak"
        f" of: {said}."
    )
    return "<h3>Rule sets</h3>" + long_sheet(f"{name}-rules", says, columns, room=room)


def _rounded(value: Any) -> Any:
    """Return a number with as many digits as anybody reads, None where it is missing, and anything
    else as it is.
    """
    if value is None or isinstance(value, str):
        return value
    known = str(value) != "<NA>" and value == value  # pandas' NA is no truth value
    return (round(float(value), 4) if isinstance(value, float) else value) if known else None
