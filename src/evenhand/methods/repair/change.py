"""A score before and after a repair, with how far it fell and what part of it is gone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from evenhand.methods.repair import messages
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.statistics.estimate import Amount, Estimate

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class PairedChange:
    """A score before and after a repair.

    `fall` is before minus after; `fewer` is what part of it is gone, 1 - after / before.

    All four intervals hold together. Where the score before was 0, `fewer` is 0 if it stayed there
    and minus infinity if it did not; where that cannot be ruled out, minus infinity is its lower
    limit. JSON has None for it.

    >>> from evenhand.methods.repair.paired import paired
    >>> change = paired([1] * 50 + [0] * 950, [1] * 5 + [0] * 995, level=0.95, population="all")
    >>> print(change)
    fell: 5 % before, 0.5 % after, 90 % fewer \
(73.5 % fewer to 97.7 % fewer, 95 % level, n = 1,000, population: all)
    """

    before: Estimate
    after: Estimate
    fall: Amount
    fewer: Amount

    @property
    def verdict(self) -> Literal["fell", "rose", "unsure"]:
        """Whether the score clearly fell, clearly rose, or neither."""
        if self.fall.low > 0:
            return "fell"
        if self.fall.high < 0:
            return "rose"
        return "unsure"

    @classmethod
    def none(cls, estimate: Estimate) -> PairedChange:
        """Return the change where nothing was changed.

        >>> PairedChange.none(Estimate.exact(1, 4)).verdict
        'unsure'
        """
        zero = Amount(0.0, 0.0, 0.0, estimate.n, estimate.level, "unchanged")
        return cls(estimate, estimate, zero, zero)

    def to_dict(self) -> dict[str, Any]:
        """Return the change as JSON-ready values; what is infinite or unknown is None.

        >>> from evenhand.methods.repair.paired import paired
        >>> paired([0, 0], [0, 0], level=0.95, population="").to_dict()["fewer"]["low"] is None
        True
        """
        table: dict[str, Any] = {"verdict": self.verdict}
        for name in ("before", "after", "fall", "fewer"):
            table[name] = _finite(getattr(self, name).to_dict())
        return table

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> PairedChange:
        """Return the change that `to_dict` wrote.

        >>> change = PairedChange.none(Estimate.exact(1, 4))
        >>> PairedChange.from_dict(change.to_dict()) == change
        True
        """
        try:
            before = Estimate.from_dict(found["before"])
            after = Estimate.from_dict(found["after"])
            fall = Estimate.from_dict(found["fall"])
            fewer = Estimate.from_dict(_with_infinity(found["fewer"]))
        except (KeyError, TypeError, AttributeError) as error:
            message = messages.CHANGE_UNREADABLE.format(error=repr(error))
            raise UsageError(message) from None
        if not isinstance(fall, Amount) or not isinstance(fewer, Amount):
            raise UsageError(messages.CHANGE_WITHOUT_AMOUNTS)
        return cls(before, after, fall, fewer)

    def __str__(self) -> str:
        before = _share_text(self.before)
        after = _share_text(self.after)
        facts = ", ".join(self._facts())
        if not math.isfinite(self.fewer.value) or not self.fewer.n:
            return messages.CHANGE.format(
                verdict=self.verdict, before=before, after=after, facts=facts
            )
        return messages.CHANGE_WITH_PART.format(
            verdict=self.verdict,
            before=before,
            after=after,
            part=_part_text(self.fewer.value),
            facts=facts,
        )

    def _facts(self) -> list[str]:
        """Return the interval of the part that is gone, its level, n and the population."""
        facts = []
        if self.fewer.level < 1:
            facts.append(_interval_text(self.fewer))
            facts.append(self.fewer.level_text)
        n = number_text.count(self.fewer.n)
        facts.append(messages.SAMPLE_SIZE.format(n=n))
        population = self.before.population
        if population:
            facts.append(messages.POPULATION.format(population=population))
        return facts


def _finite(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with None for numbers that JSON cannot hold."""
    values = dict(table)
    for key, value in table.items():
        if isinstance(value, float) and not math.isfinite(value):
            values[key] = None
    return values


def _with_infinity(table: Mapping[str, Any]) -> dict[str, Any]:
    """Return a table with minus infinity for None: of a part that is gone, nothing else is None."""
    values = dict(table.items())
    for key, value in table.items():
        if value is None:
            values[key] = -math.inf
    return values


def _share_text(estimate: Estimate) -> str:
    if math.isnan(estimate.value):
        return "unknown"
    return number_text.percent_part(estimate.value)


def _part_text(fewer: float) -> str:
    if fewer >= 0:
        return messages.PART_FEWER.format(percent=number_text.percent_part(fewer))
    return messages.PART_MORE.format(percent=number_text.percent_part(-fewer))


def _interval_text(fewer: Amount) -> str:
    high = _part_text(fewer.high)
    if not math.isinf(fewer.low):
        return messages.PART_BETWEEN.format(low=_part_text(fewer.low), high=high)
    # Without a lower limit, "x fewer" is the most that can be gone, and "x more" the least rise.
    if fewer.high >= 0:
        return messages.PART_AT_MOST.format(part=high)
    return messages.PART_AT_LEAST.format(part=high)
