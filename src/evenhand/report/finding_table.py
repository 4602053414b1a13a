"""Findings as a table: one row for each, with its estimate, its limit and its verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence


def frame(found: Evidence) -> Any:
    """Return one row per finding, as a pandas frame."""
    import pandas as pd

    rows = []
    for finding in found.findings:
        about = ", ".join(finding.about) if isinstance(finding.about, tuple) else str(finding.about)
        rows.append(
            {
                "about": about,
                **finding.estimate.to_dict(),
                "limit": finding.limit,
                "verdict": finding.verdict,
                "claim": finding.claim,
            }
        )
    return pd.DataFrame(rows)
