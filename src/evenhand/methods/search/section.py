"""The section of a search: how it went, where the inputs lie and why, and every input that was
found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.search.plot import display_of
from evenhand.methods.search.text import EVERY, NO_PROOF, NOT_A_RATE
from evenhand.report.finding_text import searches_of
from evenhand.report.html_page import boxed, drawn, table, text
from evenhand.report.html_section import cards, sentence
from evenhand.report.html_tables import Column, long_sheet
from evenhand.runtime import number_text
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result

PICTURE = "How many inputs were found over the queries, where they lie, and what they rest on."


def section(result: Result, told: Sequence[Statement], name: str, room: int) -> Iterator[str]:
    """Return what a search found as parts of a page."""
    yield from cards(told, name)
    searches = searches_of(result)
    if not searches:
        return
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", PICTURE)
    for number, (finding, entry) in enumerate(searches):
        if entry is not None:
            yield from _search(finding, entry, f"{name}-search{number}")
    yield _found(result, name, room)


def _search(finding: Finding, entry: Mapping[str, Any], name: str) -> Iterator[str]:
    about = ", ".join(finding.about)
    complete = finding.estimate.high == finding.estimate.value
    told = EVERY if complete else NOT_A_RATE if entry["found"] else NO_PROOF
    yield f"<h3>Where inputs over {text(about)} lie, and why</h3><p>{text(sentence(told))}.</p>"
    if regions := entry.get("regions"):
        rows = []
        for region in regions:
            one = Estimate.from_dict(region["estimate"])
            value, between = (
                number_text.percent(one.value, 2),
                number_text.between(one.low, one.high, 2),
            )
            rows.append(
                [boxed(region["text"]), value, between, f"{one.n:,}", f"{region['found']:,}"]
            )
        says = (
            "Regions of discriminatory inputs: the share of such inputs among fresh uniform inputs"
            " that meet a rule."
        )
        headings = ("region", "share", "interval", "n", "of those found")
        yield table(f"{name}-regions", says, headings, [("", rows)])
    if drivers := entry.get("drivers"):
        rows = []
        for driver in drivers:
            one, change = Estimate.from_dict(driver["estimate"]), driver.get("example")
            example = "" if change is None else f"{change['before']} → {change['after']}"
            between = number_text.between(one.low, one.high)
            rows.append(
                [
                    boxed(driver["feature"]),
                    number_text.percent(one.value),
                    between,
                    f"{one.n:,}",
                    boxed(example),
                ]
            )
        says = (
            "What they rest on: how often another value of one feature ends it, among the inputs"
            " found."
        )
        headings = ("feature", "ends it", "interval", "n", "as this did")
        yield table(f"{name}-drivers", says, headings, [("", rows)])


def _found(result: Result, name: str, room: int) -> str:
    """Return every input that was found as a sheet whose rows open as two people."""
    frame = result.to_frame()
    features = [feature["name"] for feature in result.space["features"]]
    columns = [
        Column(str(one), frame[one].tolist(), feature=one in features) for one in frame.columns
    ]
    if not len(frame):
        return ""
    says = (
        f"Every input that was found, {len(frame):,} in all: an individual, its outcome, what its"
        " twin has instead."
    )
    return "<h3>Cases</h3>" + long_sheet(f"{name}-cases", says, columns, cases=True, room=room)
