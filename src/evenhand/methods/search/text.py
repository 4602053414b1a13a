"""What a search found, as text.

It is written in this order: how much, the simplest cases, where they lie, what they rest on, and
how widely they are spread.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.methods.search import messages
from evenhand.report.finding_text import searches_of, subject_of
from evenhand.report.lines import LEAD, Line, indented, rates, twins
from evenhand.report.terminal import (
    closing,
    finding_lines,
    lines_of_findings,
    remark_lines,
)
from evenhand.runtime import number_text
from evenhand.runtime.label_text import shown
from evenhand.runtime.language import say
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.results.evidence import Case, Finding
    from evenhand.results.result import Result

MOST_CASES = 3
MOST_DRIVERS = 8
_DEEPER = LEAD + 2


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Return the lines of each finding of a search, then those of the result as a whole."""
    searches = searches_of(result)
    if not searches:
        yield from lines_of_findings(result, cases=cases, width=width)
        return
    for finding, entry in searches:
        if entry is None:
            yield from finding_lines(finding, cases, width)
        else:
            yield from search_lines(finding, entry, cases, width)
    yield from closing(result)


def search_lines(
    finding: Finding,
    entry: Mapping[str, Any],
    cases: int,
    width: int | None,
) -> Iterator[Line]:
    """Return the lines of one finding of a search, with what the details hold of it.

    With one case, the first is a table, with the two inputs side by side, and two more are lines;
    more are all tables.

    >>> from evenhand.statistics.estimate import Witnesses
    >>> from evenhand.results.evidence import Finding
    >>> entry = {"found": 0, "cells": 0, "tried": 400, "queries": 800, "strategy": "adaptive"}
    >>> nothing = Finding("nothing was found", ("sex",), Witnesses.of(0, 400, "adaptive"), 0)
    >>> print(next(search_lines(nothing, entry, 1, None)))
    UNDECIDED sex: no discriminatory input found (adaptive, 400 inputs tried, 800 queries); limit 0
    """
    yield Line(_head(finding, entry), finding.verdict)
    yield Line(reservation(finding, entry).text, indent=LEAD)
    yield from remark_lines(finding)
    if not entry["found"]:
        return
    if cases:
        yield from _cases(finding.cases, cases, width)
    yield from _where(entry.get("regions") or ())
    yield from _why(entry.get("drivers") or (), width)
    if entry.get("plausible"):
        yield Line(how_real(entry), indent=LEAD)
    if entry.get("spread"):
        measures = ", ".join(_spread(entry["spread"]))
        yield Line(messages.HOW_SPREAD.format(measures=measures), indent=LEAD)


def how_real(entry: Mapping[str, Any]) -> str:
    """Return which part of the inputs found, and of their twins, could exist."""
    plausible = entry["plausible"]
    return say(
        messages.PLAUSIBLE,
        share=number_text.percent(plausible["individuals"] / entry["found"], 0),
        both=number_text.percent(plausible["both"] / entry["found"], 0),
    )


class Reservation(NamedTuple):
    """What a number of inputs found does not say: for those who searched, and for any reader."""

    text: str
    page: str


def reservation(finding: Finding, entry: Mapping[str, Any]) -> Reservation:
    """Return what the number of inputs found does not say."""
    complete = finding.estimate.high == finding.estimate.value
    if complete:
        return Reservation(messages.EVERY_INPUT_TRIED, messages.EVERY_INPUT_TRIED)
    if entry["found"]:
        return Reservation(messages.NOT_A_RATE, messages.PLAIN_NOT_A_RATE)
    return Reservation(messages.NO_PROOF, messages.PLAIN_NO_PROOF)


def _head(finding: Finding, entry: Mapping[str, Any]) -> str:
    """Return how many inputs were found, how they were sought, and the limit."""
    about = subject_of(finding)
    strategy = entry["strategy"]
    tried = number_text.count(finding.estimate.n)
    queries = number_text.count(entry["queries"])
    inputs = number_text.many(entry["found"], "discriminatory input")
    cells = number_text.many(entry["cells"], "coarse cell")
    if finding.limit is None and entry["found"]:
        return messages.HEAD_FOUND.format(
            about=about,
            inputs=inputs,
            cells=cells,
            strategy=strategy,
            tried=tried,
            queries=queries,
        )
    if finding.limit is None:
        return messages.HEAD_NOT_FOUND.format(
            about=about,
            strategy=strategy,
            tried=tried,
            queries=queries,
        )
    limit = number_text.limit(finding.limit)
    if entry["found"]:
        return messages.HEAD_FOUND_WITH_LIMIT.format(
            about=about,
            inputs=inputs,
            cells=cells,
            strategy=strategy,
            tried=tried,
            queries=queries,
            limit=limit,
        )
    return messages.HEAD_NOT_FOUND_WITH_LIMIT.format(
        about=about,
        strategy=strategy,
        tried=tried,
        queries=queries,
        limit=limit,
    )


def _cases(cases: Sequence[Case], tables: int, width: int | None) -> Iterator[Line]:
    """Return cases as tables, and as lines where one table is enough."""
    if len(cases) == 1:
        yield Line(messages.SIMPLEST_CASE, indent=LEAD)
    elif cases:
        yield Line(messages.SIMPLEST_CASES, indent=LEAD)
    for case in cases[:tables]:
        yield from indented(twins(case, width))
    if tables == 1:
        for case in cases[1:MOST_CASES]:
            yield Line(messages.ANOTHER_CASE.format(case=case), indent=LEAD)


def _where(regions: Sequence[Mapping[str, Any]]) -> Iterator[Line]:
    """Return the rules, each with its share of discriminatory inputs among uniform draws."""
    if not regions:
        return
    yield Line(messages.WHERE, indent=LEAD)
    for region in regions:
        estimate = Estimate.from_dict(region["estimate"])
        # The rule stands before it, so the population would repeat it.
        estimate = replace(estimate, population="")
        line = messages.REGION.format(
            rule=region["text"],
            estimate=estimate,
            found=number_text.count(region["found"]),
        )
        yield Line(line, indent=_DEEPER)
    # The last region is everybody.
    if len(regions) == 1:
        yield Line(messages.NO_RULE, indent=_DEEPER)


def _why(drivers: Sequence[Mapping[str, Any]], width: int | None) -> Iterator[Line]:
    """Return how often another value of each feature ends the discrimination."""
    if not drivers:
        return
    yield Line(messages.WHY, indent=LEAD)
    rows: list[tuple[str, Estimate] | str] = []
    for driver in drivers[:MOST_DRIVERS]:
        estimate = Estimate.from_dict(driver["estimate"])
        rows.append((_driver_name(driver), estimate))
    if len(drivers) > MOST_DRIVERS:
        number = number_text.count(len(drivers) - MOST_DRIVERS)
        rows.append(messages.MORE.format(number=number))
    yield from indented(rates("feature", "ends it", rows, width))


def _driver_name(driver: Mapping[str, Any]) -> str:
    """Return a feature, with an example of a change of it where there is one."""
    change = driver.get("example")
    if change is None:
        return str(driver["feature"])
    return messages.FEATURE_WITH_EXAMPLE.format(
        feature=driver["feature"],
        before=shown(change["before"], change.get("labels")),
        after=shown(change["after"], change.get("labels")),
    )


def _spread(spread: Mapping[str, Any]) -> Iterator[str]:
    """Return how widely found inputs lie, one phrase for each measure."""
    yield number_text.many(spread["cells"], "coarse cell")
    yield number_text.many(spread["clusters"], "cluster")
    if spread["distance"] is not None:
        distance = number_text.decimal(spread["distance"], 2)
        yield messages.MEAN_DISTANCE.format(distance=distance)
    real = spread["real"]
    if real:
        yield messages.DISTANCE_TO_ROWS.format(
            rows=number_text.count(real["rows"]),
            median=number_text.decimal(real["median"], 2),
            nearest=number_text.decimal(real["nearest"], 2),
        )
