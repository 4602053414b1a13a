"""A service on loopback that answers as it should, or breaks the rules of HTTP in one way.

Every way is one function of a connection and a request. Nothing here lasts: a connection is
closed after `LONGEST` seconds whatever happens on it.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import socket
import struct
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.faults.planted.planted import VALUES, flipped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Wire = Callable[["Connection", "Request"], None]

LONGEST = 60.0
"""Seconds after which a connection is closed, whoever still wants it."""
BODY = 80 << 20
"""Bytes of a body that is too large."""
BOMB = 200 << 20
"""Bytes that a small compressed body unpacks to."""


@dataclass(frozen=True)
class Request:
    """What was asked: the people, their right answers, and how often one was asked before."""

    people: list[dict[str, Any]]
    answers: list[str]
    number: int


@dataclass
class Connection:
    """One connection of a client, with a deadline."""

    socket: socket.socket
    until: float = field(default_factory=lambda: time.monotonic() + LONGEST)

    def send(self, *parts: bytes) -> None:
        """Send bytes; a client that has gone ends the connection."""
        for part in parts:
            self.socket.sendall(part)

    def dribble(self, parts: Iterator[bytes], pause: float) -> None:
        """Send parts with pauses between them, for as long as the client listens."""
        for part in parts:
            if time.monotonic() > self.until:
                return
            self.send(part)
            time.sleep(pause)

    def reset(self) -> None:
        """Close the connection with a reset instead of an end."""
        linger = struct.pack("ii", 1, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close()

    def close(self) -> None:
        """Close the connection; what waits for it on either side ends."""
        with contextlib.suppress(OSError):
            self.socket.close()


def response(
    body: bytes, status: str = "200 OK", headers: dict[str, str] | None = None
) -> bytes:
    """Return the bytes of a response."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}"]
    for name, value in (headers or {}).items():
        lines.append(f"{name}: {value}")
    return "\r\n".join([*lines, "", ""]).encode() + body


def good(request: Request) -> bytes:
    return response(json.dumps(request.answers).encode())


def answering(value: Callable[[str], Any]) -> Wire:
    """Return a service that answers something else to every input."""

    def wire(connection: Connection, request: Request) -> None:
        values = [value(answer) for answer in request.answers]
        connection.send(response(json.dumps(values).encode()))

    return wire


def saying(
    status: str,
    body: bytes = b"it is broken",
    headers: dict[str, str] | None = None,
    *,
    once: bool = False,
) -> Wire:
    """Return a service that answers with a status, always or to every first request."""

    def wire(connection: Connection, request: Request) -> None:
        if once and request.number > 0:
            connection.send(good(request))
        else:
            connection.send(response(body, status, headers))

    return wire


def refusing(act: Callable[[Connection], None], *, once: bool = False) -> Wire:
    """Return a service that does something instead of an answer, always or at first."""

    def wire(connection: Connection, request: Request) -> None:
        if once and request.number > 0:
            connection.send(good(request))
        else:
            act(connection)

    return wire


def silence(connection: Connection) -> None:
    """Say nothing until the client has gone."""
    connection.socket.settimeout(max(0.1, connection.until - time.monotonic()))
    with contextlib.suppress(OSError):
        connection.socket.recv(1)


def slow(connection: Connection, request: Request) -> None:
    time.sleep(0.2)
    connection.send(good(request))


def slow_headers(connection: Connection) -> None:
    """Send a header that never ends, two bytes a second."""
    connection.send(b"HTTP/1.1 200 OK\r\nX-Slow: ")
    connection.dribble(iter(lambda: b"x", b""), 0.5)


def slow_chunks(connection: Connection) -> None:
    """Send the size of a chunk that never ends."""
    connection.send(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    connection.dribble(iter(lambda: b"0", b""), 0.5)


def many_headers(connection: Connection) -> None:
    """Send headers without end, as fast as they are read."""
    connection.send(b"HTTP/1.1 200 OK\r\n")
    connection.dribble(iter(lambda: b"X-More: more\r\n" * 1000, b""), 0.01)


def continues(connection: Connection) -> None:
    """Send 100 Continue without end."""
    connection.dribble(iter(lambda: b"HTTP/1.1 100 Continue\r\n\r\n", b""), 0.05)


def surplus(connection: Connection, request: Request) -> None:
    """Send two responses at once, the second of which is wrong."""
    wrong = [flipped(answer) for answer in request.answers]
    connection.send(good(request) + response(json.dumps(wrong).encode()))


def half(connection: Connection, request: Request) -> None:
    """Send half of a body, and close."""
    whole = good(request)
    connection.send(whole[: -len(request.answers) * 5])
    connection.close()


def flood(connection: Connection) -> None:
    """Send a body that is too large to be an answer."""
    connection.send(f"HTTP/1.1 200 OK\r\nContent-Length: {BODY}\r\n\r\n".encode())
    block = b'"' + b"x" * ((1 << 20) - 1)
    connection.dribble(iter([block] * (BODY // len(block))), 0.0)


def long_answer(connection: Connection, request: Request) -> None:
    """Send one answer of 40 MB, which is as much JSON as is read."""
    text = "x" * (40 << 20)
    values = [text, *request.answers[1:]]
    connection.send(response(json.dumps(values).encode()))


def bomb(connection: Connection) -> None:
    """Send a small body that unpacks to a large one."""
    packed = gzip.compress(b"[" + b" " * BOMB + b"]")
    connection.send(response(packed, headers={"Content-Encoding": "gzip"}))


def deep(connection: Connection) -> None:
    """Send lists in lists in lists."""
    connection.send(response(b"[" * 100_000 + b"]" * 100_000))


def fewer(connection: Connection, request: Request) -> None:
    connection.send(response(json.dumps(request.answers[:-1]).encode()))


def more(connection: Connection, request: Request) -> None:
    connection.send(response(json.dumps([*request.answers, "approve"]).encode()))


def kept(connection: Connection, request: Request) -> None:
    connection.send(good(request))


RETRY = {"Retry-After": "1"}
NEVER = {"Retry-After": "86400"}
WIRES: dict[str, Wire] = {
    "": kept,
    "crash": saying("500 Internal Server Error"),
    "refuses": saying("404 Not Found"),
    "hang": refusing(silence),
    "slow": slow,
    "reset": refusing(Connection.reset),
    "reset once": refusing(Connection.reset, once=True),
    "429": saying("429 Too Many Requests", headers=RETRY),
    "429 once": saying("429 Too Many Requests", headers=RETRY, once=True),
    "503": saying("503 Service Unavailable", headers=NEVER),
    "503 once": saying("503 Service Unavailable", headers=RETRY, once=True),
    "slow headers": refusing(slow_headers),
    "slow chunks": refusing(slow_chunks),
    "many headers": refusing(many_headers),
    "100 Continue": refusing(continues),
    "redirect loop": saying("302 Found", headers={"Location": "/decide"}),
    "redirect away": saying(
        "307 Temporary Redirect", headers={"Location": "http://127.0.0.2:9/decide"}
    ),
    "bomb": refusing(bomb),
    "surplus": surplus,
    "half": half,
    "flood": refusing(flood),
    "long answer": long_answer,
    "deep": refusing(deep),
    "empty": saying("200 OK", b""),
    "page": saying("200 OK", b"<html>\x1b[31mlogin</html>"),
    "status escapes": saying("500 \x1b]0;owned\x07", b"\x1b[2Jgone"),
    "too few": fewer,
    "too many": more,
    **{name: answering(value) for name, value in VALUES.items() if name != "flaky"},
}
"""What a service does, by the name of its fault."""


class PlantedService:
    """A service on loopback with one fault; it ends with the block that it is used in."""

    def __init__(self, fault: str = "", *, biased: bool = False, log: Path | None = None):
        self.fault = fault
        self.biased = biased
        self.log = log
        self.pause = 0.0
        self._requests: dict[str, int] = {}
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._socket.getsockname()[1])
        self._thread = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        """The address to ask."""
        return f"http://127.0.0.1:{self.port}/decide"

    @property
    def requests(self) -> int:
        """How many different requests there were."""
        return len(self._requests)

    def __enter__(self) -> PlantedService:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # To shut down is what wakes the thread that accepts.
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            for connection in self._open:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with self._lock:
                self._open.add(connection)
            threading.Thread(target=self._serve, args=[connection], daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(LONGEST)
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection = Connection(client)
        try:
            while (body := _body(client)) is not None:
                WIRES[self.fault](connection, self._request(body))
        except (OSError, ValueError):
            pass  # the client has gone, or the fault was to close
        finally:
            connection.close()
            with self._lock:
                self._open.discard(client)

    def _request(self, body: bytes) -> Request:
        people = json.loads(body)["inputs"]
        time.sleep(self.pause * len(people))
        if self.log is not None:
            self._write_down(people)
        answers = [self._answer(person) for person in people]
        key = body.decode()
        with self._lock:
            number = self._requests.get(key, 0)
            self._requests[key] = number + 1
        return Request(people, answers, number)

    def _answer(self, person: dict[str, Any]) -> str:
        later = 10 if self.biased and person["sex"] == "F" else 0
        return "approve" if person["age"] > 35 + later else "deny"

    def _write_down(self, people: list[dict[str, Any]]) -> None:
        lines = []
        for person in people:
            words = {key: str(value) for key, value in sorted(person.items())}
            lines.append(json.dumps(words) + "\n")
        assert self.log is not None
        descriptor = os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        os.write(descriptor, "".join(lines).encode())
        os.close(descriptor)


def _body(client: socket.socket) -> bytes | None:
    """Read one request, and return its body; None where the client has gone."""
    content = b""
    while b"\r\n\r\n" not in content:
        part = client.recv(1 << 16)
        if not part:
            return None
        content += part
    head, _, body = content.partition(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    while len(body) < length:
        part = client.recv(1 << 16)
        if not part:
            return None
        body += part
    return body
