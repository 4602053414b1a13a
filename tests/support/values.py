"""Values that an option takes, and values that it does not, from what its schema says."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator
from jsonschema.validators import extend

if TYPE_CHECKING:
    from evenhand.runtime.options import Option


def _is_whole(_checker: Any, value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


TomlValidator: Any = extend(
    Draft202012Validator,
    type_checker=Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_whole),
)
"""Checks what TOML holds, in which 1.0 is no whole number."""
VALUES: tuple[Any, ...] = (
    *("x", "", "quantiles", "causal"),
    *(3, 0.5, 1.0, -1, True),
    *([], ["x"], ["x", 1], [["x"]], [0.5, 1], [1, "x"], [True]),
    *({}, {"a": "x"}, {"a": 1}, {"a": ["x"]}, {"a": True}),
    date(2020, 1, 1),
)
"""Values of every kind that TOML has."""


def allowed(schema: dict[str, Any], value: Any) -> bool:
    """Tell whether a schema allows a value."""
    return bool(TomlValidator(schema).is_valid(value))


def fitting(option: Option) -> list[Any]:
    """Return values that an option takes."""
    return [
        *option.choices,
        *(value for value in VALUES if allowed(option.json_schema(), value)),
    ]


def misfitting(option: Option) -> list[Any]:
    """Return values that an option does not take."""
    return [value for value in VALUES if not allowed(option.json_schema(), value)]
