"""A service that decides: JSON batches over HTTP."""

from __future__ import annotations

import http.client
import json
import os
import threading
import time
import weakref
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np

from evenhand.runtime.errors import (
    BadOutcome,
    SubjectCrashed,
    SubjectError,
    SubjectTimeout,
    UsageError,
    clip,
)
from evenhand.runtime.options import FLAG, NUMBER, TABLE, TEXT, WHOLE, Option, Options
from evenhand.runtime.values import is_missing
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.records import check_json, chunks, fan_out, seconds, whole, words
from evenhand.subject.options import IDENTITY
from evenhand.subject.outputs import packed, reply_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.adapters.records import Record

TRANSIENT = frozenset({429, 500, 502, 503, 504})
MOST_BODY = 1 << 26
"""Bytes of a response after which it is refused."""


class HttpAdapter(Adapter):
    """Ask a service with `POST` and a JSON body.

    The body is `{"inputs": [{feature: value, …}, …]}` and the response a list of as many outcomes,
    or `{"outcomes": […]}`. With `single`, the body is one object and the response one outcome, or
    `{"outcome": …}`. With several outputs, an outcome is an object by name or a list in order.

    Parameters
    ----------
    url: an address that begins with http:// or https://; redirects are not followed.
    batch: inputs per request.
    concurrency: requests at a time, each on a connection that is kept open.
    timeout: seconds allowed to one request.
    retries: how many times a request is repeated after a lost connection, a timeout, or status 429,
    500, 502, 503, 504. backoff: seconds before the first repetition, doubled for each further one;
    a longer `Retry-After` is obeyed up to
        the timeout.
    headers: further headers, such as Authorization.
    single: send one input per request.
    identity: a name for the service; by default its address.
    """

    kind = "http"
    value = Option("http", TEXT, "the address of a service that takes JSON batches of inputs")
    options = Options.of(
        Option("batch", WHOLE, "inputs per request"),
        Option("concurrency", WHOLE, "requests at a time, each on a connection that is kept open"),
        Option("timeout", NUMBER, "seconds allowed to one request"),
        Option("retries", WHOLE, "how many times a request is repeated after passing trouble"),
        Option(
            "backoff", NUMBER, "seconds before the first repetition, doubled for each further one"
        ),
        Option("headers", TABLE, "further headers, such as Authorization"),
        Option("single", FLAG, "send one input per request"),
        IDENTITY,
    )
    expensive = True
    identity: str = ""

    def __init__(
        self,
        url: str,
        *,
        batch: int = 256,
        concurrency: int = 4,
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 0.2,
        headers: Mapping[str, str] | None = None,
        single: bool = False,
        identity: str | None = None,
    ) -> None:
        self._scheme, self._host, self._port, self._target = _split(url)
        self.url = url
        self.batch = 1 if single else whole("batch", batch, 1)
        self.concurrency = whole("concurrency", concurrency, 1)
        self.timeout = seconds("timeout", timeout)
        self.retries = whole("retries", retries, 0)
        self.backoff = seconds("backoff", backoff)
        self.headers = _checked(headers or {})
        self.single = single
        self.identity = identity or f"http:{url}"
        self._open()

    def _open(self) -> None:
        self._idle: list[http.client.HTTPConnection] = []
        self._owner = os.getpid()
        weakref.finalize(self, _close, self._idle)

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in self.__dict__.items() if name not in ("_idle", "_owner")
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def close(self) -> None:
        """Close the connections; the next run opens new ones."""
        _close(self._idle)

    def check(self, space: Space) -> None:
        """Refuse a space whose inputs cannot be sent."""
        check_json(space)

    def run(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows, outcomes) until every point is answered."""
        self.check(space)
        if (
            self._owner != os.getpid()
        ):  # a fork shares the connections with its parent, so it needs its own
            self._open()
        stop = threading.Event()

        def ask(job: tuple[int, list[Record]]) -> list[Reply]:
            return _Exchange(self, job[1], stop).outcomes()

        for group in fan_out(
            chunks(points, space, self.batch), ask, width=self.concurrency, abort=stop.set
        ):
            rows = np.concatenate(
                [np.arange(start, start + len(records)) for (start, records), _ in group]
            )
            yield rows, packed([reply for _, replies in group for reply in replies], self.outputs)

    def borrow(self, *, fresh: bool = False) -> tuple[http.client.HTTPConnection, bool]:
        """Return a connection, and whether it has been used before."""
        if not fresh:
            try:
                return self._idle.pop(), True
            except IndexError:
                pass
        kind = (
            http.client.HTTPSConnection if self._scheme == "https" else http.client.HTTPConnection
        )
        return kind(self._host, self._port, timeout=self.timeout), False

    def give_back(self, connection: http.client.HTTPConnection) -> None:
        """Keep a connection for the next request."""
        self._idle.append(connection)

    def post(self, body: bytes) -> tuple[http.client.HTTPResponse, bytes]:
        """Return one response and its body; a connection that the service closed while idle is
        opened anew.
        """
        connection, used = self.borrow()
        try:
            return self._post(connection, body)
        except (ConnectionError, http.client.BadStatusLine):
            if not used:
                raise
        return self._post(self.borrow(fresh=True)[0], body)

    def _post(
        self, connection: http.client.HTTPConnection, body: bytes
    ) -> tuple[http.client.HTTPResponse, bytes]:
        deadline = time.monotonic() + self.timeout
        try:
            connection.request("POST", self._target, body, self.headers)
            response = connection.getresponse()
            parts: list[bytes] = []
            size = 0
            # A timeout of the socket is per read: a service that trickles would never meet it.
            while data := response.read1(1 << 16):
                parts.append(data)
                size += len(data)
                if time.monotonic() > deadline:
                    raise TimeoutError
                if size > MOST_BODY:
                    raise BadOutcome(
                        f"{self.url} answered with over {MOST_BODY} bytes, too long for"
                        f" {self.batch} outcomes"
                    )
            if response.length:
                raise http.client.IncompleteRead(b"".join(parts), response.length)
            response.close()  # read1 leaves that to us, and the connection takes no request before
        except BaseException:
            connection.close()
            raise
        if response.will_close:
            connection.close()
        else:
            self.give_back(connection)
        return response, b"".join(parts)


class _Exchange:
    """One batch: its request, the repetitions, and what came back."""

    def __init__(self, adapter: HttpAdapter, records: list[Record], stop: threading.Event) -> None:
        self._adapter = adapter
        self._records = records
        self._stop = stop
        self._asked = (
            words(records[0])
            if len(records) == 1
            else f"{len(records)} inputs from {words(records[0])} on"
        )

    def outcomes(self) -> list[Reply]:
        """Return one outcome per record, or raise what the last attempt gave."""
        adapter = self._adapter
        body = json.dumps(
            self._records[0] if adapter.single else {"inputs": self._records}
        ).encode()
        pause = adapter.backoff
        attempt = 0
        while True:
            wanted = 0.0
            attempt += 1
            try:
                response, content = adapter.post(body)
            except TimeoutError:
                error: SubjectError = SubjectTimeout(
                    f"{adapter.url} gave no answer to {self._asked} within {adapter.timeout:g}"
                    f" s{_times(attempt)}; raise the timeout or lower the batch if it needs longer"
                )
            except (OSError, http.client.HTTPException) as lost:
                error = SubjectCrashed(
                    f"{adapter.url} could not be asked about {self._asked}{_times(attempt)}: "
                    f"{clip(str(lost)) or type(lost).__name__}; check that the service is running"
                )
            else:
                if 200 <= response.status < 300:
                    return self._read(content)
                error = self._refused(response, content, attempt)
                if response.status not in TRANSIENT:
                    raise error
                wanted = min(_retry_after(response), adapter.timeout)
            if attempt > adapter.retries or self._stop.wait(max(pause, wanted)):
                raise error
            pause *= 2

    def _refused(
        self, response: http.client.HTTPResponse, content: bytes, attempt: int
    ) -> SubjectError:
        url, status = self._adapter.url, f"{response.status} {response.reason}".strip()
        if 300 <= response.status < 400:
            return SubjectCrashed(
                f"{url} answered with a redirect ({status}) to {response.headers.get('Location')},"
                " which is not followed; give the final address"
            )
        said = clip(content.decode("utf-8", "replace")) or "nothing"
        return SubjectCrashed(
            f"{url} answered {self._asked} with status {status}{_times(attempt)} and said: {said}"
        )

    def _read(self, content: bytes) -> list[Reply]:
        """Take the outcomes out of a response."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            raise self._bad(
                f"text that is no JSON: {clip(content.decode('utf-8', 'replace'))!r}"
            ) from None
        key = "outcome" if self._adapter.single else "outcomes"
        # With several outputs, the object of a single input may be the record itself.
        record = self._adapter.single and bool(self._adapter.outputs)
        if isinstance(answer, dict) and not (
            record and not isinstance(answer.get(key), dict | list)
        ):
            if key not in answer:
                raise self._bad(f"an object without {key!r}: {clip(json.dumps(answer))}")
            answer = answer[key]
        values = [answer] if self._adapter.single else answer
        if not isinstance(values, list):
            raise self._bad(f"{clip(json.dumps(answer))} instead of a list of outcomes")
        if len(values) != len(self._records):
            raise self._bad(f"{len(values)} outcomes instead of {len(self._records)}")
        return [
            self._reply(value, record) for value, record in zip(values, self._records, strict=True)
        ]

    def _reply(self, value: Any, record: Record) -> Reply:
        if self._adapter.outputs:
            try:
                return reply_of(value, self._adapter.outputs)
            except ValueError as error:
                raise self._bad(f"{error}, for {words(record)}") from None
        if is_missing(value) or not isinstance(value, str | int | float | bool):
            raise self._bad(f"{clip(json.dumps(value))}, which is no outcome, for {words(record)}")
        return value

    def _bad(self, what: str) -> BadOutcome:
        return BadOutcome(f"{self._adapter.url} answered {self._asked} with {what}")


def _close(connections: list[http.client.HTTPConnection]) -> None:
    while connections:
        connections.pop().close()


def _split(url: str) -> tuple[str, str, int, str]:
    """Return scheme, host, port and target of an address, or say what is wrong with it."""
    if not isinstance(url, str) or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(
            f"the address {url!r} must be plain ASCII text; percent-encode other characters"
        )
    try:
        parts = urlsplit(url)
        host, port = parts.hostname, parts.port
    except ValueError as error:
        raise UsageError(
            f"the address {url!r} cannot be read ({error}); write http://host:port/path"
        ) from None
    if parts.scheme not in ("http", "https"):
        raise UsageError(f"the address {url!r} must begin with http:// or https://")
    if not host:
        raise UsageError(f"the address {url!r} names no host; write http://host:port/path")
    if parts.username is not None:
        raise UsageError(
            f"the address of {host} contains a user name; pass headers={{'Authorization': …}}"
            " instead"
        )
    port = (443 if parts.scheme == "https" else 80) if port is None else port
    return (
        parts.scheme,
        host,
        port,
        (parts.path or "/") + (f"?{parts.query}" if parts.query else ""),
    )


def _checked(headers: Mapping[str, str]) -> dict[str, str]:
    """Return all headers of a request, those of the user first in rank."""
    for name, value in headers.items():
        if not isinstance(value, str) or not value.isprintable() or not name.isascii():
            raise UsageError(f"the header {name!r} must have a text of one line as its value")
    given = {name.lower() for name in headers}
    usual = {"Content-Type": "application/json", "Accept": "application/json"}
    return {name: value for name, value in usual.items() if name.lower() not in given} | dict(
        headers
    )


def _times(attempt: int) -> str:
    return f" ({attempt} attempts)" if attempt > 1 else ""


def _retry_after(response: http.client.HTTPResponse) -> float:
    """Return the seconds that the service asks us to wait, 0 where it does not say."""
    text = response.headers.get("Retry-After", "0")
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except ValueError:
        return 0.0
