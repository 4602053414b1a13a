"""Rules: readable subgroups, each some conditions on features (TestSGD, section 4.1)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import RareInputs, UsageError, clip, nearest
from evenhand.runtime.language import term
from evenhand.space.distribution import Distribution, Part
from evenhand.space.feature import plain
from evenhand.space.values.condition import CONDITION_KEYS, condition_of
from evenhand.space.values.condition import Condition as Condition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from evenhand.space.feature import Feature, Flags, Points
    from evenhand.space.space import Space

_SLACK = 1e-6
"""The part of a step by which an end may miss a value of its feature, for rounding."""


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
                canonical.append(simplest.named_by(space.features[position]))
        return cls(tuple(canonical))

    @property
    def text(self) -> str:
        """The rule in English words, which also stand for it in files."""
        return ", ".join(condition.text for condition in self.conditions) or "everybody"

    @property
    def spoken_text(self) -> str:
        """The rule in words of the language that is spoken."""
        words = ", ".join(condition.spoken_text for condition in self.conditions)
        return words or term("everybody")

    def spoken_for(self, text: str) -> str:
        """Return what a text says of the rule, in the language that is spoken if it is the rule's.

        A file may have a text of the rule that is worded otherwise today, which stays.

        >>> from evenhand.runtime.language import speaking
        >>> adults = Rule((Condition("age", low=18),))
        >>> with speaking("de"):
        ...     adults.spoken_for("age at least 18"), adults.spoken_for("adults")
        ('age mindestens 18', 'adults')
        """
        return self.spoken_text if text == self.text else term(text)

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
        if isinstance(table, Mapping):
            entries = table.get("conditions")
        else:
            entries = None
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
                if key not in CONDITION_KEYS:
                    raise UsageError(
                        f"unknown key {key!r} in a condition; {nearest(key, CONDITION_KEYS)}"
                    )
            conditions.append(condition_of(entry))
        return cls(tuple(conditions))


def _checked(condition: Condition, space: Space) -> Condition:
    """Return the condition with plain values; refuse one that does not fit its feature."""
    feature = space.feature(condition.feature)
    if condition.missing and not feature.missing:
        raise UsageError(
            f"the condition on {condition.feature!r} asks for missing values, but the space knows"
            " none of it; say missing = true of the feature"
        )
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
    if not levels and not condition.missing:
        raise UsageError(f"{subject} names no level; {nearest('', feature.levels)}")
    for level in levels:
        if level not in feature.levels:
            raise UsageError(
                f"{subject}: it has no level {clip(repr(level))}; {nearest(level, feature.levels)}"
            )
    in_order = tuple(level for level in feature.levels if level in levels)
    return Condition(feature.name, levels=in_order, missing=condition.missing)


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
            wanted = "date" if feature.kind == "date" else "number"
            raise UsageError(f"{subject}: {key} = {clip(repr(end))} is not a {wanted}")
    is_date = feature.kind == "date"
    if condition.dated and not is_date:
        raise UsageError(f"{subject} has dates as ends, but it is a number")
    low = ends["low"]
    high = ends["high"]
    below = ends["below"]
    checked = Condition(feature.name, low, high, missing=condition.missing, dated=is_date)
    if low is not None and high is not None and low > high:
        raise UsageError(
            f"{subject}: low = {feature.end_text(low)} is over high = {feature.end_text(high)};"
            " swap them"
        )
    if below is None:
        return checked
    if low is not None and low >= below:
        raise UsageError(
            f"{subject}: low = {feature.end_text(low)} is not under below ="
            f" {feature.end_text(below)}; swap them"
        )
    largest = _largest_under(below, feature)
    if high is not None and high <= largest:
        return checked
    return replace(checked, high=largest, below=below)


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
    missing = first.missing and second.missing
    if first.only_missing or second.only_missing:
        # No known value meets the one, so none meets both.
        if not missing:
            raise UsageError(
                f"no value of {first.feature!r} meets all conditions on it; it cannot be both known"
                " and unknown"
            )
        return Condition(first.feature, missing=True)
    lows = [condition.low for condition in (first, second) if condition.low is not None]
    bounded = [condition for condition in (first, second) if condition.high is not None]
    tighter = min(bounded, key=_upper_end, default=first)
    return Condition(
        first.feature,
        low=max(lows, default=None),
        high=tighter.high,
        levels=tuple(level for level in first.levels if level in second.levels),
        below=tighter.below,
        missing=missing,
        dated=first.dated,
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
    if not condition.levels and not condition.missing:
        raise UsageError(f"no level of {feature.name!r} meets all conditions on it")
    without = [level for level in feature.levels if level not in condition.levels]
    if feature.missing and not condition.missing:
        without.append(None)
    if not without:
        return None
    if len(without) < len(condition.levels) + condition.missing:
        return replace(condition, without=tuple(without))
    return replace(condition, without=())


def _canonical_range(condition: Condition, feature: Feature) -> Condition | None:
    if condition.only_missing:
        return condition
    whole = Part.known(0, feature)
    first = float(whole.low[0, 0])
    last = float(whole.high[0, 0])
    if condition.low is None:
        low = first
    else:
        low = max(condition.low, first)
    if condition.high is None:
        high = last
    else:
        high = min(condition.high, last)
    if feature.step is not None and low <= high:
        low, high = _values_between(low, high, feature, feature.step)
    if low > high:
        raise UsageError(
            f"no value of {feature.name!r} meets all conditions on it; it takes {feature.domain}"
        )
    ends = np.array([low, high], dtype=np.float64)
    low, high = feature.numbers(ends).tolist()
    everywhere = low <= first and high >= last
    if everywhere and condition.missing == bool(feature.missing):
        return None
    canonical = Condition(feature.name, missing=condition.missing, dated=condition.dated)
    if low > first:
        canonical = replace(canonical, low=low)
    if high >= last:
        return canonical
    return replace(canonical, high=high, below=condition.below)


def _values_between(
    low: float,
    high: float,
    feature: Feature,
    step: float,
) -> tuple[float, float]:
    """Return the first and the last value on the grid of a feature between two ends."""
    first = math.ceil((low - feature.low) / step - _SLACK)
    last = math.floor((high - feature.low) / step + _SLACK)
    values = np.array([first, last]) * float(step) + feature.low
    least, greatest = feature.snap(values).tolist()
    return least, greatest


def _part(position: int, feature: Feature, condition: Condition | None) -> Part:
    """Return how a feature is drawn: uniformly over the values that meet the condition.

    Where missing values meet it too, they keep their share beside the others.
    """
    if condition is None:
        return Part.uniform(position, feature)
    share = feature.missing_share
    code = np.full((1, 1), feature.missing_code)
    if feature.kind == "category":
        codes = np.flatnonzero(condition.codes(feature)).astype(np.float64)
        known = (1 - share) / len(feature.levels)
        weights = np.where(feature.is_missing(codes), share, known)
        return Part.counted((position,), (feature,), codes[:, None], weights)
    if condition.only_missing:
        return Part.counted((position,), (feature,), code, np.ones(1))
    whole = Part.known(position, feature)
    least = condition.low
    greatest = condition.high
    if greatest is None and condition.below is not None:
        greatest = _largest_under(condition.below, feature)
    if least is None:
        low = whole.low
    else:
        low = np.full((1, 1), float(least))
    if greatest is None:
        high = whole.high
    else:
        high = np.full((1, 1), float(greatest))
    part = replace(whole, low=low, high=high)
    if not condition.missing:
        return part
    fraction = float(whole.share(0, low[0, 0], high[0, 0])[0])
    return replace(
        part,
        low=np.concatenate([low, code]),
        high=np.concatenate([high, code]),
        weights=np.array([(1 - share) * fraction, share]),
    )
