"""Census: everybody there is, in an order of their own, so that nobody is drawn twice.

People who differ only in the features at issue are one: which of them is drawn does not matter
where all of them are asked anyway. Features that the software does not read are held still, and do
not multiply the people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.population.samplers import BLOCK
from evenhand.runtime.random_streams import stream
from evenhand.space.feature import combinations, empty_points

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from numpy.typing import NDArray

    from evenhand.space.blocks import Block
    from evenhand.space.feature import Points
    from evenhand.space.space import Space

MOST_SHUFFLED = 1 << 22
"""The most people whose order is kept in memory."""


@dataclass(frozen=True)
class Census:
    """All people of a space who differ in something other than the features at issue.

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> census = Census.of(space, ("sex",))
    >>> census.size, census.inputs
    (73, 146)
    """

    space: Space
    blocks: tuple[Block, ...]
    """What people differ in."""
    at_issue: tuple[Block, ...]
    still: tuple[Block, ...]

    @classmethod
    def of(
        cls, space: Space, names: Sequence[str], unread: Collection[str] = ()
    ) -> Census | None:
        """Take the census; None where there is none.

        That is so where features are continuous, where constraints tie those at issue to others, or
        where some people are likelier than others.
        """
        at_issue = set(space.sets(names))
        lacks = any(space.features[column].missing for column in at_issue)
        if lacks or not space.even or space.tied(names):
            return None
        parts: dict[str, list[Block]] = {"blocks": [], "at_issue": [], "still": []}
        for block in space.blocks(space.features):
            if at_issue & set(block.columns):
                parts["at_issue"].append(block)
            elif _matters(block, unread):
                parts["blocks"].append(block)
            else:
                parts["still"].append(block)
        counted = [*parts["blocks"], *parts["at_issue"]]
        if any(block.uncounted or block.size == math.inf for block in counted):
            return None
        return cls(space, **{name: tuple(blocks) for name, blocks in parts.items()})

    @property
    def size(self) -> int | float:
        """How many people there are; infinite where they are too many to number."""
        return combinations(block.size for block in self.blocks)

    @property
    def inputs(self) -> int | float:
        """How many inputs they are, with every value of the features at issue."""
        return combinations([self.size, *(block.size for block in self.at_issue)])

    def points(self, numbers: NDArray[np.int64], rng: np.random.Generator) -> Points:
        """Return the people with these numbers; the features at issue have values by chance."""
        out = empty_points(len(numbers), len(self.space.features))
        left = numbers
        for block in reversed(self.blocks):
            table = block.table()
            left, rows = np.divmod(left, len(table))
            out[:, list(block.columns)] = table[rows]
        for block in self.at_issue:
            table = block.table()
            out[:, list(block.columns)] = table[rng.integers(0, len(table), len(out))]
        for block in self.still:
            block.draw(np.random.default_rng(0), out[:1])
            columns = list(block.columns)
            out[:, columns] = out[0, columns]
        return out


def _matters(block: Block, unread: Collection[str]) -> bool:
    """Return whether people count as different by a block's features."""
    if block.predicates:
        return True
    return any(feature.passed and feature.name not in unread for feature in block.features)


class CensusDraws:
    """The numbered draws of a census: each of its people once.

    They are `shuffled` where a part of them is to stand for all.
    """

    def __init__(
        self, census: Census, seed: int, *name: str | int, shuffled: bool = True
    ) -> None:
        self.census = census
        self.seed = seed
        self.name = name
        self.shuffled = shuffled
        self._order: NDArray[np.int64] | None = None

    def take(self, start: int, stop: int) -> Points:
        """Return draws `start` to `stop`."""
        parts = []
        for block in range(start // BLOCK, (stop - 1) // BLOCK + 1):
            first = block * BLOCK
            last = min(first + BLOCK, int(self.census.size))
            rng = stream(self.seed, *self.name, "at issue", block)
            points = self.census.points(self._numbers(first, last), rng)
            parts.append(points[max(start - first, 0) : stop - first])
        return np.asfortranarray(np.concatenate(parts))

    def _numbers(self, first: int, last: int) -> NDArray[np.int64]:
        if not self.shuffled:
            return np.arange(first, last)
        if self._order is None:
            rng = stream(self.seed, *self.name, "order")
            self._order = rng.permutation(int(self.census.size))
        return self._order[first:last]

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_order": None}
