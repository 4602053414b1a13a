"""What changed since an older audit as lines of text, and as Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit.diff import messages
from evenhand.methods.audit.diff.entries import ChangeKind
from evenhand.methods.audit.diff.words import (
    basis_text,
    by_heading,
    change_text,
    heading_of,
    remarks_on,
    score_text,
)
from evenhand.methods.audit.formats.ci import cut
from evenhand.methods.audit.formats.markdown_escape import inline
from evenhand.report.lines import LEAD, Line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.methods.audit.diff.changes import AuditChanges
    from evenhand.methods.audit.diff.entries import FindingChange
    from evenhand.report.statement import Statement

MOST_LINES = 20
"""The most entries of a kind on a terminal."""
MOST_ROWS = 30
"""The most entries in Markdown."""
MOST_SETTINGS = 12
_WIDE = 300
"""The most characters of a cell."""
_TABLE_HEAD = f"{messages.MARKDOWN_CHANGE_HEADINGS}\n| --- | --- | --- | --- | --- | --- |"


def changes_lines(changes: AuditChanges) -> Iterator[Line]:
    """Yield what changed as lines; of what is unchanged, the number alone."""
    for heading, entries in by_heading(changes).items():
        if entries[0].kind is ChangeKind.UNCHANGED:
            continue
        yield Line(f"{heading}:")
        for entry in entries[:MOST_LINES]:
            yield from _entry_lines(entry)
        left_out = len(entries) - MOST_LINES
        if left_out > 0:
            yield Line(messages.MORE_CHANGES.format(count=f"{left_out:,}"), indent=LEAD)
    if changes.settings:
        yield Line(f"{messages.RUN_OTHERWISE}:")
    for setting in changes.settings:
        line = messages.SETTING_LINE.format(
            label=setting.label, before=setting.before, now=setting.now
        )
        yield Line(line, indent=LEAD)
    yield Line(changes.sentence)


def _entry_lines(entry: FindingChange) -> Iterator[Line]:
    statement = entry.statement
    checks = messages.IN_CHECKS.format(checks=", ".join(entry.checks))
    yield Line(f"{entry.claim}, {checks}", statement.verdict, LEAD, word=statement.word)
    before = _side(entry.old)
    now = _side(entry.new)
    yield Line(messages.BEFORE_AND_NOW.format(before=before, now=now), indent=LEAD)
    if entry.change is not None:
        change = f"{change_text(entry.change)}, {basis_text(entry.change)}"
        yield Line(f"{messages.COLUMN_CHANGE} {change}", indent=LEAD)
    for remark in remarks_on(entry):
        yield Line(remark, indent=LEAD)


def _side(statement: Statement | None) -> str:
    """Return the verdict of an audit on a question, and its score."""
    if statement is None:
        return messages.CHECK_IS_NOT_THERE
    score = score_text(statement)
    return f"{statement.word} {score}".strip()


def changes_markdown(changes: AuditChanges) -> str:
    """Return what changed as Markdown, in which all that others wrote is text."""
    parts = [messages.MARKDOWN_CHANGES]
    if changes.old_name:
        name = _cell(changes.old_name)
        parts = [messages.MARKDOWN_CHANGES_SINCE.format(name=name)]
    parts.append(changes.sentence)
    shown = []
    for entry in changes.entries:
        if entry.kind is not ChangeKind.UNCHANGED:
            shown.append(entry)
    rows = [_markdown_row(entry) for entry in shown[:MOST_ROWS]]
    if rows:
        parts.append("\n".join([_TABLE_HEAD, *rows]))
    left_out = len(shown) - len(rows)
    if left_out:
        parts.append(messages.CHANGES_LEFT_OUT.format(count=f"{left_out:,}"))
    settings = []
    for setting in changes.settings[:MOST_SETTINGS]:
        line = messages.SETTING_LINE.format(
            label=_cell(setting.label),
            before=_cell(setting.before),
            now=_cell(setting.now),
        )
        settings.append(f"- {line}")
    if settings:
        parts.append("\n".join(settings))
    return "\n\n".join(parts)


def _markdown_row(entry: FindingChange) -> str:
    change = change_text(entry.change)
    if change:
        change = f"{change}, {basis_text(entry.change)}"
    finding = "; ".join((entry.claim, *remarks_on(entry)))
    cells = (
        f"**{heading_of(entry)}**",
        _cell(", ".join(entry.checks)),
        _cell(finding),
        _cell(_side(entry.old)),
        _cell(_side(entry.new)),
        change,
    )
    return f"| {' | '.join(cells)} |"


def _cell(value: object) -> str:
    return inline(cut(value, _WIDE))
