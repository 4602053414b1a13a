"""Pieces of a page: values as text, lists, tables, two people and blocks of data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from evenhand.report.charts.figure import chart_script, chart_style
from evenhand.report.finding_text import NO_DATA
from evenhand.report.templates import asset as asset
from evenhand.report.templates import piece, trusted
from evenhand.report.templates import text as text
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from evenhand.results.evidence import Case

    RowGroup: TypeAlias = tuple[str, list[list[str]]]
    """A heading, empty where there is none, and rows of cells."""

PIECES = "report/pages/pieces.html.jinja"
TABLES = "report/pages/tables.html.jinja"
STYLE = (
    asset("report.css", "changes.css") + "\n" + chart_style() + "\n" + asset("print.css")
)
"""The looks of every page, in light, in dark and on paper."""
SCRIPT = asset("report.js") + "\n" + chart_script()
"""The one script of a page that has any."""
_EMPTY_CELLS = ("", "–", NO_DATA)
_NUMBER = re.compile(r"[-+\N{MINUS SIGN}]?\d")
_UNSAFE = re.compile("[<\u2028\u2029\ud800-\udfff]")
"""What could end a block of data, ends a line of a script, or is half a character."""


@dataclass(frozen=True)
class Heading:
    """The heading of a column, and whether the column holds numbers."""

    name: str
    number: bool


@dataclass(frozen=True)
class FeaturePair:
    """A feature of two people who are compared: its value of each, and whether they differ."""

    name: str
    individual: object
    twin: object
    differs: bool


def boxed(value: object) -> Markup:
    """Return a value as text that keeps its direction, in a box of its own where it is long."""
    return piece(PIECES, "boxed", value)


def data_block(name: str, table: Mapping[str, Any]) -> Markup:
    """Return data for a script of the page; nothing in it can end the block or begin another.

    >>> print(data_block("n", {"a": "</script>"}))
    <script type="application/json" id="n">{"a":"\\u003c/script>"}</script>
    """
    document = json.dumps(
        table,
        ensure_ascii=False,
        separators=(",", ":"),
        allow_nan=False,
    )
    safe = _UNSAFE.sub(_escape_of_letter, document)
    return piece(PIECES, "data_block", name, trusted(safe))


def _escape_of_letter(found: re.Match[str]) -> str:
    """Return a letter as JSON may write any."""
    code = ord(found[0])
    return f"\\u{code:04x}"


def headed(heading: str, inside: Markup) -> Markup:
    """Return a part of a section under a heading of its own."""
    return piece(PIECES, "headed", heading, inside)


def remark(value: object) -> Markup:
    """Return a remark in small letters, empty where there is nothing to remark."""
    return piece(PIECES, "remark", value) if value else text("")


def listed(texts: Iterable[object]) -> Markup:
    """Return a list of texts."""
    return piece(PIECES, "listed", texts)


def facts(pairs: Mapping[str, object] | Iterable[tuple[str, object]]) -> Markup:
    """Return names with their values."""
    if isinstance(pairs, Mapping):
        pairs = pairs.items()
    return piece(PIECES, "facts", pairs)


def quoted(lines: Iterable[str], says: str) -> Markup:
    """Return lines of code or configuration as they are, in a box that keys alone can scroll."""
    return piece(PIECES, "quoted", lines, says)


def table(
    name: str, caption: str, headings: Sequence[str], groups: Sequence[RowGroup]
) -> Markup:
    """Return a table whose rows of cells stand in groups; a group may have a heading.

    Cells that are markup stay as they are, and all others are escaped.
    """
    every_row: list[list[str]] = []
    for _, rows in groups:
        every_row += rows
    described = []
    for place, heading in enumerate(headings):
        column = [row[place] for row in every_row]
        described.append(Heading(heading, _are_numbers(column)))
    return piece(TABLES, "table", name, caption, described, groups)


def _are_numbers(cells: Iterable[str]) -> bool:
    """Return whether all cells of a column but the empty ones begin with a number."""
    filled = [cell for cell in cells if cell not in _EMPTY_CELLS]
    if not filled:
        return False
    return all(_NUMBER.match(cell) for cell in filled)


def people(case: Case, caption: str) -> Markup:
    """Return a case as two people side by side, with what differs marked."""
    features = []
    for name in case.individual:
        features.append(FeaturePair(name, *case.shown(name), name in case.changed))
    outcome, twin_outcome = case.outcome_texts
    outcomes_differ = outcome != twin_outcome
    features.append(FeaturePair(say("outcome"), outcome, twin_outcome, outcomes_differ))
    if case.unusual:
        realism, twin_realism = map(term, case.realism_words)
        features.append(FeaturePair(say("realism"), realism, twin_realism, differs=False))
    return piece(TABLES, "people", caption, features)
