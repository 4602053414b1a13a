"""Numbers as shares of their range, and back: what ranks rates can then rank means."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime import number_text
from evenhand.runtime.errors import UsageError
from evenhand.scores.numbers.groups import limit_in_units, limit_note
from evenhand.statistics.estimate import Amount, Estimate

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.statistics.intervals import Floats


@dataclass(frozen=True, slots=True)
class UnitScale:
    """The range that numbers have, of which they are shares.

    >>> scale, shares = UnitScale.of(np.array([20.0, 30.0, 40.0]))
    >>> shares.tolist(), scale.number(0.5), scale.distance(0.5)
    ([0.0, 0.5, 1.0], 30.0, 10.0)
    """

    low: float
    width: float
    spread: float
    """The interquartile range of the numbers, which limits are shares of."""
    gaps: bool = False
    """Whether the numbers are differences of shares, which are told in points as those are."""

    @classmethod
    def of(cls, numbers: Floats) -> tuple[UnitScale, Floats]:
        """Return the range of some numbers, and each of them as a share of it."""
        low = float(numbers.min())
        width = float(numbers.max()) - low or 1.0
        first, third = np.quantile(numbers, [0.25, 0.75])
        shares = np.clip((numbers - low) / width, 0.0, 1.0)
        return cls(low, width, float(third - first)), shares

    def number(self, share: float) -> float:
        """Return the number that is a share of the range."""
        return self.low + share * self.width

    def distance(self, share: float) -> float:
        """Return the difference of numbers that is a share of the range.

        Differences of gaps over 100 points are told as 100.
        """
        distance = share * self.width
        return min(max(distance, -1.0), 1.0) if self.gaps else distance

    @property
    def kind(self) -> type[Estimate]:
        """The kind of estimate that the numbers have."""
        return Estimate if self.gaps else Amount

    def amount(self, estimate: Estimate, *, difference: bool = False) -> Estimate:
        """Return an estimate of shares in the unit of the numbers."""
        convert = self.distance if difference else self.number
        return self.kind(
            convert(estimate.value),
            convert(estimate.low),
            convert(estimate.high),
            estimate.n,
            estimate.level,
            estimate.method,
            estimate.population,
        )

    def story(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return what is known of a rule set in the unit of the numbers, which have no ratios."""
        found = self.distances(entry, ("difference", "low", "high"))
        for key in ("rate", "other"):
            found[key] = self.amount(Estimate.from_dict(entry[key])).to_dict()
        found["like"] = [self.distances(like, ("difference",)) for like in entry["like"]]
        found["shares"] = [self.distances(part, ("share",)) for part in entry["shares"]]
        if entry["added"] is not None:
            found["added"] = self.distances(entry["added"], ("value", "low", "high"))
        found["refinements"] = [self._refinement(part) for part in entry["refinements"]]
        return found | {"ratio": None}

    def _refinement(self, entry: dict[str, Any]) -> dict[str, Any]:
        """Return what is known of a rule set within another, in the unit of the numbers."""
        found = self.distances(entry, ("difference", "low", "high"))
        for key in ("rate", "other"):
            found[key] = self.number(entry[key])
        found["refinements"] = [self._refinement(part) for part in entry["refinements"]]
        return found

    def distances(self, entry: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
        """Return an entry with some differences in the unit of the numbers."""
        return entry | {key: self.distance(entry[key]) for key in keys}


@dataclass(frozen=True, slots=True)
class UnitLimit:
    """A limit of rates, or of means in shares of the spread or in the unit of the outcomes."""

    limit: float | None = None
    units: str = "spread"

    def check(self) -> None:
        """Refuse a limit that cannot be one, before anything is asked."""
        limit_in_units(self.limit, self.units, 1.0)

    def of(self, scale: UnitScale | None) -> float | None:
        """Return the limit of rates and gaps, or with a scale that of means in their unit."""
        if scale is not None and not scale.gaps:
            return limit_in_units(self.limit, self.units, scale.spread)
        if self.units == "outcome":
            raise UsageError(
                "units = 'outcome' is for means of outcomes that are numbers; leave it out for"
                " rates"
            )
        return self.limit

    def notes(self, scales: Iterable[UnitScale | None]) -> list[str]:
        """Return what intervals of means rest on, and what shares of the spread are as numbers."""
        notes: list[str] = []
        for scale in scales:
            if scale is None or scale.gaps:
                continue
            lowest = number_text.amount(scale.low)
            highest = number_text.amount(scale.number(1.0))
            notes.append(
                f"intervals of means hold for outcomes from {lowest} to {highest}, the lowest and"
                " the highest that were seen"
            )
            notes += limit_note(self.limit, self.units, scale.spread)
        return list(dict.fromkeys(notes))
