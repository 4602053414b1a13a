"""The worst of an audit in words: the claim, how sure it is, and the simplest case."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.terminal.rows import worst_of
from evenhand.methods.audit.terminal.table import limit_text
from evenhand.report.finding_text import NO_DATA
from evenhand.report.lines import LEAD, Line, broken, cut_to, fitted, width_of
from evenhand.results.remarks import around
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Witnesses

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.audit.terminal.rows import VerdictRow
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Case
    from evenhand.statistics.estimate import Estimate

MOST = 3
_LEAST_ROOM = 20
"""The fewest columns of a line of words, however narrow a terminal is."""
_CLAIM_LINES = 4
_CASE_LINES = 2
"""About how many lines a claim and a case may take."""


def worst_lines(rows: Sequence[VerdictRow], width: int, most: int = MOST) -> list[Line]:
    """Return the worst that fail, or else are undecided, in words; nothing where all is well."""
    lines: list[Line] = []
    for row in worst_of(rows)[:most]:
        for line in _in_words(row, width):
            lines += fitted(line, width)
    return _with_heading(lines)


def shortly(rows: Sequence[VerdictRow], width: int, most: int) -> list[Line]:
    """Return the same in two lines each."""
    room = max(_LEAST_ROOM, width - LEAD)
    lines: list[Line] = []
    for row in worst_of(rows)[:most]:
        statement = row.statement
        first, *others = _in_short(row, room)
        lines.append(Line(first, statement.verdict, LEAD, row=True, word=row.word))
        for other in others:
            lines.append(Line(other, indent=LEAD, row=True))
    return _with_heading(lines)


def _with_heading(lines: Sequence[Line]) -> list[Line]:
    if not lines:
        return []
    return [Line(""), Line(messages.WORST_FIRST), *lines]


def _in_short(row: VerdictRow, room: int) -> list[str]:
    """Return the claim on one line, and the case or a remark on another."""
    statement = row.statement
    claim = cut_to(statement.claim, room)
    if statement.case is not None:
        return [claim, _short_example(statement.case, room)]
    if row.remarks:
        return [claim, cut_to(row.remarks[0], room)]
    first, *others = broken(statement.claim, room)
    if not others:
        return [first]
    rest = " ".join(others)
    return [first, cut_to(rest, room)]


def _short_example(case: Case, room: int) -> str:
    """Return a case on one line, with a feature that stays the same where there is room for it."""
    change = case.change_text
    with_same = case_text(case, max(room // 2, width_of(change)))
    example = messages.FOR_EXAMPLE.format(case=with_same)
    if width_of(example) > room:
        example = messages.FOR_EXAMPLE.format(case=change)
    return cut_to(example, room)


def _in_words(row: VerdictRow, width: int) -> Iterator[Line]:
    statement = row.statement
    room = max(_LEAST_ROOM, width - LEAD)
    claim = cut_to(statement.claim, _CLAIM_LINES * room)
    yield Line(claim, statement.verdict, LEAD, word=row.word)
    if statement.estimate is not None:
        yield Line(_score(statement, statement.estimate), indent=LEAD)
    for remark in row.remarks:
        yield Line(cut_to(remark, _CLAIM_LINES * room), indent=LEAD)
    if statement.held is not None:
        state = messages.AGAINST_BASELINE.format(state=statement.held.text)
        yield Line(state, indent=LEAD)
    if statement.case is not None:
        case = case_text(statement.case, _CASE_LINES * room)
        yield Line(messages.FOR_EXAMPLE.format(case=case), indent=LEAD)


def _score(statement: Statement, estimate: Estimate) -> str:
    """Return a score in plain words: its value, how sure it is, its limit, and from what."""
    inputs = number_text.many(estimate.n, "input")
    if isinstance(estimate, Witnesses):
        value = estimate.value_text
        score = messages.FOUND_BY_TRYING.format(value=value, inputs=inputs)
    else:
        score = _sure(estimate)
    limit = limit_text(statement)
    if limit:
        score = messages.SCORE_AND_LIMIT.format(score=score, limit=limit)
    if isinstance(estimate, Witnesses) or not estimate.n:
        return score
    if not estimate.population:
        return messages.SCORE_AND_BASIS.format(score=score, inputs=inputs)
    return messages.SCORE_AND_POPULATION.format(
        score=score, inputs=inputs, population=estimate.population
    )


def _sure(estimate: Estimate) -> str:
    if not estimate.n or math.isnan(estimate.value):
        return NO_DATA
    if estimate.level == 1:
        return messages.EXACT_SCORE.format(value=estimate.value_text)
    score = messages.SURE_OF_SCORE.format(
        value=estimate.value_text,
        level=number_text.percent_level(estimate.level),
        interval=estimate.interval_text,
    )
    if estimate.descriptive:
        return messages.DESCRIPTIVE_SCORE.format(score=score)
    return score


def case_text(case: Case, room: int) -> str:
    """Return a case in about so many columns: what differs, and as much else as there is room for.

    >>> from evenhand.results.evidence import Case
    >>> person = {"sex": "F", "age": 31, "income": 91}
    >>> case = Case(person, {**person, "sex": "M"}, ("deny", "approve"))
    >>> print(case_text(case, 160))
    sex F → M: deny → approve (with age 31, income 91)
    >>> print(case_text(case, 40))
    sex F → M: deny → approve (with age 31 and 1 more)
    """
    change = cut_to(case.change_text, room)
    changed = case.changed
    same = []
    for name in case.individual:
        if name not in changed:
            value, _ = case.shown(name)
            same.append(f"{name} {around(value)}")
    text = _with_same(change, same, room)
    if case.unusual:
        return messages.CASE_UNUSUAL.format(case=text, unusual=case.unusual)
    return text


def _with_same(change: str, same: Sequence[str], room: int) -> str:
    if not same:
        return change
    taken = len(change)
    shown: list[str] = []
    for feature in same:
        taken += len(feature) + 2
        if taken > room and shown:
            break
        shown.append(cut_to(feature, room))
    features = ", ".join(shown)
    left_out = len(same) - len(shown)
    if not left_out:
        return messages.CASE_WITH.format(change=change, same=features)
    count = number_text.count(left_out)
    return messages.CASE_WITH_MORE.format(change=change, same=features, count=count)
