"""Uniform drawing under constraints, block by block.

Constraints tie features together. Features that no chain of constraints connects are independent
under the uniform distribution, so each connected block is drawn by itself: a free feature directly,
a small block from the table of its valid combinations (nothing is ever rejected), a large one by
rejection with a bound on how much it may reject.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import NoInputs, RareInputs, SpaceError, clip
from evenhand.space.feature import combinations, count, product

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evenhand.space.feature import Feature, Points

    Predicate = tuple[tuple[int, ...], Callable[[Points], NDArray[np.bool_]]]

LARGEST_TABLE = 1 << 20
"""Blocks with at most this many combinations are listed; the others are drawn by rejection."""
RAREST = 1e-3
"""The smallest share of draws that may be valid before rejection gives up."""
_TRIAL = 1 << 18
_CELLS = 1 << 22
"""Values that are checked against constraints at once, which bounds the memory of spaces with many
features.
"""


@dataclass(frozen=True)
class Block:
    """Features that constraints tie together, with the constraints that do."""

    columns: tuple[int, ...]
    features: tuple[Feature, ...]
    predicates: tuple[Callable[[Points], NDArray[np.bool_]], ...]
    texts: tuple[str, ...]
    width: int

    @cached_property
    def combinations(self) -> int | float:
        """Number of combinations of values before constraints."""
        return combinations(feature.size for feature in self.features)

    @cached_property
    def _listed(self) -> Points | None:
        """The valid combinations, where the block is small enough to list them."""
        if not self.predicates or self.combinations > LARGEST_TABLE:
            return None
        every = product([feature.values() for feature in self.features])
        table = every[self._valid(every)]
        if len(table) == 0:
            raise NoInputs(
                f"no input is valid: {self._said} exclude all {len(every):,} combinations of"
                f" {self._names}"
            )
        return table

    @property
    def uncounted(self) -> bool:
        """Whether constraints were not counted, since the block is too large to list."""
        return bool(self.predicates) and self._listed is None

    @property
    def size(self) -> int | float:
        """Number of valid combinations; before constraints where they cannot be listed."""
        return self.combinations if self._listed is None else len(self._listed)

    def table(self) -> Points:
        """Return every valid combination."""
        if self._listed is not None:
            return self._listed
        if self.predicates:
            raise SpaceError(
                f"{self._said} tie {self._names} together, whose {count(self.combinations)}"
                f" combinations are over the {LARGEST_TABLE:,} that are enumerated at once"
            )
        return self.features[0].values()[:, None]

    @property
    def _said(self) -> str:
        return "the constraints " + clip(", ".join(repr(text) for text in self.texts), 200)

    @property
    def _names(self) -> str:
        return clip(", ".join(feature.name for feature in self.features), 200)

    def _valid(self, rows: Points) -> NDArray[np.bool_]:
        mask = np.ones(len(rows), dtype=np.bool_)
        at_once = max(1, _CELLS // self.width)
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            # Predicates read whole points; columns outside the block are not theirs to read.
            points: Points = np.zeros((len(part), self.width), dtype=np.float64, order="F")
            points[:, list(self.columns)] = part
            for predicate in self.predicates:
                mask[start : start + at_once] &= predicate(points)
        return mask

    def draw(self, rng: np.random.Generator, out: Points) -> None:
        """Fill this block's columns of `out` with uniform valid combinations."""
        if not self.predicates:
            self.features[0].draw(len(out), rng, out[:, self.columns[0]])
        elif self._listed is not None:
            rows = self._listed[rng.integers(0, len(self._listed), len(out))]
            for column, values in zip(self.columns, rows.T, strict=True):
                out[:, column] = values
        else:
            self._reject(rng, out)

    def _reject(self, rng: np.random.Generator, out: Points) -> None:
        filled = tried = 0
        while filled < len(out):
            share = (filled + 1) / (tried + 2)
            trial: Points = np.empty(
                (_trial(len(out) - filled, share), len(self.features)), order="F"
            )
            for column, feature in enumerate(self.features):
                feature.draw(len(trial), rng, trial[:, column])
            kept = trial[self._valid(trial)][: len(out) - filled]
            out[filled : filled + len(kept), list(self.columns)] = kept
            filled += len(kept)
            tried += len(trial)
            if tried >= 4 * _TRIAL and filled < RAREST * tried:
                raise RareInputs(
                    f"{self._said} accept only {filled:,} of {tried:,} uniform draws of"
                    f" {self._names}; narrow the ranges of these features so that at least 1 in"
                    f" {round(1 / RAREST):,} is valid"
                )


def _trial(missing: int, share: float) -> int:
    return int(min(_TRIAL, max(1024, 1.1 * missing / max(share, RAREST))))


def plan_blocks(
    features: tuple[Feature, ...], predicates: Sequence[Predicate], texts: Sequence[str]
) -> tuple[Block, ...]:
    """Group features into blocks that constraints connect, in the order of their first feature."""
    root = list(range(len(features)))

    def find(position: int) -> int:
        while root[position] != position:
            position = root[position]
        return position

    for touched, _ in predicates:
        for position in touched[1:]:
            one, other = sorted((find(touched[0]), find(position)))
            root[other] = one
    members: dict[int, list[int]] = {}
    for position in range(len(features)):
        members.setdefault(find(position), []).append(position)
    blocks = []
    for first, columns in members.items():
        mine = [
            i
            for i, (touched, _) in enumerate(predicates)
            if (find(touched[0]) if touched else 0) == first
        ]
        blocks.append(
            Block(
                tuple(columns),
                tuple(features[column] for column in columns),
                tuple(predicates[i][1] for i in mine),
                tuple(texts[i] for i in mine),
                len(features),
            )
        )
    return tuple(blocks)
