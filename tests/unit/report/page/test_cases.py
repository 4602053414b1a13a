"""Cases as people read them: a sentence, a card, and a grid in which people who could exist come
first.
"""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.report.page.cases import (
    IN_SIGHT,
    MOST_CASES,
    case_card,
    case_grid,
    case_sentence,
    person_text,
)
from evenhand.results.evidence import Case

ANN: dict[str, Any] = {"sex": "female", "age": 31, "employed": "yes", "race": "green"}
HOSTILE = (
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "{{ 7 * 7 }}",
    "]]>",
)


def pair(
    individual: dict[str, Any], outcomes: Any = ("approve", "deny"), **changed: Any
) -> Case:
    return Case(individual, individual | changed, outcomes)


@pytest.mark.parametrize(
    ("feature", "value", "text"),
    [
        ("age", 31, "31 years old"),
        ("age", "old", "age old"),
        ("employed", "yes", "employed"),
        ("employed", "No", "not employed"),
        ("employed", True, "employed"),
        ("sex", "female", "female"),
        ("gender", "M", "gender M"),
        ("sex", "1", "sex 1"),
        ("income", 91, "income 91"),
        ("town", None, "town unknown"),
    ],
)
def test_a_feature_is_shown_in_few_words(feature, value, text):
    assert (
        person_text(Case({feature: value}, {feature: value}, ("a", "b")), [feature]) == text
    )


def test_a_case_of_several_changes_names_each():
    assert case_sentence(pair(ANN, race="purple", sex="male")) == (
        "Sex female, race green, 31 years old, employed: approve. With sex male instead of female,"
        " race purple instead of green: deny."
    )


def test_a_text_is_shown_once_with_the_terms_at_issue():
    case = Case(
        {"gender": "gay", "text": "a ⟦gay⟧ man"},
        {"gender": "straight", "text": "a ⟦straight⟧ man"},
        ("rude", "fine"),
    )
    assert case_sentence(case) == (
        "“a ⟦gay⟧ man”: rude. With “straight” instead of “gay”: fine."
    )


def test_texts_in_which_several_terms_change_are_shown_in_full():
    case = Case(
        {"text": "⟦gay⟧ and ⟦jewish⟧"},
        {"text": "⟦straight⟧ and ⟦muslim⟧"},
        ("rude", "fine"),
    )
    assert "⟦straight⟧ and ⟦muslim⟧ instead of ⟦gay⟧ and ⟦jewish⟧" in case_sentence(case)


def test_a_card_tells_few_features_and_counts_the_others():
    many = {f"f{number}": number for number in range(IN_SIGHT + 3)}
    card = case_card(pair({"sex": "F"} | many, sex="M"))
    assert card.person == ", ".join(f"f{number} {number}" for number in range(IN_SIGHT))
    assert card.more == 3
    assert [(one.feature, one.value, one.twin_value) for one in card.changes] == [
        ("sex", "F", "M")
    ]
    assert card.replay.startswith("evenhand replay audit.json --case ")
    assert card.link.startswith("http://127.0.0.1:8750/#case=")


@pytest.mark.parametrize(
    ("individual", "twin", "doubt"),
    [
        (None, None, ""),
        (True, True, ""),
        (False, True, "Hardly anybody in the data is like this person."),
        (True, False, "Hardly anybody in the data is like the twin."),
        (False, False, "Hardly anybody in the data is like either of the two."),
    ],
)
def test_a_card_says_who_is_unusual(individual, twin, doubt):
    case = Case(ANN, ANN | {"race": "purple"}, ("approve", "deny"), individual, twin)
    assert case_card(case).doubt == doubt


def test_people_who_could_exist_come_first_and_not_all_are_shown():
    cases = []
    for number in range(MOST_CASES + 4):
        person = ANN | {"age": 20 + number}
        likely = number > 6
        cases.append(Case(person, person | {"race": "purple"}, ("a", "b"), likely, likely))
    grid = str(case_grid(cases))
    ages = [number for number in range(20, 40) if f"{number} years old" in grid]
    assert grid.count('class="case"') == MOST_CASES
    assert ages == [20, 21, 22, 27, 28, 29]
    assert grid.index("27 years old") < grid.index("20 years old")


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_values_stay_text(value):
    case = Case({value: value, "sex": value}, {value: value, "sex": "M"}, (value, "no"))
    grid = str(case_grid([case]))
    assert "<script" not in grid
    assert "<img" not in grid
    assert value in unescape(grid)


@given(st.text(min_size=1, max_size=30), st.text(max_size=30), st.text(max_size=30))
def test_any_value_makes_a_card_without_elements_of_its_own(name, value, twin_value):
    case = Case({name: value}, {name: twin_value}, (value, twin_value))
    own = str(case_grid([case])).count("<script") + str(case_grid([case])).count("<img")
    assert own == 0
    assert case_sentence(case)
