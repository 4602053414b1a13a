"""Statement: a finding as reports show it, with its check and how it stands to a baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.report.finding_text import limit_text, subject_of
from evenhand.results.about import has_subgroups_beside
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from evenhand.results.baseline import BaselineComparison
    from evenhand.results.evidence import Case, Finding
    from evenhand.statistics.estimate import Estimate, Verdict

NO_LIMIT = "no limit"
"""What stands in place of a verdict where nothing was held against a limit."""
NOT_RUN = "not run"
"""What stands in place of the verdict of a check that could not be run."""

SAME_QUESTION = "one question, one answer: the same as in {check}"
"""What is said of a finding that answers the question of another check as well."""


@dataclass(frozen=True, slots=True)
class Statement:
    """One sentence of evidence of a check: its verdict, how sure it is, and the simplest case.

    `about` is short: the features, the rule or the mitigation. `alone` is the verdict without any
    baseline. A check that could not be run makes a statement without a finding, which says why.
    """

    check: Any
    about: str
    claim: str
    verdict: Verdict | None
    alone: Verdict | None
    held: BaselineComparison | None = None
    finding: Finding | None = None
    repeats: bool = False
    """Whether another statement has the same sentence, of another score."""

    @classmethod
    def of(
        cls, check: Any, finding: Finding, held: BaselineComparison | None = None
    ) -> Statement:
        """Return what is said of a finding; a baseline may excuse it."""
        verdict = finding.verdict if held is None else held.verdict
        return cls(
            check,
            subject_of(finding),
            finding.claim,
            verdict,
            finding.verdict,
            held,
            finding,
        )

    @property
    def estimate(self) -> Estimate | None:
        """The score, None where there is none."""
        return None if self.finding is None else self.finding.estimate

    @property
    def limit(self) -> float | None:
        """The engineering threshold, None where there is none."""
        return None if self.finding is None else self.finding.limit

    @property
    def least(self) -> bool:
        """Whether the limit is the least acceptable value."""
        return self.finding is not None and self.finding.least

    @property
    def case(self) -> Case | None:
        """The simplest case, None where there is none."""
        if self.finding is None or not self.finding.cases:
            return None
        return self.finding.cases[0]

    @property
    def sentence(self) -> str:
        """What was found in plain words, as the verb says it to people who know no statistics."""
        if self.finding is None or self.check.found is None:
            return self.claim
        in_plain_words = verb_of(self.check.found.job).plain
        return str(in_plain_words(self.finding, self.check.found))

    @property
    def beside_subgroups(self) -> bool:
        """Whether its check names subgroups, of which this may be about all others."""
        if self.finding is None or self.check.found is None:
            return False
        return has_subgroups_beside(self.finding, self.check.found)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What must be told beside the verdict, as sentences; mostly nothing."""
        if self.finding is None:
            return ()
        other = self.check.same_as.get(self.finding.key)
        if other is None:
            return self.finding.remarks
        return (*self.finding.remarks, SAME_QUESTION.format(check=other))

    @property
    def word(self) -> str:
        """The verdict in a word, or that the check could not be run."""
        if self.finding is None:
            return NOT_RUN
        return str(self.verdict or NO_LIMIT)

    @property
    def threshold(self) -> str:
        """The limit, written as the score is; empty where there is none."""
        return "" if self.finding is None else limit_text(self.finding)

    @property
    def against(self) -> str:
        """The limit as a phrase, empty where there is none."""
        return f"engineering threshold: {self.threshold}" if self.threshold else ""

    def __str__(self) -> str:
        if self.estimate is None:
            return self.claim
        return f"{self.claim}: {self.estimate}"
