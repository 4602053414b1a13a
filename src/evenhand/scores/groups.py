"""Groups: the people who share the values of a set of features (Themis Def. 3.5 and 3.6)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.recorded import label_of
from evenhand.runtime.errors import NoInputs, SpaceError, clip
from evenhand.runtime.label_text import labelled
from evenhand.space.feature import combinations, count, integer
from evenhand.space.values.bin_text import bin_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenhand.space.blocks import Block
    from evenhand.space.feature import Feature, Label, Points
    from evenhand.space.space import Space

MOST_GROUPS = 100_000
"""The most groups that are compared with each other."""


@dataclass(frozen=True)
class _Cells:
    """The values of one feature, each by itself, or by the bins that the feature declares."""

    feature: Feature

    @cached_property
    def edges(self) -> NDArray[np.float64] | None:
        if self.feature.bins is None:
            return None
        return self.feature.edges()

    @cached_property
    def values(self) -> NDArray[np.float64]:
        return self.feature.values()

    @cached_property
    def known(self) -> int:
        """The number of cells of known values; what is missing is one more, the last."""
        if self.edges is None:
            return int(self.feature.size)
        return len(self.edges) - 1

    def __len__(self) -> int:
        return self.known + bool(self.feature.missing)

    def of(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        """Return the cell of each value, -1 for none."""
        cells = self._of_known(column)
        if not self.feature.missing:
            return cells
        return np.where(self.feature.is_missing(column), self.known, cells)

    def _of_known(self, column: NDArray[np.float64]) -> NDArray[np.intp]:
        last = self.known - 1
        if self.edges is None:
            # A value over the last one has no place of its own.
            place = np.searchsorted(self.values, column)
            cell = np.minimum(place, last)
            return np.where(self.values[cell] == column, cell, -1)
        cell = np.searchsorted(self.edges, column, side="right") - 1
        # The last bin holds its upper edge too.
        cell = np.where(column == self.edges[-1], last, cell)
        inside = (cell >= 0) & (cell <= last)
        return np.where(inside, cell, -1)

    def label(self, cell: int) -> Label:
        if cell == self.known:
            return self.feature.missing_word
        if self.edges is None:
            (label,) = self.feature.labels(self.values[cell : cell + 1])
            return label
        return bin_text(self.feature, self.edges, cell)

    @cached_property
    def spans(self) -> NDArray[np.float64]:
        """The lowest and the highest value of each cell, NaN where it has none."""
        if not self.feature.missing:
            return self._known_spans
        code = np.full((2, 1), self.feature.missing_code)
        return np.concatenate([self._known_spans, code], axis=1)

    @cached_property
    def _known_spans(self) -> NDArray[np.float64]:
        if self.edges is None:
            return np.array([self.values, self.values])
        low = self.edges[:-1].copy()
        high = self.edges[1:].copy()
        if math.isinf(self.feature.size):
            # All bins but the last end just under their upper edge.
            high[:-1] = np.nextafter(high[:-1], low[:-1])
            return np.array([low, high])
        # A wide range is never listed: only the values near the two edges are looked at. In half
        # steps, since rounding to even may skip the nearest value.
        near = float(self.feature.step or 0.0) * np.arange(-2.0, 2.5, 0.5)
        near_low = low[:, None] + near
        near_high = high[:, None] + near
        values = self.feature.snap(np.concatenate([near_low, near_high], axis=1))
        cells = np.arange(self.known)[:, None]
        in_cell = self.of(values) == cells
        inside = self.feature.inside(values) & in_cell
        least = np.where(inside, values, np.inf).min(axis=1)
        most = np.where(inside, values, -np.inf).max(axis=1)
        return np.where(inside.any(axis=1), np.array([least, most]), np.nan)

    def middle(self, cell: int) -> float:
        """Return a value that stands for the cell."""
        if self.feature.kind == "category":
            return float(cell)
        if cell == self.known:
            return self.feature.missing_code
        middle = self.spans[:, cell].mean(keepdims=True)
        return float(self.feature.snap(middle)[0])

    def narrowed(self, cell: int) -> Feature | None:
        """Return the feature with no values but those of the cell, or None where it has none."""
        if self.feature.kind == "category":
            # As the number of its code, which stays what it is.
            return integer(self.feature.name, cell, cell)
        if np.isnan(self.spans[0, cell]):
            return None
        low, high = self.feature.numbers(self.spans[:, cell]).tolist()
        narrowed = replace(self.feature, missing=False, twins_missing=False, bins=None)
        return replace(narrowed, low=low, high=high)


@dataclass(frozen=True)
class Groups:
    """All groups of a set of features: one for each combination of their values, or of their bins.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90, bins=(18, 40, 90))])
    >>> groups = Groups(space, ("sex", "age"))
    >>> len(groups), groups.label(1)
    (4, {'sex': 'F', 'age': '40 to 90'})
    """

    space: Space
    names: tuple[str, ...]

    def __post_init__(self) -> None:
        total = combinations(self.shape)
        if total <= MOST_GROUPS:
            return
        factors = []
        for cells in self._cells:
            factors.append(f"{cells.feature.name} {len(cells):,}")
        product = clip(" × ".join(factors), 300)
        raise SpaceError(
            f"{product} = {count(total)} groups, over the {MOST_GROUPS:,} that are compared"
        )

    @cached_property
    def columns(self) -> tuple[int, ...]:
        """Positions of the features."""
        return self.space.sets(self.names)

    @cached_property
    def _cells(self) -> tuple[_Cells, ...]:
        for column in self.columns:
            feature = self.space.features[column]
            if math.isinf(feature.variety):
                raise SpaceError(
                    f"feature {feature.name!r} is continuous; give it a step or bins to form groups"
                )
        return tuple(_Cells(self.space.features[column]) for column in self.columns)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """How many cells each feature has: its values, or its bins."""
        return tuple(len(cells) for cells in self._cells)

    @cached_property
    def spans(self) -> tuple[NDArray[np.float64], ...]:
        """The lowest and the highest encoded value of each cell, for each feature.

        They are NaN where a cell has none.
        """
        return tuple(cells.spans for cells in self._cells)

    def __len__(self) -> int:
        return math.prod(self.shape)

    def cells(self, group: int) -> tuple[int, ...]:
        """Return the cells that make up a group, one of each feature; the last changes fastest."""
        cells = np.unravel_index(group, self.shape)
        return tuple(int(cell) for cell in cells)

    def of(self, points: Points) -> NDArray[np.intp]:
        """Return the group of each point, -1 where it is in none (outside the declared bins)."""
        index = np.zeros(len(points), dtype=np.intp)
        inside = np.ones(len(points), dtype=np.bool_)
        for column, cells in zip(self.columns, self._cells, strict=True):
            place = cells.of(points[:, column])
            inside &= place >= 0
            index = index * len(cells) + place
        return np.where(inside, index, -1)

    def label(self, group: int) -> Mapping[str, Label]:
        """Return a group by the user's own values, which know their labels."""
        parts = zip(self.names, self._cells, self.cells(group), strict=True)
        values = {name: cells.label(cell) for name, cells, cell in parts}
        return labelled(values, self.space.words)

    def move(self, points: Points, group: int) -> Points:
        """Return the points with the values of a group in place of their own."""
        moved = points.copy(order="F")
        for column, cells, cell in zip(
            self.columns, self._cells, self.cells(group), strict=True
        ):
            moved[:, column] = cells.middle(cell)
        return self.space.settle(moved)

    @cached_property
    def _whole(self) -> dict[tuple[int, ...], Block]:
        return {block.columns: block for block in self.space.blocks(self.space.features)}

    def within(self, group: int) -> tuple[Block, ...] | None:
        """Return how to draw a group's inputs, block by block; None where it has none."""
        features = list(self.space.features)
        for column, cells, cell in zip(
            self.columns, self._cells, self.cells(group), strict=True
        ):
            narrowed = cells.narrowed(cell)
            if narrowed is None:
                return None
            features[column] = narrowed
        blocks = []
        for block in self.space.blocks(features):
            is_narrowed = set(block.columns) & set(self.columns)
            # Blocks that the group does not narrow are the same for all groups, and listed once.
            blocks.append(block if is_narrowed else self._whole[block.columns])
        return tuple(blocks)

    def inhabited(self, group: int) -> bool:
        """Return whether a group has any valid input; true where they are too many to list."""
        blocks = self.within(group)
        return blocks is not None and all(_inhabited(block) for block in blocks)

    def draw(self, n: int, rng: np.random.Generator, group: int) -> Points:
        """Draw `n` inputs of a group, uniform over all its valid ones."""
        blocks = self.within(group)
        if blocks is None:
            raise SpaceError(f"no input is in the group {self.label(group)}")
        points: Points = np.empty(
            (n, len(self.space.features)), dtype=np.float64, order="F"
        )
        for block in blocks:
            block.draw(rng, points)
        for column in self.columns:
            feature = self.space.features[column]
            if feature.kind == "real":
                # A narrowed grid may start at a rounded value.
                points[:, column] = feature.snap(points[:, column])
        return points


def _inhabited(block: Block) -> bool:
    try:
        return block.size > 0
    except NoInputs:
        # A constraint that cannot be evaluated is an error: it says nothing of who is in the group.
        return False


def declared_groups(
    groups: Groups, declared: Mapping[str, Sequence[Label]]
) -> NDArray[np.bool_]:
    """Return which groups were declared: those all of whose labels were, column by column.

    >>> from evenhand.space.feature import category
    >>> from evenhand.space.space import Space
    >>> sexes = Groups(Space([category("sex", ["F", "M", "X"])], ["sex"]), ("sex",))
    >>> declared_groups(sexes, {"sex": ["X"]}).tolist()
    [False, False, True]
    """
    found = np.ones((), dtype=np.bool_)
    for name in groups.names:
        named = {label_of(label) for label in declared.get(name, ())}
        levels = groups.space.feature(name).levels
        is_named = np.array([level in named for level in levels], dtype=np.bool_)
        found = np.logical_and.outer(found, is_named)
    return np.asarray(found.ravel())
