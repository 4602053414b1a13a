"""Ask a service: JSON over HTTP, in the form that the service has."""

from __future__ import annotations

import hashlib
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.options import FLAG, NUMBER, TABLE, TEXT, WHOLE, Option, Options
from evenhand.subject.adapters.base import Adapter
from evenhand.subject.adapters.http.options import REQUEST, RESPONSE
from evenhand.subject.adapters.records import check_json, chunks, fan_out, seconds, whole
from evenhand.subject.options import IDENTITY
from evenhand.subject.outputs import packed

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from evenhand.space.space import Space
    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.adapters.records import Record


class HttpAdapter(Adapter):
    """Ask a service with JSON.

    Without `request` and `response`, it is sent `POST` with the body `{"inputs": [{feature: value,
    …}, …]}` and answers with a list of as many outcomes, or `{"outcomes": […]}`. With `single`, the
    body is one object and the response one outcome, or `{"outcome": …}`. With several outputs, an
    outcome is an object by name or a list in order.

    Parameters
    ----------
    url: an address that begins with http:// or https://; redirects are not followed.
    request: what a request looks like, where it does not look like that: `method`, `body`, `query`,
        `headers` and `per`, with places for inputs (`{inputs}`, `{input}`, `{age}`) and environment
        variables (`${NAME}`).
    response: what of an answer is the outcome: `outcome`, a path such as `results[].decision`.
    batch: inputs per request.
    concurrency: requests at a time, each on a connection that is kept open.
    timeout: seconds allowed to one request, from its connection to the end of the answer.
    retries: how many times a request is repeated after a lost connection, a timeout, or status 408,
        429, 500, 502, 503, 504.
    backoff: seconds before the first repetition, doubled for each further one; a longer
        `Retry-After` is obeyed up to the timeout.
    headers: further headers, such as Authorization.
    single: send one input per request.
    identity: a name for the service; by default its address, and a digest of `request` and
        `response`.
    """

    kind = "http"
    own_process = True
    value = Option("http", TEXT, "the address of a service that takes and answers JSON")
    options = Options.of(
        Option("request", TABLE, "what a request looks like", keys=REQUEST.entries),
        Option(
            "response", TABLE, "what of an answer is the outcome", keys=RESPONSE.entries
        ),
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
    name: str = ""

    def __init__(
        self,
        url: str,
        *,
        request: Mapping[str, Any] | None = None,
        response: Mapping[str, Any] | None = None,
        batch: int = 256,
        concurrency: int = 4,
        timeout: float = 30.0,
        retries: int = 3,
        backoff: float = 0.2,
        headers: Mapping[str, str] | None = None,
        single: bool = False,
        identity: str | None = None,
    ) -> None:
        self.url = url
        self.concurrency = whole("concurrency", concurrency, 1)
        self.timeout = seconds("timeout", timeout)
        self.retries = whole("retries", retries, 0)
        self.backoff = seconds("backoff", backoff)
        self._templates = (request, response, headers, single)
        batch = whole("batch", batch, 1)
        self._open()
        self.batch = 1 if self._request.per_record else batch
        self.identity = identity or self._identity()
        self.name = identity or url

    def _identity(self) -> str:
        """Return the address, with a digest of the form that is neither usual nor a secret."""
        request, response, _, _ = self._templates
        if request is None and response is None:
            return f"http:{self.url}"
        form = f"{self._request.written()}\n{self._response.written()}"
        digest = hashlib.sha256(form.encode()).hexdigest()[:12]
        return f"http:{self.url} (form {digest})"

    def _open(self) -> None:
        """Read the templates and make the pool of this process; no connection is opened yet."""
        # Imported only here: every configuration that is read loads this module for its options,
        # but few ask a service.
        from evenhand.subject.adapters.http.pool import ServicePool
        from evenhand.subject.adapters.http.request import RequestTemplate
        from evenhand.subject.adapters.http.response import ResponseReader

        request, response, headers, single = self._templates
        self._request = RequestTemplate(self.url, request, headers, single=single)
        self._response = ResponseReader(response, per_record=self._request.per_record)
        self._pool = ServicePool(
            self.url,
            self._request.address,
            headers=self._request.headers,
            size=self.concurrency,
            timeout=self.timeout,
        )
        self._owner = os.getpid()

    def __getstate__(self) -> dict[str, Any]:
        # What was read from the environment is read again there, and is in no pickle.
        state = self.__dict__.copy()
        for name in ("_pool", "_owner", "_request", "_response"):
            del state[name]
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def close(self) -> None:
        """Close the connections; the next run opens new ones."""
        self._pool.close()

    def check(self, space: Space) -> None:
        """Refuse a space whose inputs cannot be sent, or have no place in the requests."""
        check_json(space)
        self._request.check(space)
        self._response.check(self.outputs)

    def run(
        self, points: NDArray[np.float64], space: Space
    ) -> Iterator[tuple[NDArray[np.intp], NDArray[np.generic]]]:
        """Yield (rows, outcomes) until every point is answered."""
        from evenhand.subject.adapters.http.exchange import Exchange

        self.check(space)
        # A fork shares the connections with its parent, so it needs its own.
        if self._owner != os.getpid():
            self._open()
        stop = threading.Event()

        def ask(job: tuple[int, list[Record]]) -> list[Reply]:
            _, records = job
            exchange = Exchange(
                self, self._request, self._response, self._pool, records, stop
            )
            return exchange.outcomes()

        batches = chunks(points, space, self.batch)
        for group in fan_out(batches, ask, width=self.concurrency, abort=stop.set):
            rows: list[NDArray[np.intp]] = []
            replies: list[Reply] = []
            for (start, records), answers in group:
                rows.append(np.arange(start, start + len(records)))
                replies.extend(answers)
            yield np.concatenate(rows), packed(replies, self.outputs)
