"""Responses in the form of a service: where their outcomes stand, and what is said otherwise."""

from __future__ import annotations

import pytest

from evenhand.runtime.errors import UsageError
from evenhand.subject.adapters.http.response import ResponseReader


def outcomes(answer, response=None, count=2, outputs=(), *, per_record=False):
    reader = ResponseReader(response, per_record=per_record)
    return reader.outcomes(answer, count, outputs)


RESULTS = {"results": [{"decision": "yes", "rate": 3}, {"decision": "no", "rate": 4}]}


def test_a_path_with_and_without_a_list():
    assert outcomes(RESULTS, {"outcome": "results[].decision"}) == ["yes", "no"]
    assert outcomes({"p": [1, 0]}, {"outcome": "p"}) == [1, 0]
    one = {"data": {"decision": "yes"}}
    assert outcomes(one, {"outcome": "data.decision"}, 1, per_record=True) == ["yes"]
    listed = {"results": [{"decision": "yes"}]}
    path = {"outcome": "results[].decision"}
    assert outcomes(listed, path, 1, per_record=True) == ["yes"]


def test_several_outputs_by_paths_or_at_one_path():
    paths = {"outcome": {"rate": "results[].rate", "decision": "results[].decision"}}
    names = ("decision", "rate")
    assert outcomes(RESULTS, paths, outputs=names) == [["yes", 3], ["no", 4]]
    assert outcomes(RESULTS, {"outcome": "results[]"}, outputs=names) == RESULTS["results"]
    reader = ResponseReader(paths, per_record=False)
    reader.check(names)
    with pytest.raises(UsageError, match=r"outputs = \['rate', 'decision'\]"):
        reader.check(())
    with pytest.raises(UsageError, match=r"no path for the output 'decisoin'.*'decision'"):
        reader.check(("decisoin", "rate"))


@pytest.mark.parametrize(
    ("answer", "response", "words"),
    [
        (RESULTS, None, ["without 'outcomes'", "keys 'results'", '"results[].decision"']),
        (
            RESULTS,
            {"outcome": "result[].decision"},
            ["without 'result'", '"results[].decision"'],
        ),
        (RESULTS, {"outcome": "results[].label"}, ["without 'label'", "'decision'"]),
        ({"p": [1]}, {"outcome": "p"}, ["1 outcomes instead of 2"]),
        ({"p": 1}, {"outcome": "p"}, ["1 in 'p' instead of a list"]),
    ],
)
def test_another_shape_says_what_was_seen_and_what_to_write(answer, response, words):
    with pytest.raises(ValueError) as caught:
        outcomes(answer, response)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("response", "words"),
    [
        ({"outcom": "a"}, "did you mean 'outcome'"),
        ({"outcome": 3}, "must be a path"),
        ({"outcome": "a..b"}, "cannot be read as a path"),
        ({"outcome": {"rate": "a..b"}}, "outcome rate"),
        ("decision", "must be a table"),
    ],
)
def test_responses_that_cannot_be_used(response, words):
    with pytest.raises(UsageError, match=words):
        ResponseReader(response, per_record=False)


# Answers without a path


@pytest.mark.parametrize(
    ("answer", "outputs", "found"),
    [
        ("yes", (), ["yes"]),
        ({"outcome": "yes", "model": "v2"}, (), ["yes"]),
        ([1, 2], (), [[1, 2]]),
        # With several outputs an object may be the record itself, or hold it.
        (
            {"rate": 3, "decision": "no"},
            ("decision", "rate"),
            [{"rate": 3, "decision": "no"}],
        ),
        ({"outcome": {"a": 1, "b": 2}, "id": 7}, ("a", "b"), [{"a": 1, "b": 2}]),
        ({"outcome": [1, 2], "id": 7}, ("a", "b"), [[1, 2]]),
        (
            {"outcome": "yes", "rate": 3},
            ("outcome", "rate"),
            [{"outcome": "yes", "rate": 3}],
        ),
    ],
)
def test_the_usual_answer_about_one_input(answer, outputs, found):
    assert outcomes(answer, None, 1, outputs, per_record=True) == found


@pytest.mark.parametrize("answer", [["yes", "no"], {"outcomes": ["yes", "no"]}])
def test_the_usual_answer_about_many_inputs(answer):
    assert outcomes(answer) == ["yes", "no"]


def test_an_object_for_many_inputs_is_never_a_record():
    assert complaint({"a": 1, "b": 2}, outputs=("a", "b")) == (
        "an object without 'outcomes': an object with the keys 'a', 'b'"
    )


def complaint(*arguments, **options):
    """Return the complaint about an answer without outcomes."""
    with pytest.raises(ValueError) as caught:
        outcomes(*arguments, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("answer", "response", "sentence"),
    [
        ([1, 2, 3], None, "3 outcomes instead of 2"),
        ("yes", None, '"yes" instead of a list of outcomes'),
        ({"outcomes": "yes"}, None, '"yes" instead of a list of outcomes'),
        # Nothing is offered where no list has one item for each input.
        (
            {"labels": [1, 2, 3]},
            None,
            "an object without 'outcomes': an object with the keys 'labels'",
        ),
        (
            {"labels": [1, 2, 3]},
            {"outcome": "x"},
            "an object without 'x' (valid choices are 'labels')",
        ),
        (
            {"labels": [1, 2]},
            {"outcome": "x"},
            "an object without 'x' (valid choices are 'labels'); if the outcome is there, write"
            ' response = { outcome = "labels[]" }',
        ),
        ({"p": [1, 2, 3]}, {"outcome": "p[]"}, "3 outcomes instead of 2"),
    ],
)
def test_the_complaint_about_an_answer_to_many_inputs(answer, response, sentence):
    assert complaint(answer, response) == sentence


def test_the_complaint_about_an_answer_to_one_input():
    assert complaint({"labels": ["yes"]}, None, 1, per_record=True) == (
        "an object without 'outcome': an object with the keys 'labels'; if the outcome is there,"
        ' write response = { outcome = "labels[0]" }'
    )
    path = {"outcome": "p[]"}
    assert complaint({"p": [1, 2]}, path, 1, per_record=True) == "2 outcomes instead of 1"


def test_the_paths_are_written_to_tell_responses_apart():
    assert ResponseReader(None, per_record=False).written() == ""
    one = ResponseReader({"outcome": "p[]"}, per_record=False)
    assert one.written() == "p[]"
    one.check(("a", "b"))
    several = ResponseReader({"outcome": {"a": "x", "b": "y"}}, per_record=True)
    assert several.written() == "a: x, b: y"
    assert several.outcomes({"x": 1, "y": 2}, 1, ("b", "a")) == [[2, 1]]
