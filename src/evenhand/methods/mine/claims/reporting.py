"""What is reported of several minings: their stories, and the findings of all of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine.claims.correction import intervals_of_rates
from evenhand.methods.mine.claims.discovered import Discoveries, RuleSearch, discover
from evenhand.methods.mine.findings import FindingWriter, share_limit
from evenhand.statistics.simultaneous_means import SimultaneousMeans

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.mine.claims.words import OutcomeWords
    from evenhand.methods.mine.findings import Cases, Entry, RankedStories
    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.methods.mine.testsgd_score import PaperScores
    from evenhand.results.evidence import Finding
    from evenhand.scores.numbers.unit_scale import UnitLimit


@dataclass(frozen=True, eq=False)
class MiningPart:
    """One mining to report, in which words, and by which scores of the paper."""

    mining: Mining
    words: OutcomeWords
    paper: PaperScores | None = None


def rank(
    parts: Sequence[MiningPart],
    *,
    level: float,
    limits: UnitLimit,
    top: int,
    control: str = "family",
    correction: str | None = None,
    seed: int = 0,
) -> list[RankedStories]:
    """Return the stories of each mining, with intervals that hold for all of them together.

    With a control of "fdr", the stories are those of rule sets that are discoveries, which have a
    correction of their own.
    """
    for part in parts:
        part.mining.need_rules()
    examined = sum(part.mining.ranking.examined for part in parts)
    sets = {part.mining.names for part in parts}
    uncorrected = control == "fdr" or any(part.paper is not None for part in parts)
    of_rates = intervals_of_rates(
        [part.mining for part in parts],
        level,
        "bonferroni" if uncorrected else correction,
        seed,
    )
    searched = []
    for part in parts:
        scale = part.mining.treated.scale
        intervals = of_rates
        if scale is not None:
            intervals = SimultaneousMeans(level, examined)
        limit = share_limit(limits.of(scale), scale)
        searched.append(RuleSearch(part.mining.ranking, intervals, limit))
    found = None
    if control == "fdr" and level < 1:
        found = discover(searched, level)
    ranked = []
    for number, (part, own) in enumerate(zip(parts, searched, strict=True)):
        discoveries = None
        if found is not None:
            discoveries = Discoveries(found, examined, own.intervals)
        writer = FindingWriter(
            part.mining,
            own.intervals if discoveries is None else discoveries.intervals,
            part.words,
            limit=limits.of(part.mining.treated.scale),
            paper=part.paper,
            number=number,
            several=len(sets) > 1,
            discoveries=discoveries,
        )
        ranked.append(writer.ranked(top))
    return ranked


def write_findings(
    minings: Sequence[RankedStories],
    cases: Sequence[Sequence[Cases]],
    only_answers: Sequence[Mapping[str, Any]],
) -> tuple[list[Finding], list[Entry]]:
    """Return the findings of all minings, best evidence first, and an entry for each mining.

    Parameters
    ----------
    cases
        For each mining, the cases that are shown with each of its stories.
    only_answers
        For each mining, the fields of its findings on the one answer that there was, if any.
    """
    findings: list[Finding] = []
    entries: list[Entry] = []
    parts = zip(minings, cases, only_answers, strict=True)
    for ranked, cases_of_mining, only_answer in parts:
        findings_of_mining, entry = ranked.writer.write(ranked, cases_of_mining)
        for finding in findings_of_mining:
            findings.append(replace(finding, **only_answer))
        entries.append(entry)
    findings.sort(key=_stories_first)
    return findings, entries


def _stories_first(finding: Finding) -> tuple[bool, float, float]:
    """Return the sort key that puts stories by their evidence, and then what bounds the others."""
    rule: Any = finding.about
    bounds_others = not rule.conditions
    return bounds_others, -finding.estimate.low, -finding.estimate.value
