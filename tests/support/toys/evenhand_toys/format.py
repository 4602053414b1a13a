"""tsv: every finding on a line of its own, separated by tabs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenhand.formats import Format

if TYPE_CHECKING:
    from evenhand.results.protocol import Evidence


def render(found: Evidence) -> str:
    """Return a line for each finding: the verb, the finding, its value and its verdict."""
    lines = ["verb\tfinding\tvalue\tverdict"]
    for part in found.parts:
        for finding in part.findings:
            cells = (
                part.job,
                finding.key,
                f"{finding.estimate.value:g}",
                finding.verdict or "",
            )
            lines.append("\t".join(" ".join(str(cell).split()) for cell in cells))
    return "\n".join(lines) + "\n"


TSV = Format(
    "tsv",
    render,
    help="write every finding here, separated by tabs",
    what="table",
    suffixes=(".tsv",),
)
