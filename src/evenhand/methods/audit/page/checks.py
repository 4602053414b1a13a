"""What each check of an audit was asked for, and which parts of the page its verb makes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.page.placed import of_check
from evenhand.report.html_tables import ALL_BYTES, MOST_BYTES
from evenhand.report.lines import printable
from evenhand.report.statement import NOT_RUN
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import term
from evenhand.verbs import VERBS, verb_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.methods.audit.page.placed import Placed
    from evenhand.report.page.parts import PagePart
    from evenhand.statistics.estimate import Verdict
    from evenhand.verbs import Verb

_NAME_LETTERS = 80


@dataclass(frozen=True)
class AskedCheck:
    """What a check was asked for, and what came of it; what is empty is left out."""

    id: str
    name: str
    verdict: Verdict | None
    word: str
    question: str
    settings: str
    error: str
    notes: Sequence[str]
    digest: str


def check_id(number: int) -> str:
    """Return the id of a check; the first has the number 0."""
    return f"check{number + 1}"


def check_name(check: CheckResult) -> str:
    """Return the name of a check, cut where it is long."""
    return clip(printable(check.name), _NAME_LETTERS)


def asked_check(check: CheckResult, number: int) -> AskedCheck:
    """Return what a check was asked for."""
    verb = verb_of_check(check)
    settings = [f"{key} {_setting_text(value)}" for key, value in check.settings.items()]
    found = check.found
    return AskedCheck(
        id=check_id(number),
        name=check_name(check),
        verdict=check.verdict,
        word=NOT_RUN if found is None else "",
        question=term(verb.question),
        settings="; ".join(settings),
        error=check.error.rstrip(".") if found is None else "",
        notes=()
        if found is None or verb.own_notes
        else [term(note) for note in found.notes],
        digest="" if found is None else found.digest,
    )


def parts_of_audit(audit: Audit, placed: Sequence[Placed]) -> Iterator[PagePart]:
    """Yield the parts that the verbs of all checks make of what was found."""
    sheets = sum(_sheets_in(check) for check in audit.checks)
    room = min(MOST_BYTES, ALL_BYTES // (1 + sheets))
    for number, check in enumerate(audit.checks):
        if check.found is not None:
            verb = verb_of(check.found.job)
            shown = of_check(placed, check)
            yield from verb.section(check.found, shown, check_id(number), room)


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


def _sheets_in(check: CheckResult) -> int:
    """Return how many sheets of data the parts of a check have."""
    return 0 if check.found is None else verb_of_check(check).sheets


def _setting_text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return "; ".join(_item_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} = {item}" for key, item in value.items())
    return number_text.plain(value) if isinstance(value, float) else str(value)


def _item_text(item: Any) -> str:
    return " and ".join(map(str, item)) if isinstance(item, list | tuple) else str(item)
