"""One input column: what values it can take, how they are encoded, and how they are drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np

from evenhand.runtime.errors import SpaceError, clip, nearest
from evenhand.space.declaration import (
    KINDS,
    check_keys,
    check_levels,
    check_range,
    checked_bins,
    decimals_of,
    kind_of,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

Kind = Literal["category", "integer", "real"]
Floats: TypeAlias = "NDArray[np.float64]"
Flags: TypeAlias = "NDArray[np.bool_]"
Label = str | int | float | bool
"""A value as the user writes it."""
Points = np.ndarray[tuple[int, ...], np.dtype[np.float64]]
"""Encoded inputs, one row each: codes for categories, the number itself for the rest."""

_EPSILON = 2.0**-52
_MOST_DECIMALS = 15
"""A double holds that many decimals; a grid written with more is not rounded to them."""
_MOST_SHORT = 1 << 16
"""Up to so many values are drawn as 16-bit numbers, which take a quarter of the random bits."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One input column (Themis Def. 3.1); build it with `category`, `integer` or `real`.

    See docs/how-to/spaces.md.

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
            raise SpaceError(
                f"a feature's name must be a non-empty text, not {self.name!r}"
            )
        if self.kind not in KINDS:
            raise SpaceError(
                f"feature {self.name!r}: unknown kind {self.kind!r}; {nearest(self.kind, KINDS)}"
            )
        if self.kind == "category":
            check_levels(self.name, self.levels)
        else:
            if self.kind == "integer" and self.step is None:
                object.__setattr__(self, "step", 1)
            check_range(self)
        if not isinstance(self.passed, bool):
            raise SpaceError(
                f"feature {self.name!r}: passed = {self.passed!r} must be true or false"
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
        # A division such as 0.3 / 0.1 falls just short of the whole number it stands for.
        slack = max(1e-9, 4 * _EPSILON * steps)
        return math.floor(steps + min(slack, 1e-3)) + 1

    def values(self) -> Floats:
        """Return every encoded value in order.

        A real feature needs a step, or bins, whose midpoints are taken.
        """
        if self.kind == "category":
            return np.arange(len(self.levels), dtype=np.float64)
        if math.isinf(self.size):
            edges = self.edges()
            return (edges[:-1] + edges[1:]) / 2
        index = np.arange(self.size, dtype=np.float64)
        return self._grid(index)

    @property
    def variety(self) -> int | float:
        """Number of values that `values` would list, without listing them."""
        if math.isfinite(self.size) or self.bins is None:
            return self.size
        if isinstance(self.bins, int):
            return self.bins
        return len(self.bins) - 1

    @property
    def choices(self) -> int | float:
        """Number of values that a variant may take; of a continuous feature its own counts too."""
        if math.isinf(self.size):
            return self.variety + 1
        return self.variety

    def edges(self) -> Floats:
        """Return the edges of the bins of a numeric feature."""
        if self.bins is None:
            raise SpaceError(
                f"feature {self.name!r} is continuous; give it a step or bins to list its values"
            )
        if isinstance(self.bins, int):
            return np.linspace(self.low, self.high, self.bins + 1)
        return np.asarray(self.bins, dtype=np.float64)

    def _grid(self, index: NDArray[Any]) -> Floats:
        """Return the values at some places of the grid."""
        # Floats, so that a narrow index times a whole step does not wrap around.
        step = float(self.step or 0.0)
        low = float(self.low)
        values: Floats = index * step + low
        # Rounded as the user writes them: 3 * 0.1 must be the same number as 0.3.
        decimals = max(decimals_of(step), decimals_of(low))
        if 0 < decimals <= _MOST_DECIMALS:
            return np.round(values, decimals)
        return values

    def draw(self, n: int, rng: np.random.Generator, out: Floats) -> None:
        """Fill `out` with `n` uniform encoded values."""
        size = self.size
        if math.isinf(size):
            values = rng.uniform(float(self.low), float(self.high), n)
            np.copyto(out, values)
            return
        dtype = np.uint16 if size <= _MOST_SHORT else np.int64
        index = rng.integers(0, int(size), n, dtype=dtype)
        if self.kind == "category":
            np.copyto(out, index)
        elif self.kind == "integer" and self.step == 1:
            np.add(index, float(self.low), out=out)
        else:
            np.copyto(out, self._grid(index))

    def labels(self, column: Floats) -> list[Label]:
        """Return encoded values as the user writes them, as plain Python values."""
        if self.kind == "category":
            codes = column.astype(np.intp).tolist()
            return [self.levels[code] for code in codes]
        return list(self.numbers(column).tolist())

    def numbers(self, column: Floats) -> NDArray[Any]:
        """Return the encoded values of a numeric feature in its own type, int64 or float64."""
        if self.kind == "integer":
            return column.astype(np.int64)
        return column

    def inside(self, column: Floats) -> Flags:
        """Return which encoded values this feature can take."""
        if self.kind == "category":
            in_range = (column >= 0) & (column < len(self.levels))
            return np.asarray(in_range & (column == np.floor(column)))
        if math.isinf(self.size):
            return np.asarray((column >= self.low) & (column <= self.high))
        with np.errstate(invalid="ignore", over="ignore"):
            index = self._index(column)
            in_range = (index >= 0) & (index < self.size)
            distance = np.abs(self._grid(index) - column)
            # What sums and quotients of doubles may be off by, near the step and near the value.
            slack = 1e-6 * (self.step or 0.0) + 4 * _EPSILON * np.abs(column)
            return np.asarray(in_range & (distance <= slack))

    def snap(self, column: Floats) -> Floats:
        """Move values that lie on the grid but for rounding onto it.

        Inputs that are equal then have equal bytes, and so equal keys.
        """
        if self.kind == "category" or math.isinf(self.size):
            return column
        index = self._index(column)
        return self._grid(index)

    def _index(self, column: Floats) -> Floats:
        """Return the nearest place on the grid of each value."""
        step = self.step or 1.0
        return np.round((column - self.low) / step)

    @property
    def domain(self) -> str:
        """The domain in words, for messages."""
        if self.kind == "category":
            return f"{len(self.levels)} levels"
        ends = f"{self.low:.15g} to {self.high:.15g}"
        if self.step in (None, 1):
            return ends
        return f"{ends} in steps of {self.step:.15g}"

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as JSON would hold it, without what is at its default."""
        table: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind == "category":
            table["levels"] = list(self.levels)
        else:
            number = int if self.kind == "integer" else float
            table["low"] = number(self.low)
            table["high"] = number(self.high)
            default_step = 1 if self.kind == "integer" else None
            if self.step is not None and self.step != default_step:
                table["step"] = number(self.step)
        if isinstance(self.bins, tuple):
            table["bins"] = list(self.bins)
        elif self.bins is not None:
            table["bins"] = self.bins
        if not self.passed:
            table["passed"] = False
        return table

    @classmethod
    def from_dict(
        cls, name: str, table: Mapping[str, Any], base: Feature | None = None
    ) -> Feature:
        """Build a feature from a declaration; keys that it leaves out come from `base`.

        Without a key `kind`, the other keys imply what kind it is.

        >>> Feature.from_dict("age", {"low": 18, "high": 90}) == integer("age", 18, 90)
        True
        """
        fields = _fields(name, table, base)
        kind = fields["kind"]
        if base is not None and base.kind == kind:
            return replace(base, **fields)
        if kind == "category":
            if "levels" not in fields:
                raise SpaceError(f"feature {name!r}: a category needs levels = [...]")
            return cls(name, **fields)
        if base is not None and base.kind != "category":
            fields = {"low": base.low, "high": base.high, **fields}
        for key in ("low", "high"):
            if key not in fields:
                raise SpaceError(f"feature {name!r}: {kind} needs {key} = …")
        return cls(name, **fields)


def category(name: str, levels: Sequence[Label], *, passed: bool = True) -> Feature:
    """Declare a feature that takes one of a list of levels.

    Parameters
    ----------
    name
        The name of the column.
    levels
        Texts, numbers or truth values, each once.
    passed
        False for a feature that the software under test does not take.

    Returns
    -------
    Feature
        The feature, to be put into a `Space`.

    Raises
    ------
    SpaceError
        If the levels are no list, empty, repeated, or hold what is no label.

    See Also
    --------
    See docs/how-to/spaces.md.

    Examples
    --------
    >>> category("sex", ["F", "M"]).size
    2
    """
    return Feature(name, "category", levels=_levels(name, levels), passed=passed)


def integer(
    name: str,
    low: int,
    high: int,
    *,
    step: int = 1,
    bins: Any = None,
    passed: bool = True,
) -> Feature:
    """Declare a whole number from `low` to `high`, both included.

    Parameters
    ----------
    name
        The name of the column.
    low, high
        The least and the greatest value.
    step
        How far apart the values are.
    bins
        A number of bins of equal width, or a rising list of edges, by which values form groups.
    passed
        False for a feature that the software under test does not take.

    Returns
    -------
    Feature
        The feature, to be put into a `Space`.

    Raises
    ------
    SpaceError
        If `low` is over `high`, a number is not whole, or the bins do not fit the range.

    See Also
    --------
    See docs/how-to/spaces.md.

    Examples
    --------
    >>> integer("age", 20, 60, step=20).values().tolist()
    [20.0, 40.0, 60.0]
    """
    return Feature(
        name,
        "integer",
        low=plain(low),
        high=plain(high),
        step=plain(step),
        bins=checked_bins(name, plain(bins)),
        passed=passed,
    )


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

    Parameters
    ----------
    name
        The name of the column.
    low, high
        The least and the greatest value.
    step
        How far apart the values are; None for a continuous feature.
    bins
        A number of bins of equal width, or a rising list of edges, by which values form groups.
    passed
        False for a feature that the software under test does not take.

    Returns
    -------
    Feature
        The feature, to be put into a `Space`.

    Raises
    ------
    SpaceError
        If `low` is over `high`, the step is not over 0, or the bins do not fit the range.

    See Also
    --------
    See docs/how-to/spaces.md.

    Examples
    --------
    >>> real("rate", 0, 1, step=0.25).size
    5
    """
    return Feature(
        name,
        "real",
        low=plain(low),
        high=plain(high),
        step=plain(step),
        bins=checked_bins(name, plain(bins)),
        passed=passed,
    )


def plain(value: Any) -> Any:
    """Return a numpy scalar as the Python value it stands for, and anything else as it is.

    >>> plain(np.int8(3)), plain("a")
    (3, 'a')
    """
    if isinstance(value, np.generic):
        return value.item()
    return value


def _levels(name: str, levels: Any) -> tuple[Label, ...]:
    if isinstance(levels, str | Mapping) or not isinstance(levels, Iterable):
        raise SpaceError(
            f"feature {name!r}: levels must be a list, not {clip(repr(levels))}"
        )
    return tuple(plain(level) for level in levels)


def _fields(name: str, table: Mapping[str, Any], base: Feature | None) -> dict[str, Any]:
    """Return a declaration in the form the dataclass holds it, its kind included."""
    check_keys(name, table)
    kind = kind_of(name, table, base)
    fields = {key: plain(value) for key, value in table.items() if key != "name"}
    fields["kind"] = kind
    if "levels" in fields:
        fields["levels"] = _levels(name, fields["levels"])
    if "bins" in fields:
        fields["bins"] = checked_bins(name, fields["bins"])
    return fields


def combinations(sizes: Iterable[int | float]) -> int | float:
    """Multiply sizes; exact however large, and infinite where one of them is.

    >>> combinations([10**200, 10**200]) == 10**400, combinations([10**400, math.inf])
    (True, inf)
    """
    factors = list(sizes)
    # Infinity times 10**400 would have to turn that whole number into a float, and fail.
    if math.inf in factors:
        return math.inf
    return math.prod(factors)


def count(number: float) -> str:
    """Write a number of inputs for people: in full, or as a power of ten where that says more.

    >>> count(146), count(2.5e20), count(10**400)
    ('146', '2.5e+20', '1.0e+400')
    """
    if number == math.inf:
        return "infinitely many"
    if number < 1e9:
        return f"{int(number):,}"
    if number < 1e300:
        return f"{number:.2g}"
    return f"{Decimal(number):.1e}"


def empty_points(rows: int, width: int) -> Points:
    """Return a matrix for encoded inputs that is not filled yet.

    Each column is contiguous in memory, since features are drawn, read and encoded one at a time.
    """
    return np.empty((rows, width), dtype=np.float64, order="F")


def zero_points(rows: int, width: int) -> Points:
    """Return a matrix for encoded inputs that is filled with zeros; see `empty_points`."""
    return np.zeros((rows, width), dtype=np.float64, order="F")


def product(columns: Sequence[Floats]) -> Points:
    """Return every combination of the values of columns, the last one changing fastest.

    >>> product([np.array([0.0, 1.0]), np.array([5.0, 6.0])]).tolist()
    [[0.0, 5.0], [0.0, 6.0], [1.0, 5.0], [1.0, 6.0]]
    """
    total = math.prod(len(values) for values in columns)
    out = empty_points(total, len(columns))
    repeat = total
    for position, values in enumerate(columns):
        repeat //= len(values)
        cycles = out[:, position].reshape(-1, len(values), repeat)
        cycles[:] = values[:, None]
    return out
