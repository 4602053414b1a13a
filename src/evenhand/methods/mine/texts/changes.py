"""Texts whose outcome changes when nothing but a term does: how many, and which."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.findings import Place
from evenhand.methods.mine.texts.findings import cases_of, population
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
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

    Entry = dict[str, Any]


@dataclass(frozen=True, eq=False)
class TextCausal:
    """How many texts of each category change outcome when only the term changes, and which."""

    subject: TextSubject
    matches: Matches
    level: float
    limit: float | None = None

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
        moved = self.subject.view.distance(decided.outcomes, decided.standing)
        # A text changes if any of the terms changes it.
        worst = moved.max(axis=1)
        estimate = self._estimate(worst, among, family.categories)

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
        terms = []
        for at in range(len(family.terms)):
            changed = float(moved[:, at].mean())
            terms.append({"text": family.rule(at).text, "changed": changed})
        entry = {
            "categories": list(family.categories),
            "texts": len(worst),
            "changed": float(worst.sum()),
            "estimate": estimate.to_dict(),
            "terms": terms,
        }
        claim = _change_claim(family, estimate)
        finding = Finding(
            claim,
            family.categories,
            estimate,
            limit=self.limit,
            cases=cases,
            score="changes",
        )
        return finding, entry

    def _estimate(
        self, worst: NDArray[Any], among: int, categories: Sequence[str]
    ) -> Estimate:
        """Return the share of texts that change, with an interval that holds for all families."""
        n = len(worst)
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
        texts = population(self.matches, categories)
        return Estimate(
            value,
            low,
            high,
            n=n,
            level=self.level,
            method=simultaneous,
            population=texts,
        )


def _evidence(finding: Finding) -> tuple[float, float]:
    """Return the sort key that is least for the finding with the best evidence."""
    estimate = finding.estimate
    return -estimate.low, -estimate.value


def _change_claim(family: Family, estimate: Estimate) -> str:
    """Return the sentence that says how many texts of a family change."""
    categories = " and ".join(family.categories)
    share = number_text.percent(estimate.value)
    texts = number_text.count(estimate.n)
    several = len(family.categories)
    if several == 1:
        return messages.CHANGES_OF_ONE.format(
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
