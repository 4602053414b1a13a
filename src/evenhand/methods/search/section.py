"""The section of a search in a report.

It holds how the search went, where the inputs lie and why, and every input that was found.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.methods.search import messages
from evenhand.methods.search.plot import display_of
from evenhand.methods.search.text import how_real, reservation
from evenhand.report.finding_text import searches_of
from evenhand.report.html_page import boxed, drawn, headed, table, text
from evenhand.report.html_section import cards, sentence
from evenhand.report.html_tables import Column, long_sheet
from evenhand.runtime import number_text
from evenhand.runtime.label_text import shown
from evenhand.space.values.dates import day_of, iso_text
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[str]:
    """Return what a search found as parts of a page."""
    yield from cards(statements, name)
    searches = searches_of(result)
    if not searches:
        return
    yield "<h3>Picture</h3>"
    yield drawn(display_of(result), f"{name}-picture", messages.PICTURE)
    for number, (finding, entry) in enumerate(searches):
        if entry is not None:
            yield from _search(finding, entry, f"{name}-search{number}")
    yield _found(result, name, room)


def _search(finding: Finding, entry: Mapping[str, Any], name: str) -> Iterator[str]:
    """Return where the inputs of one finding lie, and why."""
    features = ", ".join(finding.about)
    heading = messages.WHERE_AND_WHY_HEADING.format(features=features)
    paragraph = sentence(reservation(finding, entry))
    yield f"<h3>{text(heading)}</h3><p>{text(paragraph)}.</p>"
    if entry.get("plausible") and entry["found"]:
        yield f"<p>{text(sentence(how_real(entry)))}.</p>"
    regions = entry.get("regions")
    if regions:
        yield table(
            f"{name}-regions",
            messages.REGIONS_TABLE,
            ("region", "share", "interval", "n", messages.OF_THOSE_FOUND),
            [("", [_region_row(region) for region in regions])],
        )
    drivers = entry.get("drivers")
    if drivers:
        yield table(
            f"{name}-drivers",
            messages.DRIVERS_TABLE,
            ("feature", "ends it", "interval", "n", messages.AS_THIS_DID),
            [("", [_driver_row(driver) for driver in drivers])],
        )


def _region_row(region: Mapping[str, Any]) -> list[Any]:
    estimate = Estimate.from_dict(region["estimate"])
    return [
        boxed(region["text"]),
        number_text.percent(estimate.value, 2),
        number_text.between(estimate.low, estimate.high, 2),
        number_text.count(estimate.n),
        number_text.count(region["found"]),
    ]


def _driver_row(driver: Mapping[str, Any]) -> list[Any]:
    estimate = Estimate.from_dict(driver["estimate"])
    change = driver.get("example")
    example = ""
    if change is not None:
        example = f"{shown(change['before'])} → {shown(change['after'])}"
    return [
        boxed(driver["feature"]),
        number_text.percent(estimate.value),
        number_text.between(estimate.low, estimate.high),
        number_text.count(estimate.n),
        boxed(example),
    ]


def _written(value: Any) -> Any:
    """Return a value of an input as a sheet holds it: a date as its day."""
    day = None if isinstance(value, str) else day_of(value)
    return shown(value) if day is None else iso_text(day)


def _found(result: Result, name: str, room: int) -> str:
    """Return every input that was found as a sheet whose rows open as two people."""
    frame = result.to_frame()
    if not len(frame):
        return ""
    features = [feature["name"] for feature in result.space["features"]]
    columns = []
    for column in frame.columns:
        values = [_written(value) for value in frame[column].tolist()]
        columns.append(Column(str(column), values, feature=column in features))
    caption = messages.CASES_SHEET.format(inputs=number_text.count(len(frame)))
    sheet = long_sheet(f"{name}-cases", caption, columns, cases=True, room=room)
    return headed("Cases", sheet)
