"""What was mined, told: a sentence, an estimate and numbers for each story, and for all rule sets
in none.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.results.evidence import Finding, Group
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, clip, nearest
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate, check_limit
from evenhand.statistics.intervals import check_level
from evenhand.statistics.simultaneous import Sure, absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.mine.ranking import Story, Told
    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.methods.mine.testsgd_score import ByPaper
    from evenhand.results.evidence import Case

SCORES = ("rate", "tpr", "fpr")
"""What is compared: how often people are favoured, of all, of those who should be, and of those who
should not.
"""
AMONG = {
    "rate": "",
    "tpr": "of those whose true outcome is favourable, ",
    "fpr": "of those whose true outcome is not favourable, ",
}
OTHERS = "everyone else"
OTHER_TEXTS = {"terms": "the same texts with other terms", "rest": "all other texts"}
"""Whom people are compared with, and what texts are compared with."""


@dataclass(frozen=True, slots=True)
class Words:
    """What the sentences are about: which outcome counts as favourable, of which output, and which
    score.
    """

    favoured: str
    output: str = ""
    score: str = "rate"
    counts: bool = True
    named: bool = True
    """Whether the favourable outcome is a label, rather than a phrase that describes it."""

    def sentence(self, who: str, inside: float, outside: float, difference: str) -> str:
        """Say who is treated how, against everyone else."""
        treated = treated_so(
            self.favoured, inside, OTHERS, outside, counts=self.counts, named=self.named
        )
        return f"{AMONG[self.score]}people with {who} {treated} ({difference})"


@dataclass(frozen=True, slots=True)
class Place:
    """Where the details of a result tell of a finding: in which mining, as a story, a change of
    terms, or the rest.
    """

    mining: int
    part: str
    number: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Return the place as JSON holds it."""
        return asdict(self)


def read_place(table: Mapping[str, Any]) -> Place:
    """Rebuild a place from `to_dict`.

    >>> read_place({"mining": 0, "part": "story", "number": 2}).number
    2
    """
    return Place(table["mining"], table["part"], table["number"])


@dataclass(frozen=True, eq=False)
class Telling:
    """Tells the stories of one mining, in findings and as JSON holds them."""

    mining: Mining
    sure: Sure
    words: Words
    limit: float | None = None
    paper: ByPaper | None = None
    number: int = 0
    """Which mining of the result this is."""

    def ranked(self, most: int) -> Ranked:
        """Return the stories to tell, best evidence first, with what is known of them."""
        ranking = self.mining.ranking
        ranking.rank(self.sure)
        stories = [self._story(story) for story in ranking.stories(most)]
        stories.sort(key=lambda entry: (-entry[1]["low"], -abs(entry[1]["difference"])))
        return Ranked(self, stories)

    def told(
        self, ranked: Ranked, cases: Sequence[tuple[Case, ...]]
    ) -> tuple[list[Finding], dict[str, Any]]:
        """Return a finding for each story with its cases, one for all other rule sets, and what
        else is to be told.
        """
        findings = [
            self._finding(story, entry, Place(self.number, "story", at), shown)
            for at, ((story, entry), shown) in enumerate(zip(ranked.stories, cases, strict=True))
        ]
        entries = [entry for _, entry in ranked.stories]
        rest = self.mining.ranking.rest(self.sure)
        left = None if rest is None else self._behind(asdict(rest), entries)
        if left is not None:
            findings.append(self._others(left))
        return findings, self._entry(entries, left)

    def _behind(self, rest: dict[str, Any], stories: Sequence[dict[str, Any]]) -> dict[str, Any]:
        """Return what is known of the rule sets that lead no story: nothing is surer of them than
        of the best story.
        """
        if self.paper is not None:
            return rest | self.paper.around(rest["value"])
        return rest | {"low": min(rest["low"], max(entry["low"] for entry in stories))}

    def _story(self, story: Story) -> tuple[Story, dict[str, Any]]:
        lead, total = story.lead, self.mining.ranking.total
        rows = int(self.mining.inside(lead).sum())
        low, high, rate, other = (
            self._limits(lead, rows) if self.paper is None else self._by_paper(lead, self.paper)
        )
        rule, difference = self.mining.rule(lead), lead.inside - lead.outside
        return story, {
            "rule": rule.to_dict(),
            "text": rule.text,
            "rows": rows,
            "support": lead.size / total,
            "difference": difference,
            "low": min(low, abs(difference)),
            "high": max(high, abs(difference)),
            "rate": rate.to_dict(),
            "other": other.to_dict(),
            "ratio": ratio(rate, other),
            "rules": story.rules,
            "like": [self._like(told) for told in story.like],
        }

    def _limits(self, lead: Told, rows: int) -> tuple[float, float, Estimate, Estimate]:
        """Return the limits of the difference, and the rates of those inside and of everyone else."""
        hits, size, missed, others = map(
            float, self.mining.ranking.sides(np.array([lead.hits, lead.size]))
        )
        low, high = absolute(*map(np.asarray, self.sure.difference(hits, size, missed, others)))
        rate, other = self._rate(hits, size, rows), self._rate(missed, others, self._rows - rows)
        return float(low), float(high), rate, other

    @property
    def _rows(self) -> int:
        return len(self.mining.treated.points)

    def _by_paper(self, lead: Told, paper: ByPaper) -> tuple[float, float, Estimate, Estimate]:
        score, population = paper.scores[lead.family, lead.place], self.mining.treated.population
        rate, other = (
            paper.rate(value, score.n, population) for value in (score.inside, score.outside)
        )
        return max(score.value - score.half, 0.0), min(score.value + score.half, 1.0), rate, other

    def _like(self, told: Told) -> dict[str, Any]:
        return {
            "text": self.mining.rule(told).text,
            "difference": told.inside - told.outside,
            "support": told.size / self.mining.ranking.total,
        }

    def _rate(self, hits: float, size: float, n: int) -> Estimate:
        low, high = (float(end) for end in self.sure.rate(hits, size))
        value = hits / size
        return self._estimate(value, min(low, value), max(high, value), n, "exact")

    def _estimate(self, value: float, low: float, high: float, n: int, method: str) -> Estimate:
        population = self.mining.treated.population
        if self.paper is not None:
            return Estimate(value, low, high, n, self.paper.level**2, "wald", population)
        if self.sure.exact:
            return Estimate(value, value, value, n, 1.0, "enumerated", population)
        said = f"{method}, simultaneous over {self.sure.among:,} rule sets"
        return Estimate(value, low, min(high, 1.0), n, self.sure.level, said, population)

    def _finding(
        self, story: Story, entry: dict[str, Any], place: Place, cases: tuple[Case, ...]
    ) -> Finding:
        lead, value = story.lead, abs(entry["difference"])
        n = self._rows if self.paper is None else 2 * self.paper.scores[lead.family, lead.place].n
        estimate = self._estimate(value, entry["low"], entry["high"], n, "melded")
        claim = self.words.sentence(
            entry["text"], lead.inside, lead.outside, points_apart(estimate)
        )
        groups = both_sides(entry, OTHERS)
        return Finding(
            claim,
            self.mining.rule(lead),
            estimate,
            self.limit,
            cases,
            groups,
            self.words.output,
            score=self.words.score,
            detail=place,
        )

    def _others(self, rest: dict[str, Any]) -> Finding:
        estimate = self._estimate(rest["value"], rest["low"], rest["high"], self._rows, "melded")
        said = (
            f"{none_of(rest['rules'])}, variations of these included, is further from everyone else"
            " than this"
        )
        claim = f"{AMONG[self.words.score]}{said} ({points_apart(estimate)})"
        place = Place(self.number, "rest")
        words = self.words
        return Finding(
            claim,
            Rule(()),
            estimate,
            self.limit,
            output=words.output,
            score=words.score,
            detail=place,
        )

    def _entry(self, stories: list[dict[str, Any]], rest: dict[str, Any] | None) -> dict[str, Any]:
        mining, treated = self.mining, self.mining.treated
        return {
            "over": list(mining.names),
            "output": self.words.output,
            "favoured": self.words.favoured,
            "counts": self.words.counts,
            "named": self.words.named,
            "score": self.words.score,
            "method": treated.method,
            "rows": self._rows,
            "queries": treated.queries if self.paper is None else self.paper.queries,
            "population": treated.population,
            "support": mining.forming.support,
            "complement": mining.forming.other,
            "depth": mining.depth,
            "candidates": mining.candidates,
            "frequent": mining.frequent,
            "examined": mining.ranking.examined,
            "stories": stories,
            "rest": rest,
            "maps": [] if self.paper is not None else mining.maps(),
        }


@dataclass(frozen=True, eq=False)
class Part:
    """One mining to tell of, in which words, and by which scores of the paper."""

    mining: Mining
    words: Words
    paper: ByPaper | None = None


@dataclass(frozen=True, eq=False)
class Ranked:
    """The stories of one mining that are to be told, best evidence first."""

    telling: Telling
    stories: Sequence[tuple[Story, dict[str, Any]]]

    @property
    def leads(self) -> list[Told]:
        """The rule set that leads each story, for which cases can be shown."""
        return [story.lead for story, _ in self.stories]


def rank(parts: Sequence[Part], *, level: float, limit: float | None, top: int) -> list[Ranked]:
    """Return the stories of each mining; what is said of all of them holds together."""
    for part in parts:
        part.mining.need_rules()
    examined = sum(part.mining.ranking.examined for part in parts)
    sure = Sure(level, examined, graded=any(part.mining.treated.graded for part in parts))
    return [
        Telling(part.mining, sure, part.words, limit, part.paper, number).ranked(top)
        for number, part in enumerate(parts)
    ]


def tell(
    minings: Sequence[Ranked], cases: Sequence[Sequence[tuple[Case, ...]]]
) -> tuple[list[Finding], list[dict[str, Any]]]:
    """Return the findings of all minings, best evidence first, and an entry for each mining.

    Parameters
    ----------
    cases
        For each mining, the cases that are shown with each of its stories.
    """
    findings: list[Finding] = []
    entries: list[dict[str, Any]] = []
    for ranked, shown in zip(minings, cases, strict=True):
        told, entry = ranked.telling.told(ranked, shown)
        findings += told
        entries.append(entry)
    findings.sort(
        key=lambda finding: (
            not finding.about.conditions,
            -finding.estimate.low,
            -finding.estimate.value,
        )
    )
    return findings, entries


def scores_of(score: Any, truth: Any) -> tuple[str, ...]:
    """Return the scores that are asked for, checked."""
    scores = tuple(score) if isinstance(score, list | tuple) else (score,)
    for name in scores:
        if name not in SCORES:
            raise UsageError(f"score = {clip(repr(name))} is unknown; {nearest(name, SCORES)}")
    if not scores or len(set(scores)) < len(scores):
        raise UsageError(
            f"score = {clip(repr(score))} must name one or more of {', '.join(SCORES)}, each once"
        )
    if scores != ("rate",) and truth is None:
        raise UsageError(
            f"score = {clip(repr(score))} needs true outcomes; name their column with truth=…"
        )
    return scores


def check_terms(level: float, limit: float | None, top: int) -> None:
    """Refuse a level, a limit or a number of rule sets to report that cannot be."""
    check_level(level)
    if limit is not None:
        check_limit(limit)
    if isinstance(top, bool) or not isinstance(top, int) or top < 1:
        raise UsageError(f"top = {clip(repr(top))} must be a whole number of 1 or more")


def treated_so(
    favoured: str, inside: float, others: str, outside: float, *, counts: bool, named: bool = True
) -> str:
    """Say how some are treated, against others: how often, or with which scores.

    >>> treated_so("approve", 0.382, "everyone else", 0.109, counts=True)
    'get the outcome approve 38.2 % of the time, everyone else 10.9 %'
    """
    if not counts:
        return (
            f"score {number_text.decimal(inside)} on average, {others}"
            f" {number_text.decimal(outside)}"
        )
    often, others_often = number_text.percent(inside), number_text.percent(outside)
    return f"get {outcome_said(favoured, named=named)} {often} of the time, {others} {others_often}"


def outcome_said(favoured: str, *, named: bool = True) -> str:
    """Name the favourable outcome in a sentence.

    >>> outcome_said(">50K"), outcome_said("the favourable outcome", named=False)
    ('the outcome >50K', 'the favourable outcome')
    """
    return f"the outcome {favoured}" if named else favoured


def none_of(rules: int) -> str:
    """Begin a sentence about all rule sets that lead no story.

    >>> none_of(2011)
    'none of the 2,011 other rule sets'
    """
    return f"none of the {rules:,} other rule sets" if rules > 1 else "not even the other rule set"


def both_sides(entry: Mapping[str, Any], others: str) -> tuple[Group, Group]:
    """Return the two groups that a story compares, with their rates."""
    sides = ((entry["text"], entry["rate"]), (others, entry["other"]))
    first, second = (Group({"rule": text}, Estimate.from_dict(rate)) for text, rate in sides)
    return first, second


def ratio(rate: Estimate, other: Estimate) -> dict[str, float | None]:
    """Return a rate divided by another, with limits that hold where theirs do; None where one
    divides by 0.

    >>> ratio(Estimate.exact(1, 4), Estimate.exact(1, 2))
    {'value': 0.5, 'low': 0.5, 'high': 0.5}
    """
    return {
        "value": rate.value / other.value if other.value else None,
        "low": rate.low / other.high if other.high else 0.0,
        "high": rate.high / other.low if other.low else None,
    }


def points_apart(estimate: Estimate) -> str:
    """Say how far apart two rates are, in points.

    >>> points_apart(Estimate(0.273, 0.251, 0.294, 100, 0.95, "melded"))
    'difference 27.3 points, 25.1 to 29.4'
    """
    digits = number_text.percent_decimals(estimate.low, estimate.high, most=4)
    difference = f"difference {number_text.points(estimate.value, digits)}"
    if estimate.level >= 1:
        return difference
    return f"{difference}, {number_text.points_between(estimate.low, estimate.high, digits)}"
