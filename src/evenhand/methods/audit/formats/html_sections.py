"""The section of each check of an audit: what was asked, and what its verb shows of what was found."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.statements import statements
from evenhand.report.html_page import boxed, listed, text
from evenhand.report.html_section import badge
from evenhand.report.html_tables import MOST_BYTES
from evenhand.verbs import VERBS, verb_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.verbs import Verb


def section(check: CheckResult, name: str, *, room: int = MOST_BYTES) -> str:
    """Return one check as a section, whose ids begin with a name; `room` is how many bytes of data
    a sheet has.
    """
    verb = verb_of_check(check)
    asked = "; ".join(f"{key} {_said(value)}" for key, value in check.settings.items())
    parts = [
        f'<h2 id="{name}-heading">{boxed(check.name)} {badge(check.verdict)}</h2>',
        f"<p>{text(verb.question)}</p>" if verb.question else "",
        f'<p class="soft">Asked for: {text(asked)}.</p>' if asked else "",
        *_inside(check, name, room),
    ]
    notes = () if check.found is None or verb.own_notes else check.found.notes
    if notes:
        parts += ["<h3>Notes</h3>", listed(notes)]
    inside = "\n".join(part for part in parts if part)
    return f'<section id="{name}" aria-labelledby="{name}-heading">\n{inside}\n</section>'


def verb_of_check(check: CheckResult) -> Verb:
    """Return the verb that made a check: of texts, or of an unknown job, it is not the one that the
    check names.
    """
    verb = verb_of(check.job)
    if check.found is not None and (check.job not in VERBS or check.found.job == verb.for_texts):
        return verb_of(check.found.job)
    return verb


def sheets_in(check: CheckResult) -> int:
    """Return how many sheets of data the section of a check has."""
    return 0 if check.found is None else verb_of_check(check).sheets


def _said(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(
            " and ".join(map(str, one)) if isinstance(one, list | tuple) else str(one)
            for one in value
        )
    if isinstance(value, dict):
        return ", ".join(f"{key} = {one}" for key, one in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _inside(check: CheckResult, name: str, room: int) -> Iterator[str]:
    if check.found is None:
        yield (
            '<p class="finding undecided">This check could not be run:'
            f" {text(check.error.rstrip('.'))}.</p>"
        )
        return
    yield from verb_of(check.found.job).section(check.found, statements(check), name, room)
