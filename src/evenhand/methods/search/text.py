"""What a search found, as text: how much, the simplest cases, where they lie, what they rest on,
how widely.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import searches_of, subject_of
from evenhand.report.lines import LEAD, Line, indented, rates, twins
from evenhand.report.terminal import closing, finding_lines, lines_of_findings
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.results.evidence import Case, Finding
    from evenhand.results.result import Result

MOST_CASES = 3
MOST_DRIVERS = 8
NOT_A_RATE = "not a rate: a search goes where it finds; for the share of all inputs use prevalence"
NO_PROOF = (
    "this is no proof that there is none: a search can miss what is rare; prevalence bounds the"
    " share of all inputs"
)
EVERY = "every input was tried, so there is no other"
_DEEPER = LEAD + 2


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell each finding of a search, then what else there is to say."""
    searches = searches_of(result)
    if not searches:
        yield from lines_of_findings(result, cases=cases, width=width)
        return
    for finding, entry in searches:
        if entry is None:
            yield from finding_lines(finding, cases, width)
        else:
            yield from told_search(finding, entry, cases, width)
    yield from closing(result)


def told_search(
    finding: Finding, entry: Mapping[str, Any], cases: int, width: int | None
) -> Iterator[Line]:
    """Tell one finding of a search, with what the details hold of it.

    With one case, the first is a table, with the two inputs side by side, and two more are lines;
    more are all tables.

    >>> from evenhand.statistics.estimate import Witnesses
    >>> from evenhand.results.evidence import Finding
    >>> entry = {"found": 0, "cells": 0, "tried": 400, "queries": 800, "strategy": "adaptive"}
    >>> nothing = Finding("nothing was found", ("sex",), Witnesses.of(0, 400, "adaptive"), 0)
    >>> print(next(told_search(nothing, entry, 1, None)))
    UNDECIDED sex: no discriminatory input found (adaptive, 400 inputs tried, 800 queries); limit 0
    """
    yield Line(_head(finding, entry), finding.verdict)
    complete = finding.estimate.high == finding.estimate.value
    if not entry["found"]:
        yield Line(EVERY if complete else NO_PROOF, indent=LEAD)
        return
    yield Line(EVERY if complete else NOT_A_RATE, indent=LEAD)
    if cases:
        yield from _cases(finding.cases, cases, width)
    yield from _where(entry.get("regions") or ())
    yield from _why(entry.get("drivers") or (), width)
    if entry.get("spread"):
        yield Line(f"how spread: {_spread(entry['spread'])}", indent=LEAD)


def _head(finding: Finding, entry: Mapping[str, Any]) -> str:
    found, cells = entry["found"], entry["cells"]
    many = "no discriminatory input found"
    if found:
        inputs = number_text.many(found, "discriminatory input")
        many = f"{inputs} found in {number_text.many(cells, 'coarse cell')}"
    how = f"{entry['strategy']}, {finding.estimate.n:,} inputs tried, {entry['queries']:,} queries"
    limit = "" if finding.limit is None else f"; limit {number_text.limit(finding.limit)}"
    return f"{subject_of(finding)}: {many} ({how}){limit}"


def _cases(cases: Sequence[Case], tables: int, width: int | None) -> Iterator[Line]:
    if cases:
        yield Line(f"the simplest {'case' if len(cases) == 1 else 'cases'}:", indent=LEAD)
    for case in cases[:tables]:
        yield from indented(twins(case, width))
    for case in cases[1:MOST_CASES] if tables == 1 else ():
        yield Line(f"or {case}", indent=LEAD)


def _where(regions: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Tell the rules, each with the share of discriminatory inputs among uniform draws that meet
    it.
    """
    if not regions:
        return
    yield Line(
        "where: the share of discriminatory inputs among fresh uniform inputs that meet a rule",
        indent=LEAD,
    )
    for region in regions:
        # The rule stands before it, so the population would say it twice.
        inside = replace(Estimate.from_dict(region["estimate"]), population="")
        yield Line(
            f"{region['text']}: {inside}; {region['found']:,} of those found", indent=_DEEPER
        )
    if len(regions) == 1:
        yield Line(
            "no rule was found that holds clearly more of them than everybody does", indent=_DEEPER
        )


def _why(drivers: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    """Tell how often another value of each feature ends the discrimination."""
    if not drivers:
        return
    yield Line(
        "why: how often another value of one feature ends it, among the inputs found", indent=LEAD
    )
    rows: list[tuple[str, Estimate] | str] = [
        (f"{driver['feature']}{_example(driver)}", Estimate.from_dict(driver["estimate"]))
        for driver in drivers[:MOST_DRIVERS]
    ]
    if len(drivers) > MOST_DRIVERS:
        rows.append(f"… {len(drivers) - MOST_DRIVERS:,} more")
    yield from indented(rates("feature", "ends it", rows, width))


def _example(driver: Mapping[str, Any]) -> str:
    change = driver.get("example")
    return "" if change is None else f", as {change['before']} → {change['after']} did"


def _spread(spread: Mapping[str, Any]) -> str:
    cells, clusters = spread["cells"], spread["clusters"]
    told = [number_text.many(cells, "coarse cell"), number_text.many(clusters, "cluster")]
    if spread["distance"] is not None:
        told.append(
            f"two of them are {spread['distance']:.2f} apart on average (0 is equal, 1 is all"
            " different)"
        )
    if real := spread["real"]:
        told.append(
            f"the nearest of {real['rows']:,} real rows is {real['median']:.2f} away from half of"
            f" them, and {real['nearest']:.2f} from one"
        )
    return ", ".join(told)
