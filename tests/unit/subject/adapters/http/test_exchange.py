"""One request to a service: what is made of its status, its body and its failures."""

from __future__ import annotations

import socket
import threading

import pytest

from evenhand.runtime.errors import BadOutcome, SubjectCrashed
from evenhand.subject.adapters.http.adapter import HttpAdapter
from evenhand.subject.adapters.http.exchange import Exchange
from tests.support.helpers import SPACE, collect, people, sentence

ONE = '{"sex": "M", "age": 1}'


def test_the_usual_options_are_those_of_the_documentation():
    adapter = HttpAdapter("http://127.0.0.1/")
    assert (adapter.batch, adapter.concurrency) == (256, 4)
    assert (adapter.timeout, adapter.retries, adapter.backoff) == (30.0, 3, 0.2)
    assert adapter.expensive is True
    assert adapter.own_process is True
    assert HttpAdapter("http://127.0.0.1/", batch=7, single=True).batch == 1
    assert HttpAdapter("http://127.0.0.1/", retries=0, batch=1, concurrency=1).retries == 0


def failure(adapter, *ages):
    found, error = collect(adapter, people(*ages))
    assert found == {}
    return sentence(error)


@pytest.mark.parametrize("status", [300, 399])
def test_a_status_of_redirection_names_the_place(service, adapt, status):
    service.answer = lambda handler, *_: handler.reply(
        status, text="moved", Location="http://elsewhere.example/"
    )
    assert "to http://elsewhere.example/, which is not followed" in failure(adapt(), 1)


def test_a_status_above_is_no_redirection(service, adapt):
    service.answer = lambda handler, *_: handler.reply(
        400, text="moved", Location="http://elsewhere.example/"
    )
    message = failure(adapt(), 1)
    assert message.startswith(
        f"{service.url} answered {ONE} with status 400 Bad Request and said: moved; if it takes"
    )


@pytest.mark.parametrize("status", [400, 404, 405, 415, 422])
def test_another_form_is_offered_where_the_status_says_so(service, adapt, status):
    service.answer = lambda handler, *_: handler.reply(status, text="")
    message = failure(adapt(), 1)
    assert f"with status {status} " in message
    assert "and said: nothing; if it takes inputs in another form" in message


@pytest.mark.parametrize("status", [401, 410, 501])
def test_other_statuses_offer_no_form(service, adapt, status):
    service.answer = lambda handler, *_: handler.reply(status, text="no")
    assert failure(adapt(), 1).endswith(" and said: no")


def test_attempts_are_counted_from_the_second_on(service, adapt):
    service.answer = lambda handler, *_: handler.reply(503, text="busy")
    assert "503 Service Unavailable and said: busy" in failure(adapt(retries=0), 1)
    again = failure(adapt(retries=1), 1)
    assert "503 Service Unavailable (2 attempts) and said: busy" in again
    assert len(service.requests) == 3


def test_many_inputs_are_named_by_their_number_and_the_first(service, adapt):
    service.answer = lambda handler, *_: handler.reply(501, text="no")
    assert f"answered {ONE} with" in failure(adapt(), 1)
    assert f"answered 2 inputs from {ONE} on with" in failure(adapt(), 1, 2)


@pytest.mark.parametrize(
    ("text", "outcomes"),
    [
        ('["a", 1, true]', ["a", 1, True]),
        ('[0.5, 1, "a"]', [0.5, 1, "a"]),
        ("[1, 2, 3]", [1, 2, 3]),
        ('["a", "b", "c"]', ["a", "b", "c"]),
    ],
)
def test_outcomes_of_plain_types(service, adapt, text, outcomes):
    service.answer = lambda handler, *_: handler.reply(text=text)
    assert collect(adapt(), people(1, 2, 3)) == (dict(enumerate(outcomes)), None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('["a", null, 1]', 'null, which is not an outcome, for {"sex": "F", "age": 2}'),
        ("[1, 2, NaN]", 'NaN, which is not an outcome, for {"sex": "M", "age": 3}'),
        ("[{}, 2, 3]", '{}, which is not an outcome, for {"sex": "M", "age": 1}'),
    ],
)
def test_one_value_of_several_that_is_no_outcome(service, adapt, text, words):
    service.answer = lambda handler, *_: handler.reply(text=text)
    _, error = collect(adapt(), people(1, 2, 3))
    assert type(error) is BadOutcome
    assert sentence(error).endswith(f"answered 3 inputs from {ONE} on with {words}")


def test_several_outputs_that_do_not_fit(service, adapt):
    adapter = adapt()
    adapter.outputs = ("a", "b")
    service.answer = lambda handler, *_: handler.reply(value=[[1, 2], [3, 4]])
    ((_, outcomes),) = adapter.run(people(1, 2), SPACE)
    assert outcomes["a"].tolist() == [1, 3]
    assert outcomes["b"].tolist() == [2, 4]
    service.answer = lambda handler, *_: handler.reply(value=[[1, 2], [3]])
    _, error = collect(adapter, people(1, 2))
    assert type(error) is BadOutcome
    assert sentence(error).endswith(', for {"sex": "F", "age": 2}')


@pytest.mark.parametrize("coding", ["identity", "Identity", " ", ""])
def test_a_body_that_is_not_encoded_is_read(service, adapt, coding):
    service.answer = lambda handler, *_: handler.reply(value=[1], Content_Encoding=coding)
    assert collect(adapt(), people(1)) == ({0: 1}, None)


def test_a_body_in_an_encoding_is_refused_by_its_name(service, adapt):
    service.answer = lambda handler, *_: handler.reply(value=[1], Content_Encoding="br")
    _, error = collect(adapt(), people(1))
    assert type(error) is BadOutcome
    assert "a body in the encoding 'br'" in sentence(error)


def test_secrets_that_a_service_repeats_are_hidden(service, adapt, monkeypatch):
    monkeypatch.setenv("SCORE_TOKEN", "open sesame")
    adapter = adapt(headers={"Authorization": "${SCORE_TOKEN}"}, batch=2)
    answers = [
        {"text": "open sesame"},
        {"value": {"open sesame": 1}},
        {"value": [["open sesame"], 2]},
        {"status": 400, "text": "x" * 110 + " open sesame"},
    ]
    for answer in answers:
        service.answer = lambda handler, *_, answer=answer: handler.reply(**answer)
        message = failure(adapter, 1, 2)
        assert "sesame" not in message
        assert "open" not in message.replace("${SCORE_TOKEN}", "")


def test_a_host_that_does_not_exist_is_asked_once(monkeypatch):
    def resolve(*_arguments, **options):
        calls.append(options)
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    calls: list[object] = []
    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    adapter = HttpAdapter("http://no-such-host.invalid/", backoff=0.01, retries=3)
    _, error = collect(adapter, people(1))
    assert type(error) is SubjectCrashed
    message = sentence(error)
    assert (
        f"could not be asked about {ONE}: [Errno -2] Name or service not known" in message
    )
    assert message.endswith("check that the service is running")
    # Once as a number, and once by its name.
    assert len(calls) == 2


# Pauses between attempts


class NotingSign(threading.Event):
    """A sign to stop that is not given, and notes how long it was waited for."""

    def __init__(self, *, given_after: int = 99) -> None:
        super().__init__()
        self.pauses: list[float] = []
        self._given_after = given_after

    def wait(self, timeout: float | None = None) -> bool:
        assert timeout is not None
        self.pauses.append(timeout)
        return len(self.pauses) >= self._given_after


def pauses(adapter, sign):
    """Ask about one person until it fails, and return the pauses between the attempts."""
    parts = (adapter, adapter._request, adapter._response, adapter._pool)
    with pytest.raises(SubjectCrashed):
        Exchange(*parts, [{"sex": "M", "age": 1}], sign).outcomes()
    return sign.pauses


def test_pauses_are_doubled(service, adapt):
    service.answer = lambda handler, *_: handler.reply(503, text="busy")
    adapter = adapt(retries=3, backoff=0.25)
    assert pauses(adapter, NotingSign()) == [0.25, 0.5, 1.0]
    assert len(service.requests) == 4
    assert pauses(adapt(retries=0), NotingSign()) == []


def test_a_longer_pause_is_made_where_the_service_asks_for_it(service, adapt):
    wanted = iter(["3", "0.125", "60", "soon"])
    service.answer = lambda handler, *_: handler.reply(
        429, text="busy", Retry_After=next(wanted)
    )
    assert pauses(adapt(retries=3, backoff=0.25, timeout=5), NotingSign()) == [
        3.0,
        0.5,
        5.0,
    ]


def test_a_pause_that_was_asked_for_is_made_once(service, adapt):
    def answer(handler, _body, number):
        if number == 1:
            handler.reply(503, text="busy", Retry_After="4")
        else:
            handler.close_connection = True

    service.answer = answer
    assert pauses(adapt(retries=2, backoff=0.25), NotingSign()) == [4.0, 0.5]


def test_a_run_that_is_stopped_asks_no_more(service, adapt):
    service.answer = lambda handler, *_: handler.reply(503, text="busy")
    assert pauses(adapt(retries=3, backoff=0.25), NotingSign(given_after=2)) == [0.25, 0.5]
    assert len(service.requests) == 2
