"""Responses read from bytes: their status, where their body ends, and how much of it is read."""

from __future__ import annotations

import http.client
import io
import socket
import threading
import time
from typing import Any

import pytest

from evenhand.subject.adapters.http.connection import (
    ServiceConnection,
    ServiceResponse,
    _addresses,
    _connected,
    _TimedSocket,
    is_response,
    time_left,
)

COMPLAINT = 1 << 16
"""Bytes that are read of a response without outcomes."""


class Bytes:
    """What a response is read from, as a socket would be."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def makefile(self, _mode: str) -> io.BytesIO:
        return io.BytesIO(self._content)


def response(content: bytes) -> ServiceResponse:
    stream: Any = Bytes(content)
    found = ServiceResponse(stream, method="POST")
    found.begin()
    return found


def answered(*headers: str, status: int = 200, body: bytes = b"") -> ServiceResponse:
    lines = "".join(f"{header}\r\n" for header in headers)
    return response(f"HTTP/1.1 {status} X\r\n{lines}\r\n".encode() + body)


@pytest.mark.parametrize(
    ("status", "has_outcomes"), [(200, True), (299, True), (300, False), (404, False)]
)
def test_a_status_of_success_has_outcomes(status, has_outcomes):
    assert answered("Content-Length: 0", status=status).has_outcomes is has_outcomes


@pytest.mark.parametrize("interim", [100, 102, 103, 199])
def test_interim_responses_are_left_out(interim):
    first = f"HTTP/1.1 {interim} X\r\nLink: a\r\n\r\n".encode()
    found = response(first * 2 + b"HTTP/1.1 201 Y\r\nContent-Length: 0\r\n\r\n")
    assert (found.status, found.reason) == (201, "Y")


@pytest.mark.parametrize("status", [101, 200])
def test_final_responses_are_not(status):
    assert answered("Content-Length: 0", status=status).status == status


@pytest.mark.parametrize(
    ("headers", "flaw"),
    [
        ([], ""),
        (["Content-Length: 3"], ""),
        (["Content-Length: 3", "Content-Length: 3"], ""),
        (["Transfer-Encoding: chunked"], ""),
        (["Transfer-Encoding: Chunked"], ""),
        (["Content-Length: 3", "Content-Length: 4"], "Content-Length: 3, 4"),
        (["Content-Length: -3"], "Content-Length: -3"),
        (["Content-Length: +3"], "Content-Length: +3"),
        (["Content-Length: \u00b2"], "Content-Length: \u00c2\u00b2"),
        (
            ["Content-Length: 3", "Transfer-Encoding: chunked"],
            "both Content-Length and Transfer-Encoding",
        ),
        (["Transfer-Encoding: gzip"], "Transfer-Encoding: gzip"),
        (
            ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"],
            "Transfer-Encoding: chunked, chunked",
        ),
    ],
)
def test_what_leaves_open_where_a_body_ends(headers, flaw):
    assert answered(*headers, body=b"0\r\n\r\n").flaw() == flaw


# How much is read


def test_a_body_of_so_many_bytes_is_read_and_no_more():
    assert answered("Content-Length: 5", body=b"12345").body(5) == b"12345"
    assert answered("Content-Length: 5", body=b"12345").body(4) is None
    # Without a length, it is known only when it is read.
    assert answered("Connection: close", body=b"12345").body(5) == b"12345"
    assert answered("Connection: close", body=b"12345").body(4) is None
    chunked = b"2\r\n12\r\n3\r\n345\r\n0\r\n\r\n"
    assert answered("Transfer-Encoding: chunked", body=chunked).body(5) == b"12345"
    assert answered("Transfer-Encoding: chunked", body=chunked).body(4) is None


def test_a_body_that_is_too_long_is_not_read_to_its_end():
    found = answered("Content-Length: 5", body=b"12345")
    assert found.body(4) is None
    assert found.read() == b"12345"


def test_a_body_that_ends_early_is_no_body():
    found = answered("Content-Length: 5", body=b"123")
    with pytest.raises(http.client.IncompleteRead) as caught:
        found.body(9)
    assert caught.value.partial == b"123"
    assert caught.value.expected == 2


@pytest.mark.parametrize("size", [1, COMPLAINT, COMPLAINT + 1, 3 * COMPLAINT])
def test_of_a_complaint_the_beginning_is_read(size):
    found = answered(f"Content-Length: {size}", status=500, body=b"x" * size)
    content = found.body(1)
    assert content is not None
    # What was read when it became too much, in parts of the same size.
    assert len(content) == min(size, 2 * COMPLAINT)
    # A connection that still has the rest of it cannot be used again.
    assert found.will_close is (size > COMPLAINT)


def test_a_chunk_of_a_negative_size_is_no_answer():
    found = answered("Transfer-Encoding: chunked", body=b"-1\r\nx\r\n0\r\n\r\n")
    with pytest.raises((ValueError, http.client.HTTPException)):
        found.body(9)


@pytest.mark.parametrize(
    ("left_over", "is_one"),
    [
        (b"HTTP/1.1 200 OK", True),
        (b"HTTP/1.0 500", True),
        (b"HTTP/1.1 408 Timeout", False),
        (b" HTTP/1.1 200 OK", False),
        (b"", False),
    ],
)
def test_what_begins_as_a_response_does(left_over, is_one):
    assert is_response(left_over) is is_one


# Time, sockets and addresses


def test_no_time_is_left_at_the_deadline():
    now = time.monotonic()
    assert 0 < time_left(now + 100) <= 100
    for deadline in (now, now - 1):
        with pytest.raises(TimeoutError):
            time_left(deadline)


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    yield _TimedSocket(ours), theirs
    ours.close()
    theirs.close()


def test_a_read_without_a_deadline_takes_what_has_arrived(pair):
    timed, theirs = pair
    assert timed.readable() is True
    buffer = bytearray(10)
    assert timed.readinto(buffer) is None
    assert timed.has_ended is False
    theirs.sendall(b"abc")
    assert timed.readinto(buffer) == 3
    assert buffer[:3] == b"abc"
    assert timed.has_ended is False
    theirs.close()
    assert timed.readinto(buffer) == 0
    assert timed.has_ended is True


def test_a_read_with_a_deadline_waits_until_then(pair):
    timed, theirs = pair
    timed.deadline = time.monotonic() + 0.02
    with pytest.raises(TimeoutError):
        timed.readinto(bytearray(10))
    with pytest.raises(TimeoutError):
        timed.readinto(bytearray(10))
    timed.deadline = time.monotonic() + 20
    threading.Timer(0.02, lambda: theirs.sendall(b"abc")).start()
    assert timed.readinto(bytearray(10)) == 3


def test_all_is_sent_or_the_time_is_up(pair):
    timed, theirs = pair
    content = bytes(range(256)) * 8000
    received = bytearray()

    def receive() -> None:
        while len(received) < len(content):
            received.extend(theirs.recv(1 << 16))

    reader = threading.Thread(target=receive)
    reader.start()
    timed.send_all(content, time.monotonic() + 20)
    reader.join()
    assert received == content
    with pytest.raises(TimeoutError):
        timed.send_all(bytes(1 << 24), time.monotonic() + 0.02)


@pytest.fixture
def listening():
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server


def test_a_connection_reads_one_response_after_another(listening):
    port = listening.getsockname()[1]
    connection = ServiceConnection("127.0.0.1", port, None, time.monotonic() + 20)
    try:
        peer, _ = listening.accept()
        with peer:
            assert connection.responses == 0
            for number in (1, 2):
                peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number)
                found = connection.ask("POST", b"question", time.monotonic() + 20)
                assert peer.recv(100) == b"question"
                assert found.body(10) == b"%d" % number
                assert connection.responses == number
                assert connection.left_over() == b""
                assert connection.has_ended is False
            peer.sendall(b"more")
            while not connection.left_over():
                time.sleep(0.001)
            assert connection.left_over() == b"more"
    finally:
        connection.close()


def test_a_connection_that_was_closed_or_reset_has_ended(listening):
    port = listening.getsockname()[1]
    for linger in (False, True):
        connection = ServiceConnection("127.0.0.1", port, None, time.monotonic() + 20)
        peer, _ = listening.accept()
        if linger:
            # A connection that is closed without waiting is reset.
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
        peer.close()
        while not connection.has_ended:
            assert connection.left_over() == b""
        connection.close()


def test_packets_are_sent_at_once(listening):
    port = listening.getsockname()[1]
    connection = ServiceConnection("127.0.0.1", port, None, time.monotonic() + 20)
    stream = connection._socket._stream
    assert stream.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
    connection.close()
    assert stream.fileno() == -1


def test_the_addresses_of_a_host_are_tried_one_after_another(listening, monkeypatch):
    port = listening.getsockname()[1]
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        closed = probe.getsockname()[1]
    kind = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
    good, bad = (*kind, ("127.0.0.1", port)), (*kind, ("127.0.0.1", closed))
    found = [bad, good]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    stream = _connected("somewhere", 80, time.monotonic() + 20)
    assert stream.getpeername() == ("127.0.0.1", port)
    stream.close()
    found[:] = [bad, bad]
    with pytest.raises(ConnectionRefusedError):
        _connected("somewhere", 80, time.monotonic() + 20)
    found.clear()
    with pytest.raises(OSError, match="the host has no address"):
        _connected("somewhere", 80, time.monotonic() + 20)


def test_every_address_is_left_its_share_of_the_time(monkeypatch):
    class Noting:
        """A socket that notes how long it may take."""

        limits: list[float] = []  # noqa: RUF012

        def __init__(self, *_: Any) -> None:
            pass

        def settimeout(self, seconds: float) -> None:
            self.limits.append(seconds)

        def connect(self, _address: Any) -> None:
            raise ConnectionRefusedError

        def close(self) -> None:
            pass

    address = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 9))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [address] * 3)
    monkeypatch.setattr(socket, "socket", Noting)
    with pytest.raises(ConnectionRefusedError):
        _connected("somewhere", 80, time.monotonic() + 60)
    assert Noting.limits == pytest.approx([20.0, 30.0, 60.0], rel=0.05)


def test_a_number_is_an_address_and_a_name_is_resolved(monkeypatch):
    ((family, kind, _, _, address),) = _addresses("127.0.0.1", 81, time.monotonic() + 20)
    assert (family, kind, address) == (
        socket.AF_INET,
        socket.SOCK_STREAM,
        ("127.0.0.1", 81),
    )
    asked = []

    def resolve(host: str, port: int, **options: Any) -> Any:
        asked.append((host, port, options))
        if "flags" in options:
            raise socket.gaierror
        return ["found"]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    assert _addresses("name", 81, time.monotonic() + 20) == ["found"]
    assert [(host, port) for host, port, _ in asked] == [("name", 81)] * 2

    def fail(*_: Any, **options: Any) -> Any:
        if "flags" in options:
            raise socket.gaierror
        raise socket.gaierror(socket.EAI_NONAME, "no such name")

    monkeypatch.setattr(socket, "getaddrinfo", fail)
    with pytest.raises(socket.gaierror, match="no such name"):
        _addresses("name", 81, time.monotonic() + 20)


@pytest.mark.parametrize("error", [ConnectionRefusedError, KeyboardInterrupt])
def test_a_socket_that_does_not_connect_is_closed(monkeypatch, error):
    closed = []

    class Failing:
        def __init__(self, *_: Any) -> None:
            pass

        def settimeout(self, _seconds: float) -> None:
            pass

        def connect(self, _address: Any) -> None:
            raise error

        def close(self) -> None:
            closed.append(self)

    address = (socket.AF_INET, socket.SOCK_STREAM, 0, "", ("127.0.0.1", 9))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: [address])
    monkeypatch.setattr(socket, "socket", Failing)
    with pytest.raises(error):
        _connected("somewhere", 80, time.monotonic() + 60)
    assert len(closed) == 1


def test_a_handshake_that_fails_closes_the_socket(listening):
    class Refusing:
        """A context that encrypts nothing, and notes what it was given."""

        given: Any = None

        def wrap_socket(self, stream: Any, server_hostname: str) -> Any:
            self.given = (stream, server_hostname, stream.gettimeout())
            raise OSError("no handshake")

    context: Any = Refusing()
    port = listening.getsockname()[1]
    with pytest.raises(OSError, match="no handshake"):
        ServiceConnection("127.0.0.1", port, context, time.monotonic() + 20)
    stream, host, seconds = context.given
    assert stream.fileno() == -1
    assert host == "127.0.0.1"
    assert 15 < seconds <= 20
