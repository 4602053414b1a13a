"""The sets of features that were tested, as text: how many of each size, and which discriminate."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from evenhand.methods.subsets import messages
from evenhand.report.finding_text import STATES, lattices_of
from evenhand.report.lines import LEAD, Line, table_of
from evenhand.report.terminal import (
    closing,
    finding_lines,
    lines_of_findings,
    remark_lines,
)
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

    Table = Mapping[str, Any]
    Entry = Mapping[str, Any]
    FindingOf = Mapping[frozenset[str], Finding]

MOST_SETS = 10
"""The most sets of each state that are listed."""
_NARROW = 90
_ALWAYS = ("discriminating", "cleared", "undecided")


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Yield the lattice of each output, then what else there is to say."""
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
    table: Table,
    findings: Sequence[Finding],
    cases: int,
    width: int | None,
) -> Iterator[Line]:
    heading = _heading(table, findings)
    yield Line(heading)
    for row in _levels(table["levels"], width):
        yield Line(row, row=True)
    yield Line(_pruned(table))
    yield from _minimal(findings, cases, width)
    finding_of = {frozenset(finding.about): finding for finding in findings}
    yield from _undecided(table, finding_of)
    yield from _not_shown(table, finding_of)
    yield from _cleared(table, finding_of)
    sets = {frozenset(entry["about"]) for entry in table["sets"]}
    for finding in findings:
        # What the lattice does not hold still counts for the verdict.
        is_listed = frozenset(finding.about) in sets
        is_minimal = finding.verdict is Verdict.FAIL
        if not is_listed and not is_minimal:
            yield from finding_lines(finding, cases, width)


def _heading(table: Table, findings: Sequence[Finding]) -> str:
    kind = table["kind"]
    features = ", ".join(table["among"])
    limit = number_text.limit(table["limit"], "rate")
    levels = {finding.estimate.level for finding in findings}
    levels.discard(1.0)
    if not levels:
        return messages.HEADING.format(kind=kind, features=features, limit=limit)
    percents = [number_text.percent_level(level) for level in sorted(levels)]
    level_texts = [messages.LEVEL.format(level=percent) for percent in percents]
    return messages.HEADING_WITH_LEVEL.format(
        kind=kind, features=features, limit=limit, levels=", ".join(level_texts)
    )


def _minimal(findings: Sequence[Finding], cases: int, width: int | None) -> Iterator[Line]:
    minimal = [finding for finding in findings if finding.verdict is Verdict.FAIL]
    heading = messages.NO_MINIMAL_SET
    if minimal:
        heading = messages.MINIMAL_SETS.format(sets=len(minimal))
    yield Line(heading)
    for finding in minimal[:MOST_SETS]:
        yield from finding_lines(finding, cases, width)
    yield from _more(len(minimal))


def _undecided(table: Table, finding_of: FindingOf) -> Iterator[Line]:
    entries = _entries(table, "undecided")
    if entries:
        count = number_text.count(len(entries))
        yield Line(messages.UNDECIDED_SETS.format(sets=count))
        yield from _listed(entries, Verdict.UNDECIDED, finding_of)


def _not_shown(table: Table, finding_of: FindingOf) -> Iterator[Line]:
    entries = _entries(table, "not shown")
    if entries:
        count = number_text.count(len(entries))
        yield Line(messages.NOT_SHOWN_SETS.format(sets=count))
        yield from _listed(entries, None, finding_of)


def _cleared(table: Table, finding_of: FindingOf) -> Iterator[Line]:
    # Sets that follow from another one name it.
    cleared = _entries(table, "cleared")
    entries = [entry for entry in cleared if entry.get("of") is None]
    if entries:
        count = number_text.count(len(entries))
        yield Line(messages.CLEARED_SETS.format(sets=count))
        yield from _listed(entries, Verdict.PASS, finding_of)


def _entries(table: Table, state: str) -> list[Entry]:
    return [entry for entry in table["sets"] if entry["state"] == state]


def _listed(
    entries: Sequence[Entry],
    verdict: Verdict | None,
    finding_of: FindingOf,
) -> Iterator[Line]:
    """Yield a line for each of the sets with the highest scores."""
    highest_first = sorted(entries, key=lambda entry: -(entry["low"] or 0.0))
    for entry in highest_first[:MOST_SETS]:
        features = ", ".join(entry["about"])
        finding = finding_of.get(frozenset(entry["about"]))
        score = _score(entry) if finding is None else str(finding.estimate)
        if finding is None:
            yield Line(f"{features}: {score}", verdict, LEAD)
            continue
        yield Line(f"{features}: {score}", verdict and finding.verdict, LEAD)
        yield from remark_lines(finding)
    yield from _more(len(entries))


def _more(count: int) -> Iterator[Line]:
    if count > MOST_SETS:
        more = number_text.count(count - MOST_SETS)
        yield Line(messages.MORE_SETS.format(sets=more), indent=LEAD)


def _score(entry: Entry) -> str:
    """Return the score of a set as far as the lattice holds it."""
    n = number_text.count(entry["n"])
    if entry["value"] is None:
        return messages.SCORE_UNKNOWN.format(n=n)
    score = number_text.percent(entry["value"])
    if entry["state"] == "not shown":
        low = number_text.percent(entry["low"])
        return messages.SCORE_LOWER_BOUND.format(score=score, low=low, n=n)
    interval = number_text.between(entry["low"], entry["high"])
    return messages.SCORE.format(score=score, interval=interval, n=n)


def _levels(levels: Sequence[Mapping[str, int]], width: int | None) -> list[str]:
    """Return a table of how many sets of each size are in which state.

    Columns of zeros are left out but for the main ones.
    """
    used = []
    for state in STATES:
        has_sets = any(level.get(state) for level in levels)
        if has_sets or state in _ALWAYS:
            used.append(state)
    rows = []
    for level in levels:
        sets = sum(level.get(state, 0) for state in STATES)
        numbers = [level["size"], sets]
        numbers += [level.get(state, 0) for state in used]
        row = tuple(map(number_text.count, numbers))
        rows.append(row)
    names = [state.replace(" ", "\n") for state in used]
    if width is not None and width < _NARROW:
        names = [name.replace("discriminating", "discrimi-\nnating") for name in names]
    headings = ("size", "sets", *names)
    all_columns = range(len(headings))
    return table_of(headings, rows, width, right=all_columns)


def _pruned(table: Table) -> str:
    """Return a sentence on how many sets were tested, and why the others needed no test."""
    counts = Counter[str]()
    for level in table["levels"]:
        for state in STATES:
            counts[state] += level.get(state, 0)
    sentence = _tested_and_implied(
        table["tests"], counts["implied discriminating"], counts["implied cleared"]
    )
    if not counts["not tested"]:
        return sentence
    not_tested = number_text.count(counts["not tested"])
    return messages.SOME_NOT_TESTED.format(sentence=sentence, sets=not_tested)


def _tested_and_implied(tests: int, supersets: int, subsets: int) -> str:
    tests_text = number_text.count(tests)
    implied_text = number_text.count(supersets + subsets)
    supersets_text = number_text.count(supersets)
    subsets_text = number_text.count(subsets)
    if supersets and subsets:
        return messages.TESTED_AND_BOTH.format(
            tests=tests_text,
            implied=implied_text,
            supersets=supersets_text,
            subsets=subsets_text,
        )
    if supersets:
        return messages.TESTED_AND_SUPERSETS.format(
            tests=tests_text, implied=implied_text, supersets=supersets_text
        )
    if subsets:
        return messages.TESTED_AND_SUBSETS.format(
            tests=tests_text, implied=implied_text, subsets=subsets_text
        )
    return messages.TESTED_ONLY.format(tests=tests_text)
