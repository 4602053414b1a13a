"""What the claims of a mining are about, and how far apart two sides of them are, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.claims.scores import (
    LABELS,
    NUMBERS,
    PROBABILITIES,
    SCORES,
    among,
    sentences_of,
)
from evenhand.runtime import number_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.methods.mine.claims.scores import Sentences
    from evenhand.statistics.estimate import Estimate

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
    numbers: bool = False
    """Whether outcomes are numbers, which are named by `favoured`."""

    @property
    def outcomes(self) -> str:
        """What outcomes are: favourable or not, scores or numbers."""
        return kind_of(counts=self.counts, numbers=self.numbers)

    def claim(self, rule: str, inside: float, outside: float, difference: str) -> str:
        """Return the sentence that compares the people of a rule with everyone else.

        >>> words = OutcomeWords("approve")
        >>> words.claim("sex F", 0.382, 0.109, "difference 27.3 points")[:57]
        '38.2 % of people with sex F get the outcome approve, and '
        """
        rate = self._shown(inside)
        other_rate = self._shown(outside)
        sentence = sentences_of(self.score, self.outcomes).claim.format(
            rule=rule,
            outcome=self._outcome,
            rate=rate,
            mean=rate,
            others=OTHERS,
            other_rate=other_rate,
            other_mean=other_rate,
            difference=difference,
        )
        return among(self.score, sentence, self._outcome)

    def claim_of_others(
        self, rules: int, difference: str, *, any_story: bool = True
    ) -> str:
        """Return the sentence about all rule sets that lead no story."""
        count = number_text.count(rules)
        if not any_story:
            sentence = messages.NO_RULE_SHOWN.format(count=count, difference=difference)
        elif rules > 1:
            sentence = messages.OTHER_RULES_CLOSER.format(
                count=count, difference=difference
            )
        else:
            sentence = messages.OTHER_RULE_CLOSER.format(difference=difference)
        return among(self.score, sentence, self._outcome)

    @property
    def _outcome(self) -> str:
        """The outcome as sentences name it: numbers by their name, others as favourable ones."""
        if self.numbers:
            return self.favoured
        return outcome_text(self.favoured, named=self.named)

    def _shown(self, side: float) -> str:
        """Return a rate, a mean score or a mean of numbers as claims write it."""
        if SCORES[self.score].sentences is not None:
            return SCORES[self.score].shown(side)
        if self.numbers:
            return number_text.amount(side)
        return number_text.percent(side) if self.counts else number_text.decimal(side)


def kind_of(*, counts: bool, numbers: bool) -> str:
    """Return what outcomes are.

    >>> kind_of(counts=True, numbers=False), kind_of(counts=False, numbers=True)
    ('labels', 'numbers')
    """
    if numbers:
        return NUMBERS
    return LABELS if counts else PROBABILITIES


def sentences_for(entry: Mapping[str, Any]) -> Sentences:
    """Return how the score of a mining is told, by what its details hold."""
    outcomes = kind_of(counts=entry["counts"], numbers=entry.get("unit") == "amount")
    return sentences_of(entry.get("score", "rate"), outcomes)


def outcome_text(favoured: str, *, named: bool = True) -> str:
    """Return the favourable outcome as sentences name it.

    >>> outcome_text(">50K"), outcome_text("the favourable outcome", named=False)
    ('the outcome >50K', 'the favourable outcome')
    """
    if named:
        return messages.NAMED_OUTCOME.format(label=favoured)
    return favoured


def points_apart(estimate: Estimate) -> str:
    """Return how far apart two rates are, in points; of two means, in their unit.

    >>> from evenhand.statistics.estimate import Estimate
    >>> points_apart(Estimate(0.273, 0.251, 0.294, 100, 0.95, "melded"))
    'difference 27.3 points, 25.1 to 29.4'
    """
    if estimate.unit == "amount":
        if estimate.level >= 1:
            return messages.DIFFERENCE.format(points=estimate.value_text)
        interval = estimate.interval_text
        return messages.DIFFERENCE_BETWEEN.format(
            points=estimate.value_text, interval=interval
        )
    digits = number_text.percent_decimals(estimate.low, estimate.high, most=4)
    limit = estimate.beside
    value = number_text.points_bare(estimate.value, digits, limit=limit)
    points = f"{value} points"
    if estimate.level >= 1:
        return messages.DIFFERENCE.format(points=points)
    interval = number_text.points_between(estimate.low, estimate.high, digits, limit=limit)
    return messages.DIFFERENCE_BETWEEN.format(points=points, interval=interval)
