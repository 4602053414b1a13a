"""Uniform drawing under constraints, block by block.

Constraints tie features together. Features that no chain of constraints connects are independent
under the uniform distribution, so each connected block is drawn by itself: a free feature directly,
a small block from the table of its valid combinations (nothing is ever rejected), a large one by
rejection with a bound on how much it may reject.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.runtime.errors import NoInputs, RareInputs, SpaceError, clip
from evenhand.space.feature import combinations, count, empty_points, product, zero_points
from evenhand.space.values.derived import NO_DERIVATIONS, Derivations
from evenhand.space.values.weights import choose, running, weights_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenhand.space.feature import Feature, Flags, Floats, Points

    Check = Callable[[Points], Flags]
    Predicate = tuple[tuple[int, ...], Check]

LARGEST_TABLE = 1 << 20
"""Blocks with at most this many combinations are listed; the others are drawn by rejection."""
RAREST = 1e-3
"""The smallest share of draws that may be valid before rejection gives up."""
_FEWEST_TRIALS = 1 << 10
_MOST_TRIALS = 1 << 18
"""The most inputs that are tried at once."""
_MOST_CELLS = 1 << 22
"""The most values that are checked against constraints at once, which bounds memory."""


@dataclass(frozen=True)
class Block:
    """Features that constraints tie together, with the constraints that do."""

    columns: tuple[int, ...]
    features: tuple[Feature, ...]
    predicates: tuple[Check, ...]
    texts: tuple[str, ...]
    width: int
    derivations: Derivations = NO_DERIVATIONS

    @cached_property
    def _drawn(self) -> list[int]:
        """The places of the features that are drawn; the others follow from them."""
        targets = self.derivations.targets
        return [at for at, column in enumerate(self.columns) if column not in targets]

    @cached_property
    def combinations(self) -> int | float:
        """Number of combinations of values before constraints."""
        return combinations(self.features[at].size_with_missing for at in self._drawn)

    @cached_property
    def _listed(self) -> Points | None:
        """The valid combinations, where the block is small enough to list them."""
        if not self.predicates or self.combinations > LARGEST_TABLE:
            return None
        drawn = [self.features[at].values_with_missing() for at in self._drawn]
        every = self._completed(product(drawn))
        table = every[self._valid(every)]
        if len(table) == 0:
            raise NoInputs(
                f"no input is valid: {self._constraints} exclude all {len(every):,} combinations of"
                f" {self._names}"
            )
        return table

    @property
    def even(self) -> bool:
        """Whether all valid combinations are equally likely."""
        return all(feature.even for feature in self.features)

    @cached_property
    def _totals(self) -> Floats:
        """Running totals of how likely each listed combination is."""
        assert self._listed is not None
        return running(weights_of(self.features, self._listed))

    @property
    def uncounted(self) -> bool:
        """Whether constraints were not counted, since the block is too large to list."""
        return bool(self.predicates) and self._listed is None

    @property
    def size(self) -> int | float:
        """Number of valid combinations; before constraints where they cannot be listed."""
        if self._listed is None:
            return self.combinations
        return len(self._listed)

    def table(self) -> Points:
        """Return every valid combination."""
        if self._listed is not None:
            return self._listed
        if self.predicates:
            raise SpaceError(
                f"{self._constraints} tie {self._names} together, whose {count(self.combinations)}"
                f" combinations are over the {LARGEST_TABLE:,} that are enumerated at once"
            )
        return self.features[0].values_with_missing()[:, None]

    @property
    def _constraints(self) -> str:
        texts = ", ".join(repr(text) for text in self.texts)
        return "the constraints " + clip(texts, 200)

    @property
    def _names(self) -> str:
        names = ", ".join(feature.name for feature in self.features)
        return clip(names, 200)

    def _completed(self, drawn: Points) -> Points:
        """Return combinations of what is drawn with what follows from it."""
        if not self.derivations.all:
            return drawn
        columns = list(self.columns)
        points = zero_points(len(drawn), self.width)
        points[:, [columns[at] for at in self._drawn]] = drawn
        return np.asfortranarray(self.derivations.fill(points)[:, columns])

    def _valid(self, rows: Points) -> Flags:
        """Return which combinations satisfy all constraints."""
        mask = np.ones(len(rows), dtype=np.bool_)
        for feature, column, values in zip(
            self.features, self.columns, rows.T, strict=True
        ):
            # What follows may lie outside of what a feature, or a group, takes.
            if column in self.derivations.targets:
                mask &= feature.inside(values)
        at_once = max(1, _MOST_CELLS // self.width)
        for start in range(0, len(rows), at_once):
            part = rows[start : start + at_once]
            part_mask = mask[start : start + at_once]
            # Predicates read whole points; columns outside the block are not theirs to read.
            points = zero_points(len(part), self.width)
            points[:, list(self.columns)] = part
            for predicate in self.predicates:
                part_mask &= predicate(points)
        return mask

    def draw(self, rng: np.random.Generator, out: Points) -> None:
        """Fill this block's columns of `out` with valid combinations.

        They are uniform but for missing values, which are as frequent as features declare, given
        that the combination is valid.
        """
        if not self.predicates:
            # Without a constraint nothing ties two features, so there is only one.
            (feature,) = self.features
            (position,) = self.columns
            feature.draw(len(out), rng, out[:, position])
        elif self._listed is not None:
            if self.even:
                chosen = rng.integers(0, len(self._listed), len(out))
            else:
                chosen = choose(self._totals, len(out), rng)
            rows = self._listed[chosen]
            for column, values in zip(self.columns, rows.T, strict=True):
                out[:, column] = values
        else:
            self._draw_by_rejection(rng, out)

    def _draw_by_rejection(self, rng: np.random.Generator, out: Points) -> None:
        columns = list(self.columns)
        filled = 0
        tried = 0
        while filled < len(out):
            missing = len(out) - filled
            trials = _trials(missing, filled, tried)
            drawn = empty_points(trials, len(self._drawn))
            for position, at in enumerate(self._drawn):
                self.features[at].draw(trials, rng, drawn[:, position])
            trial = self._completed(drawn)
            kept = trial[self._valid(trial)][:missing]
            end = filled + len(kept)
            out[filled:end, columns] = kept
            filled = end
            tried += len(trial)
            if tried >= 4 * _MOST_TRIALS and filled < RAREST * tried:
                raise RareInputs(
                    f"{self._constraints} accept only {filled:,} of {tried:,} uniform draws of"
                    f" {self._names}; narrow the ranges of these features so that at least 1 in"
                    f" {round(1 / RAREST):,} is valid"
                )


def every_combination(blocks: Sequence[Block], width: int) -> Points:
    """Return every valid combination of all blocks; the last block changes fastest."""
    total = math.prod(len(block.table()) for block in blocks)
    return some_combinations(blocks, width, 0, total)


def some_combinations(blocks: Sequence[Block], width: int, start: int, stop: int) -> Points:
    """Return the combinations with the numbers `start` to before `stop`, of all that are valid."""
    out = empty_points(stop - start, width)
    left = np.arange(start, stop)
    for block in reversed(blocks):
        table = block.table()
        left, rows = np.divmod(left, len(table))
        out[:, list(block.columns)] = table[rows]
    return out


def _trials(missing: int, filled: int, tried: int) -> int:
    """Return how many combinations to try next, so that about all missing ones are found."""
    # Laplace's estimate of the share of valid draws, and a tenth more than it asks for.
    share = (filled + 1) / (tried + 2)
    wanted = 1.1 * missing / max(share, RAREST)
    return int(min(_MOST_TRIALS, max(_FEWEST_TRIALS, wanted)))


def plan_blocks(
    features: tuple[Feature, ...],
    predicates: Sequence[Predicate],
    texts: Sequence[str],
    derivations: Derivations = NO_DERIVATIONS,
) -> tuple[Block, ...]:
    """Group features into blocks that constraints connect, in the order of their first feature."""
    roots = _roots(len(features), predicates)
    members: dict[int, list[int]] = {}
    for position, root in enumerate(roots):
        members.setdefault(root, []).append(position)
    blocks = []
    for root, columns in members.items():
        checks = []
        check_texts = []
        for (touched, check), text in zip(predicates, texts, strict=True):
            # A constraint that names no feature goes with the first block.
            first = touched[0] if touched else 0
            if roots[first] == root:
                checks.append(check)
                check_texts.append(text)
        block = Block(
            columns=tuple(columns),
            features=tuple(features[column] for column in columns),
            predicates=tuple(checks),
            texts=tuple(check_texts),
            width=len(features),
            derivations=derivations.within(columns),
        )
        blocks.append(block)
    return tuple(blocks)


def _roots(size: int, predicates: Sequence[Predicate]) -> list[int]:
    """Return for each feature the first one that a chain of constraints connects it with."""
    # Disjoint sets as trees of parents, joined so that the lowest position is the root.
    parents = list(range(size))

    def find(position: int) -> int:
        while parents[position] != position:
            position = parents[position]
        return position

    for touched, _ in predicates:
        for position in touched[1:]:
            roots = (find(touched[0]), find(position))
            parents[max(roots)] = min(roots)
    return [find(position) for position in range(size)]
