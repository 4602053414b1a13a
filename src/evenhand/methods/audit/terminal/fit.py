"""Fit: how much is said where an audit has to be seen at once, and what is said shorter first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.methods.audit.terminal.table import table_lines
from evenhand.methods.audit.terminal.worst import MOST, shortly, worst_lines
from evenhand.report.lines import width_of
from evenhand.report.statement import NOT_RUN
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenhand.methods.audit.terminal.rows import VerdictRow
    from evenhand.report.lines import Line

PIPE_HEIGHT = 40
"""The most lines of an audit where there is no terminal."""
LEAST_HEIGHT = 24
"""No terminal is taken to be lower than this."""
PROMPT = 1
"""The lines of a terminal that the shell takes when the command has ended."""
MOST_ROWS = 20
MOST_OPEN = 10
"""The most rows, and how many that do not pass go before words about the worst of them."""
_OPEN = (str(Verdict.FAIL), str(Verdict.UNDECIDED), NOT_RUN)


@dataclass(frozen=True, slots=True)
class Style:
    """How much is said below the table."""

    worst: int = MOST
    is_short: bool = False
    """Whether the worst take two lines each."""
    notes: int = 4
    note_lines: int = 3


STYLES = (
    Style(),
    Style(note_lines=1),
    Style(is_short=True, note_lines=1),
    Style(is_short=True, notes=1, note_lines=1),
    Style(worst=2, is_short=True, notes=1, note_lines=1),
    Style(worst=1, is_short=True, notes=0),
    Style(worst=0, notes=0),
)
"""What is said below the table, in ever fewer lines."""


def lines_in_sight(
    rows: Sequence[VerdictRow],
    closing: Callable[[Style], list[Line]],
    width: int,
    height: int | None,
) -> list[Line]:
    """Return the table, the worst in words and the closing lines, all of them in sight at once.

    Rows that pass are left out first, then words about the worst, and at last rows that do not.
    """
    most = PIPE_HEIGHT
    if height is not None:
        most = max(height, LEAST_HEIGHT) - PROMPT
    needed = min(_open_count(rows), MOST_OPEN)
    for style in STYLES:
        below = _worst_of(rows, style, width) + closing(style)
        room = most - lines_taken(below, width)
        table = _table_in(rows, width, room, needed)
        if table is not None:
            return [*table, *below]
    below = closing(STYLES[-1])
    room = most - lines_taken(below, width)
    least = _table_in(rows, width, room, 1)
    if least is None:
        least = table_lines(rows, width, 1)
    return [*least, *below]


def lines_taken(lines: Iterable[Line], width: int) -> int:
    """Return how many lines of a terminal some lines take, of which it breaks those too wide."""
    taken = 0
    for line in lines:
        columns = width_of(str(line))
        taken += max(1, math.ceil(columns / width))
    return taken


def _open_count(rows: Sequence[VerdictRow]) -> int:
    open_rows = [row for row in rows if row.word in _OPEN]
    return len(open_rows)


def _worst_of(rows: Sequence[VerdictRow], style: Style, width: int) -> list[Line]:
    if not style.worst:
        return []
    if style.is_short:
        return shortly(rows, width, style.worst)
    return worst_lines(rows, width, style.worst)


def _table_in(
    rows: Sequence[VerdictRow], width: int, room: int, needed: int
) -> list[Line] | None:
    """Return the most rows that fit into so many lines, None where fewer do than are needed."""
    most = min(len(rows), MOST_ROWS, max(room, 0))
    for count in range(most, max(needed, 1) - 1, -1):
        table = table_lines(rows, width, count)
        if lines_taken(table, width) <= room:
            return table
    return None if rows else []
