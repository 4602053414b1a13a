"""Rules: readable subgroups, each some conditions on features (TestSGD, section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import RareInputs, UsageError, clip, nearest
from evenhand.space.distribution import Distribution, Part
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.space.feature import Feature, Flags, Floats, Label, Points
    from evenhand.space.space import Space

_SLACK = 1e-6
"""The part of a step by which an end may miss a value of its feature, for rounding."""
_FIELDS = ("feature", "low", "high", "levels", "without", "below")


@dataclass(frozen=True, slots=True)
class Condition:
    """A range of a number, or some levels of a category.

    Both ends of a range are included; None stands for an open one.

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
    """An end that is not included, for half-open bins; a rule fills in `high`."""

    @property
    def text(self) -> str:
        """The condition in words."""
        if self.below is None or self.without or self.levels:
            return f"{self.feature} {self.value_text}"
        below = _label_text(self.below)
        if self.low is None:
            return f"{self.feature} < {below}"
        return f"{_label_text(self.low)} <= {self.feature} < {below}"

    @property
    def value_text(self) -> str:
        """What the feature must be, in words without its name.

        >>> Condition("age", low=18, high=25).value_text, Condition("sex", levels=("F",)).value_text
        ('18 to 25', 'F')
        """
        if self.without:
            return "not " + " nor ".join(_label_text(level) for level in self.without)
        if self.levels:
            return " or ".join(_label_text(level) for level in self.levels)
        if self.low is None:
            return self._upper_text
        low = _label_text(self.low)
        if self.below is not None:
            return f"at least {low}, under {_label_text(self.below)}"
        if self.high is None:
            return f"at least {low}"
        if self.high == self.low:
            return low
        return f"{low} to {_label_text(self.high)}"

    @property
    def _upper_text(self) -> str:
        """What a number without a lower end must be."""
        if self.below is not None:
            return f"under {_label_text(self.below)}"
        if self.high is not None:
            return f"at most {_label_text(self.high)}"
        return "any"

    def __str__(self) -> str:
        return self.text

    def codes(self, feature: Feature) -> Flags:
        """Return which levels of a category meet the condition."""
        levels = set(self.levels)
        return np.array([level in levels for level in feature.levels])

    def mask(self, column: Floats, feature: Feature) -> Flags:
        """Return which encoded values of the feature meet the condition."""
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
        table: dict[str, Any] = {"feature": self.feature}
        for key in ("low", "high", "below"):
            end = getattr(self, key)
            if end is not None:
                table[key] = end
        for key in ("levels", "without"):
            levels = getattr(self, key)
            if levels:
                table[key] = list(levels)
        return table


@dataclass(frozen=True, slots=True)
class Rule:
    """The inputs that meet all conditions.

    Build it with `Rule.of`, which gives equal subgroups equal rules.

    Notes
    -----
    See docs/how-to/mine.md for how rules are found.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("race", ["White", "Black", "Asian"]), integer("age", 18, 90)])
    >>> young = Condition("age", high=25.5)
    >>> rule = Rule.of(space, [young, Condition("race", levels=("Asian", "Black"))])
    >>> print(rule)
    race not White, age at most 25
    >>> people = space.encode([{"race": "Black", "age": 20}, {"race": "Black", "age": 30}])
    >>> rule.mask(people, space).tolist()
    [True, False]
    """

    conditions: tuple[Condition, ...] = ()

    @classmethod
    def of(cls, space: Space, conditions: Iterable[Condition]) -> Rule:
        """Return the rule in its one form, checked against the space.

        Conditions come in the order of the features, one to a feature, and only where some value
        fails them; ends are values that the feature has, and levels are in its order.
        """
        by_position: dict[int, list[Condition]] = {}
        for condition in conditions:
            checked = _checked(condition, space)
            position = space.index(condition.feature)
            by_position.setdefault(position, []).append(checked)
        canonical = []
        for position in sorted(by_position):
            joined = reduce(_both, by_position[position])
            simplest = _canonical(joined, space.features[position])
            if simplest is not None:
                canonical.append(simplest)
        return cls(tuple(canonical))

    @property
    def text(self) -> str:
        """The rule in words."""
        return ", ".join(condition.text for condition in self.conditions) or "everybody"

    def __str__(self) -> str:
        return self.text

    def mask(self, points: Points, space: Space) -> Flags:
        """Return which encoded points meet all conditions."""
        met = np.ones(len(points), dtype=np.bool_)
        for condition in self.conditions:
            position = space.index(condition.feature)
            column = points[:, position]
            met &= condition.mask(column, space.features[position])
        return met

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` independent encoded inputs, uniform over the valid ones that meet the rule.

        >>> from evenhand.space.feature import integer
        >>> from evenhand.space.space import Space
        >>> space = Space([integer("age", 18, 90)])
        >>> Rule((Condition("age", high=18),)).draw(2, np.random.default_rng(0), space).tolist()
        [[18.0], [18.0]]
        """
        by_feature = {condition.feature: condition for condition in self.conditions}
        for name in by_feature:
            space.index(name)  # an unknown feature is an error, not one without a condition
        parts = []
        for position, feature in enumerate(space.features):
            parts.append(_part(position, feature, by_feature.get(feature.name)))
        try:
            return Distribution(space, tuple(parts)).draw(n, rng)
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
        conditions = []
        for entry in entries:
            if not isinstance(entry, Mapping) or "feature" not in entry:
                raise UsageError(
                    f"a condition is a table that names a feature, not {clip(repr(entry))}"
                )
            for key in entry:
                if key not in _FIELDS:
                    raise UsageError(
                        f"unknown key {key!r} in a condition; {nearest(key, _FIELDS)}"
                    )
            conditions.append(_condition(entry))
        return cls(tuple(conditions))


def _condition(entry: Mapping[str, Any]) -> Condition:
    """Return a condition from its entry in JSON, where tuples are lists."""
    fields: dict[str, Any] = {}
    for key, value in entry.items():
        fields[key] = tuple(value) if isinstance(value, list) else value
    return Condition(**fields)


def _label_text(value: Label) -> str:
    """Return a level or the end of a range as people read it."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value) or "''"
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.15g}"


def _checked(condition: Condition, space: Space) -> Condition:
    """Return the condition with plain values; refuse one that does not fit its feature."""
    feature = space.feature(condition.feature)
    ends = {
        "low": plain(condition.low),
        "high": plain(condition.high),
        "below": plain(condition.below),
    }
    if feature.kind == "category":
        return _checked_levels(condition, feature, ends)
    return _checked_ends(condition, feature, ends)


def _checked_levels(
    condition: Condition, feature: Feature, ends: dict[str, Any]
) -> Condition:
    subject = f"the condition on {condition.feature!r}"
    for key, end in ends.items():
        if end is not None:
            raise UsageError(
                f"{subject} has {key} = {clip(repr(end))}, but it is a category; name levels"
                " instead"
            )
    levels = [plain(level) for level in condition.levels]
    if not levels:
        raise UsageError(f"{subject} names no level; {nearest('', feature.levels)}")
    for level in levels:
        if level not in feature.levels:
            raise UsageError(
                f"{subject}: it has no level {clip(repr(level))}; {nearest(level, feature.levels)}"
            )
    in_order = tuple(level for level in feature.levels if level in levels)
    return Condition(feature.name, levels=in_order)


def _checked_ends(
    condition: Condition, feature: Feature, ends: dict[str, Any]
) -> Condition:
    subject = f"the condition on {condition.feature!r}"
    if condition.levels:
        raise UsageError(
            f"{subject} names levels, but it is a number; give low and high instead"
        )
    for key, end in ends.items():
        if end is not None and not _is_number(end):
            raise UsageError(f"{subject}: {key} = {clip(repr(end))} is not a number")
    low = ends["low"]
    high = ends["high"]
    below = ends["below"]
    if low is not None and high is not None and low > high:
        raise UsageError(f"{subject}: low = {low!r} is over high = {high!r}; swap them")
    if below is None:
        return Condition(feature.name, low, high)
    if low is not None and low >= below:
        raise UsageError(
            f"{subject}: low = {low!r} is not under below = {below!r}; swap them"
        )
    largest = _largest_under(below, feature)
    if high is not None and high <= largest:
        return Condition(feature.name, low, high)
    return Condition(feature.name, low, largest, below=below)


def _is_number(value: Any) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    is_nan = value != value
    return not is_nan


def _largest_under(end: float, feature: Feature) -> float:
    """Return the largest value of a numeric feature that is under an end.

    It is under the range of the feature where all values are at the end or over it.
    """
    # Ends that are far out, infinite ones too, would have no place on the grid.
    margin = feature.step or 1.0
    least = feature.low - margin
    most = feature.high + margin
    end = min(max(end, least), most)
    if feature.step is None:
        return math.nextafter(end, -math.inf)
    steps = (end - feature.low) / feature.step
    place = math.ceil(steps - _SLACK) - 1
    value = feature.low + place * float(feature.step)
    return float(feature.snap(np.array([value]))[0])


def _both(first: Condition, second: Condition) -> Condition:
    """Return the condition that is met where both are; it may be met nowhere."""
    lows = [condition.low for condition in (first, second) if condition.low is not None]
    bounded = [condition for condition in (first, second) if condition.high is not None]
    tighter = min(bounded, key=_upper_end, default=first)
    return Condition(
        first.feature,
        low=max(lows, default=None),
        high=tighter.high,
        levels=tuple(level for level in first.levels if level in second.levels),
        below=tighter.below,
    )


def _upper_end(condition: Condition) -> tuple[float, bool, float]:
    """Return the key by which upper ends are compared: of equal ones, `high` is before `below`."""
    return condition.high or 0.0, condition.below is not None, condition.below or 0.0


def _canonical(condition: Condition, feature: Feature) -> Condition | None:
    """Return the condition in its one form, None where every value meets it."""
    if feature.kind == "category":
        return _canonical_levels(condition, feature)
    return _canonical_range(condition, feature)


def _canonical_levels(condition: Condition, feature: Feature) -> Condition | None:
    if not condition.levels:
        raise UsageError(f"no level of {feature.name!r} meets all conditions on it")
    without = tuple(level for level in feature.levels if level not in condition.levels)
    if not without:
        return None
    if len(without) < len(condition.levels):
        return replace(condition, without=without)
    return replace(condition, without=())


def _canonical_range(condition: Condition, feature: Feature) -> Condition | None:
    whole = Part.uniform(0, feature)
    first = float(whole.low[0, 0])
    last = float(whole.high[0, 0])
    low = first if condition.low is None else max(condition.low, first)
    high = last if condition.high is None else min(condition.high, last)
    if feature.step is not None and low <= high:
        low, high = _values_between(low, high, feature, feature.step)
    if low > high:
        raise UsageError(
            f"no value of {feature.name!r} meets all conditions on it; it takes {feature.domain}"
        )
    ends = np.array([low, high], dtype=np.float64)
    low, high = feature.numbers(ends).tolist()
    if low <= first and high >= last:
        return None
    lower_end = None if low <= first else low
    if high >= last:
        return Condition(feature.name, lower_end)
    return Condition(feature.name, lower_end, high, below=condition.below)


def _values_between(
    low: float, high: float, feature: Feature, step: float
) -> tuple[float, float]:
    """Return the first and the last value on the grid of a feature between two ends."""
    first = math.ceil((low - feature.low) / step - _SLACK)
    last = math.floor((high - feature.low) / step + _SLACK)
    values = np.array([first, last]) * float(step) + feature.low
    least, greatest = feature.snap(values).tolist()
    return least, greatest


def _part(position: int, feature: Feature, condition: Condition | None) -> Part:
    """Return how a feature is drawn: uniformly over the values that meet the condition."""
    whole = Part.uniform(position, feature)
    if condition is None:
        return whole
    if feature.kind == "category":
        codes = np.flatnonzero(condition.codes(feature)).astype(np.float64)
        weights = np.ones(len(codes))
        return Part.counted((position,), (feature,), codes[:, None], weights)
    least = condition.low
    greatest = condition.high
    if greatest is None and condition.below is not None:
        greatest = _largest_under(condition.below, feature)
    part = whole
    if least is not None:
        part = replace(part, low=np.full((1, 1), float(least)))
    if greatest is not None:
        part = replace(part, high=np.full((1, 1), float(greatest)))
    return part
