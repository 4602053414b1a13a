"""Subgroups in words: conditions that one adds to another, differences, and what carries them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evenhand.methods.mine import messages
from evenhand.methods.mine.table import in_units, scores
from evenhand.runtime import number_text
from evenhand.runtime.language import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from evenhand.methods.mine.subgroups.story_parts import SignedDifference, StoryParts
    from evenhand.space.rule import Rule


def label_below(rule: Rule, above: Rule | None) -> str:
    """Return a rule in words; of one below another, the conditions that it adds to that.

    >>> from evenhand.space.rule import Condition, Rule
    >>> purple = Condition("race", levels=("purple",))
    >>> old = Condition("age", low=60)
    >>> label_below(Rule((purple, old)), Rule((purple,)))
    '… and age at least 60'
    """
    if above is None:
        return rule.spoken_text
    known = above.conditions
    added = [
        condition.spoken_text for condition in rule.conditions if condition not in known
    ]
    if not added:
        return rule.spoken_text
    return say(messages.AND_CONDITIONS, conditions=", ".join(added))


def direction_of(difference: float) -> str:
    """Return whether a difference is one of less or of more."""
    return say(messages.LESS) if difference < 0 else say(messages.MORE)


@dataclass(frozen=True, slots=True)
class UnitWords:
    """How the numbers of a mining are written: rates in percent, scores, or numbers in a unit."""

    amounts: bool = False
    graded: bool = False
    digits: int = 1

    @classmethod
    def of(cls, entry: Mapping[str, Any], ends: Iterable[float]) -> UnitWords:
        """Return how those of a mining are written, with decimals for the largest of some ends."""
        if in_units(entry):
            return cls(amounts=True)
        largest = 100 * max(map(abs, ends), default=1.0)
        digits = number_text.decimals_for(largest, most=4)
        return cls(graded=scores(entry), digits=digits)

    def rate(self, value: float) -> str:
        """Return a rate, a score or a mean.

        >>> UnitWords().rate(0.239), UnitWords(graded=True).rate(0.239)
        ('23.9 %', '0.239')
        """
        if math.isnan(value):
            return say(messages.UNKNOWN_NUMBER)
        if self.amounts:
            return number_text.amount(value)
        if self.graded:
            return number_text.decimal(value, self.digits + 2)
        return number_text.percent(value, self.digits)

    def bare(self, distance: float) -> str:
        """Return a difference without its unit."""
        if self.amounts:
            return number_text.with_minus(number_text.amount(distance))
        return number_text.with_minus(number_text.points_bare(distance, self.digits))

    def distance(self, distance: float) -> str:
        """Return a difference without its sign, in points, or in the unit of the numbers.

        >>> UnitWords().distance(-0.239)
        '23.9 points'
        """
        return self.signed(abs(distance))

    def signed(self, distance: float) -> str:
        """Return a difference in points, or in the unit of the numbers, with a minus below 0."""
        number = self.bare(distance)
        return number if self.amounts else say(messages.IN_POINTS, points=number)

    def interval(self, apart: SignedDifference) -> str:
        """Return the limits of a difference; none where it is known exactly.

        >>> from evenhand.methods.mine.subgroups.story_parts import SignedDifference
        >>> UnitWords().interval(SignedDifference(0.1, -0.1, 0.3, 0.95))
        '10.0 less to 30.0 more'
        """
        if apart.level >= 1:
            return ""
        low, high = self.bare(abs(apart.low)), self.bare(abs(apart.high))
        if apart.low < 0 < apart.high:
            return say(messages.LESS_TO_MORE, low=low, high=high)
        if apart.high <= 0:
            low, high = high, low
        return say(messages.BETWEEN, low=low, high=high)

    def apart(self, apart: SignedDifference) -> str:
        """Return a difference, its direction, and its limits in brackets.

        >>> from evenhand.methods.mine.subgroups.story_parts import SignedDifference
        >>> UnitWords().apart(SignedDifference(-0.2, -0.3, -0.1, 0.95))
        '20.0 points less (10.0 to 30.0)'
        """
        return say(
            messages.APART,
            points=self.distance(apart.value),
            direction=direction_of(apart.value),
            interval=self._in_brackets(apart),
        )

    def added(self, parts: StoryParts) -> str:
        """Return what a story adds to that above it or to those before it, if to any."""
        if parts.added is None:
            return ""
        template = messages.ADDED_STILL if parts.within else messages.ADDED_TO_ALIKE
        return say(
            template,
            points=self.distance(parts.added.value),
            direction=direction_of(parts.added.value),
            interval=self._in_brackets(parts.added),
        )

    def carried(self, parts: StoryParts) -> str:
        """Return how much of its difference each of several conditions of a story carries."""
        if len(parts.shares) < 2:
            return ""
        # What carries the difference counts up, and what counts against it has a minus.
        side = math.copysign(1.0, parts.subgroup.apart.value)
        carried = []
        for part in parts.shares:
            points = self.signed(side * part.share)
            carried.append(say(messages.CARRIED_BY, points=points, condition=part.text))
        return say(messages.CARRIED, conditions=", ".join(carried))

    def _in_brackets(self, apart: SignedDifference) -> str:
        interval = self.interval(apart)
        return say(messages.IN_BRACKETS, interval=interval) if interval else ""
