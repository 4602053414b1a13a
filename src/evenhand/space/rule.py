"""Rules: readable subgroups, each a conjunction of conditions on single features (TestSGD, section
4.1).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import RareInputs, UsageError, clip, nearest
from evenhand.space.distribution import Law, Part
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Label, Points
    from evenhand.space.space import Space

_SLACK = 1e-6
"""The part of a step by which an end may miss a value of its feature, for rounding."""
_FIELDS = ("feature", "low", "high", "levels", "without", "below")


@dataclass(frozen=True, slots=True)
class Condition:
    """A range of a number, both ends included and None for an open one, or some levels of a
    category.

    >>> print(Condition("income", low=3000), "/", Condition("sex", levels=("F", "Other")))
    income at least 3,000 / sex F or Other
    >>> print(Condition("age", low=40, below=60), "/", Condition("rate", below=0.5))
    40 <= age < 60 / rate < 0.5
    """

    feature: str
    low: float | None = None
    high: float | None = None
    levels: tuple[Label, ...] = ()
    without: tuple[Label, ...] = field(default=(), compare=False)
    """The levels that are left out, where naming those is shorter; a rule fills it in."""
    below: float | None = field(default=None, compare=False)
    """An end that is not included, for half-open bins; a rule fills in the largest value under it
    as `high`.
    """

    @property
    def text(self) -> str:
        """The condition in words."""
        if self.below is not None and not self.without and not self.levels:
            return (
                f"{'' if self.low is None else f'{_said(self.low)} <= '}{self.feature} <"
                f" {_said(self.below)}"
            )
        return f"{self.feature} {self.value_text}"

    @property
    def value_text(self) -> str:
        """What the feature must be, in words without its name.

        >>> Condition("age", low=18, high=25).value_text, Condition("sex", levels=("F",)).value_text
        ('18 to 25', 'F')
        """
        if self.without:
            return f"not {' nor '.join(map(_said, self.without))}"
        if self.levels:
            return " or ".join(map(_said, self.levels))
        if self.below is not None:
            return (
                f"{'' if self.low is None else f'at least {_said(self.low)}, '}under"
                f" {_said(self.below)}"
            )
        if self.high is None:
            return "any" if self.low is None else f"at least {_said(self.low)}"
        if self.low is None:
            return f"at most {_said(self.high)}"
        return f"{_said(self.low)}" + (f" to {_said(self.high)}" if self.high != self.low else "")

    def __str__(self) -> str:
        return self.text

    def codes(self, feature: Feature) -> NDArray[np.bool_]:
        """Tell which levels of a category meet the condition."""
        levels = set(self.levels)
        return np.array([level in levels for level in feature.levels])

    def mask(self, column: NDArray[np.float64], feature: Feature) -> NDArray[np.bool_]:
        """Tell which encoded values of the feature meet the condition."""
        if feature.kind == "category":
            return self.codes(feature)[column.astype(np.intp)]
        met = np.ones(len(column), dtype=np.bool_)
        if self.low is not None:
            met &= column >= self.low
        if self.high is not None:
            met &= column <= self.high
        elif self.below is not None:
            met &= column < self.below
        return met

    def to_dict(self) -> dict[str, Any]:
        """Return the condition as JSON holds it, without what is open."""
        found: dict[str, Any] = {"feature": self.feature}
        found |= {
            key: value
            for key in ("low", "high", "below")
            if (value := getattr(self, key)) is not None
        }
        return found | {
            key: list(value) for key in ("levels", "without") if (value := getattr(self, key))
        }


@dataclass(frozen=True, slots=True)
class Rule:
    """The inputs that meet all conditions; build it with `Rule.of`, which gives equal subgroups
    equal rules.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("race", ["White", "Black", "Asian"]), integer("age", 18, 90)])
    >>> rule = Rule.of(space, [Condition("age", high=25.5), Condition("race", levels=("Asian", "Black"))])
    >>> print(rule)
    race not White, age at most 25
    >>> rule.mask(space.encode([{"race": "Black", "age": 20}, {"race": "Black", "age": 30}]), space).tolist()
    [True, False]
    """

    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, space: Space, conditions: Iterable[Condition]) -> Rule:
        """Return the rule in its one form, checked against the space.

        Conditions come in the order of the features, one to a feature, and only where some value
        fails them; ends are values that the feature has, and levels are in its order.
        """
        met: dict[int, list[Condition]] = {}
        for condition in conditions:
            met.setdefault(space.index(condition.feature), []).append(_checked(condition, space))
        joined = [
            _closed(reduce(_both, met[position]), space.features[position])
            for position in sorted(met)
        ]
        return cls(tuple(condition for condition in joined if condition is not None))

    @property
    def text(self) -> str:
        """The rule in words."""
        return ", ".join(condition.text for condition in self.conditions) or "everybody"

    def __str__(self) -> str:
        return self.text

    def mask(self, points: Points, space: Space) -> NDArray[np.bool_]:
        """Tell which encoded points meet all conditions."""
        met = np.ones(len(points), dtype=np.bool_)
        for condition in self.conditions:
            position = space.index(condition.feature)
            met &= condition.mask(points[:, position], space.features[position])
        return met

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` independent encoded inputs, uniform over the valid ones that meet the rule.

        >>> from evenhand.space.feature import integer
        >>> from evenhand.space.space import Space
        >>> Rule((Condition("age", high=18),)).draw(
        ...     2, np.random.default_rng(0), Space([integer("age", 18, 90)])
        ... ).tolist()
        [[18.0], [18.0]]
        """
        given = {space.index(condition.feature): condition for condition in self.conditions}
        parts = tuple(
            _part(position, feature, given.get(position))
            for position, feature in enumerate(space.features)
        )
        try:
            return Law(space, parts).draw(n, rng)
        except RareInputs:
            raise RareInputs(
                f"the constraints leave next to no input with {clip(self.text, 300)}"
            ) from None

    def to_dict(self) -> dict[str, Any]:
        """Return the rule as JSON holds it."""
        return {"conditions": [condition.to_dict() for condition in self.conditions]}

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Rule:
        """Rebuild a rule from `to_dict`.

        >>> print(Rule.from_dict({"conditions": [{"feature": "age", "low": 18, "high": 25}]}))
        age 18 to 25
        """
        entries = table.get("conditions") if isinstance(table, Mapping) else None
        if not isinstance(entries, list):
            raise UsageError(
                f"a rule is a table with a list of conditions, not {clip(repr(table))}"
            )
        for entry in entries:
            if not isinstance(entry, Mapping) or "feature" not in entry:
                raise UsageError(
                    f"a condition is a table that names a feature, not {clip(repr(entry))}"
                )
            for key in entry:
                if key not in _FIELDS:
                    raise UsageError(f"unknown key {key!r} in a condition; {nearest(key, _FIELDS)}")
        listed: list[dict[str, Any]] = [
            {
                key: tuple(value) if isinstance(value, list) else value
                for key, value in entry.items()
            }
            for entry in entries
        ]
        return cls(tuple(Condition(**entry) for entry in listed))


def _said(value: Label) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) or "''"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.15g}"


def _checked(condition: Condition, space: Space) -> Condition:
    """Return the condition with plain values, or say what in it does not fit its feature."""
    feature, said = space.feature(condition.feature), f"the condition on {condition.feature!r}"
    low, high, below = plain(condition.low), plain(condition.high), plain(condition.below)
    ends = (("low", low), ("high", high), ("below", below))
    if feature.kind == "category":
        for key, end in ends:
            if end is not None:
                raise UsageError(
                    f"{said} has {key} = {clip(repr(end))}, but it is a category; name levels"
                    " instead"
                )
        levels = [plain(level) for level in condition.levels]
        if not levels:
            raise UsageError(f"{said} names no level; {nearest('', feature.levels)}")
        for level in levels:
            if level not in feature.levels:
                raise UsageError(
                    f"{said}: it has no level {clip(repr(level))}; {nearest(level, feature.levels)}"
                )
        return Condition(
            feature.name, levels=tuple(level for level in feature.levels if level in levels)
        )
    if condition.levels:
        raise UsageError(f"{said} names levels, but it is a number; give low and high instead")
    for key, end in ends:
        if end is not None and (
            isinstance(end, bool) or not isinstance(end, int | float) or end != end
        ):
            raise UsageError(f"{said}: {key} = {clip(repr(end))} is not a number")
    if low is not None and high is not None and low > high:
        raise UsageError(f"{said}: low = {low!r} is over high = {high!r}; swap them")
    if below is None:
        return Condition(feature.name, low, high)
    if low is not None and low >= below:
        raise UsageError(f"{said}: low = {low!r} is not under below = {below!r}; swap them")
    under = _under(below, feature)
    if high is not None and high <= under:
        return Condition(feature.name, low, high)
    return Condition(feature.name, low, under, below=below)


def _under(end: float, feature: Feature) -> float:
    """Return the largest value of a numeric feature that is under an end, or under its range where
    none is.
    """
    # Ends that are far out, infinite ones too, would have no place.
    beyond = feature.step or 1.0
    end = min(max(end, feature.low - beyond), feature.high + beyond)
    if feature.step is None:
        return math.nextafter(end, -math.inf)
    place = math.ceil((end - feature.low) / feature.step - _SLACK) - 1
    return float(feature.snap(np.array([feature.low + place * float(feature.step)]))[0])


def _both(one: Condition, other: Condition) -> Condition:
    """Return the condition that is met where both are; it may be met nowhere."""
    ends = (end for end in (one, other) if end.high is not None)
    tighter = min(
        ends,
        key=lambda end: (end.high or 0.0, end.below is not None, end.below or 0.0),
        default=one,
    )
    return Condition(
        one.feature,
        max((end for end in (one.low, other.low) if end is not None), default=None),
        tighter.high,
        tuple(level for level in one.levels if level in other.levels),
        below=tighter.below,
    )


def _closed(condition: Condition, feature: Feature) -> Condition | None:
    """Return the condition in its one form, None where every value meets it."""
    if feature.kind == "category":
        without = tuple(level for level in feature.levels if level not in condition.levels)
        if not condition.levels:
            raise UsageError(f"no level of {feature.name!r} meets all conditions on it")
        if not without:
            return None
        return replace(condition, without=without if len(without) < len(condition.levels) else ())
    whole = Part.uniform(0, feature)
    first, last = float(whole.low[0, 0]), float(whole.high[0, 0])
    low = first if condition.low is None else max(condition.low, first)
    high = last if condition.high is None else min(condition.high, last)
    if feature.step is not None and low <= high:
        place = (
            math.ceil((low - feature.low) / feature.step - _SLACK),
            math.floor((high - feature.low) / feature.step + _SLACK),
        )
        low, high = feature.snap(np.array(place) * float(feature.step) + feature.low).tolist()
    if low > high:
        raise UsageError(
            f"no value of {feature.name!r} meets all conditions on it; it takes {feature.domain}"
        )
    ends = np.array([low, high], dtype=np.float64)
    low, high = feature.numbers(ends).tolist()
    if low <= first and high >= last:
        return None
    if high >= last:
        return Condition(feature.name, None if low <= first else low)
    return Condition(feature.name, None if low <= first else low, high, below=condition.below)


def _part(position: int, feature: Feature, condition: Condition | None) -> Part:
    """Return how the values of a feature are drawn: uniformly over those that meet the condition."""
    whole = Part.uniform(position, feature)
    if condition is None:
        return whole
    if feature.kind == "category":
        codes = np.flatnonzero(condition.codes(feature)).astype(np.float64)
        return Part.counted((position,), (feature,), codes[:, None], np.ones(len(codes)))
    low = whole.low if condition.low is None else np.full((1, 1), float(condition.low))
    most = (
        condition.high
        if condition.below is None or condition.high is not None
        else _under(condition.below, feature)
    )
    high = whole.high if most is None else np.full((1, 1), float(most))
    return replace(whole, low=low, high=high)
