"""The report of an audit as one page, which loads nothing and is complete without scripts."""

from __future__ import annotations

import hashlib
from base64 import b64encode
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.html_sections import (
    CheckLink,
    check_link,
    check_section,
    sheets_in,
    verb_of_check,
)
from evenhand.methods.audit.statements import all_statements, overall_word, statements
from evenhand.report.definitions import LIMITS, TOGETHER
from evenhand.report.finding_text import NO_DATA
from evenhand.report.html_page import STYLE, asset, boxed
from evenhand.report.html_section import badge, limit_text
from evenhand.report.html_tables import ALL_BYTES, MOST_BYTES, Cell, short_sheet
from evenhand.report.lines import printable
from evenhand.report.statement import NO_LIMIT, NOT_RUN
from evenhand.report.templates import piece, render
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement
    from evenhand.results.protocol import Evidence

WORDS = {
    Verdict.FAIL: "Discrimination found",
    Verdict.UNDECIDED: "Undecided",
    Verdict.PASS: "All checks pass",
    None: messages.NO_LIMIT_GIVEN,
}
MEANS = {
    Verdict.FAIL: messages.SOME_FAIL,
    Verdict.UNDECIDED: messages.SOME_UNDECIDED,
    Verdict.PASS: messages.ALL_ON_RIGHT_SIDE,
    None: messages.WITHOUT_LIMIT,
}
_COUNTED = {
    "fail": "fail",
    "undecided": "undecided",
    NOT_RUN: NOT_RUN,
    "pass": "pass",
    NO_LIMIT: "without a limit",
}
_NOT_PASSING = (Verdict.FAIL, Verdict.UNDECIDED)
_TITLE_LETTERS = 150
_MOST_OF_A_CHECK = 3
"""The most statements of one check that the summary names."""
_MOST_POPULATIONS = 6
_TEMPLATES = "methods/audit/formats/pages"


@dataclass(frozen=True)
class Summary:
    """What the summary of an audit shows; what is empty is left out."""

    verdict: Verdict | None
    word: str
    meaning: str
    counts: str
    cost: str
    confidence: str
    populations: str
    baseline: str
    worst: Sequence[Statement]
    more: Sequence[tuple[str, CheckLink]]
    """How many statements of which checks are not among the worst ones that are shown."""
    verdicts: str


def page(found: Evidence) -> str:
    """Return any evidence as one page, the same bytes for the same evidence."""
    audit = as_audit(found)
    links = [check_link(check, number) for number, check in enumerate(audit.checks)]
    sheets = sum(sheets_in(check) for check in audit.checks)
    room = min(MOST_BYTES, ALL_BYTES // (1 + sheets))
    sections = []
    for check, link in zip(audit.checks, links, strict=True):
        sections.append(check_section(check, link, room=room))
    heading = (
        messages.AUDIT_OF.format(subject=audit.subject) if audit.subject else messages.AUDIT
    )
    summary = _summary(audit, links)
    script = asset("report.js")
    page = render(
        f"{_TEMPLATES}/audit.html.jinja",
        audit=audit,
        title=clip(printable(f"{summary.word}: {heading}"), _TITLE_LETTERS),
        heading=heading,
        style=STYLE,
        script=script,
        script_hash=_hash_of(script),
        summary=summary,
        checks=sections,
        definitions=_definitions(audit),
        limits=LIMITS,
        run=_run_facts(audit),
        digests=_digests(audit),
        version=audit.versions.get("evenhand", ""),
    )
    # A file is written, and texts may be added to it: a plain string is what callers expect.
    return str(page)


def _hash_of(script: str) -> str:
    """Return the hash by which the page allows its own script, and no other."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{b64encode(digest).decode()}"


def _summary(audit: Audit, links: Sequence[CheckLink]) -> Summary:
    word = messages.NO_CHECKS
    meaning = messages.NOTHING_TO_TELL
    if audit.checks:
        word = WORDS[audit.verdict]
        meaning = MEANS[audit.verdict]
    if overall_word(audit) == NOT_RUN:
        word = messages.NOT_ALL_WERE_RUN
        meaning = messages.SOME_NOT_RUN
    baseline = ""
    if audit.baseline:
        baseline = messages.HELD_AGAINST.format(baseline=audit.held_against)
    worst, more = _worst(audit, links)
    return Summary(
        verdict=audit.verdict,
        word=word,
        meaning=meaning,
        counts=_counts(audit),
        cost=_cost(audit),
        confidence=_confidence(audit),
        populations=_populations(audit),
        baseline=baseline,
        worst=worst,
        more=more,
        verdicts=_verdicts(audit, links),
    )


def _counts(audit: Audit) -> str:
    """Return how many statements have which verdict."""
    number_of = Counter(statement.word for statement in all_statements(audit))
    counted = []
    for word, name in _COUNTED.items():
        if number_of[word]:
            counted.append(f"{number_of[word]:,} {name}")
    checks = _count_text(len(audit.checks), "check")
    made = _count_text(number_of.total(), "statement")
    if not counted:
        return messages.NO_STATEMENTS.format(checks=checks, statements=made)
    return messages.STATEMENTS.format(
        checks=checks, statements=made, verdicts=", ".join(counted)
    )


def _cost(audit: Audit) -> str:
    """Return what the statements cost, empty where the software was not asked."""
    spent = audit.spent
    if not spent.queries:
        return ""
    inputs = _count_text(spent.queries, "input")
    executed = f"{spent.executed:,}"
    if spent.executed > spent.queries:
        return messages.INPUTS_ASKED_AGAIN.format(inputs=inputs, executed=executed)
    return messages.INPUTS_ASKED.format(inputs=inputs, executed=executed)


def _count_text(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _confidence(audit: Audit) -> str:
    """Return how sure all statements are together."""
    if audit.level == 1:
        return messages.NOTHING_DRAWN
    if audit.level == 0:
        return messages.TOO_MANY_FOR_ONE_LEVEL
    level = number_text.percent_figures(audit.level, 4)
    return TOGETHER.format(level=messages.AT_LEAST_CONFIDENCE.format(level=level))


def _populations(audit: Audit) -> str:
    """Return the populations that the statements are about, empty where none is named."""
    populations: dict[str, None] = {}  # a set that keeps the order
    for statement in all_statements(audit):
        if statement.estimate is not None and statement.estimate.population:
            populations[statement.estimate.population] = None
    if not populations:
        return ""
    named = "; ".join(list(populations)[:_MOST_POPULATIONS])
    if len(populations) > _MOST_POPULATIONS:
        return messages.POPULATIONS_AND_OTHERS.format(populations=named)
    return messages.POPULATIONS.format(populations=named)


def _worst(
    audit: Audit, links: Sequence[CheckLink]
) -> tuple[list[Statement], list[tuple[str, CheckLink]]]:
    """Return the worst statements of each check that do not pass, those that fail first.

    With them comes how many more each check has.
    """
    worst: list[Statement] = []
    more = []
    for check, link in zip(audit.checks, links, strict=True):
        bad = []
        for statement in statements(check):
            if statement.verdict in _NOT_PASSING and not _is_among(statement, worst):
                bad.append(statement)
        worst += bad[:_MOST_OF_A_CHECK]
        if len(bad) > _MOST_OF_A_CHECK:
            more.append((f"{len(bad) - _MOST_OF_A_CHECK:,}", link))
    # The sort is stable: within a verdict, statements stay in the order of their checks.
    worst.sort(key=lambda statement: statement.verdict is not Verdict.FAIL)
    return worst, more


def _is_among(statement: Statement, others: Sequence[Statement]) -> bool:
    """Return whether another check has the same question, and the same verdict on it."""
    finding = statement.finding
    if finding is None or finding.key not in statement.check.same_as:
        return False
    answers = []
    for other in others:
        if other.finding is not None:
            answers.append((other.finding.key, other.claim, other.verdict))
    return (finding.key, statement.claim, statement.verdict) in answers


def _verdicts(audit: Audit, links: Sequence[CheckLink]) -> Markup:
    """Return a table of all statements of all checks."""
    headings = ["verdict", "check", "statement", "score", "interval", "n", "limit"]
    if audit.baseline:
        headings.append(messages.AGAINST_THE_BASELINE)
    rows = []
    for check, link in zip(audit.checks, links, strict=True):
        linked = piece(f"{_TEMPLATES}/checks.html.jinja", "check_link", link)
        for statement in statements(check):
            row = [
                Cell(badge(statement.verdict, statement.word)),
                Cell(linked),
                Cell(boxed("; ".join((statement.claim, *statement.remarks)))),
                *_score(statement),
            ]
            if audit.baseline:
                row.append(Cell("" if statement.held is None else statement.held.text))
            rows.append(row)
    return short_sheet("verdicts", messages.VERDICTS_CAPTION, headings, rows)


def _score(statement: Statement) -> list[Cell]:
    """Return the score, the interval, n and the limit of a statement as cells."""
    score = statement.estimate
    # Shares are written in per cent.
    scale = 100 if score is None or score.unit == Estimate.unit else 1
    limit_key = None if statement.limit is None else scale * statement.limit
    limit = Cell(limit_text(statement), limit_key, number=True)
    empty = Cell("", number=True)
    if score is None:
        return [empty, empty, empty, limit]
    if not score.n:
        return [Cell(NO_DATA, number=True), empty, Cell("0", number=True), limit]
    interval = score.interval_text
    if score.descriptive:
        interval = messages.DESCRIPTIVE_INTERVAL.format(interval=interval)
    return [
        Cell(score.value_text, scale * score.value, number=True),
        Cell(interval, scale * score.low if interval else None, number=True),
        Cell(f"{score.n:,}", score.n, number=True),
        limit,
    ]


def _definitions(audit: Audit) -> dict[str, str]:
    """Return what each verb of the audit measures, by its name."""
    definitions = {}
    for check in audit.checks:
        verb = verb_of_check(check)
        if verb.definition:
            definitions[verb.name] = verb.definition
    return definitions


def _run_facts(audit: Audit) -> dict[str, Any]:
    """Return how the audit was run."""
    return {
        "verdict": "none" if audit.verdict is None else overall_word(audit),
        "exit code": audit.exit_code,
        "seed": audit.seed,
        "software": audit.subject or "not named",
        "inputs": f"{audit.spent.queries:,} asked, {audit.spent.executed:,} executed",
        "ledger": audit.ledger or "none",
        "versions": ", ".join(_version_texts(audit.versions.items())),
        "digest": audit.digest,
    }


def _version_texts(versions: Iterable[tuple[str, str]]) -> list[str]:
    return [f"{name} {version}" for name, version in versions]


def _digests(audit: Audit) -> list[tuple[str, str]]:
    return [
        (check.name, check.found.digest)
        for check in audit.checks
        if check.found is not None
    ]
