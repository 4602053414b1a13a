"""Requests in the form of a service: templates, what they send, and what is wrong with some."""

from __future__ import annotations

import json
from typing import Any

import pytest

from evenhand.runtime.errors import UsageError
from evenhand.space.feature import Feature, category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.http.request import (
    RequestTemplate,
    is_latin,
    place_filler,
    places_of,
    text_of,
)
from tests.support.helpers import sentence

URL = "http://127.0.0.1:8000/score"
RECORDS: list[Any] = [{"sex": "F", "age": 30}, {"sex": "M", "age": 41}]
SPACE = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
    ],
    protected=["sex"],
)


def sent(request, records=RECORDS, url=URL, **options):
    """Return the body that a template sends."""
    template = RequestTemplate(url, request, **options)
    count = 1 if template.per_record else len(records)
    wire = template.filled(records[:count])
    if wire.body is None:
        return None
    return json.loads(wire.body)


def refused(request, *words, url=URL, **options):
    with pytest.raises(UsageError) as caught:
        RequestTemplate(url, request, **options)
    for word in words:
        assert word in sentence(caught.value)


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        (None, {"inputs": RECORDS}),
        ({"body": "{inputs}"}, RECORDS),
        (
            {"body": {"applicants": "{inputs}", "model": "v2"}},
            {"applicants": RECORDS, "model": "v2"},
        ),
        (
            {"body": {"age": "{age[]}", "sex": "{sex[]}"}},
            {"age": [30, 41], "sex": ["F", "M"]},
        ),
        (
            {
                "body": {"data": [["{age}", "{sex}"]], "columns": ["age", "sex"]},
                "per": "batch",
            },
            {"data": [[30, "F"], [41, "M"]], "columns": ["age", "sex"]},
        ),
        (
            {"body": [{"person": {"years": "{age}"}, "sex": "{sex}"}], "per": "batch"},
            [{"person": {"years": 30}, "sex": "F"}, {"person": {"years": 41}, "sex": "M"}],
        ),
        (
            {"body": {"instances": ["{*}"]}, "per": "batch"},
            {"instances": [["F", 30], ["M", 41]]},
        ),
    ],
)
def test_a_batch_in_the_form_of_the_service(request_, body):
    assert sent(request_) == body
    assert not RequestTemplate(URL, request_).per_record


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        ({"per": "record"}, RECORDS[0]),
        ({"body": {"applicant": "{input}"}}, {"applicant": RECORDS[0]}),
        ({"body": {"people": "{inputs}"}, "per": "record"}, {"people": RECORDS[:1]}),
        ({"body": {"features": "{*}"}}, {"features": ["F", 30]}),
        (
            {"body": {"person": {"years": "{age}"}, "sex": "{sex}"}},
            {"person": {"years": 30}, "sex": "F"},
        ),
        ({"body": {"text": "{sex}, {age} years, {{so}}"}}, {"text": "F, 30 years, {so}"}),
        (
            {"body": {"a": ["{age}"], "n": None, "t": True}},
            {"a": [30], "n": None, "t": True},
        ),
    ],
)
def test_one_input_in_the_form_of_the_service(request_, body):
    assert sent(request_) == body
    assert RequestTemplate(URL, request_).per_record


def test_values_keep_their_types_and_missing_ones_are_null():
    record: Any = {"sex": None, "age": 30.5}
    template = {"body": {"a": "{age}", "s": "{sex}", "text": "{age}/{sex}"}}
    assert sent(template, [record]) == {"a": 30.5, "s": None, "text": "30.5/"}


def test_single_is_one_input():
    assert sent(None, single=True) == RECORDS[0]


def test_a_query():
    template = RequestTemplate(f"{URL}?v=1", {"method": "GET"})
    wire = template.filled([{"sex": "a b&c", "age": 30}])
    assert wire == ("GET", "/score?v=1&sex=a%20b%26c&age=30", None)
    assert "Content-Type" not in template.headers
    named = {
        "method": "GET",
        "query": {"years": "{age}", "model": "v2", "x": ["{sex}", "é"]},
    }
    wire = RequestTemplate(URL, named).filled([{"sex": "F", "age": 30}])
    assert wire.target == "/score?years=30&model=v2&x=F&x=%C3%A9"


def test_a_query_leaves_out_what_is_missing():
    unknown: list[Any] = [{"sex": None, "age": 30}]
    wire = RequestTemplate(URL, {"method": "GET"}).filled(unknown)
    assert wire.target == "/score?age=30"


def test_a_constant_query_beside_a_body():
    template = RequestTemplate(URL, {"query": {"model": "v2"}})
    wire = template.filled(RECORDS)
    assert wire.target == "/score?model=v2"
    assert json.loads(wire.body or b"") == {"inputs": RECORDS}


def test_values_in_the_address():
    template = RequestTemplate("http://127.0.0.1:8000/{sex}/{age}")
    assert template.per_record
    wire = template.filled([{"sex": "a/b", "age": 30}])
    assert wire == ("POST", "/a%2Fb/30", None)


def test_a_form():
    headers = {"content-type": "application/x-www-form-urlencoded"}
    request = {"body": "{input}", "headers": headers}
    wire = RequestTemplate(URL, request).filled(RECORDS[:1])
    assert wire.body == b"sex=F&age=30"


# Environment variables


def test_variables_are_filled_in_and_hidden(monkeypatch):
    monkeypatch.setenv("SCORE_TOKEN", "s3cr3t/+")
    monkeypatch.setenv("SCORE_HOST", "127.0.0.1:8000")
    request = {
        "headers": {"Authorization": "Bearer ${SCORE_TOKEN}"},
        "body": {"inputs": "{inputs}", "key": "${SCORE_TOKEN}", "price": "$${x}"},
        "query": {"key": "k-${SCORE_TOKEN}"},
    }
    template = RequestTemplate("http://${SCORE_HOST}/score", request)
    assert template.headers["Authorization"] == "Bearer s3cr3t/+"
    assert template.address.port == 8000
    wire = template.filled(RECORDS)
    assert json.loads(wire.body or b"")["key"] == "s3cr3t/+"
    assert json.loads(wire.body or b"")["price"] == "${x}"
    assert wire.target == "/score?key=k-s3cr3t%2F%2B"
    assert "s3cr3t" not in template.written()
    hidden = template.variables.hidden('you sent "Bearer s3cr3t/+", ?key=s3cr3t%2F%2B')
    assert hidden == 'you sent "Bearer ${SCORE_TOKEN}", ?key=${SCORE_TOKEN}'


def test_a_header_that_is_written_out_is_hidden_too():
    template = RequestTemplate(URL, None, {"X-Api-Key": "abcdef", "X-Model": "second"})
    assert template.variables.hidden("abcdef of second") == "… of second"


@pytest.mark.parametrize(("value", "word"), [(None, "is not set"), ("", "is empty")])
def test_a_variable_without_a_value_is_named(monkeypatch, value, word):
    monkeypatch.delenv("SCORE_TOKEN", raising=False)
    if value is not None:
        monkeypatch.setenv("SCORE_TOKEN", value)
    header = {"headers": {"Authorization": "Bearer ${SCORE_TOKEN}"}}
    words = ("the header Authorization", "SCORE_TOKEN", word, "export SCORE_TOKEN=")
    refused(header, *words)
    refused({"body": {"k": "${SCORE_TOKEN}", "i": "{inputs}"}}, "SCORE_TOKEN", word)
    refused(None, "SCORE_TOKEN", word, url="http://127.0.0.1/${SCORE_TOKEN}")


def test_a_secret_that_cannot_be_sent_is_not_repeated(monkeypatch):
    monkeypatch.setenv("SCORE_TOKEN", "sec\nret")
    with pytest.raises(UsageError) as caught:
        RequestTemplate(URL, None, {"Authorization": "${SCORE_TOKEN}"})
    assert "sec" not in str(caught.value)
    monkeypatch.setenv("SCORE_TOKEN", "secret here")
    with pytest.raises(UsageError) as caught:
        RequestTemplate("http://127.0.0.1/${SCORE_TOKEN}")
    assert "percent-encode" in str(caught.value)
    assert "secret" not in str(caught.value)


# What cannot be sent


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"metod": "GET"}, ["unknown key 'metod'", "did you mean 'method'"]),
        ({"method": "DELETE"}, ["method = 'DELETE'", "POST"]),
        ({"method": "GET", "body": "{inputs}"}, ["sends none", "query"]),
        ({"body": {"model": "v2"}}, ["without a place for the inputs", "{inputs}"]),
        (
            {"body": {"age": "{age}"}, "per": "batch"},
            ["{age}", "of one input", "list of one item"],
        ),
        ({"query": {"age": "{age}"}, "per": "batch"}, ["per = 'batch'", "leave it out"]),
        ({"query": {"all": "{input}"}}, ["single values", "body"]),
        ({"body": "all: {inputs}"}, ["{inputs} must stand alone"]),
        ({"body": {"a": "{"}}, ["'{' names nothing", "{{"]),
        ({"body": {"a": "{}"}}, ["'{}' names nothing"]),
        ({"body": {"a": {1, 2}, "b": "{input}"}}, ["no form in JSON"]),
        ({"headers": {"X": 3}}, ["header 'X'", "text of one line"]),
        ("{inputs}", ["must be a table"]),
        ({"per": "person"}, ["per = 'person'", "record"]),
    ],
)
def test_templates_that_cannot_be_used(request_, words):
    refused(request_, *words)


def test_single_and_batch_contradict_each_other():
    refused({"per": "batch"}, "contradict", single=True)


def test_a_place_must_name_a_feature():
    template = RequestTemplate(URL, {"body": {"years": "{agee}", "sex": "{sex}"}})
    with pytest.raises(UsageError, match=r"\{agee\}.*did you mean 'age'"):
        template.check(SPACE)


def test_a_feature_without_a_place_is_never_seen_by_the_service():
    template = RequestTemplate(URL, {"body": {"years": "{age}"}})
    with pytest.raises(UsageError, match=r"no place for the feature 'sex'.*passed = false"):
        template.check(SPACE)
    hidden = Feature("sex", "category", ("F", "M"), passed=False)
    template.check(Space([hidden, integer("age", 18, 90)], protected=["sex"]))


# Which requests hold one input, and what they are made of


@pytest.mark.parametrize(
    ("request_", "body"),
    [
        # A value in the query is of one input, and the list in the body has that one.
        ({"body": "{inputs}", "query": {"age": "{age}"}}, RECORDS[:1]),
        ({"body": {"model": "v2"}, "query": {"age": "{age}"}}, {"model": "v2"}),
        ({"body": {"age": "{age[]}"}, "per": "record"}, {"age": [30]}),
    ],
)
def test_a_request_with_a_value_outside_the_body_holds_one_input(request_, body):
    assert RequestTemplate(URL, request_).per_record is True
    assert sent(request_) == body


def test_single_sends_a_list_of_one_input():
    assert RequestTemplate(URL, {"body": "{inputs}"}, single=True).per_record is True
    assert RequestTemplate(URL, {"body": "{inputs}"}).per_record is False
    assert RequestTemplate(URL, {"method": "GET"}).per_record is True


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        ({"method": "GET", "per": "batch"}, ["per = 'batch'", "leave it out"]),
        ({"query": {"all": "{inputs}"}}, ["single values"]),
        ({"query": {"all": "{*}"}}, ["single values"]),
        ({"query": {"ages": "{age[]}"}}, ["single values"]),
        ({"body": "of {age[]}"}, ["{age[]} must stand alone"]),
        ({"body": "of {input}"}, ["{input} must stand alone"]),
        ({"body": "of {*}", "per": "record"}, ["{*} must stand alone"]),
        ({"body": ["{age}", "{sex}"], "per": "batch"}, ["of one input"]),
        ({"body": {"a": "{inputs}", "b": ["{age}", 1]}}, ["of one input"]),
        ({"body": {"a": b"{inputs}", "b": "{inputs}"}}, ["no form in JSON"]),
        ({"headers": {"X": "a\x07b"}}, ["header 'X'", "text of one line"]),
        ({"headers": {"X": "\u0109"}}, ["header 'X'", "text of one line"]),
        ({"headers": {"X Y": "z"}}, ["header 'X Y'", "a name of letters"]),
    ],
)
def test_more_templates_that_cannot_be_used(request_, words):
    refused(request_, *words)


@pytest.mark.parametrize("url", [3, None, b"http://127.0.0.1/"])
def test_an_address_that_is_no_text(url):
    refused(None, repr(url), "plain ASCII text", url=url)


@pytest.mark.parametrize(
    ("body", "found"),
    [
        # Only a list of one item that is about one input is repeated for each.
        ({"of": "{inputs}", "columns": ["age"]}, {"of": RECORDS, "columns": ["age"]}),
        (["{inputs}"], [RECORDS]),
        (["{age[]}"], [[30, 41]]),
        (["{age[]}", "{sex[]}"], [[30, 41], ["F", "M"]]),
        (("{inputs}", 1.5), [RECORDS, 1.5]),
        (
            {"of": "{inputs}", "n": None, "f": False, "i": 0, "x": 0.5},
            {"of": RECORDS, "n": None, "f": False, "i": 0, "x": 0.5},
        ),
    ],
)
def test_lists_and_constants_of_a_batch(body, found):
    assert sent({"body": body, "per": "batch"}) == found


def test_a_variable_that_stands_alone_is_a_text(monkeypatch):
    monkeypatch.setenv("SCORE_MODEL", "7")
    found = sent({"body": {"model": "${SCORE_MODEL}", "a": "{age}", "b": "{age} y"}})
    assert found == {"model": "7", "a": 30, "b": "30 y"}


def test_a_get_sends_all_values_beside_constants_or_those_that_are_named():
    constant = RequestTemplate(URL, {"method": "GET", "query": {"model": "v2"}})
    wire = constant.filled([{"flag": True, "age": 30}])
    assert wire == ("GET", "/score?flag=true&age=30&model=v2", None)
    named = RequestTemplate("http://127.0.0.1/{age}", {"method": "GET"})
    assert named.filled(RECORDS[:1]) == ("GET", "/30", None)


def test_items_of_a_parameter_that_are_missing_are_left_out():
    template = RequestTemplate(URL, {"query": {"x": ["{sex}", "{age}"]}})
    one: Any = {"sex": None, "age": 30}
    none: Any = {"sex": None, "age": None}
    assert template.filled([one]).target == "/score?x=30"
    assert template.filled([none]).target == "/score"


def test_the_address_has_a_letter_in_place_of_a_value():
    template = RequestTemplate("http://127.0.0.1:8000/a/{age}?s={sex}")
    assert template.address == ("http", "127.0.0.1", 8000, "/a/x?s=x")
    assert template.filled(RECORDS[:1]).target == "/a/30?s=F"
    unusual: Any = {"sex": None, "age": True}
    assert template.filled([unusual]).target == "/a/true?s="


def test_headers_of_the_user_replace_the_usual_ones():
    json_text = "application/json"
    usual = {"Content-Type": json_text, "Accept": json_text}
    assert RequestTemplate(URL).headers == usual
    assert RequestTemplate(URL, {"method": "GET"}).headers == {"Accept": json_text}
    own = RequestTemplate(URL, {"headers": {"X": "é"}}, {"accept": "text/csv", "X": "1"})
    assert own.headers == {"Content-Type": json_text, "accept": "text/csv", "X": "é"}


def test_only_an_object_is_sent_as_a_form():
    headers = {"Content-Type": "application/x-www-form-urlencoded; charset=utf-8"}
    form = RequestTemplate(URL, {"body": {"a": "{age[]}", "b": "x y"}}, headers)
    assert form.filled(RECORDS).body == b"a=30&a=41&b=x%20y"
    listed = RequestTemplate(URL, {"body": "{inputs}"}, headers)
    assert json.loads(listed.filled(RECORDS).body or b"") == RECORDS
    plain = RequestTemplate(URL, {"body": "{input}"}, {"X": headers["Content-Type"]})
    assert json.loads(plain.filled(RECORDS).body or b"") == RECORDS[0]


@pytest.mark.parametrize(
    "request_",
    [
        None,
        {"method": "GET"},
        {"body": {"a": "{age[]}", "s": "{sex[]}"}},
        {"body": {"all": "{input}", "a": "{age}"}},
        {"body": {"all": "{*}"}},
        {"body": {"a": "{age}"}, "query": {"s": "{sex}"}},
    ],
)
def test_a_request_that_shows_every_feature_fits_a_space(request_):
    template = RequestTemplate(URL, request_)
    template.check(SPACE)


def test_a_place_of_a_list_must_name_a_feature_too():
    template = RequestTemplate(URL, {"body": {"all": "{inputs}", "a": "{agee[]}"}})
    with pytest.raises(UsageError, match=r"\{agee\}, which is no feature"):
        template.check(SPACE)
    gone = Feature("age", "integer", low=18, high=90, passed=False)
    template = RequestTemplate(URL, {"body": {"all": "{input}", "a": "{age}"}})
    with pytest.raises(UsageError, match=r"\{age\}, which is no feature that is passed"):
        template.check(Space([category("sex", ["F", "M"]), gone]))


def test_the_templates_are_written_to_tell_them_apart():
    assert json.loads(RequestTemplate(URL).written()) == [
        "POST",
        {"inputs": "{inputs}"},
        {},
    ]
    template = RequestTemplate(URL, {"method": "GET", "query": {"a": "{age}"}})
    assert json.loads(template.written()) == ["GET", None, {"a": "{age}"}]


def test_places_are_found_in_all_of_a_template():
    template = {"a": ["{x}", ("{y} and {z}", 3)], "b": {"c": "{inputs}"}, "d": None}
    assert list(places_of(template)) == ["x", "y", "z", "inputs"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(None, ""), (True, "true"), (30, "30"), (0.5, "0.5"), ("a b", "a b"), ("", "")],
)
def test_a_value_as_text(value, text):
    assert text_of(value) == text


def test_what_a_header_can_hold():
    assert is_latin("é") is True
    assert is_latin("\u0109") is False


def test_a_name_in_the_address_may_have_a_space():
    template = RequestTemplate("http://127.0.0.1/{hours a week}")
    assert template.filled([{"hours a week": 40}]).target == "/40"


def test_a_place_of_one_input_takes_the_first():
    assert place_filler("age")(RECORDS) == 30
    assert place_filler("input")(RECORDS) == RECORDS[0]
    assert place_filler("*")(RECORDS) == ["F", 30]
    assert place_filler("inputs")(RECORDS) == RECORDS
    assert place_filler("age[]")(RECORDS) == [30, 41]
