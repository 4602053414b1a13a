"""The sentences of a mining on a page: whom they are about, and how many of every hundred."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.methods.mine.section import plain
from evenhand.space.rule import Rule

SPACE = eh.Space(
    [eh.category("sex", ["F", "M"]), eh.integer("income", 0, 99)], protected=["sex"]
)
COMMENTS = ["a gay man wrote", "a straight man wrote", "a lesbian wrote"] * 40


def lend(people):
    return (people["income"] > 40) & ((people["sex"] == "M") | (people["income"] > 80))


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    sexes = rng.choice(["F", "M"], 600)
    return pd.DataFrame({"sex": sexes, "income": rng.integers(0, 100, 600)})


@pytest.mark.parametrize(
    ("treatment", "begins"),
    [
        ("rows", "Of every 100 people with sex "),
        ("neighbours", "Of every 100 inputs like those of people with sex "),
        ("drawn", "Of every 100 inputs like those of people with sex "),
    ],
)
def test_inputs_like_those_of_people_are_not_called_people(treatment, begins):
    found = eh.mine(lend, SPACE, rows(), treatment=treatment)
    stories = [finding for finding in found.findings if finding.about.conditions]
    assert stories
    for finding in stories:
        assert plain(finding, found).startswith(begins)


def test_only_beside_named_subgroups_there_are_others():
    named = eh.mine(lend, SPACE, rows())
    (others,) = [finding for finding in named.findings if not finding.about.conditions]
    assert plain(others, named).startswith("Of all other subgroups, variations of these")
    fair = eh.mine(lambda people: people["income"] > 40, SPACE, rows())
    (every,) = fair.findings
    assert plain(every, fair).startswith("Of all subgroups, none differs from everyone")
    quiet = eh.mine_text(lambda texts: ["wrote" in text for text in texts], COMMENTS)
    (terms,) = [one for one in quiet.findings if isinstance(one.about, Rule)]
    assert plain(terms, quiet).startswith("Of all terms, alone and together, none differs")


def test_others_that_fail_differ_by_so_much_at_least():
    found = eh.mine(lend, SPACE, rows(), limit=0.1)
    (others,) = [finding for finding in found.findings if not finding.about.conditions]
    assert others.verdict is eh.Verdict.FAIL
    low = math.floor(100 * others.estimate.low)
    assert low >= 10
    assert plain(others, found) == (
        "Of all other subgroups, variations of these included, at least one differs from everyone"
        f" else by {low} or more of every 100 people"
    )


@pytest.mark.parametrize(
    ("treatment", "people"),
    [("rows", "people"), ("drawn", "inputs like those of people")],
)
@pytest.mark.parametrize(("sign", "word"), [(-1, "less"), (1, "more")])
def test_means_of_numbers_are_compared_as_amounts(treatment, people, sign, word):
    def pay(people):
        return 20_000.5 + 90 * people["income"] + sign * 6_000 * (people["sex"] == "F")

    found = eh.mine(pay, SPACE, rows(), treatment=treatment)
    story = found.worst
    mean, other = (group.estimate.value_text for group in story.groups)
    says = plain(story, found)
    assert says.startswith(f"On average, {people} with sex ")
    lower = story.groups[0].estimate.value < story.groups[1].estimate.value
    assert f" {story.estimate.value_text} {'less' if lower else 'more'} than " in says
    assert says.endswith(f": {mean} against {other}")
    is_of_women = "sex F" in says
    assert lower == ((word == "less") == is_of_women)


def test_where_no_mean_differs_all_are_bounded():
    found = eh.mine(lambda people: 0.5 + 90.0 * people["income"], SPACE, rows())
    (every,) = found.findings
    _, high = every.estimate.ends_text
    assert plain(every, found) == (
        f"Of all subgroups, none gets over {high} more or less than everyone else on average"
    )


def test_texts_that_depend_on_a_term_are_counted():
    found = eh.mine_text(
        lambda texts: ["gay man" in text for text in texts], COMMENTS, kind="causal"
    )
    (finding,) = [one for one in found.findings if one.about == ("gender",)]
    value = round(100 * finding.estimate.value)
    assert 0 < value < 100
    assert plain(finding, found) == (
        f"Of every 100 texts that name gender, about {value} get another outcome when nothing but"
        " that term is changed"
    )


def test_texts_that_depend_on_no_term_are_not_proved_to_be_none():
    found = eh.mine_text(
        lambda texts: ["wrote" in text for text in texts], COMMENTS, kind="causal"
    )
    (finding,) = [one for one in found.findings if one.about == ("gender",)]
    assert plain(finding, found).startswith(
        "Changing nothing but the term for gender changed no outcome that was looked at; of every"
        " 100 texts that name one, at most "
    )


def test_the_parts_about_all_terms_are_about_what_they_name():
    found = eh.mine_text(lambda texts: ["gay" in text for text in texts], COMMENTS)
    audit_page = found.to_html()
    assert "Everything else" not in audit_page
    rest = [finding for finding in found.findings if isinstance(finding.about, Rule)]
    assert rest


def test_texts_are_shown_as_texts_and_how_many_change_is_no_question_of_groups():
    found = eh.mine_text(
        lambda texts: ["gay man" in text for text in texts], COMMENTS, kind="causal"
    )
    audit_page = found.to_html()
    assert "Show me texts" in audit_page
    assert "Show me people" not in audit_page
    assert "How much?" in audit_page
    assert "Who is hit hardest?" not in audit_page
