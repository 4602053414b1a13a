"""One page in Markdown for people in a hurry: what was tested, on whom, and what came of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.diff.changes import changes_between
from evenhand.methods.audit.formats.markdown import text_of
from evenhand.methods.audit.formats.markdown_escape import block, code, table
from evenhand.methods.audit.formats.model_card import protected_features
from evenhand.methods.audit.page.tested_facts import audited_name, tested_facts
from evenhand.methods.audit.statements import all_statements, overall_word
from evenhand.methods.audit.terminal.rows import rows_of, worst_of
from evenhand.methods.audit.text import counted
from evenhand.report.definitions import LIMITS
from evenhand.report.finding_text import NO_DATA
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.terminal.rows import VerdictRow
    from evenhand.report.statement import Statement
    from evenhand.results.protocol import Evidence

MOST_SCORES = 14
"""The most rows of the table of scores."""
MOST_WORST = 3
MOST_NOT_TESTED = 5
MOST_POPULATIONS = 3
_HEADINGS = (
    "about",
    "kind",
    "score",
    "interval",
    "engineering threshold",
    "verdict",
    "check",
)
_COMMAND = 2_000
"""The most characters of a command."""


def to_summary(found: Evidence, *, since: Audit | None = None, since_name: str = "") -> str:
    """Return any evidence as one page in Markdown, of about 60 lines at most.

    With `since`, it also says in a sentence what changed since that older audit.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.runtime.budget import Spent
    >>> audit = Audit((), 0, Spent(0, 0, 0.0), subject="a loan program")
    >>> print(to_summary(audit).splitlines()[0])
    # Fairness audit of a loan program: no limit was given
    """
    audit = as_audit(found)
    rows = rows_of(audit)
    parts = [*_head(audit, rows)]
    if since is not None:
        parts.append(changes_between(since, audit, name=since_name).sentence)
    parts += [
        messages.SUMMARY_SCORES,
        *_scores(rows),
        messages.SUMMARY_WORST,
        *_worst(audit, rows),
        messages.SUMMARY_NOT_TESTED,
        _not_tested(audit),
        messages.CARD_REPRODUCE,
        *_again(audit),
    ]
    return "\n\n".join(parts) + "\n"


def _head(audit: Audit, rows: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield what was tested and on whom, the verdict, and how sure all of it is."""
    verdict = messages.NO_LIMIT_WAS_GIVEN
    if audit.verdict is not None:
        verdict = overall_word(audit)
    heading = messages.SUMMARY_HEADING.format(verdict=verdict)
    if audited_name(audit):
        subject = text_of(audited_name(audit), 100)
        heading = messages.SUMMARY_HEADING_OF.format(subject=subject, verdict=verdict)
    yield heading
    yield "\n".join(_facts(audit))
    yield counted(audit, rows)
    populations = _populations(audit)
    if populations:
        yield messages.POPULATIONS.format(populations=populations)
    if audit.baseline:
        baseline = text_of(audit.held_against)
        yield messages.MARKDOWN_BASELINE.format(baseline=baseline)


def _facts(audit: Audit) -> Iterator[str]:
    """Yield what was tested, on whom and when, as a list."""
    for name, value in tested_facts(audit).items():
        yield messages.SUMMARY_FACT.format(name=name, value=text_of(value))


def _populations(audit: Audit) -> str:
    """Return whom the scores are about, empty where none says so."""
    names: dict[str, None] = {}  # a set that keeps the order
    for statement in all_statements(audit):
        if statement.estimate is not None and statement.estimate.population:
            names[text_of(statement.estimate.population)] = None
    shown = list(names)[:MOST_POPULATIONS]
    if len(names) > MOST_POPULATIONS:
        shown.append(messages.SUMMARY_AND_OTHERS)
    return "; ".join(shown)


def _scores(rows: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield the scores of protected features and their combinations as one table."""
    scores = _scores_of_features(rows)
    if not scores:
        yield messages.NOTHING_MEASURED
        return
    cells = [_row(statement) for statement in scores[:MOST_SCORES]]
    yield table(_HEADINGS, cells, right=(2, 3, 4))
    left_out = len(scores) - MOST_SCORES
    if left_out > 0:
        yield messages.STATEMENTS_IN_REPORT.format(count=f"{left_out:,}")


def _scores_of_features(rows: Sequence[VerdictRow]) -> list[Statement]:
    """Return what is said of sets of features, single features first."""
    scores = []
    for row in rows:
        finding = row.statement.finding
        if finding is None or not isinstance(finding.about, tuple):
            continue
        if finding.unit != "count":
            scores.append(row.statement)
    return sorted(scores, key=_size)


def _size(statement: Statement) -> int:
    """Return how many features a statement is about."""
    assert statement.finding is not None
    return len(statement.finding.about)


def _row(statement: Statement) -> tuple[str, ...]:
    estimate = statement.estimate
    assert estimate is not None
    assert statement.finding is not None
    value = estimate.value_text if estimate.n else NO_DATA
    interval = ""
    if estimate.n:
        interval = estimate.interval_text or estimate.method
    return (
        statement.about,
        statement.finding.score,
        value,
        interval,
        statement.threshold,
        statement.word,
        statement.check.name,
    )


def _worst(audit: Audit, rows: Sequence[VerdictRow]) -> Iterator[str]:
    """Yield the worst statements in words, each with an example."""
    worst = worst_of(rows)
    lines = []
    for row in worst[:MOST_WORST]:
        statement = row.statement
        line = messages.SUMMARY_WORST_LINE.format(
            word=statement.word, claim=text_of(statement.claim)
        )
        if statement.case is not None:
            example = text_of(statement.case.change_text)
            line += f" {messages.SUMMARY_EXAMPLE.format(example=example)}"
        lines.append(line)
    if not lines:
        all_run = all(check.found is not None for check in audit.checks)
        yield messages.SUMMARY_NOTHING_BAD if all_run else messages.SUMMARY_NOT_ALL_RUN
        return
    yield "\n".join(f"{number}. {line}" for number, line in enumerate(lines, start=1))
    left_out = len(worst) - MOST_WORST
    if left_out > 0:
        yield messages.STATEMENTS_IN_REPORT.format(count=f"{left_out:,}")


def _not_tested(audit: Audit) -> str:
    """Return what nothing was found about, and what the result does not say, as a list."""
    tested: set[str] = set()
    lines = []
    for statement in all_statements(audit):
        finding = statement.finding
        if finding is not None and isinstance(finding.about, tuple):
            tested.update(finding.about)
        elif finding is None:
            check = text_of(statement.check.name)
            error = text_of(statement.claim)
            lines.append(messages.CARD_NOT_RUN.format(check=check, error=error))
    for name in protected_features(audit):
        if name not in tested:
            feature = text_of(name)
            lines.append(messages.SUMMARY_FEATURE_NOT_TESTED.format(feature=feature))
    left_out = len(lines) - MOST_NOT_TESTED
    shown = lines[:MOST_NOT_TESTED]
    if left_out > 0:
        shown.append(messages.SUMMARY_MORE_NOT_TESTED.format(count=f"{left_out:,}"))
    return "\n".join(f"- {line}" for line in (*shown, *LIMITS))


def _again(audit: Audit) -> Iterator[str]:
    if audit.command and len(audit.command) <= _COMMAND:
        yield block(audit.command, "sh")
    version = audit.versions.get("evenhand", "")
    yield messages.SUMMARY_AGAIN.format(
        seed=code(audit.seed),
        version=text_of(version),
        digest=code(audit.digest),
        inputs=number_text.count(audit.spent.queries),
    )
