"""Requests to a service: connections that are kept open, time limits, and repetitions.

urllib3 keeps the connections. What it does not do is here: a limit on the time of a whole answer
rather than of each read, pauses that a stopped run can end, and the one case in which a request is
sent again without counting as a repetition.
"""

from __future__ import annotations

import http.client
import importlib
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

import urllib3
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, InvalidHeader, ProtocolError

from evenhand.runtime.errors import BadOutcome, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from urllib3 import BaseHTTPResponse

TRANSIENT = frozenset({429, 500, 502, 503, 504})
"""Statuses of a service that is busy or being restarted, and may answer the same request later."""
MOST_BODY = 1 << 26
"""Bytes of a response after which it is refused."""
READ_SIZE = 1 << 16
"""Bytes of a response that are read at a time."""
ONCE = urllib3.Retry(total=False)
"""Rules of urllib3 under which it sends a request once: all repetitions are decided here."""
FAILURES = (HTTPError, TimeoutError)
"""What `ServicePool.post` raises where there is no response."""


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
        if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
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
            raise UsageError(f"the address {url!r} names no host; write http://host:port/path")
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
        *,
        headers: Mapping[str, str],
        size: int,
        timeout: float,
    ) -> None:
        self._url = url
        self._timeout = timeout
        self._address = ServiceAddress.of(url)
        self._headers = _without_user_agent(headers)
        self._size = size
        self._pool = self._open()

    def _open(self) -> urllib3.HTTPConnectionPool:
        settings: dict[str, Any] = {
            "timeout": urllib3.Timeout(connect=self._timeout, read=self._timeout),
            "maxsize": self._size,
            "block": False,
        }
        host = self._address.host
        port = self._address.port
        if self._address.scheme == "http":
            pool = urllib3.HTTPConnectionPool(host, port, **settings)
            pool.ConnectionCls = _ServiceConnection
            return pool
        secure_pool = urllib3.HTTPSConnectionPool(
            host, port, ssl_context=_tls_context(), **settings
        )
        secure_pool.ConnectionCls = _SecureServiceConnection
        return secure_pool

    def close(self) -> None:
        """Close the connections that are kept; the next request opens a new one."""
        closed = self._pool
        self._pool = self._open()
        closed.close()

    def post(self, body: bytes) -> tuple[BaseHTTPResponse, bytes]:
        """Send a request and return the response with its body, whatever its status.

        Raises one of `FAILURES` where the service does not respond, and BadOutcome where the
        response is too long.
        """
        _connected.in_this_request = False
        try:
            return self._post(body)
        except ProtocolError as failure:
            if _connected.in_this_request or not _is_lost_connection(failure):
                raise
        # A connection that was kept open and is lost at once was most likely closed by the service
        # while it was idle: that says nothing about the request, and costs no repetition. urllib3
        # has thrown the connection away, so the next one is new.
        return self._post(body)

    def _post(self, body: bytes) -> tuple[BaseHTTPResponse, bytes]:
        deadline = time.monotonic() + self._timeout
        response = self._pool.urlopen(
            "POST",
            self._address.target,
            body=body,
            headers=self._headers,
            retries=ONCE,
            redirect=False,
            assert_same_host=False,
            preload_content=False,
            decode_content=False,
        )
        try:
            content = self._content(response, deadline)
        except BaseException:
            response.close()
            raise
        finally:
            response.release_conn()
        return response, content

    def _content(self, response: BaseHTTPResponse, deadline: float) -> bytes:
        """Return the body of a response, or raise where it takes too long or is too long."""
        parts: list[bytes] = []
        size = 0
        # `read1` returns what has arrived. The timeout of urllib3 is that of one read of the
        # socket: a service that sends a byte now and then would never meet it.
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
        return b"".join(parts)


class Repetitions(urllib3.Retry):
    """urllib3's count of how often a request is still repeated, with pauses that suit a service.

    >>> rules = Repetitions.of(retries=2, backoff=0.5)
    >>> [rules.is_retry("POST", status) for status in (429, 503, 404, 413)]
    [True, True, False, False]
    >>> once = rules.increment("POST", "/decide", error=TimeoutError())
    >>> twice = once.increment("POST", "/decide", error=TimeoutError())
    >>> once.pause(), twice.pause()
    (0.5, 1.0)
    """

    # urllib3 also repeats what was refused with 413 and Retry-After, but a request that is too
    # large stays too large.
    RETRY_AFTER_STATUS_CODES = TRANSIENT

    @classmethod
    def of(cls, *, retries: int, backoff: float) -> Repetitions:
        """Return the rules for a request that has not been sent yet."""
        # `allowed_methods=None` means every method: a POST that asks for a decision changes nothing
        # in the service, so asking twice does no harm.
        return cls(
            total=retries,
            allowed_methods=None,
            status_forcelist=TRANSIENT,
            backoff_factor=backoff,
        )

    def get_backoff_time(self) -> float:
        """Return the seconds before the next attempt, doubled with each one that failed."""
        # urllib3 pauses from the second repetition on only, and never for more than two minutes.
        failed_before = len(self.history) - 1
        return self.backoff_factor * 2.0**failed_before

    def parse_retry_after(self, retry_after: str) -> float:
        """Return the seconds that a header asks for, 0 where it cannot be read.

        >>> rules = Repetitions.of(retries=1, backoff=1.0)
        >>> [rules.parse_retry_after(text) for text in ("2", "0.5", "-1", "soon")]
        [2.0, 0.5, 0.0, 0.0]
        """
        # urllib3 takes whole seconds and dates, and raises an error on everything else.
        try:
            return max(0.0, float(retry_after))
        except ValueError:
            pass
        try:
            return super().parse_retry_after(retry_after)
        except (InvalidHeader, ValueError, OverflowError):
            return 0.0

    def pause(self, response: BaseHTTPResponse | None = None, longest: float = 0.0) -> float:
        """Return the seconds to wait; what the response asks for is granted up to `longest`."""
        wanted = None if response is None else self.get_retry_after(response)
        return max(self.get_backoff_time(), min(wanted or 0.0, longest))


class _Connected(threading.local):
    """Whether the request that a thread is sending has opened a connection for itself."""

    in_this_request = False


_connected = _Connected()


class _ServiceConnection(HTTPConnection):
    """A connection that leaves out what a pool of few, busy connections does not need.

    Every call into the system gives up the interpreter lock, and with several threads at work it is
    not given back at once. urllib3 makes four such calls for a request that are saved here.
    """

    _collected: list[bytes] | None = None

    def connect(self) -> None:
        """Open the connection, and note that this request has done so."""
        _connected.in_this_request = True
        super().connect()
        if type(self.sock) is socket.socket:
            limit = self.sock.gettimeout()
            self.sock = _SteadySocket(fileno=self.sock.detach())
            self.sock.settimeout(limit)

    @property
    def is_connected(self) -> bool:
        """Whether there is a connection, as far as is known without asking the system.

        `ServicePool.post` finds out when it sends the request, and has to in any case: the service
        may close the connection right after it was looked at.
        """
        return self.sock is not None

    def request(self, *arguments: Any, **options: Any) -> None:
        """Send head and body of a request at once, rather than one after the other."""
        collected: list[bytes] = []
        self._collected = collected
        try:
            super().request(*arguments, **options)
        finally:
            self._collected = None
        self.send(b"".join(collected))

    def send(self, data: Any) -> None:
        """Send data, or keep it while a request is being put together."""
        if self._collected is None:
            super().send(data)
        else:
            self._collected.append(data)


class _SecureServiceConnection(_ServiceConnection, HTTPSConnection):
    """The same over TLS."""


class _SteadySocket(socket.socket):
    """A socket whose time limit is passed to the system only where it changes."""

    def settimeout(self, value: float | None) -> None:
        if value != self.gettimeout():
            super().settimeout(value)


def origin(failure: BaseException) -> BaseException:
    """Return the failure of the socket or of the protocol that urllib3 wrapped in its own."""
    wrapped = failure.args[-1] if failure.args else None
    if isinstance(wrapped, BaseException):
        return wrapped
    return failure.__cause__ or failure


def _is_lost_connection(failure: ProtocolError) -> bool:
    return isinstance(origin(failure), ConnectionError | http.client.BadStatusLine)


def _without_user_agent(headers: Mapping[str, str]) -> dict[str, str]:
    """Return headers with which urllib3 does not add its own name and version."""
    names = {name.lower() for name in headers}
    if "user-agent" in names:
        return dict(headers)
    return {"User-Agent": urllib3.util.SKIP_HEADER, **headers}


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
