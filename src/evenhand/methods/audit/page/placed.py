"""Placed: the statements of an audit as a page tells them, each fact once."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit.once import questions
from evenhand.methods.audit.statements import statements
from evenhand.report.page.cards import features_asked, features_of
from evenhand.report.page.plain import compared_rates

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
                features = features_asked(check.settings) or _protected_of(check)
            every.append(Placed(check, statement, features))
    asked = questions([item.statement for item in every])
    kept = {id(group[0]) for group in asked}
    placed = [item for item in every if id(item.statement) in kept]
    return _each_rate_once(placed)


def _each_rate_once(placed: Sequence[Placed]) -> list[Placed]:
    """Mark statements about rates that another one tells too, as a ratio beside a difference.

    Those with a verdict tell them.
    """
    judged_first = sorted(placed, key=lambda item: item.statement.verdict is None)
    known: set[tuple[str, ...]] = set()
    repeating = set()
    for item in judged_first:
        finding = item.statement.finding
        rates = None if finding is None else compared_rates(finding)
        if rates is None:
            continue
        if rates in known:
            repeating.add(id(item))
        known.add(rates)
    return [_repeating(item) if id(item) in repeating else item for item in placed]


def _repeating(item: Placed) -> Placed:
    return replace(item, statement=replace(item.statement, repeats=True))


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


def _protected_of(check: CheckResult) -> tuple[str, ...]:
    """Return the features that a check is about where nobody says which: the protected ones."""
    space = getattr(check.found, "space", None) or {}
    return tuple(str(name) for name in space.get("protected", ()))


def of_check(placed: Sequence[Placed], check: CheckResult) -> list[Statement]:
    """Return what a check tells, without what another tells already."""
    return [item.statement for item in placed if item.check is check]
