"""Findings as cards: a sentence, how sure it is against the limit, and the rest one click away."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import NO_DATA, rate_heading, shown_groups
from evenhand.report.html_bars import drawable, rate_drawing, top_of
from evenhand.report.html_page import PIECES, boxed, table, text
from evenhand.report.page import messages
from evenhand.report.page.cases import is_of_texts
from evenhand.report.page.facts import fact_key
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.report.page.plain import rule_name
from evenhand.report.templates import piece
from evenhand.results.about import is_of_the_rest, is_subgroup
from evenhand.runtime import number_text
from evenhand.runtime.language import say, term
from evenhand.space.rule import Rule
from evenhand.statistics.error_rates import RATES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from markupsafe import Markup

    from evenhand.report.html_bars import RateDrawing
    from evenhand.report.statement import Statement
    from evenhand.results.baseline import BaselineComparison
    from evenhand.results.evidence import Case, Finding, Group
    from evenhand.results.protocol import Evidence
    from evenhand.statistics.estimate import Estimate, Verdict

_SELF_EXPLAINING = ("", "causal", "changes", "gain")
"""Scores that are the share which the sentence tells."""
_DIFFERENCES = ("group", "rate difference")
MOST_CARDS = 12
"""The most statements of a check that get a card; all of them are in the table of statements."""
MOST_GROUPS = 30
FEW_GROUPS = 6
"""So many groups are shown without being unfolded."""
_RATES_OF_TRUTH = [rate.title for rate in RATES.values() if rate.needs_truth]
_OF_TRUTH = {
    *(f"{title} difference" for title in _RATES_OF_TRUTH),
    *(f"{title} ratio" for title in _RATES_OF_TRUTH),
}
"""Scores that take what decisions should have been."""
_CARDS = "report/page/pages/cards.html.jinja"


@dataclass(frozen=True)
class Beside:
    """A score that stands beside that of a card, without a limit."""

    label: str
    fact: str
    score: str


@dataclass(frozen=True)
class Card:
    """What the card of a statement shows; what is empty is left out."""

    name: str
    verdict: Verdict | None
    sentence: str
    score_name: str
    fact: str
    score: str
    bar: RateDrawing | None
    uniform: Beside | None
    remarks: Sequence[str]
    held: BaselineComparison | None
    groups: str
    few_groups: bool
    claim: str
    how: Sequence[str]


def section_of_findings(
    found: Evidence,
    statements: Sequence[Statement],
    name: str,
    room: int,
) -> Iterator[PagePart]:
    """Yield the findings of a check as cards, which is all that there is to show of most verbs."""
    yield from finding_parts(statements, name)


def finding_parts(
    statements: Sequence[Statement],
    name: str,
    *,
    question: Callable[[Statement], ReaderQuestion] | None = None,
    most: int = MOST_CARDS,
    groups: bool = True,
) -> Iterator[PagePart]:
    """Yield statements as cards, whose bars share an axis, and their cases as answers of their own.

    What is too much for cards is in the table of all statements. `question` tells which question a
    statement answers; without it, scores that need true outcomes say who is judged wrongly, and all
    others say how much.
    """
    asked = question or question_of
    shown = statements[:most]
    top = _shared_top(shown)
    for number, statement in enumerate(shown):
        features = features_of(statement)
        card_name = f"{name}-finding{number}"
        card = card_of(statement, card_name, top, groups=groups)
        yield PagePart(
            asked(statement),
            features,
            piece(_CARDS, "card", card),
            judged=statement.verdict is not None,
        )
        if statement.finding is not None and statement.finding.cases:
            cases = tuple(statement.finding.cases)
            yield PagePart(_question_of_cases(cases), features, cases=cases)
    if len(statements) > most:
        left_out = number_text.count(len(statements) - most)
        sentence_of_rest = say(messages.MORE_STATEMENTS, number=left_out)
        yield PagePart(
            asked(statements[most]),
            (),
            piece(PIECES, "paragraph", sentence_of_rest),
        )


def question_of(statement: Statement) -> ReaderQuestion:
    """Return the question that a score answers."""
    if statement.finding is not None and statement.finding.score in _OF_TRUTH:
        return ReaderQuestion.ERRORS
    return ReaderQuestion.HOW_MUCH


def _question_of_cases(cases: Iterable[Case]) -> ReaderQuestion:
    """Return what cases answer: a reader is shown people, or texts."""
    if all(is_of_texts(case) for case in cases):
        return ReaderQuestion.TEXTS
    return ReaderQuestion.PEOPLE


def features_of(statement: Statement) -> tuple[str, ...]:
    """Return the features that a statement is about, none where it is about something else."""
    if statement.finding is None:
        return ()
    about = statement.finding.about
    if isinstance(about, Rule):
        return tuple(dict.fromkeys(condition.feature for condition in about.conditions))
    if isinstance(about, tuple):
        return about
    return ()


def features_asked(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the features that a check was asked about, whether by themselves or in sets.

    >>> features_asked({"over": [["sex", "race"], "age"]}), features_asked({"over": "sex"})
    (('sex', 'race', 'age'), ('sex',))
    """
    names: dict[str, None] = {}
    for key in ("over", "among"):
        for item in _listed(settings.get(key)):
            names |= dict.fromkeys(_listed(item))
    return tuple(str(name) for name in names)


def _listed(value: Any) -> Sequence[Any]:
    """Return the items of a list, a value as a list of itself, and none of nothing."""
    if isinstance(value, list | tuple):
        return value
    return () if value is None else (value,)


def badge(verdict: Verdict | None, word: str = "") -> Markup:
    """Return a verdict as a word in its colour, or another word in its place."""
    return piece(PIECES, "badge", verdict, word)


def _shared_top(statements: Sequence[Statement]) -> float:
    """Return the end of a scale that the bars of all statements can share."""
    estimates = []
    limits = []
    for statement in statements:
        if statement.estimate is not None and drawable(statement.estimate):
            estimates.append(statement.estimate)
            limits.append(statement.limit)
    return top_of(estimates, limits)


def card_of(
    statement: Statement, name: str, top: float | None = None, *, groups: bool = True
) -> Card:
    """Return what the card of a statement shows; `top` is the end of the scale of its bar."""
    estimate = statement.estimate
    finding = statement.finding
    bar = None
    if estimate is not None and drawable(estimate):
        bar = rate_drawing(estimate, statement.limit, top=top)
    group_table = ""
    if groups and finding is not None and finding.groups:
        group_table = _groups(finding, name)
    in_plain_words = statement.sentence
    return Card(
        name=name,
        verdict=statement.verdict,
        sentence=_heading(statement),
        score_name=score_name(statement),
        fact="" if finding is None else fact_key(finding),
        score=score_text(statement),
        bar=bar,
        uniform=uniform_of(statement),
        remarks=[f"{sentence(remark)}." for remark in remarks_of(statement)],
        held=statement.held,
        groups=group_table,
        few_groups=finding is not None and len(finding.groups) <= FEW_GROUPS,
        claim="" if in_plain_words == statement.claim else sentence(statement.claim),
        how=[] if estimate is None else how_measured(estimate),
    )


def _heading(statement: Statement) -> str:
    """Return what a card says; of groups that another card is about, how they are compared here."""
    if statement.repeats and score_name(statement):
        return say(messages.SAME_GROUPS, score=score_name(statement))
    return sentence(statement.sentence)


def score_name(statement: Statement) -> str:
    """Return what a score is called, empty where the sentence beside it says what is counted."""
    finding = statement.finding
    if finding is None or finding.unit == "count" or finding.score in _SELF_EXPLAINING:
        return ""
    if is_of_the_rest(finding.about):
        return say(messages.MOST_DIFFERENCE)
    if is_subgroup(finding.about) or finding.score in _DIFFERENCES:
        return say(messages.DIFFERENCE)
    return term(finding.score)


def remarks_of(statement: Statement) -> Sequence[str]:
    """Return what must be told beside a verdict.

    On a page every fact is told once, so that it is not said which checks share their answer; the
    score over all inputs is a fact of its own.
    """
    if statement.finding is None:
        return ()
    return replace(statement.finding, uniform=None).remarks


def uniform_of(statement: Statement) -> Beside | None:
    """Return the same score over all inputs alike, where the estimate is about real people."""
    finding = statement.finding
    if finding is None or finding.uniform is None:
        return None
    other = replace(
        finding, estimate=finding.uniform, uniform=None, limit=None, judged=None
    )
    low, high = finding.uniform.ends_text
    value = finding.uniform.value_text
    if finding.uniform.level == 1:
        score = say(messages.EXACT_SCORE, value=value)
    else:
        score = say(messages.SCORE, value=value, low=low, high=high)
    return Beside(say(messages.OVER_ALL_INPUTS), fact_key(other), score)


def short_card(statement: Statement, name: str, scores: str) -> Markup:
    """Return a statement as a card that has its claim and a sentence of scores alone."""
    return piece(
        _CARDS, "short_card", name, statement, sentence(statement.sentence), scores
    )


def sentence(claim: str) -> str:
    """Return a claim with a capital letter."""
    return claim[:1].upper() + claim[1:]


def score_text(statement: Statement) -> str:
    """Return a score with its interval and its limit, as short as can be."""
    estimate = statement.estimate
    if estimate is None:
        return ""
    if estimate.unit == "count":
        return f"{sentence(str(estimate))}. {say(messages.WITNESSES_ARE_NO_RATE)}"
    if not estimate.n or math.isnan(estimate.value):
        return say(NO_DATA)
    limit = statement.threshold
    value = estimate.value_text
    if estimate.level == 1:
        template = messages.EXACT_SCORE_WITH_LIMIT if limit else messages.EXACT_SCORE
        return say(template, value=value, limit=limit)
    low, high = estimate.ends_text
    template = messages.SCORE_WITH_LIMIT if limit else messages.SCORE
    return say(template, value=value, low=low, high=high, limit=limit)


def how_measured(estimate: Estimate) -> list[str]:
    """Return how a score was measured: its method, how many inputs, its level and population."""
    if estimate.unit == "count":
        return []
    inputs = number_text.count(estimate.n)
    method = say(messages.METHOD, method=estimate.method, n=inputs)
    if estimate.level == 1:
        return [method, say(messages.NO_SAMPLING), *_population(estimate)]
    level = number_text.percent_level(estimate.level)
    sureness = [say(messages.LEVEL, level=level)]
    if estimate.descriptive:
        sureness.append(say(messages.DESCRIPTIVE))
    return [method, *sureness, *_population(estimate)]


def _population(estimate: Estimate) -> list[str]:
    if not estimate.population:
        return []
    return [say(messages.POPULATION, population=term(estimate.population))]


def _groups(finding: Finding, name: str) -> Markup:
    rows: list[list[str]] = []
    for group in shown_groups(finding.groups, MOST_GROUPS):
        if isinstance(group, str):
            # The sentence that stands for the groups that are left out.
            rows.append([text(group), "", "", ""])
        else:
            rows.append(_group_row(group, finding.about))
    interval = say(messages.INTERVAL)
    if all(group.estimate.descriptive for group in finding.groups):
        interval = say(messages.INTERVAL_DESCRIPTIVE)
    headings = (say(messages.GROUP), term(rate_heading(finding)), interval, "n")
    caption = messages.GROUPS_BY_RATIO if finding.least else messages.GROUPS_BY_RATE
    if finding.unit == "amount":
        caption = messages.GROUPS_BY_NUMBER
    return table(f"{name}-groups", say(caption), headings, [("", rows)])


def _group_row(group: Group, about: object) -> list[str]:
    estimate = group.estimate
    rate = say(NO_DATA)
    if estimate.n and not math.isnan(estimate.value):
        rate = estimate.value_text
    interval = ""
    if estimate.n:
        interval = estimate.interval_text
    if estimate.unit == "amount" and estimate.n:
        interval = estimate.interval_text or estimate.method
    label = str(group)
    if list(group.about) == ["rule"]:
        label = rule_name(group, about)
    return [boxed(label), rate, interval, number_text.count(estimate.n)]
