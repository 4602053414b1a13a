"""Any evidence from its JSON, whatever verb made it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence


def evidence_of(table: Any, *, where: str) -> Evidence:
    """Rebuild any evidence from its parsed JSON, whatever verb made it."""
    job = table.get("job") if isinstance(table, Mapping) else None
    evidence_class = verb_of(str(job)).document()
    evidence: Evidence = evidence_class.from_dict(table, where=where)
    return evidence
