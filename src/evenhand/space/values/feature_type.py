"""One input column: what values it can take, how they are encoded, and how they are drawn."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evenhand.runtime.errors import SpaceError, nearest
from evenhand.space.declaration import (
    KINDS,
    WHOLE,
    check_levels,
    check_missing_share,
    check_range,
    decimals_of,
    declared_fields,
)
from evenhand.space.values import dates
from evenhand.space.values.labels import check_labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evenhand.space.values.points import Flags, Floats, Label

Kind = Literal["category", "integer", "real", "date"]

_EPSILON = 2.0**-52
_MOST_DECIMALS = 15
"""A double holds that many decimals; a grid written with more is not rounded to them."""
_MOST_SHORT = 1 << 16
"""Up to so many values are drawn as 16-bit numbers, which take a quarter of the random bits."""
_MISSING_SHARE = 0.05
"""How often a continuous feature is missing where no share is given."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One input column (Themis Def. 3.1); `category`, `integer`, `real` and `date` build it.

    A missing value has a code of its own beside the domain, so that all arithmetic on points stays
    finite. `size`, `values` and ranges speak of the known values only.

    See docs/how-to/spaces.md.

    >>> Feature("age", "integer", low=18, high=90).size
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
    missing: bool | float = False
    """Whether it may be missing, or how often it is."""
    twins_missing: bool = False
    """Whether a twin may lack the value."""
    derived: str | None = None
    """What it follows from, such as "year(applied)"; it is then never drawn or varied by itself."""
    words: tuple[tuple[str, str], ...] = ()
    """What people call its values: pairs of the text of a value and its label."""

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
            if self.kind in WHOLE and self.step is None:
                object.__setattr__(self, "step", 1)
            check_range(self)
        for key in ("passed", "twins_missing"):
            flag = getattr(self, key)
            if not isinstance(flag, bool):
                raise SpaceError(
                    f"feature {self.name!r}: {key} = {flag!r} must be true or false"
                )
        check_missing_share(self.name, self.missing)
        if self.twins_missing and not self.missing:
            raise SpaceError(
                f"feature {self.name!r}: twins_missing needs missing = true, or a share"
            )

    @property
    def size(self) -> int | float:
        """Number of distinct known values; infinite for a real feature without a step."""
        if self.kind == "category":
            return len(self.levels)
        if self.step is None:
            if self.low == self.high:
                return 1
            return math.inf
        if self.kind in WHOLE:
            return int(self.high - self.low) // int(self.step) + 1
        steps = (self.high - self.low) / self.step
        # A division such as 0.3 / 0.1 falls just short of the whole number it stands for.
        slack = max(1e-9, 4 * _EPSILON * steps)
        return math.floor(steps + min(slack, 1e-3)) + 1

    def values(self) -> Floats:
        """Return every encoded value in order, without the missing one.

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
        own = math.isinf(self.size)
        return self.variety + own + self.twins_missing

    def edges(self) -> Floats:
        """Return the edges of the bins of a numeric feature."""
        if self.bins is None:
            raise SpaceError(
                f"feature {self.name!r} is continuous; give it a step or bins to list its values"
            )
        if isinstance(self.bins, int):
            edges = np.linspace(self.low, self.high, self.bins + 1)
            # A date begins a day, where there are days enough.
            if self._has_days_for(self.bins):
                return np.round(edges)
            return edges
        return np.asarray(self.bins, dtype=np.float64)

    def _has_days_for(self, bins: int) -> bool:
        return self.kind == "date" and self.high - self.low >= bins

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

    @property
    def missing_code(self) -> float:
        """The code of a missing value: beside the domain, and finite."""
        if self.kind == "category":
            return float(len(self.levels))
        if self.step is None:
            return float(self.low - max(self.high - self.low, 1.0))
        return float(self._grid(np.array([-1.0]))[0])

    def is_missing(self, column: Floats) -> Flags:
        """Return which encoded values are missing ones."""
        if not self.missing:
            return np.zeros(column.shape, dtype=np.bool_)
        return np.asarray(column == self.missing_code)

    @property
    def missing_share(self) -> float:
        """How often the value is missing in uniform draws."""
        if self.missing is not True:
            return float(self.missing)
        if math.isinf(self.size):
            return _MISSING_SHARE
        return 1 / (self.size + 1)

    @property
    def even(self) -> bool:
        """Whether a missing value is drawn as often as any other one, or never.

        What is derived is not drawn.
        """
        if not self.missing or self.derived:
            return True
        return self.missing_share == 1 / (self.size + 1)

    @property
    def missing_word(self) -> str:
        """What people read for a missing value; a level of that name would be somebody else."""
        if "unknown" in self.levels:
            return "missing"
        return "unknown"

    @property
    def first_value(self) -> float:
        """The code of the first known value."""
        if self.kind == "category":
            return 0.0
        return float(self.low)

    @property
    def size_with_missing(self) -> int | float:
        """Number of distinct values, the missing one included."""
        return self.size + bool(self.missing)

    def values_with_missing(self) -> Floats:
        """Return every encoded value in order, the missing one included."""
        if not self.missing:
            return self.values()
        return np.sort(np.append(self.values(), self.missing_code))

    def twin_values(self) -> Floats:
        """Return the values that a twin may have: known ones, unless missing ones are asked for."""
        if self.twins_missing:
            return self.values_with_missing()
        return self.values()

    def draw(self, n: int, rng: np.random.Generator, out: Floats) -> None:
        """Fill `out` with `n` encoded values: uniform, and missing as often as it is declared."""
        self._draw_known(n, rng, out)
        if self.missing:
            out[rng.random(n) < self.missing_share] = self.missing_code

    def _draw_known(self, n: int, rng: np.random.Generator, out: Floats) -> None:
        size = self.size
        if math.isinf(size):
            values = rng.uniform(float(self.low), float(self.high), n)
            np.copyto(out, values)
            return
        dtype = np.uint16 if size <= _MOST_SHORT else np.int64
        index = rng.integers(0, int(size), n, dtype=dtype)
        if self.kind == "category":
            np.copyto(out, index)
        elif self.kind in WHOLE and self.step == 1:
            np.add(index, float(self.low), out=out)
        else:
            np.copyto(out, self._grid(index))

    def labels(self, column: Floats) -> list[Label]:
        """Return encoded values as the user writes them, as plain Python values.

        A missing one is None.
        """
        if self.kind == "category":
            codes = column.astype(np.intp).tolist()
            levels = (*self.levels, None)
            return [levels[code] for code in codes]
        if self.kind == "date":
            labels = dates.iso_objects(column).tolist()
        else:
            labels = self.numbers(column).tolist()
        if self.missing:
            for row in np.flatnonzero(self.is_missing(column)).tolist():
                labels[row] = None
        return list(labels)

    def numbers(self, column: Floats) -> NDArray[Any]:
        """Return the encoded values of a numeric feature in its own type, int64 or float64."""
        if self.kind in WHOLE:
            return column.astype(np.int64)
        return column

    def inside(self, column: Floats) -> Flags:
        """Return which encoded values this feature can take, the missing one included."""
        return self._known(column) | self.is_missing(column)

    def _known(self, column: Floats) -> Flags:
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
        ends = f"{self.end_text(self.low)} to {self.end_text(self.high)}"
        if self.step in (None, 1):
            return ends
        unit = " days" if self.kind == "date" else ""
        return f"{ends} in steps of {self.step:.15g}{unit}"

    def end_text(self, value: float) -> str:
        """Return a number of this feature as people read it: a date as 2020-01-31."""
        if self.kind == "date":
            return dates.iso_text(value)
        return f"{value:.15g}"

    def to_dict(self, *, labels: bool = True) -> dict[str, Any]:
        """Return the declaration as JSON would hold it, without what is at its default.

        Without `labels` it says only what the feature can be, and not what people call that.
        """
        table: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.kind == "category":
            table["levels"] = list(self.levels)
        else:
            table |= self._range_to_dict()
        if not self.passed:
            table["passed"] = False
        if self.missing:
            table["missing"] = self.missing
        if self.twins_missing:
            table["twins_missing"] = True
        if self.derived:
            table["derived"] = self.derived
        if self.words and labels:
            table["labels"] = dict(self.words)
        return table

    def _range_to_dict(self) -> dict[str, Any]:
        number: Callable[[float], Any] = int if self.kind in WHOLE else float
        end = dates.iso_text if self.kind == "date" else number
        table = {"low": end(self.low), "high": end(self.high)}
        default_step = 1 if self.kind in WHOLE else None
        if self.step is not None and self.step != default_step:
            table["step"] = number(self.step)
        if isinstance(self.bins, tuple):
            edge = dates.iso_text if self.kind == "date" else float
            table["bins"] = [edge(value) for value in self.bins]
        elif self.bins is not None:
            table["bins"] = self.bins
        return table

    @classmethod
    def from_dict(
        cls, name: str, table: Mapping[str, Any], base: Feature | None = None
    ) -> Feature:
        """Build a feature from a declaration; keys that it leaves out come from `base`.

        Without a key `kind`, the other keys imply what kind it is.

        >>> Feature.from_dict("age", {"low": 18, "high": 90}).kind
        'integer'
        """
        feature = cls._declared(name, declared_fields(name, table, base), base)
        check_labels(feature)
        return feature

    @classmethod
    def _declared(cls, name: str, fields: dict[str, Any], base: Feature | None) -> Feature:
        kind = fields["kind"]
        if base is not None and base.kind == kind:
            return replace(base, **fields)
        if base is not None:
            fields = {"missing": base.missing, **fields}
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
