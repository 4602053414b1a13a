"""The fields of a request: each value that a service takes, as a feature or a constant."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.runtime.errors import ConfigError

if TYPE_CHECKING:
    from evenhand.config.openapi.description import Description, Table

NUMBERS = ("integer", "number")
TINY = 1e-6
"""How far from an end that does not belong to a range of real numbers they begin."""
DEEPEST = 8
"""Objects inside objects, before they are taken for a circle."""
FEWEST_EXAMPLES = 2
"""Examples of a text that are taken for its values; one is only an example."""


@dataclass(frozen=True)
class Field:
    """One value of a request."""

    path: tuple[str, ...]
    declared: Table
    """What a feature declares, as far as the description says it."""
    lacks: str = ""
    """What the description leaves open: "range", "levels" or "dates"; nothing where all is said."""
    required: bool = True

    @property
    def key(self) -> str:
        """The last key on its path."""
        if self.path:
            return self.path[-1]
        return "value"


@dataclass
class Fields:
    """The template of a request body, and the fields in it."""

    description: Description
    found: list[Field] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    """Optional values that are no features, each with the reason."""
    repeated: bool = False
    """Whether the body holds a list with one item for each input."""

    def template(
        self, schema: Any, path: tuple[str, ...] = (), *, required: bool = True
    ) -> Any:
        """Return a template in which fields have their places; None where there is nothing."""
        whole, nullable = self.description.schema(schema)
        if whole.get("readOnly"):
            return None
        if whole.get("properties"):
            return self._object(whole, path)
        if whole.get("type") == "array":
            return self._array(whole, path, required=required)
        return self.leaf(whole, path, required=required, nullable=nullable)

    def _object(self, schema: Table, path: tuple[str, ...]) -> Table:
        if len(path) > DEEPEST:
            raise ConfigError(
                f"{self.description.source}: {'.'.join(path)} goes deeper than {DEEPEST} objects;"
                " write [subject.request] by hand"
            )
        needed = set(schema.get("required", ()))
        entries: Table = {}
        for name, inner in schema["properties"].items():
            entry = self.template(inner, (*path, name), required=name in needed)
            # TOML has no null, and a service that takes nothing else needs none.
            if entry is not None and entry != Constant(None):
                entries[name] = entry
        return entries

    def _array(self, schema: Table, path: tuple[str, ...], *, required: bool) -> Any:
        """Return a list of one item, which is repeated for each input."""
        items, _ = self.description.schema(schema.get("items", {}))
        if items.get("properties") and not self.repeated:
            self.repeated = True
            return [self._object(items, path)]
        return self._constant(schema, path, "is a list", required=required)

    def leaf(
        self,
        schema: Table,
        path: tuple[str, ...],
        *,
        required: bool,
        nullable: bool,
    ) -> Any:
        """Return the place of one value, or the only value that it can have."""
        levels = schema.get("enum")
        if "const" in schema or (isinstance(levels, list) and len(levels) == 1):
            return Constant(schema.get("const", (levels or [None])[0]))
        found = _declared(schema, path, required=required)
        if found is None:
            return self._constant(
                schema, path, "has values of no kind that a feature has", required=required
            )
        if nullable:
            found = replace(found, declared={**found.declared, "missing": True})
        self.found.append(found)
        return found

    def _constant(
        self,
        schema: Table,
        path: tuple[str, ...],
        why: str,
        *,
        required: bool,
    ) -> Any:
        """Return what stands for a value that is no feature."""
        name = ".".join(path) or "the body"
        for key in ("default", "example"):
            if key in schema:
                return Constant(schema[key])
        examples = schema.get("examples")
        if isinstance(examples, list) and examples:
            return Constant(examples[0])
        if required:
            raise ConfigError(
                f"{self.description.source}: {name} {why} and is required; give it a default or an"
                " example, or write [subject.request] by hand"
            )
        self.left_out[name] = why
        return None


@dataclass(frozen=True)
class Constant:
    """A value of a request that is the same for every input."""

    value: Any


def _declared(schema: Table, path: tuple[str, ...], *, required: bool) -> Field | None:
    """Return the field that a schema describes, None where it is of no kind that a feature has."""
    kind = schema.get("type")
    if schema.get("enum"):
        return Field(path, {"levels": list(schema["enum"])}, required=required)
    if kind == "boolean":
        return Field(path, {"levels": [False, True]}, required=required)
    if kind in NUMBERS:
        return _number(schema, path, required=required)
    if kind == "string" and schema.get("format") == "date":
        return Field(path, {"kind": "date"}, "dates", required=required)
    if kind == "string" or (kind is None and not schema.get("properties")):
        return _text(schema, path, required=required)
    return None


def _text(schema: Table, path: tuple[str, ...], *, required: bool) -> Field:
    """Return a text of which the description may list some values as examples."""
    examples = schema.get("examples")
    if isinstance(examples, list):
        levels = [example for example in examples if isinstance(example, str)]
        if len(levels) >= FEWEST_EXAMPLES:
            return Field(path, {"levels": list(dict.fromkeys(levels))}, required=required)
    return Field(path, {"kind": "category"}, "levels", required=required)


def _number(schema: Table, path: tuple[str, ...], *, required: bool) -> Field:
    """Return a number with the range and the steps that the description gives it."""
    is_whole = schema["type"] == "integer"
    declared: Table = {"kind": "integer" if is_whole else "real"}
    ends = {
        "low": _end(schema, "minimum", "exclusiveMinimum", sign=1),
        "high": _end(schema, "maximum", "exclusiveMaximum", sign=-1),
    }
    lacks = ""
    for key, end in ends.items():
        if end is None or not math.isfinite(end):
            lacks = "range"
        elif is_whole:
            declared[key] = int(end)
        else:
            declared[key] = float(end)
    step = schema.get("multipleOf", 1)
    if step != 1:
        declared["step"] = step
    return Field(path, declared, lacks, required)


def _end(schema: Table, key: str, exclusive_key: str, sign: int) -> float | None:
    """Return an end of a range that belongs to it; `sign` points into the range."""
    end: float | None = schema.get(key)
    outside = schema.get(exclusive_key)
    # In 3.0 it says whether the end itself is meant, in 3.1 it is an end of its own.
    if outside is True:
        outside = end
        end = None
    if outside is None or outside is False:
        return end
    # The nearest number inside; of real numbers one that is near enough for a person.
    smallest = 1 if schema["type"] == "integer" else TINY
    gap = schema.get("multipleOf", smallest)
    inside: float = outside + sign * gap
    if end is None:
        return inside
    if sign > 0:
        return max(end, inside)
    return min(end, inside)
