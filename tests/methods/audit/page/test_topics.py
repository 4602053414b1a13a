"""What a page tells by protected feature and by question: order, titles, and people once."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from evenhand.methods.audit.page.topics import topics_of, with_one_grid
from evenhand.report.page.parts import PagePart, ReaderQuestion
from evenhand.results.evidence import Case
from evenhand.statistics.estimate import Verdict

HOW_MUCH, PEOPLE, WHERE = (
    ReaderQuestion.HOW_MUCH,
    ReaderQuestion.PEOPLE,
    ReaderQuestion.WHERE,
)
FEATURES = ("sex", "race", "age")


def part(
    *features: str, question: ReaderQuestion = HOW_MUCH, html: str = "a card"
) -> PagePart:
    return PagePart(question, features, Markup(html))


def case(age: int, *, turned: bool = False) -> Case:
    woman: dict[str, Any] = {"sex": "F", "age": age}
    man: dict[str, Any] = {"sex": "M", "age": age}
    return Case(man, woman, ("yes", "no")) if turned else Case(woman, man, ("no", "yes"))


def people(*cases: Case, html: str = "", folded: str = "") -> PagePart:
    return PagePart(PEOPLE, ("sex",), Markup(html), folded, cases)


def titles(parts: Any, protected: Any = (), verdicts: Any = ()) -> list[str]:
    return [topic.title for topic in topics_of(parts, protected, verdicts)]


def test_protected_features_come_first_and_combinations_and_the_rest_last():
    parts = [part(), part("age", "race"), part("age"), part("race"), part("sex")]
    assert titles(parts, ["sex", "race"]) == [
        "sex",
        "race",
        "age",
        "Combinations of age and race",
        "Everything else",
    ]


def test_what_fails_comes_first_among_features():
    verdicts = [
        (("sex",), Verdict.PASS),
        (("race",), Verdict.FAIL),
        (("race",), Verdict.PASS),
        (("age",), Verdict.UNDECIDED),
        (("sex", "race"), Verdict.FAIL),
    ]
    parts = [part("sex"), part("race"), part("age"), part("town"), part("sex", "race")]
    topics = topics_of(parts, ["sex"], verdicts)
    assert [(topic.title, topic.verdict) for topic in topics] == [
        ("race", Verdict.FAIL),
        ("age", Verdict.UNDECIDED),
        ("town", None),
        ("sex", Verdict.PASS),
        ("Combinations of sex and race", Verdict.FAIL),
    ]


def test_a_protected_feature_without_parts_has_no_topic():
    assert titles([part("sex")], ["sex", "race"]) == ["sex"]
    assert titles([]) == []


@pytest.mark.parametrize("name", ["combinations", "general"])
def test_topics_have_ids_that_no_feature_can_have(name):
    topics = topics_of([part(name), part("sex", "race"), part()], [name], [])
    assert [topic.id for topic in topics] == [f"topic{n + 1}" for n in range(len(topics))]


def test_questions_stand_in_the_order_in_which_readers_ask():
    parts = [part("sex", question=question) for question in reversed(ReaderQuestion)]
    (topic,) = topics_of(parts, [], [])
    assert [answers.question for answers in topic.answers] == [
        question.value for question in ReaderQuestion
    ]


def test_people_of_several_checks_stand_in_one_grid_each_pair_once():
    found = with_one_grid(
        [
            people(case(31), case(40)),
            people(html="all of them", folded="All 9 inputs"),
            people(html="a sentence"),
            people(case(40, turned=True), case(31), case(52)),
        ]
    )
    htmls = [str(one.html) for one in found]
    assert [htmls[0], htmls[2]] == ["a sentence", "all of them"]
    grid = htmls[1]
    assert grid.count('class="cases"') == 1
    ages = [grid.count(f"{age} years old") for age in (31, 40, 52)]
    # A card tells the person, and the case that turns it round is another one.
    assert ages[0] == ages[2] == 1
    assert grid.count('class="case"') == 4


def test_parts_without_people_stay_as_they_are():
    parts = [part("sex"), part("sex", html="another")]
    assert with_one_grid(parts) == parts


@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(FEATURES), max_size=3, unique=True),
            st.sampled_from(ReaderQuestion),
        ),
        max_size=12,
    ),
    st.lists(st.sampled_from(FEATURES), unique=True),
)
def test_every_part_stands_in_one_topic(kinds, protected):
    parts = []
    for place, (features, question) in enumerate(kinds):
        parts.append(part(*features, question=question, html=f"[{place}]"))
    shown = []
    for topic in topics_of(parts, protected, []):
        for answers in topic.answers:
            shown += [str(one.html) for one in answers.parts]
    assert sorted(shown) == sorted(f"[{place}]" for place in range(len(parts)))
