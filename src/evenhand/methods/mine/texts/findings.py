"""Findings of a mining of texts: scores of all rule sets of terms, and changed outcomes."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.words import OTHER_TEXTS, outcome_text, points_apart
from evenhand.methods.mine.findings import Place, both_sides, ratio
from evenhand.methods.mine.texts.ranking import RankedTerms, ScoredFamily, gather
from evenhand.results.evidence import Case, Finding
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError
from evenhand.space.feature import plain
from evenhand.space.rule import Rule
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.sequential.betting import bet
from evenhand.statistics.simultaneous import SimultaneousIntervals, absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.texts.combinations import Decided, Family
    from evenhand.methods.mine.texts.places import TextPlaces
    from evenhand.statistics.intervals import Floats
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

    Flags = NDArray[np.bool_]
    Indices = NDArray[np.intp]
    Entry = dict[str, Any]

AGAINST = ("terms", "rest")
"""What texts with the terms of a rule set are compared with: the same texts with other terms, or
all other texts.
"""
LIKE = 5
"""Rule sets that are listed beside the one that leads a story."""
CASES = 3
"""Cases that are shown with a finding."""
MOST_MATRICES = 15
"""The most matrices of rates that are kept for heat maps."""


def score_terms(
    decided: Decided, intervals: SimultaneousIntervals, *, complete: bool = False
) -> ScoredFamily:
    """Score each combination against the same texts with all other combinations.

    Each text is its own control, so that limits are those of the mean of differences within texts.
    Where these are all texts of the population, limits are the difference itself.
    """
    apart = decided.apart
    # Bets hold for values of any kind, so that their tails need not be those of graded counts.
    tail = replace(intervals, graded=False).tail
    mean_apart = np.empty(len(apart))
    lows = np.zeros(len(apart))
    highs = np.zeros(len(apart))
    for places, own_apart in _same_texts(decided.family, apart):
        mean_apart[places] = own_apart.mean(axis=1)
        if not complete:
            lows[places], highs[places] = bet(own_apart, tail, low=-1.0, high=1.0)
    low, high = absolute(lows, highs)
    if complete:
        low = high = np.abs(mean_apart)
    inside = decided.inside
    outside = np.clip(inside - mean_apart, 0.0, 1.0)
    sizes = decided.family.sizes.tolist()
    other = []
    for mean, size in zip(outside, sizes, strict=True):
        other.append((float(mean) * size, size))
    return ScoredFamily(decided, inside, outside, low, high, other)


def _same_texts(family: Family, apart: Floats) -> Iterator[tuple[Indices, Floats]]:
    """Yield combinations that the same texts take, and how far apart they are in these texts."""
    if family.fits is None:
        # The table as it is: a copy would be summed in another order.
        yield np.arange(family.rules), apart
        return
    patterns, pattern_of = np.unique(family.fits.T, axis=0, return_inverse=True)
    for number, pattern in enumerate(patterns):
        places = np.flatnonzero(pattern_of.ravel() == number)
        yield places, apart[np.ix_(places, np.flatnonzero(pattern))]


def score_rest(
    decided: Decided,
    intervals: SimultaneousIntervals,
    names: Flags,
    base: Floats,
    matches: Matches,
) -> ScoredFamily:
    """Score each combination against all texts, as they stand, that do not have all of its terms.

    These are the paper's ¬R (Definition 4.1).
    """
    position = {}
    for number, term in enumerate(matches.lexicon.terms):
        position[term] = number
    other = []
    for terms in decided.family.terms:
        columns = [position[term] for term in terms]
        without = ~names[:, columns].all(axis=1)
        without_hits = float(base[without].sum())
        other.append((without_hits, int(without.sum())))
    hits, size = np.array(other, dtype=float).T
    outside = hits / np.maximum(size, 1)
    rows = len(decided.family.rows)
    inside_hits = decided.inside * rows
    low, high = intervals.rate(inside_hits, rows)
    other_low, other_high = intervals.rate(hits, size)
    # Rates of different texts: their difference lies between those of opposite limits.
    lows, highs = absolute(low - other_high, high - other_low)
    return ScoredFamily(decided, decided.inside, outside, lows, highs, other)


@dataclass(frozen=True, eq=False)
class TextFindingWriter:
    """Writes the stories of rule sets of terms, as findings and as the details of a result."""

    subject: TextSubject
    places: TextPlaces
    intervals: SimultaneousIntervals
    against: str
    limit: float | None = None
    complete: bool = False
    """Whether every text of the population was asked about."""

    @property
    def matches(self) -> Matches:
        """The texts, and the places of terms in them."""
        return self.places.matches

    def write(
        self, scored: Sequence[ScoredFamily], most: int
    ) -> tuple[list[Finding], Entry]:
        """Return the findings, best evidence first, and the details."""
        ranking = _ranking(scored)
        if not ranking:
            raise DataError(messages.NO_REST_AT_ALL)
        stories = gather(ranking, most, paired=self.against == "terms")
        entries = [self._story_entry(story) for story in stories]
        findings = []
        for number, story in enumerate(stories):
            place = Place(0, "story", number)
            findings.append(self._finding(story[0], entries[number], place))
        leads = {id(story[0]) for story in stories}
        others = [ranked for ranked in ranking if id(ranked) not in leads]
        rest = None
        if others:
            rest = _rest_entry(others)
            texts = _text_count(scored)
            findings.append(self._finding_of_others(rest, texts, alone=not stories))
        return findings, {"stories": entries, "rest": rest, "matrix": matrices(scored)}

    def _story_entry(self, story: Sequence[RankedTerms]) -> Entry:
        """Return what the details hold of a story."""
        lead = story[0]
        family = lead.scored.decided.family
        size = int(family.sizes[lead.at])
        categories = family.categories
        inside = float(lead.scored.inside[lead.at])
        rate = self._rate(inside * size, size, categories)
        other_hits, other_size = lead.scored.other[lead.at]
        other_categories = categories if self.against == "terms" else ()
        other = self._rate(other_hits, other_size, other_categories)
        difference = lead.difference
        like = story[1 : LIKE + 1]
        return {
            "rule": lead.rule.to_dict(),
            "text": lead.rule.text,
            "texts": size,
            "support": family.texts / len(self.matches.texts),
            "difference": difference,
            "low": min(lead.low, abs(difference)),
            "high": max(lead.high, abs(difference)),
            "rate": rate.to_dict(),
            "other": other.to_dict(),
            "ratio": ratio(rate, other),
            "rules": len(story),
            "like": [self._like_entry(ranked) for ranked in like],
        }

    def _like_entry(self, ranked: RankedTerms) -> Entry:
        """Return what the details hold of a rule set with terms like those of a story."""
        family = ranked.scored.decided.family
        return {
            "text": ranked.rule.text,
            "difference": ranked.difference,
            "support": family.texts / len(self.matches.texts),
        }

    def _rate(self, hits: float, size: int, categories: Sequence[str]) -> Estimate:
        value = hits / size if size else math.nan
        if self.complete:
            return self._estimate("exact", value, (value, value), size, categories)
        lows, highs = self.intervals.rate(min(hits, size), size)
        low = min(float(lows), value)
        high = max(float(highs), value)
        estimate = self._estimate("exact", value, (low, high), size, categories)
        # Against other texts, differences are made of the rates, and hold together with them.
        return estimate if self.against == "rest" else estimate.described()

    def _estimate(
        self,
        method: str,
        value: float,
        limits: tuple[float, float],
        n: int,
        categories: Sequence[str],
    ) -> Estimate:
        low, high = limits
        texts = self.places.population(categories)
        if self.complete:
            return Estimate(value, low, high, n, 1.0, "enumerated", texts)
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
            population=texts,
        )

    @property
    def _method(self) -> str:
        """How the limits of a difference are found."""
        return "betting" if self.against == "terms" else "exact"

    def _finding(self, lead: RankedTerms, entry: Entry, place: Place) -> Finding:
        """Return the finding of a story."""
        value = abs(entry["difference"])
        limits = (entry["low"], entry["high"])
        categories = lead.scored.decided.family.categories
        texts = entry["texts"]
        estimate = self._estimate(self._method, value, limits, texts, categories)
        return Finding(
            self._claim(lead, entry, points_apart(estimate)),
            lead.rule,
            estimate,
            self.limit,
            self._cases(lead),
            both_sides(entry, OTHER_TEXTS[self.against]),
            score="rate",
            detail=place,
        )

    def _claim(self, lead: RankedTerms, entry: Entry, difference: str) -> str:
        """Return the sentence that compares texts with some terms with others."""
        family = lead.scored.decided.family
        terms = [f"“{term.text}”" for term in family.terms[lead.at]]
        inside = entry["rate"]["value"]
        outside = entry["other"]["value"]
        others = OTHER_TEXTS[self.against]
        if not self.subject.counts:
            return messages.TEXT_MEANS.format(
                terms=" and ".join(terms),
                mean=number_text.decimal(inside),
                others=others,
                other_mean=number_text.decimal(outside),
                difference=difference,
            )
        return messages.TEXT_RATES.format(
            terms=" and ".join(terms),
            outcome=outcome_text(self.subject.favoured, named=self.subject.names_outcome),
            rate=number_text.percent(inside),
            others=others,
            other_rate=number_text.percent(outside),
            difference=difference,
        )

    def _finding_of_others(self, rest: Entry, texts: int, *, alone: bool) -> Finding:
        """Return the finding that bounds all rule sets that lead no story; `alone` if none does."""
        limits = (rest["low"], rest["high"])
        value = rest["value"]
        estimate = self._estimate(self._method, value, limits, texts, ())
        difference = points_apart(estimate)
        several = messages.NO_TERMS_STAND_OUT if alone else messages.OTHER_TERMS_CLOSER
        one = messages.NO_TERM_STANDS_OUT if alone else messages.OTHER_TERM_CLOSER
        sentence = several if rest["rules"] > 1 else one
        count = number_text.count(rest["rules"])
        claim = sentence.format(count=count, difference=difference)
        place = Place(0, "rest")
        return Finding(
            claim,
            Rule(()),
            estimate,
            limit=self.limit,
            score="rate",
            detail=place,
        )

    def _cases(self, lead: RankedTerms) -> tuple[Case, ...]:
        """Return texts whose outcome these terms change the most, against other terms."""
        decided = lead.scored.decided
        at = lead.at
        sign = 1.0 if lead.difference >= 0 else -1.0
        own_amounts = decided.amounts[:, [at]]
        gaps = sign * (own_amounts - decided.amounts)
        fits = decided.family.fits
        if fits is not None:
            gaps = np.where(fits & fits[:, [at]], gaps, 0.0)
        shared = _shared_terms(decided.family, at)
        # Of terms that change as much, those that leave the other categories as they are.
        preferred = np.round(gaps, 9) + 1e-6 * shared
        other = np.argmax(preferred, axis=1)
        texts = np.arange(len(gaps))
        largest_gaps = gaps[texts, other]

        def with_these(row: int) -> TextOutcome:
            return text_outcome(self.matches, decided, row, at)

        return cases_of(self.matches, decided, largest_gaps, with_these, other)


def _ranking(scored: Sequence[ScoredFamily]) -> list[RankedTerms]:
    """Return all rule sets that can be compared, best evidence first."""
    ranking = []
    for family in scored:
        for at, (_, size) in enumerate(family.other):
            if size:
                ranking.append(RankedTerms(family, at))
    ranking.sort(key=_strength)
    return ranking


def _strength(ranked: RankedTerms) -> tuple[float, float]:
    """Return the sort key that is least for the rule set with the best evidence."""
    # Sums in another order differ in their last digits, which must not decide the order.
    low = round(ranked.low, 12)
    return -low, -abs(ranked.difference)


def _text_count(scored: Sequence[ScoredFamily]) -> int:
    """Return how many texts were asked about, each counted once."""
    families = [scored_family.decided.family for scored_family in scored]
    rows = np.concatenate([family.rows for family in families])
    return len(np.unique(rows))


def _rest_entry(others: Sequence[RankedTerms]) -> Entry:
    """Return what the details hold of the rule sets that lead no story."""
    value = max(abs(ranked.difference) for ranked in others)
    low = max(ranked.low for ranked in others)
    high = max(ranked.high for ranked in others)
    return {
        "rules": len(others),
        "value": value,
        "low": min(low, value),
        "high": max(high, value),
    }


def _shared_terms(family: Family, at: int) -> Indices:
    """Return how many terms each combination shares with one of them."""
    own = family.terms[at]
    shared = []
    for terms in family.terms:
        pairs = zip(terms, own, strict=True)
        same = [term == own_term for term, own_term in pairs]
        shared.append(sum(same))
    return np.array(shared)


TextOutcome = tuple[dict[str, Any], Any]
"""A text in the form of a case, and its outcome."""


def cases_of(
    matches: Matches,
    decided: Decided,
    size: Floats,
    first: Callable[[int], TextOutcome],
    other: Indices,
) -> tuple[Case, ...]:
    """Return the shortest of those texts that change the most.

    `first` returns a text in the one way, `other` is with which terms it stands in the other.
    """
    rows = np.flatnonzero(size > 0)
    places = decided.family.rows[rows]
    texts = [matches.texts[place] for place in places.tolist()]
    lengths = np.fromiter(map(len, texts), dtype=np.intp)
    largest_first = -np.round(size[rows], 9)
    order = np.lexsort((lengths, largest_first))
    # The same text may be given many times, and several may be the same but for their terms.
    distinct: dict[str, int] = {}
    for number in order.tolist():
        distinct.setdefault(texts[number], int(rows[number]))
    cases: dict[tuple[str, str], Case] = {}
    for row in distinct.values():
        individual, outcome = first(row)
        combination = int(other[row])
        twin, other_outcome = text_outcome(matches, decided, row, combination)
        pair = (individual["text"], twin["text"])
        case = Case(individual, twin, (outcome, other_outcome))
        cases.setdefault(pair, case)
        if len(cases) == CASES:
            break
    return tuple(cases.values())


def text_outcome(matches: Matches, decided: Decided, row: int, at: int) -> TextOutcome:
    """Return a text with a combination of terms, which are marked, and its outcome."""
    family = decided.family
    terms = family.terms[at]
    place = int(family.rows[row])
    text = matches.marked(place, family.categories, terms)
    shown: Entry = {}
    for name, term in zip(family.categories, terms, strict=True):
        shown[name] = term.text
    shown["text"] = text
    outcome = plain(decided.outcomes[row, at])
    return shown, outcome


def matrices(scored: Sequence[ScoredFamily]) -> list[Entry]:
    """Return the rate with each term of a category, and of each term × term of two."""
    found = []
    for scored_family in scored:
        family = scored_family.decided.family
        if len(family.categories) > 2:
            continue
        labels = []
        for terms in family.choices:
            texts = [term.text for term in terms]
            labels.append(list(dict.fromkeys(texts)))
        shape = tuple(map(len, labels))
        rates = np.round(scored_family.inside, 6).reshape(shape)
        matrix = {
            "axes": list(family.categories),
            "labels": labels,
            "texts": len(family.rows),
            "rates": rates.tolist(),
        }
        found.append(matrix)
    return found[:MOST_MATRICES]
