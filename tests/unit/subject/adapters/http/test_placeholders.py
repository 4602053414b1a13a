"""Texts with places and environment variables, and the values that no message repeats."""

from __future__ import annotations

import json

import pytest

from evenhand.runtime.errors import UsageError
from evenhand.subject.adapters.http.placeholders import Piece, Variables, pieces


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("as it is", [Piece("words", "as it is")]),
        ("{a}", [Piece("place", "a")]),
        ("{a}{b}", [Piece("place", "a"), Piece("place", "b")]),
        ("x{a}y", [Piece("words", "x"), Piece("place", "a"), Piece("words", "y")]),
        ("${A}.", [Piece("variable", "A"), Piece("words", ".")]),
        ("$${A}", [Piece("words", "${A}")]),
        ("{{a}}", [Piece("words", "{"), Piece("words", "a"), Piece("words", "}")]),
    ],
)
def test_the_parts_of_a_text(text, parts):
    assert pieces(text, "query") == parts


@pytest.mark.parametrize(("text", "brace"), [("a{", "{"), ("}", "}"), ("${}", "${}")])
def test_braces_that_name_nothing(text, brace):
    with pytest.raises(UsageError) as caught:
        pieces(text, "query")
    assert str(caught.value).startswith(
        f"query has {text!r}, in which {brace!r} names nothing"
    )


def test_a_value_of_four_characters_is_hidden_and_a_shorter_one_is_not():
    variables = Variables({"SHORT": "abc", "LONG": "abcd"})
    assert variables.value("SHORT", "x") == "abc"
    assert variables.value("LONG", "x") == "abcd"
    assert variables.hidden("abc abcd abcde") == "abc ${LONG} ${LONG}e"


def test_of_values_that_hold_each_other_the_longest_is_hidden():
    variables = Variables({"A": "abcd", "B": "abcdefgh"})
    assert variables.filled("${A} ${B} ${A}", "x") == "abcd abcdefgh abcd"
    assert variables.hidden("abcdefgh, abcd") == "${B}, ${A}"


def test_a_value_is_hidden_as_json_and_addresses_write_it():
    secret = 'say "a/b"'
    variables = Variables({"A": secret})
    variables.value("A", "x")
    assert variables.hidden(f"got {json.dumps(secret)}") == 'got "${A}"'
    assert variables.hidden("?a=say%20%22a%2Fb%22&b") == "?a=${A}&b"


def test_nothing_is_hidden_before_it_was_named():
    variables = Variables({"A": "abcdef"})
    assert variables.hidden("abcdef") == "abcdef"


def test_keys_and_texts_of_json_are_hidden():
    variables = Variables({"A": "abcdef"})
    variables.value("A", "x")
    answer = {"abcdef": ["abcdef", {"x": "an abcdef"}, 3, None], "y": True}
    hidden = {"${A}": ["${A}", {"x": "an ${A}"}, 3, None], "y": True}
    assert variables.hidden_in(answer) == hidden


def test_other_braces_stay_as_they_are():
    variables = Variables({"A": "abcdef"})
    assert variables.filled("{age} $${A} ${A} {{}} {", "x") == "{age} ${A} abcdef {{}} {"


@pytest.mark.parametrize(
    ("environment", "state"), [({}, "is not set"), ({"A": ""}, "is empty")]
)
def test_a_variable_without_a_value(environment, state):
    with pytest.raises(UsageError) as caught:
        Variables(environment).value("A", "the header X")
    assert str(caught.value) == (
        f"the header X names the environment variable A, which {state}; run: export A=…"
    )


def test_without_an_environment_it_is_that_of_the_process(monkeypatch):
    monkeypatch.setenv("EVENHAND_TRIED", "of the process")
    assert Variables().value("EVENHAND_TRIED", "x") == "of the process"
    with pytest.raises(UsageError, match="is not set"):
        Variables({}).value("EVENHAND_TRIED", "x")


def test_a_header_whose_name_tells_of_a_secret_is_hidden_with_its_last_word():
    variables = Variables({})
    assert variables.header("authorization", "Bearer abcdef") == "Bearer abcdef"
    assert variables.hidden("Bearer abcdef") == "…"
    assert variables.hidden("abcdef, Bearer") == "…, Bearer"


@pytest.mark.parametrize(
    ("name", "text"), [("X-Model", "second"), ("X-Key", ""), ("X-Key", " ")]
)
def test_headers_of_which_nothing_is_hidden(name, text):
    variables = Variables({})
    assert variables.header(name, text) == text
    assert variables.hidden("second of  all") == "second of  all"


def test_a_header_that_names_a_variable_shows_its_name():
    variables = Variables({"A": "abcdef"})
    assert variables.header("X-Key", "Bearer ${A}") == "Bearer abcdef"
    assert variables.hidden("Bearer abcdef") == "Bearer ${A}"
