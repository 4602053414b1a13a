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


# Where outcomes may stand


@pytest.mark.parametrize(
    ("answer", "count", "paths"),
    [
        ({"a": {"b": {"c": {"d": 1}}}}, None, ["a.b.c.d"]),
        ([[[[1]]]], None, ["[0][0][0][0]"]),
        ([[[[[1]]]]], None, []),
        ([{"a": {"b": {"c": 1}}}], 1, ["[].a.b.c"]),
        ([{"a": {"b": {"c": {"d": 1}}}}], 1, []),
        ([{"a": {"b": {"c": 1}}}], None, ["[0].a.b.c"]),
        ([{"a": {"b": {"c": {"d": 1}}}}], None, []),
        ([1, 2], None, []),
        ([], None, []),
        ([], 0, []),
        ([[1], [2]], 2, ["[][0]"]),
        ([[1, 2], [3, 4]], 2, []),
        # The first item stands for all of them.
        ([{"a": 1}, {"b": 2}], 2, ["[].a"]),
        ({"a": 0, "b": False, "c": ""}, None, ["a", "b", "c"]),
        ({"n": 3, "all": [1, 2, 3]}, 3, ["all[]"]),
    ],
)
def test_the_paths_of_an_answer(answer, count, paths):
    assert outcome_paths(answer, count) == paths


@pytest.mark.parametrize(
    ("answer", "paths"),
    [
        # Of names that say nothing, the one that is less deep is likelier.
        ({"x": {"zeal": 1}, "zest": 2}, ["zest", "x.zeal"]),
        ({"risk": 1, "Decision": 2, "Labels": 3}, ["Decision", "Labels", "risk"]),
        ({"zeal": 1, "x": {"outcome": 2}}, ["x.outcome", "zeal"]),
        # Neither an error nor a repeated input is likely, whatever it is called.
        ({"ID": 1, "label": 2, "zeal": 3}, ["zeal", "label", "ID"]),
        ({"sent": {"label": 1}, "x": {"zeal": 3}}, ["x.zeal", "sent.label"]),
        ({"Label": 1, "zeal": 3}, ["Label", "zeal"]),
    ],
)
def test_the_order_of_paths(answer, paths):
    assert outcome_paths(answer, None, ["label"]) == paths


@pytest.mark.parametrize(
    ("answer", "text", "sentence"),
    [
        ({"a": [{}]}, "a[0].label", "an object without 'label' in 'a[0]'"),
        ([{"x": 1}, 3], "[].x", "3 instead of an object with 'x' in '[]'"),
        ({"a": {"b": 1}}, "a.b[]", "1 instead of a list in 'a.b'"),
        ([[1], [2, 3]], "[][1]", "1 items in []"),
    ],
)
def test_the_place_is_that_of_the_last_step(answer, text, sentence):
    with pytest.raises(ValueError) as caught:
        read(text).found(answer)
    assert str(caught.value) == sentence


def test_a_path_knows_whether_it_goes_through_a_list():
    assert read("a[].b").goes_through is True
    assert read("a[0].b").goes_through is False
    assert read(" $.a[*] ").steps == ("a", None)
    assert read("a[12]").steps == ("a", 12)


def test_the_first_dozen_keys_are_named():
    shown = ", ".join(repr(letter) for letter in "abcdefghijkl")
    assert seen(dict.fromkeys("abcdefghijklm")) == f"an object with the keys {shown}"
    assert seen("no") == '"no"'


def test_keys_are_quoted_where_they_must_be():
    assert joined("", "a") == "a"
    assert joined("a", "b") == "a.b"
    assert joined("", "$a") == '"$a"'
    assert joined("a", "") == 'a.""'
