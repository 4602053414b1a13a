"""The HTTP adapter against a real server on loopback that misbehaves on demand."""

from __future__ import annotations

import pickle
import socket
import threading
import time
from email.utils import formatdate

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.runtime.errors import BadOutcome, SubjectCrashed, SubjectTimeout, UsageError
from evenhand.space.feature import Feature, category, integer
from evenhand.space.space import Space
from evenhand.subject.adapters.http.adapter import HttpAdapter
from tests.support.helpers import collect, examples, people, sentence
from tests.unit.subject.adapters.service import LoopbackService, serving


def test_batches_are_answered_by_the_right_request(service, adapt):
    adapter = adapt(batch=7, headers={"Authorization": "Bearer x"})
    found, error = collect(adapter, people(*range(100)))
    assert error is None
    assert found == {row: row for row in range(100)}
    sizes = [len(request.body["inputs"]) for request in service.requests]
    assert sorted(sizes) == [2] + [7] * 14
    request = service.requests[0]
    assert request.path == "/decide?version=1"
    assert request.headers["Content-Type"] == "application/json"
    assert request.headers["Authorization"] == "Bearer x"
    assert set(request.body) == {"inputs"}
    assert set(request.body["inputs"][0]) == {"sex", "age"}


def test_no_points_ask_nothing(service, adapt):
    assert collect(adapt(), people()) == ({}, None)
    assert service.requests == []


def test_connections_are_kept_within_and_between_runs(service, adapt):
    adapter = adapt(batch=5, concurrency=2)
    for _ in range(3):
        collect(adapter, people(*range(60)))
    assert len(service.requests) == 36
    assert len(service.peers) <= 2


def test_requests_run_at_the_same_time(service, adapt):
    meeting = threading.Barrier(3, timeout=20)

    def answer(handler, body, _):
        meeting.wait()
        handler.right(body)

    service.answer = answer
    adapter = adapt(batch=1, concurrency=3, timeout=30)
    _, error = collect(adapter, people(1, 2, 3))
    assert error is None


def test_object_with_outcomes_and_types(service, adapt):
    service.answer = lambda handler, *_: handler.reply(
        value={"outcomes": ["no", 1, 0.5, True], "model": "v1"}
    )
    assert collect(adapt(), people(1, 2, 3, 4)) == ({0: "no", 1: 1, 2: 0.5, 3: True}, None)


@pytest.mark.parametrize("wrap", [lambda value: value, lambda value: {"outcome": value}])
def test_single(service, adapt, wrap):
    service.answer = lambda handler, body, _: handler.reply(value=wrap(body["age"]))
    assert collect(adapt(single=True), people(4, 5, 6)) == ({0: 4, 1: 5, 2: 6}, None)
    for request in service.requests:
        assert set(request.body) == {"sex", "age"}


def test_features_that_are_not_passed_are_not_sent(service, adapt):
    space = Space(
        [Feature("race", "category", ("a", "b"), passed=False), integer("age", 0, 99)],
        protected=["race"],
    )
    assert collect(adapt(), people(7), space) == ({0: 7}, None)
    assert service.requests[0].body == {"inputs": [{"age": 7}]}


def test_idle_connection_that_the_service_closed_is_opened_anew_without_a_retry(
    service, adapt
):
    def answer(handler, body, _):
        handler.right(body)
        handler.close_connection = (
            True  # without telling, as a server with a short keep-alive does
        )

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    for age in range(4):
        assert collect(adapter, people(age)) == ({0: age}, None)
        time.sleep(0.05)
    assert len(service.peers) == 4


def test_chunked_response(service, adapt):
    def answer(handler, body, _):
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        ages = b",".join(b"%d" % person["age"] for person in body["inputs"])
        for part in (b"[", ages, b"]"):
            handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
        handler.wfile.write(b"0\r\n\r\n")

    service.answer = answer
    adapter = adapt(batch=3, concurrency=1)
    assert collect(adapter, people(*range(9))) == ({row: row for row in range(9)}, None)
    assert len(service.peers) == 1


def test_announced_close_is_obeyed(service, adapt):
    def answer(handler, body, _):
        handler.reply(value=[1] * len(body["inputs"]), Connection="close")
        handler.close_connection = True

    service.answer = answer
    adapter = adapt(retries=0, batch=1, concurrency=1)
    found, _ = collect(adapter, people(*range(5)))
    assert len(found) == 5


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_passing_trouble_is_retried(service, adapt, status):
    def answer(handler, body, number):
        if number < 4:
            handler.reply(status, text="later")
        else:
            handler.right(body)

    service.answer = answer
    assert collect(adapt(retries=3), people(1, 2)) == ({0: 1, 1: 2}, None)
    assert len(service.requests) == 4


def test_lost_connection_is_retried(service, adapt):
    def answer(handler, body, number):
        if number < 3:
            handler.close_connection = True
        elif number < 4:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n[1")
            handler.close_connection = True
        else:
            handler.right(body)

    service.answer = answer
    assert collect(adapt(retries=3), people(9)) == ({0: 9}, None)


def test_retry_after_is_obeyed_up_to_the_timeout(service, adapt):
    times = []

    def answer(handler, body, number):
        times.append(time.monotonic())
        in_an_hour = formatdate(time.time() + 3600, usegmt=True)
        wanted = {1: "0.3", 2: in_an_hour, 3: "soon"}
        if number in wanted:
            handler.reply(429, text="slow down", Retry_After=wanted[number])
        else:
            handler.right(body)

    service.answer = answer
    assert collect(adapt(timeout=0.6), people(9)) == ({0: 9}, None)
    waits = np.diff(times)
    assert waits[0] >= 0.3
    assert waits[1] >= 0.6


def test_trouble_that_does_not_pass(service, adapt):
    service.answer = lambda handler, *_: handler.reply(
        500, text="<h1>Traceback</h1>\n" * 100
    )
    found, error = collect(adapt(retries=2), people(1, 2))
    assert found == {}
    assert type(error) is SubjectCrashed
    for word in [
        service.url,
        "500 Internal Server Error",
        "3 attempts",
        "<h1>Traceback</h1>",
        '"age": 1',
        "2 inputs",
    ]:
        assert word in sentence(error)
    assert len(service.requests) == 3


@pytest.mark.parametrize("status", [400, 401, 404, 422, 501])
def test_refusal_is_not_retried(service, adapt, status):
    service.answer = lambda handler, *_: handler.reply(
        status, value={"detail": "field 'age' missing"}
    )
    _, error = collect(adapt(), people(1))
    assert type(error) is SubjectCrashed
    assert f"status {status}" in sentence(error)
    assert "field 'age' missing" in str(error)
    assert len(service.requests) == 1


def test_redirect_is_not_followed(service, adapt):
    service.answer = lambda handler, *_: handler.reply(
        307, text="", Location="http://elsewhere.example/decide"
    )
    _, error = collect(adapt(), people(1))
    assert type(error) is SubjectCrashed
    assert (
        "redirect (307 Temporary Redirect) to http://elsewhere.example/decide"
        in sentence(error)
    )
    assert len(service.requests) == 1


def test_nobody_listens():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{probe.getsockname()[1]}/"
    adapter = HttpAdapter(url, retries=1, backoff=0.01)
    _, error = collect(adapter, people(1))
    assert type(error) is SubjectCrashed
    for word in [url, "Connection refused", "2 attempts", "running"]:
        assert word in sentence(error)


def test_hang(service, adapt):
    service.answer = lambda *_: service.over.wait(60)
    _, error = collect(adapt(timeout=0.5, retries=1), people(1))
    assert type(error) is SubjectTimeout
    for word in [service.url, "within 0.5 s", "2 attempts", '"age": 1']:
        assert word in sentence(error)


def test_trickle_is_a_hang(service, adapt):
    def answer(handler, *_):
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
        while not service.over.wait(0.1):
            handler.wfile.write(b" ")

    service.answer = answer
    _, error = collect(adapt(timeout=0.6, retries=0), people(1))
    assert type(error) is SubjectTimeout


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("<html>hello</html>", ["not JSON", "<html>hello</html>"]),
        ("", ["not JSON"]),
        ("[1]", ["1 outcomes instead of 2"]),
        ("[1, 2, 3]", ["3 outcomes instead of 2"]),
        ("[1, null]", ["null", "not an outcome", '"age": 2']),
        ("[NaN, 1]", ["NaN", "not an outcome", '"age": 1']),
        ("[1, [2]]", ["[2]", "not an outcome"]),
        ("3", ["instead of a list"]),
        ('{"results": [1, 2]}', ["without 'outcomes'", "results"]),
        ("[" * 100_000, ["not JSON"]),
    ],
)
def test_answers_that_are_no_outcomes(service, adapt, text, words):
    service.answer = lambda handler, *_: handler.reply(text=text)
    found, error = collect(adapt(), people(1, 2))
    assert found == {}
    assert type(error) is BadOutcome
    for word in [service.url, *words]:
        assert word in sentence(error)
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    "text", ["null", "NaN", '{"outcome": null}', '{"outcomes": [1]}', "[1]"]
)
def test_single_answers_that_are_no_outcomes(service, adapt, text):
    service.answer = lambda handler, *_: handler.reply(text=text)
    _, error = collect(adapt(single=True), people(1))
    assert type(error) is BadOutcome


def test_what_was_answered_is_kept(service, adapt):
    def answer(handler, body, _):
        if body["inputs"][0]["age"] == 20:
            handler.reply(400, text="twenty")
        else:
            handler.right(body)

    service.answer = answer
    found, error = collect(adapt(batch=10, concurrency=2), people(*range(500)))
    assert type(error) is SubjectCrashed
    assert "twenty" in sentence(error)
    for row in range(20):
        assert found[row] == row
    asked: set[int] = set()
    for request in service.requests:
        asked.update(person["age"] for person in request.body["inputs"])
    assert set(found) == asked - set(range(20, 30))
    assert len(asked) < 500


@pytest.mark.parametrize(
    ("url", "word"),
    [
        ("ftp://host/x", "http://"),
        ("file:///etc/passwd", "http://"),
        ("127.0.0.1:8000/decide", "http://"),
        ("http://", "no host"),
        ("http://host:port/", "cannot be read"),
        ("http://host/a b", "percent-encode"),
        ("http://host/\r\nX: y", "percent-encode"),
        ("http://user:secret@host/", "headers="),
    ],
)
def test_addresses_that_cannot_be_used(url, word):
    with pytest.raises(UsageError) as caught:
        HttpAdapter(url)
    assert word in sentence(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    "options",
    [
        {"batch": 0},
        {"concurrency": 0},
        {"timeout": 0},
        {"retries": -1},
        {"headers": {"X": "a\r\nb: c"}},
    ],
)
def test_bad_options(options):
    name = next(iter(options))
    with pytest.raises(UsageError, match=name.removesuffix("s")):
        HttpAdapter("http://127.0.0.1/", **options)


def test_identity_and_pickle(service, adapt):
    adapter = adapt(batch=3)
    collect(adapter, people(1))
    twin = pickle.loads(pickle.dumps(adapter))
    assert twin.identity == f"http:{service.url}"
    assert collect(twin, people(5)) == ({0: 5}, None)
    twin.close()
    named = HttpAdapter(service.url, identity="loans 2")
    assert (named.identity, named.name) == ("loans 2", "loans 2")
    assert adapter.name == service.url


class ServiceOverIPv6(LoopbackService):
    address_family = socket.AF_INET6


def test_ipv6():
    try:
        server = ServiceOverIPv6("::1")
    except OSError:
        pytest.skip("no IPv6 on this machine")
    with serving(server):
        adapter = HttpAdapter(f"http://[::1]:{server.server_port}/")
        assert collect(adapter, people(5)) == ({0: 5}, None)
        adapter.close()


def answer_names(handler, body, _number):
    names = [person["name"] for person in body["inputs"]]
    handler.reply(value={"outcomes": names})


@pytest.fixture(scope="module")
def mirror():
    server = LoopbackService()
    server.answer = answer_names
    with serving(server):
        adapter = HttpAdapter(server.url)
        yield adapter
        adapter.close()


@settings(max_examples=examples(60), deadline=None)
@given(levels=st.lists(st.text(max_size=12), min_size=1, max_size=6, unique=True))
def test_any_text_arrives_and_comes_back(mirror, levels):
    space = Space([category("name", levels)])
    points = np.arange(len(levels), dtype=np.float64)[:, None]
    found, error = collect(mirror, points, space)
    assert error is None
    assert [found[row] for row in range(len(levels))] == levels
