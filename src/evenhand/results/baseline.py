"""BaselineComparison: a finding against that of a baseline, so that only what got worse fails.

The test uses the intervals alone, whatever rule ended the sampling: a score is clearly worse where
its interval lies wholly beyond that of the baseline. Where nothing has changed, one of two
two-sided intervals would have to miss on its own side, which happens with at most the probability
that a single interval misses at all. Intervals of one check hold together, so that this is the
probability for all of its findings, not for each.
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

NEW = "new"
WORSE = "worse"
BETTER = "better"
SAME = "not surely worse"
ROSE = "worse, within the limit"
STATES = (NEW, WORSE, BETTER, SAME, ROSE)
EVERY = Rule(())
"""What a bound on all rules without a finding of their own is about."""


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A claim, how it stands to the baseline, and the verdict that follows."""

    claim: str
    state: str
    verdict: Verdict | None
    before: str = ""
    """The score of the baseline as text, where it has one."""

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
        return cls(
            claim=table["claim"],
            state=table["state"],
            verdict=verdict,
            before=table["before"],
        )


def hold(found: Evidence, old: Evidence | None) -> list[BaselineComparison]:
    """Compare the findings of a check with those of its baseline; new findings count as they are.

    >>> from evenhand.results.result import Result
    >>> from evenhand.runtime.budget import Spent
    >>> from evenhand.statistics.estimate import StopReason
    >>> def result(low, high):
    ...     score = Estimate((low + high) / 2, low, high, 500, 0.95, "exact")
    ...     finding = Finding("sex matters", ("sex",), score, 0.05)
    ...     return Result("measure", [finding], 0, Spent(500, 500, 0.1), StopReason.DECIDED, {})
    >>> for low in (0.2, 0.4):
    ...     (comparison,) = hold(result(low, low + 0.1), result(0.2, 0.3))
    ...     print(comparison.state, comparison.verdict.value)
    not surely worse pass
    worse fail
    """
    baseline = _BaselineFindings.of(old)
    return [held(finding, baseline.matching(finding)) for finding in found.findings]


def held(finding: Finding, old: Finding | None) -> BaselineComparison:
    """Compare one finding with that of the baseline; it is new if the baseline observed nothing."""
    claim = finding.claim
    if old is None:
        return BaselineComparison(claim, NEW, finding.verdict)
    if finding.judged is not None:
        return _judged(finding, old)
    now = finding.estimate
    before = str(old.estimate)
    if finding.descriptive:
        # Its interval does not hold together with others, so that no verdict comes of it.
        return BaselineComparison(claim, SAME, None, before)
    if now.n and not old.estimate.n:
        return BaselineComparison(claim, NEW, finding.verdict, before)
    if old.estimate.n and not now.n:
        # A baseline does not excuse what is no longer observed.
        return BaselineComparison(claim, SAME, finding.verdict, before)
    if worse(now, old.estimate, least=finding.least):
        if _within_limit(finding):
            return BaselineComparison(claim, ROSE, finding.verdict, before)
        return BaselineComparison(claim, WORSE, Verdict.FAIL, before)
    is_better = worse(old.estimate, now, least=finding.least)
    return BaselineComparison(
        claim=claim,
        state=BETTER if is_better else SAME,
        verdict=_excused(finding.verdict, old.verdict),
        before=before,
    )


def _within_limit(finding: Finding) -> bool:
    """Return whether a finding that got worse is still acceptable.

    A search passes only where every input was tried, so that its count is compared with the limit.
    """
    if finding.verdict is Verdict.PASS:
        return True
    if not isinstance(finding.estimate, Witnesses) or finding.limit is None:
        return False
    return finding.estimate.value <= finding.limit


def worse(new: Estimate, old: Estimate, *, least: bool = False) -> bool:
    """Return whether a score is clearly worse than another.

    A count of witnesses is clearly worse only where none were known before: a search finding more
    may only have searched longer.

    >>> old = Estimate(0.2, 0.15, 0.25, 90, 0.95, "exact")
    >>> worse(Estimate(0.3, 0.25, 0.35, 90, 0.95, "exact"), old)
    False
    >>> worse(Witnesses.of(3, 100, "adaptive"), Witnesses.of(0, 100, "adaptive"))
    True
    """
    if isinstance(new, Witnesses) or isinstance(old, Witnesses):
        return new.value > 0 and old.value == 0
    if not new.n or not old.n:
        return False
    if least:
        return new.high < old.low
    return new.low > old.high


def _excused(now: Verdict | None, before: Verdict | None) -> Verdict | None:
    """Return the verdict of what is not surely worse: a baseline that does no better excuses it."""
    if now is None or now is Verdict.PASS:
        return now
    did_not_pass = before is not None and RANK[before] < RANK[Verdict.PASS]
    return Verdict.PASS if did_not_pass else Verdict.UNDECIDED


def _judged(finding: Finding, old: Finding) -> BaselineComparison:
    """Compare by the verdicts alone, where a verdict is more than a score against a limit.

    The region of a comparison is such a verdict.
    """
    if finding.verdict is Verdict.FAIL and old.verdict is Verdict.PASS:
        return BaselineComparison(finding.claim, WORSE, Verdict.FAIL, old.claim)
    is_better = RANK[finding.verdict] > RANK[old.verdict]
    return BaselineComparison(
        claim=finding.claim,
        state=BETTER if is_better else SAME,
        verdict=_excused(finding.verdict, old.verdict),
        before=old.claim,
    )


@dataclass(frozen=True, slots=True)
class _BaselineFindings:
    """The findings of a baseline, by what they are about."""

    findings: Sequence[Finding]
    by_key: Mapping[str, Finding]
    by_sets: bool
    """Whether the findings are the border of all sets of features, which implies the others."""

    @classmethod
    def of(cls, old: Evidence | None) -> _BaselineFindings:
        """Return the findings of the evidence, none where there is no baseline."""
        if old is None:
            return cls((), {}, by_sets=False)
        by_key: dict[str, Finding] = {}
        for finding in old.findings:
            key = finding.key
            if key in by_key:
                by_key[key] = _loosest([by_key[key], finding])
            else:
                by_key[key] = finding
        verb = verb_of(old.job)
        return cls(old.findings, by_key, verb.by_sets)

    def matching(self, finding: Finding) -> Finding | None:
        """Return the finding of the baseline on the same subject, or one that others imply."""
        if isinstance(finding.about, Rule):
            return self._of_rule(finding, finding.about)
        if finding.key in self.by_key:
            return self.by_key[finding.key]
        if self.by_sets:
            return self._implied(finding)
        return None

    def _of_rule(self, finding: Finding, rule: Rule) -> Finding | None:
        """Return what the baseline found about a rule.

        A rule without a finding of its own in the baseline is among those that the baseline bounds
        together, and rules with one may be among those that are bounded together now.
        """
        bound = self.by_key.get(_bound_key(finding))
        before = self.by_key.get(finding.key, bound)
        if before is None or rule.conditions:
            return before
        if not worse(finding.estimate, before.estimate):
            return before
        rules = [other for other in self.findings if isinstance(other.about, Rule)]
        bounded = [other for other in rules if _bound_key(other) == finding.key]
        return _loosest(bounded)

    def _implied(self, finding: Finding) -> Finding | None:
        """Return what follows for a set of features: with more of them a score is never lower."""
        features = set(finding.about)
        of_sets = [other for other in self.findings if isinstance(other.about, tuple)]
        others = [other for other in of_sets if other.output == finding.output]
        for other in others:
            is_subset = bool(other.about) and set(other.about) < features
            if other.verdict is Verdict.FAIL and is_subset:
                # The score may be any higher than that of the subset.
                estimate = replace(other.estimate, high=1.0)
                return replace(other, estimate=estimate)
        for other in others:
            is_superset = set(other.about) > features
            if other.verdict is Verdict.PASS and is_superset:
                # The score may be any lower than that of the superset.
                estimate = replace(other.estimate, low=0.0)
                return replace(other, estimate=estimate)
        return None


def _loosest(findings: Sequence[Finding]) -> Finding:
    """Return the finding that excludes least, of those that have observed anything."""
    return max(findings, key=_looseness)


def _looseness(finding: Finding) -> tuple[bool, float]:
    estimate = finding.estimate
    if isinstance(estimate, Witnesses):
        end = estimate.value
    elif finding.least:
        end = -estimate.low
    else:
        end = estimate.high
    return estimate.n > 0, end


def _bound_key(finding: Finding) -> str:
    """Return the key of the bound on all rules without a finding of their own.

    Minings over several sets of features have one each, which its key names after the rest.
    """
    own = key_of(finding.score, finding.about, finding.output)
    mining = finding.key.removeprefix(own)
    return key_of(finding.score, EVERY, finding.output) + mining
