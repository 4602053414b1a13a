"""A description of a service: read from a file or an address, with its references followed."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from evenhand.config.openapi.layout import (
    DocumentFields,
    OperationFields,
    PathFields,
    SchemaFields,
    check_part,
)
from evenhand.runtime.errors import ConfigError, clip, nearest

Table = dict[str, Any]
"""An object of JSON, or a table of TOML."""
METHODS = ("post", "put", "patch", "get")
"""Methods that ask for a decision, the likeliest first."""
TIMEOUT = 30.0
DEEPEST = 30
"""References that lead to references, before they are taken for a circle."""


@dataclass(frozen=True)
class Operation:
    """One thing that can be asked of a service."""

    path: str
    method: str
    table: Table
    parameters: tuple[Table, ...]

    @property
    def name(self) -> str:
        """The operation in a few words, for messages."""
        return f"{self.method.upper()} {self.path}"


@dataclass(frozen=True)
class Description:
    """A document of OpenAPI 3.0 or 3.1."""

    source: str
    table: Table

    @classmethod
    def read(cls, source: str) -> Description:
        """Read a description from an address or a file, in JSON or YAML."""
        if _is_address(source):
            text = _fetched(source)
        else:
            text = _text_of(Path(source))
        table = _parsed(text, source)
        if not isinstance(table, dict) or "paths" not in table:
            raise ConfigError(
                f"{source}: is no description in OpenAPI: it has no 'paths'; FastAPI has one at"
                " /openapi.json"
            )
        version = str(table.get("openapi", table.get("swagger", "")))
        if not version.startswith("3."):
            raise ConfigError(
                f"{source}: is of version {version or 'none'}, and OpenAPI 3.0 and 3.1 can be read;"
                " convert it first"
            )
        check_part(table, DocumentFields, source)
        return cls(source, table)

    def server(self) -> str | None:
        """Return the address that paths are relative to, None where the description has none."""
        servers = self.table.get("servers") or [{}]
        server = servers[0]
        url = str(server.get("url", "/"))
        variables = server.get("variables") or {}
        for name, variable in variables.items():
            default = str(variable.get("default", ""))
            url = url.replace(f"{{{name}}}", default)
        base = self.source if _is_address(self.source) else ""
        whole = urljoin(base, url)
        if not _is_address(whole):
            return None
        return whole.rstrip("/")

    def operation(self, path: str) -> Operation:
        """Return what can be asked at a path, or raise a ConfigError that names the nearest one."""
        paths: Table = self.table["paths"]
        wanted = path if path.startswith("/") else f"/{path}"
        found = paths.get(wanted, paths.get(wanted.rstrip("/")))
        if found is None:
            raise ConfigError(
                f"{self.source}: has no path {path!r}; {nearest(wanted, paths)}"
            )
        item = self.followed(found)
        check_part(item, PathFields, f"{self.source}: {wanted}")
        asked = [method for method in METHODS if isinstance(item.get(method), dict)]
        with_body = [method for method in asked if "requestBody" in item[method]]
        if not asked:
            raise ConfigError(
                f"{self.source}: the path {wanted} has none of {', '.join(METHODS)}, by which a"
                " decision can be asked for"
            )
        method = (with_body or asked)[0]
        check_part(item[method], OperationFields, f"{self.source}: {method} {wanted}")
        own = item[method].get("parameters", [])
        parameters = []
        for one in [*item.get("parameters", []), *own]:
            parameters.append(self.followed(one))
        return Operation(wanted, method, item[method], tuple(parameters))

    def followed(self, value: Any) -> Table:
        """Return what a reference stands for, anything else as it is."""
        for _ in range(DEEPEST):
            if not isinstance(value, dict) or "$ref" not in value:
                if isinstance(value, dict):
                    return value
                return {}
            siblings = {}
            for key, inner in value.items():
                if key != "$ref":
                    siblings[key] = inner
            value = {**self._at(str(value["$ref"])), **siblings}
        raise ConfigError(f"{self.source}: a reference leads in a circle")

    def _at(self, reference: str) -> Table:
        if not reference.startswith("#/"):
            raise ConfigError(
                f"{self.source}: the reference {clip(repr(reference))} leads to another document;"
                " put all of it into one"
            )
        value: Any = self.table
        for part in reference[2:].split("/"):
            key = part.replace("~1", "/").replace("~0", "~").replace("%20", " ")
            if not isinstance(value, dict) or key not in value:
                raise ConfigError(
                    f"{self.source}: the reference {clip(repr(reference))} leads nowhere"
                )
            value = value[key]
        if isinstance(value, dict):
            return value
        return {}

    def schema(self, value: Any) -> tuple[Table, bool]:
        """Return a schema with its parts put together, and whether it also takes null."""
        try:
            return self._whole_schema(value)
        except RecursionError:
            raise ConfigError(
                f"{self.source}: a schema refers to itself, or is nested too deeply"
            ) from None

    def _whole_schema(self, value: Any) -> tuple[Table, bool]:
        schema = dict(self.followed(value))
        check_part(schema, SchemaFields, f"{self.source}: a schema")
        nullable = bool(schema.get("nullable"))
        parts = schema.pop("allOf", None)
        if parts:
            schema = self._merged([*parts, schema])
        for key in ("anyOf", "oneOf"):
            if key in schema:
                schema, takes_null = self._one_of(schema, key)
                nullable = nullable or takes_null
        kinds = schema.get("type")
        if isinstance(kinds, list):
            nullable = nullable or "null" in kinds
            schema["type"] = _widest(kinds)
        levels = schema.get("enum")
        if isinstance(levels, list) and None in levels:
            nullable = True
            schema["enum"] = [level for level in levels if level is not None]
        return schema, nullable

    def _merged(self, parts: list[Any]) -> Table:
        """Return the schema that has all of the parts."""
        whole: Table = {}
        properties: Table = {}
        required: list[str] = []
        for part in parts:
            schema, _ = self._whole_schema(part)
            properties.update(schema.pop("properties", {}))
            required.extend(schema.pop("required", []))
            whole.update(schema)
        if properties:
            whole["properties"] = properties
            whole["required"] = required
        return whole

    def _one_of(self, schema: Table, key: str) -> tuple[Table, bool]:
        """Return the schema that a choice of several comes down to."""
        rest = dict(schema)
        nullable = False
        found: list[Table] = []
        for option in rest.pop(key):
            one, takes_null = self._whole_schema(option)
            is_null = one.get("type") == "null"
            nullable = nullable or takes_null or is_null
            if not is_null:
                found.append(one)
        levels: list[Any] = []
        for one in found:
            own_levels = _levels_of(one)
            levels.extend(own_levels)
            if not own_levels:
                return {**_likeliest(found), **rest}, nullable
        return {**rest, "enum": levels}, nullable


def _likeliest(schemas: list[Table]) -> Table:
    """Return one of several forms: of numbers the widest, of others the first will do."""
    for schema in schemas:
        if schema.get("type") == "number":
            return schema
    for schema in schemas:
        if schema.get("properties"):
            return schema
    return next(iter(schemas), {})


def _widest(kinds: list[str]) -> str:
    """Return the only type that is not null, or number where there are numbers of two types."""
    known = [kind for kind in kinds if kind != "null"]
    if "number" in known:
        return "number"
    if known:
        return known[0]
    return "null"


def _is_address(source: str) -> bool:
    return source.startswith(("http://", "https://"))


def _levels_of(schema: Table) -> list[Any]:
    if "const" in schema:
        return [schema["const"]]
    return list(schema.get("enum") or [])


def _fetched(url: str) -> str:
    from urllib.error import URLError
    from urllib.request import urlopen

    try:
        with urlopen(url, timeout=TIMEOUT) as response:  # noqa: S310 - http or https, as checked
            content: bytes = response.read()
    except (URLError, OSError, ValueError) as error:
        reason = getattr(error, "reason", None) or error
        raise ConfigError(
            f"{url}: cannot be read: {clip(str(reason))}; check that the service is running, or"
            " give the description as a file"
        ) from None
    return content.decode("utf-8", "replace")


def _text_of(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise ConfigError(
            f"{file}: cannot be read: {error.strerror}; give the description of the service as a"
            " file or an address, such as http://127.0.0.1:8000/openapi.json"
        ) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{file}: is not UTF-8 text") from None


def _parsed(text: str, source: str) -> Any:
    """Return what a document holds: JSON, or YAML where it can be read."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    if text.lstrip().startswith(("{", "<")):
        raise ConfigError(
            f"{source}: is neither JSON nor YAML, but begins with {clip(text, 60)!r}; FastAPI has"
            " its description at /openapi.json"
        )
    try:
        import yaml
    except ImportError:
        raise ConfigError(
            f"{source}: is no JSON, and reading YAML needs pyyaml; run: pip install pyyaml, or"
            " give the description as JSON"
        ) from None
    try:
        return yaml.safe_load(text)
    except (yaml.YAMLError, ValueError) as error:  # a date that is none is no YAMLError
        raise ConfigError(
            f"{source}: is neither JSON nor YAML: {clip(str(error))}"
        ) from None
