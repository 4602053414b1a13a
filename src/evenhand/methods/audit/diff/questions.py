"""The questions of an audit: a finding that several checks share is one of them."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evenhand.report.statement import Statement

if TYPE_CHECKING:
    from evenhand.methods.audit.audit_result import Audit
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.results.baseline import BaselineComparison
    from evenhand.results.evidence import Finding


class Identity(NamedTuple):
    """What identifies a finding of an audit: its check, its key, and its number of that key."""

    check: str
    key: str
    number: int


@dataclass(frozen=True, slots=True)
class AskedFinding:
    """A finding of a check, and how it stands to a baseline where there is one."""

    identity: Identity
    check: CheckResult
    finding: Finding
    held: BaselineComparison | None
    among: int
    """How many findings of the check have its key."""

    @property
    def statement(self) -> Statement:
        """What the finding says, whatever a baseline excuses."""
        return Statement.of(self.check, self.finding)


def questions_of(audit: Audit) -> list[list[AskedFinding]]:
    """Return the answers to each question of an audit, check by check.

    Most questions have one answer; of those that several checks ask, that of the first check comes
    first.
    """
    first_of = _First.of(audit)
    by_question: dict[Identity, list[AskedFinding]] = {}
    for check in audit.checks:
        for answer in _answers_of(check):
            key = answer.identity.key
            first = first_of.check(check.name, key)
            question = answer.identity._replace(check=first)
            by_question.setdefault(question, []).append(answer)
    return list(by_question.values())


def _answers_of(check: CheckResult) -> list[AskedFinding]:
    """Return the findings of a check, each with its identity."""
    if check.found is None:
        return []
    findings = list(check.found.findings)
    held: list[BaselineComparison | None] = list(check.held)
    if not held:
        held = [None] * len(findings)
    among = Counter(finding.key for finding in findings)
    seen: Counter[str] = Counter()
    answers = []
    for finding, comparison in zip(findings, held, strict=True):
        key = finding.key
        identity = Identity(check.name, key, seen[key])
        seen[key] += 1
        answers.append(AskedFinding(identity, check, finding, comparison, among[key]))
    return answers


@dataclass(frozen=True, slots=True)
class _First:
    """The first of the checks that ask one question."""

    place: dict[str, int]
    same_as: dict[tuple[str, str], str]

    @classmethod
    def of(cls, audit: Audit) -> _First:
        place = {}
        same_as = {}
        for number, check in enumerate(audit.checks):
            place[check.name] = number
            for key, other in check.same_as.items():
                same_as[check.name, key] = other
        return cls(place, same_as)

    def check(self, name: str, key: str) -> str:
        """Return the name of the first check that asks what this check asks under a key."""
        other = self.same_as.get((name, key), name)
        while self.place.get(other, len(self.place)) < self.place[name]:
            name = other
            other = self.same_as.get((name, key), name)
        return name
