"""MetricTable: several rates of groups in one table, how far apart they are, and in what ratio."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.recorded import label_of
from evenhand.results.evidence import Finding, Group
from evenhand.runtime import number_text
from evenhand.runtime.label_text import group_text
from evenhand.runtime.values import as_outcomes
from evenhand.statistics.error_rates import RATES
from evenhand.statistics.estimate import Estimate
from evenhand.statistics.intervals import share_of
from evenhand.statistics.ratios import Contrast
from evenhand.statistics.spending import ALONE, Spending

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Label
    from evenhand.statistics.intervals import Floats
    from evenhand.subject.view import View

COUNTED = (
    ((1, 1), "true_positives"),
    ((0, 1), "false_positives"),
    ((0, 0), "true_negatives"),
    ((1, 0), "false_negatives"),
    ((2, 1), "selected_of_unknown_truth"),
    ((2, 0), "not_selected_of_unknown_truth"),
)
"""What the cells of a group are called in JSON."""


@dataclass(frozen=True)
class RateLimits:
    """The limits of some rates: the most that their difference, the least that their ratio may be.

    >>> limits = RateLimits(("precision", "accuracy"), ratio=0.8)
    >>> limits.number, limits.of_ratio("accuracy"), limits.of_ratio("selection_rate")
    (2, 0.8, None)
    """

    judged: tuple[str, ...] = ()
    """The rates that the limits are for."""
    difference: float | None = None
    ratio: float | None = None

    @property
    def number(self) -> int:
        """How many findings of one set have a limit."""
        given = (self.difference is not None) + (self.ratio is not None)
        return given * len(self.judged)

    def of_difference(self, metric: str) -> float | None:
        """Return the limit of the difference of a rate, None where there is none."""
        return self.difference if metric in self.judged else None

    def of_ratio(self, metric: str) -> float | None:
        """Return the least ratio of a rate, None where there is none."""
        return self.ratio if metric in self.judged else None


NO_LIMITS = RateLimits()


@dataclass(frozen=True)
class MetricTable:
    """The rates of groups: each with its interval, their difference, and their ratio.

    `counts` is a table of counts as `statistics.error_rates` describes it. `spending` says which
    intervals hold together at the level, and which are descriptive beside those that have limits.
    With a level of 1 the groups are the whole population, and nothing has an interval.
    """

    over: tuple[str, ...]
    about: Sequence[Mapping[str, Label]]
    counts: Floats
    metrics: tuple[str, ...]
    level: float
    spending: Spending = ALONE
    limits: RateLimits = NO_LIMITS
    population: str = ""
    compared: NDArray[np.intp] | None = None
    """Positions of the groups that are compared; by default all of them."""
    unlisted: int = 0
    """How many groups without rows there are, where they are too many to list."""
    rows: Floats | None = None
    """How many rows each cell has, where weights make its count."""

    @cached_property
    def _differences(self) -> dict[str, Estimate]:
        """The differences that were computed before; findings and JSON both tell them."""
        return {}

    @cached_property
    def _ratios(self) -> dict[str, Estimate]:
        """The ratios that were computed before."""
        return {}

    @property
    def _features(self) -> str:
        return " and ".join(self.over)

    @cached_property
    def _compared(self) -> NDArray[np.intp]:
        if self.compared is None:
            return np.arange(len(self.about))
        return self.compared

    def _contrast(
        self, metric: str, positions: NDArray[np.intp], *, limited: bool = False
    ) -> Contrast:
        hits, size = RATES[metric].counted(self.counts[positions])
        # Of a whole population nothing but the shares is taken, which have no level.
        return Contrast(
            hits,
            size,
            self.level,
            self.spending.among(limited=limited),
            self.population,
            descriptive=self.spending.describes(limited=limited),
        )

    def _with_nobody(self, metric: str, *, limited: bool = False) -> Contrast:
        """Return the groups that are compared; one without rows stands for all not listed."""
        contrast = self._contrast(metric, self._compared, limited=limited)
        if not self.unlisted:
            return contrast
        hits = np.append(contrast.hits, 0.0)
        size = np.append(contrast.size, 0.0)
        return replace(contrast, hits=hits, size=size)

    def _exact(self, value: float, n: float) -> Estimate:
        if math.isnan(value):
            return Estimate(math.nan, 0.0, 1.0, 0, 1.0, "enumerated", self.population)
        return Estimate(value, value, value, int(n), 1.0, "enumerated", self.population)

    @property
    def _people(self) -> Floats:
        """How many people each cell has, whatever they weigh."""
        if self.rows is None:
            return self.counts
        return self.rows

    @cached_property
    def _sizes(self) -> dict[str, Floats]:
        """How many people each rate of each group rests on."""
        sizes = {}
        for metric in self.metrics:
            _, size = RATES[metric].counted(self._people)
            sizes[metric] = size
        return sizes

    def rates(self, metric: str) -> list[Estimate]:
        """Return the rate of each group, also of those that are not compared."""
        contrast = self._contrast(metric, np.arange(len(self.about)))
        if self.level < 1:
            return contrast.rates()
        return self._all_exact(contrast.shares, self._sizes[metric])

    def _all_exact(self, shares: Floats, sizes: Floats) -> list[Estimate]:
        estimates = []
        for share, n in zip(shares.tolist(), sizes.tolist(), strict=True):
            estimates.append(self._exact(share, n))
        return estimates

    def difference(self, metric: str) -> Estimate:
        """Return the highest rate minus the lowest."""
        if metric not in self._differences:
            self._differences[metric] = self._difference(metric)
        return self._differences[metric]

    def _difference(self, metric: str) -> Estimate:
        limited = self.limits.of_difference(metric) is not None
        contrast = self._with_nobody(metric, limited=limited)
        if self.level < 1:
            return contrast.difference()
        value = math.nan
        if contrast.comparable:
            lowest, highest = _extremes(contrast)
            value = float(highest - lowest)
        return self._exact(value, self._compared_size(metric))

    def ratio(self, metric: str) -> Estimate:
        """Return the lowest rate divided by the highest."""
        if metric not in self._ratios:
            self._ratios[metric] = self._ratio(metric)
        return self._ratios[metric]

    def _ratio(self, metric: str) -> Estimate:
        limited = self.limits.of_ratio(metric) is not None
        contrast = self._with_nobody(metric, limited=limited)
        if self.level < 1:
            return contrast.ratio()
        value = math.nan
        if contrast.comparable and contrast.hits.any():
            lowest, highest = _extremes(contrast)
            value = float(lowest / highest)
        return self._exact(value, self._compared_size(metric))

    def _compared_size(self, metric: str) -> float:
        """Return how many people a rate of the groups that are compared rests on."""
        sizes = self._sizes[metric]
        return float(sizes[self._compared].sum())

    def to_best(self, metric: str) -> list[Estimate]:
        """Return the rate of each group that is compared, divided by the highest."""
        contrast = self._contrast(metric, self._compared)
        if self.level < 1:
            ratios = self._with_nobody(metric).to_best()
            return ratios[: len(self._compared)]
        highest = math.nan
        if contrast.hits.any():
            highest = float(np.nanmax(contrast.shares))
        sizes = self._sizes[metric]
        return self._all_exact(contrast.shares / highest, sizes[self._compared])

    def findings(self) -> list[Finding]:
        """Return the difference and the ratio of each rate, with their limits."""
        found = []
        for metric in self.metrics:
            found += [self.difference_finding(metric), self.ratio_finding(metric)]
        return found

    def difference_finding(self, metric: str) -> Finding:
        """Return what is found of the difference of a rate, with the rate of each group."""
        return Finding(
            self._difference_claim(metric),
            self.over,
            self.difference(metric),
            self.limits.of_difference(metric),
            groups=tuple(map(Group, self.about, self.rates(metric))),
            score=f"{RATES[metric].title} difference",
        )

    def ratio_finding(self, metric: str) -> Finding:
        """Return what is found of the ratio of a rate, with the ratio of each group."""
        compared = [self.about[at] for at in self._compared]
        return Finding(
            self._ratio_claim(metric),
            self.over,
            self.ratio(metric),
            self.limits.of_ratio(metric),
            groups=tuple(map(Group, compared, self.to_best(metric))),
            least=True,
            score=f"{RATES[metric].title} ratio",
        )

    def _difference_claim(self, metric: str) -> str:
        rate = RATES[metric]
        named = f"{rate.article} {rate.title}"
        contrast = self._contrast(metric, self._compared)
        if not contrast.comparable:
            return f"fewer than two groups of {self._features} have {named} to compare"
        best = int(np.nanargmax(contrast.shares))
        worst = int(np.nanargmin(contrast.shares))
        high = number_text.percent(contrast.shares[best])
        low = number_text.percent(contrast.shares[worst])
        if contrast.shares[best] == contrast.shares[worst]:
            return f"every group of {self._features} has {named} of {high}"
        best_group = group_text(self.about[self._compared[best]])
        worst_group = group_text(self.about[self._compared[worst]])
        return f"{best_group} has {named} of {high}, {worst_group} of {low}"

    def _ratio_claim(self, metric: str) -> str:
        title = RATES[metric].title
        contrast = self._contrast(metric, self._compared)
        undefined = (
            f"by {self._features}, the ratio of the lowest {title} to the highest is"
            " undefined"
        )
        if not contrast.comparable:
            return f"{undefined}: fewer than two groups have one"
        highest = np.nanmax(contrast.shares)
        if highest == 0:
            return f"{undefined}: it is 0 in every group"
        share = number_text.percent_of(np.nanmin(contrast.shares), highest)
        return f"by {self._features}, the lowest {title} is {share} of the highest"

    def to_dict(self) -> dict[str, Any]:
        """Return the table as JSON holds it."""
        rates = {metric: self.rates(metric) for metric in self.metrics}
        compared = set(self._compared.tolist())
        groups = []
        for place, about in enumerate(self.about):
            estimates = {}
            for name, column in rates.items():
                estimates[name] = column[place].to_dict()
            cells = self._people[place]
            group = {
                "about": dict(about),
                "n": int(cells.sum()),
                "compared": place in compared,
                "counts": _counts(cells),
                "rates": estimates,
            }
            groups.append(group)
        differences = {}
        ratios = {}
        for metric in self.metrics:
            differences[metric] = self.difference(metric).to_dict()
            ratios[metric] = self.ratio(metric).to_dict()
        return {
            "over": list(self.over),
            "metrics": list(self.metrics),
            "groups": groups,
            "difference": differences,
            "ratio": ratios,
        }


def _extremes(contrast: Contrast) -> tuple[Fraction, Fraction]:
    """Return the lowest and the highest rate without rounding.

    A score that equals a limit must not slip to its other side.
    """
    lowest = _share(contrast, int(np.nanargmin(contrast.shares)))
    highest = _share(contrast, int(np.nanargmax(contrast.shares)))
    return lowest, highest


def _share(contrast: Contrast, place: int) -> Fraction:
    hits = Fraction(float(contrast.hits[place]))
    size = Fraction(float(contrast.size[place]))
    return hits / size


def _counts(cells: Floats) -> dict[str, int]:
    return {name: int(cells[place]) for place, name in COUNTED}


def counts_by(
    places: NDArray[np.intp],
    groups: int,
    truth: NDArray[np.intp],
    decided: NDArray[np.bool_],
    weights: Floats | None = None,
) -> Floats:
    """Return the table of counts of people, given the group of each, its truth and its decision.

    A truth of 2 is not known, and a negative group is none.

    >>> places = np.array([0, 0, 1])
    >>> counts = counts_by(places, 2, np.array([1, 0, 2]), np.array([True, False, True]))
    >>> counts[0].tolist(), counts[1].tolist()
    ([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 0.0], [0.0, 1.0]])
    """
    inside = places >= 0
    cell = (places * 3 + truth) * 2 + decided
    weight = None if weights is None else weights[inside]
    sums = np.bincount(cell[inside], weight, minlength=groups * 6)
    return np.asarray(sums, dtype=np.float64).reshape(groups, 3, 2)


def shares(counts: Floats, metric: str) -> Floats:
    """Return a rate of each group, NaN where nobody is in it."""
    hits, size = RATES[metric].counted(counts)
    return share_of(hits, size, math.nan)


def true_outcomes(values: Sequence[Any], view: View, favourable: Any) -> NDArray[np.intp]:
    """Return what people should get: 0, 1 where it is favourable, or 2 where that is not known.

    `favourable` is the value that stands for it; where it is None, what the software calls so.
    """
    import pandas as pd

    codes, distinct = pd.factorize(pd.Series(list(values), dtype=object))
    labels = [label_of(value) for value in distinct]
    if favourable is None:
        are_good = view.favourable(as_outcomes(labels))
    else:
        wanted = str(label_of(favourable))
        are_good = np.array([str(label) == wanted for label in labels], dtype=np.bool_)
    # The last place is that of people without a value, whose code is -1.
    places = np.append(np.asarray(are_good, dtype=np.intp), 2)
    return np.asarray(places[codes])
