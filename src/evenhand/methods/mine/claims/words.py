"""What the claims of a mining are about, and how far apart two sides of them are, in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenhand.methods.mine import messages
from evenhand.runtime import number_text

if TYPE_CHECKING:
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

    def claim(self, rule: str, inside: float, outside: float, difference: str) -> str:
        """Return the sentence that compares the people of a rule with everyone else.

        >>> words = OutcomeWords("approve")
        >>> words.claim("sex F", 0.382, 0.109, "difference 27.3 points")[:60]
        'people with sex F get the outcome approve 38.2 % of the time'
        """
        if self.numbers:
            sentence = messages.PEOPLE_NUMBERS.format(
                outcome=self.favoured,
                rule=rule,
                mean=number_text.amount(inside),
                others=OTHERS,
                other_mean=number_text.amount(outside),
                difference=difference,
            )
        elif self.counts:
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

    def claim_of_others(self, rules: int, difference: str, *, told: bool = True) -> str:
        """Return the sentence about all rule sets that lead no story; `told` if any does."""
        count = number_text.count(rules)
        if not told:
            sentence = messages.NO_RULE_SHOWN.format(count=count, difference=difference)
        elif rules > 1:
            sentence = messages.OTHER_RULES_CLOSER.format(
                count=count, difference=difference
            )
        else:
            sentence = messages.OTHER_RULE_CLOSER.format(difference=difference)
        return among(self.score, sentence)


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
