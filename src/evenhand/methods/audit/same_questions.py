"""Questions that several checks of an audit ask: each has one answer, which all of them show.

All intervals of an audit hold together. A score that several checks have found lies in each of
their intervals, and so in what these have in common. The limit that a check holds against it stays
that of the check.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.results.result import Result
from evenhand.verbs import verb_of

if TYPE_CHECKING:
    from evenhand.methods.audit.check_result import CheckResult
    from evenhand.results.evidence import Finding
    from evenhand.statistics.estimate import Estimate

ASKED = ("causal", "group")
"""The scores of software, which are the same whatever check asks for them."""
PAPER = "wald"
"""The method of the papers, whose intervals hold no level and join no others."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """What a finding answers: which score of which features, of one output and one population."""

    score: str
    features: frozenset[str]
    output: str
    population: str
    unit: str

    @classmethod
    def of(cls, finding: Finding) -> AskedQuestion | None:
        """Return the question of a finding, None where only its own check can have asked it."""
        estimate = finding.estimate
        named = isinstance(finding.about, tuple) and bool(finding.about)
        if finding.score not in ASKED or not named or not estimate.n:
            return None
        return cls(
            finding.score,
            frozenset(finding.about),
            finding.output,
            estimate.population,
            estimate.unit,
        )

    def about(self, features: frozenset[str]) -> AskedQuestion:
        """Return the same question about other features."""
        return replace(self, features=features)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A finding of a check that answers a question."""

    check: CheckResult
    finding: Finding

    @property
    def by_sets(self) -> bool:
        """Whether it is of a check of all sets, whose scores never fall when features are added."""
        return verb_of(self.check.job).by_sets

    @property
    def estimate(self) -> Estimate:
        """The score that it found."""
        return self.finding.estimate

    @property
    def quality(self) -> tuple[bool, float, int]:
        """The sort key that is least for the best answer: exact, then narrow, then large."""
        estimate = self.estimate
        return estimate.level < 1, estimate.high - estimate.low, -estimate.n


Questions = Mapping[AskedQuestion, Sequence[_Entry]]


def known_findings(checks: Iterable[CheckResult]) -> tuple[Finding, ...]:
    """Return the findings that answer questions which other checks may ask as well."""
    known: list[Finding] = []
    for entries in _questions(checks).values():
        known += [entry.finding for entry in entries]
    return tuple(known)


def one_answer(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Return checks of which those that ask the same question show the same answer."""
    questions = _questions(checks)
    answers = {}
    for question, entries in questions.items():
        best = _best(entries)
        estimate = best.estimate
        for bound in _bounds(question, questions):
            estimate = bound.cut(estimate)
        answers[question] = replace(best, estimate=estimate)
    return [_with_answers(check, answers, questions) for check in checks]


def _best(entries: Sequence[_Entry]) -> Finding:
    """Return the best finding, of those whose value lies in all intervals where there are some."""
    low = max(entry.estimate.low for entry in entries)
    high = min(entry.estimate.high for entry in entries)
    inside = [entry for entry in entries if low <= entry.estimate.value <= high]
    return min(inside or entries, key=lambda entry: entry.quality).finding


def _questions(checks: Iterable[CheckResult]) -> Questions:
    """Return the questions that checks ask, each with all its answers."""
    questions: dict[AskedQuestion, list[_Entry]] = defaultdict(list)
    for check in checks:
        for finding in _comparable(check):
            question = AskedQuestion.of(finding)
            if question is not None:
                questions[question].append(_Entry(check, finding))
    return questions


def _comparable(check: CheckResult) -> Sequence[Finding]:
    """Return the findings of a check that may answer the questions of others."""
    # Other kinds of evidence are of other questions.
    if not isinstance(check.found, Result) or check.settings.get("interval") == PAPER:
        return ()
    return check.found.findings


@dataclass(frozen=True, slots=True)
class _Bound:
    """Between which ends a score lies, and at which level that holds."""

    low: float
    high: float
    level: float

    def cut(self, estimate: Estimate) -> Estimate:
        """Return an estimate whose interval ends where the bound does.

        The errors of both add up. Where there is no room for the value, one of them is wrong, and
        the estimate stands.
        """
        low = max(self.low, estimate.low)
        high = min(self.high, estimate.high)
        level = estimate.level + self.level - 1
        unchanged = (low, high) == (estimate.low, estimate.high)
        if unchanged or level <= 0 or not low <= estimate.value <= high:
            return estimate
        return replace(estimate, low=low, high=high, level=level)


def _bounds(question: AskedQuestion, questions: Questions) -> list[_Bound]:
    """Return what all findings say of a score: those of it, and of larger and smaller sets.

    A score never falls when features are added (Themis, Theorems 4.1 and 4.2), as far as a check of
    all sets has made sure of it.
    """
    bounds = []
    for other, entries in questions.items():
        if other.about(question.features) != question:
            continue
        for entry in entries:
            low, high = entry.estimate.low, entry.estimate.high
            level = entry.estimate.level
            if other.features == question.features:
                bounds.append(_Bound(low, high, level))
            elif other.features < question.features and entry.by_sets:
                bounds.append(_Bound(low, math.inf, level))
            elif question.features < other.features and entry.by_sets:
                bounds.append(_Bound(-math.inf, high, level))
    return bounds


def _with_answers(
    check: CheckResult, answers: Mapping[AskedQuestion, Finding], questions: Questions
) -> CheckResult:
    """Return a check with the answers that it shares with others."""
    if not isinstance(check.found, Result) or not _comparable(check):
        return check
    findings: list[Finding] = []
    same_as: dict[str, str] = {}
    for finding in check.found.findings:
        question = AskedQuestion.of(finding)
        if question is None:
            findings.append(finding)
            continue
        findings.append(_answered(finding, answers[question], answers))
        for entry in questions[question]:
            if entry.check.name != check.name:
                same_as.setdefault(finding.key, entry.check.name)
    details = _with_lattices(check.found.details, findings)
    details = _with_everybody(details, answers)
    if findings == list(check.found.findings) and details == check.found.details:
        return replace(check, same_as=same_as)
    found = replace(check.found, findings=findings, details=details)
    return replace(check, found=found, same_as=same_as)


def _answered(
    finding: Finding, answer: Finding, answers: Mapping[AskedQuestion, Finding]
) -> Finding:
    """Return a finding with the answer to its question, which its own limit is held against."""
    uniform = finding.uniform
    if uniform is not None:
        over_all = AskedQuestion.of(replace(finding, estimate=uniform, limit=None))
        if over_all is not None and over_all in answers:
            uniform = answers[over_all].estimate
    if finding.estimate == answer.estimate:
        return replace(finding, uniform=uniform)
    same_value = finding.estimate.value == answer.estimate.value
    return replace(
        finding,
        # The sentence names the score.
        claim=finding.claim if same_value else answer.claim,
        estimate=answer.estimate,
        cases=answer.cases or finding.cases,
        groups=answer.groups or finding.groups,
        uniform=uniform,
        # Both are of the limit that the answer was held against.
        p_value=answer.p_value if answer.limit == finding.limit else None,
        e_value=answer.e_value if answer.limit == finding.limit else None,
    )


def _with_lattices(
    details: Mapping[str, Any], findings: Sequence[Finding]
) -> Mapping[str, Any]:
    """Return the details of a result whose sets of features have the scores of its findings."""
    lattice = details.get("lattice")
    if lattice is None:
        return details
    if "outputs" not in lattice:
        return {**details, "lattice": _with_scores(lattice, findings)}
    outputs = {}
    for output, table in lattice["outputs"].items():
        of_output = [finding for finding in findings if finding.output == output]
        outputs[output] = _with_scores(table, of_output)
    return {**details, "lattice": {**lattice, "outputs": outputs}}


def _with_everybody(
    details: Mapping[str, Any], answers: Mapping[AskedQuestion, Finding]
) -> Mapping[str, Any]:
    """Return the details of a search whose share among everybody is that of a check that asked.

    The region of everybody has no conditions, and its share is a causal score over all inputs.
    """
    searches = details.get("search")
    if searches is None:
        return details
    changed = []
    for entry in searches:
        about = (frozenset(entry["about"]), entry["output"])
        regions = []
        for region in entry.get("regions") or ():
            estimate = region["estimate"]
            question = AskedQuestion("causal", *about, estimate["population"], "rate")
            if not region["rule"]["conditions"] and question in answers:
                answer = answers[question].estimate.described()
                regions.append({**region, "estimate": answer.to_dict()})
            else:
                regions.append(region)
        changed.append({**entry, "regions": regions} if regions else entry)
    return {**details, "search": changed}


def _with_scores(table: Mapping[str, Any], findings: Sequence[Finding]) -> dict[str, Any]:
    """Return a lattice as JSON holds it, with the scores of findings in place of its own."""
    estimate_of = {frozenset(finding.about): finding.estimate for finding in findings}
    sets = []
    for entry in table["sets"]:
        estimate = estimate_of.get(frozenset(entry["about"]))
        if estimate is None or not estimate.n:
            sets.append(entry)
            continue
        ends = {"value": estimate.value, "low": estimate.low, "high": estimate.high}
        sets.append({**entry, **ends, "n": estimate.n})
    return {**table, "sets": sets}
