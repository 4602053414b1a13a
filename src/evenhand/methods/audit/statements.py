"""Statements: what the checks of an audit say, one sentence each, whatever verb said it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand.report.statement import NO_LIMIT, NOT_RUN, Statement
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.results.baseline import BaselineComparison

SCORE = ("value", "low", "high", "n", "level", "method", "population")
"""What a frame of statements tells of an estimate."""


def statements(check: CheckResult) -> list[Statement]:
    """Return what one check says, best evidence first; a check that failed says why."""
    if check.found is None:
        return [Statement(check, check.job, check.error, check.verdict, check.alone)]
    if not check.held:
        return [Statement.of(check, finding) for finding in check.found.findings]
    pairs = zip(check.found.findings, check.held, strict=True)
    return [Statement.of(check, finding, held) for finding, held in pairs]


def all_statements(audit: Audit) -> list[Statement]:
    """Return what all checks of an audit say, check by check."""
    found: list[Statement] = []
    for check in audit.checks:
        found += statements(check)
    return found


def overall_word(audit: Audit) -> str:
    """Return the verdict of an audit in a word.

    Where nothing else stays open, it is that a check could not be run.
    """
    undecided = []
    for statement in all_statements(audit):
        if statement.verdict is Verdict.UNDECIDED:
            undecided.append(statement.word)
    if audit.verdict is Verdict.UNDECIDED and set(undecided) == {NOT_RUN}:
        return NOT_RUN
    return str(audit.verdict or NO_LIMIT)


def frame(audit: Audit) -> Any:
    """Return one row for each statement, as a pandas frame."""
    import pandas as pd

    rows = [_row(statement) for statement in all_statements(audit)]
    try:
        return pd.DataFrame(rows)
    except UnicodeEncodeError:  # halves of characters, which a damaged text may hold
        return pd.DataFrame(rows, dtype=object)


def _row(statement: Statement) -> dict[str, Any]:
    estimate = statement.estimate
    score = {} if estimate is None else estimate.to_dict()
    row = {
        "check": statement.check.name,
        "job": statement.check.job,
        "about": statement.about,
        "verdict": statement.verdict,
    }
    for key in SCORE:
        row[key] = score.get(key)
    row["descriptive"] = estimate is not None and estimate.descriptive
    row["limit"] = statement.limit
    row["claim"] = statement.claim
    if statement.held is not None:
        row["baseline"] = statement.held.state
        row |= _change(statement.held)
    return row


def _change(held: BaselineComparison) -> dict[str, Any]:
    """Return how the score changed from that of the baseline, and how much it may."""
    change = {} if held.change is None else held.change.to_dict()
    row = {f"change_{key}": change.get(key) for key in ("value", "low", "high", "paired")}
    return {**row, "tolerance": held.tolerance}
