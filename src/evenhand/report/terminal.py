"""Evidence as text: for a terminal with coloured verdicts and lines that fit, for a pipe plain and
unbroken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.report.finding_text import shown_groups
from evenhand.report.lines import LEAD, Line, Screen, indented, rates, shown_cases
from evenhand.report.lines import printable as printable
from evenhand.runtime import number_text
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

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
    screen.print(list(verb_of(found.job).text(found, cases=cases, width=screen.width)))


def lines(found: Evidence, *, cases: int = 1, width: int | None = None) -> list[str]:
    """Return evidence as lines of plain text; tables are no wider than `width`, other lines are not
    broken.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate, StopReason
    >>> from evenhand.results.evidence import Finding
    >>> from evenhand.results.result import Result
    >>> found = Finding("changing only sex changes the outcome", ("sex",), Estimate.exact(6, 24), 0.05)
    >>> print(*lines(Result("measure", [found], 0, Spent(24, 24, 0.1), StopReason.ENUMERATED, {})), sep="\\n")
    FAIL      changing only sex changes the outcome
              25.0 % (n = 24, enumerated); limit 0.05
    24 inputs asked, 24 executed, 0.1 s; every input was enumerated
    """
    return [str(line) for line in verb_of(found.job).text(found, cases=cases, width=width)]


def lines_of_findings(
    found: Evidence, *, cases: int = 1, width: int | None = None
) -> Iterator[Line]:
    """Tell evidence finding by finding, then what else there is to say, and what the run took."""
    yield from all_findings(found, cases, width)
    yield from closing(found)


def all_findings(found: Evidence, cases: int, width: int | None) -> Iterator[Line]:
    """Tell all findings; groups that were told of before are not told again."""
    for number, finding in enumerate(found.findings):
        before = [other.groups for other in found.findings[:number]]
        yield from finding_lines(finding, cases, width, again=finding.groups in before)


def closing(found: Evidence, spent: str = "") -> Iterator[Line]:
    """Tell the notes, and what the run took in words of the verb's own, or else in the usual ones."""
    for note in found.notes:
        yield Line(f"note: {note}")
    yield Line(spent or spent_text(found))


def spent_text(found: Evidence, what: str = "inputs", stop: str = "") -> str:
    """Return what a run took, and why it ended."""
    spent = found.spent
    asked, executed = number_text.count(spent.queries), number_text.count(spent.executed)
    return (
        f"{asked} {what} asked, {executed} executed, {number_text.seconds(spent.seconds)};"
        f" {stop or found.stop}"
    )


def finding_lines(
    finding: Finding, cases: int, width: int | None, *, again: bool = False
) -> Iterator[Line]:
    """Tell one finding: its claim, its score, its groups and some cases."""
    yield Line(finding.claim, finding.verdict)
    limit = ""
    if finding.limit is not None:
        limit = f"; limit {number_text.limit(finding.limit, least=finding.least)}"
    yield Line(f"{finding.estimate}{limit}", indent=LEAD)
    if finding.groups and again:  # a difference and a ratio compare the same groups
        yield Line("groups as above", indent=LEAD)
    elif finding.groups:
        shown = [
            group if isinstance(group, str) else (str(group), group.estimate)
            for group in shown_groups(finding.groups, MOST_GROUPS)
        ]
        yield from indented(rates("group", "ratio" if finding.least else "rate", shown, width))
    yield from shown_cases(finding.cases, cases, width)
