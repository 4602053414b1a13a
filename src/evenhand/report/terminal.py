"""A result as text: for a terminal with coloured verdicts and lines that fit, for a pipe plain and unbroken."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evenhand.methods.impact.text import told_impact
from evenhand.methods.mine.table import entries_of, lines_of
from evenhand.methods.mine.text import told_mined
from evenhand.methods.search.text import told_search
from evenhand.report.finding_text import STATES, lattices_of, searches_of, shown_groups
from evenhand.report.lines import LEAD, Line, indented, rates, show, shown_cases, table_of
from evenhand.report.lines import printable as printable
from evenhand.runtime import number_text
from evenhand.statistics.estimate import StopReason, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import Console

    from evenhand.results.result import Finding, Result

MOST_GROUPS = 12
MOST_SETS = 10
_NARROW = 90
_ALWAYS = ("discriminating", "cleared", "undecided")
_BY_CAUSAL = "group score cannot exceed the causal score"


def render(result: Result, *, console: Console | None = None, cases: int = 1) -> None:
    """Print a result on standard output, or on the console given.

    `cases` is how many cases of a finding to show: one is a line, more are tables with the two inputs side by side. A
    search, which is about its cases, shows one as a table and two as lines instead of one.
    """
    show(lambda width: _told(result, cases, width), console)


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> list[str]:
    """Return a result as lines of plain text; tables are no wider than `width`, other lines are not broken.

    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import Estimate, StopReason
    >>> from evenhand.results.result import Finding, Result
    >>> found = Finding("changing only sex changes the outcome", ("sex",), Estimate.exact(6, 24), 0.05)
    >>> print(*lines(Result("measure", [found], 0, Spent(24, 24, 0.1), StopReason.ENUMERATED, {})), sep="\\n")
    FAIL      changing only sex changes the outcome
              25.0 % (n = 24, enumerated); limit 0.05
    24 inputs asked, 24 executed, 0.1 s; every input was enumerated
    """
    return [str(line) for line in _told(result, cases, width)]


def _told(result: Result, cases: int, width: int | None) -> Iterator[Line]:
    if result.details.get("impact"):
        yield from told_impact(result, width)
        return
    lattices = lattices_of(result)
    for output, table in lattices:
        if output:
            yield Line(f"output {output}")
        findings = [finding for finding in result.findings if finding.output == output]
        yield from _lattice(table, findings, cases, width)
    searches = searches_of(result)
    for finding, entry in searches:
        if entry is None:
            yield from _finding(finding, cases, width)
        else:
            yield from told_search(finding, entry, cases, width)
    mined = entries_of(result)
    found = lines_of(result) if mined else []
    for number, told in enumerate(mined):
        if number:
            yield Line("")
        yield from told_mined(told, [line for line in found if line.entry is told], cases, width)
    if not lattices and not searches and not mined:
        for number, finding in enumerate(result.findings):
            before = [other.groups for other in result.findings[:number]]
            yield from _finding(finding, cases, width, again=finding.groups in before)
    for note in result.notes:
        yield Line(f"note: {note}")
    yield Line(_spent(result))


def _spent(result: Result) -> str:
    """Return what a run took, and why it ended."""
    spent = result.spent
    if result.job == "measure_log":
        return f"{result.details.get('rows', 0):,} recorded decisions, {number_text.seconds(spent.seconds)}"
    if result.job == "mine_log":
        return f"no software was asked, {number_text.seconds(spent.seconds)}"
    what = "texts" if result.job == "mine_text" else "inputs"
    mined = result.job in ("mine", "mine_text") and result.stop is StopReason.ENUMERATED
    stop = "every rule set was compared" if mined else result.stop
    asked, executed = number_text.count(spent.queries), number_text.count(spent.executed)
    return f"{asked} {what} asked, {executed} executed, {number_text.seconds(spent.seconds)}; {stop}"


def _finding(finding: Finding, cases: int, width: int | None, *, again: bool = False) -> Iterator[Line]:
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


def _lattice(table: Mapping[str, Any], findings: Sequence[Finding], cases: int, width: int | None) -> Iterator[Line]:
    levels = {finding.estimate.level for finding in findings if finding.estimate.level < 1}
    level = "".join(f", {number_text.percent_level(level)} level" for level in sorted(levels))
    limit = number_text.limit(table["limit"])
    yield Line(f"{table['kind']} score of sets of {', '.join(table['among'])}; limit {limit}{level}")
    yield from (Line(text, row=True) for text in _levels(table["levels"], width))
    yield Line(_pruned(table))
    minimal = [finding for finding in findings if finding.verdict is Verdict.FAIL]
    yield Line(f"minimal discriminating sets: {len(minimal) or 'none found'}")
    for finding in minimal[:MOST_SETS]:
        yield from _finding(finding, cases, width)
    yield from _more(len(minimal))
    known = {frozenset(finding.about): finding for finding in findings}
    for state, heading, verdict in (
        ("undecided", "undecided", Verdict.UNDECIDED),
        ("not shown", "not shown to discriminate (lower bound only)", None),
        ("cleared", "cleared by a test", Verdict.PASS),
    ):
        sets = [entry for entry in table["sets"] if entry["state"] == state]
        if state == "cleared":
            sets = [entry for entry in sets if entry["because"] in ("tested", _BY_CAUSAL)]
        if sets:
            yield Line(f"{heading}: {len(sets):,}")
            for entry in sorted(sets, key=lambda entry: -(entry["low"] or 0.0))[:MOST_SETS]:
                yield Line(f"{', '.join(entry['about'])}: {_estimate(entry, known)}", verdict, LEAD)
            yield from _more(len(sets))
    listed = {frozenset(entry["about"]) for entry in table["sets"]}
    for finding in findings:  # what the lattice does not hold still counts for the verdict
        if finding.verdict is not Verdict.FAIL and frozenset(finding.about) not in listed:
            yield from _finding(finding, cases, width)


def _more(count: int) -> Iterator[Line]:
    if count > MOST_SETS:
        yield Line(f"… {count - MOST_SETS:,} more", indent=LEAD)


def _estimate(entry: Mapping[str, Any], known: Mapping[frozenset[str], Finding]) -> str:
    """Return the score of a set as its finding tells it, or as far as the lattice holds it."""
    finding = known.get(frozenset(entry["about"]))
    if finding is not None:
        return str(finding.estimate)
    size = f"n = {number_text.count(entry['n'])}"
    if entry["value"] is None:
        return f"unknown ({size})"
    if entry["state"] == "not shown":
        interval = f"at least {number_text.percent(entry['low'])}"
    else:
        interval = number_text.between(entry["low"], entry["high"])
    return f"{number_text.percent(entry['value'])} ({interval}, {size})"


def _levels(levels: Sequence[Mapping[str, int]], width: int | None) -> list[str]:
    """Return how many sets of each size are in which state; columns of zeros are left out but for the main ones."""
    used = [state for state in STATES if state in _ALWAYS or any(level.get(state) for level in levels)]
    rows = [
        tuple(
            f"{number:,}"
            for number in (
                level["size"],
                sum(level.get(state, 0) for state in STATES),
                *(level.get(state, 0) for state in used),
            )
        )
        for level in levels
    ]
    names = [state.replace(" ", "\n") for state in used]
    if width is not None and width < _NARROW:
        names = [name.replace("discriminating", "discrimi-\nnating") for name in names]
    headings = ("size", "sets", *names)
    return table_of(headings, rows, width, right=range(len(headings)))


def _pruned(table: Mapping[str, Any]) -> str:
    """Return a sentence on how many sets were tested, and why the others needed no test."""
    counts = Counter[str]()
    for level in table["levels"]:
        counts.update({state: level.get(state, 0) for state in STATES})
    reasons = {
        "contain a discriminating set": counts["implied discriminating"],
        "are part of a cleared set": counts["implied cleared"],
    }
    told = [f"{number:,} {reason}" for reason, number in reasons.items() if number]
    implied = sum(reasons.values())
    text = f"{table['tests']:,} sets tested, " + (
        f"{implied:,} implied (pruned) because {' and '.join(told)}" if told else "none implied"
    )
    return text + (f"; {counts['not tested']:,} not tested" if counts["not tested"] else "")
