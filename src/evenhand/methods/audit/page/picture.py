"""The picture of the first screen: for each feature its score with its interval and its limit.

Shares stand on one scale. Amounts, in the unit of the outcomes, stand on another below it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenhand.methods.audit.page import messages
from evenhand.methods.audit.page.topics import SEVERITY
from evenhand.report.charts import IntervalRow, Intervals, figure, side_by_side
from evenhand.report.html_bars import drawable
from evenhand.report.page import messages as page_messages
from evenhand.report.page.cards import score_text
from evenhand.report.page.facts import fact_key
from evenhand.report.page.plain import group_name, say_list
from evenhand.results.about import is_of_the_rest
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    from evenhand.methods.audit.page.placed import Placed

_OF_TEXTS = "mine_text"
"""The job whose subgroups are texts: they are held against the same texts with other terms."""
_SAME_PERSON = ("causal", "changes")
"""Scores that change nothing but a feature: of inputs, and of texts."""
_NAMED_BY_TITLE = (*_SAME_PERSON, "group", "rate difference", "impact ratio")
"""Scores that the heading of their rows says enough of."""
MOST_ROWS = 8
"""The most rows of the picture; all scores are in the table of all statements."""


def picture_of(rows: Sequence[IntervalRow], count: int) -> Markup | None:
    """Return the picture of some of so many scores, none where there are none."""
    amounts_title = say(messages.AMOUNTS_COMPARED)
    amounts = tuple(row for row in rows if row.group == amounts_title)
    shares = tuple(row for row in rows if row.group != amounts_title)
    caption = say(messages.PICTURE)
    if count > len(rows):
        shown = number_text.count(len(rows))
        every = number_text.count(count)
        caption = say(messages.PICTURE_OF_WORST, shown=shown, count=every)
    drawn = []
    if shares:
        drawn.append(figure(Intervals(shares), "scores", caption))
    if amounts:
        chart = Intervals(amounts, unit="amount")
        drawn.append(figure(chart, "amounts", "" if shares else caption))
    return side_by_side(drawn) if drawn else None


def rows_of(placed: Sequence[Placed]) -> list[IntervalRow]:
    """Return all scores that can stand on a scale, those of a kind together."""
    kinds: dict[str, list[Placed]] = {
        messages.SAME_PERSON: [],
        messages.GROUPS_COMPARED: [],
        messages.RATIOS: [],
        messages.AMOUNTS_COMPARED: [],
    }
    for item in placed:
        kind = _kind(item)
        if kind:
            kinds[kind].append(item)
    rows: list[IntervalRow] = []
    for title, items in _judged_or_all(kinds).items():
        items.sort(key=lambda item: len(item.features))
        rows += [_row(item, say(title)) for item in items]
    return rows


def worst_rows(rows: Sequence[IntervalRow]) -> list[IntervalRow]:
    """Return as many rows as the picture has room for, the worst, in the order of all rows."""
    worst_first = sorted(rows, key=_severity)
    kept = {id(row) for row in worst_first[:MOST_ROWS]}
    return [row for row in rows if id(row) in kept]


def _severity(row: IntervalRow) -> int:
    return SEVERITY[None if row.verdict is None else Verdict(row.verdict)]


def _kind(item: Placed) -> str:
    """Return which panel a score belongs to, empty for none."""
    finding = item.statement.finding
    if finding is None or not item.features:
        return ""
    compares_groups = len(finding.groups) > 1 or is_of_the_rest(finding.about)
    if finding.unit == "amount":
        is_known = finding.estimate.n and math.isfinite(finding.estimate.value)
        return messages.AMOUNTS_COMPARED if is_known and compares_groups else ""
    if not drawable(finding.estimate):
        return ""
    if finding.score in _SAME_PERSON:
        return messages.SAME_PERSON
    if finding.least:
        return messages.RATIOS
    return messages.GROUPS_COMPARED if compares_groups else ""


def _judged_or_all(kinds: Mapping[str, list[Placed]]) -> dict[str, list[Placed]]:
    """Return the scores that have a limit, and all where none has one."""
    judged = {}
    for title, items in kinds.items():
        judged[title] = [item for item in items if item.statement.limit is not None]
    return judged if any(judged.values()) else dict(kinds)


def _row(item: Placed, group: str) -> IntervalRow:
    statement = item.statement
    finding = statement.finding
    assert finding is not None
    estimate = finding.estimate
    return IntervalRow(
        _label(item),
        estimate.value,
        estimate.low,
        estimate.high,
        limit=statement.limit,
        verdict=statement.verdict,
        numbers=score_text(statement),
        group=group,
        fact=fact_key(finding),
    )


def _label(item: Placed) -> str:
    """Return what a score is of: a feature, several together, or a subgroup."""
    finding = item.statement.finding
    assert finding is not None
    names = say_list(item.features)
    is_of_texts = item.check.found is not None and item.check.found.job == _OF_TEXTS
    if is_of_the_rest(finding.about):
        any_of_them, others = messages.ANY_SUBGROUP, messages.OTHER_SUBGROUPS
        if is_of_texts:
            any_of_them, others = messages.ANY_TERM, messages.OTHER_TERMS
        template = others if item.statement.beside_subgroups else any_of_them
        return say(template, features=names)
    if not isinstance(finding.about, tuple):
        rule = group_name(finding.groups[0], finding.about)
        if is_of_texts:
            others = group_name(finding.groups[1])
            return say(messages.TERMS_AND_OTHERS, rule=rule, others=others)
        return say(messages.SUBGROUP, rule=rule)
    if len(item.features) > 1:
        names = say(messages.COMBINATION, features=names)
    if finding.output:
        names = say(page_messages.FEATURES_OF_OUTPUT, features=names, output=finding.output)
    kind = finding.score
    if kind in _NAMED_BY_TITLE:
        return names
    return say(messages.SCORE_OF, score=term(kind), features=names)
