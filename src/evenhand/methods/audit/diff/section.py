"""The section of a page that shows what changed since an older audit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.methods.audit.diff import messages
from evenhand.methods.audit.diff.entries import ChangeKind
from evenhand.methods.audit.diff.words import (
    basis_text,
    by_heading,
    change_text,
    remarks_on,
    score_text,
)
from evenhand.report.html_bars import drawable, rate_drawing, top_of
from evenhand.report.lines import printable
from evenhand.report.templates import render
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from evenhand.methods.audit.diff.changes import AuditChanges
    from evenhand.methods.audit.diff.entries import FindingChange
    from evenhand.report.html_bars import RateDrawing
    from evenhand.report.statement import Statement
    from evenhand.statistics.estimate import Estimate

MOST_ROWS = 100
"""The most entries of a kind that a page shows."""
_NAME_LETTERS = 80
_TEMPLATE = "methods/audit/diff/pages/changes.html.jinja"


@dataclass(frozen=True)
class ChangeDrawing:
    """Two scores on one scale, the older one above; what is None is not drawn."""

    label: str
    scale: RateDrawing
    old: RateDrawing | None
    new: RateDrawing | None


@dataclass(frozen=True)
class ChangeRow:
    """An entry as a row of the table; what is empty is left out."""

    claim: str
    checks: str
    remarks: Sequence[str]
    old: Statement | None
    new: Statement | None
    old_score: str
    new_score: str
    drawing: ChangeDrawing | None
    change: str
    basis: str


@dataclass(frozen=True)
class ChangeGroup:
    """The entries of one kind, and how many more there are."""

    heading: str
    rows: Sequence[ChangeRow]
    more: str


def changes_section(changes: AuditChanges) -> Markup:
    """Return what changed as a section of a page; its id is "changes"."""
    groups = []
    unchanged = []
    for heading, entries in by_heading(changes).items():
        group = _group(heading, entries)
        if entries[0].kind is ChangeKind.UNCHANGED:
            unchanged.append(group)
        else:
            groups.append(group)
    title = say(messages.CHANGES)
    if changes.old_name:
        name = clip(printable(changes.old_name), _NAME_LETTERS)
        title = say(messages.CHANGES_SINCE, name=name)
    return render(
        _TEMPLATE,
        title=title,
        sentence=changes.sentence,
        how_sure=say(messages.CHANGES_ARE_SURE) if changes.entries else "",
        caption=say(messages.CHANGES_CAPTION),
        groups=groups,
        unchanged_caption=say(messages.UNCHANGED_CAPTION),
        unchanged=unchanged,
        headings={key: say(heading) for key, heading in _HEADINGS.items()},
        settings=list(changes.settings),
        settings_heading=say(messages.RUN_OTHERWISE),
        settings_caption=say(messages.RUN_OTHERWISE_CAPTION),
    )


_HEADINGS = {
    "finding": messages.COLUMN_FINDING,
    "before": messages.COLUMN_BEFORE,
    "now": messages.COLUMN_NOW,
    "both": messages.COLUMN_BOTH,
    "change": messages.COLUMN_CHANGE,
    "setting": messages.COLUMN_SETTING,
}


def _group(heading: str, entries: Sequence[FindingChange]) -> ChangeGroup:
    rows = [_row(entry) for entry in entries[:MOST_ROWS]]
    left_out = len(entries) - len(rows)
    more = ""
    if left_out:
        more = say(messages.MORE_CHANGES, count=number_text.count(left_out))
    return ChangeGroup(heading, rows, more)


def _row(entry: FindingChange) -> ChangeRow:
    checks = ", ".join(entry.checks)
    return ChangeRow(
        claim=entry.claim,
        checks=say(messages.IN_CHECKS, checks=checks),
        remarks=remarks_on(entry),
        old=entry.old,
        new=entry.new,
        old_score=score_text(entry.old),
        new_score=score_text(entry.new),
        drawing=_drawing(entry),
        change=change_text(entry.change),
        basis=basis_text(entry.change),
    )


def _drawing(entry: FindingChange) -> ChangeDrawing | None:
    """Return the scores of an entry on one scale, None where neither can be drawn."""
    old = _drawn(entry.old)
    new = _drawn(entry.new)
    drawn = [estimate for estimate in (old, new) if estimate is not None]
    if not drawn or entry.kind is ChangeKind.OTHER:
        return None
    limit = entry.statement.limit
    top = top_of(drawn, [limit])
    scale = rate_drawing(drawn[-1], limit, top=top)
    before = score_text(entry.old) or say(messages.NOT_GIVEN)
    now = score_text(entry.new) or say(messages.NOT_GIVEN)
    return ChangeDrawing(
        say(messages.BAR_OF_BOTH, before=before, now=now),
        scale,
        None if old is None else rate_drawing(old, limit, top=top),
        None if new is None else rate_drawing(new, limit, top=top),
    )


def _drawn(statement: Statement | None) -> Estimate | None:
    """Return the score of a statement where it can be drawn."""
    if statement is None or not drawable(statement.estimate):
        return None
    return statement.estimate
