"""The section of each check of an audit: what was asked, and what its verb shows of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.statements import statements
from evenhand.report.html_tables import MOST_BYTES
from evenhand.report.lines import printable
from evenhand.report.statement import NOT_RUN
from evenhand.report.templates import trusted
from evenhand.runtime.errors import clip
from evenhand.verbs import VERBS, verb_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup

    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.statistics.estimate import Verdict
    from evenhand.verbs import Verb

_LINK_LETTERS = 80


@dataclass(frozen=True)
class CheckLink:
    """The id of the section of a check, and its name, cut where it is long."""

    id: str
    name: str


@dataclass(frozen=True)
class CheckSection:
    """What the section of a check shows; what is empty is left out."""

    link: CheckLink
    name: str
    verdict: Verdict | None
    word: str
    question: str
    settings: str
    error: str
    parts: Sequence[Markup]
    notes: Sequence[str]


def check_link(check: CheckResult, number: int) -> CheckLink:
    """Return the link to the section of a check; the first check has the number 0."""
    return CheckLink(f"check{number + 1}", clip(printable(check.name), _LINK_LETTERS))


def check_section(
    check: CheckResult, link: CheckLink, *, room: int = MOST_BYTES
) -> CheckSection:
    """Return what the section of a check shows; a sheet in it has `room` bytes of data."""
    verb = verb_of_check(check)
    settings = [f"{key} {_setting_text(value)}" for key, value in check.settings.items()]
    return CheckSection(
        link=link,
        name=check.name,
        verdict=check.verdict,
        word=NOT_RUN if check.found is None else "",
        question=verb.question,
        settings="; ".join(settings),
        error=check.error.rstrip(".") if check.found is None else "",
        parts=_parts(check, link.id, room),
        notes=() if check.found is None or verb.own_notes else check.found.notes,
    )


def verb_of_check(check: CheckResult) -> Verb:
    """Return the verb that made a check.

    Of a check of texts, or of an unknown job, that is not the verb that the check names.
    """
    verb = verb_of(check.job)
    if check.found is not None and (
        check.job not in VERBS or check.found.job == verb.for_texts
    ):
        return verb_of(check.found.job)
    return verb


def sheets_in(check: CheckResult) -> int:
    """Return how many sheets of data the section of a check has."""
    return 0 if check.found is None else verb_of_check(check).sheets


def _setting_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_item_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {item}" for key, item in value.items())
    return f"{value:g}" if isinstance(value, float) else str(value)


def _item_text(item: Any) -> str:
    return " and ".join(map(str, item)) if isinstance(item, list | tuple) else str(item)


def _parts(check: CheckResult, name: str, room: int) -> list[Markup]:
    """Return the HTML that the verb of a check has made of what was found."""
    if check.found is None:
        return []
    verb = verb_of(check.found.job)
    parts = verb.section(check.found, statements(check), name, room)
    return [trusted(part) for part in parts if part]
