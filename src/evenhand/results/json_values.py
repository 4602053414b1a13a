"""Labels and outcomes as JSON can hold them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


def json_value(value: Any) -> Any:
    """Return a label or outcome as JSON can hold it; infinities become text.

    >>> json_value(float("inf")), json_value("yes")
    ('inf', 'yes')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value


def json_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return labels by name as JSON can hold them.

    >>> json_values({"age": float("-inf")})
    {'age': '-inf'}
    """
    return {name: json_value(value) for name, value in values.items()}
