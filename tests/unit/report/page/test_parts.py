"""Parts of a page, and cards of findings: which question they answer, about which features."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from markupsafe import Markup

from evenhand.report.page.cards import (
    MOST_CARDS,
    card_of,
    features_of,
    finding_parts,
    question_of,
    score_name,
    score_text,
)
from evenhand.report.page.facts import fact_key
from evenhand.report.page.parts import PagePart, ReaderQuestion, parts_of
from evenhand.report.statement import Statement
from evenhand.results.evidence import Case, Finding, Group
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import Amount, Estimate

SHARE = Estimate(0.117, 0.05, 0.222, 247, 0.95, "anytime", "all inputs")


class _Check:
    """A check as a statement needs it."""

    name = "it"
    found = None


def statement(finding: Finding) -> Statement:
    return Statement.of(_Check(), finding)


def stated(score: str = "causal", **fields: Any) -> Statement:
    return statement(Finding("a claim", ("sex",), SHARE, 0.05, score=score, **fields))


def test_open_parts_stand_before_folded_ones_and_else_in_their_order():
    parts = []
    for place, folded in enumerate(["more", "", "others", ""]):
        html = Markup(str(place))
        parts.append(PagePart(ReaderQuestion.WHERE, ("sex",), html, folded))
    other = PagePart(ReaderQuestion.ERRORS, ("sex",))
    found = parts_of(ReaderQuestion.WHERE, [*parts, other])
    assert [str(part.html) for part in found] == ["1", "3", "0", "2"]


def test_what_is_judged_stands_before_what_is_not():
    parts = []
    for place, judged in enumerate([False, True, False, True]):
        html = Markup(str(place))
        parts.append(PagePart(ReaderQuestion.HOW_MUCH, (), html, judged=judged))
    found = parts_of(ReaderQuestion.HOW_MUCH, parts)
    assert [str(part.html) for part in found] == ["1", "3", "0", "2"]


RULE = Rule((Condition("sex", levels=("F",)),))


@pytest.mark.parametrize(
    ("finding", "name"),
    [
        (Finding("c", ("sex",), SHARE, score="causal"), ""),
        (Finding("c", ("sex",), SHARE, score="group"), "difference"),
        (Finding("c", ("sex",), SHARE, score="impact ratio"), "impact ratio"),
        (Finding("c", RULE, SHARE, score="rate"), "difference"),
        (Finding("c", Rule(()), SHARE, score="rate"), "largest difference"),
    ],
)
def test_a_score_is_named_where_its_sentence_tells_other_numbers(finding, name):
    shown = statement(finding)
    assert score_name(shown) == name
    assert card_of(shown, "card").score_name == name


def test_a_sentence_is_not_repeated():
    ratio = Statement.of(_Check(), Finding("c", ("sex",), SHARE, score="impact ratio"))
    again = replace(ratio, repeats=True)
    assert card_of(ratio, "card").sentence == "C"
    heading = "The same groups, compared by their impact ratio"
    assert card_of(again, "card").sentence == heading


def test_a_reader_first_asks_how_much_and_last_what_helps():
    questions = list(ReaderQuestion)
    assert questions[0] is ReaderQuestion.HOW_MUCH
    assert questions[-1] is ReaderQuestion.WHAT_HELPS


@pytest.mark.parametrize(
    ("score", "question"),
    [
        ("causal", ReaderQuestion.HOW_MUCH),
        ("group", ReaderQuestion.HOW_MUCH),
        ("true positive rate difference", ReaderQuestion.ERRORS),
        ("false positive rate ratio", ReaderQuestion.ERRORS),
    ],
)
def test_a_score_that_needs_the_truth_says_who_is_judged_wrongly(score, question):
    assert question_of(stated(score)) is question


def test_a_statement_is_about_features_a_rule_or_nothing():
    rule = Rule(
        (Condition("age", low=40), Condition("sex", levels=("F",)), Condition("age"))
    )
    assert features_of(stated()) == ("sex",)
    assert features_of(statement(Finding("", rule, SHARE))) == ("age", "sex")
    assert features_of(statement(Finding("", "everybody", SHARE))) == ()


def test_cards_and_people_are_parts_and_what_is_too_much_is_counted():
    case = Case({"sex": "F"}, {"sex": "M"}, ("no", "yes"))
    statements = [stated(cases=(case,))]
    statements += [stated() for _ in range(MOST_CARDS + 1)]
    parts = list(finding_parts(statements, "check1"))
    assert [part.question.name for part in parts[:2]] == ["HOW_MUCH", "PEOPLE"]
    assert parts[1].cases == (case,)
    assert len([part for part in parts if part.features]) == MOST_CARDS + 1
    assert "2 more are in the table of all statements." in str(parts[-1].html)


def test_a_score_is_written_with_its_interval_and_its_limit():
    assert score_text(stated()) == "11.7 % (5.0 % to 22.2 %); limit 5 %"
    exact = Finding("", ("sex",), Estimate.exact(1, 4))
    assert score_text(statement(exact)) == "25.0 % (exact)"
    amount = Finding("", ("sex",), Amount(3.5, 3.0, 4.0, 90, 0.95, "bootstrap"), 2.0)
    assert score_text(statement(amount)) == "3.5 (3 to 4); limit 2"
    ratio = Finding("", ("sex",), SHARE, 0.8, least=True)
    assert statement(ratio).threshold == "at least 80 %"
    unknown = Estimate(float("nan"), 0.0, 1.0, 0, 0.95, "exact")
    assert score_text(statement(Finding("", ("sex",), unknown))) == "no data, undecided"


def test_the_score_over_all_inputs_stands_beside_that_of_people_as_another_fact():
    uniform = Estimate(0.2, 0.1, 0.3, 900, 0.95, "exact", "all inputs, uniformly")
    people = Estimate(0.1, 0.05, 0.2, 90, 0.95, "exact", "people like the given rows")
    card = card_of(
        statement(Finding("", ("sex",), people, uniform=uniform, score="causal")), "c"
    )
    assert card.uniform is not None
    assert card.uniform.score == "20.0 % (10.0 % to 30.0 %)"
    assert card.uniform.fact != card.fact
    assert card.fact == "causal of sex, among people like the given rows"


def test_few_groups_are_seen_at_once_and_many_are_folded():
    def card(number: int) -> Any:
        groups = [Group({"town": str(town)}, SHARE) for town in range(number)]
        return card_of(stated("group", groups=tuple(groups)), "c")

    assert card(2).few_groups
    assert not card(20).few_groups
    assert not card(0).groups


def test_a_fact_is_known_by_its_score_its_features_and_its_population():
    def key(**fields: Any) -> str:
        given: dict[str, Any] = {"score": "causal", "about": ("sex",)}
        given |= {"estimate": SHARE, **fields}
        return fact_key(Finding("a claim", **given))

    keys = {
        key(),
        key(score="group"),
        key(about=("race",)),
        key(output="rate"),
        key(estimate=Estimate(0.117, 0.05, 0.222, 247, 0.95, "anytime", "rows")),
    }
    assert len(keys) == 5
    assert key(estimate=Estimate(0.2, 0.1, 0.3, 9, 0.95, "exact", "all inputs")) == key()
