"""Templates of requests as [subject.request] has them, made of the fields of a description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.config.openapi.fields import Constant, Field

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from evenhand.config.openapi.description import Table


def _mapped(template: Any, change: Callable[[Any], Any]) -> Any:
    """Return a template in which `change` was made to all that is inside of it."""
    if isinstance(template, dict):
        changed = {}
        for key, value in template.items():
            changed[key] = change(value)
        return changed
    if isinstance(template, list):
        return [change(value) for value in template]
    return template


def written(template: Any, names: Mapping[tuple[str, ...], str]) -> Any:
    """Return a template with the places of its fields, by their names."""
    if isinstance(template, Field):
        name = names[template.path]
        return f"{{{name}}}"
    if isinstance(template, Constant):
        return _escaped(template.value)
    return _mapped(template, lambda value: written(value, names))


def _escaped(value: Any) -> Any:
    """Return a constant in which braces stand for themselves."""
    if isinstance(value, str):
        doubled = value.replace("{", "{{")
        return doubled.replace("}", "}}")
    return _mapped(value, _escaped)


def pruned(template: Any, places: Collection[str]) -> Any:
    """Return a template without some places.

    >>> pruned({"age": "{age}", "name": "{name}"}, {"{name}"})
    {'age': '{age}'}
    """
    if isinstance(template, dict):
        kept = {}
        for key, value in template.items():
            if not isinstance(value, str) or value not in places:
                kept[key] = value
        template = kept
    return _mapped(template, lambda value: pruned(value, places))


def shortened(request: Table, names: Sequence[str]) -> Table:
    """Return a request with {inputs} or {input} for an object that has all fields by their names.

    >>> shortened({"body": {"people": [{"age": "{age}"}]}, "per": "batch"}, ["age"])
    {'body': {'people': '{inputs}'}}
    >>> shortened({"body": {"person": {"age": "{age}"}}}, ["age", "sex"])
    {'body': {'person': {'age': '{age}'}}}
    """
    if "body" not in request:
        return request
    everything = {name: f"{{{name}}}" for name in names}
    body = _short(request["body"], everything)
    shorter = {**request, "body": body}
    if body != request["body"]:
        # Whether it is a batch is then told by its place.
        shorter.pop("per", None)
    return shorter


def _short(template: Any, everything: Mapping[str, str]) -> Any:
    if template == everything:
        return "{input}"
    if template == [everything]:
        return "{inputs}"
    if isinstance(template, dict):
        return _mapped(template, lambda value: _short(value, everything))
    return template
