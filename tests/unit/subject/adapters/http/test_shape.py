"""The form of a service is found by asking it, against real servers with forms of their own."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.runtime.errors import SubjectCrashed, UsageError
from evenhand.space.feature import category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.http.shape import discovered
from evenhand.subject.subject import Subject
from tests.support.helpers import sentence

SPACE = Space(
    [
        category("sex", ["F", "M"]),
        integer("age", 18, 90),
    ],
    protected=["sex"],
)
POINTS = np.array([[0, 30], [1, 50], [0, 60], [1, 20]], dtype=np.float64)
TRUTH = ["no", "yes", "yes", "no"]


def decision(person):
    if person["age"] > 40:
        return "yes"
    return "no"


def decisions(people):
    return [decision(person) for person in people]


def usual(body, path):
    return decisions(body["inputs"])


def bare_list(body, path):
    if not isinstance(body, list):
        return None
    return {"results": [{"id": 7, "decision": word} for word in decisions(body)]}


def one_alone(body, path):
    return {
        "age": body["age"],
        "verdict": decision(body),
        "ms": 3,
    }


def named_batch(body, path):
    return {"predictions": decisions(body["instances"])}


def named_one(body, path):
    return {"data": {"label": decision(body["input"])}}


def matrix(body, path):
    return [decision({"age": age}) for _, age in body["instances"]]


def by_query(body, path):
    if body is not None or "age=" not in path:
        return None
    age = int(path.partition("age=")[2].partition("&")[0])
    return {"decision": decision({"age": age})}


def answering(answer):
    """Return what answers as a service does, and refuses what it does not understand."""

    def serve(handler, body, _number):
        try:
            value = answer(body, handler.path)
        except (KeyError, TypeError, ValueError):
            value = None
        if value is None:
            handler.reply(422, value={"error": "not understood"})
        else:
            handler.reply(value=value)

    return serve


@pytest.mark.parametrize(
    ("answer", "request_", "field"),
    [
        (usual, None, "[]"),
        (bare_list, {"body": "{inputs}"}, "results[].decision"),
        (one_alone, {"body": "{input}"}, "verdict"),
        (named_batch, {"body": {"instances": "{inputs}"}}, "predictions[]"),
        (named_one, {"body": {"input": "{input}"}}, "data.label"),
        (matrix, {"body": {"instances": ["{*}"]}, "per": "batch"}, "[]"),
        (by_query, {"method": "GET"}, "decision"),
    ],
)
def test_the_form_is_found_and_works(service, answer, request_, field):
    service.answer = answering(answer)
    found = discovered(service.url, SPACE, POINTS)
    assert found.options.get("request") == request_
    assert found.field == field
    assert set(found.outcomes) <= {"yes", "no"}
    with Subject.http(service.url, SPACE, **found.options) as subject:
        assert subject.decide(SPACE.native(POINTS)).tolist() == TRUTH


def test_the_fields_that_a_service_misses_are_tried(service):
    def serve(handler, body, _number):
        if not isinstance(body, dict) or "clients" not in body:
            missing = {"type": "missing", "loc": ["body", "clients"], "msg": "required"}
            handler.reply(422, value={"detail": [missing]})
        else:
            handler.reply(value={"answers": decisions(body["clients"])})

    service.answer = serve
    found = discovered(service.url, SPACE, POINTS)
    assert found.options["request"] == {"body": {"clients": "{inputs}"}}
    assert len(service.requests) == 2


def test_other_fields_are_named_too(service):
    service.answer = answering(
        lambda body, _: [{"zeal": 1, "score": 0.5, "label": "no"} for _ in body["inputs"]]
    )
    found = discovered(service.url, SPACE, POINTS)
    assert found.field == "[].label"
    assert found.others == ("[].score", "[].zeal")


def test_no_form_works(service):
    service.answer = lambda handler, *_: handler.reply(400, value={"error": "go away"})
    with pytest.raises(SubjectCrashed) as caught:
        discovered(service.url, SPACE, POINTS)
    for word in (service.url, "status 400", "the keys 'error'", "go away", "request ="):
        assert word in sentence(caught.value)


def test_a_service_that_wants_to_know_who_asks(service, monkeypatch):
    monkeypatch.setenv("SCORE_TOKEN", "open sesame")

    def serve(handler, body, _number):
        if handler.headers.get("Authorization") == "Bearer open sesame":
            handler.reply(value=decisions(body["inputs"]))
        else:
            handler.reply(401, text=f"who is {handler.headers.get('Authorization')}?")

    service.answer = serve
    with pytest.raises(SubjectCrashed, match=r"status 401.*headers = \{ Authorization"):
        discovered(service.url, SPACE, POINTS)
    assert len(service.requests) == 1
    headers = {"Authorization": "Bearer ${SCORE_TOKEN}"}
    found = discovered(service.url, SPACE, POINTS, {"headers": headers})
    assert found.options == {}


def test_nobody_listens_and_no_address():
    with pytest.raises(SubjectCrashed, match="check that the service is running"):
        discovered("http://127.0.0.1:9/", SPACE, POINTS)
    with pytest.raises(UsageError, match="http://"):
        discovered("127.0.0.1:9", SPACE, POINTS)
