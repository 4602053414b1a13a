"""One input column: what values it can take, how they are encoded, and how they are drawn."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.runtime.errors import SpaceError, clip, nearest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Kind = Literal["category", "integer", "real"]
Label = str | int | float | bool
"""A value as the user writes it."""
Points = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""Encoded inputs, one row each: codes for categories, the number itself for the rest."""

_LARGEST = 2.0**53
_EPSILON = 2.0**-52
_MOST_DECIMALS = 15
"""A double holds that many decimals; a grid written with more is not rounded to them."""


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
        elif self.kind in KINDS:
            self._check_range()
        else:
            raise SpaceError(
                f"feature {self.name!r}: unknown kind {self.kind!r}; {nearest(self.kind, KINDS)}"
            )
        if not isinstance(self.passed, bool):
            raise SpaceError(
                f"feature {self.name!r}: passed = {self.passed!r} must be true or false"
            )

    def _check_levels(self) -> None:
        if not self.levels:
            raise SpaceError(
                f"feature {self.name!r}: the list of levels is empty; give at least one"
            )
        for level in self.levels:
            if not isinstance(level, str | int | float | bool) or (
                isinstance(level, float) and math.isnan(level)
            ):
                raise SpaceError(
                    f"feature {self.name!r}: level {clip(repr(level))} is no text, number or truth"
                    " value"
                )
        seen: set[Label] = set()
        for level in self.levels:
            if level in seen:
                raise SpaceError(
                    f"feature {self.name!r}: level {level!r} is listed twice; list each level once"
                )
            seen.add(level)

    def _check_range(self) -> None:
        if self.kind == "integer" and self.step is None:
            object.__setattr__(self, "step", 1)
        for field in ("low", "high", "step"):
            value = getattr(self, field)
            if value is None and field == "step":
                continue
            said = f"feature {self.name!r}: {field} = {clip(repr(value))}"
            if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
                raise SpaceError(f"{said} is not a number")
            if abs(value) > _LARGEST:
                raise SpaceError(
                    f"{said} is beyond ±2**53, from where whole numbers cannot be told apart"
                )
            if self.kind == "integer" and value != int(value):
                raise SpaceError(f"{said} is not a whole number; use real() instead")
        if self.low > self.high:
            raise SpaceError(
                f"feature {self.name!r}: low = {self.low!r} is over high = {self.high!r}; swap them"
            )
        if self.step is not None and self.step <= 0:
            raise SpaceError(f"feature {self.name!r}: step = {self.step!r} must be over 0")
        if self.step is not None and self.high - self.low >= _LARGEST * self.step:
            raise SpaceError(
                f"feature {self.name!r}: {self.domain} are 2**53 values or more; take a larger step"
            )
        if (
            isinstance(self.bins, tuple)
            and not self.low <= self.bins[0] < self.bins[-1] <= self.high
        ):
            raise SpaceError(
                f"feature {self.name!r}: bins = {self.bins!r} reach beyond {self.domain}"
            )

    @property
    def size(self) -> int | float:
        """Number of distinct values; infinite for a real feature without a step."""
        if self.kind == "category":
            return len(self.levels)
        if self.step is None:
            return 1 if self.low == self.high else math.inf
        if self.kind == "integer":
            return int(self.high - self.low) // int(self.step) + 1
        steps = (self.high - self.low) / self.step
        return math.floor(steps + min(max(1e-9, 4 * _EPSILON * steps), 1e-3)) + 1

    def values(self) -> NDArray[np.float64]:
        """Return every encoded value in order; a real feature needs a step or bins (whose midpoints
        are taken).
        """
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

    @property
    def choices(self) -> int | float:
        """Number of values that a variant may take: those of `values`, and its own where that may
        be another.
        """
        return self.variety + (1 if math.isinf(self.size) else 0)

    def edges(self) -> NDArray[np.float64]:
        """Return the edges of the bins of a numeric feature."""
        if self.bins is None:
            raise SpaceError(
                f"feature {self.name!r} is continuous; give it a step or bins to list its values"
            )
        if isinstance(self.bins, int):
            return np.linspace(self.low, self.high, self.bins + 1)
        return np.asarray(self.bins, dtype=np.float64)

    def _grid(self, index: NDArray[Any]) -> NDArray[np.float64]:
        # Floats, so that a narrow index times a whole step does not wrap around.
        step, low = float(self.step or 0.0), float(self.low)
        values: NDArray[np.float64] = index * step + low
        decimals = max(decimals_of(step), decimals_of(low))
        return np.round(values, decimals) if 0 < decimals <= _MOST_DECIMALS else values

    def draw(self, n: int, rng: np.random.Generator, out: NDArray[np.float64]) -> None:
        """Fill `out` with `n` uniform encoded values."""
        size = self.size
        if math.isinf(size):
            np.copyto(out, rng.uniform(float(self.low), float(self.high), n))
            return
        index = rng.integers(0, int(size), n, dtype=np.uint16 if size <= 65536 else np.int64)
        if self.kind == "category":
            np.copyto(out, index)
        elif self.kind == "integer" and self.step == 1:
            np.add(index, float(self.low), out=out)
        else:
            np.copyto(out, self._grid(index))

    def labels(self, column: NDArray[np.float64]) -> list[Label]:
        """Return encoded values as the user writes them, as plain Python values."""
        if self.kind == "category":
            return [self.levels[code] for code in column.astype(np.intp).tolist()]
        return list(self.numbers(column).tolist())

    def numbers(self, column: NDArray[np.float64]) -> NDArray[Any]:
        """Return the encoded values of a numeric feature in its own type: whole numbers, or as they
        are.
        """
        return column.astype(np.int64) if self.kind == "integer" else column

    def inside(self, column: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Tell which encoded values this feature can take."""
        if self.kind == "category":
            return np.asarray(
                (column >= 0) & (column < len(self.levels)) & (column == np.floor(column))
            )
        if math.isinf(self.size):
            return np.asarray((column >= self.low) & (column <= self.high))
        with np.errstate(invalid="ignore", over="ignore"):
            index = self._index(column)
            off = np.abs(self._grid(index) - column)
            slack = 1e-6 * (self.step or 0.0) + 4 * _EPSILON * np.abs(column)
            return np.asarray((index >= 0) & (index < self.size) & (off <= slack))

    def snap(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        """Move values that lie on the grid but for rounding onto it, so that equal inputs have
        equal bytes.
        """
        if self.kind == "category" or math.isinf(self.size):
            return column
        return self._grid(self._index(column))

    def _index(self, column: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.round((column - self.low) / (self.step or 1.0))

    @property
    def domain(self) -> str:
        """The domain in words, for messages."""
        if self.kind == "category":
            return f"{len(self.levels)} levels"
        step = "" if self.step in (None, 1) else f" in steps of {self.step:.15g}"
        return f"{self.low:.15g} to {self.high:.15g}{step}"

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
        """Build a feature from a declaration; keys it leaves out come from `base`, the kind from
        its values.

        >>> Feature.from_dict("age", {"low": 18, "high": 90}) == integer("age", 18, 90)
        True
        """
        given = _checked(name, table, base)
        kind = given["kind"]
        if base is not None and base.kind == kind:
            return replace(base, **given)
        if kind == "category":
            if "levels" not in given:
                raise SpaceError(f"feature {name!r}: a category needs levels = [...]")
            return cls(name, **given)
        for key in ("low", "high"):
            if key not in given and (base is None or base.kind == "category"):
                raise SpaceError(f"feature {name!r}: {kind} needs {key} = …")
        ends = {} if base is None else {"low": base.low, "high": base.high}
        return cls(name, **{**ends, **given})


KINDS = ("category", "integer", "real")
FIELDS = ("name", "kind", "levels", "low", "high", "step", "bins", "passed")


def category(name: str, levels: Sequence[Label], *, passed: bool = True) -> Feature:
    """Declare a feature that takes one of a list of levels.

    >>> category("sex", ["F", "M"]).size
    2
    """
    return Feature(name, "category", levels=_levels(name, levels), passed=passed)


def integer(
    name: str, low: int, high: int, *, step: int = 1, bins: Any = None, passed: bool = True
) -> Feature:
    """Declare a whole number from `low` to `high`, both included.

    >>> integer("age", 20, 60, step=20).values().tolist()
    [20.0, 40.0, 60.0]
    """
    return Feature(name, "integer", low=plain(low), high=plain(high), step=plain(step), bins=_bins(name, bins),
                   passed=passed)  # fmt: skip


def real(
    name: str,
    low: float,
    high: float,
    *,
    step: float | None = None,
    bins: Any = None,
    passed: bool = True,
) -> Feature:
    """Declare a number from `low` to `high`, both included; continuous, or on a grid of `step`.

    >>> real("rate", 0, 1, step=0.25).size
    5
    """
    return Feature(name, "real", low=plain(low), high=plain(high), step=plain(step), bins=_bins(name, bins),
                   passed=passed)  # fmt: skip


def decimals_of(number: float) -> int:
    """Return how many decimals a number is written with.

    >>> decimals_of(0.25), decimals_of(3), decimals_of(1e-3)
    (2, 0, 3)
    """
    text = np.format_float_positional(float(number), trim="-")
    return len(text.partition(".")[2])


def plain(value: Any) -> Any:
    """Return a numpy scalar as the Python value it stands for, and anything else as it is.

    >>> plain(np.int8(3)), plain("a")
    (3, 'a')
    """
    return value.item() if isinstance(value, np.generic) else value


def _bins(name: str, bins: Any) -> int | tuple[float, ...] | None:
    bins = plain(bins)
    if bins is None or (isinstance(bins, int) and not isinstance(bins, bool) and bins >= 1):
        return bins
    if isinstance(bins, list | tuple | np.ndarray) and len(bins) >= 2:
        with contextlib.suppress(TypeError, ValueError):
            edges = tuple(float(edge) for edge in bins)
            if all(one < other for one, other in itertools.pairwise(edges)):
                return edges
    raise SpaceError(
        f"feature {name!r}: bins = {clip(repr(bins))} must be a number of bins or a rising list of"
        " edges"
    )


def _levels(name: str, levels: Any) -> tuple[Label, ...]:
    if isinstance(levels, str | Mapping) or not isinstance(levels, Iterable):
        raise SpaceError(f"feature {name!r}: levels must be a list, not {clip(repr(levels))}")
    return tuple(plain(level) for level in levels)


def _checked(name: str, table: Mapping[str, Any], base: Feature | None) -> dict[str, Any]:
    """Return a declaration in the form the dataclass holds it, its kind included."""
    if not isinstance(table, Mapping):
        raise SpaceError(
            f"feature {name!r}: {clip(repr(table))} must be a table such as {{'low': 0, 'high': 1}}"
        )
    for key in table:
        if key not in FIELDS:
            raise SpaceError(f"feature {name!r}: unknown key {key!r}; {nearest(key, FIELDS)}")
    kind = table.get("kind") or _implied_kind(table, base)
    if kind is None:
        raise SpaceError(f"feature {name!r}: give it a kind, levels, or low and high")
    if kind not in KINDS:
        raise SpaceError(f"feature {name!r}: unknown kind {kind!r}; {nearest(kind, KINDS)}")
    for key in ("low", "high", "step", "bins") if kind == "category" else ("levels",):
        if key in table:
            raise SpaceError(
                f"feature {name!r}: {key} = {clip(repr(table[key]))} does not go with kind ="
                f" {kind!r}"
            )
    given = {key: plain(value) for key, value in table.items() if key != "name"} | {"kind": kind}
    if "levels" in given:
        given["levels"] = _levels(name, given["levels"])
    if "bins" in given:
        given["bins"] = _bins(name, given["bins"])
    return given


def _implied_kind(given: Mapping[str, Any], base: Feature | None) -> Kind | None:
    if "levels" in given:
        return "category"
    numbers = [given[key] for key in ("low", "high", "step") if key in given]
    if not numbers or (base is not None and base.kind == "real"):
        return None if base is None else base.kind
    return "integer" if all(isinstance(number, int | np.integer) for number in numbers) else "real"


def combinations(sizes: Iterable[int | float]) -> int | float:
    """Multiply sizes; exact however large, and infinite where one of them is.

    >>> combinations([10**200, 10**200]) == 10**400, combinations([10**400, math.inf])
    (True, inf)
    """
    factors = list(sizes)
    return math.inf if math.inf in factors else math.prod(factors)


def count(number: float) -> str:
    """Write a number of inputs for people: in full, or as a power of ten where that says more.

    >>> count(146), count(2.5e20), count(10**400)
    ('146', '2.5e+20', '1.0e+400')
    """
    if number == math.inf:
        return "infinitely many"
    if number < 1e9:
        return f"{int(number):,}"
    return f"{number:.2g}" if number < 1e300 else f"{Decimal(number):.1e}"


def product(columns: Sequence[NDArray[np.float64]]) -> Points:
    """Return every combination of the values of columns, the last one changing fastest.

    >>> product([np.array([0.0, 1.0]), np.array([5.0, 6.0])]).tolist()
    [[0.0, 5.0], [0.0, 6.0], [1.0, 5.0], [1.0, 6.0]]
    """
    repeat = math.prod(len(values) for values in columns)
    out: Points = np.empty((repeat, len(columns)), dtype=np.float64, order="F")
    for position, values in enumerate(columns):
        repeat //= len(values)
        out[:, position].reshape(-1, len(values), repeat)[:] = values[:, None]
    return out
