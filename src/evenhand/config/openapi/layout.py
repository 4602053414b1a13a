"""The fields of OpenAPI that are read, with the types of their values.

A description comes from elsewhere, and any part of it may be of another type than the standard
says. Each part is checked where it is reached, so that a mistake elsewhere does no harm.
"""

from __future__ import annotations

from typing import Any, TypedDict

from evenhand.results.layout import check_fields
from evenhand.runtime.errors import ConfigError, UsageError

Whole = dict[Any, Any]
"""A table whose keys YAML may have made numbers, as those of responses."""

SchemaFields = TypedDict(
    "SchemaFields",
    {
        "$ref": str,
        "type": str | list[str],
        "properties": dict[str, Any],
        "required": list[str],
        "allOf": list[Any],
        "anyOf": list[Any],
        "oneOf": list[Any],
        "enum": list[str | float | bool | None],
        "const": str | float | bool | None,
        "examples": list[Any] | dict[str, Any],
        "minimum": float,
        "maximum": float,
        "exclusiveMinimum": float | bool,
        "exclusiveMaximum": float | bool,
        "multipleOf": float,
        "format": str,
    },
    total=False,
)
ParameterFields = TypedDict(
    "ParameterFields",
    {"$ref": str, "name": str, "in": str, "required": bool, "schema": Whole},
    total=False,
)


class ServerFields(TypedDict, total=False):
    """Where a service is."""

    url: str
    variables: dict[str, Whole]


class ContentFields(TypedDict, total=False):
    """The content of a request or an answer, by its kind."""

    content: dict[str, dict[str, Any]] | None


class OperationFields(TypedDict, total=False):
    """One thing that can be asked of a service."""

    parameters: list[Whole]
    requestBody: Whole
    responses: Whole | None


class PathFields(TypedDict, total=False):
    """What can be asked at a path."""

    parameters: list[Whole]


class DocumentFields(TypedDict, total=False):
    """A whole description."""

    paths: dict[str, Any]
    servers: list[ServerFields] | None


def check_part(table: Any, fields: Any, where: str) -> None:
    """Refuse a part of a description with a field of another type.

    >>> check_part({"type": 3}, SchemaFields, "api.json: a schema")
    Traceback (most recent call last):
    evenhand.runtime.errors.ConfigError: api.json: a schema: type: expected a text or a list, got 3
    """
    try:
        check_fields(table, fields, where)
    except UsageError as error:
        raise ConfigError(str(error)) from None
