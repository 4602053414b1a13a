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


# Which forms are tried, and in which order

ONE = {"sex": "F", "age": 30}
THREE = [ONE, {"sex": "M", "age": 50}, {"sex": "F", "age": 60}]
NAMES = [
    "instances",
    "records",
    "data",
    "rows",
    "items",
    "applicants",
    "people",
    "features",
    "dataframe_records",
    "input",
]


def refusing(status=400, **answer):
    """Return what refuses every request."""
    return lambda handler, *_: handler.reply(status, **answer)


def asked(service, options=None):
    """Return the requests to a service that takes no form, and what is said of it."""
    with pytest.raises(SubjectCrashed) as caught:
        discovered(service.url, SPACE, POINTS, options)
    return [(request.method, request.body) for request in service.requests], str(
        caught.value
    )


def path_of(query):
    return f"/decide?version=1&{query}"


def test_the_forms_are_tried_in_this_order(service):
    service.answer = refusing(value={"error": "go away"})
    wanted = [{"inputs": THREE}, ONE, THREE]
    for name in NAMES:
        wanted += [{name: THREE}, {name: ONE}]
    wanted.append({"instances": [list(person.values()) for person in THREE]})
    forms, _ = asked(service)
    assert forms == [*(("POST", body) for body in wanted), ("GET", None)]


def test_a_service_that_takes_no_post_is_asked_by_get(service):
    service.answer = refusing(405, text="not allowed")
    forms, _ = asked(service)
    assert forms == [
        ("POST", {"inputs": THREE}),
        ("POST", ONE),
        ("POST", THREE),
        ("GET", None),
    ]
    assert service.requests[-1].path == path_of("sex=F&age=30")


def test_what_it_misses_is_tried_once_in_every_form(service):
    details = [
        "required",
        {"loc": "body"},
        {"loc": ["body"]},
        {"loc": ["body", 0]},
        {"loc": ["body", "age"]},
        {"loc": ["body", "a", "b"]},
        {"loc": ["header", "token"]},
        {"loc": ["body", "people_"]},
        {"loc": ["body", "people_"]},
    ]
    service.answer = refusing(422, value={"detail": details})
    forms, _ = asked(service)
    assert [body for _, body in forms[:7]] == [
        {"inputs": THREE},
        {"people_": THREE},
        {"people_": ONE},
        {"people_": [list(person.values()) for person in THREE]},
        {"people_": list(ONE.values())},
        ONE,
        THREE,
    ]
    # A service that names what it misses takes a body: it is not asked by GET.
    assert {method for method, _ in forms} == {"POST"}
    assert len(forms) == 7 + 2 * len(NAMES) + 1


def test_features_that_are_missed_in_the_query_are_put_there(service):
    details = [{"loc": ["query", "age"]}, {"loc": ["query", "sex"]}]
    service.answer = refusing(422, value={"detail": details})
    forms, _ = asked(service)
    assert forms[:4] == [
        ("POST", {"inputs": THREE}),
        ("GET", None),
        ("POST", None),
        ("POST", ONE),
    ]
    for request in service.requests[1:3]:
        assert request.path == path_of("age=30&sex=F")


@pytest.mark.parametrize(
    "answer",
    [
        {"detail": [{"loc": ["query", "age"]}, {"loc": ["query", "token"]}]},
        {"detail": {"loc": ["body", "clients"]}},
        {"detail": "not found"},
        [{"loc": ["body", "clients"]}],
    ],
)
def test_what_cannot_be_given_is_not_tried(service, answer):
    service.answer = refusing(422, value=answer)
    forms, _ = asked(service)
    assert [body for _, body in forms[:3]] == [{"inputs": THREE}, ONE, THREE]


def test_with_a_request_only_that_one_is_tried(service):
    service.answer = refusing(value={"error": "go away"})
    forms, _ = asked(service, {"request": {"body": {"a": "{age}"}}})
    assert forms == [("POST", {"a": 30})]


# What is an answer


@pytest.mark.parametrize(("status", "finds"), [(200, True), (299, True), (300, False)])
def test_only_a_status_of_success_is_an_answer(service, status, finds):
    service.answer = lambda handler, *_: handler.reply(status, value=["yes", "no", "no"])
    if finds:
        assert discovered(service.url, SPACE, POINTS).outcomes == ("yes", "no", "no")
    else:
        asked(service)


def test_a_text_that_is_no_json_is_no_answer(service):
    service.answer = lambda handler, *_: handler.reply(text="hello")
    assert "its last answer had status 200 and was hello; write" in asked(service)[1]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ({"text": ""}, "was nothing; write"),
        ({"value": ["no"]}, 'was ["no"]; write'),
        ({"value": {}}, "was an empty object, {}; write"),
        ({"value": {"a": 1}}, "was an object with the keys 'a', {\"a\": 1}; write"),
    ],
)
def test_the_last_answer_is_shown(service, answer, words):
    service.answer = refusing(418, **answer)
    assert f"its last answer had status 418 and {words}" in asked(service)[1]


@pytest.mark.parametrize("status", [401, 403, 407])
def test_a_service_that_wants_to_know_who_asks_is_asked_once(service, status):
    service.answer = refusing(status, text="who?")
    forms, message = asked(service)
    assert len(forms) == 1
    assert f"answered with status {status} and said: who?; give it" in message


def test_a_service_that_hangs_is_given_the_time_of_the_options(service):
    service.answer = lambda *_: service.over.wait(20)
    _, message = asked(service, {"timeout": 0.1})
    assert message.startswith(f"{service.url} could not be asked: ")
    assert message.endswith("; check that the service is running")


# What is found


def test_the_usual_form_needs_no_options(service):
    service.answer = answering(usual)
    found = discovered(service.url, SPACE, POINTS)
    assert found.options == {}
    assert found.others == ()
    assert found.outcomes == ("no", "yes", "yes")


def test_a_form_of_many_inputs_says_where_the_outcomes_stand(service):
    service.answer = answering(bare_list)
    found = discovered(service.url, SPACE, POINTS)
    assert found.options == {
        "request": {"body": "{inputs}"},
        "response": {"outcome": "results[].decision"},
    }
    assert found.others == ("results[].id",)
    assert found.outcomes == ("no", "yes", "yes")


def test_a_form_of_one_input_says_where_the_outcome_stands(service):
    service.answer = answering(one_alone)
    found = discovered(service.url, SPACE, POINTS)
    assert found.options == {
        "request": {"body": "{input}"},
        "response": {"outcome": "verdict"},
    }
    # What repeats a feature is the least likely.
    assert found.others == ("ms", "age")
    assert found.outcomes == ("no",)


def test_an_outcome_at_its_usual_place_needs_no_path(service):
    service.answer = answering(lambda body, _: {"outcome": decision(body)})
    found = discovered(service.url, SPACE, POINTS)
    assert found.options == {"request": {"body": "{input}"}}
    assert found.outcomes == ("no",)
