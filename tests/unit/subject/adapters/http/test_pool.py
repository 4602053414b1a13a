"""Addresses of services, headers of requests, and what says that a service may answer later."""

from __future__ import annotations

import http.client
import socket
import ssl
import time
from email.utils import formatdate

import pytest

from evenhand.runtime.errors import BadOutcome, UsageError
from evenhand.subject.adapters.http.pool import (
    ServiceAddress,
    ServicePool,
    may_pass,
    retry_after,
)
from evenhand.subject.adapters.http.request import WireRequest
from tests.support.helpers import refused

MEBIBYTE = 1 << 20
SIXTEEN_KIBIBYTES = 1 << 14


@pytest.mark.parametrize(
    ("url", "parts"),
    [
        ("http://host", ("http", "host", 80, "/")),
        ("https://host/a", ("https", "host", 443, "/a")),
        ("http://host:8000/a?b=c&d", ("http", "host", 8000, "/a?b=c&d")),
        ("http://host:0/", ("http", "host", 0, "/")),
        ("http://host?b", ("http", "host", 80, "/?b")),
        ("http://[::1]:8000/a#b", ("http", "::1", 8000, "/a")),
    ],
)
def test_the_parts_of_an_address(url, parts):
    assert ServiceAddress.of(url) == parts


@pytest.mark.parametrize(
    ("url", "words"),
    [
        (None, "must be plain ASCII text"),
        (b"http://host/", "must be plain ASCII text"),
        ("http://höst/", "must be plain ASCII text"),
        ("http://host/\x7f", "must be plain ASCII text"),
        ("http://host/a b", "must be plain ASCII text"),
        ("http://host:99999/", "cannot be read"),
        ("http://a..b/", "cannot be read"),
        ("ftp://host/", "must begin with http:// or https://"),
        ("http:///a", "names no host"),
        ("http://user@host/", "the address of host contains a user name"),
        ("http://:secret@host/", "the address of host contains a user name"),
    ],
)
def test_addresses_that_cannot_be_used(url, words):
    refused(UsageError, lambda: ServiceAddress.of(url), words)


def written(url, request, **headers):
    """Return a request as it is sent."""
    address = ServiceAddress.of(url)
    pool = ServicePool(url, address, headers=headers, size=1, timeout=1)
    return pool._written(request)


def test_a_request_as_it_is_sent():
    request = WireRequest("POST", "/a?b", b"[1]")
    assert written("http://host:8000/a?b", request, Accept="x/y") == (
        b"POST /a?b HTTP/1.1\r\nHost: host:8000\r\nAccept-Encoding: identity\r\n"
        b"Accept: x/y\r\nContent-Length: 3\r\n\r\n[1]"
    )


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("http://host/", b"host"),
        ("http://host:80/", b"host"),
        ("http://host:443/", b"host:443"),
        ("http://[::1]:81/", b"[::1]:81"),
        ("http://[::1]/", b"[::1]"),
    ],
)
def test_the_host_has_a_port_where_it_is_not_the_usual_one(url, host):
    assert b"\r\nHost: " + host + b"\r\n" in written(url, WireRequest("GET", "/", None))


def test_only_a_get_without_a_body_has_no_length():
    assert b"Content-Length: 0\r\n\r\n" in written(
        "http://h", WireRequest("POST", "/", None)
    )
    assert b"Content-Length" not in written("http://h", WireRequest("GET", "/", None))
    assert b"Content-Length: 1\r\n\r\nx" in written(
        "http://h", WireRequest("GET", "/", b"x")
    )


def test_headers_of_the_user_replace_those_of_every_request():
    own = {"host": "other", "accept-encoding": "gzip", "content-length": "7"}
    found = written("http://h", WireRequest("POST", "/", b"x"), **own)
    lines = [
        b"POST / HTTP/1.1",
        b"host: other",
        b"accept-encoding: gzip",
        b"content-length: 7",
    ]
    assert found == b"\r\n".join([*lines, b"", b"x"])


# What may pass


@pytest.mark.parametrize(
    ("failure", "passes"),
    [
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (http.client.BadStatusLine(""), True),
        (ssl.SSLEOFError(), True),
        (ssl.SSLZeroReturnError(), True),
        (ssl.SSLSyscallError(), True),
        (ssl.SSLError(), False),
        (ssl.SSLCertVerificationError(), False),
        (socket.gaierror(socket.EAI_NONAME, "no such host"), False),
        (socket.gaierror(socket.EAI_AGAIN, "try again"), True),
        (OSError(socket.EAI_NONAME, "another error"), True),
    ],
)
def test_failures_that_may_pass(failure, passes):
    assert may_pass(failure) is passes


@pytest.mark.parametrize(
    ("text", "wanted"),
    [(None, 0.0), ("", 0.0), ("2", 2.0), ("0.5", 0.5), ("-3", 0.0), ("soon", 0.0)],
)
def test_the_seconds_that_a_service_asks_to_wait(text, wanted):
    assert retry_after(text) == wanted


def test_a_date_is_waited_for_until_it_has_passed():
    now = time.time()
    assert retry_after(formatdate(now - 60, usegmt=True)) == 0.0
    assert 3500 < retry_after(formatdate(now + 3600, usegmt=True)) <= 3600


# How long an answer may be


def sent(service, inputs, size):
    """Ask a service that answers with so many bytes."""
    address = ServiceAddress.of(service.url)
    service.answer = lambda handler, *_: handler.reply(text=" " * size)
    pool = ServicePool(service.url, address, headers={}, size=1, timeout=10)
    try:
        response, content = pool.send(WireRequest("GET", address.target, None), inputs)
    finally:
        pool.close()
    assert response.status == 200
    return len(content)


@pytest.mark.parametrize(
    ("inputs", "most"),
    [
        (1, MEBIBYTE + SIXTEEN_KIBIBYTES),
        (3, MEBIBYTE + 3 * SIXTEEN_KIBIBYTES),
        (100_000, 16 * MEBIBYTE),
    ],
)
def test_the_bytes_of_an_answer_grow_with_its_inputs_up_to_a_limit(service, inputs, most):
    assert sent(service, inputs, most) == most
    refused(
        BadOutcome,
        lambda: sent(service, inputs, most + 1),
        f"{service.url} answered with more than",
        "lower the batch",
    )
