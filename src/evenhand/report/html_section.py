"""The inside of a section of the report: findings as cards, with intervals, groups and cases."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.report.finding_text import NO_DATA, rate_heading, shown_groups
from evenhand.report.html_bars import drawable, rate_drawing, top_of
from evenhand.report.html_page import PIECES, boxed, people, table, text
from evenhand.report.lines import printable
from evenhand.report.templates import piece
from evenhand.runtime import number_text
from evenhand.runtime.errors import clip
from evenhand.statistics.estimate import Estimate, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markupsafe import Markup

    from evenhand.report.html_bars import RateDrawing
    from evenhand.report.statement import Statement
    from evenhand.results.baseline import BaselineComparison
    from evenhand.results.evidence import Case, Finding, Group
    from evenhand.results.protocol import Evidence

MOST_CARDS = 12
"""The most statements of a check that get a card; all of them are in the table of the summary."""
MOST_CASES = 5
"""The most cases of a finding that are shown as people side by side."""
MOST_GROUPS = 30
_CARDS = "report/pages/cards.html.jinja"
_RATES_CAPTION = (
    "The groups that are compared, and the rate of each that the claim is about."
)
_RATIOS_CAPTION = (
    "The groups that are compared, and how much of the highest rate the rate of each is."
)
_NUMBERS_CAPTION = "The groups that are compared, in the unit of the outcomes."
_DESCRIPTIVE = "Descriptive: the interval holds by itself, and gives no verdict."


@dataclass(frozen=True)
class Card:
    """What the card of a statement shows; what is empty is left out."""

    name: str
    verdict: Verdict | None
    claim: str
    score: str
    bar: RateDrawing | None
    limit: str
    remarks: Sequence[str]
    held: BaselineComparison | None
    groups: str
    cases: Sequence[Markup]


def section_of_findings(
    found: Evidence,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[str]:
    """Return the findings of a check as cards, which is all that there is to show of most verbs."""
    yield from cards(statements, name)


def badge(verdict: Verdict | None, word: str = "") -> Markup:
    """Return a verdict as a word in its colour, or another word in its place."""
    return piece(PIECES, "badge", verdict, word)


def limit_text(statement: Statement) -> str:
    """Return a limit as the score beside it is written, empty where there is none."""
    if statement.limit is None:
        return ""
    if statement.estimate is not None and statement.estimate.unit == Estimate.unit:
        limit = number_text.percent_plain(statement.limit)
    elif statement.estimate is not None and statement.estimate.unit == "amount":
        limit = number_text.amount(statement.limit)
    else:
        limit = number_text.plain(statement.limit)
    if statement.least:
        return f"at least {limit}"
    return limit


def cards(
    statements: Sequence[Statement],
    name: str,
    most: int = MOST_CARDS,
    *,
    groups: bool = True,
) -> Iterator[str]:
    """Return statements as cards, whose bars share an axis.

    What is too much for cards is in the table of the summary.
    """
    shown = statements[:most]
    top = _shared_top(shown)
    for number, statement in enumerate(shown):
        card_name = f"{name}-finding{number}"
        card = _card(statement, card_name, top, groups=groups)
        yield piece(_CARDS, "card", card)
    if len(statements) > most:
        left_out = len(statements) - most
        yield piece(_CARDS, "more", f"{left_out:,}")


def _shared_top(statements: Sequence[Statement]) -> float:
    """Return the end of a scale that the bars of all statements can share."""
    estimates = []
    limits = []
    for statement in statements:
        if statement.estimate is not None and drawable(statement.estimate):
            estimates.append(statement.estimate)
            limits.append(statement.limit)
    return top_of(estimates, limits)


def _card(statement: Statement, name: str, top: float, *, groups: bool) -> Card:
    estimate = statement.estimate
    finding = statement.finding
    bar = None
    if estimate is not None and drawable(estimate):
        bar = rate_drawing(estimate, statement.limit, top=top)
    group_table = ""
    if groups and finding is not None and finding.groups:
        group_table = _groups(finding, name)
    return Card(
        name=name,
        verdict=statement.verdict,
        claim=sentence(statement.claim),
        score="" if estimate is None else sure(estimate),
        bar=bar,
        limit=limit_text(statement),
        remarks=[f"{sentence(remark)}." for remark in statement.remarks],
        held=statement.held,
        groups=group_table,
        cases=[] if finding is None else _cases(finding),
    )


def short_card(statement: Statement, name: str, scores: str) -> Markup:
    """Return a statement as a card that has its claim and a sentence of scores alone."""
    return piece(_CARDS, "short_card", name, statement, scores)


def sentence(claim: str) -> str:
    """Return a claim with a capital letter."""
    return claim[:1].upper() + claim[1:]


def sure(estimate: Estimate) -> str:
    """Return a score in plain words: its value, how sure it is, from how much, and of whom.

    >>> sure(Estimate(0.117, 0.052, 0.215, 247, 0.95, "anytime"))
    '11.7 %; with 95 % confidence between 5.2 % and 21.5 %, from 247 inputs (anytime).'
    """
    if estimate.unit == "count":
        return f"{sentence(str(estimate))}. A search finds witnesses, and never a rate."
    if not estimate.n or math.isnan(estimate.value):
        return f"{NO_DATA}."
    value = estimate.value_text
    inputs = number_text.count(estimate.n)
    population = f" Population: {estimate.population}." if estimate.population else ""
    if estimate.level == 1:
        return (
            f"{value}, from all {inputs} ({estimate.method}): there is no uncertainty of"
            f" sampling.{population}"
        )
    level = number_text.percent_level(estimate.level)
    low, high = estimate.ends_text
    alone = f" {_DESCRIPTIVE}" if estimate.descriptive else ""
    return (
        f"{value}; with {level} confidence between {low} and {high}, from {inputs} inputs"
        f" ({estimate.method}).{alone}{population}"
    )


def _cases(finding: Finding) -> list[Markup]:
    shown = finding.cases[:MOST_CASES]
    return [people(case, _case_caption(case)) for case in shown]


def _case_caption(case: Case) -> str:
    if not case.changed:
        return "Two inputs, and their outcomes"
    *others, last = map(printable, case.changed)
    names = last
    if others:
        names = f"{', '.join(others)} and {last}"
    shown = clip(names, 120)
    return f"Two inputs that differ in {shown} alone, and their outcomes"


def _groups(finding: Finding, name: str) -> Markup:
    rows: list[list[str]] = []
    for group in shown_groups(finding.groups, MOST_GROUPS):
        if isinstance(group, str):
            # The sentence that stands for the groups that are left out.
            rows.append([text(group), "", "", ""])
        else:
            rows.append(_group_row(group))
    interval = "interval"
    if all(group.estimate.descriptive for group in finding.groups):
        interval = "interval (descriptive)"
    headings = ("group", rate_heading(finding), interval, "n")
    caption = _RATIOS_CAPTION if finding.least else _RATES_CAPTION
    if finding.unit == "amount":
        caption = _NUMBERS_CAPTION
    return table(f"{name}-groups", caption, headings, [("", rows)])


def _group_row(group: Group) -> list[str]:
    estimate = group.estimate
    rate = NO_DATA
    if estimate.n and not math.isnan(estimate.value):
        rate = number_text.percent(estimate.value)
    interval = ""
    if estimate.n:
        interval = number_text.between(estimate.low, estimate.high)
    if estimate.unit == "amount" and estimate.n:
        rate = estimate.value_text
        interval = estimate.interval_text or estimate.method
    label = str(group)
    if list(group.about) == ["rule"]:
        label = str(group.about["rule"])
    return [boxed(label), rate, interval, f"{estimate.n:,}"]
