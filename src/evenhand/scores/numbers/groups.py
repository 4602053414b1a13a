"""Numbers by group: means, medians and errors of outcomes on a scale, and how far apart they are.

Each statistic of each set of features is a finding: the highest value of a group minus the lowest,
in the unit of the outcomes. Those with a limit hold together at the level, all of them where none
has one, and so do the intervals of the groups of each.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.results.evidence import Finding, Group
from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError, nearest
from evenhand.runtime.label_text import group_text
from evenhand.statistics import means
from evenhand.statistics.estimate import Amount, check_amount, check_limit

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Label
    from evenhand.statistics.intervals import Floats, Limits
    from evenhand.statistics.spending import Spending

UNITS = ("spread", "outcome")
"""What a limit of numbers is in: shares of the spread of outcomes, or their own unit."""
MEAN, MEDIAN = "mean", "median"
BIAS, ABSOLUTE, ROOT = "mean error", "mean absolute error", "root mean squared error"
OF_OUTCOMES = (MEAN, MEDIAN)
"""What is compared of outcomes."""
OF_ERRORS = (BIAS, ABSOLUTE, ROOT)
"""What is compared of outcomes and what they should have been."""
MOST_GROUPS = 1000
"""The most groups of numbers that are compared, pair by pair."""
METHODS = {MEDIAN: "order statistics", ROOT: "Student, corrected for skewness"}
"""How intervals are made."""
WELCH = "Welch, corrected for skewness"


@dataclass(frozen=True, slots=True)
class Assurance:
    """How sure findings are to be: at which level, and how many of them hold together."""

    level: float
    among: int = 1
    population: str = ""
    exact: bool = False
    """Whether the numbers are all there are, so that nothing has an interval."""
    look: float = 1.0
    """The part of the error that is left to this look at the numbers."""
    spending: Spending | None = None
    """Where the error goes, which sets `among`; None where `among` findings share it."""

    def of(self, *, limited: bool) -> Assurance:
        """Return how sure a finding with or without a limit is to be."""
        if self.spending is None:
            return self
        return replace(self, among=self.spending.among(limited=limited))

    def describes(self, *, limited: bool) -> bool:
        """Return whether an interval with or without a limit is descriptive."""
        if self.spending is None or self.exact:
            return False
        return self.spending.describes(limited=limited)

    @property
    def error(self) -> float:
        """The error of each finding by itself."""
        return self.look * (1 - self.level) / self.among

    def method(self, statistic: str) -> str:
        """Return how the interval of a finding is made, in words."""
        if self.exact:
            return "enumerated"
        name = METHODS.get(statistic, WELCH)
        if self.among > 1:
            return f"{name}, simultaneous over {self.among}"
        return name


@dataclass(frozen=True, eq=False)
class NumberGroups:
    """Numbers of the people of some groups, who share the values of a set of features.

    >>> pay = np.array([20.0, 21.0, 30.0, 31.0])
    >>> groups = NumberGroups(("sex",), ({"sex": "F"}, {"sex": "M"}), pay, np.array([0, 0, 1, 1]))
    >>> found = groups.finding(MEAN, Assurance(0.95, exact=True), None)
    >>> print(found.claim, found.estimate, sep=": ")
    the mean outcome is 30.5 for sex M, and 20.5 for sex F: 10 (enumerated)
    """

    names: tuple[str, ...]
    about: Sequence[Mapping[str, Label]]
    numbers: Floats
    group: NDArray[np.intp]
    """The group of each number, as a place in `about`."""
    errors: Floats | None = None
    """What each number is over what it should have been."""
    weights: Floats | None = None
    """What each number counts, where all are known."""
    compared: NDArray[np.bool_] | None = None
    """Which groups are compared; all where None."""
    outcome: str = "outcome"
    """What claims call a number."""
    output: str = ""

    @property
    def statistics(self) -> tuple[str, ...]:
        """What is compared."""
        if self.errors is None:
            return OF_OUTCOMES
        return (*OF_OUTCOMES, *OF_ERRORS)

    @cached_property
    def sizes(self) -> NDArray[np.intp]:
        """How many numbers each group has."""
        return np.bincount(self.group, minlength=len(self.about))

    @cached_property
    def compared_places(self) -> NDArray[np.intp]:
        """The places of the groups that are compared."""
        if self.compared is None:
            return np.arange(len(self.about))
        return np.flatnonzero(self.compared)

    @property
    def comparable(self) -> bool:
        """Whether two groups or more that are compared have numbers."""
        return int((self.sizes[self.compared_places] > 0).sum()) >= 2

    def findings(self, assurance: Assurance, limit: float | None) -> list[Finding]:
        """Return a finding for each statistic."""
        return [self.finding(name, assurance, limit) for name in self.statistics]

    def finding(self, statistic: str, assurance: Assurance, limit: float | None) -> Finding:
        """Return how far apart groups are in a statistic, with the value of each group."""
        limited = limit is not None
        groups = self.estimates(statistic, assurance)
        apart = self.spread(statistic, assurance.of(limited=limited))
        return Finding(
            self._claim(statistic, groups),
            self.names,
            replace(apart, descriptive=assurance.describes(limited=limited)),
            limit,
            groups=tuple(map(Group, self.about, [group.described() for group in groups])),
            output=self.output,
            score=f"{statistic} difference",
        )

    def _claim(self, statistic: str, groups: Sequence[Amount]) -> str:
        features = " and ".join(self.names)
        if not self.comparable:
            return f"fewer than two groups of {features} have outcomes to compare"
        known = [at for at in self.compared_places.tolist() if groups[at].n]
        best = max(known, key=lambda at: groups[at].value)
        worst = min(known, key=lambda at: groups[at].value)
        what = f"the {statistic}"
        if statistic in OF_OUTCOMES:
            what = f"the {statistic} {self.outcome}"
        elif self.output:
            what = f"the {statistic} of {self.output}"
        sign = "+" if statistic == BIAS else ""
        high = number_text.amount(groups[best].value, sign=sign)
        low = number_text.amount(groups[worst].value, sign=sign)
        if groups[best].value == groups[worst].value:
            return f"{what} is {high} in every group of {features}"
        best_text, worst_text = self._text(best), self._text(worst)
        return f"{what} is {high} for {best_text}, and {low} for {worst_text}"

    def _text(self, place: int) -> str:
        return group_text(self.about[place])

    def values(self, statistic: str) -> Floats:
        """Return the statistic of each group, NaN of those without numbers."""
        found = [self._value(statistic, part) for part in self._parts(statistic)]
        return np.array(found)

    def spread(self, statistic: str, assurance: Assurance) -> Amount:
        """Return the highest value of a group that is compared minus the lowest."""
        n = int(self.sizes[self.compared_places].sum())
        level = 1.0 if assurance.exact else assurance.level
        method = assurance.method(statistic)
        if not self.comparable:
            nothing = (math.nan, 0.0, math.inf, 0)
            return Amount(*nothing, assurance.level, method, assurance.population)
        values = self.values(statistic)[self.compared_places]
        value = float(np.nanmax(values) - np.nanmin(values))
        low = high = value
        if not assurance.exact:
            low, high = self._spread_limits(statistic, assurance.error)
        lowest = min(low, value)
        highest = max(high, value)
        return Amount(value, lowest, highest, n, level, method, assurance.population)

    def estimates(self, statistic: str, assurance: Assurance) -> list[Amount]:
        """Return the value of each group, with intervals that hold for all groups together."""
        values = self.values(statistic)
        lows = highs = values
        level = 1.0 if assurance.exact else assurance.level
        groups = len(values)
        method = assurance.method(statistic)
        descriptive = assurance.describes(limited=False)
        if not assurance.exact:
            tail = assurance.look * (1 - assurance.level) / (2 * groups)
            lows, highs = self._limits(statistic, tail, np.arange(groups))
            name = METHODS.get(statistic, WELCH)
            method = f"{name}, simultaneous over {groups} groups"
        found = []
        for value, low, high, n in zip(values, lows, highs, self.sizes, strict=True):
            if not n:
                ends = (math.nan, -math.inf, math.inf, 0)
                found.append(
                    Amount(
                        *ends,
                        assurance.level,
                        method,
                        assurance.population,
                        descriptive=descriptive,
                    )
                )
                continue
            lowest = min(float(low), float(value))
            highest = max(float(high), float(value))
            found.append(
                Amount(
                    float(value),
                    lowest,
                    highest,
                    int(n),
                    level,
                    method,
                    assurance.population,
                    descriptive=descriptive,
                )
            )
        return found

    def _parts(self, statistic: str) -> list[tuple[Floats, Floats | None]]:
        """Return the numbers that a statistic is of, and their weights, by group."""
        numbers = self._transformed(statistic)
        order = np.argsort(self.group, kind="stable")
        ends = np.cumsum(self.sizes)[:-1]
        parts = np.split(numbers[order], ends)
        if self.weights is None:
            return [(part, None) for part in parts]
        weights = np.split(self.weights[order], ends)
        return list(zip(parts, weights, strict=True))

    def _transformed(self, statistic: str) -> Floats:
        """Return the numbers whose mean or median a statistic is, or the root of it."""
        if statistic in OF_OUTCOMES or self.errors is None:
            return self.numbers
        if statistic == BIAS:
            return self.errors
        if statistic == ABSOLUTE:
            return np.abs(self.errors)
        return self.errors**2

    def _value(self, statistic: str, part: tuple[Floats, Floats | None]) -> float:
        numbers, weights = part
        if not len(numbers) or (weights is not None and not weights.any()):
            return math.nan
        if statistic == MEDIAN:
            return _median(numbers, weights)
        mean = _mean(numbers, weights)
        if statistic == ROOT:
            return math.sqrt(mean)
        return mean

    def _limits(self, statistic: str, tail: float, places: NDArray[np.intp]) -> Limits:
        """Return the limits of the statistic of some groups, each with this error."""
        if statistic == MEDIAN:
            parts = self._parts(statistic)
            return means.median_limits([parts[at][0] for at in places], tail)
        moments = self._moments(statistic).at(places)
        if statistic == ROOT:
            return means.root_limits(moments, tail)
        return means.mean_limits(moments, tail)

    def _moments(self, statistic: str) -> means.Moments:
        numbers = self._transformed(statistic)
        return means.Moments.of(numbers, self.group, len(self.about))

    def _spread_limits(self, statistic: str, error: float) -> tuple[float, float]:
        """Return the limits of the largest difference between groups."""
        places = self.compared_places
        if statistic not in (MEDIAN, ROOT):
            return means.mean_spread(self._moments(statistic).at(places), error)
        inner, outer = means.spread_tails_of_limits(len(places), error)
        inner_limits = self._limits(statistic, inner, places)
        outer_limits = self._limits(statistic, outer, places)
        return means.spread_of_limits(inner_limits, outer_limits)


def _mean(numbers: Floats, weights: Floats | None) -> float:
    """Return a mean that rounds once, whatever the order of the numbers."""
    if weights is None:
        return math.fsum(numbers.tolist()) / len(numbers)
    total = math.fsum((numbers * weights).tolist())
    return total / math.fsum(weights.tolist())


def _median(numbers: Floats, weights: Floats | None) -> float:
    """Return the median; of weighted numbers, the least that half of the weight does not exceed."""
    if weights is None:
        return float(np.median(numbers))
    order = np.argsort(numbers, kind="stable")
    heavier = np.cumsum(weights[order])
    place = int(np.searchsorted(heavier, heavier[-1] / 2))
    return float(numbers[order][place])


def limit_in_units(limit: float | None, units: str, spread: float) -> float | None:
    """Return a limit in the unit of the outcomes.

    >>> limit_in_units(0.1, "spread", 2400.0), limit_in_units(500, "outcome", 2400.0)
    (240.0, 500.0)
    """
    check_units(units)
    if limit is None:
        return None
    if units == "outcome":
        return check_amount(limit)
    return check_limit(limit) * spread


def check_units(units: str) -> None:
    """Refuse what a limit cannot be in."""
    if units not in UNITS:
        raise UsageError(f"units = {units!r} is unknown; {nearest(units, UNITS)}")


def limit_note(limit: float | None, units: str, spread: float) -> list[str]:
    """Return what a limit that is a share of the spread is in the unit of the outcomes."""
    if limit is None or units == "outcome":
        return []
    share = number_text.percent_plain(limit)
    amount = number_text.amount(limit * spread)
    return [
        f"the limit of {share} is of the spread of outcomes,"
        f" {number_text.amount(spread)}: {amount}; units = 'outcome' takes it in their own unit"
    ]
