"""Sources of seeds: where a search looks for hits that are not next to those it knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.base import Proposal
from evenhand.methods.search.strategies.moves import Moves

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenhand.methods.search.margins import Margins
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points

    Numbers = NDArray[np.float64]

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

    def learn(self, tried: Tried) -> None:  # noqa: B027
        """Take into account what came of the inputs that were proposed last, or of the first of
        them.
        """

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
    """Uniform inputs moved to where members of their class lie on either side of zero, by margins
    and gradients.
    """

    def __init__(self, moves: Moves, margins: Margins) -> None:
        super().__init__(moves)
        self._margins = margins

    def propose(self, n: int, rng: np.random.Generator) -> Points:
        """Return inputs at the boundary, fewer than asked for where too few lie on one side of it."""
        found, self.asked = boundary_points(
            self._margins, self.probe, self.probe.space.draw(n, rng)
        )
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
    """Return the points with one or two features changed, three in four times by a step and else by
    a jump.
    """
    found: Points = np.array(points)
    for share in (1.0, 0.5) if moves.features else ():
        rows = np.flatnonzero(rng.random(len(points)) < share)
        which = rng.integers(0, len(moves.features), len(rows))
        steps = moves.step(found[rows], which, np.where(rng.random(len(rows)) < 0.5, -1, 1))
        jumps = moves.jump(found[rows], which, rng)
        found[rows] = np.where((rng.random(len(rows)) < 0.75)[:, None], steps, jumps)
    return found


def boundary_points(
    margins: Margins,
    probe: Probe,
    points: Points,
    pairs: NDArray[np.intp] | None = None,
    steps: int = 3,
) -> tuple[Proposal, int]:
    """Move points to where two members of their class get different outcomes; say also how many
    questions that took.

    What is moved to zero is the middle between the margins of both members: if they differ at all,
    they then are on either side. Where the software tells gradients, each point goes to where the
    middle would be zero if margins were linear (Newton's method); where it tells margins alone,
    points on one side go towards points on the other (false position), and there are as many as the
    smaller side has. Each step asks two questions for each point. The space's constraints are left
    to whoever asks what comes out.

    Parameters
    ----------
    pairs
        The two assignments of each point that are compared; by default the first and the last of
        all.
    """
    moves = Moves(probe)
    if pairs is None:
        pairs = np.tile(np.array([0, len(probe.table) - 1], dtype=np.intp), (len(points), 1))
    if not margins.bounded or not len(points) or not moves.features:
        return Proposal(moves.nothing, pairs[:0]), 0
    before = margins.view.subject.asked
    found = Proposal(points, pairs)
    found = (
        _by_slope(margins, moves, found, steps)
        if margins.sloped
        else _between(margins, moves, found, steps)
    )
    return found, margins.view.subject.asked - before


def _both(probe: Probe, found: Proposal) -> Points:
    """Return one member of each class, then the other."""
    assert found.pairs is not None
    return np.concatenate([probe.member(found.points, found.pairs[:, side]) for side in (0, 1)])


def _by_slope(margins: Margins, moves: Moves, found: Proposal, steps: int) -> Proposal:
    free = [margins.view.subject.space.passed.index(position) for position in moves.probe.free]
    for _ in range(steps):
        _, above, slopes = margins.gradients(_both(moves.probe, found))
        middle = slopes[:, free].reshape(2, -1, len(free)).mean(axis=0)
        found = replace(
            found, points=_newton(moves, found.points, above.reshape(2, -1).mean(axis=0), middle)
        )
    return found


def _newton(moves: Moves, points: Points, above: Numbers, slopes: Numbers) -> Points:
    """Return the points moved along the gradient by what would take their margins to zero, onto the
    features' values.

    Distances are shares of the features' ranges. What rounding takes off, or the end of a range, is
    made up for by the features after, in the order of what one step of theirs does to the margin,
    the most first.
    """
    span = moves.high - moves.low
    slopes = np.nan_to_num(slopes, posinf=0.0, neginf=0.0)
    rows = np.arange(len(points))
    found: Points = np.array(points, order="F")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        steep = ((slopes * span) ** 2).sum(axis=1)
        far = (
            np.where((steep > 0) & np.isfinite(above), -above / steep, 0.0)[:, None]
            * slopes
            * span**2
        )
        owed = np.zeros(len(points))
        for which in np.argsort(-np.abs(slopes) * moves.size, axis=1, kind="stable").T:
            column, slope, wanted = moves.positions[which], slopes[rows, which], far[rows, which]
            more = owed / slope
            old = found[rows, column]
            new = _nearest(
                moves, old + wanted + np.where(np.abs(more) <= span[which], more, 0.0), which
            )
            found[rows, column] = new
            owed += slope * (wanted - (new - old))
    return moves.snapped(found)


def _between(margins: Margins, moves: Moves, found: Proposal, steps: int) -> Proposal:
    def middle(of: Proposal) -> Numbers:
        return np.asarray(margins.decide(_both(moves.probe, of))[1].reshape(2, -1).mean(axis=0))

    assert found.pairs is not None
    above = middle(found)
    sides = [np.flatnonzero(above > 0), np.flatnonzero(above <= 0)]
    many = min(map(len, sides))
    pairs = found.pairs[sides[0][:many]]
    ends = [found.points[side[:many]][:, moves.positions] for side in sides]
    at = [above[side[:many]] for side in sides]
    line = np.asfortranarray(found.points[sides[0][:many]])
    for _ in range(steps if many else 0):
        # Cut by a tenth or more, a line gets shorter even where margins are flat, as those of trees
        # are.
        with np.errstate(invalid="ignore"):  # of infinite margins, which are cut in half
            share = np.nan_to_num(np.clip(at[0] / (at[0] - at[1]), 0.1, 0.9), nan=0.5)[:, None]
        line[:, moves.positions] = _nearest(
            moves, ends[0] * (1 - share) + ends[1] * share, slice(None)
        )
        now = middle(Proposal(moves.snapped(line), pairs))
        for side, here in enumerate((now > 0, now <= 0)):
            ends[side] = np.where(here[:, None], line[:, moves.positions], ends[side])
            at[side] = np.where(here, now, at[side])
    line[:, moves.positions] = np.where((np.abs(at[0]) < np.abs(at[1]))[:, None], *ends)
    return Proposal(line, pairs)


def _nearest(moves: Moves, values: Numbers, which: NDArray[np.intp] | slice) -> Numbers:
    """Return the values that features have nearest to these."""
    stepped = np.array(
        [feature.kind == "category" or feature.step is not None for feature in moves.features]
    )
    low, size = moves.low[which], moves.size[which]
    on_grid = np.where(stepped[which], low + np.round((values - low) / size) * size, values)
    return np.clip(on_grid, low, moves.high[which])
