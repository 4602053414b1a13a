"""Find out in which form a service takes inputs, and where in its answer the outcome stands.

``discovered(url, space, points, options) -> FoundForm`` asks a service about a few real inputs in
one form after another: many at once and one at a time, under the names that services usually have
for them and under those that it says it misses. `FoundForm.options` holds the ``request`` and
``response`` of `HttpAdapter` (nothing where the usual form works), `FoundForm.field` the path of
the outcome, `FoundForm.others` what else might be it, and `FoundForm.outcomes` what was answered.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from evenhand.runtime.errors import SubjectCrashed, clip
from evenhand.subject.adapters.http.paths import OutcomePath, outcome_paths, seen
from evenhand.subject.adapters.http.pool import FAILURES, ServicePool
from evenhand.subject.adapters.http.request import RequestTemplate
from evenhand.subject.adapters.http.response import ResponseReader
from evenhand.subject.adapters.records import chunks

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evenhand.space.space import Space
    from evenhand.subject.adapters.records import Record

ASKED = 3
"""Inputs of a batch: an answer with a list of as many is hardly one by chance."""
TIMEOUT = 30.0
REFUSED = frozenset({401, 403, 407})
"""Statuses of a service that wants to know who asks, in whatever form."""
USUAL_NAMES = (
    *("instances", "records", "data", "rows", "items", "applicants"),
    *("people", "features", "dataframe_records", "input"),
)
"""Names that services usually have for what they take."""


@dataclass(frozen=True)
class FoundForm:
    """The form that a service was found to have."""

    options: dict[str, Any]
    """`request` and `response` for `HttpAdapter`; nothing where the usual form works."""
    field: str
    """The path of the outcome in an answer; empty where the answer itself is the outcome."""
    others: tuple[str, ...]
    """Further paths at which the outcome might be, the likeliest first."""
    outcomes: tuple[Any, ...]
    """What it answered to the inputs that it was asked."""


class _ServiceAnswer(NamedTuple):
    """What a service said to one request."""

    status: int
    content: Any
    """The JSON that it answered with, or a text that is none."""
    is_json: bool


class _Service:
    """A service, and what it said last."""

    def __init__(
        self,
        url: str,
        records: Sequence[Record],
        headers: Mapping[str, str] | None,
        timeout: float,
    ) -> None:
        self.url = url
        self.records = records
        self._headers = headers
        self._timeout = timeout
        self.last: _ServiceAnswer | None = None
        self.shown = ""

    def ask(self, request: Mapping[str, Any]) -> tuple[_ServiceAnswer, int | None]:
        """Return the answer to a request, and to how many inputs; None where one was alone."""
        template = RequestTemplate(self.url, request, self._headers)
        pool = ServicePool(
            self.url,
            template.address,
            headers=template.headers,
            size=1,
            timeout=self._timeout,
        )
        count = 1 if template.per_record else len(self.records)
        try:
            response, content = pool.send(template.filled(self.records[:count]), count)
        except FAILURES as failure:
            reason = clip(template.variables.hidden(str(failure)))
            raise SubjectCrashed(
                f"{self.url} could not be asked: {reason or type(failure).__name__}; check that the"
                " service is running"
            ) from None
        finally:
            pool.close()
        text = content.decode("utf-8", "replace")
        try:
            answer = _ServiceAnswer(response.status, json.loads(text), is_json=True)
        except (ValueError, RecursionError):
            answer = _ServiceAnswer(response.status, text, is_json=False)
        self.last = answer
        self.shown = template.variables.hidden(text)
        if response.status in REFUSED:
            raise SubjectCrashed(
                f"{self.url} answered with status {response.status} and said: {clip(self.shown)};"
                ' give it what it wants, such as headers = { Authorization = "Bearer ${TOKEN}" }'
            )
        return answer, None if template.per_record else count


def discovered(
    url: str,
    space: Space,
    points: NDArray[np.float64],
    options: Mapping[str, Any] | None = None,
) -> FoundForm:
    """Return the form in which a service takes inputs and answers.

    Parameters
    ----------
    url
        The address of the service.
    space
        What an input can be.
    points
        Encoded inputs, best real ones; the first few are asked.
    options
        What is already known: `request`, `headers` and `timeout` of `HttpAdapter`. With `request`,
        only the path of the outcome is looked for.

    Returns
    -------
    FoundForm
        The options that worked, the path of the outcome, and what was answered.

    Raises
    ------
    SubjectCrashed
        Where the service cannot be asked, or no form works: with what it said last.

    Notes
    -----
    See docs/how-to/subjects.md.
    """
    options = options or {}
    _, records = next(chunks(points[:ASKED], space, ASKED))
    timeout = float(options.get("timeout", TIMEOUT))
    service = _Service(url, records, options.get("headers"), timeout)
    names = [feature.name for feature in space.features if feature.passed]
    tried: list[Mapping[str, Any]] = []
    given = options.get("request")
    if given is None:
        forms = _forms(service)
    else:
        forms = iter([given])
    for request in forms:
        if request in tried:
            continue
        tried.append(request)
        answer, count = service.ask(request)
        if answer.is_json and 200 <= answer.status < 300:
            found = _found(request, answer.content, count, names)
            if found is not None:
                return found
    raise _no_form(service)


def _forms(service: _Service) -> Iterator[dict[str, Any]]:
    """Yield forms to try; what the service says of one decides which are next."""
    yield {}
    yield from _missed(service)
    yield {"body": "{input}"}
    missed = list(_missed(service))
    yield from missed
    yield {"body": "{inputs}"}
    yield from _missed(service)
    if service.last is not None and service.last.status == 405:
        yield {"method": "GET"}
        return
    for name in USUAL_NAMES:
        yield {"body": {name: "{inputs}"}}
        yield {"body": {name: "{input}"}}
    yield {"body": {"instances": ["{*}"]}, "per": "batch"}
    if not missed:
        yield {"method": "GET"}


def _missed(service: _Service) -> Iterator[dict[str, Any]]:
    """Yield forms with the fields that the service says it misses, as FastAPI does."""
    missing: list[str] = []
    query: list[str] = []
    if service.last is not None:
        content = service.last.content
    else:
        content = None
    if isinstance(content, dict):
        details = content.get("detail")
    else:
        details = None
    for detail in details if isinstance(details, list) else []:
        if isinstance(detail, dict):
            place = detail.get("loc")
        else:
            place = None
        if not isinstance(place, list) or len(place) < 2:
            continue
        if place[0] == "query":
            query.append(str(place[1]))
        elif place[0] == "body" and len(place) == 2 and isinstance(place[1], str):
            missing.append(place[1])
    features = set(service.records[0])
    if query and set(query) <= features:
        parameters = {name: f"{{{name}}}" for name in query}
        yield {"method": "GET", "query": parameters}
        yield {"method": "POST", "query": parameters}
    wanted = [name for name in dict.fromkeys(missing) if name not in features]
    for name in wanted:
        yield {"body": {name: "{inputs}"}}
        yield {"body": {name: "{input}"}}
        yield {"body": {name: ["{*}"]}, "per": "batch"}
        yield {"body": {name: "{*}"}}


def _found(
    request: Mapping[str, Any],
    answer: Any,
    count: int | None,
    names: Sequence[str],
) -> FoundForm | None:
    """Return the form of a request that was answered with outcomes."""
    paths = outcome_paths(answer, count, names)
    if not paths:
        return None
    field, others = paths[0], tuple(paths[1:])
    per_record = count is None
    options: dict[str, Any] = {}
    asked = 1 if count is None else count
    if request:
        options["request"] = dict(request)
    try:
        outcomes = ResponseReader(None, per_record=per_record).outcomes(answer, asked, ())
    except ValueError:
        options["response"] = {"outcome": field}
        found = OutcomePath.of(field, "outcome").found(answer)
        outcomes = [found] if per_record else found
    return FoundForm(options, field, others, tuple(outcomes))


def _no_form(service: _Service) -> SubjectCrashed:
    """Return the sentence about a service that takes no form that was tried."""
    last = service.last
    assert last is not None
    if last.is_json and isinstance(last.content, dict):
        keys = seen(last.content)
    else:
        keys = None
    text = clip(service.shown) or "nothing"
    answer = f"{keys}, {text}" if keys else text
    return SubjectCrashed(
        f"{service.url} takes inputs neither as a batch nor one by one in a usual form; its last"
        f" answer had status {last.status} and was {answer}; write what it takes as request ="
        " { body = … } and where the outcome stands as response = { outcome = … }"
    )
