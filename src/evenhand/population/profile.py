"""Operational profiles: how often each value occurs in use (Themis section 3 and Def. 3.8, after
Musa).
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.population.encoded_frame import Source
from evenhand.runtime.errors import DataError, SpaceError, UsageError, clip, nearest
from evenhand.runtime.options import checked_keywords
from evenhand.space.dataframes import check_missing, eager
from evenhand.space.encoding import encode_column
from evenhand.space.distribution import Distribution, Part, checked_weights
from evenhand.space.feature import plain
from evenhand.space.space import Space

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenhand.scores.groups import Groups
    from evenhand.space.feature import Feature, Points

WEIGHT = "weight"
"""The column of a frame of joint weights that holds them."""


@dataclass(frozen=True, eq=False)
class Weights:
    """What a profile says of one feature, or of several together: rows of values, or ranges of one
    number.
    """

    names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    weights: NDArray[np.float64]

    @classmethod
    def of(cls, names: tuple[str, ...], given: Any) -> Weights:
        """Read the weights of features from a dictionary, a list of rows that end in a weight, or a
        frame.
        """
        said = f"the weights of {', '.join(map(repr, names))}"
        if isinstance(given, Mapping):
            alone = len(names) == 1
            rows = [
                ((value,) if alone or not isinstance(value, tuple) else value)
                for value in given
            ]
            weights: Any = list(given.values())
        elif isinstance(given, list | tuple):
            for row in given:
                if not isinstance(row, list | tuple):
                    raise UsageError(
                        f"{said} hold {clip(repr(row))}, which is no row of values that ends in a"
                        " weight"
                    )
            rows, weights = (
                [tuple(row[:-1]) for row in given],
                [row[-1] if row else None for row in given],
            )
        else:
            table = eager(given)
            if WEIGHT in names:
                raise UsageError(
                    f"{said}: a frame cannot hold both the feature and the column {WEIGHT!r}; give"
                    " rows"
                )
            for name in (*names, WEIGHT):
                if name not in table.columns:
                    raise DataError(
                        f"{said}: column {name!r} is not in the frame;"
                        f" {nearest(name, table.columns)}"
                    )
                check_missing(table, name)
            rows = list(zip(*(table[name].to_list() for name in names), strict=True))
            weights = table[WEIGHT].to_numpy()
        if not rows:
            raise UsageError(f"{said} are empty; give at least one")
        widths = {len(row) for row in rows}
        if widths != {len(names)} and (len(names) > 1 or widths != {2}):
            ranges = " or (low, high, weight)" if len(names) == 1 else ""
            odd = next(row for row in rows if len(row) != len(names))
            raise UsageError(
                f"{said} hold {clip(repr(odd))}; a row is ({', '.join(names)}, weight){ranges}"
            )
        return cls(names, tuple(rows), checked_weights(weights, said))

    def part(self, space: Space) -> Part:
        """Return the weights as a part of the distribution of a space's inputs."""
        columns = tuple(space.index(name) for name in self.names)
        features = tuple(space.features[column] for column in columns)
        if len(self.rows[0]) > len(self.names):
            return self._ranges(columns, features[0])
        encoded = [
            encode_column(
                feature, [_label(feature, value) for value in values], where="profile"
            )
            for feature, values in zip(features, zip(*self.rows, strict=True), strict=True)
        ]
        return Part.counted(columns, features, np.stack(encoded, axis=1), self.weights)

    def _ranges(self, columns: tuple[int, ...], feature: Feature) -> Part:
        said = f"the weights of {feature.name!r}"
        if feature.kind == "category":
            raise UsageError(
                f"{said} are ranges, but it is a category; give a weight for each level"
            )
        for low, high in self.rows:
            ends = f"{said}: the range {clip(repr(low), 40)} to {clip(repr(high), 40)}"
            if not all(
                isinstance(plain(end), int | float) and not isinstance(end, bool)
                for end in (low, high)
            ):
                raise UsageError(f"{ends} has an end that is not a number")
            if not low <= high:
                raise UsageError(f"{ends} is empty; write the lower end first")
            if low < feature.low or high > feature.high:
                raise UsageError(f"{ends} reaches outside its domain, {feature.domain}")
        rows = np.array(self.rows, dtype=np.float64)
        if feature.step is not None:
            steps = (rows - feature.low) / feature.step
            index = np.stack(
                [np.ceil(steps[:, 0] - 1e-6), np.floor(steps[:, 1] + 1e-6)], axis=1
            )
            empty = index[:, 0] > index[:, 1]
            if empty.any():
                low, high = self.rows[int(np.argmax(empty))]
                raise UsageError(
                    f"{said}: the range {low} to {high} holds no value of {feature.domain}"
                )
            rows = feature.snap(index * float(feature.step) + feature.low)
        order = np.argsort(rows[:, 0], kind="stable")
        for one, other in itertools.pairwise(order.tolist()):
            beside = rows[other, 0] - rows[one, 1]
            # Ranges of a continuous feature may share an end, which has no weight by itself.
            if beside < 0 or (beside == 0 and feature.step is not None):
                (a, b), (c, d) = self.rows[one], self.rows[other]
                raise UsageError(
                    f"{said}: the ranges {a} to {b} and {c} to {d} overlap; both ends belong to a"
                    " range"
                )
        kept = self.weights > 0
        return Part(columns, (feature,), rows[kept, :1], rows[kept, 1:], self.weights[kept])


def _label(feature: Feature, value: Any) -> Any:
    """Return a level or number that is written as text, as the keys of a TOML table are, as what it
    stands for.
    """
    if not isinstance(value, str) or value in feature.levels:
        return value
    if feature.kind == "category":
        written = {
            str(level).lower() if isinstance(level, bool) else str(level): level
            for level in feature.levels
        }
        return written.get(value, written.get(value.lower(), value))
    try:
        return float(value)
    except ValueError:
        return value


@dataclass(frozen=True, eq=False)
class Profile:
    """Inputs as often as a profile says: independent features, or sets of features, with weights;
    the rest uniform.
    """

    weights: tuple[Weights, ...]
    joint: tuple[tuple[str, ...], ...]
    _source: Source[Distribution] = field(repr=False)

    def distribution(self, space: Space) -> Distribution:
        """Return how likely each input of a space is."""
        if self._source.lacks(space):
            return self._source.keep(
                space, Distribution(space, self._parts(space, self._source.frame))
            )
        return self._source.made(space)

    def _parts(self, space: Space, frame: Any) -> tuple[Part, ...]:
        parts = [weights.part(space) for weights in self.weights]
        for names in self.joint:
            space.sets(names)
        done = {column for part in parts for column in part.columns}
        rest = [feature for at, feature in enumerate(space.features) if at not in done]
        if frame is None or not rest:
            return tuple(
                parts
                + [Part.uniform(space.index(feature.name), feature) for feature in rest]
            )
        among = Space(rest)
        encoded, single = (
            among.encode(frame),
            {feature.name for feature in rest}.difference(*self.joint),
        )
        for names in (*self.joint, *((name,) for name in among.names if name in single)):
            columns, features = (
                among.sets(names),
                tuple(space.feature(name) for name in names),
            )
            rows: Points = encoded[:, list(columns)]
            parts.append(
                Part.counted(space.sets(names), features, rows, np.ones(len(rows)))
            )
        return tuple(parts)

    def population(self, space: Space) -> str:
        """Name the population in words."""
        self.distribution(
            space
        )  # so that what is wrong with the profile is said before anything is drawn
        told = ", ".join("+".join(weights.names) for weights in self.weights)
        named = sum(len(weights.names) for weights in self.weights)
        if self._source.rows:
            together = "".join(f", {' and '.join(names)} jointly" for names in self.joint)
            text = f"a profile of {self._source.rows:,} rows{together}" + (
                f", with weights for {told}" if told else ""
            )
        else:
            rest = "; other features uniform" if named < len(space.features) else ""
            text = f"a profile with weights for {told}{rest}"
        return f"{text}; valid inputs only" if space.constraints else text

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

    def empty(self, groups: Groups) -> NDArray[np.bool_]:
        """Tell which groups have no weight in this profile."""
        return ~self.distribution(groups.space).reached(groups)

    def separate(self, space: Space, names: Sequence[str]) -> bool:
        """Tell whether these features are independent of all others: no joint weights or
        constraints tie them.
        """
        mine = set(space.sets(names))
        whole = all(
            mine >= set(part.columns) or not mine & set(part.columns)
            for part in self.distribution(space).parts
        )
        return whole and not space.tied(names)


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
    given = [Weights.of(_names(key), value) for key, value in (weights or {}).items()]
    seen: set[str] = set()
    for names in (*(one.names for one in given), *together):
        for name in names:
            if name in seen:
                raise UsageError(
                    f"the profile names {name!r} twice; a feature has its own weights or joint ones"
                )
            seen.add(name)
    return Profile(tuple(given), together, Source(frame))


def _names(key: Any) -> tuple[str, ...]:
    names = (key,) if isinstance(key, str) else key
    if (
        not isinstance(names, tuple)
        or not names
        or not all(isinstance(name, str) for name in names)
    ):
        raise UsageError(
            f"weights are for {clip(repr(key))}, which is neither the name of a feature nor several"
            " names"
        )
    return names


def _sets(joint: Any) -> tuple[tuple[str, ...], ...]:
    sets = [] if isinstance(joint, str) else list(joint)
    if isinstance(joint, str) or not all(isinstance(one, list | tuple) for one in sets):
        raise UsageError(
            f"joint = {clip(repr(joint))} must be a list of sets of columns, as [('age', 'income')]"
        )
    return tuple(_names(tuple(one)) for one in sets)
