"""Sources of seeds: where a search looks for hits that are not next to those it knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.margins import boundary_points

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.margins import Margins
    from evenhand.methods.search.probe import Tried
    from evenhand.methods.search.strategies.moves import Moves
    from evenhand.space.feature import Points

NEAR = 1024
"""How many near misses are kept."""
FADING = 0.999
"""How much of its nearness a miss keeps from wave to wave, so that new ones get their turn."""


class Source(ABC):
    """Proposes seeds, and learns from all that was tried and from what came of its own."""

    def __init__(self, moves: Moves) -> None:
        self.moves = moves
        self.probe = moves.probe
        self.asked = 0
        """Inputs that were asked to propose the last seeds."""

    @property
    def ready(self) -> bool:
        """Whether there is anything to propose."""
        return True

    @abstractmethod
    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return up to `n` inputs to try."""

    def learn(self, tried: Tried) -> None:  # noqa: B027 (most sources have nothing to learn)
        """Take into account what came of the inputs that were proposed last, or of the first of them."""

    def witness(self, tried: Tried) -> None:  # noqa: B027
        """Take into account what came of all inputs of a wave."""


class Uniform(Source):
    """Inputs drawn uniformly from the space: blind, and never wrong about where to look."""

    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return `n` uniform inputs."""
        return self.probe.space.draw(n, rng)


class Given(Source):
    """Real rows, each once in a random order, then rows with one or two features changed."""

    def __init__(self, moves: Moves, rows: Points, rng: np.random.Generator) -> None:
        super().__init__(moves)
        self.rows = rows
        self._order = rng.permutation(len(rows))
        self._next = 0
        self.origins: NDArray[np.intp] = np.empty(0, dtype=np.intp)
        """The rows that the inputs proposed last were made of."""

    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return the next rows, and changed ones where they are used up."""
        ahead = self._order[self._next : self._next + n]
        self._next += len(ahead)
        again = rng.integers(0, len(self.rows), n - len(ahead))
        self.origins = np.concatenate([ahead, again])
        found = np.asfortranarray(self.rows[self.origins])
        found[len(ahead) :] = stirred(self.moves, self.rows[again], rng)
        return found


class Slopes(Source):
    """Uniform inputs moved to where members of their class lie on either side of zero, by margins and gradients."""

    def __init__(self, moves: Moves, margins: Margins) -> None:
        super().__init__(moves)
        self._margins = margins

    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return inputs at the boundary, fewer than asked for where too few lie on one side of it."""
        found, self.asked = boundary_points(self._margins, self.probe, self.probe.space.draw(n, rng))
        return found.points


class Near(Source):
    """Near misses, a step or two changed: inputs whose members came close to differing."""

    def __init__(self, moves: Moves) -> None:
        super().__init__(moves)
        self._points = moves.nothing
        self._near = np.empty(0)

    @property
    def ready(self) -> bool:
        """Whether anything came close."""
        return len(self._points) > 0

    def witness(self, tried: Tried) -> None:
        """Keep what came close, the nearest and newest of it."""
        rows = np.flatnonzero(~tried.hits & (tried.near > 0))
        if not len(rows):
            return
        points = np.concatenate([self._points, tried.points[rows]])
        near = np.concatenate([self._near * FADING, tried.near[rows]])
        best = np.sort(np.argsort(-near, kind="stable")[:NEAR])
        self._points, self._near = points[best], near[best]

    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return near misses with one or two features changed, rather the nearer ones."""
        rank = np.argsort(-self._near, kind="stable")
        place = np.floor(rng.random(n) ** 2 * len(rank)).astype(np.intp)
        return np.asfortranarray(stirred(self.moves, self._points[rank[place]], rng))


def stirred(moves: Moves, points: Points, rng: np.random.Generator) -> Points:
    """Return the points with one or two features changed, three in four times by a step and else by a jump."""
    found: Points = np.array(points)
    for share in (1.0, 0.5) if moves.features else ():
        rows = np.flatnonzero(rng.random(len(points)) < share)
        which = rng.integers(0, len(moves.features), len(rows))
        steps = moves.step(found[rows], which, np.where(rng.random(len(rows)) < 0.5, -1, 1))
        jumps = moves.jump(found[rows], which, rng)
        found[rows] = np.where((rng.random(len(rows)) < 0.75)[:, None], steps, jumps)
    return found
