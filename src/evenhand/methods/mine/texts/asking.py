"""Mining texts: what the software decides on each text with each combination of terms."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.mine import messages
from evenhand.methods.mine.texts.combinations import Decided, full_cost
from evenhand.runtime import number_text
from evenhand.statistics.estimate import StopReason
from evenhand.texts.linear import linear_path

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.texts.combinations import Family
    from evenhand.runtime.budget import Meter
    from evenhand.texts.matching import Matches
    from evenhand.texts.text_subject import TextSubject

    Flags = NDArray[np.bool_]


@dataclass(eq=False)
class TextAnswers:
    """What the software decided, and why asking ended."""

    decided: list[Decided] = field(default_factory=list)
    stop: StopReason | None = None


def ask(
    subject: TextSubject,
    matches: Matches,
    found: Sequence[Family],
    meter: Meter,
    *,
    standing: bool = False,
    weighed: bool | None = None,
) -> TextAnswers:
    """Ask about every text of every family with every combination of terms, each once.

    Parameters
    ----------
    standing
        Whether each text is asked about as it stands, too, to see whether its outcome changes.
    weighed
        Whether outcomes are weighed, and whatever cannot be is refused at the first of them; by
        default where texts are not asked about as they stand.
    """
    if weighed is None:
        weighed = not standing
    questions = _Questions(subject, matches, meter, standing=standing, weighed=weighed)
    questions.total = full_cost(found, standing=standing)
    for family in found:
        questions.ask(family)
        if questions.answers.stop is not None:
            break
    return questions.answers


class _Questions:
    """Asks about texts family by family, until all are answered or the time is up."""

    def __init__(
        self,
        subject: TextSubject,
        matches: Matches,
        meter: Meter,
        *,
        standing: bool,
        weighed: bool,
    ) -> None:
        self.answers = TextAnswers()
        self.total = 0
        self._done = 0
        self._subject = subject
        self._path = linear_path(subject)
        self._matches = matches
        self._meter = meter
        self._standing = standing
        self._weighed = weighed

    def ask(self, family: Family) -> None:
        """Ask about every text of a family with every combination of terms."""
        parts: list[NDArray[Any]] = []
        try:
            for part in self._batches(family):
                outcomes = self._decide(part)
                if self._weighed:
                    # What cannot be weighed is refused before more is asked.
                    self._subject.amount(outcomes.ravel())
                parts.append(outcomes)
                self._count(part.cost(len(part.rows), standing=self._standing), family)
                if self._meter.late and self._done < self.total:
                    self.answers.stop = StopReason.SECONDS
                    break
        except KeyboardInterrupt:
            if not parts and not self.answers.decided:
                raise
            self.answers.stop = StopReason.INTERRUPTED
        if parts:
            table = np.concatenate(parts)
            with_terms, standing = np.split(table, [family.rules], axis=1)
            asked = family.only(len(table))
            decided = Decided(asked, with_terms, standing, self._subject.amount)
            self.answers.decided.append(decided)

    def _batches(self, family: Family) -> list[Family]:
        """Return the texts of a family, as many at once as a batch of the software holds."""
        size = len(family.rows)
        if self._path is None:
            size = self._subject.batch // family.rules
        size = max(1, size)
        starts = range(0, len(family.rows), size)
        return [family.part(start, start + size) for start in starts]

    def _count(self, texts: int, family: Family) -> None:
        """Count the texts that were asked about, and report how far the asking is."""
        self._done += texts
        self._meter.queries += texts
        categories = " and ".join(family.categories)
        task = messages.PROGRESS_TEXTS.format(categories=categories)
        count = number_text.count(self._done)
        done = messages.PROGRESS_TEXTS_DONE.format(count=count)
        share = self._done / self.total
        self._meter.report(task, share, done)

    def _decide(self, family: Family) -> NDArray[Any]:
        """Return the outcomes by text and combination, and in a last column as texts stand."""
        if family.fits is not None:
            return self._decide_fitting(family, family.fits)
        rows = family.rows
        standing: list[str] = []
        if self._standing:
            standing = [self._matches.texts[row] for row in rows.tolist()]
        if self._path is not None:
            # A linear model adds up what each term weighs, without writing any text.
            outcomes = self._path.decide(
                self._matches, rows, family.categories, family.terms
            )
            if not self._standing:
                return outcomes
            standing_outcomes = self._subject.decide(standing)
            return np.column_stack([outcomes, standing_outcomes])
        texts: list[str] = []
        for terms in family.terms:
            texts += self._matches.write(rows, family.categories, terms)
        outcomes = self._subject.decide(texts + standing)
        by_combination = outcomes.reshape(-1, len(rows))
        return by_combination.T

    def _decide_fitting(self, family: Family, fits: Flags) -> NDArray[Any]:
        """Return the outcomes by text and combination, of those combinations that fit a text.

        Elsewhere the table holds an outcome that is not looked at.
        """
        if self._path is not None:
            decided = self._by_pattern(family, fits)
        else:
            texts: list[str] = []
            for at, terms in enumerate(family.terms):
                rows = family.rows[fits[:, at]]
                texts += self._matches.write(rows, family.categories, terms)
            decided = self._subject.decide(texts)
        table = np.full(fits.T.shape, decided[0], dtype=decided.dtype)
        table[fits.T] = decided
        return table.T

    def _by_pattern(self, family: Family, fits: Flags) -> NDArray[Any]:
        """Return what a linear model decides, combination after combination.

        Texts that the same combinations fit are decided together.
        """
        assert self._path is not None
        patterns, pattern_of = np.unique(fits, axis=0, return_inverse=True)
        blocks = []
        places = []
        numbers = np.arange(fits.size).reshape(fits.T.shape).T
        for number, pattern in enumerate(patterns):
            chosen = np.flatnonzero(pattern_of.ravel() == number)
            columns = np.flatnonzero(pattern)
            terms = [family.terms[column] for column in columns.tolist()]
            rows = family.rows[chosen]
            block = self._path.decide(self._matches, rows, family.categories, terms)
            blocks.append(block.ravel())
            places.append(numbers[np.ix_(chosen, columns)].ravel())
        order = np.argsort(np.concatenate(places))
        return np.concatenate(blocks)[order]
