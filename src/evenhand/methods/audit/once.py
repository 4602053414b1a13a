"""Once: what several checks of an audit say alike counts as one question, everywhere."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from evenhand.report.page.facts import fact_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from evenhand.report.statement import Statement


def questions(statements: Sequence[Statement]) -> list[list[Statement]]:
    """Return the statements of all checks of an audit, those of one question together.

    The first of each question is the one to show: it has a verdict where any of them has one. The
    questions stand in the order of the statements that are shown.
    """
    groups: list[list[Statement]] = []
    groups_of: dict[str, list[list[Statement]]] = defaultdict(list)
    for statement in _judged_first(statements):
        key = _key(statement)
        if key is None:
            groups.append([statement])
            continue
        group = _group_of(groups_of[key], statement)
        if group is None:
            group = []
            groups.append(group)
            groups_of[key].append(group)
        group.append(statement)
    group_of = {}
    for group in groups:
        first = group[0]
        group_of[id(first)] = group
    return [group_of[id(one)] for one in statements if id(one) in group_of]


def _judged_first(statements: Iterable[Statement]) -> list[Statement]:
    return sorted(statements, key=lambda statement: statement.verdict is None)


def _key(statement: Statement) -> str | None:
    """Return what the score is of; None where no other check can tell of the same.

    Only scores of features are shared by checks; a check of mitigations or repairs tells of others
    under the same key.
    """
    finding = statement.finding
    if finding is None or finding.detail is not None:
        return None
    if not isinstance(finding.about, tuple):
        return None
    return fact_key(finding)


def _group_of(
    groups: Iterable[list[Statement]], statement: Statement
) -> list[Statement] | None:
    """Return the question that a statement belongs to, None where it is the first to tell of it."""
    for group in groups:
        first = group[0]
        if _same_value(first, statement) and _one_verdict(first, statement):
            return group
    return None


def _same_value(one: Statement, other: Statement) -> bool:
    if one.estimate is None or other.estimate is None:
        return False
    return one.estimate.value == other.estimate.value


def _one_verdict(one: Statement, other: Statement) -> bool:
    """Return whether two statements of one score need no verdicts of their own."""
    if other.verdict is None and other.held is None:
        return True
    if (one.limit, one.least) != (other.limit, other.least):
        return False
    return one.verdict == other.verdict and _state(one) == _state(other)


def _state(statement: Statement) -> str:
    return "" if statement.held is None else statement.held.state
