"""walk: change one feature of what was found last, and go on from there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import evenhand as eh

if TYPE_CHECKING:
    from evenhand.methods.search.strategies import Setting, Tried


class Walk(eh.Strategy):
    """A random walk, with jumps to anywhere."""

    name = "walk"

    def __init__(self, jumps: float = 0.2) -> None:
        self.jumps = jumps

    def begin(self, setting: Setting) -> None:
        """Start at ten inputs from anywhere."""
        self.space = setting.space
        self.free = setting.free
        self.rng = setting.random("walk")
        self.here = self.space.draw(10, self.rng)

    def propose(self, n: int) -> eh.Proposal:
        """Change one feature of known inputs, and take some from anywhere."""
        anywhere = self.space.draw(n, self.rng)
        rows = np.arange(n)
        column = self.rng.choice(self.free, n)
        points = self.rng.choice(self.here, n)
        points[rows, column] = anywhere[rows, column]
        jump = self.rng.random(n) < self.jumps
        points[jump] = anywhere[jump]
        return eh.Proposal(points)

    def observe(self, tried: Tried) -> None:
        """Go on from what was found."""
        if tried.hits.any():
            self.here = tried.points[tried.hits]
