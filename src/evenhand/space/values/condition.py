"""A condition on one feature: a range of a number or date, or some levels of a category."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.space.values import dates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenhand.space.values.feature_type import Feature
    from evenhand.space.values.points import Flags, Floats, Label

CONDITION_KEYS = ("feature", "low", "high", "levels", "without", "below", "missing")
"""What a condition holds in JSON."""
UNKNOWN = "unknown"
"""What people read for a missing value."""
_ENDS = ("low", "high", "below")


@dataclass(frozen=True, slots=True)
class Condition:
    """A range of a number, or some levels of a category; or that the value is missing.

    Both ends of a range are included; None stands for an open one. A range holds known values only:
    what is missing meets no comparison.

    >>> print(Condition("income", low=3000), "/", Condition("sex", levels=("F", "Other")))
    income at least 3,000 / sex F or Other
    >>> print(Condition("age", low=40, below=60), "/", Condition("rate", below=0.5))
    40 <= age < 60 / rate < 0.5
    >>> print(Condition("income", missing=True), "/", Condition("income"))
    income unknown / income known
    >>> print(Condition("applied", below="2020-05-01"), "/", Condition("applied", low="2020-05-01"))
    applied before 2020-05-01 / applied from 2020-05-01
    """

    feature: str
    low: float | None = None
    high: float | None = None
    levels: tuple[Label, ...] = ()
    without: tuple[Label, ...] = field(default=(), compare=False)
    """The levels that are left out, where naming those is shorter; a rule fills it in."""
    below: float | None = field(default=None, compare=False)
    """An end that is not included, for half-open bins; a rule fills in `high`."""
    missing: bool = False
    """Whether a missing value meets the condition; without a range or levels, no other one does."""
    dated: bool = field(default=False, compare=False)
    """Whether the ends are days; dates that are given as texts say so."""

    def __post_init__(self) -> None:
        for key in _ENDS:
            end = getattr(self, key)
            if end is None or isinstance(end, int | float):
                continue
            day = dates.day_of(end)
            if day is not None:
                object.__setattr__(self, key, day)
                object.__setattr__(self, "dated", True)

    @property
    def only_missing(self) -> bool:
        """Whether no known value meets the condition."""
        return self.missing and not self.levels and not self.has_range

    @property
    def has_range(self) -> bool:
        """Whether the condition has an end."""
        return any(getattr(self, key) is not None for key in _ENDS)

    @property
    def text(self) -> str:
        """The condition in words."""
        is_open = self.below is not None and not (self.without or self.levels)
        if not is_open or self.missing or self.dated:
            return f"{self.feature} {self.value_text}"
        below = self._end(self.below)
        if self.low is None:
            return f"{self.feature} < {below}"
        return f"{self._end(self.low)} <= {self.feature} < {below}"

    @property
    def value_text(self) -> str:
        """What the feature must be, in words without its name.

        >>> Condition("age", low=18, high=25).value_text, Condition("sex", levels=("F",)).value_text
        ('18 to 25', 'F')
        """
        if self.without == (None,):
            return "known"
        if self.without:
            return "not " + " nor ".join(label_text(level) for level in self.without)
        parts = [label_text(level) for level in self.levels]
        if not self.levels and not self.only_missing:
            parts.append(self._date_text if self.dated else self._range_text)
        if self.missing:
            parts.append(UNKNOWN)
        return " or ".join(parts)

    @property
    def _range_text(self) -> str:
        """What a number must be."""
        if self.low is None:
            return self._upper_text
        low = self._end(self.low)
        if self.below is not None:
            return f"at least {low}, under {self._end(self.below)}"
        if self.high is None:
            return f"at least {low}"
        if self.high == self.low:
            return low
        return f"{low} to {self._end(self.high)}"

    @property
    def _upper_text(self) -> str:
        """What a number without a lower end must be."""
        if self.below is not None:
            return f"under {self._end(self.below)}"
        if self.high is not None:
            return f"at most {self._end(self.high)}"
        return "known"

    @property
    def _date_text(self) -> str:
        """What a date must be."""
        if self.low is not None and self.low == self.high:
            return self._end(self.low)
        parts = []
        if self.low is not None:
            parts.append(f"from {self._end(self.low)}")
        if self.below is not None:
            before = "to before" if parts else "before"
            parts.append(f"{before} {self._end(self.below)}")
        elif self.high is not None:
            parts.append(
                f"to {self._end(self.high)}" if parts else "up to " + self._end(self.high)
            )
        return " ".join(parts) or "known"

    def _end(self, value: float | None) -> str:
        """Return an end of the range as people read it."""
        if self.dated and value is not None:
            return dates.iso_text(value)
        return label_text(value)

    def __str__(self) -> str:
        return self.text

    def codes(self, feature: Feature) -> Flags:
        """Return which codes of a category meet the condition; the last is that of the missing."""
        levels = set(self.levels)
        met = [level in levels for level in feature.levels]
        return np.array([*met, self.missing])

    def mask(self, column: Floats, feature: Feature) -> Flags:
        """Return which encoded values of the feature meet the condition."""
        if feature.kind == "category":
            return self.codes(feature)[column.astype(np.intp)]
        gaps = feature.is_missing(column)
        if self.only_missing:
            return gaps
        met = ~gaps
        if self.low is not None:
            met &= column >= self.low
        if self.high is not None:
            met &= column <= self.high
        elif self.below is not None:
            met &= column < self.below
        if self.missing:
            return met | gaps
        return met

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as JSON holds it, without what is open; dates are ISO texts."""
        table: dict[str, Any] = {"feature": self.feature}
        for key in _ENDS:
            end = getattr(self, key)
            if end is not None:
                if self.dated:
                    table[key] = dates.iso_text(end)
                else:
                    table[key] = end
        for key in ("levels", "without"):
            levels = getattr(self, key)
            if levels:
                table[key] = list(levels)
        if self.missing:
            table["missing"] = True
        return table


def condition_of(entry: Mapping[str, Any]) -> Condition:
    """Return a condition from its entry in JSON, where tuples are lists."""
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        if isinstance(value, list):
            fields[key] = tuple(value)
        else:
            fields[key] = value
    return Condition(**fields)


def label_text(value: Label) -> str:
    """Return a level or the end of a range as people read it."""
    if value is None:
        return UNKNOWN
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) or "''"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.15g}"
