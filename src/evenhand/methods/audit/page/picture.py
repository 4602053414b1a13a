"""The picture of the first screen: for each feature its score with its interval and its limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit.page import messages
from evenhand.report.charts import IntervalRow, Intervals, figure
from evenhand.report.html_bars import drawable
from evenhand.report.page import messages as page_messages
from evenhand.report.page.cards import score_text
from evenhand.report.page.facts import fact_key
from evenhand.report.page.plain import group_name, say_list
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    from evenhand.methods.audit.page.placed import Placed

_OF_TEXTS = "mine_text"
"""The job whose subgroups are texts: they are held against the same texts with other terms."""
MOST_ROWS = 8
"""The most rows of the picture; all scores are in the table of all statements."""


def picture_of(rows: Sequence[IntervalRow]) -> Markup | None:
    """Return the picture of some scores, none where there are none."""
    if not rows:
        return None
    return figure(Intervals(tuple(rows)), "scores", say(messages.PICTURE))


def rows_of(placed: Sequence[Placed]) -> list[IntervalRow]:
    """Return the scores that can stand on a scale of shares, those of a kind together."""
    kinds: dict[str, list[Placed]] = {
        messages.SAME_PERSON: [],
        messages.GROUPS_COMPARED: [],
        messages.RATIOS: [],
    }
    for item in placed:
        kind = _kind(item)
        if kind:
            kinds[kind].append(item)
    rows: list[IntervalRow] = []
    for title, items in _judged_or_all(kinds).items():
        items.sort(key=lambda item: len(item.features))
        room = MOST_ROWS - len(rows)
        rows += [_row(item, say(title)) for item in items[:room]]
    return rows


def _kind(item: Placed) -> str:
    """Return which panel a score belongs to, empty for none."""
    finding = item.statement.finding
    if finding is None or not item.features or not drawable(finding.estimate):
        return ""
    if finding.score == "causal":
        return messages.SAME_PERSON
    if finding.least:
        return messages.RATIOS
    if len(finding.groups) > 1:
        return messages.GROUPS_COMPARED
    return ""


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
    if not isinstance(finding.about, tuple):
        rule = group_name(finding.groups[0], finding.about)
        if item.check.found is not None and item.check.found.job == _OF_TEXTS:
            others = group_name(finding.groups[1])
            return say(messages.TERMS_AND_OTHERS, rule=rule, others=others)
        return say(messages.SUBGROUP, rule=rule)
    names = say_list(item.features)
    if len(item.features) > 1:
        names = say(messages.COMBINATION, features=names)
    if finding.output:
        names = say(page_messages.FEATURES_OF_OUTPUT, features=names, output=finding.output)
    kind = finding.score
    if kind in ("causal", "group", "rate difference", "impact ratio"):
        return names
    return say(messages.SCORE_OF, score=term(kind), features=names)
