from __future__ import annotations

import html
import json
import re
from typing import Any

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

import evenhand as eh
from evenhand.methods.audit.audit_result import Audit
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.formats import markdown_escape
from evenhand.methods.audit.formats.model_card import MOST_ROWS, to_card
from evenhand.methods.impact.impact import impact
from evenhand.report.lines import printable
from evenhand.results.evidence import Finding, Group
from evenhand.results.result import Result
from evenhand.runtime.budget import Spent
from evenhand.statistics.estimate import Amount, Estimate, StopReason, Witnesses
from tests.support.helpers import examples

RENDERER = MarkdownIt("commonmark").enable(["table", "strikethrough"])
LETTERS = st.one_of(
    st.sampled_from(list("\\`*_[]()|~$<>&#+-=:.!1 \"'@/w{}^\n\t")),
    st.characters(exclude_categories=["Cs"]),
)
TEXTS = st.text(LETTERS, max_size=25)
NASTY = (
    "<script>alert(1)</script> [x](javascript:1) | `b` **c** @team #7 https://evil.example"
)


def shown(page: str, tag: str) -> list[str]:
    """Return what a page shows in each element of a kind; any element within it stays in sight."""
    inner = re.findall(f"<{tag}(?: [^>]*)?>(.*?)</{tag}>", page, re.DOTALL)
    return [flat(html.unescape(text).replace(markdown_escape.JOINER, "")) for text in inner]


def flat(text: str) -> str:
    return " ".join(text.split())


def visible(value: str) -> str:
    return flat(printable(value))


@given(TEXTS, TEXTS)
@settings(max_examples=examples(120), deadline=None)
def test_whatever_a_value_holds_markdown_shows_it_letter_by_letter(one, other):
    page = RENDERER.render(markdown_escape.table(["a", one], [[one, other]]))
    assert shown(page, "td") == [visible(one), visible(other)]
    assert shown(page, "th") == ["a", visible(one)]
    page = RENDERER.render(
        f"before\n{markdown_escape.text(one)}\n\n{markdown_escape.text(one)}"
    )
    assert shown(page, "p") == [
        flat(f"before {visible(one)}"),
        *([visible(one)] if visible(one) else []),
    ]
    assert shown(RENDERER.render(f"- {markdown_escape.text(one)} end"), "li") == [
        flat(f"{visible(one)} end")
    ]


@given(TEXTS)
@settings(max_examples=examples(100), deadline=None)
def test_code_holds_anything_and_ends_where_it_should(value):
    page = RENDERER.render(f"x {markdown_escape.code(value)} y")
    assert flat(shown(page, "p")[0].replace("<code>", "").replace("</code>", "")) == flat(
        f"x {visible(value)} y"
    )
    page = RENDERER.render(f"{markdown_escape.block(value)}\n\nafter")
    assert page.endswith("<p>after</p>\n")
    assert page.count("<pre>") == 1


@pytest.mark.parametrize(
    "value",
    ["@team", "see #12", "https://a.example/b", "www.a.example", "a@b.example", "GH-4"],
)
def test_no_person_is_called_and_no_link_is_made(value):
    assert markdown_escape.text(value) == re.sub(
        r"(@|#|:|www|GH)", rf"\1{markdown_escape.JOINER}", value, count=1
    )


def test_numbers_stay_as_they_are_and_starts_of_lists_do_not_start_one():
    assert [markdown_escape.text(value) for value in (-0.5, 12, True)] == [
        "-0.5",
        "12",
        "True",
    ]
    assert [markdown_escape.text(value) for value in ("- a", "1. a", "12.5 %", "# a")] == [
        "\\- a",
        "1\\. a",
        "12.5 %",
        "\\# a",
    ]
    assert markdown_escape.table(["n"], [["-0.5 %"]], right=[0]).splitlines() == [
        "| n |",
        "|---:|",
        "| -0.5 % |",
    ]


def result(
    *findings: Finding, job: str = "measure", notes: Any = (), **details: Any
) -> Result:
    space = eh.Space(
        [eh.category("sex", ["F", "M"]), eh.integer("age", 18, 90)], protected=["sex"]
    ).to_dict()
    return Result(
        job,
        findings,
        0,
        Spent(9, 9, 0.1),
        StopReason.DECIDED,
        space,
        notes,
        details=details,
    )


RATE = Estimate(0.123, 0.101, 0.148, 2048, 0.95, "exact", "all inputs, uniformly")
GROUPS = (
    Group({"sex": "F"}, RATE),
    Group({"sex": "X"}, Estimate(float("nan"), 0.0, 1.0, 0, 0.95, "exact")),
)
HIRED = pd.DataFrame(
    {
        "sex": ["F", "M", None] * 200,
        "race": ["green"] * 297 + ["purple"] * 297 + ["teal"] * 6,
        "hired": [0, 1, 1] * 200,
    }
)
HIRED.loc[:90, "hired"] = 1


@pytest.fixture(scope="module")
def audit() -> Audit:
    checks = (
        CheckResult(
            "sex",
            "measure",
            {"over": ["sex"]},
            result(Finding("sex matters", ("sex",), RATE, 0.05)),
        ),
        CheckResult(
            "rates",
            "measure",
            {"kind": "group"},
            result(Finding("apart", ("sex",), RATE, groups=GROUPS), notes=["a note"]),
        ),
        CheckResult(
            "find",
            "search",
            {},
            result(
                Finding("found", ("sex",), Witnesses.of(12, 400, "adaptive")), job="search"
            ),
        ),
        CheckResult(
            "own",
            "mine",
            {},
            result(
                Finding("a gap", ("sex",), Amount(12.5, 11.0, 14.0, 300, 0.95, "bootstrap"))
            ),
        ),
        CheckResult(
            "hiring",
            "impact",
            {},
            impact(HIRED, outcome="hired", over=[("sex",), ("race",)], least_ratio=0.8),
        ),
        CheckResult("broken", "measure", {}, None, "the software exited with code 3"),
    )
    config = {"file": "evenhand.toml", "text": ""}
    return Audit(
        checks,
        7,
        Spent(9, 9, 0.1),
        "a loan program",
        config=config,
        command="evenhand audit --seed 7",
    )


def sections(card: str) -> dict[str, str]:
    parts = re.split(r"^### (.*)$", card, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def test_a_card_has_the_headings_of_model_cards(audit):
    card = to_card(audit)
    assert card.startswith(
        "## Fairness evaluation\n\nSoftware under test: a loan program. Verdict: fail.\n"
    )
    assert list(sections(card)) == [
        "Factors",
        "Metrics",
        "Evaluation data",
        "Results",
        "Unitary and intersectional results",
        "Caveats and limits",
        "How to reproduce",
    ]
    assert card == to_card(audit)
    assert to_card(Audit.from_dict(json.loads(audit.to_json()))) == card


def test_factors_metrics_and_populations_are_named(audit):
    found = sections(to_card(audit))
    assert "- sex: F, M" in found["Factors"]
    assert "- race: green, purple, teal" in found["Factors"]
    for word in (
        "causal score",
        "group score",
        "search:",
        "impact ratio",
        "selection rate:",
        "engineering thresholds",
    ):
        assert word in found["Metrics"], word
    assert "| sex | all inputs, uniformly | 2,048 |" in found["Evaluation data"]
    assert "which are not a population | 400 |" in found["Evaluation data"]


def test_every_statement_is_a_row_with_interval_level_n_and_verdict(audit):
    lines = sections(to_card(audit))["Results"]
    assert (
        "| sex | sex | sex matters | 12.3 % | 10.1 % to 14.8 % | 95 % | 2,048 | 5 % | fail |"
        in lines
    )
    assert "| find | sex | found | 12 found |  |  | 400 |  | no limit |" in lines
    assert "| own | sex | a gap | 12.5 | 11 to 14 | 95 % | 300 |  | no limit |" in lines
    assert (
        "| broken | measure | the software exited with code 3 |  |  |  |  |  | not run |"
        in lines
    )
    assert "at least 80 %" in lines


def test_impact_tables_stand_with_what_was_left_out_and_groups_where_there_are_none(audit):
    lines = sections(to_card(audit))["Unitary and intersectional results"]
    assert "Unitary, rates, by sex:" in lines
    assert "| sex X | no data, undecided |  |  | 0 |" in lines
    for heading in (
        "Unitary, hiring, by sex:",
        "Unitary, hiring, by race:",
        "Intersectional, hiring, by sex and race:",
    ):
        assert heading in lines
    assert "| left out |  | under 2 % of the rows |" in lines
    assert "200 of 600 rows have an unknown sex (missing: 200)" in lines


def test_caveats_name_the_limits_and_claim_nothing(audit):
    card = to_card(audit)
    caveats = sections(card)["Caveats and limits"]
    for words in (
        "Undecided is not a pass",
        "not proof",
        "a note",
        "broken could not be run",
        "A rate describes",
    ):
        assert words in caveats
    assert "A search finds witnesses and never a rate" in caveats
    assert caveats.strip().endswith(
        "Nothing here is a claim of compliance with any law, rule or standard."
    )
    assert not re.search(r"unbiased|debias|proves|legal limit", card, re.IGNORECASE)


def test_it_says_how_to_run_it_again(audit):
    lines = sections(to_card(audit))["How to reproduce"]
    assert "```sh\nevenhand audit --seed 7\n```" in lines
    for fact in ("seed: `7`", f"`{audit.digest}`", "`evenhand.toml`", "numpy "):
        assert fact in lines


def test_names_and_values_of_others_stay_text():
    frame = pd.DataFrame({NASTY: [NASTY, "b"] * 50, "ok": [1, 0, 1, 1] * 25})
    checks = (
        CheckResult(NASTY, "impact", {}, impact(frame, outcome="ok", over=NASTY)),
        CheckResult("b", "measure", {}, None, NASTY),
    )
    found = Audit(
        checks,
        0,
        Spent(0, 0, 0.0),
        NASTY,
        command="x `\n```\n# y",
        notes=(NASTY,),
        config={"name": "`"},
    )
    page = RENDERER.render(to_card(found))
    assert not re.search(
        r"<(?!/?(h2|h3|p|ul|li|table|thead|tbody|tr|th|td|pre|code)\b)", page
    ), page
    assert f"{markdown_escape.JOINER}//evil" in page
    assert page.count("<h2>") == 1
    assert page.count("<h3>") == 7


def test_long_audits_are_cut_with_a_sentence_and_empty_ones_say_so():
    many = result(
        *(Finding(f"claim {n}", ("sex",), RATE, 0.05) for n in range(MOST_ROWS + 5))
    )
    card = to_card(Audit((CheckResult("all", "measure", {}, many),), 0, Spent(0, 0, 0.0)))
    assert "… 5 more statements" in card
    assert "No check compares groups one by one." in card
    nothing = to_card(Audit((), 0, Spent(0, 0, 0.0)))
    for words in (
        "None were declared.",
        "Nothing was measured.",
        "No data was evaluated.",
        "There are no results.",
    ):
        assert words in nothing
    assert "Verdict: no limit given." in nothing
