"""Audit: the checks of one piece of software, under one verdict and one exit code."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from evenhand.methods.audit import messages
from evenhand.methods.audit.check_result import CheckResult
from evenhand.methods.audit.checks import holds_together
from evenhand.methods.audit.tested import Tested
from evenhand.results.document import spent_of, versions, worst_of
from evenhand.results.protocol import Evidence
from evenhand.results.reading import evidence_of
from evenhand.runtime import json_file
from evenhand.runtime.budget import Spent
from evenhand.runtime.errors import (
    INTERNAL_ERROR,
    INTERRUPTED,
    SubjectError,
    UsageError,
    clip,
    nearest,
    printable,
)
from evenhand.statistics.estimate import StopReason, Verdict

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping
    from os import PathLike

    from evenhand.results.evidence import Finding

WORST = (
    INTERRUPTED,
    INTERNAL_ERROR,
    UsageError.exit_code,
    1,
    SubjectError.exit_code,
    3,
    0,
)
"""Exit codes, from what counts most of several to what counts least: what was found stands,
whatever failed later.
"""
_DESCRIPTION = ("subject", "space", "ledger", "command")
"""What an audit says of itself besides its checks."""


@dataclass(frozen=True)
class Audit(Evidence):
    """All checks of a piece of software, with one verdict, and what is needed to run them again.

    `subject` says in words what was tested, `config` holds the name and the text of the
    configuration, `ledger` the file that has every executed test, and `command` what gives the same
    again.

    Notes
    -----
    See docs/how-to/audit.md.
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
    tested: Tested = field(default_factory=Tested)
    """What was tested and when, which two audits with the same digest may differ in."""

    def with_log(self, source: Mapping[str, Any]) -> Audit:
        """Return the same audit, of a log that was opened at this source."""
        name = self.tested.data or str(source["source"])
        return replace(self, tested=replace(self.tested, data=name, log=dict(source)))

    def __getitem__(self, name: str) -> CheckResult:
        """Return a check by its name, or by its job where that is the only one.

        Raises
        ------
        UsageError
            Where the audit has no such check.
        """
        for key in ("name", "job"):
            found = [check for check in self.checks if getattr(check, key) == name]
            if len(found) == 1:
                return found[0]
        choices = nearest(name, [check.name for check in self.checks])
        shown = clip(repr(name))
        raise UsageError(messages.NO_SUCH_CHECK.format(name=shown, choices=choices))

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
        """Fail if any check fails, else undecided if any is undecided or not run, else pass."""
        return worst_of(check.verdict for check in self.checks)

    @property
    def stop(self) -> StopReason:
        """Why the audit ended."""
        interrupted = any(check.interrupted for check in self.checks)
        return StopReason.INTERRUPTED if interrupted else StopReason.COMPLETED

    @property
    def exit_code(self) -> int:
        """0 pass, 1 discrimination found, 3 undecided, 4 the software failed, 130 interrupted.

        2 where a check cannot be run, and 70 where evenhand itself made a mistake in one.
        """
        codes = [check.exit_code for check in self.checks]
        return min(codes, key=WORST.index, default=0)

    @property
    def level(self) -> float:
        """The least level at which all that the checks say holds together (Bonferroni).

        What is descriptive is left out, and so are checks that bound a false discovery rate. How a
        check stands to a baseline is said once more at its level.
        """
        error = 0.0
        for check in self.checks:
            families = 2 if check.held else 1
            if holds_together(check.settings):
                error += families * (1 - check.level)
        # Rounding must not turn the level that was asked for into one just below it.
        return max(0.0, round(1 - error, 10))

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
        name = self.baseline["name"]
        if not digest:
            return name
        return messages.BASELINE_WITH_DIGEST.format(name=name, digest=digest)

    def story(self) -> str:
        """Return the checks that do not pass as text, each with its simplest case."""
        verdict = self.verdict or messages.NO_LIMIT_IN_STORY
        lines = [f"audit: {verdict}", *self.story_lines()]
        return "\n".join(printable(line) for line in lines)

    def story_lines(self) -> list[str]:
        """Return the checks that do not pass line by line, each with its simplest case."""
        lines = []
        for check in self.checks:
            if check.exit_code:
                outcome = check.error if check.found is None else check.verdict
                lines.append(f"{check.name}: {outcome}")
                lines += check.story_lines()
        return lines

    def against(
        self, old: Audit, *, name: str = "", tolerance: float | None = None
    ) -> Audit:
        """Return the audit compared with an older one: only what is clearly worse, or new, fails.

        Where both kept their answers to the same inputs, the versions are compared on these.

        Parameters
        ----------
        old
            The older audit.
        name
            What reports call it, the name of its file for example.
        tolerance
            How much worse a rate may be; by default a fifth of the limit of each finding.

        Returns
        -------
        Audit
            The same findings, with verdicts that excuse what did not get worse.

        Raises
        ------
        UsageError
            Where `old` is not an audit.
        """
        if not isinstance(old, Audit):
            raise UsageError(messages.NOT_A_BASELINE.format(type=type(old).__name__))
        old_checks = {check.name: check for check in old.checks}
        checks = []
        for check in self.checks:
            old_check = old_checks.pop(check.name, None)
            checks.append(check.against(old_check, tolerance=tolerance))
        notes = list(self.notes)
        if old.space and self.space and old.space != self.space:
            notes.append(messages.OTHER_SPACE)
        # What is left of the old checks has no counterpart in this audit.
        for gone in old_checks:
            notes.append(messages.CHECK_IS_GONE.format(name=gone))
        baseline = {"name": name or messages.OLDER_AUDIT, "digest": old.digest}
        return replace(self, checks=tuple(checks), baseline=baseline, notes=tuple(notes))

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
            "tested": self.tested.to_dict(),
        }

    @classmethod
    def owns(cls, table: Mapping[str, Any]) -> bool:
        """Return whether parsed JSON is an audit."""
        return table.get("job") == "audit" and "checks" in table

    @classmethod
    def read(cls, table: Mapping[str, Any], where: str) -> Audit:
        """Return an audit from JSON of the present format."""
        return cls(
            tuple(CheckResult.from_dict(check, where=where) for check in table["checks"]),
            table["seed"],
            spent_of(table),
            config=table["config"],
            baseline=table["baseline"],
            notes=tuple(table["notes"]),
            versions=table["versions"],
            tested=Tested.from_dict(table.get("tested", {})),
            **{key: table[key] for key in _DESCRIPTION},
        )

    def __str__(self) -> str:
        lines = []
        for check in self.checks:
            verdict = check.verdict or messages.NO_LIMIT_IN_STORY
            lines.append(f"{check.name}: {verdict}")
        return "\n".join(lines)


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
    """Return files that evenhand wrote, of any job, as one audit.

    The checks of an audit stay as they are.

    >>> gathered([])
    Traceback (most recent call last):
    evenhand.runtime.errors.UsageError: there is no result to report on; name at least one file
    """
    files = list(paths)
    if not files:
        raise UsageError(messages.NOTHING_TO_REPORT)
    if len(files) == 1:
        return _read_any(files[0])
    return _joined([(str(file), _read_any(file)) for file in files])


def _read_any(file: str | PathLike[str]) -> Audit:
    """Read an audit, or what one verb found as the only check of one."""
    found = evidence_of(json_file.read(file, "result"), where=str(file))
    return as_audit(found, f"{found.job} ({file})")


def _joined(files: list[tuple[str, Audit]]) -> Audit:
    """Return the audits of several files as one, each check under a name of its own."""
    audits = [audit for _, audit in files]
    return replace(
        audits[0],
        checks=_renamed_checks(files),
        spent=_sum_of_spent(audits),
        notes=_joined_notes(audits),
        config=_common_config(audits),
        baseline=_joined_baseline(audits),
        subject=_distinct_texts(audit.subject for audit in audits),
        ledger=_distinct_texts(audit.ledger for audit in audits),
        command=_distinct_texts(audit.command for audit in audits),
    )


def _renamed_checks(files: list[tuple[str, Audit]]) -> tuple[CheckResult, ...]:
    """Return the checks of all audits; of a name that is taken, with the file behind it."""
    checks: list[CheckResult] = []
    for file, audit in files:
        for check in audit.checks:
            taken = [other.name for other in checks]
            name = check.name
            if name in taken:
                name = unlike(f"{name} ({file})", taken)
            checks.append(replace(check, name=name))
    return tuple(checks)


def _sum_of_spent(audits: list[Audit]) -> Spent:
    queries = sum(audit.spent.queries for audit in audits)
    executed = sum(audit.spent.executed for audit in audits)
    seconds = sum(audit.spent.seconds for audit in audits)
    return Spent(queries, executed, seconds)


def _joined_notes(audits: list[Audit]) -> tuple[str, ...]:
    notes: dict[str, None] = {}  # a set that keeps the order
    for audit in audits:
        notes |= dict.fromkeys(audit.notes)
    seeds = [audit.seed for audit in audits]
    if len(set(seeds)) > 1:
        shown = ", ".join(map(str, seeds))
        notes[messages.SEEDS_DIFFER.format(seeds=shown)] = None
    return tuple(notes)


def _distinct_texts(texts: Iterable[str]) -> str:
    distinct = dict.fromkeys(text for text in texts if text)
    return "; ".join(distinct)


def _joined_baseline(audits: list[Audit]) -> Mapping[str, str]:
    """Return the baseline that all audits share, or the names of several."""
    baselines = {audit.held_against: audit.baseline for audit in audits if audit.baseline}
    if len(baselines) > 1:
        return {"name": "; ".join(baselines)}
    return next(iter(baselines.values()), audits[0].baseline)


def _common_config(audits: list[Audit]) -> Mapping[str, str]:
    """Return the configuration of all audits that have one, empty where it is not the same."""
    configs = [audit.config for audit in audits if audit.config]
    if not configs:
        return {}
    first, *others = configs
    same = all(config == first for config in others)
    return first if same else {}


def unlike(name: str, others: Container[str]) -> str:
    """Return a name that no other check has.

    >>> unlike("search sex", ["search sex"])
    'search sex (2)'
    """
    number = 1
    distinct = name
    while distinct in others:
        number += 1
        distinct = f"{name} ({number})"
    return distinct
