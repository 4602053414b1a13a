"""Samplers: the declared population that a rate speaks of, drawn in blocks so that every draw has a number.

Draw `i` of a named stream is the same input whatever was drawn before, by whichever worker, in batches of any size.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from evenhand.core.seeds import stream

if TYPE_CHECKING:
    from evenhand.core.feature import Points
    from evenhand.core.space import Space

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


@dataclass(frozen=True, slots=True)
class Uniform:
    """All valid inputs of the space, each as likely as any other (Themis Algorithm 2, line 4)."""

    def population(self, space: Space) -> str:
        """Name the population in words."""
        return "all valid inputs, uniformly" if space.constraints else "all inputs, uniformly"

    def draw(self, n: int, rng: np.random.Generator, space: Space) -> Points:
        """Draw `n` independent encoded inputs."""
        return space.draw(n, rng)


def uniform() -> Uniform:
    """Sample every valid input of the space with the same probability."""
    return Uniform()


class Draws:
    """The numbered draws of one named stream."""

    def __init__(self, sampler: Sampler, space: Space, seed: int, *name: str) -> None:
        self.sampler = sampler
        self.space = space
        self.seed = seed
        self.name = name
        self._last: tuple[int, Points] | None = None

    def take(self, start: int, stop: int) -> Points:
        """Return draws `start` to `stop`."""
        parts = [
            self._block(block)[max(start - block * BLOCK, 0) : stop - block * BLOCK]
            for block in range(start // BLOCK, (stop - 1) // BLOCK + 1)
        ]
        return parts[0] if len(parts) == 1 else np.asfortranarray(np.concatenate(parts))

    def _block(self, block: int) -> Points:
        if self._last is None or self._last[0] != block:
            rng = stream(self.seed, *self.name, block)
            self._last = (block, self.sampler.draw(BLOCK, rng, self.space))
        return self._last[1]

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "_last": None}
