"""Twins: inputs that differ only in the features at issue (Themis, Definition 3.7).

Their outcomes should not differ. Where a point has many variants, they are asked in stages and only
as long as none differs: extremes first, since they flip most. The stages are fixed, so what is
asked of a point depends on nothing but the point.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from evenhand.results.evidence import Case
from evenhand.scores.chance.again import asked_again
from evenhand.scores.sampling_loop import CASES, Counted, CountedTwins, RunningSums
from evenhand.space.feature import plain

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.population.census import CensusDraws
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
    """Points under every assignment of the features at issue, and what became of each."""

    variants: Points
    outcomes: NDArray[Any]
    """A row for each assignment, a column for each point."""
    base: NDArray[Any]
    """The outcome of each point itself."""
    apart: NDArray[Any]
    """How far each outcome is from that of the point itself."""


@dataclass(frozen=True, slots=True)
class Flips:
    """For each point, the first of its variants with another outcome, if one was found."""

    found: NDArray[np.bool_]
    twins: Points
    outcomes: NDArray[Any]
    """The outcomes of the twins."""
    asked: NDArray[np.int64]
    """How many variants of each point were asked."""
    cut: bool = False
    """Whether the search ended before all was tried, for want of budget."""

    @classmethod
    def none(cls, points: Points) -> Flips:
        """Return that nothing was asked of these points so far."""
        n = len(points)
        return cls(
            found=np.zeros(n, dtype=np.bool_),
            twins=points.copy(),
            outcomes=np.empty(n, dtype=object),
            asked=np.zeros(n, dtype=np.int64),
        )

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
    """Finds the draws that are discriminated against.

    Some variant of theirs gets another outcome (Themis, Definition 3.7).
    """

    view: View
    draws: Draws | CensusDraws
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

    def totals(self) -> RunningSums:
        """Return what adds up the hits."""
        return RunningSums()

    def after(self, hits: Any) -> Causal:
        """Return what counts among the draws to come: the same."""
        return self

    @cached_property
    def _assignments(self) -> Points:
        return self.space.assignments(self.names)

    @cached_property
    def staged(self) -> bool:
        """Whether variants are asked in stages; a graded distance needs all of them."""
        return len(self._assignments) > STAGE and not self.view.graded and not self.whole

    @cached_property
    def cost(self) -> int:
        """The most inputs asked per draw.

        These are its variants, and itself first where they are asked in stages.
        """
        return len(self._assignments) + self.staged

    def __call__(self, bounds: tuple[int, int]) -> Counted:
        """Return the distance of each draw to its farthest variant, and the first cases."""
        first, last = bounds
        asked_before = self.subject.asked
        executed_before = self.subject.executed
        rows = max(1, ROWS // self.cost)
        hits = []
        costs = []
        witnesses: list[tuple[int, Case]] = []
        answers: list[tuple[int, Any]] = []
        for start in range(first, last, rows):
            points = self.draws.take(start, min(start + rows, last))
            part = self.count(points, CASES, start=start)
            hits.append(part.hits)
            costs.append(part.asked)
            answers += [(start + row, answer) for row, answer in part.answers]
            if len(witnesses) < CASES:
                witnesses += [(start + row, case) for row, case in part.cases]
        return Counted(
            np.concatenate(hits),
            witnesses,
            self.subject.asked - asked_before,
            self.subject.executed - executed_before,
            costs=np.concatenate(costs),
            answers=answers,
        )

    def count(self, points: Points, most: int, *, start: int | None = None) -> CountedTwins:
        """Return each point's distance to its farthest variant, what that took, and some cases.

        `start` is the number of the first point, where the watch on a run may ask some again.
        """
        if self.staged:
            return self._seek(points, most, start)
        twins = twins_of(self.view, points, self.names)
        hits = twins.apart.max(axis=0)
        first = np.flatnonzero(hits)[:most].tolist()
        cases = [(row, self._case(points, twins, row)) for row in first]
        asked = np.full(len(points), self.cost)
        if start is not None:
            variant = twins.apart.argmax(axis=0)
            first_twins = variant * len(points) + np.arange(len(points))
            others = (twins.variants, twins.outcomes.ravel(), first_twins)
            asked += asked_again(self.view, start, hits, (points, twins.base), others)
        return CountedTwins.of(hits, asked, cases, twins.base)

    def _seek(self, points: Points, most: int, start: int | None) -> CountedTwins:
        base = self.view.decide(points)
        flips = seek(self.view, points, base, stages(points, self.space, self.names))
        cases = []
        for row in np.flatnonzero(flips.found)[:most].tolist():
            outcomes = (base[row], flips.outcomes[row])
            cases.append(
                (row, case_of(self.space, points[row], flips.twins[row], outcomes))
            )
        asked = flips.asked + 1
        if start is not None:
            others = (flips.twins, flips.outcomes, np.arange(len(points)))
            asked += asked_again(self.view, start, flips.found, (points, base), others)
        return CountedTwins.of(flips.found, asked, cases, base)

    def _case(self, points: Points, twins: Twins, row: int) -> Case:
        """Return a point beside the simplest variant with another outcome."""
        variants = twins.variants[row :: len(points)]
        twin = simplest(points[row], variants, twins.apart[:, row])
        outcomes = (twins.base[row], twins.outcomes[twin, row])
        return case_of(self.space, points[row], variants[twin], outcomes)


def hits(view: View, names: tuple[str, ...], points: Points) -> NDArray[Any]:
    """Return which points a model discriminates against over these features, or by how much.

    A point is a hit if another assignment of these features alone gets it another outcome (Themis,
    Definition 3.7).

    >>> from evenhand.space.feature import category, integer
    >>> from evenhand.space.space import Space
    >>> from evenhand.subject.subject import Subject
    >>> from evenhand.subject.view import View
    >>> space = Space([category("sex", ["F", "M"]), integer("age", 18, 90)])
    >>> loan = Subject(lambda people: (people["age"] > 30) & (people["sex"] == "M"), space)
    >>> women = space.encode([{"sex": "F", "age": 20}, {"sex": "F", "age": 40}])
    >>> hits(View(loan), ("sex",), women).tolist()
    [False, True]
    """
    if not len(points):
        return np.zeros(0, dtype=np.float64 if view.graded else np.bool_)
    causal = Causal(view, None, names)  # type: ignore[arg-type]
    # Every point is asked under all assignments, so fewer points fit into one batch.
    rows = max(1, ROWS // causal.cost)
    parts = []
    for start in range(0, len(points), rows):
        batch = points[start : start + rows]
        counted = causal.count(batch, 0)
        parts.append(counted.hits)
    return np.concatenate(parts)


def stages(
    points: Points,
    space: Space,
    names: tuple[str, ...],
    *,
    start: int = 0,
    stop: int | None = None,
) -> Iterator[Trial]:
    """Yield all variants of the points in stages that grow, the extremes of the features first.

    With `start` and `stop`, only the stages that begin between these numbers of variants.
    """
    table = space.assignments(names)[outward(space, names)]
    end = min(len(table), stop or len(table))
    begin = 0
    size = STAGE
    while begin < end:
        if begin >= start:
            yield _Stage(points, space, names, table[begin : begin + size])
        begin += size
        size *= 4


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
            if math.isinf(feature.size):
                # The variants of a binned feature are the middles of its bins.
                middles = feature.values()
                distances = np.abs(values[:, None] - middles)
                middle_values = middles[distances.argmin(axis=1)]
                values = np.where(feature.is_missing(values), values, middle_values)
            if feature.missing and not feature.twins_missing:
                # A donor that lacks the value gives none.
                own = variants[:, column]
                values = np.where(feature.is_missing(values), own, values)
            variants[:, column] = values
        return variants


@dataclass(frozen=True)
class Joined:
    """The same stage of several sets, whose points follow each other.

    Some may have fewer variants, or none.
    """

    parts: Sequence[Trial | None]
    lengths: Sequence[int]
    points: Points

    @property
    def size(self) -> int:
        """How many variants of each point."""
        sizes = [part.size for part in self.parts if part is not None]
        return max(sizes, default=0)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        """Return the variants of the points with these numbers, variant by variant."""
        edges = np.concatenate([[0], np.cumsum(self.lengths)])
        blocks = []
        for part, start, stop in zip(self.parts, edges[:-1], edges[1:], strict=True):
            members = rows[(rows >= start) & (rows < stop)]
            if len(members):
                blocks.append(self._block(part, members, start))
        variants = np.concatenate(blocks, axis=1)
        return np.asfortranarray(variants.reshape(self.size * len(rows), -1))

    def _block(self, part: Trial | None, members: NDArray[np.intp], start: int) -> Points:
        """Return the variants of one set: variant by variant, point by point."""
        if part is None or not part.size:
            points = self.points[members]
        else:
            points = part(members - start)
        variants = points.reshape(-1, len(members), points.shape[1])
        # A shorter stage repeats its first variants.
        repeated = np.arange(self.size) % len(variants)
        return variants[repeated]


def seek(
    view: View,
    points: Points,
    base: NDArray[Any],
    trials: Iterable[Trial],
    *,
    left: float = math.inf,
) -> Flips:
    """Return for each point the first variant with another outcome than its own.

    The search stops when all points have one, or when the queries that are `left` are spent.
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
    """Return the flips with those among some more variants of the points that have none so far."""
    rows = np.flatnonzero(~flips.found)
    if not trial.size or not len(rows):
        return flips
    cost = trial.size * len(rows)
    if cost > left - flips.asked.sum():
        return replace(flips, cut=True)
    for part in np.array_split(rows, math.ceil(cost / ROWS)):
        _try(view, base, trial(part), part, flips)
    return flips


def _try(
    view: View, base: NDArray[Any], variants: Points, rows: NDArray[np.intp], flips: Flips
) -> None:
    """Ask variants of some points, and note the first of each that differs."""
    outcomes, valid = decide_valid(view, variants)
    if not valid.any():
        return
    own = np.tile(base[rows], len(variants) // len(rows))
    differs = view.distance(outcomes, own) & valid
    # A row for each variant, a column for each point.
    differs = differs.reshape(-1, len(rows))
    flips.asked[rows] += valid.reshape(differs.shape).sum(axis=0)
    hit = differs.any(axis=0)
    first = differs.argmax(axis=0)[hit]
    which = first * len(rows) + np.flatnonzero(hit)
    flips.found[rows[hit]] = True
    flips.twins[rows[hit]] = variants[which]
    flips.outcomes[rows[hit]] = outcomes[which]


def twins_of(view: View, points: Points, names: tuple[str, ...]) -> Twins:
    """Return every variant of every point, its outcome, and its distance to the point's own."""
    space = view.subject.space
    variants = space.variants(points, names)
    outcomes, valid = decide_valid(view, variants)
    outcomes = outcomes.reshape(-1, len(points))
    own = space.own(points, names)
    if (own >= 0).all():
        # Each point is one of its own variants, and need not be asked again.
        base = outcomes[own, np.arange(len(points))]
    else:
        base = view.decide(points)
    distances = view.distance(outcomes, np.broadcast_to(base, outcomes.shape))
    valid = valid.reshape(distances.shape)
    apart = np.where(valid, distances, 0).astype(distances.dtype)
    return Twins(variants, outcomes, base, apart)


def decide_valid(view: View, variants: Points) -> tuple[NDArray[Any], NDArray[np.bool_]]:
    """Return the outcomes of variants, and which of them keep the constraints.

    The others were not asked, and their outcomes mean nothing.
    """
    valid = view.subject.space.valid(variants)
    if valid.all():
        return view.decide(variants), valid
    decided = view.decide(np.asfortranarray(variants[valid]))
    # What stands for invalid variants is never read, but must be of the same kind.
    filler = decided[0] if len(decided) else 0
    outcomes = np.full(len(variants), filler, dtype=decided.dtype)
    outcomes[valid] = decided
    return outcomes, valid


def case_of(
    space: Space, individual: Points, twin: Points, outcomes: tuple[Any, Any]
) -> Case:
    """Return a pair of points as a case, in the user's labels."""
    record, twin_record = space.records(np.stack([individual, twin]))
    return Case(record, twin_record, (plain(outcomes[0]), plain(outcomes[1])))


def simplest(point: Points, variants: Points, apart: NDArray[Any]) -> int:
    """Return the number of the simplest variant with another outcome.

    It differs from the point in the fewest features, and among those in the most of outcome.
    """
    changes = (variants != point).sum(axis=1)

    def complexity(number: int) -> tuple[int, float, int]:
        return int(changes[number]), -float(apart[number]), number

    return min(np.flatnonzero(apart).tolist(), key=complexity)


def outward(space: Space, names: tuple[str, ...]) -> NDArray[np.intp]:
    """Return an order of the assignments: the ends of each range first, then its middles."""
    ranks = np.zeros(1, dtype=np.int64)
    for name in names:
        ranks_of_values = _ranks(int(space.feature(name).choices))
        ranks = (ranks[:, None] + ranks_of_values).ravel()
    return np.argsort(ranks, kind="stable")


def _ranks(n: int) -> NDArray[np.int64]:
    """Rank the places 0 to n - 1: the ends, then the middle, then the middles of what is left.

    >>> _ranks(5).tolist()
    [0, 3, 2, 4, 1]
    """
    order = [0, n - 1]
    spans = [(0, n - 1)]
    # The list grows while it is walked: each span appends its two halves.
    for low, high in spans:
        if high - low > 1:
            middle = (low + high) // 2
            order.append(middle)
            spans += [(low, middle), (middle, high)]
    ranks = np.empty(n, dtype=np.int64)
    # With one place, its two ends are the same.
    places = order[:n] if n > 1 else [0]
    ranks[places] = np.arange(n)
    return ranks
