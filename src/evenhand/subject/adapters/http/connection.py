"""One connection to a service, on which a whole exchange keeps one time limit.

A request is written here, and the standard library reads the response from a file of ours: it sets
the time that is left before every read and write, so that neither a name that is not resolved, nor
a handshake, nor bytes that trickle in, prolong the exchange. The time limit of a socket itself is
that of one read.
"""

from __future__ import annotations

import contextlib
import http.client
import io
import queue
import re
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    from _typeshed import WriteableBuffer

READ_SIZE = 1 << 16
"""Bytes of a response that are read at a time."""
MOST_COMPLAINT = 1 << 16
"""Bytes that are read of a response without outcomes; its beginning says what is wrong."""
_SECOND_RESPONSE = re.compile(rb"HTTP/1\.\d (?!408)\d{3}")
"""How a response begins; servers send status 408 unasked where they end an idle connection."""


class ServiceResponse(http.client.HTTPResponse):
    """A response, of which those before the final one are left out."""

    def _read_status(self) -> tuple[str, int, str]:
        version, status, reason = super()._read_status()  # type: ignore[misc]
        is_interim = status in range(100, 200) and status != http.client.SWITCHING_PROTOCOLS
        if is_interim:
            # The only one that the standard library leaves out by itself.
            status = int(http.client.CONTINUE)
        return version, status, reason

    def _read_next_chunk_size(self) -> int:
        size: int = super()._read_next_chunk_size()  # type: ignore[misc]
        if size < 0:
            raise ValueError("a chunk of a negative size")
        return size

    @property
    def has_outcomes(self) -> bool:
        """Whether its status is that of an answer."""
        return 200 <= self.status < 300

    def flaw(self) -> str:
        """Return what leaves open where its body ends, or nothing."""
        lengths = self.headers.get_all("Content-Length", [])
        codings = self.headers.get_all("Transfer-Encoding", [])
        if lengths and codings:
            return "both Content-Length and Transfer-Encoding"
        if codings and [coding.lower() for coding in codings] != ["chunked"]:
            return f"Transfer-Encoding: {', '.join(codings)}"
        if len(set(lengths)) > 1:
            return f"Content-Length: {', '.join(lengths)}"
        if lengths and not (lengths[0].isascii() and lengths[0].isdigit()):
            return f"Content-Length: {lengths[0]}"
        return ""

    def body(self, most: int) -> bytes | None:
        """Return the body, None where it has more than `most` bytes.

        Of a response without outcomes, the beginning is returned instead, and the connection cannot
        be used again.
        """
        if not self.has_outcomes:
            most = MOST_COMPLAINT
        elif self.length is not None and self.length > most:
            return None
        parts: list[bytes] = []
        size = 0
        while data := self.read1(READ_SIZE):
            parts.append(data)
            size += len(data)
            if size > most and self.has_outcomes:
                return None
            if size > most:
                self.will_close = True
                return b"".join(parts)
        content = b"".join(parts)
        if self.length:
            raise http.client.IncompleteRead(content, self.length)
        return content


class _TimedSocket(io.RawIOBase):
    """A socket as a file that nothing is read from or written to after a moment."""

    def __init__(self, stream: socket.socket) -> None:
        self._stream = stream
        self.deadline: float | None = None
        """The moment, None where a read returns only what has arrived."""
        self.has_ended = False
        """Whether the other side has said that nothing more will come."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: WriteableBuffer) -> int | None:
        if self.deadline is None:
            self._stream.settimeout(0.0)
        else:
            self._stream.settimeout(time_left(self.deadline))
        try:
            size = self._stream.recv_into(buffer)
        except OSError as error:
            if self.deadline is None and _is_nothing_yet(error):
                return None
            raise
        self.has_ended = size == 0
        return size

    def send_all(self, data: bytes, deadline: float) -> None:
        left = memoryview(data)
        while left:
            self._stream.settimeout(time_left(deadline))
            left = left[self._stream.send(left) :]

    def close(self) -> None:
        self._stream.close()


class _LastingReader(io.BufferedReader):
    """A buffer that a response does not close, so that what follows the response is not lost."""

    def close(self) -> None:
        """Do nothing: the socket is closed by its connection."""


class ServiceConnection:
    """An open connection to a service, for one exchange after another.

    Parameters
    ----------
    host, port
        Where the service is.
    context
        How to encrypt the connection, None where it is not encrypted.
    deadline
        The moment of the monotonic clock until which it must be open.
    """

    def __init__(
        self, host: str, port: int, context: ssl.SSLContext | None, deadline: float
    ) -> None:
        stream = _connected(host, port, deadline)
        try:
            stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if context is not None:
                stream.settimeout(time_left(deadline))
                stream = context.wrap_socket(stream, server_hostname=host)
        except BaseException:
            stream.close()
            raise
        self._socket = _TimedSocket(stream)
        self._reader = _LastingReader(self._socket)
        self.responses = 0
        """How many responses were read from it."""

    def makefile(self, _mode: str) -> io.BufferedReader:
        """Return what a response is read from, as a socket would."""
        return self._reader

    def ask(self, method: str, request: bytes, deadline: float) -> ServiceResponse:
        """Send a request and return the response, of which only the body is still to be read."""
        self._socket.deadline = deadline
        self._socket.send_all(request, deadline)
        # All that it wants of a socket is `makefile`.
        stream: Any = self
        response = ServiceResponse(stream, method=method)
        response.begin()
        self.responses += 1
        return response

    def left_over(self) -> bytes:
        """Return what has arrived and belongs to no response."""
        self._socket.deadline = None
        try:
            return self._reader.peek(1)
        except OSError:
            self._socket.has_ended = True
            return b""

    @property
    def has_ended(self) -> bool:
        """Whether the service was found to have closed the connection."""
        return self._socket.has_ended

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


def is_response(left_over: bytes) -> bool:
    """Return whether what nobody asked for begins as a response does.

    >>> is_response(b"HTTP/1.1 200 OK"), is_response(b"HTTP/1.1 408 Timeout"), is_response(b" ")
    (True, False, False)
    """
    return _SECOND_RESPONSE.match(left_over) is not None


def time_left(deadline: float) -> float:
    """Return the seconds until a moment of the monotonic clock, or raise TimeoutError."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left


def _is_nothing_yet(error: OSError) -> bool:
    """Return whether a read that does not wait has found nothing."""
    import ssl

    return isinstance(error, BlockingIOError | ssl.SSLWantReadError | ssl.SSLWantWriteError)


def _connected(host: str, port: int, deadline: float) -> socket.socket:
    """Return a connection to the first address of a host that takes one."""
    found = _addresses(host, port, deadline)
    failure: OSError = OSError("the host has no address")
    for number, (family, kind, protocol, _, address) in enumerate(found):
        stream = socket.socket(family, kind, protocol)
        try:
            # An address that does not respond leaves time for those after it.
            stream.settimeout(time_left(deadline) / (len(found) - number))
            stream.connect(address)
        except OSError as error:
            stream.close()
            failure = error
        except BaseException:
            stream.close()
            raise
        else:
            return stream
    raise failure


def _addresses(host: str, port: int, deadline: float) -> list[Any]:
    """Return the addresses of a host, as `socket.getaddrinfo` does."""
    with contextlib.suppress(socket.gaierror):
        return socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
        )
    answers: queue.SimpleQueue[list[Any] | Exception] = queue.SimpleQueue()

    def resolve() -> None:
        try:
            answers.put(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except Exception as error:
            answers.put(error)

    # The resolver of the system takes no time limit and cannot be ended; a connection that is kept
    # does not need it again.
    threading.Thread(target=resolve, daemon=True).start()
    try:
        answer = answers.get(timeout=time_left(deadline))
    except queue.Empty:
        raise TimeoutError from None
    if isinstance(answer, Exception):
        raise answer
    return answer
