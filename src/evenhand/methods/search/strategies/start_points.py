"""Sources of seeds: where a search looks for hits that are not next to those it knows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.methods.search.strategies.base import Proposal
from evenhand.methods.search.strategies.moves import FeatureMoves

if TYPE_CHECKING:
    from evenhand.methods.search.arrays import Generator, Indices, Numbers
    from evenhand.methods.search.margins import Margins
    from evenhand.methods.search.probe import Probe, Tried
    from evenhand.space.feature import Points

NEAR = 1024
"""How many near misses are kept."""
FADING = 0.999
"""How much of its nearness a miss keeps from wave to wave, so that new ones get their turn."""
LEAST_CUT = 0.1
MOST_CUT = 0.9
"""Where false position may cut a line at the nearest to its ends.

Cut by a tenth or more, a line gets shorter even where margins are flat, as those of trees are.
"""


class SeedSource(ABC):
    """Proposes seeds, and learns from all that was tried and from what came of its own."""

    def __init__(self, moves: FeatureMoves) -> None:
        self.moves = moves
        self.probe = moves.probe
        self.asked = 0
        """Inputs that were asked to propose the last seeds."""
        self.origins: Indices | None = None
        """The real rows that the seeds proposed last were made of, where there are any."""

    @property
    def ready(self) -> bool:
        """Whether there is anything to propose."""
        return True

    @abstractmethod
    def propose(self, n: int, rng: Generator) -> Points:
        """Return up to `n` inputs to try."""

    def learn(self, tried: Tried) -> None:  # noqa: B027
        """Learn from what came of the inputs proposed last, or of the first of them."""

    def witness(self, tried: Tried) -> None:  # noqa: B027
        """Learn from what came of all inputs of a wave."""


class UniformSeeds(SeedSource):
    """Inputs drawn uniformly from the space: blind, and never wrong about where to look."""

    def propose(self, n: int, rng: Generator) -> Points:
        """Return `n` uniform inputs."""
        return self.probe.space.draw(n, rng)


class RealRowSeeds(SeedSource):
    """Real rows, each once in a random order, then rows with one or two features changed."""

    def __init__(self, moves: FeatureMoves, rows: Points, rng: Generator) -> None:
        super().__init__(moves)
        self.rows = rows
        self._order = rng.permutation(len(rows))
        self._next = 0

    def propose(self, n: int, rng: Generator) -> Points:
        """Return the next rows, and changed ones where they are used up."""
        unused = self._order[self._next : self._next + n]
        self._next += len(unused)
        again = rng.integers(0, len(self.rows), n - len(unused))
        chosen = np.concatenate([unused, again])
        self.origins = chosen
        found = np.asfortranarray(self.rows[chosen])
        found[len(unused) :] = stirred(self.moves, self.rows[again], rng)
        return found


class MarginSeeds(SeedSource):
    """Uniform inputs moved to the boundary between outcomes by margins and gradients."""

    def __init__(self, moves: FeatureMoves, margins: Margins) -> None:
        super().__init__(moves)
        self._margins = margins

    def propose(self, n: int, rng: Generator) -> Points:
        """Return inputs at the boundary, fewer where too few lie on one side of it."""
        draws = self.probe.space.draw(n, rng)
        found, self.asked = boundary_points(self._margins, self.probe, draws)
        return found.points


class NearMissSeeds(SeedSource):
    """Near misses, a step or two changed: inputs whose members came close to differing."""

    def __init__(self, moves: FeatureMoves) -> None:
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
        nearest = np.argsort(-near, kind="stable")[:NEAR]
        kept = np.sort(nearest)
        self._points = points[kept]
        self._near = near[kept]

    def propose(self, n: int, rng: Generator) -> Points:
        """Return near misses with one or two features changed, rather the nearer ones."""
        nearest_first = np.argsort(-self._near, kind="stable")
        # The square of a uniform number is rather small: the first half gets 71 % of the draws.
        shares = rng.random(n) ** 2
        rank = np.floor(shares * len(nearest_first)).astype(np.intp)
        misses = self._points[nearest_first[rank]]
        return np.asfortranarray(stirred(self.moves, misses, rng))


def stirred(moves: FeatureMoves, points: Points, rng: Generator) -> Points:
    """Return the points with one or two features changed.

    Three in four changes are a step, the others a jump.
    """
    found: Points = np.array(points)
    if not moves.features:
        return found
    # All points are changed once, and half of them a second time.
    for share in (1.0, 0.5):
        rows = np.flatnonzero(rng.random(len(points)) < share)
        which = rng.integers(0, len(moves.features), len(rows))
        direction = np.where(rng.random(len(rows)) < 0.5, -1, 1)
        steps = moves.step(found[rows], which, direction)
        jumps = moves.jump(found[rows], which, rng)
        is_step = rng.random(len(rows)) < 0.75
        found[rows] = np.where(is_step[:, None], steps, jumps)
    return found


def boundary_points(
    margins: Margins,
    probe: Probe,
    points: Points,
    pairs: Indices | None = None,
    steps: int = 3,
) -> tuple[Proposal, int]:
    """Move points to where two members of their class get different outcomes.

    What is moved to zero is the middle between the margins of both members: if they differ at all,
    they then are on either side. Where the software gives gradients, each point goes to where the
    middle would be zero if margins were linear (Newton's method); where it gives margins alone,
    points on one side go towards points on the other (false position), and there are as many as the
    smaller side has. Each step asks two questions for each point. The space's constraints are left
    to whoever asks what comes out.

    Parameters
    ----------
    pairs
        The two assignments of each point that are compared; by default the first and the last of
        all.

    Returns
    -------
    tuple of Proposal and int
        The moved points, and how many inputs were asked to move them.
    """
    moves = FeatureMoves(probe)
    if pairs is None:
        ends = np.array([0, len(probe.table) - 1], dtype=np.intp)
        pairs = np.tile(ends, (len(points), 1))
    if not margins.bounded or not len(points) or not moves.features:
        return Proposal(moves.nothing, pairs[:0]), 0
    before = margins.view.subject.asked
    start = Proposal(points, pairs)
    if margins.sloped:
        found = _by_gradients(margins, moves, start, steps)
    else:
        found = _by_false_position(margins, moves, start, steps)
    return found, margins.view.subject.asked - before


def _both_members(probe: Probe, proposal: Proposal) -> Points:
    """Return one member of each class, then the other."""
    assert proposal.pairs is not None
    first = probe.member(proposal.points, proposal.pairs[:, 0])
    second = probe.member(proposal.points, proposal.pairs[:, 1])
    return np.concatenate([first, second])


def _mean_of_members(values: Numbers) -> Numbers:
    """Return the mean of what was answered for one member of each class and for the other."""
    return np.asarray(values.reshape(2, -1).mean(axis=0))


def _by_gradients(
    margins: Margins, moves: FeatureMoves, proposal: Proposal, steps: int
) -> Proposal:
    """Return the points after some of Newton's steps."""
    passed = margins.view.subject.space.passed
    free = [passed.index(position) for position in moves.probe.free]
    for _ in range(steps):
        _, above, slopes = margins.gradients(_both_members(moves.probe, proposal))
        middle = _mean_of_members(above)
        slopes_of_members = slopes[:, free].reshape(2, -1, len(free))
        slope = slopes_of_members.mean(axis=0)
        points = _newton(moves, proposal.points, middle, slope)
        proposal = replace(proposal, points=points)
    return proposal


def _newton(
    moves: FeatureMoves,
    points: Points,
    above: Numbers,
    slopes: Numbers,
) -> Points:
    """Return the points moved along the gradient by what would take their margins to zero.

    Distances are shares of the features' ranges, and the points stay on the features' values. What
    rounding takes off, or the end of a range, is made up for by the features after, in the order of
    what one step of theirs does to the margin, the most first.
    """
    span = moves.high - moves.low
    slopes = np.nan_to_num(slopes, posinf=0.0, neginf=0.0)
    rows = np.arange(len(points))
    found: Points = np.array(points, order="F")
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        effect_of_a_step = np.abs(slopes) * moves.size
        most_effect_first = np.argsort(-effect_of_a_step, axis=1, kind="stable")
        wanted_moves = _newton_moves(above, slopes, span)
        owed = np.zeros(len(points))
        for which in most_effect_first.T:
            column = moves.positions[which]
            slope = slopes[rows, which]
            wanted = wanted_moves[rows, which]
            more = owed / slope
            made_up = np.where(np.abs(more) <= span[which], more, 0.0)
            old = found[rows, column]
            new = _nearest_values(moves, old + wanted + made_up, which)
            found[rows, column] = new
            owed += slope * (wanted - (new - old))
    return moves.snapped(found)


def _newton_moves(above: Numbers, slopes: Numbers, span: Numbers) -> Numbers:
    """Return how far each feature moves, so that a linear margin would be zero."""
    steepness = ((slopes * span) ** 2).sum(axis=1)
    solvable = (steepness > 0) & np.isfinite(above)
    factor = np.where(solvable, -above / steepness, 0.0)
    return np.asarray(factor[:, None] * slopes * span**2)


def _by_false_position(
    margins: Margins, moves: FeatureMoves, proposal: Proposal, steps: int
) -> Proposal:
    """Return points on lines between both sides, cut where the margin should be zero."""

    def middle_margins(of: Proposal) -> Numbers:
        _, above = margins.decide(_both_members(moves.probe, of))
        return _mean_of_members(above)

    assert proposal.pairs is not None
    positions = moves.positions
    above = middle_margins(proposal)
    positive = np.flatnonzero(above > 0)
    negative = np.flatnonzero(above <= 0)
    lines = min(len(positive), len(negative))
    sides = [positive[:lines], negative[:lines]]
    pairs = proposal.pairs[sides[0]]
    ends = [proposal.points[side][:, positions] for side in sides]
    at_ends = [above[side] for side in sides]
    found = np.asfortranarray(proposal.points[sides[0]])
    if not lines:
        steps = 0
    for _ in range(steps):
        share = _cut(at_ends[0], at_ends[1])[:, None]
        values = ends[0] * (1 - share) + ends[1] * share
        found[:, positions] = _nearest_values(moves, values, slice(None))
        here = middle_margins(Proposal(moves.snapped(found), pairs))
        values = found[:, positions]
        for side, is_end in enumerate((here > 0, here <= 0)):
            ends[side] = np.where(is_end[:, None], values, ends[side])
            at_ends[side] = np.where(is_end, here, at_ends[side])
    first_is_nearer = np.abs(at_ends[0]) < np.abs(at_ends[1])
    nearer_end = np.where(first_is_nearer[:, None], ends[0], ends[1])
    found[:, positions] = nearer_end
    return Proposal(found, pairs)


def _cut(positive: Numbers, negative: Numbers) -> Numbers:
    """Return where to cut lines, as a share of their length, given the margins at their ends."""
    with np.errstate(invalid="ignore"):  # infinite margins are cut in half
        share = np.clip(positive / (positive - negative), LEAST_CUT, MOST_CUT)
        return np.nan_to_num(share, nan=0.5)


def _nearest_values(
    moves: FeatureMoves, values: Numbers, which: Indices | slice
) -> Numbers:
    """Return the values that features have nearest to these."""
    has_steps = np.array(
        [
            feature.kind == "category" or feature.step is not None
            for feature in moves.features
        ]
    )
    low = moves.low[which]
    size = moves.size[which]
    stepped = low + np.round((values - low) / size) * size
    on_grid = np.where(has_steps[which], stepped, values)
    return np.clip(on_grid, low, moves.high[which])
