"""One exchange with a service: its time limit, where its response ends, and what follows it."""

from __future__ import annotations

import gzip
import json
import socket
import subprocess
import sys
import threading
import time

import pytest

from evenhand.runtime.errors import (
    BadOutcome,
    SubjectCrashed,
    SubjectTimeout,
    UsageError,
)
from evenhand.subject.adapters.http.adapter import HttpAdapter
from tests.support.helpers import SPACE, collect, people, refused, sentence
from tests.support.paths import ROOT

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
INTERIM = b"HTTP/1.1 100 Continue\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>\r\n\r\n"
PATIENCE = 3.0
"""Seconds for which a service here is slow: six times the timeout of those who ask it."""


def whole_response(*outcomes: object) -> bytes:
    body = json.dumps(list(outcomes)).encode()
    return OK + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def raw(*parts: bytes):
    """Answer with these bytes, whatever was asked."""

    def answer(handler, *_):
        handler.wfile.write(b"".join(parts))

    return answer


# The time limit

TRICKLES = {
    "the status line": (b"", b"HTTP/1.1 200 " + b"O" * 5000, b"\r\n\r\n"),
    "a header": (OK + b"X: ", b"y" * 5000, b"\r\n" + whole_response(1)[len(OK) :]),
    "headers": (OK, b"X: y\r\n" * 90, whole_response(1)[len(OK) :]),
    "interim responses": (b"", INTERIM * 500, whole_response(1)),
    "early hints": (b"", HINTS * 500, whole_response(1)),
    "the size of a chunk": (CHUNKED, b"0" * 5000, b"3\r\n[1]\r\n0\r\n\r\n"),
    "the extension of a chunk": (CHUNKED + b"3;", b"x" * 5000, b"\r\n[1]\r\n0\r\n\r\n"),
    "a chunk": (CHUNKED + b"1000\r\n[1", b" " * 4093, b"]\r\n0\r\n\r\n"),
    "many chunks": (CHUNKED + b"2\r\n[1\r\n", b"1\r\n \r\n" * 900, b"1\r\n]\r\n0\r\n\r\n"),
    "trailers": (CHUNKED + b"3\r\n[1]\r\n0\r\n", b"X: y\r\n" * 900, b"\r\n"),
    "a body": (OK + b"Content-Length: 5003\r\n\r\n[1", b" " * 5000, b"]"),
}


@pytest.mark.parametrize("part", TRICKLES)
def test_what_trickles_in_does_not_prolong_an_exchange(service, adapt, part):
    first, slow, last = TRICKLES[part]
    finished = threading.Event()

    def answer(handler, *_):
        handler.wfile.write(first)
        end = time.monotonic() + PATIENCE
        step = max(1, len(slow) // 60)
        for start in range(0, len(slow), step):
            handler.wfile.write(slow[start : start + step])
            if service.over.wait(min(PATIENCE / 60, max(0, end - time.monotonic()))):
                return
        finished.set()
        handler.wfile.write(last)

    service.answer = answer
    _, error = collect(adapt(timeout=0.5, retries=0), people(1))
    assert not finished.is_set()
    assert type(error) is SubjectTimeout, error
    assert "within 0.5 s" in sentence(error)


def test_interim_responses_without_end_are_a_hang(service, adapt):
    finished = threading.Event()

    def answer(handler, *_):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            handler.wfile.write(INTERIM * 100)
        finished.set()
        handler.wfile.write(whole_response(1))

    service.answer = answer
    _, error = collect(adapt(timeout=0.5, retries=0), people(1))
    assert not finished.is_set()
    assert type(error) is SubjectTimeout


def test_a_service_that_reads_slowly_is_a_hang():
    """The body of the request is larger than what the system takes on behalf of the service."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        over = threading.Event()

        def read_slowly() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                while not over.wait(0.02) and connection.recv(4096):
                    pass

        thread = threading.Thread(target=read_slowly)
        thread.start()
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        long_text = {"body": {"inputs": "{inputs}", "model": "x" * (1 << 24)}}
        adapter = HttpAdapter(url, request=long_text, timeout=0.5, retries=0)
        _, error = collect(adapter, people(1))
        over.set()
        thread.join()
        adapter.close()
    assert type(error) is SubjectTimeout


def test_a_handshake_that_never_ends_is_a_hang():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        adapter = HttpAdapter(url, timeout=0.5, retries=0)
        _, error = collect(adapter, people(1))
        adapter.close()
    assert type(error) is SubjectTimeout


def test_a_name_that_is_not_resolved_in_time_is_a_hang(monkeypatch):
    over = threading.Event()
    resolve = socket.getaddrinfo

    def slow_resolver(*address, **options):
        if not options.get("flags", 0) & socket.AI_NUMERICHOST:
            over.wait(PATIENCE)
        return resolve(*address, **options)

    monkeypatch.setattr(socket, "getaddrinfo", slow_resolver)
    adapter = HttpAdapter("http://localhost:9/", timeout=0.5, retries=0)
    _, error = collect(adapter, people(1))
    over.set()
    assert type(error) is SubjectTimeout


# What belongs to a response


@pytest.mark.parametrize("interim", [INTERIM, HINTS, INTERIM + HINTS])
def test_responses_before_the_final_one_are_left_out(service, adapt, interim):
    def answer(handler, body, _):
        ages = [person["age"] for person in body["inputs"]]
        handler.wfile.write(interim + whole_response(*ages))

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    for age in (4, 5, 6):
        assert collect(adapter, people(age)) == ({0: age}, None)
    assert len(service.peers) == 1


@pytest.mark.parametrize(
    ("headers", "word"),
    [
        (b"Content-Length: 3\r\nTransfer-Encoding: chunked", "both"),
        (b"Content-Length: 3\r\nContent-Length: 5", "3, 5"),
        (b"Content-Length: -3", "-3"),
        (b"Content-Length: 0x3", "0x3"),
        (b"Content-Length: 1_0", "1_0"),
        (b"Transfer-Encoding: gzip, chunked", "gzip, chunked"),
        (b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "chunked, chunked"),
    ],
)
def test_a_response_that_does_not_say_where_it_ends_is_refused(
    service, adapt, headers, word
):
    def answer(handler, *_):
        handler.wfile.write(OK + headers + b"\r\n\r\n[1]")
        handler.close_connection = True

    service.answer = answer
    _, error = collect(adapt(), people(1))
    assert type(error) is BadOutcome, error
    assert word in sentence(error)
    assert "where its answer ends" in str(error)
    assert len(service.requests) == 1


def test_the_same_length_twice_is_one(service, adapt):
    service.answer = raw(OK, b"Content-Length: 3\r\n" * 2, b"\r\n[7]")
    assert collect(adapt(), people(1)) == ({0: 7}, None)


def test_a_length_that_is_too_long_is_refused_before_anything_is_read(service, adapt):
    def answer(handler, *_):
        handler.wfile.write(OK + b"Content-Length: 99999999999999999999\r\n\r\n[")
        service.over.wait(60)

    service.answer = answer
    _, error = collect(adapt(timeout=30), people(1))
    assert type(error) is BadOutcome
    assert "more than 1,064,960 bytes" in sentence(error)


@pytest.mark.parametrize("size", [b"-5", b"zz", b""])
def test_a_chunk_without_a_size_is_no_answer(service, adapt, size):
    def answer(handler, *_):
        handler.wfile.write(CHUNKED + size + b"\r\n[1]\r\n0\r\n\r\n")
        handler.close_connection = True

    service.answer = answer
    _, error = collect(adapt(retries=0), people(1))
    assert type(error) is SubjectCrashed, error


def test_headers_without_end_are_no_answer(service, adapt):
    def answer(handler, *_):
        handler.wfile.write(OK + b"X: y\r\n" * 100_000)
        handler.close_connection = True

    service.answer = answer
    _, error = collect(adapt(retries=0), people(1))
    assert type(error) is SubjectCrashed
    assert "headers" in sentence(error)


def test_a_compressed_body_is_refused_unread(service, adapt):
    bomb = gzip.compress(b" " * 10_000_000)

    def answer(handler, *_):
        handler.wfile.write(
            OK
            + f"Content-Encoding: gzip\r\nContent-Length: {len(bomb)}\r\n\r\n".encode()
            + bomb
        )

    service.answer = answer
    _, error = collect(adapt(), people(1))
    assert type(error) is BadOutcome
    assert "the encoding 'gzip'" in sentence(error)


def test_of_a_long_complaint_the_beginning_is_read(service, adapt):
    def answer(handler, body, number):
        if number == 1:
            handler.reply(503, text="the model is loading " + "." * 3_000_000)
        else:
            handler.right(body)

    service.answer = answer
    assert collect(adapt(), people(9)) == ({0: 9}, None)
    service.requests.clear()
    _, error = collect(adapt(retries=0), people(9))
    assert "the model is loading" in sentence(error)


def test_an_answer_may_be_as_long_as_its_inputs_are_many(service, adapt):
    def answer(handler, body, _):
        notes = "x" * 10_000
        outcomes = [{"note": notes, "age": person["age"]} for person in body["inputs"]]
        handler.reply(value=outcomes)

    service.answer = answer
    path = {"outcome": "[].age"}
    ages = range(200)
    found, error = collect(adapt(response=path, batch=200), people(*ages))
    assert error is None
    assert found == {age: age for age in ages}


MEMORY = """
import resource, sys
from evenhand.subject.adapters.http.adapter import HttpAdapter
from tests.support.helpers import collect, people

adapter = HttpAdapter(sys.argv[1], retries=0)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
_, error = collect(adapter, people(1))
after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(type(error).__name__, (after - before) >> 10)
"""


def test_an_answer_of_many_megabytes_costs_few(service):
    """Read as JSON, these 30 MB would take over a gigabyte."""
    text = "[" + "[]," * 10_000_000 + "1]"
    service.answer = lambda handler, *_: handler.reply(text=text)
    command = [sys.executable, "-c", MEMORY, service.url]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    kind, megabytes = done.stdout.split()
    assert kind == "BadOutcome"
    assert int(megabytes) < 64


# What follows a response


def ages_of(handler, body, extra: bytes) -> None:
    ages = [person["age"] for person in body["inputs"]]
    handler.wfile.write(whole_response(*ages) + extra)


@pytest.mark.parametrize("surplus", [whole_response(77), b"77", b"\r\n", INTERIM])
def test_what_follows_a_response_is_no_answer_to_the_next_request(service, adapt, surplus):
    service.answer = lambda handler, body, _: ages_of(handler, body, surplus)
    adapter = adapt(retries=0, concurrency=1)
    for age in (4, 5, 6):
        assert collect(adapter, people(age)) == ({0: age}, None)
    assert len(service.peers) == 3


def test_what_follows_a_chunked_response_is_no_answer_either(service, adapt):
    def answer(handler, body, _):
        age = body["inputs"][0]["age"]
        handler.wfile.write(
            CHUNKED + f"3\r\n[{age}]\r\n0\r\n\r\n".encode() + whole_response(7)
        )

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    for age in (4, 5, 6):
        assert collect(adapter, people(age)) == ({0: age}, None)


def test_a_response_that_comes_later_unasked_closes_the_connection(service, adapt):
    sent = threading.Event()

    def answer(handler, body, _):
        ages_of(handler, body, b"")
        time.sleep(0.05)
        handler.wfile.write(whole_response(77))
        sent.set()

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    for age in (4, 5, 6):
        sent.clear()
        assert collect(adapter, people(age)) == ({0: age}, None)
        assert sent.wait(10)


def test_a_response_too_many_after_several_fails(service, adapt):
    """An earlier answer may have been about somebody else already."""
    sent = threading.Event()

    def answer(handler, body, number):
        ages_of(handler, body, b"")
        if number == 2:
            time.sleep(0.05)
            handler.wfile.write(whole_response(77))
            sent.set()

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    for age in (4, 5):
        assert collect(adapter, people(age)) == ({0: age}, None)
    assert sent.wait(10)
    _, error = collect(adapter, people(6))
    assert type(error) is BadOutcome
    assert "more responses than it was sent requests" in sentence(error)


def test_a_farewell_on_an_idle_connection_is_no_response_too_many(service, adapt):
    sent = threading.Event()

    def answer(handler, body, number):
        ages_of(handler, body, b"")
        if number == 2:
            time.sleep(0.05)
            handler.wfile.write(
                b"HTTP/1.1 408 Request Timeout\r\nConnection: close\r\n\r\n"
            )
            handler.close_connection = True
            sent.set()

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    for age in (4, 5):
        assert collect(adapter, people(age)) == ({0: age}, None)
    assert sent.wait(10)
    assert collect(adapter, people(6)) == ({0: 6}, None)


# What is refused before anything is sent


@pytest.mark.parametrize("name", ["X: y\r\nZ", "a b", "", "é"])
def test_names_of_headers_that_cannot_be_sent(name):
    refused(UsageError, lambda: HttpAdapter("http://h/", headers={name: "x"}), "header")


@pytest.mark.parametrize("url", ["http://a..b/", f"http://{'a' * 64}.b/"])
def test_hosts_that_cannot_be_resolved(url):
    refused(UsageError, lambda: HttpAdapter(url).check(SPACE), "cannot be read")
