"""Findings of a mining: a claim, an estimate and numbers for each story, and for the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.results.evidence import Finding, Group, key_of
from evenhand.runtime import number_text
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.mine.ranking import RuleSet, Story
    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.methods.mine.testsgd_score import PaperScores
    from evenhand.results.evidence import Case

    Entry = dict[str, Any]
    Cases = tuple[Case, ...]

OTHERS = messages.EVERYONE_ELSE
"""Whom people are compared with."""
OTHER_TEXTS = {
    "terms": messages.SAME_TEXTS_OTHER_TERMS,
    "rest": messages.ALL_OTHER_TEXTS,
}
"""What texts are compared with."""


@dataclass(frozen=True, slots=True)
class OutcomeWords:
    """What claims are about: which outcome is favourable, of which output, in which score."""

    favoured: str
    output: str = ""
    score: str = "rate"
    counts: bool = True
    named: bool = True
    """Whether the favourable outcome is a label, rather than a phrase that describes it."""

    def claim(self, rule: str, inside: float, outside: float, difference: str) -> str:
        """Return the sentence that compares the people of a rule with everyone else.

        >>> words = OutcomeWords("approve")
        >>> words.claim("sex F", 0.382, 0.109, "difference 27.3 points")[:60]
        'people with sex F get the outcome approve 38.2 % of the time'
        """
        if self.counts:
            sentence = messages.PEOPLE_RATES.format(
                rule=rule,
                outcome=outcome_text(self.favoured, named=self.named),
                rate=number_text.percent(inside),
                others=OTHERS,
                other_rate=number_text.percent(outside),
                difference=difference,
            )
        else:
            sentence = messages.PEOPLE_MEANS.format(
                rule=rule,
                mean=number_text.decimal(inside),
                others=OTHERS,
                other_mean=number_text.decimal(outside),
                difference=difference,
            )
        return among(self.score, sentence)

    def claim_of_others(self, rules: int, difference: str) -> str:
        """Return the sentence about all rule sets that lead no story."""
        if rules > 1:
            count = number_text.count(rules)
            sentence = messages.OTHER_RULES_CLOSER.format(
                count=count, difference=difference
            )
        else:
            sentence = messages.OTHER_RULE_CLOSER.format(difference=difference)
        return among(self.score, sentence)


@dataclass(frozen=True, slots=True)
class Place:
    """Where details describe a finding: in which mining, as a story, a change of terms, or rest."""

    mining: int
    part: str
    number: int = 0

    def to_dict(self) -> Entry:
        """Return the place as JSON holds it."""
        return asdict(self)


def read_place(table: Mapping[str, Any]) -> Place:
    """Rebuild a place from `to_dict`.

    >>> read_place({"mining": 0, "part": "story", "number": 2}).number
    2
    """
    return Place(table["mining"], table["part"], table["number"])


@dataclass(frozen=True, eq=False)
class RankedStory:
    """A story, and what the details of a result hold of it."""

    story: Story
    entry: Entry


@dataclass(frozen=True, eq=False)
class RankedStories:
    """The stories of one mining that are reported, best evidence first."""

    writer: FindingWriter
    stories: Sequence[RankedStory]

    @property
    def leads(self) -> list[RuleSet]:
        """The rule set that leads each story, for which cases can be shown."""
        return [ranked.story.lead for ranked in self.stories]


@dataclass(frozen=True, eq=False)
class _ComparedRates:
    """The limits of a difference, and the two rates that it is of."""

    low: float
    high: float
    rate: Estimate
    other: Estimate


@dataclass(frozen=True, eq=False)
class FindingWriter:
    """Writes the stories of one mining, as findings and as the details of a result."""

    mining: Mining
    intervals: SimultaneousIntervals
    words: OutcomeWords
    limit: float | None = None
    paper: PaperScores | None = None
    number: int = 0
    """Which mining of the result this is."""
    several: bool = False
    """Whether the result has minings over several sets of features."""

    def ranked(self, most: int) -> RankedStories:
        """Return the stories to report, best evidence first, with what is known of them."""
        ranking = self.mining.ranking
        ranking.rank(self.intervals)
        stories = [
            RankedStory(story, self._story_entry(story)) for story in ranking.stories(most)
        ]
        stories.sort(key=_evidence)
        return RankedStories(self, stories)

    def write(
        self, ranked: RankedStories, cases: Sequence[Cases]
    ) -> tuple[list[Finding], Entry]:
        """Return a finding for each story, one for all other rule sets, and the details."""
        findings = []
        stories = zip(ranked.stories, cases, strict=True)
        for number, (story, cases_of_story) in enumerate(stories):
            place = Place(self.number, "story", number)
            findings.append(self._finding(story, place, cases_of_story))
        entries = [story.entry for story in ranked.stories]
        rest = self._rest_entry(entries)
        if rest is not None:
            findings.append(self._finding_of_others(rest))
        return findings, self._mining_entry(entries, rest)

    def _rest_entry(self, stories: Sequence[Entry]) -> Entry | None:
        """Return what is known of the rule sets that lead no story; None where there are none."""
        rest = self.mining.ranking.rest(self.intervals)
        if rest is None:
            return None
        entry = asdict(rest)
        if self.paper is not None:
            return entry | self.paper.around(entry["value"])
        # Stories are chosen by an approximation of their lower limits, so that a limit of the
        # others may come out higher; no more is claimed of them than of the best story.
        best_low = max(story["low"] for story in stories)
        entry["low"] = min(entry["low"], best_low)
        return entry

    def _story_entry(self, story: Story) -> Entry:
        """Return what the details hold of a story."""
        lead = story.lead
        rows = int(self.mining.inside(lead).sum())
        if self.paper is None:
            compared = self._compared(lead, rows)
        else:
            compared = self._compared_by_paper(lead, self.paper)
        rule = self.mining.rule(lead)
        difference = lead.inside - lead.outside
        return {
            "rule": rule.to_dict(),
            "text": rule.text,
            "rows": rows,
            "support": lead.size / self.mining.ranking.total,
            "difference": difference,
            "low": min(compared.low, abs(difference)),
            "high": max(compared.high, abs(difference)),
            "rate": compared.rate.to_dict(),
            "other": compared.other.to_dict(),
            "ratio": ratio(compared.rate, compared.other),
            "rules": story.rules,
            "like": [self._like_entry(rule_set) for rule_set in story.like],
        }

    def _compared(self, lead: RuleSet, rows: int) -> _ComparedRates:
        """Return the limits of the difference and the rates of both sides (Definition 4.1)."""
        counts = np.array([lead.hits, lead.size])
        sides = self.mining.ranking.sides(counts)
        hits, size, missed, others = map(float, sides)
        lows, highs = self.intervals.difference(hits, size, missed, others)
        low, high = absolute(np.asarray(lows), np.asarray(highs))
        rate = self._rate(hits, size, rows)
        other = self._rate(missed, others, self._rows - rows)
        return _ComparedRates(float(low), float(high), rate, other)

    @property
    def _rows(self) -> int:
        return len(self.mining.treated.points)

    def _compared_by_paper(self, lead: RuleSet, paper: PaperScores) -> _ComparedRates:
        """Return the limits of the difference and the rates that Algorithm 2 drew."""
        score = paper.scores[lead.family, lead.place]
        population = self.mining.treated.population
        rate = paper.rate(score.inside, score.n, population)
        other = paper.rate(score.outside, score.n, population)
        low = max(score.value - score.half, 0.0)
        high = min(score.value + score.half, 1.0)
        return _ComparedRates(low, high, rate, other)

    def _like_entry(self, rule_set: RuleSet) -> Entry:
        """Return what the details hold of a rule set about nearly the same people as a story."""
        return {
            "text": self.mining.rule(rule_set).text,
            "difference": rule_set.inside - rule_set.outside,
            "support": rule_set.size / self.mining.ranking.total,
        }

    def _rate(self, hits: float, size: float, n: int) -> Estimate:
        lows, highs = self.intervals.rate(hits, size)
        value = hits / size
        # Hits that are sums of shares are rounded outwards; a limit must still not pass the rate.
        low = min(float(lows), value)
        high = max(float(highs), value)
        return self._estimate(value, low, high, n, "exact")

    def _estimate(
        self, value: float, low: float, high: float, n: int, method: str
    ) -> Estimate:
        population = self.mining.treated.population
        if self.paper is not None:
            # Theorem 4.2: where each of two rates has a level, their difference has the product.
            level = self.paper.level**2
            return Estimate(value, low, high, n, level, "wald", population)
        if self.intervals.exact:
            return Estimate(value, value, value, n, 1.0, "enumerated", population)
        examined = number_text.count(self.intervals.among)
        simultaneous = messages.METHOD_OVER_RULE_SETS.format(method=method, count=examined)
        level = self.intervals.level
        return Estimate(
            value,
            low,
            min(high, 1.0),
            n=n,
            level=level,
            method=simultaneous,
            population=population,
        )

    def _finding(self, ranked: RankedStory, place: Place, cases: Cases) -> Finding:
        """Return the finding of a story."""
        lead = ranked.story.lead
        entry = ranked.entry
        n = self._rows
        if self.paper is not None:
            score = self.paper.scores[lead.family, lead.place]
            n = 2 * score.n
        value = abs(entry["difference"])
        estimate = self._estimate(value, entry["low"], entry["high"], n, "melded")
        difference = points_apart(estimate.shown_beside(self.limit))
        claim = self.words.claim(entry["text"], lead.inside, lead.outside, difference)
        return Finding(
            claim,
            self.mining.rule(lead),
            estimate,
            limit=self.limit,
            cases=cases,
            groups=both_sides(entry, OTHERS),
            output=self.words.output,
            score=self.words.score,
            detail=place,
            key=self._key(self.mining.rule(lead)),
        )

    def _finding_of_others(self, rest: Entry) -> Finding:
        """Return the finding that bounds all rule sets that lead no story."""
        value = rest["value"]
        estimate = self._estimate(value, rest["low"], rest["high"], self._rows, "melded")
        difference = points_apart(estimate.shown_beside(self.limit))
        return Finding(
            self.words.claim_of_others(rest["rules"], difference),
            Rule(()),
            estimate,
            self.limit,
            output=self.words.output,
            score=self.words.score,
            detail=Place(self.number, "rest"),
            key=self._key(Rule(())),
        )

    def _key(self, rule: Rule) -> str:
        """Return what tells a finding from those of other minings, over other sets of features."""
        key = key_of(self.words.score, rule, self.words.output)
        if not self.several:
            return key
        names = ", ".join(sorted(self.mining.names))
        return f"{key} among {names}"

    def _mining_entry(self, stories: list[Entry], rest: Entry | None) -> Entry:
        """Return what the details of a result hold of this mining."""
        mining = self.mining
        treated = mining.treated
        queries = treated.queries
        maps: list[Entry] = []
        if self.paper is None:
            maps = mining.maps()
        else:
            # Algorithm 2 draws for each rule set by itself, so that single cells have no rates.
            queries = self.paper.queries
        return {
            "over": list(mining.names),
            "output": self.words.output,
            "favoured": self.words.favoured,
            "counts": self.words.counts,
            "named": self.words.named,
            "score": self.words.score,
            "method": treated.method,
            "rows": self._rows,
            "queries": queries,
            "population": treated.population,
            "support": mining.options.support,
            "complement": mining.options.other,
            "depth": mining.depth,
            "candidates": mining.candidates,
            "frequent": mining.frequent,
            "examined": mining.ranking.examined,
            "stories": stories,
            "rest": rest,
            "maps": maps,
        }


def _evidence(ranked: RankedStory) -> tuple[float, float]:
    """Return the sort key that is least for the story with the best evidence."""
    return -ranked.entry["low"], -abs(ranked.entry["difference"])


@dataclass(frozen=True, eq=False)
class MiningPart:
    """One mining to report, in which words, and by which scores of the paper."""

    mining: Mining
    words: OutcomeWords
    paper: PaperScores | None = None


def rank(
    parts: Sequence[MiningPart], *, level: float, limit: float | None, top: int
) -> list[RankedStories]:
    """Return the stories of each mining, with intervals that hold for all of them together."""
    for part in parts:
        part.mining.need_rules()
    examined = sum(part.mining.ranking.examined for part in parts)
    graded = any(part.mining.treated.graded for part in parts)
    sets = {part.mining.names for part in parts}
    intervals = SimultaneousIntervals(level, examined, graded=graded)
    ranked = []
    for number, part in enumerate(parts):
        writer = FindingWriter(
            part.mining,
            intervals,
            part.words,
            limit=limit,
            paper=part.paper,
            number=number,
            several=len(sets) > 1,
        )
        ranked.append(writer.ranked(top))
    return ranked


def write_findings(
    minings: Sequence[RankedStories],
    cases: Sequence[Sequence[Cases]],
    only_answers: Sequence[Any],
) -> tuple[list[Finding], list[Entry]]:
    """Return the findings of all minings, best evidence first, and an entry for each mining.

    Parameters
    ----------
    cases
        For each mining, the cases that are shown with each of its stories.
    only_answers
        For each mining, the one answer that there was, None where there were several.
    """
    findings: list[Finding] = []
    entries: list[Entry] = []
    parts = zip(minings, cases, only_answers, strict=True)
    for ranked, cases_of_mining, only_answer in parts:
        findings_of_mining, entry = ranked.writer.write(ranked, cases_of_mining)
        for finding in findings_of_mining:
            findings.append(replace(finding, only_answer=only_answer))
        entries.append(entry)
    findings.sort(key=_stories_first)
    return findings, entries


def _stories_first(finding: Finding) -> tuple[bool, float, float]:
    """Return the sort key that puts stories by their evidence, and then what bounds the others."""
    rule: Any = finding.about
    bounds_others = not rule.conditions
    return bounds_others, -finding.estimate.low, -finding.estimate.value


def among(score: str, sentence: str) -> str:
    """Return a sentence with the people that a score is about: all, or some by true outcomes.

    >>> among("tpr", "people are treated alike")
    'of those whose true outcome is favourable, people are treated alike'
    """
    if score == "tpr":
        return messages.AMONG_FAVOURABLE.format(sentence=sentence)
    if score == "fpr":
        return messages.AMONG_UNFAVOURABLE.format(sentence=sentence)
    return sentence


def outcome_text(favoured: str, *, named: bool = True) -> str:
    """Return the favourable outcome as sentences name it.

    >>> outcome_text(">50K"), outcome_text("the favourable outcome", named=False)
    ('the outcome >50K', 'the favourable outcome')
    """
    if named:
        return messages.NAMED_OUTCOME.format(label=favoured)
    return favoured


def both_sides(entry: Mapping[str, Any], others: str) -> tuple[Group, Group]:
    """Return the two groups that a story compares, with their rates."""
    rate = Estimate.from_dict(entry["rate"])
    other_rate = Estimate.from_dict(entry["other"])
    group = Group({"rule": entry["text"]}, rate)
    other_group = Group({"rule": others}, other_rate)
    return group, other_group


def ratio(rate: Estimate, other: Estimate) -> dict[str, float | None]:
    """Return a rate divided by another, with limits that hold where theirs do.

    None stands for a division by 0.

    >>> ratio(Estimate.exact(1, 4), Estimate.exact(1, 2))
    {'value': 0.5, 'low': 0.5, 'high': 0.5}
    """
    return {
        "value": rate.value / other.value if other.value else None,
        "low": rate.low / other.high if other.high else 0.0,
        "high": rate.high / other.low if other.low else None,
    }


def points_apart(estimate: Estimate) -> str:
    """Return how far apart two rates are, in points.

    >>> points_apart(Estimate(0.273, 0.251, 0.294, 100, 0.95, "melded"))
    'difference 27.3 points, 25.1 to 29.4'
    """
    digits = number_text.percent_decimals(estimate.low, estimate.high, most=4)
    limit = estimate.beside
    value = number_text.points_bare(estimate.value, digits, limit=limit)
    points = f"{value} points"
    if estimate.level >= 1:
        return messages.DIFFERENCE.format(points=points)
    interval = number_text.points_between(estimate.low, estimate.high, digits, limit=limit)
    return messages.DIFFERENCE_BETWEEN.format(points=points, interval=interval)
