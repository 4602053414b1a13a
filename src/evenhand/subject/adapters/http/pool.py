"""Requests to a service: connections that are kept open, and limits of time and length.

Under urllib3 hardly any of this would go: a limit on the time of a whole exchange rather than of
each read, pauses that a stopped run can end, and the one case in which a request is sent again
without counting as a repetition; and every request takes longer.
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

from evenhand.runtime import number_text
from evenhand.runtime.errors import BadOutcome, UsageError, clip
from evenhand.subject.adapters.http.connection import ServiceConnection, is_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.subject.adapters.http.connection import ServiceResponse
    from evenhand.subject.adapters.http.request import WireRequest

TRANSIENT = frozenset({408, 429, 500, 502, 503, 504})
"""Statuses of a service that is busy or being restarted, and may answer the same request later."""
ANY_BODY = 1 << 20
"""Bytes that a response may have whatever was asked."""
BODY_OF_ONE = 1 << 14
"""Bytes that it may have beyond that for each input: read as JSON, it takes up to 30 times more."""
MOST_BODY = 1 << 24
"""Bytes of a response after which it is refused, however many inputs it answers."""
PORTS = {"http": 80, "https": 443}
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
            # What the resolver would raise of labels that are empty or too long.
            (host or "").encode("idna")
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
            port = PORTS[parts.scheme]
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
        self._headers = _written_headers(address, headers)
        self._says_length = not {name.lower() for name in headers} & _LENGTHS
        self._context = _tls_context() if self._address.scheme == "https" else None
        self._idle: queue.LifoQueue[ServiceConnection] = queue.LifoQueue(size)
        self._keeps = True
        weakref.finalize(self, _close_all, self._idle)

    def close(self) -> None:
        """Close the connections that are kept; the next request opens a new one."""
        _close_all(self._idle)

    def send(self, request: WireRequest, inputs: int) -> tuple[ServiceResponse, bytes]:
        """Send a request about some inputs and return the response with its body.

        Raises one of `FAILURES` where the service does not respond, and BadOutcome where the
        response is too long, or where it ends cannot be known.
        """
        deadline = time.monotonic() + self._timeout
        most = min(MOST_BODY, ANY_BODY + BODY_OF_ONE * inputs)
        kept = self._kept()
        if kept is not None:
            try:
                return self._exchange(kept, request, deadline, most)
            except LOST:
                # A connection that was kept open and is lost at once was most likely closed by the
                # service while it was idle: that says nothing about the request, and costs no
                # repetition.
                pass
        _, host, port, _ = self._address
        opened = ServiceConnection(host, port, self._context, deadline)
        return self._exchange(opened, request, deadline, most)

    def _exchange(
        self,
        connection: ServiceConnection,
        request: WireRequest,
        deadline: float,
        most: int,
    ) -> tuple[ServiceResponse, bytes]:
        try:
            response = connection.ask(request.method, self._written(request), deadline)
            flaw = response.flaw()
            if flaw:
                raise BadOutcome(
                    f"{self._url} answered with the header {clip(flaw)}, which leaves open where"
                    " its answer ends"
                )
            content = response.body(most)
            if content is None:
                raise BadOutcome(
                    f"{self._url} answered with more than {number_text.count(most)} bytes, which is"
                    " too long for the outcomes of one request; lower the batch, or let it answer"
                    " with less"
                )
            is_last = response.will_close or not self._keeps
            if is_last or not self._is_quiet(connection):
                connection.close()
            else:
                self._keep(connection)
        except BaseException:
            connection.close()
            raise
        return response, content

    def _written(self, request: WireRequest) -> bytes:
        """Return a request as it is sent."""
        body = request.body
        length = ""
        # A request without a body has a length too where its method usually has a body.
        if self._says_length and (body is not None or request.method != "GET"):
            length = f"Content-Length: {len(body or b'')}\r\n"
        first = f"{request.method} {request.target} HTTP/1.1\r\n"
        head = f"{first}{self._headers}{length}\r\n".encode("latin-1")
        return head + (body or b"")

    # Connections that are kept

    def _kept(self) -> ServiceConnection | None:
        """Return a connection that was kept and is still open, None where there is none."""
        while True:
            try:
                connection = self._idle.get_nowait()
            except queue.Empty:
                return None
            try:
                if self._is_quiet(connection):
                    return connection
            except BaseException:
                connection.close()
                raise
            connection.close()

    def _is_quiet(self, connection: ServiceConnection) -> bool:
        """Return whether a connection that owes no response is open, and has nothing to say.

        What a service says without being asked would be taken for the answer to the next request,
        about somebody else.
        """
        surplus = connection.left_over()
        if not surplus:
            return not connection.has_ended
        self._keeps = False
        if connection.responses > 1 and is_response(surplus):
            raise BadOutcome(
                f"{self._url} sent more responses than it was sent requests; as its answers may"
                " have been taken for those of other inputs, discard this run's ledger"
            )
        return False

    def _keep(self, connection: ServiceConnection) -> None:
        try:
            self._idle.put_nowait(connection)
        except queue.Full:
            connection.close()


_LENGTHS = frozenset({"content-length", "transfer-encoding"})


def _written_headers(address: ServiceAddress, headers: Mapping[str, str]) -> str:
    """Return the headers that all requests have in common."""
    names = {name.lower() for name in headers}
    host = f"[{address.host}]" if ":" in address.host else address.host
    if address.port != PORTS[address.scheme]:
        host = f"{host}:{address.port}"
    lines: list[str] = []
    for name, value in (("Host", host), ("Accept-Encoding", "identity")):
        if name.lower() not in names:
            lines.append(f"{name}: {value}\r\n")
    for name, value in headers.items():
        lines.append(f"{name}: {value}\r\n")
    return "".join(lines)


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


def _close_all(connections: queue.LifoQueue[ServiceConnection]) -> None:
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
