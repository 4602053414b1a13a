"""Where in an answer that OpenAPI describes the outcome stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.config.openapi.layout import ContentFields, check_part
from evenhand.subject.adapters.http.paths import outcome_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenhand.config.openapi.description import Description, Operation

INPUTS = 3
"""Items of a list in an example of an answer, by which it is told from other lists."""
DEEPEST = 6
"""Objects inside objects that an example of an answer has."""


def outcome_of(
    operation: Operation,
    description: Description,
    names: Sequence[str],
    *,
    many: bool,
) -> str:
    """Return the likeliest path of the outcome, nothing where the description does not tell.

    `names` are those of features, which an answer may repeat, and `many` says that a request holds
    a batch.
    """
    for schema in _answers(operation, description):
        answer = _example(schema, description, DEEPEST)
        paths = outcome_paths(answer, INPUTS if many else None, names)
        if paths:
            return paths[0]
        return ""
    return ""


def _answers(operation: Operation, description: Description) -> Iterator[Any]:
    """Yield the schemas of JSON that is answered where all went well."""
    responses = operation.table.get("responses") or {}
    good = [status for status in responses if str(status).startswith("2")]
    for status in [*good, "default"]:
        response = description.followed(responses.get(status, {}))
        check_part(response, ContentFields, f"{description.source}: response {status}")
        content = response.get("content") or {}
        for kind, media in content.items():
            if "json" in kind or kind == "*/*":
                yield media.get("schema", {})


def _example(schema: Any, description: Description, depth: int) -> Any:
    """Return an answer that a schema describes, with a text in place of every value."""
    whole, _ = description.schema(schema)
    if not depth or not whole:
        return None
    if whole.get("properties"):
        example = {}
        for key, inner in whole["properties"].items():
            example[key] = _example(inner, description, depth - 1)
        return example
    if whole.get("type") == "array":
        item = _example(whole.get("items", {}), description, depth - 1)
        return [item] * INPUTS
    if whole.get("type") == "object":
        return None
    return "text"
