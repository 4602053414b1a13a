"""Samplers: the population that a rate is about, drawn in blocks so that every draw has a number.

Draw `i` of a named stream is the same input whatever was drawn before, by whichever worker, in
batches of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

from evenhand.runtime.errors import UsageError, clip
from evenhand.runtime.random_streams import stream

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenhand.population.rows import Rows
    from evenhand.scores.groups import Groups
    from evenhand.space.feature import Flags, Points
    from evenhand.space.space import Space

BLOCK = 16_384
"""Draws per random stream."""


class Sampler(Protocol):
    """A population to draw inputs from; never one that was chosen after looking at outcomes."""

    def population(self, space: Space) -> str:
        """Name the population in words."""
        ...

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` independent encoded inputs."""
        ...

    def within(
        self, n: int, rng: np.random.Generator, groups: Groups, group: int
    ) -> Points:
        """Draw `n` independent encoded inputs from among those of one group."""
        ...

    def empty(self, groups: Groups) -> Flags:
        """Return which groups have nobody in this population."""
        ...

    def separate(self, space: Space, names: Sequence[str]) -> bool:
        """Return whether these features are independent of all others, as Theorem 4.3 needs."""
        ...


@dataclass(frozen=True, slots=True)
class Uniform:
    """All valid inputs of the space, each as likely as any other (Themis Algorithm 2, line 4)."""

    def population(self, space: Space) -> str:
        """Name the population in words."""
        inputs = "all valid inputs" if space.constrained else "all inputs"
        if space.even:
            return f"{inputs}, uniformly"
        return f"{inputs}, uniformly, with values missing as often as in the data"

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` independent encoded inputs."""
        return space.draw(n, rng)

    def within(
        self, n: int, rng: np.random.Generator, groups: Groups, group: int
    ) -> Points:
        """Draw `n` independent encoded inputs from among those of one group."""
        return groups.draw(n, rng, group)

    def empty(self, groups: Groups) -> Flags:
        """Return which groups have nobody in this population."""
        space = groups.space
        has_bins = any(space.feature(name).bins is not None for name in groups.names)
        if not space.constrained and not has_bins:
            return np.zeros(len(groups), dtype=np.bool_)
        # Constraints may exclude a group, and a bin may lie between two values.
        empty = [not groups.inhabited(group) for group in range(len(groups))]
        return np.array(empty, dtype=np.bool_)

    def separate(self, space: Space, names: Sequence[str]) -> bool:
        """Return whether these features are independent of all others: no constraint ties them."""
        return not space.tied(names)


def checked_sampler(sampler: Sampler | None, space: Space) -> Sampler:
    """Return a population; by default the rows that the space remembers, else all inputs.

    What is not a population is refused.
    """
    if sampler is None:
        from evenhand.population.remembered import remembered  # imported where it is used

        return remembered(space) or Uniform()
    if not hasattr(sampler, "population"):
        raise UsageError(
            f"sampler = {clip(repr(sampler))} is not a population; use uniform(), rows(...) or"
            " profile(...)"
        )
    return sampler.complete(space) if is_rows(sampler) else sampler


def is_rows(population: Any) -> TypeGuard[Rows]:
    """Return whether a population is given rows, all of which can be asked.

    The class of such rows is not imported for it.

    >>> is_rows(uniform())
    False
    """
    return bool(getattr(population, "listed", False))


def uniform() -> Uniform:
    """Sample every valid input of the space with the same probability.

    Returns
    -------
    Uniform
        The population, for `sampler=…`.

    See Also
    --------
    See docs/how-to/populations.md.
    """
    return Uniform()


@dataclass(frozen=True, slots=True)
class Within:
    """One group of a population, as a population of its own."""

    sampler: Sampler
    groups: Groups
    group: int

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` independent encoded inputs of the group."""
        return self.sampler.within(n, rng, self.groups, self.group)


class Draws:
    """The numbered draws of one named stream, made `block` at a time."""

    def __init__(
        self,
        sampler: Sampler | Within,
        space: Space,
        seed: int,
        *name: str | int,
        block: int = BLOCK,
    ) -> None:
        self.sampler = sampler
        self.space = space
        self.seed = seed
        self.name = name
        self.block = block
        self._last: tuple[int, Points] | None = None

    def take(self, start: int, stop: int) -> Points:
        """Return draws `start` to `stop`."""
        first_block = start // self.block
        last_block = (stop - 1) // self.block
        parts = []
        for block in range(first_block, last_block + 1):
            offset = block * self.block
            first = max(start - offset, 0)
            parts.append(self._block(block)[first : stop - offset])
        if len(parts) == 1:
            return parts[0]
        return np.asfortranarray(np.concatenate(parts))

    def _block(self, block: int) -> Points:
        if self._last is None or self._last[0] != block:
            rng = stream(self.seed, *self.name, block)
            self._last = (block, self.sampler.draw(self.block, rng, self.space))
        return self._last[1]

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_last": None}
