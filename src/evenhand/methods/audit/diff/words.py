"""What pages, terminals and Markdown share of changes: headings, scores and changes as texts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit.diff import messages
from evenhand.methods.audit.diff.entries import ChangeKind
from evenhand.report.finding_text import NO_DATA
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from evenhand.methods.audit.diff.changes import AuditChanges
    from evenhand.methods.audit.diff.entries import FindingChange
    from evenhand.report.statement import Statement
    from evenhand.results.score_change import ScoreChange

_HEADINGS = {
    ChangeKind.WORSE: messages.WORSE_HEADING,
    ChangeKind.NEW: messages.NEW_HEADING,
    ChangeKind.GONE: messages.GONE_HEADING,
    ChangeKind.BETTER: messages.BETTER_HEADING,
    ChangeKind.UNCLEAR: messages.UNCLEAR_HEADING,
    ChangeKind.OTHER: messages.OTHER_HEADING,
    ChangeKind.UNCHANGED: messages.UNCHANGED_HEADING,
}


def by_heading(changes: AuditChanges) -> dict[str, list[FindingChange]]:
    """Return the entries under the headings of their kinds, the worst first."""
    groups: dict[str, list[FindingChange]] = {}
    for entry in changes.entries:
        groups.setdefault(heading_of(entry), []).append(entry)
    return groups


def heading_of(entry: FindingChange) -> str:
    """Return the heading that an entry stands under."""
    if entry.kind is ChangeKind.NEW and entry.newly_fails:
        return say(messages.NEW_FAILURES_HEADING)
    return say(_HEADINGS[entry.kind])


def score_text(statement: Statement | None) -> str:
    """Return a score with its interval, empty where there is none."""
    if statement is None or statement.estimate is None:
        return ""
    estimate = statement.estimate
    if statement.finding is not None and statement.finding.judged is not None:
        return ""
    if not estimate.n:
        return say(NO_DATA)
    if not estimate.interval_text:
        return estimate.value_text
    return f"{estimate.value_text} ({estimate.interval_text})"


def change_text(change: ScoreChange | None) -> str:
    """Return a change with its limits, empty where there is none."""
    return "" if change is None else change.size_text


def basis_text(change: ScoreChange | None) -> str:
    """Return what a change rests on, empty where there is none."""
    if change is None:
        return ""
    if change.paired:
        return say(messages.CHANGE_PAIRED)
    if change.method == "independent":
        return say(messages.CHANGE_INDEPENDENT)
    return say(messages.CHANGE_EXACT) if change.level == 1 else say(messages.CHANGE_APART)


def remarks_on(entry: FindingChange) -> list[str]:
    """Return what else must be told of an entry: limits, other checks, and why no more is known."""
    remarks = []
    if entry.old is not None and entry.new is not None:
        before = entry.old.threshold
        now = entry.new.threshold
        if before != now:
            remarks.append(
                say(
                    messages.LIMITS_DIFFER,
                    before=before or say(messages.NOT_GIVEN),
                    now=now or say(messages.NOT_GIVEN),
                )
            )
    for other in entry.shared:
        remarks.append(
            say(
                messages.SHARED_VERDICT,
                check=other.check,
                before=other.before,
                now=other.now,
            )
        )
    if entry.why:
        remarks.append(entry.why)
    if entry.statement.finding is not None:
        remarks += entry.statement.finding.remarks
    return remarks
