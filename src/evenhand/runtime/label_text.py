"""Values of inputs as people read them."""

from __future__ import annotations

import math


def shown(value: object) -> object:
    """Return a value of an input as people read it: a missing one is unknown.

    >>> shown(None), shown(3)
    ('unknown', 3)
    """
    is_nan = isinstance(value, float) and math.isnan(value)
    return "unknown" if value is None or is_nan else value
