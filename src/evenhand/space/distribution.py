"""Distributions of inputs: drawn with weights, independent part by part, and always valid.

A part is a feature, or several with joint weights. Its pieces are single values, or ranges that are
uniform inside. The distribution is conditional on the constraints of the space: parts that a chain
of constraints connects are drawn together until they are valid, and all others on their own.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import RareInputs, clip
from evenhand.space.blocks import LARGEST_TABLE, RAREST
from evenhand.space.feature import combinations, empty_points, product, zero_points
from evenhand.space.values.weights import checked_weights as checked_weights
from evenhand.space.values.weights import choose as choose
from evenhand.space.values.weights import running as running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

    from evenhand.scores.groups import Groups
    from evenhand.space.blocks import Block
    from evenhand.space.feature import Feature, Flags, Floats, Points
    from evenhand.space.space import Space
    from evenhand.space.values.derived import Derivations

    Positions = NDArray[np.intp]

_FEWEST_TRIALS = 1 << 10
"""The fewest inputs that are tried at once where constraints reject some."""
_MOST_TRIALS = 1 << 18
"""The most inputs that are tried at once."""
_MOST_CELLS = 1 << 22
"""The most values of inputs that are tried at once, which bounds memory."""
_ENOUGH_TRIALS = 1 << 20
"""Tries after which rejection may give up."""


def numbered(columns: Iterable[Floats | Positions], rows: int) -> Positions:
    """Return a number for each row, which equal rows share.

    >>> numbered([np.array([1.0, 5.0, 1.0]), np.array([2.0, 2.0, 2.0])], 3).tolist()
    [0, 1, 0]
    """
    # Column by column, since sorting whole rows is slow. Numbering again after each column keeps
    # the numbers below the number of rows, so that their products do not overflow.
    number = np.zeros(rows, dtype=np.intp)
    for column in columns:
        values, code = np.unique(column, return_inverse=True)
        combined = number * len(values) + code
        number = np.unique(combined, return_inverse=True)[1].astype(np.intp)
    return number


@dataclass(frozen=True, eq=False)
class Part:
    """Features with joint weights, in pieces that are uniform inside.

    Piece `i` reaches from `low[i]` to `high[i]`, both included.

    >>> from evenhand.space.feature import integer
    >>> part = Part.uniform(3, integer("age", 18, 90))
    >>> part.low.tolist(), part.high.tolist(), part.weights.tolist()
    ([[18.0]], [[90.0]], [1.0])
    """

    columns: tuple[int, ...]
    features: tuple[Feature, ...]
    low: Points
    high: Points
    weights: Floats

    @classmethod
    def uniform(cls, column: int, feature: Feature) -> Part:
        """Make a part of one feature, uniform over its domain.

        A value that may be missing is a second piece, as likely as it is declared.
        """
        low = feature.low
        high = feature.high
        if feature.kind == "category":
            low = 0.0
            high = feature.size - 1.0
        elif math.isfinite(feature.size):
            # The last value of a grid may lie below the upper end of its range.
            step = feature.step or 0.0
            high = feature.low + (feature.size - 1.0) * step
        ends = feature.snap(np.array([low, high], dtype=np.float64))
        known = cls(
            columns=(column,),
            features=(feature,),
            low=ends[:1, None],
            high=ends[1:, None],
            weights=np.ones(1),
        )
        if not feature.missing:
            return known
        share = feature.missing_share
        code = np.full((1, 1), feature.missing_code)
        return replace(
            known,
            low=np.concatenate([known.low, code]),
            high=np.concatenate([known.high, code]),
            weights=np.array([1 - share, share]),
        )

    @classmethod
    def known(cls, column: int, feature: Feature) -> Part:
        """Make a part of one feature, uniform over its known values."""
        return cls.uniform(column, replace(feature, missing=False, twins_missing=False))

    @classmethod
    def counted(
        cls,
        columns: tuple[int, ...],
        features: tuple[Feature, ...],
        rows: Points,
        weights: Floats,
    ) -> Part:
        """Make a part whose pieces are rows of values; equal rows become one piece."""
        has_weight = weights > 0
        rows = rows[has_weight]
        number = numbered(rows.T, len(rows))
        first_rows = np.unique(number, return_index=True)[1]
        values = rows[first_rows]
        totals = np.bincount(number, weights=weights[has_weight])
        return cls(columns, features, values, values, totals.astype(np.float64))

    @cached_property
    def _totals(self) -> Floats:
        return running(self.weights)

    @cached_property
    def points(self) -> bool:
        """Whether all pieces are single values."""
        return bool((self.low == self.high).all())

    def conditional(self, spans: Mapping[int, tuple[Any, Any]]) -> Part:
        """Return the part conditional on columns between two values.

        The weights are those of what is left of each piece; they do not add up to the old total.
        """
        low = self.low.copy()
        high = self.high.copy()
        weights = self.weights
        for position, column in enumerate(self.columns):
            if column not in spans:
                continue
            least, most = spans[column]
            weights = weights * self.share(position, least, most)
            # In place: these are views of the copies.
            lows = low[:, position]
            highs = high[:, position]
            np.maximum(lows, least, out=lows)
            np.minimum(highs, most, out=highs)
        kept = weights > 0
        return replace(self, low=low[kept], high=high[kept], weights=weights[kept])

    def share(self, position: int, least: Any, most: Any) -> Floats:
        """Return which share of each piece lies between two values of a feature.

        The two values may be arrays; pieces are rows of the answer, and they broadcast along the
        others.
        """
        column_shape = (-1, *(1,) * np.ndim(least))
        low = self.low[:, position].reshape(column_shape)
        high = self.high[:, position].reshape(column_shape)
        inner_low = np.maximum(low, least)
        inner_high = np.minimum(high, most)
        step = _step(self.features[position])
        if step is None:
            is_range = high > low
            length = np.where(is_range, high - low, 1.0)
            share = np.where(is_range, (inner_high - inner_low) / length, 1.0)
        else:
            values_inside = np.round((inner_high - inner_low) / step) + 1
            values_of_piece = np.round((high - low) / step) + 1
            share = values_inside / values_of_piece
        return np.where(inner_low <= inner_high, share, 0.0)

    def draw(self, rng: np.random.Generator, out: Points) -> None:
        """Fill this part's columns of `out`."""
        if len(self.weights) > 1:
            pieces = choose(self._totals, len(out), rng)
        else:
            pieces = np.zeros(len(out), dtype=np.intp)
        for position, column in enumerate(self.columns):
            feature = self.features[position]
            low = self.low[pieces, position]
            high = self.high[pieces, position]
            step = _step(feature)
            if self.points:
                out[:, column] = low
            elif step is None:
                values = low + (high - low) * rng.random(len(out))
                out[:, column] = np.minimum(values, high)
            else:
                last_step = np.round((high - low) / step).astype(np.int64)
                steps = rng.integers(0, last_step, endpoint=True)
                values = low + step * steps
                out[:, column] = feature.snap(values)

    def takes(self, points: Points) -> Flags:
        """Return which points have values with any weight."""
        taken = np.zeros(len(points), dtype=np.bool_)
        columns = points[:, list(self.columns)]
        for low, high in zip(self.low, self.high, strict=True):
            taken |= ((columns >= low) & (columns <= high)).all(axis=1)
        return taken

    @property
    def size(self) -> int | float:
        """Number of values with any weight, or a little over it."""
        if self.points:
            return len(self.weights)
        step = _step(self.features[0])
        if step is None:
            return math.inf
        lengths = (self.high - self.low)[:, 0]
        steps = np.round(lengths / step)
        return int(steps.sum()) + len(self.weights)

    def values(self) -> Points:
        """Return the values with any weight, one row each."""
        feature = self.features[0]
        step = _step(feature)
        if self.points or step is None:
            return self.low
        pieces = []
        lows = self.low[:, 0].tolist()
        highs = self.high[:, 0].tolist()
        for low, high in zip(lows, highs, strict=True):
            steps = np.arange(round((high - low) / step) + 1)
            pieces.append(low + step * steps)
        return feature.snap(np.concatenate(pieces))[:, None]


def _step(feature: Feature) -> float | None:
    """Return how far apart the encoded values of a feature are, None for a continuous one."""
    if feature.kind == "category":
        return 1.0
    if feature.step is None:
        return None
    return float(feature.step)


@dataclass(frozen=True, eq=False)
class _TiedParts:
    """Parts that constraints connect, with those constraints."""

    parts: tuple[Part, ...]
    columns: frozenset[int]
    predicates: tuple[Callable[[Points], Flags], ...]
    texts: tuple[str, ...]
    derivations: Derivations

    def valid(self, points: Points) -> Flags:
        """Return which points satisfy all constraints."""
        mask = np.ones(len(points), dtype=np.bool_)
        for part in self.parts:
            # What follows from others must still be what the part takes.
            if not self.derivations.targets.isdisjoint(part.columns):
                mask &= part.takes(points)
        for predicate in self.predicates:
            mask &= predicate(points)
        return mask

    def possible(self, width: int) -> bool:
        """Return whether any combination is valid; yes where there are too many to list."""
        if not self.predicates:
            return True
        if combinations(part.size for part in self.parts) > LARGEST_TABLE:
            return True
        tables = [part.values() for part in self.parts]
        indices = [np.arange(len(table), dtype=np.float64) for table in tables]
        rows = product(indices).astype(np.intp)
        points = zero_points(len(rows), width)
        for part, table, row in zip(self.parts, tables, rows.T, strict=True):
            points[:, list(part.columns)] = table[row]
        return bool(self.valid(points).any())

    def draw(self, rng: np.random.Generator, out: Points) -> None:
        """Fill the columns of these parts with valid combinations, by rejection."""
        columns = sorted(self.columns)
        width = out.shape[1]
        filled = 0
        tried = 0
        while filled < len(out):
            missing = len(out) - filled
            trials = _trials(missing, filled, tried, width)
            trial = self.derivations.fill(self._trial(rng, trials, width))
            kept = trial[self.valid(trial)][:missing]
            end = filled + len(kept)
            out[filled:end, columns] = kept[:, columns]
            filled = end
            tried += len(trial)
            if tried >= _ENOUGH_TRIALS and filled < RAREST * tried:
                raise self._rare_inputs(filled, tried)

    def _trial(self, rng: np.random.Generator, n: int, width: int) -> Points:
        # Columns of other parts stay empty; these constraints do not read them.
        trial = zero_points(n, width)
        for part in self.parts:
            part.draw(rng, trial)
        return trial

    def _rare_inputs(self, filled: int, tried: int) -> RareInputs:
        constraints = clip(", ".join(map(repr, self.texts)), 200)
        return RareInputs(
            f"the constraints {constraints} accept only {filled:,} of {tried:,} inputs drawn with"
            " these weights; give inputs that they exclude less weight, so that at least 1 in"
            f" {round(1 / RAREST):,} is valid"
        )


def _trials(missing: int, filled: int, tried: int, width: int) -> int:
    """Return how many inputs to try next, so that about all missing ones are found at once."""
    most = max(_FEWEST_TRIALS, min(_MOST_TRIALS, _MOST_CELLS // width))
    # Laplace's estimate of the share of valid draws, (filled + 1) / (tried + 2), and a tenth more.
    wanted = 1.1 * missing * (tried + 2) / (filled + 1)
    return int(np.clip(wanted, _FEWEST_TRIALS, most))


@dataclass(frozen=True, eq=False)
class Distribution:
    """How likely each valid input of a space is: independent parts, one or more features each.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"])])
    >>> only_men = Part((0,), tuple(space.features), np.ones((1, 1)), np.ones((1, 1)), np.ones(1))
    >>> Distribution(space, (only_men,)).draw(2, np.random.default_rng(0)).tolist()
    [[1.0], [1.0]]
    """

    space: Space
    parts: tuple[Part, ...]

    @cached_property
    def _tied(self) -> tuple[_TiedParts, ...]:
        every_block = self.space.blocks(self.space.features)
        blocks = [block for block in every_block if block.predicates]
        sets = [set(part.columns) for part in self.parts]
        sets += [set(block.columns) for block in blocks]
        return tuple(self._tied_parts(columns, blocks) for columns in _merged(sets))

    def _tied_parts(self, columns: set[int], blocks: list[Block]) -> _TiedParts:
        """Return the parts and the constraints of blocks that lie within some columns."""
        parts = [part for part in self.parts if columns >= set(part.columns)]
        predicates: list[Callable[[Points], Flags]] = []
        texts: list[str] = []
        for block in blocks:
            if columns >= set(block.columns):
                predicates += block.predicates
                texts += block.texts
        return _TiedParts(
            parts=tuple(parts),
            columns=frozenset(columns),
            predicates=tuple(predicates),
            texts=tuple(texts),
            derivations=self.space.derivations.within(columns),
        )

    def draw(self, n: int, rng: np.random.Generator) -> Points:
        """Draw `n` independent encoded inputs."""
        out = empty_points(n, len(self.space.features))
        for tied in self._tied:
            if tied.predicates:
                tied.draw(rng, out)
            else:
                # Without a constraint nothing ties two parts, so there is only one.
                tied.parts[0].draw(rng, out)
        return out

    def conditional(self, groups: Groups, group: int) -> Distribution | None:
        """Return the distribution of one group's inputs, or None where it has no weight."""
        spans = {}
        cells = groups.cells(group)
        for column, ends, cell in zip(groups.columns, groups.spans, cells, strict=True):
            least, most = ends[:, cell]
            spans[column] = (least, most)
        parts = []
        for part in self.parts:
            touched = not spans.keys().isdisjoint(part.columns)
            parts.append(part.conditional(spans) if touched else part)
        if not all(len(part.weights) for part in parts):
            return None
        distribution = Distribution(self.space, tuple(parts))
        width = len(self.space.features)
        for tied in distribution._tied:
            if not tied.columns.isdisjoint(groups.columns) and not tied.possible(width):
                return None
        return distribution

    def reached(self, groups: Groups) -> Flags:
        """Return which groups have any weight."""
        table = np.ones(groups.shape, dtype=np.bool_)
        for part in self.parts:
            touched = []
            for at, column in enumerate(groups.columns):
                if column in part.columns:
                    touched.append(at)
            if touched:
                # Axes of features outside this part have length 1, and broadcast.
                shape = []
                for at, cells in enumerate(groups.shape):
                    if at in touched:
                        shape.append(cells)
                    else:
                        shape.append(1)
                table &= self._reached_by(part, groups, touched).reshape(shape)
        reached = table.ravel()
        if self._constrains(groups):
            for group in np.flatnonzero(reached).tolist():
                reached[group] = self.conditional(groups, group) is not None
        return reached

    def _constrains(self, groups: Groups) -> bool:
        """Return whether any constraint touches the features that make the groups."""
        for tied in self._tied:
            if tied.predicates and not tied.columns.isdisjoint(groups.columns):
                return True
        return False

    def _reached_by(self, part: Part, groups: Groups, touched: list[int]) -> Flags:
        """Return which cells of the touched features have any weight in their part."""
        if not part.points:
            least, most = groups.spans[touched[0]]
            return np.asarray((part.share(0, least, most) > 0).any(axis=0))
        names = tuple(groups.names[at] for at in touched)
        touched_groups = replace(groups, names=names)
        points = zero_points(len(part.low), len(self.space.features))
        points[:, list(part.columns)] = part.low
        group = touched_groups.of(points)
        reached = np.zeros(len(touched_groups), dtype=np.bool_)
        reached[group[group >= 0]] = True
        return reached


def _merged(sets: Iterable[set[int]]) -> list[set[int]]:
    """Join sets that share a member, in the order of their first member."""
    merged: list[set[int]] = []
    for members in sets:
        apart = [other for other in merged if not other & members]
        sharing = [other for other in merged if other & members]
        merged = [*apart, members.union(*sharing)]
    return sorted(merged, key=min)
