"""Connections to a service: kept, lost, bounded, secured; and when a request is sent again."""

from __future__ import annotations

import shutil
import ssl
import subprocess
import sys
import threading
import time
from email.utils import formatdate

import numpy as np
import pytest

from evenhand.runtime.errors import BadOutcome, SubjectCrashed
from evenhand.subject.adapters.http import pool as http_pool
from evenhand.subject.adapters.http.adapter import HttpAdapter
from tests.support.helpers import SPACE, collect, people, sentence
from tests.unit.subject.adapters.service import LoopbackService, serving


def test_reading_its_options_loads_no_http_client():
    code = (
        "import sys, evenhand, evenhand.subject.adapters.http.adapter\n"
        "assert 'http.client' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_headers_are_those_of_a_plain_request(service, adapt):
    collect(adapt(), people(1))
    request = service.requests[0]
    assert sorted(request.headers) == [
        "Accept",
        "Accept-Encoding",
        "Content-Length",
        "Content-Type",
        "Host",
    ]
    assert request.headers["Accept-Encoding"] == "identity"
    assert request.headers["Host"] == f"127.0.0.1:{service.server_port}"


def test_a_user_agent_can_be_given(service, adapt):
    collect(adapt(headers={"user-agent": "audit"}), people(1))
    assert service.requests[0].headers["user-agent"] == "audit"


# When a request is sent again


@pytest.mark.parametrize(
    ("wanted", "least"),
    [
        (lambda: "1", 1.0),
        # A date has no fractions of seconds: one in two seconds is at least one second away.
        (lambda: formatdate(time.time() + 2, usegmt=True), 1.0),
        (lambda: formatdate(time.time() - 60, usegmt=True), 0.0),
    ],
)
@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_obeyed_in_seconds_and_as_a_date(
    service, adapt, wanted, least, status
):
    times = []

    def answer(handler, body, number):
        times.append(time.monotonic())
        if number == 1:
            handler.reply(status, text="later", Retry_After=wanted())
        else:
            handler.right(body)

    service.answer = answer
    assert collect(adapt(retries=1), people(9)) == ({0: 9}, None)
    assert len(times) == 2
    pause = times[1] - times[0]
    assert least <= pause < 3.5


def test_retry_after_repeats_no_status_that_is_final(service, adapt):
    service.answer = lambda handler, *_: handler.reply(
        413, text="too large", Retry_After="0"
    )
    _, error = collect(adapt(), people(1))
    assert type(error) is SubjectCrashed
    assert "status 413" in sentence(error)
    assert len(service.requests) == 1


def test_pauses_grow(service, adapt):
    times = []

    def answer(handler, *_):
        times.append(time.monotonic())
        handler.reply(503, text="later")

    service.answer = answer
    collect(adapt(retries=3, backoff=0.1), people(1))
    first, second, third = np.diff(times)
    assert first >= 0.1
    assert second >= 0.2
    assert third >= 0.4


def test_a_pause_ends_where_the_run_is_stopped(service, adapt):
    def answer(handler, body, _):
        if body["inputs"][0]["age"] == 1:
            handler.right(body)
        else:
            handler.reply(503, text="later", Retry_After="60")

    service.answer = answer
    run = adapt(batch=1, concurrency=2, timeout=60).run(people(1, 2), SPACE)
    rows, _ = next(run)
    assert rows.tolist() == [0]
    began = time.monotonic()
    run.close()
    assert time.monotonic() - began < 10


# Connections


def drop_second(handler, body, number):
    """Take the second request, and close the connection without a word."""
    if number == 2:
        handler.close_connection = True
    else:
        handler.right(body)


def test_a_kept_connection_that_is_dropped_costs_no_repetition(service, adapt):
    service.answer = drop_second
    adapter = adapt(retries=0, concurrency=1)
    for age in range(3):
        assert collect(adapter, people(age)) == ({0: age}, None)
    ages = [request.body["inputs"][0]["age"] for request in service.requests]
    assert ages == [0, 1, 1, 2]
    assert len(service.peers) == 2


def test_a_new_connection_that_is_dropped_is_not_asked_again(service, adapt):
    service.answer = drop_second
    adapter = adapt(retries=0, concurrency=1)
    collect(adapter, people(0))
    adapter.close()
    _, error = collect(adapter, people(1))
    assert type(error) is SubjectCrashed
    for word in (service.url, "Remote end closed connection", "running"):
        assert word in sentence(error)
    assert len(service.requests) == 2


def test_a_kept_connection_is_given_up_only_once(service, adapt):
    def answer(handler, body, number):
        if number == 1:
            handler.right(body)
        else:
            handler.close_connection = True

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    collect(adapter, people(0))
    _, error = collect(adapter, people(1))
    assert type(error) is SubjectCrashed
    assert len(service.requests) == 3


def test_an_answer_that_ends_early_is_no_lost_connection(service, adapt):
    def answer(handler, body, number):
        if number == 2:
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n[1")
            handler.close_connection = True
        else:
            handler.right(body)

    service.answer = answer
    adapter = adapt(retries=0, concurrency=1)
    collect(adapter, people(0))
    _, error = collect(adapter, people(1))
    assert type(error) is SubjectCrashed
    assert "2 bytes read, 498 more expected" in sentence(error)
    assert len(service.requests) == 2


def test_a_run_opens_no_more_connections_than_it_may_use(service, adapt):
    adapter = adapt(batch=1, concurrency=3)
    for _ in range(3):
        collect(adapter, people(*range(40)))
    assert service.most_connections <= 3


def test_runs_at_the_same_time_leave_no_more_connections_than_one(service, adapt):
    meeting = threading.Barrier(4, timeout=20)

    def answer(handler, body, number):
        if number <= 4:
            meeting.wait()  # so that both runs use both of their connections at once
        handler.right(body)

    service.answer = answer
    adapter = adapt(batch=1, concurrency=2, timeout=30)
    errors = []

    def run() -> None:
        _, error = collect(adapter, people(*range(20)))
        errors.append(error)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == [None, None]
    assert service.most_connections == 4
    patience = time.monotonic() + 10
    while service.open_connections > 2 and time.monotonic() < patience:
        time.sleep(0.02)
    assert service.open_connections <= 2


def test_close_closes_the_connections_that_are_kept(service, adapt):
    adapter = adapt(batch=1, concurrency=2)
    collect(adapter, people(*range(10)))
    adapter.close()
    patience = time.monotonic() + 10
    while service.open_connections and time.monotonic() < patience:
        time.sleep(0.02)
    assert service.open_connections == 0


def test_an_answer_that_is_too_long_is_refused(service, adapt, monkeypatch):
    monkeypatch.setattr(http_pool, "MOST_BODY", 1000)
    service.answer = lambda handler, *_: handler.reply(text="[" + " " * 5000 + "1]")
    _, error = collect(adapt(), people(1))
    assert type(error) is BadOutcome
    assert "more than 1,000 bytes" in sentence(error)
    assert len(service.requests) == 1


# TLS


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for 127.0.0.1 that nobody but itself vouches for, and its key."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("needs the program openssl")
    folder = tmp_path_factory.mktemp("tls")
    key = folder / "key.pem"
    public = folder / "certificate.pem"
    command = [openssl, "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-keyout", str(key), "-out", str(public)]
    subprocess.run([*command, *subject, *files], check=True, capture_output=True)
    return public, key


@pytest.fixture
def secure_service(certificate):
    public, key = certificate
    server = LoopbackService()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, key)
    # Without the handshake in `accept`, so that one client who breaks it off does not end the loop.
    server.socket = context.wrap_socket(
        server.socket, server_side=True, do_handshake_on_connect=False
    )
    with serving(server):
        yield server, f"https://127.0.0.1:{server.server_port}/decide"


def test_a_certificate_that_nobody_vouches_for_is_refused(secure_service):
    server, url = secure_service
    # It is not asked again: neither the pause nor the attempts would change the certificate.
    adapter = HttpAdapter(url, retries=3, backoff=60, timeout=10)
    _, error = collect(adapter, people(1))
    adapter.close()
    assert type(error) is SubjectCrashed
    assert "attempts" not in str(error)
    for word in (url, "CERTIFICATE_VERIFY_FAILED", "self-signed", "SSL_CERT_FILE"):
        assert word in sentence(error).replace("self signed", "self-signed")
    assert server.requests == []


def test_a_certificate_authority_is_named_by_the_environment(
    secure_service, certificate, monkeypatch
):
    server, url = secure_service
    public, _ = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    adapter = HttpAdapter(url, retries=0, timeout=10, batch=3, concurrency=1)
    ages = range(9)
    found, error = collect(adapter, people(*ages))
    adapter.close()
    assert error is None
    assert found == {age: age for age in ages}
    assert len(server.requests) == 3
    assert len(server.peers) == 1


def test_a_certificate_for_another_host_is_refused(
    secure_service, certificate, monkeypatch
):
    server, url = secure_service
    public, _ = certificate
    monkeypatch.setenv("SSL_CERT_FILE", str(public))
    adapter = HttpAdapter(url.replace("127.0.0.1", "localhost"), retries=0, timeout=10)
    _, error = collect(adapter, people(1))
    adapter.close()
    assert type(error) is SubjectCrashed
    assert "localhost" in sentence(error)
    assert server.requests == []


class NoCertificates:
    """What `ssl.get_default_verify_paths` returns where the system has no certificates."""

    cafile = None
    capath = None


def test_certifi_serves_where_the_system_has_no_certificates(
    certificate, monkeypatch, tmp_path
):
    public, _ = certificate
    module = tmp_path / "certifi.py"
    module.write_text(f"def where():\n    return {str(public)!r}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "certifi", raising=False)
    empty = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    monkeypatch.setattr(ssl, "create_default_context", lambda: empty)
    monkeypatch.setattr(ssl, "get_default_verify_paths", NoCertificates)
    context = http_pool._tls_context()
    monkeypatch.delitem(sys.modules, "certifi", raising=False)
    assert context is empty
    assert context.cert_store_stats()["x509"] == 1
