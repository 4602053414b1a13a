"""Facts: every number of a page that stands for a score has a key, and one key has one number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenhand.results.evidence import Finding


def fact_key(finding: Finding) -> str:
    """Return what distinguishes the score of a finding from all others of a page.

    >>> from evenhand.statistics.estimate import Estimate
    >>> from evenhand.results.evidence import Finding
    >>> share = Estimate.exact(1, 4, population="all inputs")
    >>> fact_key(Finding("a claim", ("sex",), share, score="causal"))
    'causal of sex, among all inputs'
    """
    if not finding.estimate.population:
        return finding.key
    return f"{finding.key}, among {finding.estimate.population}"
