"""Paths in JSON: what they lead to, and what is said where they lead nowhere."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import UsageError
from evenhand.subject.adapters.http.paths import OutcomePath, joined, outcome_paths, seen
from tests.support.helpers import examples

ANSWER = {
    "model": "v2",
    "results": [
        {"decision": "yes", "scores": [0.9, 0.1]},
        {"decision": "no", "scores": [0.2, 0.8]},
    ],
    "odd key": {"a.b": 1},
}


def read(text: str) -> OutcomePath:
    return OutcomePath.of(text, "outcome")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("model", "v2"),
        ("results[].decision", ["yes", "no"]),
        ("$.results[*].decision", ["yes", "no"]),
        ("results[1].decision", "no"),
        ("results[].scores[0]", [0.9, 0.2]),
        ('"odd key"."a.b"', 1),
        ("odd key", {"a.b": 1}),
        ("", ANSWER),
        ("$", ANSWER),
    ],
)
def test_a_path_leads_to_a_value(text, found):
    assert read(text).found(ANSWER) == found


def test_a_path_goes_through_the_list_that_is_the_answer():
    assert read("[].decision").found(ANSWER["results"]) == ["yes", "no"]
    assert read("[]").found([1, 2]) == [1, 2]


@pytest.mark.parametrize("text", ["a..b", "a.", "a[b]", "a]", "[]x", 'a"b"', "..a"])
def test_texts_that_are_no_paths(text):
    with pytest.raises(UsageError, match=r"cannot be read as a path.*results\[\].decision"):
        read(text)


def test_two_lists_and_other_types_are_refused():
    with pytest.raises(UsageError, match=r"has \[\] twice.*write \[0\]"):
        read("a[].b[]")
    with pytest.raises(UsageError, match="must be a path"):
        OutcomePath.of(3, "outcome")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("result[].decision", ["without 'result'", "did you mean 'results'"]),
        ("results[].decisoin", ["'decisoin' in 'results[]'", "'decision'"]),
        ("model[]", ["\"v2\" instead of a list in 'model'"]),
        ("results[7].decision", ["2 items in results"]),
        ("model.name", ["instead of an object with 'name' in 'model'"]),
    ],
)
def test_a_path_that_leads_nowhere_says_what_is_there(text, words):
    with pytest.raises(ValueError) as caught:
        read(text).found(ANSWER)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("answer", "text", "sentence"),
    [
        ({}, "label", "an object without 'label'"),
        ({"a": {}}, "a.label", "an object without 'label' in 'a'"),
        (7, "label", "7 instead of an object with 'label'"),
        ({"a": 7}, "a.label", "7 instead of an object with 'label' in 'a'"),
        (7, "[].label", "7 instead of a list"),
        ([], "[1]", "0 items in the list"),
        ({"a": [1]}, "a[1]", "1 items in a"),
    ],
)
def test_a_path_names_the_place_where_it_ends(answer, text, sentence):
    with pytest.raises(ValueError) as caught:
        read(text).found(answer)
    assert str(caught.value) == sentence


@settings(max_examples=examples(60), deadline=None)
@given(keys=st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=4))
def test_any_keys_can_be_written_as_a_path(keys):
    text, value = "", "here"
    for key in keys:
        text = joined(text, key)
    nested: object = value
    for key in reversed(keys):
        nested = {key: nested}
    assert read(text).found(nested) == value


@pytest.mark.parametrize(
    ("answer", "count", "first"),
    [
        ({"results": [{"id": 1, "decision": "no"}]}, 1, "results[].decision"),
        ([{"score": 0.3, "label": "no"}] * 3, 3, "[].label"),
        ({"predictions": [0, 1, 1]}, 3, "predictions[]"),
        ({"data": {"outcome": "yes"}, "status": "ok"}, None, "data.outcome"),
        ([["yes"]], None, "[0][0]"),
        ("yes", None, ""),
    ],
)
def test_the_likeliest_path_is_first(answer, count, first):
    assert outcome_paths(answer, count)[0] == first


def test_a_list_of_another_length_holds_no_outcomes():
    assert outcome_paths({"predictions": [0, 1]}, 3) == []
    assert outcome_paths({"error": "no such field"}, 3) == []
    assert outcome_paths({"a": {"b": {"c": {"d": {"e": 1}}}}}, None) == []


def test_a_repeated_input_comes_last():
    paths = outcome_paths({"age": 30, "zeal": 2, "error": None}, None, ["age"])
    assert paths == ["zeal", "age"]


def test_an_answer_is_named_by_its_keys():
    many = {str(number): number for number in range(100)}
    assert len(seen(many)) < 200
    assert seen({}) == "an empty object"
    assert seen([json.dumps(many)] * 9).endswith("…")
