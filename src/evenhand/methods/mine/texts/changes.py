"""Texts whose outcome changes when nothing but a term does: how many, and which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.findings import Place
from evenhand.methods.mine.texts.findings import cases_of, text_outcome
from evenhand.results.evidence import Finding
from evenhand.runtime import number_text
from evenhand.space.feature import plain
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import clopper_pearson
from evenhand.statistics.sequential.betting import bet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.texts.combinations import Decided, Family
    from evenhand.methods.mine.texts.findings import TextOutcome
    from evenhand.methods.mine.texts.places import TextPlaces
    from evenhand.results.evidence import Case
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

    Indices = NDArray[np.intp]
    Entry = dict[str, Any]


@dataclass(frozen=True, eq=False)
class TextCausal:
    """How many texts of each category change outcome when only the term changes, and which."""

    subject: TextSubject
    places: TextPlaces
    level: float
    limit: float | None = None
    complete: bool = False
    """Whether every text of the population was asked about."""

    @property
    def matches(self) -> Matches:
        """The texts, and the places of terms in them."""
        return self.places.matches

    def write(self, decided: Sequence[Decided]) -> tuple[list[Finding], list[Entry]]:
        """Return a finding for each family, and how often each combination changes an outcome."""
        among = len(decided)
        pairs = [self._changes(family, among=among) for family in decided]
        pairs.sort(key=lambda pair: _evidence(pair[0]))
        findings = []
        entries = []
        for number, (finding, entry) in enumerate(pairs):
            place = Place(0, "change", number)
            findings.append(replace(finding, detail=place))
            entries.append(entry)
        return findings, entries

    def _changes(self, decided: Decided, *, among: int) -> tuple[Finding, Entry]:
        """Return the finding of a family, and what the details hold of it."""
        family = decided.family
        if self.places.vacant:
            change = self._among_terms(decided)
        else:
            change = self._from_standing(decided)
        worst = change.worst
        estimate = self._estimate(worst, among, family.categories)
        terms = []
        for at, changed in enumerate(change.by_term.tolist()):
            terms.append({"text": family.rule(at).text, "changed": changed})
        entry = {
            "categories": list(family.categories),
            "texts": len(worst),
            "changed": float(worst.sum()),
            "estimate": estimate.to_dict(),
            "terms": terms,
        }
        claim = _change_claim(family, estimate, vacant=self.places.vacant)
        finding = Finding(
            claim,
            family.categories,
            estimate,
            limit=self.limit,
            cases=change.cases,
            score="changes",
        )
        return finding, entry

    def _from_standing(self, decided: Decided) -> _TermChanges:
        """Return how outcomes change from those of texts as they stand."""
        family = decided.family
        moved = self.subject.view.distance(decided.outcomes, decided.standing)
        # A text changes if any of the terms changes it.
        worst = moved.max(axis=1)

        def standing(row: int) -> TextOutcome:
            place = int(family.rows[row])
            shown: Entry = {}
            for name in family.categories:
                shown[name] = _own_terms(self.matches, name, place)
            shown["text"] = self.matches.marked(place, family.categories)
            return shown, plain(decided.standing[row, 0])

        most_changing = np.argmax(moved, axis=1)
        changes = worst.astype(float)
        cases = cases_of(self.matches, decided, changes, standing, most_changing)
        return _TermChanges(worst, moved.mean(axis=0), cases)

    def _among_terms(self, decided: Decided) -> _TermChanges:
        """Return how outcomes change from one term to another, where texts stand without one."""
        family = decided.family
        fits = family.fits
        assert fits is not None
        outcomes = decided.outcomes
        worst = np.zeros(len(outcomes))
        first = np.zeros(len(outcomes), dtype=np.intp)
        other = np.zeros(len(outcomes), dtype=np.intp)
        by_term = []
        graded = False
        for at in range(family.rules):
            distance = self.subject.view.distance(outcomes, outcomes[:, [at]])
            graded |= distance.dtype.kind != "b"
            moved = np.where(fits & fits[:, [at]], distance, 0.0)
            # Of all pairs of a term with another one, in the texts that take both.
            pairs = fits[fits[:, at]].sum() - family.sizes[at]
            by_term.append(moved.sum() / pairs)
            farthest = np.argmax(moved, axis=1)
            largest = moved.max(axis=1)
            is_larger = largest > worst
            worst = np.where(is_larger, largest, worst)
            first = np.where(is_larger, at, first)
            other = np.where(is_larger, farthest, other)
        shown_first = _most_moved(np.array(by_term), first, other)
        shown_other = first + other - shown_first

        def with_first(row: int) -> TextOutcome:
            return text_outcome(self.matches, decided, row, int(shown_first[row]))

        cases = cases_of(self.matches, decided, worst, with_first, shown_other)
        return _TermChanges(worst if graded else worst > 0, np.array(by_term), cases)

    def _estimate(
        self, worst: NDArray[Any], among: int, categories: Sequence[str]
    ) -> Estimate:
        """Return the share of texts that change, with an interval that holds for all families."""
        n = len(worst)
        texts = self.places.population(categories)
        if self.complete:
            return Estimate.exact(float(worst.sum()), n, population=texts)
        # Bonferroni: each of `among` intervals misses with that part of the error.
        level = 1 - (1 - self.level) / among
        graded = worst.dtype.kind != "b"
        if graded:
            method = "betting"
            tail = (1 - level) / 2
            lows, highs = bet(worst[None], tail)
            low = float(lows[0])
            high = float(highs[0])
        else:
            method = "exact"
            lows, highs = clopper_pearson(worst.sum(), n, level)
            low = float(lows)
            high = float(highs)
        if among > 1:
            simultaneous = messages.METHOD_OVER_CATEGORIES.format(
                method=method, count=among
            )
        else:
            simultaneous = messages.METHOD_OVER_CATEGORY.format(method=method, count=among)
        value = float(worst.mean())
        low = min(low, value)
        high = max(high, value)
        return Estimate(
            value,
            low,
            high,
            n=n,
            level=self.level,
            method=simultaneous,
            population=texts,
        )


@dataclass(frozen=True, eq=False)
class _TermChanges:
    """How far each text changes at most, how often it does with each term, and some that do."""

    worst: NDArray[Any]
    by_term: NDArray[Any]
    cases: tuple[Case, ...]


def _most_moved(by_term: NDArray[Any], first: Indices, other: Indices) -> Indices:
    """Return which of two terms changes more outcomes."""
    return np.where(by_term[first] >= by_term[other], first, other)


def _evidence(finding: Finding) -> tuple[float, float]:
    """Return the sort key that is least for the finding with the best evidence."""
    estimate = finding.estimate
    return -estimate.low, -estimate.value


def _change_claim(family: Family, estimate: Estimate, *, vacant: bool) -> str:
    """Return the sentence that says how many texts of a family change."""
    categories = " and ".join(family.categories)
    share = number_text.percent(estimate.value)
    texts = number_text.count(estimate.n)
    several = len(family.categories)
    if several == 1:
        sentence = messages.CHANGES_OF_VACANT if vacant else messages.CHANGES_OF_ONE
        return sentence.format(
            categories=categories,
            share=share,
            texts=texts,
        )
    if several == 2:
        return messages.CHANGES_OF_BOTH.format(
            categories=categories,
            share=share,
            texts=texts,
        )
    return messages.CHANGES_OF_ALL.format(
        categories=categories,
        share=share,
        texts=texts,
    )


def _own_terms(matches: Matches, category: str, row: int) -> str:
    """Return the terms of a category that a text has."""
    own = []
    for number in np.flatnonzero(matches.names[row]):
        term = matches.lexicon.terms[number]
        if term.category == category:
            own.append(term.text)
    return ", ".join(own)
