"""Tables that any document can show: of findings, and of the groups that a verb compares."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import about_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence


@dataclass(frozen=True, slots=True)
class GroupTable:
    """Groups and their rates as texts, what is left out of them, and what the words mean."""

    over: tuple[str, ...]
    definition: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    remarks: Sequence[str] = ()
    left_out: int = 0
    """How many groups there was no room for."""
    numbers: range = range(0)
    """The columns that hold numbers."""


def frame(found: Evidence) -> Any:
    """Return one row for each finding, with its estimate, limit and verdict, as a pandas frame."""
    import pandas as pd

    return pd.DataFrame([_row(finding) for finding in found.findings])


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "about": about_text(finding),
        **finding.estimate.to_dict(),
        "limit": finding.limit,
        "verdict": finding.verdict,
        "claim": finding.claim,
    }
