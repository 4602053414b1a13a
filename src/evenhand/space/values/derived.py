"""Derived features: columns that follow from dates, so that inputs never contradict themselves.

A feature with `derived = "year(applied)"` is never drawn or varied by itself: whenever an input is
made, it is worked out from the features that it names. What lacks a source lacks it, too.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import SpaceError, clip, nearest
from evenhand.space.values.dates import moments

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenhand.space.values.feature_type import Feature
    from evenhand.space.values.points import Flags, Floats, Points

_CALL = re.compile(r"\s*(\w+)\s*\((.*)\)\s*")
_THURSDAY = 3
"""The weekday of 1970-01-01, where Monday is 0."""


def _year(day: Floats) -> Floats:
    return moments(day).astype("datetime64[Y]").astype(np.float64) + 1970


def _months(day: Floats) -> Floats:
    """Return the number of months since January 1970."""
    return moments(day).astype("datetime64[M]").astype(np.float64)


def _month(day: Floats) -> Floats:
    return _months(day) % 12 + 1


def _day_of_month(day: Floats) -> Floats:
    first = moments(day).astype("datetime64[M]").astype("datetime64[D]")
    return day - first.astype(np.float64) + 1


def _years_between(first: Floats, second: Floats) -> Floats:
    """Return the full years from one date to another, as an age is counted."""
    months = _months(second) - _months(first)
    months -= _day_of_month(second) < _day_of_month(first)
    return np.floor(months / 12)


FUNCTIONS: dict[str, tuple[int, Callable[..., Floats]]] = {
    "year": (1, _year),
    "month": (1, _month),
    "day": (1, _day_of_month),
    "weekday": (1, lambda day: (day + _THURSDAY) % 7),
    "quarter": (1, lambda day: np.ceil(_month(day) / 3)),
    "days_between": (2, lambda first, second: second - first),
    "years_between": (2, _years_between),
}
"""How many dates each function takes, and what it makes of their days. Monday is weekday 0."""


@dataclass(frozen=True, slots=True)
class Derivation:
    """How one feature follows from others."""

    text: str
    target: int
    sources: tuple[int, ...]
    feature: Feature
    dates: tuple[Feature, ...]
    function: Callable[..., Floats]

    @classmethod
    def of(cls, target: int, features: Sequence[Feature]) -> Derivation:
        """Read what a feature declares, or raise a SpaceError."""
        feature = features[target]
        text = str(feature.derived)
        what = f"feature {feature.name!r}: derived = {clip(repr(text))}"
        call = _CALL.fullmatch(text)
        if call is None:
            raise SpaceError(f"{what} is not of the form 'year(applied)'")
        name, given = call.groups()
        if name not in FUNCTIONS:
            raise SpaceError(
                f"{what}: unknown function {name!r}; {nearest(name, FUNCTIONS)}"
            )
        if feature.kind == "date":
            raise SpaceError(f"{what} is a number, but the feature is a date")
        wanted, function = FUNCTIONS[name]
        names = [part.strip().strip("`") for part in given.split(",")]
        if len(names) != wanted:
            raise SpaceError(f"{what}: {name} takes {wanted} dates, not {len(names)}")
        sources = tuple(_source(source, features, what) for source in names)
        dates = tuple(features[source] for source in sources)
        may_lack_date = any(date.missing for date in dates)
        if may_lack_date and not feature.missing:
            raise SpaceError(
                f"{what}: {', '.join(names)} may be missing, and then it is, too; say missing ="
                " true of it"
            )
        return cls(text, target, sources, feature, dates, function)

    def values(self, points: Points) -> Floats:
        """Return the encoded value that follows for each point; NaN where it is no level."""
        columns = [points[:, source] for source in self.sources]
        values = np.array(self.function(*columns), dtype=np.float64)
        if self.feature.kind == "category":
            values = self._codes(values)
        for column, date in zip(columns, self.dates, strict=True):
            values[date.is_missing(column)] = self.feature.missing_code
        return values

    def _codes(self, values: Floats) -> Floats:
        """Return the codes of levels that are numbers, NaN for what is none of them."""
        found, inverse = np.unique(values, return_inverse=True)
        levels = list(self.feature.levels)
        codes = np.full(len(found), np.nan)
        for place, value in enumerate(found):
            if value in levels:
                codes[place] = levels.index(value)
        return codes[inverse.reshape(-1)]

    def holds(self, points: Points) -> Flags:
        """Return in which points the feature is what follows from the others."""
        column = points[:, self.target]
        follows = self.values(points) == column
        return np.asarray(follows & self.feature.inside(column))


def _source(name: str, features: Sequence[Feature], what: str) -> int:
    names = [feature.name for feature in features]
    dates = [feature.name for feature in features if feature.kind == "date"]
    if name not in dates:
        raise SpaceError(
            f"{what}: {name!r} is no date of the space; {nearest(name, dates)}"
        )
    return names.index(name)


@dataclass(frozen=True, slots=True)
class Derivations:
    """All derived features of a space."""

    all: tuple[Derivation, ...] = ()

    @classmethod
    def of(cls, features: Sequence[Feature]) -> Derivations:
        """Read what features declare."""
        found = []
        for position, feature in enumerate(features):
            if feature.derived:
                found.append(Derivation.of(position, features))
        return cls(tuple(found))

    @property
    def targets(self) -> frozenset[int]:
        """The positions of derived features."""
        return frozenset(derivation.target for derivation in self.all)

    def movable(self, passed: Iterable[int], over: Iterable[int]) -> tuple[int, ...]:
        """Return what may be changed beside the features at issue, `over`.

        That is what the software takes, and what that follows from, but nothing that follows.
        """
        sources: set[int] = set()
        for derivation in self.all:
            sources.update(derivation.sources)
        may_change = {*passed, *sources} - {*over, *self.targets}
        return tuple(sorted(may_change))

    def within(self, columns: Iterable[int]) -> Derivations:
        """Return those of some columns, which hold all that these follow from."""
        chosen = set(columns)
        kept = [derivation for derivation in self.all if derivation.target in chosen]
        return Derivations(tuple(kept))

    def fill(self, points: Points) -> Points:
        """Work out the derived columns, in place, and return the points."""
        for derivation in self.all:
            points[:, derivation.target] = derivation.values(points)
        return points

    def following(self, positions: Iterable[int]) -> frozenset[int]:
        """Return these positions and those of all features that follow from them."""
        given = frozenset(positions)
        followers = set(given)
        for derivation in self.all:
            if not given.isdisjoint(derivation.sources):
                followers.add(derivation.target)
        return frozenset(followers)


NO_DERIVATIONS = Derivations()
"""That no feature follows from others."""
