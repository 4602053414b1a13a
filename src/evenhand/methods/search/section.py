"""The parts of a page that tell of a search: people, where they lie and why, and all of them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.search import messages
from evenhand.methods.search.plot.chart import charts_of
from evenhand.methods.search.text import how_real, reservation
from evenhand.report.charts import figures
from evenhand.report.finding_text import searches_of
from evenhand.report.html_page import PIECES, boxed, table
from evenhand.report.html_tables import Column, long_sheet
from evenhand.report.page.cards import features_of, finding_parts, sentence
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.report.page.plain import features_in_words, say_list
from evenhand.report.templates import piece
from evenhand.runtime import number_text
from evenhand.runtime.label_text import input_shown
from evenhand.runtime.language import say
from evenhand.space.rule import Rule
from evenhand.space.values.dates import day_of, iso_text
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from markupsafe import Markup

    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result
    from evenhand.runtime.label_text import Words


REGION_HEADINGS = ("region", "share", "interval", "n", messages.OF_THOSE_FOUND)
_MOST_NAMED = 3
"""How many features are named of those that inputs rest on."""
DRIVER_HEADINGS = ("feature", "ends it", "interval", "n", messages.AS_THIS_DID)


def plain(finding: Finding, found: Result) -> str:
    """Return in plain words what a search has found."""
    features = features_in_words(finding)
    count = finding.estimate.value
    if not count:
        return say(messages.PLAIN_NOT_FOUND, features=features)
    inputs = number_text.count(count)
    return say(messages.PLAIN_FOUND, inputs=inputs, features=features)


def section(
    result: Result,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[PagePart]:
    """Yield what a search found: people, where they lie and why, and all of them."""
    judged = [statement for statement in statements if statement.limit is not None]
    yield from finding_parts(judged, name, question=lambda _: ReaderQuestion.PEOPLE)
    for statement in statements:
        if statement.limit is None:
            yield from _unjudged(statement)
    searches = searches_of(result)
    for number, (finding, entry) in enumerate(searches):
        if entry is not None:
            place = f"{name}-search{number}"
            alone = replace(result, findings=(finding,), details={"search": [entry]})
            yield from _search(alone, finding, entry, place)
            yield from _found(alone, finding, place, room // len(searches))


def _unjudged(statement: Statement) -> Iterator[PagePart]:
    """Yield what is said of inputs that were found, where no limit is held against them."""
    features = features_of(statement)
    yield PagePart(
        ReaderQuestion.PEOPLE, features, _small(f"{sentence(statement.sentence)}.")
    )
    if statement.finding is not None and statement.finding.cases:
        yield PagePart(
            ReaderQuestion.PEOPLE, features, cases=tuple(statement.finding.cases)
        )


def _search(
    alone: Result, finding: Finding, entry: Mapping[str, Any], name: str
) -> Iterator[PagePart]:
    """Yield where the inputs of one finding lie, and why."""
    features = tuple(finding.about)
    remarks = [say(reservation(finding, entry).page)]
    if entry.get("plausible") and entry["found"]:
        remarks.append(how_real(entry))
    sentences = " ".join(f"{sentence(remark)}." for remark in remarks)
    yield PagePart(ReaderQuestion.PEOPLE, features, _small(sentences))
    # How often it happens to everybody is a score of its own, and told as such.
    regions = [region for region in entry.get("regions") or () if _is_region(region)]
    if entry.get("regions") and not regions:
        no_rule = sentence(say(messages.NO_RULE))
        yield PagePart(ReaderQuestion.WHERE, features, _small(f"{no_rule}."))
    if regions:
        yield PagePart(ReaderQuestion.WHERE, features, _regions(regions, name))
    drivers = entry.get("drivers")
    if drivers:
        first = say_list([driver["feature"] for driver in drivers[:_MOST_NAMED]])
        folded = say(messages.DRIVERS_FOLDED, features=first)
        yield PagePart(ReaderQuestion.WHERE, features, _drivers(drivers, name), folded)
    drawn = replace(alone, details={"search": [{**entry, "regions": regions}]})
    picture = figures(charts_of(drawn), f"{name}-picture", say(messages.PICTURE))
    yield PagePart(ReaderQuestion.WHERE, features, picture, say(messages.PICTURE_HEADING))


def _regions(regions: Sequence[Mapping[str, Any]], name: str) -> Markup:
    return table(
        f"{name}-regions",
        say(messages.REGIONS_TABLE),
        [say(heading) for heading in REGION_HEADINGS],
        [("", [_region_row(region) for region in regions])],
    )


def _drivers(drivers: Sequence[Mapping[str, Any]], name: str) -> Markup:
    return table(
        f"{name}-drivers",
        say(messages.DRIVERS_TABLE),
        [say(heading) for heading in DRIVER_HEADINGS],
        [("", [_driver_row(driver) for driver in drivers])],
    )


def _is_region(region: Mapping[str, Any]) -> bool:
    """Return whether a row of the regions is of some inputs, and not of all."""
    return bool(region["rule"]["conditions"])


def _small(remark: str) -> Markup:
    return piece(PIECES, "soft_paragraph", remark)


def _region_row(region: Mapping[str, Any]) -> list[Any]:
    estimate = Estimate.from_dict(region["estimate"])
    return [
        boxed(Rule.from_dict(region["rule"]).spoken_for(region["text"])),
        estimate.value_text,
        estimate.interval_text,
        number_text.count(estimate.n),
        number_text.count(region["found"]),
    ]


def _driver_row(driver: Mapping[str, Any]) -> list[Any]:
    estimate = Estimate.from_dict(driver["estimate"])
    change = driver.get("example")
    example = ""
    if change is not None:
        words = change.get("labels")
        before = input_shown(change["before"], words)
        after = input_shown(change["after"], words)
        example = f"{before} → {after}"
    return [
        boxed(driver["feature"]),
        number_text.percent(estimate.value),
        number_text.between(estimate.low, estimate.high),
        number_text.count(estimate.n),
        boxed(example),
    ]


def _written(value: Any, words: Words | None) -> Any:
    """Return a value of an input as a sheet holds it: a date as its day."""
    day = None if isinstance(value, str) else day_of(value)
    return input_shown(value, words) if day is None else iso_text(day)


def _words_of(column: str, result: Result) -> Words | None:
    """Return what people call the values of a column of inputs found, or of their twins."""
    name = column.removeprefix("twin.")
    if name == "outcome":
        return result.outcome_labels.get("")
    return result.words.get(name)


def _found(alone: Result, finding: Finding, name: str, room: int) -> Iterator[PagePart]:
    """Yield every input of one finding as a sheet whose rows open as two people."""
    frame = alone.to_frame()
    if not len(frame):
        return
    features = [feature["name"] for feature in alone.space["features"]]
    columns = []
    for column in frame.columns:
        words = _words_of(str(column), alone)
        values = [_written(value, words) for value in frame[column].tolist()]
        columns.append(Column(str(column), values, feature=column in features))
    inputs = number_text.count(len(frame))
    caption = say(messages.CASES_SHEET, inputs=inputs)
    sheet = long_sheet(f"{name}-cases", caption, columns, cases=True, room=room)
    folded = say(messages.EVERY_CASE, inputs=inputs)
    yield PagePart(ReaderQuestion.PEOPLE, tuple(finding.about), sheet, folded)
