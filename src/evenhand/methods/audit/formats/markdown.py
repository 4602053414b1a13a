"""An audit as Markdown: a summary for a pull request, in which whatever comes from data stays text."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenhand.methods.audit.audit_result import as_audit
from evenhand.methods.audit.formats.ci import NOT_RUN, Places, cut, rows_of, word_of
from evenhand.methods.audit.formats.markdown_escape import inline
from evenhand.methods.audit.statements import all_statements
from evenhand.report.definitions import LIMITS
from evenhand.report.lines import printable
from evenhand.report.statement import NO_LIMIT
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
MOST_CASES, FEW_CASES = 10, 3
"""The most failing statements whose case is shown, and how many of them without unfolding a list.
"""
_NAME, _WIDE, _COMMAND = 100, 400, 2_000
_WORDS = ("fail", NOT_RUN, "undecided", NO_LIMIT, "pass")
"""Verdicts, what counts most first."""
_ROWS = (
    "| verdict | check | claim | estimate | n | engineering threshold |\n| --- | --- | --- | --- |"
    " ---: | --- |"
)
_PAIR = "| | individual | twin | |\n| --- | --- | --- | --- |"


def to_markdown(found: Evidence, *, room: int = ROOM) -> str:
    """Return an audit as Markdown of at most `room` bytes, if its frame alone is no longer than
    that.

    What there is no room for is left out, what passes first, and a sentence says how much that is.

    >>> from evenhand.methods.audit.audit_result import Audit
    >>> from evenhand.methods.audit.check_result import CheckResult
    >>> from evenhand.runtime.budget import Spent
    >>> audit = Audit((CheckResult("search sex", "search", {}, error="it *crashed*"),), 0, Spent(0, 0, 0.0))
    >>> print(to_markdown(audit).splitlines()[0])
    ## evenhand: undecided
    """
    audit = as_audit(found)
    told = sorted(all_statements(audit), key=lambda one: _WORDS.index(word_of(one)))
    top, bottom = _top(audit, told), _bottom(audit)
    left = (
        room - len("\n\n".join([*top, *bottom]).encode()) - 1_000
    )  # headings, and what is said of what is left out
    cases = [
        (one, one.case) for one in told if one.verdict is Verdict.FAIL and one.case is not None
    ]
    tables = _fitting([_case(*pair) for pair in cases[:MOST_CASES]], left // 2)
    left -= sum(len(table.encode()) for table in tables)
    rows = _fitting([_row(one) for one in told], left)
    parts = [*top, *_statements(told, rows), *_cases(tables, len(cases)), *bottom]
    return "\n\n".join(parts) + "\n"


def text_of(value: object, width: int = _WIDE) -> str:
    r"""Return any text so that Markdown shows it as it is, on one line, and cut where it is long.

    >>> text_of("a|b <i> [x](y)\n")
    'a&#124;b &lt;i&gt; \\[x\\](y)\\\\n'
    """
    return inline(cut(value, width))


def _top(audit: Audit, told: Sequence[Statement]) -> list[str]:
    words = Counter(map(word_of, told))
    said = (
        ", ".join(f"{words[word]:,} {word}" for word in _WORDS if words[word])
        or "nothing was found"
    )
    subject = f" of {text_of(audit.subject)}" if audit.subject else ""
    parts = [
        f"## evenhand: {audit.verdict or 'no limit was given'}",
        f"{len(told):,} statements{subject}: {said}. {_sure(audit, told)}",
    ]
    if audit.baseline:
        held = text_of(audit.held_against)
        parts.append(
            f"Held against a baseline: {held}. What is not surely worse than it was does not fail."
        )
    notes = [f"- note: {text_of(note)}" for note in audit.notes[:FEW]]
    return [*parts, "\n".join(notes)] if notes else parts


def _sure(audit: Audit, told: Iterable[Statement]) -> str:
    """Return how sure all of it is together."""
    scores = [one.estimate for one in told if one.estimate is not None]
    if not scores:
        return "Nothing was measured."
    if audit.level == 1:
        return "No interval is needed: scores are exact, and a search only counts what it found."
    if audit.level <= 0:
        return "Each interval holds its own level; nothing is known of all of them together."
    return (
        "All intervals hold together at a level of at least"
        f" {number_text.percent_level(audit.level)}."
    )


def _bottom(audit: Audit) -> list[str]:
    parts = ["### Run it again"]
    places = Places.of(audit)
    if audit.command and len(audit.command) <= _COMMAND:
        parts.append(f"    {printable(audit.command)}")
    where = f"; the checks are in {text_of(places.file)}" if places.file else ""
    parts.append(f"Seed {audit.seed}{where}.")
    return [*parts, "### What is not claimed", "\n".join(f"- {claim}" for claim in LIMITS)]


def _row(one: Statement) -> str:
    score, n = _score(one.estimate)
    state = f" (baseline: {one.held.state})" if one.held is not None else ""
    limit = one.threshold
    claim = f"{text_of(one.claim)}{state}"
    return (
        f"| **{word_of(one)}** | {text_of(one.check.name, _NAME)} | {claim} | {score} | {n} |"
        f" {limit} |"
    )


def _score(found: Estimate | None) -> tuple[str, str]:
    """Return an estimate with its interval, and how many inputs it rests on."""
    if found is None:
        return "", ""
    return text_of(found.text_without_n), number_text.count(found.n)


def _statements(told: Sequence[Statement], rows: Sequence[str]) -> list[str]:
    """Return the statements as a table: all of them if they are few, else what passes, and what is
    too much, folded.
    """
    bad = sum(one.verdict is not Verdict.PASS for one in told)
    first = len(rows) if len(told) <= FEW else min(FEW, bad, len(rows))
    parts = ["\n".join([_ROWS, *rows[:first]])] if first else []
    if more := rows[first:]:
        what = "statements that pass" if first >= bad else "statements"
        parts.append(
            _folded(f"{len(more):,} {'more ' if first else ''}{what}", "\n".join([_ROWS, *more]))
        )
    if left := len(told) - len(rows):
        parts.append(f"{left:,} more statements are in the report.")
    return parts


def _case(one: Statement, case: Case) -> str:
    """Return a claim, and the two inputs of its case side by side, what differs marked."""
    lines = [f"**{one.word}**, {text_of(one.check.name, _NAME)}: {text_of(one.claim)}", "", _PAIR]
    for name, first, second, apart in rows_of(case):
        cells = [text_of(cell) or "(empty)" for cell in (name, first, second)]
        marked = [f"**{cell}**" for cell in cells] if apart else cells
        lines.append(f"| {' | '.join(marked)} | {'differs' if apart else ''} |")
    return "\n".join(lines)


def _cases(tables: Sequence[str], every: int) -> list[str]:
    if not every:
        return []
    parts = ["### Simplest cases", *tables[:FEW_CASES]]
    if more := tables[FEW_CASES:]:
        parts.append(_folded(f"{len(more):,} more cases", "\n\n".join(more)))
    if left := every - len(tables):
        parts.append(f"The cases of {left:,} more statements that fail are in the report.")
    return parts


def _folded(summary: str, text: str) -> str:
    return f"<details>\n<summary>{summary}</summary>\n\n{text}\n\n</details>"


def _fitting(texts: Sequence[str], room: int) -> list[str]:
    """Return the first of several texts that fit."""
    found: list[str] = []
    for text in texts:
        room -= len(text.encode()) + 2
        if room < 0:
            break
        found.append(text)
    return found
