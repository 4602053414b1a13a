"""Audit: the checks of one piece of software, each with what came of it, under one verdict and one
exit code.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.methods.audit.check_result import CheckResult
from evenhand.results.document import spent_of, versions, worst_of
from evenhand.results.protocol import Evidence
from evenhand.results.reading import evidence_of
from evenhand.runtime import json_file
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import INTERRUPTED, SubjectError, UsageError, clip, nearest, printable
from evenhand.statistics.estimate import StopReason, Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Mapping
    from os import PathLike

    from evenhand.results.evidence import Finding

WORST = (INTERRUPTED, UsageError.exit_code, 1, SubjectError.exit_code, 3, 0)
"""Exit codes, from what counts most of several to what counts least: what was found stands,
whatever failed later.
"""
_TOLD = ("subject", "space", "ledger", "command")
"""What an audit says of itself besides its checks."""


@dataclass(frozen=True)
class Audit(Evidence):
    """All checks of a piece of software, with one verdict, and what is needed to run them again.

    `subject` says in words what was tested, `config` holds the name and the text of the
    configuration, `ledger` the file that has every executed test, and `command` what gives the same
    again.
    """

    document: ClassVar[str] = "audit"
    job: ClassVar[str] = "audit"

    checks: tuple[CheckResult, ...]
    seed: int
    spent: Spent
    subject: str = ""
    space: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, str] = field(default_factory=dict)
    ledger: str = ""
    command: str = ""
    baseline: Mapping[str, str] = field(default_factory=dict)
    """The `name` and `digest` of the audit that this one is held against, where there is one."""
    notes: tuple[str, ...] = ()
    versions: Mapping[str, str] = field(default_factory=versions)

    def __getitem__(self, name: str) -> CheckResult:
        """Return a check by its name, or by its job where that is the only one."""
        for key in ("name", "job"):
            found = [check for check in self.checks if getattr(check, key) == name]
            if len(found) == 1:
                return found[0]
        names = [check.name for check in self.checks]
        raise UsageError(f"this audit has no check {clip(repr(name))}; {nearest(name, names)}")

    @property
    def parts(self) -> tuple[Evidence, ...]:
        """What the checks found, of those that could be run."""
        return tuple(check.found for check in self.checks if check.found is not None)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What all checks found, check by check."""
        found: list[Finding] = []
        for check in self.checks:
            found += check.findings
        return tuple(found)

    @property
    def verdict(self) -> Verdict | None:
        """Fail if any check fails, undecided if any is undecided or could not be run, pass if all
        pass.
        """
        return worst_of(check.verdict for check in self.checks)

    @property
    def stop(self) -> StopReason:
        """Why the audit ended."""
        interrupted = any(check.interrupted for check in self.checks)
        return StopReason.INTERRUPTED if interrupted else StopReason.COMPLETED

    @property
    def exit_code(self) -> int:
        """0 pass, 1 discrimination found, 4 the software failed, 3 undecided; 130 where it was
        interrupted.
        """
        return min((check.exit_code for check in self.checks), key=WORST.index, default=0)

    @property
    def level(self) -> float:
        """The least level at which all that the checks say holds together (Bonferroni)."""
        return max(0.0, 1 - sum(1 - check.level for check in self.checks))

    @property
    def home(self) -> str | None:
        """The configuration file that the audit was run by, None where there is none any more."""
        file = self.config.get("file", "")
        return file if file and Path(file).is_file() else None

    @property
    def held_against(self) -> str:
        """The baseline in words, empty where there is none."""
        if not self.baseline:
            return ""
        digest = self.baseline.get("digest", "")
        return f"{self.baseline['name']}, digest {digest}" if digest else self.baseline["name"]

    def story(self) -> str:
        """Return the checks that do not pass as text, each with its simplest case."""
        lines = [f"audit: {self.verdict or 'no limit given'}", *self.story_lines()]
        return "\n".join(printable(line) for line in lines)

    def story_lines(self) -> list[str]:
        """Return the checks that do not pass line by line, each with its simplest case."""
        lines = []
        for check in self.checks:
            if check.exit_code:
                said = check.error if check.found is None else check.verdict
                lines += [f"{check.name}: {said}", *check.story_lines()]
        return lines

    def against(self, old: Audit, *, name: str = "") -> Audit:
        """Return the audit held against an older one: only what surely got worse, or is new, fails."""
        from evenhand.results.baseline import hold  # imported where there is a baseline

        if not isinstance(old, Audit):
            raise UsageError(
                f"a {type(old).__name__} is no baseline; give an Audit, or the file of one"
            )
        before: dict[str, CheckResult] = {check.name: check for check in old.checks}
        checks, notes = [], []
        for check in self.checks:
            known = before.pop(check.name, None)
            then = None if known is None else known.found
            held = () if check.found is None else hold(check.found, then)
            checks.append(replace(check, held=tuple(held)))
        if old.space and self.space and old.space != self.space:
            notes.append(
                "the baseline is of another space of inputs, so that its scores may speak of others"
            )
        notes += [f"the baseline has a check that this audit has not: {gone}" for gone in before]
        baseline = {"name": name or "an older audit", "digest": old.digest}
        return replace(self, checks=tuple(checks), baseline=baseline, notes=(*self.notes, *notes))

    def body(self) -> dict[str, Any]:
        """Return what only this kind of evidence holds, as JSON holds it."""
        return {
            "subject": self.subject,
            "space": self.space,
            "baseline": dict(self.baseline),
            "checks": [check.to_dict(whole=False) for check in self.checks],
        }

    def extra(self) -> dict[str, Any]:
        """Return all that the checks found, and how the audit was run."""
        return {
            "checks": [check.to_dict() for check in self.checks],
            "ledger": self.ledger,
            "command": self.command,
            "config": dict(self.config),
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Tell whether parsed JSON is an audit."""
        return table.get("job") == "audit" and "checks" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Audit:
        """Rebuild an audit from JSON of the present format."""
        return cls(
            tuple(CheckResult.from_dict(check, where=where) for check in table["checks"]),
            table["seed"],
            spent_of(table),
            config=table["config"],
            baseline=table["baseline"],
            notes=tuple(table["notes"]),
            versions=table["versions"],
            **{key: table[key] for key in _TOLD},
        )

    def __str__(self) -> str:
        return "\n".join(
            f"{check.name}: {check.verdict or 'no limit given'}" for check in self.checks
        )


def document() -> type[Audit]:
    """Return the class that reads the JSON of an audit."""
    return Audit


def as_audit(found: Evidence, name: str = "") -> Audit:
    """Return an audit as it is, and what one verb found as the only check of one."""
    if isinstance(found, Audit):
        return found
    space = dict(getattr(found, "space", None) or {})
    only = CheckResult(name or found.job, found.job, {}, found)
    return Audit((only,), found.seed, found.spent, space=space, versions=found.versions)


def gathered(paths: Any) -> Audit:
    """Read files that evenhand wrote, of any job, as one audit; the checks of an audit stay as they
    are.

    >>> gathered([])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: there is no result to report on; name at least one file
    """
    files = list(paths)
    if not files:
        raise UsageError("there is no result to report on; name at least one file")
    audits = [(str(file), _read_any(file)) for file in files]
    return audits[0][1] if len(audits) == 1 else _joined(audits)


def _read_any(file: str | PathLike[str]) -> Audit:
    """Read an audit, or what one verb found as the only check of one."""
    found = evidence_of(json_file.read(file, "result"), where=str(file))
    return as_audit(found, f"{found.job} ({file})")


def _joined(audits: list[tuple[str, Audit]]) -> Audit:
    """Return several audits as one, each check under a name of its own."""
    checks: list[CheckResult] = []
    for file, audit in audits:
        for check in audit.checks:
            name = check.name
            if any(name == other.name for other in checks):
                name = unlike(f"{name} ({file})", [other.name for other in checks])
            checks.append(replace(check, name=name))
    every = [audit for _, audit in audits]
    spent = Spent(
        *(
            sum(getattr(one.spent, key) for one in every)
            for key in ("queries", "executed", "seconds")
        )
    )
    notes = list(dict.fromkeys(note for one in every for note in one.notes))
    if len({one.seed for one in every}) > 1:
        notes.append(f"the seeds differ: {', '.join(str(one.seed) for one in every)}")
    told: dict[str, Any] = {}
    for key in ("subject", "ledger", "command"):
        named = dict.fromkeys(getattr(one, key) for one in every if getattr(one, key))
        told[key] = "; ".join(named)
    held = {one.held_against: one.baseline for one in every if one.baseline}
    if held:
        told["baseline"] = (
            next(iter(held.values())) if len(held) == 1 else {"name": "; ".join(held)}
        )
    configs = [one.config for one in every if one.config]
    config = configs[0] if configs and all(one == configs[0] for one in configs) else {}
    return replace(
        every[0], checks=tuple(checks), spent=spent, notes=tuple(notes), config=config, **told
    )


def unlike(name: str, others: Container[str]) -> str:
    """Return a name that no other check has.

    >>> unlike("search sex", ["search sex"])
    'search sex (2)'
    """
    number = 1
    while (told := name if number == 1 else f"{name} ({number})") in others:
        number += 1
    return told
