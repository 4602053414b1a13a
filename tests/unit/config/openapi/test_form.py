"""Descriptions in OpenAPI as spaces and requests: what is read, and what is said of the rest."""

from __future__ import annotations

import json
from typing import Any

import pandas as pd
import pytest
import yaml

from evenhand.config.openapi.form import read_form, space_from_openapi
from evenhand.runtime.errors import ConfigError
from evenhand.space.feature import category, integer, real
from evenhand.subject.adapters.http.request import RequestTemplate
from tests.support.helpers import sentence

SERVER = "http://127.0.0.1:8000"


def document(body: Any, answer: Any = None, **parts: Any) -> dict[str, Any]:
    """Return a description of one path that takes this body."""
    operation: dict[str, Any] = {"responses": {}}
    if body is not None:
        operation["requestBody"] = {"content": {"application/json": {"schema": body}}}
    if answer is not None:
        content = {"application/json": {"schema": answer}}
        operation["responses"] = {"200": {"content": content}}
    paths = {"/score": {"post": operation}}
    return {"openapi": "3.1.0", "servers": [{"url": SERVER}], "paths": paths, **parts}


def person(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


AGE = {"type": "integer", "minimum": 18, "maximum": 90}
SEX = {"type": "string", "enum": ["F", "M"]}


@pytest.fixture
def write(tmp_path):
    def make(table, name="openapi.json"):
        file = tmp_path / name
        is_yaml = name.endswith("yaml")
        file.write_text(yaml.safe_dump(table) if is_yaml else json.dumps(table))
        return str(file)

    return make


@pytest.fixture
def read(write):
    """Return the space and the request of a description."""

    def make(table, **options):
        space, subject = space_from_openapi(write(table), "/score", **options)
        return space, subject

    return make


@pytest.fixture
def features(read):
    """Return the features that a body of these properties has."""

    def make(**properties):
        space, _ = read(document(person(**properties)))
        return list(space.features)

    return make


# What a field becomes


def test_ranges_enums_and_truth_values(features):
    found = features(
        age=AGE,
        sex=SEX,
        rate={"type": "number", "minimum": 0, "maximum": 1, "multipleOf": 0.25},
        owns={"type": "boolean"},
        level={"enum": [1, 2, 3]},
    )
    assert found == [
        integer("age", 18, 90),
        category("sex", ["F", "M"]),
        real("rate", 0, 1, step=0.25),
        category("owns", [False, True]),
        category("level", [1, 2, 3]),
    ]


@pytest.mark.parametrize(
    "open_ends",
    [
        {"exclusiveMinimum": 17, "exclusiveMaximum": 91},
        {"minimum": 17, "exclusiveMinimum": True, "maximum": 91, "exclusiveMaximum": True},
        {"minimum": 18, "exclusiveMinimum": False, "maximum": 90},
        {"minimum": 18, "exclusiveMinimum": 3, "maximum": 90},
    ],
)
def test_ends_that_do_not_belong_to_a_range(features, open_ends):
    assert features(age={"type": "integer", **open_ends}) == [integer("age", 18, 90)]


@pytest.mark.parametrize(
    "nullable",
    [
        {**AGE, "nullable": True},
        {**AGE, "type": ["integer", "null"]},
        {"anyOf": [AGE, {"type": "null"}]},
        {"oneOf": [{"type": "null"}, AGE]},
    ],
)
def test_null_is_a_missing_value(features, nullable):
    assert features(age=nullable) == [integer("age", 18, 90, missing=True)]


def test_null_among_levels(features):
    levels = {"enum": ["F", "M", None]}
    assert features(sex=levels) == [category("sex", ["F", "M"], missing=True)]


def test_references_and_parts_are_put_together(read):
    schemas = {
        "Sex": SEX,
        "Base": person(age=AGE),
        "Person": {
            "allOf": [{"$ref": "#/components/schemas/Base"}],
            "properties": {"sex": {"$ref": "#/components/schemas/Sex"}},
            "required": ["sex"],
        },
    }
    table = document(
        {"$ref": "#/components/schemas/Person"}, components={"schemas": schemas}
    )
    space, subject = read(table)
    assert space.names == ("age", "sex")
    assert subject["request"] == {"body": "{input}"}


def test_literals_of_several_types_are_one_list(features):
    options = [{"const": "a"}, {"enum": ["b", "c"]}]
    assert features(x={"anyOf": options}) == [category("x", ["a", "b", "c"])]
    number = {
        "anyOf": [{"type": "integer"}, {"type": "number", "minimum": 0, "maximum": 9}]
    }
    assert features(x=number) == [real("x", 0, 9)]


def test_dates_need_a_range_of_days(read):
    table = document(person(born={"type": "string", "format": "date"}))
    with pytest.raises(ConfigError, match=r"'born' .* no range of days.*2000-01-01"):
        read(table)
    space, _ = read(table, values={"born": "1950-01-01:2000-12-31"})
    assert space.feature("born").kind == "date"


# What a request becomes


def test_a_list_of_objects_is_a_batch(read):
    _, subject = read(
        document(person(applicants={"type": "array", "items": person(age=AGE)}))
    )
    assert subject["http"] == f"{SERVER}/score"
    assert subject["request"] == {"body": {"applicants": "{inputs}"}}


def test_nested_objects_constants_and_equal_names(read):
    body = person(
        kind={"const": "loan"},
        note={"type": "string", "const": "{so}"},
        first=person(age=AGE, town={"enum": ["a", "b"]}),
        second=person(age=AGE),
    )
    space, subject = read(document(body))
    assert space.names == ("first.age", "town", "second.age")
    expected = {
        "kind": "loan",
        "note": "{{so}}",
        "first": {"age": "{first.age}", "town": "{town}"},
        "second": {"age": "{second.age}"},
    }
    assert subject["request"] == {"body": expected}
    template = RequestTemplate(subject["http"], subject["request"])
    template.check(space)
    filled = template.filled([{"first.age": 20, "town": "a", "second.age": 30}])
    assert json.loads(filled.body or b"")["note"] == "{so}"


def test_parameters_of_the_path_and_the_query(read):
    table = document(None)
    parameters = [
        {"name": "age", "in": "query", "required": True, "schema": AGE},
        {"name": "sex", "in": "path", "required": True, "schema": SEX},
        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
    ]
    table["paths"] = {"/score/{sex}": {"get": {"parameters": parameters, "responses": {}}}}
    form = read_form_of(table, read, "/score/{sex}")
    assert form["http"] == f"{SERVER}/score/{{sex}}"
    assert form["request"] == {"method": "GET", "query": {"age": "{age}"}}


def read_form_of(table, read, path):
    """Return the subject of another path."""
    table = {
        **table,
        "paths": {
            "/score": table["paths"][path],
            **table["paths"],
        },
    }
    _, subject = read(table)
    subject["http"] = subject["http"].replace("/score", path)
    return subject


def test_optional_fields_that_are_left_open_are_left_out(write):
    body = person(age=AGE)
    body["properties"]["name"] = {"type": "string"}
    body["properties"]["tags"] = {"type": "array", "items": {"type": "string"}}
    body["properties"]["seen"] = {"type": "integer", "readOnly": True}
    form = read_form(write(document(body)), "score")
    assert form.lacking == {"name": "levels"}
    assert form.left_out == {"tags": "is a list"}
    assert list(form.declared()) == ["age"]
    assert form.without(["name"])["request"] == {"body": "{input}"}


# Where the outcome stands


@pytest.mark.parametrize(
    ("answer", "outcome"),
    [
        (person(decision=SEX, score={"type": "number"}), "decision"),
        (person(data=person(label={"type": "string"})), "data.label"),
        ({"type": "string"}, ""),
        ({}, None),
        (None, None),
    ],
)
def test_the_path_of_the_outcome(read, answer, outcome):
    _, subject = read(document(person(age=AGE), answer))
    found = subject.get("response", {}).get("outcome")
    assert found == (outcome or None)


def test_the_path_of_the_outcomes_of_a_batch(read):
    results = {"type": "array", "items": person(id=AGE, decision=SEX)}
    body = {"type": "array", "items": person(age=AGE)}
    _, subject = read(document(body, person(model=SEX, results=results)))
    assert subject["response"] == {"outcome": "results[].decision"}
    assert subject["request"] == {"body": "{inputs}"}


# What the description leaves open


def test_ranges_come_from_the_user_or_from_data(read):
    body = person(age={"type": "integer"}, town={"type": "string"}, pay={"type": "number"})
    table = document(body)
    with pytest.raises(ConfigError) as caught:
        read(table)
    for word in ("'age' of POST /score", "no range", "--values age=LOW:HIGH"):
        assert word in sentence(caught.value)
    values = {"age": "18:90", "town": "Rome | Oslo", "pay": "0.5:9"}
    space, _ = read(table, values=values)
    expected = [
        integer("age", 18, 90),
        category("town", ["Rome", "Oslo"]),
        real("pay", 0.5, 9),
    ]
    assert list(space.features) == expected
    data = pd.DataFrame(
        {
            "age": [20, 70],
            "town": ["b", "a"],
            "pay": [1.5, 2.5],
        }
    )
    space, _ = read(table, data=data)
    expected = [
        integer("age", 20, 70),
        category("town", ["a", "b"]),
        real("pay", 1.5, 2.5),
    ]
    assert list(space.features) == expected


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"agee": "1:2"}, ["agee", "did you mean 'age'"]),
        ({"age": "18"}, ["neither a range", "18:90"]),
        ({"age": "a:b"}, ["no range of numbers"]),
        ({"age": "90:18"}, ["over high", "swap"]),
    ],
)
def test_values_that_cannot_be_used(read, values, words):
    with pytest.raises(ConfigError) as caught:
        read(document(person(age={"type": "integer"})), values=values)
    for word in words:
        assert word in sentence(caught.value)


def circle() -> dict[str, Any]:
    loop = {"$ref": "#/components/schemas/A"}
    return document(loop, components={"schemas": {"A": loop}})


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"openapi": "3.1.0"}, ["no 'paths'", "/openapi.json"]),
        ({"swagger": "2.0", "paths": {}}, ["version 2.0", "3.0 and 3.1"]),
        ({"openapi": "3.0.3", "paths": {"/scores": {}}}, ["no path '/score'", "'/scores'"]),
        ({"openapi": "3.0.3", "paths": {"/score": {"delete": {}}}}, ["none of post"]),
        (document({"$ref": "other.json#/X"}), ["another document"]),
        (document({"$ref": "#/components/X"}), ["leads nowhere"]),
        (circle(), ["in a circle"]),
        (
            document(person(rows={"type": "array", "items": {}})),
            ["rows is a list", "default"],
        ),
    ],
)
def test_descriptions_that_cannot_be_used(read, table, words):
    with pytest.raises(ConfigError) as caught:
        read(table)
    for word in words:
        assert word in sentence(caught.value)


def test_yaml_is_read_and_other_text_refused(write, tmp_path):
    table = document(person(age=AGE))
    space, _ = space_from_openapi(write(table, "api.yaml"), "/score")
    assert space.names == ("age",)
    page = tmp_path / "docs.html"
    page.write_text("<html>Swagger UI</html>")
    with pytest.raises(ConfigError, match="neither JSON nor YAML"):
        space_from_openapi(str(page), "/score")
    with pytest.raises(ConfigError, match="No such file"):
        space_from_openapi(str(tmp_path / "none.json"), "/score")


def test_the_address_of_the_service(write):
    table = document(person(age=AGE))
    del table["servers"]
    with pytest.raises(ConfigError, match="--server http://host:port"):
        read_form(write(table), "/score")
    form = read_form(write(table), "/score", server="https://host/api/")
    assert form.url == "https://host/api/score"
    variables = {"stage": {"default": "test"}}
    table["servers"] = [{"url": "https://{stage}.host", "variables": variables}]
    assert read_form(write(table), "/score").url == "https://test.host/score"
