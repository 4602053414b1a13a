"""The parts of a page that tell of a mining: subgroups, or terms, as cards, a tree, and a table."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.words import sentences_for
from evenhand.methods.mine.plot.chart import charts_of
from evenhand.methods.mine.subgroups import messages as tree_messages
from evenhand.methods.mine.subgroups.bounds import plain_bound
from evenhand.methods.mine.subgroups.tree import trees
from evenhand.methods.mine.table import entries_of, mined_findings
from evenhand.report.charts import figures
from evenhand.report.html_tables import Column, long_sheet
from evenhand.report.page.cards import finding_parts
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.report.page.plain import group_name, out_of, say_list, two_groups
from evenhand.runtime.language import say, term
from evenhand.statistics.estimate import Amount, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from evenhand.report.statement import Statement
    from evenhand.results.evidence import Finding
    from evenhand.results.result import Result
    from evenhand.statistics.estimate import Verdict

CHANGES = "changes"
"""The score of texts that only another term changes, and what the details call them."""
_NEIGHBOURS = ("neighbours", "drawn")
"""The treatments that ask about people together with inputs one step away from them."""
MOST_RULES = 4
"""The most rule sets that get a card; all of them are in a table."""
SHOWN = (
    "rule",
    "parent",
    "about",
    "verdict",
    "value",
    "low",
    "high",
    "difference",
    "rate",
    "other",
    "ratio",
    "rows",
    "texts",
    "support",
    "rules",
    "changed",
    "most",
    "most_changed",
    "score",
    "over",
    "against",
    "output",
)
"""The columns of a mining that the report has."""
_WORDS = ("rule", "verdict", "score")
"""Those of them whose words may be evenhand's own."""
HEADINGS = {
    "rule": "rule set",
    "parent": messages.COLUMN_WITHIN,
    "about": "terms of",
    "value": "difference",
    "difference": "signed",
    "other": messages.EVERYONE_ELSE,
    "support": "share",
    "rules": messages.COLUMN_RULES_IN_IT,
    "most": "most with",
    "most_changed": messages.COLUMN_CHANGED_WITH_IT,
}
"""What some of them are called there."""
HEADINGS_OF_TEXTS = {"rule": "term", "other": tree_messages.COLUMN_COMPARED_WITH}
"""What these are called where texts were mined."""
_PICTURES = {
    "subgroups": tree_messages.PICTURE_OF_SUBGROUPS,
    "terms": tree_messages.PICTURE_OF_TERMS,
    "changes": tree_messages.PICTURE_OF_CHANGES,
}
_FOLDED = {
    "subgroups": tree_messages.ALL_RULE_SETS,
    "terms": tree_messages.ALL_TERMS,
    "changes": tree_messages.TABLE_OF_CHANGES,
}
"""What the table is called before it is unfolded."""
_TABLES = {
    "subgroups": tree_messages.RULE_SETS_TABLE,
    "terms": tree_messages.TERMS_TABLE,
    "changes": tree_messages.CHANGES_TABLE,
}


def plain(finding: Finding, found: Result) -> str:
    """Return in plain words how a subgroup fares beside everyone else."""
    sentence = plain_bound(finding, found) or _changes(finding, found)
    if sentence:
        return sentence
    if finding.score != "rate" or len(finding.groups) != 2:
        return finding.claim
    story, others = finding.groups
    if not story.estimate.n or not others.estimate.n:
        return finding.claim
    if finding.unit == Amount.unit and found.job != "mine_text":
        return _means(finding, found)
    if finding.unit != Estimate.unit:
        return finding.claim
    template = tree_messages.PLAIN_SUBGROUP
    if found.job == "mine_text":
        template = tree_messages.PLAIN_TERM
    elif _with_neighbours(finding, found):
        template = tree_messages.PLAIN_SUBGROUP_AND_NEIGHBOURS
    return two_groups(
        template,
        worst=(group_name(story, finding.about), story.estimate),
        best=(group_name(others), others.estimate),
    )


def _means(finding: Finding, found: Result) -> str:
    """Return how much more or less people of a subgroup get than others, on average."""
    story, others = finding.groups
    is_less = story.estimate.value < others.estimate.value
    template = tree_messages.PLAIN_LESS if is_less else tree_messages.PLAIN_MORE
    if _with_neighbours(finding, found):
        template = tree_messages.PLAIN_LESS_AND_NEIGHBOURS
        if not is_less:
            template = tree_messages.PLAIN_MORE_AND_NEIGHBOURS
    return say(
        template,
        story=group_name(story, finding.about),
        gap=finding.estimate.value_text,
        mean=story.estimate.value_text,
        other=others.estimate.value_text,
    )


def _changes(finding: Finding, found: Result) -> str:
    """Return how many texts depend on one term alone, empty of any other finding."""
    are_places = any("places" in entry for entry in entries_of(found))
    if finding.score != CHANGES or len(finding.about) != 1 or are_places:
        return ""
    if not finding.estimate.n:
        return ""
    numbers = out_of(finding.estimate)
    template = tree_messages.PLAIN_CHANGES
    if not finding.estimate.value:
        template = tree_messages.PLAIN_NO_CHANGES
    return say(
        template,
        features=say_list(finding.about),
        whole=numbers.whole,
        value=numbers.value,
        high=numbers.high,
    )


def _with_neighbours(finding: Finding, found: Result) -> bool:
    """Return whether people were asked about together with those who are almost like them."""
    entries = entries_of(found)
    place = getattr(finding.detail, "mining", len(entries))
    return place < len(entries) and entries[place].get("method") in _NEIGHBOURS


def section(
    result: Result, statements: Sequence[Statement], name: str, room: int
) -> Iterator[PagePart]:
    """Yield what was mined."""
    over = _features(result)
    for part in finding_parts(statements, name, question=_question, most=MOST_RULES):
        # What is said of all other subgroups is about all features of the mining.
        yield replace(part, features=part.features or over)
    if not entries_of(result):
        return
    for tree in _trees(result, statements):
        yield PagePart(
            ReaderQuestion.HARDEST_HIT, over, tree, say(tree_messages.TREE_HEADING)
        )
    kind = _kind(result)
    question = ReaderQuestion.HARDEST_HIT
    if kind == CHANGES:
        question = ReaderQuestion.HOW_MUCH
    title = say(_PICTURES[kind])
    picture = figures(charts_of(result), f"{name}-picture", title)
    yield PagePart(question, over, picture, title)
    sheet = _rule_sets(result, name, room)
    yield PagePart(question, over, sheet, say(_FOLDED[kind]))


def _kind(result: Result) -> str:
    """Return what was mined: subgroups, terms, or what other terms change."""
    if any(CHANGES in entry for entry in entries_of(result)):
        return CHANGES
    return "terms" if result.job == "mine_text" else "subgroups"


def _question(statement: Statement) -> ReaderQuestion:
    """Return the question that a statement answers: of texts, some say how many change at all."""
    if statement.finding is not None and statement.finding.score == CHANGES:
        return ReaderQuestion.HOW_MUCH
    return ReaderQuestion.HARDEST_HIT


def _features(result: Result) -> tuple[str, ...]:
    """Return all features that were mined, in the order in which they first stand in a mining."""
    features: dict[str, None] = {}
    for entry in entries_of(result):
        features |= dict.fromkeys(entry.get("over", ()))
        # Of texts, these are the categories of the terms that they name.
        for family in entry.get("families", ()):
            features |= dict.fromkeys(family["categories"])
    return tuple(features)


def _trees(result: Result, statements: Sequence[Statement]) -> Iterator[Markup]:
    """Yield the stories as trees, each with what is within it."""
    held = {id(statement.finding): statement.verdict for statement in statements}

    def verdict(finding: Finding) -> Verdict | None:
        return held.get(id(finding), finding.verdict)

    stories = [line for line in mined_findings(result) if not line.others]
    yield from trees(stories, verdict)


def _rule_sets(result: Result, name: str, room: int) -> Markup:
    """Return the table of all findings."""
    frame = result.to_frame()
    headings = {**HEADINGS, "rate": _rate_heading(result)}
    if result.job == "mine_text":
        headings |= HEADINGS_OF_TEXTS
    columns = []
    for key in SHOWN:
        if key not in frame:
            continue
        values = [_rounded(value) for value in frame[key]]
        if key in _WORDS:
            values = [term(str(value or "")) for value in values]
        if any(value not in (None, "") for value in values):
            columns.append(Column(term(headings.get(key, key)), values))
    populations = [str(entry["population"]) for entry in entries_of(result)]
    distinct = "; ".join(term(name) for name in dict.fromkeys(populations))
    caption = say(_TABLES[_kind(result)], population=distinct)
    return long_sheet(f"{name}-rules", caption, columns, room=room)


def _rate_heading(result: Result) -> str:
    """Return the heading of what rule sets are compared by; of different scores it is a rate."""
    columns = {sentences_for(entry).column for entry in entries_of(result)}
    if len(columns) > 1:
        return say(messages.COLUMN_THEIR_RATE)
    return term(columns.pop().replace("\n", " "))


def _rounded(value: Any) -> Any:
    """Return a number with as many digits as anybody reads; None stands for a missing one.

    Anything else stays as it is.
    """
    if value is None or isinstance(value, str):
        return value
    if str(value) == "<NA>":  # pandas' NA is no truth value
        return None
    if value != value:  # NaN
        return None
    if isinstance(value, float):
        return round(float(value), 4)
    return value
