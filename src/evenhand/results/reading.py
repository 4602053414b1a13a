"""Any evidence from its JSON, whatever verb made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.verbs import VERBS

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence


def evidence_of(table: Any, *, where: str) -> Evidence:
    """Rebuild any evidence from its parsed JSON, whatever verb made it."""
    job = table.get("job") if isinstance(table, Mapping) else None
    kind = VERBS[str(job)].document if isinstance(job, str) and job in VERBS else VERBS["measure"].document
    found: Evidence = kind().from_dict(table, where=where)
    return found
