"""What was mined, as text: what was compared and how, the stories as a table, and the worst of them in full."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.methods.mine.findings import AMONG, outcome_said
from evenhand.methods.mine.table import scores
from evenhand.methods.mine.texts.findings import OTHERS
from evenhand.report.lines import LEAD, Line, shown_cases, table_of
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenhand.methods.mine.table import Line as Found

METHODS = {
    "neighbours": "each row with all its one-step neighbours",
    "drawn": "each row with some of its one-step neighbours",
    "rows": "each row as it is",
    "paper": "by Algorithm 2 of TestSGD",
    "recorded": "as recorded",
}
MOST_TERMS = 3


def told_mined(entry: Mapping[str, Any], found: Sequence[Found], cases: int, width: int | None) -> Iterator[Line]:
    """Tell one mining, of a table or of texts, with its findings.

    >>> entry = {"over": ["sex"], "output": "", "favoured": "1", "score": "rate", "method": "recorded", "rows": 90}
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
        yield from _table(_changes(stories) if "changes" in entry else _stories(entry, stories), stories, width)
    for rest in (one.finding for one in found if one.others):
        yield Line(rest.claim, rest.verdict)
    for worst in (one.finding for one in stories[:1]):
        yield Line(f"the worst: {worst.claim}")
        yield from shown_cases(worst.cases, cases, width)


def _rows_head(entry: Mapping[str, Any]) -> Iterator[Line]:
    names = ", ".join(entry["over"])
    some = f"at most {entry['depth']} of {names}" if entry["depth"] < len(entry["over"]) else names
    yield Line(
        f"rule sets over {some}: {entry['candidates']:,} candidates, {entry['frequent']:,} cover "
        f"{number_text.percent_plain(entry['support'])} of {entry['rows']:,} rows, "
        f"{entry['examined']:,} different ones also leave {number_text.percent_plain(entry['complement'])}"
    )
    yield Line(f"{AMONG[entry['score']]}{_compared(entry, 'people')}, {METHODS[entry['method']]}")


def _texts_head(entry: Mapping[str, Any]) -> Iterator[Line]:
    yield Line(
        f"rule sets of terms: {entry['candidates']:,} candidates, {entry['examined']:,} of categories that "
        f"{number_text.percent_plain(entry['support'])} of {entry['texts']:,} texts name together"
    )
    named = []
    for found in entry["categories"]:
        size, share = number_text.count(found["texts"]), number_text.percent(found["support"])
        named.append(f"{found['name']} {size} ({share})")
    yield Line(f"texts that name a category: {', '.join(named)}")
    if "changes" in entry:
        yield Line("how many of them change outcome when nothing but the term changes")
    else:
        yield Line(f"{_compared(entry, 'texts')} with these terms, against {OTHERS[entry['against']]}")


def _compared(entry: Mapping[str, Any], who: str) -> str:
    """Say what is compared: how often an outcome is given, or scores."""
    if scores(entry):
        return f"how {who} score on average"
    return f"how often {who} get {outcome_said(entry['favoured'])}"


def _terms(entry: Mapping[str, Any], found: Sequence[Found]) -> str:
    """Say whom the intervals speak of, how sure they are, and what the limit is."""
    said = [f"population: {entry['population']}"]
    for one in (one.finding for one in found[:1]):
        level, method = one.estimate.level_text, one.estimate.method
        said.append(f"{level}, {method}" if level else method)
        said += [] if one.limit is None else [f"limit {number_text.limit(one.limit)}"]
    return "; ".join(said)


class _Table(NamedTuple):
    """Headings, the first of which is of the rules, the numbers of each row, and what is said below it."""

    headings: Sequence[str]
    cells: Sequence[Sequence[str]]
    below: Sequence[str]


def _stories(entry: Mapping[str, Any], found: Sequence[Found]) -> _Table:
    """Return the numbers of each story."""
    texts, stories, graded = "texts" in entry, [one.story for one in found], scores(entry)
    digits = _digits([story["high"] for story in stories])
    level, several = found[0].finding.estimate.level, any(story["rules"] > 1 for story in stories)
    others = "everyone\nelse" if not texts else "other\nterms" if entry["against"] == "terms" else "other\ntexts"
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
            f"{_arrow(story['difference'])} {number_text.points_bare(abs(story['difference']), digits)}",
            *([number_text.points_between(story["low"], story["high"], digits)] if level < 1 else []),
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


def _changes(found: Sequence[Found]) -> _Table:
    """Return how many texts of each category change outcome, and with which terms the most."""
    digits = _digits([one.finding.estimate.high for one in found])
    level = found[0].finding.estimate.level
    rows, below = [], []
    for one in found:
        estimate = one.finding.estimate
        share = number_text.percent(estimate.value, digits)
        between = number_text.between(estimate.low, estimate.high, digits)
        rows.append([share, between, number_text.count(one.story["texts"])])
        most = sorted(one.story["terms"], key=lambda term: -float(term["changed"]))[:MOST_TERMS]
        said = []
        for term in most:
            name, changed = term["text"].removeprefix(f"{one.about} "), number_text.percent(term["changed"], digits)
            said.append(f"{name} {changed}")
        below.append(f"most often with {', '.join(said)}")
    return _Table(["category", "change", f"{number_text.percent_level(level)} interval", "texts"], rows, below)


def _table(table: _Table, found: Sequence[Found], width: int | None) -> Iterator[Line]:
    """Return a row for each story after its verdict; where that is too long, its rule stands above its numbers."""
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
