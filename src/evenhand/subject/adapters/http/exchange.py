"""One request of a service: its repetitions, and what came back."""

from __future__ import annotations

import json
import ssl
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import (
    BadOutcome,
    SubjectCrashed,
    SubjectError,
    SubjectTimeout,
    clip,
)
from evenhand.runtime.values import is_missing
from evenhand.subject.adapters.http.pool import FAILURES, TRANSIENT, may_pass, retry_after
from evenhand.subject.adapters.records import words
from evenhand.subject.outputs import reply_of

if TYPE_CHECKING:
    import threading

    from evenhand.subject.adapters.base import Reply
    from evenhand.subject.adapters.http.adapter import HttpAdapter
    from evenhand.subject.adapters.http.connection import ServiceResponse
    from evenhand.subject.adapters.http.pool import ServicePool
    from evenhand.subject.adapters.http.request import RequestTemplate
    from evenhand.subject.adapters.http.response import ResponseReader
    from evenhand.subject.adapters.records import Record

PLAIN_TYPES = frozenset({str, int, bool})
"""Types of JSON of which every value is an outcome; a float may be NaN, which is none."""
OTHER_FORM = frozenset({400, 404, 405, 415, 422})
"""Statuses of a service that was asked in a form or at an address that it does not have."""


class Exchange:
    """The inputs of one request, and how their outcomes are got."""

    def __init__(
        self,
        adapter: HttpAdapter,
        request: RequestTemplate,
        response: ResponseReader,
        pool: ServicePool,
        records: list[Record],
        stop: threading.Event,
    ) -> None:
        self._adapter = adapter
        self._request = request
        self._response = response
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
        adapter = self._adapter
        request = self._request.filled(self._records)
        pause = adapter.backoff
        attempt = 0
        while True:
            attempt += 1
            wanted = 0.0
            try:
                response, content = self._pool.send(request, len(self._records))
            except FAILURES as failure:
                error = self._unanswered(failure, attempt)
                if not may_pass(failure):
                    raise error from None
            else:
                if response.has_outcomes:
                    self._check_plain(response)
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

    def _shown(self, text: str) -> str:
        """Return what others said in a few words, without the secrets that they may repeat."""
        # Hidden before it is cut: a part of a secret would not be found.
        return clip(self._request.variables.hidden(text))

    def _unanswered(self, failure: Exception, attempt: int) -> SubjectError:
        url = self._adapter.url
        timeout = self._adapter.timeout
        attempts = _attempts(attempt)
        if isinstance(failure, TimeoutError):
            return SubjectTimeout(
                f"{url} gave no answer to {self._inputs} within {timeout:g} s{attempts};"
                " raise the timeout or lower the batch if it needs longer"
            )
        reason = self._shown(str(failure)) or type(failure).__name__
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
        self, response: ServiceResponse, content: bytes, attempt: int
    ) -> SubjectError:
        url = self._adapter.url
        status = f"{response.status} {response.reason or ''}".strip()
        if 300 <= response.status < 400:
            place = self._shown(str(response.headers.get("Location")))
            return SubjectCrashed(
                f"{url} answered with a redirect ({status}) to {place},"
                " which is not followed; give the final address"
            )
        text = self._shown(content.decode("utf-8", "replace")) or "nothing"
        hint = ""
        if response.status in OTHER_FORM:
            hint = (
                "; if it takes inputs in another form, say so with request = { body = … }, or let"
                " evenhand init find it"
            )
        return SubjectCrashed(
            f"{url} answered {self._inputs} with status {status}{_attempts(attempt)} and said:"
            f" {text}{hint}"
        )

    def _check_plain(self, response: ServiceResponse) -> None:
        """Refuse a body that is not as it was asked for: a few compressed bytes may hold many."""
        coding = response.headers.get("Content-Encoding", "identity").strip()
        if coding.lower() not in ("", "identity"):
            raise self._bad(
                f"a body in the encoding '{self._shown(coding)}', although it was asked for one"
                " that is not compressed"
            )

    def _read(self, content: bytes) -> list[Reply]:
        """Take the outcomes out of a response."""
        outputs = self._adapter.outputs
        try:
            answer = json.loads(content)
        except (ValueError, RecursionError):
            text = self._shown(content.decode("utf-8", "replace"))
            raise self._bad(f"text that is not JSON: '{text}'") from None
        try:
            values = self._response.outcomes(answer, len(self._records), outputs)
        except ValueError:
            raise self._bad(self._complaint(answer)) from None
        # Values of these types are outcomes as they are, in most responses all of them.
        if not outputs and set(map(type, values)) <= PLAIN_TYPES:
            return values
        return [
            self._reply(value, record)
            for value, record in zip(values, self._records, strict=True)
        ]

    def _complaint(self, answer: Any) -> str:
        """Return what is wrong with an answer that holds no outcomes where they should be."""
        # Read again, as the message would show what the service repeats of a secret, and cut it.
        shown = self._request.variables.hidden_in(answer)
        try:
            self._response.outcomes(shown, len(self._records), self._adapter.outputs)
        except ValueError as error:
            return str(error)
        return "an answer of another form"

    def _reply(self, value: Any, record: Record) -> Reply:
        if self._adapter.outputs:
            try:
                return reply_of(value, self._adapter.outputs)
            except ValueError:
                raise self._bad_outputs(value, record) from None
        if is_missing(value) or not isinstance(value, str | int | float | bool):
            text = self._shown(json.dumps(value))
            raise self._bad(f"{text}, which is not an outcome, for {words(record)}")
        return value

    def _bad_outputs(self, value: Any, record: Record) -> BadOutcome:
        try:
            reply_of(self._request.variables.hidden_in(value), self._adapter.outputs)
        except ValueError as error:
            return self._bad(f"{error}, for {words(record)}")
        return self._bad(f"other outputs, for {words(record)}")

    def _bad(self, content: str) -> BadOutcome:
        return BadOutcome(f"{self._adapter.url} answered {self._inputs} with {content}")


def _attempts(attempt: int) -> str:
    if attempt > 1:
        return f" ({attempt} attempts)"
    return ""
