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
