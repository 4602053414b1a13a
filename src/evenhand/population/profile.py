"""Operational profiles: how often values occur in use (Themis section 3, Def. 3.8; after Musa)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.encoded_frame import EncodedFrame
from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.runtime.options import checked_keywords
from evenhand.space.distribution import Distribution, Part, checked_weights
from evenhand.space.encoding import encode_column
from evenhand.space.feature import plain
from evenhand.space.frames.reading import check_missing, eager
from evenhand.space.space import Space
from evenhand.space.values.dates import day_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.scores.groups import Groups
    from evenhand.space.feature import Feature, Flags, Floats, Label, Points

WEIGHT = "weight"
"""The column of a frame of joint weights that holds them."""
_SLACK = 1e-6
"""The part of a step by which the end of a range may miss a value, for rounding."""


@dataclass(frozen=True, eq=False)
class Weights:
    """The weights of one feature, or of several together: rows of values, or ranges of a number."""

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    weights: Floats

    @classmethod
    def of(cls, names: tuple[str, ...], given: Any) -> Weights:
        """Read the weights of features from a dictionary, a list of rows, or a frame."""
        what = f"the weights of {', '.join(map(repr, names))}"
        weights: Any
        if isinstance(given, Mapping):
            rows = _rows_of_keys(names, given)
            weights = list(given.values())
        elif isinstance(given, list | tuple):
            rows, weights = _split_rows(given, what)
        else:
            rows, weights = _columns(names, given, what)
        if not rows:
            raise UsageError(f"{what} are empty; give at least one")
        _check_widths(names, rows, what)
        return cls(names, tuple(rows), checked_weights(weights, what))

    def part(self, space: Space) -> Part:
        """Return the weights as a part of the distribution of a space's inputs."""
        columns = tuple(space.index(name) for name in self.names)
        features = tuple(space.features[column] for column in columns)
        if len(self.rows[0]) > len(self.names):
            return self._ranges(columns, features[0])
        encoded = []
        for feature, values in zip(features, zip(*self.rows, strict=True), strict=True):
            labels = [_label(feature, value) for value in values]
            encoded.append(encode_column(feature, labels, where="profile"))
        return Part.counted(columns, features, np.stack(encoded, axis=1), self.weights)

    def _ranges(self, columns: tuple[int, ...], feature: Feature) -> Part:
        """Return ranges of a number as a part."""
        what = f"the weights of {feature.name!r}"
        if feature.kind == "category":
            raise UsageError(
                f"{what} are ranges, but it is a category; give a weight for each level"
            )
        rows = self.rows
        if feature.kind == "date":
            rows = tuple(tuple(map(day_of, ends)) for ends in rows)
        for low, high in rows:
            _check_range(low, high, feature, what)
        ends = np.array(rows, dtype=np.float64)
        if feature.step is not None:
            ends = self._ends_on_grid(ends, feature, feature.step)
        self._check_overlap(ends, feature)
        kept = self.weights > 0
        return Part(
            columns,
            (feature,),
            low=ends[kept, :1],
            high=ends[kept, 1:],
            weights=self.weights[kept],
        )

    def _ends_on_grid(self, ends: Floats, feature: Feature, step: float) -> Floats:
        """Return the first and the last value of a feature in each range."""
        places = (ends - feature.low) / step
        # The slack is for ends that miss a value of the grid by rounding.
        first = np.ceil(places[:, 0] - _SLACK)
        last = np.floor(places[:, 1] + _SLACK)
        empty = first > last
        if empty.any():
            low, high = self.rows[int(np.argmax(empty))]
            raise UsageError(
                f"the weights of {feature.name!r}: the range {low} to {high} holds no value of"
                f" {feature.domain}"
            )
        index = np.stack([first, last], axis=1)
        return feature.snap(index * float(step) + feature.low)

    def _check_overlap(self, ends: Floats, feature: Feature) -> None:
        order = np.argsort(ends[:, 0], kind="stable").tolist()
        for position, next_position in itertools.pairwise(order):
            gap = ends[next_position, 0] - ends[position, 1]
            # Ranges of a continuous feature may share an end, which has no weight by itself.
            if gap < 0 or (gap == 0 and feature.step is not None):
                low, high = self.rows[position]
                next_low, next_high = self.rows[next_position]
                raise UsageError(
                    f"the weights of {feature.name!r}: the ranges {low} to {high} and {next_low}"
                    f" to {next_high} overlap; both ends belong to a range"
                )


def _rows_of_keys(
    names: tuple[str, ...], given: Mapping[Any, Any]
) -> list[tuple[Any, ...]]:
    """Return the keys of a dictionary as rows of values; of one feature each key is a value."""
    rows = []
    for value in given:
        is_row = len(names) > 1 and isinstance(value, tuple)
        rows.append(value if is_row else (value,))
    return rows


def _split_rows(given: Any, what: str) -> tuple[list[tuple[Any, ...]], list[Any]]:
    """Return the values and the weights of rows that end in a weight."""
    rows = []
    weights = []
    for row in given:
        if not isinstance(row, list | tuple):
            raise UsageError(
                f"{what} hold {clip(repr(row))}, which is not a row of values that ends in a weight"
            )
        rows.append(tuple(row[:-1]))
        weights.append(row[-1] if row else None)
    return rows, weights


def _columns(
    names: tuple[str, ...], frame: Any, what: str
) -> tuple[list[tuple[Any, ...]], Any]:
    """Return the values and the weights in the columns of a frame."""
    table = eager(frame)
    if WEIGHT in names:
        raise UsageError(
            f"{what}: a frame cannot hold both the feature and the column {WEIGHT!r}; give rows"
        )
    for name in (*names, WEIGHT):
        if name not in table.columns:
            raise DataError(
                f"{what}: column {name!r} is not in the frame; {nearest(name, table.columns)}"
            )
    check_missing(table, WEIGHT)
    columns = [table[name].to_list() for name in names]
    return list(zip(*columns, strict=True)), table[WEIGHT].to_numpy()


def _check_widths(names: tuple[str, ...], rows: list[tuple[Any, ...]], what: str) -> None:
    """Refuse rows that hold neither a value of each feature nor the ends of a range."""
    widths = {len(row) for row in rows}
    are_ranges = len(names) == 1 and widths == {2}
    if widths == {len(names)} or are_ranges:
        return
    wanted = f"({', '.join(names)}, weight)"
    if len(names) == 1:
        wanted += " or (low, high, weight)"
    offender = next(row for row in rows if len(row) != len(names))
    raise UsageError(f"{what} hold {clip(repr(offender))}; a row is {wanted}")


def _check_range(low: Any, high: Any, feature: Feature, what: str) -> None:
    ends = f"{what}: the range {clip(repr(low), 40)} to {clip(repr(high), 40)}"
    for end in (low, high):
        if isinstance(end, bool) or not isinstance(plain(end), int | float):
            raise UsageError(f"{ends} has an end that is not a number")
    if not low <= high:
        raise UsageError(f"{ends} is empty; write the lower end first")
    if low < feature.low or high > feature.high:
        raise UsageError(f"{ends} reaches outside its domain, {feature.domain}")


def _label(feature: Feature, value: Any) -> Any:
    """Return a level or number that is written as text as what it stands for.

    The keys of a TOML table are texts, whatever they stand for.
    """
    if not isinstance(value, str) or value in feature.levels:
        return value
    if feature.missing and value == feature.missing_word:
        return None
    if feature.kind == "category":
        levels = {_toml_key(level): level for level in feature.levels}
        return levels.get(value, levels.get(value.lower(), value))
    try:
        return float(value)
    except ValueError:
        return value


def _toml_key(level: Label) -> str:
    """Return how a level is written as a key."""
    text = str(level)
    return text.lower() if isinstance(level, bool) else text


@dataclass(frozen=True, eq=False)
class Profile:
    """Inputs as often as a profile says: independent features, or sets of them, with weights.

    Features without weights are uniform.
    """

    weights: tuple[Weights, ...]
    joint: tuple[tuple[str, ...], ...]
    _source: EncodedFrame[Distribution] = field(repr=False)

    def distribution(self, space: Space) -> Distribution:
        """Return how likely each input of a space is."""
        if self._source.lacks(space):
            parts = self._parts(space, self._source.frame)
            return self._source.keep(space, Distribution(space, parts))
        return self._source.made(space)

    def _parts(self, space: Space, frame: Any) -> tuple[Part, ...]:
        parts = [weights.part(space) for weights in self.weights]
        for names in self.joint:
            space.sets(names)
        weighted: set[int] = set()
        for part in parts:
            weighted.update(part.columns)
        others = [
            feature
            for column, feature in enumerate(space.features)
            if column not in weighted
        ]
        if frame is None:
            for feature in others:
                parts.append(Part.uniform(space.index(feature.name), feature))
        elif others:
            parts += self._parts_of_frame(space, others, frame)
        return tuple(parts)

    def _parts_of_frame(
        self, space: Space, features: list[Feature], frame: Any
    ) -> list[Part]:
        """Return the parts of features whose weights are how often their values occur."""
        frame_space = Space(features)
        encoded = frame_space.encode(frame)
        alone = set(frame_space.names).difference(*self.joint)
        sets = list(self.joint)
        sets += [(name,) for name in frame_space.names if name in alone]
        parts = []
        for names in sets:
            members = tuple(space.feature(name) for name in names)
            rows: Points = encoded[:, list(frame_space.sets(names))]
            weights = np.ones(len(rows))
            parts.append(Part.counted(space.sets(names), members, rows, weights))
        return parts

    def population(self, space: Space) -> str:
        """Name the population in words."""
        # So that what is wrong with the profile is found before anything is drawn.
        self.distribution(space)
        text = self._text(space)
        if space.constrained:
            return f"{text}; valid inputs only"
        return text

    def _text(self, space: Space) -> str:
        features = ", ".join("+".join(weights.names) for weights in self.weights)
        if not self._source.rows:
            named = sum(len(weights.names) for weights in self.weights)
            text = f"a profile with weights for {features}"
            return (
                f"{text}; other features uniform" if named < len(space.features) else text
            )
        text = f"a profile of {self._source.rows:,} rows"
        for names in self.joint:
            text += f", {' and '.join(names)} jointly"
        return f"{text}, with weights for {features}" if features else text

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` independent encoded inputs."""
        return self.distribution(space).draw(n, rng)

    def within(
        self, n: int, rng: np.random.Generator, groups: Groups, group: int
    ) -> Points:
        """Draw `n` independent encoded inputs from among those of one group."""
        distribution = self.distribution(groups.space).conditional(groups, group)
        if distribution is None:
            raise SpaceError(
                f"the profile gives no weight to the group {groups.label(group)}"
            )
        return distribution.draw(n, rng)

    def empty(self, groups: Groups) -> Flags:
        """Return which groups have no weight in this profile."""
        return ~self.distribution(groups.space).reached(groups)

    def separate(self, space: Space, names: Sequence[str]) -> bool:
        """Return whether these features are independent of all others.

        No joint weights may tie them to others, and no constraints.
        """
        positions = set(space.sets(names))
        for part in self.distribution(space).parts:
            columns = set(part.columns)
            if positions & columns and not positions >= columns:
                return False
        return not space.tied(names)


@checked_keywords
def profile(
    weights: Mapping[Any, Any] | None = None,
    *,
    frame: Any = None,
    joint: Sequence[Sequence[str]] = (),
) -> Profile:
    """Sample inputs as often as they occur in use: an operational profile (Themis Def. 3.8).

    Features are independent of each other, but for those with joint weights; constraints of the
    space are kept, by drawing again what breaks them.

    Parameters
    ----------
    weights
        For the name of a feature ``{level: weight}``, or for a number also a list of ranges ``(low,
        high, weight)``, both ends included, uniform inside. For a tuple of names a list of rows
        ``(value, ..., weight)``, or a frame with those columns and a column `weight`. Features that
        are not named are uniform over their domain.
    frame
        Take the weights of all other features from how often each value occurs in these rows.
    joint
        Sets of columns of the frame whose joint distribution is kept, such as ``[("age",
        "income")]``.

    Returns
    -------
    Profile
        The population, for `sampler=…`.

    Raises
    ------
    UsageError
        If there are neither weights nor a frame, or a weight is not a number of 0 or more.
    DataError
        If a frame of joint weights lacks a column, or has missing values.

    See Also
    --------
    See docs/how-to/populations.md.

    Examples
    --------
    >>> from evenhand.space.feature import category, integer
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> some = profile({"sex": {"F": 0.7, "M": 0.3}, "age": [(18, 29, 0.4), (30, 90, 0.6)]})
    >>> some.population(space)
    'a profile with weights for sex, age'
    >>> round(float((some.draw(10_000, np.random.default_rng(0), space)[:, 1] < 30).mean()), 1)
    0.4
    """
    if weights is not None and not isinstance(weights, Mapping):
        raise UsageError(
            f"weights = {clip(repr(weights))} must be a dictionary from features to their weights"
        )
    if not weights and frame is None:
        raise UsageError(
            "a profile needs weights, such as {'sex': {'F': 0.7, 'M': 0.3}}, or a frame to take"
            " them from"
        )
    together = _sets(joint)
    if together and frame is None:
        raise UsageError(
            f"joint = {clip(repr(joint))} needs a frame to take the joint distribution from"
        )
    own_weights = []
    for key, value in (weights or {}).items():
        own_weights.append(Weights.of(_names(key), value))
    sets = [entry.names for entry in own_weights]
    _check_once([*sets, *together])
    return Profile(tuple(own_weights), together, EncodedFrame(frame))


def _check_once(sets: list[tuple[str, ...]]) -> None:
    seen: set[str] = set()
    for names in sets:
        for name in names:
            if name in seen:
                raise UsageError(
                    f"the profile names {name!r} twice; a feature has its own weights or joint ones"
                )
            seen.add(name)


def _names(key: Any) -> tuple[str, ...]:
    """Return the features that weights are for: one name, or a tuple of names."""
    names = (key,) if isinstance(key, str) else key
    is_set = isinstance(names, tuple) and len(names) > 0
    if not is_set or not all(isinstance(name, str) for name in names):
        raise UsageError(
            f"weights are for {clip(repr(key))}, which is neither the name of a feature nor several"
            " names"
        )
    return tuple(names)


def _sets(joint: Any) -> tuple[tuple[str, ...], ...]:
    is_list = not isinstance(joint, str)
    sets = list(joint) if is_list else []
    if not is_list or not all(isinstance(names, list | tuple) for names in sets):
        raise UsageError(
            f"joint = {clip(repr(joint))} must be a list of sets of columns, as [('age', 'income')]"
        )
    return tuple(_names(tuple(names)) for names in sets)
