"""Placed: the statements of an audit as a page tells them, each fact once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.once import questions
from evenhand.methods.audit.statements import statements
from evenhand.report.page.cards import features_asked, features_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.report.statement import Statement


@dataclass(frozen=True)
class Placed:
    """A statement, its check, and the features that it is about."""

    check: CheckResult
    statement: Statement
    features: tuple[str, ...]


def each_fact_once(audit: Audit) -> list[Placed]:
    """Return the statements of all checks; a score that several have found is told by the first.

    A statement with a verdict is told before one without, wherever it stands.
    """
    names = _names_of_features(audit)
    every = []
    for check in audit.checks:
        for statement in statements(check):
            features = features_of(statement)
            if not features or not names.issuperset(features):
                # What is about a mitigation, say, is about the features of its check.
                features = features_asked(check.settings)
            every.append(Placed(check, statement, features))
    asked = questions([item.statement for item in every])
    kept = {id(group[0]) for group in asked}
    return [item for item in every if id(item.statement) in kept]


def _names_of_features(audit: Audit) -> set[str]:
    """Return the names of all features: those of the inputs, and those that checks are about."""
    spaces: list[Mapping[str, Any]] = [audit.space]
    for check in audit.checks:
        # An audit that was gathered from files has no inputs but those of its checks.
        spaces.append(getattr(check.found, "space", None) or {})
    names: set[str] = set()
    for space in spaces:
        names.update(str(feature["name"]) for feature in space.get("features", ()))
    for check in audit.checks:
        names.update(features_asked(check.settings))
    return names


def of_check(placed: Sequence[Placed], check: CheckResult) -> list[Statement]:
    """Return what a check tells, without what another tells already."""
    return [item.statement for item in placed if item.check is check]
