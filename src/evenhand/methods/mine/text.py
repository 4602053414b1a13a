"""What was mined, as text: what was compared and how, the stories as a table, and the worst of them
in full.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.methods.mine.findings import AMONG, OTHER_TEXTS, outcome_said
from evenhand.methods.mine.table import entries_of, lines_of, scores
from evenhand.report.lines import LEAD, Line, shown_cases, table_of
from evenhand.report.terminal import closing, lines_of_findings, spent_text
from evenhand.runtime import number_text
from evenhand.statistics.estimate import StopReason

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.mine.table import Line as Found
    from evenhand.results.result import Result

METHODS = {
    "neighbours": "each row with all its one-step neighbours",
    "drawn": "each row with some of its one-step neighbours",
    "rows": "each row as it is",
    "paper": "by Algorithm 2 of TestSGD",
    "recorded": "as recorded",
}
MOST_TERMS = 3


def lines(result: Result, *, cases: int = 1, width: int | None = None) -> Iterator[Line]:
    """Tell each mining with its findings, then what else there is to say."""
    minings = entries_of(result)
    if not minings:
        yield from lines_of_findings(result, cases=cases, width=width)
        return
    found = lines_of(result)
    for number, entry in enumerate(minings):
        if number:
            yield Line("")
        yield from told_mined(entry, [line for line in found if line.entry is entry], cases, width)
    yield from closing(result, _spent(result))


def _spent(result: Result) -> str:
    """Return what a mining took, and why it ended."""
    if result.job == "mine_log":
        return f"no software was asked, {number_text.seconds(result.spent.seconds)}"
    what = "texts" if result.job == "mine_text" else "inputs"
    every = "every rule set was compared" if result.stop is StopReason.ENUMERATED else ""
    return spent_text(result, what, every)


def told_mined(
    entry: Mapping[str, Any], found: Sequence[Found], cases: int, width: int | None
) -> Iterator[Line]:
    """Tell one mining, of a table or of texts, with its findings.

    >>> entry = {"over": ["sex"], "output": "", "favoured": "1", "score": "rate", "method": "recorded", "rows": 90}
    >>> entry |= {"counts": True, "named": True}
    >>> entry |= {"support": 0.05, "complement": 0.05, "depth": 1, "candidates": 2, "frequent": 2, "examined": 2}
    >>> print(*told_mined(entry | {"population": "decisions"}, (), 1, None), sep="\\n")
    rule sets over sex: 2 candidates, 2 cover 5 % of 90 rows, 2 different ones also leave 5 %
    how often people get the outcome 1, as recorded
    population: decisions
    """
    if entry["output"]:
        yield Line(f"output {entry['output']}")
    yield from _texts_head(entry) if "texts" in entry else _rows_head(entry)
    yield Line(_terms(entry, found))
    stories = [one for one in found if not one.others]
    if stories:
        told = _changes(entry, stories) if "changes" in entry else _stories(entry, stories)
        yield from _table(told, stories, width)
    for rest in (one.finding for one in found if one.others):
        yield Line(rest.claim, rest.verdict)
    for worst in (one.finding for one in stories[:1]):
        yield Line(f"the worst: {worst.claim}")
        yield from shown_cases(worst.cases, cases, width)


def _rows_head(entry: Mapping[str, Any]) -> Iterator[Line]:
    names = ", ".join(entry["over"])
    some = f"at most {entry['depth']} of {names}" if entry["depth"] < len(entry["over"]) else names
    yield Line(
        f"rule sets over {some}: {entry['candidates']:,} candidates, {entry['frequent']:,} cover"
        f" {number_text.percent_plain(entry['support'])} of {entry['rows']:,} rows,"
        f" {entry['examined']:,} different ones also leave"
        f" {number_text.percent_plain(entry['complement'])}"
    )
    yield Line(f"{AMONG[entry['score']]}{_compared(entry, 'people')}, {METHODS[entry['method']]}")


def _texts_head(entry: Mapping[str, Any]) -> Iterator[Line]:
    yield Line(
        f"rule sets of terms: {entry['candidates']:,} candidates, {entry['examined']:,} of"
        f" categories that {number_text.percent_plain(entry['support'])} of {entry['texts']:,}"
        " texts name together"
    )
    named = []
    for found in entry["categories"]:
        size, share = number_text.count(found["texts"]), number_text.percent(found["support"])
        named.append(f"{found['name']} {size} ({share})")
    yield Line(f"texts that name a category: {', '.join(named)}")
    if "changes" in entry:
        yield Line("how many of them change outcome when nothing but the term changes")
    else:
        yield Line(
            f"{_compared(entry, 'texts')} with these terms, against {OTHER_TEXTS[entry['against']]}"
        )


def _compared(entry: Mapping[str, Any], who: str) -> str:
    """Say what is compared: how often an outcome is given, or scores."""
    if scores(entry):
        return f"how {who} score on average"
    return f"how often {who} get {outcome_said(entry['favoured'], named=entry['named'])}"


def _terms(entry: Mapping[str, Any], found: Sequence[Found]) -> str:
    """Say whom the intervals speak of, how sure they are, and what the limit is."""
    said = [f"population: {entry['population']}"]
    for one in (one.finding for one in found[:1]):
        level, method = one.estimate.level_text, one.estimate.method
        said.append(f"{level}, {method}" if level else method)
        said += [] if one.limit is None else [f"limit {number_text.limit(one.limit)}"]
    return "; ".join(said)


class _Table(NamedTuple):
    """Headings, the first of which is of the rules, the numbers of each row, and what is said below
    it.
    """

    headings: Sequence[str]
    cells: Sequence[Sequence[str]]
    below: Sequence[str]


def _stories(entry: Mapping[str, Any], found: Sequence[Found]) -> _Table:
    """Return the numbers of each story."""
    texts, stories, graded = "texts" in entry, [one.story for one in found], scores(entry)
    digits = _digits([story["high"] for story in stories])
    level, several = found[0].finding.estimate.level, any(story["rules"] > 1 for story in stories)
    others = (
        "everyone\nelse"
        if not texts
        else "other\nterms"
        if entry["against"] == "terms"
        else "other\ntexts"
    )
    headings = [
        "\nterms" if texts else "\nwho",
        f"{'' if texts else 'their'}\n{'score' if graded else 'rate'}",
        others,
        "points\napart",
        *([f"{number_text.percent_level(level)}\ninterval"] if level < 1 else []),
        "\ntexts" if texts else "share of\nrows",
        *(["rules\nalike"] if several else []),
    ]
    rows = [
        (
            *(_rate(story[key]["value"], digits, graded=graded) for key in ("rate", "other")),
            (
                f"{_arrow(story['difference'])}"
                f" {number_text.points_bare(abs(story['difference']), digits)}"
            ),
            *(
                [number_text.points_between(story["low"], story["high"], digits)]
                if level < 1
                else []
            ),
            number_text.count(story["texts"]) if texts else number_text.percent(story["support"]),
            *([number_text.count(story["rules"])] if several else []),
        )
        for story in stories
    ]
    return _Table(headings, rows, [""] * len(rows))


def _arrow(difference: float) -> str:
    return "▲" if difference > 0 else "▼" if difference < 0 else ""


def _rate(value: float | None, digits: int, *, graded: bool) -> str:
    if value is None:
        return "unknown"
    return number_text.decimal(value, digits + 2) if graded else number_text.percent(value, digits)


def _digits(tops: Sequence[float]) -> int:
    """Return the decimals that show something of the largest of several differences."""
    return number_text.decimals_for(100 * max(tops), most=4)


def _changes(entry: Mapping[str, Any], found: Sequence[Found]) -> _Table:
    """Return how many texts of each category change outcome, and with which terms the most."""
    digits = _digits([one.finding.estimate.high for one in found])
    level = found[0].finding.estimate.level
    terms = {category["name"]: category["terms"] for category in entry["categories"]}
    rows, below = [], []
    for one in found:
        estimate = one.finding.estimate
        share = number_text.percent(estimate.value, digits)
        between = number_text.between(estimate.low, estimate.high, digits)
        rows.append([share, between, number_text.count(one.story["texts"])])
        names = [term["text"] for term in one.story["terms"]]
        if len(one.story["categories"]) == 1:  # whose name stands in the row above
            names = terms[one.story["categories"][0]]
        pairs = zip(names, (float(term["changed"]) for term in one.story["terms"]), strict=True)
        most = sorted(pairs, key=lambda pair: -pair[1])[:MOST_TERMS]
        said = ", ".join(f"{name} {number_text.percent(changed, digits)}" for name, changed in most)
        below.append(f"most often with {said}")
    return _Table(
        ["category", "change", f"{number_text.percent_level(level)} interval", "texts"], rows, below
    )


def _table(table: _Table, found: Sequence[Found], width: int | None) -> Iterator[Line]:
    """Return a row for each story after its verdict; where that is too long, its rule stands above
    its numbers.
    """
    from rich.cells import cell_len

    headings, cells, below = table
    verdicts = [one.finding.verdict for one in found]
    named = [(one.about, *row) for one, row in zip(found, cells, strict=True)]
    full = table_of(headings, named, None, range(1, len(headings)))
    head, indent = len(full) - len(found), LEAD if any(verdicts) else 0
    fits = width is None or indent + max(map(cell_len, full)) <= width
    rows = full if fits else table_of(headings[1:], cells, None, range(len(headings) - 1))
    yield from (Line(text, indent=indent if fits else LEAD, row=True) for text in rows[:head])
    for one, verdict, text, more in zip(found, verdicts, rows[head:], below, strict=True):
        if fits:
            yield Line(text, verdict, row=True)
        else:
            yield Line(one.about, verdict)
            yield Line(text, indent=LEAD, row=True)
        if more:
            yield Line(more, indent=LEAD + 2)
