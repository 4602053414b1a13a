"""BaselineComparison: how a finding stands to the one of a baseline, so that only what surely got
worse fails.

The test is the one that the intervals allow, whatever rule ended the sampling: a score is surely
worse where its interval lies wholly beyond that of the baseline. Where nothing has changed, one of
two two-sided intervals would have to miss on its own side, which happens with at most the
probability that a single interval misses at all. Intervals of one check hold together, so that this
is the probability for all of its findings, not for each.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.results.document import RANK
from evenhand.results.evidence import Finding, key_of
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate, Verdict, Witnesses
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.results.protocol import Evidence

NEW, WORSE, BETTER, SAME, ROSE = (
    "new",
    "worse",
    "better",
    "not surely worse",
    "worse, within the limit",
)
STATES = (NEW, WORSE, BETTER, SAME, ROSE)
EVERY = Rule(())
"""What a bound on all rules that are not told of by themselves is about."""


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A claim, how it stands to the baseline, and the verdict that follows."""

    claim: str
    state: str
    verdict: Verdict | None
    before: str = ""
    """The score of the baseline in words, where it has one."""

    def to_dict(self) -> dict[str, Any]:
        """Return this as JSON holds it."""
        return {
            "claim": self.claim,
            "state": self.state,
            "verdict": self.verdict,
            "before": self.before,
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> BaselineComparison:
        """Rebuild this from `to_dict`."""
        verdict = None if table["verdict"] is None else Verdict(table["verdict"])
        return cls(table["claim"], table["state"], verdict, table["before"])


def hold(found: Evidence, old: Evidence | None) -> list[BaselineComparison]:
    """Hold what a check found against what it found before; what was not there before counts as it
    is.

    >>> from evenhand.results.result import Result
    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> def result(low, high):
    ...     score = Estimate((low + high) / 2, low, high, 500, 0.95, "exact")
    ...     found = Finding("sex matters", ("sex",), score, 0.05)
    ...     return Result("measure", [found], 0, Spent(500, 500, 0.1), StopReason.DECIDED, {})
    >>> [(one.state, one.verdict.value) for new in (0.2, 0.4) for one in hold(result(new, new + 0.1), result(0.2, 0.3))]
    [('not surely worse', 'pass'), ('worse', 'fail')]
    """
    past = _Past.of(old)
    return [held(finding, past.of_what(finding)) for finding in found.findings]


def held(finding: Finding, old: Finding | None) -> BaselineComparison:
    """Hold one finding against that of the baseline; where the baseline has observed nothing, it is
    new.
    """
    if old is None:
        return BaselineComparison(finding.claim, NEW, finding.verdict)
    if finding.judged is not None:
        return _judged(finding, old)
    claim, now, told = finding.claim, finding.estimate, str(old.estimate)
    if now.n and not old.estimate.n:
        return BaselineComparison(claim, NEW, finding.verdict, told)
    if old.estimate.n and not now.n:
        return BaselineComparison(
            claim, SAME, finding.verdict, told
        )  # what is not observed any more is not excused
    if worse(now, old.estimate, least=finding.least):
        tolerated = (
            isinstance(now, Witnesses) and finding.limit is not None and now.value <= finding.limit
        )
        if tolerated or finding.verdict is Verdict.PASS:
            return BaselineComparison(claim, ROSE, finding.verdict, told)
        return BaselineComparison(claim, WORSE, Verdict.FAIL, told)
    state = BETTER if worse(old.estimate, now, least=finding.least) else SAME
    return BaselineComparison(claim, state, _excused(finding.verdict, old.verdict), told)


def worse(new: Estimate, old: Estimate, *, least: bool = False) -> bool:
    """Tell whether a score is surely worse than another; a count of witnesses is, where none were
    known before.

    >>> worse(Estimate(0.3, 0.25, 0.35, 90, 0.95, "exact"), Estimate(0.2, 0.15, 0.25, 90, 0.95, "exact"))
    False
    >>> worse(Witnesses.of(3, 100, "adaptive"), Witnesses.of(0, 100, "adaptive"))
    True
    """
    if isinstance(new, Witnesses) or isinstance(old, Witnesses):
        return new.value > 0 and old.value == 0
    if not new.n or not old.n:
        return False
    return new.high < old.low if least else new.low > old.high


def _excused(now: Verdict | None, before: Verdict | None) -> Verdict | None:
    """Return the verdict of what is not surely worse: a baseline that does no better excuses it."""
    if now is None or now is Verdict.PASS:
        return now
    return (
        Verdict.PASS
        if before is not None and RANK[before] < RANK[Verdict.PASS]
        else Verdict.UNDECIDED
    )


def _judged(finding: Finding, old: Finding) -> BaselineComparison:
    """Hold a finding whose verdict is more than a score against a limit, such as a region, by the
    verdicts alone.
    """
    if finding.verdict is Verdict.FAIL and old.verdict is Verdict.PASS:
        return BaselineComparison(finding.claim, WORSE, Verdict.FAIL, old.claim)
    better = RANK[finding.verdict] > RANK[old.verdict]
    verdict = _excused(finding.verdict, old.verdict)
    return BaselineComparison(finding.claim, BETTER if better else SAME, verdict, old.claim)


@dataclass(frozen=True, slots=True)
class _Past:
    """What a baseline found, by what it is about."""

    findings: Sequence[Finding]
    known: Mapping[str, Finding]
    by_sets: bool
    """Whether the findings are the border of all sets of features, from which that of other sets
    follows.
    """

    @classmethod
    def of(cls, old: Evidence | None) -> _Past:
        findings = () if old is None else old.findings
        known: dict[str, Finding] = {}
        for finding in findings:
            key = finding.key
            known[key] = _loosest([known[key], finding]) if key in known else finding
        by_sets = old is not None and verb_of(old.job).by_sets
        return cls(findings, known, by_sets)

    def of_what(self, one: Finding) -> Finding | None:
        """Return what the baseline says of what a finding is about, by itself or by what it says of
        others.
        """
        if isinstance(one.about, Rule):
            return self._of_rule(one, one.about)
        return self.known.get(one.key, self._implied(one) if self.by_sets else None)

    def _of_rule(self, one: Finding, rule: Rule) -> Finding | None:
        """Return what is known of a rule: one that the baseline does not tell of is among those it
        bounds together.

        Rules that it does tell of may be among those that are bounded together now.
        """
        before = self.known.get(one.key, self.known.get(_every(one)))
        if before is None or rule.conditions or not worse(one.estimate, before.estimate):
            return before
        rules = [finding for finding in self.findings if isinstance(finding.about, Rule)]
        return _loosest([finding for finding in rules if _every(finding) == one.key])

    def _implied(self, one: Finding) -> Finding | None:
        """Return what follows for a set of features: with more of them a score is never lower."""
        mine = set(one.about)
        sets = [
            finding
            for finding in self.findings
            if finding.output == one.output and isinstance(finding.about, tuple)
        ]
        for finding in sets:
            if finding.verdict is Verdict.FAIL and finding.about and set(finding.about) < mine:
                return replace(finding, estimate=replace(finding.estimate, high=1.0))
        for finding in sets:
            if finding.verdict is Verdict.PASS and set(finding.about) > mine:
                return replace(finding, estimate=replace(finding.estimate, low=0.0))
        return None


def _loosest(findings: Sequence[Finding]) -> Finding:
    """Return the finding that excludes least, of those that have observed anything."""

    def loose(one: Finding) -> tuple[bool, float]:
        score = one.estimate
        least = (
            score.value if isinstance(score, Witnesses) else -score.low if one.least else score.high
        )
        return score.n > 0, least

    return max(findings, key=loose)


def _every(finding: Finding) -> str:
    """Return the key of the bound on all rules that are not told of by themselves."""
    return key_of(finding.score, EVERY, finding.output)
