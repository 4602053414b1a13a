"""Evidence as text: for a terminal in colour and lines that fit, for a pipe plain and unbroken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.finding_text import limit_text, rate_heading, shown_groups
from evenhand.report.lines import LEAD, Line, Screen, indented, rates, shown_cases
from evenhand.report.lines import printable as printable
from evenhand.runtime import number_text
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from evenhand.report.lines import RateRow
    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence

MOST_GROUPS = 12


def render(found: Evidence, *, console: Console | None = None, cases: int = 1) -> None:
    """Print evidence on standard output, or on the console given.

    `cases` is how many cases of a finding to show: one is a line, more are tables with the two
    inputs side by side. A search, which is about its cases, shows one as a table and two as lines
    instead of one.
    """
    screen = Screen(console)
    verb = verb_of(found.job)
    lines = verb.text(found, cases=cases, width=screen.width)
    screen.print(list(lines))


def lines(found: Evidence, *, cases: int = 1, width: int | None = None) -> list[str]:
    """Return evidence as lines of plain text; only tables are made to fit into `width`.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate, StopReason
    >>> from evenhand.results.evidence import Finding
    >>> from evenhand.results.result import Result
    >>> claim = "changing only sex changes the outcome"
    >>> found = Finding(claim, ("sex",), Estimate.exact(6, 24), 0.05)
    >>> spent = Spent(24, 24, 0.1)
    >>> result = Result("measure", [found], 0, spent, StopReason.ENUMERATED, {})
    >>> print(*lines(result), sep="\\n")
    FAIL      changing only sex changes the outcome
              25.0 % (n = 24, enumerated); limit 5 %
    24 inputs asked, 24 executed, 0.1 s; every input was enumerated
    """
    verb = verb_of(found.job)
    return [str(line) for line in verb.text(found, cases=cases, width=width)]


def lines_of_findings(
    found: Evidence, *, cases: int = 1, width: int | None = None
) -> Iterator[Line]:
    """Yield evidence finding by finding, then the notes, and what the run took."""
    yield from all_findings(found, cases, width)
    yield from closing(found)


def all_findings(found: Evidence, cases: int, width: int | None) -> Iterator[Line]:
    """Yield all findings; groups that were shown before are not shown again."""
    shown_before = []
    for finding in found.findings:
        again = finding.groups in shown_before
        yield from finding_lines(finding, cases, width, again=again)
        shown_before.append(finding.groups)


def closing(found: Evidence, spent: str = "") -> Iterator[Line]:
    """Yield the notes, and what the run took, in the verb's own words where it has some."""
    for note in found.notes:
        yield Line(f"note: {note}")
    yield Line(spent or spent_text(found))


def spent_text(found: Evidence, what: str = "inputs", stop: str = "") -> str:
    """Return what a run took, and why it ended."""
    spent = found.spent
    asked = number_text.count(spent.queries)
    executed = number_text.count(spent.executed)
    seconds = number_text.seconds(spent.seconds)
    reason = stop or found.stop
    text = f"{asked} {what} asked, {executed} executed, {seconds}; {reason}"
    if spent.one_process:
        text = f"{text}; one process did all, since {spent.one_process}"
    return text


def finding_lines(
    finding: Finding, cases: int, width: int | None, *, again: bool = False
) -> Iterator[Line]:
    """Yield one finding: its claim, its score, its groups and some cases."""
    yield Line(finding.claim, finding.verdict)
    score = str(finding.estimate)
    if finding.limit is not None:
        score = f"{score}; limit {limit_text(finding)}"
    yield Line(score, indent=LEAD)
    yield from remark_lines(finding)
    if finding.groups and again:  # a difference and a ratio compare the same groups
        yield Line("groups as above", indent=LEAD)
    elif finding.groups:
        yield from indented(_group_rates(finding, width))
    yield from shown_cases(finding.cases, cases, width)


def remark_lines(finding: Finding | Statement) -> Iterator[Line]:
    """Yield what must be told beside the verdict, under it."""
    for remark in finding.remarks:
        yield Line(remark, indent=LEAD)


def _group_rates(finding: Finding, width: int | None) -> list[str]:
    """Return a table of the groups of a finding."""
    rows: list[RateRow] = []
    for group in shown_groups(finding.groups, MOST_GROUPS):
        if isinstance(group, str):
            rows.append(group)
        else:
            rows.append((str(group), group.estimate))
    return rates("group", rate_heading(finding), rows, width)
