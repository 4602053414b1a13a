"""impact of outcomes that are numbers: means, medians and errors by category, and ratios of means.

Where no decision is favourable there is no selection rate; what a category gets on average stands
in its place, and its ratio to the highest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.methods.impact import messages
from evenhand.methods.impact.tally import normalised
from evenhand.results.evidence import Finding
from evenhand.runtime import number_text
from evenhand.scores.numbers.groups import MEAN, Assurance
from evenhand.scores.numbers.recorded import RecordedNumbers, read_columns
from evenhand.statistics.estimate import Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from evenhand.population.cuts import Cuts
    from evenhand.runtime.label_text import Words
    from evenhand.scores.numbers.groups import NumberGroups
    from evenhand.scores.numbers.recorded import NumberColumns, RecordedTerms
    from evenhand.statistics.estimate import Amount
    from evenhand.statistics.spending import Spending


@dataclass(eq=False)
class NumberImpact:
    """The findings of numbers by category."""

    recorded: RecordedNumbers
    least_ratio: float | None = None

    @classmethod
    def of(
        cls,
        table: Any,
        sets: Sequence[tuple[str, ...]],
        outcome: str,
        terms: RecordedTerms,
        *,
        names: Sequence[str],
        truth: str | None,
        cuts: Mapping[str, Cuts],
        unknown: Iterable[Any],
        least_ratio: float | None,
        words: Mapping[str, Words],
    ) -> NumberImpact:
        """Read the columns that are compared; some labels stand for an unknown category."""
        unknown_labels = {normalised(label) for label in unknown} | {""}
        columns = read_columns(
            table,
            names,
            outcome,
            truth=truth,
            cuts=cuts,
            is_unknown=lambda label: normalised(label) in unknown_labels,
        )
        named = replace(columns, words=words)
        return cls(RecordedNumbers(named, sets, terms), least_ratio)

    @property
    def columns(self) -> NumberColumns:
        """The rows that are compared."""
        return self.recorded.columns

    @property
    def spending(self) -> Spending:
        """Where the error goes: to the ratios where they have a limit, else to everything."""
        sets = len(self.recorded.sets)
        limits = 0 if self.least_ratio is None else sets
        return self.recorded.spending(besides=sets, limits_besides=limits)

    def findings(self) -> list[Finding]:
        """Return the ratio of means of each set, then all differences."""
        sets = self.recorded.sets
        terms = self.recorded.terms
        differences = self.recorded.findings(self.spending)
        assurance = Assurance(
            terms.level, population=terms.population, spending=self.spending
        )
        notes = list(self.recorded.notes)
        left_out = list(self.recorded.left_out)
        ratios = []
        for names in sets:
            ratios.append(self._ratio(self.recorded.grouped(names), assurance))
        # Groups were noted with the differences already.
        self.recorded.notes[:] = notes
        self.recorded.left_out[:] = left_out
        return [*ratios, *differences]

    def _ratio(self, groups: NumberGroups, assurance: Assurance) -> Finding:
        """Return the lowest mean divided by the highest."""
        places = groups.compared_places
        assurance = assurance.of(limited=self.least_ratio is not None)
        tail_level = 1 - assurance.error
        means = groups.estimates(MEAN, Assurance(tail_level, 1, assurance.population))
        compared = [means[at] for at in places]
        names = " and ".join(groups.names)
        estimate = _lowest_ratio(compared, assurance)
        if math.isnan(estimate.value):
            claim = messages.MEAN_RATIO_UNDEFINED.format(names=names)
        else:
            share = number_text.percent(estimate.value)
            outcome = groups.outcome
            claim = messages.MEAN_RATIO.format(names=names, outcome=outcome, share=share)
        return Finding(
            claim,
            groups.names,
            estimate,
            self.least_ratio,
            least=True,
            score="mean ratio",
        )


def _lowest_ratio(means: Sequence[Amount], assurance: Assurance) -> Estimate:
    """Return the lowest of some means over the highest, where all of them are over 0."""
    method = assurance.method(MEAN)
    known = [mean for mean in means if mean.n]
    if len(known) < 2 or min(mean.value for mean in known) <= 0:
        nothing = (math.nan, 0.0, 1.0, 0)
        return Estimate(*nothing, assurance.level, method, assurance.population)
    lows = np.array([mean.low for mean in means])
    highs = np.array([mean.high for mean in means])
    values = np.array([mean.value for mean in known])
    value = float(values.min() / values.max())
    low = 0.0
    if np.isfinite(highs).all():
        low = max(float(lows.min() / highs.max()), 0.0)
    high = 1.0
    if lows.max() > 0:
        high = min(float(highs.min() / lows.max()), 1.0)
    n = sum(mean.n for mean in known)
    return Estimate(
        value,
        min(low, value),
        max(high, value),
        n,
        assurance.level,
        method,
        assurance.population,
    )
