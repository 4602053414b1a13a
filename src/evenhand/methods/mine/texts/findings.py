"""What was mined in texts, told: scores of all rule sets of terms, stories, and the texts whose
outcome changes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine.findings import (
    OTHER_TEXTS,
    Place,
    both_sides,
    none_of,
    points_apart,
    ratio,
    treated_so,
)
from evenhand.methods.mine.texts.ranking import Ranked, Scored, gather
from evenhand.results.evidence import Case, Finding
from evenhand.runtime import number_text
from evenhand.runtime.errors import DataError
from evenhand.space.feature import plain
from evenhand.space.rule import Rule
from evenhand.statistics.betting import bet
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.simultaneous import Sure, absolute

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.texts.combinations import Decided
    from evenhand.statistics.intervals import Floats
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

AGAINST = ("terms", "rest")
"""What texts with the terms of a rule set are compared with: the same texts with other terms, or
all other texts.
"""
LIKE, CASES, MOST_MATRICES = 5, 3, 15


def score_terms(decided: Decided, sure: Sure) -> Scored:
    """Score each combination against the same texts with all other combinations.

    Each text is its own control, so that limits are those of the mean of differences within texts.
    """
    apart = decided.apart
    # Bets hold for values of any kind, so that their tails need not be those of graded counts.
    low, high = absolute(*bet(apart, replace(sure, graded=False).tail, low=-1.0, high=1.0))
    inside = decided.inside
    outside = np.clip(inside - apart.mean(axis=1), 0.0, 1.0)
    size = len(decided.family.rows)
    return Scored(
        decided, inside, outside, low, high, [(float(mean) * size, size) for mean in outside]
    )


def score_rest(
    decided: Decided, sure: Sure, names: NDArray[np.bool_], base: Floats, matches: Matches
) -> Scored:
    """Score each combination against all texts, as they stand, that do not have all of its terms
    (the paper's ¬R).
    """
    position = {term: at for at, term in enumerate(matches.lexicon.terms)}
    other = []
    for terms in decided.family.terms:
        without = ~names[:, [position[term] for term in terms]].all(axis=1)
        other.append((float(base[without].sum()), int(without.sum())))
    hits, size = np.array(other, dtype=float).T
    outside = hits / np.maximum(size, 1)
    rows = len(decided.family.rows)
    (low, high), (least, most) = sure.rate(decided.inside * rows, rows), sure.rate(hits, size)
    return Scored(decided, decided.inside, outside, *absolute(low - most, high - least), other)


@dataclass(frozen=True, eq=False)
class TextTelling:
    """Tells the stories of rule sets of terms, in findings and as JSON holds them."""

    subject: TextSubject
    matches: Matches
    sure: Sure
    against: str
    limit: float | None = None

    def told(self, scored: Sequence[Scored], most: int) -> tuple[list[Finding], dict[str, Any]]:
        """Return the findings, best evidence first, and what else there is to tell."""
        ranking = sorted(
            (
                Ranked(family, at)
                for family in scored
                for at in range(len(family.inside))
                if family.other[at][1]
            ),
            key=lambda one: (
                -round(float(one.scored.low[one.at]), 12),
                -abs(float(one.scored.difference[one.at])),
            ),
        )
        if not ranking:
            raise DataError(
                "every text has every term, so that there is no rest to compare with; try"
                " against='terms'"
            )
        stories = gather(ranking, most, paired=self.against == "terms")
        entries = [self._entry(story) for story in stories]
        findings = [
            self._finding(story[0], entry, at)
            for at, (story, entry) in enumerate(zip(stories, entries, strict=True))
        ]
        leads = {id(story[0]) for story in stories}
        left = [one for one in ranking if id(one) not in leads]
        rest = self._rest(left) if left else None
        if rest is not None:
            estimate = self._estimate(
                rest["value"], rest["low"], rest["high"], self._texts(scored), ()
            )
            claim = f"{none_of(rest['rules'])} of terms is further from others than this"
            claim = f"{claim} ({points_apart(estimate)})"
            rest_place = Place(0, "rest")
            findings.append(
                Finding(claim, Rule(()), estimate, self.limit, score="rate", detail=rest_place)
            )
        return findings, {"stories": entries, "rest": rest, "matrix": matrices(scored)}

    @staticmethod
    def _texts(scored: Sequence[Scored]) -> int:
        return len(np.unique(np.concatenate([one.decided.family.rows for one in scored])))

    @staticmethod
    def _rest(others: Sequence[Ranked]) -> dict[str, Any]:
        ends = [
            (abs(one.scored.difference[one.at]), one.scored.low[one.at], one.scored.high[one.at])
            for one in others
        ]
        value, low, high = (float(end) for end in np.array(ends).max(axis=0))
        return {
            "rules": len(others),
            "value": value,
            "low": min(low, value),
            "high": max(high, value),
        }

    def _entry(self, story: Sequence[Ranked]) -> dict[str, Any]:
        lead, family = story[0], story[0].scored.decided.family
        scored, at = lead.scored, lead.at
        difference, size = float(scored.difference[at]), len(family.rows)
        named = family.categories
        rate = self._rate(float(scored.inside[at]) * size, size, named)
        other = self._rate(*scored.other[at], named if self.against == "terms" else ())
        return {
            "rule": lead.rule.to_dict(),
            "text": lead.rule.text,
            "texts": size,
            "support": family.texts / len(self.matches.texts),
            "difference": difference,
            "low": min(float(scored.low[at]), abs(difference)),
            "high": max(float(scored.high[at]), abs(difference)),
            "rate": rate.to_dict(),
            "other": other.to_dict(),
            "ratio": ratio(rate, other),
            "rules": len(story),
            "like": [
                {
                    "text": one.rule.text,
                    "difference": float(one.scored.difference[one.at]),
                    "support": one.scored.decided.family.texts / len(self.matches.texts),
                }
                for one in story[1 : LIKE + 1]
            ],
        }

    def _rate(self, hits: float, size: int, named: Sequence[str]) -> Estimate:
        low, high = (float(end) for end in self.sure.rate(min(hits, size), size))
        value = hits / size if size else math.nan
        return self._estimate(value, min(low, value), max(high, value), size, named, "exact")

    def _estimate(
        self,
        value: float,
        low: float,
        high: float,
        n: int,
        named: Sequence[str],
        method: str | None = None,
    ) -> Estimate:
        method = method or ("betting" if self.against == "terms" else "exact")
        said = f"{method}, simultaneous over {self.sure.among:,} rule sets"
        return Estimate(
            value, low, min(high, 1.0), n, self.sure.level, said, population(self.matches, named)
        )

    def _finding(self, lead: Ranked, entry: dict[str, Any], at: int) -> Finding:
        named = lead.scored.decided.family.categories
        estimate = self._estimate(
            abs(entry["difference"]), entry["low"], entry["high"], entry["texts"], named
        )
        terms = " and ".join(f"“{term.text}”" for term in lead.scored.decided.family.terms[lead.at])
        inside, outside, others = (
            entry["rate"]["value"],
            entry["other"]["value"],
            OTHER_TEXTS[self.against],
        )
        treated = treated_so(
            self.subject.favoured,
            inside,
            others,
            outside,
            counts=self.subject.counts,
            named=self.subject.names_outcome,
        )
        claim = f"texts that say {terms} {treated} ({points_apart(estimate)})"
        groups = both_sides(entry, others)
        place = Place(0, "story", at)
        return Finding(
            claim,
            lead.rule,
            estimate,
            self.limit,
            self._cases(lead),
            groups,
            score="rate",
            detail=place,
        )

    def _cases(self, lead: Ranked) -> tuple[Case, ...]:
        """Return texts whose outcome these terms change the most, against other terms."""
        decided, at = lead.scored.decided, lead.at
        sign = 1.0 if lead.scored.difference[at] >= 0 else -1.0
        gaps = sign * (decided.amounts[:, [at]] - decided.amounts)
        mine = decided.family.terms[at]
        same = np.array(
            [
                sum(a == b for a, b in zip(terms, mine, strict=True))
                for terms in decided.family.terms
            ]
        )
        # Of terms that change as much, those that leave the other categories as they are.
        other = np.argmax(np.round(gaps, 9) + 1e-6 * same, axis=1)

        def with_these(row: int) -> Shown:
            return _shown(self.matches, decided, row, at)

        return _cases(self.matches, decided, gaps[np.arange(len(gaps)), other], with_these, other)


Shown = tuple[dict[str, Any], Any]
"""A text in the form of a case, and its outcome."""


def _cases(
    matches: Matches,
    decided: Decided,
    size: Floats,
    first: Callable[[int], Shown],
    other: NDArray[np.intp],
) -> tuple[Case, ...]:
    """Return the shortest of those texts that change the most, first in one way and then with other
    terms.
    """
    rows = np.flatnonzero(size > 0)
    texts = [matches.texts[row] for row in decided.family.rows[rows].tolist()]
    lengths = np.array([len(text) for text in texts], dtype=np.intp)
    order = np.lexsort((lengths, -np.round(size[rows], 9))).tolist()
    # The same text may be given many times, and several may be the same but for their terms.
    distinct: dict[str, int] = {}
    for at in order:
        distinct.setdefault(texts[at], int(rows[at]))
    found: dict[tuple[str, str], Case] = {}
    for row in distinct.values():
        (individual, outcome), (twin, another) = (
            first(row),
            _shown(matches, decided, row, int(other[row])),
        )
        found.setdefault(
            (individual["text"], twin["text"]), Case(individual, twin, (outcome, another))
        )
        if len(found) == CASES:
            break
    return tuple(found.values())


def _shown(matches: Matches, decided: Decided, row: int, at: int) -> Shown:
    """Return a text with a combination of terms, which are marked, and its outcome."""
    family = decided.family
    terms = family.terms[at]
    text = matches.marked(int(family.rows[row]), family.categories, terms)
    names = {name: term.text for name, term in zip(family.categories, terms, strict=True)}
    return {**names, "text": text}, plain(decided.outcomes[row, at])


def matrices(scored: Sequence[Scored]) -> list[dict[str, Any]]:
    """Return the rate with each term of a category, and of each term × term of two."""
    found = []
    for one in scored:
        family = one.decided.family
        if len(family.categories) > 2:
            continue
        labels = [
            list(dict.fromkeys(terms[at].text for terms in family.terms))
            for at in range(len(family.categories))
        ]
        rates = np.round(one.inside, 6).reshape([len(names) for names in labels])
        found.append(
            {
                "axes": list(family.categories),
                "labels": labels,
                "texts": len(family.rows),
                "rates": rates.tolist(),
            }
        )
    return found[:MOST_MATRICES]


def population(matches: Matches, categories: Sequence[str] = ()) -> str:
    """Name the texts that scores speak of, which name some categories."""
    said = f"texts like the {len(matches.texts):,} given"
    return f"{said} that name {' and '.join(categories)}" if categories else said


@dataclass(frozen=True, eq=False)
class TextCausal:
    """How many texts of each category change outcome when only the term changes, and which."""

    subject: TextSubject
    matches: Matches
    level: float
    limit: float | None = None

    def told(self, decided: Sequence[Decided]) -> tuple[list[Finding], list[dict[str, Any]]]:
        """Return a finding for each family, and how often each combination of terms changes an
        outcome.
        """
        told = [self._told(one, among=len(decided)) for one in decided]
        told.sort(key=lambda pair: (-pair[0].estimate.low, -pair[0].estimate.value))
        findings = [
            replace(finding, detail=Place(0, "change", at)) for at, (finding, _) in enumerate(told)
        ]
        return findings, [entry for _, entry in told]

    def _told(self, decided: Decided, *, among: int) -> tuple[Finding, dict[str, Any]]:
        family = decided.family
        moved = self.subject.view.distance(decided.outcomes, decided.standing)
        worst = moved.max(axis=1)
        n = len(worst)
        names, several = " and ".join(family.categories), len(family.categories)
        estimate = self._estimate(worst, n, among, family.categories)
        share = number_text.percent(estimate.value)
        claim = (
            f"changing only the {'terms' if several > 1 else 'term'} for {names} changes the"
            f" outcome of {share} of the {n:,} texts that name"
            f" {('one', 'both', 'all')[min(several, 3) - 1]}"
        )

        def standing(row: int) -> Shown:
            place = int(family.rows[row])
            own = {name: _own(self.matches, name, place) for name in family.categories}
            return {**own, "text": self.matches.marked(place, family.categories)}, plain(
                decided.standing[row, 0]
            )

        found = _cases(
            self.matches, decided, worst.astype(float), standing, np.argmax(moved, axis=1)
        )
        entry = {
            "categories": list(family.categories),
            "texts": n,
            "changed": float(worst.sum()),
            "estimate": estimate.to_dict(),
            "terms": [
                {"text": family.rule(at).text, "changed": float(moved[:, at].mean())}
                for at in range(len(family.terms))
            ],
        }
        return (
            Finding(claim, family.categories, estimate, self.limit, found, score="changes"),
            entry,
        )

    def _estimate(self, worst: NDArray[Any], n: int, among: int, names: Sequence[str]) -> Estimate:
        level = 1 - (1 - self.level) / among
        value, graded = float(worst.mean()), worst.dtype.kind != "b"
        if graded:
            low, high = (float(end[0]) for end in bet(worst[None], (1 - level) / 2))
        else:
            low, high = (float(end) for end in clopper_pearson(worst.sum(), n, level))
        said = (
            f"{'betting' if graded else 'exact'}, simultaneous over {among} set{'s' * (among > 1)}"
            " of categories"
        )
        ends = min(low, value), max(high, value)
        return Estimate(value, *ends, n, self.level, said, population(self.matches, names))


def _own(matches: Matches, category: str, row: int) -> str:
    """Return the terms of a category that a text has."""
    terms = matches.lexicon.terms
    return ", ".join(
        terms[at].text
        for at in np.flatnonzero(matches.names[row])
        if terms[at].category == category
    )
