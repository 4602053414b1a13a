"""The sets of features that were looked at, as text: how many of each size, and which discriminate."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import STATES, lattices_of
from evenhand.report.lines import LEAD, Line, table_of
from evenhand.report.terminal import closing, finding_lines, lines_of_findings
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

MOST_SETS = 10
_NARROW = 90
_ALWAYS = ("discriminating", "cleared", "undecided")


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell the lattice of each output, then what else there is to say."""
    lattices = lattices_of(result)
    if not lattices:
        yield from lines_of_findings(result, cases=cases, width=width)
        return
    for output, table in lattices:
        if output:
            yield Line(f"output {output}")
        findings = [finding for finding in result.findings if finding.output == output]
        yield from _lattice(table, findings, cases, width)
    yield from closing(result)


def _lattice(
    table: Mapping[str, Any], findings: Sequence[Finding], cases: int, width: int | None
) -> Iterator[Line]:
    levels = {finding.estimate.level for finding in findings if finding.estimate.level < 1}
    level = "".join(f", {number_text.percent_level(level)} level" for level in sorted(levels))
    limit = number_text.limit(table["limit"])
    yield Line(
        f"{table['kind']} score of sets of {', '.join(table['among'])}; limit {limit}{level}"
    )
    yield from (Line(text, row=True) for text in _levels(table["levels"], width))
    yield Line(_pruned(table))
    minimal = [finding for finding in findings if finding.verdict is Verdict.FAIL]
    yield Line(f"minimal discriminating sets: {len(minimal) or 'none found'}")
    for finding in minimal[:MOST_SETS]:
        yield from finding_lines(finding, cases, width)
    yield from _more(len(minimal))
    known = {frozenset(finding.about): finding for finding in findings}
    for state, heading, verdict in (
        ("undecided", "undecided", Verdict.UNDECIDED),
        ("not shown", "not shown to discriminate (lower bound only)", None),
        ("cleared", "cleared by a test", Verdict.PASS),
    ):
        sets = [entry for entry in table["sets"] if entry["state"] == state]
        if state == "cleared":  # those that follow from another set name it
            sets = [entry for entry in sets if entry.get("of") is None]
        if sets:
            yield Line(f"{heading}: {len(sets):,}")
            for entry in sorted(sets, key=lambda entry: -(entry["low"] or 0.0))[:MOST_SETS]:
                yield Line(f"{', '.join(entry['about'])}: {_estimate(entry, known)}", verdict, LEAD)
            yield from _more(len(sets))
    listed = {frozenset(entry["about"]) for entry in table["sets"]}
    for finding in findings:  # what the lattice does not hold still counts for the verdict
        if finding.verdict is not Verdict.FAIL and frozenset(finding.about) not in listed:
            yield from finding_lines(finding, cases, width)


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
    """Return how many sets of each size are in which state; columns of zeros are left out but for
    the main ones.
    """
    used = [
        state for state in STATES if state in _ALWAYS or any(level.get(state) for level in levels)
    ]
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
