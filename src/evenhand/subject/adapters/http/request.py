"""The requests of a service: templates that are filled with inputs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import quote, urlencode

from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.subject.adapters.http.options import REQUEST
from evenhand.subject.adapters.http.placeholders import Variables, pieces
from evenhand.subject.adapters.http.pool import ServiceAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenhand.space.space import Space
    from evenhand.subject.adapters.http.placeholders import Piece
    from evenhand.subject.adapters.records import Record

    Fill = Callable[[Sequence[Record]], Any]
    """What a template becomes for the inputs of one request."""

BATCH_BODY: Any = {"inputs": "{inputs}"}
RECORD_BODY: Any = "{input}"
FORM = "application/x-www-form-urlencoded"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]+")
"""What the standard of HTTP calls a token."""
WHOLE = frozenset({"inputs", "input", "*"})
"""Places that all values of an input are put into."""


class WireRequest(NamedTuple):
    """One request as it is sent."""

    method: str
    target: str
    body: bytes | None


class RequestTemplate:
    """What a request looks like, and the requests that are made of it.

    Parameters
    ----------
    url
        The address, which may hold places for values and environment variables.
    request
        What `REQUEST` describes; without it, a POST of ``{"inputs": […]}``.
    headers
        Further headers.
    single
        Whether a request holds one input; None where the templates tell it.
    """

    def __init__(
        self,
        url: str,
        request: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] | None = None,
        *,
        single: bool = False,
    ) -> None:
        request = {} if request is None else request
        _check_table(request)
        self.variables = Variables()
        self.method: str = request.get("method", "POST")
        self._query = dict(request.get("query", {}))
        self._url = _url_pieces(url)
        self.headers = self._all_headers(headers or {}, request.get("headers", {}))
        self._body = self._chosen_body(request, single=single)
        self.per_record = self._is_per_record(request.get("per"), single=single)
        self.address = self._address()
        self._fill_body = self._body_filler()
        self._fill_query = {
            name: self._filler(value, f"query {name}", many=False)
            for name, value in self._query.items()
        }

    # What the templates say

    def _chosen_body(self, request: Mapping[str, Any], *, single: bool) -> Any:
        """Return the body that was given or is usual, None where a request has none."""
        if "body" in request:
            if self.method == "GET":
                raise UsageError(
                    "request has a body and method = 'GET', which sends none; put the values into"
                    " query, or write method = 'POST'"
                )
            return request["body"]
        if self.method == "GET" or set(self._places_outside()):
            return None
        if single or request.get("per") == "record":
            return RECORD_BODY
        return BATCH_BODY

    def _is_per_record(self, per: str | None, *, single: bool) -> bool:
        """Return whether a request holds one input, as the templates or the user say."""
        outside = set(self._places_outside())
        inside = set(places_of(self._body))
        needs_batch = {name for name in inside if is_of_batch(name)}
        if single and per == "batch":
            raise UsageError("single = true and per = 'batch' contradict each other")
        if outside & {"inputs", "input", "*"} or any(map(is_of_batch, outside)):
            raise UsageError(
                "the address and the query take single values, such as {age}; {inputs}, {input},"
                " {*} and lists belong into the body"
            )
        if not inside and not outside and self.method != "GET":
            raise UsageError(
                f"request has body = {clip(repr(self._body))} without a place for the inputs; write"
                " {inputs} for a list of them, {input} for one, or {age} for one value"
            )
        if single or per == "record":
            return True
        one_each = bool(outside) or self.method == "GET"
        if per == "batch" and one_each:
            raise UsageError(
                "per = 'batch' cannot be combined with values in the address or the query, which"
                " hold one input; leave it out"
            )
        if per == "batch":
            return False
        return one_each or not needs_batch

    def _places_outside(self) -> Iterator[str]:
        """Yield the places in the address and the query."""
        yield from _places(self._url)
        yield from places_of(self._query)

    def _address(self) -> ServiceAddress:
        """Return the parts of the address, with letters in place of values."""
        example = dict.fromkeys(_places(self._url), "x")
        try:
            return ServiceAddress.of(self._written_url(example))
        except UsageError as error:
            raise UsageError(self.variables.hidden(str(error))) from None

    def _written_url(self, record: Mapping[str, Any]) -> str:
        parts = []
        for piece in self._url:
            if piece.kind == "place":
                parts.append(quote(text_of(record[piece.text]), safe=""))
            elif piece.kind == "variable":
                parts.append(self.variables.value(piece.text, "the address"))
            else:
                parts.append(piece.text)
        return "".join(parts)

    def _all_headers(
        self, headers: Mapping[str, Any], further: Mapping[str, Any]
    ) -> dict[str, str]:
        """Return the headers of a request; those of the user replace the usual ones."""
        given = {**headers, **further}
        names = {name.lower() for name in given}
        every_header: dict[str, str] = {}
        usual = ("Accept",) if self.method == "GET" else ("Content-Type", "Accept")
        for name in usual:
            if name.lower() not in names:
                every_header[name] = "application/json"
        for name, text in given.items():
            if not isinstance(text, str):
                raise UsageError(
                    f"the header {name!r} must have a text of one line as its value"
                )
            value = self.variables.header(name, text)
            # Neither the value nor what http.client would say of it is repeated.
            if not value.isprintable() or not is_latin(value):
                raise UsageError(
                    f"the header {name!r} must have a text of one line as its value"
                )
            if not _HEADER_NAME.fullmatch(name):
                raise UsageError(
                    f"the header {name!r} must have a name of letters, digits and hyphens"
                )
            every_header[name] = value
        return every_header

    # How they are filled

    def _body_filler(self) -> Fill | None:
        if self._body is None:
            return None
        return self._filler(self._body, "body", many=not self.per_record)

    def _filler(self, value: Any, where: str, *, many: bool) -> Fill:
        """Return what fills a template; with `many`, by all inputs of a batch at once."""
        if isinstance(value, str):
            return self._text_filler(value, where, many=many)
        if isinstance(value, Mapping):
            fields = {}
            for key, inner in value.items():
                fields[key] = self._filler(inner, where, many=many)
            return lambda records: {key: fill(records) for key, fill in fields.items()}
        if isinstance(value, list | tuple):
            is_pattern = many and len(value) == 1 and _is_of_one_input(value[0])
            if is_pattern:
                each = self._filler(value[0], where, many=False)
                return lambda records: [each([record]) for record in records]
            items = [self._filler(inner, where, many=many) for inner in value]
            return lambda records: [fill(records) for fill in items]
        if value is not None and not isinstance(value, bool | int | float):
            raise UsageError(
                f"request {where} has {clip(repr(value))}, which has no form in JSON; write it as"
                " text"
            )
        return lambda _: value

    def _text_filler(self, text: str, where: str, *, many: bool) -> Fill:
        parts = pieces(text, f"request {where}")
        places = [part for part in parts if part.kind == "place"]
        for part in places:
            if many and not is_of_batch(part.text):
                raise UsageError(
                    f"request {where} has {{{part.text}}}, which is of one input, in a request of"
                    " many; write it inside a list of one item, which is repeated for each input,"
                    " or per = 'record'"
                )
        if len(parts) == 1 and places:
            return place_filler(places[0].text)
        words: list[Piece] = []
        for part in parts:
            if part.kind == "variable":
                value = self.variables.value(part.text, f"request {where}")
                words.append(part._replace(kind="words", text=value))
            else:
                words.append(part)
        if not places:
            whole_text = "".join(part.text for part in words)
            return lambda _: whole_text
        for part in places:
            if part.text in WHOLE or is_of_batch(part.text):
                raise UsageError(
                    f"request {where} has {clip(repr(text))}; {{{part.text}}} must stand alone in"
                    " its text"
                )
        return lambda records: "".join(_filled_words(words, records[0]))

    def filled(self, records: Sequence[Record]) -> WireRequest:
        """Return the request that asks about these inputs, one where a request holds one."""
        target = self.address.target
        if any(piece.kind == "place" for piece in self._url):
            target = ServiceAddress.of(self._written_url(records[0])).target
        query = self._filled_query(records)
        if query:
            mark = "&" if "?" in target else "?"
            target = f"{target}{mark}{query}"
        return WireRequest(self.method, target, self._filled_body(records))

    def _filled_query(self, records: Sequence[Record]) -> str:
        """Return the parameters of a request; values that are missing are left out."""
        values: dict[str, Any] = {}
        if self.method == "GET" and not set(self._places_outside()):
            values.update(records[0])
        for name, fill in self._fill_query.items():
            values[name] = fill(records)
        return _form(values)

    def _filled_body(self, records: Sequence[Record]) -> bytes | None:
        if self._fill_body is None:
            return None
        body = self._fill_body(records)
        kind = next(
            (
                value
                for name, value in self.headers.items()
                if name.lower() == "content-type"
            ),
            "",
        )
        if kind.startswith(FORM) and isinstance(body, dict):
            return _form(body).encode()
        return json.dumps(body).encode()

    # What they say of a space

    def check(self, space: Space) -> None:
        """Refuse places that name no feature, and features that have no place."""
        passed = [feature.name for feature in space.features if feature.passed]
        places = {*self._places_outside(), *places_of(self._body)}
        named = {name.removesuffix("[]") for name in places} - WHOLE
        for name in sorted(named):
            if name not in passed:
                raise UsageError(
                    f"request has {{{name}}}, which is no feature that is passed to the software;"
                    f" {nearest(name, passed)}"
                )
        if places & WHOLE or not places:
            return
        without = [name for name in passed if name not in named]
        if without:
            raise UsageError(
                f"request has no place for the feature {without[0]!r}, so that the service never"
                f" sees it; write {{{without[0]}}} where it belongs, or passed = false for the"
                " feature"
            )

    def written(self) -> str:
        """Return the templates as text without the values of variables, to tell requests apart."""
        return json.dumps([self.method, self._body, self._query], default=str)


def _check_table(request: Any) -> None:
    if not isinstance(request, Mapping):
        raise UsageError(
            f"request = {clip(repr(request))} must be a table, such as {{'body': {{'applicants':"
            " '{inputs}'}}"
        )
    REQUEST.check(request, "request")


def _url_pieces(url: Any) -> list[Piece]:
    if not isinstance(url, str):
        ServiceAddress.of(url)  # which says what is wrong with it
    return pieces(url, "the address")


def _places(parts: Sequence[Piece]) -> Iterator[str]:
    for piece in parts:
        if piece.kind == "place":
            yield piece.text


def places_of(value: Any) -> Iterator[str]:
    """Yield the places for inputs in a template.

    >>> sorted(places_of({"person": {"years": "{age}"}, "sex": ["{sex}"]}))
    ['age', 'sex']
    """
    if isinstance(value, str):
        yield from _places(pieces(value, "request"))
    elif isinstance(value, Mapping):
        for inner in value.values():
            yield from places_of(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from places_of(inner)


def is_of_batch(place: str) -> bool:
    """Return whether a place takes something of all inputs of a request.

    >>> is_of_batch("inputs"), is_of_batch("age[]"), is_of_batch("age")
    (True, True, False)
    """
    return place == "inputs" or place.endswith("[]")


def _is_of_one_input(value: Any) -> bool:
    """Return whether a template is about one input, and so can be repeated for each."""
    places = set(places_of(value))
    return bool(places) and not any(map(is_of_batch, places))


def place_filler(place: str) -> Fill:
    """Return what puts inputs into a place that stands alone: values keep their types.

    >>> place_filler("age")([{"age": 30}]), place_filler("age[]")([{"age": 30}, {"age": 31}])
    (30, [30, 31])
    """
    if place == "inputs":
        return list
    if place == "input":
        return lambda records: records[0]
    if place == "*":
        return lambda records: list(records[0].values())
    if place.endswith("[]"):
        name = place.removesuffix("[]")
        return lambda records: [record[name] for record in records]
    return lambda records: records[0][place]


def _filled_words(parts: Sequence[Piece], record: Mapping[str, Any]) -> Iterator[str]:
    for part in parts:
        yield text_of(record[part.text]) if part.kind == "place" else part.text


def _form(values: Mapping[str, Any]) -> str:
    """Return values as the query of an address has them; one that is missing is left out."""
    pairs: list[tuple[str, str]] = []
    for name, value in values.items():
        several = value if isinstance(value, list) else [value]
        pairs.extend((name, text_of(item)) for item in several if item is not None)
    return urlencode(pairs, quote_via=quote)


def text_of(value: Any) -> str:
    """Return a value as the text of an address or a header has it.

    >>> text_of(True), text_of(30), text_of("a b"), text_of(None)
    ('true', '30', 'a b', '')
    """
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return json.dumps(value)


def is_latin(text: str) -> bool:
    """Return whether a header can hold the text."""
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True
