"""A service that decides: JSON batches over HTTP."""

from __future__ import annotations

import json
import os
import threading
from typing import TYPE_CHECKING, Any

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
from evenhand.subject.adapters.records import (
    check_json,
    chunks,
    fan_out,
    seconds,
    whole,
    words,
)
from evenhand.subject.options import IDENTITY
from evenhand.subject.outputs import packed, reply_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from http.client import HTTPResponse

    from numpy.typing import NDArray

    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.adapters.http_pool import ServicePool
    from evenhand.subject.adapters.records import Record

PLAIN_TYPES = frozenset({str, int, bool})
"""Types of JSON of which every value is an outcome; a float may be NaN, which is none."""


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
        500, 502, 503, 504.
    backoff: seconds before the first repetition, doubled for each further one; a longer
        `Retry-After` is obeyed up to the timeout.
    headers: further headers, such as Authorization.
    single: send one input per request.
    identity: a name for the service; by default its address.
    """

    kind = "http"
    value = Option(
        "http", TEXT, "the address of a service that takes JSON batches of inputs"
    )
    options = Options.of(
        Option("batch", WHOLE, "inputs per request"),
        Option(
            "concurrency",
            WHOLE,
            "requests at a time, each on a connection that is kept open",
        ),
        Option("timeout", NUMBER, "seconds allowed to one request"),
        Option(
            "retries", WHOLE, "how many times a request is repeated after passing trouble"
        ),
        Option(
            "backoff",
            NUMBER,
            "seconds before the first repetition, doubled for each further one",
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
        # The pool is imported only here: every configuration that is read loads this module for its
        # options, but few ask a service.
        from evenhand.subject.adapters.http_pool import ServiceAddress

        ServiceAddress.of(url)
        self.url = url
        self.batch = 1 if single else whole("batch", batch, 1)
        self.concurrency = whole("concurrency", concurrency, 1)
        self.timeout = seconds("timeout", timeout)
        self.retries = whole("retries", retries, 0)
        self.backoff = seconds("backoff", backoff)
        self.headers = _all_headers(headers or {})
        self.single = single
        self.identity = identity or f"http:{url}"
        self._open()

    def _open(self) -> None:
        """Make the pool of connections of this process; none is opened yet."""
        from evenhand.subject.adapters.http_pool import ServicePool

        self._pool = ServicePool(
            self.url,
            headers=self.headers,
            size=self.concurrency,
            timeout=self.timeout,
        )
        self._owner = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        del state["_pool"], state["_owner"]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def close(self) -> None:
        """Close the connections; the next run opens new ones."""
        self._pool.close()

    def check(self, space: Space) -> None:
        """Refuse a space whose inputs cannot be sent."""
        check_json(space)

    def run(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows, outcomes) until every point is answered."""
        self.check(space)
        # A fork shares the connections with its parent, so it needs its own.
        if self._owner != os.getpid():
            self._open()
        stop = threading.Event()

        def ask(job: tuple[int, list[Record]]) -> list[Reply]:
            _, records = job
            return _Exchange(self, self._pool, records, stop).outcomes()

        batches = chunks(points, space, self.batch)
        for group in fan_out(batches, ask, width=self.concurrency, abort=stop.set):
            rows: list[NDArray[np.intp]] = []
            replies: list[Reply] = []
            for (start, records), answers in group:
                rows.append(np.arange(start, start + len(records)))
                replies.extend(answers)
            yield np.concatenate(rows), packed(replies, self.outputs)


class _Exchange:
    """One batch: its request, the repetitions, and what came back."""

    def __init__(
        self,
        adapter: HttpAdapter,
        pool: ServicePool,
        records: list[Record],
        stop: threading.Event,
    ) -> None:
        self._adapter = adapter
        self._pool = pool
        self._records = records
        self._stop = stop

    @property
    def _inputs(self) -> str:
        """The inputs of this batch in a few words, for messages."""
        first = words(self._records[0])
        if len(self._records) == 1:
            return first
        return f"{len(self._records)} inputs from {first} on"

    def outcomes(self) -> list[Reply]:
        """Return one outcome per record, or raise what the last attempt gave."""
        from evenhand.subject.adapters.http_pool import FAILURES, TRANSIENT, retry_after

        adapter = self._adapter
        message = self._records[0] if adapter.single else {"inputs": self._records}
        body = json.dumps(message).encode()
        pause = adapter.backoff
        attempt = 0
        while True:
            attempt += 1
            wanted = 0.0
            try:
                response, content = self._pool.post(body)
            except FAILURES as failure:
                error = self._unanswered(failure, attempt)
            else:
                if 200 <= response.status < 300:
                    return self._read(content)
                error = self._refused(response, content, attempt)
                if response.status not in TRANSIENT:
                    raise error
                asked = retry_after(response.headers.get("Retry-After"))
                wanted = min(asked, adapter.timeout)
            # A run that is stopped does not wait for the end of a pause.
            if attempt > adapter.retries or self._stop.wait(max(pause, wanted)):
                raise error
            pause *= 2

    def _unanswered(self, failure: Exception, attempt: int) -> SubjectError:
        import ssl

        url = self._adapter.url
        timeout = self._adapter.timeout
        attempts = _attempts(attempt)
        if isinstance(failure, TimeoutError):
            return SubjectTimeout(
                f"{url} gave no answer to {self._inputs} within {timeout:g} s{attempts};"
                " raise the timeout or lower the batch if it needs longer"
            )
        reason = clip(str(failure)) or type(failure).__name__
        if isinstance(failure, ssl.SSLError):
            return SubjectCrashed(
                f"{url} could not be asked about {self._inputs}{attempts}: {reason}; check"
                " its certificate, or name the file of its certificate authority in the environment"
                " variable SSL_CERT_FILE"
            )
        return SubjectCrashed(
            f"{url} could not be asked about {self._inputs}{attempts}: {reason}; check that"
            " the service is running"
        )

    def _refused(
        self, response: HTTPResponse, content: bytes, attempt: int
    ) -> SubjectError:
        url = self._adapter.url
        status = f"{response.status} {response.reason or ''}".strip()
        if 300 <= response.status < 400:
            return SubjectCrashed(
                f"{url} answered with a redirect ({status}) to {response.headers.get('Location')},"
                " which is not followed; give the final address"
            )
        text = clip(content.decode("utf-8", "replace")) or "nothing"
        return SubjectCrashed(
            f"{url} answered {self._inputs} with status {status}{_attempts(attempt)} and said:"
            f" {text}"
        )

    def _read(self, content: bytes) -> list[Reply]:
        """Take the outcomes out of a response."""
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            text = clip(content.decode("utf-8", "replace"))
            raise self._bad(f"text that is not JSON: {text!r}") from None
        answer = self._unwrapped(answer)
        values = [answer] if self._adapter.single else answer
        if not isinstance(values, list):
            raise self._bad(f"{clip(json.dumps(answer))} instead of a list of outcomes")
        if len(values) != len(self._records):
            raise self._bad(f"{len(values)} outcomes instead of {len(self._records)}")
        # Values of these types are outcomes as they are, in most responses all of them.
        if not self._adapter.outputs and set(map(type, values)) <= PLAIN_TYPES:
            return values
        return [
            self._reply(value, record)
            for value, record in zip(values, self._records, strict=True)
        ]

    def _unwrapped(self, answer: Any) -> Any:
        """Return what an object holds as `outcome` or `outcomes`, and anything else as it is."""
        if not isinstance(answer, dict):
            return answer
        key = "outcome" if self._adapter.single else "outcomes"
        # With several outputs, the object of a single input may be the record itself.
        may_be_record = self._adapter.single and bool(self._adapter.outputs)
        if may_be_record and not isinstance(answer.get(key), dict | list):
            return answer
        if key not in answer:
            raise self._bad(f"an object without {key!r}: {clip(json.dumps(answer))}")
        return answer[key]

    def _reply(self, value: Any, record: Record) -> Reply:
        if self._adapter.outputs:
            try:
                return reply_of(value, self._adapter.outputs)
            except ValueError as error:
                raise self._bad(f"{error}, for {words(record)}") from None
        if is_missing(value) or not isinstance(value, str | int | float | bool):
            text = clip(json.dumps(value))
            raise self._bad(f"{text}, which is not an outcome, for {words(record)}")
        return value

    def _bad(self, content: str) -> BadOutcome:
        return BadOutcome(f"{self._adapter.url} answered {self._inputs} with {content}")


def _all_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """Return the headers of a request; those of the user replace the usual ones."""
    for name, value in headers.items():
        if not isinstance(value, str) or not value.isprintable() or not name.isascii():
            raise UsageError(
                f"the header {name!r} must have a text of one line as its value"
            )
    names = {name.lower() for name in headers}
    every_header: dict[str, str] = {}
    for name in ("Content-Type", "Accept"):
        if name.lower() not in names:
            every_header[name] = "application/json"
    every_header.update(headers)
    return every_header


def _attempts(attempt: int) -> str:
    return f" ({attempt} attempts)" if attempt > 1 else ""
