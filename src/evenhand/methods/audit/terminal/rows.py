"""Rows: what an audit says, each question once, what counts most first."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.methods.audit import messages
from evenhand.methods.audit.once import questions
from evenhand.methods.audit.statements import all_statements
from evenhand.report.statement import NO_LIMIT, NOT_RUN
from evenhand.results.about import is_of_the_rest
from evenhand.statistics.estimate import Verdict, Witnesses

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.report.statement import Statement

ORDER = (str(Verdict.FAIL), str(Verdict.UNDECIDED), NOT_RUN, str(Verdict.PASS), NO_LIMIT)
"""The words of verdicts, what counts most first."""


@dataclass(frozen=True, slots=True)
class VerdictRow:
    """What is said of one question, or why some checks could not be run."""

    statement: Statement
    checks: tuple[str, ...]
    """The names of the checks that asked it."""

    @property
    def word(self) -> str:
        """The verdict in a word."""
        return self.statement.word

    @property
    def counts(self) -> int:
        """How many verdicts the row stands for: one, or that of each check that was not run."""
        return len(self.checks) if self.word == NOT_RUN else 1

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be told beside the verdict, but not that other checks asked the same."""
        finding = self.statement.finding
        return () if finding is None else finding.remarks

    @property
    def is_bound(self) -> bool:
        """Whether it is about the farthest of all rules, of which none is named."""
        finding = self.statement.finding
        return finding is not None and is_of_the_rest(finding.about)

    @property
    def about(self) -> str:
        """What it is about: features, a rule, or all rules but those that have rows."""
        finding = self.statement.finding
        if finding is None or not self.is_bound:
            return self.statement.about or self.statement.claim
        if self.statement.beside_subgroups:
            return messages.ANY_OTHER_RULE
        return messages.ANY_RULE


def rows_of(audit: Audit) -> list[VerdictRow]:
    """Return a row for each question, what counts most first."""
    rows = []
    reasons: dict[str, list[Statement]] = {}
    for group in questions(all_statements(audit)):
        first = group[0]
        if first.finding is None:
            reasons.setdefault(first.claim, []).append(first)
        else:
            rows.append(_row(group))
    # What several checks could not be run for is said once.
    rows += [_row(group) for group in reasons.values()]
    return sorted(rows, key=_sort_key)


def worst_of(rows: Sequence[VerdictRow]) -> list[VerdictRow]:
    """Return the rows that fail or are undecided, in the order in which they stand."""
    open_rows = []
    for row in rows:
        scored = row.statement.finding is not None
        if scored and row.statement.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
            open_rows.append(row)
    # How far off any other rule may be is no worse than the rules that are named.
    named = [row for row in open_rows if not row.is_bound]
    return named or open_rows


def _row(group: Sequence[Statement]) -> VerdictRow:
    names = [statement.check.name for statement in group]
    distinct = dict.fromkeys(names)
    return VerdictRow(group[0], tuple(distinct))


def _sort_key(row: VerdictRow) -> tuple[int, bool, float, float]:
    """Return the sort key: the verdict, then what has a case, then how far it is over its limit."""
    statement = row.statement
    order = ORDER.index(row.word)
    if statement.verdict not in (Verdict.FAIL, Verdict.UNDECIDED):
        return order, False, 0.0, 0.0
    surely, seen = _over_limit(statement)
    return order, statement.case is None, -surely, -seen


def _over_limit(statement: Statement) -> tuple[float, float]:
    """Return how many times its limit a score is surely, and as it was seen."""
    estimate = statement.estimate
    if estimate is None or statement.limit is None or not estimate.n:
        return 0.0, 0.0
    # What a search found is no rate that could be compared with others.
    if isinstance(estimate, Witnesses) or math.isnan(estimate.value):
        return 0.0, 0.0
    if statement.least:
        surely = _times(statement.limit, estimate.high)
        return surely, _times(statement.limit, estimate.value)
    surely = _times(estimate.low, statement.limit)
    return surely, _times(estimate.value, statement.limit)


def _times(part: float, whole: float) -> float:
    if part <= 0:
        return 0.0
    return part / whole if whole > 0 else math.inf
