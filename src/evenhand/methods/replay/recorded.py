"""What a result or an audit holds that can be asked again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from evenhand.methods.replay import messages
from evenhand.results.reading import evidence_of
from evenhand.results.result import by_evidence
from evenhand.runtime import json_file
from evenhand.runtime.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence


@dataclass(frozen=True, slots=True)
class Recorded:
    """What a file holds that can be asked again.

    These are the job that made it, its findings, and the space of its inputs.
    """

    job: str
    findings: Sequence[Finding]
    space: Mapping[str, Any]
    details: Mapping[str, Any] = field(default_factory=dict)
    alone: bool = False
    """Whether one case alone was chosen."""


def recorded_in(file: Path) -> Recorded:
    """Read a result, or all results of an audit as one."""
    found = evidence_of(json_file.read(file, "result"), where=str(file))
    if found.parts == (found,):
        return Recorded(
            found.job,
            found.findings,
            getattr(found, "space", {}),
            getattr(found, "details", {}),
        )
    with_cases = [part for part in found.parts if _has_cases(part)]
    if not with_cases:
        raise UsageError(messages.NO_CASES_OF_AN_AUDIT.format(file=file))
    findings: list[Finding] = []
    details: dict[str, Any] = {}
    for part in with_cases:
        findings += part.findings
        # All checks of an audit ask one subject, whose outcomes differ alike for all of them.
        details |= getattr(part, "details", {})
    first = with_cases[0]
    space = getattr(first, "space", {})
    return Recorded(first.job, by_evidence(findings), space, details)


def _has_cases(part: Evidence) -> bool:
    return any(finding.cases for finding in part.findings)


def with_cases(file: Path, recorded: Recorded) -> list[Finding]:
    """Return the findings that have cases."""
    findings = [finding for finding in recorded.findings if finding.cases]
    if findings:
        return findings
    if recorded.job == "search":
        raise UsageError(messages.NO_CASES_OF_A_SEARCH.format(file=file))
    if recorded.job == "mine_text":
        raise UsageError(messages.NO_CASES_OF_TEXTS.format(file=file))
    raise UsageError(messages.NO_CASES.format(file=file))
