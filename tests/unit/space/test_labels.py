"""Labels of coded values: what they name, what they leave alone, and what is wrong with some."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest

import evenhand as eh
from evenhand.runtime.errors import SpaceError
from evenhand.runtime.label_text import Labelled, group_text, shown, text_of, value_shown
from evenhand.space.rule import Condition, Rule
from evenhand.space.space_file import space_from_table

SEXES: dict[Any, str] = {0: "female", 1: "male"}


def coded(**labels: dict[Any, str]) -> eh.Space:
    words = labels or {"sex": SEXES}
    return eh.Space(
        [
            eh.category("sex", [0, 1], labels=words.get("sex")),
            eh.integer("school", 0, 3, labels=words.get("school")),
            eh.integer("age", 18, 90),
        ],
        ["sex"],
    )


def test_labels_change_nothing_that_an_input_can_be() -> None:
    plain = eh.Space(
        [eh.category("sex", [0, 1]), eh.integer("school", 0, 3), eh.integer("age", 18, 90)],
        ["sex"],
    )
    assert coded() == plain
    assert (coded().digest, coded().encoding) == (plain.digest, plain.encoding)
    assert "labels" not in json.dumps(plain.to_dict())


def test_a_space_with_labels_is_read_back_from_json() -> None:
    again = eh.Space.from_dict(json.loads(json.dumps(coded().to_dict())))
    assert again.words == {"sex": {"0": "female", "1": "male"}}


def test_records_hold_the_codes_and_know_the_words() -> None:
    (person,) = coded().records(coded().encode([{"sex": 1, "school": 0, "age": 30}]))
    assert dict(person) == {"sex": 1, "school": 0, "age": 30}
    assert value_shown(person, "sex") == "male"
    assert group_text(person) == "sex male, school 0, age 30"


@pytest.mark.parametrize(
    ("values", "key"),
    [([0, 1], "1"), ([0.0, 1.0], "1"), ([False, True], "true"), (["a", "b"], "b")],
)
def test_a_key_is_the_text_of_a_value(values: list[object], key: str) -> None:
    feature = eh.category("code", values, labels={key: "the second"})  # type: ignore[arg-type]
    assert shown(values[1], dict(feature.words)) == "the second"
    assert text_of(values[1]) == key


def test_toml_names_the_levels_of_columns_that_are_learnt(tmp_path) -> None:
    people = pd.DataFrame({"sex": [0, 1] * 10, "age": range(20, 40)})
    people.to_csv(tmp_path / "people.csv", index=False)
    table = {
        "from": "people.csv",
        "protected": ["sex"],
        "features": {"sex": {"labels": {"0": "female", "1": "male"}}},
    }
    space = space_from_table(table, tmp_path / "evenhand.toml")
    assert space.words == {"sex": {"0": "female", "1": "male"}}
    frame = eh.Space.from_frame(people, protected=["sex"], labels={"sex": SEXES})
    assert frame.words == space.words


@pytest.mark.parametrize(
    ("labels", "sentence"),
    [
        ({2: "x"}, "feature 'sex': labels names '2', which is none of its values"),
        ({0: "x", 1: "x"}, "feature 'sex': two values would be called 'x'"),
        ({0: "1"}, "feature 'sex': two values would be called '1'"),
        ({0: " "}, "feature 'sex': the label of 0 is ' '; it must be a text"),
        ({0: 7}, "feature 'sex': the label of 0 is 7; it must be a text"),
        ({0: "x", "0": "y"}, "feature 'sex': '0' has two labels"),
        (["x"], "feature 'sex': labels = ['x'] must be a table by value"),
    ],
)
def test_wrong_labels_are_refused(labels: object, sentence: str) -> None:
    with pytest.raises(SpaceError) as refused:
        eh.category("sex", [0, 1], labels=labels)  # type: ignore[arg-type]
    assert sentence in str(refused.value)


def test_labels_of_bins_and_of_numbers() -> None:
    ages = {"18 to under 40": "young", "40 to 90": "old"}
    age = eh.integer("age", 18, 90, bins=[18, 40, 90], labels=ages)
    space = eh.Space([age], ["age"])
    found = eh.measure(lambda people: people["age"] > 50, space, kind="group")
    assert sorted(map(str, found.worst.groups)) == ["age old", "age young"]
    with pytest.raises(SpaceError, match="labels names '17'"):
        eh.integer("age", 18, 90, labels={17: "too young"})


def test_rules_name_levels_and_short_ranges_by_their_labels() -> None:
    schools = {0: "none", 1: "primary", 2: "secondary", 3: "college"}
    space = coded(sex=SEXES, school=schools)
    rule = Rule.of(space, [Condition("sex", levels=(0,)), Condition("school", high=1)])
    assert str(rule) == "sex female, school none or primary"
    assert Rule.from_dict(json.loads(json.dumps(rule.to_dict()))).text == rule.text
    bare = Rule.of(coded(sex={}), rule.conditions)
    assert bare == rule
    assert [condition.to_dict(labels=False) for condition in rule.conditions] == [
        condition.to_dict() for condition in bare.conditions
    ]


def test_a_range_with_a_value_without_a_label_stays_in_numbers() -> None:
    space = coded(sex=SEXES, school={3: "college"})
    assert str(Rule.of(space, [Condition("school", low=2)])) == "school at least 2"
    assert str(Rule.of(space, [Condition("school", low=3)])) == "school college"


def test_a_labelled_record_is_a_dictionary() -> None:
    person = Labelled({"sex": 0}, {"sex": {"0": "female"}})
    assert json.dumps(person) == '{"sex": 0}'
    assert person == {"sex": 0}
