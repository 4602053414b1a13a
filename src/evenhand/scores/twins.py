"""Twins: inputs that differ only in the features at issue, and whose outcomes therefore should not
(Def. 3.7).

Where a point has many variants, they are asked in stages and only as long as none differs: extremes
first, since they flip most. The stages are fixed, so what is asked of a point depends on nothing
but the point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.results.evidence import Case
from evenhand.scores.sampling_loop import CASES, Counted
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.population.samplers import Draws
    from evenhand.space.feature import Points
    from evenhand.space.space import Space
    from evenhand.subject.subject import Subject
    from evenhand.subject.view import View

ROWS = 262_144
"""The most variants that are built at once."""
STAGE = 16
"""Up to this many variants are asked at once; each further stage asks four times as many."""


@dataclass(frozen=True, slots=True)
class Twins:
    """Points under every assignment of the features at issue: variants, outcomes, own outcomes,
    distances to those.
    """

    variants: Points
    outcomes: NDArray[Any]
    base: NDArray[Any]
    apart: NDArray[Any]


@dataclass(frozen=True, slots=True)
class Flips:
    """For each point whether a differing variant was found, the first one, its outcome, and how
    many were asked.
    """

    found: NDArray[np.bool_]
    twins: Points
    outcomes: NDArray[Any]
    asked: NDArray[np.int64]
    cut: bool = False
    """Whether the search ended before all was tried, for want of budget."""

    @classmethod
    def none(cls, points: Points) -> Flips:
        """Return that nothing was asked of these points so far."""
        n = len(points)
        nothing = np.zeros(n, dtype=np.bool_), points.copy(), np.empty(n, dtype=object)
        return cls(*nothing, np.zeros(n, dtype=np.int64))

    @property
    def done(self) -> bool:
        """Whether there is nothing more to look for, or no budget."""
        return self.cut or bool(self.found.all())


class Trial(Protocol):
    """Some variants of every point."""

    @property
    def size(self) -> int:
        """How many variants of each point."""
        ...

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        """Return the variants of the points with these numbers, assignment by assignment."""
        ...


@dataclass(frozen=True)
class Causal:
    """Tells which draws are discriminated against: some variant of theirs gets another outcome
    (Def. 3.7).
    """

    view: View
    draws: Draws
    names: tuple[str, ...]
    whole: bool = False
    """Whether all variants are wanted, as for a suite, and not only the first that differs."""

    @property
    def subject(self) -> Subject:
        """The software under test."""
        return self.view.subject

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.subject.space

    @cached_property
    def _assignments(self) -> Points:
        return self.space.assignments(self.names)

    @cached_property
    def staged(self) -> bool:
        """Whether variants are asked in stages; a graded distance needs all of them."""
        return len(self._assignments) > STAGE and not self.view.graded and not self.whole

    @cached_property
    def cost(self) -> int:
        """The most inputs asked per draw: its variants, and itself first where they are asked in
        stages.
        """
        return len(self._assignments) + self.staged

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        """Return the distance of each draw to its farthest variant, the first cases, and what that
        took.
        """
        before = self.subject.asked, self.subject.executed
        rows = max(1, ROWS // self.cost)
        parts: list[tuple[NDArray[Any], NDArray[np.int64]]] = []
        witnesses: list[tuple[int, Case]] = []
        for start in range(bounds[0], bounds[1], rows):
            hits, asked, cases = self.count(
                self.draws.take(start, min(start + rows, bounds[1])), CASES
            )
            parts.append((hits, asked))
            if len(witnesses) < CASES:
                witnesses += [(start + row, case) for row, case in cases]
        spent = self.subject.asked - before[0], self.subject.executed - before[1]
        hits, asked = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Counted(hits, witnesses, *spent, costs=asked)

    def count(
        self, points: Points, most: int
    ) -> tuple[NDArray[Any], NDArray[np.int64], list[tuple[int, Case]]]:
        """Return each point's distance to its farthest variant, how many inputs that took, and the
        first cases.
        """
        if self.staged:
            return self._seek(points, most)
        twins = twins_of(self.view, points, self.names)
        hits = twins.apart.max(axis=0)
        first = np.flatnonzero(hits)[:most].tolist()
        return (
            hits,
            np.full(len(points), self.cost),
            [(row, self._case(points, twins, row)) for row in first],
        )

    def _seek(
        self, points: Points, most: int
    ) -> tuple[NDArray[Any], NDArray[np.int64], list[tuple[int, Case]]]:
        base = self.view.decide(points)
        flips = seek(self.view, points, base, stages(points, self.space, self.names))
        first = np.flatnonzero(flips.found)[:most].tolist()
        cases = [
            (
                row,
                case_of(
                    self.space, points[row], flips.twins[row], (base[row], flips.outcomes[row])
                ),
            )
            for row in first
        ]
        return flips.found, flips.asked + 1, cases

    def _case(self, points: Points, twins: Twins, row: int) -> Case:
        """Show a point beside the variant that differs from it in the fewest features, then in the
        most of outcome.
        """
        apart = twins.apart[:, row]
        mine = twins.variants[row :: len(points)]
        changes = (mine != points[row]).sum(axis=1)
        twin = min(np.flatnonzero(apart).tolist(), key=lambda j: (changes[j], -float(apart[j]), j))
        return case_of(
            self.space, points[row], mine[twin], (twins.base[row], twins.outcomes[twin, row])
        )


def stages(
    points: Points, space: Space, names: tuple[str, ...], *, start: int = 0, stop: int | None = None
) -> Iterator[Trial]:
    """Yield all variants of the points, in stages that grow, the extremes of the features first; or
    some of them.
    """
    table = space.assignments(names)[outward(space, names)]
    begin, size = 0, STAGE
    while begin < min(len(table), stop or len(table)):
        if begin >= start:
            yield _Stage(points, space, names, table[begin : begin + size])
        begin, size = begin + size, 4 * size


@dataclass(frozen=True, slots=True)
class _Stage:
    """The same assignments for every point."""

    points: Points
    space: Space
    names: tuple[str, ...]
    table: Points

    @property
    def size(self) -> int:
        return len(self.table)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        return self.space.under(self.points[rows], self.names, self.table)


@dataclass(frozen=True)
class Donated:
    """Each of some points with the values of its donors, which are numbers of other points."""

    space: Space
    names: tuple[str, ...]
    points: Points
    others: Points
    donors: NDArray[np.intp]

    @property
    def size(self) -> int:
        """How many variants of each point."""
        return len(self.donors)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        """Return the variants of the points with these numbers, donor by donor."""
        variants = np.asfortranarray(np.tile(self.points[rows], (self.size, 1)))
        givers = self.donors[:, rows].ravel()
        for name in self.names:
            column = self.space.index(name)
            values = self.others[givers, column]
            feature = self.space.features[column]
            if math.isinf(
                feature.size
            ):  # the variants of a binned feature are the middles of its bins
                middles = feature.values()
                values = middles[np.abs(values[:, None] - middles).argmin(axis=1)]
            variants[:, column] = values
        return variants


@dataclass(frozen=True)
class Joined:
    """The same stage of several sets, whose points follow each other; some may have fewer variants,
    or none.
    """

    parts: Sequence[Trial | None]
    lengths: Sequence[int]
    points: Points

    @property
    def size(self) -> int:
        """How many variants of each point."""
        return max((part.size for part in self.parts if part is not None), default=0)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        """Return the variants of the points with these numbers, variant by variant."""
        edges = np.concatenate([[0], np.cumsum(self.lengths)])
        made = []
        for part, start, stop in zip(self.parts, edges[:-1], edges[1:], strict=True):
            mine = rows[(rows >= start) & (rows < stop)]
            if len(mine):
                few = self.points[mine] if part is None or not part.size else part(mine - start)
                variants = few.reshape(-1, len(mine), few.shape[1])
                # A shorter stage repeats its first variants.
                made.append(variants[np.arange(self.size) % len(variants)])
        return np.asfortranarray(np.concatenate(made, axis=1).reshape(self.size * len(rows), -1))


def seek(
    view: View,
    points: Points,
    base: NDArray[Any],
    trials: Iterable[Trial],
    *,
    left: float = math.inf,
) -> Flips:
    """Look for a variant of each point with another outcome than its own; stop at the first, or
    when all is spent.
    """
    flips = Flips.none(points)
    for trial in trials:
        flips = sought(view, base, trial, flips, left=left)
        if flips.done:
            break
    return flips


def sought(
    view: View, base: NDArray[Any], trial: Trial, flips: Flips, *, left: float = math.inf
) -> Flips:
    """Look among some variants of each point for one with another outcome, where none was found so
    far.
    """
    rows = np.flatnonzero(~flips.found)
    if not trial.size or not len(rows):
        return flips
    if trial.size * len(rows) > left - flips.asked.sum():
        return replace(flips, cut=True)
    for part in np.array_split(rows, math.ceil(trial.size * len(rows) / ROWS)):
        _try(view, base, trial(part), part, flips)
    return flips


def _try(
    view: View, base: NDArray[Any], variants: Points, rows: NDArray[np.intp], flips: Flips
) -> None:
    """Ask variants of some points, and note the first of each that differs."""
    outcomes, valid = decide_valid(view, variants)
    if not valid.any():
        return
    apart = view.distance(outcomes, np.tile(base[rows], len(variants) // len(rows))) & valid
    apart = apart.reshape(-1, len(rows))
    flips.asked[rows] += valid.reshape(apart.shape).sum(axis=0)
    hit = apart.any(axis=0)
    which = apart.argmax(axis=0)[hit] * len(rows) + np.flatnonzero(hit)
    flips.found[rows[hit]] = True
    flips.twins[rows[hit]] = variants[which]
    flips.outcomes[rows[hit]] = outcomes[which]


def twins_of(view: View, points: Points, names: tuple[str, ...]) -> Twins:
    """Decide every variant (row) of every point (column), and how far each is from the point's own
    outcome.
    """
    space = view.subject.space
    variants = space.variants(points, names)
    outcomes, valid = decide_valid(view, variants)
    outcomes = outcomes.reshape(-1, len(points))
    own = space.own(points, names)
    base = outcomes[own, np.arange(len(points))] if (own >= 0).all() else view.decide(points)
    apart = view.distance(outcomes, np.broadcast_to(base, outcomes.shape))
    return Twins(
        variants, outcomes, base, np.where(valid.reshape(apart.shape), apart, 0).astype(apart.dtype)
    )


def decide_valid(view: View, variants: Points) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the outcomes of the variants that keep the constraints, and which those are; others
    hold no outcome.
    """
    valid = view.subject.space.valid(variants)
    if valid.all():
        return view.decide(variants), valid
    decided = view.decide(np.asfortranarray(variants[valid]))
    # What stands for invalid variants is never read, but must be of the same kind.
    outcomes = np.full(len(variants), decided[0] if len(decided) else 0, dtype=decided.dtype)
    outcomes[valid] = decided
    return outcomes, valid


def case_of(space: Space, individual: Points, twin: Points, outcomes: tuple[Any, Any]) -> Case:
    """Write a pair of points down in the user's labels."""
    one, other = space.records(np.stack([individual, twin]))
    return Case(one, other, (plain(outcomes[0]), plain(outcomes[1])))


def outward(space: Space, names: tuple[str, ...]) -> NDArray[np.intp]:
    """Return an order of the assignments in which the ends of each feature's range come first, then
    its middles.
    """
    ranks = np.zeros(1, dtype=np.int64)
    for name in names:
        mine = _ranks(int(space.feature(name).choices))
        ranks = (ranks[:, None] + mine).ravel()
    return np.argsort(ranks, kind="stable")


def _ranks(n: int) -> NDArray[np.int64]:
    """Rank the places 0 to n - 1: the ends, then the middle, then the middles of what is left.

    >>> _ranks(5).tolist()
    [0, 3, 2, 4, 1]
    """
    order = [0, n - 1]
    spans = [(0, n - 1)]
    for low, high in spans:  # grows while it is walked
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            spans += [(low, middle), (middle, high)]
    ranks = np.empty(n, dtype=np.int64)
    ranks[order[:n] if n > 1 else [0]] = np.arange(n)
    return ranks


def farthest(view: View, outcomes: NDArray[Any], ids: NDArray[np.intp]) -> NDArray[Any]:
    """Return the distance of each point's outcome to the farthest one of its class."""
    values, codes = np.unique(outcomes, return_inverse=True)
    # The distinct outcomes of each class, class by class.
    pairs = np.unique(ids * len(values) + codes)
    sizes = np.bincount(pairs // len(values), minlength=int(ids.max(initial=-1)) + 1)
    starts = np.cumsum(sizes) - sizes
    found: NDArray[Any] = np.zeros(len(ids))
    for other in range(int(sizes.max(initial=0))):
        rows = np.flatnonzero(sizes[ids] > other)
        theirs = values[pairs[starts[ids[rows]] + other] % len(values)]
        found[rows] = np.maximum(found[rows], view.distance(theirs, outcomes[rows]))
    return found if view.graded else found > 0
