"""Statements: what the checks of an audit say, one sentence each, whatever verb said it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.compare.comparison import Comparison
from evenhand.methods.repair.repair_result import Repair
from evenhand.report.finding_text import subject_of

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit, Checked
    from evenhand.methods.audit.baseline import Held
    from evenhand.results.result import Case, Finding
    from evenhand.statistics.estimate import Estimate, Verdict

NO_LIMIT = "no limit"
"""What stands in place of a verdict where nothing was held against a limit."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of evidence of a check: its verdict, how sure it is, and the simplest case.

    `about` is short: the features, the rule or the mitigation. `alone` is the verdict without any baseline.
    """

    check: Checked
    about: str
    claim: str
    verdict: Verdict | None
    alone: Verdict | None
    estimate: Estimate | None = None
    limit: float | None = None
    least: bool = False
    case: Case | None = None
    held: Held | None = None
    finding: Finding | None = None

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return str(self.verdict or NO_LIMIT)

    @property
    def against(self) -> str:
        """The limit in words, empty where there is none."""
        if self.limit is None:
            return ""
        return f"engineering threshold: {'at least ' if self.least else ''}{self.limit:g}"

    def __str__(self) -> str:
        return f"{self.claim}: {self.estimate}" if self.estimate is not None else self.claim


def statements(check: Checked) -> list[Statement]:
    """Return what one check says, best evidence of discrimination first; a check that failed says why."""
    found = check.found
    if found is None:
        return [Statement(check, check.job, check.error, check.verdict, check.alone)]
    held = list(check.held)
    if isinstance(found, Comparison):
        told = [Statement(check, one.name, one.claim, one.verdict, one.verdict, one.gain) for one in found.standings]
    elif isinstance(found, Repair):
        about = ", ".join(found.about) if isinstance(found.about, tuple) else str(found.about)
        told = [Statement(check, about, found.claim, found.verdict, found.verdict, found.after, found.limit)]
    else:
        told = [_finding(check, one) for one in found.findings]
    if not held:
        return told
    return [replace(one, verdict=how.verdict, held=how) for one, how in zip(told, held, strict=True)]


def all_statements(audit: Audit) -> list[Statement]:
    """Return what all checks of an audit say, check by check."""
    return [one for check in audit.checks for one in statements(check)]


def frame(audit: Audit) -> Any:
    """Return one row for each statement, as a pandas frame."""
    import pandas as pd

    rows = []
    for one in all_statements(audit):
        score = {} if one.estimate is None else one.estimate.to_dict()
        keys = ("value", "low", "high", "n", "level", "method", "population")
        row = {"check": one.check.name, "job": one.check.job, "about": one.about, "verdict": one.verdict}
        row |= {key: score.get(key) for key in keys} | {"limit": one.limit, "claim": one.claim}
        rows.append(row | ({"baseline": one.held.state} if one.held is not None else {}))
    return pd.DataFrame(rows)


def _finding(check: Checked, finding: Finding) -> Statement:
    case = finding.cases[0] if finding.cases else None
    about, verdict = subject_of(finding), finding.verdict
    score = (finding.estimate, finding.limit, finding.least, case)
    return Statement(check, about, finding.claim, verdict, verdict, *score, finding=finding)
