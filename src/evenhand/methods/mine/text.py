"""A mining as text: what was compared and how, the stories as a table, and the worst in full."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.scores import among
from evenhand.methods.mine.claims.words import OTHER_TEXTS, outcome_text, sentences_for
from evenhand.methods.mine.subgroups.words import UnitWords, label_below
from evenhand.methods.mine.table import (
    entries_of,
    in_percent,
    in_units,
    mined_findings,
    scores,
    worst_of,
)
from evenhand.methods.mine.treatment import with_steps
from evenhand.report.finding_text import limit_text
from evenhand.report.lines import LEAD, Line, shown_cases, table_of
from evenhand.report.terminal import closing, lines_of_findings, remark_lines, spent_text
from evenhand.runtime import number_text
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.mine.table import MinedFinding
    from evenhand.results.result import Result

METHODS = {
    "neighbours": messages.BY_NEIGHBOURS,
    "drawn": messages.BY_DRAWN_NEIGHBOURS,
    "rows": messages.BY_ROWS,
    "paper": messages.BY_PAPER,
    "recorded": messages.AS_RECORDED,
}
"""How rows were treated, in words."""
INDENT = 2
"""By how much a story is indented under the one that it stands below."""
MOST_TERMS = 3
"""The most terms that are named below a category."""


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Return each mining with its findings, then the notes and the costs."""
    minings = entries_of(result)
    if not minings:
        yield from lines_of_findings(result, cases=cases, width=width)
        return
    findings = mined_findings(result)
    for number, entry in enumerate(minings):
        if number:
            yield Line("")
        own = [finding for finding in findings if finding.entry is entry]
        yield from mining_lines(entry, own, cases, width)
    yield from closing(result, _spent(result))


def _spent(result: Result) -> str:
    """Return what a mining took, and why it ended."""
    if result.job == "mine_log":
        seconds = number_text.seconds(result.spent.seconds)
        return messages.NOTHING_ASKED.format(seconds=seconds)
    unit = "texts" if result.job == "mine_text" else "inputs"
    reason = ""
    if result.stop is StopReason.ENUMERATED:
        reason = messages.EVERY_RULE_SET_COMPARED
    return spent_text(result, unit, reason)


def mining_lines(
    entry: Mapping[str, Any],
    findings: Sequence[MinedFinding],
    cases: int,
    width: int | None,
) -> Iterator[Line]:
    """Return one mining, of a table or of texts, with its findings.

    >>> entry = {"over": ["sex"], "output": "", "favoured": "1", "score": "rate", "rows": 90}
    >>> entry |= {"counts": True, "named": True, "method": "recorded", "support": 0.05}
    >>> entry |= {"complement": 0.05, "depth": 1, "candidates": 2, "frequent": 2, "examined": 2}
    >>> print(*mining_lines(entry | {"population": "decisions"}, (), 1, None), sep="\\n")
    rule sets over sex: 2 candidates, 2 cover 5 % of 90 rows, 2 different ones also leave 5 %
    how often people get the outcome 1, as recorded
    population: decisions
    """
    if entry["output"]:
        yield Line(messages.OUTPUT_LINE.format(output=entry["output"]))
    if "texts" in entry:
        yield from _texts_head(entry)
    else:
        yield from _rows_head(entry)
    yield Line(_terms(entry, findings))
    yield from _discovered(entry, findings)
    for found in findings[:1]:
        # What is told beside one verdict of a mining is told of all of them.
        yield from remark_lines(found.finding)
    stories = [found for found in findings if not found.others]
    if stories:
        make_table = _changes if "changes" in entry else _stories
        table = make_table(entry, stories)
        yield from _table_lines(table, stories, width)
    for found in findings:
        if found.others:
            yield Line(found.finding.claim, found.finding.verdict)
    if stories:
        yield from _worst(entry, stories, cases, width)


def _worst(
    entry: Mapping[str, Any],
    stories: Sequence[MinedFinding],
    cases: int,
    width: int | None,
) -> Iterator[Line]:
    """Return the worst story in full, what carries it, and cases."""
    worst = worst_of(stories)
    yield Line(messages.WORST.format(claim=worst.finding.claim))
    if worst.parts is not None:
        carried = UnitWords.of(entry, _highs(stories)).carried(worst.parts)
        if carried:
            yield Line(carried, indent=LEAD)
    yield from shown_cases(worst.finding.cases, cases, width)


def _rows_head(entry: Mapping[str, Any]) -> Iterator[Line]:
    """Return which rule sets of a table were compared, and how."""
    names = ", ".join(entry["over"])
    candidates = number_text.count(entry["candidates"])
    frequent = number_text.count(entry["frequent"])
    examined = number_text.count(entry["examined"])
    rows = number_text.count(entry["rows"])
    support = number_text.percent_plain(entry["support"])
    complement = number_text.percent_plain(entry["complement"])
    if entry["depth"] < len(entry["over"]):
        rule_sets = messages.RULE_SETS_OVER_SOME.format(
            depth=entry["depth"],
            features=names,
            candidates=candidates,
            frequent=frequent,
            support=support,
            rows=rows,
            examined=examined,
            complement=complement,
        )
    else:
        rule_sets = messages.RULE_SETS_OVER.format(
            features=names,
            candidates=candidates,
            frequent=frequent,
            support=support,
            rows=rows,
            examined=examined,
            complement=complement,
        )
    yield Line(rule_sets)
    treatment = with_steps(METHODS[entry["method"]], entry.get("move", {}))
    outcome = outcome_text(entry["favoured"], named=entry["named"])
    if in_units(entry):
        outcome = entry["favoured"]
    compared = sentences_for(entry).compared.format(outcome=outcome, treatment=treatment)
    yield Line(among(entry["score"], compared, outcome))


def _texts_head(entry: Mapping[str, Any]) -> Iterator[Line]:
    """Return which rule sets of terms were compared, and how."""
    yield Line(
        messages.RULE_SETS_OF_TERMS.format(
            candidates=number_text.count(entry["candidates"]),
            examined=number_text.count(entry["examined"]),
            support=number_text.percent_plain(entry["support"]),
            texts=number_text.count(entry["texts"]),
        )
    )
    categories = []
    for category in entry["categories"]:
        size = number_text.count(category["texts"])
        share = number_text.percent(category["support"])
        categories.append(f"{category['name']} {size} ({share})")
    yield Line(messages.TEXTS_BY_CATEGORY.format(categories=", ".join(categories)))
    if "changes" in entry:
        yield Line(messages.CHANGES_COMPARED)
        return
    others = OTHER_TEXTS[entry["against"]]
    if scores(entry):
        yield Line(messages.TEXT_MEANS_COMPARED.format(others=others))
    else:
        outcome = outcome_text(entry["favoured"], named=entry["named"])
        yield Line(messages.TEXT_RATES_COMPARED.format(outcome=outcome, others=others))


def _discovered(
    entry: Mapping[str, Any], findings: Sequence[MinedFinding]
) -> Iterator[Line]:
    """Return how many rule sets are found, where the false discovery rate is controlled."""
    if "discovered" not in entry or not findings:
        return
    examined = number_text.count(entry["examined"])
    share = number_text.percent_level(1 - findings[0].finding.estimate.level)
    if entry["discovered"]:
        found = number_text.count(entry["discovered"])
        yield Line(messages.DISCOVERED.format(found=found, examined=examined, share=share))
    else:
        yield Line(messages.NOTHING_DISCOVERED.format(examined=examined, share=share))


def _terms(entry: Mapping[str, Any], findings: Sequence[MinedFinding]) -> str:
    """Return the population of the intervals, their level and method, and the limit."""
    terms = [messages.POPULATION.format(population=entry["population"])]
    if findings:
        first = findings[0].finding
        level = first.estimate.level_text
        method = first.estimate.method
        terms.append(f"{level}, {method}" if level else method)
        if first.limit is not None:
            terms.append(messages.LIMIT.format(limit=limit_text(first)))
    return "; ".join(terms)


@dataclass(frozen=True, slots=True)
class _StoryTable:
    """The numbers of each story.

    The first of the headings is that of the rules; `below` is what stands below each row.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    below: Sequence[str]


def _stories(entry: Mapping[str, Any], findings: Sequence[MinedFinding]) -> _StoryTable:
    """Return the numbers of each story."""
    stories = [found.story for found in findings]
    level = findings[0].finding.estimate.level
    digits = _digits(_highs(findings))
    several = any(story["rules"] > 1 for story in stories)
    found = "discovered" in entry
    headings = _headings(entry, level, several=several, found=found)
    rows = []
    limit = findings[0].finding.limit
    make_cells = _amount_cells if in_units(entry) else _rate_cells
    for story in stories:
        row = make_cells(entry, story, digits, limit)
        if level >= 1:
            # Without an interval.
            row = row[:3]
        if "texts" in entry:
            row.append(number_text.count(story["texts"]))
        else:
            row.append(number_text.percent(story["support"]))
        if found:
            row.append(number_text.p_value(story["p_value"]))
        if several:
            row.append(number_text.count(story["rules"]))
        rows.append(row)
    words = UnitWords.of(entry, _highs(findings))
    below = ["" if line.parts is None else words.added(line.parts) for line in findings]
    return _StoryTable(headings, rows, below)


def _highs(findings: Sequence[MinedFinding]) -> list[float]:
    """Return how far apart each story is at most."""
    return [found.story["high"] for found in findings]


def _rate_cells(
    entry: Mapping[str, Any], story: Mapping[str, Any], digits: int, limit: float | None
) -> list[str]:
    """Return both rates, how far they are apart, and the interval of that."""
    difference = story["difference"]
    points = number_text.points_bare(abs(difference), digits, limit=limit)
    ends = story["low"], story["high"]
    return [
        _rate(story["rate"]["value"], digits, graded=not in_percent(entry)),
        _rate(story["other"]["value"], digits, graded=not in_percent(entry)),
        f"{_arrow(difference)} {points}",
        number_text.points_between(*ends, digits, limit=limit),
    ]


def _amount_cells(
    entry: Mapping[str, Any], story: Mapping[str, Any], digits: int, limit: float | None
) -> list[str]:
    """Return both means, how far they are apart, and the interval of that, in their unit."""
    difference = story["difference"]
    apart = number_text.amount(abs(difference), limit=limit)
    low = number_text.amount(story["low"], limit=limit)
    high = number_text.amount(story["high"], limit=limit)
    return [
        number_text.amount(story["rate"]["value"]),
        number_text.amount(story["other"]["value"]),
        f"{_arrow(difference)} {apart}",
        f"{low} to {high}",
    ]


def _headings(
    entry: Mapping[str, Any], level: float, *, several: bool, found: bool
) -> list[str]:
    """Return the headings of a table of stories."""
    graded = scores(entry)
    headings = []
    if "texts" in entry:
        headings.append(messages.HEADING_TERMS)
        headings.append(messages.HEADING_SCORE if graded else messages.HEADING_RATE)
        if entry["against"] == "terms":
            headings.append(messages.HEADING_OTHER_TERMS)
        else:
            headings.append(messages.HEADING_OTHER_TEXTS)
    else:
        headings.append(messages.HEADING_WHO)
        headings.append(sentences_for(entry).column)
        headings.append(messages.HEADING_EVERYONE_ELSE)
    headings.append(sentences_for(entry).apart)
    if level < 1:
        level_text = number_text.percent_level(level)
        headings.append(messages.HEADING_INTERVAL.format(level=level_text))
    if "texts" in entry:
        headings.append(messages.HEADING_TEXTS)
    else:
        headings.append(messages.HEADING_SHARE_OF_ROWS)
    if found:
        headings.append(messages.HEADING_P_VALUE)
    if several:
        headings.append(messages.HEADING_RULES_ALIKE)
    return headings


def _arrow(difference: float) -> str:
    if difference > 0:
        return "▲"
    if difference < 0:
        return "▼"
    return ""


def _rate(value: float | None, digits: int, *, graded: bool) -> str:
    if value is None:
        return "unknown"
    if graded:
        return number_text.decimal(value, digits + 2)
    return number_text.percent(value, digits)


def _digits(tops: Sequence[float]) -> int:
    """Return the decimals that show something of the largest of several differences."""
    largest = 100 * max(tops)
    return number_text.decimals_for(largest, most=4)


def _changes(entry: Mapping[str, Any], findings: Sequence[MinedFinding]) -> _StoryTable:
    """Return how many texts of each category change outcome, and with which terms the most."""
    digits = _digits([found.finding.estimate.high for found in findings])
    rows = []
    below = []
    for found in findings:
        estimate = found.finding.estimate
        limit = estimate.beside
        share = number_text.percent(estimate.value, digits, limit=limit)
        interval = number_text.between(estimate.low, estimate.high, digits, limit=limit)
        texts = number_text.count(found.story["texts"])
        rows.append([share, interval, texts])
        terms = _most_changing(entry, found.story, digits)
        below.append(messages.MOST_CHANGING_TERMS.format(terms=", ".join(terms)))
    level = number_text.percent_level(findings[0].finding.estimate.level)
    interval_heading = messages.HEADING_INTERVAL_IN_LINE.format(level=level)
    headings = ["category", "change", interval_heading, "texts"]
    return _StoryTable(headings, rows, below)


def _most_changing(
    entry: Mapping[str, Any], story: Mapping[str, Any], digits: int
) -> list[str]:
    """Return the terms that change the outcome of most texts, each with its share."""
    names = [term["text"] for term in story["terms"]]
    if len(story["categories"]) == 1:
        # The name of the category stands in the row above, so that the term alone will do.
        (name,) = story["categories"]
        for category in entry["categories"]:
            if category["name"] == name:
                names = category["terms"]
    changed = [float(term["changed"]) for term in story["terms"]]
    pairs = list(zip(names, changed, strict=True))
    pairs.sort(key=lambda pair: -pair[1])
    terms = []
    for name, share in pairs[:MOST_TERMS]:
        percent = number_text.percent(share, digits)
        terms.append(f"{name} {percent}")
    return terms


def _table_lines(
    table: _StoryTable, findings: Sequence[MinedFinding], width: int | None
) -> Iterator[Line]:
    """Return a line for each story after its verdict.

    Where that is too long, the rule of a story stands above its numbers.
    """
    from rich.cells import cell_len

    headings = table.headings
    named_rows = []
    for found, row in zip(findings, table.rows, strict=True):
        named_rows.append((_label(found), *row))
    lines_of_table = table_of(headings, named_rows, None, range(1, len(headings)))
    head = len(lines_of_table) - len(findings)
    judged = any(found.finding.verdict for found in findings)
    indent = LEAD if judged else 0
    widest = max(map(cell_len, lines_of_table))
    fits = width is None or indent + widest <= width
    if not fits:
        number_headings = headings[1:]
        numbers = range(len(number_headings))
        lines_of_table = table_of(number_headings, table.rows, None, numbers)
        indent = LEAD
    for text in lines_of_table[:head]:
        yield Line(text, indent=indent, row=True)
    rows = lines_of_table[head:]
    for found, text, below in zip(findings, rows, table.below, strict=True):
        if fits:
            yield Line(text, found.finding.verdict, row=True)
        else:
            yield Line(_label(found), found.finding.verdict)
            yield Line(text, indent=LEAD, row=True)
        if below:
            yield Line(below, indent=LEAD + 2 + INDENT * found.depth)


def _label(found: MinedFinding) -> str:
    """Return what a story is about; below another, what it adds to that, indented."""
    if found.parts is None:
        return found.about
    indent = " " * INDENT * found.depth
    return indent + label_below(found.parts.subgroup.rule, found.rule_above)
