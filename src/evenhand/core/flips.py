"""Causal scores of many sets on the same draws: what is learnt of a draw under one set is never asked again.

If changing some features flips a draw, changing more of them does; if no change of some features flips it, no change of
fewer does. Where a set has too many variants to ask them all, flips are sought with values of draws that got another
outcome; a draw for which none is found is then not known to have none.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.core.campaign import CASES
from evenhand.core.judging import FIRST_LOOK
from evenhand.core.twins import STAGE, case_of, seek, stages, twins_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evenhand.core.budget import Meter
    from evenhand.core.feature import Points
    from evenhand.core.judging import Judge
    from evenhand.core.lattice import Tested
    from evenhand.core.results import Case
    from evenhand.core.samplers import Draws
    from evenhand.core.space import Space
    from evenhand.core.twins import Trial
    from evenhand.core.views import View

POOL = 256
"""Draws among which others look for values that may flip them."""
DONORS = 4
"""How many of these are tried before the variants are gone through."""
FLIPPED, UNKNOWN, NONE = 1, 0, -1


class CausalSets:
    """Tests sets for their causal score.

    Parameters
    ----------
    names
        The features; bit j of a mask stands for the j-th.
    most
        The most variants of a draw that are asked; sets that have more cannot be cleared.
    """

    def __init__(self, view: View, draws: Draws, names: tuple[str, ...], judge: Judge, *, most: int) -> None:
        self.view = view
        self.draws = draws
        self.names = names
        self.judge = judge
        self.most: float = most
        self.varieties = [float(self.space.feature(name).variety) for name in names]
        self._points: Points = np.empty((0, len(self.space.features)))
        self._base: NDArray[Any] = np.empty(0)
        self._known: dict[int, NDArray[Any]] = {}
        self._glimpsed: dict[int, NDArray[np.bool_]] = {}
        self._shown: dict[int, list[Case]] = {}

    @property
    def space(self) -> Space:
        """What an input can be."""
        return self.view.subject.space

    def members(self, mask: int) -> tuple[str, ...]:
        """Return the features of a set."""
        return tuple(name for bit, name in enumerate(self.names) if mask >> bit & 1)

    def test(self, mask: int, meter: Meter) -> Tested | None:
        """Look at more and more draws until the set's score is known to be on one side of the limit."""
        for n in self.judge.looks():
            if not self._extend(n, meter) or not self._look(mask, n, meter):
                return None
            known = self._known[mask][:n]
            if self.view.graded:
                hits, whole = float(known.sum()), self._enumerable(mask)
            else:
                hits, whole = float((known == FLIPPED).sum()), not bool((known == UNKNOWN).any())
            found = self.judge.rate(hits, n, whole=whole, graded=self.view.graded)
            if found is not None:
                return replace(found, shown=self._cases(mask))
            if meter.late:
                return None
        raise AssertionError("looks never end")

    def glance(self, masks: Sequence[int], meter: Meter) -> dict[int, float]:
        """Return for sets not glanced at before the share of the first draws that a few variants flip."""
        worth = [mask for mask in masks if mask not in self._glimpsed and self._variants(mask) > 4 * STAGE]
        cost = FIRST_LOOK * (1 + len(worth) * (DONORS + STAGE))
        if self.view.graded or not worth or cost > meter.left:
            return {}
        self._extend(FIRST_LOOK, meter)
        known = [self._inferred(mask, FIRST_LOOK) for mask in worth]
        rows = [np.flatnonzero(mine == UNKNOWN) for mine in known]
        trials = [list(itertools.islice(self._trials(mask, mine), 2)) for mask, mine in zip(worth, rows, strict=True)]
        every = np.concatenate(rows)
        lengths = [len(mine) for mine in rows]
        joined = [_Joined(stage, lengths, self._points[every]) for stage in itertools.zip_longest(*trials)]
        flips = seek(self.view, self._points[every], self._base[every], joined)
        meter.queries += int(flips.asked.sum())
        found = np.split(flips.found, np.cumsum(lengths)[:-1])
        for mask, mine, theirs, flipped in zip(worth, known, rows, found, strict=True):
            mine[theirs[flipped]] = FLIPPED
            self._glimpsed[mask] = mine == FLIPPED
        return {mask: float(self._glimpsed[mask].mean()) for mask in worth}

    def _variants(self, mask: int) -> float:
        return math.prod(self.varieties[bit] for bit in range(len(self.names)) if mask >> bit & 1)

    def _enumerable(self, mask: int) -> bool:
        return self._variants(mask) <= self.most

    def _extend(self, n: int, meter: Meter) -> bool:
        """Have at least n draws with their own outcomes, or say that there is no budget for that."""
        have = len(self._points)
        if n <= have:
            return True
        if n - have > meter.left:
            return False
        points = self.draws.take(have, n)
        base = self.view.decide(points)
        meter.queries += n - have
        self._points = np.asfortranarray(np.concatenate([self._points, points]))
        self._base = base if not have else np.concatenate([self._base, base])
        return True

    def _look(self, mask: int, n: int, meter: Meter) -> bool:
        """Learn of the first n draws whether the set flips them; False where the budget ends."""
        if self.view.graded:
            return self._look_graded(mask, n, meter)
        known = self._inferred(mask, n)
        rows = np.flatnonzero(known == UNKNOWN)
        rows = rows[rows >= len(self._known.get(mask, ()))]  # others were sought before, in vain
        if len(rows):
            flips = seek(self.view, self._points[rows], self._base[rows], self._trials(mask, rows), left=meter.left)
            meter.queries += int(flips.asked.sum())
            if flips.cut:
                return False
            known[rows[flips.found]] = FLIPPED
            if self._enumerable(mask):
                known[rows[~flips.found]] = NONE
            self._show(mask, rows, flips)
        self._known[mask] = known
        return True

    def _inferred(self, mask: int, n: int) -> NDArray[np.int8]:
        """Return what the sets that were tested say of this one."""
        known = np.zeros(n, dtype=np.int8)
        for other, theirs in self._known.items():
            mine = theirs[:n]
            if other & mask == other:
                known[: len(mine)][mine == FLIPPED] = FLIPPED
            if other & mask == mask:
                known[: len(mine)][mine == NONE] = NONE
        for other, flipped in self._glimpsed.items():
            if other & mask == other:
                known[: len(flipped)][flipped[:n]] = FLIPPED
        return known

    def _trials(self, mask: int, rows: NDArray[np.intp]) -> Iterator[Trial]:
        names, points = self.members(mask), self._points[rows]
        few = self._variants(mask) <= STAGE
        donors = self._donors(rows)
        if not few:
            yield _Donated(self, names, points, donors[:DONORS])
        if self._enumerable(mask):
            yield from stages(points, self.space, names)
            return
        start, size = DONORS, 4 * DONORS
        while start < min(len(donors), self.most):
            yield _Donated(self, names, points, donors[start : start + size])
            start, size = start + size, 4 * size

    def _donors(self, rows: NDArray[np.intp]) -> NDArray[np.intp]:
        """Return for each row (column) the draws of another outcome, those hardest to flip themselves first."""
        pool = min(len(self._points), POOL)
        flipped = np.zeros(pool)
        for known in self._known.values():
            mine = known[:pool] == FLIPPED
            flipped[: len(mine)] += mine
        ranks = np.empty(pool)
        ranks[np.argsort(flipped, kind="stable")] = np.arange(pool)
        shape = (pool, len(rows))
        apart = self.view.distance(np.repeat(self._base[:pool], len(rows)), np.tile(self._base[rows], pool))
        order = np.argsort(ranks[:, None] + pool * ~np.asarray(apart > 0).reshape(shape), axis=0, kind="stable")
        return order[: int(np.asarray(apart > 0).reshape(shape).sum(axis=0).max(initial=0))]

    def _look_graded(self, mask: int, n: int, meter: Meter) -> bool:
        """Learn how far each draw's outcome can be moved: all variants count, so there is no first to stop at."""
        before = self._known.get(mask, np.zeros(0))
        rows = np.arange(len(before), n)
        names = self.members(mask)
        if not len(rows):
            return True
        if self._enumerable(mask):
            cost = len(rows) * len(self.space.assignments(names))
            if cost > meter.left:
                return False
            twins = twins_of(self.view, self._points[rows], names)
            moved = twins.apart.max(axis=0)
            meter.queries += cost
        else:
            trial = _Donated(self, names, self._points[rows], self._donors(rows)[: 4 * DONORS])
            if trial.size * len(rows) > meter.left:
                return False
            variants = trial(np.arange(len(rows)))
            base = np.tile(self._base[rows], trial.size)
            apart = np.where(self.space.valid(variants), self.view.distance(self.view.decide(variants), base), 0)
            moved = apart.reshape(trial.size, len(rows)).max(axis=0, initial=0)
            meter.queries += trial.size * len(rows)
        self._known[mask] = np.concatenate([before, moved])
        return True

    def _show(self, mask: int, rows: NDArray[np.intp], flips: Any) -> None:
        shown = self._shown.setdefault(mask, [])
        for at in np.flatnonzero(flips.found)[: CASES - len(shown)].tolist():
            outcomes = self._base[rows[at]], flips.outcomes[at]
            shown.append(case_of(self.space, self._points[rows[at]], flips.twins[at], outcomes))

    def _cases(self, mask: int) -> tuple[Case, ...]:
        """Return flips found for the set, or for sets within it."""
        found = [case for other, cases in self._shown.items() if other & mask == other for case in cases]
        return tuple([*self._shown.get(mask, []), *found][:CASES])


@dataclass(frozen=True)
class _Donated:
    """Each point with the values of draws that got another outcome."""

    sets: CausalSets
    names: tuple[str, ...]
    points: Points
    donors: NDArray[np.intp]

    @property
    def size(self) -> int:
        return len(self.donors)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
        variants = np.asfortranarray(np.tile(self.points[rows], (self.size, 1)))
        givers = self.donors[:, rows].ravel()
        for name in self.names:
            column = self.sets.space.index(name)
            values = self.sets._points[givers, column]
            feature = self.sets.space.features[column]
            if math.isinf(feature.size):  # the variants of a binned feature are the middles of its bins
                middles = feature.values()
                values = middles[np.abs(values[:, None] - middles).argmin(axis=1)]
            variants[:, column] = values
        return variants


@dataclass(frozen=True)
class _Joined:
    """The same stage of several sets, whose points follow each other; some may have fewer variants, or none."""

    parts: Sequence[Trial | None]
    lengths: Sequence[int]
    points: Points

    @property
    def size(self) -> int:
        return max((part.size for part in self.parts if part is not None), default=0)

    def __call__(self, rows: NDArray[np.intp]) -> Points:
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
