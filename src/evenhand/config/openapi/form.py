"""From the description of a service to a space and to the options of its subject."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.config.openapi.answers import outcome_of
from evenhand.config.openapi.description import Description
from evenhand.config.openapi.fields import Field, Fields
from evenhand.config.openapi.layout import ContentFields, ParameterFields, check_part
from evenhand.config.openapi.templates import pruned, shortened, written
from evenhand.runtime.errors import ConfigError, EvenhandError, nearest
from evenhand.space.feature import Feature, plain
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from evenhand.config.openapi.description import Operation, Table

FORM = "application/x-www-form-urlencoded"
WANTED = {
    "range": "no range; give one with --values {name}=LOW:HIGH, or data that has it",
    "levels": "no list of values; give it with --values '{name}=a|b|c', or data that has it",
    "dates": "no range of days; give it with --values {name}=2000-01-01:2020-12-31, or data that"
    " has it",
}
"""What is said of a feature of which the description says too little."""


@dataclass(frozen=True)
class ServiceForm:
    """What a description says of one thing that can be asked of a service."""

    source: str
    operation: str
    """The method and the path, for messages."""
    url: str
    subject: Table
    """`http`, `request` and, where the description says it, `response`."""
    left_out: dict[str, str]
    """Optional values that are no features, each with the reason."""
    features: dict[str, Table] = field(default_factory=dict)
    """What each feature declares."""
    lacking: dict[str, str] = field(default_factory=dict)
    """Features of which the description says too little: "range", "levels" or "dates"."""
    required: set[str] = field(default_factory=set)
    """Features that every request must have."""

    def add(self, name: str, found: Field) -> None:
        """Add a field as a feature."""
        self.features[name] = found.declared
        if found.lacks:
            self.lacking[name] = found.lacks
        if found.required:
            self.required.add(name)

    def declared(
        self, values: Mapping[str, str] | None = None, data: pd.DataFrame | None = None
    ) -> dict[str, Table]:
        """Return what each feature declares, with what the user or data say of the others.

        Parameters
        ----------
        values
            What the user says, by feature: "18:90", or "a|b|c".
        data
            Rows whose columns have the names of features.

        Raises
        ------
        ConfigError
            Where neither says enough of a feature that is required.
        """
        values = values or {}
        for name in values:
            if name not in self.features:
                raise ConfigError(
                    f"--values {name}=… names no field of {self.operation};"
                    f" {nearest(name, self.features)}"
                )
        tables: dict[str, Table] = {}
        for name, table in self.features.items():
            if name in values:
                further = _given_by_user(name, values[name], table)
            elif name not in self.lacking:
                further = {}
            elif data is not None and name in data.columns:
                further = _seen_in(data[name], self.lacking[name])
            elif name in self.required:
                raise self._open_field(name)
            else:
                continue
            tables[name] = {**table, **further}
        return tables

    def _open_field(self, name: str) -> ConfigError:
        """Return what is said of a field that is needed and of which too little is known."""
        lacks = self.lacking[name]
        wanted = WANTED[lacks].format(name=name)
        return ConfigError(f"{self.source}: {name!r} of {self.operation} has {wanted}")

    def without(self, names: Sequence[str]) -> Table:
        """Return the options of the subject without places for some features."""
        places = {f"{{{name}}}" for name in names}
        left = [name for name in self.features if name not in names]
        request: Table = {}
        for key, template in self.subject["request"].items():
            if key in ("body", "query"):
                template = pruned(template, places)
            if template:
                request[key] = template
        return {**self.subject, "request": shortened(request, left)}

    def space(
        self, tables: Mapping[str, Mapping[str, Any]], protected: Sequence[str]
    ) -> Space:
        """Return the space of some declarations."""
        try:
            features = []
            for name, table in tables.items():
                features.append(Feature.from_dict(name, table))
            return Space(features, list(protected))
        except EvenhandError as error:
            raise ConfigError(f"{self.source}: {self.operation}: {error}") from None


def space_from_openapi(
    source: str,
    path: str,
    *,
    values: Mapping[str, str] | None = None,
    data: pd.DataFrame | None = None,
    protected: Sequence[str] = (),
    server: str | None = None,
) -> tuple[Space, Table]:
    """Return the space of what a service takes, and the options of a subject that asks it.

    Parameters
    ----------
    source
        The description in OpenAPI 3.0 or 3.1: a file, or an address.
    path
        The path in it, such as "/v1/score".
    values
        Ranges and lists of values of fields that the description leaves open, by name: "18:90" or
        "a|b|c".
    data
        Rows to take them from, whose columns have the names of fields.
    protected
        The protected features.
    server
        The address of the service, where the description names none.

    Returns
    -------
    space, options
        The space; and `http` with the address, `request`, and `response` where the description
        says what is answered.

    Raises
    ------
    ConfigError
        Where the description cannot be read, has no such path, or leaves a required field open.

    Notes
    -----
    See docs/how-to/subjects.md.
    """
    form = read_form(source, path, server=server)
    tables = form.declared(values, data)
    unknown = [name for name in form.features if name not in tables]
    return form.space(tables, protected), form.without(unknown)


def read_form(source: str, path: str, *, server: str | None = None) -> ServiceForm:
    """Return what a description says of a path.

    Parameters
    ----------
    source
        The description: a file, or an address.
    path
        The path in it.
    server
        The address of the service, where the description names none.

    Raises
    ------
    ConfigError
        Where it cannot be read, or has no such path.
    """
    description = Description.read(source)
    operation = description.operation(path)
    base = server or description.server()
    if base is None:
        raise ConfigError(
            f"{source}: names no address of the service; give it with --server http://host:port"
        )
    fields = Fields(description)
    query, address = _parameters(operation, fields)
    body, kind = _body(operation, fields)
    names = _names(fields.found)
    path = operation.path
    for name, place in address.items():
        path = path.replace(f"{{{name}}}", written(place, names))
    url = base.rstrip("/") + path
    request = _request(operation.method, written(query, names), written(body, names), kind)
    if fields.repeated:
        request["per"] = "batch"
    subject: Table = {"http": url, "request": request}
    outcome = outcome_of(operation, description, list(names.values()), many=fields.repeated)
    if outcome:
        subject["response"] = {"outcome": outcome}
    form = ServiceForm(source, operation.name, url, subject, fields.left_out)
    for one in fields.found:
        form.add(names[one.path], one)
    return form


def _request(method: str, query: Any, body: Any, kind: str) -> Table:
    """Return what [subject.request] says, without what is usual."""
    request: Table = {}
    if method != "post":
        request["method"] = method.upper()
    if kind == FORM:
        request["headers"] = {"Content-Type": FORM}
    if query:
        request["query"] = query
    if body is not None:
        request["body"] = body
    return request


def _parameters(operation: Operation, fields: Fields) -> tuple[Table, Table]:
    """Return the templates of the query and of what the path holds."""
    query: Table = {}
    address: Table = {}
    templates = {"query": query, "path": address}
    source = fields.description.source
    for parameter in operation.parameters:
        check_part(parameter, ParameterFields, f"{source}: a parameter of {operation.name}")
        place = parameter.get("in")
        if place not in templates:
            continue
        if "name" not in parameter:
            raise ConfigError(f"{source}: a parameter of {operation.name} has no name")
        name = parameter["name"]
        schema = parameter.get("schema", {})
        # What a path holds is always there.
        required = place == "path" or bool(parameter.get("required"))
        entry = fields.template(schema, (name,), required=required)
        if entry is not None:
            templates[place][name] = entry
    return query, address


def _body(operation: Operation, fields: Fields) -> tuple[Any, str]:
    """Return the template of the body and its kind, None where a request has none."""
    body = fields.description.followed(operation.table.get("requestBody", {}))
    where = f"{fields.description.source}: the request of {operation.name}"
    check_part(body, ContentFields, where)
    content = body.get("content") or {}
    if not content:
        return None, ""
    for kind, media in content.items():
        if "json" in kind or kind == "*/*":
            return fields.template(media.get("schema", {})), kind
    if FORM in content:
        return fields.template(content[FORM].get("schema", {})), FORM
    raise ConfigError(
        f"{fields.description.source}: {operation.name} takes {', '.join(content)}, and JSON or a"
        " form can be sent"
    )


def _names(fields: Sequence[Field]) -> dict[tuple[str, ...], str]:
    """Return the names of features: the last key of each field, or all where two are the same."""
    last = Counter(one.key for one in fields)
    names = {}
    for one in fields:
        is_unique = last[one.key] == 1
        if is_unique:
            names[one.path] = one.key
        else:
            names[one.path] = ".".join(one.path)
    return names


def _given_by_user(name: str, text: str, table: Mapping[str, Any]) -> Table:
    """Return what the user says of a feature: a range, or a list of values."""
    from evenhand.runtime.values import parse_outcome

    if "|" in text:
        parts = [part.strip() for part in text.split("|")]
        return {"kind": "category", "levels": [parse_outcome(part) for part in parts]}
    low, colon, high = (part.strip() for part in text.partition(":"))
    if not colon or not low or not high:
        raise ConfigError(
            f"--values {name}={text} is neither a range, as in 18:90, nor a list, as in a|b|c"
        )
    if table.get("kind") == "date":
        return {"low": low, "high": high}
    ends = [parse_outcome(low), parse_outcome(high)]
    if any(isinstance(end, str | bool) for end in ends):
        raise ConfigError(
            f"--values {name}={text} is no range of numbers; write two numbers, as in 18:90"
        )
    return {"low": ends[0], "high": ends[1]}


def _seen_in(column: pd.Series[Any], lacks: str) -> Table:
    """Return what a column of data says of a feature."""
    known = column.dropna()
    if not len(known):
        raise ConfigError(f"column {column.name!r} has no values to take a range from")
    if lacks == "levels":
        return {"levels": sorted({str(value) for value in known})}
    if lacks == "dates":
        days = sorted(str(value)[:10] for value in known)
        return {"low": days[0], "high": days[-1]}
    return {"low": plain(known.min()), "high": plain(known.max())}
