"""Services with forms of their own are asked as they are, and their secrets kept."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

import evenhand as eh
from evenhand.config.file import Config
from evenhand.runtime.errors import BadOutcome, ConfigError, SubjectCrashed
from evenhand.subject.adapters.http.adapter import HttpAdapter
from tests.support.helpers import collect, people, sentence

SPACE = """
[space.features.sex]
levels = ["F", "M"]
[space.features.age]
low = 0
high = 99
"""


@pytest.fixture
def declare(service, tmp_path):
    """Write a configuration of the service with these lines after its address."""

    def make(lines):
        file = tmp_path / "evenhand.toml"
        file.write_text(f'[subject]\nhttp = "{service.url}"\n{lines}\n{SPACE}')
        return Config.load(file)

    return make


def test_a_configuration_says_the_form(service, declare, monkeypatch):
    monkeypatch.setenv("SCORE_TOKEN", "open sesame")

    def answer(handler, body, _):
        results = [{"decision": person["age"] > 40} for person in body["applicants"]]
        handler.reply(value={"results": results})

    service.answer = answer
    config = declare("""
        [subject.request]
        body = { applicants = "{inputs}", model = "v2" }
        headers = { Authorization = "Bearer ${SCORE_TOKEN}" }
        [subject.response]
        outcome = "results[].decision"
    """)
    with config.subject() as subject:
        everybody = [{"sex": "F", "age": 30}, {"sex": "M", "age": 50}]
        assert subject.decide(everybody).tolist() == [False, True]
    request = service.requests[0]
    assert request.body == {"applicants": everybody, "model": "v2"}
    assert request.headers["Authorization"] == "Bearer open sesame"


def test_several_outputs_at_several_paths(service, declare):
    service.answer = lambda handler, body, _: handler.reply(
        value={"yes": True, "terms": {"rate": body["person"]["years"] / 10}}
    )
    config = declare("""
        outputs = ["decision", "rate"]
        [subject.request]
        body = { person = { years = "{age}", sex = "{sex}" } }
        [subject.response.outcome]
        rate = "terms.rate"
        decision = "yes"
    """)
    with config.subject() as subject:
        outcomes = subject.decide([{"sex": "F", "age": 30}])
    assert outcomes.tolist() == [(True, 3.0)]


def test_get_with_a_query(service, declare):
    service.answer = lambda handler, *_: handler.reply(value={"outcome": handler.path})
    config = declare("""
        [subject.request]
        method = "GET"
        query = { years = "{age}", sex = "{sex}" }
    """)
    with config.subject() as subject:
        outcomes = subject.decide([{"sex": "F", "age": 30}, {"sex": "M", "age": 31}])
    assert outcomes[0] == "/decide?version=1&years=30&sex=F"
    assert {request.method for request in service.requests} == {"GET"}


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('request = "x"', ["request = 'x'", "a table"]),
        ('[subject.request]\nbdy = "x"', ["[subject] request", "'bdy'", "'body'"]),
        ('[subject.request]\nbody = "{agee}"', ["{agee}", "'age'"]),
        ('[subject.response]\noutcome = "a..b"', ["cannot be read as a path"]),
        (
            '[subject.request.headers]\nAuthorization = "${NO_SUCH_TOKEN}"',
            ["the header Authorization", "NO_SUCH_TOKEN", "is not set"],
        ),
    ],
)
def test_a_form_that_cannot_be_used_is_an_error_of_the_configuration(declare, lines, words):
    with pytest.raises(ConfigError) as caught:
        declare(lines).subject()
    for word in ("evenhand.toml", *words):
        assert word in sentence(caught.value)


def test_another_form_says_what_was_seen(service, adapt):
    service.answer = lambda handler, *_: handler.reply(
        value={"results": [{"decision": "yes"}], "model": "v2"}
    )
    _, error = collect(adapt(), people(1))
    assert type(error) is BadOutcome
    for word in ("keys 'results', 'model'", 'outcome = "results[].decision"'):
        assert word in sentence(error)
    service.answer = lambda handler, *_: handler.reply(422, value={"detail": "applicants"})
    _, error = collect(adapt(), people(1))
    assert type(error) is SubjectCrashed
    for word in ("status 422", "applicants", "request = { body = … }", "evenhand init"):
        assert word in sentence(error)


def secret_adapter(service, **options):
    headers = {"Authorization": "Bearer ${SCORE_TOKEN}"}
    return HttpAdapter(service.url, headers=headers, retries=0, **options)


def test_a_secret_is_in_no_message_identity_or_pickle(service, monkeypatch):
    monkeypatch.setenv("SCORE_TOKEN", "open sesame")
    adapter = secret_adapter(service, request={"body": "{inputs}"})
    assert "sesame" not in adapter.identity
    assert b"sesame" not in pickle.dumps(adapter)

    def reply(status, value):
        service.answer = lambda handler, *_: handler.reply(status, text=value)

    # Cut in the middle of the secret, it would not be recognised any more.
    long = "x" * 110 + "open sesame"
    for status, text in ((400, long), (500, long), (200, long), (200, f'{{"{long}": 1}}')):
        reply(status, text)
        _, error = collect(adapter, people(1))
        assert error is not None
        assert "sesame" not in str(error)
        assert "open" not in str(error)
    adapter.close()
    again = pickle.loads(pickle.dumps(adapter))
    service.answer = lambda handler, *_: handler.reply(value=[1])
    assert collect(again, people(1)) == ({0: 1}, None)
    assert service.requests[-1].headers["Authorization"] == "Bearer open sesame"
    again.close()


def test_a_secret_is_in_no_result_and_no_ledger(service, monkeypatch, tmp_path):
    monkeypatch.setenv("SCORE_TOKEN", "open sesame")
    space = eh.Space(
        [
            eh.category("sex", ["F", "M"]),
            eh.integer("age", 0, 9),
        ],
        ["sex"],
    )
    adapter = secret_adapter(service, request={"query": {"key": "${SCORE_TOKEN}"}})
    with eh.Subject(adapter, space, ledger=tmp_path / "a.db") as subject:
        found = eh.measure(subject, limit=0.05)
    assert "key=open%20sesame" in service.requests[0].path
    assert "sesame" not in found.to_json()
    for file in tmp_path.iterdir():
        assert b"sesame" not in file.read_bytes()


def test_the_identity_tells_forms_apart():
    url = "http://127.0.0.1/"
    plain = HttpAdapter(url)
    assert plain.identity == f"http:{url}"
    requests: list[dict[str, Any]] = [
        {"body": "{inputs}"},
        {"body": "{input}"},
        {"query": {"model": "2"}},
    ]
    forms = {HttpAdapter(url, request=request).identity for request in requests}
    outcomes = [{"outcome": "a"}, {"outcome": "b"}]
    paths = {HttpAdapter(url, response=response).identity for response in outcomes}
    assert len(forms | paths | {plain.identity}) == 6


# What cannot change is not asked again


@pytest.mark.parametrize("status", [408, 429])
def test_statuses_that_may_pass_are_asked_again(service, adapt, status):
    def answer(handler, body, number):
        if number == 1:
            handler.reply(status, text="later")
        else:
            handler.right(body)

    service.answer = answer
    assert collect(adapt(), people(7)) == ({0: 7}, None)


def test_a_service_that_does_not_speak_tls_is_asked_once(service):
    adapter = HttpAdapter(service.url.replace("http:", "https:"), retries=3, backoff=30)
    _, error = collect(adapter, people(1))
    adapter.close()
    assert type(error) is SubjectCrashed
    assert "attempts" not in sentence(error)
