"""Space: what an input can be (Themis Def. 3.2), and how inputs are drawn, varied and decoded."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.formats import notebook_html
from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.runtime.label_text import labelled
from evenhand.space.blocks import Block, every_combination, plan_blocks
from evenhand.space.constraints import named, predicates_of
from evenhand.space.encoding import encode_column
from evenhand.space.feature import Feature, combinations, count, empty_points
from evenhand.space.feature_sets import check_protected, checked_features, listed
from evenhand.space.frames.dtypes import split_dtypes
from evenhand.space.frames.inference import infer
from evenhand.space.frames.layout import Layout, layout_of
from evenhand.space.frames.reading import columns_of, eager
from evenhand.space.known_rows.with_rows import WithRows
from evenhand.space.values.derived import Derivations
from evenhand.space.values.labels import with_labels
from evenhand.space.values.weights import weights_of
from evenhand.space.variants import (
    MOST_ASSIGNMENTS,
    check_size,
    every_assignment,
    own_assignment,
    points_under,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from os import PathLike

    from numpy.typing import NDArray

    from evenhand.runtime.label_text import Words
    from evenhand.space.blocks import Predicate
    from evenhand.space.feature import Flags, Label, Points
    from evenhand.space.known_rows.memory import RowMemory

    Over = str | Sequence[str]


@dataclass(frozen=True, eq=False)
class Space(WithRows):
    """What an input can be: features, which of them are protected, and constraints between them.

    Parameters
    ----------
    features
        Built with `category`, `integer`, `real` and `date`, in the order in which the software
        takes them.
    protected
        Names of the features that outcomes should not depend on.
    constraints
        Expressions such as ``"not (age < 21 and owns_house == 'yes')"``, or functions that take a
        frame of inputs and return which of them are valid.

    Notes
    -----
    See docs/how-to/spaces.md

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
    memory: RowMemory | None = field(default=None, repr=False)
    """The real rows that the space remembers; `rows` are these, and `remembering` sets them."""

    def __post_init__(self) -> None:
        features = checked_features(self.features)
        protected = listed(self.protected)
        check_protected(protected, [feature.name for feature in features])
        object.__setattr__(self, "features", features)
        object.__setattr__(self, "protected", protected)
        object.__setattr__(self, "constraints", listed(self.constraints))
        self._predicates  # noqa: B018  # so that what is wrong with a constraint is found now

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        protected: Sequence[str] | str = (),
        *,
        target: str | None = None,
        drop: Sequence[str] | str = (),
        features: Mapping[str, Mapping[str, Any]] | None = None,
        not_passed: Sequence[str] | str = (),
        constraints: Sequence[str | Callable[[Any], Any]] = (),
        remember: bool = True,
        learn: bool = True,
        labels: Mapping[str, Mapping[Any, str]] | None = None,
    ) -> Space:
        """Infer a space from any dataframe: kinds, levels and ranges of its columns.

        Parameters
        ----------
        frame
            A frame of any engine that narwhals reads. A column with missing values becomes a
            feature that is missing as often.
        target
            A column to leave out.
        drop
            Further columns to leave out, such as the numbers of rows.
        features
            Overrides by column, such as ``{"age": {"low": 18, "high": 90}, "zip": {"kind":
            "category", "dtype": "category"}}``.
        not_passed
            Columns that the software under test does not take; group scores can still use them.
        remember
            Whether the space remembers the rows: they are then the default population of `measure`
            and `subsets`, and the start of a `search`.
        learn
            Whether joint constraints are learnt from remembered rows, such as that a husband is
            male. They mark who could not exist.
        labels
            What people call the values of some columns, such as ``{"sex": {0: "female", 1:
            "male"}}``; the software is given the values as ever.

        Returns
        -------
        Space
            A space that decodes to frames of the same engine and dtypes.

        Raises
        ------
        DataError
            If the frame lacks a column that is named, or all values of a column are missing.

        See Also
        --------
        See docs/how-to/spaces.md.
        """
        table = eager(frame)
        declared, words = split_dtypes(features or {})
        hidden = listed(not_passed)
        dropped = listed(drop)
        declared = with_labels(declared, labels)
        named_columns = [*declared, *hidden, *dropped]
        if target:
            named_columns.append(target)
        for name in named_columns:
            if name not in table.columns:
                raise DataError(
                    f"column {name!r} is not in the frame; {nearest(name, table.columns)}"
                )
        for name in hidden:
            declared[name] = {**declared.get(name, {}), "passed": False}
        left_out = {target, *dropped}
        names = [name for name in table.columns if name not in left_out]
        inferred = infer(table, names, declared)
        changed = [feature for feature in inferred if feature.name in declared]
        layout = layout_of(table).fitted(changed)
        space = cls(inferred, protected, constraints, layout.typed(words, inferred))
        if remember:
            return space.remembering(table, learn=learn)
        return space

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

    def typed(self, dtypes: Mapping[str, Any]) -> Space:
        """Return the same space with other dtypes in the frames that the software is given.

        Parameters
        ----------
        dtypes
            For some of the features a dtype by pandas' name, such as ``{"sex": "category", "age":
            "float32"}``, or a dtype of the frames' own engine.

        Returns
        -------
        Space
            A space that is equal to this one: what an input can be stays as it is.

        Raises
        ------
        SpaceError
            If a name is no feature, a dtype is unknown, or does not hold what the feature can be.

        See Also
        --------
        See docs/how-to/spaces.md.

        Examples
        --------
        >>> from evenhand.space.feature import category
        >>> space = Space([category("sex", ["F", "M"])]).typed({"sex": "category"})
        >>> list(space.decode(space.enumerate())["sex"].cat.categories)
        ['F', 'M']
        """
        return replace(self, layout=self.layout.typed(dtypes, self.features))

    def to_dict(self) -> dict[str, Any]:
        """Return the space as JSON would hold it; function constraints appear by name only."""
        return self._table(labels=True)

    def _table(self, *, labels: bool) -> dict[str, Any]:
        table: dict[str, Any] = {
            "features": [feature.to_dict(labels=labels) for feature in self.features],
            "protected": list(self.protected),
        }
        if self.constraints:
            table["constraints"] = [named(constraint) for constraint in self.constraints]
        return table

    @cached_property
    def digest(self) -> str:
        """A hash of what an input can be; neither labels nor the engine of frames count."""
        text = json.dumps(
            self._table(labels=False),
            sort_keys=True,
            ensure_ascii=True,
            separators=(",", ":"),
        )
        return hashlib.sha256(text.encode()).hexdigest()

    @cached_property
    def encoding(self) -> str:
        """A hash of how the software's inputs are encoded; spaces that share it can share answers.

        Ranges, constraints and what is protected do not count: they say which inputs are asked, not
        what an input is.
        """
        codes = []
        for position in self.passed:
            feature = self.features[position]
            code: tuple[Any, ...] = (feature.name, feature.kind, feature.levels)
            # The code of a missing value follows from the range, which counts only there.
            codes.append((*code, feature.missing_code) if feature.missing else code)
        return hashlib.sha256(json.dumps(codes).encode()).hexdigest()

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

    @cached_property
    def words(self) -> dict[str, Words]:
        """What people call the values of the features, of those that have labels."""
        named = [feature for feature in self.features if feature.words]
        return {feature.name: dict(feature.words) for feature in named}

    def index(self, name: str) -> int:
        """Return the position of a feature, or raise a UsageError with the nearest name."""
        if not isinstance(name, str) or name not in self._index:
            shown = clip(repr(name))
            raise UsageError(f"unknown feature {shown}; {nearest(name, self.names)}")
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
    def _predicates(self) -> tuple[Predicate, ...]:
        return predicates_of(self)

    @cached_property
    def derivations(self) -> Derivations:
        """Which features follow from others."""
        return Derivations.of(self.features)

    @property
    def constrained(self) -> bool:
        """Whether some combinations of values are no inputs."""
        return bool(self._predicates)

    def settle(self, points: Points) -> Points:
        """Work out the derived features of points, in place, and return the points."""
        return self.derivations.fill(points)

    def valid(self, points: Points) -> Flags:
        """Return which encoded points satisfy every constraint."""
        mask = np.ones(len(points), dtype=np.bool_)
        for _, predicate in self._predicates:
            mask &= predicate(points)
        return mask

    def blocks(self, features: Sequence[Feature]) -> tuple[Block, ...]:
        """Return how to draw these features, in place of the space's own, under its constraints."""
        texts = [named(constraint) for constraint in self.constraints]
        texts += [derivation.text for derivation in self.derivations.all]
        return plan_blocks(tuple(features), self._predicates, texts, self.derivations)

    @cached_property
    def _blocks(self) -> tuple[Block, ...]:
        return self.blocks(self.features)

    def tied(self, names: Over) -> bool:
        """Return whether constraints tie these features to others."""
        positions = set(self.sets(names))
        for block in self._blocks:
            columns = set(block.columns)
            if positions & columns and not positions >= columns:
                return True
        return False

    @cached_property
    def size(self) -> int | float:
        """Number of valid inputs; an upper bound where constrained ones are too many to list."""
        return combinations(block.size for block in self._blocks)

    @cached_property
    def even(self) -> bool:
        """Whether uniform draws take every valid input equally often.

        They do not where values are missing as often as in the data.
        """
        return all(feature.even for feature in self.features)

    def weights(self, points: Points) -> NDArray[np.float64] | None:
        """Return how likely uniform draws take each of some inputs, None where all are alike."""
        if self.even:
            return None
        return weights_of(self.features, points)

    def draw(self, n: int, rng: np.random.Generator) -> Points:
        """Draw `n` encoded inputs, uniform over all valid ones, independent, with replacement.

        A value is missing as often as its feature declares.
        """
        out = empty_points(n, len(self.features))
        for block in self._blocks:
            block.draw(rng, out)
        return out

    def enumerate(
        self, most: int = MOST_ASSIGNMENTS, *, features: Sequence[Feature] | None = None
    ) -> Points:
        """Return every valid input once, or raise a SpaceError if there are more than `most`.

        `features` may stand for the space's own, to hold some of them still.
        """
        if features is None:
            blocks = self._blocks
        else:
            blocks = self.blocks(features)
        size = combinations(block.size for block in blocks)
        if size > most:
            is_bound = any(block.uncounted for block in blocks)
            if is_bound:
                number = f"up to {count(size)}"
            else:
                number = count(size)
            raise SpaceError(
                f"the space has {number} inputs, over the {most:,} that are enumerated at once"
            )
        return every_combination(blocks, len(self.features))

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
        """Return every assignment of values to a set of features, one row each.

        NaN stands for a point's own value.
        """
        features = [self.features[position] for position in self.sets(over)]
        return every_assignment(features)

    def variants(self, points: Points, over: Over) -> Points:
        """Return every point under every assignment of a set of features, assignment by assignment.

        With `m` assignments and `n` points, row ``j * n + i`` is point `i` under assignment `j`, so
        outcomes fold back with ``outcomes.reshape(m, n)``. Variants may break constraints; `valid`
        returns which do not.
        """
        points = self._shaped(points)
        table = self.assignments(over)
        check_size(points, table)
        return self.under(points, over, table)

    def under(self, points: Points, over: Over, table: Points) -> Points:
        """Return every point under each of some assignments, assignment by assignment.

        NaN keeps a point's own value.
        """
        return self.settle(points_under(points, self.sets(over), table))

    def own(self, points: Points, over: Over) -> NDArray[np.intp]:
        """Return which of `assignments` each point has itself; -1 where it has none of them."""
        positions = self.sets(over)
        features = [self.features[position] for position in positions]
        return own_assignment(points, features, positions)

    def decode(self, points: Points) -> Any:
        """Return encoded points as a frame of the user's own engine, labels and dtypes."""
        every_column = range(len(self.features))
        return self.layout.build(self.features, every_column, self._shaped(points))

    def native(self, points: Points) -> Any:
        """Return what the software under test takes of encoded points, as a frame."""
        return self.layout.build(self.features, self.passed, points)

    def labels(self, points: Points) -> dict[str, list[Label]]:
        """Return encoded points as plain Python values by feature."""
        columns = {}
        for position, feature in enumerate(self.features):
            columns[feature.name] = feature.labels(points[:, position])
        return columns

    def records(self, points: Points) -> list[Mapping[str, Label]]:
        """Return encoded points as one dictionary each, for people and JSON."""
        columns = self.labels(self._shaped(points))
        rows = zip(*columns.values(), strict=True)
        values = [dict(zip(columns, row, strict=True)) for row in rows]
        return [labelled(person, self.words) for person in values]

    def encode(self, frame: Any) -> Points:
        """Encode a frame, or a list of dictionaries, of inputs in the user's own labels.

        Columns that are no features are ignored.
        """
        columns, where = columns_of(frame, self.features)
        length = len(columns[self.names[0]])
        out = empty_points(length, len(self.features))
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

    def _repr_html_(self) -> str:
        return notebook_html("space", self)

    @property
    def title(self) -> str:
        """The space in one line."""
        protected = ", ".join(self.protected) or "nothing"
        return (
            f"space of {len(self.features)} features, {count(self.size)} inputs, protected:"
            f" {protected}"
        )

    def __str__(self) -> str:
        lines = [self.title]
        if self.learnt:
            lines.append("learnt from its rows:")
            lines += [f"  {constraint.text}" for constraint in self.learnt]
        return "\n".join(lines)
