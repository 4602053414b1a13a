"""Discoveries: rule sets that are found with a bound on the share of false ones among them.

The rule sets of a mining overlap, so that their scores depend on each other in every way; the
procedure of Benjamini and Yekutieli holds for all of these. The intervals of what it finds have a
false coverage rate (Benjamini and Yekutieli 2005): they are those of one rule set among as many as
the error is shared among, and exclude the limit exactly where the rule set is found.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.mine.counting.rule_table import blocks
from evenhand.statistics.discoveries import adjusted, discovered, share_of_one
from evenhand.statistics.simultaneous import quantile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.methods.mine.ranking import Ranking
    from evenhand.statistics.intervals import Floats
    from evenhand.statistics.simultaneous import SimultaneousIntervals

    Rows = NDArray[np.intp]

MOST_TESTED = 200_000
"""The most rule sets whose errors are computed; all others are taken for undiscovered."""
AT_ONCE = 4096
"""Rule sets whose errors are computed at once, for memory."""
ENOUGH = 0.7
"""The part of what it takes to be found alone that a rule set must seem to have to be tested."""
_LEAST = 1e-300
"""Stands for 0 where it divides."""


@dataclass(frozen=True, eq=False)
class Discoveries:
    """How many rule sets of all are found, and what is known together of those that are not."""

    found: int
    examined: int
    simultaneous: SimultaneousIntervals
    """The intervals that hold for all rule sets together."""

    @property
    def intervals(self) -> SimultaneousIntervals:
        """The intervals of what is found, at the false coverage rate of the level."""
        shared = share_of_one(self.examined, self.found)
        return replace(self.simultaneous, among=shared)

    def beside(self, low: float, limit: float) -> float:
        """Return a lower limit on the side of the limit that a rule set was found to be on.

        It is there but for rounding: rule sets are found exactly where it is.
        """
        if self.found:
            # A limit of 0 is exceeded by anything over it.
            return max(low, limit or math.ulp(0.0))
        return min(low, math.nextafter(limit, 0.0))


@dataclass(frozen=True, eq=False)
class RuleSearch:
    """The rule sets of one mining, their intervals, and the limit that they are held against."""

    ranking: Ranking
    intervals: SimultaneousIntervals
    limit: float
    """As a share of the range of outcomes, where these are numbers."""


def discover(searched: Sequence[RuleSearch], level: float) -> int:
    """Mark which rule sets of several minings are discoveries, and return how many are.

    Each ranking gets its `rates`: the least false discovery rate at which each of its rule sets is
    found.
    """
    examined = sum(part.ranking.examined for part in searched)
    promises = [_promise(part) for part in searched]
    likely = _likely(promises, least=min(_least_promise(part) for part in searched))
    errors = []
    for part, numbers in zip(searched, likely, strict=True):
        errors.append(_errors(part, numbers))
    every = np.concatenate(errors)
    rates = adjusted(every, among=examined)
    edges = np.cumsum([len(numbers) for numbers in likely])
    by_mining = np.split(rates, edges[:-1])
    for part, numbers, rates_of_mining in zip(searched, likely, by_mining, strict=True):
        part.ranking.rates = np.ones(part.ranking.examined)
        part.ranking.rates[numbers] = rates_of_mining
    return discovered(every, level, among=examined)


def _promise(part: RuleSearch) -> Floats:
    """Return by about how many reaches of its interval each rule set is over the limit."""
    ranking = part.ranking
    promise = np.empty(ranking.examined)
    for some in blocks(ranking.examined):
        inside, outside = ranking.shares(some)
        distance = np.abs(inside - outside)
        strength = part.intervals.strength_of(ranking.sides(ranking.counts(some)))
        error = np.maximum(distance - strength, _LEAST)
        promise[some] = (distance - part.limit) / error
    return promise


def _least_promise(part: RuleSearch) -> float:
    """Return a promise under which no rule set would be found were it the only one, by far."""
    tail = part.intervals.tail
    tail_alone = min(tail * part.intervals.among, 0.5)
    return ENOUGH * max(quantile(tail_alone), 0.0) / quantile(tail)


def _likely(promises: Sequence[Floats], *, least: float) -> list[Rows]:
    """Return of each mining the rule sets that may be discoveries, as many as are tested."""
    every = np.concatenate(promises)
    if len(every) > MOST_TESTED:
        least = max(least, float(np.partition(every, -MOST_TESTED)[-MOST_TESTED]))
    return [np.flatnonzero(promise >= least) for promise in promises]


def _errors(part: RuleSearch, numbers: Rows) -> Floats:
    """Return the least error at which each of some rule sets is shown to be over the limit."""
    errors = np.ones(len(numbers))
    for start in range(0, len(numbers), AT_ONCE):
        some = numbers[start : start + AT_ONCE]
        sides = part.ranking.sides(part.ranking.counts(some))
        errors[start : start + AT_ONCE] = part.intervals.error_of(sides, part.limit)
    return errors
