"""Findings of a mining: a claim, an estimate and numbers for each story, and for the rest."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.story_details import StoryDetails, added_text
from evenhand.methods.mine.claims.words import OTHERS, points_apart
from evenhand.methods.mine.stories.apart import chosen_apart
from evenhand.methods.mine.stories.choosing import StorySearch
from evenhand.methods.mine.stories.tree import stories_of, tree_of
from evenhand.results.evidence import Finding, Group, key_of
from evenhand.runtime import number_text
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.simultaneous import absolute

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenhand.methods.mine.claims.discovered import Discoveries
    from evenhand.methods.mine.claims.words import OutcomeWords
    from evenhand.methods.mine.ranking import RuleSet
    from evenhand.methods.mine.rule_sets import Mining
    from evenhand.methods.mine.stories.tree import Story
    from evenhand.methods.mine.testsgd_score import PaperScores
    from evenhand.results.evidence import Case
    from evenhand.scores.numbers.unit_scale import UnitScale
    from evenhand.statistics.intervals import Floats, Limits
    from evenhand.statistics.simultaneous import SimultaneousIntervals

    Entry = dict[str, Any]
    Cases = tuple[Case, ...]


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
    discoveries: Discoveries | None = None
    """How many rule sets are found, where the false discovery rate is controlled."""

    def ranked(self, most: int) -> RankedStories:
        """Return the stories to report, best evidence first, with what is known of them."""
        ranking = self.mining.ranking
        ranking.rank(self.intervals)
        if self.discoveries is not None and self.discoveries.found:
            ranking.only_found(1 - self.intervals.level)
        ranked = []
        for story in self._stories(most):
            ranked.append(RankedStory(story, self._story_entry(story)))
        ranked.sort(key=_evidence)
        places = {id(one.story): number for number, one in enumerate(ranked)}
        for one in ranked:
            above = one.story.parent
            one.entry["parent"] = None if above is None else places[id(above)]
        return RankedStories(self, ranked)

    def _stories(self, most: int) -> list[Story]:
        """Return the stories, each followed by those within it."""
        ranking = self.mining.ranking
        search = self._search
        if self.paper is not None:
            return stories_of(ranking, chosen_apart(ranking, most), search.candidates)
        return tree_of(search, search.choose(most))

    @property
    def _details(self) -> StoryDetails:
        drawn = self.paper is not None
        return StoryDetails(self.mining, self._search, drawn=drawn)

    @property
    def _search(self) -> StorySearch:
        limit = None if self.limit is None else share_limit(self.limit, self._scale)
        return StorySearch(self.mining.ranking, self.intervals, limit)

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
        leads = [story.story.chosen.number for story in ranked.stories]
        rest = self._rest_entry(entries, leads)
        if rest is not None:
            findings.append(self._finding_of_others(rest, any_story=bool(entries)))
        return findings, self._mining_entry(entries, rest)

    def _rest_entry(self, stories: Sequence[Entry], leads: list[int]) -> Entry | None:
        """Return what is known of the rule sets that lead no story; None where there are none."""
        rest = self.mining.ranking.rest(self._together, leads)
        if rest is None:
            return None
        strongest = self.mining.ranking.rule_set(rest.strongest)
        rule = self.mining.rule(strongest)
        entry = asdict(rest) | {"strongest": {"rule": rule.to_dict(), "text": rule.text}}
        if self._scale is not None:
            entry = self._scale.distances(entry, ("value", "low", "high"))
        if self.paper is not None:
            return entry | self.paper.around(entry["value"])
        if self.discoveries is not None:
            # What is over the limit is found, and of the others no more is claimed than how far
            # they are at most.
            return entry | {"low": 0.0}
        # Stories are chosen by an approximation of their lower limits, so that a limit of the
        # others may come out higher; no more is claimed of them than of the best story.
        best_low = max((story["low"] for story in stories), default=0.0)
        entry["low"] = min(entry["low"], best_low)
        return entry

    @property
    def _together(self) -> SimultaneousIntervals:
        """The intervals that hold for all rule sets together."""
        if self.discoveries is None:
            return self.intervals
        return self.discoveries.simultaneous

    def _story_entry(self, story: Story) -> Entry:
        """Return what the details hold of a story."""
        lead = story.lead
        rows = self.mining.treated.rows(self.mining.inside(lead))
        if self.paper is None:
            compared = self._compared(lead, rows)
        else:
            compared = self._compared_by_paper(lead, self.paper)
        rule = self.mining.rule(lead)
        difference = lead.inside - lead.outside
        entry: Entry = {
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
            **self._p_value_entry(lead),
            **self._details.entry(story),
        }
        return entry if self._scale is None else self._scale.story(entry)

    @property
    def _scale(self) -> UnitScale | None:
        return self.mining.treated.scale

    def _sides(self, lead: RuleSet) -> tuple[Floats, ...]:
        """Return the sums of a rule set and of everyone else."""
        sums = [lead.hits, lead.size]
        if self._scale is not None:
            sums.append(lead.squares)
        return self.mining.ranking.sides(np.array(sums))

    def _p_value_entry(self, lead: RuleSet) -> Entry:
        """Return the least error at which the limit is excluded, where there is one."""
        if self.paper is not None or self.intervals.exact:
            return {}
        if self.limit is None and self.discoveries is None:
            return {}
        limit = share_limit(self.limit, self._scale)
        below = abs(lead.inside - lead.outside) < limit
        if lead.rate is not None and not below:
            return {"p_value": lead.rate}
        error = self.intervals.corrected_error_of(self._sides(lead), limit, below=below)
        return {"p_value": float(error)}

    def _compared(self, lead: RuleSet, rows: int) -> _ComparedRates:
        """Return the limits of the difference and the rates of both sides (Definition 4.1)."""
        sides = self._sides(lead)
        lows, highs = self.intervals.difference_of(sides)
        low, high = absolute(np.asarray(lows), np.asarray(highs))
        if self.discoveries is not None and self.limit is not None:
            limit = share_limit(self.limit, self._scale)
            low = np.asarray(self.discoveries.beside(float(low), limit))
        inside, outside = self.intervals.sides_of(sides)
        rate = self._rate(lead.inside, inside, rows)
        other = self._rate(lead.outside, outside, self._rows - rows)
        return _ComparedRates(float(low), float(high), rate, other)

    @property
    def _rows(self) -> int:
        return self.mining.treated.rows()

    def _compared_by_paper(self, lead: RuleSet, paper: PaperScores) -> _ComparedRates:
        """Return the limits of the difference and the rates that Algorithm 2 drew."""
        score = paper.scores[lead.family, lead.place]
        population = self.mining.treated.population
        rate = paper.rate(score.inside, score.n, population)
        other = paper.rate(score.outside, score.n, population)
        low = max(score.value - score.half, 0.0)
        high = min(score.value + score.half, 1.0)
        return _ComparedRates(low, high, rate, other)

    def _rate(self, value: float, limits: Limits, n: int) -> Estimate:
        lows, highs = limits
        # Hits that are sums of shares are rounded outwards; a limit must still not pass the rate.
        low = min(float(lows), value)
        high = max(float(highs), value)
        # Differences and rates are two families: no verdict rests on a rate.
        return self._estimate(value, low, high, n, self._method("exact")).described()

    def _method(self, method: str) -> str:
        """Return how intervals are made: those of numbers by one method for all."""
        return method if self._scale is None else messages.METHOD_OF_MEANS

    def _apart(
        self, value: float, low: float, high: float, n: int, *, rest: bool = False
    ) -> Estimate:
        """Return the estimate of a difference, of numbers in their unit."""
        method = self._method(self.intervals.method)
        scale = self._scale
        if scale is None:
            return self._estimate(value, low, high, n, method, rest=rest)
        ends = (value / scale.width, low / scale.width, high / scale.width)
        shares = self._estimate(*ends, n, method, rest=rest)
        if not self.intervals.exact:
            # Exactly the numbers of the details, which shares may miss by rounding.
            terms = (n, shares.level, shares.method, shares.population)
            return scale.kind(value, low, high, *terms)
        return scale.kind(value, value, value, n, 1.0, shares.method, shares.population)

    def _estimate(
        self,
        value: float,
        low: float,
        high: float,
        n: int,
        method: str,
        *,
        rest: bool = False,
    ) -> Estimate:
        population = self.mining.treated.population
        if self.paper is not None:
            # Theorem 4.2: where each of two rates has a level, their difference has the product.
            level = self.paper.level**2
            return Estimate(value, low, high, n, level, "wald", population)
        if self.intervals.exact:
            return Estimate(value, value, value, n, 1.0, "enumerated", population)
        simultaneous = self._method_over(method, rest=rest)
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

    def _method_over(self, method: str, *, rest: bool) -> str:
        """Return how intervals are made, and what they hold over."""
        examined = number_text.count(int(self._together.among))
        if rest or self.discoveries is None or not self.discoveries.found:
            return messages.METHOD_OVER_RULE_SETS.format(method=method, count=examined)
        found = number_text.count(self.discoveries.found)
        return messages.METHOD_OF_DISCOVERIES.format(
            method=method, found=found, count=examined
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
        estimate = self._apart(value, entry["low"], entry["high"], n)
        difference = points_apart(estimate.shown_beside(self.limit))
        sides = lead.inside, lead.outside
        if self._scale is not None:
            sides = self._scale.number(lead.inside), self._scale.number(lead.outside)
        claim = self.words.claim(entry["text"], *sides, difference)
        added = added_text(ranked.story, entry, self.mining.rule)
        return Finding(
            claim + added,
            self.mining.rule(lead),
            estimate,
            limit=self.limit,
            cases=cases,
            groups=both_sides(entry, OTHERS),
            output=self.words.output,
            score=self.words.score,
            detail=place,
            key=self._key(self.mining.rule(lead)),
            p_value=entry.get("p_value"),
        )

    def _finding_of_others(self, rest: Entry, *, any_story: bool) -> Finding:
        """Return the finding that bounds all rule sets that lead no story."""
        value = rest["value"]
        estimate = self._apart(value, rest["low"], rest["high"], self._rows, rest=True)
        difference = points_apart(estimate.shown_beside(self.limit))
        return Finding(
            self.words.claim_of_others(rest["rules"], difference, any_story=any_story),
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

    def _unit_entry(self) -> Entry:
        """Return which numbers outcomes are, where they are numbers."""
        scale = self._scale
        if scale is None:
            return {}
        if scale.gaps:
            return {"unit": "points"}
        return {"unit": "amount", "from": scale.low, "to": scale.number(1.0)}

    def _control_entry(self) -> Entry:
        """Return how many rule sets are found, where the false discovery rate is controlled."""
        if self.discoveries is None:
            return {}
        found = self.mining.ranking.discovered(1 - self.intervals.level)
        return {"control": "fdr", "discovered": found}

    def _correction_entry(self) -> Entry:
        """Return how intervals hold together, where they are sampled and do so."""
        if self.paper is not None or self.discoveries is not None or self.intervals.exact:
            return {}
        return {
            "correction": self.intervals.correction,
            "separate": self.intervals.separate,
        }

    def _steps_entry(self) -> Entry:
        """Return by how much features were moved, where users said so."""
        steps = self.mining.treated.steps
        return {"move": dict(steps)} if steps else {}

    def _mining_entry(self, stories: list[Entry], rest: Entry | None) -> Entry:
        """Return what the details of a result hold of this mining."""
        mining = self.mining
        treated = mining.treated
        queries = treated.queries
        maps: list[Entry] = []
        if self.paper is None:
            maps = mining.maps([_features(story) for story in stories])
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
            **self._unit_entry(),
            "method": treated.method,
            **self._steps_entry(),
            "rows": self._rows,
            "queries": queries,
            "population": treated.population,
            "support": mining.options.support,
            "complement": mining.options.other,
            "depth": mining.depth,
            "candidates": mining.candidates,
            "frequent": mining.frequent,
            "examined": mining.ranking.examined,
            **self._control_entry(),
            **self._correction_entry(),
            "stories": stories,
            "rest": rest,
            "maps": maps,
        }


def _features(story: Entry) -> list[str]:
    """Return the features that a story names."""
    return [condition["feature"] for condition in story["rule"]["conditions"]]


def _evidence(ranked: RankedStory) -> tuple[float, float]:
    """Return the sort key that is least for the story with the best evidence."""
    return -ranked.entry["low"], -abs(ranked.entry["difference"])


def share_limit(limit: float | None, scale: UnitScale | None) -> float:
    """Return a limit as a share of the range of outcomes; without one, 0."""
    if limit is None:
        return 0.0
    return limit if scale is None else limit / scale.width


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
