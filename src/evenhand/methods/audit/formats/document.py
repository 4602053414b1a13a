"""Evidence as the JSON document that `report`, `replay`, `explore` and `--baseline` read."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence


def to_json(found: Evidence) -> str:
    """Return the evidence as JSON."""
    return found.to_json()
