"""What a reader sees first: what was tested, three sentences, a picture, what was not tested."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.page.first_screen import first_screen
from evenhand.methods.audit.page.page import page
from evenhand.methods.audit.page.picture import (
    MOST_ROWS,
    picture_of,
    rows_of,
    worst_rows,
)
from evenhand.methods.audit.page.placed import each_fact_once
from evenhand.methods.audit.page.tested_facts import sureness
from evenhand.methods.audit.tested import Tested as About
from evenhand.report.definitions import GLOSSARY
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.results.evidence import Case, Finding, Group
from evenhand.space.rule import Condition, Rule
from evenhand.statistics.estimate import Amount, Estimate
from tests.methods.audit.page.test_page import Page, audit_of, checked, result

SPACE = {
    "features": [
        {"name": "sex", "kind": "category", "levels": ["F", "M"]},
        {"name": "race", "kind": "category", "levels": ["green", "purple"]},
        {"name": "age", "kind": "integer", "low": 18, "high": 60},
    ],
    "protected": ["sex", "race"],
}
CASE = Case({"sex": "F", "age": 31}, {"sex": "M", "age": 31}, ("deny", "approve"))


def rate(value: float, population: str = "all inputs, uniformly") -> Estimate:
    return Estimate(value, value - 0.01, value + 0.01, 900, 0.95, "exact", population)


def twins(about: Any, value: float, **fields: Any) -> Finding:
    names = (about,) if isinstance(about, str) else about
    return Finding(f"{names} matters", names, rate(value), 0.05, score="causal", **fields)


def groups(about: str, low: float, high: float, **fields: Any) -> Finding:
    pairs = [Group({about: "F"}, rate(low)), Group({about: "M"}, rate(high))]
    given: dict[str, Any] = {"limit": 0.1, "score": "group"} | fields
    return Finding("groups", (about,), rate(high - low), groups=tuple(pairs), **given)


def audit(*findings: Finding, **fields: Any) -> Any:
    found = result("measure", findings, space=SPACE)
    return audit_of(checked("measure", found), space=SPACE, **fields)


def screen(*findings: Finding, parts: Any = (), **fields: Any) -> Any:
    made = audit(*findings, **fields)
    placed = each_fact_once(made)
    drawn = {row.fact for row in rows_of(placed)}
    return first_screen(made, placed, list(parts), drawn)


def texts(shown: Any) -> list[str]:
    return [sentence.text for sentence in shown.sentences]


# What was tested, on whom, when, how sure


def test_the_software_the_rows_the_time_and_the_level_are_shown():
    tested = About(
        "2026-01-31T08:05:00Z", "onnx", "loan.onnx", "12ab", "loans.csv", 4000, 0.021
    )
    shown = screen(twins("sex", 0.2), subject="loan.onnx", tested=tested)
    assert dict(shown.facts) == {
        "Tested": "loan.onnx (an ONNX model; fingerprint 12ab)",
        "On whom": "4,000 rows of loans.csv, 2.1 % of their values missing",
        "When": "2026-01-31, 08:05 UTC",
        "How sure": "all of it together with at least 95 % confidence",
        "Made with": shown.facts["Made with"],
    }


def test_a_model_is_known_by_its_file():
    tested = About("2026-01-31T08:05:00Z", "estimator", "loan.skops", "12ab")
    made = audit(twins("sex", 0.2), subject="Pipeline", tested=tested)
    assert "Fairness audit of loan.skops" in page(made)
    shown = screen(twins("sex", 0.2), subject="Pipeline", tested=tested)
    assert shown.facts["Tested"] == (
        "Pipeline of loan.skops (a model in Python; fingerprint 12ab)"
    )


def test_where_nothing_was_measured_nothing_is_sure():
    failed = CheckResult("measure sex", "measure", {}, error="it crashed")
    assert sureness(audit_of(failed, space=SPACE)) == ""
    assert sureness(audit(twins("sex", 0.2))) == (
        "all of it together with at least 95 % confidence"
    )


def test_without_rows_the_populations_are_shown():
    shown = screen(
        twins("sex", 0.2), tested=About("2026-01-31T08:05:00Z", "a kind of its own")
    )
    assert shown.facts["On whom"] == "all inputs, uniformly"
    assert shown.facts["Tested"] == "software without a name (a kind of its own)"


@pytest.mark.parametrize("made", ["", "yesterday"])
def test_a_time_that_is_not_known_is_called_so(made):
    assert screen(tested=About(made)).facts["When"] == "not recorded"


# Three sentences


def test_the_worst_twins_the_worst_groups_and_another_are_shown_what_fails_first():
    shown = screen(
        twins("sex", 0.01),
        twins("race", 0.3, cases=(CASE,)),
        groups("sex", 0.2, 0.7),
        groups("race", 0.5, 0.55),
        twins("age", 0.2),
    )
    first, second, third = texts(shown)
    assert "about 30 get another outcome when nothing but race is changed" in first
    assert first != second
    assert {"Of every 100 people with sex F, about 20 get"} == {second[:44]}
    assert "nothing but age" in third


def test_an_example_is_shown_of_what_fails_and_of_no_pass():
    shown = screen(twins("race", 0.3, cases=(CASE,)), twins("sex", 0.01, cases=(CASE,)))
    examples = [sentence.example for sentence in shown.sentences]
    assert examples == [
        "For example: Sex F, 31 years old: deny. With sex M instead of F: approve.",
        "",
    ]


def test_what_says_nothing_is_no_sentence():
    nobody = Estimate(float("nan"), 0.0, 1.0, 0, 0.95, "exact")
    shown = screen(
        Finding("nobody was seen", ("sex",), nobody, 0.05, score="causal"),
        Finding("all others are alike", Rule(()), rate(0.1), 0.2, score="rate"),
    )
    assert texts(shown) == []


def test_a_score_stands_with_its_sentence_only_where_the_picture_has_none():
    moved = Amount(40.0, 30.0, 50.0, 180, 0.95, "bootstrap", "rows")
    graded = Finding("it moves", ("sex",), moved, 20, score="mean change", graded=True)
    shown = screen(twins("race", 0.3), graded)
    by_text = {sentence.text[:12]: sentence for sentence in shown.sentences}
    drawn, written = by_text["Of every 100"], by_text["It moves"]
    assert (drawn.score, drawn.confidence) == ("", "")
    assert written.score_name == "mean change"
    assert written.score == "40 (30 to 50); limit 20"
    assert written.confidence == "with 95 % confidence"


# What was not tested


def test_what_nobody_looked_at_is_shown():
    assert screen(twins("sex", 0.2)).not_tested == [
        "race: protected, but no check was about it",
        "combinations of sex and race",
        "subgroups within these groups",
        "whether decisions are wrong more often for some: no true outcomes were given",
    ]


def test_what_was_looked_at_is_not_shown_to_be_missing():
    parts = [
        PagePart(ReaderQuestion.HARDEST_HIT, ("sex", "race")),
        PagePart(ReaderQuestion.ERRORS, ("sex",)),
    ]
    assert screen(twins("sex", 0.2), twins("race", 0.1), parts=parts).not_tested == []


# The picture


def test_rows_of_a_kind_stand_together_single_features_first():
    placed = each_fact_once(
        audit(
            groups("sex", 0.2, 0.7),
            twins(("sex", "race"), 0.3),
            twins("race", 0.2),
            Finding("ratio", ("sex",), rate(0.7), 0.8, least=True, score="impact ratio"),
        )
    )
    rows = [(row.group, row.label) for row in rows_of(placed)]
    assert rows == [
        ("Same input, only this changed: how often the outcome changes", "race"),
        (
            "Same input, only this changed: how often the outcome changes",
            "sex and race together",
        ),
        ("Groups compared: how far apart they are", "sex"),
        ("Lowest rate as a share of the highest", "sex"),
    ]


def test_scores_without_a_limit_are_drawn_where_none_has_one():
    free = groups("race", 0.2, 0.7, limit=None)
    both = rows_of(each_fact_once(audit(twins("sex", 0.2), free)))
    assert [row.label for row in both] == ["sex"]
    alone = rows_of(each_fact_once(audit(free)))
    assert [row.label for row in alone] == ["race"]


def test_outputs_and_subgroups_have_names_of_their_own():
    rule = Rule((Condition("age", low=40),))
    pairs = (
        Group({"rule": rule.text}, rate(0.1)),
        Group({"rule": "everyone else"}, rate(0.4)),
    )
    rows = rows_of(
        each_fact_once(
            audit(
                twins("sex", 0.2, output="rate"),
                groups("sex", 0.1, 0.4, score="true positive rate difference"),
                Finding("a story", rule, rate(0.3), 0.1, groups=pairs, score="rate"),
            )
        )
    )
    assert [row.label for row in rows] == [
        "sex (for rate)",
        "sex: true positive rate difference",
        f"{rule.text}, and everyone else",
    ]


def test_amounts_have_a_scale_of_their_own_below_that_of_shares():
    pairs = (
        Group({"sex": "F"}, Amount(100.0, 90.0, 110.0, 90, 0.95, "exact")),
        Group({"sex": "M"}, Amount(400.0, 390.0, 410.0, 90, 0.95, "exact")),
    )
    gap = Amount(300.0, 280.0, 320.0, 180, 0.95, "exact")
    means = Finding("m", ("sex",), gap, 50, groups=pairs, score="mean difference")
    rows = rows_of(each_fact_once(audit(means, twins("sex", 0.2))))
    assert [row.label for row in rows] == ["sex", "sex: mean difference"]
    drawn = str(picture_of(rows, len(rows)))
    assert drawn.index('id="scores"') < drawn.index('id="amounts"')
    shares, amounts = drawn.split('id="amounts"')
    assert "50 %" not in amounts
    assert "300" in amounts
    assert "300" not in shares
    assert 'id="scores"' not in str(picture_of(rows[1:], 1))


def test_the_row_of_all_other_subgroups_names_the_features_that_were_mined():
    rest = Finding("none is further", Rule(()), rate(0.2), 0.1, score="rate")
    (row,) = rows_of(each_fact_once(audit(rest)))
    assert row.label == "any subgroup of sex and race"
    named = checked("mine", result("mine", [rest], space=SPACE), over=[["sex", "age"]])
    (row,) = rows_of(each_fact_once(audit_of(named, space=SPACE)))
    assert row.label == "any subgroup of sex and age"
    pairs = (Group({"rule": "sex F"}, rate(0.1)), Group({"rule": "others"}, rate(0.4)))
    rule = Rule((Condition("sex", levels=("F",)),))
    story = Finding("a story", rule, rate(0.3), 0.1, groups=pairs, score="rate")
    labels = [row.label for row in rows_of(each_fact_once(audit(story, rest)))]
    assert labels == ["sex F, and everyone else", "other subgroups of sex and race"]
    of_texts = checked("mine_text", result("mine_text", [rest], space=SPACE))
    (row,) = rows_of(each_fact_once(audit_of(of_texts, space=SPACE)))
    assert row.label == "any term of sex and race"


def test_a_picture_has_few_rows_and_none_is_no_picture():
    findings = [twins("sex", 0.2, output=f"output {number}") for number in range(20)]
    rows = rows_of(each_fact_once(audit(*findings)))
    assert len(rows) == 20
    drawn = worst_rows(rows)
    assert drawn == rows[:MOST_ROWS]
    caption = "Scores against their limits: the worst 8 of 20"
    assert caption in str(picture_of(drawn, len(rows)))
    assert caption in page(audit(*findings))
    assert picture_of([], 0) is None


def test_where_the_picture_has_no_room_for_all_what_fails_is_drawn():
    passing = [twins("sex", 0.01, output=f"output {number}") for number in range(8)]
    failing = [twins(("sex", "race"), 0.3), groups("race", 0.2, 0.9)]
    rows = rows_of(each_fact_once(audit(*passing, *failing)))
    drawn = worst_rows(rows)
    assert [row.label for row in drawn[-2:]] == ["sex and race together", "race"]
    assert [row.verdict for row in drawn].count("fail") == 2
    assert drawn == [row for row in rows if row in drawn]


# Each fact once


def test_a_score_that_two_checks_have_found_is_shown_by_the_one_that_judges_it():
    judged = twins("sex", 0.2)
    free = Finding("sex matters", ("sex",), rate(0.2), score="causal")
    checks = []
    for name, finding in (("first", free), ("second", judged)):
        found = result("measure", [finding], space=SPACE)
        checks.append(checked(name, found))
    both = audit_of(*checks, space=SPACE)
    (placed,) = each_fact_once(both)
    assert placed.check is checks[1]
    shown = Page(page(both).removeprefix("<!DOCTYPE html>"))
    facts = [place["data-fact"] for _, place in shown.elements if "data-fact" in place]
    assert len(shown.all("article")) == 1
    assert set(facts) == {"causal of sex, among all inputs, uniformly"}


def test_one_sentence_stands_once_by_the_score_that_is_judged():
    free = groups("sex", 0.2, 0.7, limit=None, score="rate difference")
    checks = [
        checked("first", result("measure", [free], space=SPACE)),
        checked("second", result("measure", [groups("sex", 0.2, 0.7)], space=SPACE)),
    ]
    placed = each_fact_once(audit_of(*checks, space=SPACE))
    assert [item.statement.repeats for item in placed] == [True, False]
    first, second = re.findall("<h4.*?</h4>", page(audit_of(*checks, space=SPACE)))
    assert "Of every 100 people with sex F" in first
    assert "The same groups, compared by their difference" in second


def test_two_scores_of_one_name_that_differ_are_both_shown():
    both = audit_of(
        checked("first", result("measure", [twins("sex", 0.2)], space=SPACE)),
        checked("second", result("measure", [twins("sex", 0.3)], space=SPACE)),
    )
    assert len(each_fact_once(both)) == 2


def test_what_is_about_a_mitigation_is_about_the_features_of_its_check():
    finding = Finding("it helps", ("blind",), rate(0.2), score="gain")
    check = checked("compare", result("compare", [finding], space=SPACE), over=[["sex"]])
    (placed,) = each_fact_once(audit_of(check))
    assert placed.features == ("sex",)


# What words mean


def test_every_word_of_the_glossary_is_on_the_page():
    shown = Page(page(audit(twins("sex", 0.2))).removeprefix("<!DOCTYPE html>")).text
    assert GLOSSARY
    for word, meaning in GLOSSARY.items():
        assert word in shown
        assert meaning in shown
