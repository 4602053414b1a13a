"""The words around numbers: units, intervals and durations."""

from __future__ import annotations

PERCENT = "{number} %"
POINTS = "{number} points"
POINT = "1 point"
INTERVAL = "{low} to {high}"
AND = "{before} and {last}"
MORE = "{number} ({gap} more)"
LESS = "{number} ({gap} less)"
AT_LEAST = "at least {limit}"
SECONDS = "{number} s"
ABOUT_SECONDS = "about {number} s"
ABOUT_MINUTES = "about {number} min"
ABOUT_HOURS = "about {number} h"
