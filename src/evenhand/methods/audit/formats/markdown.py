"""An audit as Markdown: a summary for a pull request, in which all that comes from data is text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.diff.changes import changes_between
from evenhand.methods.audit.diff.text import changes_markdown
from evenhand.methods.audit.formats.ci import Places, cut, rows_of
from evenhand.methods.audit.formats.markdown_escape import inline
from evenhand.methods.audit.statements import all_statements, overall_word
from evenhand.report.definitions import LIMITS
from evenhand.report.lines import printable
from evenhand.report.statement import NO_LIMIT, NOT_RUN
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Case
    from evenhand.results.protocol import Evidence
    from evenhand.statistics.estimate import Estimate

ROOM = 60_000
"""The most bytes of a summary; a comment on GitHub has at most 65,536 characters."""
FEW = 12
"""The most statements that are shown without unfolding a list."""
MOST_CASES = 10
FEW_CASES = 3
"""The most failing statements whose case is shown, and how many of them without unfolding a list.
"""
_NAME = 100
_WIDE = 400
_COMMAND = 2_000
"""The most characters of a name, of any other text, and of a command."""
_RESERVE = 1_000
"""Bytes for headings, and for the sentences that say what is left out."""
_ORDER = ("fail", NOT_RUN, "undecided", NO_LIMIT, "pass")
"""Verdicts, what counts most first."""
_TABLE_HEAD = f"{messages.MARKDOWN_HEADINGS}\n| --- | --- | --- | --- | ---: | --- |"
_CASE_HEAD = "| | individual | twin | |\n| --- | --- | --- | --- |"


def to_markdown(
    found: Evidence,
    *,
    room: int = ROOM,
    since: Audit | None = None,
    since_name: str = "",
) -> str:
    """Return an audit as Markdown of at most `room` bytes, unless its frame alone is longer.

    What there is no room for is left out, what passes first, and a sentence says how much that is.
    With `since`, it also says what changed since that older audit.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> check = CheckResult("search sex", "search", {}, error="it *crashed*")
    >>> print(to_markdown(Audit((check,), 0, Spent(0, 0, 0.0))).splitlines()[0])
    ## evenhand: not run
    """
    audit = as_audit(found)
    statements = all_statements(audit)
    statements.sort(key=lambda statement: _ORDER.index(statement.word))
    top = _top(audit, statements)
    if since is not None:
        top.append(changes_markdown(changes_between(since, audit, name=since_name)))
    bottom = _bottom(audit)
    frame = "\n\n".join([*top, *bottom])
    left = room - len(frame.encode()) - _RESERVE
    # Cases may take half of the room: without statements they would mean nothing.
    cases = _failing_cases(statements)
    tables = [_case(statement, case) for statement, case in cases[:MOST_CASES]]
    shown_tables = _fitting(tables, left // 2)
    left -= sum(len(table.encode()) for table in shown_tables)
    rows = [_row(statement) for statement in statements]
    shown_rows = _fitting(rows, left)
    parts = [
        *top,
        *_statements(statements, shown_rows),
        *_cases(shown_tables, len(cases)),
        *bottom,
    ]
    return "\n\n".join(parts) + "\n"


def _failing_cases(statements: Sequence[Statement]) -> list[tuple[Statement, Case]]:
    cases = []
    for statement in statements:
        if statement.verdict is Verdict.FAIL and statement.case is not None:
            cases.append((statement, statement.case))
    return cases


def text_of(value: object, width: int = _WIDE) -> str:
    r"""Return any text so that Markdown shows it as it is, on one line, and cut where it is long.

    >>> text_of("a|b <i> [x](y)\n")
    'a&#124;b &lt;i&gt; \\[x\\](y)\\\\n'
    """
    return inline(cut(value, width))


def _top(audit: Audit, statements: Sequence[Statement]) -> list[str]:
    verdict = messages.NO_LIMIT_WAS_GIVEN
    if audit.verdict is not None:
        verdict = overall_word(audit)
    parts = [f"## evenhand: {verdict}", _counts(audit, statements)]
    if audit.baseline:
        baseline = text_of(audit.held_against)
        parts.append(messages.MARKDOWN_BASELINE.format(baseline=baseline))
    notes = [f"- note: {text_of(note)}" for note in audit.notes[:FEW]]
    if notes:
        parts.append("\n".join(notes))
    return parts


def _counts(audit: Audit, statements: Sequence[Statement]) -> str:
    """Return how many statements have which verdict, and how sure they are together."""
    number_of = Counter(statement.word for statement in statements)
    counts = [f"{number_of[word]:,} {word}" for word in _ORDER if number_of[word]]
    count = f"{len(statements):,}"
    verdicts = ", ".join(counts) or messages.NOTHING_FOUND
    confidence = _confidence(audit, statements)
    if not audit.subject:
        return messages.MARKDOWN_COUNTS.format(
            count=count, verdicts=verdicts, confidence=confidence
        )
    subject = text_of(audit.subject)
    return messages.MARKDOWN_COUNTS_OF.format(
        count=count, subject=subject, verdicts=verdicts, confidence=confidence
    )


def _confidence(audit: Audit, statements: Iterable[Statement]) -> str:
    """Return how sure all of it is together."""
    if all(statement.estimate is None for statement in statements):
        return messages.NOTHING_MEASURED
    if audit.level == 1:
        return messages.NO_INTERVAL_NEEDED
    if audit.level <= 0:
        return messages.EACH_OWN_LEVEL
    level = number_text.percent_level(audit.level)
    return messages.INTERVALS_TOGETHER.format(level=level)


def _bottom(audit: Audit) -> list[str]:
    parts = [messages.RUN_IT_AGAIN]
    if audit.command and len(audit.command) <= _COMMAND:
        parts.append(f"    {printable(audit.command)}")
    file = Places.of(audit).file
    if file:
        parts.append(messages.SEED_AND_FILE.format(seed=audit.seed, file=text_of(file)))
    else:
        parts.append(messages.SEED.format(seed=audit.seed))
    limits = "\n".join(f"- {limit}" for limit in LIMITS)
    return [*parts, messages.NOT_CLAIMED, limits]


def _row(statement: Statement) -> str:
    score, n = _score(statement.estimate)
    claim = "; ".join(map(text_of, (statement.claim, *statement.remarks)))
    if statement.held is not None:
        claim += f" (baseline: {statement.held.text})"
    cells = (
        f"**{statement.word}**",
        text_of(statement.check.name, _NAME),
        claim,
        score,
        n,
        statement.threshold,
    )
    return f"| {' | '.join(cells)} |"


def _score(estimate: Estimate | None) -> tuple[str, str]:
    """Return an estimate with its interval, and how many inputs it rests on."""
    if estimate is None:
        return "", ""
    return text_of(estimate.text_without_n), number_text.count(estimate.n)


def _statements(statements: Sequence[Statement], rows: Sequence[str]) -> list[str]:
    """Return the statements as a table; of many, what passes and what is too much is folded."""
    bad = sum(statement.verdict is not Verdict.PASS for statement in statements)
    first = len(rows)
    if len(statements) > FEW:
        first = min(FEW, bad, first)
    parts = []
    if first:
        parts.append("\n".join([_TABLE_HEAD, *rows[:first]]))
    folded = rows[first:]
    if folded:
        summary = _summary_of_folded(len(folded), first, all_pass=first >= bad)
        table = "\n".join([_TABLE_HEAD, *folded])
        parts.append(_folded(summary, table))
    left_out = len(statements) - len(rows)
    if left_out:
        parts.append(messages.STATEMENTS_IN_REPORT.format(count=f"{left_out:,}"))
    return parts


def _summary_of_folded(number: int, shown: int, *, all_pass: bool) -> str:
    count = f"{number:,}"
    if all_pass and shown:
        return messages.MORE_GOOD_STATEMENTS.format(count=count)
    if all_pass:
        return messages.GOOD_STATEMENTS.format(count=count)
    if shown:
        return messages.MORE_MARKDOWN_STATEMENTS.format(count=count)
    return messages.MARKDOWN_STATEMENTS.format(count=count)


def _case(statement: Statement, case: Case) -> str:
    """Return a claim, and the two inputs of its case side by side, what differs marked."""
    check = text_of(statement.check.name, _NAME)
    claim = text_of(statement.claim)
    lines = [f"**{statement.word}**, {check}: {claim}", "", _CASE_HEAD]
    for row in rows_of(case):
        values = (row.name, row.individual, row.twin)
        cells = [text_of(value) or "(empty)" for value in values]
        if row.differs:
            cells = [f"**{cell}**" for cell in cells]
        difference = "differs" if row.differs else ""
        lines.append(f"| {' | '.join(cells)} | {difference} |")
    return "\n".join(lines)


def _cases(tables: Sequence[str], every: int) -> list[str]:
    """Return the tables of some cases; `every` is how many cases there are."""
    if not every:
        return []
    parts = ["### Simplest cases", *tables[:FEW_CASES]]
    folded = tables[FEW_CASES:]
    if folded:
        summary = messages.MORE_CASES.format(count=f"{len(folded):,}")
        parts.append(_folded(summary, "\n\n".join(folded)))
    left_out = every - len(tables)
    if left_out:
        parts.append(messages.CASES_IN_REPORT.format(count=f"{left_out:,}"))
    return parts


def _folded(summary: str, text: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def _fitting(texts: Sequence[str], room: int) -> list[str]:
    """Return the first of several texts that fit."""
    fitting: list[str] = []
    for text in texts:
        room -= len(text.encode()) + 2
        if room < 0:
            break
        fitting.append(text)
    return fitting
