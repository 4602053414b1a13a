"""CheckResult: one check of an audit, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.audit import messages
from evenhand.results.document import EXIT_CODES, worst_of
from evenhand.results.reading import evidence_of
from evenhand.runtime.errors import INTERRUPTED, SubjectError, printable
from evenhand.statistics.estimate import Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.baseline import BaselineComparison
    from evenhand.results.evidence import Finding
    from evenhand.results.protocol import Evidence
    from evenhand.results.score_change import ScoreChange
    from evenhand.scores.kept_answers import KeptAnswers


@dataclass(frozen=True)
class CheckResult:
    """One check: what it was to do, and what came of it, or why nothing did."""

    name: str
    job: str
    settings: Mapping[str, Any]
    """As a `[[checks]]` table says them."""
    found: Evidence | None = None
    error: str = ""
    code: int = SubjectError.exit_code
    """The exit code where nothing was found: 4 where the software failed, 2 where the check cannot
    be run, 70 where evenhand itself made a mistake, 130 where it was interrupted.
    """
    held: tuple[BaselineComparison, ...] = ()
    """How each finding stands to that of a baseline, where there is one."""
    kept: tuple[KeptAnswers, ...] = ()
    """How numbered draws were answered, which the next version is asked too."""
    rows: str = ""
    """The digest of the real rows that all were asked, in whatever order; empty where none were."""
    not_kept: str = ""
    """Why answers could not be kept, where they were to be."""
    ran_at: float | None = None
    """The level at which all that it found holds together, None where that is read off it."""
    same_as: Mapping[str, str] = field(default_factory=dict)
    """By the key of a finding, which other check asked the same question and shows its answer."""

    @property
    def alone(self) -> Verdict | None:
        """The verdict without any baseline; of software that failed, undecided."""
        return Verdict.UNDECIDED if self.found is None else self.found.verdict

    @property
    def verdict(self) -> Verdict | None:
        """Pass, fail or undecided; None where no limit was given.

        A baseline excuses what did not get worse.
        """
        if not self.held or self.found is None:
            return self.alone
        return worst_of(comparison.verdict for comparison in self.held)

    @property
    def kept_by_key(self) -> dict[str, KeptAnswers]:
        """The answers that were kept, by the key of the finding that they are about."""
        return {answers.key: answers for answers in self.kept}

    @property
    def interrupted(self) -> bool:
        """Whether someone stopped the run before it was through."""
        if self.found is None:
            return self.code == INTERRUPTED
        return self.found.interrupted

    @property
    def exit_code(self) -> int:
        """The exit code of this check alone."""
        if self.interrupted:
            return INTERRUPTED
        return self.code if self.found is None else EXIT_CODES[self.verdict]

    @property
    def queries(self) -> int:
        """How many inputs were asked, those whose answers are kept among them."""
        asked = sum(answers.asked for answers in self.kept)
        return asked if self.found is None else asked + self.found.spent.queries

    @property
    def level(self) -> float:
        """The level at which all of this check holds together; 1 where every input was asked."""
        if self.ran_at is not None:
            return self.ran_at
        return 1.0 if self.found is None else float(self.found.level)

    def levelled(self) -> CheckResult:
        """Return the check with its level, which stays whatever answers it shares with others."""
        return replace(self, ran_at=self.level)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What was found, with the verdicts that a baseline leaves."""
        if self.found is None:
            return ()
        if not self.held:
            return tuple(self.found.findings)
        pairs = zip(self.found.findings, self.held, strict=True)
        return tuple(replace(finding, judged=held.verdict) for finding, held in pairs)

    def against(self, old: CheckResult | None, *, tolerance: float | None) -> CheckResult:
        """Return the check with how each finding stands to that of the same check before."""
        from evenhand.results.baseline import hold  # imported where there is a baseline
        from evenhand.results.score_change import unchanged
        from evenhand.scores.kept_answers import change_of

        if self.found is None:
            return replace(self, held=())
        kept = self.kept_by_key
        old_kept = {} if old is None else old.kept_by_key
        level = self.level
        among = len(self.found.findings)
        same_rows = old is not None and bool(self.rows) and self.rows == old.rows

        def change(finding: Finding, before: Finding) -> ScoreChange | None:
            key = finding.key
            if same_rows and key == before.key and finding.estimate == before.estimate:
                return unchanged(finding.estimate)
            return change_of(
                finding, before, kept.get(key), old_kept.get(key), level=level, among=among
            )

        before = None if old is None else old.found
        held = hold(self.found, before, tolerance=tolerance, change_of=change)
        return replace(self, held=tuple(held))

    def story(self) -> str:
        """Return what does not pass as text; what a baseline excuses is left out."""
        if self.found is None:
            return self.error
        if not self.held:
            return self.found.story()
        lines = [f"{self.job}: {self.verdict}", *self.story_lines()]
        return "\n".join(printable(line) for line in lines)

    def story_lines(self) -> list[str]:
        """Return the lines of the story but the first, which has the verdict or the error."""
        if self.found is None:
            return []
        if not self.held:
            return self.found.story_lines()
        lines = []
        for finding, held in zip(self.found.findings, self.held, strict=True):
            if held.verdict in (Verdict.FAIL, Verdict.UNDECIDED):
                lines.append(
                    messages.FINDING_AGAINST_BASELINE.format(
                        finding=finding, state=held.text
                    )
                )
                lines += [f"    {case}" for case in finding.cases[:1]]
        return lines

    def to_dict(self, *, whole: bool = True) -> dict[str, Any]:
        """Return the check as JSON holds it; unless `whole`, with the digest of what was found."""
        table: dict[str, Any] = {
            "name": self.name,
            "job": self.job,
            "verdict": self.verdict,
            "settings": dict(self.settings),
        }
        if self.found is None:
            table |= {"error": self.error, "code": self.code}
        else:
            table["level"] = self.level
            table["found"] = self.found.to_dict() if whole else self.found.digest
        if self.held:
            table["held"] = [comparison.to_dict() for comparison in self.held]
        if self.kept:
            table["kept"] = [answers.to_dict() for answers in self.kept]
        if self.rows:
            table["rows"] = self.rows
        if self.same_as:
            table["same_as"] = dict(self.same_as)
        return table

    @classmethod
    def from_dict(cls, table: Mapping[str, Any], *, where: str = "audit") -> CheckResult:
        """Return the check that `to_dict` has written."""
        found = None
        if "found" in table:
            found = evidence_of(table["found"], where=where)
        held = _held(table["held"]) if table.get("held") else ()
        if held and (found is None or len(held) != len(found.findings)):
            raise ValueError(messages.HELD_WITHOUT_FINDINGS.format(count=len(held)))
        code = table.get("code", SubjectError.exit_code)
        return cls(
            table["name"],
            table["job"],
            table["settings"],
            found,
            table.get("error", ""),
            code,
            held,
            _kept(table.get("kept", ())),
            table.get("rows", ""),
            ran_at=table.get("level"),
            same_as=dict(table.get("same_as", {})),
        )


def _kept(tables: Sequence[Mapping[str, Any]]) -> tuple[KeptAnswers, ...]:
    # Imported where answers were kept.
    from evenhand.scores.kept_answers import KeptAnswers

    return tuple(KeptAnswers.from_dict(table) for table in tables)


def _held(tables: Sequence[Mapping[str, Any]]) -> tuple[BaselineComparison, ...]:
    # Imported where there is a baseline.
    from evenhand.results.baseline import BaselineComparison

    return tuple(BaselineComparison.from_dict(table) for table in tables)
