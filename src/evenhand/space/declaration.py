"""What the declaration of a feature may hold, and what is wrong with one."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import SpaceError, clip, nearest
from evenhand.space.values import dates
from evenhand.space.values.labels import read_labels
from evenhand.space.values.points import plain

if TYPE_CHECKING:
    from evenhand.space.values.feature_type import Feature, Kind
    from evenhand.space.values.points import Label

KINDS = ("category", "integer", "real", "date")
WHOLE = ("integer", "date")
"""The kinds whose values are whole numbers."""
FIELDS = (
    "name",
    "kind",
    "levels",
    "low",
    "high",
    "step",
    "bins",
    "passed",
    "missing",
    "twins_missing",
    "derived",
    "labels",
)
LARGEST = 2.0**53
"""The largest number up to which a double holds every whole number."""

_OF_NUMBERS = ("low", "high", "step", "bins")
_OF_CATEGORIES = ("levels",)


def check_levels(name: str, levels: tuple[Label, ...]) -> None:
    """Refuse levels that are missing, repeated, or neither text, number nor truth value."""
    if not levels:
        raise SpaceError(
            f"feature {name!r}: the list of levels is empty; give at least one"
        )
    for level in levels:
        is_label = isinstance(level, str | int | float | bool)
        is_nan = isinstance(level, float) and math.isnan(level)
        if level is None or is_nan:
            raise SpaceError(
                f"feature {name!r}: level {level!r} is a missing value; leave it out and say"
                " missing=True"
            )
        if not is_label:
            raise SpaceError(
                f"feature {name!r}: level {clip(repr(level))} is not a text, number or truth value"
            )
    seen: set[Label] = set()
    for level in levels:
        if level in seen:
            raise SpaceError(
                f"feature {name!r}: level {level!r} is listed twice; list each level once"
            )
        seen.add(level)


def check_range(feature: Feature) -> None:
    """Refuse ends, steps and bins of a numeric feature that make no range of values."""
    name = feature.name
    _check_number(feature, "low", feature.low)
    _check_number(feature, "high", feature.high)
    if feature.step is not None:
        _check_number(feature, "step", feature.step)
    if feature.low > feature.high:
        raise SpaceError(
            f"feature {name!r}: low = {feature.low!r} is over high = {feature.high!r}; swap them"
        )
    if feature.step is not None:
        _check_step(feature, feature.step)
    if isinstance(feature.bins, tuple):
        first = feature.bins[0]
        last = feature.bins[-1]
        if not feature.low <= first < last <= feature.high:
            raise SpaceError(
                f"feature {name!r}: bins = {feature.bins!r} reach beyond {feature.domain}"
            )


def _check_step(feature: Feature, step: float) -> None:
    if step <= 0:
        raise SpaceError(f"feature {feature.name!r}: step = {step!r} must be over 0")
    if feature.high - feature.low >= LARGEST * step:
        raise SpaceError(
            f"feature {feature.name!r}: {feature.domain} are 2**53 values or more; choose a larger"
            " step"
        )


def _check_number(feature: Feature, field: str, value: Any) -> None:
    entry = f"feature {feature.name!r}: {field} = {clip(repr(value))}"
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    # Only NaN differs from itself; math.isnan fails for whole numbers that no float can hold.
    if not is_number or value != value:
        raise SpaceError(f"{entry} is not a number")
    if abs(value) > LARGEST:
        raise SpaceError(
            f"{entry} is beyond ±2**53, from where whole numbers cannot be told apart"
        )
    if feature.kind == "date" and value != int(value):
        raise SpaceError(f"{entry} is not a whole number of days")
    if feature.kind == "integer" and value != int(value):
        raise SpaceError(f"{entry} is not a whole number; use real() instead")


def check_missing_share(name: str, missing: Any) -> None:
    """Refuse what says neither whether a feature may be missing nor how often it is."""
    if isinstance(missing, bool):
        return
    is_number = isinstance(missing, int | float)
    if not is_number or not 0 < missing < 1:
        raise SpaceError(
            f"feature {name!r}: missing = {clip(repr(missing))} must be true, false, or how often"
            " it is missing, a share over 0 and under 1"
        )


def listed_levels(name: str, levels: Any) -> tuple[Label, ...]:
    """Return levels as a tuple of plain values; refuse what is no list."""
    if isinstance(levels, str | Mapping) or not isinstance(levels, Iterable):
        raise SpaceError(
            f"feature {name!r}: levels must be a list, not {clip(repr(levels))}"
        )
    return tuple(plain(level) for level in levels)


def declared_fields(
    name: str, table: Mapping[str, Any], base: Feature | None
) -> dict[str, Any]:
    """Return a declaration in the form the dataclass holds it, its kind included."""
    check_keys(name, table)
    kind = kind_of(name, table, base)
    fields = {}
    for key, value in table.items():
        if key not in ("name", "labels"):
            fields[key] = plain(value)
    fields["kind"] = kind
    if "levels" in fields:
        fields["levels"] = listed_levels(name, fields["levels"])
    if kind == "date":
        fields |= dated(name, fields)
    if "bins" in fields:
        fields["bins"] = checked_bins(name, fields["bins"])
    if "derived" in fields:
        fields["derived"] = fields["derived"] or None
    if "labels" in table:
        fields["words"] = read_labels(f"feature {name!r}", table["labels"])
    return fields


def dated(name: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the ends and edges of a date as days; refuse what is no date."""
    found: dict[str, Any] = {}
    for key in ("low", "high"):
        if key in fields:
            found[key] = _day(name, key, fields[key])
    edges = fields.get("bins")
    if isinstance(edges, list | tuple | np.ndarray):
        found["bins"] = [_day(name, "bins", edge) for edge in edges]
    return found


def _day(name: str, key: str, value: Any) -> int:
    day = dates.day_of(value)
    if day is None:
        raise SpaceError(
            f"feature {name!r}: {key} = {clip(repr(value))} is not a date; write it as 2020-01-31"
        )
    return day


def checked_bins(name: str, bins: Any) -> int | tuple[float, ...] | None:
    """Return a number of bins, or their edges as a tuple; refuse anything else."""
    if bins is None:
        return None
    if isinstance(bins, int) and not isinstance(bins, bool) and bins >= 1:
        return bins
    if isinstance(bins, list | tuple | np.ndarray) and len(bins) >= 2:
        with contextlib.suppress(TypeError, ValueError):
            edges = tuple(float(edge) for edge in bins)
            if all(edge < next_edge for edge, next_edge in itertools.pairwise(edges)):
                return edges
    raise SpaceError(
        f"feature {name!r}: bins = {clip(repr(bins))} must be a number of bins or a rising list of"
        " edges"
    )


def check_keys(name: str, table: Mapping[str, Any]) -> None:
    """Refuse a declaration that is not a table, or has a key that no feature has."""
    if not isinstance(table, Mapping):
        raise SpaceError(
            f"feature {name!r}: {clip(repr(table))} must be a table such as {{'low': 0, 'high': 1}}"
        )
    for key in table:
        if key not in FIELDS:
            raise SpaceError(
                f"feature {name!r}: unknown key {key!r}; {nearest(key, FIELDS)}"
            )


def kind_of(name: str, table: Mapping[str, Any], base: Feature | None) -> Kind:
    """Return the kind that a declaration names, or that its other keys imply."""
    kind = table.get("kind") or _implied_kind(table, base)
    if kind is None:
        raise SpaceError(f"feature {name!r}: give it a kind, levels, or low and high")
    if kind not in KINDS:
        raise SpaceError(f"feature {name!r}: unknown kind {kind!r}; {nearest(kind, KINDS)}")
    foreign = _OF_NUMBERS if kind == "category" else _OF_CATEGORIES
    for key in foreign:
        if key in table:
            raise SpaceError(
                f"feature {name!r}: {key} = {clip(repr(table[key]))} cannot be combined with kind ="
                f" {kind!r}"
            )
    return kind


def _implied_kind(table: Mapping[str, Any], base: Feature | None) -> Kind | None:
    if "levels" in table:
        return "category"
    if any(dates.day_of(table.get(key)) is not None for key in ("low", "high")):
        return "date"
    numbers = []
    for key in ("low", "high", "step"):
        if key in table:
            numbers.append(table[key])
    # Whole ends do not turn a column of decimals into whole numbers.
    if not numbers or (base is not None and base.kind in ("real", "date")):
        if base is None:
            return None
        return base.kind
    if all(isinstance(number, int | np.integer) for number in numbers):
        return "integer"
    return "real"


def decimals_of(number: float) -> int:
    """Return how many decimals a number is written with.

    >>> decimals_of(0.25), decimals_of(3), decimals_of(1e-3)
    (2, 0, 3)
    """
    text = np.format_float_positional(float(number), trim="-")
    return len(text.partition(".")[2])
