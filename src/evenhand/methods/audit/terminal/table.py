"""The table of verdicts: what is asked, the score in plain words, its interval and its limit."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from itertools import zip_longest
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.terminal.rows import ORDER
from evenhand.report.lines import LEAD, Line, broken, cut_to, fitted, table_of, width_of
from evenhand.report.statement import NOT_RUN
from evenhand.results.evidence import is_rule
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate, Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from evenhand.methods.audit.terminal.rows import VerdictRow
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding

_SCORES = {
    "causal": messages.SCORE_CAUSAL,
    "group": messages.SCORE_GROUP,
    "witnesses": messages.SCORE_WITNESSES,
    "impact ratio": messages.SCORE_IMPACT_RATIO,
    "mean ratio": messages.SCORE_MEAN_RATIO,
    "gain": messages.SCORE_GAIN,
}
_ALWAYS = (messages.COLUMN_ABOUT, messages.COLUMN_SCORE, messages.COLUMN_VALUE)
"""The columns that are there even where nothing stands in them: widths go by them."""
_GAP = 2
"""Columns between two columns of the table."""
_SCORE_ROOM = 20
_STATE_ROOM = 14
"""The most columns of a terminal that a score in words takes, and how it stands to a baseline."""
_ABOUT_LEAST = 12
_MOST_LINES = 2
"""The most lines of a row, and of a reason why checks could not be run."""
_MOST_REASON = 3


def table_lines(rows: Sequence[VerdictRow], width: int, most: int) -> list[Line]:
    """Return the rows as lines, at most so many; a line counts those that are left out.

    What has a verdict that counts more is shown before what has one that counts less.
    """
    # A line that says "1 more row" would take the place of that row.
    room = most if len(rows) > most + 1 else len(rows)
    shown = rows[:room]
    left_out = rows[room:]
    scored = [row for row in shown if row.word != NOT_RUN]
    heading, blocks = _drawn(scored, width)
    lines = [*heading]
    for row in shown:
        if row.word == NOT_RUN:
            lines += _not_run(row, width)
        else:
            lines += _row_lines(row, next(blocks))
    if left_out:
        more = _left_out(left_out)
        lines += fitted(Line(more, indent=LEAD), width)
    if any(_is_descriptive(row) for row in scored):
        meaning = Line(messages.DESCRIPTIVE_MEANS, indent=LEAD)
        lines += fitted(meaning, width)
    return lines


def limit_text(statement: Statement) -> str:
    """Return a limit as the score beside it is written, empty where there is none."""
    if statement.limit is None or statement.finding is None:
        return ""
    limit = number_text.limit(statement.limit, statement.finding.unit)
    if statement.least:
        return messages.AT_LEAST.format(limit=limit)
    return limit


def counts_text(rows: Sequence[VerdictRow]) -> str:
    """Return how many rows have which verdict."""
    number_of: Counter[str] = Counter()
    for row in rows:
        number_of[row.word] += row.counts
    counts = [f"{number_of[word]:,} {word}" for word in ORDER if number_of[word]]
    return ", ".join(counts)


def _left_out(rows: Sequence[VerdictRow]) -> str:
    count = number_text.many(len(rows), "more row")
    verdicts = counts_text(rows)
    return messages.MORE_ROWS.format(count=count, verdicts=verdicts)


def _columns(rows: Sequence[VerdictRow]) -> dict[str, list[str]]:
    """Return the cells by their headings, without other columns in which nothing stands."""
    interval_heading = _interval_heading(rows)
    columns: dict[str, list[str]] = {
        messages.COLUMN_ABOUT: [],
        messages.COLUMN_SCORE: [],
        messages.COLUMN_VALUE: [],
        interval_heading: [],
        messages.COLUMN_LIMIT: [],
        messages.COLUMN_BASELINE: [],
    }
    for row in rows:
        statement = row.statement
        columns[messages.COLUMN_ABOUT].append(row.about)
        columns[messages.COLUMN_SCORE].append(_score(statement.finding))
        columns[messages.COLUMN_VALUE].append(_value(statement.estimate))
        columns[interval_heading].append(_interval(row))
        columns[messages.COLUMN_LIMIT].append(limit_text(statement))
        columns[messages.COLUMN_BASELINE].append(_state(statement))
    kept = {}
    for heading, cells in columns.items():
        if heading in _ALWAYS or any(cells):
            kept[heading] = cells
    return kept


def _score(finding: Finding | None) -> str:
    """Return which score it is, in plain words."""
    if finding is None:
        return ""
    name = finding.score.replace("_", " ")
    if not is_rule(finding.about):
        return _SCORES.get(finding.score, name)
    if finding.score in ("", "rate"):
        return messages.SCORE_APART
    return messages.SCORE_OF_RULE.format(score=name)


def _value(estimate: Estimate | None) -> str:
    if estimate is None:
        return ""
    if isinstance(estimate, Witnesses):
        return number_text.count(int(estimate.value))
    if not estimate.n or math.isnan(estimate.value):
        return messages.NO_VALUE
    return estimate.value_text


def _interval(row: VerdictRow) -> str:
    estimate = row.statement.estimate
    if estimate is None or isinstance(estimate, Witnesses) or not estimate.n:
        return ""
    if estimate.level == 1:
        return messages.EXACT
    interval = estimate.interval_text
    if _is_descriptive(row):
        return messages.DESCRIPTIVE_MARK.format(interval=interval)
    return interval


def _is_descriptive(row: VerdictRow) -> bool:
    estimate = row.statement.estimate
    return estimate is not None and estimate.descriptive


def _interval_heading(rows: Sequence[VerdictRow]) -> str:
    """Return the heading of intervals, with their level where all have the same one."""
    levels = set()
    for row in rows:
        estimate = row.statement.estimate
        if estimate is not None and estimate.n and estimate.level < 1:
            levels.add(number_text.percent_level(estimate.level))
    if len(levels) != 1:
        return messages.COLUMN_INTERVAL
    return messages.COLUMN_LEVEL_INTERVAL.format(level=levels.pop())


def _state(statement: Statement) -> str:
    return "" if statement.held is None else statement.held.state


def _rooms(columns: Mapping[str, Sequence[str]], width: int) -> dict[str, int]:
    """Return how many columns of a terminal each text may take.

    Where the words of what a row is about are long, scores are broken rather than these words.
    """
    rooms = {messages.COLUMN_BASELINE: _STATE_ROOM}
    taken = LEAD + _GAP
    for heading, cells in columns.items():
        if heading not in (messages.COLUMN_ABOUT, messages.COLUMN_SCORE):
            widest = min(_widest(cells), rooms.get(heading, width))
            taken += _GAP + max(width_of(heading), widest)
    abouts = columns[messages.COLUMN_ABOUT]
    scores = columns[messages.COLUMN_SCORE]
    both = width - taken
    least = max(_ABOUT_LEAST, _longest_word(abouts))
    score = min(_widest(scores), _SCORE_ROOM)
    while score > _longest_word(scores) and both - score < least:
        if _most_lines(scores, score - 1) > _MOST_LINES:
            break
        score -= 1
    rooms[messages.COLUMN_SCORE] = score
    rooms[messages.COLUMN_ABOUT] = max(_ABOUT_LEAST, both - score)
    return rooms


def _widest(cells: Iterable[str]) -> int:
    return max(width_of(cell) for cell in cells)


def _longest_word(cells: Iterable[str]) -> int:
    words = " ".join(cells).split()
    return _widest(words or [""])


def _most_lines(cells: Iterable[str], room: int) -> int:
    counts = [len(broken(cell, room)) for cell in cells]
    return max(counts)


def _in_room(cell: str, room: int | None) -> list[str]:
    """Return a cell as lines, the last cut where there would be more."""
    if room is None:
        return [cell]
    lines = broken(cell, room) or [""]
    if len(lines) <= _MOST_LINES:
        return lines
    last = _MOST_LINES - 1
    rest = " ".join(lines[last:])
    return [*lines[:last], cut_to(rest, room)]


def _drawn(
    rows: Sequence[VerdictRow], width: int
) -> tuple[list[Line], Iterator[list[str]]]:
    """Return the line of the headings, and the lines of each row, in columns that all share."""
    if not rows:
        return [], iter(())
    columns = _columns(rows)
    rooms = _rooms(columns, width)
    broken_columns = []
    for heading, cells in columns.items():
        room = rooms.get(heading)
        in_lines = [_in_room(cell, room) for cell in cells]
        broken_columns.append(in_lines)
    flat: list[tuple[str, ...]] = []
    heights = []
    for parts in zip(*broken_columns, strict=True):
        of_row = list(zip_longest(*parts, fillvalue=""))
        flat += of_row
        heights.append(len(of_row))
    headings = list(columns)
    numbers = [headings.index(messages.COLUMN_VALUE)]
    first, *drawn = table_of(headings, flat, None, right=numbers)
    return [Line(first, indent=LEAD, row=True)], _blocks(drawn, heights)


def _blocks(lines: Sequence[str], heights: Iterable[int]) -> Iterator[list[str]]:
    """Yield the lines of each row."""
    start = 0
    for height in heights:
        end = start + height
        yield list(lines[start:end])
        start = end


def _row_lines(row: VerdictRow, texts: Sequence[str]) -> Iterator[Line]:
    first, *others = texts
    yield Line(first, row.statement.verdict, LEAD, row=True, word=row.word)
    for other in others:
        yield Line(other, indent=LEAD, row=True)


def _not_run(row: VerdictRow, width: int) -> list[Line]:
    """Return which checks could not be run, and why."""
    checks = "; ".join(row.checks)
    lines = _reason_lines(row, checks, width)
    if len(lines) <= _MOST_REASON:
        return lines
    # The reason matters more than which checks there were.
    count = number_text.many(len(row.checks), "check")
    lines = _reason_lines(row, count, width)
    if len(lines) <= _MOST_REASON:
        return lines
    last = lines[_MOST_REASON - 1]
    room = max(_ABOUT_LEAST, width - LEAD - 1)
    cut = replace(last, text=cut_to(f"{last.text} {lines[_MOST_REASON].text}", room))
    return [*lines[: _MOST_REASON - 1], cut]


def _reason_lines(row: VerdictRow, checks: str, width: int) -> list[Line]:
    statement = row.statement
    reason = messages.NOT_RUN_WHY.format(checks=checks, reason=statement.claim)
    line = Line(reason, statement.verdict, LEAD, word=row.word)
    return list(fitted(line, width))
