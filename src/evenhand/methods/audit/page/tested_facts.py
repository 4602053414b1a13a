"""What was tested, on whom, when, and how sure it is, as the reports of an audit begin with it."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from evenhand.methods.audit.page import messages
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit


def audited_name(audit: Audit) -> str:
    """Return the name of what was tested: that of its file, where it was loaded from one."""
    return audit.tested.file or audit.subject


def tested_facts(audit: Audit) -> dict[str, str]:
    """Return what was tested, on whom, when, and how sure all of it is."""
    version = audit.versions.get("evenhand", "")
    found = {
        messages.TESTED: _software(audit),
        messages.ON_WHOM: _people(audit),
        messages.WHEN: _date(audit.tested.made),
        messages.HOW_SURE: sureness(audit),
        messages.MADE_WITH: say(messages.EVENHAND, version=version, seed=audit.seed),
    }
    return {say(name): value for name, value in found.items() if value}


def _software(audit: Audit) -> str:
    tested = audit.tested
    subject = audit.subject or say(messages.NOT_NAMED)
    if tested.file and tested.file not in subject:
        subject = say(messages.MODEL_OF_FILE, file=tested.file, model=subject)
    kind = messages.KINDS.get(tested.kind, tested.kind)
    if not kind:
        return subject
    if not tested.fingerprint:
        return say(messages.SOFTWARE, subject=subject, kind=say(kind))
    return say(
        messages.SOFTWARE_WITH_FINGERPRINT,
        subject=subject,
        kind=say(kind),
        fingerprint=tested.fingerprint,
    )


def _people(audit: Audit) -> str:
    """Return the rows and the populations that scores are about."""
    tested = audit.tested
    words = []
    if tested.rows is not None:
        rows = number_text.count(tested.rows)
        template = messages.ROWS_OF if tested.data else messages.ROWS
        words.append(say(template, rows=rows, data=tested.data))
    if tested.missing == 0:
        words.append(say(messages.NONE_MISSING))
    elif tested.missing is not None:
        missing = number_text.percent(tested.missing)
        words.append(say(messages.MISSING, missing=missing))
    if not words:
        return "; ".join(list(_populations(audit))[:2])
    return ", ".join(words)


def _populations(audit: Audit) -> dict[str, None]:
    """Return the populations that scores are about, each once, in order."""
    populations: dict[str, None] = {}
    for finding in audit.findings:
        if finding.estimate.population:
            populations[term(finding.estimate.population)] = None
    return populations


def _date(made: str) -> str:
    """Return a time as people read it.

    >>> _date("2026-01-31T08:05:00Z")
    '2026-01-31, 08:05 UTC'
    """
    try:
        moment = datetime.fromisoformat(made)
    except ValueError:
        return say(messages.NOT_RECORDED)
    time = moment.time().isoformat("minutes")
    return say(messages.UTC, date=moment.date().isoformat(), time=time)


def sureness(audit: Audit) -> str:
    """Return how sure everything together is."""
    if not audit.findings:
        return ""
    if audit.level == 1:
        return say(messages.ALL_EXACT)
    if audit.level == 0:
        return say(messages.EACH_ALONE)
    level = number_text.percent_figures(audit.level, 4)
    return say(messages.ALL_TOGETHER, level=level)
