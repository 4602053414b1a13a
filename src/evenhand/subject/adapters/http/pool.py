"""Requests to a service: connections that are kept open, and time limits.

The standard library sends them. Under urllib3 hardly any of this would go: a limit on the time of
a whole answer rather than of each read, pauses that a stopped run can end, and the one case in
which a request is sent again without counting as a repetition; and every request takes longer.
"""

from __future__ import annotations

import http.client
import importlib
import queue
import socket
import ssl
import time
import weakref
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from evenhand.runtime.errors import BadOutcome, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.subject.adapters.http.request import WireRequest

TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of a service that is busy or being restarted, and may answer the same request later."""
MOST_BODY = 1 << 26
"""Bytes of a response after which it is refused."""
READ_SIZE = 1 << 16
"""Bytes of a response that are read at a time."""
FAILURES = (OSError, http.client.HTTPException)
"""What `ServicePool.send` raises where there is no response."""
LOST = (ConnectionError, http.client.BadStatusLine)
"""What it raises where the service has closed the connection."""
_CUT_OFF = (ssl.SSLEOFError, ssl.SSLZeroReturnError, ssl.SSLSyscallError)
"""Errors of an encrypted connection that was lost, and may not be lost the next time."""


def may_pass(failure: Exception) -> bool:
    """Return whether the same request may be answered later.

    A certificate that is not trusted, a service that does not speak TLS and a host that does not
    exist stay so.

    >>> may_pass(ConnectionResetError()), may_pass(ssl.SSLCertVerificationError())
    (True, False)
    """
    if isinstance(failure, ssl.SSLError):
        return isinstance(failure, _CUT_OFF)
    return not (isinstance(failure, socket.gaierror) and failure.errno == socket.EAI_NONAME)


class ServiceAddress(NamedTuple):
    """The parts of an address of a service."""

    scheme: str
    host: str
    port: int
    target: str
    """Path and query, as the first line of a request holds them."""

    @classmethod
    def of(cls, url: str) -> ServiceAddress:
        """Return the parts of an address, or raise a UsageError that says what is wrong with it."""
        if (
            not isinstance(url, str)
            or not url.isascii()
            or not url.isprintable()
            or " " in url
        ):
            raise UsageError(
                f"the address {url!r} must be plain ASCII text; percent-encode other characters"
            )
        try:
            parts = urlsplit(url)
            host = parts.hostname
            port = parts.port
        except ValueError as error:
            raise UsageError(
                f"the address {url!r} cannot be read ({error}); write http://host:port/path"
            ) from None
        if parts.scheme not in ("http", "https"):
            raise UsageError(f"the address {url!r} must begin with http:// or https://")
        if not host:
            raise UsageError(
                f"the address {url!r} names no host; write http://host:port/path"
            )
        if parts.username is not None:
            # Neither the address nor its password is repeated: messages end up in logs.
            raise UsageError(
                f"the address of {host} contains a user name; pass headers={{'Authorization': …}}"
                " instead"
            )
        if port is None:
            port = 443 if parts.scheme == "https" else 80
        target = parts.path or "/"
        if parts.query:
            target = f"{target}?{parts.query}"
        return cls(parts.scheme, host, port, target)


class ServicePool:
    """The connections to one service, of which at most `size` are kept open between requests.

    It does not wait for a free connection: the threads that ask bound their number, and one that
    hangs after an interrupted run must not hold up the next run.
    """

    def __init__(
        self,
        url: str,
        address: ServiceAddress,
        *,
        headers: Mapping[str, str],
        size: int,
        timeout: float,
    ) -> None:
        # The address as the user wrote it, for messages.
        self._url = url
        self._timeout = timeout
        self._address = address
        self._headers = dict(headers)
        self._context = _tls_context() if self._address.scheme == "https" else None
        self._idle: queue.LifoQueue[http.client.HTTPConnection] = queue.LifoQueue(size)
        weakref.finalize(self, _close_all, self._idle)

    def close(self) -> None:
        """Close the connections that are kept; the next request opens a new one."""
        _close_all(self._idle)

    def send(self, request: WireRequest) -> tuple[http.client.HTTPResponse, bytes]:
        """Send a request and return the response with its body, whatever its status.

        Raises one of `FAILURES` where the service does not respond, and BadOutcome where the
        response is too long.
        """
        try:
            kept = self._idle.get_nowait()
        except queue.Empty:
            return self._send(self._opened(), request)
        try:
            return self._send(kept, request)
        except LOST:
            # A connection that was kept open and is lost at once was most likely closed by the
            # service while it was idle: that says nothing about the request, and costs no
            # repetition.
            return self._send(self._opened(), request)

    def _opened(self) -> http.client.HTTPConnection:
        """Return a new connection, which opens with its first request."""
        _, host, port, _ = self._address
        if self._context is None:
            return http.client.HTTPConnection(host, port, timeout=self._timeout)
        return http.client.HTTPSConnection(
            host, port, timeout=self._timeout, context=self._context
        )

    def _send(
        self, connection: http.client.HTTPConnection, request: WireRequest
    ) -> tuple[http.client.HTTPResponse, bytes]:
        deadline = time.monotonic() + self._timeout
        try:
            connection.request(request.method, request.target, request.body, self._headers)
            response = connection.getresponse()
            content = self._content(response, deadline)
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self._keep(connection)
        return response, content

    def _content(self, response: http.client.HTTPResponse, deadline: float) -> bytes:
        """Return the body of a response, or raise where it takes too long or is too long."""
        parts: list[bytes] = []
        size = 0
        # `read1` returns what has arrived. The time limit of a socket is that of one read: a
        # service that sends a byte now and then would never meet it.
        while data := response.read1(READ_SIZE):
            parts.append(data)
            size += len(data)
            if time.monotonic() > deadline:
                raise TimeoutError
            if size > MOST_BODY:
                raise BadOutcome(
                    f"{self._url} answered with more than {MOST_BODY:,} bytes, which is too long"
                    " for the outcomes of one request"
                )
        content = b"".join(parts)
        if response.length:
            raise http.client.IncompleteRead(content, response.length)
        # `read1` leaves that to us, and the connection takes no request before.
        response.close()
        return content

    def _keep(self, connection: http.client.HTTPConnection) -> None:
        try:
            self._idle.put_nowait(connection)
        except queue.Full:
            connection.close()


def retry_after(text: str | None) -> float:
    """Return the seconds that a header `Retry-After` asks to wait, 0 where it does not say.

    >>> retry_after("2"), retry_after("soon"), retry_after(None)
    (2.0, 0.0, 0.0)
    """
    if text is None:
        return 0.0
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return 0.0
    return max(0.0, moment - time.time())


def _close_all(connections: queue.LifoQueue[http.client.HTTPConnection]) -> None:
    while True:
        try:
            connections.get_nowait().close()
        except queue.Empty:
            return


def _tls_context() -> ssl.SSLContext:
    """Return a context that trusts what the system trusts, or certifi where the system has nothing.

    The environment variables SSL_CERT_FILE and SSL_CERT_DIR replace the certificates of the system.
    """
    context = ssl.create_default_context()
    paths = ssl.get_default_verify_paths()
    # A folder of certificates is read as they are needed, and counts none at first.
    has_none = context.cert_store_stats()["x509_ca"] == 0
    if has_none and paths.cafile is None and paths.capath is None:
        try:
            certifi = importlib.import_module("certifi")
        except ImportError:
            return context
        context.load_verify_locations(certifi.where())
    return context
