"""One input column: what values it can take, how they are encoded, and how they are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.core.errors import SpaceError, nearest

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

Kind = Literal["category", "integer", "real"]
Label = str | int | float | bool
"""A value as the user writes it."""
Points = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""Encoded inputs, one row each: codes for categories, the number itself for the rest."""

_LARGEST = 2.0**53


@dataclass(frozen=True, slots=True)
class Feature:
    """One input column (Themis Def. 3.1); build it with `category`, `integer` or `real`.

    >>> integer("age", 18, 90).size
    73
    """

    name: str
    kind: Kind
    levels: tuple[Label, ...] = ()
    low: float = 0.0
    high: float = 0.0
    step: float | None = None
    bins: int | tuple[float, ...] | None = None
    passed: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            raise SpaceError(f"a feature's name must be a non-empty text, not {self.name!r}")
        if self.kind == "category":
            self._check_levels()
        elif self.kind in ("integer", "real"):
            self._check_range()
        else:
            raise SpaceError(f"feature {self.name!r}: unknown kind {self.kind!r}; {nearest(self.kind, KINDS)}")

    def _check_levels(self) -> None:
        if not self.levels:
            raise SpaceError(f"feature {self.name!r}: the list of levels is empty; give at least one")
        for level in self.levels:
            if not isinstance(level, str | int | float | bool) or (isinstance(level, float) and math.isnan(level)):
                raise SpaceError(f"feature {self.name!r}: level {level!r} is no text, number or truth value")
        if len(set(self.levels)) < len(self.levels):
            twice = next(level for i, level in enumerate(self.levels) if level in self.levels[:i])
            raise SpaceError(f"feature {self.name!r}: level {twice!r} is listed twice; list each level once")

    def _check_range(self) -> None:
        for field in ("low", "high", "step"):
            value = getattr(self, field)
            if value is None and field == "step":
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
                raise SpaceError(f"feature {self.name!r}: {field} = {value!r} is not a finite number")
            if self.kind == "integer" and value != int(value):
                raise SpaceError(f"feature {self.name!r}: {field} = {value!r} is not a whole number; use real() instead")
            if abs(value) > _LARGEST:
                raise SpaceError(f"feature {self.name!r}: {field} = {value!r} is beyond ±2**53")
        if self.low > self.high:
            raise SpaceError(f"feature {self.name!r}: low = {self.low:g} is over high = {self.high:g}; swap them")
        if self.step is not None and self.step <= 0:
            raise SpaceError(f"feature {self.name!r}: step = {self.step!r} must be over 0")

    @property
    def size(self) -> int | float:
        """Number of distinct values; infinite for a real feature without a step."""
        if self.kind == "category":
            return len(self.levels)
        if self.step is None:
            return 1 if self.low == self.high else math.inf
        return math.floor((self.high - self.low) / self.step + 1e-9) + 1

    def values(self) -> NDArray[np.float64]:
        """Return every encoded value in order; a real feature needs a step or bins (whose midpoints are taken)."""
        if self.kind == "category":
            return np.arange(len(self.levels), dtype=np.float64)
        if math.isinf(self.size):
            edges = self.edges()
            return (edges[:-1] + edges[1:]) / 2
        return self._grid(np.arange(self.size, dtype=np.float64))

    @property
    def variety(self) -> int | float:
        """Number of values that `values` would list, without listing them."""
        if math.isfinite(self.size) or self.bins is None:
            return self.size
        return self.bins if isinstance(self.bins, int) else len(self.bins) - 1

    def edges(self) -> NDArray[np.float64]:
        """Return the edges of the bins of a numeric feature."""
        if self.bins is None:
            raise SpaceError(f"feature {self.name!r} is continuous; give it a step or bins to list its values")
        if isinstance(self.bins, int):
            return np.linspace(self.low, self.high, self.bins + 1)
        return np.asarray(self.bins, dtype=np.float64)

    def _grid(self, index: NDArray[Any]) -> NDArray[np.float64]:
        step = self.step or 0.0
        values = index * step + self.low
        decimals = max(decimals_of(step), decimals_of(self.low))
        return values if decimals == 0 else np.round(values, decimals)

    def draw(self, n: int, rng: np.random.Generator, out: NDArray[np.float64]) -> None:
        """Fill `out` with `n` uniform encoded values."""
        size = self.size
        if math.isinf(size):
            np.copyto(out, rng.uniform(self.low, self.high, n))
            return
        index = rng.integers(0, int(size), n, dtype=np.uint16 if size <= 65536 else np.int64)
        if self.kind == "category":
            np.copyto(out, index)
        elif self.kind == "integer" and self.step == 1:
            np.add(index, self.low, out=out)
        else:
            np.copyto(out, self._grid(index))

    def labels(self, column: NDArray[np.float64]) -> list[Label]:
        """Return encoded values as the user writes them, as plain Python values."""
        if self.kind == "category":
            return [self.levels[code] for code in column.astype(np.intp).tolist()]
        return list((column.astype(np.int64) if self.kind == "integer" else column).tolist())

    def inside(self, column: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which encoded values this feature can take."""
        if self.kind == "category":
            return (column >= 0) & (column < len(self.levels)) & (column == np.floor(column))
        inside = (column >= self.low) & (column <= self.high)
        if math.isfinite(self.size):
            step = self.step or 1.0
            inside &= np.abs(self._grid(np.round((column - self.low) / step)) - column) <= 1e-9 * max(1.0, step)
        return np.asarray(inside, dtype=np.bool_)

    def snap(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move values that lie on the grid but for rounding onto it, so that equal inputs have equal bytes."""
        if self.kind == "category" or math.isinf(self.size) or self.step is None:
            return column
        return self._grid(np.round((column - self.low) / self.step))

    @property
    def domain(self) -> str:
        """The domain in words, for messages."""
        if self.kind == "category":
            return f"{len(self.levels)} levels"
        step = "" if self.step in (None, 1) else f" in steps of {self.step:g}"
        return f"{self.low:g} to {self.high:g}{step}"

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as JSON would hold it, without what is at its default."""
        number = int if self.kind == "integer" else float
        found: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind == "category":
            found["levels"] = list(self.levels)
        else:
            found |= {"low": number(self.low), "high": number(self.high)}
            if self.step is not None and not (self.kind == "integer" and self.step == 1):
                found["step"] = number(self.step)
        if self.bins is not None:
            found["bins"] = self.bins if isinstance(self.bins, int) else list(self.bins)
        if not self.passed:
            found["passed"] = False
        return found

    @classmethod
    def from_dict(cls, name: str, table: Mapping[str, Any], base: Feature | None = None) -> Feature:
        """Build a feature from a declaration; keys it leaves out come from `base`, the kind from its values."""
        for key in table:
            if key not in FIELDS:
                raise SpaceError(f"feature {name!r}: unknown key {key!r}; {nearest(key, FIELDS)}")
        given = {key: value for key, value in table.items() if key != "name"}
        kind = given.get("kind") or _implied_kind(given) or (base.kind if base else None)
        if kind is None:
            raise SpaceError(f"feature {name!r}: give it a kind, levels, or low and high")
        if base is not None and base.kind == kind:
            return replace(base, **_checked(name, kind, given))
        if kind == "category":
            if "levels" not in given:
                raise SpaceError(f"feature {name!r}: a category needs levels = [...]")
            return category(name, given["levels"], passed=given.get("passed", True))
        ends = {key: given.get(key, getattr(base, key) if base and base.kind != "category" else None)
                for key in ("low", "high")}  # fmt: skip
        for key, value in ends.items():
            if value is None:
                raise SpaceError(f"feature {name!r}: {kind} needs {key} = …")
        rest = {key: given[key] for key in ("step", "bins", "passed") if key in given}
        if kind == "integer":
            return integer(name, ends["low"], ends["high"], **rest)
        if kind == "real":
            return real(name, ends["low"], ends["high"], **rest)
        raise SpaceError(f"feature {name!r}: unknown kind {kind!r}; {nearest(kind, KINDS)}")


KINDS = ("category", "integer", "real")
FIELDS = ("name", "kind", "levels", "low", "high", "step", "bins", "passed")


def category(name: str, levels: Sequence[Label], *, passed: bool = True) -> Feature:
    """Declare a feature that takes one of a list of levels.

    >>> category("sex", ["F", "M"]).size
    2
    """
    if isinstance(levels, str) or not hasattr(levels, "__iter__"):
        raise SpaceError(f"feature {name!r}: levels must be a list, not {levels!r}")
    return Feature(name, "category", levels=tuple(_plain(level) for level in levels), passed=passed)


def integer(name: str, low: int, high: int, *, step: int = 1, bins: Any = None, passed: bool = True) -> Feature:
    """Declare a whole number from `low` to `high`, both included."""
    return Feature(name, "integer", low=_plain(low), high=_plain(high), step=_plain(step), bins=_bins(name, bins),
                   passed=passed)  # fmt: skip


def real(
    name: str, low: float, high: float, *, step: float | None = None, bins: Any = None, passed: bool = True
) -> Feature:
    """Declare a number from `low` to `high`, both included; continuous, or on a grid of `step`."""
    return Feature(name, "real", low=_plain(low), high=_plain(high), step=_plain(step), bins=_bins(name, bins),
                   passed=passed)  # fmt: skip


def decimals_of(number: float) -> int:
    """Return how many decimals a number is written with.

    >>> decimals_of(0.25), decimals_of(3), decimals_of(1e-3)
    (2, 0, 3)
    """
    text = np.format_float_positional(float(number), trim="-")
    return len(text.partition(".")[2])


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _bins(name: str, bins: Any) -> int | tuple[float, ...] | None:
    if bins is None or (isinstance(bins, int) and not isinstance(bins, bool) and bins >= 1):
        return bins
    if isinstance(bins, list | tuple | np.ndarray) and len(bins) >= 2 and all(np.diff(np.asarray(bins, float)) > 0):
        return tuple(float(edge) for edge in bins)
    raise SpaceError(f"feature {name!r}: bins = {bins!r} must be a number of bins or a rising list of edges")


def _implied_kind(given: Mapping[str, Any]) -> Kind | None:
    if "levels" in given:
        return "category"
    numbers = [given[key] for key in ("low", "high", "step") if key in given]
    if not numbers:
        return None
    return "integer" if all(isinstance(number, int) for number in numbers) else "real"


def _checked(name: str, kind: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return overrides in the form the dataclass holds them."""
    given = {**given, "kind": kind}
    if "levels" in given:
        if not isinstance(given["levels"], list | tuple):
            raise SpaceError(f"feature {name!r}: levels must be a list, not {given['levels']!r}")
        given["levels"] = tuple(given["levels"])
    if "bins" in given:
        given["bins"] = _bins(name, given["bins"])
    return given
