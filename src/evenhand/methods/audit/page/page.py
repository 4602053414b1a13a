"""The report of an audit as one page, which loads nothing and is complete without scripts."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.diff.changes import changes_between
from evenhand.methods.audit.diff.section import changes_section
from evenhand.methods.audit.page import messages
from evenhand.methods.audit.page.checks import asked_check, parts_of_audit, verb_of_check
from evenhand.methods.audit.page.first_screen import (
    first_screen,
    protected_features,
    verdict_word,
)
from evenhand.methods.audit.page.picture import picture_of, rows_of, worst_rows
from evenhand.methods.audit.page.placed import each_fact_once
from evenhand.methods.audit.page.table import table_of_statements
from evenhand.methods.audit.page.tested_facts import audited_name, sureness
from evenhand.methods.audit.page.topics import topics_of
from evenhand.methods.audit.statements import overall_word
from evenhand.report.definitions import GLOSSARY, LIMITS
from evenhand.report.html_page import SCRIPT, STYLE
from evenhand.report.lines import printable
from evenhand.report.templates import render
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.runtime.language import say, term

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.results.protocol import Evidence

_TITLE_LETTERS = 150
_TEMPLATE = "methods/audit/page/pages/audit.html.jinja"


def page(found: Evidence, *, since: Audit | None = None, since_name: str = "") -> str:
    """Return any evidence as one page, the same bytes for the same evidence.

    With `since`, the page also shows what changed since that older audit.
    """
    audit = as_audit(found)
    changes = None
    if since is not None:
        changes = changes_section(changes_between(since, audit, name=since_name))
    heading = say(messages.AUDIT)
    if audited_name(audit):
        heading = say(messages.AUDIT_OF, subject=audited_name(audit))
    placed = each_fact_once(audit)
    parts = list(parts_of_audit(audit, placed))
    rows = rows_of(placed)
    drawn = worst_rows(rows)
    verdicts = [(item.features, item.statement.verdict) for item in placed]
    title = say(messages.TITLE, verdict=verdict_word(audit), heading=heading)
    page = render(
        _TEMPLATE,
        audit=audit,
        title=clip(printable(title), _TITLE_LETTERS),
        heading=heading,
        style=STYLE,
        script=SCRIPT,
        script_hash=_hash_of(SCRIPT),
        first=first_screen(audit, placed, parts, {row.fact for row in drawn}),
        picture=picture_of(drawn, len(rows)),
        changes=changes,
        topics=topics_of(parts, protected_features(audit), verdicts),
        statements=table_of_statements(audit) if audit.checks else "",
        checks=[asked_check(check, number) for number, check in enumerate(audit.checks)],
        definitions=_definitions(audit),
        glossary=GLOSSARY,
        limits=LIMITS,
        run=_run_facts(audit),
        version=audit.versions.get("evenhand", ""),
    )
    # A file is written, and texts may be added to it: a plain string is what callers expect.
    return str(page)


def _hash_of(script: str) -> str:
    """Return the hash by which the page allows its own script, and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{b64encode(digest).decode()}"


def _definitions(audit: Audit) -> dict[str, str]:
    """Return what each verb of the audit measures, by its name."""
    definitions = {}
    for check in audit.checks:
        verb = verb_of_check(check)
        if verb.definition:
            definitions[verb.name] = term(verb.definition)
    return definitions


def _run_facts(audit: Audit) -> dict[str, Any]:
    """Return how the audit was run."""
    asked = number_text.count(audit.spent.queries)
    executed = number_text.count(audit.spent.executed)
    found = {
        messages.VERDICT: term("none" if audit.verdict is None else overall_word(audit)),
        messages.FACT_EXIT_CODE: audit.exit_code,
        messages.FACT_SEED: audit.seed,
        messages.HOW_SURE: sureness(audit),
        messages.INPUTS: say(messages.ASKED_AND_RUN, asked=asked, executed=executed),
        messages.LEDGER: audit.ledger or say(messages.NONE),
        messages.VERSIONS: ", ".join(_version_texts(audit.versions.items())),
        messages.DIGEST: audit.digest,
    }
    return {say(name): value for name, value in found.items()}


def _version_texts(versions: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{name} {version}" for name, version in versions]
