"""Laws: inputs drawn with weights, independent part by part, conditional on the constraints of a
space.

A part is a feature, or several with joint weights. Its pieces are single values, or ranges that are
uniform inside. Under constraints, parts that a chain of them connects are drawn together until they
are valid; the rest is left alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.runtime.errors import RareInputs, UsageError, clip
from evenhand.space.blocks import LARGEST_TABLE, RAREST
from evenhand.space.feature import combinations, plain, product

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evenhand.scores.groups import Groups
    from evenhand.space.feature import Feature, Points
    from evenhand.space.space import Space

    Floats = NDArray[np.float64]

_LEAST, _MOST, _CELLS = 1 << 10, 1 << 18, 1 << 22
"""Inputs that are tried at once where constraints reject some, and the values of those, which bound
memory.
"""
_ENOUGH = 1 << 20
"""Tries after which rejection may give up."""


def checked_weights(given: Any, what: str) -> Floats:
    """Return weights as an array, or say which of them is none.

    >>> checked_weights([1, 3], "weights").tolist()
    [1.0, 3.0]
    """
    try:
        weights = np.asarray(given)
    except ValueError:  # lists of several lengths
        weights = np.zeros(())
    if weights.ndim != 1 or weights.dtype.kind not in "iuf":
        values = [plain(value) for value in given] if isinstance(given, Iterable) else []
        odd = next(
            (
                value
                for value in values
                if isinstance(value, bool) or not isinstance(value, int | float)
            ),
            given,
        )
        raise UsageError(
            f"{what} hold {clip(repr(odd))}, which is no number; give one number of 0 or more for"
            " each"
        )
    weights = weights.astype(np.float64)
    wrong = ~(np.isfinite(weights) & (weights >= 0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise UsageError(
            f"{what} hold {weights[row]:.15g} in place {row}; a weight is a finite number of 0 or"
            " more"
        )
    if not weights.any():
        raise UsageError(f"{what} are all zero; give at least one a weight over 0")
    return weights


def running(weights: Floats) -> Floats:
    """Return running totals of weights, for `choose`."""
    return np.cumsum(weights / weights.max())


def choose(totals: Floats, n: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Draw `n` positions with replacement, each as often as its weight says, from running totals of
    weights.

    >>> choose(running(np.array([0.0, 2.0, 0.0])), 3, np.random.default_rng(0)).tolist()
    [1, 1, 1]
    """
    # The first position whose running total is over the draw; one without weight never is.
    place = np.searchsorted(totals, rng.random(n) * totals[-1], side="right")
    return np.asarray(np.minimum(place, np.searchsorted(totals, totals[-1])), dtype=np.intp)


def numbered(columns: Iterable[Floats], rows: int) -> NDArray[np.intp]:
    """Return a number for each row, which equal rows share; column by column, since sorting whole
    rows is slow.

    >>> numbered([np.array([1.0, 5.0, 1.0]), np.array([2.0, 2.0, 2.0])], 3).tolist()
    [0, 1, 0]
    """
    number = np.zeros(rows, dtype=np.intp)
    for column in columns:
        values, place = np.unique(column, return_inverse=True)
        number = np.unique(number * len(values) + place, return_inverse=True)[1].astype(np.intp)
    return number


@dataclass(frozen=True, eq=False)
class Part:
    """Features with joint weights: piece `i` reaches from `low[i]` to `high[i]`, both included,
    uniform inside.

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
        """Make a part of one feature, uniform over its domain."""
        low, high = (
            (0.0, feature.size - 1.0) if feature.kind == "category" else (feature.low, feature.high)
        )
        if feature.kind != "category" and math.isfinite(feature.size):
            high = feature.low + (feature.size - 1.0) * (feature.step or 0.0)
        ends = feature.snap(np.array([low, high], dtype=np.float64))
        return cls((column,), (feature,), ends[:1, None], ends[1:, None], np.ones(1))

    @classmethod
    def counted(
        cls, columns: tuple[int, ...], features: tuple[Feature, ...], rows: Points, weights: Floats
    ) -> Part:
        """Make a part whose pieces are rows of values; equal rows become one, without weight none."""
        rows, weights = rows[weights > 0], weights[weights > 0]
        number = numbered(rows.T, len(rows))
        values = rows[np.unique(number, return_index=True)[1]]
        return cls(
            columns,
            features,
            values,
            values,
            np.bincount(number, weights=weights).astype(np.float64),
        )

    @cached_property
    def _totals(self) -> Floats:
        return running(self.weights)

    @cached_property
    def points(self) -> bool:
        """Whether all pieces are single values."""
        return bool((self.low == self.high).all())

    def given(self, spans: Mapping[int, tuple[Any, Any]]) -> Part:
        """Return the part conditional on columns between two values; its weights are those of what
        is left.
        """
        low, high, weights = self.low.copy(), self.high.copy(), self.weights
        for at, column in enumerate(self.columns):
            if column in spans:
                weights = weights * self.share(at, *spans[column])
                low[:, at] = np.maximum(low[:, at], spans[column][0])
                high[:, at] = np.minimum(high[:, at], spans[column][1])
        kept = weights > 0
        return replace(self, low=low[kept], high=high[kept], weights=weights[kept])

    def share(self, at: int, least: Any, most: Any) -> Floats:
        """Return which share of each piece lies between two values of a feature; arrays of those
        broadcast.
        """
        low, high = (
            ends[:, at].reshape((-1, *(1,) * np.ndim(least))) for ends in (self.low, self.high)
        )
        inner, outer = np.maximum(low, least), np.minimum(high, most)
        step = _step(self.features[at])
        if step is None:
            wide = np.where(high > low, high - low, 1.0)
            share = np.where(high > low, (outer - inner) / wide, 1.0)
        else:
            share = (np.round((outer - inner) / step) + 1) / (np.round((high - low) / step) + 1)
        return np.where(inner <= outer, share, 0.0)

    def draw(self, rng: np.random.Generator, out: Points) -> None:
        """Fill this part's columns of `out`."""
        chosen = (
            choose(self._totals, len(out), rng)
            if len(self.weights) > 1
            else np.zeros(len(out), dtype=np.intp)
        )
        for at, (column, feature) in enumerate(zip(self.columns, self.features, strict=True)):
            low, high, step = self.low[chosen, at], self.high[chosen, at], _step(feature)
            if self.points:
                out[:, column] = low
            elif step is None:
                out[:, column] = np.minimum(low + (high - low) * rng.random(len(out)), high)
            else:
                last = np.round((high - low) / step).astype(np.int64)
                out[:, column] = feature.snap(low + step * rng.integers(0, last, endpoint=True))

    @property
    def size(self) -> int | float:
        """Number of values with any weight, or a little over it."""
        if self.points:
            return len(self.weights)
        step = _step(self.features[0])
        if step is None:
            return math.inf
        return int(np.round((self.high[:, 0] - self.low[:, 0]) / step).sum()) + len(self.weights)

    def values(self) -> Points:
        """Return the values with any weight, one row each."""
        step = _step(self.features[0])
        if self.points or step is None:
            return self.low
        ends = zip(self.low[:, 0].tolist(), self.high[:, 0].tolist(), strict=True)
        parts = [low + step * np.arange(round((high - low) / step) + 1) for low, high in ends]
        return self.features[0].snap(np.concatenate(parts))[:, None]


def _step(feature: Feature) -> float | None:
    if feature.kind == "category":
        return 1.0
    return None if feature.step is None else float(feature.step)


@dataclass(frozen=True, eq=False)
class _Tied:
    """Parts that constraints connect, with those constraints."""

    parts: tuple[Part, ...]
    columns: frozenset[int]
    predicates: tuple[Callable[[Points], NDArray[np.bool_]], ...]
    texts: tuple[str, ...]

    def valid(self, points: Points) -> NDArray[np.bool_]:
        mask = np.ones(len(points), dtype=np.bool_)
        for predicate in self.predicates:
            mask &= predicate(points)
        return mask

    def possible(self, width: int) -> bool:
        """Tell whether any combination is valid; yes where there are too many to list."""
        if not self.predicates or combinations(part.size for part in self.parts) > LARGEST_TABLE:
            return True
        tables = [part.values() for part in self.parts]
        rows = product([np.arange(len(table), dtype=np.float64) for table in tables]).astype(
            np.intp
        )
        points: Points = np.zeros((len(rows), width), dtype=np.float64, order="F")
        for part, table, row in zip(self.parts, tables, rows.T, strict=True):
            points[:, list(part.columns)] = table[row]
        return bool(self.valid(points).any())

    def draw(self, rng: np.random.Generator, out: Points) -> None:
        """Fill the columns of these parts with valid combinations, by rejection."""
        columns, filled, tried = sorted(self.columns), 0, 0
        most = max(_LEAST, min(_MOST, _CELLS // out.shape[1]))
        while filled < len(out):
            wanted = 1.1 * (len(out) - filled) * (tried + 2) / (filled + 1)
            # Columns of other parts stay empty; these constraints do not read them.
            trial: Points = np.zeros(
                (int(np.clip(wanted, _LEAST, most)), out.shape[1]), dtype=np.float64, order="F"
            )
            for part in self.parts:
                part.draw(rng, trial)
            kept = trial[self.valid(trial)][: len(out) - filled]
            out[filled : filled + len(kept), columns] = kept[:, columns]
            filled, tried = filled + len(kept), tried + len(trial)
            if tried >= _ENOUGH and filled < RAREST * tried:
                said = clip(", ".join(map(repr, self.texts)), 200)
                raise RareInputs(
                    f"the constraints {said} accept only {filled:,} of {tried:,} inputs drawn with"
                    " these weights; give inputs that they exclude less weight, so that at least 1"
                    f" in {round(1 / RAREST):,} is valid"
                )


@dataclass(frozen=True, eq=False)
class Law:
    """How likely each input of a space is: independent parts, one or more features each, among
    valid inputs.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"])])
    >>> Law(space, (Part((0,), tuple(space.features), np.ones((1, 1)), np.ones((1, 1)), np.ones(1)),)).draw(
    ...     2, np.random.default_rng(0)
    ... ).tolist()
    [[1.0], [1.0]]
    """

    space: Space
    parts: tuple[Part, ...]

    @cached_property
    def _tied(self) -> tuple[_Tied, ...]:
        blocks = [block for block in self.space.blocks(self.space.features) if block.predicates]
        together = _merged(
            [set(part.columns) for part in self.parts] + [set(block.columns) for block in blocks]
        )
        found = []
        for columns in together:
            mine = [block for block in blocks if columns >= set(block.columns)]
            found.append(
                _Tied(
                    tuple(part for part in self.parts if columns >= set(part.columns)),
                    frozenset(columns),
                    tuple(predicate for block in mine for predicate in block.predicates),
                    tuple(text for block in mine for text in block.texts),
                )
            )
        return tuple(found)

    def draw(self, n: int, rng: np.random.Generator) -> Points:
        """Draw `n` independent encoded inputs."""
        out: Points = np.empty((n, len(self.space.features)), dtype=np.float64, order="F")
        for tied in self._tied:
            if tied.predicates:
                tied.draw(rng, out)
            else:
                tied.parts[0].draw(rng, out)
        return out

    def given(self, groups: Groups, group: int) -> Law | None:
        """Return the law of one group's inputs, or None where it has no weight."""
        spans = {
            column: (ends[0, cell], ends[1, cell])
            for column, ends, cell in zip(
                groups.columns, groups.spans, groups.cells(group), strict=True
            )
        }
        parts = tuple(
            part.given(spans) if spans.keys() & set(part.columns) else part for part in self.parts
        )
        if not all(len(part.weights) for part in parts):
            return None
        law = Law(self.space, parts)
        touched = set(groups.columns)
        possible = all(
            tied.possible(len(self.space.features)) for tied in law._tied if tied.columns & touched
        )
        return law if possible else None

    def reached(self, groups: Groups) -> NDArray[np.bool_]:
        """Tell which groups have any weight."""
        found = np.ones(groups.shape, dtype=np.bool_)
        for part in self.parts:
            touched = [at for at, column in enumerate(groups.columns) if column in part.columns]
            if touched:
                shape = [cells if at in touched else 1 for at, cells in enumerate(groups.shape)]
                found &= self._reached(part, groups, touched).reshape(shape)
        reached = found.ravel()
        if any(tied.predicates and tied.columns & set(groups.columns) for tied in self._tied):
            for group in np.flatnonzero(reached).tolist():
                reached[group] = self.given(groups, group) is not None
        return reached

    def _reached(self, part: Part, groups: Groups, touched: list[int]) -> NDArray[np.bool_]:
        """Tell which cells of the touched features have any weight in their part."""
        if not part.points:
            least, most = groups.spans[touched[0]]
            return np.asarray((part.share(0, least, most) > 0).any(axis=0))
        among = replace(groups, names=tuple(groups.names[at] for at in touched))
        points: Points = np.zeros(
            (len(part.low), len(self.space.features)), dtype=np.float64, order="F"
        )
        points[:, list(part.columns)] = part.low
        place = among.of(points)
        found = np.zeros(len(among), dtype=np.bool_)
        found[place[place >= 0]] = True
        return found


def _merged(sets: Iterable[set[int]]) -> list[set[int]]:
    """Join sets that share a member, in the order of their first member."""
    found: list[set[int]] = []
    for one in sets:
        apart = [other for other in found if not other & one]
        found = [*apart, one.union(*(other for other in found if other & one))]
    return sorted(found, key=min)
