"""BaselineComparison: a finding against that of a baseline, so that only what got worse fails.

A score is held against the old one by the limits of its change (`results/score_change.py`):

- It is clearly worse where the lower limit of the change is over 0, and the change itself over a
  stated tolerance. Where nothing has changed, this happens with at most the probability that the
  limits miss, for all findings of a check together.
- It is not worse where the upper limit is within the tolerance: non-inferiority.
- Otherwise it is undecided, which is not a pass. What was undecided before excuses no failure.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.results.document import RANK
from evenhand.results.evidence import Finding, key_of
from evenhand.results.score_change import ScoreChange, apart, check_tolerance
from evenhand.runtime import number_text
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate, Verdict, Witnesses
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenhand.results.protocol import Evidence

    ChangeOf = Callable[[Finding, Finding], ScoreChange | None]

NEW = "new"
WORSE = "worse"
CROSSED = "newly over the limit"
ROSE = "worse, within the limit"
BETTER = "better"
SAME = "not worse"
UNSURE = "unsure"
STATES = (NEW, WORSE, CROSSED, ROSE, BETTER, SAME, UNSURE)
EVERY = Rule(())
"""What a bound on all rules without a finding of their own is about."""
SHARE_OF_LIMIT = 5
"""The tolerance is the limit divided by this, where none is given."""
ROUNDING = 1e-12
"""Changes that are no larger than this are of the last digits of exact scores."""


@dataclass(frozen=True, slots=True)
class BaselineComparison:
    """A claim, how it stands to the baseline, and the verdict that follows.

    Parameters
    ----------
    claim, state, verdict
        The claim of the finding; one of `STATES`; the verdict that the baseline leaves.
    before
        The score of the baseline as text, where it has one.
    change
        The new score minus the old one, with its limits; None of what has no score to compare, such
        as a search.
    tolerance
        How much worse the score may be; None where there is neither a limit nor a tolerance.
    """

    claim: str
    state: str
    verdict: Verdict | None
    before: str = ""
    change: ScoreChange | None = None
    tolerance: float | None = None

    @property
    def change_text(self) -> str:
        """The change as people read it, empty where there is none.

        >>> change = ScoreChange(0.22, 0.19, 0.25, 0.95, 2000, "paired")
        >>> BaselineComparison("sex matters", WORSE, Verdict.FAIL, "", change, 0.01).change_text
        'change +22.0 points (+19.0 to +25.0), on the same inputs; tolerance 1 point'
        """
        change = self.change
        if change is None:
            return ""
        text = f"change {change.size_text}"
        if change.paired:
            text = f"{text}, on the same inputs"
        if self.tolerance is None:
            return text
        if change.unit == Estimate.unit:
            tolerance = number_text.points_plain(self.tolerance)
        else:
            tolerance = number_text.amount(self.tolerance)
        return f"{text}; tolerance {tolerance}"

    @property
    def text(self) -> str:
        """How it stands to the baseline, with the change where there is one."""
        if self.change is None:
            return self.state
        return f"{self.state}; {self.change_text}"

    def to_dict(self) -> dict[str, Any]:
        """Return this as JSON holds it."""
        return {
            "claim": self.claim,
            "state": self.state,
            "verdict": self.verdict,
            "before": self.before,
            "change": None if self.change is None else self.change.to_dict(),
            "tolerance": self.tolerance,
        }

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> BaselineComparison:
        """Rebuild this from `to_dict`."""
        verdict = None if table["verdict"] is None else Verdict(table["verdict"])
        change = table.get("change")
        return cls(
            claim=table["claim"],
            state=table["state"],
            verdict=verdict,
            before=table["before"],
            change=None if change is None else ScoreChange.from_dict(change),
            tolerance=table.get("tolerance"),
        )


def hold(
    found: Evidence,
    old: Evidence | None,
    *,
    tolerance: float | None = None,
    change_of: ChangeOf | None = None,
) -> list[BaselineComparison]:
    """Compare the findings of a check with those of its baseline; new findings count as they are.

    Parameters
    ----------
    found, old
        What was found now, and in the baseline.
    tolerance
        How much worse a rate may be; by default a fifth of the limit of each finding.
    change_of
        Returns the change from an old finding to a new one, where more is known than both
        intervals.

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
    unsure undecided
    worse fail
    """
    if tolerance is not None:
        check_tolerance(tolerance)
    baseline = _BaselineFindings.of(old)
    same_key = Counter(finding.key for finding in found.findings)
    places: Counter[str] = Counter()
    held_findings = []
    for finding in found.findings:
        before = baseline.matching(finding, places[finding.key], same_key[finding.key])
        places[finding.key] += 1
        change = None
        if before is not None and change_of is not None:
            change = change_of(finding, before)
        held_findings.append(held(finding, before, tolerance=tolerance, change=change))
    return held_findings


def held(
    finding: Finding,
    old: Finding | None,
    *,
    tolerance: float | None = None,
    change: ScoreChange | None = None,
) -> BaselineComparison:
    """Compare one finding with that of the baseline; it is new if the baseline observed nothing.

    The change follows from both intervals where none is given.
    """
    claim = finding.claim
    if old is None or old.unit != finding.unit:
        return BaselineComparison(claim, NEW, finding.verdict)
    if finding.judged is not None:
        return _by_verdict(finding, old, before=old.claim)
    now = finding.estimate
    before = str(old.estimate)
    if finding.descriptive:
        # Its interval does not hold together with others, so that no verdict comes of it.
        return BaselineComparison(claim, SAME, None, before)
    if now.n and not old.estimate.n:
        return BaselineComparison(claim, NEW, finding.verdict, before)
    if not now.n:
        # A baseline does not excuse what is no longer observed.
        return BaselineComparison(claim, UNSURE, finding.verdict, before)
    if isinstance(now, Witnesses):
        return _by_verdict(finding, old, before=before)
    if change is None:
        change = apart(now, old.estimate)
    tolerated = tolerance_of(finding, tolerance)
    state, verdict = _judged(finding, old, _Worsening.of(finding, change, tolerated))
    return BaselineComparison(claim, state, verdict, before, change, tolerated)


def tolerance_of(finding: Finding, given: float | None = None) -> float | None:
    """Return how much worse a score may be: what is given for rates, or a fifth of the limit.

    Where the limit is the least acceptable value, it is a fifth of what is left of 1.

    >>> score = Estimate(0.1, 0.08, 0.12, 900, 0.95, "exact")
    >>> tolerance_of(Finding("sex matters", ("sex",), score, 0.05))
    0.01
    """
    if given is not None and finding.unit == Estimate.unit:
        return given
    if finding.limit is None:
        return None
    if finding.least:
        return max(1 - finding.limit, 0.0) / SHARE_OF_LIMIT
    return abs(finding.limit) / SHARE_OF_LIMIT


@dataclass(frozen=True, slots=True)
class _Worsening:
    """What the limits of a change say, whichever direction is worse."""

    rose: bool
    """Whether it is surely worse, if only by a little."""
    fell: bool
    """Whether it is surely better."""
    too_much: bool
    """Whether it is surely worse, and by more than the tolerance as far as was observed."""
    tolerated: bool
    """Whether it is surely not worse by more than the tolerance."""

    @classmethod
    def of(
        cls, finding: Finding, change: ScoreChange, tolerance: float | None
    ) -> _Worsening:
        value, low, high = change.value, change.low, change.high
        if finding.least:
            value, low, high = -value, -high, -low
        rose = low > ROUNDING
        return cls(
            rose=rose,
            fell=high < -ROUNDING,
            too_much=rose and value > (tolerance or 0) + ROUNDING,
            tolerated=tolerance is not None and high <= tolerance + ROUNDING,
        )

    @property
    def state(self) -> str:
        """How the score stands to the old one, whatever the limit is."""
        if self.fell:
            return BETTER
        return SAME if self.tolerated else UNSURE


def _judged(
    finding: Finding, old: Finding, worsening: _Worsening
) -> tuple[str, Verdict | None]:
    """Return the state and the verdict of a score against its baseline: the rule of the gate."""
    own = finding.verdict
    if own is Verdict.PASS:
        return (ROSE if worsening.rose else worsening.state), own
    if worsening.too_much:
        return WORSE, Verdict.FAIL
    if own is None:
        return worsening.state, None
    if own is Verdict.FAIL:
        then = _verdict_then(finding, old)
        if then is Verdict.PASS:
            return CROSSED, Verdict.FAIL
        if then is Verdict.UNDECIDED:
            # Nothing was accepted that could excuse it, nor did it get worse where that is known.
            if worsening.tolerated:
                return worsening.state, Verdict.UNDECIDED
            return CROSSED, Verdict.FAIL
    # Software that gives everybody one and the same answer is no better than it was.
    if worsening.tolerated and not finding.vacuous:
        return worsening.state, Verdict.PASS
    return worsening.state, Verdict.UNDECIDED


def _verdict_then(finding: Finding, old: Finding) -> Verdict | None:
    """Return what the baseline says of the limit that the finding is held against now."""
    if old.judged is not None or finding.limit is None:
        return old.verdict
    if old.by_construction or old.vacuous:
        return old.verdict
    return old.estimate.verdict(finding.limit, least=finding.least)


def _by_verdict(finding: Finding, old: Finding, *, before: str) -> BaselineComparison:
    """Compare by verdicts and counts, where there is no score whose change could be told.

    The region of a mitigation is such a verdict. Of a search, more is known to be wrong only where
    nothing was known before, and a search that finds more may only have searched longer.
    """
    own = finding.verdict
    then = _verdict_then(finding, old)
    if _is_worse(finding, old):
        if _within_limit(finding):
            return BaselineComparison(finding.claim, ROSE, own, before)
        return BaselineComparison(finding.claim, WORSE, Verdict.FAIL, before)
    is_better = _is_better(finding, old)
    state = BETTER if is_better else SAME
    verdict = own
    if own is Verdict.FAIL and then is not Verdict.FAIL:
        state = CROSSED
    elif own in (Verdict.FAIL, Verdict.UNDECIDED):
        # What failed before cannot have become worse.
        excused = then is Verdict.FAIL and not finding.vacuous
        verdict = Verdict.PASS if excused else Verdict.UNDECIDED
        if verdict is Verdict.UNDECIDED and not is_better:
            state = UNSURE
    return BaselineComparison(finding.claim, state, verdict, before)


def _is_worse(finding: Finding, old: Finding) -> bool:
    """Return whether something is wrong that was not known to be."""
    if isinstance(finding.estimate, Witnesses) and isinstance(old.estimate, Witnesses):
        return worse(finding.estimate, old.estimate)
    if finding.verdict is Verdict.FAIL:
        return old.verdict is Verdict.PASS
    return False


def _is_better(finding: Finding, old: Finding) -> bool:
    """Return whether nothing is known any more of what was wrong."""
    if isinstance(finding.estimate, Witnesses) and isinstance(old.estimate, Witnesses):
        return worse(old.estimate, finding.estimate)
    return RANK[finding.verdict] > RANK[old.verdict]


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
    """Return whether a score is clearly worse than another, by their intervals alone.

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


@dataclass(frozen=True, slots=True)
class _BaselineFindings:
    """The findings of a baseline, by what they are about."""

    findings: Sequence[Finding]
    by_key: Mapping[str, Sequence[Finding]]
    by_sets: bool
    """Whether the findings are the border of all sets of features, which implies the others."""

    @classmethod
    def of(cls, old: Evidence | None) -> _BaselineFindings:
        """Return the findings of the evidence, none where there is no baseline."""
        if old is None:
            return cls((), {}, by_sets=False)
        by_key: dict[str, list[Finding]] = {}
        for finding in old.findings:
            by_key.setdefault(finding.key, []).append(finding)
        verb = verb_of(old.job)
        return cls(old.findings, by_key, verb.by_sets)

    def matching(self, finding: Finding, place: int, among: int) -> Finding | None:
        """Return the finding of the baseline on the same subject, or one that others imply.

        Parameters
        ----------
        finding
            What was found now.
        place, among
            The place of the finding among those now that have its key, and how many those are.
            Where the baseline has as many, the one at that place is meant.
        """
        of_key = self.by_key.get(finding.key, ())
        if len(of_key) == among > 1:
            return of_key[place]
        if isinstance(finding.about, Rule):
            return self._of_rule(finding, finding.about)
        if of_key:
            return _loosest(of_key)
        if self.by_sets:
            return self._implied(finding)
        return None

    def _of_key(self, key: str) -> Finding | None:
        of_key = self.by_key.get(key)
        return None if of_key is None else _loosest(of_key)

    def _of_rule(self, finding: Finding, rule: Rule) -> Finding | None:
        """Return what the baseline found about a rule.

        A rule without a finding of its own in the baseline is among those that the baseline bounds
        together, and rules with one may be among those that are bounded together now.
        """
        before = self._of_key(finding.key) or self._of_key(_bound_key(finding))
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
