"""Space: what an input can be (Themis Def. 3.2), and how inputs are drawn, varied and written in
the user's labels.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.space.blocks import Block, plan_blocks
from evenhand.space.constraints import Constraint, FunctionConstraint, named
from evenhand.space.dataframes import (
    Layout,
    check_missing,
    eager,
    encode_column,
    infer,
    layout_of,
)
from evenhand.space.feature import Feature, Label, Points, combinations, count, product

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    Over = str | Sequence[str]

MOST_ASSIGNMENTS = 1_000_000
"""The most value assignments of a set of features that are ever listed at once."""
MOST_BYTES = 2 << 30
"""The largest matrix of variants that is ever built at once."""


@dataclass(frozen=True, eq=False)
class Space:
    """What an input can be: features, which of them are protected, and constraints between them.

    Parameters
    ----------
    features
        Built with `category`, `integer` and `real`, in the order in which the software takes them.
    protected
        Names of the features that outcomes should not depend on.
    constraints
        Expressions such as ``"not (age < 21 and owns_house == 'yes')"``, or functions that take a
        frame of inputs and return which of them are valid.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)], protected=["sex"])
    >>> space.size
    146
    """

    features: Sequence[Feature]
    protected: Sequence[str] = ()
    constraints: Sequence[str | Callable[[Any], Any]] = ()
    layout: Layout = field(default_factory=Layout, repr=False)

    def __post_init__(self) -> None:
        if isinstance(self.features, str) or not isinstance(self.features, Iterable):
            raise SpaceError(
                f"features = {clip(repr(self.features))} must be a list; use category(), integer(),"
                " real()"
            )
        features = tuple(self.features)
        if not features:
            raise SpaceError("a space needs at least one feature")
        for feature in features:
            if not isinstance(feature, Feature):
                raise SpaceError(
                    f"{clip(repr(feature))} is no feature; build it with category(), integer() or"
                    " real()"
                )
        names = [feature.name for feature in features]
        for name in names:
            if names.count(name) > 1:
                raise SpaceError(
                    f"feature {name!r} is declared twice; give each feature its own name"
                )
        protected = _listed(self.protected)
        for name in protected:
            if name not in names:
                raise SpaceError(
                    f"protected feature {name!r} is not in the space; {nearest(name, names)}"
                )
            if protected.count(name) > 1:
                raise SpaceError(
                    f"protected feature {name!r} is named twice; name each feature once"
                )
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "protected", protected)
        object.__setattr__(self, "constraints", _listed(self.constraints))
        self._predicates  # noqa: B018

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        protected: Sequence[str] | str = (),
        *,
        target: str | None = None,
        features: Mapping[str, Mapping[str, Any]] | None = None,
        not_passed: Sequence[str] | str = (),
        constraints: Sequence[str | Callable[[Any], Any]] = (),
    ) -> Space:
        """Infer a space from any dataframe: kinds, levels and ranges of its columns.

        Parameters
        ----------
        frame
            A frame of any engine that narwhals reads; it must have no missing values.
        target
            A column to leave out.
        features
            Overrides by column, such as ``{"age": {"low": 18, "high": 90}, "zip": {"kind":
            "category"}}``.
        not_passed
            Columns that the software under test does not take; group scores can still use them.
        """
        table = eager(frame)
        declared = dict(features or {})
        hidden = _listed(not_passed)
        for name in (*declared, *hidden, *([target] if target else [])):
            if name not in table.columns:
                raise DataError(
                    f"column {name!r} is not in the frame; {nearest(name, table.columns)}"
                )
        declared |= {name: {**declared.get(name, {}), "passed": False} for name in hidden}
        names = [name for name in table.columns if name != target]
        found = infer(table, names, declared)
        changed = [feature for feature in found if feature.name in declared]
        return cls(found, protected, constraints, layout_of(table).fitted(changed))

    @classmethod
    def from_toml(cls, path: str | PathLike[str]) -> Space:
        """Read the `[space]` table of a TOML file, or the settings XML of the original Themis."""
        from evenhand.space.space_file import read_space

        return read_space(path)

    @classmethod
    def from_dict(cls, table: Mapping[str, Any]) -> Space:
        """Rebuild a space from `to_dict`."""
        features = [Feature.from_dict(entry["name"], entry) for entry in table["features"]]
        return cls(features, table.get("protected", ()), table.get("constraints", ()))

    def to_dict(self) -> dict[str, Any]:
        """Return the space as JSON would hold it; function constraints appear by name only."""
        found: dict[str, Any] = {
            "features": [feature.to_dict() for feature in self.features],
            "protected": list(self.protected),
        }
        if self.constraints:
            found["constraints"] = [named(constraint) for constraint in self.constraints]
        return found

    @cached_property
    def digest(self) -> str:
        """A hash of what an input can be; equal spaces have equal digests, whatever frame engine
        they came from.
        """
        text = json.dumps(
            self.to_dict(), sort_keys=True, ensure_ascii=True, separators=(",", ":")
        )
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def encoding(self) -> str:
        """A hash of how the software's inputs are encoded; spaces that share it can share answers.

        Ranges, constraints and what is protected do not count: they say which inputs are asked, not
        what an input is.
        """
        seen = [
            (self.features[at].name, self.features[at].kind, self.features[at].levels)
            for at in self.passed
        ]
        return hashlib.sha256(json.dumps(seen).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Space) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the features, in order."""
        return tuple(feature.name for feature in self.features)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: position for position, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """Return the position of a feature, or say which name is nearest."""
        if name not in self._index:
            raise UsageError(f"unknown feature {name!r}; {nearest(name, self.names)}")
        return self._index[name]

    def feature(self, name: str) -> Feature:
        """Return a feature by its name."""
        return self.features[self.index(name)]

    @cached_property
    def passed(self) -> tuple[int, ...]:
        """Positions of the features that the software under test takes."""
        return tuple(
            position for position, feature in enumerate(self.features) if feature.passed
        )

    @cached_property
    def _predicates(
        self,
    ) -> tuple[tuple[tuple[int, ...], Callable[[Points], NDArray[np.bool_]]], ...]:
        made: list[tuple[tuple[int, ...], Callable[[Points], NDArray[np.bool_]]]] = []
        for constraint in self.constraints:
            if isinstance(constraint, str):
                parsed = Constraint.parse(constraint, self.features)
                made.append(
                    (tuple(self._index[name] for name in parsed.touches), parsed.mask)
                )
            elif callable(constraint):
                made.append(
                    (
                        tuple(range(len(self.features))),
                        FunctionConstraint(self, constraint).mask,
                    )
                )
            else:
                raise SpaceError(
                    f"constraint {constraint!r} is neither an expression nor a function"
                )
        return tuple(made)

    def valid(self, points: Points) -> NDArray[np.bool_]:
        """Tell which encoded points satisfy every constraint."""
        mask = np.ones(len(points), dtype=np.bool_)
        for _, predicate in self._predicates:
            mask &= predicate(points)
        return mask

    def blocks(self, features: Sequence[Feature]) -> tuple[Block, ...]:
        """Return how to draw these features, which stand for the space's own, under its
        constraints.
        """
        return plan_blocks(
            tuple(features), self._predicates, [named(c) for c in self.constraints]
        )

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        return self.blocks(self.features)

    def tied(self, names: Over) -> bool:
        """Tell whether constraints tie these features to others."""
        mine = set(self.sets(names))
        return any(
            mine & set(block.columns) and not mine >= set(block.columns)
            for block in self._blocks
        )

    @cached_property
    def size(self) -> int | float:
        """Number of valid inputs; an upper bound where constrained features are too many to
        enumerate.
        """
        return combinations(block.size for block in self._blocks)

    def draw(self, n: int, rng: np.random.Generator) -> Points:
        """Draw `n` encoded inputs, uniform over all valid ones, independent, with replacement."""
        out: Points = np.empty((n, len(self.features)), dtype=np.float64, order="F")
        for block in self._blocks:
            block.draw(rng, out)
        return out

    def enumerate(
        self, most: int = MOST_ASSIGNMENTS, *, features: Sequence[Feature] | None = None
    ) -> Points:
        """Return every valid input once, or refuse with the numbers where there are more than
        `most`.

        `features` may stand for the space's own, to hold some of them still.
        """
        blocks = self._blocks if features is None else self.blocks(features)
        size = combinations(block.size for block in blocks)
        if size > most:
            most_said = "up to " if any(block.uncounted for block in blocks) else ""
            raise SpaceError(
                f"the space has {most_said}{count(size)} inputs, over the {most:,} that are"
                " enumerated at once"
            )
        tables = [block.table() for block in blocks]
        total = math.prod(len(table) for table in tables)
        out: Points = np.empty((total, len(self.features)), dtype=np.float64, order="F")
        repeat = total
        for block, table in zip(blocks, tables, strict=True):
            repeat //= len(table)
            rows = (np.arange(total) // repeat) % len(table)
            out[:, list(block.columns)] = table[rows]
        return out

    def sets(self, over: Over) -> tuple[int, ...]:
        """Return the positions of a set of features given by name."""
        names = (over,) if isinstance(over, str) else tuple(over)
        if not names:
            raise UsageError(
                f"over is empty; name at least one feature of {', '.join(self.names)}"
            )
        for name in names:
            if names.count(name) > 1:
                raise UsageError(f"over names {name!r} twice; name each feature once")
        return tuple(self.index(name) for name in names)

    def assignments(self, over: Over) -> Points:
        """Return every assignment of values to a set of features, one row each; NaN stands for a
        point's own value.
        """
        features = [self.features[position] for position in self.sets(over)]
        total = combinations(feature.choices for feature in features)
        if total == math.inf:
            name = next(feature.name for feature in features if math.isinf(feature.variety))
            raise SpaceError(
                f"feature {name!r} is continuous; give it a step or bins to vary it"
            )
        if total > MOST_ASSIGNMENTS:
            factors = clip(
                " × ".join(f"{feature.name} {feature.choices:,}" for feature in features),
                300,
            )
            raise SpaceError(
                f"{factors} = {count(total)} assignments, over the {MOST_ASSIGNMENTS:,} that are"
                " listed at once"
            )
        # A value between the middles of bins is a choice too, or a larger set would have fewer
        # variants than a smaller.
        own = [[np.nan] * int(feature.choices - feature.variety) for feature in features]
        return product(
            [
                np.array([*mine, *feature.values()])
                for mine, feature in zip(own, features, strict=True)
            ]
        )

    def variants(self, points: Points, over: Over) -> Points:
        """Return every point under every assignment of a set of features, assignment by assignment.

        With `m` assignments and `n` points, row ``j * n + i`` is point `i` under assignment `j`, so
        outcomes fold back with ``outcomes.reshape(m, n)``. Variants may break constraints; `valid`
        tells which.
        """
        points, table = self._shaped(points), self.assignments(over)
        rows = len(table) * len(points)
        if rows * len(self.features) * 8 > MOST_BYTES:
            raise SpaceError(
                f"{len(points):,} points × {len(table):,} assignments × {len(self.features)}"
                f" features are over {MOST_BYTES >> 30} GiB; vary fewer points at once"
            )
        return self.under(points, over, table)

    def under(self, points: Points, over: Over, table: Points) -> Points:
        """Return every point under each of some assignments, assignment by assignment; NaN keeps
        its own value.
        """
        out: Points = np.empty(
            (len(table) * len(points), len(self.features)), dtype=np.float64, order="F"
        )
        for position in range(len(self.features)):
            out[:, position].reshape(len(table), len(points))[:] = points[:, position]
        for column, position in enumerate(self.sets(over)):
            given = ~np.isnan(table[:, column])
            out[:, position].reshape(len(table), len(points))[given] = table[
                given, column, None
            ]
        return out

    def own(self, points: Points, over: Over) -> NDArray[np.intp]:
        """Return which of the assignments of a set of features each point has itself; -1 where it
        has none of them.
        """
        index = np.zeros(len(points), dtype=np.intp)
        listed = np.ones(len(points), dtype=np.bool_)
        for position in self.sets(over):
            feature, column = self.features[position], points[:, position]
            if math.isinf(feature.size):
                index *= int(feature.choices)
                continue
            values = feature.values()
            place = np.minimum(np.searchsorted(values, column), len(values) - 1)
            listed &= values[place] == column
            index = index * len(values) + place
        return np.where(listed, index, -1)

    def decode(self, points: Points) -> Any:
        """Return encoded points as a frame of the user's own engine, labels, dtypes and column
        order.
        """
        return self.layout.build(
            self.features, range(len(self.features)), self._shaped(points)
        )

    def native(self, points: Points) -> Any:
        """Return what the software under test takes of encoded points, as a frame."""
        return self.layout.build(self.features, self.passed, points)

    def labels(self, points: Points) -> dict[str, list[Label]]:
        """Return encoded points as plain Python values by feature."""
        return {
            feature.name: feature.labels(points[:, i])
            for i, feature in enumerate(self.features)
        }

    def records(self, points: Points) -> list[dict[str, Label]]:
        """Return encoded points as one dictionary each, for people and JSON."""
        columns = self.labels(self._shaped(points))
        return [
            dict(zip(columns, row, strict=True))
            for row in zip(*columns.values(), strict=True)
        ]

    def encode(self, frame: Any) -> Points:
        """Encode a frame, or a list of dictionaries, of inputs in the user's own labels; other
        columns are ignored.
        """
        columns, where = _columns_of(frame, self.features)
        length = len(columns[self.names[0]])
        out: Points = np.empty((length, len(self.features)), dtype=np.float64, order="F")
        for position, feature in enumerate(self.features):
            out[:, position] = encode_column(feature, columns[feature.name], where=where)
        return out

    def _shaped(self, points: Points) -> Points:
        if points.ndim != 2 or points.shape[1] != len(self.features):
            raise UsageError(
                f"points of shape {points.shape} do not fit a space of {len(self.features)}"
                " features"
            )
        return points

    def __str__(self) -> str:
        protected = ", ".join(self.protected) or "nothing"
        return (
            f"space of {len(self.features)} features, {count(self.size)} inputs, protected:"
            f" {protected}"
        )


def _columns_of(frame: Any, features: Sequence[Feature]) -> tuple[dict[str, Any], str]:
    names = [feature.name for feature in features]
    if isinstance(frame, Mapping):
        frame = [frame]
    if isinstance(frame, list):
        for row, record in enumerate(frame):
            if not isinstance(record, Mapping):
                raise DataError(
                    f"record {row} is {clip(repr(record))}, not a dictionary of values by feature"
                    " name"
                )
            for name in names:
                if name not in record:
                    raise DataError(
                        f"record {row} has no value for {name!r}; {nearest(name, record)}"
                    )
        return {name: [record[name] for record in frame] for name in names}, "records"
    table = eager(frame)
    for name in names:
        if name not in table.columns:
            raise DataError(
                f"column {name!r} is not in the frame; {nearest(name, table.columns)}"
            )
        check_missing(table, name)
    # Lists, since narwhals packs some engines' texts into arrays of fixed width, which lose
    # trailing NULs.
    return {
        feature.name: (
            table[feature.name].to_list()
            if feature.kind == "category"
            else table[feature.name].to_numpy()
        )
        for feature in features
    }, "frame"


def _listed(given: Any) -> tuple[Any, ...]:
    """Return one name or constraint, or a list of them, as a tuple."""
    return (
        (given,)
        if isinstance(given, str) or not isinstance(given, Iterable)
        else tuple(given)
    )
